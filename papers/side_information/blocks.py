"""SCG-LDK over the complete graph of many points, where only the labelled ones are looked at.

With R = (I + gamma K0)^{-1} and M = K0 R = (I - R) / gamma, and the group indicators Z (the
classes, and the points without a label),

    K = M + gamma M Z G Z'M,   G = (I - gamma C Z'M Z)^{-1} C,   S = I - Z C Z'.

On the labelled rows that takes R on these rows and R 1: one Cholesky factorisation a gamma, which
all folds share, whatever labels they hide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from pliant.core.typing import Array, Indices

__all__ = ["LabelledBlock"]


@dataclass(frozen=True, eq=False)
class LabelledBlock:
    """M on the labelled rows.

    Attributes
    ----------
    gamma : float
    count : int
        The number n of all points.
    among : array of shape (l, l)
        M between the labelled rows.
    sums : array of shape (l,)
        M 1 at the labelled rows.
    total : float
        1'M 1.
    """

    gamma: float
    count: int
    among: Array
    sums: Array
    total: float

    @classmethod
    def of(cls, gram: Array, labelled: Indices, gamma: float) -> LabelledBlock:
        """Factorise I + gamma K0, and solve for the labelled columns."""
        n, most = len(gram), len(labelled)
        right = np.zeros((n, most + 1), order="F")
        right[labelled, np.arange(most)] = 1.0
        right[:, most] = 1.0
        matrix = gamma * gram
        matrix[np.diag_indices(n)] += 1.0
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        solved = scipy.linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
        inverse = solved[labelled, :most]
        among = (np.eye(most) - 0.5 * (inverse + inverse.T)) / gamma
        sums = (1.0 - solved[labelled, most]) / gamma
        return cls(gamma, n, among, sums, float(n - solved[:, most].sum()) / gamma)

    def gram(self, classes: Indices, beta: float = 1.0) -> Array:
        """Return K between the labelled rows, whose classes are given, -1 where they are hidden."""
        kinds = np.unique(classes[classes >= 0])
        known = (classes[:, None] == kinds).astype(np.float64)
        at_known = self.among @ known
        towards = np.column_stack([at_known, self.sums - at_known.sum(axis=1)])
        coupling = _coupling(known.sum(axis=0), self.count, beta)
        inner = np.eye(len(coupling)) - self.gamma * coupling @ self._between(known, at_known)
        G = np.linalg.solve(inner, coupling)
        return self.among + self.gamma * towards @ (0.5 * (G + G.T)) @ towards.T

    def _between(self, known: Array, at_known: Array) -> Array:
        """Return Z'M Z; the last group is that of the points without a label."""
        classes = known.T @ at_known
        rest = known.T @ self.sums - classes.sum(axis=1)
        corner = self.total - 2.0 * rest.sum() - classes.sum()
        return np.block([[classes, rest[:, None]], [rest[None, :], corner]])


def _coupling(sizes: Array, count: int, beta: float) -> Array:
    """Return C_gh = W_gh / sqrt(D_g D_h); the last group is unlabelled."""
    q = len(sizes) + 1
    target = np.zeros((q, q))
    target[:-1, :-1] = 2.0 * np.eye(q - 1) - 1.0
    weights = np.exp(beta * target)
    degrees = weights @ np.append(sizes, count - sizes.sum())
    return weights / np.sqrt(np.outer(degrees, degrees))
