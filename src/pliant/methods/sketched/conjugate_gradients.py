"""Preconditioned conjugate gradients with restarts from accurate residuals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback, Mask

PROGRESS = 0.5
"""A restart that leaves more than this share of a gradient makes no progress."""

REDUCTION = 1e-4
"""By how much gradients shrink between restarts where products are in float32."""

SEARCH = 15
"""Iterations in float32 that may pass without halving the preconditioned norm of the residual."""

MARGIN = 0.5
"""Iterations go on until gradients are this share of what is asked for: the certified ones differ
by rounding."""


class Problem(Protocol):
    """A positive definite system with many right-hand sides, and certificates of its solutions."""

    right: Array

    @property
    def can_sharpen(self) -> bool:
        """Whether there are more accurate products than those of `product`."""

    def sharpen(self) -> None:
        """Make products accurate from now on."""

    def product(self, w: Array) -> Array:
        """Return the matrix times some columns."""

    def certify(self, w: Array) -> Any:
        """Return a certificate with ``gradient``, ``value``, ``gap`` and ``gaps``."""


Precondition = Callable[[Array], Array]
"""Returns an approximate solution for some right-hand sides."""


@dataclass(frozen=True)
class Stops:
    """When to stop: gaps of each target to reach, and the largest number of iterations."""

    gaps: Array
    max_iter: int
    callback: Callback


def solve(
    problem: Problem,
    approximate: Callable[[], Precondition],
    stops: Stops,
    *,
    patience: int | None = None,
    exact: Callable[[], Precondition] | None = None,
) -> Result[Any]:
    """Return the solution of all right-hand sides, shape (r, t), from a start of zeros.

    Parameters
    ----------
    problem : Problem
    approximate : callable
        Returns the preconditioner of the iterations.
    stops : Stops
    patience : int, optional
        The number of iterations after which `exact` is called; None for never.
    exact : callable, optional
        Returns a preconditioner that solves the system to rounding, at the cost of many iterations.
    """
    run = _Run(problem, approximate, stops, patience, exact)
    status = run.to_the_end()
    certificate = run.certificate
    return Result(
        run.w, certificate.value, certificate.gap, run.n_iter, status, run.history, certificate
    )


class _Run:
    """Solution, certificate and number of iterations of one call."""

    def __init__(
        self,
        problem: Problem,
        approximate: Callable[[], Precondition],
        stops: Stops,
        patience: int | None,
        exact: Callable[[], Precondition] | None,
    ) -> None:
        self.problem, self.stops = problem, stops
        self.precondition: Precondition = approximate()
        self.patience, self.exact = patience, exact
        self.w = np.zeros_like(problem.right)
        self.n_iter = 0
        self.stopped = False
        self.solves = False
        self.history: list[Progress] = []
        self.certificate = self._certified()

    def to_the_end(self) -> Status:
        """Restart until all gaps are small enough, or there is no progress."""
        while True:
            gaps = self.certificate.gaps
            if (gaps <= self.stops.gaps).all():
                return Status.CONVERGED
            if self.stopped:
                return Status.STOPPED
            if self.n_iter >= self.stops.max_iter:
                return Status.MAX_ITER
            before = self.w
            self.w = self.w + self._step()
            self.certificate = self._certified()
            if not self._is_over() and not self._has_progressed(gaps):
                if not (self.certificate.gaps <= gaps).all():
                    self.w = before
                    self.certificate = self._certified()
                if not self.problem.can_sharpen or self.solves:
                    return Status.STALLED
                self.problem.sharpen()

    def _certified(self) -> Any:
        certificate = self.problem.certify(self.w)
        step = Progress(self.n_iter, certificate.value, certificate.gap)
        self.history.append(step)
        self.stopped = self.stops.callback(step) is True or self.stopped
        return certificate

    def _has_progressed(self, gaps: Array) -> bool:
        """Whether each gradient that was too large has shrunk."""
        left = self.certificate.gaps
        return bool(((left <= self.stops.gaps) | (left <= PROGRESS**2 * gaps)).all())

    def _step(self) -> Array:
        """Return what to add to the solution."""
        if self.exact is not None and self.patience is not None and self.n_iter >= self.patience:
            del self.precondition  # its memory is needed
            self.precondition, self.exact, self.solves = self.exact(), None, True
        if self.solves:
            self.n_iter += 1
            return self.precondition(self.certificate.gradient)
        return self._iterations()

    def _iterations(self) -> Array:
        """Return the outcome of conjugate gradients for the present gradient."""
        r = self.certificate.gradient.copy()
        sizes = np.linalg.norm(r, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = MARGIN * sizes * np.sqrt(self.stops.gaps / self.certificate.gaps)
        if self.problem.can_sharpen:
            wanted = np.maximum(wanted, REDUCTION * sizes)
        total = np.zeros_like(r)
        p = z = self.precondition(r)
        rz = np.einsum("ij,ij->j", r, z)
        active = sizes > wanted
        trend = _Trend(rz)
        while active.any() and not self._is_over():
            q = self.problem.product(p)
            pq = np.einsum("ij,ij->j", p, q)
            active &= (pq > 0.0) & (rz > 0.0)  # else rounding has the better of it
            step = np.divide(rz, pq, out=np.zeros_like(rz), where=active)
            total += step * p
            r -= step * q
            self.n_iter += 1
            active &= np.linalg.norm(r, axis=0) > wanted
            self.stopped = self.stops.callback(Progress(self.n_iter, np.nan, np.nan)) is True
            z = self.precondition(r)
            last, rz = rz, np.einsum("ij,ij->j", r, z)
            if self.problem.can_sharpen and trend.is_flat(rz, active):
                break
            p = z + np.divide(rz, last, out=np.zeros_like(rz), where=active) * p
        return total

    def _is_over(self) -> bool:
        """Whether these iterations must end: for good, or for the exact preconditioner."""
        patient = self.patience is None or self.exact is None or self.n_iter < self.patience
        return self.stopped or self.n_iter >= self.stops.max_iter or not patient


class _Trend:
    """The least squared norms of the residuals so far, and when they were last halved."""

    def __init__(self, squares: Array) -> None:
        self._least, self._since = squares, 0

    def is_flat(self, squares: Array, active: Mask) -> bool:
        """Whether no active one was halved for `SEARCH` iterations."""
        halved = active & (squares <= PROGRESS**2 * self._least)
        self._least = np.where(halved, squares, self._least)
        self._since = 0 if halved.any() else self._since + 1
        return self._since >= SEARCH
