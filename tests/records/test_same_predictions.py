"""Records predict as the estimators of scikit-learn that they were made from.

Trees, constants, scalers and encoders agree bit for bit, as the operations are the same in the same
order. Sums by libsvm or BLAS agree up to the rounding of their terms.
"""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    WhiteKernel,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

from pliant.core.form import check_loaded
from pliant.kernels import Gaussian, Laplacian
from pliant.persistence import load, save
from pliant.records import has_record, to_record, trees
from pliant.records.estimators import won
from tests.memory import peak_memory

SEEDS = range(3)
METHODS = ("predict", "predict_proba", "decision_function", "transform")


def table(seed, n=300, d=5, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, size=d)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def targets(X, seed, n_classes=0):
    rng = np.random.default_rng(seed + 100)
    Z = np.nan_to_num(X) / np.nanstd(X, axis=0)
    f = Z[:, 0] + np.sin(2 * Z[:, 1]) * Z[:, 2] + 0.2 * rng.normal(size=len(X))
    if n_classes == 0:
        return 100.0 + 7.0 * f
    ends = np.quantile(f, np.arange(1, n_classes) / n_classes)
    return np.array(["ant", "bee", "cat", "dog"])[np.searchsorted(ends, f)]


def assert_equal_outputs(original, points, tolerance=0.0):
    """Compare all methods, at a tolerance relative to the range of the outputs."""
    record = to_record(original)
    check_loaded(record)
    for method in METHODS:
        if method == "transform" and hasattr(original, "predict"):
            continue  # a classifier's projection is left out
        assert hasattr(record, method) == hasattr(original, method), method
        if not hasattr(original, method):
            continue
        expected, got = getattr(original, method)(points), getattr(record, method)(points)
        assert got.shape == expected.shape
        if tolerance and expected.dtype.kind == "f":
            unit = 1.0 if method == "predict_proba" else np.abs(expected).max()
            np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * unit)
        else:
            np.testing.assert_array_equal(got, expected)
    assert record.n_features_in_ == original.n_features_in_
    assert record.origin == type(original).__name__
    return record


TREE_REGRESSORS = {
    "forest": partial(RandomForestRegressor, 20),
    "extra trees": partial(ExtraTreesRegressor, 20, min_samples_leaf=2),
    "tree": DecisionTreeRegressor,
    "stump": partial(DecisionTreeRegressor, max_leaf_nodes=2),
    "few leaves": partial(RandomForestRegressor, 5, max_leaf_nodes=7),
    "histograms": partial(HistGradientBoostingRegressor, max_iter=30),
    "Poisson": partial(HistGradientBoostingRegressor, loss="poisson", max_iter=10),
    "quantile": partial(
        HistGradientBoostingRegressor, loss="quantile", quantile=0.3, max_iter=10,
        monotonic_cst=[1, 0, 0, -1, 0],
    ),
    "early stopping": partial(HistGradientBoostingRegressor, early_stopping=True, max_iter=30),
}  # fmt: skip

TREE_CLASSIFIERS = {
    "forest": partial(RandomForestClassifier, 20),
    "balanced": partial(RandomForestClassifier, 10, class_weight="balanced_subsample"),
    "extra trees": partial(ExtraTreesClassifier, 20, min_samples_leaf=2, criterion="entropy"),
    "tree": DecisionTreeClassifier,
    "histograms": partial(HistGradientBoostingClassifier, max_iter=20),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["complete", "missing"])
@pytest.mark.parametrize("name", TREE_REGRESSORS)
def test_regression_trees_agree_bit_for_bit(name, missing, seed):
    """Also on rows with missing values where training had none."""
    X = table(seed, missing=missing)
    weights = np.random.default_rng(seed).integers(0, 3, size=len(X)) if seed else None
    model = TREE_REGRESSORS[name](random_state=seed)
    model.fit(X, targets(X, seed), sample_weight=weights)
    assert_equal_outputs(model, table(seed + 10, n=500, missing=0.1))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", TREE_CLASSIFIERS)
