"""Every estimator with a certified gap has a lower and an upper bound on the optimum."""

import re

import numpy as np
import pytest
from sklearn.base import is_regressor

from pliant import DANKClassifier, LogDetLearner
from pliant.exceptions import NonPSDWarning
from pliant.methods.ridge.sketched import BaseSketched
from pliant.methods.svm.machine import BaseSVM
from tests.contracts.discovery import ESTIMATORS

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(-1, 1, (30, 2))
NUMBERS = np.sin(3 * X[:, 0]) - X[:, 1] + 0.3 * RANDOM.normal(size=30)
LABELS = (NUMBERS > 0).astype(int)

CERTIFIED = [k for k in ESTIMATORS if issubclass(k, (BaseSVM, BaseSketched, LogDetLearner))]
QUICK = {
    "LogDetLearner": {"max_pairs": 20, "random_state": 0},
    "SketchedKernelRidge": {"random_state": 0},
    "SketchedKernelRidgeClassifier": {"random_state": 0},
}
MAXIMISED = re.compile("DANK|KNPL")


@pytest.mark.parametrize("kind", CERTIFIED, ids=lambda kind: kind.__name__)
def test_the_optimum_lies_between_the_bounds(kind):
    options = QUICK.get(kind.__name__, {"tol": 0.1})
    model = kind(**options).fit(X, NUMBERS if is_regressor(kind()) else LABELS)
    gap = model.gap_ if hasattr(model, "gap_") else model.dual_gap_
    rounding = 1e-9 * (1.0 + abs(model.objective_))
    assert gap >= -rounding
    assert model.upper_bound_ - model.lower_bound_ == pytest.approx(gap, abs=rounding)
    bound = "lower_bound_" if MAXIMISED.match(kind.__name__) else "upper_bound_"
    assert model.objective_ == getattr(model, bound)


def test_without_a_certificate_the_upper_bound_is_unknown():
    with pytest.warns(NonPSDWarning):
        model = DANKClassifier("precomputed", C=10.0).fit(np.eye(30) - 0.2, LABELS)
    assert model.lower_bound_ == model.objective_
    assert np.isnan([model.upper_bound_, model.dual_gap_]).all()


def test_violated_hard_bounds_leave_the_upper_bound_unknown():
    with pytest.warns(match="hard bounds may be infeasible"):
        model = LogDetLearner(slack=np.inf, max_iter=3, max_pairs=20).fit(X, LABELS)
    assert np.isnan([model.upper_bound_, model.dual_gap_]).all()
