"""The sets of Table 4 that are at hand, and what is held fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.scale_sets import SETS, ScaleSet

__all__ = ["LARGE", "NAME", "REPEATS", "Held", "LargeProtocol", "LargeSet"]

NAME = "dank-table-4"

REPEATS = 3
"""Random halves; the paper has one."""


@dataclass(frozen=True)
class LargeSet:
    """A set that stands beside a row of the paper.

    Attributes
    ----------
    name : str
        In `benchmarks.scale_sets.SETS`.
    printed : str
        The paper's row.
    n_parts : int
        Parts of the decomposed problem.
    machine : ScaleSet
        File, C, gamma and scaling.
    note : str
        What the reader of the table should know.
    """

    name: str
    printed: str
    n_parts: int
    machine: ScaleSet
    note: str


def _set(name: str, printed: str, n_parts: int, note: str) -> LargeSet:
    return LargeSet(name, printed, n_parts, SETS[name], note)


@dataclass(frozen=True)
class LargeProtocol:
    """What the study holds fixed: the sets, and DANK's relative gap."""

    sets: tuple[LargeSet, ...]
    tol: float = 1e-4

    @property
    def names(self) -> tuple[str, ...]:
        """The sets, in the order of the page."""
        return tuple(each.name for each in self.sets)

    def __getitem__(self, name: str) -> LargeSet:
        """Return a set."""
        return next(each for each in self.sets if each.name == name)


@dataclass(frozen=True)
class Held:
    """What a document says was held fixed."""

    study: LargeProtocol
    contestants: tuple[Any, ...]


LARGE = LargeProtocol(
    (
        _set(
            "EEG", "EEG", 5,
            "features clipped at their .1 and 99.9 percentiles in the training rows, then scaled "
            "to [0, 1]; 5 parts, as in the paper",
        ),
        _set(
            "EEG unclipped", "EEG", 5,
            "scaled to [0, 1] with a few gross outliers left in, which press all other rows "
            "together; 5 parts",
        ),
        _set(
            "ijcnn1_val", "ijcnn1", 8,
            "the last 14990 of the paper's 49990 training rows, halved; features as in the file; "
            "8 parts, of as many rows as the paper's 50",
        ),
        _set(
            "ijcnn1_train_12of22", "ijcnn1", 25,
            "the paper's 49990 training rows, halved, with 12 of their 22 features; features as "
            "in the file; 25 parts",
        ),
    )
)  # fmt: skip
"""The study."""
