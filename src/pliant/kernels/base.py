"""The base class of all kernels, and kernels made of kernels: sums, products and the like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from itertools import chain
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from pliant.core.threads import blas_limited, one_blas_thread
from pliant.core.typing import Array, Between
from pliant.core.validation import check_finite, check_points, check_real, check_vector


class Kernel(BaseEstimator, ABC):
    """A function k(x, y) of two points, evaluated on two sets of points at once.

    A subclass keeps its hyper-parameters under the names of its ``__init__`` and implements
    `_gram`. It then has ``get_params``, ``set_params`` and cloning as in scikit-learn, ``+`` and
    ``*`` with kernels, ``*`` with positive numbers, and works wherever scikit-learn takes a
    callable kernel: ``SVC(kernel=k)``, ``KernelPCA(kernel=k)``, ``KernelRidge(kernel=k)``,
    ``Nystroem(kernel=k)``, ``SpectralClustering(affinity=k)``, ``pairwise_kernels(X, metric=k)``
    and ``GaussianProcessRegressor(kernel=k)``, which tunes none of its hyper-parameters
    (``ConstantKernel() * k + WhiteKernel()`` tunes a scale and the noise).

    Attributes
    ----------
    symmetric : bool
        Whether k(x, y) = k(y, x).
    psd : bool
        Whether every Gram matrix is positive semi-definite.
    """

    symmetric: bool = True
    psd: bool = True

    _bounded: ClassVar[bool] = False
    """Whether values are finite for all finite points."""

    requires_vector_input: ClassVar[bool] = True
    n_dims: ClassVar[int] = 0
    """For scikit-learn's Gaussian processes: points are rows of numbers, no hyper-parameters."""

    def __call__(
        self, X: npt.ArrayLike, Y: npt.ArrayLike | None = None, *, eval_gradient: bool = False
    ) -> Any:
        """Return k between each row of X and each row of Y (of X, if Y is None).

        Two single points, arrays of shape (d,), give one number. Values of many pairs come much
        faster from one call with two matrices.

        Parameters
        ----------
        X : array-like of shape (n, d), or (d,)
        Y : array-like of shape (m, d), or (d,), optional
            Needed if the kernel is not symmetric: k of one set of points is no Gram matrix then.
        eval_gradient : bool
            Whether to return the gradient in the hyper-parameters that a Gaussian process tunes as
            well, an array of shape (n, n, 0): there are none.

        Returns
        -------
        array of shape (n, m), float64; a float for two single points

        Raises
        ------
        TypeError, ValueError
            If the points are sparse, not numbers up to 1e100, of another shape, or differ in d; if
            Y is None, or X itself, and the kernel is not symmetric; or if a value is not finite.
        """
        if Y is not None and _is_point(X) and _is_point(Y):
            x, y = check_points(np.asarray(X)[None], "X"), check_points(np.asarray(Y)[None], "Y")
            return float(self._between_sets(x, y)[0, 0])
        if (Y is None or Y is X) and not self.symmetric:
            self._refuse_one_set()
        X = check_points(X, "X")
        Y = X if Y is None else check_points(Y, "Y")
        with one_blas_thread():
            gram = self._between_sets(X, Y)
        return (gram, np.empty((*gram.shape, 0))) if eval_gradient else gram

    def _between_sets(self, X: Array, Y: Array) -> Array:
        """Return k between two sets of points whose features may still differ."""
        self._check_pair(X, Y)
        if not len(X) or not len(Y):
            return np.empty((len(X), len(Y)))
        return self._finite(self._gram, X, Y)

    def _finite(self, values: Callable[..., Array], *points: Array) -> Array:
        """Return what a function of points returns, if that is finite."""
        if self._bounded:
            return values(*points)
        with np.errstate(over="ignore", invalid="ignore"):
            result = values(*points)
            if not np.isfinite(result.sum()) and not np.isfinite(result).all():
                size = max(np.abs(X).max(initial=0.0) for X in points)
                raise ValueError(
                    f"expected finite kernel values, got inf or NaN from {type(self).__name__} for "
                    f"features of a size up to {size:.3g}; scale the features"
                )
        return result

    def _refuse_one_set(self) -> None:
        """Raise ValueError: values of an asymmetric kernel among one set are no Gram matrix."""
        raise ValueError(
            "expected a symmetric kernel for one set of points, as scikit-learn's kernel methods "
            f"need it, got {type(self).__name__}, which is not symmetric; call k(X, X.copy())"
        )

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

    @blas_limited
    def diag(self, X: npt.ArrayLike) -> Array:
        """Return k(x, x) for each row of X, shape (n,)."""
        X = check_points(X, "X")
        return self._finite(self._diagonal, X) if len(X) else np.empty(0)

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
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        """Return the kernel k * other, for a kernel or a number > 0."""
        return Product(self, other) if isinstance(other, Kernel) else self.__rmul__(other)

    def __rmul__(self, other: float) -> Scaled:
        """Return the kernel other * k, for a number > 0."""
        if not isinstance(other, Real):
            return NotImplemented
        return Scaled(self, other)

    hyperparameters: ClassVar[list[Any]] = []
    bounds: ClassVar[Array] = np.empty((0, 2))
    """Hyper-parameters that a Gaussian process tunes, and their bounds: none."""

    @property
    def theta(self) -> Array:
        """The values of hyper-parameters that a Gaussian process tunes, shape (0,)."""
        return np.empty(0)

    @theta.setter
    def theta(self, theta: npt.ArrayLike) -> None:
        if np.size(theta):
            raise ValueError(f"expected theta of shape (0,), got {np.shape(theta)}")

    def clone_with_theta(self, theta: npt.ArrayLike) -> Self:
        """Return a copy; theta has shape (0,)."""
        copy: Self = clone(self)
        copy.theta = np.asarray(theta)
        return copy

    def is_stationary(self) -> bool:
        """Return whether k depends on x - y alone; not known, so False."""
        return False


