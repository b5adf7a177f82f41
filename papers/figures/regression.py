"""DANK, Figure 6: a step function and a function of two variables, by SVR-CV and by DANK."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from papers.figures.figure import LEARNED_LINE, SVM_LINE, PaperFigure, canvas, diverging, places
from papers.figures.samples import Chosen, Grid, Sample, adaptation_numbers, choose, gamma_of
from pliant import C_path, DANKRegressor
from pliant.core.typing import Array
from pliant.datasets import cherkassky_function, step_function
from pliant.plots._common import BLUE, GREY, VERMILION

SVR_CV, DANK = "SVR-CV", "DANK"
SAME, BEST = "DANK with the parameters of SVR-CV", "SVR, best of the grid on the test points"
MISSED = "test 1 - R2"

Measured: TypeAlias = dict[str, dict[str, Any]]
"""Numbers of each model."""


@dataclass(frozen=True)
class Rivals:
    """SVR-CV and DANK, which differ in the kernel only."""

    grid: Grid = field(default_factory=lambda: Grid(eta_scales=(1.0, 0.1, 0.01)))
    """Its `eta_scales` are DANK's."""
    epsilon: float = 0.01
    """Errors that are free, in standard deviations of the training target."""
    tau: float = 0.01
    tuning_tol: float = 1e-3
    """Relative gap to which DANK is solved while choosing."""

    def compare(self, sample: Sample) -> tuple[tuple[Any, Any], Measured]:
        """Return both, tuned and fitted on the training points, and what was measured of them."""
        plain = choose(self._svrs, sample.X, sample.y, replace(self.grid, eta_scales=(1.0,)))
        learned = choose(self._danks, sample.X, sample.y, self.grid)
        (svr,) = self._svrs(plain.gamma, 1.0, [plain.C], sample.X, sample.y)
        dank, same = (
            self._dank(c.gamma, c.eta_scale).set_params(C=c.C, tol=1e-4).fit(sample.X, sample.y)
            for c in (learned, plain)
        )
        measured = {
            SVR_CV: _numbers(svr, len(svr.regressor_.support_), plain, sample),
            DANK: _dank_numbers(dank, learned, sample),
            SAME: _dank_numbers(same, plain, sample),
            BEST: self._best_svr(sample),
        }
        return (svr, dank), measured

    def _svrs(
        self, gamma: float, _: float, Cs: Sequence[float], X: Array, y: Array
    ) -> list[TransformedTargetRegressor]:
        models = [SVR(gamma=gamma, C=C, epsilon=self.epsilon) for C in Cs]
        scaled = [TransformedTargetRegressor(m, transformer=StandardScaler()) for m in models]
        return [model.fit(X, y) for model in scaled]

    def _best_svr(self, sample: Sample) -> dict[str, float]:
        """Return what the SVR could reach, had cross-validation known the test points."""
        candidates = [
            {"sigma": sigma, "C": C, MISSED: 1.0 - svr.score(sample.X_test, sample.y_test)}
            for sigma in self.grid.sigmas
            for C, svr in zip(
                self.grid.Cs,
                self._svrs(gamma_of(sigma), 1.0, self.grid.Cs, sample.X, sample.y),
                strict=True,
            )
        ]
        return min(candidates, key=lambda each: each[MISSED])

    def _danks(
        self, gamma: float, eta_scale: float, Cs: Sequence[float], X: Array, y: Array
    ) -> list[DANKRegressor]:
        return C_path(self._dank(gamma, eta_scale), X, y, Cs)

    def _dank(self, gamma: float, eta_scale: float) -> DANKRegressor:
        given = {"epsilon": self.epsilon, "tau": self.tau, "tol": self.tuning_tol}
        return DANKRegressor(gamma=gamma, eta_scale=eta_scale, **given)


class StepFunction(PaperFigure):
    """A column for each a: the printed one, and its inverse, which gives steps."""

    name = "dank-figure-6a"
    more: ClassVar = {"rivals": Rivals()}

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        count = len(self.sharpness)
        figure, panels = canvas(5.2 * count, 5.6, 2, count, sharex=True, height_ratios=(2.2, 1))
        measured = {}
        for column, a in zip(panels.T, self.sharpness, strict=True):
            sample = self._sample(a)
            models, numbers = self.rivals.compare(sample)
            _draw_column(column, sample, models)
            plain, learned = (numbers[name][MISSED] for name in (SVR_CV, DANK))
            column[0].set_title(f"a = {a:g}; 1 − R²: SVR-CV {plain:.2g}, DANK {learned:.2g}")
            straight = self.s / self.w * sample.X_test[:, 0]
            bend = float(np.abs(sample.y_test - straight).max())
            measured[f"a = {a:g}"] = {"distance from the line s x/w": bend, **numbers}
        panels[0, 0].legend(fontsize=8)
        return figure, measured

    def _sample(self, a: float) -> Sample:
        x, x_test = (np.linspace(-5.0, 5.0, m) for m in (self.n, self.n_test))
        y, y_test = (
            step_function(each, height=self.s, period=self.w, sharpness=a) for each in (x, x_test)
        )
        return Sample(x[:, None], y, x_test[:, None], y_test)

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        bend = measured[f"a = {self.sharpness[0]:g}"]["distance from the line s x/w"]
        return {"bend": bend, "last": self.sharpness[-1], "outcome": _outcome(measured)}


