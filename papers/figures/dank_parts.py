"""DANK, Figure 5: what is lost between parts, its bounds, and the screening of Theorem 7."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from papers.figures.figure import PaperFigure, canvas, lettered
from papers.figures.parts import BoxProblem, Screened, sample
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION

LOOKS = ((BLUE, "o", "-"), (VERMILION, "s", "--"))
"""Colour, marker and line of each set."""

BOUNDS = {
    "bound": ("Theorem 6, corrected", BLUE, "s-"),
    "certified gap": ("gap of (18) at the parts", PURPLE, "^-"),
    "loss": ("true loss", "black", "o-"),
    "printed bound": ("Theorem 6 as printed", VERMILION, "x--"),
}


class DankParts(PaperFigure):
    """Six panels: Q(pi) for few and for many parts, losses, bounds, gradients, safe screening."""

    name = "dank-figure-5"
    needs_data = True

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        with threadpool_limits(1):
            problems = {
                name: sample(name, data, self.count, gamma, self.C, self.seed)
                for name, gamma in self.sets
            }
            first = problems[self.sets[0][0]]
            labels = first.labels(self.parts, self.seed)
            screened = first.theorem_7(labels)
            measured = {name: self._measure(problem) for name, problem in problems.items()}
            measured["bounds"] = {
                f"{eta:g}": first.with_eta(eta).losses(labels) for eta in self.etas
            }
            measured["Theorem 7"] = screened.numbers()
        return self._draw(measured, screened), measured

    def _measure(self, problem: BoxProblem) -> dict[str, Any]:
        """Return Q(pi) for each number of parts, the losses for each, and the safe screening."""
        labels = {v: problem.labels(v, self.seed) for v in (*self.few, *self.many)}
        few = {
            v: [problem.between(problem.labels(v, self.seed + k)).total for k in range(self.draws)]
            for v in self.few
        }
        means = np.array([np.mean(each) for v, each in few.items() if v > 1])
        return {
            "eta": problem.eta,
            "Q(K)": float(np.abs(problem.K).sum()),
            "Q": {f"{v}": problem.between(each).total for v, each in labels.items()},
            "Q of few parts": {
                f"{v}": {"mean": float(np.mean(Q)), "least": min(Q), "largest": max(Q)}
                for v, Q in few.items()
            },
            "R2 of a line": float(np.corrcoef([v for v in few if v > 1], means)[0, 1] ** 2),
            "losses": {f"{v}": problem.losses(each) for v, each in labels.items() if v > 1},
            "zeros": int((problem.optimum == 0).sum()),
            "safe": list(problem.screening(self.tolerances)),
        }

    def _draw(self, measured: dict[str, Any], screened: Screened) -> Any:
        figure, panels = canvas(13.5, 7.6, 2, 3)
        (few, many, loss), (bounds, gradients, safe) = panels
        for (name, _), (color, marker, dash) in zip(self.sets, LOOKS, strict=False):
            numbers = measured[name]
            look = {"color": color, "marker": marker}
            _draw_few(few, numbers, {**look, "linestyle": dash, "label": name})
            many.plot(
                *_curve(numbers["Q"], numbers["Q(K)"]),
                **look, linestyle=dash, label=name, markersize=4,
            )  # fmt: skip
            for key, style, more in (("loss", dash, ""), ("certified gap", ":", ": gap")):
                shares = {v: 100 * m[key] / m["optimum"] for v, m in numbers["losses"].items()}
                style_of = {**look, "linestyle": style, "label": name + more}
                loss.plot(*_curve(shares), **style_of, markersize=4)
            _draw_safe(safe, numbers, color, marker, {"linestyle": dash, "label": name})
        few.set(xlabel="number of parts v", ylabel="Q(π)/Q(K)")
        few.set_ylim(bottom=0.0)
        many.axhline(1.0, color=GREY, linewidth=0.8)
        many.annotate("limit Q(K)", (1, 1.0), va="bottom", fontsize=8, color=GREY)
        many.set(xlabel="number of parts v", xscale="log", ylim=(0.0, 1.1))
        loss.set(xlabel="number of parts v", ylabel="% of the optimum h(α*)")
        loss.set(xscale="log", yscale="log")
        safe.set(xlabel="certified gap/h(α*)", ylabel="% of the zeros that are screened")
        safe.set_xscale("log")
        safe.invert_xaxis()
        first, _ = self.sets[0]
        _draw_bounds(bounds, measured["bounds"], measured[first]["eta"])
        _draw_gradients(gradients, screened)
        lettered(panels.flat, [
            "Q(π), few parts", "Q(π), up to many parts", "what the parts lose",
            f"{first}: loss and bounds, {self.parts} parts", f"{first}: gradients and Theorem 7",
            "the safe rule",
        ])  # fmt: skip
        corners = ("upper left", "center left", "best", "best", "center right", "lower right")
        for ax, corner in zip(panels.flat, corners, strict=True):
            size = {"fontsize": 7, "markerscale": 2} if ax is gradients else {"fontsize": 8}
            ax.legend(loc=corner, **size)
        return figure

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        of_sets = {name: measured[name] for name, _ in self.sets}
        first, *_ = of_sets
        most, last = (*self.few, *self.many)[-1], f"{self.few[-1]}"
        at, at_most = (of_sets[first]["losses"][f"{v}"] for v in (self.parts, most))
        bounds, rule = measured["bounds"], measured["Theorem 7"]
        false = [eta for eta, each in bounds.items() if each["printed bound"] < each["loss"]]
        spreads = [each for m in of_sets.values() for each in m["Q of few parts"].values()]
        ratios = [each["largest"] / each["least"] for each in spreads if each["least"] > 0]
        lines = [
            {"name": name, "two": few["2"]["mean"] / m["Q(K)"], "last": last,
             "many": few[last]["mean"] / m["Q(K)"], "m": m}
            for name, m in of_sets.items()
            for few in [m["Q of few parts"]]
        ]  # fmt: skip
        return {
            "names": " and ".join(of_sets),
            "lines": lines,
            "ratio": max(ratios, default=1),
            "most": most,
            "first": first,
            "share": at_most["loss"] / at_most["optimum"],
            "at": at,
            "false": f"from η = {false[0]} on" if false else "nowhere here",
            "last_eta": self.etas[-1],
            "end": bounds[f"{self.etas[-1]:g}"],
            "rule": rule,
            "zeros": self.count - rule["support vectors of the parts"],
            "known": "; ".join(f"{name}: {_known(m)}" for name, m in of_sets.items()),
            "wrong": sum(step["wrong"] for m in of_sets.values() for step in m["safe"]),
        }


def _known(numbers: dict[str, Any]) -> str:
    """Return how many zeros are known at relative gaps of at most 1e-3 and 1e-5."""
    best = next(iter(numbers["losses"].values()))["optimum"]
    known = []
    for level in (1e-3, 1e-5):
        near = next((each for each in numbers["safe"] if each["gap"] <= level * best), None)
        if near is not None:
            known.append(f"{near['zeros']} at a relative gap of {near['gap'] / best:.0e}")
    return f"{' and '.join(known) or 'none'} of {numbers['zeros']}"


def _curve(values: dict[str, float], unit: float = 1.0) -> tuple[Any, Any]:
    """Return the keys as numbers, and the values in multiples of a unit."""
    return np.array([float(v) for v in values]), np.array([*values.values()]) / unit


def _draw_few(ax: Any, numbers: dict[str, Any], look: dict[str, Any]) -> None:
    """Draw means, least and largest over the starts of k-means, and a line through the means."""
    (v, mean), (_, low), (_, high) = (
        _curve({v: each[key] for v, each in numbers["Q of few parts"].items()}, numbers["Q(K)"])
        for key in ("mean", "least", "largest")
    )
    ax.plot(v, mean, **look)
    ax.fill_between(v, low, high, color=look["color"], alpha=0.2, linewidth=0)
    slope, start = np.polyfit(v[v > 1], mean[v > 1], 1)
    ax.plot(v, np.maximum(start + slope * v, 0.0), color=GREY, linewidth=0.9, linestyle=":")


def _draw_bounds(ax: Any, bounds: dict[str, Any], automatic: float) -> None:
    """Draw loss and bounds against eta; `automatic` is the paper's."""
    for key, (label, color, style) in BOUNDS.items():
        curve = _curve({eta: each[key] for eta, each in bounds.items()})
        ax.plot(*curve, style, color=color, label=label, markersize=5)
    ax.axvline(automatic, color=GREY, linewidth=0.8, linestyle=":")
    ax.annotate(" η = |α|²", (automatic, 1.0), fontsize=8, color=GREY)
    ax.set(xlabel="η", ylabel="h(α*) − h(parts), and bounds", xscale="log", yscale="log")


def _draw_gradients(ax: Any, screened: Screened) -> None:
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


def _draw_safe(ax: Any, numbers: dict[str, Any], color: str, marker: str, look: Any) -> None:
    """Draw the share of the zeros that is known, against the gap; dotted, with twice the gap."""
    best = next(iter(numbers["losses"].values()))["optimum"]
    gaps = [each["gap"] / best for each in numbers["safe"]]
    plain = {**look, "marker": marker, "label": f"{look['label']} ({numbers['zeros']} zeros)"}
    for key, style in (("zeros", plain), ("zeros with twice the gap", {"linestyle": ":"})):
        shares = [100 * each[key] / max(numbers["zeros"], 1) for each in numbers["safe"]]
        ax.plot(gaps, shares, color=color, markersize=4, **style)
