"""The learned weights of kernels: bars for one model, lines over C for several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pliant.core.text import count
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_integer, check_points, check_vector
from pliant.methods.summary import summarize
from pliant.plots._common import BLUE, COLORS, Display, feature_labels, last_step, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D


class WeightsDisplay(Display):
    """The learned weights of kernels.

    Bars show the weights that are not zero, the largest first; the number of the others and their
    share of the weight are stated below. With several sets, one for each pair of classes, a bar is
    their mean. With `Cs`, the weights are drawn as lines over C instead.

    Parameters
    ----------
    weights : array-like of shape (n_kernels,) or (n_sets, n_kernels)
        Such as ``weights_``; one set for each pair of classes, or for each C.
    kernel_names : sequence of n_kernels str, optional
        By default ``kernel 0`` and so on.
    Cs : array-like of shape (n_sets,), optional
        The values of C > 0 that the sets belong to.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    bars_ : matplotlib BarContainer or None
        The bars, the largest weight first.
    lines_ : list of matplotlib Line2D
        The path of each kernel that is drawn; empty for bars.

    Examples
    --------
    >>> from pliant.plots import WeightsDisplay
    >>> display = WeightsDisplay([0.0, 0.3, 0.7], ["linear", "wide", "narrow"])
    >>> [display.kernel_names[m] for m in display.order]
    ['narrow', 'wide', 'linear']
    """

    bars_: BarContainer | None
    lines_: list[Line2D]
    most_kernels: int = 15

    def __init__(
        self,
        weights: npt.ArrayLike,
        kernel_names: Sequence[str] | None = None,
        *,
        Cs: npt.ArrayLike | None = None,
    ) -> None:
        self.weights = check_points(np.atleast_2d(np.asarray(weights, np.float64)), "weights")
        n_sets, n_kernels = self.weights.shape
        if kernel_names is None:
            kernel_names = [f"kernel {m}" for m in range(n_kernels)]
        if len(kernel_names) != n_kernels:
            raise ValueError(f"expected {n_kernels} kernel_names, got {len(kernel_names)}")
        self.kernel_names = [str(name) for name in kernel_names]
        self.Cs = None if Cs is None else check_vector("Cs", Cs, n_sets)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        *,
        kernel_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        most_kernels: int = 15,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Draw the weights of a fitted model as bars.

        Parameters
        ----------
        model : fitted estimator
            `MKLClassifier` or another estimator of multiple kernel learning, or a pipeline that
            ends in one.
        kernel_names : sequence of str, optional
            Names of the kernels; by default those of the model.
        feature_names : sequence of str, optional
            Names of the features of the last step, for the names of kernels of some of them; by
            default those of the data frame of its fit, or numbers.
        most_kernels : int, default=15
            Draw this number of kernels at most, those of the largest weights.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **style
            For matplotlib's ``barh``.

        Raises
        ------
        ValueError
            For a model without weights of kernels, or names that are too few or too many.
        """
        display = cls(*_learned(model, kernel_names, feature_names))
        display.most_kernels = most_kernels
        return display.plot(ax, **style)

    @classmethod
    def from_path(
        cls,
        models: Sequence[BaseEstimator],
        *,
        kernel_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Draw the weights of the same kernels in several models as lines over C.

        The seven kernels of the largest weights at any C have a line.

        Parameters
        ----------
        models : sequence of fitted estimators
            As for ``from_estimator``, such as those of `pliant.C_path`, of different ``C``. Where
            each pair of classes has weights of its own, the mean is drawn.
        kernel_names, feature_names
            As for ``from_estimator``.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **style
            For matplotlib's ``plot``.

        Raises
        ------
        ValueError
            For no model, or models without weights of the same number of kernels.
        """
        learned = [_learned(model, kernel_names, feature_names) for model in models]
        counts = {weights.shape[1] for weights, _ in learned}
        if len(counts) != 1:
            raise ValueError(f"expected models of the same kernels, got {sorted(counts)} kernels")
        weights = [sets.mean(axis=0) for sets, _ in learned]
        Cs = [last_step(model).C for model in models]
        return cls(weights, learned[0][1], Cs=Cs).plot(ax, **style)

    @property
    def order(self) -> Indices:
        """The kernels, the largest weight first: of the mean, or at any C; shape (n_kernels,)."""
        return np.asarray(np.argsort(-self._sizes, kind="stable"), dtype=np.intp)

    @property
    def _sizes(self) -> Array:
        if self.Cs is None:
            return np.asarray(np.abs(self.weights.mean(axis=0)))
        return np.asarray(np.abs(self.weights).max(axis=0))

    @property
    def _shown(self) -> Indices:
        """The kernels with a bar or a line."""
        bars = check_integer("most_kernels", self.most_kernels, least=1)
        first = self.order[: bars if self.Cs is None else len(COLORS)]
        return first[(self._sizes[first] > 0) | (first == first[0])]

    @property
    def _size(self) -> tuple[float, float] | None:
        return (7.2, 1.4 + 0.27 * len(self._shown)) if self.Cs is None else (8.4, 4.2)

    def _draw(self, style: dict[str, Any]) -> None:
        self.bars_, self.lines_ = None, []
        if self.Cs is None:
            self._draw_bars(self._shown, style)
        else:
            self._draw_lines(self._shown, self.Cs, style)
        self.ax_.set_title("Weights of kernels" + ("" if self.Cs is None else " over C"))

    def _draw_bars(self, shown: Indices, style: dict[str, Any]) -> None:
        """Draw a bar for each kernel, the largest on top."""
        ax, places, sets = self.ax_, np.arange(len(shown)), self.weights[:, shown]
        self.bars_ = ax.barh(places, sets.mean(axis=0), **{"color": BLUE, **style})
        several = f", mean over {count(len(sets), 'pair')} of classes" if len(sets) > 1 else ""
        ax.set_yticks(places, [text(self.kernel_names[m], 44) for m in shown])
        ax.set_ylim(len(shown) - 0.4, -0.6)
        if (sets < 0).any():
            ax.axvline(0.0, color="black", linewidth=0.8)
        else:
            ax.set_xlim(left=0.0)
        ax.set_xlabel(self._add_note(f"weight{several}", shown))

    def _draw_lines(self, shown: Indices, Cs: Array, style: dict[str, Any]) -> None:
        """Draw the weight of each kernel over C."""
        ax, rising = self.ax_, np.argsort(Cs, kind="stable")
        for place, m in enumerate(shown):
            own = {"color": COLORS[place], "label": text(self.kernel_names[m], 44)}
            look = {**own, "marker": "o", "markersize": 3.5, **style}
            self.lines_ += ax.plot(Cs[rising], self.weights[rising, m], **look)
        if (self.weights >= 0).all():
            ax.set_ylim(bottom=0.0)
        ax.set(xscale="log", xlabel=self._add_note("C", shown), ylabel="weight")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")

    def _add_note(self, label: str, shown: Indices) -> str:
        """Return a label with the number of kernels without a bar or line, and their weight."""
        left = len(self.kernel_names) - len(shown)
        if not left:
            return label
        sets = np.abs(self.weights)  # the share of the others, the largest of all sets
        share = (np.delete(sets, shown, axis=1).sum(axis=1) / sets.sum(axis=1)).max()
        return f"{label}\nand {count(left, 'kernel')} with at most {share:.1%} of the weight"


def _learned(
    model: BaseEstimator, kernel_names: Sequence[str] | None, feature_names: Sequence[str] | None
) -> tuple[Array, Sequence[str]]:
    """Return the weights of a fitted model, and the names of its kernels."""
    estimator = last_step(model)
    learned = summarize(estimator).weights
    if learned is None:
        raise ValueError(
            "expected a model that learns the weights of kernels, such as MKLClassifier, got "
            f"{type(estimator).__name__}"
        )
    if feature_names is None:
        feature_names = getattr(estimator, "feature_names_in_", None)
    else:
        feature_names = feature_labels(feature_names, estimator, estimator.n_features_in_)
    names = learned.names(feature_names) if kernel_names is None else kernel_names
    return learned.weights, names
