"""What DANK and KNPL report of a fitted model."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from pliant import DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor
from pliant.core.summary import summarize
from pliant.datasets import make_clowns
from pliant.kernels import Gaussian

X, Y = make_clowns(80, random_state=0)
TARGET = np.sin(3 * X[:, 0]) + X[:, 1]
CLASSIFIERS = [DANKClassifier(), DANKClassifier(tau=0), KNPLClassifier()]
REGRESSORS = [DANKRegressor(), DANKRegressor(eta=3.0, tau=0), KNPLRegressor()]


@pytest.mark.parametrize(
    ("model", "y"), [(m, Y) for m in CLASSIFIERS] + [(m, TARGET) for m in REGRESSORS], ids=str
)
def test_one_function_has_the_facts_of_the_fitted_attributes(model, y):
    model.fit(X, y)
    summary = model.summary()
    (function,) = summary.functions
    assert function.estimator is model
    assert function.n_support == summary.n_support == len(model.support_)
    assert function.n_iter == model.n_iter_
    assert function.objective == model.objective_
    assert (function.gap, function.relative_gap) == (model.dual_gap_, model.relative_gap_)
    assert function.classes is None
    assert function.details == {"eta": model.eta_}
    assert summary.kernel is model.kernel_
    assert isinstance(summary.base_kernel, Gaussian)
    assert summary.learner == {}
    assert summary.drawings == {"gram", "adaptation", "convergence"}
    assert summarize(model).functions[0].objective == model.objective_


def test_each_pair_of_more_classes_has_a_function_and_support_points_count_once():
    A, b = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[b]
    model = DANKClassifier().fit(A, names)
    summary = model.summary()
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    assert [function.classes for function in summary.functions] == pairs
    assert [function.estimator for function in summary.functions] == model.estimators_
    assert summary.kernel is None
    support = np.concatenate([each.support_ for each in model.estimators_])
    assert summary.n_support == len(set(support.tolist())) < len(support)


def test_parts_are_counted_unless_they_are_refined():
    options = {"partition": "kmeans", "n_parts": 3, "random_state": 0, "eta": 2.0}
    model = DANKClassifier(**options).fit(X, Y)
    assert model.summary().functions[0].details == {"eta": 2.0, "parts": 3}
    refined = DANKClassifier(refine=True, **options).fit(X, Y)
    assert refined.summary().functions[0].details == {"eta": 2.0}
