"""DANK, Figure 5: what is lost between parts, its bounds, and the screening of Theorem 7."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from papers.figures import Drawing, Numbers, shared
from papers.theory.decomposed import BetweenParts, between_parts, bound_on_loss, printed_bound
from papers.theory.screening import safe_zeros, theorem_seven, theorem_seven_threshold
from pliant.core.typing import Array, Indices, Mask
from pliant.kernels import Gaussian
from pliant.methods.svm import smo
from pliant.methods.svm.dual import MarginDual, svc_dual, without_intercept
from pliant.methods.svm.rows import DenseRows

TOL = 1e-9
"""Relative gap to which a problem is solved where it stands for the optimum."""

LOOKS = ((shared.BLUE, "o", "-"), (shared.VERMILION, "s", "--"))
"""Colour, marker and line of each set."""

BOUNDS = {
    "bound": ("Theorem 6, corrected", shared.BLUE, "s-"),
    "certified gap": ("gap of (18) at the parts", shared.PURPLE, "^-"),
    "loss": ("true loss", "black", "o-"),
    "printed bound": ("Theorem 6 as printed", shared.VERMILION, "x--"),
}


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """Problem (18) of the paper for a sample: K, shape (n, n), labels -1.0 or 1.0, C and eta."""

    X: Array
    K: Array
    y: Array
    C: float
    eta: float

    @classmethod
    def of(cls, name: str, data: str | None, s: SimpleNamespace, gamma: float) -> BoxProblem:
        """Return the problem of random rows of a set, with the paper's eta, |alpha|^2 of the SVM.

        Features are clipped at their .1 and 99.9 percentiles and scaled to [0, 1].
        """
        rows = shared.read_rows(name, data, s.count, s.seed)
        low, high = np.percentile(rows.X, [0.1, 99.9], axis=0)
        X = (np.clip(rows.X, low, high) - low) / np.where(high > low, high - low, 1.0)
        signs = np.where(rows.y == rows.y.max(), 1.0, -1.0)
        plain = cls(X, Gaussian(gamma)(X), signs, s.C, np.inf)
        return replace(plain, eta=float(plain.optimum @ plain.optimum))

    def labels(self, parts: int, seed: int) -> Indices:
        """Return the part of each point, by k-means."""
        return np.asarray(KMeans(parts, n_init=1, random_state=seed).fit_predict(self.X))

    def between(self, labels: Indices) -> BetweenParts:
        """Return the sums between parts."""
        return between_parts(DenseRows(self.K), labels)

    def dual(self, members: Indices) -> MarginDual:
        """Return problem (19) for some points, with the coordinate that takes up the rest."""
        rows = DenseRows(self.K[np.ix_(members, members)])
        dual = svc_dual(rows, self.y[members], self.C, quartic=1.0 / (4.0 * self.eta))
        return without_intercept(dual)

    @cached_property
    def whole(self) -> MarginDual:
        """Problem (18)."""
        return self.dual(np.arange(len(self.y)))

    @cached_property
    def optimum(self) -> Array:
        """beta* of (18)."""
        return smo.solve(self.whole, tol=TOL).x[:-1]

    def parted(self, labels: Indices) -> Array:
        """Return the solutions of the parts, put together."""
        beta = np.zeros(len(self.y))
        for part in np.unique(labels):
            members = np.flatnonzero(labels == part)
            beta[members] = smo.solve(self.dual(members), tol=TOL).x[:-1]
        return beta

    def F(self, beta: Array) -> Array:
        """Return 11' + D K D/(4 eta)."""
        return 1.0 + np.outer(beta, beta) * self.K / (4.0 * self.eta)

    def range_of_F(self, same: Mask, beta: Array) -> tuple[float, float]:
        """Return B1 and B2 of Theorem 6, with 1 for F-bar between parts."""
        larger = np.maximum(self.F(self.optimum), np.where(same, self.F(beta), 1.0))
        return float(larger.min()), float(larger.max())

    def losses(self, labels: Indices) -> dict[str, float]:
        """Return what the parts lose, and the bounds on it."""
        beta, between = self.parted(labels), self.between(labels)
        best, reached = (self.whole.value(np.append(b, 0.0)) for b in (self.optimum, beta))
        ends = self.range_of_F(labels[:, None] == labels, beta)
        return {
            "optimum": best,
            "loss": best - reached,
            "certified gap": self.whole.certificate(np.append(beta, 0.0)).gap,
            "bound": bound_on_loss(between, self.C, self.eta),
            "printed bound": printed_bound(between, self.C, *ends),
        }

    def theorem_7(self, labels: Indices) -> Screened:
        """Return the gradients of (20) and what its condition (21) makes of them."""
        beta, same = self.parted(labels), labels[:, None] == labels
        gradient = 1.0 - self.y * ((np.where(same, self.F(beta), 0.0) * self.K) @ beta)
        low, high = self.range_of_F(same, beta)
        inside, everywhere = (
            theorem_seven_threshold(np.abs(K).sum(axis=1), self.C, low, high, np.abs(self.K).max())
            for K in (np.where(same, self.K, 0.0), self.K)
        )
        return Screened(gradient, beta == 0.0, self.optimum == 0.0, inside, everywhere)

    def screening(self, tolerances: tuple[float, ...]) -> Iterator[dict[str, float]]:
        """Yield a gap, and what the safe rule finds at a point that is no better solved."""
        for tol in tolerances:
            result = smo.solve(self.whole, tol=tol)
            u = self.whole.fields(result.x)[0][:-1]
            zeros, plain = (
                safe_zeros(u, self.y, times * result.gap, self.K.diagonal()) for times in (1, 2)
            )
            yield {
                "gap": result.gap,
                "zeros": int(zeros.sum()),
                "zeros with twice the gap": int(plain.sum()),
                "wrong": int((zeros & (self.optimum != 0.0)).sum()),
            }


