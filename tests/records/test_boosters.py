"""Records of XGBoost, LightGBM and CatBoost, where these packages are installed.

Sums of trees agree bit for bit; XGBoost's probabilities and exponentials are in float32.
"""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV

from pliant.core.form import check_loaded
from pliant.persistence import holds, load, save
from pliant.records import to_record
from pliant.records.boosters import xgboost_record
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from pliant.tables.comparison.contenders import named
from tests.records.test_same_predictions import table, targets

LIGHTGBM = {"n_jobs": 1, "deterministic": True, "force_row_wise": True, "verbose": -1}
CATBOOST = {"thread_count": 1, "verbose": False, "allow_writing_files": False}

REGRESSORS = {
    "xgboost": [
        {"n_estimators": 20}, {"objective": "count:poisson", "n_estimators": 9},
        {"objective": "reg:absoluteerror", "n_estimators": 9}, {"num_parallel_tree": 3},
        {"early_stopping_rounds": 3, "n_estimators": 60}, {"tree_method": "exact"},
    ],
    "lightgbm": [
        {"n_estimators": 20}, {"objective": "poisson", "n_estimators": 9},
        {"objective": "quantile", "n_estimators": 9}, {"use_missing": False},
        {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7, "n_estimators": 9},
        {"boosting_type": "dart", "n_estimators": 9}, {"min_child_samples": 300},
    ],
    "catboost": [
        {"n_estimators": 20}, {"loss_function": "MAE", "n_estimators": 9},
        {"nan_mode": "Max", "n_estimators": 9}, {"depth": 1, "n_estimators": 9},
    ],
}  # fmt: skip

CASES = [(name, options) for name, cases in REGRESSORS.items() for options in cases]


def made(name, kind, **options):
    """Return an unfitted booster, or skip the test if its package is not installed."""
    package = pytest.importorskip(name)
    fixed = {"xgboost": {"n_jobs": 1}, "lightgbm": LIGHTGBM, "catboost": CATBOOST}[name]
    prefix = {"xgboost": "XGB", "lightgbm": "LGBM", "catboost": "CatBoost"}[name]
    return getattr(package, prefix + kind)(**fixed, **options)


