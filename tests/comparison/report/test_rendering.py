"""Tables of results: aligned, complete, and safe against what text may hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.comparison import Column, Score, text_table

ROWS = [
    {"data": "heart", "paper": 81.9, "measured": Score(81.3, 2.2, "*"), "baseline": Score(80, 12)},
    {"data": "sonar", "paper": None, "measured": Score(8.12, 0.5), "baseline": None},
]
COLUMNS = ["data", Column("paper", digits=1), Column("measured", digits=2)]
COLUMNS.append(Column("baseline", missing="later"))


def test_text_table_is_aligned_and_unescaped():
    assert text_table(ROWS, ["data", Column("measured", "ours", 1)]) == (
        "data           ours\n-----  ------------\nheart  81.3 ± 2.2 *\nsonar   8.1 ± 0.5\n"
    )


def test_columns_default_to_all_keys_in_order_of_appearance():
    head = text_table([{"b": 1}, {"a": 2, "b": 3}]).splitlines()[0]
    assert head.split() == ["b", "a"]


def test_whole_numbers_have_no_decimals_and_flags_are_words():
    lines = text_table([{"n": 12, "x": 2.0, "met": np.True_}, {"n": np.int64(3), "met": False}])
    assert [line.split() for line in lines.splitlines()[2:]] == [
        ["12", "2.000", "yes"],
        ["3", "–", "no"],
    ]


def test_missing_cells_can_be_called_otherwise():
    assert text_table([{"a": None}], [Column("a", missing="later")]).splitlines()[2] == "later"


def test_score_of_measurements():
    assert Score.of([1.0, 2.0, 3.0], "+") == Score(2.0, 1.0, "+")
    assert Score.of([4.0]) == Score(4.0, None)
    with pytest.raises(ValueError, match=r"r >= 1, got \(0,\)"):
        Score.of([])


def test_control_characters_and_line_breaks_are_removed():
    lines = text_table([{"a\nb\x1b[2J": "one\r\ntwo\x00\u202ethree\u2028four\tfive"}]).splitlines()
    assert lines[0] == "a b[2J"
    assert lines[2] == "one twothree four five"


def test_long_names_are_cut():
    lines = text_table([{"x" * 10_000: "y" * 10_000, "n": 1.7e308}]).splitlines()
    assert {len(line) for line in lines} == {350 + 2 + 313}
    assert lines[0].startswith("x" * 349 + "…  ")
    assert lines[2].startswith("y" * 349 + "…  1699999")
    assert lines[2].endswith(".000")


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="at least one column to show"):
        text_table([])


@given(st.lists(st.one_of(st.integers(-999, 999), st.floats(-99, 99)), min_size=1))
def test_numbers_stand_flush_right(cells):
    lines = text_table([{"x": cell} for cell in cells]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert [line[-1].isdigit() for line in lines[2:]] == [True] * len(cells)
