"""Base kernels and LogDet kernels."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pliant.core.form import check_loaded
from pliant.exceptions import NonPSDWarning
from pliant.kernels import TL1, FunctionKernel, Gaussian, Laplacian, Linear, Polynomial, Precomputed
from pliant.methods import HadamardKernel, LogDetKernel
from pliant.methods.supervised.learner import PSDPart, base_kernel
from tests.reference import naive_supervision as naive

BASES = [Gaussian(0.3), Laplacian(0.5), Linear(), Polynomial(3, 0.5, 1.0), 2.0 * Gaussian(0.1)]

every_base = pytest.mark.parametrize("base", BASES, ids=str)


def problem(base=None, gamma=1.0, seed=0, n=9, d=2):
    """Return points, the exact K and Q of SCG-LDK, and the kernel."""
    base = base or Gaussian(0.3)
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((n, d))
    T = naive.target_of_labels(rng.permutation([0, 0, 0, 1, 1, 2, -1, -1, 2][:n]))
    K, Q = naive.exactly(base(P), T, gamma)
    return P, K, Q, LogDetKernel(base, P, Q)


@every_base
def test_logdet_kernel_matches_its_definition(base):
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
def test_logdet_kernel_at_its_points_is_the_learned_matrix(base, gamma):
    """K0 may be singular: Linear has rank 2 on 9 points."""
    P, K, _, kernel = problem(base, gamma)
    np.testing.assert_allclose(kernel(P), K, rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel.diag(P), K.diagonal(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(kernel(P[:3], P[2:]), K[:3, 2:], rtol=0, atol=1e-10)


@every_base
@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([1e-3, 1.0, 1e3]))
@settings(max_examples=10, deadline=None)
def test_logdet_kernel_is_psd_on_any_points(base, seed, gamma):
    _, _, _, kernel = problem(base, gamma)
    X = np.random.default_rng(seed).standard_normal((12, 2))
    gram = kernel(X)
    assert np.linalg.eigvalsh(0.5 * (gram + gram.T))[0] > -1e-9 * np.trace(gram)


@every_base
def test_psd_and_symmetric(base):
    _, _, Q, kernel = problem(base)
    assert kernel.psd
    assert kernel.symmetric
    assert not LogDetKernel(base, kernel.points, Q - np.eye(9) * 10).psd


def test_psd_and_symmetric_depend_on_the_base():
    P, _, Q, _ = problem()
    assert not LogDetKernel(TL1(0.5), P, Q).psd
    beta = np.ones(9)
    one_sided = HadamardKernel(Gaussian(), P, beta, 1.0, "reciprocal")
    kernel = LogDetKernel(one_sided, P, np.zeros((9, 9)))
    assert (kernel.symmetric, kernel.psd) == (one_sided.symmetric, one_sided.psd)


POINTS = np.random.default_rng(0).normal(size=(12, 3))


@pytest.mark.parametrize(
    ("kernel", "gamma", "message"),
    [
        ("grahp", "scale", "did you mean 'graph'"),
        ("sigmoid", "scale", "expected a positive semi-definite kernel, got Sigmoid"),
        ("graph", 0.5, "expected gamma='scale', got 0.5"),
        (TL1(2.0), "scale", "expected a positive semi-definite kernel, got TL1"),
    ],
)
def test_invalid_kernels_raise(kernel, gamma, message):
    with pytest.raises(ValueError, match=message):
        base_kernel(kernel, POINTS, gamma)


def test_invalid_kernel_values_raise():
    with pytest.raises(ValueError, match="expected kernel values of at most 1e75"):
        PSDPart.of(FunctionKernel(lambda A, B: np.full((len(A), len(B)), np.nan)), POINTS)
    with pytest.raises(ValueError, match="expected a symmetric Gram matrix"):
        PSDPart.of(FunctionKernel(lambda A, B: A[:, :1] @ B[:, 1:2].T), POINTS)


@pytest.mark.parametrize(
    ("kernel", "name", "value", "message"),
    [
        (problem()[3], "matrix", np.eye(8), "expected matrix with 9 points, got 8"),
        (problem()[3], "matrix", np.triu(np.ones((9, 9))), "expected a symmetric Gram matrix"),
        (
            problem()[3],
            "points",
            np.ones(9),
            "expected points of shape (points, coordinates), got (9,)",
        ),
        (problem()[3], "base", 3, "expected base to be a Kernel, got 3"),
    ],
)
def test_inconsistent_parameters_of_a_file_raise(kernel, name, value, message):
    changed = clone(kernel)
    check_loaded(changed)
    with pytest.raises(ValueError, match=re.escape(message)):
        check_loaded(changed.set_params(**{name: value}))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 10),
    negative=st.integers(1, 3),
    scale=st.floats(-6, 6),
)
def test_psd_part_and_extension(seed, n, negative, scale):
    """K0 + K0 Q K0 is the learned kernel on the PSD part, and 0 on the removed eigenvectors."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = 10.0**scale * rng.uniform(0.5, 1.5, n)
    values[: min(negative, n - 1)] *= -0.7
    gram = (vectors * values) @ vectors.T
    gram = 0.5 * (gram + gram.T)
    with pytest.warns(NonPSDWarning, match="negative eigenvalues are set to zero"):
        part = PSDPart.of(Precomputed(gram), np.arange(float(n))[:, None])
    largest = np.abs(values).max()
    kept = (vectors * np.maximum(values, 0.0)) @ vectors.T
    np.testing.assert_allclose(part.gram, kept, atol=1e-13 * largest)
    root = rng.normal(size=(n, n)) / largest
    matrix = -0.01 * largest * root @ root.T
    extended = part.extend(matrix)
    np.testing.assert_array_equal(extended, extended.T)
    learned = gram + gram @ extended @ gram
    np.testing.assert_allclose(learned, kept + kept @ matrix @ kept, atol=1e-11 * largest)
