"""The normal equations of kernel ridge regression on a few centres, and their solution.

Preconditioned conjugate gradients with restarts from accurate residuals solve them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback
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

Precondition: TypeAlias = Callable[[Array], Array]
"""Returns an approximate solution for some right-hand sides."""

PROGRESS = 0.5
"""A restart that leaves more than this share of a gradient makes no progress."""

REDUCTION = 1e-4
"""By how much gradients shrink between restarts where products are in float32."""

SEARCH = 15
"""Iterations in float32 that may pass without halving the preconditioned norm of the residual."""

MARGIN = 0.5
"""Iterations go on until gradients are this share of what is asked for: the certified ones differ
by rounding."""

READ, PRODUCT, SOLVED = 0.8, 0.25, 0.05
"""Nanoseconds for each pair of row and centre, on one core of an AMD EPYC processor: to read a kept
kernel value, for two products with it for each target, and, for each centre, of a triangular solve
and a rank-one update."""

AT_ONCE = 5
"""Below so few iterations, none are tried."""


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


class Certificate(NamedTuple):
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

    They minimise, for each target, sum_i s_i (y_i - z_i'w)^2 + ridge |w|^2, as in the notes of
    `SketchedKernelRidge`, with K_mm = scale U'U and ridge = alpha / scale > 0; mu = 0 unless
    `centred`. `rows` have the kernel values for the iterations, `exact` those that count, the same
    or more accurate ones.
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
        self._rows, self._exact, self.factor, self.ridge = rows, exact, factor, ridge
        self.targets, self.squares = targets, targets.squares
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
        sums, ones = self._rows.total(product, *self._expanded(w))
        return self._features(sums, ones) + self.ridge * w

    def certify(self, w: Array) -> Certificate:
        """Return the objective at w and the bound on its gap, by one pass over all rows."""
        if not w.any():  # nothing to compute
            gradient, values = self.right, self.squares
        else:
            self.n_passes += 1
            sums, ones, squares = self._exact.total(residual, *self._expanded(w))
            gradient = self._features(sums, ones) - self.ridge * w
            values = squares + self.ridge * np.einsum("ij,ij->j", w, w)
        gaps = np.einsum("ij,ij->j", gradient, gradient) / self.ridge
        return Certificate(gradient, values, gaps, self._units)

    def matrix(self) -> Array:
        """Return Z'SZ, its upper triangle, by one pass over all rows; O(n r^2)."""
        self.n_passes += 1
        factor = self.factor
        return self._exact.total(normal_matrix, factor.triangle, self.means, factor.scale)[0]

    def _expanded(self, w: Array) -> tuple[Array, Array]:
        """Return coefficients of the kernel values, shape (r, t), and mu times them."""
        coefficients = self.factor.coefficients(w) / self.factor.scale
        return coefficients, self.means @ coefficients

    def _features(self, sums: Array, ones: Array) -> Array:
        """Return U^{-T} (sums - mu ones'), with sums K'r and 1'r over the rows."""
        return self.factor.features((sums - np.outer(self.means, ones)) / self.factor.scale)


def patience(*, value: float, n_centres: int, n_targets: int, kept: float) -> int:
    """Return the number of iterations that cost as much as the normal matrix; 0 for no iteration.

    The number that converges is not known beforehand. Iterations go on until they have cost as much
    as the normal matrix, which then solves the system at once: the total is at most twice the
    cheaper of the two. A kernel value costs `value` nanoseconds, and a share `kept` of them is kept
    between passes. Counted, not timed, so that the same data give the same bytes.
    """
    iteration = (1.0 - kept) * value + kept * READ + PRODUCT * n_targets
    number = math.ceil((SOLVED * n_centres + value) / iteration)
    return 0 if number < AT_ONCE else number


