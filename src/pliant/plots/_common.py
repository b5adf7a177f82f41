"""Axes to draw on, colours, names and points, for all displays."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points
from pliant.methods.summary import Summary, summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 400
"""Points that a heat map shows at most."""

HARDLY = 1e-3
"""A kernel is hardly adapted where no value changes by more than this share: on a scale of colours
that ends there, nothing can be seen."""

LONGEST = 28
"""Characters of a name that are drawn."""

BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#595959"
"""Two colours of Okabe and Ito, which colour-blind readers can distinguish, and a dark grey."""

COLORS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "black")
"""All colours of Okabe and Ito but yellow, which is pale on white."""


class Display(ABC):
    """A picture that can be drawn on given axes or on a new figure."""

    ax_: Axes

    def plot(self, ax: Axes | None = None, **style: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure, of a size that fits.
        **style
            For the function of matplotlib that ``from_estimator`` names.

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
        """Width and height of a new figure, in inches; None for those that matplotlib chooses."""
        return None

    @abstractmethod
    def _draw(self, style: dict[str, Any]) -> None:
        """Draw on the axes."""


def last_step(model: Any) -> Any:
    """Return a fitted model, or the last step of a fitted pipeline."""
    check_is_fitted(model)
    return model[-1] if isinstance(model, Pipeline) else model


def summary_for(drawing: str, estimator: Any, learns: str, example: str) -> Summary:
    """Return the summary of an estimator that has a drawing of one kernel, or raise ValueError."""
    summary, name = summarize(estimator), type(estimator).__name__
    if drawing not in summary.drawings:
        raise ValueError(f"expected a model that learns {learns}, such as {example}, got {name}")
    if summary.kernel is None and len(summary.functions) > 1:
        raise ValueError(
            f"expected an estimator of one kernel, got {name} with {len(summary.functions)}: "
            "draw one of its estimators_"
        )
    return summary


def transformed(model: Any, X: Any) -> Any:
    """Return points as the last step of a pipeline sees them."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X


def inner_points(model: Any, X: Any) -> Array:
    """Return points as the last step of a pipeline sees them, finite, of shape (n, d)."""
    return check_points(transformed(model, X), "X")


def feature_labels(names: Sequence[str] | None, machine: Any, d: int) -> list[str]:
    """Return names of d features: the given ones, those of the estimator's fit, or numbers."""
    if names is None:
        names = getattr(machine, "feature_names_in_", None)
    if names is None:
        return [f"feature {j}" for j in range(d)]
    if len(names) != d:
        raise ValueError(f"expected {d} feature_names, got {len(names)}")
    return [str(name) for name in names]


def in_order(y: npt.NDArray[Any], sizes: Array | None, by: str) -> Indices:
    """Return the points by target, or by class and then by abs(size)."""
    if by == "target":
        return np.argsort(y, kind="stable")
    codes = np.unique(y, return_inverse=True)[1]
    return np.lexsort((np.zeros(len(y)) if sizes is None else np.abs(sizes), codes))


def class_marks(starts: npt.ArrayLike, m: int) -> Array:
    """Return the middle of each class on an axis of m points, from where the classes start."""
    ends = np.append(starts, m)
    return np.asarray((ends[1:] + ends[:-1] - 1) / 2)


def class_label(label: Any) -> str:
    """Return the name of a class in a picture: "class 0", or the label if it is no number."""
    number = isinstance(label, numbers.Real) and not isinstance(label, bool | np.bool_)
    return f"class {label:g}" if number else text(label)


def marks(y: npt.NDArray[Any], by: str) -> tuple[Indices, Array, list[str]]:
    """Return borders between ordered classes, and places and names of classes, or of 5 targets."""
    if by == "target":
        rows = np.linspace(0, len(y) - 1, 5).astype(np.intp)
        return rows[:0], rows.astype(np.float64), [f"{target:.3g}" for target in y[rows]]
    classes, starts = np.unique(y, return_index=True)
    return starts[1:], class_marks(starts, len(y)), [class_label(c) for c in classes.tolist()]


def thinned(order: Indices, most: int | None = None) -> Indices:
    """Return at most `most` (MOST_POINTS) of some row numbers, spread evenly over their order."""
    shown = min(len(order), MOST_POINTS if most is None else most)
    places = np.linspace(0, len(order) - 1, shown).astype(np.intp)
    return np.asarray(order[places], dtype=np.intp)


def text(name: object, longest: int = LONGEST) -> str:
    """Return a name from data as matplotlib should draw it: one line, no mathematics, not long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    short = line if len(line) <= longest else f"{line[: longest - 1]}…"
    return short.replace("$", r"\$")