class Screened(NamedTuple):
    """What Theorem 7 needs, an entry for each point."""

    gradient: Array
    """Of (20) at the solutions of the parts."""
    zero: Mask
    whole_zero: Mask
    """Whether alpha_i is zero in its part, and in the whole problem."""
    inside: Array
    everywhere: Array
    """The right side of (21), with the norm over the part and over all points."""

    def numbers(self) -> Numbers:
        """Return counts and ranges."""
        found: Numbers = {
            "support vectors of the parts": int((~self.zero).sum()),
            "zero in its part, not in the whole": int((self.zero & ~self.whole_zero).sum()),
            "least gradient": float(self.gradient.min()),
            "largest gradient": float(self.gradient.max()),
        }
        for name, t in {"its part": self.inside, "all points": self.everywhere}.items():
            screened = theorem_seven(~self.zero, self.gradient, t)
            found[f"largest threshold, {name}"] = float(t.max())
            found[f"screened, {name}"] = int(screened.sum())
        return found


def parts(s: SimpleNamespace, data: str | None) -> Drawing:
    """Six panels: Q(pi) for few and for many parts, losses, bounds, gradients, safe screening."""
    with threadpool_limits(1):
        problems = {name: BoxProblem.of(name, data, s, gamma) for name, gamma in s.sets}
        first = problems[s.sets[0][0]]
        labels = first.labels(s.parts, s.seed)
        screened = first.theorem_7(labels)
        measured: Numbers = {name: _measure(s, problem) for name, problem in problems.items()}
        measured["bounds"] = {f"{eta:g}": replace(first, eta=eta).losses(labels) for eta in s.etas}
        measured["Theorem 7"] = screened.numbers()
    return _draw(s, measured, screened), measured, _words(s, measured)


def _measure(s: SimpleNamespace, problem: BoxProblem) -> Numbers:
    """Return Q(pi) for each number of parts, the losses for each, and the safe screening."""
    labels = {v: problem.labels(v, s.seed) for v in (*s.few, *s.many)}
    few = {
        v: [problem.between(problem.labels(v, s.seed + k)).total for k in range(s.draws)]
        for v in s.few
    }
    means = [float(np.mean(each)) for v, each in few.items() if v > 1]
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
        "safe": list(problem.screening(s.tolerances)),
    }


