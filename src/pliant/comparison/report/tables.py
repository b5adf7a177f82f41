"""Tables that read well as they are, and that the page's script can sort."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pliant.comparison.report.markup import Content, Markup, tag
from pliant.comparison.text import known


@dataclass(frozen=True)
class Column:
    """How one column is headed and sorted.

    The `note` is a second line below the title. A numeric column is sorted by number and aligned
    to the right, `best_first` is the order that the first press of its button gives, and `sorted`
    states that rows come in ascending order of this column.
    """

    title: str
    note: Content = None
    numeric: bool = True
    best_first: str = "ascending"
    sorted: bool = False

    def heading(self, sortable: bool) -> Markup:
        """Write the cell at the column's top."""
        marks = {
            "data_sort": "number" if self.numeric else "text",
            "data_first": self.best_first,
            "aria_sort": "ascending" if self.sorted else None,
        }
        return tag(
            "th",
            tag("span", self.title, class_="title"),
            self.note and tag("span", self.note, class_="note"),
            scope="col",
            class_="number" if self.numeric else None,
            **(marks if sortable else {}),
        )


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Iterable[Markup]],
    *,
    sortable: bool = False,
    look: str | None = None,
) -> Markup:
    """Write a table in a box that scrolls sideways by itself.

    Cells are made by `head`, `number` and `text`; in a sortable table, a button for each column
    sorts the rows.
    """
    heads = tag("tr", [column.heading(sortable) for column in columns])
    body = tag("tbody", [tag("tr", row) for row in rows])
    classes = " ".join(word for word in ("sortable" if sortable else "", look or "") if word)
    whole = tag("table", tag("caption", caption), tag("thead", heads), body, class_=classes or None)
    return scrolled(whole, caption)


def scrolled(content: Markup, name: str) -> Markup:
    """Put something wide into a box that keys and fingers can scroll."""
    return tag("div", content, class_="scroll", role="group", aria_label=name, tabindex=0)


def head(*content: Content, value: str, look: str | None = None) -> Markup:
    """Write the first cell of a row: what the row is about."""
    return tag("th", content, scope="row", data_value=value, class_=look)


def number(written: Content, value: float | None, look: str = "") -> Markup:
    """Write a cell that is sorted by a number; None comes last."""
    exact = repr(float(value)) if known(value) else None
    return tag("td", written, class_=f"number {look}".rstrip(), data_value=exact)


def text(*content: Content, value: str | None = None, look: str | None = None) -> Markup:
    """Write a cell of words."""
    return tag("td", content, class_=look, data_value=value)


def details(summary: str, *content: Content) -> Markup:
    """Write something that is folded away at first."""
    return tag("details", tag("summary", summary), content)
