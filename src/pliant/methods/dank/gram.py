"""The Gram matrix of a fit of DANK and KNPL: built and checked once, read by every problem.

It is stored, or its rows are computed on demand.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pliant.core.blocks import gram_mb
from pliant.core.eigen import negative_eigenvalue, remedy
from pliant.core.exceptions import FeatureScaleWarning, NonPSDWarning
from pliant.core.sparse import is_sparse
from pliant.core.text import one_line
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    HOPELESS,
    check_gram,
    check_kernel_values,
    stack_level,
    unlike_features,
)
from pliant.kernels.base import FunctionKernel, Kernel, made_of
from pliant.kernels.standard import (
    TL1,
    Gamma,
    Gaussian,
    KernelLike,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    as_kernel,
)
from pliant.methods.dank.kernel import Extension
from pliant.methods.svm.parts import KMeansPartition
from pliant.methods.svm.problem import SVMProblem, TrainingData
from pliant.methods.svm.rows import CachedRows, DenseRows, Rows

DENSE_ROWS = 4000
"""Largest number of rows of a stored Gram matrix, unless F couples all rows."""

SAMPLE_SIZE = 1000
"""Number of points for testing a kernel without storing its Gram matrix."""

PAPER_TAU = 0.01
"""The tau of the DANK paper's experiments."""


@dataclass(frozen=True, eq=False)
class HadamardOptions:
    """The parameters of a fit, checked; `name` is that of the estimator, for messages.

    `centred` is True if the rows of F sum to n (KNPL).
    """

    name: str
    kernel: KernelLike
    gamma: Gamma
    eta: float | Literal["auto"]
    eta_scale: float
    tau: float | Literal["auto"]
    centred: bool
    extension: Extension
    tol: float
    max_iter: int
    max_seconds: float | None
    cache_mb: float
    partition: KMeansPartition | None

    def fits(self, n: int) -> bool:
        """Return True if a Gram matrix of n points fits into `cache_mb`, in float64."""
        return gram_mb(n) <= self.cache_mb


@dataclass(frozen=True, eq=False)
class TrainingGram:
    """The base kernel, and its Gram matrix on the rows `used` if stored.

    `psd` is True if the matrix is positive semi-definite. `tau` is that of the fit: "auto" is the
    paper's 0.01 if the matrix is stored, otherwise 0.
    """

    kernel: Kernel
    used: Indices
    gram: DenseRows | None
    psd: bool
    tau: float


def training_gram(data: TrainingData, options: HadamardOptions) -> TrainingGram:
    """Build the base kernel, and its Gram matrix if it is to be stored.

    Raise ValueError unless the kernel gives a convex problem; a user's indefinite matrix or
    function only warns.
    """
    points = data.points
    kernel = as_kernel(options.kernel, data.X, options.gamma, data.feature_names)
    if not kernel.symmetric:
        raise ValueError(
            f"expected a symmetric kernel, as {options.name} requires a convex problem, got "
            f"{one_line(kernel)}"
        )
    _check_scales(kernel, data, options)
    gram = None
    if isinstance(kernel, Precomputed) or _stores_gram(points.shape[0], kernel.psd, options):
        matrix, psd = _checked_gram(kernel, points, options)
        gram = DenseRows(matrix)
    elif made_of(kernel, Precomputed, FunctionKernel):
        psd = _is_psd_on_sample(kernel, points, options)
    else:
        psd = True
    tau = options.tau
    if tau == "auto":
        tau = 0.0 if gram is None else PAPER_TAU
    return TrainingGram(kernel=kernel, used=data.used, gram=gram, psd=psd, tau=float(tau))


def _check_scales(kernel: Kernel, data: TrainingData, options: HadamardOptions) -> None:
    """Check the scales of the features for a kernel with a single bandwidth.

    A FeatureScaleWarning reports a ratio above `UNLIKE`; a ratio above `HOPELESS` raises
    ValueError. Kernels with a bandwidth per feature and user-defined functions are exempt.
    """
    isotropic = isinstance(kernel, Gaussian | Laplacian | Linear | Matern | Polynomial | TL1)
    if not isotropic or np.ndim(getattr(kernel, "gamma", 0.0)):
        return
    pair = unlike_features(data.points)
    if pair is None:
        return
    ratio, names = pair[2], data.feature_names
    large, small = (f"column {j}" if names is None else f"{names[j]!r}" for j in pair[:2])
    kind = options.name
    scaler = "MaxAbsScaler" if is_sparse(data.points) else "StandardScaler"
    pipeline = f"make_pipeline({scaler}(), {kind}())"
    if ratio > HOPELESS:
        raise ValueError(
            f"expected standard deviations of features within a factor of 1e8, got {ratio:.2g} "
            f"between {large} and {small}; standardise the features, as in {pipeline}"
        )
    warnings.warn(
        f"{kind} got features on very different scales: {large} has {ratio:.2g} times the "
        f"standard deviation of {small}, which has almost no effect on the kernel; "
        f"scale the features, as in {pipeline}",
        FeatureScaleWarning,
        stacklevel=stack_level(),
    )


