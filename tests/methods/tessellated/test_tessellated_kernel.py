"""Tessellated kernels against their slow twin, against quadrature, and in hard places."""

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pliant.kernels import GeneralizedPolynomial, TessellatedKernel
from pliant.methods.tessellated.generalized_kernel import TILE
from tests.reference.naive_tessellated import (
    gram,
    quadratic,
    quadrature_tensor,
    random_shape,
    tessellated_tensor,
    tessellated_values,
)
from tests.reference.tessellated_sdp import classification, svm

LOWER, UPPER = np.array([-0.3, 0.0, -1.0]), np.array([1.4, 1.1, 2.0])
FAMILIES = [(n, degree, basis) for n in (1, 2, 3) for degree in (0, 1, 2) for basis in ("x", "xz")]
every_family = pytest.mark.parametrize(("n", "degree", "basis"), FAMILIES)
either_measure = pytest.mark.parametrize("normalized", [True, False])


def a_kernel(n, degree, basis, normalized=True, factor=None):
    return TessellatedKernel(LOWER[:n], UPPER[:n], degree, basis, normalized, factor)


def a_tensor(X, Y, degree, basis, normalized=True):
    n = X.shape[1]
    return tessellated_tensor(X, Y, LOWER[:n], UPPER[:n], degree, basis, normalized)


def assert_close(actual, expected, share=1e-12):
    """Equal up to a share of the largest entry."""
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * np.abs(expected).max())


families = st.sampled_from(FAMILIES)
seeds = st.integers(0, 10**6)


# The Gram matrix


@either_measure
@pytest.mark.parametrize("rank", [None, 1, 2])
@every_family
def test_the_gram_matrix_is_that_of_the_twin(n, degree, basis, rank, normalized):
    r = np.random.default_rng(degree)
    X, Y = r.random((9, n)), r.random((4, n))
    size = a_kernel(n, degree, basis).shape_size(n)
    P, factor = random_shape(r, size, rank)
    kernel = a_kernel(n, degree, basis, normalized, factor)
    assert_close(kernel.gram(X), gram(a_tensor(X, X, degree, basis, normalized), P))
    assert_close(kernel(X, Y), gram(a_tensor(X, Y, degree, basis, normalized), P))


@either_measure
@pytest.mark.parametrize(("n", "degree", "basis"), [f for f in FAMILIES if f[0] < 3])
def test_every_g_is_the_integral(n, degree, basis, normalized):
    """G_ij + G_ji from the library, by P = (e_i + e_j)(e_i + e_j)', is that of the quadrature."""
    r = np.random.default_rng(n)
    X = r.random((4, n))

    def values(nodes, x):
        return tessellated_values(nodes, x, degree, basis)

    expected = quadrature_tensor(X, X, LOWER[:n], UPPER[:n], values, normalized)
    kernel = a_kernel(n, degree, basis, normalized)
    unit = np.eye(len(expected))
    for i in range(len(unit)):
        for j in range(i, len(unit)):
            factor = (unit[i] + unit[j])[:, None]
            assert_close(kernel.with_factor(factor).gram(X), gram(expected, factor @ factor.T))


@every_family
def test_no_factor_is_the_identity(n, degree, basis):
    X = np.random.default_rng(0).random((6, n))
    kernel = a_kernel(n, degree, basis)
    P = kernel.shape_matrix(n)
    np.testing.assert_array_equal(P, np.eye(kernel.shape_size(n)))
    assert_close(kernel.gram(X), gram(a_tensor(X, X, degree, basis), P))


@every_family
def test_training_gram_kernel_and_blocks_agree(n, degree, basis):
    """gram(X), k(X), k(X, X) and k(X, some rows) are the same numbers, across tiles too."""
    r = np.random.default_rng(n)
    X = r.random((TILE + 40, n))
    size = a_kernel(n, degree, basis).shape_size(n)
    kernel = a_kernel(n, degree, basis, factor=random_shape(r, size, 2)[1])
    K, some = kernel.gram(X), r.permutation(len(X))[:30]
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(kernel(X), K)
    assert_close(kernel(X, X.copy()), K)
    assert_close(kernel(X, X[some]), K[:, some])
    assert_close(kernel(X[some], X), K[some])
    assert_close(kernel(X[some[:1]], X[some[1:]]), K[some[:1]][:, some[1:]])
    few = some[:12]
    P = kernel.shape_matrix(n)
    assert_close(K[np.ix_(few, few)], gram(a_tensor(X[few], X[few], degree, basis), P))


