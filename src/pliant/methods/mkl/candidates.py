"""The candidate kernels of MKL: built-in or from a list, checked, and scaled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pliant.core.text import one_line
from pliant.core.typing import Array
from pliant.core.validation import check_kernel_values
from pliant.kernels.base import (
    FunctionKernel,
    Kernel,
    Normalized,
    On,
    Rescaled,
    Scaled,
    made_of,
    short_name,
)
from pliant.kernels.standard import Gaussian, Polynomial, Precomputed, as_kernel
from pliant.methods.mkl.problem import check_psd

WIDTHS = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)
"""Bandwidths of the default Gaussians on standardised features. These bandwidths and the degrees of
the default polynomials are those of the experiments of Rakotomamonjy et al. (2008)."""

MAX_DEFAULT_KERNELS = 1000
"""Maximum number of default kernels; above it, kernels of single features are omitted."""


def default_kernels(X: Array) -> list[Kernel]:
    """Return Gaussians and polynomials on all standardised features, and on each that varies."""
    # exp(-|z - z'|^2 / (2 w^2)) with z = (x - mean)/std: gamma = 1/(2 w^2)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    varies = spread > 1e-12 * np.abs(X).max(axis=0)
    spread = np.where(varies, spread, 1.0)
    families: list[Kernel] = [Gaussian(gamma=0.5 / width**2) for width in WIDTHS]
    families += [Polynomial(degree=degree) for degree in (1, 2, 3)]
    kernels: list[Kernel] = [Rescaled(each, centre, spread) for each in families]
    columns = np.flatnonzero(varies)
    if X.shape[1] == 1 or len(families) * (1 + len(columns)) > MAX_DEFAULT_KERNELS:
        return kernels
    for j in columns:
        kernels += [On(Rescaled(each, centre[[j]], spread[[j]]), [int(j)]) for each in families]
    return kernels


def candidate_kernels(
    kernels: Any, X: Array, feature_names: Sequence[str] | None = None
) -> list[Kernel]:
    """Build the kernels from the list ``kernels`` for training points X.

    `feature_names` are the column names that `On` may refer to.
    """
    if isinstance(kernels, str | Kernel) or not isinstance(kernels, Iterable):
        raise TypeError(f"expected kernels='auto' or a list of kernels, got {kernels!r}")
    kernels = list(kernels)
    if not kernels:
        raise ValueError("expected at least one kernel, got an empty list")
    resolved = []
    for m, each in enumerate(kernels):
        if isinstance(each, str) and each == "precomputed":
            raise ValueError(
                f"expected kernels of points, got 'precomputed' as kernels[{m}]; for Gram "
                "matrices, pass pliant.kernels.Precomputed(gram) for each, and X as a column of "
                "row numbers"
            )
        try:
            kernel = as_kernel(each, X, feature_names=feature_names)
        except (ValueError, TypeError) as error:
            raise type(error)(f"kernels[{m}]: {error}") from None
        if not (kernel.symmetric and kernel.psd):
            raise ValueError(
                f"expected symmetric positive semi-definite kernels, got {one_line(kernel)} as "
                f"kernels[{m}]"
            )
        resolved.append(kernel)
    return resolved


def normalized_kernels(kernels: Sequence[Kernel], X: Array, normalize: bool) -> list[Kernel]:
    """Check user-defined kernels, and scale all kernels if `normalize`.

    Kernels of points are scaled to k(x, x) = 1. Gram matrices are scaled to a mean diagonal of 1
    on the training points, since k(x, x) of new points is unknown.
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
        diagonal = check_kernel_values(kernel._diagonal(X), kernel)
        if made_of(kernel, Precomputed):
            mean = float(diagonal.mean())
            if mean <= 0.0:
                raise ValueError(f"expected a positive trace, got 0 for Gram matrix {m}")
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
