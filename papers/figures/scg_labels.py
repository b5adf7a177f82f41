"""SCG, Figure 3: the time to learn a kernel against the share of the points that is labelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_local
from benchmarks.harness.calls import exponent, fit_quietly, processor_seconds
from papers.figures.figure import PaperFigure, canvas
from pliant import LogDetLearner, OrderSpectralLearner, SCGLogDetLearner
from pliant.core.typing import Array, Indices
from pliant.plots._common import BLUE, VERMILION

PRINTED = {"OSK": 3.62, "LDK": 11.03, "SCG-OSK": 0.53, "SCG-LDK": 0.06}
"""Seconds at 70 % labels in the paper's Table 3, on its computer."""


class ScgLabels(PaperFigure):
    """A panel for each learner, on heart."""

    name = "scg-figure-3"
    needs_data = True

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        heart = load_local("heart_statlog", data)
        X, y = StandardScaler().fit_transform(heart.X), (heart.y > 0).astype(np.intp)
        counts = [round(len(y) * k / self.shares) for k in range(1, self.shares + 1)]
        seconds = {name: self._times(make, X, y, counts) for name, make in self._learners().items()}
        figure, (panels,) = canvas(13.0, 3.4, 1, 4)
        for ax, title in zip(panels, PRINTED, strict=True):
            drawn = {name: each for name, each in seconds.items() if name.split(",")[0] == title}
            self._panel(ax, title, drawn)
        measured = {
            name: {
                "seconds": times,
                "exponent": exponent(counts[self.shares // 4 :], times[self.shares // 4 :]),
            }
            for name, times in seconds.items()
        }
        return figure, {"labels": counts, **measured}

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
            median(
                processor_seconds(partial(fit_quietly, make(k), X, self._some(y, count, k)))
                for k in range(self.repeats)
            )
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
        for (name, times), color, dash in zip(
            lines.items(), (VERMILION, BLUE), ("o-", "s--"), strict=False
        ):
            label = "graph of labelled points" if "," in name else "graph of all points"
            ax.plot(shares, 1e3 * np.array(times), dash, color=color, markersize=3, label=label)
        if title == "LDK":
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
        ax.set(title=title, xlabel="share of labelled points", ylabel="processor time (ms)")
        if len(lines) > 1:
            ax.legend(fontsize=8)

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        place = round(0.7 * self.shares) - 1
        counts = measured["labels"]
        learners = "; ".join(
            f"{name} {1e3 * m['seconds'][0]:.3g}, {1e3 * m['seconds'][place]:.3g} and "
            f"{1e3 * m['seconds'][-1]:.3g} ms, exponent {m['exponent']:.2f}"
            + (f" (paper: {PRINTED[name]:g} s at 70 %)" if name in PRINTED else "")
            for name, m in measured.items()
            if name != "labels"
        )
        few, some, points = counts[0], counts[place], counts[-1]
        return {"few": few, "some": some, "points": points, "learners": learners}
