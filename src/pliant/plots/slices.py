"""How the predictions of a LAB-RBF estimator change along a feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from pliant.core.text import close_names
from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_points
from pliant.methods.lab_rbf.explain import Slice, feature_slice
from pliant.plots._common import (
    BLUE,
    GREY,
    feature_labels,
    inner_points,
    last_step,
    new_axes,
    summary_for,
    text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SLICES = 4
"""Number of features that are drawn by default."""

WIDTH, HEIGHT = 3.2, 3.4
"""Size of the picture of one feature, in inches."""


class SliceDisplay:
    """Predictions along one feature at a time, the other features of each point as they are.

    A line is the mean over points, the partial dependence of the prediction on the feature: in the
    units of y, or the probability of a class. The band is one standard deviation, over the members
    of the model, of the same mean: where it is wide, the members disagree.

    A slice moves points to places where there may be no data: where features are correlated, look
    at ``distance_to_support`` or draw single lines, too.

    Parameters
    ----------
    slices : sequence of Slice
        One for each feature, as ``pliant.methods.lab_rbf.explain.feature_slice`` returns them.
    feature_names : sequence of str, optional
        Names of all features of the model; by default ``feature 0`` and so on.
    response : str, default="prediction"
        What is predicted; the label of the vertical axis.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        Once plotted, one for each feature.
    averages_ : list of matplotlib Line2D
        The means.
    bands_ : list of matplotlib PolyCollection or None
        The bands; None for a single member.
    lines_ : list of lists of matplotlib Line2D
        The lines of single points.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import LABRBFRegressor
    >>> from pliant.plots import SliceDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 2))
    >>> model = LABRBFRegressor(10, random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> display = SliceDisplay.from_estimator(model, X, [1])
    >>> bool(np.all(np.diff(display.slices[0].average) > 0))
    True
    """

    axes_: npt.NDArray[Any]
    averages_: list[Any]
    bands_: list[Any]
    lines_: list[list[Any]]

    def __init__(
        self,
        slices: Sequence[Slice],
        *,
        feature_names: Sequence[str] | None = None,
        response: str = "prediction",
    ) -> None:
        self.slices = list(slices)
        if not self.slices:
            raise ValueError("expected at least one slice, got none")
        last = max(each.feature for each in self.slices)
        if feature_names is not None and len(feature_names) <= last:
            raise ValueError(f"expected at least {last + 1} feature_names, got {feature_names!r}")
        self.feature_names = feature_names or feature_labels(None, None, last + 1)
        self.response = response

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        features: int | str | Sequence[int | str] | None = None,
        *,
        at: npt.ArrayLike | None = None,
        target: Any = None,
        n_points: int = 100,
        percentiles: tuple[float, float] = (0.05, 0.95),
        grid_resolution: int = 50,
        feature_names: Sequence[str] | None = None,
        n_lines: int = 0,
        ax: Axes | Sequence[Axes] | None = None,
        **style: Any,
    ) -> Self:
        """Draw slices of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            `LABRBFRegressor` or `LABRBFClassifier`, or a pipeline that ends in one; then features
            are those that its last step sees.
        X : array-like or data frame of shape (n_samples, n_features)
            Points, such as the training points, as the model takes them.
        features : int, str, or a sequence of them, optional
            Positions or names of features; by default the four most relevant ones.
        at : array-like of shape (n_features,), optional
            A point to take the other features from, instead of those of the points.
        target : optional
            The class, or the position of the output, that is predicted; by default the second of
            two classes. Required with more than two classes, or several outputs.
        n_points : int, default=100
            Maximum number of points that are averaged, evenly spaced rows of X.
        percentiles : tuple of two float, default=(0.05, 0.95)
            Quantiles of the feature in X between which slices are drawn.
        grid_resolution : int, default=50
            >= 2: the number of values of a feature; where it has fewer different ones, those.
        feature_names : sequence of str, optional
            By default those of the data frame that the model was fitted on, or numbers.
        n_lines : int, default=0
            Number of points whose own lines are drawn, too.
        ax : matplotlib Axes or sequence of them, optional
            Where to draw, one for each feature; by default on a new figure.
        **style
            For matplotlib's ``plot`` of the means.

        Returns
        -------
        SliceDisplay

        Raises
        ------
        ValueError
            For a model without bandwidths, a feature or target that is not there, or a parameter
            out of range.
        """
        estimator = last_step(model)
        summary_for("relevance", estimator, "bandwidths", "LABRBFRegressor")
        points = check_points(inner_points(model, X), "X", estimator.n_features_in_)
        names = feature_labels(feature_names, estimator, points.shape[1])
        order = np.argsort(-estimator.feature_relevance_, kind="stable")
        wanted = order[:MOST_SLICES].tolist() if features is None else _listed(features)
        chosen = [_position(each, names) for each in wanted]
        resolution = check_integer("grid_resolution", grid_resolution, least=2)
        output, response = _output(estimator, target)
        rows = _spaced(len(points), check_integer("n_points", n_points, least=1))
        fixed = points[rows]
        if at is not None:
            fixed = check_points(inner_points(model, np.reshape(at, (1, -1))), "at")
            check_points(fixed, "at", points.shape[1])
        grids = [_grid(points[:, j], percentiles, resolution) for j in chosen]
        slices = [
            feature_slice(estimator, fixed, j, grid, output)
            for j, grid in zip(chosen, grids, strict=True)
        ]
        display = cls(slices, feature_names=names, response=response)
        return display.plot(ax, n_lines=n_lines, **style)

    def plot(
        self, ax: Axes | Sequence[Axes] | None = None, *, n_lines: int = 0, **style: Any
    ) -> Self:
        """Draw the slices side by side.

        Parameters
        ----------
        ax, n_lines, **style
            As for ``from_estimator``, with the same defaults.

        Returns
        -------
        self
        """
        check_integer("n_lines", n_lines, least=0)
        self.axes_ = self._new_axes() if ax is None else np.atleast_1d(np.asarray(ax, object))
        if self.axes_.shape != (len(self.slices),):
            raise ValueError(
                f"expected an ax for each of {len(self.slices)} features, got the shape "
                f"{self.axes_.shape}"
            )
        self.averages_, self.bands_, self.lines_ = [], [], []
        for axes, each in zip(self.axes_, self.slices, strict=True):
            self._draw(axes, each, n_lines, style)
        self.axes_[0].set_ylabel(text(self.response))
        return self

    def _new_axes(self) -> npt.NDArray[Any]:
        """Return the axes of a new figure, one for each feature, with one vertical scale."""
        count = len(self.slices)
        first = new_axes(None, (max(WIDTH * count, 1.4 * HEIGHT), HEIGHT))
        figure = first.get_figure()
        assert figure is not None
        figure.clear()
        return np.asarray(figure.subplots(1, count, sharey=True, squeeze=False)[0], object)

    def _draw(self, ax: Axes, each: Slice, n_lines: int, style: dict[str, Any]) -> None:
        """Draw the lines of some points, the band and the mean."""
        look = {"color": BLUE, "linewidth": 2, **style}
        some = each.lines[_spaced(len(each.lines), n_lines)]
        self.lines_.append(
            [ax.plot(each.grid, line, color=GREY, linewidth=0.6, alpha=0.4)[0] for line in some]
        )
        low, high = each.average - each.spread, each.average + each.spread
        band = None
        if np.isfinite(each.spread).all():
            band = ax.fill_between(each.grid, low, high, color=look["color"], alpha=0.25, lw=0)
        self.bands_.append(band)
        self.averages_ += ax.plot(each.grid, each.average, **look)
        ax.set_xlabel(text(self.feature_names[each.feature]))


def _listed(features: Any) -> list[Any]:
    """Return one or several features as a list."""
    single = isinstance(features, str) or np.ndim(features) == 0
    return [features] if single else list(features)


def _position(feature: Any, names: Sequence[str]) -> int:
    """Return the position of a feature that is given by its position or its name."""
    if isinstance(feature, str):
        if feature in names:
            return list(names).index(feature)
        close = close_names(feature, names)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"expected a name in {list(names)[:20]}, got {feature!r}{hint}")
    if check_integer("features", feature, least=0) >= len(names):
        raise ValueError(f"expected features from 0 to {len(names) - 1}, got {feature}")
    return int(feature)


def _output(estimator: Any, target: Any) -> tuple[int, str]:
    """Return the position of a class or output among the predictions, and its name."""
    if not hasattr(estimator, "classes_"):
        count = estimator.n_outputs_
        if target is None and count == 1:
            return 0, "prediction"
        if target is None or check_integer("target", target, least=0) >= count:
            raise ValueError(f"expected target from 0 to {count - 1}, got {target!r}")
        return int(target), f"prediction of output {target}"
    classes = estimator.classes_.tolist()
    if target is None and len(classes) == 2:
        target = classes[1]
    if target not in classes:
        raise ValueError(f"expected target in {classes[:20]}, got {target!r}")
    return classes.index(target), f"probability of {target}"


def _spaced(n: int, count: int) -> npt.NDArray[np.intp]:
    """Return at most `count` of n row numbers, evenly spaced."""
    return np.linspace(0, n - 1, min(n, count)).astype(np.intp)


def _grid(values: Array, percentiles: tuple[float, float], resolution: int) -> Array:
    """Return the values of a feature between two quantiles, or its few different ones."""
    low, high = percentiles
    if not 0 <= low < high <= 1:
        raise ValueError(f"expected 0 <= low < high <= 1 as percentiles, got {percentiles!r}")
    different = np.unique(values)
    if len(different) < resolution:
        return different
    return np.linspace(np.quantile(values, low), np.quantile(values, high), resolution)
