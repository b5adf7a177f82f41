"""A fitted machine and some rows to draw it on.

Rows are chosen without chance and seen as the machine sees them, after the preprocessing of its
pipeline. With more than two classes, a machine that learns a kernel for each pair of them is
represented by that of the first pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from pliant.core.typing import Array, Indices
from pliant.kernels import Kernel

__all__ = ["MOST_ROWS", "ModelView"]

MOST_ROWS = 160
"""Rows that pictures show at most, about."""


@dataclass(frozen=True, eq=False)
class ModelView:
    """A fitted machine of one function, and rows to show it on.

    Attributes
    ----------
    model, machine : fitted estimators
        The whole model, and what its pipeline ends in; with more than two classes, that of the
        first pair where there is one for each.
    X : array of shape (m, d)
        Rows of the table.
    points : array of shape (m, p)
        The same as the machine sees them.
    y, all_y : arrays of shape (m,) and (n,)
        The targets of these rows, and of all rows.
    n : int
        Rows that the m were chosen from: those of the classes of the machine.
    names, own_names : list of str
        Of the p features that the machine sees, and of the d columns.
    note : str
        Which pair of classes is shown; empty where there is no choice.
    """

    model: Any
    machine: Any
    X: Array
    points: Array
    y: npt.NDArray[Any]
    all_y: npt.NDArray[Any]
    n: int
    names: list[str]
    own_names: list[str]
    note: str

    @classmethod
    def of(cls, model: Any, X: Array, y: npt.NDArray[Any], feature_names: Sequence[str]) -> Self:
        """Find the machine in a model, and choose rows."""
        inside = getattr(model, "regressor_", model)
        steps, machine, note = inside[:-1], inside[-1], ""
        eligible = np.arange(len(y))
        parts = getattr(machine, "estimators_", None)
        if isinstance(parts, list) and isinstance(getattr(parts[0], "kernel_", None), Kernel):
            machine = parts[0]
            first, second = machine.classes_
            eligible = np.flatnonzero(np.isin(y, machine.classes_))
            note = f"{first} against {second}, the first of {len(parts)} pairs"
        rows = _spread(y, eligible, is_classifier(machine))
        points = np.asarray(steps.transform(X[rows]) if len(steps) else X[rows], dtype=np.float64)
        own = [str(name) for name in feature_names]
        names = _names_after(steps, own, points.shape[1])
        n = len(eligible)
        return cls(model, machine, X[rows], points, y[rows], y, n, names, own, note)

    @property
    def learned(self) -> bool:
        """Whether the machine has learned a kernel."""
        return isinstance(getattr(self.machine, "kernel_", None), Kernel) or hasattr(
            self.machine, "members_"
        )

    @property
    def solved(self) -> Any:
        """The machine whose coefficients were found: on a learned kernel, that of its own."""
        return getattr(self.machine, "machine_", self.machine)

    @property
    def two_classes(self) -> bool:
        """Whether it is a classifier of two classes."""
        return is_classifier(self.machine) and len(self.machine.classes_) == 2

    def titled(self, title: str) -> str:
        """Return a title with the pair of classes that is shown."""
        return f"{title} ({self.note})" if self.note else title


def _spread(y: npt.NDArray[Any], eligible: Indices, by_class: bool) -> Indices:
    """Return at most MOST_ROWS rows in rising order: of each class in proportion, or by target."""
    share = min(1.0, MOST_ROWS / len(eligible))
    if by_class:
        groups = [eligible[y[eligible] == label] for label in np.unique(y[eligible])]
    else:
        groups = [eligible[np.argsort(y[eligible], kind="stable")]]
    chosen = [
        group[np.linspace(0, len(group) - 1, max(1, int(share * len(group)))).astype(np.intp)]
        for group in groups
    ]
    return np.sort(np.concatenate(chosen))


def _names_after(steps: Any, names: list[str], width: int) -> list[str]:
    """Return what to call the features after the preprocessing, as far as it tells."""
    if not len(steps):
        return names
    try:
        told = [str(name) for name in steps.get_feature_names_out(names)]
    except (AttributeError, ValueError):
        told = names
    prefixed = any(hasattr(step, "transformers_") for _, step in steps.steps)
    told = [name.partition("__")[2] if prefixed else name for name in told]
    return told if len(told) == width else [f"feature {j}" for j in range(width)]
