"""The algorithms as printed: their fixed points, their growth, and their rules for new points."""

import numpy as np
import pytest

from papers.batch import batch_decision_function
from papers.contestants.printed import PrintedMachine
from papers.study import contestant, studies
from pliant import DANKClassifier
from pliant.kernels import Gaussian
from tests.papers_study import made_up
from tests.reference.knpl_admm import alternate
from tests.reference.lab_algorithm1 import LocalInterpolant, kernel

X, LABELS = made_up.rows(60)
Y = np.sin(5 * X[:, 0]) + X[:, 1]
SIGNS = 2.0 * LABELS - 1.0


def interpolant(n_support=12, **changes):
    given = {"alpha": 1e-9, "theta": 1.0, "rate": 0.01, "batch": 16, "steps": 5, "tol": 0.0}
    return LocalInterpolant(n_support, **{**given, **changes}, seed=0).fit(X, Y)


def test_lab_rbf_interpolates_and_grows_until_its_errors_are_small():
    model = interpolant()
    assert model.sizes_ == [6, 8, 10, 12]
    assert len(set(model.support_)) == 12
    np.testing.assert_allclose(model.predict(X[model.support_]), Y[model.support_], atol=1e-5)
    assert interpolant(tol=9.0).sizes_ == [6]
    ridge = interpolant(alpha=0.1)
    misses = Y[ridge.support_] - ridge.predict(X[ridge.support_])
    np.testing.assert_allclose(misses, 0.1 * ridge.dual_coef_, atol=1e-10)


def test_lab_rbf_descends_along_the_gradient():
    model = interpolant(alpha=0.01)
    C, targets = model.centres_, Y[model.support_]

    def loss(theta):
        a = np.linalg.solve(kernel(C, C, theta) + 0.01 * np.eye(len(C)), targets)
        return ((kernel(X, C, theta) @ a - Y) ** 2).mean()

    slope, step = model.gradient(X, Y, targets), 1e-5
    for place in [(0, 0), (5, 2), (11, 1)]:
        moved = np.zeros_like(slope)
        moved[place] = step
        change = loss(model.theta_ + moved) - loss(model.theta_ - moved)
        assert slope[place] == pytest.approx(change / (2 * step), rel=1e-5)


def test_knpl_alternates_as_its_reference_and_copies_the_column_of_the_nearest():
    model = PrintedMachine("KNPL", C=4.0, gamma=2.0).fit(X, LABELS)
    K = Gaussian(2.0)(X)
    eta = float(np.sum(PrintedMachine("KNPL", 4.0, 2.0)._svm(K, SIGNS)[0] ** 2))
    alpha = alternate(K, SIGNS, 4.0, eta).alpha
    np.testing.assert_allclose(np.abs(model.dual_coef_), alpha, atol=0.02)
    np.testing.assert_allclose(model.adaptation_.sum(axis=1), 60.0, atol=1e-2)
    closed = PrintedMachine("KNPL", C=4.0, gamma=2.0, closed=True).fit(X, LABELS)
    np.testing.assert_allclose(model.adaptation_, closed.adaptation_, atol=1e-3)
    beside = model.decision_function(X[:5] + 1e-9)
    field = (model.adaptation_ * K) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(beside, field[:5], atol=1e-6)


def test_dank_by_its_algorithm_is_dank_by_pliant_with_the_batch_rule():
    model = PrintedMachine("DANK", C=1.0, gamma=2.0).fit(X[:40], LABELS[:40])
    given = {"C": 1.0, "gamma": 2.0, "tau": 0.01, "tol": 1e-6}
    ours = DANKClassifier(**given).fit(X[:40], LABELS[:40])
    expected = batch_decision_function(ours, X[40:])
    np.testing.assert_allclose(model.decision_function(X[40:]), expected, atol=0.02)


def test_leaky_contestants_select_the_best_accuracy_on_the_test_rows():
    sample, who = made_up.sample(n=60), contestant("hadamard/svm-leaky")
    protocol = studies()["dank-table-1"].protocol
    found = who.measure(sample, protocol, 0, None)["fixed/none"]
    grid = 2.0 ** np.array(protocol.powers)
    best = max(
        (model.predict(sample.X_test) == sample.y_test).mean()
        for sigma in grid
        for model in who.path(sample, sigma, grid, max_iter=-1)
    )
    assert found["test"] == best > 0.5
