"""Functions of rows as arrays: constant, linear, expansion in kernel values, Gaussian process.

Each maps float64 rows of shape (n_samples, n_features) to outputs of shape (n_samples, n_outputs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import in_blocks
from pliant.core.form import FEATURES, Entry, Object, Part, SavedForm, Sizes
from pliant.core.typing import Array
from pliant.kernels.base import Kernel


@dataclass(eq=False)
class Constant:
    """f(x) = value.

    Attributes
    ----------
    value : array of shape (n_outputs,)
    n_features : int
    """

    _form: ClassVar[SavedForm] = {"value": Part("f8", ("outputs",)), "n_features": FEATURES}

    value: Array
    n_features: int

    takes_missing: ClassVar[bool] = True

    def __call__(self, X: Array) -> Array:
        """Return the value for each row."""
        return np.tile(self.value, (len(X), 1))


@dataclass(eq=False)
class LinearFunction:
    """f(x) = x W + b.

    Attributes
    ----------
    weights : array of shape (n_features, n_outputs)
        W.
    intercept : array of shape (n_outputs,)
        b.
    """

    _form: ClassVar[SavedForm] = {
        "weights": Part("f8", ("features", "outputs")),
        "intercept": Part("f8", ("outputs",)),
    }

    weights: Array
    intercept: Array

    takes_missing: ClassVar[bool] = False

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return len(self.weights)

    def __call__(self, X: Array) -> Array:
        """Return x W + b for each row."""
        W = self.weights
        # a product with a vector and one with a matrix of one column may round differently
        product = (X @ W[:, 0])[:, None] if W.shape[1] == 1 else X @ W
        return np.asarray(product + self.intercept)


def _kernel_values(kernel: Kernel | None, X: Array, points: Array) -> Array:
    """Return k(x, c) for all rows and centres; without a kernel, rows hold kernel values."""
    return X[:, points] if kernel is None else np.asarray(kernel(X, points))


@dataclass(eq=False, repr=False)
class Centres(Entry):
    """The form of centres: points, or columns of given kernel values."""

    optional: bool = False

    def relate(self, name: str, value: Any, record: Any, sizes: Sizes) -> None:
        """Check the centres in the form that goes with the kernel."""
        part = Part("f8", ("centres", "features"))
        if record.kernel is None:
            part = Part("i4", ("centres",), low=0, below="features")
        part.check(name, value, sizes)
        part.relate(name, value, record, sizes)


@dataclass(eq=False)
class KernelExpansion:
    """f(x) = scale (sum_i c_i k(x, x_i)) + b.

    Attributes
    ----------
    kernel : Kernel or None
        None if a row holds kernel values with training points.
    points : array of shape (n_centres, n_features), or int32 array of shape (n_centres,)
        The centres x_i; without a kernel, their columns in a row.
    coefficients : array of shape (n_centres, n_outputs)
    scale, intercept : array of shape (n_outputs,)
    n_features : int
    """

    _form: ClassVar[SavedForm] = {
        "kernel": Object(Kernel, optional=True),
        "points": Centres(),
        "coefficients": Part("f8", ("centres", "outputs")),
        "scale, intercept": Part("f8", ("outputs",)),
        "n_features": FEATURES,
    }

    kernel: Kernel | None
    points: Array
    coefficients: Array
    scale: Array
    intercept: Array
    n_features: int

    takes_missing: ClassVar[bool] = False

    def __call__(self, X: Array) -> Array:
        """Return the outputs, in blocks of rows."""

        def outputs(rows: Array) -> Array:
            sums = _kernel_values(self.kernel, rows, self.points) @ self.coefficients
            return np.asarray(self.scale * sums + self.intercept)

        return _in_blocks(X, len(self.points), len(self.intercept), outputs)


@dataclass(eq=False)
class PairExpansion:
    """One expansion per pair of classes, which share their coefficients by class.

    For classes a < b, with the centres I_a and I_b of both,

        f_ab(x) = sum_{i in I_a} c_{i,b-1} k(x, x_i) + sum_{i in I_b} c_{i,a} k(x, x_i) + b_ab.

    Attributes
    ----------
    kernel, points, n_features
        As in `KernelExpansion`; centres are sorted by class.
    counts : int32 array of shape (n_classes,)
        Number of centres of each class.
    coefficients : array of shape (n_centres, n_classes - 1)
    intercept : array of shape (n_classes (n_classes - 1) / 2,)
        In the order of the pairs: (0, 1), (0, 2), ..., (1, 2), ...
    """

    _form: ClassVar[SavedForm] = {
        "kernel": Object(Kernel, optional=True),
        "points": Centres(),
        "counts": Part("i4", ("classes",), low=0, least=2),
        "coefficients": Part("f8", ("centres", "others")),
        "intercept": Part("f8", ("pairs",)),
        "n_features": FEATURES,
    }

    kernel: Kernel | None
    points: Array
    counts: npt.NDArray[np.int32]
    coefficients: Array
    intercept: Array
    n_features: int

    takes_missing: ClassVar[bool] = False

    def __call__(self, X: Array) -> Array:
        """Return the values of all pairs, shape (n_samples, n_pairs), in blocks of rows."""
        low, high = np.triu_indices(len(self.counts), 1)
        ends = np.cumsum(self.counts).tolist()

        def outputs(rows: Array) -> Array:
            K = _kernel_values(self.kernel, rows, self.points)
            parts = zip([0, *ends], ends, strict=False)
            # sums[a] has shape (n_samples, n_classes - 1)
            sums = np.stack([K[:, i:j] @ self.coefficients[i:j] for i, j in parts])
            return np.asarray(sums[low, :, high - 1].T + sums[high, :, low].T + self.intercept)

        k = len(self.counts)
        return _in_blocks(X, max(len(self.points), k * k), len(self.intercept), outputs)

    def _check_loaded(self) -> None:
        k, (n, others) = len(self.counts), self.coefficients.shape
        if others != k - 1 or len(self.intercept) != k * (k - 1) // 2:
            raise ValueError(f"expected the coefficients of all pairs of {k} classes")
        if self.counts.sum(dtype=np.int64) != n:
            raise ValueError(f"expected {n} centres, got {self.counts.sum(dtype=np.int64)}")


LAMBDAS = np.array([0.41, 0.4, 0.37, 0.44, 0.39])[:, None]
COEFS = np.array(
    [-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654]
)[:, None]  # fmt: skip
"""The logistic function as a sum of five error functions, as in scikit-learn [1]_.

