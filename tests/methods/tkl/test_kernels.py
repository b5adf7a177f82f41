"""The families of generalised kernels, against slow twins and quadrature."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pliant import GeneralizedPolynomial, QuadratureKernel, TessellatedKernel
from pliant.kernels import Gaussian, Rescaled
from pliant.methods.tkl.generalized_kernel import TILE
from tests.memory import peak_memory
from tests.reference.naive_tessellated import (
    as_box,
    cells_rule,
    gram,
    integrals,
    monomial_values,
    polynomial_tensor,
    quadratic,
    random_shape,
    tessellated_tensor,
    tessellated_values,
)

LOWER, UPPER = np.array([-0.3, 0.0, -1.0]), np.array([1.4, 1.1, 2.0])
FAMILIES = [*((n, degree) for n in (1, 2, 3) for degree in (0, 1, 2)), (1, 3), (1, 6), (2, 5)]
every_family = pytest.mark.parametrize(("n", "degree"), FAMILIES)
families, seeds = st.sampled_from(FAMILIES), st.integers(0, 10**6)


def a_kernel(n, degree, factor=None):
    return TessellatedKernel(LOWER[:n], UPPER[:n], degree, factor)


def a_tensor(X, Y, degree):
    n = X.shape[1]
    return tessellated_tensor(X, Y, LOWER[:n], UPPER[:n], degree, "x", normalized=True)


def assert_close(actual, expected, share=1e-12):
    """Check equality up to a share of the largest entry."""
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * np.abs(expected).max())


# The Gram matrix


@pytest.mark.parametrize("rank", [None, 1, 2])
@every_family
def test_the_gram_matrix_and_d_agree_with_the_twin(n, degree, rank):
    r = np.random.default_rng(degree)
    X, Y, w = r.uniform(-0.5, 1.5, (9, n)), r.random((4, n)), r.standard_normal(9)
    kernel = a_kernel(n, degree)
    P, factor = random_shape(r, kernel.shape_size(n), rank)
    kernel, G = kernel.with_factor(factor), a_tensor(X, X, degree)
    assert_close(kernel.gram(X), gram(G, P))
    assert_close(kernel.diag(X), gram(G, P).diagonal())
    assert_close(kernel(X, Y), gram(a_tensor(X, Y, degree), P))
    D = kernel.quadratic(X, w)
    np.testing.assert_array_equal(D, D.T)
    assert_close(D, quadratic(G, w))
    U = r.standard_normal((len(P), 3))
    assert_close(kernel.integrals(X, U), integrals(G, U))


@every_family
def test_gram_kernel_and_blocks_agree(n, degree):
    """gram(X), k(X), k(X, X) and k(X, some rows) agree, also across tiles."""
    r = np.random.default_rng(n)
    X = r.random((TILE + 40, n))
    kernel = a_kernel(n, degree, random_shape(r, a_kernel(n, degree).shape_size(n), 2)[1])
    K, some = kernel.gram(X), r.permutation(len(X))[:30]
    np.testing.assert_array_equal(K, K.T)
    assert_close(kernel(X), K)
    assert_close(kernel(X, X.copy()), K)
    assert_close(kernel(X, X[some]), K[:, some])
    assert_close(kernel(X[some[:1]], X[some[1:]]), K[some[:1]][:, some[1:]])
    assert_close(kernel.diag(X), K.diagonal())


@settings(max_examples=60, deadline=None)
@given(family=families, seed=seeds, rank=st.integers(1, 6), spread=st.floats(0.01, 3))
def test_the_gram_matrix_is_positive_semi_definite(family, seed, rank, spread):
    """The claim holds for every P and all points, including equal ones and points outside."""
    n, r = family[0], np.random.default_rng(seed)
    X = r.uniform(-spread, spread, (12, n))
    X[5] = X[3]
    size = a_kernel(*family).shape_size(n)
    K = a_kernel(*family, random_shape(r, size, rank)[1]).gram(X)
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.trace(K)


@settings(max_examples=60, deadline=None)
@given(family=families, seed=seeds, rank=st.integers(1, 4), m=st.integers(1, 300))
def test_the_quadratic_form_agrees_with_the_gram_matrix(family, seed, rank, m):
    """<D(w), P> = w'K_P w for points in several tiles, some of them with weight 0."""
    n, r = family[0], np.random.default_rng(seed)
    X, w = r.random((m, n)), r.standard_normal(m) * (r.random(m) < 0.7)
    kernel = a_kernel(*family)
    P, factor = random_shape(r, kernel.shape_size(n), rank)
    D, K = kernel.quadratic(X, w), kernel.with_factor(factor).gram(X)
    scale = np.abs(w) @ np.abs(K) @ np.abs(w)
    assert (D * P).sum() == pytest.approx(w @ K @ w, abs=1e-12 * scale)
    assert np.linalg.eigvalsh(D)[0] >= -1e-12 * np.trace(D)
    used = np.flatnonzero(w)
    np.testing.assert_array_equal(D, kernel.quadratic(X[used], w[used]) if used.size else 0 * D)


