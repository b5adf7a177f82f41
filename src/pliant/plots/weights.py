"""Plots of kernel weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import BaseEstimator
from pliant.core.parameters import check_integer
from pliant.core.text import count
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_vector
from pliant.methods.summary import summarize
from pliant.plots._common import BLUE, COLORS, Display, feature_labels, fitted_machine, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D


class WeightsDisplay(Display):
    """Learned kernel weights.

    Bars show the largest nonzero weights, at most `most_kernels`, in descending order. The axis
    label gives the number and the total share of the others. With one set of weights for each pair
    of classes, bars show the mean over the sets. With `Cs`, lines show the weights over C instead.

    Parameters
    ----------
    weights : array-like of shape (n_kernels,) or (n_sets, n_kernels)
        Weights, such as ``weights_``, with one set for each pair of classes or for each C.
    kernel_names : sequence of n_kernels str, optional
        Defaults to ``kernel 0``, ``kernel 1`` and so on.
    Cs : array-like of shape (n_sets,), optional
        The value of C > 0 for each set.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    bars_ : matplotlib BarContainer or None
        The bars, in descending order of weight.
    lines_ : list of matplotlib Line2D
        The weights of each drawn kernel over C; empty for bars.

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
        self.weights: Array = check_points(
            np.atleast_2d(np.asarray(weights, np.float64)), "weights"
        )
        n_sets, n_kernels = self.weights.shape
        if kernel_names is None:
            kernel_names = [f"kernel {m}" for m in range(n_kernels)]
        if len(kernel_names) != n_kernels:
            raise ValueError(f"expected {n_kernels} kernel_names, got {len(kernel_names)}")
        self.kernel_names: list[str] = [str(name) for name in kernel_names]
        self.Cs: Array | None = None if Cs is None else check_vector("Cs", Cs, n_sets)

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
        """Plot the weights of a fitted model as bars.

        Parameters
        ----------
        model : fitted estimator
            `MKLClassifier` or another multiple kernel learning estimator, or a pipeline ending in
            one.
        kernel_names : sequence of str, optional
            Names of the kernels; by default, the names in the model.
        feature_names : sequence of str, optional
            Names of the input features of the last step, for the names of kernels on some
            features. Defaults to the column names of the training data frame, or numbers.
        most_kernels : int, default=15
            Maximum number of kernels to draw, largest weights first.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **style
            Keyword arguments for matplotlib's ``barh``.

        Raises
        ------
        ValueError
            If the model has no kernel weights, or the number of names is wrong.
        """
        display = cls(*_kernel_weights(model, kernel_names, feature_names))
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
        """Plot the weights of the same kernels in several models as lines over C.

        Lines are drawn for the seven kernels with the largest weights at any C.

        Parameters
        ----------
        models : sequence of fitted estimators
            Models as for ``from_estimator``, with different ``C``, as from `pliant.C_path`. If
            each pair of classes has a set of weights, the mean is drawn.
        kernel_names, feature_names
            As for ``from_estimator``.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **style
            Keyword arguments for matplotlib's ``plot``.

        Raises
        ------
        ValueError
            If there are no models, or the numbers of weights differ.
        """
        learned = [_kernel_weights(model, kernel_names, feature_names) for model in models]
        counts = {weights.shape[1] for weights, _ in learned}
        if len(counts) != 1:
            raise ValueError(f"expected models with equal numbers of kernels, got {sorted(counts)}")
        weights = [sets.mean(axis=0) for sets, _ in learned]
        Cs = [fitted_machine(model).C for model in models]
        return cls(weights, learned[0][1], Cs=Cs).plot(ax, **style)

    @property
    def order(self) -> Indices:
        """Indices of the kernels in descending order of mean weight, or of the maximum over C."""
        return np.asarray(np.argsort(-self._sizes, kind="stable"), dtype=np.intp)

    @property
    def _sizes(self) -> Array:
        if self.Cs is None:
            return np.asarray(np.abs(self.weights.mean(axis=0)))
        return np.asarray(np.abs(self.weights).max(axis=0))

    @property
    def _shown(self) -> Indices:
        """Indices of the drawn kernels."""
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
        self.ax_.set_title("Kernel weights" + ("" if self.Cs is None else " over C"))

    def _draw_bars(self, shown: Indices, style: dict[str, Any]) -> None:
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
        """Append the number and the total share of the kernels not drawn to a label."""
        left = len(self.kernel_names) - len(shown)
        if not left:
            return label
        sets = np.abs(self.weights)  # the maximum, over the sets, of the share not drawn
        share = (
            np.delete(sets, shown, axis=1).sum(axis=1) / np.maximum(sets.sum(axis=1), 1e-300)
        ).max()
        return f"{label}\n{count(left, 'more kernel')} with at most {share:.1%} of the weight"


def _kernel_weights(
    model: BaseEstimator, kernel_names: Sequence[str] | None, feature_names: Sequence[str] | None
) -> tuple[Array, Sequence[str]]:
    """Return the kernel weights of a fitted model, and the names of the kernels."""
    estimator = fitted_machine(model)
    learned = summarize(estimator).weights
    if learned is None:
        raise ValueError(
            "expected a model that learns kernel weights, such as MKLClassifier, got "
            f"{type(estimator).__name__}"
        )
    if feature_names is None:
        feature_names = getattr(estimator, "feature_names_in_", None)
    else:
        feature_names = feature_labels(feature_names, estimator, estimator.n_features_in_)
    names = learned.names(feature_names) if kernel_names is None else kernel_names
    return learned.weights, names
