"""Quasi-Newton steps decrease and are bounded; Adam matches its slow twin."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from pliant.core.progress import Status
from pliant.methods.lab_rbf.paper import adam
from pliant.methods.lab_rbf.solvers import GRADIENT_STEP_CAP, PATIENCE, STEP_CAP, descend


class Recorded:
    """Function with a gradient that records the points of evaluation."""

    def __init__(self, function, gradient):
        self.function = function
        self.gradient = gradient
        self.recorded = []

    def value_and_gradient(self, x):
        self.recorded.append(x.copy())
        return float(self.function(x)), np.asarray(self.gradient(x), dtype=float)


class Squares:
    """Mean of |A_i x - b_i|^2 over rows, which records the sampled rows."""

    def __init__(self, A, b, recorded=None):
        self.A, self.b = A, b
        self.recorded = [] if recorded is None else recorded

    def value_and_gradient(self, x):
        r = self.A @ x - self.b
        return float(r @ r) / len(r), 2.0 * self.A.T @ r / len(r)

    def sample(self, indices):
        self.recorded.append(np.asarray(indices).copy())
        return Squares(self.A[indices], self.b[indices], self.recorded)


def quadratic(seed, n=6, spread=2.0):
    """Return (x - c)'A(x - c)/2 with eigenvalues in [exp(-spread), exp(spread)], and c."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (Q * np.exp(rng.uniform(-spread, spread, size=n))) @ Q.T
    centre = rng.normal(size=n)
    return Recorded(
        lambda x: 0.5 * (x - centre) @ A @ (x - centre), lambda x: A @ (x - centre)
    ), centre


def rosenbrock(n=4, **options):
    return descend(Recorded(rosen, rosen_der), np.full(n, -1.2), **options)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_quadratic(seed):
    problem, centre = quadratic(seed)
    result = descend(problem, np.zeros(6), tol=1e-15, max_iter=500)
    np.testing.assert_allclose(result.x, centre, atol=1e-4)
    assert result.value == pytest.approx(0.0, abs=1e-8)
    assert result.status is Status.SETTLED
    assert math.isnan(result.gap)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), reach=st.sampled_from([3.0, 100.0]))
def test_steps_are_bounded_and_decrease_the_objective(seed, reach):
    problem, _ = quadratic(seed, spread=5.0)
    start = np.full(6, reach)
    accepted = [start]
    result = descend(
        problem, start, max_iter=30,
        callback=lambda _: accepted.append(problem.recorded[-1]) or False,
    )  # fmt: skip
    np.testing.assert_array_equal(accepted[-1], result.x)
    np.testing.assert_array_equal(start, reach)
    steps = [np.abs(b - a).max() for a, b in pairwise(accepted)]
    assert steps[0] <= GRADIENT_STEP_CAP + 1e-12
    assert max(steps) <= STEP_CAP * (1 + 1e-12)
    values = [problem.function(start), *result.objectives]
    assert all(b <= a for a, b in pairwise(values))
    assert result.value == values[-1] == problem.function(result.x)
    assert [step.n_iter for step in result.history] == list(range(1, result.n_iter + 1))


def test_first_step_does_not_reach_the_plateau():
    start = np.full(3, 0.5)
    steep = Recorded(  # a gradient step would reach the plateau
        lambda x: -1e6 * math.exp(-float((x**2).sum())),
        lambda x: 2e6 * x * math.exp(-float((x**2).sum())),
    )
    result = descend(steep, start, max_iter=100)
    np.testing.assert_allclose(result.x, 0.0, atol=1e-3)
    assert max(np.abs(x).max() for x in steep.recorded) < 1.5


@pytest.mark.parametrize("beyond", [math.nan, math.inf, -math.inf])
def test_backtracking_from_nonfinite_values(beyond):
    wall = Recorded(lambda x: -x[0] if x[0] < 1.93 else beyond, lambda x: [-1.0])
    result = descend(wall, np.array([0.0]), max_iter=60)
    assert 1.9 < result.x[0] < 1.93
    assert result.value == -result.x[0]


