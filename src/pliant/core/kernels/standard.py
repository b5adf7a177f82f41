"""Kernels that are not learned, and how they are asked for by name.

The width of a stationary kernel is given by one number, gamma; a Gaussian of standard deviation
sigma has gamma = 1/(2 sigma^2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone

from pliant.core.kernels.base import FunctionKernel, Kernel, positive
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.typing import Array, Between, Columns, Indices
from pliant.core.validation import check_choice, check_integer, check_real

FARTHEST = 1e-10 / np.finfo(np.float64).eps
"""Exponents gamma |x|^2 up to this have an absolute error of about 1e-10 at most."""

TILE_ROWS, TILE_ENTRIES = 128, 100_000
"""Values computed at once: they should stay in a processor's second cache."""


class _Stationary(Kernel):
    """k(x, x) = 1."""

    def _diagonal(self, X: Array) -> Array:
        return np.ones(len(X))


class Gaussian(_Stationary):
    """k(x, y) = exp(-gamma |x - y|^2).

    Parameters
    ----------
    gamma : float
        > 0; 1/(2 sigma^2).
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        gamma = positive(self, "gamma")
        centre = Y.mean(axis=0)
        right = _Exponents.of(Y, centre, gamma)
        same = X is Y or np.array_equal(X, Y)  # a copy has the very values of its original
        left = right if same else _Exponents.of(X, centre, gamma)
        if not max(left.reach, right.reach) <= FARTHEST:
            gram = cdist(X, Y, "sqeuclidean")
            gram *= -gamma
            return np.exp(gram, out=gram)
        return left.gram() if same else left.cross_gram(right)

    def prepared(self, points: Array) -> Between | None:
        """Return k between points, made ready for many calls.

        None where points are so far out that too many digits would cancel, or a subclass has
        values of its own.
        """
        if type(self)._gram is not Gaussian._gram:
            return None
        whole = _Exponents.of(points, points.mean(axis=0), positive(self, "gamma"))
        return whole.between if whole.reach <= FARTHEST else None


class Laplacian(_Stationary):
    """k(x, y) = exp(-gamma |x - y|_1).

    Parameters
    ----------
    gamma : float
        > 0.
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        gram = cdist(X, Y, "cityblock")
        gram *= -positive(self, "gamma")
        return np.exp(gram, out=gram)


class Matern(_Stationary):
    """The Matern kernel of smoothness nu, with r = sqrt(4 nu gamma) |x - y|.

    k = exp(-r) for nu = 1/2, (1 + r) exp(-r) for 3/2, (1 + r + r^2/3) exp(-r) for 5/2. For
    growing nu it tends to the Gaussian of the same gamma.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        Smoothness: the functions of its space are nu - 1/2 times differentiable.
    gamma : float
        > 0.
    """

    def __init__(self, nu: float = 2.5, gamma: float = 1.0) -> None:
        self.nu = nu
        self.gamma = gamma

    def _gram(self, X: Array, Y: Array) -> Array:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"expected Matern(nu=...) in [0.5, 1.5, 2.5], got {self.nu!r}")
        r = cdist(X, Y, "euclidean")
        r *= np.sqrt(4.0 * self.nu * positive(self, "gamma"))
        factor = self._factor(r)
        gram = np.exp(np.negative(r, out=r), out=r)
        gram *= factor
        return gram

    def _factor(self, r: Array) -> Array | float:
        """Return the polynomial in r that smooths exp(-r)."""
        if self.nu == 0.5:
            return 1.0
        return 1.0 + r if self.nu == 1.5 else 1.0 + r * (1.0 + r / 3.0)


class TL1(Kernel):
    """The truncated 1-norm kernel k(x, y) = max(rho - |x - y|_1, 0). Not PSD.

    Parameters
    ----------
    rho : float
        > 0; in the literature, 0.7 times the number of features on [0, 1].
    """

    psd = False

    def __init__(self, rho: float = 1.0) -> None:
        self.rho = rho

    def _gram(self, X: Array, Y: Array) -> Array:
        return np.maximum(positive(self, "rho") - cdist(X, Y, "cityblock"), 0.0)

    def _diagonal(self, X: Array) -> Array:
        return np.full(len(X), positive(self, "rho"))


