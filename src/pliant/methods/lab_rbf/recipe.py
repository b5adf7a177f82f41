"""What goes into learning one LAB-RBF expansion, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.core.typing import Array, Indices

__all__ = ["Learned", "Recipe", "Sample"]


class Sample(NamedTuple):
    """Rows: points (n, d) and targets (n, q), both scaled, and weights (n,), or None if all 1."""

    X: Array
    Y: Array
    weights: Array | None = None

    def mean(self) -> Array:
        """Return the weighted mean of the targets, shape (q,)."""
        return np.asarray(np.average(self.Y, axis=0, weights=self.weights))


@dataclass(frozen=True)
class Recipe:
    """How one expansion is learned.

    Attributes
    ----------
    n_support : int
        The most support points.
    objective : {"ridge", "evidence", "interpolation"}
    linear : bool
        Whether the features themselves follow the kernel values.
    alpha : float
        The ridge while bandwidths are learned.
    alphas : tuple of float
        The ridges that the coefficients choose from.
    shrinkages : tuple of float
        What holds bandwidths together, falling.
    n_draws : int
        How often support points are drawn; the best draw on the held-out rows is kept.
    profile, support, solver : str
    max_iter : int
        Steps of each stage.
    batch_rows : int
        Rows looked at together.
    learning_rate : float
        Of Adam.
    initial_bandwidth : float or None
        theta of all centres and features at the start; None: the best of a few.
    """

    n_support: int
    n_draws: int
    objective: str
    linear: bool
    alpha: float
    alphas: tuple[float, ...]
    shrinkages: tuple[float, ...]
    profile: str
    support: str | Indices
    solver: str
    max_iter: int
    batch_rows: int
    learning_rate: float
    initial_bandwidth: float | None


@dataclass(frozen=True, eq=False)
class Learned:
    """What `learn` found.

    Attributes
    ----------
    centres, log_squares : arrays of shape (m, d)
        Support points, and the logarithms of their squared bandwidths.
    rows : array of shape (m,)
        Their places in the sample.
    alpha, shrinkage : float
        Chosen on the held-out rows.
    loss : float
        The held-out loss; nan without such rows.
    history : list of float
        The objective after each step.
    coefficients : array of shape (m, q) or None
        Those of the interpolation objective; others follow from all rows.
    mean : array of shape (q,)
        The scaled target that they are added to.
    predicted : array of shape (n_held_out, q) or None
        The held-out rows as the best stage before the last saw them.
    """

    centres: Array
    log_squares: Array
    rows: Indices
    alpha: float
    shrinkage: float
    loss: float
    history: list[float]
    coefficients: Array | None
    mean: Array
    predicted: Array | None
