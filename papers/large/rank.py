"""How many eigenvalues of F count, where no threshold was in the problem."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh

from pliant.core.typing import Array
from pliant.kernels import HadamardKernel, PartitionedKernel

__all__ = ["LEAST", "counted_rank"]

LEAST = 0.005
"""tau/2 for tau = .01: what the threshold rule takes off every eigenvalue."""


def counted_rank(kernel: HadamardKernel | PartitionedKernel) -> int:
    """Return the number of eigenvalues of F = 11' + A/(4 eta) above `LEAST`.

    Of a kernel learned part by part, the sum over the parts, that is the count for the
    block-diagonal F that the paper prints.
    """
    if isinstance(kernel, PartitionedKernel):
        return sum(counted_rank(part) for part in kernel.parts)
    return int(np.sum(eigvalsh(reduced(kernel)) > LEAST))


def reduced(kernel: HadamardKernel) -> Array:
    """Return a matrix with the eigenvalues of F that are not zero, (n_support + 1)^2.

    All rows of F without a support point are equal: they become one row, for the unit vector of
    ones over them.
    """
    support = kernel.support
    beta, points = kernel.beta[support], kernel.points[support]
    ones = np.append(np.ones(len(support)), np.sqrt(len(kernel.beta) - len(support)))
    F = np.outer(ones, ones)
    F[:-1, :-1] += kernel.quartic * beta[:, None] * kernel.base(points) * beta
    return F
