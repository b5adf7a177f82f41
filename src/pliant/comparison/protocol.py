"""The protocol of a comparison: everything beside the table that decides a score."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from pliant.comparison.metrics import metric_name
from pliant.core.validation import check_integer

Stage: TypeAlias = Literal["sampled", "default", "searched"]
"""How thoroughly a cell is learned: with default settings on a sample of the training rows, with
default settings on all of them, or with the settings that a search on inner folds chose."""

SAMPLED: Final = "sampled"
DEFAULT: Final = "default"
SEARCHED: Final = "searched"

Place: TypeAlias = tuple[int, int]
"""A repeat and a fold."""


@dataclass(frozen=True, order=True)
class Cell:
    """One method, learned on one outer fold's training rows and tested on its test rows.

    Parameters
    ----------
    method : str
    repeat, fold : int
        From 0.
    stage : {"sampled", "default", "searched"}
    """

    method: str
    repeat: int
    fold: int
    stage: Stage = SEARCHED

    @property
    def place(self) -> Place:
        """The outer split, which all methods share."""
        return self.repeat, self.fold


@dataclass(frozen=True)
class Protocol:
    """Nested cross-validation: outer folds test what a search on inner folds has chosen.

    Parameters
    ----------
    folds, repeats : int
        Outer folds, and how often they are drawn. Rows in the order of time have one repeat.
    metric : str or None
        The metric of the search and the ranks, by its name here or in scikit-learn; None:
        accuracy, or R2.
    inner_folds : int or None
        Folds of the search; None: 5 below 1000 training rows, else 3.
    candidates : int
        The most settings that the search tries; drawn from the grid if it has more.
    search_rows : int
        The most training rows of the search; the chosen settings are fitted on all.
    first_rows : int
        Training rows of the first answers on a large table, and the most rows that test them.
    seed : int
        Decides every draw, together with the cell.
    """

    folds: int = 5
    repeats: int = 2
    metric: str | None = None
    inner_folds: int | None = None
    candidates: int = 32
    search_rows: int = 2000
    first_rows: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("folds", self.folds, least=2)
        check_integer("repeats", self.repeats, least=1)
        check_integer("candidates", self.candidates, least=1)
        check_integer("search_rows", self.search_rows, least=10)
        check_integer("first_rows", self.first_rows, least=10)
        check_integer("seed", self.seed, least=0)
        if self.inner_folds is not None:
            check_integer("inner_folds", self.inner_folds, least=2)
        if self.metric is not None:
            object.__setattr__(self, "metric", metric_name(self.metric))

    def places(self) -> list[Place]:
        """Return the outer splits in the order in which they are run."""
        return [(repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds)]

    def to_dict(self) -> dict[str, Any]:
        """Return the protocol as plain data."""
        return asdict(self)