def test_classification_trees_agree_bit_for_bit(name, n_classes, seed):
    X = table(seed, missing=0.1)
    weights = np.random.default_rng(seed).integers(1, 3, size=len(X)) if seed else None
    model = TREE_CLASSIFIERS[name](random_state=seed)
    model.fit(X, targets(X, seed, n_classes), sample_weight=weights)
    record = assert_equal_outputs(model, table(seed + 10, n=500, missing=0.1))
    np.testing.assert_array_equal(record.classes_, model.classes_)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_gradient_boosting_agrees_bit_for_bit(n_classes, seed):
    X = table(seed)
    kind = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    model = kind(n_estimators=15, random_state=seed).fit(X, targets(X, seed, n_classes))
    assert_equal_outputs(model, table(seed + 10))


def test_gradient_boosting_elects_the_second_class_for_even_odds():
    """All sums are 0, in exact arithmetic."""
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = GradientBoostingClassifier(n_estimators=3).fit(X, [0, 1, 0, 1])
    assert (model.decision_function(X) == 0.0).all()
    record = assert_equal_outputs(model, X)
    assert record.predict(X).tolist() == [1, 1, 1, 1]


def test_trees_of_several_targets_agree_bit_for_bit():
    X = table(0)
    Y = np.column_stack([targets(X, 0), targets(X, 1), X[:, 4]])
    for model in (ExtraTreesRegressor(9, random_state=0), DecisionTreeRegressor()):
        assert_equal_outputs(model.fit(X, Y), table(10))


def test_trees_in_a_compiled_loop_agree_bit_for_bit(monkeypatch):
    """Large batches use it: rows times trees, from half a million."""
    X, points = table(0, missing=0.1), table(10, n=9000, missing=0.1)
    for model in (RandomForestClassifier(9), HistGradientBoostingClassifier(max_iter=9)):
        record = to_record(model.fit(X, targets(X, 0, 3)))
        slow = record.predict_proba(points)
        monkeypatch.setattr(trees, "COMPILED", 0)
        np.testing.assert_array_equal(record.predict_proba(points), slow)
        np.testing.assert_array_equal(slow, model.predict_proba(points))
        monkeypatch.undo()


def test_features_are_compared_at_their_own_precision():
    """A forest rounds features to float32 before it compares them with thresholds in float64."""
    X = np.repeat(1.0 + np.arange(8) * 2.0**-23, 3)[:, None]
    between = np.concatenate([X, X + 2.0**-24, X - 2.0**-25, X + 2.0**-26])
    y = np.arange(len(X)) % 5.0
    assert_equal_outputs(RandomForestRegressor(20, random_state=0).fit(X, y), between)
    boosted = HistGradientBoostingRegressor(min_samples_leaf=1, max_iter=20).fit(X, y)
    assert_equal_outputs(boosted, between)


def test_features_beyond_float32_are_refused_as_by_a_forest():
    X = table(0)
    model = RandomForestRegressor(3).fit(X, targets(X, 0))
    for point in (np.full((1, 5), 1e39), np.full((1, 5), np.inf)):
        for each in (model, to_record(model)):
            with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"[Ii]nf|float32"):
                each.predict(point)


def test_trees_take_missing_values_if_the_original_does():
    X = table(0)
    points = table(10, missing=0.1)
    for model in (GradientBoostingRegressor(n_estimators=3), RandomForestRegressor(3)):
        record = to_record(model.fit(X, targets(X, 0)))
        known = get_tags(model).input_tags.allow_nan
        assert get_tags(record).input_tags.allow_nan == known
        assert known == isinstance(model, RandomForestRegressor)
        if known:
            np.testing.assert_array_equal(record.predict(points), model.predict(points))
            continue
        for each in (model, record):
            with pytest.raises(ValueError, match="NaN"):
                each.predict(points)


LINEAR = [
    (LinearRegression, 0), (Ridge, 0), (partial(Ridge, fit_intercept=False), 0), (Lasso, 0),
    (partial(PoissonRegressor, alpha=1.0), 0), (partial(LinearSVR, max_iter=5000), 0),
    (partial(LogisticRegression, max_iter=2000), 2),
    (partial(LogisticRegression, max_iter=2000), 3), (RidgeClassifier, 2), (RidgeClassifier, 4),
    (LinearSVC, 2), (LinearSVC, 3), (LinearDiscriminantAnalysis, 2),
    (LinearDiscriminantAnalysis, 3), (DummyRegressor, 0),
    (partial(DummyRegressor, strategy="median"), 0), (DummyClassifier, 3),
    (partial(DummyClassifier, strategy="most_frequent"), 2),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("make", "n_classes"), LINEAR)
