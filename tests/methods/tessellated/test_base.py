"""The summary of the estimators of TKL and GKL."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from pliant import GKLClassifier, GKLRegressor, TKLClassifier, TKLRegressor
from pliant.core.summary import summarize
from tests.papers.tessellated_cases import C1, R1

ESTIMATORS = [TKLClassifier, TKLRegressor, GKLClassifier, GKLRegressor]


def fitted(estimator, **options):
    case = C1 if estimator in (TKLClassifier, GKLClassifier) else R1
    return estimator(C=5.0, **options).fit(case.X, case.y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_summary_of_one_function(estimator):
    model = fitted(estimator)
    summary = summarize(model)
    (function,) = summary.functions
    assert summary.kernel is model.kernel_
    assert summary.base_kernel is None
    assert not summary.learner
    assert summary.n_support == function.n_support == len(model.support_)
    assert function.estimator is model
    assert function.classes is None
    assert function.n_iter == model.n_iter_
    assert (function.objective, function.gap) == (model.objective_, model.dual_gap_)
    assert function.relative_gap == model.relative_gap_ <= model.tol
    assert function.details == {"rank": model.rank_}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_convergence_is_relative_to_the_objective(estimator):
    model = fitted(estimator)
    convergence = model.summary().functions[0].convergence
    np.testing.assert_array_equal(convergence.steps, np.arange(1, model.n_iter_ + 1))
    expected = model.gap_history_ / model.objective_history_
    np.testing.assert_array_equal(convergence.gaps, expected)
    assert convergence.gaps[-1] == model.relative_gap_
    assert convergence.tol == model.tol
    assert convergence.unit == "support vector machines solved"
    assert convergence.scale == "|objective|"


def test_a_gap_of_zero_is_a_relative_gap_of_zero():
    (function,) = fitted(TKLRegressor, epsilon=10.0).summary().functions
    assert function.objective == function.gap == function.relative_gap == 0
    np.testing.assert_array_equal(function.convergence.gaps, 0)
    assert function.n_support == 0


def test_the_summary_of_more_than_two_classes_has_one_function_per_pair():
    points, y = load_iris(return_X_y=True)
    model = TKLClassifier(tol=0.1).fit(points, np.array(["a", "b", "c"])[y])
    summary = model.summary()
    assert summary.kernel is None
    assert [function.classes for function in summary.functions] == [*combinations("abc", 2)]
    assert [function.estimator for function in summary.functions] == model.estimators_
    for function, part in zip(summary.functions, model.estimators_, strict=True):
        assert function.details == {"rank": part.rank_}
        assert function.n_support == len(part.support_)
    support = set().union(*(part.support_.tolist() for part in model.estimators_))
    assert summary.n_support == len(support)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_only_tessellated_kernels_are_drawn_as_such(estimator):
    drawings = {"gram", "convergence"}
    drawings |= {"tessellation"} if estimator in (TKLClassifier, TKLRegressor) else set()
    assert fitted(estimator, tol=0.1).summary().drawings == drawings


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_there_is_no_summary_before_a_fit(estimator):
    with pytest.raises(NotFittedError):
        estimator().summary()
