"""SCG, Figure 3: the time against the labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_local
from papers.figures import Drawing, Numbers, shared
from pliant import LogDetLearner, OrderSpectralLearner, SCGLogDetLearner
from pliant.core.typing import Array, Indices

PRINTED = {"OSK": 3.62, "LDK": 11.03, "SCG-OSK": 0.53, "SCG-LDK": 0.06}
"""Seconds at 70 % labels in the paper's Table 3, on its computer."""


def labels(s: SimpleNamespace, data: str | None) -> Drawing:
    """A panel for each learner, on heart."""
    heart = load_local("heart_statlog", data)
    X, y = StandardScaler().fit_transform(heart.X), (heart.y > 0).astype(np.intp)
    counts = [round(len(y) * k / s.shares) for k in range(1, s.shares + 1)]
    options = {"strength": s.strength, "unlabeled": -1}
    pairs = {"max_pairs": None, "max_iter": s.sweeps, "unlabeled": -1}
    learners: dict[str, Callable[[int], Any]] = {
        "OSK": lambda k: OrderSpectralLearner(unlabeled=-1),
        "LDK": lambda k: LogDetLearner(**pairs, random_state=k),
        "SCG-OSK": lambda k: OrderSpectralLearner("scg", unlabeled=-1),
        "SCG-LDK": lambda k: SCGLogDetLearner(graph="complete", **options),
        "SCG-LDK, labelled points": lambda k: SCGLogDetLearner(**options),
    }
    measured: Numbers = {"labels": counts}
    for name, make in learners.items():
        times, quarter = _times(s, make, X, y, counts), s.shares // 4
        slope = np.polyfit(np.log(counts[quarter:]), np.log(times[quarter:]), 1)[0]
        measured[name] = {"seconds": times, "exponent": float(slope)}
    figure, (panels,) = shared.canvas(13.0, 3.4, 1, 4)
    for ax, title in zip(panels, PRINTED, strict=True):
        drawn = [name for name in learners if name.split(",")[0] == title]
        for name, color, dash in zip(
            drawn, (shared.VERMILION, shared.BLUE), ("o-", "s--"), strict=False
        ):
            label = "graph of labelled points" if "," in name else "graph of all points"
            look = {"color": color, "markersize": 3, "label": label}
            milliseconds = 1e3 * np.array(measured[name]["seconds"])
            ax.plot(np.arange(1, s.shares + 1) / s.shares, milliseconds, dash, **look)
        if title == "LDK":
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
        ax.set(title=title, xlabel="share of labelled points", ylabel="processor time (ms)")
        if len(drawn) > 1:
            ax.legend(fontsize=8)
    place = round(0.7 * s.shares) - 1
    listed = "; ".join(
        f"{name} {1e3 * m['seconds'][0]:.3g}, {1e3 * m['seconds'][place]:.3g} and "
        f"{1e3 * m['seconds'][-1]:.3g} ms, exponent {m['exponent']:.2f}"
        + (f" (paper: {PRINTED[name]:g} s at 70 %)" if name in PRINTED else "")
        for name, m in measured.items()
        if name != "labels"
    )
    words = {"few": counts[0], "some": counts[place], "points": counts[-1], "learners": listed}
    return figure, measured, words


def _times(
    s: SimpleNamespace, make: Callable[[int], Any], X: Array, y: Indices, counts: Sequence[int]
) -> list[float]:
    """Return the median processor time of a fit for each number of labels."""

    def seconds(count: int, k: int) -> float:
        known = some_labels(y, count, [s.seed, k])
        began = time.process_time()
        make(k).fit(X, known)
        return time.process_time() - began

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds(counts[0], 0)
        return [median(seconds(count, k) for k in range(s.repeats)) for count in counts]


def some_labels(y: Indices, count: int, seed: Sequence[int]) -> Indices:
    """Return labels of which `count` are known, of both classes."""
    order = np.random.default_rng(seed).permutation(len(y))
    first = [next(i for i in order if y[i] == c) for c in (0, 1)]
    known = np.concatenate([first, [i for i in order if i not in first]])[:count].astype(int)
    labels = np.full(len(y), -1)
    labels[known] = y[known]
    return labels
