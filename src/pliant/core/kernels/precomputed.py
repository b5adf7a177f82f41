"""A kernel that is known as a matrix only."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_gram, check_points


class Precomputed(Kernel):
    """Kernel values that the user computed.

    A training point is written as its row number, in an array of one column; a new point is
    written as the row of its kernel values against all n training points. Two new points have
    no kernel value.

    Parameters
    ----------
    gram : array of shape (n, n)
        The training Gram matrix, n >= 2.
    """

    def __init__(self, gram: Array) -> None:
        self.gram = gram

    def _check_loaded(self) -> None:
        """Raise ValueError if the matrix, read from a file, is no Gram matrix."""
        check_gram(check_points(self.gram, "gram"))

    def _check_pair(self, X: Array, Y: Array) -> None:
        """Allow different numbers of columns."""

    def _gram(self, X: Array, Y: Array) -> Array:
        if Y.shape[1] == 1:
            return self._rows(X)[:, self._numbers(Y)]
        if X.shape[1] == 1:
            return self._rows(Y)[:, self._numbers(X)].T
        raise ValueError(
            "expected one side to name training points by their row numbers, got two sets of "
            "kernel rows: a precomputed kernel has no value between two new points"
        )

    def _diagonal(self, X: Array) -> Array:
        if X.shape[1] != 1:
            raise ValueError("expected training points: k(x, x) of a new point is not known")
        return self.gram.diagonal()[self._numbers(X)]

    def _rows(self, X: Array) -> Array:
        """Return the kernel values against all training points, shape (len(X), n)."""
        if X.shape[1] == 1:
            return self.gram[self._numbers(X)]
        if X.shape[1] != len(self.gram):
            raise ValueError(
                f"expected kernel values against all {len(self.gram)} training points, "
                f"got {X.shape[1]} columns"
            )
        return X

    def _numbers(self, X: Array) -> Indices:
        """Return the training points that a column of row numbers stands for."""
        numbers = X[:, 0]
        wrong = (numbers < 0) | (numbers >= len(self.gram)) | (numbers % 1 != 0)
        if wrong.any():
            raise ValueError(
                f"expected row numbers of training points, 0 to {len(self.gram) - 1}, "
                f"got {numbers[wrong][0]:g}"
            )
        return numbers.astype(np.intp)
