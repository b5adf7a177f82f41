"""SCG, Figures 1 to 3: two classes of two Gaussians, digits, and the time against the labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_local
from benchmarks.splits import random_halves
from papers.contestants.embeddings import (
    NEIGHBOURS,
    eigenmaps,
    neighbour_accuracy,
    spectrum,
    unfolded,
)
from papers.data import paper_sets, read
from papers.figures import Drawing, Numbers, shared
from papers.sample import draw
from pliant import KernelEmbedding, LogDetLearner, OrderSpectralLearner, SCGLogDetLearner
from pliant.core.typing import Array, Indices
from pliant.datasets import make_bimodal
from pliant.kernels import Gaussian

COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9",
    "#E69F00", "#000000", "#8C564B", "#999999", "#7B3FA0",
)  # fmt: skip
"""Seven of Okabe and Ito, and three more, for classes 0 to 9."""

PRINTED = {"OSK": 3.62, "LDK": 11.03, "SCG-OSK": 0.53, "SCG-LDK": 0.06}
"""Seconds at 70 % labels in the paper's Table 3, on its computer."""


def gaussians(s: SimpleNamespace, data: str | None) -> Drawing:
    """The data; the Gaussian kernel; coloured unfolding; SCG-LDK, on fresh points, and centred."""
    (X, y), (fresh, y_fresh) = (
        make_bimodal(s.n_per_class, deviation=s.deviation, random_state=s.seed + k) for k in (0, 1)
    )
    learner = SCGLogDetLearner(gamma=s.gamma, strength=s.strength)
    plain, centred = (KernelEmbedding(learner, center=flag).fit(X, y) for flag in (False, True))
    values, vectors = spectrum(Gaussian(s.gamma)(X), 2)
    map_of, _ = unfolded(X, y, fresh, s.neighbours, s.penalty)
    own, new = plain.transform(X), plain.transform(fresh)
    panels = {
        "data": (X, y),
        "Gaussian": (vectors * np.sqrt(values), y),
        "coloured MVU": (map_of, y),
        "SCG-LDK": (own, y),
        "SCG-LDK, fresh points": (new, y_fresh),
        "SCG-LDK, centred": (centred.transform(X), y),
    }
    measured = {name: _numbers(*panel) for name, panel in panels.items()}
    near = neighbour_accuracy((own, new), y, y_fresh)
    measured["SCG-LDK, fresh points"]["accuracy"] = near
    figure, (axes,) = shared.canvas(16.8, 3.3, 1, 6)
    for ax, (points, classes) in zip(axes, panels.values(), strict=True):
        for c, marker in enumerate("o^"):
            _scatter(ax, points[classes == c], classes[classes == c], 14, marker)
        ax.set_aspect("equal", "datalim")
    shared.lettered(
        axes, [f"{name}\nsilhouette {m['silhouette']:.2f}" for name, m in measured.items()]
    )
    listed = [{"name": name, "m": numbers} for name, numbers in measured.items()]
    return figure, measured, {"panels": listed}


def accuracy_among(points: Array, y: Indices) -> float:
    """Return the share of points that their 5 nearest, other ones classify rightly."""
    near = KNeighborsClassifier(NEIGHBOURS).fit(points, y).kneighbors(return_distance=False)
    votes = np.apply_along_axis(np.bincount, 1, y[near], minlength=y.max() + 1)
    return float(np.mean(votes.argmax(axis=1) == y))


def _numbers(points: Array, y: Indices) -> dict[str, float]:
    """Return the numbers of a panel; `halves` is as a share of the distance of the classes."""
    side = np.arange(len(y)) % 2
    means = np.array(
        [[points[(y == c) & (side == s)].mean(axis=0) for s in (0, 1)] for c in (0, 1)]
    )
    between = np.linalg.norm(np.subtract(*means.mean(axis=1)))
    within = np.linalg.norm(means[:, 0] - means[:, 1], axis=1)
    return {
        "accuracy": accuracy_among(points, y),
        "silhouette": float(silhouette_score(points, y)),
        "halves": float(within.max() / between),
    }


class Panel(NamedTuple):
    """What is drawn, and how many of the points their neighbours classify rightly."""

    title: str
    points: Array
    y: Indices
    accuracy: float


