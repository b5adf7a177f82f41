"""Unit tests of the factor, rows, centres and solver of sketched ridge regression."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import SketchedKernelRidge
from pliant.core.progress import Status
from pliant.core.threads import blas_limited
from pliant.kernels import Gaussian, Laplacian, Scaled
from pliant.methods.ridge import rows as blocks
from pliant.methods.ridge.problem import (
    Preconditioner,
    Targets,
    factorize,
    sample_centres,
    sample_rows,
)
from pliant.methods.ridge.rows import (
    KernelValues,
    MemoryRows,
    column_sums,
    normal_matrix,
    product,
    residual,
)
from pliant.methods.ridge.solver import Costs, Solver
from tests.memory import peak_memory
from tests.methods.ridge.sketched_cases import WEIGHTS, X, Y

TOLERANCES = (("float64", 1e-12), ("float32", 1e-5))


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Gaussian([1.0, 0.0, 3.0]), Laplacian(0.5)])
def test_kernel_values_are_the_kernels_own(kernel):
    for dtype, tolerance in TOLERANCES:
        values = pickle.loads(pickle.dumps(KernelValues(kernel, X[:30], dtype)))(X[:50])
        assert values.dtype == dtype
        np.testing.assert_allclose(values, kernel(X[:50], X[:30]), atol=tolerance)


def test_points_far_out_keep_their_digits():
    far = 1e7 + X[:20]
    for dtype, tolerance in (("float64", 1e-8), ("float32", 1e-6)):
        values = KernelValues(Gaussian(1.0), far, dtype)(far.copy())
        np.testing.assert_allclose(values, Gaussian(1.0)(X[:20]), atol=tolerance)
        spread = np.vstack([X[:10], 1e5 * X[:10]])
        values = KernelValues(Gaussian(1.0), spread, dtype)(spread)
        np.testing.assert_allclose(values, Gaussian(1.0)(spread), atol=tolerance)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), repeats=st.integers(1, 3))
def test_the_factor_keeps_centres_that_span_all(seed, n, repeats):
    rng = np.random.default_rng(seed)
    points = np.repeat(rng.normal(size=(n, 2)), repeats, axis=0)
    kernel = Scaled(Gaussian(0.5), 37.0)
    factor = factorize(kernel, points)
    assert factor.rank <= n
    upper = np.triu(factor.upper)
    gram = kernel(points)[np.ix_(factor.order, factor.order)]
    np.testing.assert_allclose(factor.scale * upper.T @ upper, gram, atol=1e-8)
    assert 1.0 <= 37.0 / factor.scale < 2.0
    weights = rng.uniform(0.1, 2.0, len(points))
    mean = upper @ weights[factor.order] / weights.sum()
    expected = (upper - mean[:, None]) @ np.diag(weights[factor.order]) @ (upper - mean[:, None]).T
    covariance = factor.covariance(weights, True)
    np.testing.assert_allclose(np.triu(covariance), np.triu(expected), atol=1e-9)
    w = rng.normal(size=(factor.rank, 2))
    np.testing.assert_allclose(np.triu(factor.triangle).T @ factor.features(w), w, atol=1e-6)


def test_a_preconditioner_of_a_singular_matrix_is_finite():
    matrix = np.asfortranarray(np.triu(np.ones((50, 50))))
    inverse = Preconditioner(matrix.copy(order="F"), 1e-30)
    assert np.isfinite(inverse(np.ones((50, 1)))).all()
    exact = Preconditioner(matrix.copy(order="F"), 2.0)(np.eye(50))
    np.testing.assert_allclose(exact, np.linalg.inv(np.ones((50, 50)) + 2.0 * np.eye(50)))


@pytest.mark.parametrize("cache_mb", [0.0, 0.04, 10.0])
def test_sums_over_blocks_are_those_over_all_rows(cache_mb, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_MB", 0.01)
    rng = np.random.default_rng(1)
    kernel, centres, y = Gaussian(1.0), X[:20], np.column_stack([Y, -2 * Y])
    rows = MemoryRows(X, y, WEIGHTS, KernelValues(kernel, centres), cache_mb)
    K, S = kernel(X, centres), np.diag(WEIGHTS)
    a, c = rng.normal(size=(20, 2)), np.array([0.3, -1.0])
    assert rows.n_kept == {0.0: 0, 0.04: 260, 10.0: 400}[cache_mb]
    for _ in range(2):  # the second pass uses kept values
        (sums,) = rows.total(column_sums)
        np.testing.assert_allclose(sums, K.T @ np.column_stack([WEIGHTS, S @ y]), atol=1e-9)
        sums, ones = rows.total(product, a, c)
        np.testing.assert_allclose(sums, K.T @ S @ (K @ a - c), atol=1e-9)
        np.testing.assert_allclose(ones, WEIGHTS @ (K @ a - c), atol=1e-9)
        errors = y - (K @ a - c)
        sums, ones, squares = rows.total(residual, a, c)
        np.testing.assert_allclose(sums, K.T @ S @ errors, atol=1e-9)
        np.testing.assert_allclose(squares, WEIGHTS @ errors**2, atol=1e-9)
        upper = np.asfortranarray(np.triu(rng.uniform(1, 2, (20, 20))) + 9 * np.eye(20))
        (matrix,) = rows.total(normal_matrix, upper, K.mean(axis=0), 3.0)
        Z = (K - K.mean(axis=0)) @ np.linalg.inv(upper) / 3.0
        np.testing.assert_allclose(np.triu(matrix), np.triu(Z.T @ S @ Z), atol=1e-9)


def test_kernel_values_are_kept_and_not_computed_again(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_MB", 0.02)
    calls = []

    def counted(A, B):
        calls.append(len(A))
        return A @ B.T

    model = SketchedKernelRidge(counted, n_centers=30, random_state=0, solver="cg")
    model.fit(X, Y)
    assert sum(calls) - 30 < 2 * len(X)  # the centres, all rows once, and some checks
    calls.clear()
    model.set_params(cache_mb=0.0).fit(X, Y)
    assert sum(calls) > (model.n_passes_ - 1) * len(X)


@pytest.mark.parametrize("solver", ["cg", "direct"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_memory_is_that_of_the_formula(solver, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    n, m, block = 20_000, 300, 0.5
    monkeypatch.setattr(blocks, "BLOCK_MB", block)
    Z, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    model = SketchedKernelRidge(
        Gaussian(2.0), 100.0, n_centers=m, cache_mb=4.0, solver=solver, dtype=dtype,
        random_state=0, tol=1e-2,
    )  # fmt: skip
    model.fit(Z[:2000], y[:2000])  # compiles
    with peak_memory() as used:
        model.fit(Z, y)
    formula = 8 * 2 * m**2 + (5 * block + 4.0) * 2**20 + 8 * 4 * n
    assert 4.0 * 2**20 < used.peak < formula + 2**18
    assert used.peak < 8 * n * m / 4  # the n x m kernel matrix is never in memory


def test_drawn_centres_are_rows_without_repetition():
    weights = 1.0 + np.arange(len(X)) % 3
    draw = np.random.RandomState(0)
    centres = sample_centres(X, weights, 100, draw)
    assert len({*centres.rows}) == 100
    assert (np.diff(centres.rows) > 0).all()
    assert centres.weights.sum() == pytest.approx(weights.sum())
    every = sample_centres(X, weights, len(X), draw)
    np.testing.assert_array_equal(every.rows, np.arange(len(X)))
    np.testing.assert_array_equal(every.weights, weights)


class Dense:
    """A problem with an explicit matrix."""

    has_exact_rows = False

    def __init__(self, matrix, right, approximate=np.copy):
        self.matrix, self.right, self.approximate = matrix, right, approximate
        self.products, self.products_before_inverse = 0, []

    def approximate_inverse(self):
        return self.approximate

    def inverse(self):
        self.products_before_inverse.append(self.products)
        inverse = np.linalg.inv(self.matrix)
        return lambda r: inverse @ r

    def product(self, w):
        self.products += 1
        return self.matrix @ w

    def certify(self, w):
        gradient = self.right - self.matrix @ w
        gaps = np.square(gradient).sum(axis=0) / np.linalg.eigvalsh(self.matrix)[0]
        value = float(np.einsum("ij,ij->", w, self.matrix @ w - 2 * self.right))
        return Certificate(gradient, gaps, value)


class Certificate:
    def __init__(self, gradient, gaps, value):
        self.gradient, self.gaps, self.value, self.gap = gradient, gaps, value, float(gaps.sum())


def quietly(step):
    return None


def dense(seed=0, n=30, spread=3.0, approximate=np.copy):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = Q @ np.diag(np.logspace(0, spread, n)) @ Q.T
    return Dense(matrix, rng.normal(size=(n, 3)) * [1.0, 1e3, 0.0], approximate)


@blas_limited  # as fits do
def test_conjugate_gradients_solve_each_right_hand_side_to_its_gap():
    problem = dense()
    gaps = np.array([1e-10, 1e-2, 0.0])
    result = Solver(problem, gaps, 500, quietly).solve()
    assert result.status is Status.CONVERGED
    best = np.linalg.solve(problem.matrix, problem.right)
    excess = np.einsum("ij,ij->j", result.x - best, problem.matrix @ (result.x - best))
    assert (excess <= gaps).all()
    np.testing.assert_array_equal(result.x[:, 2], 0.0)
    inverse = Preconditioner(np.asfortranarray(problem.matrix), 1e-12)
    exact = Solver(dense(approximate=inverse), gaps, 500, quietly).solve()
    assert exact.n_iter <= 2


@blas_limited  # as fits do
def test_after_its_patience_it_solves_at_once():
    problem, gaps = dense(spread=8.0), np.full(3, 1e-6)
    result = Solver(problem, gaps, 500, quietly, 7).solve()
    assert problem.products_before_inverse == [7]
    assert result.status is Status.CONVERGED
    plain = Solver(dense(spread=8.0), gaps, 500, quietly).solve()
    assert 7 < result.n_iter < plain.n_iter
    limited = Solver(dense(spread=8.0), gaps, 7, quietly).solve()
    assert limited.status is Status.MAX_ITER
    assert limited.n_iter == 7
    steps = []
    stopped = Solver(dense(), gaps, 7, lambda s: steps.append(s) or len(steps) == 3)
    assert (stopped.solve().status, stopped.n_iter) == (Status.STOPPED, 2)


@blas_limited  # as fits do
def test_a_sample_replaces_the_centres_at_its_limit():
    problem, gaps = dense(spread=8.0), np.full(3, 1e-6)
    near = np.linalg.inv(problem.matrix + 0.1 * np.eye(30) * np.diag(problem.matrix))
    problem.sampled_inverse = lambda: lambda r: near @ r
    result = Solver(problem, gaps, 500, quietly, None, 4).solve()
    assert result.status is Status.CONVERGED
    plain = Solver(dense(spread=8.0), gaps, 500, quietly).solve()
    assert result.n_iter < plain.n_iter
    problem.sampled_inverse = problem.inverse
    at_once = Solver(problem, gaps, 500, quietly, None, 0).solve()
    assert at_once.status is Status.CONVERGED
    assert at_once.n_iter <= 3


def limit(shape, n_targets, kept):
    return Costs.of(Gaussian(), shape, n_targets, kept).limit(1000, 1000)


def test_patience_is_the_cost_of_the_matrix_in_iterations():
    few = limit((20, 10), n_targets=1, kept=0.0)
    many = limit((2000, 10), n_targets=1, kept=0.0)
    kept = limit((2000, 10), n_targets=1, kept=1.0)
    targets = limit((2000, 10), n_targets=400, kept=1.0)
    assert few == targets == 0
    assert 30 < many < kept < 200


def test_a_sample_is_larger_if_passes_are_expensive():
    costs = Costs.of(Gaussian(), (1000, 10), n_targets=1, kept=0.0)
    sizes = [costs.sample_size(n, 1000) for n in (500, 10_000, 10**5, 10**6, 10**8)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 500
    assert 4000 <= sizes[2] < sizes[3] < sizes[4]


def test_a_sample_has_the_weight_and_nearly_the_normal_matrix_of_all_rows():
    rng = np.random.default_rng(0)
    points, weights = rng.uniform(-1, 1, (8000, 3)), rng.uniform(0.0, 3.0, 8000)
    kernel, centres = Gaussian(1.0), points[:15].copy()
    factor, values = factorize(kernel, centres), KernelValues(kernel, centres)
    values = KernelValues(kernel, centres[factor.order])
    targets = Targets.scaled(rng.normal(size=(8000, 1)), weights, True)
    sample = sample_rows(points, targets, values, 4000)
    assert len(np.unique(sample.X, axis=0)) == 4000
    assert sample.weights.sum() == pytest.approx(targets.weights.sum())
    every = MemoryRows(points, targets.values, targets.weights, values)
    arguments = factor.triangle, np.zeros(15), factor.scale
    ours, whole = (each.total(normal_matrix, *arguments)[0] for each in (sample, every))
    lower = np.triu(ours, 1).T, np.triu(whole, 1).T
    ratios = np.linalg.eigvals(np.linalg.solve(whole + lower[1], ours + lower[0])).real
    assert 0.7 < ratios.min() <= ratios.max() < 1.4