@every_family
def test_single_precision_is_good_to_1e_6(n, degree, basis):
    r = np.random.default_rng(n)
    X = r.random((50, n))
    size = a_kernel(n, degree, basis).shape_size(n)
    kernel = a_kernel(n, degree, basis, factor=random_shape(r, size, 2)[1])
    K = kernel.gram(X, dtype=np.float32)
    assert K.dtype == np.float32
    np.testing.assert_array_equal(K, K.T)
    assert_close(K.astype(np.float64), kernel.gram(X), 1e-6)


@every_family
def test_the_diagonal_is_that_of_the_gram_matrix(n, degree, basis):
    r = np.random.default_rng(n)
    X = r.uniform(-1, 2, (20, n))
    size = a_kernel(n, degree, basis).shape_size(n)
    kernel = a_kernel(n, degree, basis, factor=random_shape(r, size)[1])
    assert_close(kernel.diag(X), kernel.gram(X).diagonal())


@settings(max_examples=60, deadline=None)
@given(family=families, seed=seeds, rank=st.integers(1, 6), spread=st.floats(0.01, 3))
def test_the_gram_matrix_is_positive_semi_definite(family, seed, rank, spread):
    """For every P and all points, those outside the box and equal ones too."""
    n = family[0]
    r = np.random.default_rng(seed)
    X = r.uniform(-spread, spread, (12, n))
    X[5] = X[3]
    size = a_kernel(*family).shape_size(n)
    K = a_kernel(*family, factor=random_shape(r, size, rank)[1]).gram(X)
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.trace(K)


@settings(max_examples=40, deadline=None)
@given(family=families, seed=seeds)
def test_the_kernel_is_symmetric(family, seed):
    n = family[0]
    r = np.random.default_rng(seed)
    X, Y = r.uniform(-0.5, 1.5, (7, n)), r.uniform(-0.5, 1.5, (5, n))
    size = a_kernel(*family).shape_size(n)
    kernel = a_kernel(*family, factor=random_shape(r, size, 2)[1])
    assert_close(kernel(X, Y), kernel(Y, X).T)


@settings(max_examples=40, deadline=None)
@given(family=families, seed=seeds)
def test_the_kernel_is_linear_in_the_shape_matrix(family, seed):
    n = family[0]
    r = np.random.default_rng(seed)
    X = r.random((8, n))
    kernel = a_kernel(*family)
    first, second = (random_shape(r, kernel.shape_size(n), 2)[1] for _ in range(2))
    together = kernel.with_factor(np.hstack([first, 2 * second])).gram(X)
    parts = kernel.with_factor(first).gram(X) + 4 * kernel.with_factor(second).gram(X)
    assert_close(together, parts)


@pytest.mark.parametrize("basis", ["x", "xz"])
def test_one_gram_matrix_is_all_the_memory_needed(basis):
    """Never one for each of the n_P^2 pairs of functions, and none for the quadratic form."""
    r = np.random.default_rng(0)
    X, w = r.random((2000, 3)), r.standard_normal(2000)
    kernel = a_kernel(3, 1, basis)
    for compile_first in (kernel.gram, lambda X: kernel.quadratic(X, w[:5])):
        compile_first(X[:5])
    single = peak_memory(lambda: kernel.gram(X, dtype=np.float32))
    assert single < 4 * 2000**2 + 12e6
    assert peak_memory(lambda: kernel.quadratic(X, w)) < 12e6


def peak_memory(action):
    """Bytes in use at the peak of an action."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# D(w)


@either_measure
@every_family
def test_the_quadratic_form_is_that_of_the_twin(n, degree, basis, normalized):
    r = np.random.default_rng(n)
    X, w = r.uniform(-0.5, 1.5, (9, n)), r.standard_normal(9)
    D = a_kernel(n, degree, basis, normalized).quadratic(X, w)
    np.testing.assert_array_equal(D, D.T)
    assert_close(D, quadratic(a_tensor(X, X, degree, basis, normalized), w))


@settings(max_examples=60, deadline=None)
@given(family=families, seed=seeds, rank=st.integers(1, 4), m=st.integers(1, 300))
def test_the_quadratic_form_times_p_is_that_of_the_gram_matrix(family, seed, rank, m):
    """<D(w), P> = w'K_P w, for points in several tiles, some of them without weight."""
    n = family[0]
    r = np.random.default_rng(seed)
    X, w = r.random((m, n)), r.standard_normal(m) * (r.random(m) < 0.7)
    kernel = a_kernel(*family)
    P, factor = random_shape(r, kernel.shape_size(n), rank)
    D, K = kernel.quadratic(X, w), kernel.with_factor(factor).gram(X)
    scale = np.abs(w) @ np.abs(K) @ np.abs(w)
    assert (D * P).sum() == pytest.approx(w @ K @ w, abs=1e-12 * scale)
    assert np.linalg.eigvalsh(D)[0] >= -1e-12 * np.trace(D)


