"""Loaded models have the predictions of the saved ones; unsupported parts are clear errors."""

import inspect
import os
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC

import pliant
from pliant import LABRBFAlgorithm, __version__
from pliant import kernels as given
from pliant import methods as learned
from pliant.exceptions import ModelFileError
from pliant.kernels import Gaussian, Linear, On, Precomputed, WeightedSum
from pliant.persistence import load, load_file, save, trusted_types
from pliant.persistence._codec import MAKERS
from tests.contracts.test_kernel_contract import CASES, points_of

X, LABELS = load_iris(return_X_y=True)
X, LABELS = X[::2], LABELS[::2]
Y = X[:, 2] + np.sin(X[:, 0])
NEW = np.random.default_rng(1).normal(X.mean(axis=0), 1.0, size=(50, 4))
METHODS = ("predict", "decision_function", "predict_proba", "transform")
TABLE = pd.DataFrame(X[:, :3], columns=["u", "v", "w"]).assign(
    colour=np.where(X[:, 3] > 1, "red", "blue"), size=np.arange(75) % 3,
)  # fmt: skip

FITTED = [name for name in sorted(pliant.__all__) if hasattr(getattr(pliant, name), "fit")]


def round_trip(model, tmp_path):
    path = tmp_path / "model.pliant"
    save(model, path)
    return load(path)


def assert_same(loaded, model, points=NEW, tolerance=0.0):
    """Compare all methods; sums of scikit-learn's kernel methods have a tolerance."""
    if type(model).__module__.startswith("sklearn."):
        assert type(loaded).__module__ == "pliant.records"
    else:
        assert type(loaded) is type(model)
        assert repr(loaded.get_params()) == repr(model.get_params())
    for name in METHODS:
        assert hasattr(loaded, name) == hasattr(model, name)
        if hasattr(model, name):
            expected, got = getattr(model, name)(points), getattr(loaded, name)(points)
            if expected.dtype.kind == "f" and tolerance:
                np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
            else:
                np.testing.assert_array_equal(got, expected)
    if hasattr(model, "n_features_in_"):
        assert loaded.n_features_in_ == model.n_features_in_
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(loaded.classes_, model.classes_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FITTED)
def test_every_estimator_comes_back(tmp_path, name):
    """With default parameters, except for few iterations."""
    model = getattr(pliant, name)()
    few = {"max_iter": 5, "n_members": 1, "random_state": 0, "n_centers": 20}
    model.set_params(**{k: v for k, v in few.items() if k in model.get_params(deep=False)})
    model.fit(X, Y if name.endswith(("Regressor", "Ridge")) else LABELS)
    loaded = round_trip(model, tmp_path)
    # the machine of a learned kernel is scikit-learn's by default
    assert_same(loaded, model, tolerance=1e-14 if name == "LearnedKernelClassifier" else 0.0)
    assert set(vars(loaded)) == set(model.__getstate__())
    if hasattr(model, "kernel_"):
        points = getattr(model, "support_vectors_", X)
        np.testing.assert_array_equal(loaded.kernel_(NEW, points), model.kernel_(NEW, points))


SETTINGS = [
    pliant.DANKClassifier(tau=0.05, extension="reciprocal"),
    pliant.DANKClassifier(Gaussian(0.5) + 0.1 * Linear(), extension="nearest"),
    pliant.KNPLClassifier(extension="nearest"),
    pliant.TKLClassifier(delta=np.array([0.1, 0.2, 0.3, 0.1]), tol=0.1),
    pliant.MKLClassifier([Gaussian(0.5), On(Linear(), [0, 2])], norm=2.0),
    pliant.SCGLogDetLearner("graph", strength=10.0),
    pliant.KernelEmbedding(pliant.OrderSpectralLearner(n_components=10)),
    pliant.LABRBFClassifier(10, n_members=2, max_iter=3, random_state=0),
    pliant.LABRBFRegressor(
        8, profile="matern52", algorithm=LABRBFAlgorithm(shrinkage=np.inf), max_iter=3,
        validation_fraction=0, alpha=0.1, random_state=0,
    ),
]  # fmt: skip


@pytest.mark.parametrize("model", SETTINGS, ids=lambda model: type(model).__name__)
def test_settings_and_learned_kernels_come_back(tmp_path, model):
    model = make_pipeline(StandardScaler(), clone(model)).fit(X, LABELS)
    assert_same(round_trip(model, tmp_path), model)


