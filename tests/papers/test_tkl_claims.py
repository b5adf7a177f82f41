"""Claims of the TKL paper (Talitckii, Colbert and Peet 2024), as printed or as corrected.

The reference and the semidefinite programs represent the paper; the library is tested for claims
about kernels available to users.
"""

from functools import partial
from itertools import pairwise
from math import comb

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import GeneralizedPolynomial, QuadratureKernel, TessellatedKernel
from tests.papers.tessellated_cases import BASES, C1, CASES, R1, R3
from tests.reference.naive_tessellated import (
    exponents,
    gram,
    integral,
    monomial_values,
    monomials_of_x,
    polynomial_tensor,
    power,
    quadratic,
    quadrature_tensor,
    random_shape,
    tessellated_tensor,
    tessellated_values,
)
from tests.reference.tessellated_sdp import (
    best_shape,
    by_shape_matrix,
    by_weights,
    classification,
    regression,
    solve,
    svm,
)

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_basis = pytest.mark.parametrize(("degree", "basis"), BASES)


def gaussian_gram(X, width):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


def nearest_error(G, target):
    """Return min_P |K_P - target|_F / |target|_F over the PSD matrices P.

    The variable is Q with P = T Q T', T = S^(-1/2), S_ij = sum_k G_ij(x_k, x_k), so that Q = I
    has tr K_P = n_P.
    """
    n_p, _, m, _ = G.shape
    values, vectors = np.linalg.eigh(np.einsum("ijkk->ij", G))
    T = vectors / np.sqrt(values)
    G = np.einsum("ijkl,ia,jb->abkl", G, T, T, optimize=True)
    Q = cp.Variable((n_p, n_p), PSD=True)
    K = cp.vec(Q, order="C") @ G.reshape(n_p**2, m**2)
    return solve(cp.Problem(cp.Minimize(cp.norm(K - target.ravel() / np.linalg.norm(target)))))


def printed_tensor(X, lower, upper, degree, basis):
    """Return Corollary 12 as printed: block (2, 1) is t_ij(y, x), with y^delta_i for x^delta_i."""
    G = tessellated_tensor(X, X, lower, upper, degree, basis)
    delta, gamma = exponents(X.shape[1], degree, basis)
    q = len(delta)
    b = np.full(X.shape[1], float(upper))
    for i in range(q):
        for j in range(q):
            zeta = gamma[i] + gamma[j] + 1
            both = integral(np.maximum(X[:, None], X[None]), b, zeta)
            c = np.outer(power(X, delta[i]), power(X, delta[j]))
            t = c * (integral(X, b, zeta)[:, None] - both)
            G[q + i, q + j] += G[q + i, j] - t.T
            G[q + i, j] = t.T
    return G


# Lemma 5


def signs_of_waves(nodes, X):
    """Return a bounded measurable N: (q, 1) nodes and (m, 2) points to (q, m, 4) signs."""
    frequencies = np.array([3.0, -7.0, 11.0, 19.0])
    phases = X @ np.array([[5.0, -2.0, 13.0, 8.0], [1.0, 17.0, -4.0, 6.0]])
    return np.sign(np.sin(nodes[:, None] * frequencies + phases + 1))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 4))
def test_lemma_5_every_bounded_n_and_psd_p_give_a_positive_kernel(seed, rank):
    r = np.random.default_rng(seed)
    _, factor = random_shape(r, 4, rank)
    nodes, weights = r.random((30, 1)), r.random(30)
    kernel = QuadratureKernel(signs_of_waves, nodes, weights, factor)
    K = kernel(r.random((12, 2)))
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.trace(K)
    assert np.trace(K) > 0


def test_lemma_5_needs_p_psd():
    X = np.random.default_rng(0).random((8, 2))
    G = tessellated_tensor(X, X, -0.2, 1.3, 1, "x")
    assert np.linalg.eigvalsh(gram(G, np.diag([1.0, -6, 1, 1, 1, 1])))[0] < -0.01


