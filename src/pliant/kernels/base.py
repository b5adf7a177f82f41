"""The base class of all kernels, and composite kernels, such as sums and products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.blocks import row_blocks
from pliant.core.estimators import BaseEstimator, clone
from pliant.core.form import Entry, Object, SavedForm, Sizes, numbers
from pliant.core.parameters import check_real
from pliant.core.sparse import as_csr, is_sparse, scale_columns
from pliant.core.text import listed, one_line, printable
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Between
from pliant.core.validation import check_kernel_values, check_points, check_vector
from pliant.kernels.columns import column_array, column_positions


class Kernel(BaseEstimator, ABC):
    """Base class of kernels: functions k(x, y) of two points, evaluated on two sets of points.

    A subclass stores the parameters of its ``__init__`` under their names and implements `_gram`.
    Kernels support ``get_params``, ``set_params``, `sklearn.base.clone`, ``+`` and ``*`` with other
    kernels, and ``*`` with positive numbers. Scikit-learn accepts them as callable kernels, as in
    ``SVC(kernel=k)``, ``KernelPCA(kernel=k)``, ``KernelRidge(kernel=k)``, ``Nystroem(kernel=k)``,
    ``SpectralClustering(affinity=k)`` and ``pairwise_kernels(X, metric=k)``.
    ``GaussianProcessRegressor(kernel=k)`` tunes no hyper-parameters of k; with
    ``kernel=ConstantKernel() * k + WhiteKernel()``, it tunes a scale and the noise level.

    Remove samples of weight zero before ``SVC(kernel=k).fit``. With a kernel function or matrix,
    ``SVC``, ``SVR`` and ``OneClassSVM`` of scikit-learn 1.9 mix up the samples after a
    sample of weight zero. The support vector machines of pliant accept such samples.

    Attributes
    ----------
    symmetric : bool
        True if k(x, y) = k(y, x).
    psd : bool
        True if every Gram matrix is positive semi-definite. Fits do not test it: a subclass without
        this property sets it to False.
    takes_sparse : bool
        True if points may be rows of a sparse matrix, which `_gram` then gets as CSR arrays.
    """

    symmetric: bool = True
    psd: bool = True
    takes_sparse: bool = False

    _bounded: ClassVar[bool] = False
    """True if kernel values are finite for all finite points."""

    requires_vector_input: ClassVar[bool] = True
    n_dims: ClassVar[int] = 0
    """Read by scikit-learn's Gaussian processes: vector input, no hyper-parameters to tune."""

    @blas_limited
    def __call__(
        self, X: npt.ArrayLike, Y: npt.ArrayLike | None = None, *, eval_gradient: bool = False
    ) -> Any:
        """Return the kernel matrix of X and Y, or of X and X if Y is None.

        One call with two matrices is much faster than many calls with two points. Raise TypeError
        for sparse points unless `takes_sparse`, and ValueError for other invalid points, or kernel
        values beyond 1e75.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or array-like of shape (d,)
            Numbers up to 1e100 in absolute value.
        Y : array-like or sparse matrix of shape (m, d), or array-like of shape (d,), optional
            Required for an asymmetric kernel, whose values on one set do not form a Gram matrix.
        eval_gradient : bool
            If True, also return the gradient with respect to the tuned hyper-parameters, an empty
            array of shape (n, n, 0), as Gaussian processes require.

        Returns
        -------
        array of shape (n, m), float64, or a float for two single points
        """
        self._check_kernels()
        if Y is not None and _is_point(X) and _is_point(Y):
            x, y = check_points(np.asarray(X)[None], "X"), check_points(np.asarray(Y)[None], "Y")
            return float(self._between_sets(x, y)[0, 0])
        if (Y is None or Y is X) and not self.symmetric:
            self._refuse_one_set()
        one_set = Y is None
        X = self._checked_points(X, "X")
        Y = X if one_set else self._checked_points(Y, "Y")
        gram = self._between_sets(X, Y)
        return (gram, np.empty((*gram.shape, 0))) if eval_gradient else gram

    def _between_sets(self, X: Array, Y: Array) -> Array:
        """Return the kernel matrix of checked X and Y, whose numbers of columns may differ."""
        self._check_pair(X, Y)
        if not X.shape[0] or not Y.shape[0]:
            return np.empty((X.shape[0], Y.shape[0]))
        if is_sparse(X) is not is_sparse(Y):
            X, Y = as_csr(X), as_csr(Y)
        return self._finite(self._gram(X, Y))

    def _checked_points(self, X: Any, name: str) -> Array:
        """Return points as a float64 array, or as a CSR array if they are sparse."""
        if is_sparse(X) and not self.takes_sparse:
            raise TypeError(
                f"expected {name} to be a dense array for {short_name(self)}, got a sparse one: "
                f"use {name}.toarray(), or fewer features by sklearn.decomposition.TruncatedSVD"
            )
        return check_points(X, name, sparse=True)

    def _finite(self, values: Array) -> Array:
        """Return kernel values; raise ValueError if one is NaN or beyond 1e75."""
        return values if self._bounded else check_kernel_values(values, self)

    def _refuse_one_set(self) -> None:
        """Raise ValueError for an asymmetric kernel on one set of points."""
        raise ValueError(
            "expected a symmetric kernel for one set of points, as in scikit-learn's kernel "
            f"methods, got {type(self).__name__}, which is not symmetric; call k(X, X.copy())"
        )

    def _check_pair(self, X: Array, Y: Array) -> None:
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"expected Y with {X.shape[1]} features, as in X, got {Y.shape[1]}")

    @abstractmethod
    def _gram(self, X: Array, Y: Array) -> Array:
        """Return the kernel matrix of checked points; Y may be X itself."""

    def prepared(self, points: Array) -> Between | None:
        """Return a fast function from row numbers of checked `points` to kernel values, or None."""
        return None

    @blas_limited
    def diag(self, X: npt.ArrayLike) -> Array:
        """Return k(x, x) for each row of X, shape (n,)."""
        self._check_kernels()
        X = self._checked_points(X, "X")
        return self._finite(self._diagonal(X)) if X.shape[0] else np.empty(0)

    def _diagonal(self, X: Array) -> Array:
        rows = (X[i : i + 1] for i in range(X.shape[0]))
        return np.array([self._gram(x, x)[0, 0] for x in rows])

    def _check_kernels(self) -> None:
        """Raise ValueError unless the parameters that hold kernels do."""
        for name in ("kernel", "left", "right", "base"):
            value = vars(self).get(name, self)
            if not isinstance(value, Kernel):
                place = f"{type(self).__name__}({name}=...)"
                raise ValueError(f"expected {place} to be a kernel, got {one_line(value, 200)}")
            if value is not self:
                value._check_kernels()

    def _check_loaded(self) -> None:
        """Raise ValueError if hyper-parameters loaded from a file are invalid."""
        self._check_kernels()

    def __add__(self, other: Kernel) -> Sum:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        return Product(self, other) if isinstance(other, Kernel) else self.__rmul__(other)

    def __rmul__(self, other: float) -> Scaled:
        if not isinstance(other, Real):
            return NotImplemented
        return Scaled(self, other)

    hyperparameters: ClassVar[list[Any]] = []
    bounds: ClassVar[Array] = np.empty((0, 2))
    """Empty, as Gaussian processes tune no hyper-parameters of the kernel."""

    @property
    def theta(self) -> Array:
        """Values of the tuned hyper-parameters, shape (0,)."""
        return np.empty(0)

    @theta.setter
    def theta(self, theta: npt.ArrayLike) -> None:
        if np.size(theta):
            raise ValueError(f"expected theta of shape (0,), got {np.shape(theta)}")

    def clone_with_theta(self, theta: npt.ArrayLike) -> Self:
        """Return a clone; theta must have shape (0,)."""
        copy: Self = clone(self)
        copy.theta = np.asarray(theta)
        return copy

    def is_stationary(self) -> bool:
        """Return False, as k need not be a function of x - y."""
        return False


