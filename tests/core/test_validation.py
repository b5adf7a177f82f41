"""Checks of user input; each error states the value and the expectation."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from pliant import DANKRegressor
from pliant.core.validation import (
    check_gram,
    check_points,
    check_targets,
    check_weights,
    positive_rows,
    validate_data,
)
from tests.memory import peak_memory


def refuses(kind, message):
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.float32, order="F"),
        np.array([[1, 2], [3, 4]], dtype=object),
        pd.DataFrame({"a": [1, 3], "b": [2, 4]}, dtype="Int64"),
    ],
)
def test_dense_numbers_become_float64(X):
    points = check_points(X)
    assert points.dtype == np.float64
    np.testing.assert_array_equal(points, [[1.0, 2.0], [3.0, 4.0]])
    assert check_points(points) is points


@pytest.mark.parametrize(
    "X", [[["1", "2"]], np.array([["2020-01-01"]], dtype="datetime64[D]"), [[1 + 2j]],
          [[1, 2], [3]], [[{}]], [[10**400]]],
    ids=lambda X: repr(X)[:30],
)  # fmt: skip
def test_what_is_no_matrix_of_real_numbers(X):
    with pytest.raises(ValueError, match=r"^expected X to hold numbers: .+"):
        check_points(X)


def test_points_are_dense_and_have_two_dimensions():
    with refuses(TypeError, "expected Z to be a dense array, got a sparse one; use Z.toarray()"):
        check_points(scipy.sparse.csr_array(np.eye(2)), "Z")
    with refuses(ValueError, "expected X of shape (n_samples, n_features), got (2,)"):
        check_points([1.0, 2.0])
    with refuses(ValueError, "expected X with 4 features, got 2"):
        check_points(np.ones((3, 2)), n_features=4)


@given(row=st.integers(0, 3), column=st.integers(0, 2), bad=st.sampled_from([np.nan, np.inf]))
def test_the_first_number_that_is_not_finite_is_named(row, column, bad):
    X = np.zeros((5, 4))
    X[row, column] = bad
    X[row + 1 :, :] = np.inf
    message = f"expected finite numbers, got {bad} in X at row {row}, column {column}"
    with refuses(ValueError, message):
        check_points(X)


def test_numbers_beyond_1e100_are_refused():
    """The limit holds for features, targets and weights; 1e100 itself is accepted."""
    X, y = np.full((4, 2), 1e100), np.full(4, -1e100)
    assert check_points(X) is X
    assert validate_data(BaseEstimator(), X, y)[0] is X
    X[3, 0], y[1] = 1e160, -1e101
    features = "expected features of at most 1e100 in absolute value, got 1e+160 in X at row 3, "
    targets = "expected targets of at most 1e100 in absolute value, got -1e+101 in y at row 1"
    with refuses(ValueError, features + "column 0"):
        check_points(X)
    with refuses(ValueError, features + "column 0"):
        validate_data(BaseEstimator(), X)
    with refuses(ValueError, targets):
        validate_data(BaseEstimator(), np.ones((4, 2)), y)
    with refuses(ValueError, targets):
        check_targets(y)
    with pytest.raises(ValueError, match=r"weights of at most 1e100 .* in sample_weight at row 3"):
        check_weights(X[:, 0], X)


def test_an_asymmetric_gram_matrix():
    with refuses(ValueError, "expected a square Gram matrix of shape (n, n), got (2, 3)"):
        check_gram(np.ones((2, 3)))
    large = np.full((2, 2), 1e6)
    large[0, 1] += 1e-3
    assert (
        check_gram(large)[0, 1] == check_gram(large)[1, 0] == pytest.approx(1e6 + 5e-4, rel=1e-12)
    )
    large[0, 1] = 1e6 + 10
    message = (
        "expected a symmetric Gram matrix, got 1.00001e+06 at (0, 1) but 1e+06 at (1, 0), a "
        "difference of 10; if it is due to rounding, pass (K + K.T) / 2"
    )
    with refuses(ValueError, message):
        check_gram(large)


@pytest.mark.parametrize(("limit", "single"), [(1e-6, False), (1e-5, True)])
def test_rounding_errors_are_removed_from_a_gram_matrix(limit, single):
    """A matrix that was float32 keeps its tolerance in float64."""
    given = np.diag([64.0, 0.3, 0.2]).astype(np.float32 if single else float)
    given[0, 1] = 0.5
    given[1, 0] = 0.5 + 0.9 * 64 * limit
    for gram in (given, given.astype(float)):
        kept = gram.copy()
        result = check_gram(gram)
        np.testing.assert_array_equal(gram, kept)
        np.testing.assert_array_equal(result, result.T)
        np.testing.assert_allclose(result, (kept + kept.T) / 2, rtol=1e-6)
    given[1, 0] = 0.5 + 1.1 * 64 * limit
    for gram in (given, given.astype(float)):
        with pytest.raises(ValueError, match=r"got 0.5 at \(0, 1\) but .* a difference of"):
            check_gram(gram)


def test_a_large_matrix_is_checked_without_copying_it():
    gram = np.eye(2500)
    with peak_memory() as used:
        assert check_gram(gram) is gram
    assert used.peak < 1.5 * gram.nbytes
    gram[2400, 2300] = 0.25
    with pytest.raises(ValueError, match=r"got 0 at \(2300, 2400\) but 0.25 at \(2400, 2300\)"):
        check_gram(gram)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1, 1], "expected sample_weight of shape (3,), got (2,)"),
        ([[1], [1], [1]], "expected sample_weight of shape (3,), got (3, 1)"),
        ([1, np.nan, 1], "expected finite numbers, got nan in sample_weight at row 1"),
        (["1", "2", "3"], "expected sample_weight to hold numbers: got an array of <U1"),
        ([1.0, -2.5, -1.0], "expected sample_weight >= 0, got -2.5"),
        ([0, 0, 0], "expected some sample_weight of at least 1e-100, got only zeros"),
    ],
)
def test_weights_that_do_not_fit(bad, message):
    X = np.zeros((3, 2))
    np.testing.assert_array_equal(check_weights(None, X), np.ones(3))
    np.testing.assert_array_equal(check_weights([0, 2, 1], X), [0.0, 2.0, 1.0])
    with refuses(ValueError, message):
        check_weights(bad, X)


@pytest.mark.parametrize(
    ("y", "got"),
    [
        (np.full(80, 3.0), "y = 3.0 in all 80 rows"),
        (
            1e12 + np.arange(80) % 2 / 2,
            "y from 1000000000000.0 to 1000000000000.5 in 80 rows, a spread of 0.25, not above 1: "
            "subtract a constant from it, or change its unit",
        ),
    ],
)
def test_a_target_that_hardly_varies(y, got):
    X = np.arange(80.0)[:, None]
    with refuses(ValueError, f"expected a target that varies, got {got}"):
        DANKRegressor().fit(X, y)
    DANKRegressor().fit(X, np.append(y[1:], 0.0))


def test_masks_without_masked_entries_are_arrays():
    values = np.ma.MaskedArray([[1.0, 2.0]], mask=False)
    np.testing.assert_array_equal(check_points(values), [[1.0, 2.0]])
    values[0, 1] = np.ma.masked
    with refuses(
        ValueError,
        "expected X without masked entries, got 1 of 2 masked, the first at row 0, column 1: fill "
        "them in, as in X.filled(value), or leave out their rows",
    ):
        check_points(values)


def test_rows_of_positive_weight_are_copied_only_if_others_exist():
    X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "c"])
    rows, weights, points, labels = positive_rows(np.array([2.0, 0.0, 1.0]), X, y)
    assert (rows.tolist(), weights.tolist(), labels.tolist()) == ([0, 2], [2.0, 1.0], ["a", "c"])
    np.testing.assert_array_equal(points, X[[0, 2]])
    assert positive_rows(np.ones(3), X)[2] is X
