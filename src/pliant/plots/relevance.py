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
    """How much a learned function changes if a feature is permuted, as a share for each feature.

    Drawn as one bar for each feature, or as a heat map with a row for each support point: the
    shares of the features in the squared slope of its own term of the function. Features are in the
    order of their relevance over all points; support points are grouped by the feature that matters
    most to them. Error bars are the standard deviations over the members of the model, and an
    asterisk marks features that are correlated with another one: either of both may get the
    relevance of both.
    `BandwidthDisplay` shows the bandwidths themselves, `SliceDisplay` the predictions.

    Parameters
    ----------
    relevance : array-like of shape (d,)
        Shares, such as ``feature_relevance_``.
    support_relevance : array-like of shape (m, d), optional
        Shares near each support point, such as ``support_relevance_``; for the heat map.
    spread : array-like of shape (d,), optional
        Standard deviations of the shares, such as ``feature_relevance_spread_``; nan: not known.
    correlated : array-like of int of shape (n_pairs, 2), optional
        Pairs of correlated features, such as ``correlated_features_``.
    feature_names : sequence of d str, optional
        By default ``feature 0`` and so on.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    bars_ : matplotlib BarContainer or None
        The bars, the most relevant feature first; ``bars_.errorbar`` has the error bars.
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
        spread: npt.ArrayLike | None = None,
        correlated: npt.ArrayLike | None = None,
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
        self.spread = np.full(d, np.nan) if spread is None else np.asarray(spread, np.float64)
        if self.spread.shape != (d,):
            raise ValueError(f"expected spread of shape ({d},), got {self.spread.shape}")
        self.correlated = np.asarray([] if correlated is None else correlated, np.intp)
        if self.correlated.size and not np.isin(self.correlated, np.arange(d)).all():
            raise ValueError(f"expected correlated features from 0 to {d - 1}, got {correlated!r}")
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
        display = cls(
            machine.feature_relevance_,
            machine.support_relevance_,
            spread=machine.feature_relevance_spread_,
            correlated=machine.correlated_features_,
            feature_names=feature_labels(feature_names, machine, machine.n_features_in_),
        )
        return display.plot(ax, kind=kind, most_features=most_features, **style)

    def _checked_kind(self, kind: str) -> str:
        if super()._checked_kind(kind) == "support" and self.support_relevance is None:
            raise ValueError("expected support_relevance for kind='support', got None")
        return kind

    def _draw_features(self, shown: Indices, style: dict[str, Any]) -> None:
        places, spread = np.arange(len(shown)), self.spread[shown]
        known = {} if np.isnan(spread).all() else {"xerr": spread}
        look = {"color": BLUE, "ecolor": "black", "capsize": 2.0, **known, **style}
        self.bars_ = self.ax_.barh(places, self.relevance[shown], **look)
        self._name_rows(shown)
        self.ax_.set_xlim(left=0.0)
        marked = np.isin(shown, self.correlated)
        names = zip(self._names(shown), marked, strict=True)
        self.ax_.set_yticklabels([f"{name} *" if mark else name for name, mark in names])
        note = "\n* correlated with another feature" if marked.any() else ""
        self.ax_.set_xlabel(f"share of the squared change, if permuted{note}")

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
