"""The protocol of a comparison, its cells, and their records and methods as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NotRequired, Self, TypeAlias, TypedDict

from pliant.comparison.metrics import Metric, metric_of
from pliant.core.text import printable
from pliant.core.validation import check_integer

Place: TypeAlias = tuple[int, int]
"""A repeat and a fold, from 0."""

Status: TypeAlias = Literal["done", "cut", "left", "error", "skipped"]
"""The status of a method; see `Entry`."""

REFERENCE, DUMMY, BLEND = "svm", "dummy", "blend"
"""Names of the reference of all tests, of the method without learning, and of the blend."""


@dataclass(frozen=True, order=True)
class Cell:
    """A method on a fold: learned from the training rows, tested on the others.

    Parameters
    ----------
    method : str
    repeat, fold : int
        From 0.
    """

    method: str
    repeat: int
    fold: int

    @property
    def place(self) -> Place:
        """The outer split, which all methods share."""
        return self.repeat, self.fold


@dataclass(frozen=True)
class Protocol:
    """Repeated cross-validation; methods with a grid are searched on inner folds.

    Parameters
    ----------
    folds, repeats : int
        Outer folds, and the number of draws of them. Rows in the order of time have one repeat.
    metric : str, callable or None
        The metric of searches and ranks: a name, or a scorer of scikit-learn. None stands for R2
        or accuracy; for the log loss where a class has less than a tenth of the rows.
    inner_folds : int or None
        Folds of a search; None stands for 5 below 1000 training rows, else 3.
    candidates : int
        Maximum number of settings that a search tries, drawn from the grid if it has more.
    search_rows : int
        Maximum number of training rows of a search; the chosen settings are fitted on all rows.
    seed : int
        Decides every draw, together with the cell.
    """

    folds: int = 5
    repeats: int = 2
    metric: str | Callable[..., float] | None = None
    inner_folds: int | None = None
    candidates: int = 32
    search_rows: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"folds": 2, "repeats": 1, "candidates": 1, "search_rows": 10, "seed": 0}
        for name, bound in least.items():
            check_integer(name, getattr(self, name), least=bound)
        if self.inner_folds is not None:
            check_integer("inner_folds", self.inner_folds, least=2)
        if self.metric is not None and not callable(self.metric):
            object.__setattr__(self, "metric", metric_of(self.metric).name)

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Make a protocol from the dict of `to_dict`; scorers of the user's are forgotten."""
        try:
            return cls(**state)
        except ValueError:
            return cls(**{**state, "metric": None})

    def metric_for(self, task: str) -> Metric:
        """Return the metric of searches and ranks for a task."""
        return metric_of(self.metric, task)

    def places(self) -> list[Place]:
        """Return the outer splits in the order of the race."""
        return [(repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds)]

    def to_dict(self) -> dict[str, Any]:
        """Return the protocol as plain data; a scorer is its name."""
        return asdict(self) | {"metric": metric_of(self.metric).name if self.metric else None}


class Kept(TypedDict):
    """Predictions of test rows: row numbers, and a number or the probabilities of each."""

    rows: list[int]
    values: list[Any]


class Record(TypedDict):
    """The result of one cell as plain data; a line of the journal holds one.

    ``scores`` are by metric, None where one is not defined; a cell that failed has an ``error`` and
    no scores. ``rows`` are the numbers of "train" and "test" rows, ``chosen`` the settings of a
    search, ``kept`` the predictions for weights and pictures, ``support`` the number of points with
    a coefficient, ``gap`` the largest certified relative gap, ``size_bytes`` the size of the
    pickled model. The journal does not keep a cell that ``crashed``: it may succeed another time.
    """

    method: str
    repeat: int
    fold: int
    status: Literal["done", "error", "cut"]
    error: str | None
    scores: dict[str, float | None]
    rows: NotRequired[dict[str, int]]
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
    kind : {"learned kernel", "baseline", ""}
        Empty for the blend.
    status : {"done", "cut", "left", "error", "skipped"}
        All folds finished; stopped by the budget; left the race after the first fold; no fold
        succeeded; not tried.
    reason : str
        The reason of missing folds; "" if all are done.
    blends : bool
        True if the method may be a member of a blend.
    """

    name: str
    title: str
    kind: Literal["learned kernel", "baseline", ""]
    summary: str
    status: Status
    reason: str = ""
    blends: bool = True

    def __post_init__(self) -> None:
        """Make the texts, which may come from a file or an error, fit for one line."""
        for name, limit in (("title", 80), ("summary", 200), ("reason", 400)):
            text = printable(" ".join(str(getattr(self, name)).split()), limit)
            object.__setattr__(self, name, text)
