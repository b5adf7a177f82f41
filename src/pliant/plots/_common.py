"""What the displays share: axes to draw on, colours, and which models they accept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BLUE", "GREY", "PURPLE", "VERMILION", "check_two_classes", "last_step", "new_axes"]

BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#595959"
"""Three colours of Okabe and Ito, told apart by colour-blind readers, and a dark grey."""


def new_axes(ax: Axes | None) -> Axes:
    """Return `ax`, or the axes of a new figure.

    Raises
    ------
    ImportError
        If matplotlib is missing; the message names the extra that brings it.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'pliant[plots]'") from None
    return pyplot.subplots(layout="constrained")[1]


def last_step(model: Any) -> Any:
    """Return a fitted model, or the last step of a fitted pipeline."""
    check_is_fitted(model)
    return model[-1] if isinstance(model, Pipeline) else model


def check_two_classes(model: Any) -> None:
    """Raise ValueError unless `model` is a fitted classifier of two classes."""
    name = type(last_step(model)).__name__
    if not is_classifier(model):
        raise ValueError(f"expected a classifier, got {name}")
    if len(model.classes_) != 2:
        raise ValueError(
            f"expected a classifier of two classes, got {name} with {len(model.classes_)}: "
            f"draw one of its estimators_"
        )
