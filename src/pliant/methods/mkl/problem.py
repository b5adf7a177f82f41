r"""Learning the weights of kernels inside support vector machines (SVMs), as a convex problem.

    minimise  J(d) = mean_t J_t(d)    over d >= 0, |d|_p <= 1
    J_t(d) = max_b  kappa_t(b) - 1/2 b' K(d) b,    K(d) = sum_m d_m K_m

for the SVMs t of one fit (one, or one for each pair of classes that shares the weights), with
kappa_t(b) and the constraints on b as in `pliant.methods.svm.dual`. J is convex, and at the
best b_t its slopes are -q_m/2, with q_m = mean_t b_t' K_m b_t (Danskin). By Hölder's inequality
max over d of d'q is |q|_{p*}, 1/p + 1/p* = 1, so that for all feasible b_t and every feasible d

    mean_t kappa_t(b_t) - 1/2 |q|_{p*}  <=  min J  <=  mean_t (primal objective of SVM t at K(d)):

however accurately the SVMs were solved, these two bounds are the certificate.

In e = d^p, entrywise, the constraint is the simplex, and J is convex in e as well: it is convex
and falls in each d_m, and d_m = e_m^(1/p) is concave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from pliant.core.typing import Array, Indices
from pliant.methods.mkl.grams import Grams
from pliant.methods.svm.dual import MarginDual
from pliant.methods.svm.rows import DenseRows

NEGLIGIBLE = 1e-6
"""Weights below this share of the largest one become zero in the closed form, for norm 1."""

RIDGE = 1e-10
"""What the diagonal of K(d) is increased by before it is factorised, relative to its mean."""


@dataclass(frozen=True, eq=False)
class WeightLearning:
    """The problem of the module docstring.

    Parameters
    ----------
    grams : Grams
        K_1, ..., K_M on n points.
    places : sequence of arrays
        For each SVM, which of these points it is learned from, sorted.
    margins : sequence of callables
        For each SVM, rows -> MarginDual: its dual with a Gram matrix of its points.
    norm : float
        p >= 1.
    """

    grams: Grams
    places: Sequence[Indices]
    margins: Sequence[Callable[[Any], MarginDual]]
    norm: float = 1.0

    def start(self) -> Array:
        """Return equal weights, shape (M,)."""
        count = len(self.grams)
        return np.full(count, count ** (-1.0 / self.norm))

    def duals(self, gram: Array) -> list[MarginDual]:
        """Return the dual of each SVM, given K(d)."""
        pairs = zip(self.places, self.margins, strict=True)
        return [margin(self._rows(gram, places)) for places, margin in pairs]

    def _rows(self, gram: Array, places: Indices) -> DenseRows:
        whole = DenseRows(gram)
        return whole if len(places) == len(gram) else DenseRows(whole.square(places))

    def products(self, solutions: Sequence[Array], some: Indices | None = None) -> list[Array]:
        """Return K_m b_t of each SVM for all kernels, or some, shape (n_kernels, n_t)."""
        products = []
        for places, b in zip(self.places, solutions, strict=True):
            whole = np.zeros(self.grams.n)
            whole[places] = b
            products.append(self.grams.products(whole, some)[:, places])
        return products

    def quadratic(self, solutions: Sequence[Array], products: Sequence[Array]) -> Array:
        """Return q from the b_t and their products, shape (n_kernels,)."""
        pairs = zip(solutions, products, strict=True)
        return np.mean([product @ b for b, product in pairs], axis=0)

    def lower_bound(self, gain: float, q: Array) -> float:
        """Return the lower bound from mean_t kappa_t(b_t) and q: the best for multiples of b.

        It is the largest s gain - s^2/2 |q|, 0 <= s <= 1.
        """
        cost = self.dual_norm(np.maximum(q, 0.0))
        share = 0.0 if gain <= 0.0 else min(1.0, gain / max(cost, gain))
        return share * gain - 0.5 * share**2 * cost

    def dual_norm(self, q: Array) -> float:
        """Return |q|_{p*}."""
        if self.norm == 1.0:
            return float(q.max())
        largest = float(q.max())
        if largest <= 0.0:
            return 0.0
        order = self.norm / (self.norm - 1.0)
        return largest * float(((q / largest) ** order).sum() ** (1.0 / order))

    def closed_form(self, d: Array, q: Array) -> Array:
        """Return the weights that are best if the SVMs' normal vectors stay as they are.

        In the feature space of kernel m the normal vector of SVM t is w_mt, with
        |w_mt|^2 = d_m^2 b_t'K_m b_t.
        For given vectors, sum_mt |w_mt|^2 / d_m is least at d_m proportional to
        (d_m^2 q_m)^(1/(p+1)), on |d|_p = 1 (Kloft et al. 2011).
        """
        sizes = (d * d * np.maximum(q, 0.0)) ** (1.0 / (self.norm + 1.0))
        if self.norm == 1.0:  # the formula alone never reaches zero
            sizes[sizes < NEGLIGIBLE * sizes.max()] = 0.0
        total = float((sizes**self.norm).sum())
        return sizes / total ** (1.0 / self.norm) if total > 0.0 else d

    def curvature(
        self,
        gram: Array,
        solutions: Sequence[Array],
        products: Sequence[Array],
        duals: Sequence[MarginDual],
    ) -> tuple[Array, list[tuple[Indices, Array]]]:
        """Return the Hessian of J where no b_i moves to a bound or from it.

        With F the free coordinates of b, those between their bounds (and not at zero, where
        epsilon > 0), d(b_F)/d(d_m) = -S (K_m b)_F, where S is the inverse of K(d)_FF on vectors
        that sum to zero. The Hessian is the mean over t of (K_m b)_F' S (K_n b)_F.

        Returns
        -------
        hessian : array of shape (n_kernels, n_kernels)
        slopes : for each SVM, the free coordinates and the changes of b there with each weight,
            shape (n_free, n_kernels)
        """
        count = len(products[0])
        hessian, slopes = np.zeros((count, count)), []
        for places, b, product, dual in zip(self.places, solutions, products, duals, strict=True):
            free = np.flatnonzero((b > dual.lower) & (b < dual.upper) & (b != 0.0))
            right = product[:, free].T
            change = np.zeros_like(right)
            if len(free) > 1:
                chosen = places[free]
                change = -_constrained_solve(gram[np.ix_(chosen, chosen)], right)
                hessian -= right.T @ change
            slopes.append((free, change))
        return hessian / len(products), slopes


def _constrained_solve(matrix: Array, right: Array) -> Array:
    """Return X with matrix X = right + 1 c' for some c, and columns that sum to zero."""
    matrix = matrix.copy()
    matrix[np.diag_indices_from(matrix)] += RIDGE * max(float(matrix.trace()), 1.0) / len(matrix)
    ones = np.ones((len(matrix), 1))
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False)
        solved = scipy.linalg.cho_solve(factor, np.hstack([right, ones]), check_finite=False)
    except np.linalg.LinAlgError:
        solved = np.asarray(np.linalg.lstsq(matrix, np.hstack([right, ones]), rcond=None)[0])
    X, unit = solved[:, :-1], solved[:, -1:]
    total = float(unit.sum())
    return np.asarray(X - unit * (X.sum(axis=0) / total)) if total > 0.0 else X
