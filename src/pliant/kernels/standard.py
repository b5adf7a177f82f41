"""Predefined kernels, given by a formula, a name or a precomputed matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import row_blocks
from pliant.core.distances import cdist
from pliant.core.estimators import clone
from pliant.core.exponential import exponentials
from pliant.core.form import Part, SavedForm, numbers
from pliant.core.parameters import (
    MODERATE,
    check_choice,
    check_flag,
    check_integer,
    check_real,
)
from pliant.core.sparse import (
    absolute_distances,
    column_ends,
    inner_products,
    is_sparse,
    row_squares,
    scale_columns,
    squared_distances,
    variance,
)
from pliant.core.text import one_line
from pliant.core.typing import Array, Between, Columns, Indices
from pliant.core.validation import (
    check_gram,
    check_kernel_values,
    check_points,
    check_vector,
    in_memory,
)
from pliant.kernels.base import FunctionKernel, Kernel, positive, resolve_columns

KernelLike: TypeAlias = str | Kernel | Callable[..., Any]
Gamma: TypeAlias = float | Literal["scale", "auto"]
"""Types of the estimator parameters ``kernel`` and ``gamma``; see `as_kernel`."""

FARTHEST = 1e-10 / np.finfo(np.float64).eps
"""Maximum exponent gamma |x|^2; its absolute error is about 1e-10."""

TILE_ROWS, TILE_ENTRIES = 128, 100_000
"""Maximum number of rows and values in a tile, which should fit in L2 cache."""


class _Stationary(Kernel):
    """Base class of kernels with k(x, x) = 1, and a common gamma or one per feature."""

    _form: ClassVar[SavedForm] = {"gamma": numbers("features", scalar=True)}

    gamma: float | npt.ArrayLike
    takes_sparse = True
    _bounded = True
    _power: ClassVar[float] = 0.5
    """Scaling a feature by c is equivalent to scaling its gamma by c^(1/power)."""

    def _isotropic(self, X: Array, Y: Array) -> tuple[Array, Array, float]:
        """Return X and Y scaled for a common gamma, and that gamma: the largest of all features."""
        gamma, shares = self._shares(X.shape[1])
        if shares is None:
            return X, Y, gamma
        factors = shares**self._power
        left = scale_columns(X, factors)
        return left, left if Y is X else scale_columns(Y, factors), gamma

    def _shares(self, n_features: int) -> tuple[float, Array | None]:
        """Return the largest gamma, and the ratio of each gamma to it (None for a scalar gamma)."""
        if isinstance(self.gamma, str) or not hasattr(self.gamma, "__len__"):
            return positive(self, "gamma"), None
        name = f"{type(self).__name__}(gamma=...)"
        each = check_vector(name, self.gamma, n_features)
        if (each < 0).any():
            place = int(np.argmin(each))
            raise ValueError(f"expected {name} >= 0, got {each[place]} for feature {place}")
        largest = float(each.max(initial=0.0))
        if largest == 0:
            raise ValueError(f"expected {name} > 0 for at least one feature, got all zeros")
        return largest, each / largest

    def _check_loaded(self) -> None:
        self._shares(np.size(self.gamma))

    def _diagonal(self, X: Array) -> Array:
        return np.ones(X.shape[0])


class Gaussian(_Stationary):
    """k(x, y) = exp(-gamma |x - y|^2), or exp(-sum_j gamma_j (x_j - y_j)^2).

    Parameters
    ----------
    gamma : float or array-like of shape (n_features,), default=1.0
        1/(2 sigma^2), > 0, or one value per feature. Features with gamma 0 are ignored; at least
        one gamma must be positive.

    Examples
    --------
    >>> from pliant.kernels import Gaussian
    >>> Gaussian([0.5, 0.0])([[0.0, 1.0]], [[2.0, 7.0]]).round(3)  # exp(-0.5 2^2)
    array([[0.135]])
    """

    def __init__(self, gamma: float | npt.ArrayLike = 1.0) -> None:
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        X, Y, gamma = self._isotropic(X, Y)
        if is_sparse(X):
            return exponentials(squared_distances(X, Y), -gamma)
        centre = Y.mean(axis=0)
        right = Exponents(Y, centre, gamma)
        same = X is Y or np.array_equal(X, Y)  # so that a copy gives identical values
        left = right if same else Exponents(X, centre, gamma)
        if not max(left.reach, right.reach) <= FARTHEST:
            return exponentials(cdist(X, Y, "sqeuclidean"), -gamma)
        return left.gram() if same else left.cross_gram(right)

    def prepared(self, points: Array) -> Between | None:
        """Return a fast kernel function, or None for a subclass or inaccurate exponents."""
        if type(self)._gram is not Gaussian._gram or is_sparse(points):
            return None
        points, _, gamma = self._isotropic(points, points)
        whole = Exponents(points, points.mean(axis=0), gamma)
        return whole.between if whole.reach <= FARTHEST else None


class Laplacian(_Stationary):
    """k(x, y) = exp(-gamma |x - y|_1), or exp(-sum_j gamma_j abs(x_j - y_j)).

    The profile "laplacian" of LAB-RBF has the Euclidean norm instead: it is `Matern` with nu = 1/2.

    Parameters
    ----------
    gamma : float or array-like of shape (n_features,), default=1.0
        > 0, or one value per feature, >= 0 and not all 0.
    """

    _power = 1.0

    def __init__(self, gamma: float | npt.ArrayLike = 1.0) -> None:
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        X, Y, gamma = self._isotropic(X, Y)
        return exponentials(_absolute_distances(X, Y), -gamma)


class Matern(_Stationary):
    """The Matern kernel of smoothness nu, with r = sqrt(4 nu sum_j gamma_j (x_j - y_j)^2).

    k = exp(-r) for nu = 1/2, (1 + r) exp(-r) for 3/2, and (1 + r + r^2/3) exp(-r) for 5/2. As nu
    grows, k tends to the Gaussian with the same gamma.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=2.5
        Smoothness: functions in the RKHS are nu - 1/2 times differentiable.
    gamma : float or array-like of shape (n_features,), default=1.0
        > 0, or one value per feature, >= 0 and not all 0.
    """

    def __init__(self, nu: float = 2.5, gamma: float | npt.ArrayLike = 1.0) -> None:
        self.nu = nu
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        if check_real("Matern(nu=...)", self.nu) not in (0.5, 1.5, 2.5):
            raise ValueError(f"expected Matern(nu=...) in [0.5, 1.5, 2.5], got {self.nu!r}")
        X, Y, gamma = self._isotropic(X, Y)
        r = np.sqrt(squared_distances(X, Y)) if is_sparse(X) else cdist(X, Y, "euclidean")
        r *= np.sqrt(4.0 * self.nu * gamma)
        if self.nu == 0.5:
            return exponentials(r, -1.0)
        # the polynomial factor of exp(-r), in one more array: 1 + r or 1 + r (1 + r/3)
        factor = r + 1.0 if self.nu == 1.5 else r / 3.0
        if self.nu == 2.5:
            factor += 1.0
            factor *= r
            factor += 1.0
        gram = exponentials(r, -1.0)
        gram *= factor
        return gram


class TL1(Kernel):
    """The truncated 1-norm kernel k(x, y) = max(rho - |x - y|_1, 0). Not PSD.

    Parameters
    ----------
    rho : float, default=1.0
        > 0. The literature scales features to [0, 1] and sets rho to 0.7 times their number.
    """

    psd = False
    takes_sparse = True

    def __init__(self, rho: float = 1.0) -> None:
        self.rho = rho

    def _gram(self, X: Array, Y: Array) -> Array:
        return np.maximum(positive(self, "rho") - _absolute_distances(X, Y), 0.0)

    def _diagonal(self, X: Array) -> Array:
        return np.full(X.shape[0], positive(self, "rho"))


def _absolute_distances(X: Array, Y: Array) -> Array:
    """Compute |x - y|_1 between the rows of X and Y."""
    return absolute_distances(X, Y) if is_sparse(X) else cdist(X, Y, "cityblock")


class Exponents:
    """Points augmented so that -gamma |x - y|^2 = (2 gamma x, -a, 1)'(y, 1, -b).

    `right` is (y, 1, -b), shape (n, d + 2), with a = gamma |x|^2 and b = gamma |y|^2. `reach` is
    the largest b. Subtracting `centre` from the points reduces rounding errors.
    """

    gamma: float
    right: npt.NDArray[Any]

    def __init__(self, points: Array, centre: Array, gamma: float) -> None:
        n, d = points.shape
        self.gamma, self.right = gamma, np.ones((n, d + 2))
        centred = np.subtract(points, centre, out=self.right[:, :d])
        sizes = gamma * np.einsum("ij,ij->i", centred, centred)
        np.negative(sizes, out=self.right[:, -1])
        self.reach: float = float(sizes.max(initial=0.0))

    def left(self, rows: Columns) -> Array:
        """Return (2 gamma x, -a, 1) for the given rows."""
        chosen = self.right[rows]
        left = 2.0 * self.gamma * chosen
        left[:, -2], left[:, -1] = chosen[:, -1], 1.0
        return left

    def between(self, rows: Indices, columns: Columns) -> Array:
        """Return the kernel values between two sets of rows."""
        return exponentials(self.left(rows) @ self.right[columns].T)

    def gram(self) -> Array:
        """Return the kernel values between all points."""
        points, sizes = self.right[:, :-2], -self.right[:, -1]
        gram = np.asarray(points @ points.T)  # a symmetric product takes half the time
        # exponents 2 gamma x'y - a - b
        for rows in row_blocks(len(gram), len(gram), TILE_ENTRIES):
            tile = gram[rows]
            tile *= 2.0 * self.gamma
            tile -= sizes[rows, None]
            tile -= sizes
            exponentials(tile)
        np.fill_diagonal(gram, 1.0)
        return gram

    def cross_gram(self, others: Exponents) -> Array:
        """Return the kernel values between these points and others."""
        gram = np.empty((len(self.right), len(others.right)))
        width = max(1, TILE_ENTRIES // max(1, min(len(gram), TILE_ROWS)))
        for top in range(0, len(gram), TILE_ROWS):
            left = self.left(slice(top, top + TILE_ROWS))
            for start in range(0, gram.shape[1], width):
                tile = left @ others.right[start : start + width].T
                gram[top : top + TILE_ROWS, start : start + width] = exponentials(tile)
        return gram


class _InnerProduct(Kernel):
    """Base class of kernels that are functions of x'y."""

    takes_sparse = True

    def _gram(self, X: Array, Y: Array) -> Array:
        return self._values(inner_products(X, Y) if is_sparse(X) else X @ Y.T)

    def _diagonal(self, X: Array) -> Array:
        return self._values(row_squares(X))

    def _values(self, inner: Array) -> Array:
        """Convert inner products to kernel values, in place."""
        return inner


