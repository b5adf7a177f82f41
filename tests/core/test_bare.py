"""The replacements of scikit-learn and numba agree with them."""

import numpy as np
import pytest
import sklearn.pipeline
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from pliant.core import bare, process
from pliant.core.exponential import exponentials
from pliant.core.loops import Loop, compiled
from pliant.core.validation import prediction_rows
from pliant.methods.tkl.generalized_kernel import multiply_overlap

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(30, 3)), rng.normal(size=30)
VALUES = -np.concatenate([rng.exponential(size=2000), 10.0 ** rng.uniform(-30, 5, 2000)])


class Both(bare.BaseEstimator):
    """An estimator of two parameters, one of which may be an estimator."""

    def __init__(self, second=None, first=1):
        self.second, self.first = second, first


def test_parameters_are_those_of_scikit_learn():
    class Same(sklearn.base.BaseEstimator):
        def __init__(self, second=None, first=1):
            self.second, self.first = second, first

    for kind in (Both, Same):
        outer = kind(kind(first=3))
        assert {k: v for k, v in outer.get_params().items() if k != "second"} == {
            "first": 1, "second__first": 3, "second__second": None,
        }  # fmt: skip
        assert outer.get_params(deep=False).keys() == {"first", "second"}
        assert outer.set_params(first=2).first == 2
        with pytest.raises(ValueError, match="third"):
            outer.set_params(third=1)


@pytest.mark.parametrize("last", [Ridge(), LogisticRegression()])
def test_a_pipeline_predicts_as_that_of_scikit_learn(last):
    steps = [("a", StandardScaler()), ("b", last)]
    theirs = sklearn.pipeline.Pipeline(steps).fit(X, Y > 0)
    ours = bare.Pipeline(theirs.steps)
    assert len(ours) == 2
    assert ours.n_features_in_ == 3
    for name in ("predict", "predict_proba", "decision_function", "transform", "classes_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        if hasattr(theirs, name) and name != "classes_":
            np.testing.assert_array_equal(getattr(ours, name)(X), getattr(theirs, name)(X))
    np.testing.assert_array_equal(ours[:1].transform(X), theirs[:1].transform(X))


@pytest.mark.parametrize("names", [["a", "a"], ["a__b"], ["steps"]])
def test_a_pipeline_refuses_the_names_that_scikit_learn_refuses(names):
    for kind in (bare.Pipeline, sklearn.pipeline.Pipeline):
        with pytest.raises(ValueError, match=names[0]):
            kind([(name, None) for name in names])._validate_names(names)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_both_exponentials_agree_to_two_units_in_the_last_place(dtype, monkeypatch):
    values = np.append(VALUES, [0.0, 3.0, np.nan, -np.inf]).astype(dtype)
    expected = exponentials(values.copy(), 0.75)
    monkeypatch.setattr(process, "BARE", True)
    found = exponentials(values.copy(), 0.75)
    np.testing.assert_array_equal(found == 0, expected == 0)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    shown = expected > 0
    np.testing.assert_array_max_ulp(found[shown], expected[shown], 2)


def test_products_of_overlaps_have_the_same_bits(monkeypatch):
    rng = np.random.default_rng(1)
    left, right = rng.random((20, 4)), np.ascontiguousarray(rng.random((9, 4)).T)
    upper, density, added = rng.random(4) + 1, rng.random(4), rng.normal(size=(20, 9))
    tiles = rng.normal(size=(20, 9)), None
    tiles = tiles[0], tiles[0].copy()
    multiply_overlap(tiles[0], left, right, upper, density, added)
    monkeypatch.setattr(process, "BARE", True)
    multiply_overlap(tiles[1], left, right, upper, density, added)
    np.testing.assert_array_equal(*tiles)


def test_rows_that_need_no_check_are_returned_and_others_refused(monkeypatch):
    model = Ridge().fit(X, Y)
    assert prediction_rows(model, X, dtype=np.float64) is X
    gaps = np.where(np.arange(3) == 1, np.nan, X)
    assert prediction_rows(model, gaps, dtype=np.float64, allow_nan=True) is gaps
    np.testing.assert_array_equal(prediction_rows(model, X.tolist(), dtype=np.float64), X)
    wrong = (gaps, X[:, :2], X[0], X[:0], np.where(X > 1, np.inf, X), X.astype(object))
    for rows in wrong[:5]:
        with pytest.raises(ValueError, match=r"NaN|features|1D|sample|infinity"):
            prediction_rows(model, rows, dtype=np.float64)
    monkeypatch.setattr(process, "BARE", True)
    for rows in wrong:
        with pytest.raises(ValueError, match="expected rows of 3 finite numbers, got"):
            prediction_rows(model, rows, dtype=np.float64)


@compiled
def doubled(x):
    return 2.0 * x


@compiled
def doubled_twice(x):
    return doubled(doubled(x))


def test_a_loop_calls_another_that_is_compiled_with_it():
    first, second = doubled, doubled_twice
    assert isinstance(second, Loop)
    assert second(1.5) == 6.0
    assert doubled is not first  # both are replaced in the module
    assert doubled_twice is not second
    assert doubled_twice(1.5) == second(1.5) == 6.0
