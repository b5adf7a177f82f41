"""SCG-LDK: a Gaussian kernel adapted to labels in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from papers.side_information.blocks import LabelledBlock
from papers.side_information.learned import (
    POWERS,
    GaussianMachine,
    KernelMachine,
    gaussian_widths,
)
from papers.side_information.machine import Fold, Learned
from papers.side_information.protocol import SideProtocol, SideSample
from pliant import SCGLogDetLearner, SCGLogDetPath, SideInformation
from pliant.core.typing import Array, Indices
from pliant.kernels import Gaussian, Kernel

__all__ = ["LargeSCGLogDetMachine", "SCGLogDetMachine"]

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""The paper's values of its gamma."""


@dataclass(frozen=True)
class SCGLogDetMachine(KernelMachine):
    """SCG-LDK on a Gaussian kernel; strength and C are chosen together, and the width as well.

    Attributes
    ----------
    graph : str
        Over which points; the paper's is "complete".
    joint : bool
        Whether the width is chosen together with the strength, or is that of the plain machine.
    strengths : tuple of float
        The paper's gamma, not divided by the number of points.
    """

    solver: ClassVar[str] = "auto"
    graph: str = "complete"
    joint: bool = True
    powers: tuple[int, ...] = POWERS
    strengths: tuple[float, ...] = STRENGTHS
    name: str = "scg-ldk"
    title: str = "SCG-LDK"

    def candidates(
        self, sample: SideSample, folds: list[Fold], protocol: SideProtocol, seed: int
    ) -> Iterator[tuple[dict[str, Any], Learned]]:
        """Yield widths and strengths."""
        for setting in self._widths(sample, protocol, seed):
            learned_with = self._learned(sample, Gaussian(setting["gamma"]))
            for strength in self.strengths:
                yield {**setting, "strength": strength}, learned_with(strength)

    def _widths(
        self, sample: SideSample, protocol: SideProtocol, seed: int
    ) -> list[dict[str, Any]]:
        if self.joint:
            return gaussian_widths(sample, self.powers)
        chosen = GaussianMachine(self.powers).choose(sample, protocol, seed)
        return [{key: chosen[key] for key in ("power", "gamma")}]

    def _learned(self, sample: SideSample, kernel: Kernel) -> Callable[[float], Learned]:
        """Return how the kernel is learned with a strength; one eigendecomposition for all.

        With a graph over the labelled points the others do not count.
        """
        complete = self.graph == "complete"
        points = sample.X if complete else sample.X[sample.labelled]
        looked_at = sample.labelled if complete else slice(None)
        path = SCGLogDetPath(kernel(points))

        def learned(strength: float, rows: Indices) -> Array:
            partial = sample.partial(rows)
            known = SideInformation.from_labels(
                partial if complete else partial[sample.labelled], unlabeled=-1
            )
            gram = path.gram(known, strength, graph=self.graph, scale_strength=False)
            return gram[looked_at][:, looked_at]

        return lambda strength: lambda rows: learned(strength, rows)

    def learn(self, sample: SideSample, setting: dict[str, Any], seed: int) -> Kernel:
        """Return the learned kernel."""
        learner = SCGLogDetLearner(
            gamma=setting["gamma"],
            strength=setting["strength"],
            scale_strength=False,
            graph=self.graph,
            solver=self.solver,
            unlabeled=-1,
        )
        return learner.fit(sample.X, sample.partial(sample.labelled)).kernel_

    def words(self) -> str:
        """Say what is chosen."""
        over = "all points, as in the paper" if self.graph == "complete" else "the labelled points"
        width = f"{len(self.powers)} widths" if self.joint else "the plain machine's width"
        return (
            f"SCGLogDetLearner with the graph over {over}, {width}, and the paper's gamma from "
            f"{min(self.strengths):g} to {max(self.strengths):g}"
        )


@dataclass(frozen=True)
class LargeSCGLogDetMachine(SCGLogDetMachine):
    """The same over the complete graph of many points: one Cholesky factorisation a strength."""

    solver: ClassVar[str] = "cholesky"
    joint: bool = False

    def _learned(self, sample: SideSample, kernel: Kernel) -> Callable[[float], Learned]:
        """Return how the kernel is learned with a strength, on the labelled rows alone."""
        gram = kernel(sample.X)

        def learned_with(strength: float) -> Learned:
            block = LabelledBlock.of(gram, sample.labelled, strength)
            return lambda rows: block.gram(sample.partial(rows)[sample.labelled])

        return learned_with
