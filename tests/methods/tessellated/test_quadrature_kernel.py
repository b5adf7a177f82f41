"""Kernels from any basis: by quadrature, polynomial, rescaled, and at work in scikit-learn."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from pliant.kernels import (
    TL1,
    Exponential,
    Gaussian,
    GeneralizedPolynomial,
    Precomputed,
    QuadratureKernel,
    Rescaled,
    TessellatedKernel,
)
from tests.reference.naive_tessellated import (
    as_box,
    cells_rule,
    gram,
    monomial_values,
    polynomial_tensor,
    quadratic,
    random_shape,
    tessellated_values,
)

LOWER, UPPER = -0.4, 1.3


def assert_close(actual, expected, share=1e-12):
    """Equal up to a share of the largest entry."""
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * np.abs(expected).max())


def tessellated_function(degree, basis):
    def function(nodes, X):
        return np.stack([tessellated_values(nodes, x, degree, basis) for x in X], axis=1)

    return function


def polynomial_function(degree):
    def function(nodes, X):
        return np.stack([monomial_values(nodes, x, degree, "xz") for x in X], axis=1)

    return function


def midpoints(count, n):
    """The midpoint rule with `count` cells in each direction of the box."""
    edges = np.linspace(LOWER, UPPER, count + 1)
    return cells_rule([edges] * n, 1)


# Any basis, by its values on nodes


@pytest.mark.parametrize("basis", ["x", "xz"])
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2])
def test_nodes_in_cells_split_at_all_points_give_the_tessellated_kernel(n, degree, basis):
    """Between the points N is polynomial in z, so a Gauss rule in each cell is exact."""
    r = np.random.default_rng(n)
    X, Y, w = r.random((6, n)), r.random((3, n)), r.standard_normal(6)
    corners = as_box(LOWER, UPPER, n)
    edges = np.vstack([*corners, X, Y]).T
    nodes, weights = cells_rule(edges, 3)
    exact = TessellatedKernel(LOWER, UPPER, degree, basis, normalize_measure=False)
    by_values = QuadratureKernel(tessellated_function(degree, basis), nodes, weights)
    assert by_values.shape_size(n) == exact.shape_size(n)
    factor = random_shape(r, exact.shape_size(n), 2)[1]
    exact, by_values = exact.with_factor(factor), by_values.with_factor(factor)
    assert_close(by_values.gram(X), exact.gram(X))
    assert_close(by_values(X, Y), exact(X, Y))
    assert_close(by_values.diag(X), exact.diag(X))
    assert_close(by_values.quadratic(X, w), exact.quadratic(X, w))


def test_a_fine_grid_comes_close_to_the_tessellated_kernel():
    """A rule that knows nothing of the points is off by what one cell holds."""
    X = np.random.default_rng(0).random((12, 1))
    exact = TessellatedKernel(LOWER, UPPER, 1, "xz", normalize_measure=False).gram(X)
    errors = []
    for count in (10, 100, 1000, 10000):
        kernel = QuadratureKernel(tessellated_function(1, "xz"), *midpoints(count, 1))
        errors.append(np.abs(kernel.gram(X) - exact).max() / np.abs(exact).max())
    assert (np.divide(errors[1:], errors[:-1]) < 0.3).all()
    assert errors[0] > 1e-3
    assert errors[-1] < 1e-4


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("n", [1, 2])
def test_gauss_legendre_nodes_give_the_polynomial_kernel(n, degree):
    r = np.random.default_rng(n)
    X, w = r.uniform(-1, 2, (7, n)), r.standard_normal(7)
    nodes, weights = cells_rule([np.array([LOWER, UPPER])] * n, degree + 1)
    exact = GeneralizedPolynomial(LOWER, UPPER, degree, normalize_measure=False)
    by_values = QuadratureKernel(polynomial_function(degree), nodes, weights)
    factor = random_shape(r, exact.shape_size(n), 2)[1]
    exact, by_values = exact.with_factor(factor), by_values.with_factor(factor)
    assert_close(by_values.gram(X), exact.gram(X))
    assert_close(by_values.quadratic(X, w), exact.quadratic(X, w))


def test_a_node_of_no_weight_is_no_node():
    X = np.random.default_rng(0).random((5, 1))
    nodes, weights = midpoints(20, 1)
    weights[4:] = 0
    function = tessellated_function(1, "x")
    whole = QuadratureKernel(function, nodes, weights).gram(X)
    assert_close(QuadratureKernel(function, nodes[:4], weights[:4]).gram(X), whole)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weights": [1.0, -0.5]}, "expected weights >= 0, got -0.5"),
        ({"weights": [1.0, 1.0, 1.0]}, "weights"),
        ({"nodes": np.array([[0.0], [np.nan]])}, "nodes"),
        ({"function": lambda nodes, X: np.ones((2, 3))}, "got (2, 3)"),
        ({"function": lambda nodes, X: np.ones((len(X), 2, 4))}, "n_P)"),
        ({"function": lambda nodes, X: np.full((2, len(X), 4), np.inf)}, "finite"),
        ({"factor": np.ones((3, 1))}, "expected a factor of shape (4, r)"),
    ],
)
def test_wrong_quadratures_are_refused(parameters, message):
    kernel = QuadratureKernel(lambda z, X: np.ones((2, len(X), 4)), np.eye(2)[:, :1], np.ones(2))
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel.set_params(**parameters).gram(np.zeros((5, 1)))


# The generalised polynomial


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_polynomial_kernel_is_that_of_the_twin(n, degree, normalized):
    r = np.random.default_rng(degree)
    X, Y, w = r.uniform(-1, 2, (8, n)), r.uniform(-1, 2, (3, n)), r.standard_normal(8)
    kernel = GeneralizedPolynomial(LOWER, UPPER, degree, normalized)
    for rank in (1, None):
        P, factor = random_shape(r, kernel.shape_size(n), rank)
        kernel = kernel.with_factor(factor)
        G = polynomial_tensor(X, X, LOWER, UPPER, degree, normalized)
        assert_close(kernel.gram(X), gram(G, P))
        assert_close(kernel.diag(X), gram(G, P).diagonal())
        cross = polynomial_tensor(X, Y, LOWER, UPPER, degree, normalized)
        assert_close(kernel(X, Y), gram(cross, P))
        assert_close(kernel.quadratic(X, w), quadratic(G, w))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 3),
    degree=st.integers(0, 3),
    rank=st.integers(1, 4),
)
def test_the_polynomial_kernel_is_positive_semi_definite(seed, n, degree, rank):
    r = np.random.default_rng(seed)
    X, w = r.uniform(-3, 3, (10, n)), r.standard_normal(10)
    kernel = GeneralizedPolynomial(LOWER, UPPER, degree)
    P, factor = random_shape(r, kernel.shape_size(n), rank)
    K, D = kernel.with_factor(factor).gram(X), kernel.quadratic(X, w)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.trace(K)
    scale = np.abs(w) @ np.abs(K) @ np.abs(w)
    assert (D * P).sum() == pytest.approx(w @ K @ w, abs=1e-11 * scale)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"degree": -1}, "got -1"),
        ({"degree": 0.5}, "got 0.5"),
        ({"lower": 2.0}, "expected lower < upper, got 2 and 1"),
        ({"factor": np.ones((4, 1))}, "expected a factor of shape (5, r) for 2 features"),
    ],
)
def test_wrong_polynomials_are_refused(parameters, message):
    kernel = GeneralizedPolynomial().set_params(**parameters)
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel.gram(np.zeros((3, 2)))


# Rescaled points


def test_rescaled_points():
    r = np.random.default_rng(0)
    X, Y = r.normal(5, 3, (8, 2)), r.normal(5, 3, (4, 2))
    offset, width = np.array([2.0, -1.0]), np.array([4.0, -0.5])
    inner = TessellatedKernel(LOWER, UPPER, 1, "xz")
    kernel = Rescaled(inner, offset, width)
    left, right = (X - offset) / width, (Y - offset) / width
    assert_close(kernel(X), inner(left))
    assert_close(kernel(X, Y), inner(left, right))
    assert_close(kernel.diag(X), inner.diag(left))
    assert_close(Rescaled(Gaussian(0.7), 1.0, 2.0)(X, Y), Gaussian(0.7 / 4)(X, Y))
    np.testing.assert_array_equal(Rescaled(Gaussian())(X, Y), Gaussian()(X, Y))


def test_wrong_scales_are_refused():
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="expected width != 0, got 0 for feature 1"):
        Rescaled(Gaussian(), 0.0, [1.0, 0.0])(X)
    with pytest.raises(ValueError, match="offset"):
        Rescaled(Gaussian(), np.zeros(3))(X)


# At work in scikit-learn


@pytest.fixture
def learned():
    """A tessellated kernel with some P of rank 2, training points and targets, and test points."""
    r = np.random.default_rng(0)
    X, X_test = r.random((40, 2)), r.uniform(-0.5, 1.5, (15, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    factor = random_shape(r, 10, 2)[1]
    return TessellatedKernel(LOWER, UPPER, 1, "xz", factor=factor), X, y, X_test


def test_a_gaussian_process_has_the_mean_of_kernel_ridge(learned):
    kernel, X, y, X_test = learned
    process = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, y)
    ridge = KernelRidge(alpha=0.01, kernel="precomputed").fit(kernel.gram(X), y)
    mean, deviation = process.predict(X_test, return_std=True)
    np.testing.assert_allclose(mean, ridge.predict(kernel(X_test, X)), atol=1e-8)
    K = kernel.gram(X) + 0.01 * np.eye(40)
    cross = kernel(X_test, X)
    variance = kernel.diag(X_test) - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T))
    np.testing.assert_allclose(deviation**2, variance, atol=1e-8)


def test_a_gaussian_process_learns_scale_and_noise_beside_the_kernel(learned):
    kernel, X, y, X_test = learned
    y = y + 0.2 * np.random.default_rng(1).standard_normal(40)
    given_kernel = ConstantKernel(1.0) * kernel + WhiteKernel(1e-2)
    process = GaussianProcessRegressor(given_kernel).fit(X, y)
    start = GaussianProcessRegressor(given_kernel, optimizer=None).fit(X, y)
    assert process.kernel_.theta.shape == (2,)
    assert process.log_marginal_likelihood_value_ > start.log_marginal_likelihood_value_ + 1
    assert np.isfinite(process.predict(X_test)).all()


def test_the_kernel_works_in_svc_and_svr(learned):
    kernel, X, y, X_test = learned
    labels = y > np.median(y)
    for estimator, target in ((SVC, labels), (SVR, y)):
        direct = estimator(kernel=kernel, C=10.0, tol=1e-8).fit(X, target)
        by_gram = estimator(kernel="precomputed", C=10.0, tol=1e-8).fit(kernel.gram(X), target)
        predict = "decision_function" if estimator is SVC else "predict"
        expected = getattr(by_gram, predict)(kernel(X_test, X))
        np.testing.assert_allclose(getattr(direct, predict)(X_test), expected, atol=1e-6)
    assert SVC(kernel=kernel, C=1e3).fit(X, labels).score(X, labels) > 0.9


def test_the_kernel_works_in_kernel_ridge(learned):
    kernel, X, y, X_test = learned
    ridge = KernelRidge(alpha=0.1, kernel="precomputed").fit(kernel.gram(X), y)
    expected = np.linalg.solve(kernel.gram(X) + 0.1 * np.eye(40), y)
    np.testing.assert_allclose(ridge.dual_coef_, expected, rtol=1e-8)
    np.testing.assert_allclose(ridge.predict(kernel(X_test, X)), kernel(X_test, X) @ expected)
    assert ridge.score(kernel.gram(X), y) > 0.9


def test_a_precomputed_gram_is_read_by_row_number(learned):
    kernel, X, _, _ = learned
    rows = np.arange(40.0)[:, None]
    K = Precomputed(kernel.gram(X))(rows, rows[:5])
    assert_close(K, kernel(X, X[:5]))


def test_a_huge_degree_is_refused_before_any_memory_is_taken():
    with pytest.raises(ValueError, match=r"expected n_P <= 10000, got n_P = \d+.* for 3 features"):
        GeneralizedPolynomial(degree=2**40)(np.ones((2, 3)), np.ones((2, 3)))


def test_points_without_features_have_no_size():
    with pytest.raises(ValueError, match="features of a size up to 0;"):
        Exponential(TL1(1e160))(np.ones((2, 0)), np.ones((3, 0)))
