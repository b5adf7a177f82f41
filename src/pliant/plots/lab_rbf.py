"""Plots of LAB-RBF estimators: feature relevance, bandwidths, prediction intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import BaseEstimator
from pliant.core.parameters import check_choice, check_integer, check_share
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_targets, check_vector
from pliant.plots._common import (
    BLUE,
    GREY,
    VERMILION,
    Display,
    class_centres,
    feature_labels,
    fitted_machine,
    summary_for,
    text,
    thin,
    transform_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.colorbar import Colorbar
    from matplotlib.container import BarContainer
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D

MAX_INTERVALS = 200
"""Maximum number of drawn intervals."""


class FeatureDisplay(Display):
    """Heat map with a row per support point and a column per drawn feature."""

    relevance: Array
    feature_names: list[str]
    most_features: int = 20
    image_: AxesImage | None = None
    colorbar_: Colorbar | None = None

    @property
    def order(self) -> Indices:
        """Indices of the features, in descending order of relevance; shape (d,)."""
        return np.asarray(np.argsort(-self.relevance, kind="stable"), dtype=np.intp)

    @property
    def _shown(self) -> Indices:
        return self.order[: check_integer("most_features", self.most_features, least=1)]

    def _draw_cells(self, cells: Array, look: dict[str, Any], label: str) -> Colorbar:
        """Draw the heat map and its column names; return its colorbar."""
        look = {"aspect": "auto", "interpolation": "nearest", **look}
        self.image_ = image = self.ax_.imshow(cells, **look)
        self.colorbar_ = scale = image.figure.colorbar(image, ax=self.ax_, label=label)
        self.ax_.set_xticks(np.arange(len(self._shown)), self._names, rotation=45, ha="right")
        return scale

    @property
    def _names(self) -> list[str]:
        return [text(self.feature_names[j]) for j in self._shown]

    def _write_title(self, title: str) -> None:
        d, shown = len(self.relevance), len(self._shown)
        self.ax_.set_title(title + ("" if shown == d else f", {shown} of {d} features"))

    def _count_points(self, drawn: Indices, m: int, more: str = "") -> None:
        """Label the vertical axis with the number of support points, total and drawn."""
        some = "" if len(drawn) == m else f"{len(drawn)} of "
        self.ax_.set_ylabel(f"{some}{m} support points{more}")


class RelevanceDisplay(FeatureDisplay):
    """Permutation relevance: each feature's share of the change in the learned function.

    The relevance is drawn as one bar for each feature, or as a heat map with one row for each
    support point. A row shows each feature's share of the squared slope of the support
    point's term in the function. Features are sorted by relevance over all points; support points
    are grouped by their most relevant feature. Error bars are standard deviations over the model's
    members. An asterisk marks features correlated with another feature: one of the two may get the
    relevance of both. `BandwidthDisplay` shows the bandwidths, and
    `sklearn.inspection.PartialDependenceDisplay` the predictions.

    Parameters
    ----------
    relevance : array-like of shape (d,)
        Shares of the features, such as ``feature_relevance_``.
    support_relevance : array-like of shape (m, d), optional
        Shares near each support point, such as ``support_relevance_``; for the heat map.
    spread : array-like of shape (d,), optional
        Standard deviations of the shares, such as ``feature_relevance_spread_``; nan if unknown.
    correlated : array-like of int of shape (n_pairs, 2), optional
        Pairs of correlated features, such as ``correlated_features_``.
    feature_names : sequence of d str, optional
        Defaults to ``feature 0``, ``feature 1`` and so on.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    bars_ : matplotlib BarContainer or None
        The bars, starting with the most relevant feature; ``bars_.errorbar`` holds the error bars.
    image_, colorbar_ : matplotlib AxesImage and Colorbar, or None
        The heat map.

    Examples
    --------
    >>> from pliant.plots import RelevanceDisplay
    >>> display = RelevanceDisplay([0.2, 0.7, 0.1], feature_names=["age", "dose", "day"])
    >>> [display.feature_names[j] for j in display.order]
    ['dose', 'age', 'day']
    """

    bars_: BarContainer | None
    kind: Literal["features", "support"] = "features"

    def __init__(
        self,
        relevance: npt.ArrayLike,
        support_relevance: npt.ArrayLike | None = None,
        *,
        spread: npt.ArrayLike | None = None,
        correlated: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        d = np.size(relevance)
        self.relevance: Array = check_vector("relevance", relevance, d)
        self.support_relevance: Array | None = None
        if support_relevance is not None:
            self.support_relevance = check_points(support_relevance, "support_relevance", d)
        no_spread = np.full(d, np.nan)
        self.spread: Array = np.asarray(no_spread if spread is None else spread, np.float64)
        self.correlated: Indices = np.asarray([] if correlated is None else correlated, np.intp)
        self.feature_names: list[str] = feature_labels(feature_names, None, d)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        *,
        kind: Literal["features", "support"] = "features",
        feature_names: Sequence[str] | None = None,
        most_features: int = 20,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Plot the relevance of the features of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            `LABRBFRegressor` or `LABRBFClassifier`, or a pipeline ending in one. For a pipeline,
            features are the inputs of its last step.
        kind : {"features", "support"}, default="features"
            Bars, or the heat map over support points.
        feature_names : sequence of str, optional
            Defaults to the column names of the training data frame, or numbers.
        most_features : int, default=20
            Maximum number of features to draw, most relevant first.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **style
            Keyword arguments for matplotlib's ``barh`` or ``imshow``.

        Raises
        ------
        ValueError
            If the model has no feature relevance, or the number of names is wrong.
        """
        machine = fitted_machine(model)
        summary_for("relevance", machine, "bandwidths", "LABRBFRegressor")
        display = cls(
            machine.feature_relevance_,
            machine.support_relevance_,
            spread=machine.feature_relevance_spread_,
            correlated=machine.correlated_features_,
            feature_names=feature_labels(feature_names, machine, machine.n_features_in_),
        )
        check_choice("kind", kind, ("features", "support"))
        display.kind = kind
        display.most_features = most_features
        return display.plot(ax, **style)

    def _draw(self, style: dict[str, Any]) -> None:
        self.bars_ = None
        if self.kind == "features":
            self._draw_bars(self._shown, style)
        elif self.support_relevance is None:
            raise ValueError("expected support_relevance for kind='support', got None")
        else:
            self._draw_points(self.support_relevance, style)
        self._write_title("Relevance")

    def _draw_bars(self, shown: Indices, style: dict[str, Any]) -> None:
        places, spread = np.arange(len(shown)), self.spread[shown]
        known = {} if np.isnan(spread).all() else {"xerr": spread}
        look = {"color": BLUE, "ecolor": "black", "capsize": 2.0, **known, **style}
        self.bars_ = self.ax_.barh(places, self.relevance[shown], **look)
        marked = np.isin(shown, self.correlated)
        names = zip(self._names, marked, strict=True)
        self.ax_.set_yticks(places, [f"{name} *" if mark else name for name, mark in names])
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(left=0.0)
        note = "\n* correlated with another feature" if marked.any() else ""
        self.ax_.set_xlabel(f"share of the squared change if permuted{note}")

    def _draw_points(self, shares: Array, style: dict[str, Any]) -> None:
        """Draw a row for each support point, grouped by the feature with the largest share."""
        ordered = shares[:, self.order]
        # sort by the feature with the largest share, then by this share in descending order
        rows = np.lexsort((-ordered.max(axis=1), ordered.argmax(axis=1)))
        drawn = thin(rows)
        look = {"cmap": "viridis", "vmin": 0.0, "vmax": 1.0, **style}
        cells = shares[np.ix_(drawn, self._shown)]
        self._draw_cells(cells, look, "share of the squared slope of the point's term")
        self.ax_.set_yticks([])
        self._count_points(drawn, len(rows))