if not process.BARE:
    from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

    GaussianProcessKernel.register(Kernel)  # for its sums and products and `pairwise_kernels`


def _add_multiple(total: Array, factor: float, matrix: Array) -> None:
    """Add a multiple of a matrix in place; products of a few rows at a time take little memory."""
    for rows in row_blocks(len(total), total.shape[1], 65_536):
        total[rows] += factor * matrix[rows]


def _is_point(X: npt.ArrayLike) -> bool:
    try:
        return np.ndim(X) == 1
    except ValueError:  # rows of different lengths, which `check_points` reports
        return False


class FunctionKernel(Kernel):
    """Kernel from a user's function of two matrices, assumed to be symmetric and PSD.

    Parameters
    ----------
    function : callable
        Maps arrays of shapes (n, d) and (m, d) to an array of shape (n, m).
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    def _gram(self, X: Array, Y: Array) -> Array:
        shape = (len(X), len(Y))
        try:
            gram = np.asarray(self.function(X, Y), dtype=np.float64)
        except (TypeError, ValueError) as error:
            name = getattr(self.function, "__name__", repr(self.function))
            raise ValueError(
                f"expected kernel={name} to return an array of shape {shape} for two matrices, got "
                f"{type(error).__name__}: {error}"
            ) from error
        if gram.shape != shape:
            raise ValueError(
                f"expected the kernel function to return shape {shape}, got {gram.shape}"
            )
        return gram


class _Wrapped(Kernel):
    """Base class of kernels composed of the kernels in the parameters `_parts`."""

    kernel: Kernel
    _parts: ClassVar[tuple[str, ...]] = ("kernel",)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """True if all inner kernels are symmetric."""
        return all(getattr(self, part).symmetric for part in self._parts)

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """True if all inner kernels are positive semi-definite."""
        return all(getattr(self, part).psd for part in self._parts)

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """True if all inner kernels take sparse points."""
        parts = (getattr(self, part) for part in self._parts)
        return all(getattr(part, "takes_sparse", False) for part in parts)

    def _check_pair(self, X: Array, Y: Array) -> None:
        for part in self._parts:
            getattr(self, part)._check_pair(X, Y)


class _Pair(_Wrapped):
    """Base class of kernels composed of two kernels, whose values `_combine` adds or multiplies."""

    _parts = ("left", "right")
    _combine: ClassVar[np.ufunc]

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def _gram(self, X: Array, Y: Array) -> Array:
        return self._combine(self.left._gram(X, Y), self.right._gram(X, Y))

    def _diagonal(self, X: Array) -> Array:
        return self._combine(self.left._diagonal(X), self.right._diagonal(X))


class Sum(_Pair):
    """The sum of two kernels, k(x, y) = left(x, y) + right(x, y)."""

    _combine = np.add


class Product(_Pair):
    """The product of two kernels, k(x, y) = left(x, y) right(x, y)."""

    _combine = np.multiply


class Scaled(_Wrapped):
    """k(x, y) = scale * kernel(x, y).

    Parameters
    ----------
    kernel : Kernel
    scale : float, default=1.0
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
        kernel(x, x) must be positive.
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
            worst = np.where(np.isfinite(diagonal), diagonal, -np.inf).argmin()
            raise ValueError(
                f"expected finite k(x, x) > 0 for a normalised kernel, got {diagonal[worst]:g}; "
                "add a constant to the kernel"
            )
        return np.sqrt(diagonal)