def test_memory_is_bounded_by_one_gram_matrix():
    """There is no matrix per pair of the n_P basis functions, and none in the quadratic form."""
    r = np.random.default_rng(0)
    X, w = r.random((2000, 3)), r.standard_normal(2000)
    kernel = a_kernel(3, 1)
    for compile_first in (kernel.gram, lambda X: kernel.quadratic(X, w[:5])):
        compile_first(X[:5])
    with peak_memory() as used:
        kernel.gram(X)
    assert used.peak < 8 * 2000**2 + 12e6
    with peak_memory() as used:
        kernel.quadratic(X, w)
    assert used.peak < 12e6


# The box


def test_points_outside_are_moved_to_the_box():
    r = np.random.default_rng(0)
    X, w = r.uniform(-5, 5, (30, 2)), r.standard_normal(30)
    inside = np.clip(X, LOWER[:2], UPPER[:2])
    kernel = a_kernel(2, 1, random_shape(r, 6, 2)[1])
    np.testing.assert_array_equal(kernel.gram(X), kernel.gram(inside))
    np.testing.assert_array_equal(kernel.quadratic(X, w), kernel.quadratic(inside, w))
    assert kernel.diag(X).min() >= 0


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_a_box_without_margin_is_allowed(degree):
    """With delta = 0, the box above the largest point is empty; the formulas remain valid."""
    X = np.vstack([np.random.default_rng(0).random((8, 2)), [[0.0, 0.0], [1.0, 1.0]]])
    kernel = TessellatedKernel(degree=degree)
    P = np.eye(kernel.shape_size(2))
    assert_close(kernel.gram(X), gram(tessellated_tensor(X, X, 0.0, 1.0, degree, "x"), P))
    K = kernel.with_factor(P[:, :1]).gram(X)
    np.testing.assert_allclose(K[-1], 0, atol=1e-15)
    np.testing.assert_allclose(K[-2], np.prod(1 - X, axis=1), rtol=1e-13)


@pytest.mark.parametrize("degree", [0, 1])
def test_a_hundred_features_do_not_underflow_or_overflow(degree):
    r = np.random.default_rng(0)
    X, w = r.random((12, 100)), r.standard_normal(12)
    kernel = TessellatedKernel(-0.5, 1.5, degree)
    vector = TessellatedKernel(np.full(100, -0.5), np.full(100, 1.5), degree)
    K, D = kernel.gram(X), kernel.quadratic(X, w)
    np.testing.assert_array_equal(K, vector.gram(X))
    assert np.isfinite(D).all()
    assert (K.diagonal() > 0.1).all()
    only_above = kernel.with_factor(np.eye(len(D))[:, :1]).gram(X)
    expected = np.exp(np.log((1.5 - np.maximum(X[:, None], X[None])) / 2).sum(axis=2))
    np.testing.assert_allclose(only_above, expected, rtol=1e-11)
    assert D[0, 0] == pytest.approx(w @ only_above @ w, rel=1e-9)


# Bases given on quadrature nodes; polynomials


def tessellated_function(degree, basis):
    def function(nodes, X):
        return np.stack([tessellated_values(nodes, x, degree, basis) for x in X], axis=1)

    return function


def polynomial_function(degree):
    def function(nodes, X):
        return np.stack([monomial_values(nodes, x, degree, "xz") for x in X], axis=1)

    return function


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2])
def test_nodes_in_cells_between_points_give_the_tessellated_kernel(n, degree):
    """Between the points, N is constant in z, so a Gauss rule in each cell is exact."""
    r = np.random.default_rng(n)
    X, Y, w = r.random((6, n)), r.random((3, n)), r.standard_normal(6)
    nodes, weights = cells_rule(np.vstack([*as_box(-0.4, 1.3, n), X, Y]).T, 1)
    exact = TessellatedKernel(-0.4, 1.3, degree)
    by_values = QuadratureKernel(tessellated_function(degree, "x"), nodes, weights / 1.7**n)
    assert by_values.shape_size(n) == exact.shape_size(n)
    factor = random_shape(r, exact.shape_size(n), 2)[1]
    exact, by_values = exact.with_factor(factor), by_values.with_factor(factor)
    assert_close(by_values.gram(X), exact.gram(X))
    assert_close(by_values(X, Y), exact(X, Y))
    assert_close(by_values.diag(X), exact.diag(X))
    assert_close(by_values.quadratic(X, w), exact.quadratic(X, w))


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_polynomial_kernel_agrees_with_the_twin_and_gauss_legendre_nodes(n, degree):
    r = np.random.default_rng(degree)
    X, Y, w = r.uniform(-1, 2, (8, n)), r.uniform(-1, 2, (3, n)), r.standard_normal(8)
    nodes, weights = cells_rule([np.array([-0.4, 1.3])] * n, degree + 1)
    by_values = QuadratureKernel(polynomial_function(degree), nodes, weights / 1.7**n)
    kernel = GeneralizedPolynomial(-0.4, 1.3, degree)
    G, cross = (
        polynomial_tensor(X, points, -0.4, 1.3, degree, normalized=True) for points in (X, Y)
    )
    for rank in (1, None):
        P, factor = random_shape(r, kernel.shape_size(n), rank)
        for family in (kernel, by_values):
            member = family.with_factor(factor)
            assert_close(member.gram(X), gram(G, P))
            assert_close(member.diag(X), gram(G, P).diagonal())
            assert_close(member(X, Y), gram(cross, P))
            assert_close(member.quadratic(X, w), quadratic(G, w))
            U = r.standard_normal((len(P), 2))
            assert_close(member.integrals(X, U), integrals(G, U))


