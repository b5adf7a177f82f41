"""What DANK loses by solving parts: samples, the problem without an intercept, and its measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from papers.figures.saddle import read
from papers.theory.decomposed import BetweenParts, between_parts, bound_on_loss, printed_bound
from papers.theory.screening import (
    safe_at_bound,
    safe_zeros,
    theorem_seven,
    theorem_seven_threshold,
)
from pliant.core.typing import Array, Indices, Mask
from pliant.kernels import Gaussian
from pliant.methods.hadamard.problem import automatic_eta
from pliant.methods.svm import smo
from pliant.methods.svm.dual import MarginDual, svc_dual, without_intercept
from pliant.methods.svm.parts import kmeans_partition
from pliant.methods.svm.rows import DenseRows

TOL = 1e-9
"""Relative gap to which a problem is solved where it stands for the optimum."""


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """Problem (18) of the paper for a sample: K, shape (n, n), labels -1.0 or 1.0, C and eta."""

    X: Array
    K: Array
    y: Array
    C: float
    eta: float

    def with_eta(self, eta: float) -> BoxProblem:
        """Return the same problem for another eta."""
        return replace(self, eta=eta)

    def labels(self, parts: int, seed: int) -> Indices:
        """Return the part of each point, by k-means."""
        return kmeans_partition(self.X, parts, random_state=seed).labels

    def between(self, labels: Indices) -> BetweenParts:
        """Return the sums between parts."""
        return between_parts(DenseRows(self.K), labels)

    def dual(self, members: Indices) -> MarginDual:
        """Return problem (19) for some points, with the coordinate that takes up the rest."""
        rows = DenseRows(self.K[np.ix_(members, members)])
        dual = svc_dual(rows, self.y[members], self.C, quartic=1.0 / (4.0 * self.eta))
        return without_intercept(dual)

    @cached_property
    def whole(self) -> MarginDual:
        """Problem (18)."""
        return self.dual(np.arange(len(self.y)))

    @cached_property
    def optimum(self) -> Array:
        """beta* of (18)."""
        return smo.solve(self.whole, tol=TOL).x[:-1]

    def parted(self, labels: Indices) -> Array:
        """Return the solutions of the parts, put together."""
        beta = np.zeros(len(self.y))
        for part in np.unique(labels):
            members = np.flatnonzero(labels == part)
            beta[members] = smo.solve(self.dual(members), tol=TOL).x[:-1]
        return beta

    def value(self, beta: Array) -> float:
        """Return h."""
        return self.whole.value(np.append(beta, 0.0))

    def F(self, beta: Array) -> Array:
        """Return 11' + D K D/(4 eta)."""
        return 1.0 + np.outer(beta, beta) * self.K / (4.0 * self.eta)

    def range_of_F(self, labels: Indices, beta: Array) -> tuple[float, float]:
        """Return B1 and B2 of Theorem 6, with 1 for F-bar between parts."""
        same = labels[:, None] == labels[None, :]
        larger = np.maximum(self.F(self.optimum), np.where(same, self.F(beta), 1.0))
        return float(larger.min()), float(larger.max())

    def losses(self, labels: Indices) -> dict[str, float]:
        """Return what the parts lose, and the bounds on it."""
        beta, between = self.parted(labels), self.between(labels)
        best = self.value(self.optimum)
        return {
            "optimum": best,
            "loss": best - self.value(beta),
            "certified gap": self.whole.certificate(np.append(beta, 0.0)).gap,
            "bound": bound_on_loss(between, self.C, self.eta),
            "printed bound": printed_bound(between, self.C, *self.range_of_F(labels, beta)),
        }

    def theorem_7(self, labels: Indices) -> Screened:
        """Return the gradients of (20) and what its condition (21) makes of them."""
        beta, same = self.parted(labels), labels[:, None] == labels[None, :]
        gradient = 1.0 - self.y * ((np.where(same, self.F(beta), 0.0) * self.K) @ beta)
        low, high = self.range_of_F(labels, beta)
        inside, everywhere = (
            theorem_seven_threshold(np.abs(K).sum(axis=1), self.C, low, high, np.abs(self.K).max())
            for K in (np.where(same, self.K, 0.0), self.K)
        )
        return Screened(gradient, beta == 0.0, self.optimum == 0.0, inside, everywhere)

    def screening(self, tolerances: tuple[float, ...]) -> Iterator[dict[str, float]]:
        """Yield a gap, and what the safe rules find at a point that is no better solved."""
        diagonal, unused = self.K.diagonal(), self.optimum == 0.0
        full = np.abs(self.optimum) == self.C
        for tol in tolerances:
            result = smo.solve(self.whole, tol=tol)
            u, v = (each[:-1] for each in self.whole.fields(result.x))
            zeros = safe_zeros(u, self.y, result.gap, diagonal)
            plain = safe_zeros(u, self.y, 2.0 * result.gap, diagonal)
            ends = safe_at_bound((u, v), self.y, result.gap, diagonal, self.C, self.eta)
            yield {
                "gap": result.gap,
                "zeros": int(zeros.sum()),
                "zeros with twice the gap": int(plain.sum()),
                "at C": int(ends.sum()),
                "wrong": int((zeros & ~unused).sum() + (ends & ~full).sum()),
            }


class Screened(NamedTuple):
    """What Theorem 7 needs, an entry for each point."""

    gradient: Array
    """Of (20) at the solutions of the parts."""
    zero: Mask
    whole_zero: Mask
    """Whether alpha_i is zero in its part, and in the whole problem."""
    inside: Array
    everywhere: Array
    """The right side of (21), with the norm over the part and over all points."""

    def numbers(self) -> dict[str, Any]:
        """Return counts and ranges."""
        readings = {"its part": self.inside, "all points": self.everywhere}
        return {
            "support vectors of the parts": int((~self.zero).sum()),
            "support vectors of the whole": int((~self.whole_zero).sum()),
            "zero in its part, not in the whole": int((self.zero & ~self.whole_zero).sum()),
            "least gradient": float(self.gradient.min()),
            "largest gradient": float(self.gradient.max()),
            **{f"largest threshold, {name}": float(t.max()) for name, t in readings.items()},
            **{f"median threshold, {name}": float(np.median(t)) for name, t in readings.items()},
            **{
                f"screened, {name}": int(theorem_seven(~self.zero, self.gradient, t).sum())
                for name, t in readings.items()
            },
        }


def sample(
    name: str, data: str | None, count: int, gamma: float, C: float, seed: int
) -> BoxProblem:
    """Return the problem of random rows of a set, with the paper's eta, |alpha|^2 of the SVM.

    Features are clipped at their .1 and 99.9 percentiles and scaled to [0, 1].
    """
    rows = read(name, data, count, seed)
    low, high = np.percentile(rows.X, [0.1, 99.9], axis=0)
    X = (np.clip(rows.X, low, high) - low) / np.where(high > low, high - low, 1.0)
    signs = np.where(rows.y == rows.y.max(), 1.0, -1.0)
    plain = BoxProblem(X, Gaussian(gamma)(X), signs, C, np.inf)
    return plain.with_eta(automatic_eta(plain.optimum))
