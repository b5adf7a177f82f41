"""How a learned kernel differs from its base kernel, pair by pair of training points."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from pliant._typing import Array, Indices
from pliant.kernels import Precomputed
from pliant.plots._common import GREY, check_two_classes, last_step, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AdaptationDisplay"]

MOST_POINTS = 400
"""Support points drawn at most, spread evenly over their order."""


class AdaptationDisplay:
    """F - 1 between support points, where the learned kernel is F times the base kernel.

    Points are ordered by class, and within a class by abs(coefficient). Positive entries are
    pairs that the learned kernel holds for more similar than the base kernel does. Training
    points without a coefficient all have the same row of F, near 1, and are not drawn.

    Parameters
    ----------
    change : array of shape (m, m)
        F - 1 between the points drawn.
    n_support : int
        Number of support points, of which m are drawn.
    first_class : int
        How many of the m belong to the first class.
    classes : sequence of two labels

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    image_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar
    """

    ax_: Axes
    image_: Any
    colorbar_: Any

    def __init__(self, change: Array, n_support: int, first_class: int, classes: Any) -> None:
        self.change = change
        self.n_support = n_support
        self.first_class = first_class
        self.classes = classes

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: npt.ArrayLike, *, ax: Axes | None = None, **image: Any
    ) -> Self:
        """Draw the adaptation of a fitted machine.

        Parameters
        ----------
        model : fitted estimator
            A classifier of two classes with an ``adaptation_``, or a pipeline that ends in one.
        X, y : array-like
            What it was fitted on.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **image
            For matplotlib's ``imshow``.

        Returns
        -------
        AdaptationDisplay

        Raises
        ------
        ValueError
            For a regressor, more than two classes, a model without an adaptive matrix, or points
            that are not the training points.
        """
        check_two_classes(model)
        machine = last_step(model)
        if not hasattr(machine, "adaptation_"):
            raise ValueError(
                f"expected a model that learns an adaptive matrix, such as DANKClassifier, "
                f"got {type(machine).__name__}"
            )
        y = np.asarray(y)
        _check_training_points(model, X, y)
        order = _support_in_order(machine, y)
        drawn = order[np.linspace(0, len(order) - 1, min(len(order), MOST_POINTS)).astype(np.intp)]
        change = machine.adaptation_.columns(drawn)[drawn] - 1.0
        first_class = int((y[drawn] == machine.classes_[0]).sum())
        return cls(change, len(order), first_class, machine.classes_).plot(ax, **image)

    def plot(self, ax: Axes | None = None, **image: Any) -> Self:
        """Draw the heat map, in colours that diverge from white at F = 1.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **image
            For matplotlib's ``imshow``.

        Returns
        -------
        self
        """
        self.ax_ = ax = new_axes(ax)
        limit = float(np.abs(self.change).max()) or 1.0
        style = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit, **image}
        self.image_ = ax.imshow(self.change, interpolation="nearest", **style)
        self.colorbar_ = self.image_.figure.colorbar(self.image_, ax=ax, label="F − 1")
        self._mark_classes(ax)
        m = len(self.change)
        shown = f"all {m}" if m == self.n_support else f"{m} of {self.n_support}"
        ax.set_title(f"Adaptation, {shown} support points")
        return self

    def _mark_classes(self, ax: Axes) -> None:
        """Separate the classes by lines and name them along both axes."""
        edges = [0, self.first_class, len(self.change)]
        middles = [0.5 * (low + high) - 0.5 for low, high in pairwise(edges)]
        ax.axhline(self.first_class - 0.5, color=GREY, linewidth=0.8)
        ax.axvline(self.first_class - 0.5, color=GREY, linewidth=0.8)
        names = [f"{label}" for label in self.classes]
        ax.set_xticks(middles, names)
        ax.set_yticks(middles, names)
        ax.tick_params(length=0)
        ax.set_xlabel("class, then |coefficient|")


def _check_training_points(model: Any, X: Any, y: npt.NDArray[Any]) -> None:
    """Raise ValueError unless X and y can be what the model was fitted on."""
    kernel = last_step(model).kernel_
    n = len(kernel.points)
    if len(X) != n or y.shape != (n,):
        raise ValueError(
            f"expected the {n} training points and their labels, got X of {len(X)} rows "
            f"and y of shape {y.shape}"
        )
    if isinstance(kernel.base, Precomputed):
        return
    inner = model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X
    if not np.allclose(np.asarray(inner, dtype=np.float64), kernel.points):
        raise ValueError("expected the X that the model was fitted on, got other points")


def _support_in_order(machine: Any, y: npt.NDArray[Any]) -> Indices:
    """Return the support points in the order of the picture."""
    if not np.isin(y, machine.classes_).all():
        raise ValueError(f"expected labels in {machine.classes_.tolist()}, got others in y")
    sizes = np.abs(machine.kernel_.beta)
    order = np.lexsort((sizes, y == machine.classes_[1]))
    support = order[sizes[order] > 0]
    if not support.size:
        raise ValueError("expected a model with support points, got one without")
    return np.asarray(support, dtype=np.intp)
