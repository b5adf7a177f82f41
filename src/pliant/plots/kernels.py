"""Plots of learned kernels: adaptation, and tessellated kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from pliant.core.estimators import BaseEstimator
from pliant.core.parameters import check_integer
from pliant.core.typing import Array
from pliant.core.validation import check_points, check_vector
from pliant.kernels import Kernel
from pliant.plots._common import (
    GREY,
    HARDLY_ADAPTED,
    Display,
    Order,
    class_borders,
    feature_labels,
    fitted_machine,
    order_points,
    summary_for,
    text,
    thin,
    transform_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.contour import QuadContourSet
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D


class AdaptationDisplay(Display):
    """Heat map of F - 1 between support points; the learned kernel is F times the base kernel.

    Points are ordered by class and then by abs(coefficient), or by target for regression. Entries
    are positive for pairs that are more similar under the learned kernel than under the base
    kernel. Training points without a coefficient share one row of F, near 1, and are not drawn. If
    no entry exceeds 0.001 in absolute value, the title contains "hardly adapted", and the colours
    are pale, since the colour scale ends at 0.001.

    Parameters
    ----------
    change : array of shape (m, m)
        F - 1 between the drawn points.
    y : array of shape (m,)
        Labels or targets of the drawn points, sorted.
    n_support : int
        Number of support points, of which m are drawn.
    by : {"class", "target"}
        Sorting key of the points.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    image_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar
    """

    image_: AxesImage
    colorbar_: Colorbar

    def __init__(self, change: Array, y: npt.NDArray[Any], n_support: int, by: Order) -> None:
        self.change = change
        self.y = y
        self.n_support = n_support
        self.by = by

    @classmethod
    def from_estimator(
        cls, model: BaseEstimator, X: Any, y: npt.ArrayLike, *, ax: Axes | None = None, **image: Any
    ) -> Self:
        """Plot the adaptation of a fitted estimator.

        Parameters
        ----------
        model : fitted estimator
            A binary classifier or a regressor of DANK or KNPL, or a pipeline ending in one.
        X, y : array-like
            The training points and their labels or targets.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **image
            Keyword arguments for matplotlib's ``imshow``.

        Raises
        ------
        ValueError
            If the model has no adaptive matrix, or more than two classes, or if X or y does not
            have the size of the training set.
        """
        machine, y = fitted_machine(model), np.asarray(y)
        summary_for("adaptation", machine, "an adaptive matrix", "DANKClassifier")
        n, least = np.shape(X)[0], machine.kernel_.points.shape[0]  # those of positive weight
        if y.shape != (n,) or n < max(least, machine.support_.max() + 1):
            raise ValueError(
                f"expected the training points, at least {least}, and their labels, got X of {n} "
                f"rows and y of shape {y.shape}"
            )
        return cls.from_support(machine, y[machine.support_]).plot(ax, **image)

    @classmethod
    def from_support(cls, machine: Any, y: npt.ArrayLike) -> Self:
        """Build a display from the labels or targets of the support points, without drawing it.

        Parameters
        ----------
        machine : fitted estimator
            A DANK or KNPL regressor or binary classifier.
        y : array-like of shape (n_support,)
            Labels or targets of its ``support_vectors_``.

        Raises
        ------
        ValueError
            If the model has no adaptive matrix or no support points, or y has the wrong length.
        """
        summary_for("adaptation", machine, "an adaptive matrix", "DANKClassifier")
        kernel, targets = machine.kernel_, np.asarray(y)
        if targets.shape != (len(kernel.support),) or not len(targets):
            raise ValueError(
                f"expected y of shape ({len(kernel.support)},), one value per support point and at "
                f"least one value, got {targets.shape}"
            )
        by: Order = "class" if is_classifier(machine) else "target"
        order = thin(order_points(targets, kernel.beta[kernel.support], by))
        rows = kernel.support[order]
        return cls(kernel.change_between(rows, rows), targets[order], len(targets), by)

    @property
    def hardly_adapted(self) -> bool:
        """True if no entry of F - 1 exceeds 0.001 in absolute value."""
        return bool(np.abs(self.change).max(initial=0.0) <= HARDLY_ADAPTED)

    def _draw(self, style: dict[str, Any]) -> None:
        ax = self.ax_
        largest = float(np.abs(self.change).max())
        limit = max(largest, HARDLY_ADAPTED)
        look = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit, **style}
        self.image_ = ax.imshow(self.change, **look)
        self.colorbar_ = self.image_.figure.colorbar(self.image_, ax=ax, label="F − 1")
        borders, places, names = class_borders(self.y, self.by)
        for border in borders:
            ax.axhline(border - 0.5, color=GREY, linewidth=0.8)
            ax.axvline(border - 0.5, color=GREY, linewidth=0.8)
        ax.set_xticks(places, names)
        ax.set_yticks(places, names)
        ax.tick_params(length=0)
        ax.set_xlabel("target" if self.by == "target" else "class, then |coefficient|")
        m = len(self.change)
        shown = f"all {m}" if m == self.n_support else f"{m} of {self.n_support}"
        note = f"\nhardly adapted: |F − 1| ≤ {largest:.1g}" if self.hardly_adapted else ""
        ax.set_title(f"Adaptation, {shown} support points{note}")


class TessellationDisplay(Display):
    """k(x, z) as a function of two features of x for fixed z, or of one feature of x and z.

    With z fixed, the axis-parallel lines through z are edges of the tessellation. They divide the
    plane into four regions, and the kernel is a polynomial on each. As a function of one feature of
    x and z, the kernel has an edge at x = z.

    Parameters
    ----------
    horizontal, vertical : arrays of shape (r,) and (s,)
        Coordinates of the grid.
    values : array of shape (s, r)
        Kernel values on the grid, with one row per vertical position.
    point : pair of float or None
        The position of z in the plane; None if z varies along the vertical axis.
    names : pair of str
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    surface_ : matplotlib QuadContourSet
        The kernel values.
    edges_ : list of matplotlib Line2D
        The edges of the tessellation.
    point_ : matplotlib Line2D or None
        The point z.
    colorbar_ : matplotlib Colorbar

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from pliant import TKLClassifier
    >>> from pliant.plots import TessellationDisplay
    >>> X, y = make_circles(100, noise=0.1, factor=0.3, random_state=0)
    >>> model = TKLClassifier(C=10).fit(X, y)
    >>> display = TessellationDisplay.from_estimator(model, X, point=[0.0, 0.5])
    >>> display.names
    ('feature 0', 'feature 1')
    """

    surface_: QuadContourSet
    edges_: list[Line2D]
    point_: Line2D | None
    colorbar_: Colorbar

    def __init__(
        self,
        horizontal: npt.ArrayLike,
        vertical: npt.ArrayLike,
        values: npt.ArrayLike,
        point: tuple[float, float] | None,
        names: tuple[str, str],
    ) -> None:
        self.horizontal: Array = np.asarray(horizontal, dtype=np.float64)
        self.vertical: Array = np.asarray(vertical, dtype=np.float64)
        self.values: Array = check_points(values, "values", len(self.horizontal))
        self.point = point
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: Any,
        *,
        features: Sequence[int] | None = None,
        point: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        grid_resolution: int = 200,
        ax: Axes | None = None,
        **surface: Any,
    ) -> Self:
        """Plot the learned kernel of a fitted TKL estimator.

        Parameters
        ----------
        model : fitted estimator
            A binary `TKLClassifier`, a `TKLRegressor`, or a pipeline ending in one. For a pipeline,
            features are the inputs of its last step.
        X : array-like or data frame of shape (n, d)
            Points that define the ranges of the features.
        features : sequence of one or two int, optional
            Two features of x, or one feature of both x and z; all other features equal those of
            `point`. By default, the two features along which k(., z) changes most.
        point : array-like of shape (d,), optional
            The point z, in the features of the last step; by default the median of X.
        feature_names : sequence of d str, optional
            Defaults to the column names of the training data frame, or numbers.
        grid_resolution : int, default=200
            At least 2; the kernel is computed at grid_resolution**2 points.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **surface
            Keyword arguments for matplotlib's ``contourf``.

        Raises
        ------
        ValueError
            If the model does not have exactly one tessellated kernel, or `features` are invalid.
        """
        machine = fitted_machine(model)
        summary = summary_for("tessellation", machine, "a tessellated kernel", "TKLClassifier")
        kernel = summary.kernel
        assert kernel is not None
        points = check_points(transform_points(model, X), "X")
        d = points.shape[1]
        labels = feature_labels(feature_names, machine, d)
        z = np.median(points, axis=0) if point is None else check_vector("point", point, d)
        resolution = check_integer("grid_resolution", grid_resolution, least=2)
        ends = np.linspace(points.min(axis=0), points.max(axis=0), resolution)
        chosen = _find_features(kernel, points, z) if features is None else tuple(features)
        if len(chosen) not in (1, 2) or len(set(chosen) & set(range(d))) < len(chosen):
            raise ValueError(f"expected 1 or 2 distinct features in [0, {d - 1}], got {chosen}")
        if len(chosen) == 1:
            (f,) = chosen
            names = f"{text(labels[f])} of x", f"{text(labels[f])} of z"
            values = kernel(_vary(z, [f], ends[:, [f]]))
            display = cls(ends[:, f], ends[:, f], values, None, names)
        else:
            f, g = chosen
            plane = np.stack(np.meshgrid(ends[:, f], ends[:, g]), axis=-1).reshape(-1, 2)
            values = kernel(_vary(z, [f, g], plane), z[None, :]).reshape(resolution, resolution)
            names = text(labels[f]), text(labels[g])
            display = cls(ends[:, f], ends[:, g], values, (float(z[f]), float(z[g])), names)
        return display.plot(ax, **surface)

    def _draw(self, style: dict[str, Any]) -> None:
        from matplotlib.patheffects import withStroke

        ax, look = self.ax_, {"levels": 24, "cmap": "viridis", **style}
        self.surface_ = ax.contourf(self.horizontal, self.vertical, self.values, **look)
        self.colorbar_ = self.surface_.figure.colorbar(self.surface_, ax=ax, label="k(x, z)")
        edge: dict[str, Any] = {"color": "white", "linestyle": "--", "linewidth": 1.0}
        self.point_ = None
        if self.point is None:
            self.edges_ = [ax.axline((self.horizontal[0], self.horizontal[0]), slope=1.0, **edge)]
            ax.set_aspect("equal")
        else:
            x, y = self.point
            self.edges_ = [ax.axvline(x, **edge), ax.axhline(y, **edge)]
            dot: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "markersize": 8}
            (self.point_,) = ax.plot(x, y, "o", **dot)
            halo = [withStroke(linewidth=2.5, foreground="white")]
            ax.annotate("z", (x, y), (6, 6), textcoords="offset points", path_effects=halo)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set_title("Learned kernel k(x, z)" + ("" if self.point is None else " around z"))


def _find_features(kernel: Kernel, points: Array, z: Array) -> tuple[int, ...]:
    """Return the two features, in ascending order, along which k(., z) changes most."""
    ends = np.linspace(points.min(axis=0), points.max(axis=0), 21)
    lines = (_vary(z, [f], ends[:, [f]]) for f in range(len(z)))
    changes = np.array([np.ptp(kernel(line, z[None, :])) for line in lines])
    return tuple(sorted(int(f) for f in np.argsort(-changes, kind="stable")[:2]))


def _vary(z: Array, features: list[int], values: Array) -> Array:
    """Return a copy of z for each row of `values`, with these values of the given features."""
    points = np.repeat(z[None, :], len(values), axis=0)
    points[:, features] = values
    return points
