"""Estimators of scikit-learn in model files: the same predictions, and no forged arrays."""

import copy

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from pliant import ModelFileError
from pliant.comparison import BASELINES
from pliant.persistence import SavedTreesClassifier, SavedTreesRegressor, load_model, save_model

X, LABELS = load_iris(return_X_y=True)
NAMES = np.array(["one", "two", "three"])[LABELS]
TWO = NAMES != "three"
NUMBERS = X[:, 0] * X[:, 1] + X[:, 2]
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)

CLASSIFIERS = (
    DummyClassifier(),
    LogisticRegression(max_iter=500),
    SVC(),
    SVC(kernel="poly", degree=2, decision_function_shape="ovo"),
    RandomForestClassifier(9, random_state=0),
    ExtraTreesClassifier(5, random_state=0),
    HistGradientBoostingClassifier(max_iter=9),
    BASELINES["gp"].classifier().set_params(optimizer=None),
)
REGRESSORS = (
    DummyRegressor(),
    Ridge(),
    KernelRidge(kernel="rbf"),
    SVR(kernel="sigmoid", gamma=0.01),
    RandomForestRegressor(9, random_state=0),
    HistGradientBoostingRegressor(max_iter=9, loss="absolute_error"),
    BASELINES["gp"].regressor().set_params(optimizer=None),
)


def again(model, path):
    save_model(model, path / "m.pliant")
    return load_model(path / "m.pliant").model


def asked(model, rows):
    """Everything that a model predicts."""
    names = [n for n in ("predict_proba", "decision_function") if hasattr(model, n)]
    return [model.predict(rows), *(getattr(model, name)(rows) for name in names)]


