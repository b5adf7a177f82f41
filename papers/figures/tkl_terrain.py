"""TKL, Figure 3: a terrain with sharp edges, by a Gaussian SVR and by TKL of degree 2."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from papers.figures.figure import PaperFigure, canvas, places
from papers.figures.samples import Sample
from pliant import TKLRegressor
from pliant.core.typing import Array, Mask
from pliant.datasets import make_terrain, terrain_elevation

GAUSSIAN, TESSELLATED = "Gaussian SVR", "TKL, degree 2"

CLIFF = 0.02
"""The width of a cliff; points nearer than that to one count as near."""

STEEP = 150.0
"""Metres by which the ground rises or falls within CLIFF of a point near a cliff."""


def near_cliffs(X: Array, angle: float) -> Mask:
    """Return whether a cliff stands within its own width of each point."""
    around = [(0.0, 0.0), (CLIFF, 0.0), (-CLIFF, 0.0), (0.0, CLIFF), (0.0, -CLIFF)]
    heights = np.array([terrain_elevation(X + np.array(step), angle) for step in around])
    return np.asarray(np.abs(heights - heights[0]).max(axis=0) > STEEP)


class TklTerrain(PaperFigure):
    """A row for each angle of the canyon: the terrain, and what both models make of it."""

    name = "tkl-figure-3"

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        rows = len(self.angles)
        figure, axes = canvas(11.6, 3.9 * rows, rows, 3, sharex=True, sharey=True)
        measured: dict[str, Any] = {}
        for panels, angle in zip(axes, self.angles, strict=True):
            sample = self._sample(angle)
            numbers: dict[str, Any] = {}
            self._show(panels[0], sample.y_test, f"terrain, turned by {angle:g}°")
            panels[0].plot(*sample.X.T, ".", color="black", markersize=1.5)
            for ax, (label, model) in zip(panels[1:], self._models().items(), strict=True):
                predicted = model.fit(sample.X, sample.y).predict(sample.X_test)
                numbers[label] = _numbers(model, predicted - sample.y_test, sample, angle)
                self._show(ax, predicted, f"{label}: {numbers[label]['RMSE']:.0f} m")
            measured[f"turned by {angle:g} degrees"] = numbers
        return figure, measured

    def _sample(self, angle: float) -> Sample:
        X, y = make_terrain(self.n, angle=angle, random_state=self.seed)
        ends = (np.arange(self.resolution) + 0.5) / self.resolution
        grid = places(ends, ends)
        return Sample(X, y, grid, terrain_elevation(grid, angle))

    def _models(self) -> dict[str, GridSearchCV]:
        """Return both models, with what is tried in cross-validation."""
        svr = TransformedTargetRegressor(SVR(epsilon=self.epsilon), transformer=StandardScaler())
        tkl = TKLRegressor(degree=2, epsilon=self.epsilon)
        folds = KFold(self.folds, shuffle=True, random_state=self.seed)
        options = {"cv": folds, "scoring": "neg_root_mean_squared_error"}
        grid = {"regressor__gamma": self.gammas, "regressor__C": self.Cs}
        return {
            GAUSSIAN: GridSearchCV(svr, grid, **options),
            TESSELLATED: GridSearchCV(tkl, {"delta": self.deltas, "C": self.Cs}, **options),
        }

    def _show(self, ax: Any, heights: Array, title: str) -> None:
        """Draw a shaded relief, as on a map."""
        from matplotlib import colormaps
        from matplotlib.colors import LightSource

        relief = heights.reshape(self.resolution, self.resolution)
        light = LightSource(azdeg=315, altdeg=45)
        shaded = light.shade(
            relief, cmap=colormaps["gist_earth"], vmin=0.0, vmax=2900.0, blend_mode="soft",
            vert_exag=1.0, dx=10_000.0 / self.resolution, dy=10_000.0 / self.resolution,
        )  # fmt: skip
        ax.imshow(shaded, origin="lower", extent=(0, 1, 0, 1), interpolation="nearest")
        ax.set_title(title, fontsize=10)
        ax.set_xticks([0, 0.5, 1])
        ax.set_yticks([0, 0.5, 1])

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        parts = [
            {"place": place, "gaussian": numbers[GAUSSIAN], "tkl": numbers[TESSELLATED]}
            for place, numbers in measured.items()
        ]
        return {"parts": parts}


def _numbers(model: GridSearchCV, errors: Array, sample: Sample, angle: float) -> dict[str, Any]:
    """Return what was chosen, and root mean squared errors."""
    near = near_cliffs(sample.X_test, angle)
    chosen = {key.rpartition("__")[2]: float(value) for key, value in model.best_params_.items()}
    return {
        **chosen,
        "RMSE in cross-validation": float(-model.best_score_),
        "RMSE": _root_mean_square(errors),
        "RMSE near cliffs": _root_mean_square(errors[near]),
        "RMSE elsewhere": _root_mean_square(errors[~near]),
        "share near cliffs": float(near.mean()),
    }


def _root_mean_square(errors: Array) -> float:
    return float(np.sqrt(np.mean(errors**2)))