class Rescaled(_Wrapped):
    """k(x, y) = kernel((x - offset)/width, (y - offset)/width).

    Parameters
    ----------
    kernel : Kernel
    offset : float or array-like of shape (d,), default=0.0
    width : float or array-like of shape (d,), default=1.0
        != 0.
    """

    _form: ClassVar[SavedForm] = {"offset, width": numbers("features", scalar=True)}

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
        if not is_sparse(X):
            return np.asarray((X - offset) / width)
        if offset.any():
            raise ValueError("expected offset=0 for sparse points, which a shift would make dense")
        scaled: Array = scale_columns(X, 1.0 / width)
        return scaled

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self.rescale(X)
        return self.kernel._gram(left, left if Y is X else self.rescale(Y))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(self.rescale(X))


class On(_Wrapped):
    """A kernel on selected columns: k(x, y) = kernel(x[columns], y[columns]).

    Estimators replace column names by positions in the training data frame; `resolved` does the
    same for a list of names. Evaluating a kernel with unresolved names raises ValueError.

    Parameters
    ----------
    kernel : Kernel
        A kernel on the selected columns, in the given order.
    columns : int, str, slice or array-like
        Positions (negative ones count from the end), a slice of int, a boolean mask, or names. At
        least one column, without duplicates.

    Examples
    --------
    >>> from pliant.kernels import Gaussian, Linear, On
    >>> kernel = On(Gaussian(0.5), [0, 2]) + On(Linear(), -1)
    >>> float(kernel([[1.0, 7.0, 2.0]], [[1.0, 8.0, 2.0]])[0, 0])
    5.0
    >>> On(Linear(), ["height"]).resolved(["age", "height"], 2).columns
    array([1])
    """

    _form: ClassVar[SavedForm] = {"columns": lambda _, columns: column_array(columns)}

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns

    def resolved(self, feature_names: Sequence[str] | None, n_features: int) -> On:
        """Return a copy with column positions >= 0; see `resolve_columns`."""
        names = None if feature_names is None else [str(name) for name in feature_names]
        if names is not None and len(names) != n_features:
            raise ValueError(f"expected {n_features} feature names, got {len(names)}")
        positions = column_positions(self.columns, n_features, names)
        chosen = None if names is None else [names[position] for position in positions]
        return type(self)(resolve_columns(self.kernel, chosen, len(positions)), positions)

    def prepared(self, points: Array) -> Between | None:
        """Return `kernel.prepared` for the selected columns."""
        return self.kernel.prepared(self._select(points))

    def _check_pair(self, X: Array, Y: Array) -> None:
        Kernel._check_pair(self, X, Y)
        left = self._select(X)
        self.kernel._check_pair(left, left if Y is X else self._select(Y))

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self._select(X)
        return self.kernel._gram(left, left if Y is X else self._select(Y))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(self._select(X))

    def _select(self, X: Array) -> Array:
        return X[:, column_positions(self.columns, X.shape[1])]


