"""LAB-RBF, Figures 4 and 5: the error against the support points, and against the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from papers.figures.figure import PaperFigure, canvas, legend_of, lettered
from papers.figures.lab_settings import FUNCTIONS, PRINTED, Function, algorithm_1, by_default
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION

FIXED, ALGORITHM_1 = "one fixed bandwidth", "Algorithm 1"
STARTED, DEFAULTS = "pliant, ridge, so started", "pliant, defaults"

LOOKS = {
    FIXED: (GREY, ":"),
    ALGORITHM_1: (BLUE, "--"),
    STARTED: (PURPLE, "-."),
    DEFAULTS: (VERMILION, "-"),
}
"""Colour and dash of each model's line."""

Line: TypeAlias = dict[str, dict[str, float]]
"""Mean and deviation for each position on the axis."""

Model: TypeAlias = Callable[[float, int, int], Any]
"""Position, number of features and seed -> a model that is not fitted."""


class ErrorCurves(PaperFigure):
    """A panel for each function: mean and standard deviation of 1 - R2 over samples."""

    def _measure(
        self, function: Function, n: int, models: Mapping[str, Model], positions: Sequence[float]
    ) -> dict[str, Line]:
        """Return mean and deviation of each model at each position, learned from n points."""
        rngs = (np.random.default_rng([self.seed, k]) for k in range(self.repeats))
        samples = [function.sample(n, self.n_test, rng) for rng in rngs]
        return {
            name: {
                f"{position:g}": _mean_and_deviation(
                    1.0 - float(make(position, function.n_features, k).fit(X, y).score(*test))
                    for k, (X, y, *test) in enumerate(samples)
                )
                for position in positions
            }
            for name, make in models.items()
        }

    def _draw(
        self, measured: dict[str, Any], x: Sequence[float], height: float, **look: Any
    ) -> tuple[Any, Any]:
        """Draw the means, and a standard deviation to either side where it is positive."""
        figure, (panels,) = canvas(3.3 * len(FUNCTIONS), height, 1, len(FUNCTIONS))
        for ax, lines in zip(panels, measured.values(), strict=True):
            for name, line in lines.items():
                color, dash = LOOKS[name]
                mean, deviation = (
                    np.array([each[key] for each in line.values()]) for key in ("mean", "deviation")
                )
                ax.plot(x, mean, dash, color=color, label=name, **look)
                low = np.maximum(mean - deviation, mean / 10)
                ax.fill_between(x, low, mean + deviation, color=color, alpha=0.2, linewidth=0)
            ax.set(yscale="log")
            ax.tick_params(axis="y", which="minor", labelleft=False)
        lettered(panels, [function.formula for function in FUNCTIONS.values()])
        panels[0].set_ylabel("1 − R² on test points")
        return figure, panels


class LabSupport(ErrorCurves):
    """The error against the share of the training points that are support points."""

    name = "lab-rbf-figure-4"

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        models: dict[str, Model] = {
            ALGORITHM_1: lambda share, d, k: algorithm_1(
                round(share * self.n), 1.0 / d, k, max_iter=self.max_iter
            ),
            DEFAULTS: lambda share, d, k: by_default(round(share * self.n), k),
        }
        measured = {
            name: self._measure(function, self.n, models, self.shares)
            for name, function in FUNCTIONS.items()
        }
        percent = [100 * share for share in self.shares]
        figure, panels = self._draw(measured, percent, 3.5, marker="o", markersize=3)
        for ax in panels:
            ax.set(xlabel="support points (% of training points)")
        panels[0].legend(fontsize=8)
        return figure, measured

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        best = [
            {"name": name, "printed": _best(lines[ALGORITHM_1]), "ours": _best(lines[DEFAULTS])}
            for name, lines in measured.items()
        ]
        return {"noise": [FUNCTIONS[name].noise for name in ("sin(x^3)", "f1")], "best": best}


class LabStart(ErrorCurves):
    """The error against the bandwidth that learning starts from."""

    name = "lab-rbf-figure-5"

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        measured = {name: self._lines(function) for name, function in FUNCTIONS.items()}
        figure, panels = self._draw(measured, self.sigmas, 3.7)
        for ax in panels:
            ax.set(xscale="log", xlabel="σ at the start (θ = σ/M)")
        legend_of(panels[0], "lower center")
        return figure, measured

    def _lines(self, function: Function) -> dict[str, Line]:
        """Return the line of each model; the defaults choose their own start, so it is level."""
        n, ridge = self.n_support + self.n_more, {"n_members": 1, "objective": "ridge"}
        models: dict[str, Model] = {
            FIXED: lambda sigma, d, k: _fixed_bandwidth(sigma / d),
            ALGORITHM_1: lambda sigma, d, k: algorithm_1(
                self.n_support, sigma / d, k, max_iter=self.max_iter
            ),
            STARTED: lambda sigma, d, k: by_default(
                self.n_support, k, initial_bandwidth=sigma / d, **ridge
            ),
        }
        lines = self._measure(function, n, models, self.sigmas)
        level: dict[str, Model] = {DEFAULTS: lambda _, d, k: by_default(self.n_support, k)}
        ((least,),) = (
            line.values() for line in self._measure(function, n, level, [np.nan]).values()
        )
        return {**lines, DEFAULTS: {f"{sigma:g}": least for sigma in self.sigmas}}

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        parts = [
            {
                "name": name,
                "spans": ", ".join(_span(lines[each]) for each in (FIXED, ALGORITHM_1, STARTED)),
                "ours": _least(lines[DEFAULTS]),
            }
            for name, lines in measured.items()
        ]
        return {"rate": PRINTED["learning_rate"], "parts": parts}


def _fixed_bandwidth(theta: float) -> TransformedTargetRegressor:
    """Return kernel ridge regression with exp(-theta^2 |x - z|^2), features on [-1, 1]."""
    ridge = KernelRidge(kernel="rbf", gamma=theta**2, alpha=1e-3)
    scaled = make_pipeline(MinMaxScaler((-1.0, 1.0)), ridge)
    return TransformedTargetRegressor(scaled, transformer=StandardScaler(with_std=False))


def _mean_and_deviation(values: Iterator[float]) -> dict[str, float]:
    errors = np.fromiter(values, dtype=np.float64)
    return {"mean": float(errors.mean()), "deviation": float(errors.std(ddof=1))}


def _best(line: Line) -> str:
    share, least = min(line.items(), key=lambda each: each[1]["mean"])
    return f"{least['mean']:.2g} at {100 * float(share):.0f} %"


def _least(line: Line) -> float:
    return min(each["mean"] for each in line.values())


def _span(line: Line) -> str:
    """Return the least mean, and the first and the last sigma of at most twice that."""
    least = _least(line)
    near = [sigma for sigma, each in line.items() if each["mean"] <= 2 * least]
    ends = near[0] if len(near) == 1 else f"{near[0]} to {near[-1]}"
    return f"{least:.2g} (σ {ends})"
