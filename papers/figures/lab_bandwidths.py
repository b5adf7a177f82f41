"""LAB-RBF, Figure 1: a signal whose frequency changes, with bandwidths fixed and learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from papers.figures.figure import PaperFigure, canvas
from papers.figures.lab_settings import algorithm_1, by_default
from papers.figures.samples import Sample
from pliant.core.typing import Array
from pliant.plots._common import BLUE, GREY, VERMILION


class LabBandwidths(PaperFigure):
    """A column for each model: what it learned, what it misses, and its bandwidths."""

    name = "lab-rbf-figure-1"

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        sample, models = self._sample(), self._models()
        figure, rows = canvas(
            3.4 * len(models), 6.2, 3, len(models),
            sharex=True, sharey="row", height_ratios=(2, 1, 1.4),
        )  # fmt: skip
        measured = {}
        for column, (name, model) in zip(rows.T, models.items(), strict=True):
            model.fit(sample.X, sample.y)
            error = 1.0 - model.score(sample.X_test, sample.y_test)
            measured[name] = {"1 - R2": float(error), **self._draw(column, model, sample)}
            column[0].set_title(f"{name}\n1 − R² = {error:.2g}", fontsize=10)
        for ax, label in zip(rows[:, 0], ("y", "prediction − y", "γ = θ²"), strict=True):
            ax.set_ylabel(label)
        rows[2, 0].set_yscale("log")
        return figure, measured

    def _models(self) -> dict[str, Any]:
        fixed = {
            f"γ = {gamma:g} everywhere": KernelRidge(kernel="rbf", gamma=gamma, alpha=self.ridge)
            for gamma in self.gammas
        }
        printed = algorithm_1(self.n_support, self.start, self.seed, max_iter=self.max_iter)
        ours = by_default(self.n_support, self.seed)
        return {**fixed, "Algorithm 1": printed, "pliant, defaults": ours}

    def _sample(self) -> Sample:
        random = np.random.default_rng(self.seed)
        x = np.sort(random.uniform(self.low, self.high, self.n))
        y = _chirp(x) + self.noise * random.standard_normal(self.n)
        x_test = np.linspace(self.low, self.high, self.resolution)
        return Sample(x[:, None], y, x_test[:, None], _chirp(x_test))

    def _draw(self, column: Any, model: Any, sample: Sample) -> dict[str, float]:
        """Draw a model; return errors and bandwidths of the slow and of the fast half."""
        x, middle = sample.X_test[:, 0], (self.low + self.high) / 2
        missed = model.predict(sample.X_test) - sample.y_test
        column[0].plot(x, sample.y_test, color=GREY, linewidth=3, alpha=0.35)
        column[0].plot(*sample.X.T, sample.y, ".", color=BLUE, markersize=3)
        column[0].plot(x, missed + sample.y_test, color=VERMILION, linewidth=1.2)
        column[1].plot(x, missed, color=VERMILION, linewidth=1)
        places, gammas = _bandwidths(model, sample)
        dash = "-" if isinstance(model, KernelRidge) else "."
        column[2].plot(places, gammas, dash, color=VERMILION)
        column[2].set_xlabel("x")
        slow, left = x < middle, places < middle
        return {
            "rms error, slow half": float(np.sqrt(np.mean(missed[slow] ** 2))),
            "rms error, fast half": float(np.sqrt(np.mean(missed[~slow] ** 2))),
            "median gamma, slow half": float(np.median(gammas[left])),
            "median gamma, fast half": float(np.median(gammas[~left])),
        }

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        models = [{"name": name, "m": numbers} for name, numbers in measured.items()]
        return {"errors": models, "medians": models[len(self.gammas) :]}


def _chirp(x: Array) -> Array:
    return np.asarray(np.sin(2 * x**3))


def _bandwidths(model: Any, sample: Sample) -> tuple[Array, Array]:
    """Return places, and gamma there: those of all members, or of the ends for a fixed one."""
    if isinstance(model, KernelRidge):
        return sample.X[[0, -1], 0], np.full(2, model.gamma)
    kernels = [member.kernel_ for member in model.members_]
    places = np.concatenate([kernel.centres[:, 0] for kernel in kernels])
    return places, np.concatenate([kernel.bandwidths[:, 0] ** 2 for kernel in kernels])
