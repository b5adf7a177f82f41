"""Plot of a learned tessellated kernel over two features, or over one feature of both points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_points, check_vector
from pliant.kernels import Kernel
from pliant.plots._common import (
    Display,
    check_inner_points,
    feature_labels,
    last_step,
    summary_for,
    text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.contour import QuadContourSet
    from matplotlib.lines import Line2D


class TessellationDisplay(Display):
    """k(x, z) as a function of two features of x for fixed z, or of one feature of x and z.

    With z fixed, the axis-parallel lines through z are edges of the tessellation. They divide the
    plane into four regions, and the kernel is a polynomial on each. As a function of one feature of
    x and z, the kernel has the edge x = z.

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
        The colour scale.

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
        self.horizontal = np.asarray(horizontal, dtype=np.float64)
        self.vertical = np.asarray(vertical, dtype=np.float64)
        self.values = check_points(values, "values", len(self.horizontal))
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
            A binary `TKLClassifier`, a `TKLRegressor`, or a pipeline ending in one; features are
            then the inputs of its last step.
        X : array-like or data frame of shape (n, d)
            Points that define the ranges of the features.
        features : sequence of one or two int, optional
            Two features of x, or one feature of both x and z; the other features equal those of z.
            By default the two features along which k(., z) changes most.
        point : array-like of shape (d,), optional
            The point z, in the features of the last step; by default the median of X.
        feature_names : sequence of d str, optional
            Defaults to the column names of the training data frame, or numbers.
        grid_resolution : int, default=200
            At least 2; the kernel is computed at grid_resolution**2 points.
        ax : matplotlib Axes, optional
            The axes to draw on; by default those of a new figure.
        **surface
            Keyword arguments for matplotlib's ``contourf``.

        Raises
        ------
        ValueError
            If the model does not have exactly one tessellated kernel, or X lacks a feature.
        """
        machine = last_step(model)
        learns = "a tessellated kernel"
        kernel = summary_for("tessellation", machine, learns, "TKLClassifier").kernel
        assert kernel is not None
        points = check_inner_points(model, X)
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
            line = np.repeat(z[None, :], resolution, axis=0)
            line[:, f] = ends[:, f]
            names = f"{text(labels[f])} of x", f"{text(labels[f])} of z"
            display = cls(ends[:, f], ends[:, f], kernel(line), None, names)
        else:
            f, g = chosen
            # every point of the plane equals z except for features f and g
            grid = np.repeat(z[None, :], resolution**2, axis=0)
            plane = np.meshgrid(ends[:, f], ends[:, g])
            grid[:, [f, g]] = np.stack(plane, axis=-1).reshape(-1, 2)
            values = kernel(grid, z[None, :]).reshape(resolution, resolution)
            names = text(labels[f]), text(labels[g])
            display = cls(ends[:, f], ends[:, g], values, (float(z[f]), float(z[g])), names)
        return display.plot(ax, **surface)

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw the kernel values, the edges and the point z."""
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
    d, steps = len(z), 21
    # line f passes through z along feature f: shape (d, steps, d)
    lines = np.repeat(z[None, :], d * steps, axis=0).reshape(d, steps, d)
    ends = np.linspace(points.min(axis=0), points.max(axis=0), steps)
    for f in range(d):
        lines[f, :, f] = ends[:, f]
    changes = np.ptp(kernel(lines.reshape(-1, d), z[None, :]).reshape(d, steps), axis=1)
    return tuple(sorted(int(f) for f in np.argsort(-changes, kind="stable")[:2]))
