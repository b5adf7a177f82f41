"""The protocol of a comparison: everything beside the table that decides a score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self, TypeAlias

from pliant.comparison.metrics import Metric, metric_of
from pliant.core.validation import check_integer

Place: TypeAlias = tuple[int, int]
"""A repeat and a fold, from 0."""


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
        The most settings that a search tries; drawn from the grid if it has more.
    search_rows : int
        The most training rows of a search; the chosen settings are fitted on all rows.
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
        check_integer("folds", self.folds, least=2)
        check_integer("repeats", self.repeats, least=1)
        check_integer("candidates", self.candidates, least=1)
        check_integer("search_rows", self.search_rows, least=10)
        check_integer("seed", self.seed, least=0)
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
        """Return the outer splits in the order in which they are run."""
        return [(repeat, fold) for repeat in range(self.repeats) for fold in range(self.folds)]

    def to_dict(self) -> dict[str, Any]:
        """Return the protocol as plain data; a scorer is its name."""
        return asdict(self) | {"metric": metric_of(self.metric).name if self.metric else None}