@settings(max_examples=40, deadline=None)
@given(seed=seeds, n=st.integers(1, 3), degree=st.integers(0, 3), rank=st.integers(1, 4))
def test_the_polynomial_kernel_is_positive_semi_definite(seed, n, degree, rank):
    r = np.random.default_rng(seed)
    X, w = r.uniform(-3, 3, (10, n)), r.standard_normal(10)
    kernel = GeneralizedPolynomial(-0.4, 1.3, degree)
    P, factor = random_shape(r, kernel.shape_size(n), rank)
    K, D = kernel.with_factor(factor).gram(X), kernel.quadratic(X, w)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.trace(K)
    scale = np.abs(w) @ np.abs(K) @ np.abs(w)
    assert (D * P).sum() == pytest.approx(w @ K @ w, abs=1e-11 * scale)


# Copies and invalid parameters


def test_with_factor_does_not_change_the_original():
    r = np.random.default_rng(0)
    X, w, factor = r.random((4, 2)), r.standard_normal(4), np.arange(12.0).reshape(6, 2)
    kernel = a_kernel(2, 1)
    other = kernel.with_factor(factor)
    assert kernel.factor is None
    np.testing.assert_array_equal(other.shape_matrix(2), factor @ factor.T)
    np.testing.assert_array_equal(other.with_factor(None).shape_matrix(2), np.eye(6))
    np.testing.assert_array_equal(kernel.quadratic(X, w), other.quadratic(X, w))
    assert kernel(X[:0], X).shape == (0, 4)


def constant(nodes, X):
    return np.ones((2, len(X), 4))


QUADRATURE = QuadratureKernel(constant, np.eye(2)[:, :1], np.ones(2))


@pytest.mark.parametrize(
    ("kernel", "parameters", "message"),
    [
        (TessellatedKernel(), {"lower": 1.0}, "expected lower < upper, got 1 and 1"),
        (TessellatedKernel(), {"lower": [0.0, 2.0]}, "got 2 and 1 for feature 1"),
        (TessellatedKernel(), {"upper": np.inf}, "upper"),
        (TessellatedKernel(), {"degree": 13}, "expected degree <= 12, got 13"),
        (TessellatedKernel(), {"factor": np.ones((5, 2))}, "expected a factor of shape (6, r)"),
        (GeneralizedPolynomial(), {"degree": -1}, "got -1"),
        (GeneralizedPolynomial(), {"degree": 2**40}, "expected n_P <= 10000, got n_P = "),
        (GeneralizedPolynomial(), {"factor": np.ones((4, 1))}, "a factor of shape (5, r)"),
        (QUADRATURE, {"weights": [1.0, -0.5]}, "expected weights >= 0, got -0.5"),
        (QUADRATURE, {"function": lambda nodes, X: np.ones((2, 3))}, "got float64 of shape (2, 3)"),
        (QUADRATURE, {"function": lambda nodes, X: np.ones((len(X), 2, 4))}, "n_P)"),
        (QUADRATURE, {"function": lambda nodes, X: 1j * constant(nodes, X)}, "got complex"),
        (QUADRATURE, {"function": lambda nodes, X: np.inf * constant(nodes, X)}, "finite"),
    ],
)
def test_invalid_parameters_are_refused(kernel, parameters, message):
    wrong = clone(kernel).set_params(**parameters)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        wrong.gram(np.random.default_rng(0).random((3, 2)))


def test_rescaled_points():
    r = np.random.default_rng(0)
    X, Y = r.normal(5, 3, (8, 2)), r.normal(5, 3, (4, 2))
    offset, width = np.array([2.0, -1.0]), np.array([4.0, -0.5])
    inner = TessellatedKernel(-0.4, 1.3)
    kernel = Rescaled(inner, offset, width)
    left, right = (X - offset) / width, (Y - offset) / width
    assert_close(kernel(X), inner(left))
    assert_close(kernel(X, Y), inner(left, right))
    assert_close(kernel.diag(X), inner.diag(left))
    assert_close(Rescaled(Gaussian(0.7), 1.0, 2.0)(X, Y), Gaussian(0.7 / 4)(X, Y))
    with pytest.raises(ValueError, match="expected width != 0, got 0 for feature 1"):
        Rescaled(Gaussian(), 0.0, [1.0, 0.0])(X)
    with pytest.raises(ValueError, match="offset"):
        Rescaled(Gaussian(), np.zeros(3))(X)
