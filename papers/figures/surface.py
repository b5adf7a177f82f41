"""DANK, Figure 6(b-d): a function of two variables, by SVR-CV and DANK."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from papers.figures.figure import Drawn, canvas, diverging, save
from papers.figures.regression import Comparison, Rivals, better, tell
from papers.figures.samples import Sample
from pliant.core.typing import Array

__all__ = ["Surface", "cherkassky"]


def cherkassky(u: Array, v: Array) -> Array:
    """Return g(u, v) = 42.659 (0.1 + (u - 0.5) (g1 + 0.05)), as the DANK paper prints it.

    g1 = (u - 0.5)^4 - 10 (u - 0.5)^2 (v - 0.5)^2 + 5 (v - 0.5)^4.
    """
    p, q = u - 0.5, v - 0.5
    return np.asarray(42.659 * (0.1 + p * (p**4 - 10 * p**2 * q**2 + 5 * q**4 + 0.05)))


@dataclass(frozen=True)
class Surface:
    """A row for each square: the function, and what SVR-CV and DANK miss of it.

    Attributes
    ----------
    squares : tuple of (float, float)
        Ends of both variables: the printed ones, and those for which u - 0.5 is centred.
    n : int
        Training points, uniform in the square.
    resolution : int
        The test points are a grid of its square many.
    """

    squares: tuple[tuple[float, float], ...] = ((-0.5, 0.5), (0.0, 1.0))
    n: int = 400
    resolution: int = 50
    seed: int = 0
    rivals: Rivals = field(default_factory=Rivals)

    name: ClassVar[str] = "dank-figure-6bcd"
    title: ClassVar[str] = "DANK, Figure 6(b-d): a function of two variables"
    needs_data: ClassVar[bool] = False

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``dank-figure-6bcd.png``."""
        figure = canvas(12.5, 3.9 * len(self.squares))
        measured = {}
        for row, square in enumerate(self.squares):
            sample = self._sample(*square)
            found = self.rivals.compare(sample)
            self._draw_row(figure, row, sample, found)
            measured[f"square [{square[0]:g}, {square[1]:g}]^2"] = found.measured
        save(figure, folder, self.name)
        return Drawn(self._caption(measured), measured)

    def _sample(self, low: float, high: float) -> Sample:
        points = np.random.default_rng(self.seed).uniform(low, high, (self.n, 2))
        ends = np.linspace(low, high, self.resolution)
        grid = np.stack(np.meshgrid(ends, ends), axis=-1).reshape(-1, 2)
        return Sample(points, cherkassky(*points.T), grid, cherkassky(*grid.T))

    def _draw_row(self, figure: Any, row: int, sample: Sample, found: Comparison) -> None:
        """Draw the surface, and both errors with one scale of colours, but for the worst 1 %."""
        shape = len(self.squares), 3
        u, v, g = (
            values.reshape(self.resolution, self.resolution)
            for values in (*sample.X_test.T, sample.y_test)
        )
        surface = figure.add_subplot(*shape, 3 * row + 1, projection="3d")
        surface.plot_surface(u, v, g, cmap="viridis", linewidth=0)
        surface.set(xlabel="u", ylabel="v", title="g(u, v)")
        surface.set_box_aspect(None, zoom=0.85)
        errors = [
            (machine.predict(sample.X_test) - sample.y_test).reshape(u.shape)
            for machine in (found.plain, found.learned)
        ]
        limit = max(np.percentile(np.abs(each), 99) for each in errors)
        for k, (label, error, score) in enumerate(
            zip(("SVR-CV", "DANK"), errors, found.errors(), strict=True)
        ):
            ax = figure.add_subplot(*shape, 3 * row + 2 + k, aspect="equal")
            image = ax.pcolormesh(u, v, error, cmap=diverging(), vmin=-limit, vmax=limit)
            ax.scatter(*sample.X.T, 2, color="black", linewidths=0)
            ax.set(xlabel="u", ylabel="v", title=f"{label}: 1 − R² = {score:.2g}")
            figure.colorbar(image, ax=ax, label="prediction − g(u, v)", shrink=0.85, extend="both")

    def _caption(self, measured: dict[str, Any]) -> str:
        parts = ". ".join(f"{label}: {tell(m)}" for label, m in measured.items())
        return (
            f"The function g, and prediction less g of either machine, learned from {self.n} "
            f"uniform points (dots) without noise. The first row has the printed square; its terms "
            f"are centred at (0.5, 0.5), so the second row has [0, 1]^2. Width, C and DANK's "
            f"eta_scale by cross-validation for each machine, epsilon {self.rivals.epsilon:g} "
            f"standard deviations, τ {self.rivals.tau:g}. 1 - R2, which the paper calls RMSE, is "
            f"0.042 for SVR-CV and 0.007 for DANK in the paper. Measured on a grid of "
            f"{self.resolution} by {self.resolution}, {parts}. {better(measured)}"
        )
