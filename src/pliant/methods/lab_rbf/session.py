"""One fit of a LAB-RBF machine: what all its expansions are learned with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.data import Table, Watch
from pliant.methods.lab_rbf.device import Device
from pliant.methods.lab_rbf.recipe import Learned, Recipe
from pliant.methods.lab_rbf.training import learn
from pliant.methods.lab_rbf.warp import Warp

__all__ = ["Division", "Session"]

JUDGES = 10_000
"""The most rows that a member holds out."""


class Division(NamedTuple):
    """Rows to learn from, rows that judge (None if none are held out), rows of the last stage."""

    train: Indices
    judges: Indices | None
    everything: Indices

    def first(self, count: int) -> Division:
        """Return the division with no more than `count` rows to learn from."""
        return self._replace(train=self.train[:count])

    def with_support(self, named: Indices) -> Division:
        """Return the division with the support points that the user names first in `train`."""
        train = np.concatenate([named, np.setdiff1d(self.train, named, assume_unique=True)])
        if self.judges is None:
            return self._replace(train=train)
        judges = np.setdiff1d(self.judges, named)
        if not len(judges):
            raise ValueError(
                f"expected some rows that are no support points, to hold out, got {len(named)} "
                "support points that leave none; name fewer, or set validation_fraction=0"
            )
        return self._replace(train=train, judges=judges)


@dataclass(frozen=True, eq=False)
class Session:
    """What stays the same from one expansion to the next.

    Attributes
    ----------
    device : Device
        Where the large arrays live.
    watch : Watch
        Says when to stop.
    fraction : float
        The share of the rows that is held out.
    limit : int
        The most rows that bandwidths are learned from.
    loss : callable
        (table, rows) -> what judges scaled predictions of these rows.
    """

    device: Device
    watch: Watch
    fraction: float
    limit: int
    loss: Callable[[Table, Indices], Callable[[Array], float]]

    def divide(self, n: int, rng: RandomState) -> Division:
        """Divide n rows at random."""
        order = rng.permutation(n)
        if self.fraction == 0:
            return Division(order[: self.limit], None, order[: self.limit])
        held_out = min(max(1, int(self.fraction * n)), JUDGES, n - 1)
        train, judges = order[held_out:][: self.limit], order[:held_out]
        return Division(train, judges, order[: self.limit])

    def learn(
        self,
        recipe: Recipe,
        table: Table,
        rows: Division,
        warp: Warp,
        rng: RandomState,
        *,
        last_stage: bool = True,
    ) -> Learned:
        """Learn the bandwidths of one expansion."""
        judges, everything = rows.judges, None
        if judges is not None and last_stage:
            everything = table.sample(rows.everything, warp)
        return learn(
            recipe,
            table.sample(rows.train, warp),
            None if judges is None else table.sample(judges, warp),
            everything,
            _unknown if judges is None else self.loss(table, judges),
            device=self.device,
            rng=rng,
            watch=self.watch,
        )


def _unknown(predicted: Array) -> float:
    """Stand in where no rows are held out."""
    return math.nan
