"""Adam on mini-batches: its steps, its passes over the rows, its end."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.progress import Status
from pliant.methods.lab_rbf.adam import solve


class Squares:
    """The mean of |A_i x - b_i|^2 over rows, which remembers the rows that were asked for."""

    def __init__(self, A, b, asked=None):
        self.A, self.b = A, b
        self.asked = [] if asked is None else asked

    def value_and_gradient(self, x):
        r = self.A @ x - self.b
        return float(r @ r) / len(r), 2.0 * self.A.T @ r / len(r)

    def sample(self, indices):
        self.asked.append(np.asarray(indices).copy())
        return Squares(self.A[indices], self.b[indices], self.asked)


def squares(n=50, k=3, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, k))
    return Squares(A, A @ np.arange(1.0, k + 1.0))


def run(problem, start=None, *, seed=0, **options):
    start = np.zeros(problem.A.shape[1]) if start is None else start
    rng = np.random.RandomState(seed)
    return solve(problem, start, n_rows=len(problem.A), rng=rng, **options)


def naive(problem, batches, rate):
    """The loop of Kingma and Ba, Algorithm 1, one number at a time."""
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
def test_it_is_its_slow_twin(seed, rate, batch):
    problem = squares(20, seed=seed)
    result = run(problem, seed=seed % 1000, rate=rate, batch=batch, max_iter=15)
    expected = naive(problem, problem.asked, rate)
    np.testing.assert_allclose(result.x, expected, rtol=0, atol=1e-10)


def test_the_first_step_is_of_the_rate():
    problem = squares()
    x = run(problem, rate=0.02, max_iter=1).x
    _, gradient = problem.value_and_gradient(np.zeros(3))
    assert (gradient != 0).all()
    np.testing.assert_allclose(np.abs(x), 0.02, rtol=1e-6)


def test_it_arrives():
    result = run(squares(), rate=0.05, batch=10, max_iter=2000)
    np.testing.assert_allclose(result.x, [1, 2, 3], atol=1e-3)
    assert result.objectives[-1] < 1e-4 < result.objectives[0]
    assert result.value == result.objectives[-1]


@pytest.mark.parametrize(("n", "batch"), [(50, 10), (50, 7), (5, 128), (128, 128), (1, 1)])
def test_a_pass_takes_no_row_twice(n, batch):
    problem = squares(n)
    run(problem, batch=batch, max_iter=12)
    size = min(batch, n)
    assert {len(rows) for rows in problem.asked} == {size}
    a_pass = n // size
    passes = [problem.asked[k : k + a_pass] for k in range(0, 12 - a_pass + 1, a_pass)]
    for rows in map(np.concatenate, passes):
        assert len(np.unique(rows)) == a_pass * size
        assert rows.min() >= 0
        assert rows.max() < n
    assert n < 50 or len({rows.tobytes() for rows in problem.asked}) == 12


def test_the_same_seed_gives_the_same_bytes():
    one, again, other = (run(squares(), batch=5, seed=s, max_iter=20).x for s in (1, 1, 2))
    assert one.tobytes() == again.tobytes()
    assert one.tobytes() != other.tobytes()


def test_the_start_is_left_as_it_is():
    start = np.ones(3)
    result = run(squares(), start, max_iter=5)
    np.testing.assert_array_equal(start, 1.0)
    assert not np.shares_memory(start, result.x)


def test_a_limit_on_steps():
    result = run(squares(), max_iter=7)
    assert (result.n_iter, result.status) == (7, Status.MAX_ITER)
    assert [step.n_iter for step in result.history] == list(range(1, 8))
    nothing = run(squares(), np.ones(3), max_iter=0)
    assert (nothing.n_iter, nothing.status) == (0, Status.MAX_ITER)
    assert math.isnan(nothing.value)
    np.testing.assert_array_equal(nothing.x, 1.0)


def test_a_callback_ends_the_run():
    seen = []

    def third(progress):
        seen.append(progress)
        return progress.n_iter == 3

    result = run(squares(), callback=third)
    assert (result.n_iter, result.status) == (3, Status.STOPPED)
    assert seen == result.history
    assert math.isnan(result.gap)
    assert all(math.isnan(step.gap) for step in seen)


def test_the_value_is_that_of_the_mini_batch():
    problem = squares()
    result = run(problem, batch=4, max_iter=1)
    rows = problem.asked[0]
    expected, _ = Squares(problem.A[rows], problem.b[rows]).value_and_gradient(np.zeros(3))
    assert result.value == pytest.approx(expected)


def test_a_flat_function_is_not_left():
    flat = Squares(np.zeros((10, 3)), np.zeros(10))
    np.testing.assert_array_equal(run(flat, np.ones(3), max_iter=5).x, 1.0)
