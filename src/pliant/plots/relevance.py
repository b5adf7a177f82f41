"""Which features a model with bandwidths of its own relies on, over all points and near each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_integer
from pliant.plots._common import BLUE, feature_labels, last_step, new_axes, text, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("features", "support")


class RelevanceDisplay:
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

    ax_: Axes
    bars_: Any
    image_: Any
    colorbar_: Any

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
            With a ``feature_relevance_``, such as `LABRBFRegressor`, or a pipeline that ends in
            one; then features are those that its last step sees.
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
        if not hasattr(machine, "feature_relevance_"):
            raise ValueError(
                f"expected a model that learns bandwidths, such as LABRBFRegressor, "
                f"got {type(machine).__name__}"
            )
        shares = machine.feature_relevance_, machine.support_relevance_
        names = feature_labels(feature_names, machine, len(shares[0]))
        display = cls(*shares, feature_names=names)
        return display.plot(ax, kind=kind, most_features=most_features, **style)

    @property
    def order(self) -> Indices:
        """The features, the most relevant one first; shape (d,)."""
        return np.asarray(np.argsort(-self.relevance, kind="stable"), dtype=np.intp)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str = "features",
        most_features: int = 20,
        **style: Any,
    ) -> Self:
        """Draw the bars or the heat map.

        Parameters
        ----------
        ax, kind, most_features, **style
            As for `from_estimator`.

        Returns
        -------
        self
        """
        check_choice("kind", kind, KINDS)
        shown = self.order[: check_integer("most_features", most_features, least=1)]
        if kind == "support" and self.support_relevance is None:
            raise ValueError("expected support_relevance for kind='support', got None")
        self.ax_ = new_axes(ax)
        self.bars_ = self.image_ = self.colorbar_ = None
        if kind == "features":
            self._draw_bars(shown, style)
        else:
            self._draw_points(shown, style)
        d = len(self.relevance)
        some = "" if len(shown) == d else f", {len(shown)} of {d} features"
        self.ax_.set_title(f"Relevance{some}")
        return self

    def _draw_bars(self, shown: Indices, style: dict[str, Any]) -> None:
        """Draw a bar for each feature, the first on top."""
        places, names = np.arange(len(shown)), [text(self.feature_names[j]) for j in shown]
        self.bars_ = self.ax_.barh(places, self.relevance[shown], **{"color": BLUE, **style})
        self.ax_.set_yticks(places, names)
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(left=0.0)
        self.ax_.set_xlabel("share of the squared slope")

    def _draw_points(self, shown: Indices, style: dict[str, Any]) -> None:
        """Draw a row for each support point and a column for each feature."""
        assert self.support_relevance is not None
        rows = _in_groups(self.support_relevance[:, self.order])
        drawn = thinned(rows)
        look = {"cmap": "viridis", "vmin": 0.0, "vmax": 1.0, "aspect": "auto", **style}
        cells = self.support_relevance[np.ix_(drawn, shown)]
        self.image_ = self.ax_.imshow(cells, interpolation="nearest", **look)
        label = "share of the squared slope of its term"
        self.colorbar_ = self.image_.figure.colorbar(self.image_, ax=self.ax_, label=label)
        names = [text(self.feature_names[j]) for j in shown]
        self.ax_.set_xticks(np.arange(len(shown)), names, rotation=45, ha="right")
        self.ax_.set_yticks([])
        some = "" if len(drawn) == len(rows) else f"{len(drawn)} of "
        self.ax_.set_ylabel(f"{some}{len(rows)} support points")


def _in_groups(shares: Array) -> Indices:
    """Return rows grouped by their largest column, by falling share within each group."""
    return np.asarray(np.lexsort((-shares.max(axis=1), shares.argmax(axis=1))), dtype=np.intp)