@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["complete", "missing"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_regressors_agree(name, options, missing):
    model = made(name, "Regressor", **options)
    X = table(0, missing=missing)
    y, points = targets(X, 0), table(10, n=500, missing=0.1)
    if "early_stopping_rounds" in options:
        model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
        assert model.best_iteration < options["n_estimators"] - 1
    else:
        model.fit(X, y)
    record = to_record(model)
    check_loaded(record)
    expected = np.asarray(model.predict(points), dtype=np.float64)
    if record.link == "exp" and name == "xgboost":  # the exponential of a float32 number
        np.testing.assert_allclose(record.predict(points), expected, rtol=1e-6)
    elif record.link == "exp":
        np.testing.assert_allclose(record.predict(points), expected, rtol=1e-15)
    else:
        np.testing.assert_array_equal(record.predict(points), expected)
    assert record.n_features_in_ == 5


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", REGRESSORS)
def test_classifiers_agree(name, n_classes):
    X = table(0, missing=0.1)
    labels = targets(X, 0, n_classes)
    y = np.unique(labels, return_inverse=True)[1] if name == "xgboost" else labels
    model = made(name, "Classifier", n_estimators=15).fit(X, y)
    record = to_record(model)
    check_loaded(record)
    points = table(10, n=500, missing=0.1)
    tolerance = 1e-6 if name == "xgboost" else 1e-15
    np.testing.assert_allclose(
        record.predict_proba(points), model.predict_proba(points), rtol=0, atol=tolerance
    )
    np.testing.assert_array_equal(record.predict(points), np.ravel(model.predict(points)))
    np.testing.assert_array_equal(record.classes_, model.classes_)
    raw = {"xgboost": "output_margin", "lightgbm": "raw_score"}
    if name in raw:
        sums = model.predict(points, **{raw[name]: True})
        np.testing.assert_array_equal(record.decision_function(points), sums)
    else:
        sums = model.predict(points, prediction_type="RawFormulaVal")
        np.testing.assert_array_equal(record.decision_function(points), sums)


class XGBClassifier:
    """An XGBoost classifier of one leaf with the value 0, as XGBoost writes it down."""

    def __init__(self, base_score=0.5, feature_names=None):
        self.base_score, self.feature_names = base_score, feature_names
        self.classes_ = np.arange(2)

    def get_params(self, deep=True):
        return {"missing": np.nan}

    def get_booster(self):
        return self

    def save_raw(self, raw_format):
        tree = {"split_conditions": [0.0], "left_children": [-1], "right_children": [-1]}
        tree |= {"split_type": [0], "split_indices": [0], "default_left": [0]}
        model = {"trees": [tree], "tree_info": [0], "iteration_indptr": [0, 1]}
        learner = {
            "gradient_booster": {"name": "gbtree", "model": model},
            "objective": {"name": "binary:logistic"},
            "learner_model_param": {"base_score": str(self.base_score), "num_feature": "2"},
        }
        return json.dumps({"learner": learner})


def test_the_margin_of_the_base_score_is_computed_as_in_xgboost():
    """For b = 1 - 3 / 2^24, 1 / b in float32 is 1 + 2^-22, so -log(1 / b - 1) is 22 log 2."""
    record = xgboost_record(XGBClassifier(1 - 3 * 2.0**-24))
    margin = record.decision_function(np.zeros((1, 2)))
    np.testing.assert_allclose(margin, 22 * np.log(2.0), rtol=1e-6)


def test_the_columns_of_a_frame_have_the_order_of_training():
    """A frame without names has the names "0", "1", ... in XGBoost."""
    record = xgboost_record(XGBClassifier(feature_names=["b", "a"]))
    check_loaded(record)
    frame = pd.DataFrame({"b": [0.0], "a": [1.0]})
    assert record.predict(frame).tolist() == [0]
    with pytest.raises(ValueError, match="feature names should match"):
        record.predict(frame[["a", "b"]])
    for names in (None, ["0", "1"]):
        record = xgboost_record(XGBClassifier(feature_names=names))
        assert not hasattr(record, "feature_names_in_")


def test_xgboost_and_its_record_compare_the_columns_of_a_frame():
    X = pd.DataFrame(table(0), columns=list("edcba"))
    model = made("xgboost", "Regressor", n_estimators=5).fit(X, targets(table(0), 0))
    record = to_record(model)
    np.testing.assert_array_equal(record.predict(X), model.predict(X))
    for each in (model, record):
        with pytest.raises(ValueError, match=r"feature.names"):
            each.predict(X[list("abcde")])


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_calibrated_boosters_agree(name, tmp_path):
    """The curves were fitted to probabilities, as these boosters have no decision values."""
    X = table(0)
    y = (targets(X, 0) > 100).astype(int)
    inner = made(name, "Classifier", n_estimators=5)
    model = CalibratedClassifierCV(inner, cv=2).fit(X, y)
    save(model, tmp_path / "model.pliant")
    points = table(10)
    expected, got = model.predict_proba(points), load(tmp_path / "model.pliant").predict_proba
    np.testing.assert_allclose(got(points), expected, rtol=0, atol=1e-5)


REFUSED = [
    ("xgboost", {"booster": "dart"}), ("xgboost", {"missing": 0.0}),
    ("xgboost", {"objective": "reg:logistic"}), ("lightgbm", {"zero_as_missing": True}),
    ("lightgbm", {"linear_tree": True}), ("lightgbm", {"reg_sqrt": True}),
    ("catboost", {"grow_policy": "Lossguide"}), ("catboost", {"loss_function": "Poisson"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), REFUSED, ids=str)
def test_settings_without_a_record_are_refused(name, options):
    X = table(0, missing=0.1)
    y = targets(X, 0)
    if "reg:logistic" in options.values():
        y = (y > 100) * 1.0
    model = made(name, "Regressor", n_estimators=5, **options).fit(X, y)
    with pytest.raises(ValueError, match="has no form in a model file"):
        to_record(model)


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_blend_of_boosters_comes_back_without_their_package(name, tmp_path):
    """The classifier of the comparison has labels of its own."""
    made(name, "Regressor")
    X, y = table(0), targets(table(0), 0)
    method = named(name)
    for task, kind, target in (
        ("regression", BlendRegressor, y),
        ("classification", BlendClassifier, targets(X, 0, 3)),
    ):
        member = method.make_estimator(task, seed=0, n_rows=300).set_params(n_estimators=9)
        assert holds(member)
        blend = kind([(name, member)], cv=2).fit(X, target)
        save(blend, tmp_path / "model.pliant")
        code = "import sys, pliant; pliant.load(sys.argv[1]); print(sys.argv[2] in sys.modules)"
        words = [sys.executable, "-c", code, tmp_path / "model.pliant", name]
        assert subprocess.run(words, capture_output=True, text=True).stdout == "False\n"
        loaded = load(tmp_path / "model.pliant")
        predict = "predict" if task == "regression" else "predict_proba"
        expected = getattr(blend, predict)(X)
        np.testing.assert_allclose(getattr(loaded, predict)(X), expected, rtol=1e-5, atol=1e-6)
        assert (loaded.predict(X) == blend.predict(X)).mean() > 0.99
        assert method.matches(loaded.members_[0][1])
