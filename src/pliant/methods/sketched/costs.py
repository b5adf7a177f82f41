"""When one factorisation of the normal matrix is cheaper than more iterations.

Conjugate gradients end after a number of iterations that nobody knows beforehand. They go on until
they have cost as much as the normal matrix does, which solves the system at once: the total is then
at most twice the cheaper of the two. Costs are counted in nanoseconds for each pair of row and
centre, measured on one core of an AMD EPYC processor; they do not depend on a clock, so that the
same data give the same bytes.
"""

from __future__ import annotations

import math

from pliant.core.kernels.base import Kernel, Product, Rescaled, Scaled, Sum
from pliant.core.kernels.on import On
from pliant.core.kernels.standard import Gaussian
from pliant.core.kernels.weighted_sum import WeightedSum

KERNEL, FEATURE = 1.5, 0.06
"""A Gaussian's value, and what each feature adds to it."""

OTHER = 10.0
"""A value of any other kernel: from 1 for a linear one to 40 for those of SCG-LDK and DANK."""

READ = 0.8
"""Reading a kept value from memory."""

PRODUCT = 0.25
"""Two products with a value in the cache, for each target."""

SOLVED = 0.05
"""A triangular solve and a rank-one update, for each centre: 2 r^2 n operations."""

AT_ONCE = 5
"""Below so few iterations, none are tried."""


def value_cost(kernel: Kernel, n_features: int) -> float:
    """Return what a kernel value costs, in nanoseconds."""
    if isinstance(kernel, Gaussian):
        return KERNEL + FEATURE * n_features
    if isinstance(kernel, On | Rescaled | Scaled):
        return value_cost(kernel.kernel, n_features)
    if isinstance(kernel, Sum | Product):
        return value_cost(kernel.left, n_features) + value_cost(kernel.right, n_features)
    if isinstance(kernel, WeightedSum):
        return sum(value_cost(part, n_features) for part, _ in kernel._used())
    return OTHER


def patience(*, value: float, n_centres: int, n_targets: int, kept: float) -> int:
    """Return the number of iterations that cost as much as the normal matrix; 0 for no iteration.

    Parameters
    ----------
    value : float
        What a kernel value costs.
    n_centres, n_targets : int
    kept : float
        The share of kernel values that are kept between passes.
    """
    iteration = (1.0 - kept) * value + kept * READ + PRODUCT * n_targets
    number = math.ceil((SOLVED * n_centres + value) / iteration)
    return 0 if number < AT_ONCE else number
