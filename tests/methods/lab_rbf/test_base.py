"""What LAB-RBF regressors and classifiers share: constructor, summary, a fit that fails."""

import inspect

import numpy as np
import pytest

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.core.summary import summarize

QUICK = {"n_support": 8, "n_members": 3, "max_iter": 5, "random_state": 0}
X = np.random.default_rng(0).uniform(-1, 1, size=(80, 3))
Y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
MODELS = [LABRBFRegressor, LABRBFClassifier]


def fitted(cls, **options):
    y = Y if cls is LABRBFRegressor else np.digitize(Y, [0.0, 0.5])
    return cls(**{**QUICK, **options}).fit(X, y)


@pytest.mark.parametrize("cls", MODELS)
def test_the_constructor_stands_in_the_class_and_its_parameters_in_the_docstring(cls):
    assert "__init__" in vars(cls)
    ours, others = inspect.signature(cls).parameters, inspect.signature(LABRBFRegressor).parameters
    assert list(ours.values()) == [p for p in others.values() if p.name in ours]
    assert others.keys() - ours.keys() <= {"calibration"}  # for a number only
    for name in inspect.signature(cls).parameters:
        assert f"\n    {name} : " in cls.__doc__


@pytest.mark.parametrize("cls", MODELS)
def test_the_summary_is_that_of_the_members_that_predict(cls):
    model = fitted(cls)
    model.averaged_ = np.array([True, False, True])
    summary = summarize(model)
    (function,) = summary.functions
    assert function.estimator is model
    assert function.n_support == len(model.support_)
    assert function.n_iter == model.n_iter_
    assert function.objective is function.gap is function.relative_gap is None
    assert function.convergence is None
    assert function.details["members"] == 2
    assert function.details["held_out_score"] == model.validation_score_[[0, 2]].mean()
    np.testing.assert_array_equal(function.details["relevance"], model.feature_relevance_)
    spread = model.feature_relevance_spread_
    np.testing.assert_array_equal(function.details["relevance_spread"], spread)
    assert function.details["correlated"] is model.correlated_features_
    assert summary.n_support == len(set(model.support_.tolist()))
    intervals = {"intervals"} if cls is LABRBFRegressor else set()
    assert summary.drawings == {"bandwidths", "relevance"} | intervals
    assert summary.base_kernel is None
    assert not summary.learner


def test_without_held_out_samples_no_intervals_can_be_drawn():
    model = fitted(LABRBFRegressor, validation_fraction=0.0, alpha=0.1, shrinkage=0.0)
    assert model.summary().drawings == {"bandwidths", "relevance"}
    assert "intervals" in model.calibrate(X, Y).summary().drawings
