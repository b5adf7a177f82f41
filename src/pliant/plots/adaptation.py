"""How a learned kernel differs from its base kernel, pair by pair of training points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from pliant.core.typing import Array
from pliant.kernels import Precomputed
from pliant.plots._common import (
    GREY,
    HARDLY,
    Display,
    check_two_classes,
    class_labels,
    class_marks,
    in_order,
    inner_points,
    last_step,
    summary_for,
    target_marks,
    thinned,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AdaptationDisplay(Display):
    """F - 1 between support points, where the learned kernel is F times the base kernel.

    Points are ordered by class, and within a class by abs(coefficient); for regression by target.
    Positive entries are pairs that the learned kernel holds for more similar than the base kernel
    does. Training points without a coefficient all have the same row of F, near 1, and are not
    drawn. Where no entry is larger than 0.001 in size the title says that the kernel is hardly
    adapted, and the colours stay pale: they end at 0.001 or beyond.

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
    class_names : sequence of two str, optional
        What the classes are called, in the order of `classes`; by default their labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
    image_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar
    """

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
        class_names: Sequence[str] | None = None,
    ) -> None:
        self.change = change
        self.n_support = n_support
        self.first_class = first_class
        self.classes = classes
        self.targets = targets
        self.class_names = None if classes is None else class_labels(classes, class_names)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        class_names: Sequence[str] | None = None,
        ax: Axes | None = None,
        **image: Any,
    ) -> Self:
        """Draw the adaptation of a fitted estimator.

        Parameters
        ----------
        model : fitted estimator
            DANK or KNPL, of two classes or a regressor, or a pipeline that ends in one.
        X, y : array-like
            What it was fitted on.
        class_names : sequence of two str, optional
            As for the class.
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
        display = cls.from_support(machine, y[machine.kernel_.support], class_names=class_names)
        return display.plot(ax, **image)

    @classmethod
    def from_support(
        cls, machine: Any, y: npt.ArrayLike, *, class_names: Sequence[str] | None = None
    ) -> Self:
        """Make a display from the labels or targets of the support points; nothing is drawn yet.

        Parameters
        ----------
        machine : fitted estimator
            DANK or KNPL, of two classes or a regressor.
        y : array-like of shape (n_support,)
            Of its ``support_vectors_``.
        class_names : sequence of two str, optional
            As for the class.

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
        if classes is not None and not np.isin(targets, classes).all():
            raise ValueError(f"expected labels in {classes.tolist()}, got others in y")
        by = "target" if classes is None else "class"
        order = thinned(in_order(targets, kernel.beta[kernel.support], by))
        rows = kernel.support[order]
        change = kernel.change_between(rows, rows)
        if classes is None:
            return cls(change, len(targets), targets=targets[order])
        first_class = int((targets[order] == classes[0]).sum())
        return cls(change, len(targets), first_class, classes, class_names=class_names)

    @property
    def hardly_adapted(self) -> bool:
        """Whether all entries of F - 1 lie within 0.001 of zero."""
        return bool(np.abs(self.change).max(initial=0.0) <= HARDLY)

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw the heat map, in colours that diverge from white at F = 1."""
        ax = self.ax_
        limit = max(float(np.abs(self.change).max()), HARDLY)
        look = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit, **style}
        self.image_ = ax.imshow(self.change, **look)
        self.colorbar_ = self.image_.figure.colorbar(self.image_, ax=ax, label="F − 1")
        if self.targets is None:
            assert self.first_class is not None
            ax.axhline(self.first_class - 0.5, color=GREY, linewidth=0.8)
            ax.axvline(self.first_class - 0.5, color=GREY, linewidth=0.8)
            assert self.class_names is not None
            places = class_marks([0, self.first_class], len(self.change))
            names, order = self.class_names, "class, then |coefficient|"
        else:
            places, names = target_marks(self.targets)
            order = "target"
        ax.set_xticks(places, names)
        ax.set_yticks(places, names)
        ax.tick_params(length=0)
        ax.set_xlabel(order)
        m = len(self.change)
        shown = f"all {m}" if m == self.n_support else f"{m} of {self.n_support}"
        largest = float(np.abs(self.change).max())
        note = f"\nhardly adapted: |F − 1| ≤ {largest:.1g}" if self.hardly_adapted else ""
        ax.set_title(f"Adaptation, {shown} support points{note}")


def _check_adapted(machine: Any) -> None:
    """Raise ValueError unless the estimator has one adaptive matrix."""
    summary_for("adaptation", machine, "an adaptive matrix", "DANKClassifier")


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
