"""DANK, Figure 2: the entries of F on clowns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from papers.figures.figure import Drawn, canvas, diverging, eta_text, save
from papers.figures.samples import Sample, clowns
from papers.figures.tuning import Grid, choose, svm
from pliant import DANKClassifier
from pliant.core.typing import Array

__all__ = ["DankEntries", "heat_map"]


@dataclass(frozen=True)
class DankEntries:
    """F on all pairs of the training points of Figure 1, for the paper's eta and a smaller one."""

    n_per_class: int = 100
    n_test_per_class: int = 5000
    seed: int = 0
    sigma: float = 1.0
    eta_scales: tuple[float, ...] = (1.0, 0.01)
    tau: float = 0.01
    grid: Grid = field(default_factory=Grid)

    name: ClassVar[str] = "dank-figure-2"
    title: ClassVar[str] = "DANK, Figure 2: the entries of F on clowns"
    needs_data: ClassVar[bool] = False

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``dank-figure-2.png``."""
        sample = clowns(self.n_per_class, self.n_test_per_class, self.seed)
        grid = replace(self.grid, sigmas=(self.sigma,))
        gamma, C = (chosen := choose(svm, sample.X, sample.y, grid)).gamma, chosen.C
        figure = canvas(4.6 * len(self.eta_scales), 4.2)
        panels = figure.subplots(1, len(self.eta_scales), squeeze=False)[0]
        measured = {}
        for ax, scale in zip(panels, self.eta_scales, strict=True):
            model = DANKClassifier(gamma=gamma, C=C, eta_scale=scale, tau=self.tau)
            F = model.fit(sample.X, sample.y).adaptation_.toarray()
            found = _numbers(model, F, sample)
            heat_map(ax, F, "F")
            ax.set_title(
                f"{eta_text(scale)}: rank {found['rank of F']} of "
                f"{len(F)},\nentries {F.min():.3f} to {F.max():.3f}"
            )
            measured[f"eta_scale {scale:g}"] = found
        save(figure, folder, self.name)
        return Drawn(self._caption(C, measured), {"C": C, **measured})

    def _caption(self, C: float, measured: dict[str, dict[str, Any]]) -> str:
        parts = "; ".join(
            f"with {eta_text(scale)} the rank is "
            f"{m['rank of F']} and the entries lie between {m['least entry of F']:.3f} and "
            f"{m['largest entry of F']:.3f} (without the trace term, τ = 0, the rank is "
            f"{m['rank of F for tau = 0']})"
            for scale, m in zip(self.eta_scales, measured.values(), strict=True)
        )
        return (
            f"F on all pairs of the {2 * self.n_per_class} points of Figure 1, σ = "
            f"{self.sigma:g}, C = {C:g}, τ = {self.tau:g}; the first half is class +1. The "
            f"paper: low rank, entries from 0.9 to 1.1. Measured: {parts}. Rows of points without "
            f"a coefficient are all alike, so a low rank is easily had."
        )


def _numbers(model: DANKClassifier, F: Array, sample: Sample) -> dict[str, Any]:
    parameters = {**model.get_params(), "eta": model.eta_, "eta_scale": 1.0, "tau": 0.0}
    without = DANKClassifier(**parameters).fit(sample.X, sample.y)
    return {
        "eta": model.eta_,
        "support points": len(model.support_),
        "rank of F": model.adaptation_.rank,
        "rank of F for tau = 0": without.adaptation_.rank,
        "least entry of F": float(F.min()),
        "largest entry of F": float(F.max()),
    }


def heat_map(ax: Any, matrix: Array, name: str) -> None:
    """Draw the entries of an adaptive matrix, in colours that diverge from white at 1.

    The scale ends where 0.5 % of the entries lie beyond it.
    """
    limit = float(np.percentile(np.abs(matrix - 1.0), 99.5)) or 1.0
    image = ax.imshow(
        matrix, cmap=diverging(), vmin=1 - limit, vmax=1 + limit, interpolation="nearest"
    )
    ax.figure.colorbar(
        image, ax=ax, label=f"entries of {name} (no unit)", shrink=0.85, extend="both"
    )
    ax.set(xlabel="training point", ylabel="training point")