def test_the_quadratic_form_needs_no_point_of_zero_weight():
    r = np.random.default_rng(0)
    X, w = r.random((9, 2)), r.standard_normal(9) * (np.arange(9) % 2)
    kernel = a_kernel(2, 1, "xz")
    np.testing.assert_array_equal(kernel.quadratic(X, w), kernel.quadratic(X[1::2], w[1::2]))
    np.testing.assert_array_equal(kernel.quadratic(X, 0 * w), np.zeros((10, 10)))


def test_the_quadratic_form_does_not_depend_on_the_factor():
    r = np.random.default_rng(0)
    X, w = r.random((9, 2)), r.standard_normal(9)
    kernel = a_kernel(2, 1, "x")
    other = kernel.with_factor(r.standard_normal((6, 2)))
    np.testing.assert_array_equal(kernel.quadratic(X, w), other.quadratic(X, w))
    assert kernel.factor is None


# The box


@every_family
def test_points_outside_the_box_are_moved_to_it(n, degree, basis):
    r = np.random.default_rng(n)
    X = r.uniform(-3, 3, (30, n))
    inside = np.clip(X, LOWER[:n], UPPER[:n])
    assert (inside != X).any(axis=1).sum() > 5
    size = a_kernel(n, degree, basis).shape_size(n)
    kernel = a_kernel(n, degree, basis, factor=random_shape(r, size, 1)[1])
    np.testing.assert_array_equal(kernel.gram(X), kernel.gram(inside))
    np.testing.assert_array_equal(kernel(X, X[:7]), kernel(inside, inside[:7]))
    np.testing.assert_array_equal(kernel.diag(X), kernel.diag(inside))
    w = r.standard_normal(30)
    np.testing.assert_array_equal(kernel.quadratic(X, w), kernel.quadratic(inside, w))
    assert kernel.diag(X).min() >= 0


@pytest.mark.parametrize("basis", ["x", "xz"])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_a_box_without_margin_is_allowed(degree, basis):
    """With delta = 0 the topmost point has no box above it; the formulas hold all the same."""
    X = np.vstack([np.random.default_rng(0).random((8, 2)), [[0.0, 0.0], [1.0, 1.0]]])
    kernel = TessellatedKernel(degree=degree, basis=basis)
    P = np.eye(kernel.shape_size(2))
    G = tessellated_tensor(X, X, 0.0, 1.0, degree, basis)
    assert_close(kernel.gram(X), gram(G, P))
    above = np.zeros((len(P), 1))
    above[0] = 1
    K = kernel.with_factor(above).gram(X)
    np.testing.assert_allclose(K[-1], 0, atol=1e-15)
    np.testing.assert_allclose(K[-2], np.prod(1 - X, axis=1), rtol=1e-13)


@pytest.mark.parametrize("basis", ["x", "xz"])
@pytest.mark.parametrize("degree", [0, 1])
def test_a_hundred_features_neither_under_nor_overflow(degree, basis):
    r = np.random.default_rng(0)
    X, w = r.random((12, 100)), r.standard_normal(12)
    kernel = TessellatedKernel(-0.5, 1.5, degree, basis)
    size = kernel.shape_size(100)
    K, D = kernel.gram(X), kernel.quadratic(X, w)
    assert np.isfinite(K).all()
    assert np.isfinite(D).all()
    assert (K.diagonal() > 0.1).all()
    above = np.zeros((size, 1))
    above[0] = 1
    only_above = kernel.with_factor(above).gram(X)
    expected = np.exp(np.log((1.5 - np.maximum(X[:, None], X[None])) / 2).sum(axis=2))
    np.testing.assert_allclose(only_above, expected, rtol=1e-11)
    assert (only_above > 0).all()
    assert D[0, 0] == pytest.approx(w @ only_above @ w, rel=1e-9)


def test_a_box_of_one_corner_for_all_features_is_that_corner_for_each():
    X = np.random.default_rng(0).random((5, 3))
    scalar = TessellatedKernel(-0.5, 1.5, 1, "xz")
    vector = TessellatedKernel(np.full(3, -0.5), np.full(3, 1.5), 1, "xz")
    np.testing.assert_array_equal(scalar.gram(X), vector.gram(X))


