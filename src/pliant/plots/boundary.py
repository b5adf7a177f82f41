"""Where a model changes its mind: decision boundary and margins in a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_points
from pliant.plots._common import (
    BLUE,
    PURPLE,
    VERMILION,
    check_two_classes,
    feature_labels,
    last_step,
    new_axes,
    text,
)
from pliant.plots._plane import Plane, grid_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 60
"""Characters of the label of an axis."""


class BoundaryDisplay:
    """Decision boundary and margins of a classifier, seen in a plane.

    With two features the plane is theirs. With more it is spanned by the first two principal
    directions of the standardised features: points are projected to it, and the boundary is
    drawn for the points *in* the plane. It is a slice, so a point may lie on the other side of
    the line than its own decision value says.

    Parameters
    ----------
    horizontal, vertical : arrays of shape (r,)
        The grid.
    decisions : mapping from str to array of shape (r, r)
        Decision values of the model under its name, one row for each vertical position; those of
        a second model, if there is one, come after it.
    places : mapping from str to array of shape (n_k, 2)
        The points of the negative, then of the positive class, under its name.
    names : tuple of two str
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    boundary_, margins_, before_ : matplotlib QuadContourSet or None
        Decision 0; decisions -1 and 1; decision 0 of the second model. None where the plane
        holds no such line.
    points_ : list of two matplotlib PathCollection
        The points of either class.
    """

    ax_: Axes
    boundary_: Any
    margins_: Any
    before_: Any
    points_: list[Any]

    def __init__(
        self,
        horizontal: Array,
        vertical: Array,
        decisions: Mapping[str, Array],
        places: Mapping[str, Array],
        names: tuple[str, str],
    ) -> None:
        self.horizontal = horizontal
        self.vertical = vertical
        self.decisions = decisions
        self.places = places
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        before: Any = None,
        feature_names: Sequence[str] | None = None,
        grid_resolution: int = 100,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the boundary of a fitted classifier, and of a second one to compare it with.

        Parameters
        ----------
        model : fitted classifier
            Of two classes, with ``decision_function`` or ``predict_proba`` (then without margins);
            pipelines are welcome.
        X : array-like or data frame of shape (n, d), d >= 2
            The points to draw; with more than two features they also set the plane.
        y : array-like of shape (n,)
            Their labels.
        before : fitted classifier, optional
            Of the same two classes, such as an SVM with the base kernel; drawn dashed.
        feature_names : sequence of d str, optional
            By default the columns of the data frame, or numbers.
        grid_resolution : int, default=100
            >= 2: the decision is computed at its square many places.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        BoundaryDisplay

        Raises
        ------
        ValueError
            For a regressor, more than two classes, fewer than two features, or labels that a
            model does not know.
        """
        models = {type(last_step(model)).__name__: model}
        if before is not None:
            models[f"{type(last_step(before)).__name__} (before)"] = before
        points, labels = check_points(X, "X"), np.asarray(y)
        for each in models.values():
            check_two_classes(each)
            _check_labels(each, points, labels)
        names = getattr(X, "columns", None) if feature_names is None else feature_names
        plane = Plane.of(points, feature_labels(names, None, points.shape[1]))
        places = plane.project(points)
        grid = _grid(places, check_integer("grid_resolution", grid_resolution, least=2))
        decisions = {name: _on_grid(each, plane, grid, X) for name, each in models.items()}
        classes = {f"{label}": places[labels == label] for label in model.classes_}
        return cls(*grid, decisions, classes, plane.names).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw sides, boundary, margins and points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        self
        """
        self.ax_ = ax = new_axes(ax)
        (name, decision), *others = self.decisions.items()
        sides = [min(decision.min(), 0.0) - 1.0, 0.0, max(decision.max(), 0.0) + 1.0]
        grid = self.horizontal, self.vertical
        ax.contourf(*grid, decision, sides, colors=[VERMILION, BLUE], alpha=0.15)
        self.boundary_ = self._line(decision, [0.0], name, "black", "-")
        self.margins_ = self._line(decision, [-1.0, 1.0], f"{name}, margins", "black", ":")
        self.before_ = None
        for other, values in others:
            self.before_ = self._line(values, [0.0], other, PURPLE, "--")
        looks = zip(self.places.items(), (VERMILION, BLUE), ("o", "^"), strict=True)
        self.points_ = []
        for (label, xy), color, marker in looks:
            name = f"class {text(label)}"
            drawn = ax.scatter(
                xy[:, 0], xy[:, 1], 16, color, marker=marker, label=name, linewidths=0
            )
            self.points_.append(drawn)
        ax.set(xlabel=text(self.names[0], LONGEST), ylabel=text(self.names[1], LONGEST))
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=8)
        return self

    def _line(self, decision: Array, levels: list[float], label: str, color: str, dash: str) -> Any:
        """Draw the level lines that the plane holds, with one entry in the legend."""
        held = [level for level in levels if decision.min() < level < decision.max()]
        if not held:
            return None
        grid = self.horizontal, self.vertical
        self.ax_.plot([], [], color=color, linestyle=dash, label=label)
        return self.ax_.contour(*grid, decision, held, colors=color, linestyles=dash)


def _check_labels(model: Any, points: Array, labels: npt.NDArray[Any]) -> None:
    """Raise ValueError unless each point has one label that the model knows."""
    if labels.shape != (len(points),):
        raise ValueError(f"expected y of shape ({len(points)},), got {labels.shape}")
    unknown = labels[~np.isin(labels, model.classes_)]
    if unknown.size:
        raise ValueError(f"expected labels in {model.classes_.tolist()}, got {unknown[0]!r} in y")


def _grid(places: Array, resolution: int) -> tuple[Array, Array]:
    """Return the positions along both axes of a box a little larger than the points need."""
    low, high = places.min(axis=0), places.max(axis=0)
    rim = 0.1 * np.where(high > low, high - low, 1.0)
    ends = np.linspace(low - rim, high + rim, resolution)
    return ends[:, 0], ends[:, 1]


def _on_grid(model: Any, plane: Plane, grid: tuple[Array, Array], X: Any) -> Array:
    """Return the decision at each place of the grid, handed over in the form that X has."""
    points = plane.lift(grid_points(*grid))
    if hasattr(X, "columns"):
        points = type(X)(points, columns=X.columns)
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(points), dtype=np.float64)
    else:
        values = 2.0 * np.asarray(model.predict_proba(points), dtype=np.float64)[:, 1] - 1.0
    return values.reshape(len(grid[1]), len(grid[0]))