def test_stationary_start_and_wrong_gradient():
    problem, centre = quadratic(0)
    for result, x in (
        (descend(problem, centre), centre),
        (descend(Recorded(lambda x: float(x @ x), lambda x: -2 * x), np.ones(3)), np.ones(3)),
    ):
        np.testing.assert_array_equal(result.x, x)
        assert (result.n_iter, result.status, result.history) == (0, Status.SETTLED, [])


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_small_decreases_stop_the_solver(tol):
    result = rosenbrock(tol=tol, max_iter=500)
    assert result.status is Status.SETTLED
    values = np.array([rosen(np.full(4, -1.2)), *result.objectives])
    small = (values[:-1] - values[1:]) < tol * np.maximum(np.abs(values[:-1]), 1e-12)
    assert small[-PATIENCE:].all()
    runs = [small[k : k + PATIENCE].all() for k in range(len(small) - PATIENCE)]
    assert not any(runs)


# Adam


def squares(n=50, k=3, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, k))
    return Squares(A, A @ np.arange(1.0, k + 1.0))


def run(problem, start=None, *, seed=0, **options):
    start = np.zeros(problem.A.shape[1]) if start is None else start
    rng = np.random.RandomState(seed)
    return adam(problem, start, n_rows=len(problem.A), rng=rng, **options)


def naive(problem, batches, rate):
    """Run Algorithm 1 of Kingma and Ba one number at a time."""
    x = [0.0] * problem.A.shape[1]
    m, v = list(x), list(x)
    for t, rows in enumerate(batches, start=1):
        _, g = Squares(problem.A[rows], problem.b[rows]).value_and_gradient(np.array(x))
        for j in range(len(x)):
            m[j] = 0.9 * m[j] + 0.1 * g[j]
            v[j] = 0.999 * v[j] + 0.001 * g[j] ** 2
            m_hat, v_hat = m[j] / (1 - 0.9**t), v[j] / (1 - 0.999**t)
            x[j] -= rate * m_hat / (math.sqrt(v_hat) + 1e-8)
    return np.array(x)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6), rate=st.sampled_from([0.001, 0.03, 0.3]), batch=st.integers(1, 9)
)
def test_adam_matches_the_slow_twin(seed, rate, batch):
    problem = squares(20, seed=seed)
    result = run(problem, seed=seed % 1000, rate=rate, batch=batch, max_iter=15)
    expected = naive(problem, problem.recorded, rate)
    np.testing.assert_allclose(result.x, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("n", "batch"), [(50, 7), (5, 128), (128, 128), (1, 1)])
def test_epochs_use_each_row_once(n, batch):
    problem = squares(n)
    run(problem, batch=batch, max_iter=12)
    size = min(batch, n)
    assert {len(rows) for rows in problem.recorded} == {size}
    a_pass = n // size
    passes = [problem.recorded[k : k + a_pass] for k in range(0, 12 - a_pass + 1, a_pass)]
    for rows in map(np.concatenate, passes):
        assert len(np.unique(rows)) == a_pass * size
        assert rows.min() >= 0
        assert rows.max() < n


# Both solvers


def adam_run(**options):
    return run(squares(), np.ones(3), **options)


@pytest.mark.parametrize("solver", [rosenbrock, adam_run])
def test_iteration_limit_callback_and_reproducibility(solver):
    result = solver(max_iter=5)
    assert (result.n_iter, result.status) == (5, Status.MAX_ITER)
    assert solver(max_iter=5).x.tobytes() == result.x.tobytes()
    nothing = solver(max_iter=0)
    assert (nothing.n_iter, nothing.status) == (0, Status.MAX_ITER)
    seen = []

    def third(progress):
        seen.append(progress)
        return progress.n_iter == 3

    result = solver(callback=third)
    assert (result.n_iter, result.status) == (3, Status.STOPPED)
    assert seen == result.history
    assert all(math.isnan(step.gap) for step in seen)