GaussianProcessKernel.register(Kernel)  # accepted by its kernels, and by `pairwise_kernels`


def _is_point(X: npt.ArrayLike) -> bool:
    """Return whether this is one point: an array of shape (d,)."""
    try:
        return np.ndim(X) == 1
    except ValueError:  # rows of different lengths, which `check_points` explains
        return False


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
        return gram


class _Wrapped(Kernel):
    """A kernel made of others, the parameters `_parts`; symmetric and PSD if all of them are."""

    kernel: Kernel
    _parts: ClassVar[tuple[str, ...]] = ("kernel",)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether all inner kernels are symmetric."""
        return all(getattr(self, part).symmetric for part in self._parts)

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether all inner kernels are positive semi-definite."""
        return all(getattr(self, part).psd for part in self._parts)

    def _check_pair(self, X: Array, Y: Array) -> None:
        for part in self._parts:
            getattr(self, part)._check_pair(X, Y)


class _Pair(_Wrapped):
    """A kernel made of two."""

    _parts = ("left", "right")

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right


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
        if not (np.isfinite(diagonal) & (diagonal > 0)).all():
            row = int(np.argmin(np.where(np.isfinite(diagonal), diagonal, -np.inf)))
            raise ValueError(
                f"expected finite k(x, x) > 0 to normalise a kernel, got {diagonal[row]:g} at row "
                f"{row}; add a constant to the kernel"
            )
        return np.sqrt(diagonal)


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
        return np.asarray((X - offset) / width)

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self.rescale(X)
        return self.kernel._gram(left, left if Y is X else self.rescale(Y))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(self.rescale(X))


def parameters(kernel: Kernel) -> dict[str, Any]:
    """Return ``get_params(deep=False)``, which reads the signature of the class each time."""
    return {name: getattr(kernel, name) for name in _parameter_names(type(kernel))}


@cache
def _parameter_names(kind: type[Kernel]) -> list[str]:
    return list(kind._get_param_names())


def made_of(kernel: Kernel, *kinds: type[Kernel]) -> bool:
    """Whether a kernel, or one of those that it is made of, is of one of some kinds."""
    values = parameters(kernel).values()
    parts = chain.from_iterable(v if isinstance(v, list | tuple) else (v,) for v in values)
    inner = (part for part in parts if isinstance(part, Kernel))
    return isinstance(kernel, kinds) or any(made_of(part, *kinds) for part in inner)


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


def check_expansion(model: Any, name: str) -> None:
    """Raise ValueError unless attributes that a file held form an expansion in support points.

    `name` is the attribute of the coefficients; the width is that of a Gram matrix if `kernel_` is
    None.
    """
    rows, kernel = model.n_features_in_, model.kernel_
    if kernel is not None:
        rows = len(check_points(model.support_vectors_, "support_vectors_", rows))
        if not isinstance(kernel, Kernel):
            raise ValueError(f"expected a kernel, got {type(kernel).__name__}")
    shape = np.shape(getattr(model, name))
    if shape[:1] != (rows,) or len(shape) > 2:
        raise ValueError(f"expected {rows} rows in {name}, got shape {shape}")
    if np.shape(model.intercept_) not in ((), shape[1:]):
        raise ValueError(f"expected an intercept_ for each output in {name}")
    check_finite(model, (name, "intercept_"))