class WeightedSum(Kernel):
    """k(x, y) = sum_m weights[m] kernels[m](x, y).

    Kernels with weight zero are not evaluated. The sum is symmetric if all kernels are. It is
    positive semi-definite if all kernels are and no weight is negative.

    Parameters
    ----------
    kernels : list or tuple of Kernel
        At least one.
    weights : float or array-like of shape (n_kernels,)
        Finite weights; a float applies to every kernel.

    Examples
    --------
    >>> from pliant.kernels import Gaussian, Linear, WeightedSum
    >>> kernel = WeightedSum([Gaussian(0.5), Linear()], [0.75, 0.25])
    >>> float(kernel([[1.0, 2.0]])[0, 0])
    2.0
    >>> kernel
    WeightedSum(0.75 Gaussian(gamma=0.5) + 0.25 Linear)
    """

    _form: ClassVar[SavedForm] = {
        "kernels": Object(Kernel, axis="kernels"),
        "weights": numbers("kernels", scalar=True),
    }

    def __init__(self, kernels: Sequence[Kernel], weights: npt.ArrayLike) -> None:
        self.kernels = kernels
        self.weights = weights

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """True if all kernels are symmetric."""
        return all(kernel.symmetric for kernel, _ in self._terms())

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """True if all kernels are positive semi-definite and no weight is negative."""
        return all(kernel.psd and weight >= 0 for kernel, weight in self._terms())

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """True if all kernels take sparse points."""
        kernels = self.kernels if isinstance(self.kernels, list | tuple) else [None]
        return all(getattr(kernel, "takes_sparse", False) for kernel in kernels)

    def _terms(self) -> list[tuple[Kernel, float]]:
        """Return the validated (kernel, weight) pairs."""
        kernels = self.kernels
        if not isinstance(kernels, list | tuple) or not kernels:
            raise ValueError(
                f"expected WeightedSum(kernels=...) to be a list of at least one kernel, got "
                f"{kernels!r:.200}"
            )
        for place, kernel in enumerate(kernels):
            if not isinstance(kernel, Kernel):
                got = f"{one_line(kernel, 200)} as kernels[{place}]"
                raise ValueError(f"expected WeightedSum(kernels=...) to contain kernels, got {got}")
        weights = check_vector("WeightedSum(weights=...)", self.weights, len(kernels))
        return list(zip(kernels, weights.tolist(), strict=True))

    def _check_kernels(self) -> None:
        for kernel, _ in self._terms():
            kernel._check_kernels()

    def _check_pair(self, X: Array, Y: Array) -> None:
        for kernel, _ in self._terms():
            kernel._check_pair(X, Y)

    def _gram(self, X: Array, Y: Array) -> Array:
        gram = np.zeros((X.shape[0], Y.shape[0]))
        for kernel, weight in self._terms():
            if weight:
                _add_multiple(gram, weight, kernel._gram(X, Y))
        return gram

    def _diagonal(self, X: Array) -> Array:
        diagonal = np.zeros(X.shape[0])
        for kernel, weight in self._terms():
            if weight:
                diagonal += weight * kernel._diagonal(X)
        return diagonal

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        try:
            terms = sorted(self._terms(), key=lambda term: -abs(term[1]))
        except (ValueError, AttributeError):
            return super().__repr__(N_CHAR_MAX)
        shown = [f"{weight:.3g} {short_name(kernel)}" for kernel, weight in terms[:3]]
        shown += [f"{len(terms) - 3} more"] if len(terms) > 3 else []
        return f"WeightedSum({' + '.join(shown)})"


