"""LAB-RBF, Figure 1: a signal whose frequency changes, with bandwidths fixed and learned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from papers.figures.figure import Drawn, canvas, save
from papers.figures.lab_settings import algorithm_1, by_default
from papers.figures.samples import Sample
from pliant.core.typing import Array
from pliant.plots._common import BLUE, GREY, VERMILION

__all__ = ["LabBandwidths", "chirp"]


def chirp(x: Array) -> Array:
    """Return sin(2 x^3)."""
    return np.asarray(np.sin(2 * x**3))


@dataclass(frozen=True)
class LabBandwidths:
    """A column for each machine: what it learned, what it misses, and its bandwidths.

    Attributes
    ----------
    gammas : tuple of float
        Of exp(-gamma (x - z)^2), the paper's two fixed bandwidths.
    low, high : float
        Ends of x; the paper does not tell its own.
    n : int
        Training points, uniform.
    noise : float
        Standard deviation.
    n_support : int
        Support points where bandwidths are learned; of each member.
    start : float
        theta at the start of Algorithm 1, x on [-1, 1].
    """

    gammas: tuple[float, ...] = (20.0, 100.0)
    low: float = 0.0
    high: float = 3.0
    n: int = 300
    noise: float = 0.1
    ridge: float = 0.01
    n_support: int = 80
    start: float = 10.0
    max_iter: int = 1000
    resolution: int = 1001
    seed: int = 0

    name: ClassVar[str] = "lab-rbf-figure-1"
    title: ClassVar[str] = "LAB-RBF, Figure 1: sin(2 x^3)"
    needs_data: ClassVar[bool] = False

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``lab-rbf-figure-1.png``."""
        sample, machines = self._sample(), self._machines()
        figure = canvas(3.4 * len(machines), 6.2)
        rows = figure.subplots(
            3, len(machines), sharex=True, sharey="row", height_ratios=(2, 1, 1.4), squeeze=False
        )
        measured = {}
        for column, (name, machine) in zip(rows.T, machines.items(), strict=True):
            machine.fit(sample.X, sample.y)
            error = 1.0 - machine.score(sample.X_test, sample.y_test)
            measured[name] = {"1 - R2": float(error), **self._draw(column, machine, sample)}
            column[0].set_title(f"{name}\n1 − R² = {error:.2g}", fontsize=10)
        for ax, label in zip(rows[:, 0], ("y", "prediction − y", "γ = θ²"), strict=True):
            ax.set_ylabel(label)
        rows[2, 0].set_yscale("log")
        save(figure, folder, self.name)
        return Drawn(self._caption(measured), measured)

    def _machines(self) -> dict[str, Any]:
        fixed = {
            f"γ = {gamma:g} everywhere": KernelRidge(kernel="rbf", gamma=gamma, alpha=self.ridge)
            for gamma in self.gammas
        }
        printed = algorithm_1(self.n_support, self.start, self.seed, max_iter=self.max_iter)
        return {
            **fixed,
            "Algorithm 1": printed,
            "pliant, defaults": by_default(self.n_support, self.seed),
        }

    def _sample(self) -> Sample:
        random = np.random.default_rng(self.seed)
        x = np.sort(random.uniform(self.low, self.high, self.n))
        y = chirp(x) + self.noise * random.standard_normal(self.n)
        x_test = np.linspace(self.low, self.high, self.resolution)
        return Sample(x[:, None], y, x_test[:, None], chirp(x_test))

    def _draw(self, column: Any, machine: Any, sample: Sample) -> dict[str, float]:
        """Draw a machine; return errors and bandwidths of the slow and of the fast half."""
        x, slow = sample.X_test[:, 0], sample.X_test[:, 0] < (self.low + self.high) / 2
        missed = machine.predict(sample.X_test) - sample.y_test
        column[0].plot(x, sample.y_test, color=GREY, linewidth=3, alpha=0.35)
        column[0].plot(*sample.X.T, sample.y, ".", color=BLUE, markersize=3)
        column[0].plot(x, missed + sample.y_test, color=VERMILION, linewidth=1.2)
        column[1].plot(x, missed, color=VERMILION, linewidth=1)
        places, gammas = bandwidths(machine, sample)
        dash = "-" if isinstance(machine, KernelRidge) else "."
        column[2].plot(places, gammas, dash, color=VERMILION)
        column[2].set_xlabel("x")
        left = places < (self.low + self.high) / 2
        return {
            "rms error, slow half": float(np.sqrt(np.mean(missed[slow] ** 2))),
            "rms error, fast half": float(np.sqrt(np.mean(missed[~slow] ** 2))),
            "median gamma, slow half": float(np.median(gammas[left])),
            "median gamma, fast half": float(np.median(gammas[~left])),
        }

    def _caption(self, measured: dict[str, Any]) -> str:
        errors = "; ".join(
            f"{name}: {found['rms error, slow half']:.2g} and {found['rms error, fast half']:.2g}"
            for name, found in measured.items()
        )
        medians = "; ".join(
            f"{name} {found['median gamma, slow half']:.0f} and "
            f"{found['median gamma, fast half']:.0f}"
            for name, found in list(measured.items())[len(self.gammas) :]
        )
        return (
            f"sin(2 x^3) on [{self.low:g}, {self.high:g}] (grey; the paper does not tell its "
            f"interval), {self.n} points with noise of standard deviation {self.noise:g}, what "
            f"each machine learns and misses, and its bandwidths: the larger γ = θ², the narrower. "
            f"The first two are kernel ridge regression on all points with the paper's bandwidths; "
            f"Algorithm 1 is the paper's as a setting of the class, with {self.n_support} support "
            f"points; the last one has default settings and {self.n_support} points in each "
            f"member. As in the paper, one wide kernel cannot follow the fast half, and one "
            f"narrow kernel follows the noise in the slow half. Root mean square errors in the "
            f"slow and in the fast half, {errors}. Median learned γ there: {medians}."
        )


def bandwidths(machine: Any, sample: Sample) -> tuple[Array, Array]:
    """Return places, and gamma there: those of all members, or of the ends for a fixed one."""
    if isinstance(machine, KernelRidge):
        return sample.X[[0, -1], 0], np.full(2, machine.gamma)
    kernels = [member.kernel_ for member in machine.members_]
    places = np.concatenate([kernel.centres[:, 0] for kernel in kernels])
    return places, np.concatenate([kernel.bandwidths[:, 0] ** 2 for kernel in kernels])