# The measure


@every_family
def test_normalising_divides_by_the_volume(n, degree, basis):
    r = np.random.default_rng(n)
    X, w = r.random((10, n)), r.standard_normal(10)
    volume = np.prod(UPPER[:n] - LOWER[:n])
    paper, normal = (a_kernel(n, degree, basis, measure) for measure in (False, True))
    assert_close(volume * normal.gram(X), paper.gram(X))
    assert_close(volume * normal.quadratic(X, w), paper.quadratic(X, w))


def test_the_optimum_with_the_normalised_measure_is_v_times_that_of_c_over_v():
    r = np.random.default_rng(0)
    X, C = r.random((20, 2)), 7.0
    y = np.where(X[:, 0] > X[:, 1] ** 2, 1.0, -1.0)
    volume = np.prod(UPPER[:2] - LOWER[:2])
    paper, normal = (a_kernel(2, 1, "x", measure).gram(X) for measure in (False, True))
    expected = volume * svm(paper, classification(y, C / volume))[0]
    assert svm(normal, classification(y, C))[0] == pytest.approx(expected, rel=1e-8)


# As an object


def test_with_factor_leaves_the_original_alone():
    kernel = a_kernel(2, 1, "x")
    factor = np.arange(12.0).reshape(6, 2)
    other = kernel.with_factor(factor)
    assert kernel.factor is None
    assert (other.degree, other.basis, other.normalize_measure) == (1, "x", True)
    np.testing.assert_array_equal(other.shape_matrix(2), factor @ factor.T)
    np.testing.assert_array_equal(other.with_factor(None).shape_matrix(2), np.eye(6))
    copy = clone(other)
    X = np.random.default_rng(0).random((4, 2))
    np.testing.assert_array_equal(copy.gram(X), other.gram(X))
    assert copy.factor is not other.factor


def test_no_points_give_an_empty_matrix():
    X = np.random.default_rng(0).random((4, 2))
    kernel = a_kernel(2, 1, "xz")
    assert kernel(X[:0], X).shape == (0, 4)
    assert kernel.gram(X[:1]).shape == (1, 1)


@pytest.mark.parametrize("kernel", [TessellatedKernel(), GeneralizedPolynomial(degree=2)])
def test_points_without_features_have_a_constant_kernel(kernel):
    X = np.empty((3, 0))
    np.testing.assert_allclose(kernel(X), np.ones((3, 3)), rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.ones(3), rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lower": 1.0, "upper": 1.0}, "expected lower < upper, got 1 and 1"),
        ({"lower": [0.0, 2.0], "upper": 1.0}, "got 2 and 1 for feature 1"),
        ({"lower": [0.0, 0.0, 0.0]}, "lower"),
        ({"upper": [1.0]}, "upper"),
        ({"lower": np.nan}, "lower"),
        ({"upper": np.inf}, "upper"),
        ({"upper": "high"}, "upper"),
        ({"degree": 13}, "expected degree <= 12, got 13"),
        ({"degree": -1}, "got -1"),
        ({"degree": 1.5}, "got 1.5"),
        ({"degree": True}, "degree"),
        ({"basis": "z"}, "got 'z'"),
        ({"basis": None}, "basis"),
        ({"factor": np.ones((5, 2))}, "expected a factor of shape (6, r) for 2 features"),
        ({"factor": np.ones(6)}, "factor"),
        ({"factor": np.full((6, 1), np.nan)}, "factor"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    X = np.random.default_rng(0).random((3, 2))
    kernel = TessellatedKernel().set_params(**parameters)
    for use in (kernel, kernel.gram, kernel.diag):
        with pytest.raises((ValueError, TypeError), match=re.escape(message)):
            use(X)


def test_wrong_points_are_refused():
    kernel, X = a_kernel(2, 1, "x", factor=np.ones((6, 1))), np.ones((3, 2))
    with pytest.raises(ValueError, match="expected Y with 2 features, as X, got 3"):
        kernel(X, np.ones((3, 3)))
    with pytest.raises(ValueError, match="3"):
        kernel.gram(np.ones((3, 3)))
    with pytest.raises(ValueError, match="X"):
        kernel.gram(np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="4"):
        kernel.quadratic(X, np.ones(4))
    with pytest.raises(ValueError, match=r"[Nn]a[Nn]|finite"):
        kernel.quadratic(X, np.array([1.0, np.nan, 1.0]))
