"""The bandwidths that a LAB-RBF estimator learned, near each support point and over all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_integer, check_points, check_vector
from pliant.methods.lab_rbf.members import LABRBFMember
from pliant.plots._common import (
    BLUE,
    class_marks,
    feature_labels,
    last_step,
    plain_steps,
    summary_for,
    thinned,
)
from pliant.plots._features import FeatureDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST = 1e-3
"""Bandwidths below this share of the largest are drawn alike: so wide a kernel is constant."""


class BandwidthDisplay(FeatureDisplay):
    """How narrow a kernel with bandwidths of its own is along each feature, near each point.

    The kernel at a support point c is h(|theta o (u - c)|^2): it falls off within 1/theta_j along
    feature j, and does not depend on a feature with a bandwidth near zero. Features are on [-1, 1],
    as the estimator maps them, so that bandwidths can be compared.

    It shows the *kernel*; `RelevanceDisplay` shows what is made of it, the change of the learned
    function with each feature, in which the coefficients and the linear part count too: a feature
    may have narrow kernels and matter little, or matter through the linear part alone.

    Parameters
    ----------
    bandwidths : array-like of shape (m, d)
        theta >= 0 of each support point.
    relevance : array-like of shape (d,), optional
        What orders the features, such as ``feature_relevance_``; by default the median bandwidth.
    members : array-like of m int, optional
        The member that each support point belongs to, drawn one above the other; by default all
        belong to one.
    feature_names : sequence of d str, optional
        By default ``feature 0`` and so on.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    image_, colorbar_ : matplotlib AxesImage and Colorbar, or None
        The heat map.
    medians_ : matplotlib Line2D or None
        The medians over the support points, the first feature on top.
    quartiles_ : matplotlib LineCollection or None
        From the lower to the upper quartile.

    Examples
    --------
    >>> from pliant.plots import BandwidthDisplay
    >>> display = BandwidthDisplay([[0.1, 3.0], [0.1, 5.0]], feature_names=["age", "dose"])
    >>> [display.feature_names[j] for j in display.order]
    ['dose', 'age']
    """

    _title = "Bandwidths"
    _kinds = "support", "features"
    medians_: Any
    quartiles_: Any

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
        if not self.bandwidths.size or (self.bandwidths < 0).any():
            raise ValueError(
                f"expected bandwidths >= 0 of shape (m, d), got the shape {self.bandwidths.shape} "
                f"and the least value {self.bandwidths.min(initial=np.inf):g}"
            )
        self.relevance = np.median(self.bandwidths, axis=0)
        if relevance is not None:
            self.relevance = check_vector("relevance", relevance, d)
        self.members = np.zeros(m, dtype=np.intp) if members is None else np.asarray(members)
        if self.members.shape != (m,):
            raise ValueError(f"expected members of shape ({m},), got {self.members.shape}")
        self.feature_names = feature_labels(feature_names, None, d)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        member: int | None = None,
        kind: str = "support",
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
            are those that its last step sees.
        member : int, optional
            Which of its ``members_``; by default all that predict.
        kind : {"support", "features"}, default="support"
            The heat map of all bandwidths, or their median and quartiles for each feature.
        feature_names : sequence of str, optional
            By default those of the data frame that the model was fitted on, or numbers.
        most_features : int, default=20
            Draw this number of features, the most relevant ones.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **style
            For matplotlib's ``imshow`` or ``plot``.

        Returns
        -------
        BandwidthDisplay

        Raises
        ------
        ValueError
            For a model without bandwidths, a member that is not there, or names that are too few
            or too many.
        """
        machine = last_step(model)
        summary_for("bandwidths", machine, "bandwidths", "LABRBFRegressor")
        chosen = _members(machine, member)
        parts = [_on_one_scale(machine.members_[k]) for k in chosen]
        numbers = np.repeat(chosen, [len(part) for part in parts])
        names = feature_labels(feature_names, machine, parts[0].shape[1])
        relevance = machine.feature_relevance_
        display = cls(np.vstack(parts), relevance, members=numbers, feature_names=names)
        return display.plot(ax, kind=kind, most_features=most_features, **style)

    @property
    def _ends(self) -> tuple[float, float]:
        """The least and the largest bandwidth that can be distinguished."""
        high = float(self.bandwidths.max()) or 1.0
        return max(float(self.bandwidths.min()), LEAST * high), high

    def _draw_points(self, shown: Indices, style: dict[str, Any]) -> None:
        """Draw a row for each support point, those with like bandwidths together."""
        from matplotlib.colors import LogNorm

        self.medians_ = self.quartiles_ = None
        low, high = self._ends
        cells = np.maximum(self.bandwidths[:, shown], low)
        rows = _in_groups(np.log(cells), self.members)
        drawn = thinned(rows)
        look = {"cmap": "cividis", "norm": LogNorm(min(low, high / 2), high), **style}
        self._draw_cells(cells[drawn], shown, look, LABEL)
        plain_steps(self.colorbar_.ax.yaxis)
        self._mark_members(self.members[drawn])
        several = "" if len(np.unique(self.members)) == 1 else "\nby member"
        self._count_points(drawn, rows, several)

    def _mark_members(self, members: npt.NDArray[Any]) -> None:
        """Draw a line between members, and their numbers beside them if there are several."""
        numbers, starts = np.unique(members, return_index=True)
        self.ax_.hlines(starts[1:] - 0.5, *self.ax_.get_xlim(), color="white", linewidth=1.5)
        names = [f"{number}" for number in numbers] if len(numbers) > 1 else []
        self.ax_.set_yticks(class_marks(starts, len(members))[: len(names)], names)
        self.ax_.tick_params(axis="y", length=0)

    def _draw_features(self, shown: Indices, style: dict[str, Any]) -> None:
        """Draw the median and the quartiles of each feature, the first on top."""
        low, _ = self._ends
        places = np.arange(len(shown))
        lower, median, upper = np.maximum(
            np.quantile(self.bandwidths[:, shown], [0.25, 0.5, 0.75], axis=0), low
        )
        look = {"color": BLUE, "markersize": 6, **style}
        self.quartiles_ = self.ax_.hlines(places, lower, upper, color=look["color"], linewidth=3)
        (self.medians_,) = self.ax_.plot(median, places, "o", **look)
        self.ax_.set(xscale="log", xlabel=f"{LABEL}, median and quartiles")
        plain_steps(self.ax_.xaxis)
        self._name_rows(shown)