def test_gram_matrices_and_columns_by_name_come_back(tmp_path):
    gram = Gaussian(0.5)(X)
    model = pliant.DANKClassifier("precomputed").fit(gram, LABELS)
    assert_same(round_trip(model, tmp_path), model, gram)
    matrix = pliant.DANKClassifier("precomputed").fit(gram, LABELS > 0).adaptation_
    assert round_trip(matrix, tmp_path).rank == matrix.rank
    named = pliant.MKLClassifier([On(Gaussian(), ["u"]), On(Linear(), ["v", "w"])])
    named.fit(TABLE[["u", "v", "w"]], LABELS)
    assert_same(round_trip(named, tmp_path), named, TABLE[["u", "v", "w"]])


SAVED = [
    case
    for case in CASES
    if not isinstance(case.values[0], given.FunctionKernel | learned.QuadratureKernel)
]


@pytest.mark.parametrize("kernel", SAVED)
def test_every_kernel_comes_back(tmp_path, kernel):
    points, others = points_of(kernel, 6), points_of(kernel, 5, seed=1)
    loaded = round_trip(kernel, tmp_path)
    assert type(loaded) is type(kernel)
    np.testing.assert_array_equal(loaded(points, others), kernel(points, others))


OTHERS = [
    (DummyClassifier(), LABELS), (DummyRegressor(), Y), (LogisticRegression(), LABELS),
    (Ridge(), Y), (KernelRidge(kernel="rbf"), Y), (SVC(), LABELS), (SVC(), Y > 3),
    (SVR(), Y), (LinearSVC(), LABELS), (GaussianProcessRegressor(alpha=0.1), Y),
    (GaussianProcessClassifier(optimizer=None), LABELS),
    (RandomForestClassifier(5, random_state=0), LABELS), (ExtraTreesRegressor(5), Y),
    (ExtraTreesRegressor(5), X[:, :2]), (HistGradientBoostingClassifier(max_iter=5), LABELS),
    (HistGradientBoostingRegressor(max_iter=5, loss="poisson", early_stopping=True), Y),
    (CalibratedClassifierCV(SVC(), cv=2), LABELS),
    (CalibratedClassifierCV(pliant.DANKClassifier(), cv=2, method="isotonic"), LABELS),
    (make_pipeline(MinMaxScaler(), PCA(2), Ridge()), Y),
    (TransformedTargetRegressor(SVR(), transformer=StandardScaler()), Y),
    (TransformedTargetRegressor(Ridge(), transformer=StandardScaler()), Y[:, None]),
    (TransformedTargetRegressor(Ridge()), np.column_stack([Y, X[:, 0]])),
]  # fmt: skip


@pytest.mark.parametrize(("model", "y"), OTHERS, ids=lambda each: type(each).__name__)
def test_estimators_of_scikit_learn_come_back(tmp_path, model, y):
    """As records, which can be saved again; the original does not change."""
    model.fit(X, y)
    before = dict(vars(model))
    loaded = round_trip(model, tmp_path)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert_same(loaded, model, tolerance=1e-12)
    assert_same(round_trip(loaded, tmp_path), loaded)


@pytest.mark.parametrize(("model", "y"), OTHERS, ids=lambda each: type(each).__name__)
def test_what_was_loaded_says_that_it_cannot_be_fitted_again(tmp_path, model, y):
    loaded = round_trip(clone(model).fit(X, y), tmp_path)
    for again in (lambda: loaded.fit(X, y), lambda: clone(loaded)):
        with pytest.raises(TypeError, match="was loaded from a file: it predicts") as caught:
            again()
        assert "\n" not in str(caught.value)


def test_a_loaded_pipeline_has_the_interface_of_a_pipeline(tmp_path):
    model = make_pipeline(StandardScaler(), pliant.LABRBFRegressor(10, n_members=1, max_iter=2))
    model.fit(TABLE[["u", "v", "w"]], Y)
    loaded = round_trip(model, tmp_path)
    assert isinstance(loaded, Pipeline)
    assert [name for name, _ in loaded.steps] == ["standardscaler", "labrbfregressor"]
    assert type(loaded[-1]) is pliant.LABRBFRegressor
    assert repr(loaded[0]) == "<saved StandardScaler>"
    points = TABLE[["u", "v", "w"]]
    np.testing.assert_array_equal(loaded[:-1].transform(points), model[:-1].transform(points))
    assert loaded.feature_names_in_.tolist() == ["u", "v", "w"]
    np.testing.assert_array_equal(
        loaded.predict_interval(points), model[-1].predict_interval(model[0].transform(points))
    )
    assert loaded.score(points, Y) == model.score(points, Y)
    last = pliant.LABRBFRegressor(10, n_members=1, max_iter=2, random_state=0)
    own = make_pipeline(pliant.TableFeatures(), last)
    loaded = round_trip(own.fit(TABLE, Y), tmp_path)
    np.testing.assert_array_equal(loaded.fit(TABLE, Y).predict(TABLE), own.predict(TABLE))