def _stores_gram(n: int, psd: bool, options: HadamardOptions) -> bool:
    """Return True to store the n x n Gram matrix, which an indefinite kernel requires.

    tau="auto" is not chosen yet, and counts as tau > 0.
    """
    fits = options.fits(n)
    if not psd:
        # The full Gram matrix of the training points must be tested for negative eigenvalues.
        if options.partition is None and fits:
            return True
        remedy = f"set cache_mb to {int(gram_mb(n)) + 1} or more"
        if options.partition is not None:
            remedy = "omit partition"
        raise ValueError(
            "expected a positive semi-definite kernel, as the full Gram matrix is not stored "
            f"and cannot be tested, got {one_line(options.kernel)}: {remedy}, or choose another "
            "kernel"
        )
    if options.centred:  # KNPL couples all samples, as tau > 0 does, so rows are read many times
        return fits and options.partition is None
    coupled = bool(options.tau) and options.eta != np.inf
    if coupled and options.tau != "auto" and not fits:
        raise ValueError(
            f"expected tau = 0 or 'auto' for {n} rows, as their Gram matrix takes "
            f"{gram_mb(n):.0f} MB, more than cache_mb = {options.cache_mb:g}, "
            f"got {options.tau!r}"
        )
    return options.partition is None and fits and (n <= DENSE_ROWS or coupled)


def _checked_gram(kernel: Kernel, X: Array, options: HadamardOptions) -> tuple[Array, bool]:
    """Return the training Gram matrix, and True if it is positive semi-definite.

    Raise ValueError if a kernel declared indefinite has a negative eigenvalue on X. For a
    user's matrix or function, warn instead; the fit then has no certificate.
    """
    gram = compute_gram(kernel, X)
    user_defined = made_of(kernel, Precomputed, FunctionKernel)
    if kernel.psd and not user_defined:
        return gram, True
    if user_defined:
        gram = check_gram(gram)
    if isinstance(kernel, Precomputed) and kernel.assume_psd:
        return gram, True
    smallest = negative_eigenvalue(gram)
    if smallest is not None and not kernel.psd:
        raise ValueError(
            f"expected a Gram matrix without negative eigenvalues, which "
            f"{options.name} needs for a convex problem and its certificate, got "
            f"{smallest:.3g} from {one_line(kernel)}: choose a positive semi-definite kernel "
            "or other parameters, or pass the matrix with kernel='precomputed' for a fit "
            "without a certificate"
        )
    if smallest is not None:
        warnings.warn(
            f"the kernel matrix is not positive semi-definite: its smallest eigenvalue is "
            f"{smallest:.3g}; the problem is not convex, and dual_gap_ will be nan; "
            + remedy(smallest),
            NonPSDWarning,
            stacklevel=stack_level(),
        )
    return gram, smallest is None


def _is_psd_on_sample(kernel: Kernel, points: Array, options: HadamardOptions) -> bool:
    """Test a user's kernel, whose Gram matrix is not stored, on a sample."""
    sample = np.unique(np.linspace(0, points.shape[0] - 1, SAMPLE_SIZE).astype(np.intp))
    try:
        return _checked_gram(kernel, points[sample], options)[1]
    except ValueError as error:
        rows = f"tested on {len(sample)} equally spaced rows of X"
        raise ValueError(f"{error} ({rows})") from None


def compute_gram(kernel: Kernel, points: Array) -> Array:
    """Compute the kernel values between points, shape (m, m)."""
    if isinstance(kernel, Precomputed) and kernel.names_all(points):
        return check_kernel_values(np.asarray(kernel.gram, dtype=np.float64), kernel)
    gram: Array = kernel(points)
    return gram


def problem_rows(problem: SVMProblem, base: TrainingGram, options: HadamardOptions) -> Rows:
    """Return the Gram matrix of the points of a problem, stored or with rows on demand."""
    if base.gram is None:
        stored = DENSE_ROWS if options.fits(len(problem.members)) else 0
        return gram_rows(base.kernel, problem.points, options, stored=stored)
    if len(problem.members) == len(base.gram):
        return base.gram
    return DenseRows(base.gram.square(np.searchsorted(base.used, problem.members)))


def gram_rows(kernel: Kernel, points: Array, options: HadamardOptions, *, stored: int) -> Rows:
    """Return the rows of the Gram matrix of points, shape (n, d).

    The matrix of up to `stored` points is stored in float64. Otherwise rows are computed on demand.
    They are float32 if, on a sample, all k(x, x) are equal and the median of k(x, z) is at least
    1 % smaller, and if `tol` >= 1e-5. In other cases, float32 would lose digits in sums of very
    different values, or round away the differences between values of a flat kernel or small gaps.
    """
    n = points.shape[0]
    if n <= stored:
        return DenseRows(compute_gram(kernel, points))
    # test for equal k(x, x) and a sufficiently smaller median of k(x, z)
    diagonal = kernel.diag(points[:SAMPLE_SIZE])
    top = float(np.abs(diagonal).max())
    sample = np.unique(np.linspace(0, n - 1, 64).astype(np.intp))
    median = float(np.median(kernel(points[sample])))
    single = np.ptp(diagonal) <= 1e-6 * top and top - median >= 1e-2 * top and options.tol >= 1e-5
    return CachedRows(kernel, points, options.cache_mb, "float32" if single else "float64")