def digits(s: SimpleNamespace, data: str | None) -> Drawing:
    """Above, the points that each embedding is learned from; below, held-out points."""
    assert data is not None
    table = draw(read(paper_sets("scg")["usps"], data), s.per_class, s.seed)
    X, y = table.X / 255.0, np.unique(table.y, return_inverse=True)[1].reshape(-1)
    half, rest = next(random_halves(y, 1, stratify=True, random_state=s.seed))
    learned = X[half], y[half]
    chosen = KernelEmbedding(SCGLogDetLearner("gaussian"), betas=(1.0,), random_state=s.seed)
    free = KernelEmbedding(random_state=s.seed).fit(*learned)
    chosen.fit(*learned)

    def mapped(X: Array, y: Indices, new: Array) -> dict[str, tuple[Array, Array]]:
        return {
            "Laplacian eigenmaps": eigenmaps(X, new, s.neighbours),
            "coloured MVU": unfolded(X, y, new, s.neighbours, s.penalty),
        }

    learner = KernelEmbedding(SCGLogDetLearner(strength=chosen.strength_))
    all_points = {
        "PCA": PCA(2).fit_transform(X),
        **{title: _within(own) for title, (own, _) in mapped(X, y, X[:1]).items()},
        "SCG-LDK, β = 1": learner.fit(X, y).transform(X),
    }
    seen = [Panel(title, Z, y, accuracy_among(Z, y)) for title, Z in all_points.items()]
    maps = mapped(*learned, X[rest])
    for title, model in {"SCG-LDK, β = 1": chosen, "KernelEmbedding": free}.items():
        maps[title] = model.transform(X[half]), model.transform(X[rest])
    held_out = [
        Panel(title, _within(both[1]), y[rest], neighbour_accuracy(both, y[half], y[rest]))
        for title, both in maps.items()
    ]
    figure, rows = shared.canvas(14.4, 7.6, 2, 4)
    for ax, panel in zip(rows.flat, seen + held_out, strict=True):
        _scatter(ax, panel.points, panel.y, 2)
        ax.set_title(f"{panel.title}: {100 * panel.accuracy:.1f} %", fontsize=10)
    rows[0, 0].set_ylabel("points learned from, all labels")
    rows[1, 0].set_ylabel("held-out points")
    _legend(figure, len(np.unique(y)))
    graph = free.learner_.kernel == "graph"
    settings: Numbers = {
        "SCG-LDK, β = 1": {"strength": chosen.strength_},
        "KernelEmbedding": {"strength": free.strength_, "beta": free.beta_, "graph kernel": graph},
    }
    accuracy = {
        part: {panel.title: panel.accuracy for panel in panels}
        for part, panels in (("learned from", seen), ("held out", held_out))
    }
    above, below = (
        ", ".join(f"{name} {100 * value:.1f} %" for name, value in part.items())
        for part in accuracy.values()
    )
    words = {
        "seen": above, "new": below, "plain": settings["SCG-LDK, β = 1"],
        "free": settings["KernelEmbedding"],
        "kernel": "the graph kernel" if graph else "a Gaussian kernel",
    }  # fmt: skip
    return figure, {"accuracy": accuracy, "settings": settings}, words


def _scatter(ax: Any, points: Array, y: Indices, size: float = 6.0, marker: str = "o") -> None:
    """Draw the points without axes' numbers: the scale of coordinates means nothing.

    Small ones have plain edges, so that pictures of many stay small.
    """
    order = np.random.default_rng(0).permutation(len(y))  # no class lies on top of another
    look = {"s": size, "c": np.array(COLORS)[y[order]], "marker": marker, "linewidths": 0}
    ax.scatter(*points[order].T, **look, antialiased=size > 5)
    ax.set(xticks=[], yticks=[])


def _within(points: Array) -> Array:
    """Return points with the farthest percent of each coordinate drawn in, for the eye."""
    return np.clip(points, *np.percentile(points, (0.5, 99.5), axis=0))


def _legend(figure: Any, count: int) -> None:
    from matplotlib.lines import Line2D

    dots = [Line2D([], [], marker="o", linestyle="", color=color) for color in COLORS[:count]]
    figure.legend(dots, [str(k) for k in range(count)], loc="outside lower center", ncols=count)


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
