"""Prediction files are complete and contain no formulas."""

import csv
import gzip
import io
import re
import unicodedata

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.exceptions import TableError
from pliant.tables import read_table
from pliant.tables.reading.write import write_csv, write_predictions

FORMULA_MARKS = ("=", "+", "-", "@", "\t", "\r", "\n")


def text_of(*frames):
    file = io.StringIO()
    write_csv(file, frames)
    return file.getvalue()


def rows_of(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_chunks_follow_each_other_under_one_header(tmp_path):
    path = tmp_path / "out.csv"
    write_predictions(path, (pd.DataFrame({"p": [i, -0.1]}) for i in range(3)))
    assert path.read_bytes() == b"p\n0.0\n-0.1\n1.0\n-0.1\n2.0\n-0.1\n"


def test_packed_files_are_the_same_each_time(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_predictions(tmp_path / name, [pd.DataFrame({"p": ["é"]})])
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).decode() == "p\né\n"
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_floats_come_back_to_the_last_bit(tmp_path):
    values = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25)
    write_predictions(tmp_path / "out.csv", [pd.DataFrame({"p": values})])
    np.testing.assert_array_equal(read_table(tmp_path / "out.csv")["p"], values)


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\t", "\r", "\n"])
@pytest.mark.parametrize("dtype", ["object", "str", "category"])
def test_formulas_are_disarmed_in_cells_and_names(mark, dtype):
    frame = pd.DataFrame({f"{mark}name": pd.Series([f"{mark}cmd()", "plain"], dtype=dtype)})
    written = mark.replace("\r", "\n")
    assert rows_of(text_of(frame)) == [[f"'{written}name"], [f"'{written}cmd()"], ["plain"]]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-1.5", "-1.5"),
        ("+2e3", "+2e3"),
        ("-3,50", "-3,50"),
        ("-1.234,50", "-1.234,50"),
        ("-1\u202f234,50", "-1\u202f234,50"),
        ("-1.234.567", "-1.234.567"),
        ("x\t-3,50", "x\t-3,50"),
        ("-3,50+cmd()", "'-3,50+cmd()"),
        ("+49 151 23", "'+49 151 23"),
        ("-inf", "'-inf"),
        ("-1+cmd()", "'-1+cmd()"),
        ("\x00=cmd()", "'=cmd()"),
        ("\uff1dcmd()", "'\uff1dcmd()"),
        ("a\x1b[31m\x9b\x85b", "a[31mb"),
        ("x;=cmd()", "x;'=cmd()"),
        ('x;"=cmd()"', 'x;\'"=cmd()"'),
        ("x\t@cmd|y|+1+cmd()", "x\t'@cmd|y|'+1+cmd()"),
        ("x; -1;+2e3;-", "x; -1;+2e3;-"),
        ("a=b; c-d", "a=b; c-d"),
    ],
)
def test_numbers_as_text_stay_and_control_characters_go(text, written):
    frame = pd.DataFrame({text: pd.Series([text, "plain"], dtype=object)})
    assert rows_of(text_of(frame)) == [[written], [written], ["plain"]]


def test_trouble_in_a_later_chunk_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def chunks():
        yield pd.DataFrame({"p": range(10_000)})
        raise TableError("line 7 is broken")

    with pytest.raises(TableError, match="line 7 is broken"):
        write_predictions(path, chunks())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["none/out.csv", "folder.csv", "a\0b.csv", "out.txt", "out"])
def test_an_unwritable_place_is_one_error(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match=r"cannot write|expected a name ending in \.csv"):
        write_predictions(f"{tmp_path}/{name}", [pd.DataFrame({"p": [1]})])
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.csv"]


def number(text):
    """Return a number without its decimal mark and marks between digits; raise for other text."""
    return float(re.sub(r"(?<=[-+\d])[.,'\u2019 \u00a0\u202f](?=\d|$)", "", text))


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1))
def test_no_written_text_starts_a_formula(cells):
    rows = rows_of(text_of(pd.DataFrame({"c": pd.Series(cells, dtype=object)})))
    written = [row[0] for row in rows][1:]
    assert len(written) == len(cells)
    for cell, original in zip(written, cells, strict=True):
        lines = original.replace("\r\n", "\n").replace("\r", "\n")
        same = "".join(c for c in lines if c in "\t\n" or unicodedata.category(c) != "Cc")
        assert not cell.startswith(FORMULA_MARKS) or np.isfinite(number(cell))
        for part in re.split(r"[;|\t\n]", cell)[1:]:
            opened = part.lstrip(' "')
            assert (
                len(part) < 2 or not opened.startswith(FORMULA_MARKS) or number(opened) is not None
            )
        assert cell.replace("'", "") == same.replace("'", "")
