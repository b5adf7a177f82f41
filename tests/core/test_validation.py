"""Checks of what users hand in: what is taken, and the words with which the rest is refused."""

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

from pliant.core.validation import (
    check_choice,
    check_flag,
    check_gram,
    check_integer,
    check_points,
    check_real,
    check_weights,
    plain,
)


def refuses(kind, said):
    return pytest.raises(kind, match=f"^{re.escape(said)}$")


class TestReal:
    @pytest.mark.parametrize(
        "number", [2, 2.0, np.float32(2), np.int64(2), np.float64(2), fractions.Fraction(4, 2)]
    )
    def test_every_real_number_becomes_a_float(self, number):
        checked = check_real("C", number, above=0)
        assert checked == 2.0
        assert type(checked) is float

    @pytest.mark.parametrize(
        "bad", ["2", None, True, np.True_, 2j, [2.0], np.array(2.0), decimal.Decimal(2), np.nan]
    )
    def test_anything_else_is_refused(self, bad):
        with refuses(ValueError, f"expected C > 0, a finite number, got {plain(bad)!r}"):
            check_real("C", bad, above=0)

    @pytest.mark.parametrize(
        ("bounds", "value", "said"),
        [
            ({"above": 0}, -1.0, "expected C > 0, a finite number, got -1.0"),
            ({"above": 0}, 0, "expected C > 0, a finite number, got 0"),
            ({"least": 0}, -1e-9, "expected C >= 0, a finite number, got -1e-09"),
            ({"least": 0.5}, 0.25, "expected C >= 0.5, a finite number, got 0.25"),
            ({}, np.inf, "expected C, a finite number, got inf"),
            ({"above": 0}, np.inf, "expected C > 0, a finite number, got inf"),
            ({"above": 0, "infinite": True}, -np.inf, "expected C > 0, a number, got -inf"),
            ({"above": 0, "infinite": True}, np.nan, "expected C > 0, a number, got nan"),
        ],
    )
    def test_bounds_are_quoted_with_the_value(self, bounds, value, said):
        with refuses(ValueError, said):
            check_real("C", value, **bounds)

    @pytest.mark.parametrize("huge", [10**400, -(10**400)])
    @pytest.mark.parametrize("infinite", [False, True])
    def test_a_number_too_large_for_a_float_is_refused(self, huge, infinite):
        with pytest.raises(ValueError, match=r"expected C, a .*number, got -?1000000"):
            check_real("C", huge, infinite=infinite)

    def test_bounds_and_infinity_are_taken_where_they_are_allowed(self):
        assert check_real("C", 0, least=0) == 0.0
        assert check_real("eta", np.inf, above=0, infinite=True) == np.inf
        assert check_real("shift", -3) == -3.0


class TestInteger:
    @pytest.mark.parametrize("number", [3, np.int8(3), np.uint64(3)])
    def test_every_whole_number_becomes_an_int(self, number):
        checked = check_integer("k", number, least=1)
        assert checked == 3
        assert type(checked) is int

    @pytest.mark.parametrize("bad", [0, -3, 3.0, "3", None, True, np.True_, np.float64(3), [3]])
    def test_anything_else_is_refused(self, bad):
        with refuses(ValueError, f"expected k >= 1, an integer, got {plain(bad)!r}"):
            check_integer("k", bad, least=1)

    @pytest.mark.parametrize("huge", [2**53 + 1, 2**70, 10**400, np.uint64(2**64 - 1)])
    def test_an_integer_that_is_no_float_is_refused(self, huge):
        assert check_integer("k", 2**53, least=1) == 2**53
        with refuses(ValueError, f"expected k <= {2**53}, got {plain(huge)!r}"):
            check_integer("k", huge, least=1)


class TestChoice:
    def test_a_choice_is_returned(self):
        assert check_choice("rule", "b", ("a", "b")) == "b"
        assert check_choice("rule", np.str_("b"), {"a": 1, "b": 2}) == "b"

    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            ("smoth", "got 'smoth' (did you mean 'smooth'?)"),
            ("SMOOTH", "got 'SMOOTH' (did you mean 'smooth'?)"),
            ("xyz", "got 'xyz'"),
            ("a\nb", r"got 'a\nb'"),
            (None, "got None (did you mean 'none'?)"),
            (["none"], "got ['none'] (did you mean 'none'?)"),
            (3, "got 3"),
        ],
    )
    def test_anything_else_is_refused_with_the_choices_and_a_hint(self, bad, said):
        with refuses(ValueError, f"expected rule in ['nearest', 'none', 'smooth'], {said}"):
            check_choice("rule", bad, ("smooth", "nearest", "none"))


