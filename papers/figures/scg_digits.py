"""SCG, Figure 2: handwritten digits in two dimensions, points learned from and held-out ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.papers.side_information.kernels import Eigenmaps
from benchmarks.papers.side_information.sets import draw, read
from papers.figures.figure import Drawn, canvas, save
from papers.figures.scg_scatter import (
    COLORS,
    accuracy_among,
    accuracy_of_new,
    scatter,
)
from pliant import KernelEmbedding, SCGLogDetLearner
from pliant.comparison import random_halves
from pliant.core.typing import Array, Indices

__all__ = ["ScgDigits"]


class Panel(NamedTuple):
    """What is drawn, and how many of the points their neighbours classify rightly."""

    title: str
    points: Array
    y: Indices
    accuracy: float


@dataclass(frozen=True)
class ScgDigits:
    """Above, the points that each embedding is learned from; below, held-out points.

    Attributes
    ----------
    per_class : int
        Images of each digit, as in the paper.
    neighbours : int
        Of the graph of the eigenmaps, as in the paper.
    """

    per_class: int = 400
    neighbours: int = 5
    seed: int = 0

    name: ClassVar[str] = "scg-figure-2"
    title: ClassVar[str] = "SCG, Figure 2: embeddings of USPS"
    needs_data: ClassVar[bool] = True

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``scg-figure-2.png``."""
        X, y = self._images(data)
        half, rest = next(random_halves(y, 1, stratify=True, random_state=self.seed))
        chosen = KernelEmbedding(
            SCGLogDetLearner("gaussian"), betas=(1.0,), random_state=self.seed
        ).fit(X[half], y[half])
        free = KernelEmbedding(random_state=self.seed).fit(X[half], y[half])
        panels = [*self._seen(X, y, chosen.strength_)]
        panels += self._held_out(X, y, half, rest, (chosen, free))
        figure = canvas(11.0, 7.6)
        rows = figure.subplots(2, 3)
        for ax, panel in zip(rows.flat, panels, strict=True):
            scatter(ax, panel.points, panel.y, 2)
            ax.set_title(f"{panel.title}: {100 * panel.accuracy:.1f} %", fontsize=10)
        rows[0, 0].set_ylabel("points learned from, all labels")
        rows[1, 0].set_ylabel("held-out points")
        _legend(figure, len(np.unique(y)))
        save(figure, folder, self.name)
        measured = self._measured(panels, chosen, free)
        return Drawn(self._caption(measured), measured)

    def _images(self, data: str | None) -> tuple[Array, Indices]:
        assert data is not None
        table = draw(read("usps", data), self.per_class, self.seed)
        return table.X / 255.0, np.unique(table.y, return_inverse=True)[1].reshape(-1)

    def _seen(self, X: Array, y: Indices, strength: float) -> Iterator[Panel]:
        """Yield what the paper shows: all points, and the labels of all."""
        maps, _ = self._eigenmaps(X, y, X[:1])
        learner = SCGLogDetLearner(strength=strength, n_components=2)
        found = {
            "PCA": PCA(2).fit_transform(X),
            "Laplacian eigenmaps": _within(maps),
            "SCG-LDK, β = 1": learner.fit(X, y).transform(X),
        }
        for title, points in found.items():
            yield Panel(title, points, y, accuracy_among(points, y))

    def _held_out(
        self, X: Array, y: Indices, half: Indices, rest: Indices, embeddings: Any
    ) -> Iterator[Panel]:
        """Yield the points of the other half, mapped by what the first one taught."""
        chosen, free = embeddings
        mapped = {"Laplacian eigenmaps": self._eigenmaps(X[half], y[half], X[rest])}
        for title, embedding in {"SCG-LDK, β = 1": chosen, "KernelEmbedding": free}.items():
            mapped[title] = embedding.transform(X[half]), embedding.transform(X[rest])
        for title, (own, new) in mapped.items():
            right = accuracy_of_new(own, y[half], new, y[rest])
            yield Panel(title, _within(new), y[rest], right)

    def _eigenmaps(self, X: Array, y: Indices, new: Array) -> tuple[Array, Array]:
        setting = [{"neighbours": self.neighbours}]
        return next(Eigenmaps().coordinates(X, y, new, setting, 2))

    def _measured(
        self, panels: list[Panel], chosen: KernelEmbedding, free: KernelEmbedding
    ) -> dict[str, Any]:
        named = zip(("learned from", "held out"), (panels[:3], panels[3:]), strict=True)
        accuracy = {part: {panel.title: panel.accuracy for panel in some} for part, some in named}
        settings = {
            "SCG-LDK, β = 1": {"strength": chosen.strength_},
            "KernelEmbedding": {
                "strength": free.strength_,
                "beta": free.beta_,
                "graph kernel": free.learner_.kernel == "graph",
            },
        }
        return {"accuracy": accuracy, "settings": settings}

    def _caption(self, measured: dict[str, Any]) -> str:
        seen, new = (
            ", ".join(f"{name} {100 * value:.1f} %" for name, value in part.items())
            for part in measured["accuracy"].values()
        )
        plain, free = measured["settings"].values()
        kernel = "the graph kernel" if free["graph kernel"] else "a Gaussian kernel"
        return (
            f"{self.per_class} images of each digit of USPS, each colour a digit. Above, as in the "
            f"paper: all points, all labels used. Below, learned from half of the points; drawn "
            f"are only points of the other half, whose labels nothing has seen. Eigenmaps: graph "
            f"of {self.neighbours} nearest neighbours, as in the paper; new points by Nystroem's "
            f"formula. SCG-LDK with beta = 1: Gaussian kernel, centred, strength "
            f"{plain['strength']:g}, chosen by cross-validation on the first half; the panel above "
            f"has the same. KernelEmbedding with all defaults chose {kernel}, strength "
            f"{free['strength']:g} and beta = {free['beta']:g}. Points beyond the outermost half "
            f"percent of a coordinate are drawn at the edge, in eigenmaps and below. The paper's "
            f"coloured maximum variance unfolding is not at hand. Share that the 5 nearest "
            f"neighbours classify rightly: above, among all points, {seen}; below, held-out points "
            f"by the neighbours among the training points, {new}. Points whose labels were given "
            f"look farther apart than new ones."
        )


def _within(points: Array) -> Array:
    """Return points with the farthest percent of each coordinate drawn in, for the eye."""
    return np.clip(points, *np.percentile(points, (0.5, 99.5), axis=0))


def _legend(figure: Any, count: int) -> None:
    from matplotlib.lines import Line2D

    dots = [Line2D([], [], marker="o", linestyle="", color=color) for color in COLORS[:count]]
    figure.legend(dots, [str(k) for k in range(count)], loc="outside lower center", ncols=count)