def test_steps_that_pass_their_input_are_left_out(tmp_path):
    model = Pipeline([("a", "passthrough"), ("b", StandardScaler()), ("c", None), ("d", Ridge())])
    loaded = round_trip(model.fit(X, Y), tmp_path)
    assert list(loaded.named_steps) == ["b", "d"]
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))


def test_trees_take_missing_values(tmp_path):
    gaps = np.where(np.arange(4) == 1, np.nan, NEW)
    for kind in (RandomForestClassifier, HistGradientBoostingClassifier):
        model = kind(random_state=0).fit(np.where(X > 6, np.nan, X), LABELS)
        assert_same(round_trip(model, tmp_path), model, gaps)


def test_of_a_search_the_best_estimator_is_saved(tmp_path):
    search = GridSearchCV(pliant.DANKClassifier(), {"C": [1.0, 10.0]}, cv=2).fit(X, LABELS)
    loaded = round_trip(search, tmp_path)
    assert type(loaded) is pliant.DANKClassifier
    assert loaded.get_params()["C"] == search.best_params_["C"]
    np.testing.assert_array_equal(loaded.predict(NEW), search.predict(NEW))
    frozen = CalibratedClassifierCV(FrozenEstimator(search)).fit(X, LABELS)
    np.testing.assert_array_equal(round_trip(frozen, tmp_path).predict(NEW), frozen.predict(NEW))
    inner = GridSearchCV(SVR(), {"C": [1.0, 10.0]}, cv=2)
    target = make_pipeline(MinMaxScaler(), TransformedTargetRegressor(inner)).fit(X, Y)
    loaded = round_trip(target, tmp_path)
    np.testing.assert_allclose(loaded.predict(NEW), target.predict(NEW), rtol=1e-12)
    with pytest.raises(ModelFileError, match="expected a fitted GridSearchCV with refit"):
        save(GridSearchCV(SVR(), {}, refit=False), tmp_path / "model.pliant")


def test_the_file_says_who_wrote_it_and_keeps_plain_data(tmp_path):
    path = tmp_path / "model.pliant"
    metadata = {"score": 0.25, "folds": [1, 2], "text": "naïve \u2028", "nothing": None}
    save(StandardScaler().fit(X), path, metadata=metadata)
    loaded = load_file(path)
    assert loaded.metadata == metadata
    assert loaded.pliant_version == __version__
    save(StandardScaler(), path)
    assert load_file(path).metadata is None
    assert repr(load(path)) == "<saved StandardScaler>"


@pytest.mark.parametrize("labels", [["b", "ä"], [3, 1], [0.5, -0.5], [True, False], [b"a", b"b"]])
@pytest.mark.parametrize("dtype", [None, object])
def test_class_labels_keep_their_type(tmp_path, labels, dtype):
    if dtype is object and isinstance(labels[0], bytes):
        pytest.skip("bytes in an array of objects are refused")
    if dtype is object and isinstance(labels[0], bool):
        pytest.skip("scikit-learn takes booleans as objects for an unknown kind of label")
    model = DummyClassifier().fit(X[:2], np.array(labels, dtype=dtype))
    loaded = round_trip(model, tmp_path)
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    assert loaded.classes_.dtype == model.classes_.dtype


def test_plain_attributes_keep_their_type(tmp_path):
    model = Gaussian()
    model.plain_ = {"a": 1, 2: "b", 2.5: None, "c": slice(1, None)}
    model.empty_, model.turned_ = np.empty((0, 3)), np.asfortranarray(X)
    loaded = round_trip(model, tmp_path)
    assert loaded.plain_ == model.plain_
    assert loaded.empty_.shape == (0, 3)
    np.testing.assert_array_equal(loaded.turned_, X)


