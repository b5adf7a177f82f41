"""The adaptive matrix of a learned kernel, on its training points."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.hadamard.problem import row_blocks


class AdaptiveMatrix:
    """F on n training points, without forming it.

    Parameters
    ----------
    kernel : HadamardKernel or PartitionedKernel
        The learned kernel.
    """

    _kept = ("rank", "radius", "_representatives")
    """What is computed once; a file may hold it, and it is computed again then."""

    def __init__(self, kernel: Any) -> None:
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
        """The Frobenius norm of F - 11', which measures how far the kernel was adapted."""
        points, sizes = self._representatives
        total = 0.0
        for rows in row_blocks(len(points), len(points)):
            total += float(sizes[rows] @ self._change(points[rows], points) ** 2 @ sizes)
        return float(np.sqrt(total))

    @cached_property
    def rank(self) -> int:
        """The rank of F: the number of eigenvalues above 1e-12 times the largest.

        O(n_support^3) unless the fit has computed it (tau > 0).
        """
        rank: int | None = self.kernel.rank
        if rank is not None:
            return rank
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
        """The support points and one of the others in each group, and how many each stands for.

        All points of a group that are no support points have the same row of F.
        """
        support = self.kernel.support
        others = np.setdiff1d(np.arange(len(self)), support)
        _, first, counts = np.unique(
            self.kernel.groups[others], return_index=True, return_counts=True
        )
        points = np.append(support, others[first])
        return points, np.append(np.ones(len(support)), counts)

    def _check_loaded(self) -> None:
        """Raise ValueError if the kernel, read from a file, is none; drop cached values."""
        if not hasattr(type(self.kernel), "change_between"):
            raise ValueError(f"expected a learned kernel, got {type(self.kernel).__name__}")
        for name in self._kept:
            self.__dict__.pop(name, None)

    def _change(self, rows: Indices, columns: Indices) -> Array:
        return np.asarray(self.kernel.change_between(rows, columns))
