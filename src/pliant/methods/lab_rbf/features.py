"""Training rows, the features of a LAB-RBF expansion at them, and sums over rows.

Kernel values with one bandwidth vector per centre are matrix products: with z(x) = [x o x, x, 1]
and w_i = [W_i, -2 W_i o c_i, W_i'(c_i o c_i)], W = theta o theta, the squared distance
|theta_i o (x - c_i)|^2 is z(x)'w_i. So values take one product and gradients another.

Large arrays live on a `pliant.core.device.Device`, small ones are NumPy's, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pliant.core.device import Device
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_weights
from pliant.methods.lab_rbf.kernel import Profile, Warp, centre_products, point_products

# Bound on the mean sample weight, and on its inverse: squares of it must fit into float32.
LARGEST_WEIGHT = 1e20

# Least ridge penalty, relative to the mean diagonal of F'F, for products in float32.
ROUNDED = 2e-5
SUMMED = 1024  # Number of rows of one product; the products are added up in float64.
# Number of rows that the diagonal is estimated from; up to as many, products are in float64.
SAMPLED = 256


@dataclass(frozen=True, eq=False)
class Table:
    """Training data: n rows of positive weight."""

    X: Array  # shape (n, d), perhaps a memory map: only blocks and samples of it are copied
    Y: Array  # targets on the scale that is learned, shape (n, q): logarithms if `log_target`
    numbers: Indices  # row numbers in the user's data
    weights: Array | None = None  # None if all are 1
    log_target: bool = False
    whole: Any = None  # the `collection.Whole` that these rows are a sample of

    @classmethod
    def of(cls, X: Array, Y: Array, sample_weight: Any) -> Table:
        """Return the table of the rows of positive weight."""
        if sample_weight is None:
            return cls(X, Y, np.arange(len(X)))
        weights = check_weights(sample_weight, X)
        mean = float((weights / len(weights)).sum())
        if not 1.0 / LARGEST_WEIGHT <= mean <= LARGEST_WEIGHT:
            raise ValueError(
                f"expected sample_weight with a mean from {1.0 / LARGEST_WEIGHT:g} to "
                f"{LARGEST_WEIGHT:g}, got {mean:.3g}; divide them by their mean"
            )
        rows = np.flatnonzero(weights)
        if len(rows) == len(X):  # no copy of X
            return cls(X, Y, rows, weights)
        return cls(X[rows], Y[rows], rows, weights[rows])

    def __len__(self) -> int:
        """Return n."""
        return len(self.X)

    @cached_property
    def middle(self) -> Array:
        """The middle of the targets' range, shape (q,)."""
        low, high = self.Y.min(axis=0), self.Y.max(axis=0)
        return np.asarray(low + (high / 2 - low / 2))

    @cached_property
    def spread(self) -> Array:
        """Half the targets' range, shape (q,); 1 where it is 0."""
        half = self.Y.max(axis=0) / 2 - self.Y.min(axis=0) / 2
        return np.where(half > 0, half, 1.0)

    @property
    def mean_weight(self) -> float:
        """The mean weight of a row."""
        return 1.0 if self.weights is None else float(self.weights.mean())

    @property
    def mean(self) -> Array:
        """The weighted mean of the targets, shape (q,)."""
        return np.asarray(np.average(self.Y, axis=0, weights=self.weights))

    @property
    def whole_mean(self) -> Array:
        """The same of all rows that coefficients are fitted to."""
        if self.whole is None:
            return self.mean
        extent = self.whole.extent
        return np.asarray(extent.log_mean if self.log_target else extent.mean)

    @property
    def ends(self) -> tuple[Array, Array]:
        """The lowest and the highest value of each feature, float64, over all rows."""
        if self.whole is not None:
            return self.whole.extent.low, self.whole.extent.high
        return np.asarray(self.X.min(axis=0), float), np.asarray(self.X.max(axis=0), float)

    @property
    def target_ends(self) -> tuple[Array, Array]:
        """The lowest and the highest value of each target, no logarithm, over all rows."""
        if self.whole is not None:
            return self.whole.extent.target_low, self.whole.extent.target_high
        return self.Y.min(axis=0), self.Y.max(axis=0)

    def rows(self, rows: Indices) -> Table:
        """Return the table of some rows."""
        return replace(
            self,
            X=self.X[rows],
            Y=self.Y[rows],
            numbers=self.numbers[rows],
            weights=self.weights_of(rows),
        )

    def points(self, rows: Indices) -> Array:
        """Return some of the points, float64."""
        return np.asarray(self.X[rows], dtype=np.float64)

    def weights_of(self, rows: Indices) -> Array | None:
        """Return the weights of some rows."""
        return None if self.weights is None else self.weights[rows]

    def sample(self, rows: Indices, warp: Warp) -> Table:
        """Return some rows with mapped features and targets on [-1, 1]."""
        scaled = np.asarray((self.Y[rows] - self.middle) / self.spread)
        return Table(warp(self.X[rows]), scaled, self.numbers[rows], self.weights_of(rows))

    def with_logarithms(self) -> Table:
        """Return the table with the logarithms of the targets."""
        low = float(self.target_ends[0].min())
        if low <= 0:
            raise ValueError(f"expected y > 0, since its logarithm was learned, got {low:g}")
        return replace(self, Y=np.log(self.Y), log_target=True)


@dataclass(frozen=True, eq=False)
class LocalFeatures:
    """The features of a LAB-RBF expansion: kernel values against m centres, and x if `linear`."""

    centres: Array  # shape (m, d), near the origin, where the product form of distances is exact
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
        """Return dL/d log W, shape (m, d), of (dL/dD / factor)'z, shape (m, 2 d + 1)."""
        # dD_i/d log W_ij = W_ij (x_j^2 - 2 c_ij x_j + c_ij^2): z has the sums of all three terms.
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
    """Rows that bandwidths are learned from, on a device."""

    features: LocalFeatures
    moments: Any  # z(x), shape (n, 2 d + 1)
    target: Any  # centred targets, times the roots of the weights, shape (n, q)
    root: Any  # the roots of the weights, shape (n, 1); None if all are 1

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
        """Return F'F and F'y of weighted features, shape (n, p), summed in float64."""
        # float32 is enough where the penalty is large beside the rounding errors of products.
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
