"""What LAB-RBF regressors and classifiers share: constructor, summary, a fit that fails."""

import inspect

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.core.summary import summarize
from pliant.kernels import LocalRBFKernel, Warp

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
    shared = [p for p in ours.values() if p.name != "loss"]  # for classes only
    assert shared == [p for p in others.values() if p.name in ours]
    assert others.keys() - ours.keys() <= {"calibration"}  # for a number only
    for name in inspect.signature(cls).parameters:
        assert f"\n    {name} : " in cls.__doc__


@pytest.mark.parametrize("cls", MODELS)
def test_every_parameter_with_a_range_has_a_constraint(cls):
    unchecked = {"device", "n_jobs", "random_state"}
    assert set(inspect.signature(cls).parameters) == cls._constraints.keys() | unchecked


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


def test_the_summary_has_the_kernel_if_members_map_the_features_alike():
    model = fitted(LABRBFRegressor)
    model.averaged_[:] = True
    kernel = model.summary().kernel
    assert isinstance(kernel, LocalRBFKernel)
    np.testing.assert_array_equal(kernel.centres, model.support_vectors_)
    model.members_[0].warp_ = Warp.learn(np.exp(2 * X), "log")
    assert model.summary().kernel is None


def test_a_support_point_of_several_members_counts_once():
    model = fitted(LABRBFRegressor, support=[3, 1, 79])
    model.averaged_[:] = True
    summary = model.summary()
    assert summary.functions[0].n_support == 9
    assert summary.n_support == 3


def test_without_held_out_samples_there_is_no_score():
    model = fitted(
        LABRBFRegressor, validation_fraction=0, alpha=0.1, shrinkage=0.1, transforms=None
    )
    assert np.isnan(model.summary().functions[0].details["held_out_score"])


@pytest.mark.parametrize("cls", MODELS)
def test_a_fit_that_fails_leaves_an_estimator_that_is_not_fitted(cls):
    model = fitted(cls)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((80, 3), np.nan), Y > 0)
    assert not [name for name in vars(model) if name.endswith("_")]
    for method in (model.summary, lambda: model.predict(X)):
        with pytest.raises(NotFittedError):
            method()