@dataclass(frozen=True, eq=False)
class _Exponents:
    """Points, so that one product gives -gamma |x - y|^2 = (2 gamma x, -a, 1)'(y, 1, -b).

    Attributes
    ----------
    right : array of shape (n, d + 2)
        (y, 1, -b), with the origin moved to a centre and b = gamma |y|^2.
    gamma : float
    reach : float
        The largest b; inf or nan where it overflows.
    """

    right: Array
    gamma: float
    reach: float

    @classmethod
    def of(cls, points: Array, centre: Array, gamma: float) -> _Exponents:
        """Return it for some points; differences do not change with the origin, rounding does."""
        n, d = points.shape
        right = np.ones((n, d + 2))
        np.subtract(points, centre, out=right[:, :d])
        with np.errstate(over="ignore"):
            sizes = gamma * np.einsum("ij,ij->i", right[:, :d], right[:, :d])
        np.negative(sizes, out=right[:, -1])
        return cls(right, gamma, float(sizes.max(initial=0.0)))

    def left(self, rows: Columns) -> Array:
        """Return (2 gamma x, -a, 1) for some points."""
        chosen = self.right[rows]
        left = np.concatenate([chosen[:, :-2], chosen[:, -1:], chosen[:, -2:-1]], axis=1)
        left[:, :-2] *= 2.0 * self.gamma
        return left

    def between(self, rows: Indices, columns: Columns) -> Array:
        """Return the exponentials between some points and others, at most 1."""
        values = self.left(rows) @ self.right[columns].T
        np.minimum(values, 0.0, out=values)
        return np.exp(values, out=values)

    def gram(self) -> Array:
        """Return the exponentials between all of these points."""
        points, sizes = self.right[:, :-2], -self.right[:, -1]
        gram = np.asarray(points @ points.T)  # half the work of a product of two matrices
        height = max(1, TILE_ENTRIES // max(1, len(gram)))
        for top in range(0, len(gram), height):
            tile = gram[top : top + height]
            tile *= 2.0 * self.gamma
            tile -= sizes[top : top + height, None]
            tile -= sizes
            np.exp(np.minimum(tile, 0.0, out=tile), out=tile)
        np.fill_diagonal(gram, 1.0)
        return gram

    def cross_gram(self, others: _Exponents) -> Array:
        """Return the exponentials between these points and others."""
        gram = np.empty((len(self.right), len(others.right)))
        width = max(1, TILE_ENTRIES // max(1, min(len(gram), TILE_ROWS)))
        for top in range(0, len(gram), TILE_ROWS):
            left = self.left(slice(top, top + TILE_ROWS))
            for start in range(0, gram.shape[1], width):
                tile = left @ others.right[start : start + width].T
                np.minimum(tile, 0.0, out=tile)
                np.exp(tile, out=gram[top : top + TILE_ROWS, start : start + width])
        return gram


class Linear(Kernel):
    """k(x, y) = x'y."""

    def _gram(self, X: Array, Y: Array) -> Array:
        return X @ Y.T

    def _diagonal(self, X: Array) -> Array:
        return np.einsum("ij,ij->i", X, X)


class Polynomial(Kernel):
    """k(x, y) = (gamma x'y + coef0)^degree.

    Parameters
    ----------
    degree : int
        >= 1.
    gamma : float
        > 0.
    coef0 : float
        >= 0, so that the kernel is PSD.
    """

    def __init__(self, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _gram(self, X: Array, Y: Array) -> Array:
        return self._power(X @ Y.T)

    def _diagonal(self, X: Array) -> Array:
        return self._power(np.einsum("ij,ij->i", X, X))

    def _power(self, inner: Array) -> Array:
        """Turn inner products into kernel values, in place."""
        degree = check_integer("Polynomial(degree=...)", self.degree, least=1)
        coef0 = check_real("Polynomial(coef0=...)", self.coef0, least=0)
        inner *= positive(self, "gamma")
        inner += coef0
        inner **= degree
        return inner


_WITH_GAMMA: dict[str, Callable[[float], Kernel]] = {
    "gaussian": lambda gamma: Gaussian(gamma=gamma),
    "laplacian": lambda gamma: Laplacian(gamma=gamma),
    "matern12": lambda gamma: Matern(nu=0.5, gamma=gamma),
    "matern32": lambda gamma: Matern(nu=1.5, gamma=gamma),
    "matern52": lambda gamma: Matern(nu=2.5, gamma=gamma),
    "polynomial": lambda gamma: Polynomial(gamma=gamma),
}

KERNEL_NAMES = (*_WITH_GAMMA, "linear")
"""The kernels that can be asked for by name."""

_OTHER_NAMES = {"rbf": "gaussian", "poly": "polynomial"}
"""What scikit-learn calls them."""


def as_kernel(kernel: Any, X: Array, gamma: float | str = "scale") -> Kernel:
    """Return the kernel that `kernel` stands for.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A name in `KERNEL_NAMES`; a kernel object, which is cloned; a function of two matrices; or
        "precomputed".
    X : array of shape (n, d)
        The training points, for ``gamma="scale"`` and ``"auto"``; their Gram matrix, for
        "precomputed".
    gamma : float or {"scale", "auto"}
        For kernels by name: a number > 0; "scale" is 1/(d var(X)), "auto" is 1/d.

    Raises
    ------
    ValueError
        For an unknown name, a gamma that is not positive, or a gamma given beside a kernel
        that has none or brings its own.
    TypeError
        If `kernel` is none of these.
    """
    if isinstance(kernel, str):
        if kernel in _OTHER_NAMES:
            meant = _OTHER_NAMES[kernel]
            raise ValueError(f"expected kernel={meant!r}, as it is called here, got {kernel!r}")
        if check_choice("kernel", kernel, (*KERNEL_NAMES, "precomputed")) in _WITH_GAMMA:
            return _WITH_GAMMA[kernel](_gamma_value(gamma, X))
        _refuse_gamma(gamma, f"kernel={kernel!r} has no gamma")
        return Linear() if kernel == "linear" else Precomputed(X)
    _refuse_gamma(gamma, "gamma belongs to kernels given by name; set it on the kernel itself")
    if isinstance(kernel, Kernel):
        return clone(kernel)
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    name = getattr(kernel, "__name__", "")
    got = f"the class {name}: write {name}()" if name else repr(kernel)
    raise TypeError(
        f"expected kernel to be a name in {sorted(KERNEL_NAMES)}, a Kernel, a function of two "
        f"matrices or 'precomputed', got {got}"
    )


def _refuse_gamma(gamma: float | str, why: str) -> None:
    if not (isinstance(gamma, str) and gamma == "scale"):
        raise ValueError(f"expected gamma='scale' (its default), got {gamma!r}: {why}")


def _gamma_value(gamma: float | str, X: Array) -> float:
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ("scale", "auto"))
        spread = float(X.var()) if gamma == "scale" else 1.0
        rounding = (1e-12 * float(np.abs(X).max())) ** 2  # of equal numbers
        return 1.0 / (X.shape[1] * (spread if spread > rounding else 1.0))
    return check_real("gamma", gamma, above=0)
