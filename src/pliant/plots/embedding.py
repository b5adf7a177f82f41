"""Where an embedding puts the points of each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from pliant.core.validation import check_points
from pliant.plots._common import BLUE, PURPLE, VERMILION, Display, last_step, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = (BLUE, VERMILION, "#009E73", PURPLE, "#E69F00", "#56B4E9", "#000000")
"""Colours of Okabe and Ito, which colour-blind readers can distinguish."""

MARKERS = ("o", "^", "s", "D", "v", "P", "X")
"""The second seven classes have another marker, and so on."""

MOST_IN_LEGEND = len(COLORS)
"""With more classes than this, each has its name in its midst."""


class EmbeddingDisplay(Display):
    """Points in a plane, by class.

    Up to seven classes have a colour each and a legend. More classes are distinguished by colour
    and marker, and each has its name at the median of its points.

    Parameters
    ----------
    places : array-like of shape (n, 2)
        Coordinates.
    labels : array-like of shape (n,)
        The class of each point.
    names : pair of str, default=("component 1", "component 2")
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    points_ : list of matplotlib PathCollection
        The points of each class, in the order of the labels.
    texts_ : list of matplotlib Text
        The names of the classes in the picture; empty where there is a legend.

    Examples
    --------
    >>> from pliant.plots import EmbeddingDisplay
    >>> EmbeddingDisplay([[0, 1], [2, 0], [1, 1]], ["a", "b", "a"]).classes
    ['a', 'b']
    """

    points_: list[Any]
    texts_: list[Any]

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
        if self.labels.shape != (len(self.places),):
            raise ValueError(f"expected y of shape ({len(self.places)},), got {self.labels.shape}")
        self.names = str(names[0]), str(names[1])

    @classmethod
    def from_estimator(
        cls,
        embedding: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Draw where a fitted transformer puts some points: best, points that it has not seen.

        Parameters
        ----------
        embedding : fitted transformer
            With two features out, such as `KernelEmbedding`; pipelines are welcome.
        X : array-like or data frame of shape (n, d)
            The points.
        y : array-like of shape (n,)
            Their classes.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **style
            For matplotlib's ``scatter``.

        Raises
        ------
        ValueError
            For a transformer with more or fewer than two features out, or labels that do not fit
            the points.
        """
        check_is_fitted(embedding)
        if not hasattr(embedding, "transform"):
            name = type(last_step(embedding)).__name__
            raise ValueError(f"expected a transformer, such as KernelEmbedding, got {name}")
        places = np.asarray(embedding.transform(X), dtype=np.float64)
        if places.ndim != 2 or places.shape[1] != 2:
            raise ValueError(
                f"expected a transformer with 2 features out (n_components=2), got "
                f"{type(last_step(embedding)).__name__} with features of shape {places.shape}"
            )
        names = ["component 1", "component 2"]
        if hasattr(embedding, "get_feature_names_out"):
            names = list(embedding.get_feature_names_out())
        return cls(places, y, names=names).plot(ax, **style)

    @property
    def classes(self) -> list[Any]:
        """The labels, sorted."""
        classes: list[Any] = np.unique(self.labels).tolist()
        return classes

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw the points, with a legend or with names among them."""
        look = {"s": 14, "linewidths": 0, "alpha": 0.8, **style}
        classes = self.classes
        self.points_, self.texts_ = [], []
        for number, label in enumerate(classes):
            turn, place = divmod(number, len(COLORS))
            own = {"color": COLORS[place], "marker": MARKERS[turn % len(MARKERS)]}
            drawn = self.places[self.labels == label]
            own["label"] = text(label)
            self.points_.append(self.ax_.scatter(drawn[:, 0], drawn[:, 1], **{**own, **look}))
        if len(classes) > MOST_IN_LEGEND:
            self._name(classes)
        else:
            # names given one by one: the legend would leave out those that begin with "_"
            names = [points.get_label() for points in self.points_]
            self.ax_.legend(self.points_, names, frameon=False, fontsize=8, markerscale=1.4)
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1])

    def _name(self, classes: list[Any]) -> None:
        """Write the name of each class at the median of its points."""
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=3, foreground="white")]
        for label, points in zip(classes, self.points_, strict=False):
            x, y = np.median(np.asarray(points.get_offsets()), axis=0)
            look: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold"}
            self.texts_.append(self.ax_.text(x, y, text(label), path_effects=halo, **look))
