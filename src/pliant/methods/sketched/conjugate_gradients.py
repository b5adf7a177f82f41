"""Preconditioned conjugate gradients with restarts from accurate residuals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback

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


class Problem(Protocol):
    """A positive definite system with many right-hand sides, and certificates of its solutions."""

    right: Array

    @property
    def can_sharpen(self) -> bool:
        """Whether `sharpen` makes products more accurate."""

    def sharpen(self) -> None:
        """Make products accurate from now on."""

    def product(self, w: Array) -> Array:
        """Return the matrix times some columns."""

    def certify(self, w: Array) -> Any:
        """Return a certificate with ``gradient``, ``value``, ``gap`` and ``gaps``."""


Precondition = Callable[[Array], Array]
"""Returns an approximate solution for some right-hand sides."""


def solve(
    problem: Problem,
    approximate: Callable[[], Precondition],
    gaps: Array,
    max_iter: int,
    callback: Callback,
    *,
    patience: int | None = None,
    exact: Callable[[], Precondition] | None = None,
) -> Result[Any]:
    """Return the solution of all right-hand sides, shape (r, t), from a start of zeros.

    Iterations with the preconditioner that `approximate` returns go on until each target has its
    gap. After `patience` iterations (None for never) the preconditioner is that of `exact`, which
    solves the system to rounding at the cost of many iterations.
    """
    run = _Run(problem, approximate(), gaps, max_iter, callback, patience, exact)
    status = run.to_the_end()
    certificate = run.certificate
    return Result(
        run.w, certificate.value, certificate.gap, run.n_iter, status, run.history, certificate
    )


class _Run:
    """Solution, certificate and number of iterations of one call of `solve`."""

    def __init__(
        self,
        problem: Problem,
        precondition: Precondition,
        gaps: Array,
        max_iter: int,
        callback: Callback,
        patience: int | None,
        exact: Callable[[], Precondition] | None,
    ) -> None:
        self.problem, self.precondition = problem, precondition
        self.gaps, self.max_iter, self.callback = gaps, max_iter, callback
        self.patience, self.exact = patience, exact
        self.w = np.zeros_like(problem.right)
        self.n_iter = 0
        self.stopped = self.solves = False
        self.history: list[Progress] = []
        self.certificate = self.certified()

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

    def certified(self) -> Any:
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
        """Return what to add to the solution."""
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
