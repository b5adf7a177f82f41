"""Kernel values that the user computed: row numbers, kernel rows, and what has no value."""

import re

import numpy as np
import pytest

from pliant.kernels import Gaussian, Precomputed

POINTS = np.random.default_rng(0).uniform(size=(6, 3))
NEW = np.random.default_rng(1).uniform(size=(4, 3))
GRAM = Gaussian()(POINTS)
ROWS = Gaussian()(NEW, POINTS)
kernel = Precomputed(GRAM)


def numbers(*which):
    return np.array(which, dtype=float)[:, None]


def test_row_numbers_stand_for_training_points():
    np.testing.assert_array_equal(kernel(numbers(0, 1, 2, 3, 4, 5)), GRAM)
    np.testing.assert_array_equal(
        kernel(numbers(4, 4, 0), numbers(1, 5)), GRAM[[4, 4, 0]][:, [1, 5]]
    )
    np.testing.assert_array_equal(kernel.diag(numbers(3, 1)), GRAM.diagonal()[[3, 1]])


def test_kernel_rows_stand_for_new_points():
    np.testing.assert_array_equal(kernel(ROWS, numbers(2, 0)), ROWS[:, [2, 0]])
    np.testing.assert_array_equal(kernel(numbers(2, 0), ROWS), ROWS[:, [2, 0]].T)


def test_which_side_is_which_matters_in_a_gram_that_is_not_symmetric():
    lopsided = Precomputed(np.arange(9.0).reshape(3, 3))
    np.testing.assert_array_equal(lopsided(numbers(0), numbers(2)), [[2.0]])
    np.testing.assert_array_equal(lopsided(numbers(2), numbers(0)), [[6.0]])


def test_two_new_points_have_no_kernel_value():
    for call in (lambda: kernel(ROWS), lambda: kernel(ROWS, ROWS)):
        with pytest.raises(ValueError, match="no value between two new points"):
            call()
    with pytest.raises(ValueError, match=r"k\(x, x\) of a new point is not known"):
        kernel.diag(ROWS)


@pytest.mark.parametrize("columns", [2, 5, 7])
def test_kernel_rows_must_be_against_all_training_points(columns):
    rows = np.ones((2, columns))
    said = f"expected kernel values against all 6 training points, got {columns} columns"
    with pytest.raises(ValueError, match=said):
        kernel(rows, numbers(0))
    with pytest.raises(ValueError, match=said):
        kernel(numbers(0), rows)


@pytest.mark.parametrize("number", [-1.0, 6.0, 0.5, 1e300])
def test_row_numbers_must_be_those_of_training_points(number):
    said = re.escape(f"expected row numbers of training points, 0 to 5, got {number:g}")
    bad = numbers(0, number)
    for call in (
        lambda: kernel(bad),
        lambda: kernel(numbers(0), bad),
        lambda: kernel(ROWS, bad),
        lambda: kernel(bad, ROWS),
        lambda: kernel.diag(bad),
    ):
        with pytest.raises(ValueError, match=said):
            call()