def test_linear_models_and_constants_agree(make, n_classes, seed):
    X = StandardScaler().fit_transform(table(seed))
    model = make().fit(X, targets(X, seed, n_classes))
    dummy = isinstance(model, DummyClassifier | DummyRegressor)
    # x'w with another order of the d products
    assert_equal_outputs(model, table(seed + 10), 0.0 if dummy else 1e-14)


def test_linear_models_of_several_targets_agree():
    X = table(0)
    model = Ridge().fit(X, np.column_stack([targets(X, 0), X[:, 0]]))
    assert_equal_outputs(model, table(10), 1e-14)


MACHINES = [
    (SVC, 2), (SVC, 3), (partial(SVC, decision_function_shape="ovo"), 4), (SVR, 0),
    (partial(SVC, kernel="linear", class_weight="balanced"), 3), (partial(NuSVC, nu=0.2), 3),
    (partial(SVC, kernel="poly", coef0=1.0), 2), (partial(SVR, kernel="sigmoid", gamma=0.1), 0),
    (partial(SVC, C=1000.0, gamma=1.0), 4), (partial(SVR, C=100.0), 0),
]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("make", "n_classes"), MACHINES)
def test_support_vector_machines_agree(make, n_classes, seed):
    X = StandardScaler().fit_transform(table(seed))
    model = make().fit(X, targets(X, seed, n_classes))
    points = np.random.default_rng(seed).normal(size=(400, 5))
    # rounding of a sum of n terms c_i k(x, x_i), relative to the largest term
    size = np.abs(model._dual_coef_).max() * len(model.support_)
    assert_equal_outputs(model, points, 1e-15 * max(1.0, size) * 5)


def test_votes_of_many_classes_take_little_memory():
    """A matrix with a row per pair and a column per class takes more."""
    k = 250
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    values = np.random.default_rng(0).integers(-1, 2, size=(2, len(pairs))).astype(float)
    with peak_memory() as used:
        found = won(values, k)
    assert used.peak < 8 * k * len(pairs) / 4
    expected = np.zeros((2, k))
    for row, signs in enumerate(values):
        for (a, b), sign in zip(pairs, signs, strict=True):
            expected[row, a if sign > 0 else b] += 1
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_support_vector_machines_on_kernel_values_agree(n_classes):
    X = StandardScaler().fit_transform(table(0))
    gram = Gaussian(0.3)(X)
    model = SVC(kernel="precomputed").fit(gram, targets(X, 0, n_classes))
    assert_equal_outputs(model, Gaussian(0.3)(X[:50] + 0.1, X), 1e-12)
    ridge = KernelRidge(kernel="precomputed").fit(gram, targets(X, 0))
    assert_equal_outputs(ridge, Gaussian(0.3)(X[:50] + 0.1, X), 1e-12)