class BandwidthDisplay(FeatureDisplay):
    """Bandwidths of a kernel at each support point, along each feature.

    The kernel at a support point c is h(|theta o (u - c)|^2): it decays over a distance of
    1/theta_j along feature j, and does not depend on a feature with a bandwidth near zero. Features
    are scaled to [-1, 1], as in the estimator, to make bandwidths comparable. Support points are
    grouped by the feature with their largest bandwidth.

    This plot shows the *kernel*. `RelevanceDisplay` shows the change of the learned function, which
    also depends on the coefficients and the linear part. A feature may have narrow kernels but
    little relevance, or be relevant through the linear part alone.

    Parameters
    ----------
    bandwidths : array-like of shape (m, d)
        theta >= 0 of each support point.
    relevance : array-like of shape (d,), optional
        Sorting key of the features, such as ``feature_relevance_``; by default the median
        bandwidth.
    members : array-like of m int, optional
        The member of each support point, by which rows are grouped; by default a single member.
    feature_names : sequence of d str, optional
        Defaults to ``feature 0``, ``feature 1`` and so on.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    image_, colorbar_ : matplotlib AxesImage and Colorbar
        The heat map.

    Examples
    --------
    >>> from pliant.plots import BandwidthDisplay
    >>> display = BandwidthDisplay([[0.1, 3.0], [0.1, 5.0]], feature_names=["age", "dose"])
    >>> [display.feature_names[j] for j in display.order]
    ['dose', 'age']
    """

    def __init__(
        self,
        bandwidths: npt.ArrayLike,
        relevance: npt.ArrayLike | None = None,
        *,
        members: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.bandwidths: Array = check_points(bandwidths, "bandwidths")
        m, d = self.bandwidths.shape
        self.relevance: Array = np.median(self.bandwidths, axis=0)
        if relevance is not None:
            self.relevance = check_vector("relevance", relevance, d)
        self.members: Indices = np.asarray(np.zeros(m) if members is None else members, np.intp)
        self.feature_names: list[str] = feature_labels(feature_names, None, d)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        *,
        feature_names: Sequence[str] | None = None,
        most_features: int = 20,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Plot the bandwidths of a fitted LAB-RBF estimator.

        Parameters
        ----------
        model : fitted estimator
            `LABRBFRegressor` or `LABRBFClassifier`, or a pipeline ending in one. For a pipeline,
            features are the inputs of its last step.
        feature_names : sequence of str, optional
            Defaults to the column names of the training data frame, or numbers.
        most_features : int, default=20
            Maximum number of features to draw, most relevant first.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **style
            Keyword arguments for matplotlib's ``imshow``.

        Raises
        ------
        ValueError
            If the model has no bandwidths, or the number of names is wrong.
        """
        machine = fitted_machine(model)
        summary_for("bandwidths", machine, "bandwidths", "LABRBFRegressor")
        # the local members used for prediction
        local = np.arange(len(machine._local_members))
        chosen = local[machine.weights_[local] > 0]
        parts = [machine.members_[k].mapped_bandwidths() for k in chosen]
        numbers = np.repeat(chosen, [len(part) for part in parts])
        names = feature_labels(feature_names, machine, parts[0].shape[1])
        relevance = machine.feature_relevance_
        display = cls(np.vstack(parts), relevance, members=numbers, feature_names=names)
        display.most_features = most_features
        return display.plot(ax, **style)

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw a row for each support point, grouped by the feature with the largest bandwidth."""
        from matplotlib.colors import LogNorm
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        high = float(self.bandwidths.max()) or 1.0
        # below a thousandth of the largest bandwidth the kernel is nearly constant: use one colour
        low = max(float(self.bandwidths.min()), 1e-3 * high)
        cells = np.maximum(self.bandwidths[:, self._shown], low)
        # sort by member, then by the feature with the largest bandwidth, then by this bandwidth
        rows = np.lexsort((-cells.max(axis=1), cells.argmax(axis=1), self.members))
        drawn = thin(rows)
        look = {"cmap": "cividis", "norm": LogNorm(min(low, high / 2), high), **style}
        axis = self._draw_cells(cells[drawn], look, "bandwidth θ, features on [−1, 1]").ax.yaxis
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        self._mark_members(self.members[drawn])
        several = "" if len(np.unique(self.members)) == 1 else "\nby member"
        self._count_points(drawn, len(rows), several)
        self._write_title("Bandwidths")

    def _mark_members(self, members: npt.NDArray[Any]) -> None:
        """Draw lines between members, and number the members if there are several."""
        numbers, starts = np.unique(members, return_index=True)
        self.ax_.hlines(starts[1:] - 0.5, *self.ax_.get_xlim(), color="white", linewidth=1.5)
        names = [f"{number}" for number in numbers] if len(numbers) > 1 else []
        self.ax_.set_yticks(class_centres(starts, len(members))[: len(names)], names)
        self.ax_.tick_params(axis="y", length=0)


class IntervalDisplay(Display):
    """Predictions and prediction intervals against measured targets.

    Each sample is a point with its interval as a vertical line. Points on the diagonal are exact
    predictions; an interval that crosses the diagonal contains the target. Coverage on training
    samples is too optimistic, so use held-out samples. At most 200 samples are drawn, evenly spaced
    in the order of y; `inside` and `mean_width` refer to all samples.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Measured targets.
    predicted : array-like of shape (n_samples,)
        Predictions.
    intervals : array-like of shape (n_samples, 2)
        Lower and upper limits, finite.
    coverage : float, default=0.9
        Nominal coverage of the intervals, in (0, 1); for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    lines_ : list of two matplotlib LineCollection
        The intervals that contain their targets, and the others.
    points_, diagonal_ : matplotlib Line2D
        The predictions, and the line where they equal the targets.

    Examples
    --------
    >>> from pliant.plots import IntervalDisplay
    >>> display = IntervalDisplay([1.0, 2.0], [1.5, 3.5], [[0.5, 2.5], [2.5, 4.5]])
    >>> display.inside.tolist(), display.mean_width
    ([True, False], 2.0)
    """

    lines_: list[LineCollection]
    points_: Line2D
    diagonal_: Line2D

    def __init__(
        self,
        y: npt.ArrayLike,
        predicted: npt.ArrayLike,
        intervals: npt.ArrayLike,
        *,
        coverage: float = 0.9,
    ) -> None:
        n = np.size(y)
        self.y: Array = check_vector("y", y, n)
        self.predicted: Array = check_vector("predicted", predicted, n)
        self.intervals: Array = check_points(intervals, "intervals", 2)
        self.coverage: float = check_share("coverage", coverage)

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Mask of the intervals that contain their target; shape (n_samples,)."""
        low, high = self.intervals.T
        return (low <= self.y) & (self.y <= high)

    @property
    def mean_width(self) -> float:
        """Mean width of the intervals, in the units of y."""
        return float(np.diff(self.intervals).mean())

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: Any,
        y: npt.ArrayLike,
        *,
        coverage: float = 0.9,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Plot the prediction intervals of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            `LABRBFRegressor` with one output, `pliant.tables.BlendRegressor`, or a pipeline ending
            in one of them.
        X : array-like or data frame of shape (n_samples, n_features)
            Held-out samples, before the transformations of a pipeline.
        y : array-like of shape (n_samples,)
            Targets of the samples.
        coverage : float, default=0.9
            Probability in (0, 1) that an interval contains its target.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **style
            Keyword arguments for matplotlib's ``vlines``.

        Raises
        ------
        ValueError
            If the model has no intervals or several outputs, the shapes of targets and predictions
            differ, or the coverage is out of range.
        """
        estimator = fitted_machine(model)
        if not hasattr(estimator, "predict_interval"):
            raise ValueError(
                "expected a model with prediction intervals, such as LABRBFRegressor, got "
                f"{type(estimator).__name__}"
            )
        n_outputs = getattr(estimator, "n_outputs_", 1)  # a blend has one
        if n_outputs > 1:
            raise ValueError(f"expected a model with one output, got {n_outputs}")
        points, targets = transform_points(model, X), check_targets(y)
        ends = estimator.predict_interval(points, coverage)
        predicted = estimator.predict(points).ravel()
        display = cls(targets.ravel(), predicted, ends.reshape(-1, 2), coverage=coverage)
        return display.plot(ax, **style)

    def _draw(self, style: dict[str, Any]) -> None:
        rows = thin(np.argsort(self.y, kind="stable"), MAX_INTERVALS)
        y, predicted, inside = self.y[rows], self.predicted[rows], self.inside[rows]
        low, high = self.intervals[rows].T
        self.lines_ = []
        for which, colour, label in (
            (inside, BLUE, "contains the target"),
            (~inside, VERMILION, "misses the target"),
        ):
            look = {"color": colour, "linewidth": 0.8, "label": label, **style}
            self.lines_.append(self.ax_.vlines(y[which], low[which], high[which], **look))
        (self.points_,) = self.ax_.plot(y, predicted, ".", color="black", markersize=3)
        ends = y[[0, -1]]
        (self.diagonal_,) = self.ax_.plot(ends, ends, color=GREY, linewidth=0.8)
        some = "" if len(rows) == len(self.y) else f", {len(rows)} of {len(self.y)} drawn"
        self.ax_.set(xlabel=f"measured target{some}", ylabel="predicted")
        share = f"{self.inside.mean():.0%} of {len(self.y)} targets inside"
        self.ax_.set_title(f"{100 * self.coverage:g} % intervals: {share}")
        self.ax_.legend(frameon=False, fontsize="small")
