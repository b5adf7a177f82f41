"""Training rows, and the kernel features computed from them, block by block.

`Table` holds the user's data. `LocalRows` holds a sample of it on a device, mapped and scaled, and
computes kernel values with one bandwidth vector per centre by matrix products: with
z(x) = [x o x, x, 1] and w_i = [W_i, -2 W_i o c_i, W_i'(c_i o c_i)], W = theta o theta, the squared
distance |theta_i o (x - c_i)|^2 is z(x)'w_i. So values take one product and gradients another.

NumPy and PyTorch have the same names for what the formulas need, so one text serves both:
``device.xp`` is the module. Large arrays live on the device, small ones are NumPy's, in float64.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_weights
from pliant.methods.lab_rbf.kernel import Profile, Warp

ROUNDED = 2e-5
"""Least ridge penalty, relative to the mean diagonal of F'F, for products in float32."""

LARGEST_WEIGHT = 1e20
"""Bound on the mean sample weight, and on its inverse: squares of it must fit into float32."""

SUMMED = 1024
"""Number of rows of one product; the products are added up in float64."""

SAMPLED = 256
"""Number of rows that the diagonal is estimated from; up to as many, products are in float64."""


class Target(NamedTuple):
    """The targets of many rows: their weighted mean, shape (q,), and their size.

    `unit` is a power of two about as large as they are, shape (q,), by which a division is exact,
    and `largest` is the largest absolute one.
    """

    mean: Array
    unit: Array
    largest: float

    @classmethod
    def of(cls, mean: Array, low: Array, high: Array) -> Target:
        """Return targets of this mean and range."""
        sizes = np.maximum(np.abs(low), np.abs(high))
        return cls(mean, np.ldexp(0.5, np.frexp(sizes)[1]), float(sizes.max()))


@dataclass(frozen=True, eq=False)
class Table:
    """Training data: n rows of positive weight.

    X, shape (n, d), may be a memory map; only blocks and samples of it are ever copied. Y, shape
    (n, q), holds the targets on the scale that is learned: their logarithms if `log_target`.
    `numbers`, shape (n,), are the row numbers in the user's data. `weights` are None if all are 1.
    `whole` is None, or the `collection.Whole` that these rows are a sample of.
    """

    X: Array
    Y: Array
    numbers: Indices
    weights: Array | None = None
    log_target: bool = False
    whole: Any = None

    @classmethod
    def of(cls, X: Array, Y: Array, sample_weight: Any) -> Table:
        """Return the table of the rows of positive weight."""
        if sample_weight is None:
            return cls(X, Y, np.arange(len(X)))
        weights = check_weights(sample_weight, X)
        with np.errstate(over="ignore"):
            mean = float(weights.mean())
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

    @cached_property
    def unit(self) -> Array:
        """A power of two about as large as the targets, shape (q,): to divide by it is exact."""
        return np.ldexp(0.5, np.frexp(np.abs(self.Y).max(axis=0))[1])

    @property
    def target(self) -> Target:
        """The mean and the size of the targets that coefficients are fitted to."""
        if self.whole is None:
            return Target(self.mean(), self.unit, float(np.abs(self.Y).max()))
        target: Target = self.whole.target(self.log_target)
        return target

    def mean(self) -> Array:
        """Return the weighted mean of the targets, shape (q,)."""
        return self.unit * np.average(self.Y / self.unit, axis=0, weights=self.weights)

    def places(self, support: Any, n_samples: int) -> Indices:
        """Return the places of support points, given by their row numbers of 0 to n_samples - 1."""
        chosen = np.asarray(support, dtype=np.intp)
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= n_samples:
            raise ValueError(
                f"expected row numbers from 0 to {n_samples - 1} as support, got {support!r:.200}"
            )
        absent = ~np.isin(chosen, self.numbers)
        if absent.any():
            raise ValueError(f"expected a support point of weight > 0, got row {chosen[absent][0]}")
        return np.searchsorted(self.numbers, chosen)

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
        if not (self.Y > 0).all():
            raise ValueError(
                f"expected y > 0, since its logarithm was learned, got {self.Y.min():g}"
            )
        return replace(self, Y=np.log(self.Y), log_target=True)


CORRELATED = 0.8
"""Absolute rank correlation from which on two features count as correlated."""

COMPARED, MOST_PAIRS = 1000, 1000
"""Maximum numbers of rows and of features that are compared, and of pairs that are kept."""


