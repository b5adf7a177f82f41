"""The textbook SimpleMKL, on the small problems whose optimum a conic solver gave."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks import simple_mkl as module
from benchmarks.simple_mkl import simple_mkl

GAMMAS = (0.1, 0.5, 2.0, 8.0, 32.0)
C = 4.0


def classes():
    r = np.random.default_rng(0)
    X = r.uniform(size=(24, 3))
    noise = 0.3 * r.standard_normal(24)
    return grams(X), np.sign(np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + noise - 0.3)


def grams(X):
    return np.array([rbf_kernel(X, gamma=gamma) for gamma in GAMMAS])


def test_it_finds_the_optimum():
    solution = simple_mkl(*classes(), C, tol=1e-6)
    assert solution.stopped == ""
    assert 0.0 <= solution.gap < 1e-6
    assert solution.objective == pytest.approx(10.61748569, rel=1e-6)
    np.testing.assert_allclose(solution.weights, [0, 0, 0, 0.29060386, 0.70939588], atol=1e-4)


def test_the_gap_bounds_the_distance_from_the_optimum():
    best = simple_mkl(*classes(), C, tol=1e-7).objective
    for tol in (1e-1, 1e-2, 1e-3):
        solution = simple_mkl(*classes(), C, tol=tol)
        assert solution.gap < tol
        assert best * (1 - 1e-6) <= solution.objective <= best * (1 + solution.gap + 1e-6)
        assert solution.weights.sum() == pytest.approx(1.0)
        assert solution.weights.min() >= 0.0


def test_its_function_is_that_of_an_svm_with_the_weighted_sum():
    kernels, y = classes()
    solution = simple_mkl(kernels, y, C, tol=1e-6)
    gram = np.tensordot(solution.weights, kernels, 1)
    model = SVC(kernel="precomputed", C=C, tol=1e-8).fit(gram, y)
    values = gram @ solution.coef + solution.intercept
    np.testing.assert_allclose(values, model.decision_function(gram), atol=1e-4)


def test_the_gradient_is_that_of_the_objective():
    kernels, y = classes()
    descent = module._Descent(kernels, y, C, 1e-9, np.inf)
    gradient, _ = descent.gradient_and_gap()
    step = 1e-4
    for m, slope in enumerate(gradient):
        up, down = (descent.solve(descent.gram + s * kernels[m]) for s in (step, -step))
        numeric = (up.objective - down.objective) / (2 * step)
        assert slope == pytest.approx(numeric, rel=1e-4)


def test_the_svms_are_counted_and_the_time_is_limited(monkeypatch):
    kernels, y = classes()
    solved = []
    fit = SVC.fit
    monkeypatch.setattr(SVC, "fit", lambda *given: solved.append(1) or fit(*given))
    whole = simple_mkl(kernels, y, C, tol=1e-4)
    assert whole.n_svms == len(solved) > whole.n_gradients > 2
    stopped = simple_mkl(kernels, y, C, tol=1e-4, seconds=0.0)
    assert (stopped.stopped, stopped.n_svms) == ("time", 1)
    assert stopped.gap > 1e-4
    np.testing.assert_array_equal(stopped.weights, np.full(5, 0.2))


def test_equal_kernels_are_optimal_at_once():
    kernels, y = classes()
    solution = simple_mkl(np.array([kernels[3]] * 3), y, C)
    assert solution.n_svms == 1
    assert solution.gap == pytest.approx(0.0, abs=1e-3)