def resolve_columns(kernel: Kernel, feature_names: Sequence[str] | None, n_features: int) -> Kernel:
    """Return a kernel in which each nested `On` has column positions >= 0.

    A kernel without `On` is returned as is. Raise ValueError if a column is unknown.

    Parameters
    ----------
    kernel : Kernel
        Not modified.
    feature_names : sequence of str of length n_features, or None
        Column names, if known.
    n_features : int
        Number of columns in the points.

    Examples
    --------
    >>> from pliant.kernels import Gaussian, Linear, On
    >>> from pliant.kernels.base import resolve_columns
    >>> kernel = On(Gaussian(), ["age"]) + On(Linear(), slice(1, None))
    >>> known = resolve_columns(kernel, ["height", "weight", "age"], 3)
    >>> known.left.columns, known.right.columns
    (array([2]), array([1, 2]))
    """
    if isinstance(kernel, On):
        return kernel.resolved(feature_names, n_features)

    def known(part: Any) -> Any:
        if isinstance(part, Kernel):
            return resolve_columns(part, feature_names, n_features)
        if isinstance(part, list | tuple) and any(isinstance(item, Kernel) for item in part):
            items = [known(item) for item in part]
            same = all(new is old for new, old in zip(items, part, strict=True))
            return part if same else items
        return part

    parts = parameters(kernel)
    changed = {name: known(part) for name, part in parts.items()}
    if all(changed[name] is part for name, part in parts.items()):
        return kernel
    return type(kernel)(**changed)


def short_name(kernel: Kernel, feature_names: Sequence[str] | None = None) -> str:
    """Return a kernel's name, ignoring scaling, such as "Gaussian(gamma=0.5) of petal length"."""
    if isinstance(kernel, Normalized | Scaled | Rescaled):
        return short_name(kernel.kernel, feature_names)
    if isinstance(kernel, On):
        columns = np.atleast_1d(kernel.columns)
        known = [printable(j if feature_names is None else feature_names[j]) for j in columns]
        noun = "feature " if len(columns) == 1 else "features "
        word = noun if feature_names is None else ""
        return f"{short_name(kernel.kernel)} of {word}{listed(known)}"
    if isinstance(kernel, FunctionKernel):
        return printable(getattr(kernel.function, "__name__", "function"), 60)
    shown = []  # numbers and strings: the first parameter, and non-default values of others
    for place, each in enumerate(_signature(type(kernel))):
        value = getattr(kernel, each.name)
        if isinstance(value, str | float | int) and (place == 0 or value != each.default):
            text = f"{value:.3g}" if isinstance(value, float) else printable(value)
            shown.append(f"{each.name}={text}")
    name = type(kernel).__name__ + (f"({', '.join(shown)})" if shown else "")
    return name if len(name) <= 60 else name[:57] + "..."


def short_names(kernels: Sequence[Kernel], feature_names: Sequence[str] | None = None) -> list[str]:
    """Return the short names of kernels; append the position to repeated names."""
    names = [short_name(kernel, feature_names) for kernel in kernels]
    times = Counter(names)
    return [name if times[name] == 1 else f"{name} [{m}]" for m, name in enumerate(names)]


def parameters(kernel: Kernel) -> dict[str, Any]:
    """Return ``get_params(deep=False)``, using a cached signature."""
    return {each.name: getattr(kernel, each.name) for each in _signature(type(kernel))}


@cache
def _signature(kind: type[Kernel]) -> list[Parameter]:
    return list(signature(kind).parameters.values())


def made_of(kernel: Kernel, *kinds: type[Kernel]) -> bool:
    """Return True if a kernel or any nested kernel is an instance of `kinds`."""
    queue: list[Any] = [kernel]
    for part in queue:
        if isinstance(part, kinds):
            return True
        if isinstance(part, Kernel):
            queue.extend(parameters(part).values())
        elif isinstance(part, list | tuple):
            queue.extend(part)
    return False


@dataclass(eq=False, repr=False)
class KernelOn(Entry):
    """The form of a kernel that takes the points in the attribute `points`."""

    points: str
    optional: bool = False

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Check that a value is a kernel."""
        Object(Kernel).check(name, value, sizes)

    def relate(self, name: str, value: Any, record: Any, sizes: Sizes) -> None:
        """Check that the kernel takes the points."""
        points: Any = getattr(record, self.points)
        if is_sparse(points) and not value.takes_sparse:
            raise ValueError(f"expected dense points for {short_name(value)}, got a sparse array")
        if value.symmetric:
            points = points if is_sparse(points) else np.asarray(points)
            value._check_pair(points, points)


def positive(kernel: Kernel, name: str) -> float:
    """Return the hyper-parameter `name` of `kernel`; raise ValueError unless finite and > 0."""
    return check_real(f"{type(kernel).__name__}({name}=...)", getattr(kernel, name), above=0)
