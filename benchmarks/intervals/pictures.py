"""Pictures of the page: coverage and width of intervals, and the calibration of probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.intervals.methods import TITLES
from pliant.core.files import replacing

INTERVALS, CALIBRATION = "intervals.png", "calibration.png"

MARKERS = "osD^v"
DOTS_PER_INCH = 100
FEW = 0.01
"""Share of the samples below which a bin is not drawn."""


def draw(found: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw what a document has; return the paths of the pictures."""
    summary = found["summary"]
    pictures = []
    if summary["intervals"]:
        pictures.append((INTERVALS, _intervals(found["levels"], summary["intervals"])))
    if summary["probabilities"]:
        pictures.append((CALIBRATION, _calibration(summary["probabilities"])))
    for name, figure in pictures:
        with replacing(folder / name) as draft:
            figure.savefig(draft, format="png", dpi=DOTS_PER_INCH, pil_kwargs={"optimize": True})
    return [folder / name for name, _ in pictures]


def _intervals(levels: Sequence[float], summary: Sequence[Mapping[str, Any]]) -> Any:
    """Draw coverage less the nominal one, with quartiles over tables; and relative widths."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    places = np.arange(len(levels))
    for k, row in enumerate(summary):
        style = {"marker": MARKERS[k], "color": f"C{k}", "linewidth": 1.2, "markersize": 5}
        away = 100.0 * (np.asarray(row["coverage"]) - levels)
        low, high = 100.0 * np.asarray(row["quartiles"])
        shift = 0.12 * (k - (len(summary) - 1) / 2)
        left.vlines(places + shift, low, high, color=f"C{k}", alpha=0.5)
        left.plot(places + shift, away, label=TITLES[row["method"]], **style | {"linewidth": 0})
        if row["width"]:
            right.plot(places, row["width"], **style)
    left.axhspan(-2.0, 2.0, color="0.9", zorder=0)
    left.axhline(0.0, color="0.3", linewidth=0.8)
    left.set_ylabel("coverage less nominal (points)")
    right.set_ylabel("mean width / standard deviation of target")
    for ax in (left, right):
        ax.set_xticks(places, [f"{level:.0%}" for level in levels])
        ax.set_xlabel("nominal coverage")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def _calibration(summary: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the share of correct predictions against the mean confidence of each bin."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 5.0), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="0.3", linewidth=0.8)
    for k, row in enumerate(summary):
        share, confidence, correct = np.transpose(row["bins"])
        full = share > FEW
        ax.plot(
            confidence[full] / share[full], correct[full] / share[full], marker=MARKERS[k],
            color=f"C{k}", linewidth=1.2, markersize=5, label=TITLES[row["method"]],
        )  # fmt: skip
    ax.set(xlim=(0.35, 1.02), ylim=(0.35, 1.02), xlabel="probability of the predicted class")
    ax.set_ylabel("share of correct predictions")
    ax.legend(frameon=False)
    return figure
