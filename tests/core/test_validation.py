"""Checks of what users hand in; each error quotes the value and the expectation."""

import decimal
import fractions
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from pliant.core.validation import (
    check_choice,
    check_flag,
    check_gram,
    check_integer,
    check_points,
    check_real,
    check_targets,
    check_weights,
    plain,
    validate_data,
)


def refuses(kind, message):
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize(
    "number", [2, 2.0, np.float32(2), np.int64(2), np.float64(2), fractions.Fraction(4, 2)]
)
def test_every_real_number_becomes_a_float(number):
    checked = check_real("C", number, above=0)
    assert (checked, type(checked)) == (2.0, float)


@pytest.mark.parametrize(
    "bad", ["2", None, True, np.True_, 2j, [2.0], np.array(2.0), decimal.Decimal(2), np.nan, -1.0]
)
def test_what_is_no_positive_number(bad):
    with refuses(ValueError, f"expected C > 0, a finite number, got {plain(bad)!r}"):
        check_real("C", bad, above=0)


@pytest.mark.parametrize(
    ("bounds", "value", "message"),
    [
        ({"above": 0}, 0, "expected C > 0, a finite number, got 0"),
        ({"least": 0.5}, 0.25, "expected C >= 0.5, a finite number, got 0.25"),
        ({}, np.inf, "expected C, a finite number, got inf"),
        ({"above": 0, "infinite": True}, -np.inf, "expected C > 0, a number, got -inf"),
        ({"infinite": True}, 10**400, f"expected C, a number, got {10**400}"),
    ],
)
def test_bounds_are_quoted_with_the_value(bounds, value, message):
    with refuses(ValueError, message):
        check_real("C", value, **bounds)


def test_bounds_and_infinity_are_taken_where_they_are_allowed():
    assert check_real("C", 0, least=0) == 0.0
    assert check_real("eta", np.inf, above=0, infinite=True) == np.inf
    assert check_real("shift", -3) == -3.0


@pytest.mark.parametrize("number", [3, np.int8(3), np.uint64(3)])
def test_every_integer_becomes_an_int(number):
    checked = check_integer("k", number, least=1)
    assert (checked, type(checked)) == (3, int)


@pytest.mark.parametrize("bad", [0, -3, 3.0, "3", None, True, np.True_, np.float64(3), [3]])
def test_what_is_no_integer(bad):
    with refuses(ValueError, f"expected k >= 1, an integer, got {plain(bad)!r}"):
        check_integer("k", bad, least=1)


def test_an_integer_that_is_no_float():
    assert check_integer("k", 2**53, least=1) == 2**53
    with refuses(ValueError, f"expected k <= {2**53}, got {2**53 + 1}"):
        check_integer("k", 2**53 + 1, least=1)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("smoth", "got 'smoth' (did you mean 'smooth'?)"),
        ("xyz", "got 'xyz'"),
        ("a\nb", r"got 'a\nb'"),
        (None, "got None (did you mean 'none'?)"),
        (3, "got 3"),
    ],
)
def test_what_is_no_choice_is_refused_with_the_choices_and_a_hint(bad, message):
    assert check_choice("rule", np.str_("b"), {"a": 1, "b": 2}) == "b"
    with refuses(ValueError, f"expected rule in ['nearest', 'none', 'smooth'], {message}"):
        check_choice("rule", bad, ("smooth", "nearest", "none"))


def test_a_flag_is_true_or_false():
    assert [check_flag("centred", value) for value in (True, False, np.True_)] == [
        True,
        False,
        True,
    ]
    for value in (0, None, "yes", [True]):
        with pytest.raises(ValueError, match="expected centred True or False, got "):
            check_flag("centred", value)


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
    """In features, targets and weights; 1e100 itself is taken."""
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
    gram = np.eye(4)
    gram[0, 1], gram[3, 2] = 1e-3, 0.25
    message = "expected a symmetric Gram matrix, got 0 at (2, 3) but 0.25 at (3, 2)"
    with refuses(ValueError, message):
        check_gram(gram)
    large = np.full((2, 2), 1e6)
    large[0, 1] += 1e-3
    assert check_gram(large) is large
    with pytest.raises(ValueError, match="expected a symmetric Gram matrix"):
        check_gram(large, tol=1e-10)


def test_a_large_matrix_is_checked_without_copying_it():
    gram = np.eye(2500)
    tracemalloc.start()
    assert check_gram(gram) is gram
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * gram.nbytes
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
        ([0, 0, 0], "expected some sample_weight > 0, got only zeros"),
    ],
)
def test_weights_that_do_not_fit(bad, message):
    X = np.zeros((3, 2))
    np.testing.assert_array_equal(check_weights(None, X), np.ones(3))
    np.testing.assert_array_equal(check_weights([0, 2, 1], X), [0.0, 2.0, 1.0])
    with refuses(ValueError, message):
        check_weights(bad, X)
