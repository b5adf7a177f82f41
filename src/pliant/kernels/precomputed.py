"""A kernel that is known as a matrix only."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_flag, check_gram, check_points
from pliant.kernels.base import Kernel


class Precomputed(Kernel):
    """Kernel values that the user computed.

    A point of the matrix is written as its row number, in an array of one column; a new point is
    written as the row of its kernel values against all n points of the matrix. Two new points have
    no kernel value.

    The matrix may hold more points than an estimator is fitted on. So cross-validation works on
    matrices from elsewhere, of graphs or texts: with ``X = np.arange(n)[:, None]`` a split of X
    chooses rows and columns of the matrix.

    Parameters
    ----------
    gram : array of shape (n, n)
        The Gram matrix, n >= 2. It is shared, not copied, by `sklearn.base.clone` and by the
        estimators that are fitted with this kernel: do not change it afterwards.
    assume_psd : bool, default=False
        Whether to skip the proof that the matrix is positive semi-definite, a Cholesky
        factorisation, O(n^3), which can take longer than the rest of the fit. If the assumption is
        wrong, the certified gap bounds nothing. Symmetry is checked in either case.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.kernels import Precomputed
    >>> kernel = Precomputed(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]))
    >>> kernel([[0], [2]], [[1]])
    array([[1.],
           [1.]])
    """

    def __init__(self, gram: Array, assume_psd: bool = False) -> None:
        self.gram = gram
        self.assume_psd = assume_psd

    def __sklearn_clone__(self) -> Precomputed:
        """Return another kernel with the same matrix, which is not copied."""
        return type(self)(self.gram, self.assume_psd)

    def _check_loaded(self) -> None:
        """Raise ValueError if the matrix, read from a file, is no Gram matrix."""
        check_gram(check_points(self.gram, "gram"))
        check_flag("Precomputed(assume_psd=...)", self.assume_psd)

    @property
    def proved(self) -> bool:
        """Whether no proof is needed that the matrix is positive semi-definite."""
        check_flag("Precomputed(assume_psd=...)", self.assume_psd)
        return bool(self.assume_psd)

    def names_all(self, X: Array) -> bool:
        """Whether X names all points of the matrix in their order: its values are `gram` itself."""
        gram = self._checked()
        return X.shape == (len(gram), 1) and bool((X[:, 0] == np.arange(len(gram))).all())

    def _check_pair(self, X: Array, Y: Array) -> None:
        """Allow different numbers of columns."""

    def _gram(self, X: Array, Y: Array) -> Array:
        if X.shape[1] == 1 == Y.shape[1]:
            entries: Any = np.ix_(self._numbers(X), self._numbers(Y))
            return np.asarray(self.gram[entries], dtype=np.float64)
        if Y.shape[1] == 1:
            return self._against_all(X)[:, self._numbers(Y)]
        if X.shape[1] == 1:
            return self._against_all(Y)[:, self._numbers(X)].T
        raise ValueError(
            "expected one side to name training points by their row numbers, np.arange(n)[:, None],"
            " got two sets of kernel rows: a precomputed kernel has no value between new points"
        )

    def _diagonal(self, X: Array) -> Array:
        if X.shape[1] != 1:
            raise ValueError("expected training points: k(x, x) of a new point is not known")
        numbers = self._numbers(X)
        return np.asarray(self.gram[numbers, numbers], dtype=np.float64)

    def _against_all(self, X: Array) -> Array:
        """Return X, if it can be the kernel values of new points, shape (len(X), n)."""
        if X.shape[1] != len(self._checked()):
            raise ValueError(
                f"expected kernel values against all {len(self.gram)} training points, "
                f"got {X.shape[1]} columns"
            )
        return X

    def _checked(self) -> Array:
        """Return the matrix, if it is one."""
        gram: Any = self.gram
        shape = np.shape(gram)
        if not isinstance(gram, np.ndarray) or len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(
                "expected Precomputed(gram=...) to be an array of shape (n, n), got "
                f"{type(gram).__name__} of shape {shape}"
            )
        return gram

    def _numbers(self, X: Array) -> Indices:
        """Return the training points that a column of row numbers stands for."""
        numbers = X[:, 0]
        wrong = (numbers < 0) | (numbers >= len(self._checked())) | (numbers % 1 != 0)
        if wrong.any():
            raise ValueError(
                f"expected row numbers of training points, 0 to {len(self.gram) - 1}, "
                f"got {numbers[wrong][0]:g}"
            )
        return numbers.astype(np.intp)
