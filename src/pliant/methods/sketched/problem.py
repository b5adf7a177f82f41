"""The normal equations of kernel ridge regression on a few centres, and their certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from pliant.core.typing import Array
from pliant.methods.sketched.centres import CentreFactor
from pliant.methods.sketched.rows import (
    DaskRows,
    MemoryRows,
    column_sums,
    normal_matrix,
    product,
    residual,
)

Rows: TypeAlias = MemoryRows | DaskRows


class Targets(NamedTuple):
    """Targets of shape (n, t) and weights of shape (n,) that fit into float32.

    Targets are divided by `units`, powers of two, shape (t,), and less their `means` in these units
    (zeros without an intercept); weights are divided by `largest_weight`.
    """

    values: Array
    means: Array
    units: Array
    weights: Array
    largest_weight: float

    @property
    def squares(self) -> Array:
        """The weighted sums of the squares, shape (t,)."""
        return np.asarray(self.weights @ self.values**2)

    @classmethod
    def of(cls, y: Array, weights: Array, centred: bool) -> Targets:
        """Return the targets of shape (n, t) in this form."""
        units = np.ldexp(1.0, np.frexp(np.abs(y).max(axis=0))[1] - 1)
        values = y / units
        largest = float(weights.max())
        weights = weights / largest
        means = np.zeros(y.shape[1])
        if centred:
            means = weights @ values / weights.sum()
            values -= means
        return cls(values, means, units, weights, largest)


@dataclass(frozen=True, eq=False)
class Certificate:
    """How near some coefficients are to the optimum, for each of t targets.

    `gradient` is g, shape (r, t), the right-hand side of the normal equations less their left-hand
    side; `values` the objective, shape (t,), and `gaps` = |g|^2 / ridge a bound on what it is above
    its minimum, both times `units` in the units of the user.
    """

    gradient: Array
    values: Array
    gaps: Array
    units: Array

    @property
    def value(self) -> float:
        """The objective, summed over the targets."""
        return float(self.values @ self.units)

    @property
    def gap(self) -> float:
        """The bound, summed over the targets."""
        return float(self.gaps @ self.units)


class NormalEquations:
    r"""(Z'SZ + ridge I) w = Z'S y, where Z = (K_nm - 1 mu') U^{-1}.

    They minimise, for each target, sum_i s_i (y_i - z_i'w)^2 + ridge |w|^2. With the kernel values
    K_nm of n rows and r centres, K_mm = scale U'U, weights S = diag(s) and their sum W, the rows
    z_i of Z are features of the rows whose products are the kernel's, projected on the span of the
    centres and divided by `scale`, less their mean, mu = K_nm's / W; without an intercept, mu = 0.

    The smallest eigenvalue of the matrix is at least `ridge`, so that an objective with gradient
    -2 g is at most |g|^2 / ridge above its minimum.

    `rows` have the kernel values for the iterations, `exact` those that count, the same or more
    accurate ones; ridge = alpha / scale > 0, and `centred` stands for an intercept.
    """

    def __init__(
        self,
        rows: Rows,
        exact: Rows,
        factor: CentreFactor,
        ridge: float,
        targets: Targets,
        centred: bool,
    ) -> None:
        self._rows, self._exact, self._factor, self.ridge = rows, exact, factor, ridge
        self._squares = targets.squares
        self._units = targets.units**2 * targets.largest_weight
        (sums,) = exact.total(column_sums)
        if not np.isfinite(sums).all():
            raise ValueError(
                "expected kernel values with finite sums over the rows; scale the features"
            )
        self.means: Array = np.zeros(len(sums))
        if centred:
            self.means = sums[:, 0] / float(targets.weights.sum())
        self.right = factor.features(sums[:, 1:] / factor.scale)
        self.n_passes = 1

    @property
    def can_sharpen(self) -> bool:
        """Whether there are more accurate kernel values than those of the iterations."""
        return self._exact is not self._rows

    def sharpen(self) -> None:
        """Iterate with the accurate kernel values from now on."""
        self._rows = self._exact

    def product(self, w: Array) -> Array:
        """Return (Z'SZ + ridge I) w, shape (r, t), by one pass over all rows."""
        self.n_passes += 1
        coefficients, offsets = self._expanded(w)
        sums, ones = self._rows.total(product, coefficients, offsets)
        return self._features(sums, ones) + self.ridge * w

    def certify(self, w: Array) -> Certificate:
        """Return the objective at w and the bound on its gap, by one pass over all rows."""
        if not w.any():  # nothing to compute
            return self._certificate(self.right, self._squares)
        self.n_passes += 1
        coefficients, offsets = self._expanded(w)
        sums, ones, squares = self._exact.total(residual, coefficients, offsets)
        gradient = self._features(sums, ones) - self.ridge * w
        values = squares + self.ridge * np.einsum("ij,ij->j", w, w)
        return self._certificate(gradient, values)

    def _certificate(self, gradient: Array, values: Array) -> Certificate:
        gaps = np.einsum("ij,ij->j", gradient, gradient) / self.ridge
        return Certificate(gradient, values, gaps, self._units)

    def matrix(self) -> Array:
        """Return Z'SZ, its upper triangle, by one pass over all rows; O(n r^2)."""
        self.n_passes += 1
        factor = self._factor
        return self._exact.total(normal_matrix, factor.triangle, self.means, factor.scale)[0]

    def _expanded(self, w: Array) -> tuple[Array, Array]:
        """Return coefficients of the kernel values, shape (r, t), and mu times them."""
        coefficients = self._factor.coefficients(w) / self._factor.scale
        return coefficients, self.means @ coefficients

    def _features(self, sums: Array, ones: Array) -> Array:
        """Return U^{-T} (sums - mu ones'), with sums K'r and 1'r over the rows."""
        return self._factor.features((sums - np.outer(self.means, ones)) / self._factor.scale)
