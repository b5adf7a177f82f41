"""What a kernel is: a function of two sets of points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pliant._typing import Array, Between
from pliant._validation import check_points, check_real

if TYPE_CHECKING:
    from pliant.kernels.compose import Product, Scaled, Sum

__all__ = ["FunctionKernel", "Kernel"]


class Kernel(BaseEstimator, ABC):
    """A function k(x, y) of two points, evaluated on two sets of points at once.

    A subclass keeps its hyper-parameters under the names of its ``__init__`` and implements
    `_gram`. It then has ``get_params``, ``set_params`` and cloning as in scikit-learn, ``+`` and
    ``*`` with kernels, ``*`` with positive numbers, and works as ``SVC(kernel=k)``
    and ``SVR(kernel=k)``; other machines take its Gram matrix as ``kernel="precomputed"``.

    Attributes
    ----------
    symmetric : bool
        Whether k(x, y) = k(y, x).
    psd : bool
        Whether every Gram matrix is positive semi-definite.
    """

    symmetric: bool = True
    psd: bool = True

    def __call__(self, X: npt.ArrayLike, Y: npt.ArrayLike | None = None) -> Array:
        """Return k between each row of X and each row of Y (of X, if Y is None).

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array-like of shape (m, d), optional

        Returns
        -------
        array of shape (n, m), float64

        Raises
        ------
        TypeError, ValueError
            If the points are sparse, not finite numbers, not two-dimensional, or differ in d.
        """
        X = check_points(X, "X")
        Y = X if Y is None else check_points(Y, "Y")
        self._check_pair(X, Y)
        if not len(X) or not len(Y):
            return np.empty((len(X), len(Y)))
        return self._gram(X, Y)

    def _check_pair(self, X: Array, Y: Array) -> None:
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"expected Y with {X.shape[1]} features, as X, got {Y.shape[1]}")

    @abstractmethod
    def _gram(self, X: Array, Y: Array) -> Array:
        """Return k on checked points; Y may be X itself."""

    def prepared(self, points: Array) -> Between | None:
        """Return k between points of a set, made ready for many calls; None if nothing is gained.

        Parameters
        ----------
        points : array of shape (n, d)
            Checked ones.
        """
        return None

    def diag(self, X: npt.ArrayLike) -> Array:
        """Return k(x, x) for each row of X, shape (n,)."""
        X = check_points(X, "X")
        return self._diagonal(X) if len(X) else np.empty(0)

    def _diagonal(self, X: Array) -> Array:
        return np.array([self._gram(x, x)[0, 0] for x in X[:, None, :]])

    def _check_loaded(self) -> None:
        """Raise ValueError if the hyper-parameters, read from a file, cannot be a kernel's."""
        for name, value in self.get_params(deep=False).items():
            wanted = Kernel if name in ("kernel", "left", "right", "base") else object
            if not isinstance(value, wanted):
                raise ValueError(f"expected {name} to be a kernel, got {type(value).__name__}")

    def __add__(self, other: Kernel) -> Sum:
        """Return the kernel k + other."""
        from pliant.kernels.compose import Sum

        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        """Return the kernel k * other, for a kernel or a number > 0."""
        from pliant.kernels.compose import Product

        return Product(self, other) if isinstance(other, Kernel) else self.__rmul__(other)

    def __rmul__(self, other: float) -> Scaled:
        """Return the kernel other * k, for a number > 0."""
        from pliant.kernels.compose import Scaled

        if not isinstance(other, Real):
            return NotImplemented
        return Scaled(self, other)


class FunctionKernel(Kernel):
    """A user's function of two matrices, taken as a symmetric PSD kernel.

    Parameters
    ----------
    function : callable
        (n, d), (m, d) -> (n, m).
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    def _gram(self, X: Array, Y: Array) -> Array:
        try:
            gram = np.asarray(self.function(X, Y), dtype=np.float64)
        except (TypeError, ValueError) as error:
            name = getattr(self.function, "__name__", repr(self.function))
            raise ValueError(
                f"expected kernel={name} to return an array of shape "
                f"{(len(X), len(Y))} for two matrices, got {type(error).__name__}: {error}"
            ) from error
        if gram.shape != (len(X), len(Y)):
            raise ValueError(
                f"expected the kernel function to return shape {(len(X), len(Y))}, got {gram.shape}"
            )
        if not np.isfinite(gram).all():
            raise ValueError(
                "expected the kernel function to return finite numbers, got NaN or inf"
            )
        return gram


def positive(kernel: Kernel, name: str) -> float:
    """Return the hyper-parameter `name` of `kernel` if it is a finite number > 0."""
    return check_real(f"{type(kernel).__name__}({name}=...)", getattr(kernel, name), above=0)


def check_width(base: Kernel, points: Array, X: Array) -> None:
    """Raise ValueError if the points that a learned kernel keeps have other features than X."""
    try:
        base._check_pair(points, X)
    except ValueError:
        raise ValueError(
            f"expected points with {points.shape[1]} features, as the kernel's, got {X.shape[1]}"
        ) from None
