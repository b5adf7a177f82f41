"""Plots of fits: convergence of the solver, kernel weights, embedded points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from pliant.core.estimators import BaseEstimator
from pliant.core.text import count
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_integer, check_points, check_vector
from pliant.methods.summary import summarize
from pliant.plots._common import BLUE, COLORS, GREY, Display, feature_labels, last_step, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.container import BarContainer
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D


class ConvergenceDisplay(Display):
    """Certified gap at each check of a solver, relative to the objective.

    The gap bounds the distance from the optimum. The solver stops when the relative gap reaches
    ``tol``. For a fixed or adapted kernel, the gap is relative to 1 + abs(objective), where the
    objective excludes its constant part. For a kernel learned by a sequence of SVMs (TKL), the gap
    is relative to abs(objective).

    Parameters
    ----------
    steps : array-like of shape (n_checks,)
        Number of steps before each check.
    gaps : array-like of shape (n_checks,)
        Relative gaps, finite.
    tol : float, optional
        The relative gap at which the solver stops; drawn as a line.
    unit : str, default="two-coordinate steps"
        The unit of `steps`, used as the label of the horizontal axis.
    scale : str, default="(1 + |objective|)"
        The unit of `gaps`, for the label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    line_ : matplotlib Line2D
        The gaps.
    tol_line_ : matplotlib Line2D or None
        The tolerance.

    Examples
    --------
    >>> from pliant.plots import ConvergenceDisplay
    >>> ConvergenceDisplay([0, 100], [8.0, 0.05], tol=0.1).gaps.tolist()
    [8.0, 0.05]
    """

    line_: Line2D
    tol_line_: Line2D | None

    def __init__(
        self,
        steps: npt.ArrayLike,
        gaps: npt.ArrayLike,
        *,
        tol: float | None = None,
        unit: str = "two-coordinate steps",
        scale: str = "(1 + |objective|)",
    ) -> None:
        self.steps: npt.NDArray[Any] = np.asarray(steps)
        self.gaps: Array = np.asarray(gaps, dtype=np.float64)
        self.tol = tol
        self.unit = unit
        self.scale = scale
        if not np.isfinite(self.gaps).all():
            raise ValueError(
                "expected certified gaps, got nan or inf: there is no certificate for a kernel "
                "that is not positive semi-definite"
            )

    @classmethod
    def from_estimator(cls, model: BaseEstimator, *, ax: Axes | None = None, **line: Any) -> Self:
        """Plot the convergence of a fitted estimator.

        Parameters
        ----------
        model : fitted estimator
            A binary classifier, a regressor or a kernel learner with a certified gap, or a pipeline
            ending in one.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **line
            Keyword arguments for matplotlib's ``plot``.

        Raises
        ------
        ValueError
            If the model has no certificate, or more than two classes.
        """
        machine = last_step(model)
        summary, name = summarize(machine), type(machine).__name__
        solved = [function.convergence for function in summary.functions] or [summary.convergence]
        if solved[0] is None:
            raise ValueError(
                f"expected a model with a certified gap, such as DANKClassifier, got {name}"
            )
        if len(solved) > 1:
            on_kernel = hasattr(machine, "machine_") and not hasattr(machine, "estimators_")
            raise ValueError(
                f"expected an estimator with one function, got {name} with {len(solved)}: plot one "
                f"of its {'machine_.' if on_kernel else ''}estimators_"
            )
        of = solved[0]
        display = cls(of.steps, of.gaps, tol=of.tol, unit=of.unit, scale=of.scale)
        return display.plot(ax, **line)

    def _draw(self, style: dict[str, Any]) -> None:
        ax = self.ax_
        look = {"color": BLUE, "marker": "o", "markersize": 4, "label": "certified gap", **style}
        gaps = np.maximum(self.gaps, np.finfo(np.float64).eps)  # log(0) cannot be drawn
        (self.line_,) = ax.plot(self.steps, gaps, **look)
        self.tol_line_ = None
        if self.tol is not None:
            label = f"tol = {self.tol:g}"
            self.tol_line_ = ax.axhline(self.tol, color=GREY, linestyle="--", label=label)
        ax.set(yscale="log", xlabel=self.unit, ylabel=f"gap / {self.scale}")
        ax.set_title("Convergence")
        ax.legend()


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
        Cs = [last_step(model).C for model in models]
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
        share = (np.delete(sets, shown, axis=1).sum(axis=1) / sets.sum(axis=1)).max()
        return f"{label}\n{count(left, 'more kernel')} with at most {share:.1%} of the weight"


class EmbeddingDisplay(Display):
    """Points in a plane, coloured by class.

    The colours repeat after seven classes, with a different marker each time.

    Parameters
    ----------
    places : array-like of shape (n, 2)
        Coordinates of the points.
    labels : array-like of shape (n,)
        The class of each point.
    names : pair of str, default=("component 1", "component 2")
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    points_ : list of matplotlib PathCollection
        The points of each class, in the order of `classes`.
    legend_ : matplotlib Legend
        The class names.

    Examples
    --------
    >>> from pliant.plots import EmbeddingDisplay
    >>> EmbeddingDisplay([[0, 1], [2, 0], [1, 1]], ["a", "b", "a"]).classes
    ['a', 'b']
    """

    points_: list[PathCollection]
    legend_: Legend

    def __init__(
        self,
        places: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        names: Sequence[str] = ("component 1", "component 2"),
    ) -> None:
        self.places: Array = check_points(places, "places")
        if self.places.shape[1] != 2:
            raise ValueError(f"expected places of shape (n, 2), got {self.places.shape}")
        self.labels: npt.NDArray[Any] = np.asarray(labels)
        self.names: tuple[str, str] = str(names[0]), str(names[1])

    @classmethod
    def from_estimator(
        cls,
        embedding: BaseEstimator,
        X: Any,
        y: npt.ArrayLike,
        *,
        ax: Axes | None = None,
        **style: Any,
    ) -> Self:
        """Plot points, preferably unseen in training, transformed by a fitted transformer.

        Parameters
        ----------
        embedding : fitted transformer
            A transformer with two output features, such as `KernelEmbedding`, or a pipeline.
        X : array-like or data frame of shape (n, d)
            The points.
        y : array-like of shape (n,)
            Class labels of the points.
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure.
        **style
            Keyword arguments for matplotlib's ``scatter``.

        Raises
        ------
        ValueError
            If the number of output features is not two.
        """
        check_is_fitted(embedding)
        if not hasattr(embedding, "transform"):
            name = type(last_step(embedding)).__name__
            raise ValueError(f"expected a transformer, such as KernelEmbedding, got {name}")
        names = ["component 1", "component 2"]
        if hasattr(embedding, "get_feature_names_out"):
            names = list(embedding.get_feature_names_out())
        return cls(embedding.transform(X), y, names=names).plot(ax, **style)

    @property
    def classes(self) -> list[Any]:
        """The distinct labels, sorted."""
        classes: list[Any] = np.unique(self.labels).tolist()
        return classes

    def _draw(self, style: dict[str, Any]) -> None:
        look = {"s": 14, "linewidths": 0, "alpha": 0.8, **style}
        self.points_ = []
        for number, label in enumerate(self.classes):
            turn, place = divmod(number, len(COLORS))
            own = {"color": COLORS[place], "marker": "o^sDvPX"[turn % 7]}
            drawn = self.places[self.labels == label]
            self.points_.append(self.ax_.scatter(*drawn.T, **{**own, **look}))
        look = {"frameon": False, "fontsize": 8, "markerscale": 1.4}
        self.legend_ = self.ax_.legend(self.points_, list(map(text, self.classes)), **look)
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1])


def _kernel_weights(
    model: BaseEstimator, kernel_names: Sequence[str] | None, feature_names: Sequence[str] | None
) -> tuple[Array, Sequence[str]]:
    """Return the kernel weights of a fitted model, and the names of the kernels."""
    estimator = last_step(model)
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