class Surface(PaperFigure):
    """A row for each square: the function, and what SVR-CV and DANK miss of it."""

    name = "dank-figure-6bcd"
    more: ClassVar = {"rivals": Rivals()}

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        figure, rows = canvas(12.5, 3.9 * len(self.squares), len(self.squares), 3)
        measured = {}
        for (low, high), row in zip(self.squares, rows, strict=True):
            sample = self._sample(low, high)
            models, numbers = self.rivals.compare(sample)
            self._draw_row(row, sample, dict(zip((SVR_CV, DANK), models, strict=True)), numbers)
            measured[f"square [{low:g}, {high:g}]^2"] = numbers
        return figure, measured

    def _sample(self, low: float, high: float) -> Sample:
        points = np.random.default_rng(self.seed).uniform(low, high, (self.n, 2))
        ends = np.linspace(low, high, self.resolution)
        grid = places(ends, ends)
        values, fresh = (cherkassky_function(each, "surface") for each in (points, grid))
        return Sample(points, values, grid, fresh)

    def _draw_row(
        self, row: Any, sample: Sample, models: dict[str, Any], numbers: Measured
    ) -> None:
        """Draw the surface, and both errors with one scale of colours, but for the worst 1 %."""
        u, v, g = (
            values.reshape(self.resolution, self.resolution)
            for values in (*sample.X_test.T, sample.y_test)
        )
        figure = row[0].figure
        row[0].remove()
        surface = figure.add_subplot(row[0].get_subplotspec(), projection="3d")
        surface.plot_surface(u, v, g, cmap="viridis", linewidth=0)
        surface.set(xlabel="u", ylabel="v", title="g(u, v)")
        surface.set_box_aspect(None, zoom=0.85)
        errors = {
            label: (model.predict(sample.X_test) - sample.y_test).reshape(u.shape)
            for label, model in models.items()
        }
        limit = max(np.percentile(np.abs(each), 99) for each in errors.values())
        for ax, (label, error) in zip(row[1:], errors.items(), strict=True):
            image = ax.pcolormesh(u, v, error, cmap=diverging(), vmin=-limit, vmax=limit)
            ax.scatter(*sample.X.T, 2, color="black", linewidths=0)
            ax.set(xlabel="u", ylabel="v", aspect="equal")
            ax.set_title(f"{label}: 1 − R² = {numbers[label][MISSED]:.2g}")
            figure.colorbar(image, ax=ax, label="prediction − g(u, v)", shrink=0.85, extend="both")

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": _outcome(measured)}


def _numbers(model: Any, n_support: int, chosen: Chosen, sample: Sample) -> dict[str, Any]:
    return {
        **chosen._asdict(),
        "support points": n_support,
        "training 1 - R2": 1.0 - model.score(sample.X, sample.y),
        MISSED: 1.0 - model.score(sample.X_test, sample.y_test),
    }


def _dank_numbers(model: DANKRegressor, chosen: Chosen, sample: Sample) -> dict[str, Any]:
    return {**_numbers(model, len(model.support_), chosen, sample), **adaptation_numbers(model)}


def _draw_column(column: Any, sample: Sample, models: tuple[Any, Any]) -> None:
    upper, lower = column
    x = sample.X_test[:, 0]
    upper.plot(x, sample.y_test, color=GREY, linewidth=4, alpha=0.35, label="g")
    lower.axhline(0, color=GREY, linewidth=4, alpha=0.35)
    looks = ((SVR_CV, BLUE, SVM_LINE), (DANK, VERMILION, LEARNED_LINE))
    for model, (label, color, dash) in zip(models, looks, strict=True):
        predicted = model.predict(sample.X_test)
        upper.plot(x, predicted, color=color, linestyle=dash, linewidth=1.2, label=label)
        lower.plot(x, predicted - sample.y_test, color=color, linestyle=dash, linewidth=1.2)
    upper.set_ylabel("g(x)")
    lower.set(xlabel="x", ylabel="prediction − g(x)")


def _outcome(measured: dict[str, dict[str, Any]]) -> str:
    """Return the comparisons in words, and for each of them which model misses less."""
    parts = ". ".join(f"{label}: {_in_words(m)}" for label, m in measured.items())
    better = " ".join(
        f"For {label} {DANK if m[DANK][MISSED] < m[SVR_CV][MISSED] else SVR_CV} is the better one."
        for label, m in measured.items()
    )
    return f"{parts}. {better}"


def _in_words(measured: dict[str, dict[str, Any]]) -> str:
    svr, dank, same, best = (measured[name] for name in (SVR_CV, DANK, SAME, BEST))
    return (
        f"SVR-CV {svr[MISSED]:.2g} (σ = {svr['sigma']:g}, C = {svr['C']:g}), DANK "
        f"{dank[MISSED]:.2g} (σ = {dank['sigma']:g}, C = {dank['C']:g}, eta_scale "
        f"{dank['eta_scale']:g}), DANK with the SVR's σ and C {same[MISSED]:.2g}; the best "
        f"SVR of the grid, had the choice been made on these points, {best[MISSED]:.2g} "
        f"(σ = {best['sigma']:g}, C = {best['C']:g})"
    )
