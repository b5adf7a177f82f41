"""Scatter plot of an embedding, coloured by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pliant.core.validation import check_points
from pliant.plots._common import COLORS, Display, last_step, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.legend import Legend


class EmbeddingDisplay(Display):
    """Points in a plane, coloured by class.

    The colours repeat after seven classes, with a different marker each time.

    Parameters
    ----------
    places : array-like of shape (n, 2)
        Coordinates of the points.
    labels : array-like of shape (n,)
        The class of each point.
    names : pair of str, default=("component 1", "component 2")
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    points_ : list of matplotlib PathCollection
        The points of each class, in the order of `classes`.
    legend_ : matplotlib Legend
        The class names.

    Examples
    --------
    >>> from pliant.plots import EmbeddingDisplay
    >>> EmbeddingDisplay([[0, 1], [2, 0], [1, 1]], ["a", "b", "a"]).classes
    ['a', 'b']
    """

    points_: list[PathCollection]
    legend_: Legend

    def __init__(
        self,
        places: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        names: Sequence[str] = ("component 1", "component 2"),
    ) -> None:
        self.places = check_points(places, "places")
        if self.places.shape[1] != 2:
            raise ValueError(f"expected places of shape (n, 2), got {self.places.shape}")
        self.labels = np.asarray(labels)
        self.names = str(names[0]), str(names[1])

    @classmethod
    def from_estimator(
        cls,
        embedding: BaseEstimator,
        X: Any,
        y: npt.ArrayLike,
        *,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Plot points, preferably unseen in training, transformed by a fitted transformer.

        Parameters
        ----------
        embedding : fitted transformer
            A transformer with two output features, such as `KernelEmbedding`, or a pipeline.
        X : array-like or data frame of shape (n, d)
            The points.
        y : array-like of shape (n,)
            Class labels of the points.
        ax : matplotlib Axes, optional
            The axes to draw on; by default those of a new figure.
        **style
            Keyword arguments for matplotlib's ``scatter``.

        Raises
        ------
        ValueError
            If the number of output features is not two.
        """
        check_is_fitted(embedding)
        if not hasattr(embedding, "transform"):
            name = type(last_step(embedding)).__name__
            raise ValueError(f"expected a transformer, such as KernelEmbedding, got {name}")
        names = ["component 1", "component 2"]
        if hasattr(embedding, "get_feature_names_out"):
            names = list(embedding.get_feature_names_out())
        return cls(embedding.transform(X), y, names=names).plot(ax, **style)

    @property
    def classes(self) -> list[Any]:
        """The distinct labels, sorted."""
        classes: list[Any] = np.unique(self.labels).tolist()
        return classes

    def _draw(self, style: dict[str, Any]) -> None:
        look = {"s": 14, "linewidths": 0, "alpha": 0.8, **style}
        self.points_ = []
        for number, label in enumerate(self.classes):
            turn, place = divmod(number, len(COLORS))
            own = {"color": COLORS[place], "marker": "o^sDvPX"[turn % 7]}
            drawn = self.places[self.labels == label]
            self.points_.append(self.ax_.scatter(*drawn.T, **{**own, **look}))
        names = [text(label) for label in self.classes]
        look = {"frameon": False, "fontsize": 8, "markerscale": 1.4}
        self.legend_ = self.ax_.legend(self.points_, names, **look)
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1])
