"""What the studies ask of a contestant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any, ClassVar, TypeAlias

import numpy as np

from papers.local.protocol import LocalSample

__all__ = ["Contestant", "Setting"]

Setting: TypeAlias = dict[str, Any]
"""What was chosen, by name."""


class Contestant(ABC):
    """A frozen dataclass whose fields say how it is tuned and fitted.

    Attributes
    ----------
    name, title : str
        In the records and on the pages.
    most_rows : int or None
        It is fitted to this many random training rows at most; None for all.
    package : str or None
        What has to be installed besides this project's own requirements.
    scaled : bool
        Whether it gets features and target scaled to [-1, 1], or in their own units.
    """

    name: str
    title: str
    most_rows: int | None = None
    package: ClassVar[str | None] = None
    scaled: ClassVar[bool] = True

    @abstractmethod
    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the estimator to be fitted to the sample."""

    @abstractmethod
    def words(self) -> str:
        """Say in a sentence how it is tuned and fitted."""

    def choose(self, sample: LocalSample, seed: int) -> Setting:
        """Return the parameters that the training rows choose; none, if nothing is tuned."""
        return {}

    def fit(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the machine, fitted to the training rows or to `most_rows` of them."""
        X, y = sample.X, sample.y
        if self.most_rows is not None and len(y) > self.most_rows:
            kept = np.random.default_rng(seed).permutation(len(y))[: self.most_rows]
            X, y = X[kept], y[kept]
        return self.machine(sample, setting, seed).fit(X, y)

    def details(self, machine: Any) -> dict[str, float]:
        """Return numbers of a fitted machine that are worth keeping."""
        return {}

    def installed(self) -> bool:
        """Return whether the package it needs is at hand."""
        return self.package is None or find_spec(self.package) is not None
