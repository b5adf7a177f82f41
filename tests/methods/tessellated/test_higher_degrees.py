"""Tessellated kernels of degree 3 and more: closed forms, quadrature, what is too large."""

import re

import numpy as np
import pytest

from pliant import TKLRegressor
from pliant.kernels import TessellatedKernel
from pliant.methods.tessellated import tessellated_kernel
from tests.papers.tessellated_cases import R1
from tests.reference.naive_tessellated import (
    gram,
    quadratic,
    quadrature_tensor,
    random_shape,
    tessellated_tensor,
    tessellated_values,
)
from tests.reference.tessellated_sdp import by_weights

LOWER, UPPER = np.array([-0.3, -1.0]), np.array([1.4, 2.0])
HIGHER = [(1, 3, "x"), (1, 3, "xz"), (2, 3, "x"), (2, 3, "xz"), (1, 6, "xz"), (2, 5, "x")]
every_family = pytest.mark.parametrize(("n", "degree", "basis"), HIGHER)


def assert_close(actual, expected, share=1e-12):
    """Equal up to a share of the largest entry."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * np.abs(expected).max())


@pytest.mark.parametrize("rank", [None, 2])
@every_family
def test_gram_matrices_and_d_are_those_of_the_closed_formulas(n, degree, basis, rank):
    r = np.random.default_rng(degree)
    X, Y, w = r.random((7, n)), r.random((3, n)), r.standard_normal(7)
    box = LOWER[:n], UPPER[:n], degree, basis
    kernel = TessellatedKernel(*box)
    P, factor = random_shape(r, kernel.shape_size(n), rank)
    kernel = kernel.with_factor(factor)
    G = tessellated_tensor(X, X, *box, normalized=True)
    K = gram(G, P)
    assert_close(kernel.gram(X), K)
    assert_close(kernel.diag(X), np.diag(K))
    assert_close(kernel(X, Y), gram(tessellated_tensor(X, Y, *box, normalized=True), P))
    D = kernel.quadratic(X, w)
    assert_close(D, quadratic(G, w))
    assert np.vdot(D, P) == pytest.approx(w @ K @ w, rel=1e-10)


@pytest.mark.parametrize(("n", "degree", "basis"), [(1, 4, "xz"), (2, 3, "xz"), (2, 3, "x")])
def test_the_closed_formulas_are_the_integrals(n, degree, basis):
    """Against Gauss-Legendre quadrature of the definition, in cells split at the points."""
    X = np.random.default_rng(0).random((3, n))

    def values(nodes, x):
        return tessellated_values(nodes, x, degree, basis)

    expected = quadrature_tensor(X, X, LOWER[:n], UPPER[:n], values, order=degree + 1)
    box = LOWER[:n], UPPER[:n], degree, basis
    assert_close(tessellated_tensor(X, X, *box), expected)
    P, factor = random_shape(np.random.default_rng(1), len(expected), 3)
    kernel = TessellatedKernel(*box, normalize_measure=False, factor=factor)
    assert_close(kernel.gram(X), gram(expected, P))


@pytest.mark.parametrize(("n", "degree"), [(1, 1), (2, 2), (3, 2)])
def test_sums_over_monomials_give_what_compiled_loops_give(n, degree, monkeypatch):
    """More than one tile of points, so that the tiles are put together too."""
    r = np.random.default_rng(n)
    X, Y = r.random((150, n)), r.random((140, n))
    kernel = TessellatedKernel(-0.5, 1.5, degree, "xz")
    kernel = kernel.with_factor(r.standard_normal((kernel.shape_size(n), 2)))
    compiled = kernel(X, Y)
    monkeypatch.setattr(tessellated_kernel, "COMPILED", 0)
    assert_close(kernel(X, Y), compiled)


def test_the_optimum_of_degree_3_is_that_of_the_semidefinite_program():
    basis, rows = "x", np.arange(0, 30, 3)
    X, y = R1.X[rows], R1.y[rows]
    margin = type(R1.margin)(y, R1.margin.lower[rows], R1.margin.upper[rows], 0.1)
    G = tessellated_tensor(X, X, -0.5, 1.5, 3, basis)
    optimum, _ = by_weights(G, margin)
    options = {"degree": 3, "basis": basis, "delta": 0.5, "scale": False, "scale_target": False}
    model = TKLRegressor(5.0, **options, normalize_measure=False, tol=1e-4).fit(X, y)
    assert model.objective_ == pytest.approx(optimum, rel=2e-4)
    assert model.lower_bound_ <= optimum * (1 + 1e-6)
    assert model.shape_matrix_.shape == G.shape[:2]


def test_what_is_too_large_is_refused_with_its_size():
    X = np.random.default_rng(0).random((5, 40))
    message = "expected n_P <= 10000, got n_P = 24682 for 40 features"
    with pytest.raises(ValueError, match=message):
        TKLRegressor(degree=3).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=message):
        TessellatedKernel(degree=3)(X)
    message = re.escape(
        "expected at most 10000 monomials of z of degree 6 or less, got 12376 for 11 features, "
        "basis = 'xz' and degree = 3; use basis = 'x', lower the degree, or choose features"
    )
    with pytest.raises(ValueError, match=message):
        TessellatedKernel(degree=3, basis="xz")(X[:, :11])
    with pytest.raises(ValueError, match=message):
        TKLRegressor(degree=3, basis="xz").fit(X[:, :11], X[:, 0])