@pytest.mark.parametrize("rows", [slice(None), TWO], ids=["three", "two"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_a_classifier_predicts_the_same_after_a_file(tmp_path, model, rows):
    fitted = make_pipeline(StandardScaler(), model).fit(X[rows], NAMES[rows])
    loaded = again(fitted, tmp_path)
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    new = np.random.default_rng(1).normal(X.mean(axis=0), 2.0, size=(500, 4))
    for found, expected in zip(asked(loaded, new), asked(fitted, new), strict=False):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_a_regressor_predicts_the_same_after_a_file(tmp_path, model):
    fitted = TransformedTargetRegressor(make_pipeline(model), transformer=StandardScaler())
    fitted.fit(X, NUMBERS).set_params(regressor=fitted.regressor_, transformer=fitted.transformer_)
    before = copy.deepcopy(vars(fitted))
    loaded = again(fitted, tmp_path)
    assert vars(fitted).keys() == before.keys()
    assert type(fitted.regressor_[-1]) is type(model)
    new = np.random.default_rng(1).normal(X.mean(axis=0), 2.0, size=(500, 4))
    np.testing.assert_array_equal(loaded.predict(new), fitted.predict(new))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
        RandomForestRegressor(5, random_state=0),
        HistGradientBoostingRegressor(max_iter=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_take_missing_values(tmp_path, model):
    fitted = model.fit(GAPS, LABELS)
    loaded = again(fitted, tmp_path)
    kinds = (SavedTreesClassifier, SavedTreesRegressor)
    assert isinstance(loaded, kinds[not hasattr(model, "classes_")])
    assert loaded.source == type(model).__name__
    rows = np.vstack([GAPS, np.full((1, 4), np.nan)])
    np.testing.assert_array_equal(loaded.predict(rows), fitted.predict(rows))
    np.testing.assert_array_equal(again(loaded, tmp_path).predict(rows), fitted.predict(rows))
    with pytest.raises(ValueError, match="expecting 4 features"):
        loaded.predict(rows[:, :3])
    with pytest.raises(TypeError, match=f"cannot be fitted: use {loaded.source}"):
        loaded.fit(X, LABELS)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestRegressor(2).fit(X, X[:, :2]), "a forest for 2 targets"),
        (HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(X, NUMBERS), "'poisson'"),
        (
            HistGradientBoostingRegressor(categorical_features=[0], max_iter=2).fit(
                np.column_stack([LABELS, NUMBERS]), NUMBERS
            ),
            "categorical features",
        ),
        (SVC(kernel="precomputed").fit(X @ X.T, LABELS), "expected kernel in"),
        (SVC(kernel=np.dot), "function"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(tmp_path, model, message):
    with pytest.raises(ModelFileError, match=message):
        save_model(model, tmp_path / "m.pliant")
    assert list(tmp_path.iterdir()) == []


def changed(name, value):
    """Return what sets an attribute; a function of the old value, or a value."""
    return lambda m: setattr(m, name, value(getattr(m, name)) if callable(value) else value)


SVM_FORGERIES = {
    "support_vectors_": changed("support_vectors_", lambda a: a[:-1].copy()),
    "features": changed("support_vectors_", lambda a: a[:, :2].copy()),
    "single": changed("support_vectors_", lambda a: a.astype(np.float32)),
    "columns": changed("support_vectors_", np.asfortranarray),
    "support_": changed("support_", lambda a: a[:3].copy()),
    "_n_support": changed("_n_support", lambda a: a + np.int32(1)),
    "negative": changed("_n_support", lambda a: np.r_[-1, a[1:-1], a[0] + a[-1] + 1].astype("i4")),
    "wide": changed("_n_support", lambda a: a.astype(np.int64)),
    "more classes": changed("classes_", np.arange(4)),
    "one class": changed("classes_", np.arange(1)),
    "_dual_coef_": changed("_dual_coef_", lambda a: a[:, :-1].copy()),
    "_intercept_": changed("_intercept_", lambda a: a[:0].copy()),
    "_probA": changed("_probA", np.zeros(1)),
    "_gamma": changed("_gamma", np.array([1.0, 2.0])),
    "sparse": changed("_sparse", True),
    "n_features_in_": changed("n_features_in_", 5),
    "shape_fit_": changed("shape_fit_", (150, 9)),
    "kernel": changed("kernel", "precomputed"),
    "degree": changed("degree", 2.5),
    "another attribute": changed("_impl", "one_class"),
    "without": lambda m: delattr(m, "_n_support"),
    "no array": changed("support_", [1, 2]),
}


OF_CLASSES = ("_n_support", "more classes", "one class")
"""Forgeries of a classifier only."""


@pytest.mark.parametrize("forge", SVM_FORGERIES)
def test_forged_support_vector_machines_are_refused(tmp_path, forge):
    models = [(SVC(), LABELS), (SVR(), NUMBERS)][: 1 if forge in OF_CLASSES else 2]
    for model, y in models:
        SVM_FORGERIES[forge](model.fit(X, y))
        with pytest.raises(ModelFileError, match=r"expected|lacks"):
            save_model(model, tmp_path / "m.pliant")


TREE_FORGERIES = {
    "left_": changed("left_", lambda a: a + len(a)),
    "a circle": changed("left_", lambda a: a * 0),
    "right_": changed("right_", lambda a: a[:-1].copy()),
    "feature_": changed("feature_", lambda a: a + 4),
    "below": changed("feature_", lambda a: a - 1),
    "roots_": changed("roots_", lambda a: a - 1),
    "outputs_": changed("outputs_", lambda a: a + 3),
    "fewer roots": changed("roots_", lambda a: a[1:].copy()),
    "none": lambda m: (changed("roots_", m.roots_[:0])(m), changed("outputs_", m.roots_[:0])(m)),
    "value_": changed("value_", lambda a: a[:, :0].copy()),
    "threshold_": changed("threshold_", lambda a: a.astype(np.float32)),
    "missing_left_": changed("missing_left_", lambda a: a.astype(int)),
    "offset_": changed("offset_", lambda a: a[:, None]),
    "classes_": changed("classes_", lambda a: a[:2]),
    "mean": changed("mean", lambda mean: not mean),
    "integers": changed("left_", lambda a: a.astype(np.int32)),
    "without": lambda m: delattr(m, "left_"),
}


@pytest.mark.parametrize("forge", TREE_FORGERIES)
def test_forged_trees_are_refused(tmp_path, forge):
    for model in (RandomForestClassifier(2), HistGradientBoostingClassifier(max_iter=2)):
        saved = again(model.fit(X, LABELS), tmp_path)
        TREE_FORGERIES[forge](saved)
        with pytest.raises(ModelFileError, match=r"expected|lacks"):
            save_model(saved, tmp_path / "n.pliant")


@pytest.mark.parametrize(
    ("forge", "expected"),
    [
        (changed("X_max_", 1e5), "within the thresholds"),
        (changed("X_min_", np.nan), "within the thresholds"),
        (changed("X_thresholds_", lambda a: a[::-1].copy()), "increasing thresholds"),
        (changed("y_thresholds_", lambda a: a[1:].copy()), "equal in length"),
    ],
)
def test_forged_isotonic_regressions_are_refused(tmp_path, forge, expected):
    model = again(IsotonicRegression(out_of_bounds="clip").fit(X[:, 0], NUMBERS), tmp_path)
    forge(model)
    with pytest.raises(ModelFileError, match=expected):
        save_model(model, tmp_path / "n.pliant")


def test_a_part_of_a_model_is_no_model(tmp_path):
    whole = CalibratedClassifierCV(LogisticRegression(max_iter=500), cv=2).fit(X, NAMES)
    with pytest.raises(ModelFileError, match=r"as the model, got _SigmoidCalibration"):
        save_model(whole.calibrated_classifiers_[0].calibrators[0], tmp_path / "m.pliant")


@pytest.mark.parametrize(
    "forge",
    [
        changed("estimators_", lambda parts: parts[1:]),
        lambda m: setattr(m.label_binarizer_, "y_type_", "multilabel-indicator"),
    ],
)
def test_forged_gaussian_processes_are_refused(tmp_path, forge):
    model = BASELINES["gp"].classifier().set_params(optimizer=None).fit(X, LABELS)
    assert model.base_estimator_.estimators_[0].rng is not None
    forge(model.base_estimator_)
    with pytest.raises(ModelFileError, match="an estimator for each of 3 classes"):
        save_model(model, tmp_path / "m.pliant")
