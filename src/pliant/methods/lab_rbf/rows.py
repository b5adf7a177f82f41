"""Kernel values with one bandwidth vector per centre, by matrix products over blocks of rows.

With z(x) = [x o x, x, 1] and w = [W, -2 W o C, (W o C o C) 1], W = theta o theta, the squared
distances |theta_i o (x - c_i)|^2 are z(x)' w_i: one product for the values, one for the gradient.
Arrays are NumPy's or PyTorch's, see `pliant.methods.lab_rbf.device`; small ones are NumPy's, in
float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.device import Device
from pliant.methods.lab_rbf.profiles import Profile

__all__ = ["Block", "LocalFeatures", "LocalRows", "NormalEquations", "normal_equations"]


class Block(NamedTuple):
    """Some rows: z(x), their weighted targets, the roots of their weights (None: all 1)."""

    moments: Any
    target: Any
    root: Any


class NormalEquations(NamedTuple):
    """F'F and F'y, shapes (p, p) and (p, q), float64."""

    gram: Array
    right: Array


class Evaluated(NamedTuple):
    """A block with its squared distances (where the slope needs them), kernel and features."""

    block: Block
    distances: Any
    kernel: Any
    features: Any


@dataclass(frozen=True, eq=False)
class LocalFeatures:
    """The features of a LAB-RBF expansion: kernel values against m centres, and x if `linear`.

    Attributes
    ----------
    centres : array of shape (m, d)
        Near the origin, where the product form of the distances is exact.
    profile : Profile
        The kernel as a function of the squared distance.
    linear : bool
        Whether x itself follows the m kernel values.
    device : Device
        Where the large arrays live.
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
        return self.device.array(np.hstack([X * X, X, np.ones((len(X), 1))]))

    def parameters(self, log_squares: Array) -> Any:
        """Return w = [W, -2 W o C, (W o C o C) 1] of log W, shape (m, 2 d + 1)."""
        W = np.exp(log_squares)
        shifted = W * self.centres
        constant = (shifted * self.centres).sum(axis=1, keepdims=True)
        return self.device.array(np.hstack([W, -2.0 * shifted, constant]))

    def values(self, moments: Any, parameters: Any) -> tuple[Any, Any]:
        """Return squared distances (None where the slope needs none) and kernel values."""
        xp = self.device.xp
        distances = moments @ parameters.T
        xp.clip(distances, 0.0, None, out=distances)
        if not self.profile.needs_distance:
            return None, self.profile.value(xp, distances)
        if self.profile.cusp:  # what cancels is of the size of |theta c|^2
            noise = 16.0 * float(xp.finfo(distances.dtype).eps) * parameters[:, -1]
            distances[distances < noise] = 0.0
        copy = distances * 1.0
        return distances, self.profile.value(xp, copy)

    def evaluate(self, block: Block, parameters: Any) -> Evaluated:
        """Return a block with its kernel values and its weighted features."""
        d = self.centres.shape[1]
        distances, kernel = self.values(block.moments, parameters)
        features = kernel
        if self.linear:
            features = self._join(kernel, block.moments[:, d : 2 * d])
        if block.root is not None:
            features = features * block.root
        return Evaluated(block, distances, kernel, features)

    def _join(self, kernel: Any, points: Any) -> Any:
        m = len(self.centres)
        joined = self.device.empty(len(kernel), self.size)
        joined[:, :m] = kernel
        joined[:, m:] = points
        return joined

    def slopes(self, evaluated: Evaluated) -> Any:
        """Return the derivative of each kernel value by its squared distance, over a factor."""
        return self.profile.slope(self.device.xp, evaluated.distances, evaluated.kernel)

    def pull_back(self, derivative: Any, log_squares: Array) -> Array:
        """Return dL/d log W, shape (m, d), of (dL/dD / factor)' z, shape (m, 2 d + 1)."""
        C, d = self.centres, self.centres.shape[1]
        squares, points, ones = np.split(self.device.numpy(derivative), [d, 2 * d], axis=1)
        outer = self.profile.factor * np.exp(log_squares)
        gradient: Array = outer * (squares - 2.0 * C * points + C * C * ones)
        return gradient


def normal_equations(
    features: LocalFeatures, blocks: Iterable[Evaluated], outputs: int
) -> NormalEquations:
    """Return F'F and F'y, added up over blocks of rows."""
    device = features.device
    gram = np.zeros((features.size, features.size))
    right = np.zeros((features.size, outputs))
    for each in blocks:
        F, y = device.double(each.features), device.double(each.block.target)
        gram += device.numpy(F.T @ F)
        right += device.numpy(F.T @ y)
    return NormalEquations(gram, right)


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows that bandwidths are learned from.

    Attributes
    ----------
    features : LocalFeatures
        What is computed of a row.
    rows : Block
        All of them.
    batch_rows : int
        How many are looked at together; memory grows with it.
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
        """Bring points, shape (n, d), centred targets, (n, q), and weights, (n,), together."""
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

    def take(self, indices: Indices) -> LocalRows:
        """Return some of the rows."""
        chosen = Block(*(None if part is None else part[indices] for part in self.rows))
        return LocalRows(self.features, chosen, self.batch_rows)

    def square(self) -> float:
        """Return the mean of the squared weighted targets over all rows."""
        target = self.features.device.numpy(self.rows.target)
        return float(np.vdot(target, target)) / len(self)

    def evaluated(self, log_squares: Array) -> Evaluation:
        """Return the features at these log W, a block at a time."""
        return Evaluation(self, log_squares)

    def blocks(self) -> Iterator[Block]:
        """Return the rows in blocks."""
        for low in range(0, len(self), self.batch_rows):
            part = slice(low, low + self.batch_rows)
            yield Block(*(None if each is None else each[part] for each in self.rows))


class Evaluation:
    """The features of all rows at one choice of bandwidths; a single block is computed once."""

    def __init__(self, rows: LocalRows, log_squares: Array) -> None:
        self.rows = rows
        self.features = rows.features
        self.log_squares = log_squares
        self._parameters = self.features.parameters(log_squares)
        self._kept: list[Evaluated] = []

    def __iter__(self) -> Iterator[Evaluated]:
        """Go through the blocks."""
        if self._kept:
            return iter(self._kept)
        return self._computed()

    def _computed(self) -> Iterator[Evaluated]:
        for block in self.rows.blocks():
            evaluated = self.features.evaluate(block, self._parameters)
            if len(self.rows) <= self.rows.batch_rows:
                self._kept = [evaluated]
            yield evaluated

    def normal_equations(self) -> NormalEquations:
        """Return F'F and F'y."""
        return normal_equations(self.features, self, self.rows.outputs)

    def gradient(self, blame: Callable[[Evaluated], Any]) -> Array:
        """Return dL/d log W, where `blame` returns dL/d(kernel columns of F) of a block."""
        total: Any = 0.0
        for each in self:
            derivative = blame(each)
            derivative *= self.features.slopes(each)
            if each.block.root is not None:
                derivative *= each.block.root
            total = derivative.T @ each.block.moments + total
        return self.features.pull_back(total, self.log_squares)