def correlated_pairs(X: Array) -> Indices:
    """Return the pairs of columns with abs(Spearman's correlation) > .8, shape (n_pairs, 2).

    The strongest come first, the smaller column of each pair too.
    """
    ranks = rankdata(X, axis=0)
    ranks -= ranks.mean(axis=0)
    size = np.sqrt((ranks * ranks).sum(axis=0))
    ranks /= np.where(size > 0, size, 1.0)
    strength = np.triu(np.abs(ranks.T @ ranks), k=1)
    pairs = np.argwhere(strength > CORRELATED)
    order = np.argsort(-strength[pairs[:, 0], pairs[:, 1]], kind="stable")
    return np.asarray(pairs[order[:MOST_PAIRS]], dtype=np.intp)


def correlated_features(table: Table, relevance: Array) -> Indices:
    """Return the pairs of correlated features among the most relevant ones, in training rows."""
    rows = np.linspace(0, len(table) - 1, min(len(table), COMPARED)).astype(np.intp)
    features = np.sort(np.argsort(-relevance, kind="stable")[:COMPARED])
    return np.asarray(features[correlated_pairs(table.points(rows)[:, features])])


def check_pairs(pairs: Any, d: int) -> None:
    """Raise ValueError unless `pairs`, read from a file, are pairs out of d features."""
    pairs = np.asarray(pairs)
    if pairs.dtype.kind != "i" or pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"expected correlated_features_ of shape (n_pairs, 2), got {pairs.shape}")
    first, second = pairs.T
    if not ((first >= 0) & (first < second) & (second < d)).all():
        raise ValueError(f"expected correlated_features_ of pairs of {d} features")


@dataclass(frozen=True)
class Device:
    """Where arrays of one floating-point type live: NumPy, or PyTorch on the CPU or a GPU.

    `xp` is the module ``numpy`` or ``torch``, `dtype` the module's own floating-point type, and
    `name` PyTorch's name of the device; None for NumPy.
    """

    xp: Any
    dtype: Any
    name: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it: modules cannot be sent."""
        name = "torch" if self.name == "cpu" else self.name or "cpu"
        return get_device, (name, str(self.xp.finfo(self.dtype).dtype))

    def array(self, values: Any) -> Any:
        """Return `values` as an array on this device."""
        if self.name is None:
            return np.ascontiguousarray(values, dtype=self.dtype)
        contiguous = np.ascontiguousarray(values, dtype=str(self.dtype).removeprefix("torch."))
        return self.xp.as_tensor(contiguous, device=self.name)

    def numpy(self, values: Any) -> Array:
        """Return an array on this device as a NumPy array, float64."""
        if self.name is not None:
            values = values.cpu().numpy()
        return np.asarray(values, dtype=np.float64)

    def double(self, values: Any) -> Any:
        """Return an array on this device in float64; itself if it already is."""
        return values.astype(np.float64, copy=False) if self.name is None else values.double()

    def empty(self, *shape: int) -> Any:
        """Return an uninitialised array on this device."""
        if self.name is None:
            return np.empty(shape, dtype=self.dtype)
        return self.xp.empty(shape, dtype=self.dtype, device=self.name)


def get_device(name: str, dtype: str) -> Device:
    """Return a device by name, as `LABRBFRegressor` describes it, for "float32" or "float64".

    Raises ImportError if PyTorch is needed and not installed, and ValueError for another name, or
    a GPU that is not there.
    """
    if name == "cpu":
        return Device(np, np.dtype(dtype).type)
    if not re.fullmatch(r"torch|cuda(:\d+)?", str(name)):
        raise ValueError(f"expected device 'cpu', 'torch', 'cuda' or 'cuda:N', got {name!r}")
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"device={name!r} needs PyTorch: pip install 'pliant[torch]'") from error
    if name != "torch":
        index = int(name.partition(":")[2] or 0)
        if index >= torch.cuda.device_count():
            raise ValueError(
                f"expected a GPU for device={name!r}, got {torch.cuda.device_count()} of them"
            )
    return Device(torch, getattr(torch, dtype), "cpu" if name == "torch" else name)


class Block(NamedTuple):
    """Some rows: z(x), their weighted targets, the roots of their weights (None: all 1)."""

    moments: Any
    target: Any
    root: Any


class Evaluated(NamedTuple):
    """A block with its squared distances (where the slope needs them), kernel and features."""

    block: Block
    distances: Any
    kernel: Any
    features: Any


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
        return self.device.array(_columns(X * X, X, 1.0))

    def parameters(self, log_squares: Array) -> Any:
        """Return w = [W, -2 W o C, (W o C o C) 1] of log W, shape (m, 2 d + 1)."""
        W = np.exp(log_squares)
        shifted = W * self.centres
        constant = (shifted * self.centres).sum(axis=1)
        return self.device.array(_columns(W, -2.0 * shifted, constant))

    def evaluate(self, block: Block, parameters: Any) -> Evaluated:
        """Return a block with its kernel values and its weighted features."""
        xp, profile = self.device.xp, self.profile
        distances = block.moments @ parameters.T
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
            features[:, m:] = block.moments[:, d : 2 * d]
        if block.root is not None:
            features = features * block.root
        return Evaluated(block, distances, kernel, features)

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


def _columns(squares: Array, points: Array, last: Any) -> Array:
    """Return [squares, points, last], shape (n, 2 d + 1); np.hstack takes longer for few rows."""
    n, d = squares.shape
    joined = np.empty((n, 2 * d + 1))
    joined[:, :d], joined[:, d : 2 * d], joined[:, -1] = squares, points, last
    return joined


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows that bandwidths are learned from, on a device.

    `features` is what is computed of a row. `rows` holds all of them; they are taken in blocks of
    `batch_rows`, with which the memory grows.
    """

    features: LocalFeatures
    rows: Block
    batch_rows: int = 8192

    @classmethod
    def of(
        cls,
        features: LocalFeatures,
        X: Array,
        target: Array,
        weights: Array | None = None,
        batch_rows: int = 8192,
    ) -> LocalRows:
        """Put points, shape (n, d), centred targets, (n, q), and weights, (n,), on the device."""
        device = features.device
        root = None if weights is None else np.sqrt(weights)[:, None]
        weighted = target if root is None else root * target
        rows = Block(
            features.moments(X),
            device.array(weighted),
            None if root is None else device.array(root),
        )
        return cls(features, rows, batch_rows)

    def __len__(self) -> int:
        """Return the number of rows, n."""
        return len(self.rows.moments)

    @property
    def outputs(self) -> int:
        """The number of targets of a row, q."""
        return int(self.rows.target.shape[1])

    def take(self, indices: Any) -> LocalRows:
        """Return some of the rows: by their places, or a slice of them."""
        chosen = Block(*(None if part is None else part[indices] for part in self.rows))
        return LocalRows(self.features, chosen, self.batch_rows)

    def square(self) -> float:
        """Return the mean of the squared weighted targets over all rows."""
        target = self.features.device.numpy(self.rows.target)
        return float(np.vdot(target, target)) / len(self)

    def evaluated(self, log_squares: Array) -> Evaluation:
        """Return the features at these log W, a block at a time."""
        return Evaluation(self, log_squares)


