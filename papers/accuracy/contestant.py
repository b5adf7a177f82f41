"""What the study asks of a contestant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from papers.protocol import Sample
from pliant.core.typing import Array

__all__ = ["Contestant", "Predictions", "Setting", "listed"]

Setting: TypeAlias = dict[str, float]
"""The parameters that are chosen, by name."""

Predictions: TypeAlias = npt.NDArray[Any]


class Contestant(ABC):
    """A frozen dataclass whose fields say how it is tuned and fitted.

    Attributes
    ----------
    name, title : str
        In the records and on the page.
    rows : int or None
        Parameters are chosen on this many training rows at most; None for all.
    """

    name: str
    title: str
    rows: int | None

    @abstractmethod
    def settings(self) -> list[Setting]:
        """Return what is tried; of equal losses the first one is chosen."""

    @abstractmethod
    def machine(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the estimator, to be fitted at last or while choosing."""

    @abstractmethod
    def words(self) -> str:
        """Say in a sentence how it is tuned and fitted."""

    def attempts(self, sample: Sample, X_new: Array, seed: int) -> Iterator[Predictions]:
        """Learn from the sample with each setting in turn; predict X_new."""
        for setting in self.settings():
            machine = self.machine(sample.task, setting, seed, final=False)
            yield np.asarray(machine.fit(sample.X, sample.y).predict(X_new))

    def details(self, machine: Any) -> dict[str, float]:
        """Return numbers of a fitted machine that are worth keeping."""
        return {}

    def chosen_on(self) -> str:
        """Say which rows the parameters are chosen on."""
        if self.rows is None:
            return "chosen on all training rows"
        return f"chosen on at most {self.rows} random training rows"


def listed(values: Sequence[float]) -> str:
    """Return ``0.1, 0.5, 1``."""
    return ", ".join(f"{value:g}" for value in values)
