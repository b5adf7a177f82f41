"""LDK: a Gaussian kernel adapted to bounds on the distances of labelled pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from papers.side_information.learned import POWERS, GaussianMachine, KernelMachine
from papers.side_information.machine import Fold, Learned
from papers.side_information.protocol import SideProtocol, SideSample
from pliant import LogDetLearner
from pliant.core.typing import Array, Indices
from pliant.kernels import Kernel

__all__ = ["LogDetMachine"]


@dataclass(frozen=True)
class LogDetMachine(KernelMachine):
    """LDK on a Gaussian kernel of the plain machine's width; slack and C are chosen together.

    Attributes
    ----------
    slacks : tuple of float
        The prices of breaking a bound.
    max_pairs : int
        Drawn at random from those of the labelled points.
    """

    slacks: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    max_pairs: int = 5000
    powers: tuple[int, ...] = POWERS
    name: str = "ldk"
    title: str = "LDK"

    def candidates(
        self, sample: SideSample, folds: list[Fold], protocol: SideProtocol, seed: int
    ) -> Iterator[tuple[dict[str, Any], Learned]]:
        """Yield the slacks."""
        plain = GaussianMachine(self.powers).choose(sample, protocol, seed)
        labelled = sample.X[sample.labelled]
        for slack in self.slacks:
            setting = {"power": plain["power"], "gamma": plain["gamma"], "slack": slack}

            def learned(rows: Indices, setting: dict[str, Any] = setting) -> Array:
                return self._kernel(sample, rows, setting, seed)(labelled)

            yield setting, learned

    def learn(self, sample: SideSample, setting: dict[str, Any], seed: int) -> Kernel:
        """Return the learned kernel."""
        return self._kernel(sample, sample.labelled, setting, seed)

    def _kernel(
        self, sample: SideSample, rows: Indices, setting: dict[str, Any], seed: int
    ) -> Kernel:
        learner = LogDetLearner(
            gamma=setting["gamma"],
            slack=setting["slack"],
            max_pairs=self.max_pairs,
            unlabeled=-1,
            random_state=seed,
        )
        return learner.fit(sample.X, sample.partial(rows)).kernel_

    def words(self) -> str:
        """Say what is chosen."""
        return (
            f"LogDetLearner with its default bounds and tolerance, {self.max_pairs} random pairs "
            "of labelled points at most (the paper takes all), the plain machine's width, slack "
            f"from {min(self.slacks):g} to {max(self.slacks):g}"
        )
