"""LAB-RBF, Figure 5: the error against the bandwidth that learning starts from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from papers.figures.figure import Drawn, canvas, save
from papers.figures.lab_settings import (
    PRINTED,
    algorithm_1,
    by_default,
    mean_and_deviation,
    rsse,
)
from papers.figures.synthetic import FUNCTIONS, Function
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION

__all__ = ["LabStart"]

LINES = {
    "one fixed bandwidth": (GREY, ":"),
    "Algorithm 1": (BLUE, "--"),
    "pliant, ridge, so started": (PURPLE, "-."),
    "pliant, defaults": (VERMILION, "-"),
}


@dataclass(frozen=True)
class LabStart:
    """A panel for each function: mean and standard deviation of 1 - R2 over samples.

    Attributes
    ----------
    sigmas : tuple of float
        theta = sigma/M for all points and features, M the number of features.
    n_support, n_more, n_test : int
        Support points, other training points and test points, as in the paper.
    repeats : int
        Samples, each with its own noise.
    max_iter : int
        Steps of Algorithm 1.
    """

    sigmas: tuple[float, ...] = (0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    n_support: int = 100
    n_more: int = 100
    n_test: int = 800
    repeats: int = 10
    max_iter: int = 500
    seed: int = 0

    name: ClassVar[str] = "lab-rbf-figure-5"
    title: ClassVar[str] = "LAB-RBF, Figure 5: the start of the bandwidths"
    needs_data: ClassVar[bool] = False

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``lab-rbf-figure-5.png``."""
        figure = canvas(3.3 * len(FUNCTIONS), 3.7)
        panels = figure.subplots(1, len(FUNCTIONS), squeeze=False)[0]
        measured = {name: self._measure(function) for name, function in FUNCTIONS.items()}
        for ax, (name, function), part in zip(panels, FUNCTIONS.items(), "abcd", strict=True):
            self._draw(ax, measured[name])
            ax.set_title(f"({part}) {function.formula}", fontsize=10)
        panels[0].set_ylabel("1 − R² on test points")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        save(figure, folder, self.name)
        return Drawn(self._caption(measured), measured)

    def _measure(self, function: Function) -> dict[str, dict[str, dict[str, float]]]:
        """Return mean and deviation of each machine for each sigma; the defaults take none."""
        samples = [
            function.sample(
                self.n_support + self.n_more, self.n_test, np.random.default_rng([self.seed, k])
            )
            for k in range(self.repeats)
        ]
        level = mean_and_deviation(
            rsse(by_default(self.n_support, k), sample) for k, sample in enumerate(samples)
        )
        found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in LINES}
        for sigma in self.sigmas:
            start = sigma / function.n_features
            for name, line in found.items():
                errors = (
                    rsse(self._machine(name, start, k), sample) for k, sample in enumerate(samples)
                )
                takes_none = name == "pliant, defaults"
                line[f"{sigma:g}"] = level if takes_none else mean_and_deviation(errors)
        return found

    def _machine(self, name: str, start: float, seed: int) -> Any:
        """Return what is learned with, theta = `start` at first."""
        if name == "one fixed bandwidth":
            return fixed_bandwidth(start)
        if name == "Algorithm 1":
            return algorithm_1(self.n_support, start, seed, max_iter=self.max_iter)
        started = {"n_members": 1, "objective": "ridge", "initial_bandwidth": start}
        return by_default(self.n_support, seed, **started)

    def _draw(self, ax: Any, found: dict[str, dict[str, dict[str, float]]]) -> None:
        for name, (color, dash) in LINES.items():
            mean, deviation = (
                np.array([each[key] for each in found[name].values()])
                for key in ("mean", "deviation")
            )
            ax.plot(self.sigmas, mean, dash, color=color, label=name)
            low = np.maximum(mean - deviation, mean / 10)
            ax.fill_between(self.sigmas, low, mean + deviation, color=color, alpha=0.15, lw=0)
        ax.set(xscale="log", yscale="log", xlabel="σ at the start (θ = σ/M)")
        ax.tick_params(axis="y", which="minor", labelleft=False)

    def _caption(self, measured: dict[str, Any]) -> str:
        parts = "; ".join(
            f"{name}: {_span(found['one fixed bandwidth'])}, {_span(found['Algorithm 1'])}, "
            f"{_span(found['pliant, ridge, so started'])}, and "
            f"{_least(found['pliant, defaults']):.2g} for the defaults"
            for name, found in measured.items()
        )
        return (
            f"1 - R2 on {self.n_test} test points without noise against the bandwidth that all "
            f"{self.n_support} support points start from, with {self.n_more} more training points; "
            f"noise and domains as in Figure 4. Mean and standard deviation of {self.repeats} "
            f"samples. Algorithm 1 is the paper's as a setting of the class: {self.max_iter} steps "
            f"of Adam on log theta^2 with a rate of {PRINTED['learning_rate']:g} while the support "
            f"points grow, and as many after. One fixed bandwidth is kernel ridge regression on "
            f"all training points that keeps it. The third line has one member with the ridge "
            f"objective, all else by default, started there; the last one chooses its start "
            f"itself, so it is level. The paper: good and stable from 0.01 to 10. Not so here: "
            f"where all kernels are flat at the start, or almost Dirac functions, either "
            f"objective has little to go by, and a good start is worth more than steps. Least mean "
            f"for a fixed bandwidth, Algorithm 1 and the ridge objective, each with the σ of "
            f"at most twice that: {parts}."
        )


def fixed_bandwidth(theta: float) -> TransformedTargetRegressor:
    """Return kernel ridge regression with exp(-theta^2 |x - z|^2), features on [-1, 1]."""
    machine = KernelRidge(kernel="rbf", gamma=theta**2, alpha=1e-3)
    scaled = make_pipeline(MinMaxScaler((-1.0, 1.0)), machine)
    return TransformedTargetRegressor(scaled, transformer=StandardScaler(with_std=False))


def _least(found: dict[str, dict[str, float]]) -> float:
    return min(each["mean"] for each in found.values())


def _span(found: dict[str, dict[str, float]]) -> str:
    """Tell the least mean, and the first and the last sigma of at most twice that."""
    least = _least(found)
    near = [sigma for sigma, each in found.items() if each["mean"] <= 2 * least]
    ends = near[0] if len(near) == 1 else f"{near[0]} to {near[-1]}"
    return f"{least:.2g} (σ {ends})"
