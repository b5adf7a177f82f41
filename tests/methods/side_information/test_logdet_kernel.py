"""The kernel of a LogDet problem: the base kernel, corrected through some of the points."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pliant.kernels import (
    TL1,
    Gaussian,
    HadamardKernel,
    Laplacian,
    Linear,
    LogDetKernel,
    Polynomial,
    Precomputed,
)
from tests.reference import naive_supervision as naive

BASES = [Gaussian(0.3), Laplacian(0.5), Linear(), Polynomial(3, 0.5, 1.0), 2.0 * Gaussian(0.1)]
every_base = pytest.mark.parametrize("base", BASES, ids=str)


def problem(base=None, gamma=1.0, seed=0, n=9, d=2):
    """Points, the exact K and Q of SCG-LDK on them, and the kernel."""
    base = base or Gaussian(0.3)
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((n, d))
    T = naive.target_of_labels(rng.permutation([0, 0, 0, 1, 1, 2, -1, -1, 2][:n]))
    K, Q = naive.exactly(base(P), T, gamma)
    return P, K, Q, LogDetKernel(base, P, Q)


@every_base
def test_it_is_the_base_kernel_corrected_one_entry_at_a_time(base):
    P, _, Q, kernel = problem(base)
    X, Y = np.random.default_rng(1).standard_normal((2, 4, 2))
    gram = kernel(X, Y)
    for i in range(4):
        for j in range(4):
            value = base(X[[i]], Y[[j]])[0, 0]
            for p in range(len(P)):
                for q in range(len(P)):
                    value += base(X[[i]], P[[p]])[0, 0] * Q[p, q] * base(P[[q]], Y[[j]])[0, 0]
            assert gram[i, j] == pytest.approx(value, abs=1e-12)


@every_base
@pytest.mark.parametrize("gamma", [1e-6, 1.0, 1e3])
def test_at_its_own_points_it_is_the_learned_matrix(base, gamma):
    """For singular K0 too: Linear has rank 2 on 9 points."""
    P, K, _, kernel = problem(base, gamma)
    np.testing.assert_allclose(kernel(P), K, rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel.diag(P), K.diagonal(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel(P[:3], P[2:]), K[:3, 2:], rtol=0, atol=1e-10)


@every_base
def test_the_features_of_the_paper_give_the_same_kernel(base):
    """Eq. 31: k(x, x') = phi(x)' U phi(x') with U = I + Phi'Q Phi, phi from all points at hand."""
    P, _, Q, kernel = problem(base)
    X = np.concatenate([P, np.random.default_rng(1).standard_normal((5, 2))])
    values, vectors = np.linalg.eigh(base(X))
    phi = vectors * np.sqrt(np.maximum(values, 0.0))
    U = np.eye(len(X)) + phi[:9].T @ Q @ phi[:9]
    np.testing.assert_allclose(kernel(X), phi @ U @ phi.T, rtol=0, atol=1e-10)


def test_without_a_correction_it_is_the_base_kernel():
    P, X = problem()[0], np.random.default_rng(1).standard_normal((4, 2))
    kernel = LogDetKernel(Gaussian(0.3), P, np.zeros((9, 9)))
    np.testing.assert_array_equal(kernel(X, P), Gaussian(0.3)(X, P))
    np.testing.assert_array_equal(kernel.diag(X), np.ones(4))


def test_far_points_keep_the_base_kernel():
    far = np.array([[50.0, 50.0], [50.0, 51.0]])
    np.testing.assert_array_equal(problem()[3](far), Gaussian(0.3)(far))


@every_base
@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=10, deadline=None)
def test_it_is_psd_on_any_points(base, seed, gamma):
    _, _, _, kernel = problem(base, gamma)
    X = np.random.default_rng(seed).standard_normal((12, 2))
    gram = kernel(X)
    assert np.linalg.eigvalsh(0.5 * (gram + gram.T))[0] > -1e-9 * np.trace(gram)


@every_base
def test_it_knows_that_it_is_psd(base):
    _, _, Q, kernel = problem(base)
    assert kernel.psd
    assert kernel.symmetric
    assert not LogDetKernel(base, kernel.points, Q - np.eye(9) * 10).psd


def test_it_is_no_better_than_its_base():
    P, _, Q, _ = problem()
    assert not LogDetKernel(TL1(0.5), P, Q).psd
    beta = np.ones(9)
    one_sided = HadamardKernel(Gaussian(), P, beta, 1.0, "reciprocal")
    kernel = LogDetKernel(one_sided, P, np.zeros((9, 9)))
    assert (kernel.symmetric, kernel.psd) == (one_sided.symmetric, one_sided.psd)


def test_a_precomputed_base_goes_by_row_numbers():
    P, K, Q, kernel = problem()
    X = np.concatenate([P, np.random.default_rng(1).standard_normal((3, 2))])
    rows = np.arange(12.0)[:, None]
    numbered = LogDetKernel(Precomputed(Gaussian(0.3)(X)), rows[:9], Q)
    np.testing.assert_allclose(numbered(rows[:9]), K, rtol=0, atol=1e-12)
    np.testing.assert_allclose(numbered(rows[9:], rows), kernel(X[9:], X), rtol=0, atol=1e-14)
    np.testing.assert_allclose(numbered.diag(rows), kernel.diag(X), rtol=0, atol=1e-14)


def test_the_order_of_its_points_does_not_matter():
    P, _, Q, kernel = problem()
    order = np.random.default_rng(3).permutation(9)
    moved = LogDetKernel(Gaussian(0.3), P[order], Q[np.ix_(order, order)])
    X = np.random.default_rng(1).standard_normal((4, 2))
    np.testing.assert_allclose(moved(X, P), kernel(X, P), rtol=0, atol=1e-14)


def test_the_parameters_of_its_base_can_be_set():
    P, _, Q, kernel = problem()
    wide = clone(kernel).set_params(base__gamma=0.01)
    np.testing.assert_array_equal(wide(P), LogDetKernel(Gaussian(0.01), P, Q)(P))
    assert kernel.base.gamma == 0.3


def test_a_learned_kernel_may_be_learned_again():
    P, K, _, kernel = problem()
    again = LogDetKernel(kernel, P, -0.01 * np.eye(9))
    np.testing.assert_allclose(again(P), K - 0.01 * K @ K, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("matrix", np.eye(8), "expected a matrix for 9 points, got 8 rows"),
        ("matrix", np.ones((9, 8)), "expected a square Gram matrix of shape (n, n), got (9, 8)"),
        ("matrix", np.triu(np.ones((9, 9))), "expected a symmetric Gram matrix"),
        ("matrix", np.full((9, 9), np.nan), "expected finite numbers, got nan in matrix"),
        ("points", np.ones(9), "expected points of shape (n_samples, n_features), got (9,)"),
        ("points", np.full((9, 2), np.inf), "expected finite numbers, got inf in points"),
        ("base", 3, "expected base to be a kernel, got int"),
    ],
)
def test_parameters_of_a_file_that_do_not_belong_together_are_refused(name, value, said):
    kernel = clone(problem()[3])
    kernel._check_loaded()
    with pytest.raises(ValueError, match=re.escape(said)):
        kernel.set_params(**{name: value})._check_loaded()


def test_points_of_another_width_are_refused():
    kernel, wide = problem()[3], np.zeros((3, 5))
    for function in (kernel, kernel.diag):
        with pytest.raises(ValueError, match=r"expected .* 2 features, as .*, got 5"):
            function(wide)