PROCESSES = [
    KernelRidge(kernel="rbf"), KernelRidge(kernel="laplacian", gamma=0.3, alpha=0.1),
    KernelRidge(kernel="poly", degree=2), KernelRidge(kernel=Laplacian(0.2)), KernelRidge(),
    GaussianProcessRegressor(ConstantKernel() * RBF(3.0) + WhiteKernel(0.1), normalize_y=True),
    GaussianProcessRegressor(Matern([1.0, 2.0, 1.0, 3.0, 1.0], nu=1.5) + WhiteKernel(0.1)),
    GaussianProcessRegressor(DotProduct() + Matern(nu=0.5), alpha=0.1, optimizer=None),
    GaussianProcessRegressor(2.0 * Gaussian(0.3), alpha=0.1),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", PROCESSES, ids=lambda model: str(model)[:60])
def test_kernel_ridge_and_gaussian_processes_agree(model):
    X = StandardScaler().fit_transform(table(0, n=80))
    y = targets(X, 0)
    model.fit(X, y)
    coefficients = getattr(model, "dual_coef_", getattr(model, "alpha_", None))
    # 1e-12 of the range, as the terms c_i k(x, x_i) are not much larger than their sum
    assert np.abs(coefficients).sum() < 1e6
    assert_equal_outputs(model, np.random.default_rng(1).normal(size=(100, 5)), 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gaussian_process_classifiers_agree(n_classes):
    X = StandardScaler().fit_transform(table(0, n=80))
    model = GaussianProcessClassifier(ConstantKernel() * RBF(2.0), optimizer=None)
    model.fit(X, targets(X, 0, n_classes))
    # the five error functions have coefficients of 3500
    assert_equal_outputs(model, np.random.default_rng(1).normal(size=(100, 5)), 1e-10)


def test_a_gaussian_process_classifies_far_points_by_the_sign_of_its_mean():
    """Their probabilities of the second class are below 1/2 by the error of an approximation."""
    model = GaussianProcessClassifier(RBF(1.0), optimizer=None).fit([[0.0], [1.0]], [0, 1])
    points = np.array([[7.0], [8.0], [-6.0]])
    record = to_record(model)
    assert (record.predict_proba(points)[:, 1] < 0.5).all()
    assert model.predict(points).tolist() == record.predict(points).tolist() == [1, 1, 0]


TRANSFORMERS = [
    StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False),
    MinMaxScaler((-1, 2)), MinMaxScaler(clip=True), MaxAbsScaler(), RobustScaler(),
    RobustScaler(with_centering=False),
]  # fmt: skip


@pytest.mark.parametrize("model", TRANSFORMERS, ids=repr)
def test_scalers_agree_bit_for_bit(model):
    model.fit(table(0, missing=0.1))
    record = assert_equal_outputs(model, table(10, missing=0.1))
    np.testing.assert_array_equal(record.get_feature_names_out(), model.get_feature_names_out())
    points = table(3)
    if not getattr(model, "clip", False):
        np.testing.assert_array_equal(
            record.inverse_transform(points), model.inverse_transform(points)
        )


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent"])
def test_imputers_agree_bit_for_bit(strategy, keep):
    X = table(0, missing=0.1)
    X[:, 3], X[:, 1] = np.nan, np.nan_to_num(X[:, 1])
    options = {"keep_empty_features": keep, "add_indicator": True}
    model = SimpleImputer(strategy=strategy, **options)
    model.fit(X)
    record = assert_equal_outputs(model, table(10, missing=0.1))
    np.testing.assert_array_equal(record.get_feature_names_out(), model.get_feature_names_out())


def codes(seed, n=300):
    rng = np.random.default_rng(seed)
    C = rng.integers(0, [2, 5, 40], size=(n, 3)).astype(float)
    C[rng.random(n) < 0.1, 1] = np.nan
    return C


def test_encoders_of_categories_agree_bit_for_bit():
    """Also for unknown categories, such as 7.5, and for missing ones where training had none."""
    C, points = codes(0), codes(1)
    points[::7, 0], points[::11, 2], points[::13, 2] = np.nan, 7.5, -1.0
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(C)
    record = assert_equal_outputs(one_hot, points)
    np.testing.assert_array_equal(record.get_feature_names_out(), one_hot.get_feature_names_out())
    for n_classes in (0, 2, 3):
        encoder = TargetEncoder(random_state=0)
        encoder.fit(C, targets(table(0), 0, n_classes))
        assert_equal_outputs(encoder, points)


@pytest.mark.parametrize("model", [PCA(3), PCA(2, whiten=True), TruncatedSVD(3)], ids=repr)
def test_projections_agree(model):
    X = StandardScaler().fit_transform(table(0))
    record = assert_equal_outputs(model.fit(X), X[:50] + 0.1, 1e-14)
    np.testing.assert_array_equal(record.get_feature_names_out(), model.get_feature_names_out())


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ensemble", [False, True])
def test_calibrated_classifiers_agree(ensemble, n_classes, method):
    X = StandardScaler().fit_transform(table(0))
    for inner in (SVC(), LinearDiscriminantAnalysis(), HistGradientBoostingClassifier(max_iter=5)):
        model = CalibratedClassifierCV(inner, cv=3, ensemble=ensemble, method=method)
        model.fit(X, targets(X, 0, n_classes))
        assert_equal_outputs(model, np.random.default_rng(1).normal(size=(100, 5)), 1e-15)


class Shares(ClassifierMixin, BaseEstimator):
    """Logistic regression with probabilities alone, as the classifiers of boosting libraries."""

    def fit(self, X, y):
        self.machine_ = LogisticRegression().fit(X, y)
        self.classes_, self.n_features_in_ = self.machine_.classes_, X.shape[1]
        return self

    def predict_proba(self, X):
        return self.machine_.predict_proba(X)

    def predict(self, X):
        return self.machine_.predict(X)

    def _to_record(self):
        return to_record(self.machine_)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrated_probabilities_agree(tmp_path, n_classes, method):
    """The record of a member has decision values, unlike the member that the curves were fitted to.

    A pipeline has them if its last step does.
    """
    X = StandardScaler().fit_transform(table(0))
    points = np.random.default_rng(1).normal(size=(100, 5))
    for inner in (Shares(), make_pipeline(StandardScaler(), Shares())):
        model = CalibratedClassifierCV(inner, cv=2, method=method).fit(X, targets(X, 0, n_classes))
        save(model, tmp_path / "model.pliant")
        loaded = load(tmp_path / "model.pliant")
        assert hasattr(loaded.members_[0], "decision_function")
        expected, got = model.predict_proba(points), loaded.predict_proba(points)
        if method == "sigmoid":
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
        else:  # a curve may be steep between two scores
            assert np.median(np.abs(got - expected)) < 1e-6


def test_subclasses_have_no_record():
    """They may predict otherwise."""

    class Mine(Ridge):
        pass

    assert has_record(Ridge())
    assert not has_record(Mine())


@pytest.mark.parametrize("kind", [LogisticRegression, LogisticRegressionCV])
def test_probabilities_by_a_setting_of_earlier_versions_have_no_record(kind, monkeypatch):
    """scikit-learn 1.7 has ``multi_class``, which later versions left out."""
    model = kind()
    known = model.get_params(deep=False)
    assert has_record(model)
    for value in ("auto", "deprecated", "multinomial", "ovr"):
        changed = {**known, "multi_class": value}
        monkeypatch.setattr(model, "get_params", lambda deep=True, changed=changed: changed)
        assert has_record(model) == (value in ("auto", "deprecated"))


@pytest.mark.parametrize("kind", [RidgeClassifier, RidgeClassifierCV])
def test_several_labels_per_row_have_no_record(kind):
    X = StandardScaler().fit_transform(table(0))
    with pytest.raises(ValueError, match="more than one label per row of RidgeClassifier"):
        to_record(kind().fit(X, (X[:, :3] > 0).astype(int)))


def test_a_strict_encoder_refuses_unknown_categories():
    C = codes(0)
    record = to_record(OneHotEncoder().fit(C))
    check_loaded(record)
    np.testing.assert_array_equal(
        record.transform(C), OneHotEncoder(sparse_output=False).fit_transform(C)
    )
    with pytest.raises(ValueError, match="unknown categor"):
        record.transform(np.full((1, 3), 77.0))


SETTINGS = [
    SVC(probability=True), SVC(break_ties=True), SVC(kernel=np.dot), SVC(kernel=Gaussian()),
    SVR(kernel=np.dot), KernelRidge(kernel="cosine"), DummyClassifier(strategy="uniform"),
    KernelRidge(kernel="poly", degree=2.5), KernelRidge(kernel="polynomial", degree=0.5),
    GaussianProcessRegressor(RBF() + ConstantKernel()), OneHotEncoder(drop="first"),
    GaussianProcessClassifier(RBF() + WhiteKernel()), SimpleImputer(missing_values=-1),
    SimpleImputer(missing_values=pd.NA), SimpleImputer(missing_values=None),
    TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
    CalibratedClassifierCV(method="temperature"), GradientBoostingRegressor(init=Ridge()),
]  # fmt: skip


@pytest.mark.parametrize("model", SETTINGS, ids=range(len(SETTINGS)))
def test_settings_without_a_record_are_known_before_the_fit(model):
    assert not has_record(model)
    with pytest.raises(ValueError, match="has no form in a model file") as caught:
        to_record(model)
    assert type(model).__name__ in str(caught.value)
