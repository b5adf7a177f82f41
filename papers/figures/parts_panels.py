"""The panels of DANK's Figure 5."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.figures.parts import Screened
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION

__all__ = [
    "LOOKS",
    "draw_bounds",
    "draw_few",
    "draw_gradients",
    "draw_loss",
    "draw_many",
    "draw_safe",
]

LOOKS = ((BLUE, "o", "-"), (VERMILION, "s", "--"))
"""Colour, marker and line of each set."""

LINES = {
    "bound": ("Theorem 6, corrected", BLUE, "s-"),
    "certified gap": ("gap of (18) at the parts", PURPLE, "^-"),
    "loss": ("true loss", "black", "o-"),
    "printed bound": ("Theorem 6 as printed", VERMILION, "x--"),
}


def draw_few(ax: Any, found: dict[str, Any], name: str, look: tuple[str, str, str]) -> None:
    """Draw means, least and largest over the starts of k-means, and a line through the means."""
    color, marker, dash = look
    v = np.array([int(each) for each in found["Q of few parts"]])
    mean, low, high = (
        np.array([each[key] for each in found["Q of few parts"].values()]) / found["Q(K)"]
        for key in ("mean", "least", "largest")
    )
    ax.plot(v, mean, color=color, marker=marker, linestyle=dash, label=name)
    ax.fill_between(v, low, high, color=color, alpha=0.2, linewidth=0)
    slope, start = np.polyfit(v[v > 1], mean[v > 1], 1)
    ax.plot(v, np.maximum(start + slope * v, 0.0), color=GREY, linewidth=0.9, linestyle=":")
    ax.set(xlabel="number of parts v", ylabel="Q(π)/Q(K)")
    ax.legend(fontsize=8, loc="upper left")


def draw_many(ax: Any, found: dict[str, Any], name: str, look: tuple[str, str, str]) -> None:
    """Draw Q(pi) over its limit."""
    color, marker, dash = look
    v = [int(each) for each in found["Q"]]
    share = np.array(list(found["Q"].values())) / found["Q(K)"]
    ax.plot(v, share, color=color, marker=marker, linestyle=dash, label=name, markersize=4)
    ax.axhline(1.0, color=GREY, linewidth=0.8)
    ax.annotate("limit Q(K)", (1, 1.0), va="bottom", fontsize=8, color=GREY)
    ax.set(xlabel="number of parts v", xscale="log", ylim=(0.0, 1.1))
    ax.legend(fontsize=8, loc="center left")


def draw_loss(ax: Any, found: dict[str, Any], name: str, look: tuple[str, str, str]) -> None:
    """Draw the loss and the certified gap, in percent of the optimum."""
    color, marker, dash = look
    v = [int(each) for each in found["losses"]]
    for key, style, label in (("loss", dash, name), ("certified gap", ":", f"{name}: gap")):
        shares = [100 * each[key] / each["optimum"] for each in found["losses"].values()]
        ax.plot(v, shares, color=color, marker=marker, linestyle=style, label=label, markersize=4)
    ax.set(xlabel="number of parts v", ylabel="% of the optimum h(α*)", xscale="log", yscale="log")
    ax.legend(fontsize=8)


def draw_bounds(ax: Any, bounds: dict[str, Any], automatic: float) -> None:
    """Draw loss and bounds against eta; `automatic` is the paper's."""
    etas = [float(each) for each in bounds]
    for key, (label, color, style) in LINES.items():
        values = [each[key] for each in bounds.values()]
        ax.plot(etas, values, style, color=color, label=label, markersize=5)
    ax.axvline(automatic, color=GREY, linewidth=0.8, linestyle=":")
    ax.annotate(" η = |α|²", (automatic, 1.0), fontsize=8, color=GREY)
    ax.set(xlabel="η", ylabel="h(α*) − h(parts), and bounds", xscale="log", yscale="log")
    ax.legend(fontsize=8)


def draw_gradients(ax: Any, screened: Screened) -> None:
    """Draw the gradients in rising order, and the thresholds of both readings."""
    order = np.argsort(screened.gradient)
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    lost = screened.zero & ~screened.whole_zero
    for chosen, color, size, label in (
        (screened.zero & ~lost, BLUE, 3, "zero in its part"),
        (~screened.zero, VERMILION, 3, "support vector of its part"),
        (lost, "black", 8, "zero in its part, not in the whole"),
    ):
        look = {"color": color, "markersize": size, "label": label}
        ax.plot(place[chosen], screened.gradient[chosen], ".", **look)
    for threshold, color, label in (
        (screened.inside, PURPLE, "(21), norm over the part"),
        (screened.everywhere, GREY, "(21), norm over all points"),
    ):
        ax.plot(place, threshold, ".", color=color, markersize=1.5, label=label)
    ax.set(xlabel="point, by its gradient", ylabel="gradient of (20) and thresholds")
    ax.set_yscale("symlog", linthresh=1.0)
    ax.legend(fontsize=7, markerscale=2, loc="center right")


def draw_safe(ax: Any, found: dict[str, Any], name: str, look: tuple[str, str, str]) -> None:
    """Draw the share of the zeros that is known, against the gap."""
    color, marker, dash = look
    best = next(iter(found["losses"].values()))["optimum"]
    gaps = [each["gap"] / best for each in found["safe"]]
    for key, style, label in (
        ("zeros", dash, f"{name} ({found['zeros']} zeros)"),
        ("zeros with twice the gap", ":", None),
    ):
        shares = [100 * each[key] / max(found["zeros"], 1) for each in found["safe"]]
        shown = marker if label else ""
        ax.plot(gaps, shares, color=color, marker=shown, linestyle=style, label=label, markersize=4)
    ax.set(xlabel="certified gap/h(α*)", ylabel="% of the zeros that are screened", xscale="log")
    if not ax.xaxis_inverted():
        ax.invert_xaxis()
    ax.legend(fontsize=8, loc="lower right")
