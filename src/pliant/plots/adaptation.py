"""How a learned kernel differs from its base kernel, pair by pair of training points."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from pliant.core.typing import Array, Indices
from pliant.kernels import Precomputed
from pliant.plots._common import (
    GREY,
    check_two_classes,
    inner_points,
    last_step,
    new_axes,
    text,
    thinned,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AdaptationDisplay:
    """F - 1 between support points, where the learned kernel is F times the base kernel.

    Points are ordered by class, and within a class by abs(coefficient); for regression by target.
    Positive entries are
    pairs that the learned kernel holds for more similar than the base kernel does. Training
    points without a coefficient all have the same row of F, near 1, and are not drawn.

    Parameters
    ----------
    change : array of shape (m, m)
        F - 1 between the points drawn.
    n_support : int
        Number of support points, of which m are drawn.
    first_class : int, optional
        How many of the m belong to the first class; None for regression.
    classes : sequence of two labels, optional
    targets : array of shape (m,), optional
        For regression.

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

    def __init__(
        self,
        change: Array,
        n_support: int,
        first_class: int | None = None,
        classes: Any = None,
        *,
        targets: Array | None = None,
    ) -> None:
        self.change = change
        self.n_support = n_support
        self.first_class = first_class
        self.classes = classes
        self.targets = targets

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: npt.ArrayLike, *, ax: Axes | None = None, **image: Any
    ) -> Self:
        """Draw the adaptation of a fitted estimator.

        Parameters
        ----------
        model : fitted estimator
            A classifier of two classes or a regressor with an ``adaptation_``, or a pipeline that
            ends in one.
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
            For more than two classes, a model without an adaptive matrix, or points that are not
            the training points.
        """
        machine, y = last_step(model), np.asarray(y)
        if is_classifier(machine):
            check_two_classes(model)
        _check_adapted(machine)
        _check_training_points(model, X, y)
        return cls.from_support(machine, y[machine.kernel_.support]).plot(ax, **image)

    @classmethod
    def from_support(cls, machine: Any, y: npt.ArrayLike) -> Self:
        """Make a display from the labels or targets of the support points; nothing is drawn yet.

        Parameters
        ----------
        machine : fitted estimator
            A classifier of two classes or a regressor with an ``adaptation_``.
        y : array-like of shape (n_support,)
            Of its ``support_vectors_``.

        Raises
        ------
        ValueError
            For a model without an adaptive matrix or without support points, or labels that it
            does not know.
        """
        _check_adapted(machine)
        kernel, targets = machine.kernel_, np.asarray(y)
        if targets.shape != (len(kernel.support),) or not len(targets):
            raise ValueError(
                f"expected y of shape ({len(kernel.support)},), one for each of at least one "
                f"support point, got {targets.shape}"
            )
        classes = machine.classes_ if is_classifier(machine) else None
        order = thinned(_order(kernel, targets, classes))
        rows = kernel.support[order]
        profiles = kernel.profiles(rows)
        change = kernel.form.change(kernel.learned(rows, rows), profiles, profiles)
        if classes is None:
            return cls(change, len(targets), targets=targets[order])
        first_class = int((targets[order] == classes[0]).sum())
        return cls(change, len(targets), first_class, classes)

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
        self.image_ = ax.imshow(self.change, **style)
        self.colorbar_ = self.image_.figure.colorbar(self.image_, ax=ax, label="F − 1")
        if self.targets is None:
            self._mark_classes(ax)
        else:
            self._mark_targets(ax, self.targets)
        m = len(self.change)
        shown = f"all {m}" if m == self.n_support else f"{m} of {self.n_support}"
        ax.set_title(f"Adaptation, {shown} support points")
        return self

    def _mark_classes(self, ax: Axes) -> None:
        """Separate the classes by lines and name them along both axes."""
        assert self.first_class is not None
        edges = [0, self.first_class, len(self.change)]
        middles = [0.5 * (low + high) - 0.5 for low, high in pairwise(edges)]
        ax.axhline(self.first_class - 0.5, color=GREY, linewidth=0.8)
        ax.axvline(self.first_class - 0.5, color=GREY, linewidth=0.8)
        names = [text(label) for label in self.classes]
        ax.set_xticks(middles, names)
        ax.set_yticks(middles, names)
        ax.tick_params(length=0)
        ax.set_xlabel("class, then |coefficient|")

    def _mark_targets(self, ax: Axes, targets: Array) -> None:
        """Write some targets along both axes."""
        rows = np.linspace(0, len(targets) - 1, 5).astype(int)
        names = [f"{target:.3g}" for target in targets[rows]]
        ax.set_xticks(rows, names)
        ax.set_yticks(rows, names)
        ax.tick_params(length=0)
        ax.set_xlabel("target")


def _check_adapted(machine: Any) -> None:
    """Raise ValueError unless the estimator has one adaptive matrix."""
    if not hasattr(machine, "adaptation_"):
        raise ValueError(
            f"expected a model that learns an adaptive matrix, such as DANKClassifier, "
            f"got {type(machine).__name__}"
        )


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
    if not np.allclose(inner_points(model, X), kernel.points):
        raise ValueError("expected the X that the model was fitted on, got other points")


def _order(kernel: Any, y: npt.NDArray[Any], classes: npt.NDArray[Any] | None) -> Indices:
    """Return the support points in the order of the picture."""
    if classes is None:
        return np.argsort(y, kind="stable")
    if not np.isin(y, classes).all():
        raise ValueError(f"expected labels in {classes.tolist()}, got others in y")
    return np.lexsort((np.abs(kernel.beta[kernel.support]), y == classes[1]))
