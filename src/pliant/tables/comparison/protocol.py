"""The protocol of a comparison, its cells, and the records of cells and methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NotRequired, Self, TypeAlias, TypedDict

from pliant.core.parameters import check_integer
from pliant.core.text import printable
from pliant.tables.comparison.metrics import Metric, metric_of

Place: TypeAlias = tuple[int, int]
"""A repeat and a fold, counted from 0."""

Status: TypeAlias = Literal["done", "cut", "unfinished", "error", "skipped"]
"""The status of a method; see `Entry`."""

DEFAULT, REFERENCE, DUMMY, BLEND = "lab-rbf", "svm", "dummy", "blend"
"""Names of the default method, the reference method for tests, the dummy, and the blend."""

HELD_OUT_NOTE = (
    "LAB-RBF's scores are of rows that its members held out and used to choose settings, so they "
    "may be too high: its folds would have taken more than half of the time left"
)
"""Warning of a comparison whose default method has no folds."""


@dataclass(frozen=True, order=True)
class Cell:
    """A method, fitted and scored on one fold; `repeat` and `fold` count from 0."""

    method: str
    repeat: int
    fold: int

    @property
    def place(self) -> Place:
        """The repeat and the fold, which determine the split."""
        return self.repeat, self.fold


@dataclass(frozen=True)
class Protocol:
    """Repeated cross-validation; methods with a grid are tuned on inner folds.

    Parameters
    ----------
    folds, repeats : int
        Number of outer folds, and of repeats with new random folds. Time-ordered rows get one
        repeat.
    metric : str, callable or None
        Metric for tuning and ranking: a name, or a scikit-learn scorer. None means R2 or accuracy,
        or the log loss if a class has less than a tenth of the rows.
    inner_folds : int or None
        Number of inner folds; None means 5 below 1000 training rows, else 3.
    candidates : int
        Maximum number of candidates in a search, drawn at random from larger grids.
    search_rows : int
        Maximum number of training rows in a search; the best candidate is refitted on all rows.
    seed : int
        Seed from which the seeds of folds and cells are derived.
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
        """Build a protocol from the output of `to_dict`; a user's scorer becomes None."""
        try:
            return cls(**state)
        except ValueError:
            return cls(**{**state, "metric": None})

    def metric_for(self, task: str) -> Metric:
        """Return the metric for tuning and ranking in a task."""
        return metric_of(self.metric, task)

    def places(self) -> list[Place]:
        """Return all pairs (repeat, fold), in execution order."""
        return [(repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds)]

    def to_dict(self) -> dict[str, Any]:
        """Return the protocol as plain data, with the metric by name."""
        return asdict(self) | {"metric": metric_of(self.metric).name if self.metric else None}


class Kept(TypedDict):
    """Stored predictions: row numbers, and a number or class probabilities for each row."""

    rows: list[int]
    values: list[Any]


class Record(TypedDict):
    """The result of a cell as plain data, one line of the journal.

    ``scores`` maps each metric to its score, or None if undefined. ``rows`` contains the numbers of
    "train" and "test" rows, ``chosen`` the settings of a search, ``support`` the number of support
    points, ``gap`` the largest certified relative gap, and ``size_bytes`` the size of the pickled
    model. ``at`` is the end in seconds from the start of the comparison, or of the one that it
    resumes. A cell that ``crashed`` is not written to the journal, so it is repeated on
    resume.
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
    at: NotRequired[float]
    crashed: NotRequired[bool]


def cell_of(record: Record) -> Cell:
    """Return the cell of a record."""
    return Cell(record["method"], record["repeat"], record["fold"])


@dataclass(frozen=True)
class Entry:
    """A requested method and its status.

    Parameters
    ----------
    name, title, summary : str
    kind : {"learned kernel", "baseline", ""}
        Empty for the blend.
    status : {"done", "cut", "unfinished", "error", "skipped"}
        In order: all folds finished; stopped by the budget; stopped by the budget while another
        method has all folds, so unranked; no fold succeeded; not run.
    reason : str
        Reason for missing folds, or "".
    blends : bool
        True if the method can be a member of a blend: model files hold its models and, within a
        budget, it is fitted to all rows.
    """

    name: str
    title: str
    kind: Literal["learned kernel", "baseline", ""]
    summary: str
    status: Status
    reason: str = ""
    blends: bool = True

    def __post_init__(self) -> None:
        for name, limit in (("title", 80), ("summary", 200), ("reason", 400)):
            text = " ".join(str(getattr(self, name)).split())  # from a file, a user or an error
            object.__setattr__(self, name, printable(text, limit))
