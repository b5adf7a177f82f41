"""How a set is split, and who competes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.splits import holdout
from papers.accuracy.contestant import Contestant
from papers.accuracy.ensembles import Boosting, Forest
from papers.accuracy.gaussian import GaussianSVM
from papers.accuracy.tessellated import TKL
from papers.protocol import Sample, losses
from papers.sets import Table

__all__ = ["ACCURACY", "AccuracyProtocol", "Exceptional", "measure", "split"]


@dataclass(frozen=True)
class Exceptional:
    """Fields of a contestant that are different on one set."""

    set: str
    contestant: str
    fields: tuple[tuple[str, int], ...]


EXCEPTIONS = (
    Exceptional("german", "tkl", (("rows", 500),)),
    Exceptional("german", "svm", (("rows", 500),)),
)
"""With a large C, machines on german take long: it has 24 features, and its classes overlap."""


@dataclass(frozen=True)
class AccuracyProtocol:
    """What the study holds fixed.

    Attributes
    ----------
    contestants : tuple
        The first one is compared with each other one.
    test_size : float
        The share of the rows that a machine is judged by.
    folds : int
        Of cross-validation.
    exceptions : tuple of Exceptional
        What a contestant does otherwise on one set.
    """

    contestants: tuple[Contestant, ...] = (TKL(), GaussianSVM(), Forest(), Boosting())
    test_size: float = 0.2
    folds: int = 2
    exceptions: tuple[Exceptional, ...] = EXCEPTIONS

    def on(self, name: str) -> tuple[Contestant, ...]:
        """Return the contestants as they are tuned and fitted on a set."""
        changes = {
            each.contestant: dict(each.fields) for each in self.exceptions if each.set == name
        }
        return tuple(replace(each, **changes.get(each.name, {})) for each in self.contestants)


ACCURACY = AccuracyProtocol()
"""The paper's splits and folds."""


def split(table: Table, protocol: AccuracyProtocol, repeat: int) -> Sample:
    """Return training and test rows as they are, drawn with the seed `repeat`."""
    stratify = table.task == "classification"
    ((train, test),) = holdout(
        table.y, test_size=protocol.test_size, stratify=stratify, random_state=repeat
    )
    return Sample(table.task, table.X[train], table.y[train], table.X[test], table.y[test])


def measure(task: str, y: npt.NDArray[np.generic], predicted: npt.NDArray[np.generic]) -> float:
    """Return the accuracy, or the mean squared error in the units of the target."""
    mean = float(losses(task, y, predicted).mean())
    return 1.0 - mean if task == "classification" else mean