class Linear(_InnerProduct):
    """k(x, y) = x'y."""


class Polynomial(_InnerProduct):
    """k(x, y) = (gamma x'y + coef0)^degree.

    Parameters
    ----------
    degree : int, default=3
        >= 1.
    gamma : float, default=1.0
        > 0.
    coef0 : float, default=1.0
        >= 0, which makes the kernel PSD.
    """

    def __init__(self, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _values(self, inner: Array) -> Array:
        degree = check_integer("Polynomial(degree=...)", self.degree, least=1)
        coef0 = check_real("Polynomial(coef0=...)", self.coef0, least=0)
        inner *= positive(self, "gamma")
        inner += coef0
        inner **= degree
        return inner


class Sigmoid(_InnerProduct):
    """k(x, y) = tanh(gamma x'y + coef0). Not PSD.

    Parameters
    ----------
    gamma : float, default=1.0
        > 0.
    coef0 : float, default=1.0
    """

    psd = False

    def __init__(self, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def _values(self, inner: Array) -> Array:
        coef0 = check_real("Sigmoid(coef0=...)", self.coef0)
        inner *= positive(self, "gamma")
        inner += coef0
        return np.tanh(inner, out=inner)


_WITH_GAMMA: dict[str, Callable[..., Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "matern12": partial(Matern, 0.5),
    "matern32": partial(Matern, 1.5),
    "matern52": partial(Matern, 2.5),
    "poly": Polynomial,
    "polynomial": Polynomial,
    "rbf": Gaussian,
    "sigmoid": Sigmoid,
}

KERNEL_NAMES = (*_WITH_GAMMA, "linear", "tl1")
"""Names of kernels; "rbf" and "poly" are scikit-learn's names for "gaussian" and "polynomial"."""


class Precomputed(Kernel):
    """A kernel given by its Gram matrix.

    A row number, in an array with one column, denotes a point of the matrix. A row of kernel values
    with all n points of the matrix denotes a new point. The kernel is undefined between two new
    points.

    Estimators can be fitted to a subset of the points. With ``X = np.arange(n)[:, None]``,
    cross-validation over X selects rows and columns of the matrix, for example for graphs or text.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        The Gram matrix, n >= 2. `sklearn.base.clone` and estimators share an array without a copy,
        so do not modify it; they convert other matrices, such as PyTorch tensors, to arrays.
    assume_psd : bool, default=False
        If True, skip the check that the matrix is positive semi-definite. The check is an O(n^3)
        Cholesky factorisation, which can dominate the time of a fit. A wrong assumption invalidates
        the certified gap. Symmetry is always checked.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.kernels import Precomputed
    >>> kernel = Precomputed(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]))
    >>> kernel([[0], [2]], [[1]])
    array([[1.],
           [1.]])
    """

    _form: ClassVar[SavedForm] = {"gram": Part("number", ("points", "points"))}

    def __init__(self, gram: npt.ArrayLike, assume_psd: bool = False) -> None:
        self.gram = gram
        self.assume_psd = assume_psd

    def __sklearn_clone__(self) -> Precomputed:
        return type(self)(self._checked(), self.assume_psd)

    def _check_kernels(self) -> None:
        check_flag("Precomputed(assume_psd=...)", self.assume_psd)

    def _check_loaded(self) -> None:
        check_gram(check_points(self.gram, "gram"))

    def names_all(self, X: Array) -> bool:
        """Return True if X holds the row numbers of all points of the matrix, in order."""
        gram = self._checked()
        return X.shape == (len(gram), 1) and bool((X[:, 0] == np.arange(len(gram))).all())

    def _check_pair(self, X: Array, Y: Array) -> None:
        """Allow different numbers of columns."""

    def _gram(self, X: Array, Y: Array) -> Array:
        if X.shape[1] == 1 == Y.shape[1]:
            entries: Any = np.ix_(self._numbers(X), self._numbers(Y))
            return np.asarray(self._checked()[entries], dtype=np.float64)
        if X.shape[1] == 1:
            return self._gram(Y, X).T
        if Y.shape[1] != 1:
            raise ValueError(
                "expected the row numbers of training points, np.arange(n)[:, None], as one "
                "argument, got kernel values as both: a precomputed kernel is undefined between "
                "new points"
            )
        if X.shape[1] != len(self._checked()):
            raise ValueError(
                f"expected kernel values with all {len(self._checked())} training points, "
                f"got {X.shape[1]} columns"
            )
        return X[:, self._numbers(Y)]

    def _diagonal(self, X: Array) -> Array:
        if X.shape[1] != 1:
            raise ValueError(
                f"expected row numbers of training points, shape (m, 1), got shape {X.shape}: "
                "k(x, x) of a new point is unknown"
            )
        numbers = self._numbers(X)
        return np.asarray(self._checked()[numbers, numbers], dtype=np.float64)

    def _checked(self) -> Array:
        """Return the matrix as an array; raise ValueError unless it is square."""
        gram = in_memory("gram", self.gram)
        if gram.ndim != 2 or len(gram) != gram.shape[1]:
            raise ValueError(
                "expected Precomputed(gram=...) to be an array of shape (n, n), got "
                f"{type(self.gram).__name__} of shape {np.shape(self.gram)}"
            )
        return gram

    def _numbers(self, X: Array) -> Indices:
        """Return the validated row numbers in the column X."""
        numbers = X[:, 0]
        wrong = (numbers < 0) | (numbers >= len(self._checked())) | (numbers % 1 != 0)
        if wrong.any():
            raise ValueError(
                f"expected row numbers of training points, 0 to {len(self._checked()) - 1}, "
                f"got {numbers[wrong][0]:g}"
            )
        return numbers.astype(np.intp)


def as_kernel(
    kernel: Any, X: Array, gamma: float | str = "scale", feature_names: Sequence[str] | None = None
) -> Kernel:
    """Return the kernel with a given name, a clone of a kernel object, or a `FunctionKernel`.

    Raise ValueError if the name or a column is unknown, or if gamma is out of range or does not
    apply to the kernel. Raise TypeError if `kernel` has another type.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A name in `KERNEL_NAMES`, a kernel object to clone, a function of two matrices, or
        "precomputed".
    X : array of shape (n, d)
        The training points. They determine the value of gamma for "scale" and "auto". For "tl1",
        they determine rho, which is .7 times the sum of the feature ranges. For "precomputed", X
        is the Gram matrix.
    gamma : float or {"scale", "auto"}
        Parameter of named kernels, from 1e-12 to 1e12; "scale" is 1/(d var(X)), "auto" is 1/d.
    feature_names : sequence of str of length d, optional
        Column names of X; nested `On` kernels get positions instead of names.
    """
    if isinstance(kernel, str):
        if check_choice("kernel", kernel, (*KERNEL_NAMES, "precomputed")) in _WITH_GAMMA:
            if isinstance(gamma, str):
                check_choice("gamma", gamma, ("scale", "auto"))
                gamma = scaled_gamma(X) if gamma == "scale" else 1.0 / X.shape[1]
            else:
                gamma = check_real("gamma", gamma, least=MODERATE[0], most=MODERATE[1])
            return _WITH_GAMMA[kernel](gamma=gamma)
        _refuse_gamma(gamma, f"kernel={kernel!r} has no gamma")
        if kernel == "tl1":  # .7 times the 1-norm diameter of the bounding box of X
            low, high = column_ends(X)
            return TL1(0.7 * (float((high - low).sum()) or float(X.shape[1])))
        if kernel == "linear":
            return Linear()
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"expected a square Gram matrix of shape (n, n), got {X.shape}")
        # a copy: a fitted model does not depend on the user's array
        return Precomputed(check_kernel_values(X, kernel).copy())
    _refuse_gamma(gamma, "gamma applies only to kernels given by name; set it on the kernel object")
    if isinstance(kernel, Kernel):
        kernel._check_kernels()
        return resolve_columns(clone(kernel), feature_names, X.shape[1])
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    name = getattr(kernel, "__name__", "")
    got = f"the class {name}: write {name}()" if name else one_line(kernel, 80)
    if hasattr(kernel, "__array__") and hasattr(kernel, "shape"):
        got = f"{type(kernel).__name__} of shape {tuple(kernel.shape)}"
        got += ": write Precomputed(gram) for a Gram matrix"
    raise TypeError(
        f"expected kernel to be a name in {sorted(KERNEL_NAMES)}, a Kernel, a function of two "
        f"matrices or 'precomputed', got {got}"
    )


def takes_sparse_points(kernel: KernelLike | None) -> bool:
    """Return True if a parameter ``kernel`` names, or is, a kernel of sparse points."""
    if isinstance(kernel, str):
        return kernel in KERNEL_NAMES
    return isinstance(kernel, Kernel) and kernel.takes_sparse


def _refuse_gamma(gamma: float | str, why: str) -> None:
    if not (isinstance(gamma, str) and gamma == "scale"):
        raise ValueError(f"expected gamma='scale' (its default), got {gamma!r}: {why}")


def scaled_gamma(X: Array) -> float:
    """Return 1/(n_features var(X)), or 1/n_features if X is constant up to rounding."""
    values: Any = X.data if is_sparse(X) else X
    d = X.shape[1]
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    spread = variance(X)
    return 1.0 / (d * spread) if spread > (1e-12 * largest) ** 2 else 1.0 / d
