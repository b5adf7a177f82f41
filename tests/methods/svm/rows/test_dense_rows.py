"""A Gram matrix that is kept whole, as rows: against plain NumPy, in both precisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.kernels import Gaussian
from pliant.methods.svm.rows import DenseRows

GRAM = Gaussian(0.7)(np.random.default_rng(0).uniform(-1, 1, size=(9, 3)))
both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@both_precisions
def test_parts_are_those_of_the_matrix(dtype):
    gram = GRAM.astype(dtype)
    rows = DenseRows(gram)
    some = np.array([7, 0, 3])
    assert len(rows) == 9
    np.testing.assert_array_equal(rows.block(some), gram[some])
    np.testing.assert_array_equal(rows.square(some), gram[some][:, some])
    np.testing.assert_array_equal(rows.diagonal(), gram.diagonal())
    assert rows.diagonal().dtype == np.float64
    assert rows.square(some).dtype == rows.block(some).dtype == dtype


@given(indices=arrays(np.intp, st.integers(0, 12), elements=st.integers(0, 8)))
@settings(max_examples=50, deadline=None)
def test_a_square_part_has_its_rows_in_the_order_asked_for(indices):
    np.testing.assert_array_equal(DenseRows(GRAM).square(indices), GRAM[indices][:, indices])


def test_all_rows_in_another_order_are_a_permuted_matrix():
    backwards = np.arange(9)[::-1].copy()
    np.testing.assert_array_equal(DenseRows(GRAM).square(backwards), GRAM[::-1, ::-1])
    np.testing.assert_array_equal(
        DenseRows(GRAM).square(np.zeros(9, dtype=np.intp)), np.full((9, 9), GRAM[0, 0])
    )


def test_all_rows_in_their_order_are_not_copied():
    rows = DenseRows(GRAM)
    assert rows.square(np.arange(9)) is rows.gram


@both_precisions
@given(weights=arrays(float, 9, elements=st.just(0.0) | st.floats(-1e3, 1e3)))
@settings(max_examples=50, deadline=None)
def test_sums_of_weighted_rows_are_products_in_float64(dtype, weights):
    rows = DenseRows(GRAM, dtype=dtype)
    exact = GRAM.astype(dtype).astype(np.float64)
    scale = 1 + np.abs(weights).sum()
    total = rows.matvec(weights)
    assert total.dtype == np.float64
    np.testing.assert_allclose(total, exact @ weights, rtol=0, atol=1e-14 * scale)


@both_precisions
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_both_sums_in_one_pass_are_the_two_sums(dtype, data):
    weights, squares = (
        data.draw(arrays(float, 9, elements=st.just(0.0) | st.floats(-1e3, 1e3))) for _ in range(2)
    )
    squares *= weights != 0
    rows = DenseRows(GRAM, dtype=dtype)
    both = rows.both_matvecs(weights, squares)
    exact = GRAM.astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(both[0], rows.matvec(weights))
    np.testing.assert_allclose(
        both[1], exact**2 @ squares, rtol=0, atol=1e-14 * (1 + np.abs(squares).sum())
    )
    assert both[0].dtype == both[1].dtype == np.float64


def test_rows_of_zero_weight_are_not_read():
    gram = GRAM.copy()
    gram[4] = np.nan
    weights = np.arange(9.0)
    weights[4] = 0.0
    rest = np.arange(9) != 4
    np.testing.assert_allclose(DenseRows(gram).matvec(weights), weights[rest] @ gram[rest])
    u, v = DenseRows(gram).both_matvecs(weights, weights**2)
    np.testing.assert_allclose(u, weights[rest] @ gram[rest])
    np.testing.assert_allclose(v, weights[rest] ** 2 @ gram[rest] ** 2)


@pytest.mark.parametrize("shape", [(8,), (10,), (9, 1), ()])
def test_weights_must_be_one_per_row(shape):
    rows = DenseRows(GRAM)
    said = r"expected weights of shape \(9,\), got \(" + ", ".join(map(str, shape))
    with pytest.raises(ValueError, match=said):
        rows.matvec(np.ones(shape))
    with pytest.raises(ValueError, match=said):
        rows.both_matvecs(np.ones(shape), np.ones(9))


@pytest.mark.parametrize("shape", [(3, 2), (3,), (2, 2, 2), (0, 3)])
def test_only_square_matrices_have_rows(shape):
    with pytest.raises(ValueError, match=r"expected a square Gram matrix, got shape \("):
        DenseRows(np.ones(shape))


@pytest.mark.parametrize(
    ("given_as", "kept_as"),
    [(np.int64, np.float64), (np.float16, np.float64), (np.float32, np.float32)],
)
def test_the_precision_is_kept_or_double(given_as, kept_as):
    assert DenseRows(np.eye(3, dtype=given_as)).gram.dtype == kept_as
    assert DenseRows(np.eye(3, dtype=given_as), dtype=np.float32).gram.dtype == np.float32


def test_a_matrix_in_c_order_is_not_copied():
    assert DenseRows(GRAM).gram is GRAM
    turned = np.asfortranarray(np.arange(9.0).reshape(3, 3))
    assert DenseRows(turned).gram.flags.c_contiguous
    np.testing.assert_array_equal(DenseRows(turned).gram, turned)


def test_a_part_is_some_rows_and_columns():
    rows, columns = np.array([4, 0, 4]), np.array([7, 2])
    np.testing.assert_array_equal(DenseRows(GRAM).part(rows, columns), GRAM[np.ix_(rows, columns)])
    assert DenseRows(GRAM).part(rows[:0], columns).shape == (0, 2)
