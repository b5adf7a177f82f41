"""The adaptive matrix of a learned kernel, on its training points."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.hadamard.adaptive import Form, ThresholdForm, blocks

__all__ = ["AdaptiveMatrix"]


class Adapted(Protocol):
    """What an adaptive matrix needs of a kernel that was learned on n points."""

    @property
    def points(self) -> Array:
        """The training points, shape (n, d)."""

    @property
    def support(self) -> Indices:
        """The numbers of the points with beta != 0. All others have the same row of F."""

    @property
    def form(self) -> Form:
        """The closed form of F."""

    def learned(self, rows: Indices, columns: Indices) -> Array:
        """Return A_ij = beta_i K_ij beta_j between training points."""

    def profiles(self, indices: Indices) -> Array:
        """Return the profiles of training points."""


class AdaptiveMatrix:
    """F on n training points, without forming it.

    Parameters
    ----------
    kernel : HadamardKernel
        The learned kernel.
    """

    def __init__(self, kernel: Adapted) -> None:
        self.kernel = kernel

    def __len__(self) -> int:
        """Return n."""
        return len(self.kernel.points)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, n)."""
        return len(self), len(self)

    @cached_property
    def radius(self) -> float:
        """|F - 11'| in the Frobenius norm: how far the kernel was adapted."""
        points, sizes = self._representatives
        total = 0.0
        for rows in blocks(len(points), len(points)):
            total += float(sizes[rows] @ self._change(points[rows], points) ** 2 @ sizes)
        return float(np.sqrt(total))

    @cached_property
    def rank(self) -> int:
        """The rank of F: the number of eigenvalues above 1e-12 times the largest.

        O(n_support^3) where it is not known from the learning.
        """
        if isinstance(self.kernel.form, ThresholdForm):
            return self.kernel.form.rank
        points, sizes = self._representatives
        root = np.sqrt(sizes)
        values = np.linalg.eigvalsh(root[:, None] * (1.0 + self._change(points, points)) * root)
        return int((values > 1e-12 * values[-1]).sum())

    def columns(self, indices: Any) -> Array:
        """Return the columns `indices` (a number, a slice or an array), shape (n, m)."""
        everything = np.arange(len(self))
        return 1.0 + self._change(everything, np.atleast_1d(everything[indices]))

    def toarray(self) -> Array:
        """Return F, shape (n, n)."""
        return self.columns(slice(None))

    @cached_property
    def _representatives(self) -> tuple[Indices, Array]:
        """One point of each kind: the support points, one of the others; how many are like it."""
        others = np.setdiff1d(np.arange(len(self)), self.kernel.support)
        points = np.append(self.kernel.support, others[:1])
        sizes = np.ones(len(points))
        if others.size:
            sizes[-1] = others.size
        return points, sizes

    def _check_loaded(self) -> None:
        """Raise ValueError if the kernel, read from a file, is none; forget what was made of it."""
        if not hasattr(type(self.kernel), "form"):
            raise ValueError(f"expected a learned kernel, got {type(self.kernel).__name__}")
        for name in ("rank", "radius", "_representatives"):
            self.__dict__.pop(name, None)

    def _change(self, rows: Indices, columns: Indices) -> Array:
        learned = self.kernel.learned(rows, columns)
        left, right = self.kernel.profiles(rows), self.kernel.profiles(columns)
        return self.kernel.form.change(learned, left, right)
