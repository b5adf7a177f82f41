"""The features of a LAB-RBF expansion, on NumPy or PyTorch, and their sums over rows.

Kernel values with one bandwidth vector per centre are matrix products: with z(x) = [x o x, x, 1]
and w_i = [W_i, -2 W_i o c_i, W_i'(c_i o c_i)], W = theta o theta, the squared distance
|theta_i o (x - c_i)|^2 is z(x)'w_i. So values take one product and gradients another.

Large arrays live on a `pliant.core.device.Device`, small ones are NumPy's, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pliant.core.device import Device
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.kernel import Profile, centre_products, point_products

# Least ridge penalty, relative to the mean diagonal of F'F, for products in float32.
ROUNDED = 2e-5
SUMMED = 1024  # Number of rows of one product; the products are added up in float64.
# Number of rows that the diagonal is estimated from; up to as many, products are in float64.
SAMPLED = 256


@dataclass(frozen=True, eq=False)
class LocalFeatures:
    """The features of a LAB-RBF expansion: kernel values against m centres, and x if `linear`.

    The centres, shape (m, d), are near the origin, where the product form of the distances is
    exact. `profile` is the kernel as a function of the squared distance, and `device` is where the
    large arrays live.
    """

    centres: Array
    profile: Profile
    linear: bool
    device: Device

    @property
    def size(self) -> int:
        """The number of features, p."""
        return len(self.centres) + (self.centres.shape[1] if self.linear else 0)

    def moments(self, X: Array) -> Any:
        """Return z(x) = [x o x, x, 1] of each row, shape (n, 2 d + 1)."""
        return self.device.array(point_products(X))

    def at(self, moments: Any, log_squares: Array, root: Any = None) -> Evaluated:
        """Return the features of rows with these z(x), at log W, times the roots of weights."""
        xp, profile = self.device.xp, self.profile
        parameters = self.device.array(centre_products(np.exp(log_squares), self.centres))
        distances = moments @ parameters.T
        xp.clip(distances, 0.0, None, out=distances)
        if profile.cusp:
            # Terms of the size of |theta_i o c_i|^2, the last column of w, cancel in D.
            noise = 16.0 * float(xp.finfo(distances.dtype).eps) * parameters[:, -1]
            distances[distances < noise] = 0.0
        if profile.needs_distance:
            kernel = profile.value(xp, distances * 1.0)  # a copy, which the profile overwrites
        else:
            kernel, distances = profile.value(xp, distances), None
        features = kernel
        if self.linear:
            m, d = self.centres.shape
            features = self.device.empty(len(kernel), self.size)
            features[:, :m] = kernel
            features[:, m:] = moments[:, d : 2 * d]
        if root is not None:
            features = features * root
        return Evaluated(distances, kernel, features)

    def slopes(self, evaluated: Evaluated) -> Any:
        """Return the derivative of each kernel value by its squared distance, over a factor."""
        return self.profile.slope(self.device.xp, evaluated.distances, evaluated.kernel)

    def pull_back(self, derivative: Any, log_squares: Array) -> Array:
        """Return dL/d log W, shape (m, d), of (dL/dD / factor)'z, shape (m, 2 d + 1).

        dD_i/d log W_ij = W_ij (x_j - c_ij)^2 = W_ij (x_j^2 - 2 c_ij x_j + c_ij^2), and z has the
        sums over rows of all three terms.
        """
        C, d = self.centres, self.centres.shape[1]
        sums = self.device.numpy(derivative)
        squares, points, ones = sums[:, :d], sums[:, d : 2 * d], sums[:, 2 * d :]
        outer = self.profile.factor * np.exp(log_squares)
        gradient: Array = outer * (squares - 2.0 * C * points + C * C * ones)
        return gradient


class Evaluated(NamedTuple):
    """Squared distances (where the slope needs them), kernel values and weighted features."""

    distances: Any
    kernel: Any
    features: Any


class NormalEquations(NamedTuple):
    """F'F, shape (p, p), F'y, shape (p, q), and whether products were rounded to float32."""

    gram: Array
    right: Array
    rounded: bool


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows that bandwidths are learned from, on a device.

    Attributes
    ----------
    features : LocalFeatures
        The features of a row.
    moments : array of shape (n, 2 d + 1)
        z(x).
    target : array of shape (n, q)
        Centred targets, times the roots of the weights.
    root : array of shape (n, 1) or None
        The roots of the weights; None if all are 1.
    """

    features: LocalFeatures
    moments: Any
    target: Any
    root: Any

    @classmethod
    def of(
        cls, features: LocalFeatures, X: Array, target: Array, weights: Array | None = None
    ) -> LocalRows:
        """Put points, shape (n, d), centred targets, (n, q), and weights, (n,), on the device."""
        array, root = features.device.array, None if weights is None else np.sqrt(weights)[:, None]
        target = array(target if root is None else root * target)
        return cls(features, features.moments(X), target, None if root is None else array(root))

    def __len__(self) -> int:
        """Return the number of rows, n."""
        return len(self.moments)

    @property
    def outputs(self) -> int:
        """The number of targets of a row, q."""
        return int(self.target.shape[1])

    def take(self, indices: Indices) -> LocalRows:
        """Return some of the rows."""
        parts = self.moments, self.target, self.root
        return LocalRows(self.features, *(None if p is None else p[indices] for p in parts))

    def square(self) -> float:
        """Return the mean of the squared weighted targets over all rows."""
        target = self.features.device.numpy(self.target)
        return float(np.vdot(target, target)) / len(self)

    def at(self, log_squares: Array) -> Evaluated:
        """Return the weighted features at these log W."""
        return self.features.at(self.moments, log_squares, self.root)

    def normal_equations(self, F: Any, ridge: float = 0.0) -> NormalEquations:
        """Return F'F and F'y of weighted features, shape (n, p), summed in float64.

        Features in float32 are multiplied in float32 where the ridge penalty that will be added is
        large beside the rounding errors of these products, else in float64.
        """
        device, p, n = self.features.device, self.features.size, len(self)
        gram, right = np.zeros((p, p)), np.zeros((p, self.outputs))
        some = F[:: max(1, n // SAMPLED)]
        exact = n <= SAMPLED or ridge < ROUNDED * (n * float((some * some).mean()))
        for low in range(0, n, SUMMED):
            part, y = F[low : low + SUMMED], self.target[low : low + SUMMED]
            if exact:
                part, y = device.double(part), device.double(y)
            gram += device.numpy(part.T @ part)
            right += device.numpy(part.T @ y)
        return NormalEquations(gram, right, not exact and device.single)

    def gradient(self, evaluated: Evaluated, derivative: Any, log_squares: Array) -> Array:
        """Return dL/d log W, shape (m, d), of dL by the weighted kernel values, shape (n, m)."""
        derivative *= self.features.slopes(evaluated)
        if self.root is not None:
            derivative *= self.root
        return self.features.pull_back(derivative.T @ self.moments, log_squares)
