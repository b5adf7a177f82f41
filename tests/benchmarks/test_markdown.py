"""Markdown tables are aligned and complete, and escape all text."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.markdown import markdown_table
from pliant.tables.comparison.text import Score, TextColumn

ROWS = [
    {"data": "heart", "paper": 81.9, "measured": Score(81.3, 2.2), "baseline": Score(80, 12)},
    {"data": "sonar", "paper": None, "measured": Score(8.12, 0.5), "baseline": None},
]
COLUMNS = ["data", TextColumn("paper", digits=1), TextColumn("measured", digits=2)]
COLUMNS.append(TextColumn("baseline", missing="later"))


def test_markdown_table_is_aligned():
    assert markdown_table(ROWS, COLUMNS) == (
        "| data  | paper |     measured |        baseline |\n"
        "| ----- | ----: | -----------: | --------------: |\n"
        "| heart |  81.9 | 81.30 ± 2.20 | 80.000 ± 12.000 |\n"
        "| sonar |     – |  8.12 ± 0.50 |  later          |\n"
    )


def test_markup_in_text_is_escaped():
    hostile = "a|b `c` *d* [e](f) <script>alert(1)</script> & \\ _g_ h_i"
    line = markdown_table([{"name": hostile}]).splitlines()[2]
    assert line == (
        "| a\\|b \\`c\\` \\*d\\* \\[e\\](f) &lt;script&gt;alert(1)&lt;/script&gt; &amp; \\\\ "
        "\\_g\\_ h_i |"
    )


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=4))
def test_no_text_breaks_the_table(cells):
    table = markdown_table([{"first": a, "second": b} for a, b in cells])
    lines = table.split("\n")
    assert len(lines) == len(cells) + 3
    assert len({len(line) for line in lines[:-1]}) == 1
    for line in lines[:-1]:
        assert line.isprintable()
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
