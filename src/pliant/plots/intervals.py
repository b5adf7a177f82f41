"""Plot of prediction intervals against measured targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pliant.core.validation import check_points, check_share, check_targets, check_vector
from pliant.plots._common import BLUE, GREY, VERMILION, Display, last_step, thin, transform_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

MAX_INTERVALS = 200
"""Maximum number of drawn intervals."""


class IntervalDisplay(Display):
    """Predictions and their intervals against measured targets.

    Each sample is a point with a vertical line for its interval. Points on the diagonal are exact
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
        self.y = check_vector("y", y, n)
        self.predicted = check_vector("predicted", predicted, n)
        self.intervals = check_points(intervals, "intervals", 2)
        self.coverage = check_share("coverage", coverage)

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Mask of the intervals that contain their target; shape (n_samples,)."""
        low, high = self.intervals.T
        return (low <= self.y) & (self.y <= high)

    @property
    def mean_width(self) -> float:
        """Mean width of the intervals, in the units of y."""
        low, high = self.intervals.T
        return float(np.mean(high - low))

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
            `LABRBFRegressor` with one output, or a pipeline ending in one.
        X : array-like or data frame of shape (n_samples, n_features)
            Held-out samples, before the transformations of a pipeline.
        y : array-like of shape (n_samples,)
            Targets of the samples.
        coverage : float, default=0.9
            Probability in (0, 1) that an interval contains its target.
        ax : matplotlib Axes, optional
            The axes to draw on; by default those of a new figure.
        **style
            Keyword arguments for matplotlib's ``vlines``.

        Raises
        ------
        ValueError
            If the model has no intervals or several outputs, the shapes of targets and predictions
            differ, or the coverage is out of range.
        """
        estimator = last_step(model)
        if not hasattr(estimator, "predict_interval"):
            raise ValueError(
                "expected a model with prediction intervals, such as LABRBFRegressor, got "
                f"{type(estimator).__name__}"
            )
        if estimator.n_outputs_ > 1:
            raise ValueError(f"expected a model with one output, got {estimator.n_outputs_}")
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
