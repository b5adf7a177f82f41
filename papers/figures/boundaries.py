"""Two classes in the plane, and where machines draw the line between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from papers.figures.figure import LEARNED_LINE, SVM_LINE
from papers.figures.samples import Sample
from pliant.core.typing import Array
from pliant.plots._common import BLUE, GREY, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["accuracies", "compare", "legend"]

RIM = 0.08
"""Empty share on each side of the points."""

LINES = ((BLUE, SVM_LINE), (VERMILION, LEARNED_LINE))
"""The looks of the plain and of the learned machine."""


def accuracies(machine: Any, sample: Sample) -> dict[str, float]:
    """Return the share of training and of test points that are classified correctly."""
    return {
        "training accuracy": machine.score(sample.X, sample.y),
        "test accuracy": machine.score(sample.X_test, sample.y_test),
    }


def compare(ax: Axes, plain: Any, learned: Any, sample: Sample, resolution: int) -> None:
    """Draw the training points and the decision boundaries of two machines."""
    for label, marker, color in ((1.0, "o", GREY), (-1.0, "x", "#8C8C8C")):
        points = sample.X[sample.y == label]
        face = {"facecolors": "none"} if marker == "o" else {}
        ax.scatter(*points.T, 14, marker=marker, linewidths=0.8, color=color, **face)
    grid, places = _grid(sample.X, resolution)
    for machine, (color, dash) in zip((plain, learned), LINES, strict=True):
        decision = machine.decision_function(places).reshape(resolution, resolution)
        if decision.min() < 0.0 < decision.max():
            ax.contour(*grid, decision, [0.0], colors=color, linestyles=dash, linewidths=1.6)


def _grid(points: Array, resolution: int) -> tuple[tuple[Array, Array], Array]:
    """Return positions along both axes of a box around the points, and all places in it."""
    low, high = points.min(axis=0), points.max(axis=0)
    rim = RIM * (high - low)
    ends = np.linspace(low - rim, high + rim, resolution)
    grid = ends[:, 0], ends[:, 1]
    return grid, np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)


def legend(figure: Figure, plain: str, learned: str) -> None:
    """Name lines and points above all panels."""
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=color, linestyle=dash, label=name)
        for name, (color, dash) in zip((plain, learned), LINES, strict=True)
    ]
    looks = {"linestyle": "none", "color": GREY, "markersize": 5}
    points = [
        Line2D([], [], marker="o", markerfacecolor="none", label="class +1", **looks),
        Line2D([], [], marker="x", label="class −1", **looks),
    ]
    figure.legend(handles=lines + points, loc="outside upper center", ncols=4, frameon=False)
