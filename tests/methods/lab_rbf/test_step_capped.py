"""Quasi-Newton steps of bounded length: they arrive, never rise, never leap, and end."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from pliant.core.progress import Status
from pliant.methods.lab_rbf.step_capped import FIRST, IDLE, solve


class Recorded:
    """A function and its gradient; every point asked for is kept."""

    def __init__(self, function, gradient):
        self.function = function
        self.gradient = gradient
        self.asked = []

    def value_and_gradient(self, x):
        self.asked.append(x.copy())
        return float(self.function(x)), np.asarray(self.gradient(x), dtype=float)


def quadratic(seed, n=6, spread=2.0):
    """(x - c)'A(x - c)/2 with eigenvalues between exp(-spread) and exp(spread), and c."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    A = (Q * np.exp(rng.uniform(-spread, spread, size=n))) @ Q.T
    centre = rng.normal(size=n)
    return Recorded(
        lambda x: 0.5 * (x - centre) @ A @ (x - centre), lambda x: A @ (x - centre)
    ), centre


@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_quadratic_is_minimised(seed):
    problem, centre = quadratic(seed)
    result = solve(problem, np.zeros(6), tol=1e-15, max_iter=500)
    np.testing.assert_allclose(result.x, centre, atol=1e-4)
    assert result.value == pytest.approx(0.0, abs=1e-8)
    assert result.status is Status.SETTLED
    assert math.isnan(result.gap)


@pytest.mark.parametrize("n", [2, 10])
def test_the_valley_of_rosenbrock_is_followed_to_its_end(n):
    result = solve(Recorded(rosen, rosen_der), np.full(n, -1.2), tol=1e-14, max_iter=2000)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-4)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), cap=st.sampled_from([0.05, 0.3, 1.0, 10.0]))
def test_no_coordinate_ever_moves_by_more_than_the_cap(seed, cap):
    problem, _ = quadratic(seed, spread=5.0)
    accepted = [np.full(6, 3.0)]
    result = solve(
        problem, accepted[0], max_iter=30, cap=cap,
        callback=lambda _: accepted.append(problem.asked[-1]) or False,
    )  # fmt: skip
    assert len(accepted) == result.n_iter + 1
    np.testing.assert_array_equal(accepted[-1], result.x)
    assert np.abs(accepted[1] - accepted[0]).max() <= FIRST + 1e-12
    steps = [np.abs(b - a).max() for a, b in pairwise(accepted)]
    assert max(steps) <= max(cap, FIRST) * (1 + 1e-12)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_objective_falls_at_every_step(seed):
    problem, _ = quadratic(seed, spread=6.0)
    start = np.full(6, 5.0)
    result = solve(problem, start, max_iter=40)
    values = [problem.function(start), *result.objectives]
    assert all(b <= a for a, b in pairwise(values))
    assert result.value == values[-1] == problem.function(result.x)
    assert result.n_iter == len(result.history)
    assert [step.n_iter for step in result.history] == list(range(1, result.n_iter + 1))
    np.testing.assert_array_equal(start, 5.0)


def test_the_start_does_not_leap_onto_the_plateau():
    start = np.full(3, 0.5)
    steep = Recorded(  # a slope of 1e6, then flat: a step of the gradient's length lands there
        lambda x: -1e6 * math.exp(-float((x**2).sum())),
        lambda x: 2e6 * x * math.exp(-float((x**2).sum())),
    )
    result = solve(steep, start, max_iter=100)
    np.testing.assert_allclose(result.x, 0.0, atol=1e-3)
    assert max(np.abs(x).max() for x in steep.asked) < 1.5


@pytest.mark.parametrize("beyond", [math.nan, math.inf, -math.inf])
def test_points_without_a_value_are_stepped_back_from(beyond):
    wall = Recorded(lambda x: -x[0] if x[0] < 1.93 else beyond, lambda x: [-1.0])
    result = solve(wall, np.array([0.0]), max_iter=60)
    assert 1.9 < result.x[0] < 1.93
    assert result.value == -result.x[0]


def test_a_stationary_start_is_returned():
    problem, centre = quadratic(0)
    result = solve(problem, centre)
    np.testing.assert_array_equal(result.x, centre)
    assert (result.n_iter, result.status, result.history) == (0, Status.SETTLED, [])


def test_a_limit_on_steps():
    result = solve(Recorded(rosen, rosen_der), np.full(4, -1.2), max_iter=5)
    assert (result.n_iter, result.status) == (5, Status.MAX_ITER)
    nothing = solve(Recorded(rosen, rosen_der), np.full(4, -1.2), max_iter=0)
    assert (nothing.n_iter, nothing.status) == (0, Status.MAX_ITER)
    assert nothing.value == rosen(np.full(4, -1.2))


def test_a_callback_ends_the_run():
    seen = []

    def third(progress):
        seen.append(progress)
        return progress.n_iter == 3

    result = solve(Recorded(rosen, rosen_der), np.full(4, -1.2), callback=third)
    assert (result.n_iter, result.status) == (3, Status.STOPPED)
    assert seen == result.history
    assert all(math.isnan(step.gap) for step in seen)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_small_gains_in_a_row_end_the_run(tol):
    result = solve(Recorded(rosen, rosen_der), np.full(4, -1.2), tol=tol, max_iter=500)
    assert result.status is Status.SETTLED
    values = np.array([rosen(np.full(4, -1.2)), *result.objectives])
    small = (values[:-1] - values[1:]) < tol * np.maximum(np.abs(values[:-1]), 1e-12)
    assert small[-IDLE:].all()
    runs = [small[k : k + IDLE].all() for k in range(len(small) - IDLE)]
    assert not any(runs)


def test_a_wrong_gradient_settles_and_never_rises():
    uphill = Recorded(lambda x: float(x @ x), lambda x: -2 * x)
    result = solve(uphill, np.ones(3))
    np.testing.assert_array_equal(result.x, 1.0)
    assert result.status is Status.SETTLED


def test_the_same_start_gives_the_same_bytes():
    one, two = (solve(quadratic(3)[0], np.zeros(6)).x.tobytes() for _ in range(2))
    assert one == two
