"""SCG, Figures 1 and 2: two classes of two Gaussians, and handwritten digits, in two dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.splits import random_halves
from papers.contestants.embeddings import Eigenmaps
from papers.contestants.unfolding import ColouredUnfolding
from papers.data import paper_sets, read
from papers.figures.figure import PaperFigure, canvas, lettered
from papers.sample import draw
from pliant import KernelEmbedding, SCGLogDetLearner
from pliant.core.linalg import top_eigenpairs
from pliant.core.typing import Array, Indices
from pliant.datasets import make_bimodal
from pliant.kernels import Gaussian

NEIGHBOURS = 5

COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9",
    "#E69F00", "#000000", "#8C564B", "#999999", "#7B3FA0",
)  # fmt: skip
"""Seven of Okabe and Ito, and three more, for classes 0 to 9."""


class ScgGaussians(PaperFigure):
    """The data; the Gaussian kernel; coloured unfolding; SCG-LDK, on fresh points, and centred."""

    name = "scg-figure-1"

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        (X, y), (fresh, y_fresh) = (
            make_bimodal(self.n_per_class, deviation=self.deviation, random_state=self.seed + k)
            for k in (0, 1)
        )
        learner = SCGLogDetLearner(gamma=self.gamma, strength=self.strength)
        plain, centred = (KernelEmbedding(learner, center=flag).fit(X, y) for flag in (False, True))
        given, _ = two_main(*(Gaussian(self.gamma)(each, X) for each in (X, fresh)))
        setting = [{"neighbours": self.neighbours, "penalty": self.penalty}]
        ((unfolded, _),) = ColouredUnfolding().coordinates(X, y, fresh, setting, 2)
        own, new = plain.transform(X), plain.transform(fresh)
        panels = {
            "data": (X, y),
            "Gaussian": (given, y),
            "coloured MVU": (unfolded, y),
            "SCG-LDK": (own, y),
            "SCG-LDK, fresh points": (new, y_fresh),
            "SCG-LDK, centred": (centred.transform(X), y),
        }
        measured = {name: _numbers(*panel) for name, panel in panels.items()}
        near = accuracy_of_new(own, y, new, y_fresh)
        measured["SCG-LDK, fresh points"]["accuracy"] = near
        figure, (axes,) = canvas(16.8, 3.3, 1, 6)
        for ax, (points, classes) in zip(axes, panels.values(), strict=True):
            for c, marker in enumerate("o^"):
                _scatter(ax, points[classes == c], classes[classes == c], 14, marker)
            ax.set_aspect("equal", "datalim")
        lettered(
            axes, [f"{name}\nsilhouette {m['silhouette']:.2f}" for name, m in measured.items()]
        )
        return figure, measured

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        return {"panels": [{"name": name, "m": numbers} for name, numbers in measured.items()]}


class Panel(NamedTuple):
    """What is drawn, and how many of the points their neighbours classify rightly."""

    title: str
    points: Array
    y: Indices
    accuracy: float


class ScgDigits(PaperFigure):
    """Above, the points that each embedding is learned from; below, held-out points."""

    name = "scg-figure-2"
    needs_data = True

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        X, y = self._images(data)
        half, rest = next(random_halves(y, 1, stratify=True, random_state=self.seed))
        chosen = KernelEmbedding(
            SCGLogDetLearner("gaussian"), betas=(1.0,), random_state=self.seed
        ).fit(X[half], y[half])
        free = KernelEmbedding(random_state=self.seed).fit(X[half], y[half])
        seen = list(self._seen(X, y, chosen.strength_))
        held_out = list(self._held_out(X, y, half, rest, (chosen, free)))
        figure, rows = canvas(14.4, 7.6, 2, 4)
        for ax, panel in zip(rows.flat, seen + held_out, strict=True):
            _scatter(ax, panel.points, panel.y, 2)
            ax.set_title(f"{panel.title}: {100 * panel.accuracy:.1f} %", fontsize=10)
        rows[0, 0].set_ylabel("points learned from, all labels")
        rows[1, 0].set_ylabel("held-out points")
        _legend(figure, len(np.unique(y)))
        settings = {
            "SCG-LDK, β = 1": {"strength": chosen.strength_},
            "KernelEmbedding": {
                "strength": free.strength_,
                "beta": free.beta_,
                "graph kernel": free.learner_.kernel == "graph",
            },
        }
        accuracy = {
            part: {panel.title: panel.accuracy for panel in panels}
            for part, panels in (("learned from", seen), ("held out", held_out))
        }
        return figure, {"accuracy": accuracy, "settings": settings}

    def _images(self, data: str | None) -> tuple[Array, Indices]:
        assert data is not None
        table = draw(read(paper_sets("scg")["usps"], data), self.per_class, self.seed)
        return table.X / 255.0, np.unique(table.y, return_inverse=True)[1].reshape(-1)

    def _seen(self, X: Array, y: Indices, strength: float) -> Iterator[Panel]:
        """Yield what the paper shows: all points, and the labels of all."""
        maps, _ = self._eigenmaps(X, y, X[:1])
        learner = SCGLogDetLearner(strength=strength, n_components=2)
        embeddings = {
            "PCA": PCA(2).fit_transform(X),
            "Laplacian eigenmaps": _within(maps),
            "coloured MVU": _within(self._unfolded(X, y, X[:1])[0]),
            "SCG-LDK, β = 1": learner.fit(X, y).transform(X),
        }
        for title, points in embeddings.items():
            yield Panel(title, points, y, accuracy_among(points, y))

    def _held_out(
        self, X: Array, y: Indices, half: Indices, rest: Indices, embeddings: Any
    ) -> Iterator[Panel]:
        """Yield the points of the other half, mapped by what was learned from the first one."""
        chosen, free = embeddings
        learned = X[half], y[half], X[rest]
        mapped = {
            "Laplacian eigenmaps": self._eigenmaps(*learned),
            "coloured MVU": self._unfolded(*learned),
        }
        for title, embedding in {"SCG-LDK, β = 1": chosen, "KernelEmbedding": free}.items():
            mapped[title] = embedding.transform(X[half]), embedding.transform(X[rest])
        for title, (own, new) in mapped.items():
            right = accuracy_of_new(own, y[half], new, y[rest])
            yield Panel(title, _within(new), y[rest], right)

    def _eigenmaps(self, X: Array, y: Indices, new: Array) -> tuple[Array, Array]:
        setting = [{"neighbours": self.neighbours}]
        return next(Eigenmaps().coordinates(X, y, new, setting, 2))

    def _unfolded(self, X: Array, y: Indices, new: Array) -> tuple[Array, Array]:
        setting = [{"neighbours": self.neighbours, "penalty": self.penalty}]
        return next(ColouredUnfolding().coordinates(X, y, new, setting, 2))

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        seen, new = (
            ", ".join(f"{name} {100 * value:.1f} %" for name, value in part.items())
            for part in measured["accuracy"].values()
        )
        plain, free = measured["settings"].values()
        kernel = "the graph kernel" if free["graph kernel"] else "a Gaussian kernel"
        return {"seen": seen, "new": new, "plain": plain, "free": free, "kernel": kernel}


def two_main(gram: Array, cross_gram: Array) -> tuple[Array, Array]:
    """Return points and new points in the two main eigenvectors of a kernel matrix."""
    values, vectors = top_eigenpairs(gram, 2)
    return vectors * np.sqrt(values), cross_gram @ (vectors / np.sqrt(values))


def accuracy_among(points: Array, y: Indices) -> float:
    """Return the share of points that their 5 nearest, other ones classify rightly."""
    near = KNeighborsClassifier(NEIGHBOURS).fit(points, y).kneighbors(return_distance=False)
    votes = np.apply_along_axis(np.bincount, 1, y[near], minlength=y.max() + 1)
    return float(np.mean(votes.argmax(axis=1) == y))


def accuracy_of_new(points: Array, y: Indices, new: Array, y_new: Indices) -> float:
    """Return the share of new points that the 5 nearest of the others classify rightly."""
    model = KNeighborsClassifier(NEIGHBOURS).fit(points, y)
    return float(np.mean(model.predict(new) == y_new))


def separation(points: Array, y: Indices) -> float:
    """Return the mean silhouette of the classes, from -1 to 1: 1 are tight and far apart."""
    return float(silhouette_score(points, y))


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
        "silhouette": separation(points, y),
        "halves": float(within.max() / between),
    }


def _scatter(ax: Any, points: Array, y: Indices, size: float = 6.0, marker: str = "o") -> None:
    """Draw the points without axes' numbers: the scale of coordinates means nothing.

    Small ones have plain edges, so that pictures of many stay small.
    """
    order = np.random.default_rng(0).permutation(len(y))  # no class lies on top of another
    colors = np.array(COLORS)[y[order]]
    ax.scatter(
        *points[order].T, s=size, c=colors, marker=marker, linewidths=0, antialiased=size > 5
    )
    ax.set(xticks=[], yticks=[])


def _within(points: Array) -> Array:
    """Return points with the farthest percent of each coordinate drawn in, for the eye."""
    return np.clip(points, *np.percentile(points, (0.5, 99.5), axis=0))


def _legend(figure: Any, count: int) -> None:
    from matplotlib.lines import Line2D

    dots = [Line2D([], [], marker="o", linestyle="", color=color) for color in COLORS[:count]]
    figure.legend(dots, [str(k) for k in range(count)], loc="outside lower center", ncols=count)
