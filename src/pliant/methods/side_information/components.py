"""Kernel PCA: the coordinates in which a learned kernel varies most, for any point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.linalg import top_eigenpairs
from pliant.core.typing import Array
from pliant.core.validation import check_points, check_vector
from pliant.methods.side_information.kernels import LandmarkKernel, LogDetKernel

EPSILON = float(np.finfo(np.float64).eps)

NEGLIGIBLE = 1e-12
"""Directions with a smaller variance than this multiple of the first one are rounding."""


@dataclass(frozen=True, eq=False)
class Components:
    """f(x) = (s(x) - centre) @ coefficients, for inputs s(x) that a kernel provides.

    s(x) are the kernel values between x and n fit points, or explicit features of x. For a
    `LogDetKernel` they are values of its base kernel: a new point then costs O(n), not O(n^2).

    Parameters
    ----------
    centre : array of shape (n,)
        The mean of s over the fit points; zero if the kernel is not centred.
    coefficients : array of shape (n, n_components)
        One column per component.
    variances : array of shape (n_components,)
        Sum of squares of each component over the fit points, in descending order.
    """

    centre: Array
    coefficients: Array
    variances: Array

    @classmethod
    def of_gram(
        cls, gram: Array, n_components: int, size: float = 0.0, *, center: bool = True
    ) -> Components:
        """Return the components of a kernel matrix of the fit points, shape (n, n).

        `size` is the largest number in the computation of the matrix, if larger than its entries:
        rounding errors are relative to it. Without `center` they are those of the matrix as it is.
        """
        centre = _centre(gram, center)
        centred = gram - centre - centre[:, None] + centre.mean()
        rounding = len(gram) * EPSILON * max(size, float(np.abs(gram).max()))
        values, vectors = _largest(centred, n_components, rounding)
        return cls(centre, vectors / np.sqrt(values), values)

    @classmethod
    def of_features(cls, features: Array, n_components: int, *, center: bool = True) -> Components:
        """Return the components of explicit features of the fit points, shape (a, n)."""
        centre = _centre(features, center)
        centred = features - centre
        rounding = features.size * EPSILON**2 * float(np.abs(features).max()) ** 2
        values, vectors = _largest(centred.T @ centred, n_components, rounding)
        return cls(centre, vectors, values)

    def on_base(self, kernel: LogDetKernel, *, center: bool = True) -> Components:
        """Return the same components as functions of the base kernel's values k0(x, P).

        With P the points of the kernel and C the coefficients,
        k(x, P) C = (k0(x, P) + k0(x, P) Q k0(P, P)) C = k0(x, P) (C + Q k0(P, P) C).
        """
        base = kernel.base(np.asarray(kernel.points))
        coefficients = self.coefficients + np.asarray(kernel.matrix) @ (base @ self.coefficients)
        return Components(_centre(base, center), coefficients, self.variances)

    def __call__(self, inputs: Array) -> Array:
        """Return f for each row s(x) of `inputs`, shape (n_samples, n_components)."""
        return np.asarray((inputs - self.centre) @ self.coefficients)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, are inconsistent."""
        self.check(*check_points(self.coefficients, "coefficients").shape)

    def check(self, n: int, r: int) -> None:
        """Raise ValueError unless these are r components of n inputs."""
        shape = check_points(self.coefficients, "coefficients").shape
        if shape != (n, r):
            raise ValueError(f"expected coefficients of shape ({n}, {r}), got {shape}")
        check_vector("centre", self.centre, n)
        check_vector("variances", self.variances, r)


def _centre(inputs: Array, center: bool) -> Array:
    """Return the mean of the rows of s over the fit points; zeros without `center`."""
    return np.asarray(inputs.mean(axis=0)) if center else np.zeros(inputs.shape[1])


def _largest(matrix: Array, n_components: int, rounding: float) -> tuple[Array, Array]:
    """Return the largest eigenvalues and their vectors, each with its largest entry positive.

    Eigenvalues up to a multiple of `rounding` are taken as zero.
    """
    values, vectors = top_eigenpairs(matrix, min(n_components, len(matrix)))
    positive = int((values > max(NEGLIGIBLE * values[0], 64.0 * rounding)).sum())
    if positive < n_components:
        raise ValueError(
            f"expected n_components <= {positive}, the number of directions in which the learned "
            f"kernel varies over the {len(matrix)} points or features, got {n_components}"
        )
    peaks = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(n_components)]
    return values, vectors * np.sign(peaks)


def principal_components(
    kernel: Kernel,
    points: Array,
    gram: Callable[[], Array],
    n_components: int,
    *,
    center: bool = True,
) -> Components:
    """Return the principal components of a learned kernel on points, shape (a, n_features).

    They are functions of `component_inputs`. `gram` returns the kernel values between the points,
    shape (a, a); it is called where they are needed. Without `center` they are the eigenvectors of
    the kernel matrix as it is.
    """
    if isinstance(kernel, LandmarkKernel):
        return Components.of_features(kernel.features(points), n_components, center=center)
    if not isinstance(kernel, LogDetKernel):
        return Components.of_gram(gram(), n_components, center=center)
    size = float(kernel.base.diag(kernel.points).max())
    components = Components.of_gram(gram(), n_components, size, center=center)
    return components.on_base(kernel, center=center)


def component_inputs(kernel: Kernel, X: Array, points: Array) -> Array:
    """Return s(x) for checked samples X, given all fit points."""
    if isinstance(kernel, LandmarkKernel):
        return kernel.features(X)
    if isinstance(kernel, LogDetKernel):
        return kernel.base(X, kernel.points)
    return kernel(X, points)


def n_component_inputs(kernel: Kernel, points: Array) -> int:
    """Return the length of s(x)."""
    if isinstance(kernel, LandmarkKernel):
        return int(np.shape(kernel.projection)[1])
    if isinstance(kernel, LogDetKernel):
        return len(np.asarray(kernel.points))
    return len(points)