class NormalEquations(NamedTuple):
    """F'F, shape (p, p), F'y, shape (p, q), and whether products were rounded to float32."""

    gram: Array
    right: Array
    rounded: bool


class Evaluation:
    """The features of all rows at one choice of bandwidths; a single block is computed once."""

    def __init__(self, rows: LocalRows, log_squares: Array) -> None:
        self.rows = rows
        self.features = rows.features
        self.log_squares = log_squares
        self._parameters = self.features.parameters(log_squares)
        self._single: Evaluated | None = None

    def __iter__(self) -> Iterator[Evaluated]:
        """Iterate over the blocks."""
        n, step = len(self.rows), self.rows.batch_rows
        if n <= step and self._single is None:
            self._single = self.features.evaluate(self.rows.rows, self._parameters)
        if self._single is not None:
            yield self._single
            return
        for low in range(0, n, step):
            block = self.rows.take(slice(low, low + step)).rows
            yield self.features.evaluate(block, self._parameters)

    def normal_equations(self, ridge: float = 0.0) -> NormalEquations:
        """Return F'F and F'y, summed in float64.

        Features in float32 are multiplied in float32 where the ridge penalty that will be added is
        large beside the rounding errors of these products, else in float64.
        """
        device, p = self.features.device, self.features.size
        gram, right, rounded = np.zeros((p, p)), np.zeros((p, self.rows.outputs)), False
        for each in self:
            exact = len(self.rows) <= SAMPLED or ridge < ROUNDED * self._diagonal(each.features)
            rounded = rounded or not exact
            for low in range(0, len(each.features), SUMMED):
                F, y = (part[low : low + SUMMED] for part in (each.features, each.block.target))
                if exact:
                    F, y = device.double(F), device.double(y)
                gram += device.numpy(F.T @ F)
                right += device.numpy(F.T @ y)
        return NormalEquations(gram, right, rounded and device.dtype is device.xp.float32)

    def _diagonal(self, features: Any) -> float:
        """Return an estimate of the mean diagonal of F'F, from some of the features."""
        some = features[:: max(1, len(features) // SAMPLED)]
        return len(self.rows) * float((some * some).mean())

    def gradient(self, upstream: Callable[[Evaluated], Any]) -> Array:
        """Return dL/d log W, shape (m, d).

        `upstream` returns the upstream gradient of a block: dL by its weighted kernel values, shape
        (rows, m).
        """
        total: Any = 0.0
        for each in self:
            derivative = upstream(each)
            derivative *= self.features.slopes(each)
            if each.block.root is not None:
                derivative *= each.block.root
            total = derivative.T @ each.block.moments + total
        return self.features.pull_back(total, self.log_squares)