def test_a_part_that_stands_twice_is_saved_once(tmp_path):
    imputer = SimpleImputer().fit([[1.0], [np.nan]])
    loaded = round_trip(Pipeline([("a", imputer), ("b", imputer)]), tmp_path)
    assert loaded.steps[0][1] is loaded.steps[1][1]
    gram = np.eye(200)
    kernel = WeightedSum([Precomputed(gram), clone(Precomputed(gram))], [0.5, 0.5])
    loaded = round_trip(kernel, tmp_path)
    assert loaded.kernels[0].gram is loaded.kernels[1].gram
    assert (tmp_path / "model.pliant").stat().st_size < 1.5 * gram.nbytes
    model = pliant.DANKClassifier(partition={"n_parts": 2}).fit(X, LABELS)
    fitted = round_trip(model, tmp_path).estimators_
    assert fitted[0].kernel_.base is fitted[2].kernel_.base
    assert all(each.part_labels_ is each.kernel_.labels for each in fitted)


UNKNOWN = [
    (lambda a, b: a @ b.T, r"'model\.steps\[1\]\[1\]\.kernel' is the function .*<lambda>"),
    (np.dot, r"'model\.steps\[1\]\[1\]\.kernel' is the function 'numpy\.dot'"),
    (X.dot, r"cannot save the model"),
    (KNeighborsClassifier(), r"\.kernel' is a 'sklearn\.neighbors\..*KNeighborsClassifier'"),
    (np.random.RandomState(0), r"\.kernel' is a 'numpy\.random\.mtrand\.RandomState'"),
    (b"bytes", r"\.kernel' is a 'builtins\.bytes'"),
    (iter([]), r"cannot save the model"),
]
NAMES = ["lambda", "numpy", "method", "neighbors", "random", "bytes", "iterator"]


@pytest.mark.parametrize(("kernel", "message"), UNKNOWN, ids=NAMES)
def test_what_cannot_be_saved_says_where_it_is(tmp_path, kernel, message):
    model = make_pipeline(StandardScaler().fit(X), pliant.DANKClassifier(kernel))
    with pytest.raises(ModelFileError, match=message) as caught:
        save(model, tmp_path / "model.pliant")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_setting_without_a_record_is_named(tmp_path):
    model = make_pipeline(StandardScaler(), KernelRidge(kernel=np.dot)).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"steps\[1\]\[1\]': kernel=.* of KernelRidge has no"):
        save(model, tmp_path / "model.pliant")


NO_MODELS = [
    {"a": 1}, None, X, 3, "text", KernelRidge,
    MLPClassifier(max_iter=1).partial_fit(X, LABELS, classes=[0, 1, 2]),
    KNeighborsClassifier().fit(X, LABELS), make_pipeline(FunctionTransformer(np.log1p)),
    VotingRegressor([("a", Ridge())]).fit(X, Y),
    HistGradientBoostingRegressor(categorical_features=[0], max_iter=2).fit(
        np.column_stack([LABELS, Y]), Y
    ),
]  # fmt: skip


@pytest.mark.parametrize("model", NO_MODELS, ids=lambda model: type(model).__name__)
def test_what_a_file_cannot_hold_leaves_the_old_file(tmp_path, model):
    path = tmp_path / "model.pliant"
    save(Ridge().fit(X, Y), path)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="cannot save the model"):
        save(model, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.pliant"]


def test_a_model_that_contains_itself_is_refused(tmp_path):
    model = On(Gaussian(), [0])
    model.kernel = model
    with pytest.raises(ModelFileError, match="cannot save the model"):
        save(model, tmp_path / "model.pliant")


@pytest.mark.parametrize("metadata", [{"a": X}, {"a": {1, 2}}])
def test_metadata_must_be_plain(tmp_path, metadata):
    with pytest.raises(ModelFileError, match="plain data as metadata"):
        save(StandardScaler().fit(X), tmp_path / "model.pliant", metadata=metadata)


@pytest.mark.parametrize("where", [".", "none/model.pliant", "file/model.pliant", "a\0b"])
def test_an_unwritable_place_is_one_error_and_leaves_nothing(tmp_path, where):
    (tmp_path / "file").write_text("here before")
    with pytest.raises(ModelFileError, match="cannot write '"):
        save(StandardScaler().fit(X), f"{tmp_path}/{where}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_trusted_types_are_classes_of_pliant():
    """Whatever a file names, its classes are defined in modules of pliant."""
    assert trusted_types() >= {f"pliant.{name}" for name in FITTED}
    for name in trusted_types():
        module, _, attribute = name.rpartition(".")
        kind = getattr(import_module(module), attribute)
        assert inspect.getsourcefile(kind).startswith(os.path.dirname(pliant.__file__) + os.sep)
    plain = {"list", "tuple", "dict", "slice", "scalar", "point", "transposed", "csr"}
    assert set(MAKERS) == plain
