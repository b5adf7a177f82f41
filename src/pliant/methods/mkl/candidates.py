"""The kernels that multiple kernel learning chooses from: default ones, and their normalisation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pliant.core.text import one_line
from pliant.core.typing import Array
from pliant.kernels.base import FunctionKernel, Kernel, Normalized, Rescaled, Scaled, made_of
from pliant.kernels.on import On
from pliant.kernels.precomputed import Precomputed
from pliant.kernels.standard import Gaussian, Polynomial, as_kernel
from pliant.kernels.weighted_sum import short_name
from pliant.methods.mkl.newton import check_psd

WIDTHS = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)
"""Standard deviations of the default Gaussians on standardised features, and the
`DEGREES` of the default polynomials, as in the experiments of Rakotomamonjy et al. (2008)."""

DEGREES = (1, 2, 3)

MOST = 1000
"""Largest number of default kernels; with more features, only those of all features are taken."""


def default_kernels(X: Array) -> list[Kernel]:
    """Return Gaussians and polynomials of all standardised features, and of each one.

    Features that do not vary have no kernel of their own.
    """
    centre, spread = X.mean(axis=0), X.std(axis=0)
    varies = spread > 1e-12 * np.abs(X).max(axis=0)
    spread = np.where(varies, spread, 1.0)
    families: list[Kernel] = [Gaussian(gamma=0.5 / width**2) for width in WIDTHS]
    families += [Polynomial(degree=degree) for degree in DEGREES]
    kernels: list[Kernel] = [Rescaled(each, centre, spread) for each in families]
    columns = np.flatnonzero(varies)
    if X.shape[1] == 1 or len(families) * (1 + len(columns)) > MOST:
        return kernels
    for j in columns:
        kernels += [On(Rescaled(each, centre[[j]], spread[[j]]), [int(j)]) for each in families]
    return kernels


def candidate_kernels(
    kernels: Any, X: Array, feature_names: Sequence[str] | None = None
) -> list[Kernel]:
    """Build the kernels of the parameter ``kernels`` for training points X.

    `feature_names` are the names of columns that `On` may use.
    """
    if isinstance(kernels, str) and kernels == "auto":
        return default_kernels(X)
    if isinstance(kernels, str | Kernel) or not isinstance(kernels, Iterable):
        raise TypeError(f"expected kernels='auto' or a list of kernels, got {kernels!r}")
    given = list(kernels)
    if not given:
        raise ValueError("expected at least one kernel, got an empty list")
    resolved = []
    for m, each in enumerate(given):
        if isinstance(each, str) and each == "precomputed":
            raise ValueError(
                f"expected kernels of points, got 'precomputed' at {m}; for Gram matrices, pass "
                "pliant.kernels.Precomputed(gram) for each, and X as a column of row numbers"
            )
        try:
            kernel = as_kernel(each, X, feature_names=feature_names)
        except (ValueError, TypeError) as error:
            raise type(error)(f"kernels[{m}]: {error}") from None
        if not (kernel.symmetric and kernel.psd):
            raise ValueError(
                f"expected symmetric positive semi-definite kernels, got {one_line(kernel)} at {m}"
            )
        resolved.append(kernel)
    return resolved


def normalized_kernels(kernels: Sequence[Kernel], X: Array, normalize: bool) -> list[Kernel]:
    """Check kernels that users compute, and scale all to comparable weights if `normalize`.

    Kernels of points get k(x, x) = 1. Gram matrices get a mean diagonal of 1 on the training
    points, since k(x, x) of new points is not known.
    """
    scaled = []
    for m, kernel in enumerate(kernels):
        if made_of(kernel, Precomputed, FunctionKernel):
            try:
                gram = kernel(X)
            except ValueError as error:
                raise ValueError(f"kernel {m}: {error}") from None
            check_psd(gram, m, kernel)
        if not normalize:
            scaled.append(kernel)
            continue
        diagonal = kernel._diagonal(X)
        if not np.isfinite(diagonal).all():
            raise ValueError(
                f"expected finite kernel values, got inf or NaN from kernel {m}, "
                f"{short_name(kernel)}; scale the features"
            )
        if made_of(kernel, Precomputed):
            mean = float(diagonal.mean())
            if mean <= 0.0:
                raise ValueError(f"expected a Gram matrix with a positive trace, got 0 at {m}")
            scaled.append(Scaled(kernel, 1.0 / mean))
        elif (diagonal == 1.0).all():
            scaled.append(kernel)
        elif (diagonal > 0.0).all():
            scaled.append(Normalized(kernel))
        else:
            row = int(np.argmin(diagonal))
            raise ValueError(
                f"expected k(x, x) > 0 to normalise kernels, got {diagonal[row]:g} for kernel {m}, "
                f"{short_name(kernel)}, at row {row}; standardise the features, add a constant to "
                "the kernel, or set normalize=False"
            )
    return scaled
