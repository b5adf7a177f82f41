"""Data of the reference optima of tessellated kernel learning.

X is in [0, 1] and unscaled, Y = [-delta, 1 + delta], trace P = n_P. The noted optima use
the paper's measure of Y, its volume V. The library's measure is 1: with C scaled by V,
its optimum is V times theirs.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from tests.reference.naive_tessellated import tessellated_tensor
from tests.reference.tessellated_sdp import (
    Margin,
    by_shape_matrix,
    by_weights,
    classification,
    regression,
)

BASES = [(0, "x"), (1, "x"), (1, "xz")]


@dataclass(frozen=True, eq=False)
class Case:
    """Points, the SVM on them, the bounds of the box, and the optimum for each of `BASES`.

    `C` has the scale of the library and is part of `margin`.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    margin: Margin
    C: float
    delta: float
    optima: np.ndarray

    def tensor(self, degree, basis):
        """Return all G_ij on the points, shape (n_P, n_P, m, m)."""
        box = -self.delta, 1 + self.delta
        return tessellated_tensor(self.X, self.X, *box, degree, basis, normalized=True)

    def optimum(self, degree, basis):
        """Return the reference value."""
        return self.optima[BASES.index((degree, basis))]

    def by_weights(self, degree, basis):
        """Return the optimum and w by a semidefinite program, solved once as it takes seconds."""
        return _by_weights(self.name, degree, basis)

    def by_shape_matrix(self, degree, basis):
        """Return the optimum and P by the other semidefinite program."""
        return _by_shape_matrix(self.name, degree, basis)


def _c1():
    r = np.random.default_rng(1)
    X = r.random((30, 2))
    y = np.where((X[:, 0] - 0.5) ** 2 + (X[:, 1] - 0.5) ** 2 < 0.12, 1.0, -1.0)
    V = 1.6**2
    optima = V * np.array([26.85939681, 5.77684825, 2.08175383])
    return Case("c1", X, y, classification(y, 5.0 * V), 5.0 * V, 0.3, optima)


def _r1():
    r = np.random.default_rng(4)
    X = r.random((30, 1))
    y = np.sin(6 * X[:, 0]) + 0.1 * r.standard_normal(30)
    V = 2.0
    optima = V * np.array([1.75566721, 0.77762377, 0.45863297])
    return Case("r1", X, y, regression(y, 5.0 * V, 0.1), 5.0 * V, 0.5, optima)


def _r3():
    r = np.random.default_rng(6)
    X = r.random((40, 3))
    y = 2 * X[:, 0] * X[:, 1] - X[:, 2] ** 2 + 0.05 * r.standard_normal(40)
    V = 1.4**3
    optima = V * np.array([4.88275829, 0.29885088, 0.12897050])
    return Case("r3", X, y, regression(y, V, 0.1), V, 0.2, optima)


C1, R1, R3 = _c1(), _r1(), _r3()
CASES = [C1, R1, R3]


@cache
def _by_weights(name, degree, basis):
    (case,) = (case for case in CASES if case.name == name)
    return by_weights(case.tensor(degree, basis), case.margin)


@cache
def _by_shape_matrix(name, degree, basis):
    (case,) = (case for case in CASES if case.name == name)
    return by_shape_matrix(case.tensor(degree, basis), case.margin)
