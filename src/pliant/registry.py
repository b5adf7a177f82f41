"""The methods of pliant: one entry makes a method appear everywhere.

The command line, the comparison and the documentation find a method here by its name: which
learners it has, what to search when it is tuned, and how many rows it takes.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pliant.estimators import (
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    KNPLRegressor,
    LABRBFClassifier,
    LABRBFRegressor,
    TKLClassifier,
    TKLRegressor,
)

__all__ = ["METHODS", "Method", "get_method"]


@dataclass(frozen=True)
class Method:
    """One way to learn a kernel.

    Parameters
    ----------
    name : str
        What it is called on the command line.
    title : str
        What it is called in a table of results.
    paper : str
        Where it was published.
    classifier, regressor : class or None
        Its learners; None where the method has none for that task.
    grid : mapping of str to tuple
        The values to choose from when the method is tuned, on standardised features unless it
        streams. Those of ``gamma`` are multiples of 1/d, with d the number of features.
    max_rows : int
        The most training rows that it is meant for.
    summary : str
        What it learns, in a few words.
    streams : bool, default=False
        Whether its learners take features as they are, on any scale and from a memory map, so that
        a table need not fit into memory.
    """

    name: str
    title: str
    paper: str
    classifier: type[Any] | None
    regressor: type[Any] | None
    grid: Mapping[str, tuple[float | str, ...]]
    max_rows: int
    summary: str
    streams: bool = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it has a learner for."""
        learners = {"classification": self.classifier, "regression": self.regressor}
        return tuple(task for task, learner in learners.items() if learner is not None)

    def learner(self, task: str) -> type[Any]:
        """Return the learner for "classification" or "regression".

        Raises
        ------
        ValueError
            If the method has none for this task.
        """
        learner = {"classification": self.classifier, "regression": self.regressor}.get(task)
        if learner is None:
            raise ValueError(f"{self.name} does {' and '.join(self.tasks)}, not {task!r}")
        return learner

    def param_grid(self, n_features: int) -> dict[str, list[Any]]:
        """Return what to search with d = n_features: `grid`, with ``gamma`` as numbers."""
        found: dict[str, list[Any]] = {name: list(values) for name, values in self.grid.items()}
        if "gamma" in found:
            found["gamma"] = [1.0 / n_features * value for value in found["gamma"]]
        return found


def get_method(name: str) -> Method:
    """Return the method of this name.

    Raises
    ------
    ValueError
        If there is none; the message has a close match, or all names.
    """
    if name in METHODS:
        return METHODS[name]
    close = difflib.get_close_matches(name.lower(), METHODS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(METHODS)}"
    raise ValueError(f"unknown method {name!r}; {hint}")


SVM_GRID = {
    "C": tuple(2.0**power for power in range(-3, 12, 2)),
    "gamma": (1 / 16, 1 / 4, 1.0, 4.0),
}
"""What machines with the parameters of an SVM choose from."""

METHODS: dict[str, Method] = {
    "dank": Method(
        name="dank",
        title="DANK",
        paper="Liu, Huang, Gong, Yang, Li: Learning Data-adaptive Non-parametric Kernels, "
        "JMLR 21 (2020)",
        classifier=DANKClassifier,
        regressor=DANKRegressor,
        grid=SVM_GRID,
        max_rows=20_000,
        summary="a base kernel times a matrix that adapts each of its entries",
    ),
    "knpl": Method(
        name="knpl",
        title="KNPL",
        paper="Liu, Huang, Gong, Yang, Li: Nonlinear Pairwise Layer and Its Training for Kernel "
        "Learning, AAAI (2018)",
        classifier=KNPLClassifier,
        regressor=KNPLRegressor,
        grid=SVM_GRID,
        max_rows=20_000,
        summary="a base kernel times a matrix that adapts each entry and keeps its row sums",
    ),
    "tkl": Method(
        name="tkl",
        title="TKL",
        paper="Talitckii, Colbert, Peet: Efficient Convex Algorithms for Universal Kernel "
        "Learning, arXiv:2304.07472 (2024)",
        classifier=TKLClassifier,
        regressor=TKLRegressor,
        grid={"C": tuple(10.0**power for power in range(6)), "delta": (0.1, 0.5, 1.0)},
        max_rows=40_000,
        summary="a piecewise polynomial kernel on the tessellation that the points make",
    ),
    "lab-rbf": Method(
        name="lab-rbf",
        title="LAB-RBF",
        paper="He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric "
        "Locally-Adaptive Kernels",
        classifier=LABRBFClassifier,
        regressor=LABRBFRegressor,
        grid={"n_support": (100, 400), "profile": ("gaussian", "matern52")},
        max_rows=1_000_000,
        summary="a radial kernel with bandwidths of its own for each support point",
        streams=True,
    ),
}
"""All methods, by name."""
