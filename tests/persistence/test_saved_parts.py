"""Estimators that hold others: searches, columns, calibration and targets, saved and forged."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from pliant import DANKClassifier, DANKRegressor, LABRBFRegressor, ModelFileError
from pliant.persistence import load_model, save_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
LABELS = np.where(Y > 0, "up", "down")
SIZES = np.digitize(Y, [-0.5, 0.5])
TABLE = pd.DataFrame(X, columns=["u", "v", "w"]).assign(
    colour=np.where(X[:, 2] > 0, "red", "blue"), size=RNG.integers(3, size=60)
)


def round_trip(model, tmp_path):
    save_model(model, tmp_path / "m.pliant")
    return load_model(tmp_path / "m.pliant").model


def assert_same(loaded, model, points=X):
    for name in ("decision_function", "predict_proba", "predict"):
        if hasattr(model, name):
            np.testing.assert_array_equal(
                getattr(loaded, name)(points), getattr(model, name)(points)
            )


CHOICES = {"dankclassifier__C": [1.0, 10.0]}
SEARCHES = [
    GridSearchCV(make_pipeline(StandardScaler(), DANKClassifier()), CHOICES, cv=2),
    RandomizedSearchCV(make_pipeline(DANKClassifier()), CHOICES, n_iter=1, cv=2, random_state=0),
    HalvingGridSearchCV(make_pipeline(DANKClassifier()), CHOICES, cv=2, random_state=0),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_of_a_search_the_best_estimator_is_saved(tmp_path, search):
    search.fit(X, LABELS)
    loaded = round_trip(search, tmp_path)
    assert type(loaded) is type(search.best_estimator_)
    assert loaded.get_params()["dankclassifier__C"] == search.best_params_["dankclassifier__C"]
    assert_same(loaded, search)


CALIBRATED = [
    {"cv": 2},
    {"cv": 2, "method": "isotonic"},
    {"cv": StratifiedKFold(2), "ensemble": False},
]


@pytest.mark.parametrize("settings", CALIBRATED, ids=str)
@pytest.mark.parametrize("y", [LABELS, SIZES], ids=["two classes", "three classes"])
def test_calibrated_classifiers_survive(tmp_path, settings, y):
    pipeline = make_pipeline(StandardScaler(), DANKClassifier())
    model = CalibratedClassifierCV(pipeline, **settings).fit(X, y)
    before = model.estimator
    loaded = round_trip(model, tmp_path)
    assert_same(loaded, model)
    assert model.estimator is before
    assert_same(loaded.fit(X, y), model)


def test_parts_within_parts_survive(tmp_path):
    search = GridSearchCV(DANKClassifier(), {"C": [1.0, 10.0]}, cv=2)
    calibrated = CalibratedClassifierCV(search, cv=2).fit(X, LABELS)
    assert_same(round_trip(calibrated, tmp_path), calibrated)
    frozen = CalibratedClassifierCV(FrozenEstimator(search.fit(X, LABELS))).fit(X, LABELS)
    assert_same(round_trip(frozen, tmp_path), frozen)
    inner = GridSearchCV(DANKRegressor(), {"C": [1.0]}, cv=2)
    for transformer in (None, MinMaxScaler()):
        target = TransformedTargetRegressor(inner, transformer=transformer).fit(X, Y)
        loaded = round_trip(make_pipeline(StandardScaler(), target).fit(X, Y), tmp_path)
        assert_same(loaded, make_pipeline(StandardScaler(), target).fit(X, Y))
    local = TransformedTargetRegressor(LABRBFRegressor(5, n_members=1, max_iter=3, random_state=0))
    assert_same(round_trip(local.fit(X, Y), tmp_path), local)


def columns(**settings):
    return ColumnTransformer(
        [
            ("scaled", StandardScaler(), ["u", "v"]),
            ("coded", OneHotEncoder(sparse_output=False, **settings), ["colour", "size"]),
            ("numbered", OrdinalEncoder(), make_column_selector(dtype_exclude="number")),
            ("left out", "drop", ["w"]),
        ],
        remainder="passthrough",
    )


@pytest.mark.parametrize(
    "settings",
    [{}, {"drop": "if_binary"}, {"max_categories": 2, "handle_unknown": "infrequent_if_exist"}],
    ids=str,
)
def test_transformers_of_columns_survive(tmp_path, settings):
    table = TABLE.assign(rest=X[:, 2] ** 2)
    model = make_pipeline(columns(**settings), DANKClassifier()).fit(table, LABELS)
    loaded = round_trip(model, tmp_path)
    assert_same(loaded, model, table)
    assert loaded[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    assert_same(loaded.fit(table, LABELS), model, table)


REFUSED = [
    (GridSearchCV(DANKClassifier(), {}, refit=False), "expected a fitted GridSearchCV with refit"),
    (CalibratedClassifierCV(DANKClassifier()), "CalibratedClassifierCV instance is not fitted"),
    (ColumnTransformer([("a", StandardScaler(), [0])]), "not fitted"),
    (TransformedTargetRegressor(DANKRegressor()), "not fitted"),
    (make_pipeline(FunctionTransformer(np.log1p)), "is the function 'numpy.log1p'"),
]


@pytest.mark.parametrize(("model", "message"), REFUSED, ids=lambda item: type(item).__name__)
def test_what_is_not_fitted_or_holds_a_function_is_refused(tmp_path, model, message):
    with pytest.raises(ModelFileError, match=f"cannot save the model: .*{message}"):
        save_model(model, tmp_path / "m.pliant")
    assert list(tmp_path.iterdir()) == []


def coder(model):
    return model.named_transformers_["coded"]


FORGED_COLUMNS = {
    "categories, order": lambda m: coder(m).categories_.__setitem__(1, np.array([2, 1, 0])),
    "categories, twice": lambda m: coder(m).categories_.__setitem__(1, np.array([0, 1, 1])),
    "categories, shape": lambda m: coder(m).categories_.__setitem__(1, np.eye(2)),
    "categories, number": lambda m: coder(m).categories_.pop(),
    "fewer columns": lambda m: setattr(coder(m), "_n_features_outs", [1, 3]),
    "columns of one": lambda m: setattr(coder(m), "_n_features_outs", [2]),
    "dropped": lambda m: setattr(
        coder(m), "_drop_idx_after_grouping", np.array([-5, None], dtype=object)
    ),
    "triples": lambda m: m.transformers_.append(("x", "drop")),
    "no categories": lambda m: delattr(coder(m), "categories_"),
}


@pytest.mark.parametrize("forge", FORGED_COLUMNS)
def test_forged_columns_are_refused(tmp_path, forge):
    model = columns().fit(TABLE)
    FORGED_COLUMNS[forge](model)
    with pytest.raises(ModelFileError, match=r"expected|lacks an attribute|zip\(\)|not enough"):
        save_model(model, tmp_path / "m.pliant")
    assert list(tmp_path.iterdir()) == []


def test_forged_groups_of_categories_are_refused(tmp_path):
    model = OneHotEncoder(max_categories=2).fit(TABLE[["size"]])
    for groups in (np.array([0, 1, 7]), np.array([0, -1, 1]), np.array([0, 1])):
        model._default_to_infrequent_mappings = [groups]
        with pytest.raises(ModelFileError, match=r"expected a (column|group)"):
            save_model(model, tmp_path / "m.pliant")


def test_forged_calibration_is_refused(tmp_path):
    for name, value in (("classes", [0]), ("calibrators", [])):
        model = CalibratedClassifierCV(DANKClassifier(), cv=2).fit(X, LABELS)
        setattr(model.calibrated_classifiers_[0], name, value)
        with pytest.raises(ModelFileError, match="expected a calibrator for each of 2 classes"):
            save_model(model, tmp_path / "m.pliant")
    model.calibrated_classifiers_[0] = model.calibrated_classifiers_[1]
    model.calibrated_classifiers_[0].estimator.dual_coef_ = np.zeros(1)
    with pytest.raises(ModelFileError, match="coefficients, got shape"):
        save_model(model, tmp_path / "m.pliant")