# Lemma 6 and its consequence: both semidefinite programs have the same optimum


# the program for the shape matrix of r3 takes 3 s and more
QUICK = [(case, *basis) for case in CASES for basis in BASES if case is not R3]


@pytest.mark.parametrize(("case", "degree", "basis"), QUICK)
def test_lemma_6_there_is_no_duality_gap(case, degree, basis):
    G, expected = case.tensor(degree, basis), case.optimum(degree, basis)
    highest, w = case.by_weights(degree, basis)
    lowest, P = case.by_shape_matrix(degree, basis)
    assert highest == pytest.approx(expected, rel=1e-7)
    assert lowest == pytest.approx(highest, rel=1e-6)
    assert svm(gram(G, P), case.margin)[0] == pytest.approx(highest, rel=1e-6)
    bound, _ = best_shape(quadratic(G, w), case.margin.gain(w))
    assert bound == pytest.approx(highest, rel=1e-6)


def test_the_weights_of_three_features_reach_the_optimum():
    for degree in (0, 1):
        highest, w = R3.by_weights(degree, "x")
        assert highest == pytest.approx(R3.optimum(degree, "x"), rel=1e-7)
        bound, _ = best_shape(quadratic(R3.tensor(degree, "x"), w), R3.margin.gain(w))
        assert bound == pytest.approx(highest, rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
@every_basis
def test_lemma_6_holds_on_random_problems(seed, degree, basis):
    r = np.random.default_rng(seed)
    X, C = r.random((10, 2)), 10 ** r.uniform(-1, 2)
    target = np.sin(5 * X[:, 0]) - X[:, 1] + 0.2 * r.standard_normal(10)
    G = tessellated_tensor(X, X, -0.4, 1.4, degree, basis)
    signs = np.where(target > np.median(target), 1.0, -1.0)
    for margin in (classification(signs, C), regression(target, C, 0.05)):
        assert by_weights(G, margin)[0] == pytest.approx(by_shape_matrix(G, margin)[0], rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), step=st.floats(0.05, 0.95))
def test_lemma_7_opt_a_is_convex_in_p(seed, step):
    r = np.random.default_rng(seed)
    G = R1.tensor(1, "x")[..., :10, :10]
    margin = regression(R1.y[:10], 5.0, 0.1)
    first, second = (random_shape(r, len(G), r.integers(1, 5))[0] for _ in range(2))
    values = [
        svm(gram(G, P), margin)[0] for P in (first, second, (1 - step) * first + step * second)
    ]
    assert values[2] <= (1 - step) * values[0] + step * values[1] + 1e-7 * max(values)


# Theorem 11


@every_case
@every_basis
def test_theorem_11_the_top_eigenvector_is_best_and_the_printed_one_worst(case, degree, basis):
    """The top eigenvector of D gives the smallest OPT_P of all P, the bottom one the largest."""
    G = case.tensor(degree, basis)
    w = svm(gram(G, np.eye(len(G))), case.margin)[1]
    D, r = quadratic(G, w), np.random.default_rng(0)
    gain, n_p = case.margin.gain(w), len(D)
    best, P = best_shape(D, gain)
    printed = n_p * np.outer(*[np.linalg.eigh(D)[1][:, 0]] * 2)

    def saddle(shape):
        return gain - (D * shape).sum() / 2

    assert saddle(P) == pytest.approx(best, rel=1e-10)
    for rank in (1, 2, n_p):
        for _ in range(20):
            other = saddle(random_shape(r, n_p, rank)[0])
            assert best < other < saddle(printed) + 1e-12 * abs(best)


# Corollary 12

SIZES = [(n, degree, basis) for n in (1, 2) for degree in (0, 1, 2, 3) for basis in ("x", "xz")]