class TestPoints:
    @pytest.mark.parametrize(
        "X",
        [
            [[1, 2], [3, 4]],
            ((1.0, 2.0), (3.0, 4.0)),
            np.array([[1, 2], [3, 4]], dtype=np.int8),
            np.array([[1, 2], [3, 4]], dtype=np.float32, order="F"),
            np.array([[1, 2], [3, 4]], dtype=object),
            pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
            pd.DataFrame({"a": [1, 3], "b": [2, 4]}, dtype="Int64"),
        ],
    )
    def test_dense_numbers_become_float64(self, X):
        points = check_points(X)
        assert points.dtype == np.float64
        np.testing.assert_array_equal(points, [[1.0, 2.0], [3.0, 4.0]])

    def test_float64_points_are_not_copied(self):
        X = np.ones((3, 2))
        assert check_points(X) is X

    def test_booleans_are_zeros_and_ones(self):
        np.testing.assert_array_equal(check_points([[True, False]]), [[1.0, 0.0]])

    @pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
    def test_sparse_points_are_refused(self, form):
        said = "expected Z to be a dense array, got a sparse one; use Z.toarray()"
        with refuses(TypeError, said):
            check_points(form(np.eye(2)), "Z")

    @pytest.mark.parametrize("X", [[1.0, 2.0], 3.0, np.ones((2, 2, 2))])
    def test_points_have_two_dimensions(self, X):
        said = f"expected X of shape (n_samples, n_features), got {np.shape(X)}"
        with refuses(ValueError, said):
            check_points(X)

    def test_the_number_of_features_is_checked_if_it_is_known(self):
        assert check_points(np.ones((3, 2)), n_features=2).shape == (3, 2)
        with refuses(ValueError, "expected X with 4 features, got 2"):
            check_points(np.ones((3, 2)), n_features=4)

    @pytest.mark.parametrize(
        "X",
        [
            [["a", "b"]],
            [["1", "2"]],
            np.array([[b"1"]]),
            np.array([["1.5"]], dtype=object).astype("U"),
            np.array([["2020-01-01"]], dtype="datetime64[D]"),
            np.array([[1]], dtype="timedelta64[s]"),
            np.array([[1 + 2j]]),
            [[1 + 2j]],
            [[1, 2], [3]],
            [[{}]],
            [[10**400]],
        ],
        ids=lambda X: repr(X)[:30].replace("\n", " "),
    )
    def test_what_is_not_a_matrix_of_real_numbers_is_refused(self, X):
        with pytest.raises(ValueError, match=r"^expected X to hold numbers: .+"):
            check_points(X)

    @given(row=st.integers(0, 3), column=st.integers(0, 2), bad=st.sampled_from([np.nan, np.inf]))
    def test_the_first_number_that_is_not_finite_is_named(self, row, column, bad):
        X = np.zeros((5, 4))
        X[row, column] = bad
        X[row + 1 :, :] = np.inf
        said = f"expected finite numbers, got {bad} in X at row {row}, column {column}"
        with refuses(ValueError, said):
            check_points(X)

    def test_none_is_a_missing_number(self):
        with refuses(ValueError, "expected finite numbers, got nan in X at row 0, column 1"):
            check_points([[1.0, None]])


class TestGram:
    def test_a_symmetric_matrix_is_returned(self):
        gram = np.array([[2.0, 1.0], [1.0 + 1e-9, 2.0]])
        assert check_gram(gram) is gram

    def test_a_matrix_that_is_not_square_is_refused(self):
        said = "expected a square Gram matrix of shape (n, n), got (2, 3)"
        with refuses(ValueError, said):
            check_gram(np.ones((2, 3)))

    def test_the_most_asymmetric_entry_is_quoted(self):
        gram = np.eye(4)
        gram[0, 1], gram[3, 2] = 1e-3, 0.25
        said = "expected a symmetric Gram matrix, got 0 at (2, 3) but 0.25 at (3, 2)"
        with refuses(ValueError, said):
            check_gram(gram)

    def test_a_large_matrix_is_looked_through_without_copying_it(self):
        gram = np.eye(2500)
        tracemalloc.start()
        assert check_gram(gram) is gram
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.5 * gram.nbytes
        gram[2400, 2300] = 0.25
        said = "expected a symmetric Gram matrix, got 0 at (2300, 2400) but 0.25 at (2400, 2300)"
        with refuses(ValueError, said):
            check_gram(gram)

    def test_the_tolerance_grows_with_the_entries(self):
        gram = np.full((2, 2), 1e6)
        gram[0, 1] += 1e-3
        assert check_gram(gram) is gram
        with pytest.raises(ValueError, match="expected a symmetric Gram matrix"):
            check_gram(gram, tol=1e-10)
        small = np.eye(2)
        small[0, 1] = 2e-8
        with pytest.raises(ValueError, match="expected a symmetric Gram matrix"):
            check_gram(small)


class TestWeights:
    X = np.zeros((3, 2))

    def test_missing_weights_are_ones(self):
        weights = check_weights(None, self.X)
        assert weights.dtype == np.float64
        np.testing.assert_array_equal(weights, np.ones(3))

    def test_zeros_are_taken_as_long_as_something_counts(self):
        np.testing.assert_array_equal(check_weights([0, 2, 1], self.X), [0.0, 2.0, 1.0])
        with refuses(ValueError, "expected some sample_weight > 0, got only zeros"):
            check_weights([0, 0, 0], self.X)

    def test_negative_weights_are_refused(self):
        with refuses(ValueError, "expected sample_weight >= 0, got -2.5"):
            check_weights([1.0, -2.5, -1.0], self.X)

    @pytest.mark.parametrize(
        ("bad", "said"),
        [
            ([1, 1], "expected sample_weight of shape (3,), got (2,)"),
            ([[1], [1], [1]], "expected sample_weight of shape (3,), got (3, 1)"),
            (2.0, "expected sample_weight of shape (3,), got ()"),
            ([1, np.nan, 1], "expected finite numbers, got nan in sample_weight at row 1"),
            ([1, 1, np.inf], "expected finite numbers, got inf in sample_weight at row 2"),
            (["1", "2", "3"], "expected sample_weight to hold numbers: got an array of <U1"),
        ],
    )
    def test_weights_that_do_not_fit_are_refused(self, bad, said):
        with refuses(ValueError, said):
            check_weights(bad, self.X)


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_a_flag_is_true_or_false(value):
    assert check_flag("centred", value) is bool(value)


@pytest.mark.parametrize("value", [0, 1, None, "yes", [True]])
def test_what_is_no_flag_is_quoted(value):
    with pytest.raises(ValueError, match="expected centred True or False, got "):
        check_flag("centred", value)
