"""Sparse points: products, distances and statistics of columns are those of dense arrays."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

from pliant.core import sparse

RNG = np.random.default_rng(0)


def dense_rows(n, d=30, share=0.3):
    """Return rows of which most entries are zero, one row is empty, and some columns are full."""
    rows = np.where(RNG.random((n, d)) < share, RNG.normal(size=(n, d)), 0.0)
    rows[:, :2] = RNG.normal(size=(n, 2))
    rows[n // 2] = 0.0
    return rows


X, Y = dense_rows(70), dense_rows(40)
A, B = sparse.as_csr(scipy.sparse.csr_array(X)), sparse.as_csr(scipy.sparse.csr_array(Y))


@pytest.fixture(params=[100_000, 40])
def _blocks(request, monkeypatch):
    monkeypatch.setattr(sparse, "BLOCK_ENTRIES", request.param)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize(
    ("left", "right"), [(X, Y), (Y, X), (X, X), (X[:1], Y), (X[:0], Y), (X, Y[:0])]
)
def test_products_and_distances_are_those_of_dense_rows(left, right):
    a = sparse.as_csr(left)
    b = a if right is left else sparse.as_csr(right)
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(sparse.inner_products(a, b), left @ right.T, **close)
    squares = cdist(left, right, "sqeuclidean")
    np.testing.assert_allclose(sparse.squared_distances(a, b), squares, **close)
    if len(left) and len(right):
        sums = cdist(left, right, "cityblock")
        np.testing.assert_allclose(sparse.absolute_distances(a, b), sums, **close)


def test_a_set_with_itself_gives_a_symmetric_matrix():
    for values in (sparse.inner_products(A, A), sparse.squared_distances(A, A)):
        np.testing.assert_array_equal(values, values.T)
    assert not sparse.squared_distances(A, A).diagonal().any()


@pytest.mark.parametrize("distance", [1e-3, 1e-7, 1e-12])
def test_distances_of_close_rows_keep_their_digits(distance):
    noise = np.random.default_rng(1).normal(size=X.shape)
    near = X + distance * np.where(X != 0.0, noise, 0.0)
    found = sparse.squared_distances(A, sparse.as_csr(near)).diagonal()
    np.testing.assert_allclose(found, ((X - near) ** 2).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("common", [0.0, 0.2, 1.0])
def test_products_with_common_columns_are_those_of_dense_rows(dtype, tol, common, monkeypatch):
    monkeypatch.setattr(sparse, "COMMON", common)
    out = np.full((70, 40), 7.0, dtype)
    assert sparse.SparseProducts(B, dtype)(A, out) is out
    np.testing.assert_allclose(out, X @ Y.T, rtol=tol, atol=tol)


def test_other_widths_are_refused():
    wide = sparse.as_csr(np.eye(5, 31))
    for call in (
        lambda: sparse.inner_products(wide, A),
        lambda: sparse.inner_products(A, wide),
        lambda: sparse.SparseProducts(A)(wide, np.zeros((5, 70))),
    ):
        with pytest.raises(ValueError, match=r"expected points with 3[01] features, got 3[01]"):
            call()


def test_statistics_are_those_of_dense_columns():
    shifted = X + np.where(X != 0.0, 3.0, 0.0)
    for dense in (X, shifted, np.abs(X) + 1.0, -np.abs(X) - 1.0, X[:1]):
        rows = sparse.as_csr(dense)
        for found, expected in zip(
            sparse.column_ends(rows), sparse.column_ends(dense), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(
            sparse.column_spreads(rows), sparse.column_spreads(dense), atol=1e-12
        )
        np.testing.assert_allclose(sparse.variance(rows), dense.var(), rtol=1e-12)
        np.testing.assert_allclose(sparse.row_squares(rows), sparse.row_squares(dense))
        scaled = sparse.scale_columns(rows, np.arange(30.0))
        np.testing.assert_array_equal(scaled.toarray(), dense * np.arange(30.0))


def test_keys_are_equal_for_equal_rows():
    repeated = np.vstack([X, X[::-1], np.zeros(30), -np.zeros(30)])
    for rows in (repeated, sparse.as_csr(repeated)):
        _, found = np.unique(sparse.row_keys(rows), return_inverse=True)
        _, expected = np.unique(repeated, axis=0, return_inverse=True)
        pairs = set(zip(found.ravel().tolist(), expected.ravel().tolist(), strict=True))
        assert len(pairs) == len(np.unique(expected)) == len(np.unique(found)) == 70


def test_equal_points_have_the_same_form():
    assert sparse.equal_points(A, A.copy())
    assert sparse.equal_points(X, X.copy())
    assert not sparse.equal_points(A, X)
    assert not sparse.equal_points(A, B)
    assert not sparse.equal_points(A, sparse.as_csr(2.0 * X))


def test_the_canonical_form_shares_memory_and_changes_nothing():
    rows = scipy.sparse.csr_array(X)
    assert np.shares_memory(sparse.as_csr(rows).data, rows.data)
    zeros = scipy.sparse.csr_array(X)
    zeros.data[3] = 0.0
    assert sparse.as_csr(zeros).nnz == zeros.nnz - 1 == rows.nnz - 1
    with pytest.raises(ValueError, match="expected X to hold numbers: got a sparse array of comp"):
        sparse.as_csr(rows.astype(complex))
    broken = scipy.sparse.csr_array(X)
    broken.indices[0] = 30
    with pytest.raises(ValueError, match="indices"):
        sparse.as_csr(broken)
