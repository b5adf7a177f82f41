"""The record of each cell, and the entry of each method, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from pliant.comparison.protocol import Cell
from pliant.core.text import printable

LEARNED, BASELINE = "learned kernel", "baseline"

LONGEST_TITLE = 80
"""Maximum number of characters of the title of a method."""

REFERENCE, DUMMY = "svm", "dummy"
"""The method that the others are tested against, and the one that learns nothing."""


class RowCounts(TypedDict):
    """The numbers of training and test rows of a cell."""

    train: int
    test: int


class Kept(TypedDict):
    """Predictions of test rows: row numbers, and a number or the probabilities of each."""

    rows: list[int]
    values: list[Any]


class Record(TypedDict):
    """The result of one cell as plain data; a line of the journal holds one.

    ``scores`` are by metric, None where one is not defined; a cell that failed has an ``error`` and
    no scores. ``chosen`` are settings that a search chose, ``kept`` the predictions that weights
    and pictures are made from, ``support`` the number of points with a coefficient, ``gap`` the
    largest certified relative gap, ``size_bytes`` the size of the pickled model. The journal does
    not keep a cell that ``crashed``, since it may succeed another time.
    """

    method: str
    repeat: int
    fold: int
    status: Literal["done", "error", "cut"]
    error: str | None
    scores: dict[str, float | None]
    rows: NotRequired[RowCounts]
    chosen: NotRequired[dict[str, Any]]
    kept: NotRequired[Kept | None]
    support: NotRequired[int | None]
    gap: NotRequired[float | None]
    seconds: NotRequired[dict[str, float]]
    size_bytes: NotRequired[int]
    warnings: NotRequired[list[str]]
    crashed: NotRequired[bool]


def cell_of(record: Record) -> Cell:
    """Return the cell of a record."""
    return Cell(record["method"], record["repeat"], record["fold"])


@dataclass(frozen=True)
class Entry:
    """A method that was asked for, and its status.

    Parameters
    ----------
    name, title, summary : str
    kind : {"learned kernel", "baseline"}
    status : {"done", "cut", "left", "error", "skipped"}
        All folds finished; stopped by the budget; left the race after the first fold; no fold
        succeeded; not tried.
    reason : str
        Why it is not done; "" if it is.
    blends : bool
        Whether it may be a member of a blend.
    """

    name: str
    title: str
    kind: str
    summary: str
    status: str
    reason: str = ""
    blends: bool = True

    def __post_init__(self) -> None:
        """Make the texts, which may come from a file or an error, fit for one line."""
        for name, limit in (("title", LONGEST_TITLE), ("summary", 200), ("reason", 400)):
            text = printable(" ".join(str(getattr(self, name)).split()), limit)
            object.__setattr__(self, name, text)
