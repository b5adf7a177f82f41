"""Plain-text tables are aligned and free of control characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pliant.comparison import TextColumn, text_table

COLUMNS = ["data", TextColumn("paper", digits=1), TextColumn("measured", digits=2)]
COLUMNS.append(TextColumn("baseline", missing="later"))


def test_control_characters_are_removed():
    lines = text_table([{"a\nb\x1b[2J": "one\r\ntwo\x00\u202ethree\u2028four\tfive"}]).splitlines()
    assert lines[0] == "a b[2J"
    assert lines[2] == "one twothree four five"


@given(st.lists(st.one_of(st.integers(-999, 999), st.floats(-99, 99)), min_size=1))
def test_numbers_are_right_aligned(cells):
    lines = text_table([{"x": cell} for cell in cells]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert [line[-1].isdigit() for line in lines[2:]] == [True] * len(cells)
