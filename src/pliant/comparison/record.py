"""What a comparison keeps: the record of each cell, and an entry for each method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from pliant.comparison.protocol import SEARCHED, Cell, Stage
from pliant.core.text import printable

LEARNED, BASELINE = "learned kernel", "baseline"

LONGEST_TITLE = 80
"""Characters of the title of a method."""

REFERENCE, DUMMY = "svm", "dummy"
"""The baseline that the others are tested against, and the one that learns nothing."""


class RowCounts(TypedDict):
    """The numbers of training and test rows of a cell."""

    train: int
    test: int


class Kept(TypedDict):
    """Predictions of test rows: the numbers of the rows, and a value for each."""

    rows: list[int]
    values: list[Any]


class Picture(TypedDict):
    """A figure of a fitted model: its title, its content in words, and a PNG file in base64."""

    title: str
    alt: str
    png: str


class Record(TypedDict):
    """The result of one cell as plain data; a line of the journal holds one.

    All have ``method``, ``repeat``, ``fold`` and ``status``; ``stage`` is "searched" where it is
    absent; ``scores`` are by metric, None where one is not defined. A failed cell has its ``error``
    and no scores. A cell that is done has the rest: ``chosen`` are the settings that a search
    chose, ``inner_score`` is their score in the search, ``candidates`` counts the settings tried;
    ``support`` is the number of points with a coefficient, ``gap`` the largest relative gap;
    ``curve`` holds pairs of training rows and the metric, in the last stage of a method and not on
    the first fold; ``predictions`` are kept in the first repeat only, ``pictures`` in the last
    stage on the second fold; ``memory_mb`` is the most that fit and prediction took, ``size_bytes``
    the size of the pickled model. ``crashed`` marks a cell that may succeed another time, so that
    the journal does not keep it.
    """

    method: str
    repeat: int
    fold: int
    stage: NotRequired[Stage]
    status: Literal["done", "error", "cut"]
    error: str | None
    scores: dict[str, float | None]
    rows: NotRequired[RowCounts]
    chosen: NotRequired[dict[str, Any]]
    inner_score: NotRequired[float | None]
    candidates: NotRequired[int]
    curve: NotRequired[list[list[float]]]
    predictions: NotRequired[Kept | None]
    support: NotRequired[int | None]
    gap: NotRequired[float | None]
    seconds: NotRequired[dict[str, float]]
    memory_mb: NotRequired[float | None]
    size_bytes: NotRequired[int]
    pictures: NotRequired[list[Picture]]
    warnings: NotRequired[list[str]]
    crashed: NotRequired[bool]


def stage_of(record: Record) -> Stage:
    """Return the stage of a record's cell."""
    return record.get("stage", SEARCHED)


def cell_of(record: Record) -> Cell:
    """Return the cell of a record."""
    return Cell(record["method"], record["repeat"], record["fold"], stage_of(record))


@dataclass(frozen=True)
class Entry:
    """A method that was asked for, and its status.

    Parameters
    ----------
    name, title, summary : str
    kind : {"learned kernel", "baseline"}
    status : {"done", "cut", "error", "skipped"}
        All cells finished; some are missing; none succeeded; none was tried.
    reason : str
        Why it is not done; "" if it is.
    """

    name: str
    title: str
    kind: str
    summary: str
    status: str
    reason: str = ""

    def __post_init__(self) -> None:
        """Make the texts, which may come from a file or an error, fit for one line."""
        for name, limit in (("title", LONGEST_TITLE), ("summary", 200), ("reason", 400)):
            text = printable(" ".join(str(getattr(self, name)).split()), limit)
            object.__setattr__(self, name, text)


def called(name: str, title: str) -> str:
    """Return the name of the reference in a sentence."""
    if name == REFERENCE:
        return "the tuned Gaussian SVM"
    return "the dummy" if name == DUMMY else f"the baseline {title}"
