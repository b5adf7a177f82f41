"""Centred kernel PCA: a few coordinates in which a kernel varies most, for any point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.core.linalg import top_eigenpairs
from pliant.core.typing import Array
from pliant.core.validation import check_points, check_vector
from pliant.methods.side_information.logdet_kernel import LogDetKernel

__all__ = ["Components"]

EPSILON = float(np.finfo(np.float64).eps)

NEGLIGIBLE = 1e-12
"""Directions with less variance than this, relative to the first, are rounding."""


@dataclass(frozen=True, eq=False)
class Components:
    """f(x) = (s(x) - centre) @ coefficients, for what a kernel says of a point x.

    s(x) is the row of kernel values against n fit points, or a vector of explicit features. Of a
    `LogDetKernel` they are the values of its base kernel: so a point costs O(n), not O(n^2).

    Parameters
    ----------
    centre : array of shape (n,)
        The mean of s over the fit points.
    coefficients : array of shape (n, r)
        One column for each component.
    variances : array of shape (r,)
        Sum of squares of each component over the fit points, falling.
    """

    centre: Array
    coefficients: Array
    variances: Array

    @classmethod
    def of_gram(cls, gram: Array, n_components: int, size: float = 0.0) -> Components:
        """Return the components of a kernel matrix of the fit points, shape (n, n).

        `size`: the largest value that rounding of the matrix may come from, if not its own.
        """
        centre = gram.mean(axis=0)
        centred = gram - centre - centre[:, None] + centre.mean()
        rounding = len(gram) * EPSILON * max(size, float(np.abs(gram).max()))
        values, vectors = _largest(centred, n_components, rounding)
        return cls(centre, vectors / np.sqrt(values), values)

    @classmethod
    def of_features(cls, features: Array, n_components: int) -> Components:
        """Return the principal components of explicit features of the fit points, (n, m)."""
        centre = features.mean(axis=0)
        centred = features - centre
        rounding = features.size * EPSILON**2 * float(np.abs(features).max()) ** 2
        values, vectors = _largest(centred.T @ centred, n_components, rounding)
        return cls(centre, vectors, values)

    def on_base(self, kernel: LogDetKernel) -> Components:
        """Return the same function of the base kernel's values at the kernel's points P, k0(x, P).

        k(x, P) C = k0(x, P) (C + Q k0(P, P) C).
        """
        base = kernel.base(np.asarray(kernel.points))
        coefficients = self.coefficients + np.asarray(kernel.matrix) @ (base @ self.coefficients)
        return Components(base.mean(axis=0), coefficients, self.variances)

    def __call__(self, rows: Array) -> Array:
        """Return f for each row s(x), shape (m, r)."""
        return np.asarray((rows - self.centre) @ self.coefficients)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        self.check(*check_points(self.coefficients, "coefficients").shape)

    def check(self, n: int, r: int) -> None:
        """Raise ValueError unless these are r components of rows of n values."""
        shape = check_points(self.coefficients, "coefficients").shape
        if shape != (n, r):
            raise ValueError(f"expected coefficients of shape ({n}, {r}), got {shape}")
        check_vector("centre", self.centre, n)
        check_vector("variances", self.variances, r)


def _largest(matrix: Array, n_components: int, rounding: float) -> tuple[Array, Array]:
    """Return the largest eigenvalues and their vectors, each with its largest entry positive.

    Eigenvalues up to `rounding` are taken to be zero.
    """
    values, vectors = top_eigenpairs(matrix, min(n_components, len(matrix)))
    found = int((values > max(NEGLIGIBLE * values[0], 64.0 * rounding)).sum())
    if found < n_components:
        raise ValueError(
            f"expected n_components <= {found}, the number of directions in which the learned "
            f"kernel varies over the {len(matrix)} points or features, got {n_components}"
        )
    peaks = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(n_components)]
    return values, vectors * np.sign(peaks)
