"""Base class of all displays, and helpers for colours, labels and the order of points."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pliant.core.estimators import BaseEstimator
from pliant.core.typing import Array, Indices
from pliant.methods.summary import Summary, summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Order: TypeAlias = Literal["class", "target"]

MAX_POINTS = 400
"""Maximum number of points in a heat map."""

HARDLY_ADAPTED = 1e-3
"""Maximum relative change of a kernel labelled "hardly adapted", too small for the colours."""

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#595959"
"""Two colours from the colour-blind safe palette of Okabe and Ito, and a dark grey."""

COLORS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "black")
"""All colours of Okabe and Ito except yellow, which is too pale on white."""


class Display(ABC):
    """Base class of the plots."""

    ax_: Axes

    def plot(self, ax: Axes | None = None, **style: Any) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default, a new figure of suitable size.
        **style
            Keyword arguments for the matplotlib function named in ``from_estimator``.

        Returns
        -------
        self
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError("drawing needs matplotlib: pip install 'pliant[plots]'") from None
            ax = pyplot.subplots(layout="constrained", figsize=self._size)[1]
        self.ax_ = ax
        self._draw(style)
        return self

    @property
    def _size(self) -> tuple[float, float] | None:
        """Width and height of a new figure in inches; None for matplotlib's default."""
        return None

    @abstractmethod
    def _draw(self, style: dict[str, Any]) -> None:
        """Draw on `ax_`."""


def fitted_machine(model: BaseEstimator) -> Any:
    """Return the last step of a fitted pipeline, or the fitted model itself."""
    check_is_fitted(model)
    return model[-1] if isinstance(model, Pipeline) else model


def summary_for(drawing: str, estimator: BaseEstimator, learns: str, example: str) -> Summary:
    """Return the summary of an estimator; raise ValueError if `drawing` is not available."""
    summary, name = summarize(estimator), type(estimator).__name__
    if drawing not in summary.drawings:
        raise ValueError(f"expected a model that learns {learns}, such as {example}, got {name}")
    if summary.kernel is None and len(summary.functions) > 1:
        raise ValueError(
            f"expected an estimator with one kernel, got {name} with {len(summary.functions)}: "
            "plot one of its estimators_"
        )
    return summary


def transform_points(model: BaseEstimator, X: Any) -> Any:
    """Transform points with all steps of a pipeline except the last."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X


def feature_labels(names: Sequence[str] | None, machine: object, d: int) -> list[str]:
    """Return `names`, the feature names seen in fit, or "feature 0" to "feature d-1"."""
    if names is None:
        names = getattr(machine, "feature_names_in_", None)
    if names is None:
        return [f"feature {j}" for j in range(d)]
    if len(names) != d:
        raise ValueError(f"expected {d} feature_names, got {len(names)}")
    return [str(name) for name in names]


def order_points(y: npt.NDArray[Any], sizes: Array | None, by: Order) -> Indices:
    """Return the indices that sort points by target, or by class and then by abs(size)."""
    if by == "target":
        return np.argsort(y, kind="stable")
    codes = np.unique(y, return_inverse=True)[1]
    # lexsort sorts by the last key first
    return np.lexsort((np.zeros(len(y)) if sizes is None else np.abs(sizes), codes))


def class_centres(starts: npt.ArrayLike, m: int) -> Array:
    """Return the centre of each class on an axis of m points, given the start of each class."""
    ends = np.append(starts, m)
    return np.asarray((ends[1:] + ends[:-1] - 1) / 2)


def class_label(label: Any) -> str:
    """Return the name of a class in a plot: "class 0" for a number, otherwise the label."""
    if isinstance(label, bool | np.bool_) or not isinstance(label, numbers.Real):
        return text(label)
    return f"class {label}" if isinstance(label, numbers.Integral) else f"class {label:g}"


def class_borders(y: npt.NDArray[Any], by: Order) -> tuple[Indices, Array, list[str]]:
    """Return class borders, tick positions and names; for targets, no borders and 5 ticks."""
    if by == "target":
        rows = np.linspace(0, len(y) - 1, 5).astype(np.intp)
        return rows[:0], rows.astype(np.float64), [f"{target:.3g}" for target in y[rows]]
    classes, starts = np.unique(y, return_index=True)
    return starts[1:], class_centres(starts, len(y)), [class_label(c) for c in classes.tolist()]


def thin(order: Indices, most: int | None = None) -> Indices:
    """Return at most `most` (by default `MAX_POINTS`) row numbers, evenly spaced in `order`."""
    shown = min(len(order), MAX_POINTS if most is None else most)
    places = np.linspace(0, len(order) - 1, shown).astype(np.intp)
    return np.asarray(order[places], dtype=np.intp)


def text(name: object, longest: int = 28) -> str:
    """Return a name as one short line that matplotlib does not parse as mathematics."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    short = line if len(line) <= longest else f"{line[: longest - 1]}…"
    return short.replace("$", r"\$")
