"""Which features a model with bandwidths of its own relies on, over all points and near each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices
from pliant.plots._common import BLUE, feature_labels, last_step, summary_for, thinned
from pliant.plots._features import FeatureDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RelevanceDisplay(FeatureDisplay):
    """How much of the slope of a learned function lies along each feature.

    Drawn as one bar for each feature, or as a heat map with a row for each support point: the
    same shares for its own term of the function. Features are in the order of their relevance
    over all points; support points are grouped by the feature that matters most to them.
    `BandwidthDisplay` shows the bandwidths themselves.

    Parameters
    ----------
    relevance : array-like of shape (d,)
        Shares, such as ``feature_relevance_``.
    support_relevance : array-like of shape (m, d), optional
        Shares near each support point, such as ``support_relevance_``; for the heat map.
    feature_names : sequence of d str, optional
        By default ``feature 0`` and so on.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    bars_ : matplotlib BarContainer or None
        The bars, the most relevant feature first.
    image_, colorbar_ : matplotlib AxesImage and Colorbar, or None
        The heat map.

    Examples
    --------
    >>> from pliant.plots import RelevanceDisplay
    >>> display = RelevanceDisplay([0.2, 0.7, 0.1], feature_names=["age", "dose", "day"])
    >>> [display.feature_names[j] for j in display.order]
    ['dose', 'age', 'day']
    """

    bars_: Any
    _title = "Relevance"
    _kinds = "features", "support"

    def __init__(
        self,
        relevance: npt.ArrayLike,
        support_relevance: npt.ArrayLike | None = None,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.relevance = np.asarray(relevance, dtype=np.float64)
        d = self.relevance.shape[0] if self.relevance.ndim == 1 else 0
        if not d:
            raise ValueError(f"expected relevance of shape (d,), got {self.relevance.shape}")
        self.support_relevance = None
        if support_relevance is not None:
            self.support_relevance = np.asarray(support_relevance, dtype=np.float64)
            shape = self.support_relevance.shape
            if len(shape) != 2 or shape[1] != d:
                raise ValueError(f"expected support_relevance of shape (m, {d}), got {shape}")
        self.feature_names = feature_labels(feature_names, None, d)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        kind: str = "features",
        feature_names: Sequence[str] | None = None,
        most_features: int = 20,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Draw the relevance of the features of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            `LABRBFRegressor` or `LABRBFClassifier`, or a pipeline that ends in one; then features
            are those that its last step sees.
        kind : {"features", "support"}, default="features"
            Bars, or the heat map.
        feature_names : sequence of str, optional
            By default those of the data frame that the model was fitted on, or numbers.
        most_features : int, default=20
            Draw this number of features, the most relevant ones.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **style
            For matplotlib's ``barh`` or ``imshow``.

        Returns
        -------
        RelevanceDisplay

        Raises
        ------
        ValueError
            For a model without a relevance, or names that are too few or too many.
        """
        machine = last_step(model)
        summary_for("relevance", machine, "bandwidths", "LABRBFRegressor")
        shares = machine.feature_relevance_, machine.support_relevance_
        names = feature_labels(feature_names, machine, len(shares[0]))
        display = cls(*shares, feature_names=names)
        return display.plot(ax, kind=kind, most_features=most_features, **style)

    def _checked_kind(self, kind: str) -> str:
        if super()._checked_kind(kind) == "support" and self.support_relevance is None:
            raise ValueError("expected support_relevance for kind='support', got None")
        return kind

    def _draw_features(self, shown: Indices, style: dict[str, Any]) -> None:
        places, look = np.arange(len(shown)), {"color": BLUE, **style}
        self.bars_ = self.ax_.barh(places, self.relevance[shown], **look)
        self._name_rows(shown)
        self.ax_.set_xlim(left=0.0)
        self.ax_.set_xlabel("share of the squared slope")

    def _draw_points(self, shown: Indices, style: dict[str, Any]) -> None:
        assert self.support_relevance is not None
        self.bars_ = None
        rows = _in_groups(self.support_relevance[:, self.order])
        drawn = thinned(rows)
        look = {"cmap": "viridis", "vmin": 0.0, "vmax": 1.0, **style}
        cells = self.support_relevance[np.ix_(drawn, shown)]
        self._draw_cells(cells, shown, look, "share of the squared slope of its term")
        self.ax_.set_yticks([])
        self._count_points(drawn, rows)


def _in_groups(shares: Array) -> Indices:
    """Return rows grouped by their largest column, by falling share within each group."""
    return np.asarray(np.lexsort((-shares.max(axis=1), shares.argmax(axis=1))), dtype=np.intp)
