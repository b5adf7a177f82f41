"""The data sets of the SCG paper: which files they are, and how their features are scaled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.datasets import load_local
from papers.sets import Table
from pliant.core.typing import Indices

__all__ = ["SETS", "SideSet", "draw", "read"]


@dataclass(frozen=True)
class SideSet:
    """A set of the studies.

    Attributes
    ----------
    file : str or None
        Its name in the data folder; None for the digits of scikit-learn.
    labels : int or None
        The number of labelled points, where the paper gives it (its Table 5).
    per_class : int or None
        So many random rows of each class are used in a repeat; None for all.
    unit : float or None
        Features are divided by it; None standardises them by the points learned from.
    note : str
        What the reader of a page should know.
    """

    file: str | None
    labels: int | None = None
    per_class: int | None = None
    unit: float | None = None
    note: str = ""


SETS: dict[str, SideSet] = {
    "Wine": SideSet("wine"),
    "Iris": SideSet("iris"),
    "Sonar": SideSet("sonar"),
    "Glass": SideSet("glass", note="six classes, the smallest of nine points"),
    "Heart": SideSet("heart_statlog"),
    "Liver": SideSet("liver_disorders"),
    "Ionosphere": SideSet("ionosphere"),
    "Breast": SideSet("breast_cancer_wdbc"),
    "Balance": SideSet("balance_scale"),
    **{f"Adult-a{k}a": SideSet(f"adult_a{k}a", labels=200 * k, unit=1.0) for k in range(1, 7)},
    "digits": SideSet(None, unit=16.0, note="the 1797 digits of scikit-learn, 8 x 8 pixels"),
    "usps": SideSet("usps_all", per_class=400, unit=255.0, note="400 random images of each digit"),
}
"""The sets by the paper's names; protein is not at hand."""


def read(name: str, folder: str) -> Table:
    """Load a set; TableError if its file is not there."""
    chosen = SETS[name]
    if chosen.file is None:
        X, y = load_digits(return_X_y=True)
        return Table(X, y, "classification", None)
    data = load_local(chosen.file, folder)
    return Table(data.X, data.y, "classification", None)


def draw(table: Table, per_class: int | None, seed: int) -> Table:
    """Return so many random rows of each class, in the order of the table."""
    if per_class is None:
        return table
    rng = np.random.default_rng(seed)
    rows: Indices = np.sort(
        np.concatenate(
            [
                rng.permutation(np.flatnonzero(table.y == label))[:per_class]
                for label in np.unique(table.y)
            ]
        )
    )
    return Table(table.X[rows], table.y[rows], table.task, None)
