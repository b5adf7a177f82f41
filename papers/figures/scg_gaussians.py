"""SCG, Figure 1: two classes of two Gaussians each, as data and as a learned kernel sees them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from papers.figures.figure import Drawn, canvas, save
from papers.figures.scg_scatter import (
    accuracy_among,
    accuracy_of_new,
    scatter,
    separation,
)
from pliant import SCGLogDetLearner
from pliant.core.linalg import top_eigenpairs
from pliant.core.typing import Array, Indices
from pliant.kernels import Gaussian

__all__ = ["ScgGaussians", "bimodal"]


def bimodal(n_per_class: int, deviation: float, seed: int) -> tuple[Array, Indices]:
    """Draw two classes with centres at opposite corners of a square with sides of 2."""
    rng = np.random.default_rng(seed)
    corners = np.array([[[1.0, 1.0], [-1.0, -1.0]], [[1.0, -1.0], [-1.0, 1.0]]])
    y = np.repeat([0, 1], n_per_class)
    side = np.arange(2 * n_per_class) % 2
    X = corners[y, side] + deviation * rng.standard_normal((2 * n_per_class, 2))
    return X, y


@dataclass(frozen=True)
class ScgGaussians:
    """The data; the Gaussian kernel; the learned kernel on its points, on fresh ones, and centred.

    Attributes
    ----------
    n_per_class : int
        As in the paper.
    deviation : float
        Of each Gaussian; the paper does not tell its own.
    gamma : float
        Of the Gaussian kernel.
    strength : float
        Of SCG-LDK, divided by the number of points.
    """

    n_per_class: int = 100
    deviation: float = 0.4
    gamma: float = 0.5
    strength: float = 100.0
    seed: int = 0

    name: ClassVar[str] = "scg-figure-1"
    title: ClassVar[str] = "SCG, Figure 1: two classes of two Gaussians"
    needs_data: ClassVar[bool] = False

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``scg-figure-1.png``."""
        (X, y), (fresh, y_fresh) = (
            bimodal(self.n_per_class, self.deviation, self.seed + k) for k in (0, 1)
        )
        maps = self._maps(X, y, fresh)
        panels = {
            "data": (X, y),
            "Gaussian": (maps["Gaussian"][0], y),
            "SCG-LDK": (maps["SCG-LDK"][0], y),
            "SCG-LDK, fresh points": (maps["SCG-LDK"][1], y_fresh),
            "SCG-LDK, centred": (maps["centred"][0], y),
        }
        measured = {name: _numbers(*panel) for name, panel in panels.items()}
        near = accuracy_of_new(maps["SCG-LDK"][0], y, maps["SCG-LDK"][1], y_fresh)
        measured["SCG-LDK, fresh points"]["accuracy"] = near
        figure = canvas(14.0, 3.3)
        for ax, part, name in zip(figure.subplots(1, 5), "abcde", panels, strict=True):
            points, classes = panels[name]
            for c, marker in enumerate("o^"):
                scatter(ax, points[classes == c], classes[classes == c], 14, marker)
            ax.set_aspect("equal", "datalim")
            ax.set_title(
                f"({part}) {name}\nsilhouette {measured[name]['silhouette']:.2f}", fontsize=10
            )
        save(figure, folder, self.name)
        return Drawn(self._caption(measured), measured)

    def _maps(self, X: Array, y: Indices, fresh: Array) -> dict[str, tuple[Array, Array]]:
        """Return the coordinates of the points and of fresh ones, for each embedding."""
        options = {"gamma": self.gamma, "strength": self.strength}
        learned = SCGLogDetLearner(**options).fit(X, y)
        centred = SCGLogDetLearner(n_components=2, **options).fit(X, y)
        return {
            "Gaussian": two_main(*(Gaussian(self.gamma)(each, X) for each in (X, fresh))),
            "SCG-LDK": two_main(learned.transform(X), learned.transform(fresh)),
            "centred": (centred.transform(X), centred.transform(fresh)),
        }

    def _caption(self, measured: dict[str, Any]) -> str:
        told = "; ".join(
            f"{name} {found['accuracy']:.3f}, {found['silhouette']:.2f}, {found['halves']:.2f}"
            for name, found in measured.items()
        )
        return (
            f"Two classes (circles, triangles) of {self.n_per_class} points, each an even mixture "
            f"of two Gaussians with standard deviation {self.deviation:g} at opposite corners of a "
            f"square with sides of 2; the paper's own points are not published. (b), (c): as in "
            f"the paper, the two main eigenvectors of the kernel matrix, not centred: of the "
            f"Gaussian kernel, gamma = {self.gamma:g}, and of the kernel learned from all labels "
            f"(strength {self.strength:g}, beta = 1). (d): as many fresh points, whose labels are "
            f"not used, by the same map. (e): the learned kernel centred, which is pliant's "
            f"default. The paper's third embedding, coloured maximum variance unfolding, is not at "
            f"hand. Accuracy of the 5 nearest neighbours (others of the panel; for the fresh "
            f"points the training points), mean silhouette of the classes, and the distance of the "
            f"halves of a class over that of the classes' means, the larger of two: {told}. As in "
            f"the paper, the Gaussian kernel tears a class apart and SCG-LDK makes one cluster of "
            f"each. That takes a matrix that is not centred: its first eigenvector is nearly "
            f"constant and the second tells the classes. Centred, the first tells them, and the "
            f"second shows the halves again."
        )


def two_main(gram: Array, cross_gram: Array) -> tuple[Array, Array]:
    """Return points and new points in the two main eigenvectors of a kernel matrix."""
    values, vectors = top_eigenpairs(gram, 2)
    return vectors * np.sqrt(values), cross_gram @ (vectors / np.sqrt(values))


def _numbers(points: Array, y: Indices) -> dict[str, float]:
    """Return what is told of a panel; `halves` is as a share of the distance of the classes."""
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