@pytest.mark.parametrize(("n", "degree", "basis"), SIZES)
def test_corollary_12_corrected_equals_the_integrals(n, degree, basis):
    """So do the formulas of the generalised polynomials."""
    r = np.random.default_rng(degree)
    X, Y = r.random((4, n)), r.random((3, n))
    tensors = {tessellated_values: tessellated_tensor(X, Y, -0.3, 1.4, degree, basis)}
    if basis == "xz":
        tensors[monomial_values] = polynomial_tensor(X, Y, -0.3, 1.4, degree)
    for values, G in tensors.items():
        expected = quadrature_tensor(X, Y, -0.3, 1.4, partial(values, degree=degree, basis=basis))
        np.testing.assert_allclose(G, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("basis", ["x", "xz"])
def test_corollary_12_as_printed_is_wrong_in_block_2_1(basis):
    """It holds only for delta_i = delta_j, that is, degree 0; otherwise K_P is not symmetric."""
    r = np.random.default_rng(0)
    X = r.random((6, 2))
    printed = printed_tensor(X, -0.3, 1.4, 1, basis)
    right = tessellated_tensor(X, X, -0.3, 1.4, 1, basis)
    q = len(right) // 2
    wrong = np.abs(printed - right).max(axis=(2, 3)) > 1e-3
    assert not wrong[:q].any()
    assert wrong[q:, :q].any()
    P = random_shape(r, 2 * q, 1)[0]
    K, expected = gram(printed, P), gram(right, P)
    np.testing.assert_allclose(expected, expected.T, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert np.abs(K - expected).max() > 1e-3 * np.abs(expected).max()
    zero = printed_tensor(X, -0.3, 1.4, 0, basis)
    np.testing.assert_allclose(zero, tessellated_tensor(X, X, -0.3, 1.4, 0, basis), atol=1e-14)


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_corollary_12_prints_another_number_of_monomials(n, degree):
    """n_P is 2 C(d + 2n, d), or 2 C(d + n, d) for monomials of x; not 2 C(d + 2n + 1, d)."""
    sizes = {b: 2 * len(exponents(n, degree, b)[0]) for b in ("x", "xz")}
    assert sizes == {"x": 2 * comb(degree + n, degree), "xz": 2 * comb(degree + 2 * n, degree)}
    assert sizes["x"] == TessellatedKernel(degree=degree).shape_size(n)
    assert sizes["xz"] == 2 * GeneralizedPolynomial(degree=degree).shape_size(n)
    assert (sizes["xz"] == 2 * comb(degree + 2 * n + 1, degree)) == (degree == 0)


# Theorem 13: density


def test_theorem_13_more_points_need_more_degrees():
    """The smallest degree in x that attains a Gram matrix on m points of the line is m - 1."""
    for m in (2, 3, 4, 5):
        X = np.linspace(0, 1, m)[:, None]
        K = gaussian_gram(X, 0.15)
        errors = [nearest_error(tessellated_tensor(X, X, -0.5, 1.5, d, "x"), K) for d in range(m)]
        assert errors[m - 1] < 1e-6
        assert m == 2 or errors[m - 2] > 0.1


@pytest.mark.parametrize(("degree", "n", "m"), [(1, 4, 5), (2, 2, 6), (2, 3, 10)])
def test_theorem_13_a_library_kernel_attains_any_small_gram(degree, n, m):
    """With as many monomials Z of x as points, F = [H, H], H = Z^-1 L gives LL'."""
    r = np.random.default_rng(m)
    X = r.random((m, n))
    L = r.standard_normal((m, m))
    Z = monomials_of_x(X, degree)
    H = np.linalg.solve(Z, L)
    kernel = TessellatedKernel(-0.5, 1.5, degree, np.vstack([H, H]))
    K = L @ L.T
    np.testing.assert_allclose(kernel.gram(X), K, rtol=0, atol=1e-9 * np.abs(K).max())


# Lemma 14 and Theorem 15: universality


def cosine(x):
    return np.cos(9 * x[:, 0])


def with_kink(x):
    return cosine(x) + np.abs(x[:, 0] - 0.4)


def interpolation_error(kernel, m, f):
    """Return the largest error on [0, 1] of the interpolant of f at m points."""
    x, fine = np.linspace(0, 1, m)[:, None], np.linspace(0, 1, 2001)[:, None]
    return np.abs(kernel(fine, x) @ np.linalg.solve(kernel(x), f(x)) - f(fine)).max()


@pytest.mark.parametrize("degree", [0, 1])
def test_theorem_15_combinations_of_a_definite_kernel_approximate_a_function(degree):
    """For n = 1 the kernel of Lemma 14 interpolates linearly: its error is max |f''| h^2/8."""
    X = np.random.default_rng(0).random((30, 2))
    auxiliary = TessellatedKernel(-0.5, 1.5, 0, factor=np.array([[1.0], [0.0]]))
    expected = np.prod(1.5 - np.maximum(X[:, None], X[None]), axis=2) / 4
    np.testing.assert_allclose(auxiliary.gram(X), expected, rtol=1e-13)
    factor = random_shape(np.random.default_rng(1), 2 * (degree + 1))[1]
    assert interpolation_error(auxiliary, 65, cosine) == pytest.approx(81 / 64**2 / 8, rel=0.01)
    for kernel in (auxiliary, TessellatedKernel(-0.5, 1.5, degree, factor=factor)):
        errors = [interpolation_error(kernel, m, with_kink) for m in (9, 17, 33, 65)]
        assert all(b < 0.6 * a for a, b in pairwise(errors))  # a kink is approximated as 1/m
        assert errors[-1] < 0.01


# The generalised polynomial, and the rank of P


@pytest.mark.parametrize("degree", [1, 2])
def test_a_polynomial_of_x_alone_learns_nothing(degree):
    """The optimum is the SVM's with the Gram matrix n_P Z Z', as all D have rank 1."""
    Z = monomials_of_x(C1.X, degree)
    G = np.einsum("ki,lj->ijkl", Z, Z)
    expected, w = svm(Z.shape[1] * Z @ Z.T, C1.margin)
    assert by_weights(G, C1.margin)[0] == pytest.approx(expected, rel=1e-6)
    assert np.linalg.matrix_rank(quadratic(G, w), tol=1e-9) == 1


def test_a_polynomial_of_x_and_z_learns_something():
    G = polynomial_tensor(C1.X, C1.X, -0.3, 1.3, 2, normalized=True)
    learned, w = by_weights(G, C1.margin)
    fixed = svm(gram(G, np.eye(len(G))), C1.margin)[0]
    assert learned < 0.5 * fixed
    assert np.linalg.matrix_rank(quadratic(G, w), tol=1e-9) > 1
    kernel = GeneralizedPolynomial(-0.3, 1.3, 2)
    assert svm(kernel.gram(C1.X), C1.margin)[0] == pytest.approx(fixed, rel=1e-8)


def test_the_optimal_p_is_not_always_of_rank_1():
    """On r3 two eigenvalues of D tie at the optimum, so P lies in their span, and rank 1 fails.

    The best P of rank 1 in the span is more than twice the optimum.
    """
    G = R3.tensor(1, "x")
    optimum, w = R3.by_weights(1, "x")
    values, vectors = np.linalg.eigh(quadratic(G, w))
    np.testing.assert_allclose(values[-2], values[-1], rtol=1e-5)
    assert values[-3] < 0.5 * values[-1]
    shape = np.linalg.eigvalsh(R3.by_shape_matrix(1, "x")[1])
    assert shape[-2] > 0.5 * shape[-1]
    assert shape[-3] < 1e-5 * shape[-1]
    angles = np.linspace(0, np.pi, 24, endpoint=False)
    directions = np.outer(np.cos(angles), vectors[:, -1]) + np.outer(np.sin(angles), vectors[:, -2])
    costs = [svm(len(G) * gram(G, np.outer(v, v)), R3.margin)[0] for v in directions]
    assert min(costs) > 2 * optimum
