"""Kernels made of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pliant._typing import Array
from pliant._validation import check_points, check_vector
from pliant.kernels.base import Kernel, positive

__all__ = ["Centered", "Normalized", "Product", "Rescaled", "Scaled", "Sum"]


class _Pair(Kernel):
    """Two kernels; symmetric and PSD if both are."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether both are symmetric."""
        return self.left.symmetric and self.right.symmetric

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether both are positive semi-definite."""
        return self.left.psd and self.right.psd

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.left._check_pair(X, Y)
        self.right._check_pair(X, Y)


class Sum(_Pair):
    """k(x, y) = left(x, y) + right(x, y).

    Parameters
    ----------
    left, right : Kernel
    """

    def _gram(self, X: Array, Y: Array) -> Array:
        return self.left._gram(X, Y) + self.right._gram(X, Y)

    def _diagonal(self, X: Array) -> Array:
        return self.left._diagonal(X) + self.right._diagonal(X)


class Product(_Pair):
    """k(x, y) = left(x, y) right(x, y).

    Parameters
    ----------
    left, right : Kernel
    """

    def _gram(self, X: Array, Y: Array) -> Array:
        return self.left._gram(X, Y) * self.right._gram(X, Y)

    def _diagonal(self, X: Array) -> Array:
        return self.left._diagonal(X) * self.right._diagonal(X)


class _Wrapped(Kernel):
    """One kernel; symmetric and PSD if it is."""

    kernel: Kernel

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel is symmetric."""
        return self.kernel.symmetric

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel is positive semi-definite."""
        return self.kernel.psd

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.kernel._check_pair(X, Y)


class Scaled(_Wrapped):
    """k(x, y) = scale * kernel(x, y).

    Parameters
    ----------
    kernel : Kernel
    scale : float
        > 0.
    """

    def __init__(self, kernel: Kernel, scale: float = 1.0) -> None:
        self.kernel = kernel
        self.scale = scale

    def _gram(self, X: Array, Y: Array) -> Array:
        return positive(self, "scale") * self.kernel._gram(X, Y)

    def _diagonal(self, X: Array) -> Array:
        return positive(self, "scale") * self.kernel._diagonal(X)


class Normalized(_Wrapped):
    """k(x, y) = kernel(x, y) / sqrt(kernel(x, x) kernel(y, y)), so that k(x, x) = 1.

    Parameters
    ----------
    kernel : Kernel
        With a positive diagonal.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def _gram(self, X: Array, Y: Array) -> Array:
        return self.kernel._gram(X, Y) / np.outer(self._length(X), self._length(Y))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(X) / self._length(X) ** 2

    def _length(self, X: Array) -> Array:
        diagonal = self.kernel._diagonal(X)
        if not (diagonal > 0).all():
            row = int(np.argmin(diagonal))
            raise ValueError(
                f"expected k(x, x) > 0 to normalise a kernel, got {diagonal[row]:g} at row {row}"
            )
        return np.sqrt(diagonal)


class Centered(_Wrapped):
    """The kernel of the feature vectors minus their mean over given points.

    k(x, y) = kernel(x, y) - mean_i kernel(p_i, y) - mean_j kernel(x, p_j)
              + mean_ij kernel(p_i, p_j).

    Parameters
    ----------
    kernel : Kernel
    points : array of shape (n, d)
        The p_i, usually the training points.
    """

    def __init__(self, kernel: Kernel, points: npt.ArrayLike) -> None:
        self.kernel = kernel
        self.points = points

    def _gram(self, X: Array, Y: Array) -> Array:
        points = check_points(self.points, "points", n_features=X.shape[1])
        towards_y = self.kernel._gram(points, Y).mean(axis=0)
        towards_x = self.kernel._gram(X, points).mean(axis=1)
        centre = self.kernel._gram(points, points).mean()
        return self.kernel._gram(X, Y) - towards_y - towards_x[:, None] + centre

    def _diagonal(self, X: Array) -> Array:
        points = check_points(self.points, "points", n_features=X.shape[1])
        towards_y = self.kernel._gram(points, X).mean(axis=0)
        towards_x = self.kernel._gram(X, points).mean(axis=1)
        centre = self.kernel._gram(points, points).mean()
        return self.kernel._diagonal(X) - towards_y - towards_x + centre


class Rescaled(_Wrapped):
    """k((x - offset)/width, (y - offset)/width).

    Parameters
    ----------
    kernel : Kernel
    offset, width : float or array-like of shape (d,)
        width != 0.
    """

    def __init__(self, kernel: Kernel, offset: Any = 0.0, width: Any = 1.0) -> None:
        self.kernel = kernel
        self.offset = offset
        self.width = width

    def rescale(self, X: Array) -> Array:
        """Return (X - offset)/width, shape (n, d)."""
        offset = check_vector("offset", self.offset, X.shape[1])
        width = check_vector("width", self.width, X.shape[1])
        if (width == 0).any():
            raise ValueError(f"expected width != 0, got 0 for feature {int(np.argmin(width != 0))}")
        with np.errstate(over="ignore"):
            return np.clip((X - offset) / width, -_LARGEST, _LARGEST)

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self.rescale(X)
        return self.kernel._gram(left, left if Y is X else self.rescale(Y))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(self.rescale(X))


_LARGEST = float(np.finfo(np.float64).max)