LABEL = "bandwidth θ, features on [−1, 1]"


def _members(machine: Any, member: int | None) -> list[int]:
    """Return the numbers of the members to draw."""
    if member is None:
        return [int(k) for k in np.flatnonzero(machine.averaged_)]
    count = len(machine.members_)
    if check_integer("member", member, least=0) >= count:
        raise ValueError(f"expected member < {count}, as many as there are, got {member}")
    return [int(member)]


def _on_one_scale(member: LABRBFMember) -> Array:
    """Return the bandwidths of a member for features on [-1, 1]; 0 for constant features."""
    theta = member.kernel_.bandwidths
    if member.kernel_.warp is not None:
        return theta
    slopes = member.warp_.slopes
    return np.divide(theta, slopes, out=np.zeros_like(theta), where=slopes > 0)


def _in_groups(values: Array, members: npt.NDArray[Any]) -> Indices:
    """Return rows by member, those alike next to each other: the leaves of a tree of groups."""
    parts = [np.flatnonzero(members == number) for number in np.unique(members)]
    return np.concatenate([rows[_leaves(values[rows])] for rows in parts])


def _leaves(values: Array) -> Indices:
    if len(values) < 3:
        return np.arange(len(values))
    return np.asarray(leaves_list(linkage(values, "average")), dtype=np.intp)