def _draw(s: SimpleNamespace, measured: Numbers, screened: Screened) -> Any:
    figure, panels = shared.canvas(13.5, 7.6, 2, 3)
    (few, many, loss), (bounds, gradients, safe) = panels
    for (name, _), (color, marker, dash) in zip(s.sets, LOOKS, strict=False):
        numbers, look = measured[name], {"color": color, "marker": marker}
        best = next(iter(numbers["losses"].values()))["optimum"]
        named = {**look, "linestyle": dash, "label": name}
        (v, mean), (_, low), (_, high) = (
            _curve({v: each[key] for v, each in numbers["Q of few parts"].items()}, numbers["Q(K)"])
            for key in ("mean", "least", "largest")
        )
        few.plot(v, mean, **named)
        few.fill_between(v, low, high, color=color, alpha=0.2, linewidth=0)
        slope, start = np.polyfit(v[v > 1], mean[v > 1], 1)
        few.plot(
            v, np.maximum(start + slope * v, 0.0), color=shared.GREY, linewidth=0.9, linestyle=":"
        )
        many.plot(*_curve(numbers["Q"], numbers["Q(K)"]), **named, markersize=4)
        for key, style, more in (("loss", dash, ""), ("certified gap", ":", ": gap")):
            shares = {v: 100 * m[key] / m["optimum"] for v, m in numbers["losses"].items()}
            loss.plot(*_curve(shares), **look, linestyle=style, label=name + more, markersize=4)
        gaps = [each["gap"] / best for each in numbers["safe"]]
        plain = {**named, "label": f"{name} ({numbers['zeros']} zeros)"}
        for key, style in (("zeros", plain), ("zeros with twice the gap", {"linestyle": ":"})):
            shares = [100 * each[key] / max(numbers["zeros"], 1) for each in numbers["safe"]]
            safe.plot(gaps, shares, **{"color": color, "markersize": 4, **style})
    few.set(xlabel="number of parts v", ylabel="Q(π)/Q(K)")
    few.set_ylim(bottom=0.0)
    many.axhline(1.0, color=shared.GREY, linewidth=0.8)
    many.annotate("limit Q(K)", (1, 1.0), va="bottom", fontsize=8, color=shared.GREY)
    many.set(xlabel="number of parts v", xscale="log", ylim=(0.0, 1.1))
    loss.set(xlabel="number of parts v", ylabel="% of the optimum h(α*)")
    loss.set(xscale="log", yscale="log")
    safe.set(xlabel="certified gap/h(α*)", ylabel="% of the zeros that are screened")
    safe.set_xscale("log")
    safe.invert_xaxis()
    first = s.sets[0][0]
    for key, (label, color, style) in BOUNDS.items():
        curve = _curve({eta: each[key] for eta, each in measured["bounds"].items()})
        bounds.plot(*curve, style, color=color, label=label, markersize=5)
    bounds.axvline(measured[first]["eta"], color=shared.GREY, linewidth=0.8, linestyle=":")
    bounds.annotate(" η = |α|²", (measured[first]["eta"], 1.0), fontsize=8, color=shared.GREY)
    bounds.set(xlabel="η", ylabel="h(α*) − h(parts), and bounds", xscale="log", yscale="log")
    _draw_gradients(gradients, screened)
    shared.lettered(panels.flat, [
        "Q(π), few parts", "Q(π), up to many parts", "what the parts lose",
        f"{first}: loss and bounds, {s.parts} parts", f"{first}: gradients and Theorem 7",
        "the safe rule",
    ])  # fmt: skip
    corners = ("upper left", "center left", "best", "best", "center right", "lower right")
    for ax, corner in zip(panels.flat, corners, strict=True):
        ax.legend(loc=corner, fontsize=7, markerscale=2 if ax is gradients else 1)
    return figure


def _curve(values: dict[str, float], unit: float = 1.0) -> tuple[Any, Any]:
    """Return the keys as numbers, and the values in multiples of a unit."""
    return np.array([float(v) for v in values]), np.array([*values.values()]) / unit


def _draw_gradients(ax: Any, screened: Screened) -> None:
    """Draw the gradients in rising order, and the thresholds of both readings."""
    order = np.argsort(screened.gradient)
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    lost = screened.zero & ~screened.whole_zero
    for chosen, color, size, label in (
        (screened.zero & ~lost, shared.BLUE, 3, "zero in its part"),
        (~screened.zero, shared.VERMILION, 3, "support vector of its part"),
        (lost, "black", 8, "zero in its part, not in the whole"),
    ):
        look = {"color": color, "markersize": size, "label": label}
        ax.plot(place[chosen], screened.gradient[chosen], ".", **look)
    for threshold, color, label in (
        (screened.inside, shared.PURPLE, "(21), norm over the part"),
        (screened.everywhere, shared.GREY, "(21), norm over all points"),
    ):
        ax.plot(place, threshold, ".", color=color, markersize=1.5, label=label)
    ax.set(xlabel="point, by its gradient", ylabel="gradient of (20) and thresholds")
    ax.set_yscale("symlog", linthresh=1.0)


def _words(s: SimpleNamespace, measured: Numbers) -> Numbers:
    of_sets = {name: measured[name] for name, _ in s.sets}
    first = measured[s.sets[0][0]]
    most, last = (*s.few, *s.many)[-1], f"{s.few[-1]}"
    at, at_most = (first["losses"][f"{v}"] for v in (s.parts, most))
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
        "names": " and ".join(of_sets), "lines": lines, "ratio": max(ratios, default=1),
        "most": most, "first": s.sets[0][0], "share": at_most["loss"] / at_most["optimum"],
        "at": at, "false": f"from η = {false[0]} on" if false else "nowhere here",
        "last_eta": s.etas[-1], "end": bounds[f"{s.etas[-1]:g}"], "rule": rule,
        "zeros": s.count - rule["support vectors of the parts"],
        "known": "; ".join(f"{name}: {_known(m)}" for name, m in of_sets.items()),
        "wrong": sum(step["wrong"] for m in of_sets.values() for step in m["safe"]),
    }  # fmt: skip


def _known(numbers: Numbers) -> str:
    """Return how many zeros are known at relative gaps of at most 1e-3 and 1e-5."""
    best = next(iter(numbers["losses"].values()))["optimum"]
    known = []
    for level in (1e-3, 1e-5):
        near = next((each for each in numbers["safe"] if each["gap"] <= level * best), None)
        if near is not None:
            known.append(f"{near['zeros']} at a relative gap of {near['gap'] / best:.0e}")
    return f"{' and '.join(known) or 'none'} of {numbers['zeros']}"
