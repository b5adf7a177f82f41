"""Checks of parameters; each error states the value and the expectation."""

import decimal
import fractions
import re

import numpy as np
import pytest

from pliant.core.parameters import (
    check_choice,
    check_flag,
    check_integer,
    check_real,
    plain,
)


def refuses(kind, message):
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


def test_numbers_become_those_of_python():
    for number in (2, np.float32(2), np.int64(2), fractions.Fraction(4, 2)):
        checked = check_real("C", number, above=0)
        assert (checked, type(checked)) == (2.0, float)
    for number in (3, np.int8(3), np.uint64(3)):
        checked = check_integer("k", number, least=1)
        assert (checked, type(checked)) == (3, int)
    assert check_real("C", 0, least=0) == 0.0
    assert check_real("eta", np.inf, above=0, infinite=True) == np.inf
    assert check_integer("k", 2**53, least=1) == 2**53
    assert [check_flag("centred", value) for value in (True, np.False_, 1)] == [True, False, True]


@pytest.mark.parametrize(
    "bad", ["2", None, True, np.True_, 2j, [2.0], np.array(2.0), decimal.Decimal(2), np.nan, -1.0]
)
def test_what_is_no_positive_number_and_no_integer(bad):
    with refuses(ValueError, f"expected C > 0, a finite number, got {plain(bad)!r}"):
        check_real("C", bad, above=0)
    with refuses(ValueError, f"expected k >= 1, an integer, got {plain(bad)!r}"):
        check_integer("k", bad, least=1)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_real("C", 0, above=0), "expected C > 0, a finite number, got 0"),
        (lambda: check_real("C", -np.inf, above=0, infinite=True),
         "expected C > 0, a number, got -inf"),
        (lambda: check_real("C", 1e20, least=1e-12, most=1e12),
         "expected C from 1e-12 to 1e12, got 1e+20"),
        (lambda: check_real("eta", "a", least=1e-12, most=1e12, infinite=True),
         "expected eta from 1e-12 to 1e12, or inf, got 'a'"),
        (lambda: check_real("C", 10**400), f"expected C, a finite number, got {10**400}"),
        (lambda: check_integer("k", 2**53 + 1, least=1), f"expected k <= {2**53}, got {2**53 + 1}"),
        (lambda: check_choice("rule", "smoth", ("smooth", "none")),
         "expected rule in ['none', 'smooth'], got 'smoth' (did you mean 'smooth'?)"),
        (lambda: check_choice("rule", 3, ("smooth", "none")),
         "expected rule in ['none', 'smooth'], got 3"),
        (lambda: check_flag("centred", 2), "expected centred to be True or False, got 2"),
    ],
)  # fmt: skip
def test_bounds_and_choices_are_quoted_with_the_value(check, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check()
