"""Components of a learned kernel: kernel PCA as functions of kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pliant.core.eigen import top_eigenpairs
from pliant.core.form import Part, SavedForm, numbers
from pliant.core.typing import Array
from pliant.methods.supervised.learner import LogDetKernel


@dataclass(frozen=True, eq=False)
class Components:
    """f(x) = (s(x) - centre) @ coefficients, for kernel values s(x).

    s(x) holds the learned kernel values between x and n training points. For a `LogDetKernel` it
    holds base kernel values, so that a new point costs O(n) instead of O(n^2).
    `centre`, shape (n,), is the mean of s over the training points, or zero if the kernel is not
    centred. `coefficients`, shape (n, r), has one column per component. `variances`, shape (r,),
    holds the sums of squares of f over the training points, in descending order.
    """

    _form: ClassVar[SavedForm] = {
        "centre": numbers("inputs"),
        "coefficients": Part("number", ("inputs", "components")),
        "variances": numbers("components"),
    }

    centre: Array
    coefficients: Array
    variances: Array

    @classmethod
    def of_gram(
        cls, gram: Array, n_components: int, size: float = 0.0, *, center: bool = True
    ) -> Components:
        """Return the components of a kernel matrix of the training points, shape (n, n).

        Rounding errors are relative to the largest entry, or to `size` if intermediate results were
        larger. If `center` is False, the matrix is not centred.
        """
        # H K H = K - 1 m' - m 1' + mean(m) with H = I - 11'/n and the mean row m
        centre = np.asarray(gram.mean(axis=0)) if center else np.zeros(len(gram))
        centred = gram - centre - centre[:, None] + centre.mean()
        rounding = len(gram) * float(np.finfo(np.float64).eps) * max(size, np.abs(gram).max())
        values, vectors = leading_eigenpairs(centred, n_components, rounding)
        # on the training points, U' (k(X, x) - m) has sums of squares lambda^2, and f has lambda
        return cls(centre, vectors / np.sqrt(values), values)

    def on_base(self, kernel: LogDetKernel, *, center: bool = True) -> Components:
        """Return the same components as functions of the base kernel values k0(x, P).

        For the points P of the kernel and the coefficients C,
        k(x, P) C = (k0(x, P) + k0(x, P) Q k0(P, P)) C = k0(x, P) (C + Q k0(P, P) C).
        """
        base = kernel.base(kernel.points)
        coefficients = self.coefficients + np.asarray(kernel.matrix) @ (base @ self.coefficients)
        centre = np.asarray(base.mean(axis=0)) if center else np.zeros(len(base))
        return Components(centre, coefficients, self.variances)

    def __call__(self, inputs: Array) -> Array:
        """Return f for each row s(x) of `inputs`, shape (n_samples, n_components)."""
        return np.asarray((inputs - self.centre) @ self.coefficients)


def leading_eigenpairs(matrix: Array, n_components: int, rounding: float) -> tuple[Array, Array]:
    """Return the largest eigenvalues, and eigenvectors with a positive largest entry."""
    values, vectors = top_eigenpairs(matrix, min(n_components, len(matrix)))
    positive = count_positive(values, rounding)
    if positive < n_components:
        raise ValueError(
            f"expected n_components <= {positive}, the number of directions in which the learned "
            f"kernel varies over the {len(matrix)} points, got {n_components}"
        )
    peaks = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(n_components)]
    return values, vectors * np.sign(peaks)


def count_positive(values: Array, rounding: float) -> int:
    """Count the clearly positive eigenvalues among `values` in descending order.

    Eigenvalues up to 64 times `rounding`, or up to 1e-12 times the largest, count as zero.
    """
    return int((values > max(1e-12 * values[0], 64.0 * rounding)).sum())