.. [1] Williams, Barber: Bayesian Classification with Gaussian Processes, IEEE TPAMI (1998),
   appendix A.
"""


@dataclass(eq=False)
class LaplacePosterior:
    """The probability of the second class under a Gaussian process, in Laplace's approximation.

    With K = k(x, X), the latent function has mean K a and variance k(x, x) - |L^-1 (w o K)|^2
    (Rasmussen, Williams: Gaussian Processes for Machine Learning (2006), algorithm 3.2).

    Attributes
    ----------
    kernel : Kernel
    points : array of shape (n_points, n_features)
    weights : array of shape (n_points,)
        a, the gradient of the log likelihood.
    roots : array of shape (n_points,)
        w, the square roots of its negative second derivatives.
    cholesky : array of shape (n_points, n_points)
        L, a lower triangle with a positive diagonal.
    """

    _form: ClassVar[SavedForm] = {
        "kernel": Object(Kernel),
        "points": Part("f8", ("points", "features")),
        "weights": Part("f8", ("points",)),
        "roots": Part("f8", ("points",), low=0.0),
        "cholesky": Part("f8", ("points", "points")),
    }

    kernel: Kernel
    points: Array
    weights: Array
    roots: Array
    cholesky: Array

    takes_missing: ClassVar[bool] = False

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.points.shape[1]

    def __call__(self, X: Array) -> Array:
        """Return the probabilities, shape (n_samples, 1), in blocks of rows."""
        from scipy.linalg import solve_triangular
        from scipy.special import erf

        def outputs(rows: Array) -> Array:
            K = np.asarray(self.kernel(self.points, rows))
            mean = K.T @ self.weights
            v = solve_triangular(self.cholesky, self.roots[:, None] * K, lower=True)
            variance = self.kernel.diag(rows) - np.einsum("ij,ij->j", v, v)
            variance = np.maximum(variance, np.finfo(np.float64).tiny)
            alpha, gamma = 1 / (2 * variance), LAMBDAS * mean
            errors = erf(gamma * np.sqrt(alpha / (alpha + LAMBDAS**2)))
            integrals = np.sqrt(np.pi / alpha) * errors / (2 * np.sqrt(variance * 2 * np.pi))
            shares = (COEFS * integrals).sum(axis=0) + 0.5 * COEFS.sum()
            return np.asarray(shares.clip(0.0, 1.0)[:, None])

        return _in_blocks(X, len(self.points), 1, outputs)

    def mean(self, X: Array) -> Array:
        """Return the mean of the latent function, shape (n_samples, 1), in blocks of rows."""

        def outputs(rows: Array) -> Array:
            K = np.asarray(self.kernel(self.points, rows))
            return np.asarray((K.T @ self.weights)[:, None])

        return _in_blocks(X, len(self.points), 1, outputs)

    def _check_loaded(self) -> None:
        if not (np.diagonal(self.cholesky) > 0).all():
            raise ValueError("expected a lower triangle with a positive diagonal")


@dataclass(eq=False)
class ClassShares:
    """Probabilities of k classes from one function per class, or from one for two classes.

    Attributes
    ----------
    functions : list of LaplacePosterior
        The probability of each class against all others; for two classes, of the second.
    """

    _form: ClassVar[SavedForm] = {
        "functions": Object(LaplacePosterior, axis="functions", sizes={"n_features": "features"})
    }

    functions: list[LaplacePosterior]

    takes_missing: ClassVar[bool] = False

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.functions[0].n_features

    def __call__(self, X: Array) -> Array:
        """Return the probabilities, shape (n_samples, n_classes)."""
        shares = np.hstack([function(X) for function in self.functions])
        if shares.shape[1] == 1:
            return np.hstack([1 - shares, shares])
        totals = shares.sum(axis=1, keepdims=True)
        equal = np.full_like(shares, 1 / shares.shape[1])
        return np.divide(shares, totals, out=equal, where=totals > 0)

    def _check_loaded(self) -> None:
        if len(self.functions) == 2:
            raise ValueError("expected one function, or one for each of three classes or more")


def _in_blocks(X: Array, width: int, n_outputs: int, outputs: Callable[[Array], Array]) -> Array:
    """Return the outputs of blocks of rows, also of none."""
    return np.asarray(in_blocks(X, width, outputs)) if len(X) else np.empty((0, n_outputs))
