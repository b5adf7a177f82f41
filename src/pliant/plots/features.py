"""The relevance of features to a LAB-RBF estimator, and its bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_integer, check_points, check_vector
from pliant.methods.lab_rbf.members import LABRBFMember
from pliant.plots._common import (
    BLUE,
    Display,
    class_marks,
    feature_labels,
    last_step,
    summary_for,
    text,
    thin,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.container import BarContainer
    from matplotlib.image import AxesImage


class FeatureDisplay(Display):
    """A column for each feature, the most relevant ones, in a heat map over support points."""

    relevance: Array
    feature_names: list[str]
    most_features: int = 20
    image_: AxesImage | None = None
    colorbar_: Colorbar | None = None

    @property
    def order(self) -> Indices:
        """The features, the most relevant one first; shape (d,)."""
        return np.asarray(np.argsort(-self.relevance, kind="stable"), dtype=np.intp)

    @property
    def _shown(self) -> Indices:
        return self.order[: check_integer("most_features", self.most_features, least=1)]

    def _draw_cells(self, cells: Array, look: dict[str, Any], label: str) -> Colorbar:
        """Draw the heat map and the names of its columns; return its scale."""
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
        """Write the number of support points, and of the drawn ones."""
        some = "" if len(drawn) == m else f"{len(drawn)} of "
        self.ax_.set_ylabel(f"{some}{m} support points{more}")


class RelevanceDisplay(FeatureDisplay):
    """The change of a learned function if a feature is permuted, as a share for each feature.

    Drawn as one bar for each feature, or as a heat map with a row for each support point: the
    shares of the features in the squared slope of its own term of the function. Features are in the
    order of their relevance over all points; support points are grouped by the feature that matters
    most to them. Error bars are the standard deviations over the members of the model, and an
    asterisk marks features that are correlated with another one: either of both may get the
    relevance of both.
    `BandwidthDisplay` shows the bandwidths themselves,
    `sklearn.inspection.PartialDependenceDisplay` the predictions.

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
        self.relevance = check_vector("relevance", relevance, d)
        self.support_relevance = None
        if support_relevance is not None:
            self.support_relevance = check_points(support_relevance, "support_relevance", d)
        self.spread = np.full(d, np.nan) if spread is None else np.asarray(spread, np.float64)
        self.correlated = np.asarray([] if correlated is None else correlated, np.intp)
        self.feature_names = feature_labels(feature_names, None, d)

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
        """Draw the relevance of the features of a fitted model.

        Parameters
        ----------
        model : fitted estimator
            `LABRBFRegressor` or `LABRBFClassifier`, or a pipeline that ends in one; then features
            are the features of its last step.
        kind : {"features", "support"}, default="features"
            Bars, or the heat map.
        feature_names : sequence of str, optional
            By default the names in the data frame of the fit, or numbers.
        most_features : int, default=20
            Draw this number of features, the most relevant ones.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **style
            For matplotlib's ``barh`` or ``imshow``.

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
        """Draw a bar for each feature, the first on top."""
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
        self.ax_.set_xlabel(f"share of the squared change, if permuted{note}")

    def _draw_points(self, shares: Array, style: dict[str, Any]) -> None:
        """Draw a row for each support point, grouped by its largest share."""
        ordered = shares[:, self.order]
        # by the feature of the largest share, and for one feature by this share
        rows = np.lexsort((-ordered.max(axis=1), ordered.argmax(axis=1)))
        drawn = thin(rows)
        look = {"cmap": "viridis", "vmin": 0.0, "vmax": 1.0, **style}
        cells = shares[np.ix_(drawn, self._shown)]
        self._draw_cells(cells, look, "share of the squared slope of its term")
        self.ax_.set_yticks([])
        self._count_points(drawn, len(rows))


class BandwidthDisplay(FeatureDisplay):
    """The bandwidths of a kernel along each feature, near each support point.

    The kernel at a support point c is h(|theta o (u - c)|^2): it falls off within 1/theta_j along
    feature j, and does not depend on a feature with a bandwidth near zero. Features are on [-1, 1],
    as the estimator maps them, so that bandwidths can be compared. Support points are grouped by
    the feature of their largest bandwidth.

    It shows the *kernel*; `RelevanceDisplay` shows the change of the learned function, in which the
    coefficients and the linear part count too: a feature may have narrow kernels and matter little,
    or matter through the linear part alone.

    Parameters
    ----------
    bandwidths : array-like of shape (m, d)
        theta >= 0 of each support point.
    relevance : array-like of shape (d,), optional
        The order of the features, such as ``feature_relevance_``; by default the median bandwidth.
    members : array-like of m int, optional
        The member that each support point belongs to, drawn one above the other; by default all
        belong to one.
    feature_names : sequence of d str, optional
        By default ``feature 0`` and so on.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
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
        self.bandwidths = check_points(bandwidths, "bandwidths")
        m, d = self.bandwidths.shape
        self.relevance = np.median(self.bandwidths, axis=0)
        if relevance is not None:
            self.relevance = check_vector("relevance", relevance, d)
        self.members = np.zeros(m, dtype=np.intp) if members is None else np.asarray(members)
        self.feature_names = feature_labels(feature_names, None, d)

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
        """Draw the bandwidths of a fitted LAB-RBF estimator.

        Parameters
        ----------
        model : fitted estimator
            `LABRBFRegressor` or `LABRBFClassifier`, or a pipeline that ends in one; then features
            are the features of its last step.
        feature_names : sequence of str, optional
            By default the names in the data frame of the fit, or numbers.
        most_features : int, default=20
            Draw this number of features, the most relevant ones.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **style
            For matplotlib's ``imshow``.

        Raises
        ------
        ValueError
            For a model without bandwidths, or names that are too few or too many.
        """
        machine = last_step(model)
        summary_for("bandwidths", machine, "bandwidths", "LABRBFRegressor")
        chosen = np.flatnonzero(machine.averaged_)  # the members that predict
        parts = [_on_one_scale(machine.members_[k]) for k in chosen]
        numbers = np.repeat(chosen, [len(part) for part in parts])
        names = feature_labels(feature_names, machine, parts[0].shape[1])
        relevance = machine.feature_relevance_
        display = cls(np.vstack(parts), relevance, members=numbers, feature_names=names)
        display.most_features = most_features
        return display.plot(ax, **style)

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw a row for each support point, grouped by the feature of its largest bandwidth."""
        from matplotlib.colors import LogNorm
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        high = float(self.bandwidths.max()) or 1.0
        # below a thousandth of the largest, a kernel is constant: drawn in one colour
        low = max(float(self.bandwidths.min()), 1e-3 * high)
        cells = np.maximum(self.bandwidths[:, self._shown], low)
        # by member, by the feature of the largest bandwidth, and by this bandwidth
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
        """Draw lines between members, and the numbers of several members beside them."""
        numbers, starts = np.unique(members, return_index=True)
        self.ax_.hlines(starts[1:] - 0.5, *self.ax_.get_xlim(), color="white", linewidth=1.5)
        names = [f"{number}" for number in numbers] if len(numbers) > 1 else []
        self.ax_.set_yticks(class_marks(starts, len(members))[: len(names)], names)
        self.ax_.tick_params(axis="y", length=0)


def _on_one_scale(member: LABRBFMember) -> Array:
    """Return the bandwidths of a member for features on [-1, 1]; 0 for constant features."""
    theta = member.kernel_.bandwidths
    if member.kernel_.warp is not None:
        return theta
    slopes = member.warp_.slopes
    return np.divide(theta, slopes, out=np.zeros_like(theta), where=slopes > 0)
