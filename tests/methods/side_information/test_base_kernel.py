"""The base kernel of a learner: which are taken, and what is made of one that is not PSD."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import NonPSDWarning
from pliant.kernels import TL1, FunctionKernel, Gaussian, NeighborGraphKernel, Precomputed
from pliant.methods.side_information.kernels import PSDPart, base_kernel, checked_gram

X = np.random.default_rng(0).normal(size=(12, 3))


def rows(n):
    return np.arange(float(n))[:, None]


def test_a_kernel_by_name_by_object_or_by_function():
    assert isinstance(base_kernel("gaussian", X, 0.5), Gaussian)
    assert isinstance(base_kernel("graph", X, "scale"), NeighborGraphKernel)
    assert isinstance(base_kernel("precomputed", X[:3, :3], "scale"), Precomputed)
    assert isinstance(base_kernel(lambda A, B: A @ B.T, X, "scale"), FunctionKernel)


@pytest.mark.parametrize(
    ("kernel", "gamma", "message"),
    [
        ("grahp", "scale", "did you mean 'graph'"),
        ("sigmoid", "scale", "expected a kernel that is positive semi-definite, got Sigmoid"),
        ("graph", 0.5, "expected gamma='scale', got 0.5"),
        (TL1(2.0), "scale", "expected a kernel that is positive semi-definite, got TL1"),
    ],
)
def test_other_kernels_are_refused(kernel, gamma, message):
    with pytest.raises(ValueError, match=message):
        base_kernel(kernel, X, gamma)


def test_the_graph_kernel_needs_more_points_than_neighbours():
    with pytest.raises(ValueError, match="kernel='graph': expected more than n_neighbors = 5"):
        base_kernel("graph", X[:5], "scale")


def test_values_that_are_not_finite_or_not_symmetric_are_refused():
    with pytest.raises(ValueError, match="expected the kernel function to return finite numbers"):
        checked_gram(FunctionKernel(lambda A, B: np.full((len(A), len(B)), np.nan)), X)
    with pytest.raises(ValueError, match="expected a symmetric Gram matrix"):
        checked_gram(FunctionKernel(lambda A, B: A[:, :1] @ B[:, 1:2].T), X)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 10),
    negative=st.integers(1, 3),
    scale=st.floats(-6, 6),
)
def test_the_part_kept_is_psd_and_the_rest_counts_as_zero(seed, n, negative, scale):
    """K0 + K0 Q K0 is what the solution makes of the part kept, and 0 on what is left out."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = 10.0**scale * rng.uniform(0.5, 1.5, n)
    values[: min(negative, n - 1)] *= -0.7
    gram = (vectors * values) @ vectors.T
    gram = 0.5 * (gram + gram.T)
    with pytest.warns(NonPSDWarning, match="negative eigenvalues are taken as zero"):
        part = PSDPart.of(Precomputed(gram), rows(n))
    largest = np.abs(values).max()
    kept = (vectors * np.maximum(values, 0.0)) @ vectors.T
    np.testing.assert_allclose(part.gram, kept, atol=1e-13 * largest)
    root = rng.normal(size=(n, n)) / largest
    matrix = -0.01 * largest * root @ root.T
    extended = part.extend(matrix)
    np.testing.assert_array_equal(extended, extended.T)
    learned = gram + gram @ extended @ gram
    np.testing.assert_allclose(learned, kept + kept @ matrix @ kept, atol=1e-11 * largest)


def test_a_psd_matrix_is_left_alone():
    gram = Gaussian(0.5)(X)
    part = PSDPart.of(Precomputed(gram), rows(12))
    matrix = np.eye(12)
    assert part.extend(matrix) is matrix
    np.testing.assert_array_equal(part.gram, 0.5 * (gram + gram.T))
