"""SCG, Figure 3: the time to learn a kernel against the share of the points that is labelled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from papers.figures.figure import Drawn, canvas, save
from pliant import LogDetLearner, OrderSpectralLearner, SCGLogDetLearner
from pliant.core.typing import Array, Indices
from pliant.datasets import load_local
from pliant.plots._common import BLUE, VERMILION

__all__ = ["ScgLabels"]

PRINTED = {"OSK": 3.62, "LDK": 11.03, "SCG-OSK": 0.53, "SCG-LDK": 0.06}
"""Seconds at 70 % labels in the paper's Table 3, on its machine."""


@dataclass(frozen=True)
class ScgLabels:
    """A panel for each learner, on heart.

    Attributes
    ----------
    shares : int
        So many equally spaced shares up to 1, as in the paper: .05, .1, ..., 1.
    repeats : int
        Median processor time of so many fits, each with its own labels.
    sweeps : int
        Of LDK, at most, over all pairs of the labelled points.
    strength : float
        Of SCG-LDK.
    """

    shares: int = 20
    repeats: int = 5
    sweeps: int = 20
    strength: float = 100.0
    seed: int = 0

    name: ClassVar[str] = "scg-figure-3"
    title: ClassVar[str] = "SCG, Figure 3: time against the number of labels"
    needs_data: ClassVar[bool] = True

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``scg-figure-3.png``."""
        heart = load_local("heart_statlog", data)
        X, y = StandardScaler().fit_transform(heart.X), (heart.y > 0).astype(np.intp)
        counts = [round(len(y) * k / self.shares) for k in range(1, self.shares + 1)]
        seconds = {name: self._times(make, X, y, counts) for name, make in self._learners().items()}
        figure = canvas(13.0, 3.4)
        lines = {
            "OSK": ["OSK"],
            "LDK": ["LDK"],
            "SCG-OSK": ["SCG-OSK"],
            "SCG-LDK": ["SCG-LDK", "SCG-LDK, labelled points"],
        }
        for ax, (title, names) in zip(figure.subplots(1, 4), lines.items(), strict=True):
            self._panel(ax, title, {name: seconds[name] for name in names})
        save(figure, folder, self.name)
        measured = {
            name: {
                "seconds": found,
                "exponent": _slope(counts[self.shares // 4 :], found[self.shares // 4 :]),
            }
            for name, found in seconds.items()
        }
        return Drawn(self._caption(measured, counts), {"labels": counts, **measured})

    def _learners(self) -> dict[str, Callable[[int], Any]]:
        """Return what makes each learner for a repeat."""
        options = {"strength": self.strength, "unlabeled": -1}
        return {
            "OSK": lambda k: OrderSpectralLearner(unlabeled=-1),
            "LDK": lambda k: LogDetLearner(
                max_pairs=None, max_iter=self.sweeps, unlabeled=-1, random_state=k
            ),
            "SCG-OSK": lambda k: OrderSpectralLearner("scg", unlabeled=-1),
            "SCG-LDK": lambda k: SCGLogDetLearner(graph="complete", **options),
            "SCG-LDK, labelled points": lambda k: SCGLogDetLearner(**options),
        }

    def _times(
        self, make: Callable[[int], Any], X: Array, y: Indices, counts: Sequence[int]
    ) -> list[float]:
        """Return the median processor time of a fit for each number of labels."""
        make(0).fit(X, self._some(y, counts[0], 0))
        return [
            median(_seconds(make(k), X, self._some(y, count, k)) for k in range(self.repeats))
            for count in counts
        ]

    def _some(self, y: Indices, count: int, repeat: int) -> Indices:
        """Return labels of which `count` are known, of both classes."""
        order = np.random.default_rng([self.seed, repeat]).permutation(len(y))
        first = [next(i for i in order if y[i] == c) for c in (0, 1)]
        known = np.concatenate([first, [i for i in order if i not in first]])[:count].astype(int)
        labels = np.full(len(y), -1)
        labels[known] = y[known]
        return labels

    def _panel(self, ax: Any, title: str, lines: dict[str, list[float]]) -> None:
        shares = np.arange(1, self.shares + 1) / self.shares
        for (name, found), color, dash in zip(
            lines.items(), (VERMILION, BLUE), ("o-", "s--"), strict=False
        ):
            label = "graph of labelled points" if "," in name else "graph of all points"
            ax.plot(shares, 1e3 * np.array(found), dash, color=color, markersize=3, label=label)
        if title == "LDK":
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
        ax.set(title=title, xlabel="share of labelled points", ylabel="processor time (ms)")
        if len(lines) > 1:
            ax.legend(fontsize=8)

    def _caption(self, measured: dict[str, Any], counts: Sequence[int]) -> str:
        place = round(0.7 * self.shares) - 1
        told = "; ".join(
            f"{name} {1e3 * found['seconds'][0]:.3g}, {1e3 * found['seconds'][place]:.3g} and "
            f"{1e3 * found['seconds'][-1]:.3g} ms, exponent {found['exponent']:.2f}"
            + (f" (paper: {PRINTED[name]:g} s at 70 %)" if name in PRINTED else "")
            for name, found in measured.items()
        )
        return (
            f"Heart, {counts[-1]} points, standardised, {counts[0]} to all of them labelled. "
            f"Median processor time of {self.repeats} fits, graph, kernel matrix and Q included; "
            f"LDK, in logarithmic scale, projects on all pairs of labelled points in compiled code "
            f"on their block of the kernel matrix, to a gap of 1e-3 or {self.sweeps} sweeps. As in "
            f"the paper, LDK needs far more time with more labels, and SCG-OSK and SCG-LDK on the "
            f"graph of all points need the same. OSK, whose time grows with the labels in the "
            f"paper, is non-negative least squares here, not a quadratically constrained program: "
            f"it and SCG-OSK are mostly graph and eigenvectors. On the graph of labelled points, "
            f"the default, SCG-LDK is faster the fewer there are. At {counts[0]}, {counts[place]} "
            f"and {counts[-1]} labels, with the exponent in the number of labels beyond a quarter: "
            f"{told}."
        )


def _seconds(learner: Any, X: Array, y: Indices) -> float:
    """Return the processor time of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = process_time()
        learner.fit(X, y)
        return process_time() - began


def _slope(counts: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the slope of log time over log number."""
    return float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
