"""Newton steps in slow SMO runs: a large C and a nearly singular matrix."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from pliant.core.progress import Status
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual, svr_dual
from pliant.methods.svm.rows import DenseRows
from pliant.methods.svm.smo import newton, solver
from pliant.methods.svm.smo.block import WorkingBlock
from tests.methods.svm.svm_samples import classification, regression


def kernel(kind, X):
    """Return the rows of a singular or nearly singular Gram matrix."""
    doubled = np.repeat(X[::2], 2, axis=0)[: len(X)]
    grams = {
        "flat": lambda: rbf_kernel(X, gamma=0.01),
        "gaussian": lambda: rbf_kernel(X, gamma=1.0),
        "duplicates": lambda: rbf_kernel(doubled, gamma=1.0),
        "linear": lambda: X @ X.T,
        "cubic": lambda: (1 + X @ X.T) ** 3,
    }
    gram = grams[kind]()
    return DenseRows(0.5 * (gram + gram.T))


def hard_problem(task, kind, C, n=60):
    if task == "svr":
        X, y = regression(0, n=n, d=3)
        return svr_dual(kernel(kind, X), (y - y.mean()) / y.std(), C, 0.1)
    X, y = classification(0, n=n)
    return svc_dual(kernel(kind, X), y, C)


KINDS = ["flat", "gaussian", "duplicates", "linear", "cubic"]


@pytest.mark.parametrize("C", [1e4, 1e8])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", ["svc", "svr"])
def test_a_large_c_on_a_nearly_singular_matrix_ends_soon(task, kind, C):
    problem = hard_problem(task, kind, C)
    result = smo.solve(problem, max_iter=200_000)
    proof = problem.certificate(result.x)
    assert result.status is Status.CONVERGED
    assert result.gap == proof.gap <= 1e-4 * (1.0 + abs(proof.value))
    assert (problem.lower <= result.x).all()
    assert (result.x <= problem.upper).all()
    assert abs(result.x.sum()) <= 1e-9 * np.abs(result.x).sum()


@pytest.mark.parametrize("quartic", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", ["svc", "svr"])
def test_newton_steps_reach_the_optimum_of_two_coordinate_steps(task, kind, quartic, monkeypatch):
    problem = hard_problem(task, kind, 100.0, n=40).with_quartic(quartic)
    slow = smo.solve(problem, tol=1e-7)
    monkeypatch.setattr(solver, "LONG_RUN", 0)
    monkeypatch.setattr(newton, "FIRST_RUN", 0)
    fast = smo.solve(problem, tol=1e-7)
    assert fast.status is Status.CONVERGED
    bound = 1e-7 * (2.0 + abs(slow.value) + abs(fast.value))
    assert abs(fast.value - slow.value) <= bound
    assert np.all(np.diff(fast.objectives) >= -1e-9 * (1.0 + abs(fast.value)))


@pytest.mark.parametrize("quartic", [0.0, 1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("task", ["svc", "svr"])
def test_a_newton_step_keeps_the_fields_and_gains(task, quartic):
    problem = hard_problem(task, "gaussian", 10.0).with_quartic(quartic)
    rough = smo.solve(problem, max_iter=60)
    block = WorkingBlock(problem, rough.x, problem.fields(rough.x))
    newton.take_newton_steps(block, 1e-6, 1e7, lambda: False)
    u, v = problem.fields(block.beta)
    np.testing.assert_allclose(block.g, problem.linear - u - quartic * block.beta * v, atol=1e-8)
    np.testing.assert_allclose(block.v, v, atol=1e-8 * (1.0 + v.max()))
    assert problem.value(block.beta) > rough.value
    assert block.violation <= 1e-6 * (1.0 + 1e-6)
    assert abs(block.beta.sum()) <= 1e-12 * np.abs(block.beta).sum()


@pytest.mark.parametrize("k", [0, 3, 6])
def test_the_factor_without_a_row_is_that_of_the_smaller_matrix(k):
    square = np.random.default_rng(k).normal(size=(7, 9))
    matrix = square @ square.T
    smaller = np.delete(np.delete(matrix, k, 0), k, 1)
    factor = newton._without(np.linalg.cholesky(matrix).T.copy(), k)
    np.testing.assert_allclose(factor, np.linalg.cholesky(smaller).T, atol=1e-12)