@dataclass(eq=False)
class Solver:
    """The solution of all right-hand sides, shape (r, t), from a start of zeros.

    Iterations with the preconditioner that `approximate` returns go on until each target has its
    gap. After `patience` iterations (None for never) the preconditioner is that of `exact`, which
    solves the system to rounding at the cost of many iterations.
    """

    problem: NormalEquations
    approximate: Callable[[], Precondition]
    gaps: Array
    max_iter: int
    callback: Callback
    patience: int | None = None
    exact: Callable[[], Precondition] | None = None

    def solve(self) -> Result[Certificate]:
        """Return the solution with its certificate."""
        self.precondition = self.approximate()
        self.w, self.n_iter = np.zeros_like(self.problem.right), 0
        self.stopped = self.solves = False
        self.history: list[Progress] = []
        self.certificate = self.certified()
        status = self.to_the_end()
        proof = self.certificate
        return Result(self.w, proof.value, proof.gap, self.n_iter, status, self.history, proof)

    def to_the_end(self) -> Status:
        """Restart until all gaps are small enough, or there is no progress."""
        while True:
            last = self.certificate.gaps
            if (last <= self.gaps).all():
                return Status.CONVERGED
            if self.stopped:
                return Status.STOPPED
            if self.n_iter >= self.max_iter:
                return Status.MAX_ITER
            before = self.w
            self.w = self.w + self.step()
            self.certificate = self.certified()
            left = self.certificate.gaps
            shrunk = (left <= self.gaps) | (left <= PROGRESS**2 * last)
            if not self.is_over() and not shrunk.all():
                if not (left <= last).all():
                    self.w = before
                    self.certificate = self.certified()
                if not self.problem.can_sharpen or self.solves:
                    return Status.STALLED
                self.problem.sharpen()

    def certified(self) -> Certificate:
        """Return the certificate of the present solution."""
        certificate = self.problem.certify(self.w)
        step = Progress(self.n_iter, certificate.value, certificate.gap)
        self.history.append(step)
        self.stopped = self.callback(step) is True or self.stopped
        return certificate

    def is_over(self) -> bool:
        """Return whether iterations must end: for good, or for the exact preconditioner."""
        patient = self.patience is None or self.exact is None or self.n_iter < self.patience
        return self.stopped or self.n_iter >= self.max_iter or not patient

    def step(self) -> Array:
        """Return the correction of the solution."""
        if self.exact is not None and self.patience is not None and self.n_iter >= self.patience:
            del self.precondition  # its memory is needed
            self.precondition, self.exact, self.solves = self.exact(), None, True
        if self.solves:
            self.n_iter += 1
            return self.precondition(self.certificate.gradient)
        return self.iterations()

    def iterations(self) -> Array:
        """Return the outcome of conjugate gradients for the present gradient."""
        r = self.certificate.gradient.copy()
        sizes = np.linalg.norm(r, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = MARGIN * sizes * np.sqrt(self.gaps / self.certificate.gaps)
        if self.problem.can_sharpen:
            wanted = np.maximum(wanted, REDUCTION * sizes)
        total = np.zeros_like(r)
        p = z = self.precondition(r)
        rz = np.einsum("ij,ij->j", r, z)
        active = sizes > wanted
        least, since = rz, 0  # the least r'z so far, and iterations since one was halved
        while active.any() and not self.is_over():
            q = self.problem.product(p)
            pq = np.einsum("ij,ij->j", p, q)
            active &= (pq > 0.0) & (rz > 0.0)  # else rounding has the better of it
            step = np.divide(rz, pq, out=np.zeros_like(rz), where=active)
            total += step * p
            r -= step * q
            self.n_iter += 1
            active &= np.linalg.norm(r, axis=0) > wanted
            self.stopped = self.callback(Progress(self.n_iter, np.nan, np.nan)) is True
            z = self.precondition(r)
            last, rz = rz, np.einsum("ij,ij->j", r, z)
            halved = active & (rz <= PROGRESS**2 * least)
            least = np.where(halved, rz, least)
            since = 0 if halved.any() else since + 1
            if self.problem.can_sharpen and since >= SEARCH:
                break
            p = z + np.divide(rz, last, out=np.zeros_like(rz), where=active) * p
        return total
