"""Short names of kernels, for tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.core.kernels.base import FunctionKernel, Kernel, Normalized, Rescaled, Scaled
from pliant.core.kernels.on import On
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.kernels.standard import Gaussian
from pliant.core.text import listed

LONGEST_NAME = 60
"""Number of characters of a name at most."""


def short_name(kernel: Kernel, feature_names: Sequence[str] | None = None) -> str:
    """Return a kernel's name for tables and pictures, without its scaling.

    Such as "Gaussian(gamma=0.5) of petal length". A name of more than 60 characters is cut.
    """
    if isinstance(kernel, Normalized | Scaled | Rescaled):
        return short_name(kernel.kernel, feature_names)
    if isinstance(kernel, On):
        columns = np.atleast_1d(kernel.columns)
        known = [str(j) if feature_names is None else str(feature_names[j]) for j in columns]
        word = "feature " if feature_names is None else ""
        return f"{short_name(kernel.kernel)} of {word}{listed(known)}"
    if isinstance(kernel, FunctionKernel):
        return getattr(kernel.function, "__name__", "function")
    if isinstance(kernel, Precomputed):
        return "Precomputed"
    if isinstance(kernel, Gaussian) and np.ndim(kernel.gamma) == 0:
        return f"Gaussian(gamma={kernel.gamma:.3g})"
    name = " ".join(repr(kernel).split())
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."
