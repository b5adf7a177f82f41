"""Untrusted names in messages, tables and CSV files are harmless text."""

import io

import numpy as np
import pandas as pd
import pytest

from pliant import GeneralizedPolynomial
from pliant.core.parameters import check_real
from pliant.core.text import close_names, one_line, remove_controls, suggest
from pliant.kernels import Linear, On, WeightedSum
from pliant.tables.comparison.protocol import Entry
from pliant.tables.reading.write import write_csv

EVIL = "a\x1b[31m\u202eb\u200b\x00\u2028\ud800"


def test_a_text_of_several_lines_keeps_its_lines():
    assert remove_controls(f"{EVIL}\n12\u202f345 ä") == "a[31mb\n12\u202f345 ä"


def test_long_names_are_shortened_and_quickly_compared():
    long = "x" * 10_000
    assert len(suggest("y", [long, EVIL])) < 200
    assert close_names(long + "y", [long]) == [long]
    assert len(Entry("a", long, "learned kernel", "", "error", long).title) == 80


def test_errors_and_names_of_kernels_are_printable():
    with pytest.raises(ValueError, match="among the features") as caught:
        On(Linear(), EVIL).resolved(["b", EVIL * 2], 2)
    assert str(caught.value).isprintable()
    assert repr(WeightedSum([On(Linear(), EVIL)], 1.0)).isprintable()


def test_values_of_several_lines_are_quoted_in_one():
    kernel = GeneralizedPolynomial(lower=np.float64(806003300940.4011), upper=1e16, degree=3)
    assert "\n" in repr(kernel)
    assert one_line(kernel) == " ".join(repr(kernel).split())
    assert one_line("a  b\n") == repr("a  b\n")
    assert len(one_line(np.eye(50))) <= 500
    with pytest.raises(ValueError, match=r"got array\(\[\[1\., 0\.\], \[0\., 1\.\]\]\)$"):
        check_real("C", np.eye(2), above=0)


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_marks_of_formulas_in_csv(mark):
    file = io.StringIO()
    write_csv(file, [pd.DataFrame({"a": pd.Series([f"{mark}A1", "\ud800"], dtype=object)})])
    assert file.getvalue() == f"a\n'{mark}A1\n\\ud800\n"
