"""What learning one function returns; the estimator makes its fitted attributes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.svm.dual import Certificate

if TYPE_CHECKING:
    from pliant.methods.hadamard.kernel import HadamardKernel
    from pliant.methods.hadamard.partitioned_kernel import PartitionedKernel
    from pliant.methods.hadamard.parts.divide import Partition
    from pliant.methods.hadamard.parts.parallel import PartResult


@dataclass(frozen=True, eq=False)
class Solution:
    """One learned function.

    Attributes
    ----------
    kernel : HadamardKernel or PartitionedKernel
        The learned kernel, with the coefficients of all samples.
    intercept : float
        The b of the decision function, in the units of the task.
    result : Result
        The outcome of the solver; `result.n_iter` counts the steps of the last problem only.
    n_iter : int
        Two-coordinate steps, those for eta="auto" included.
    path_start : array of shape (n_samples,)
        The coefficients from which a fit with another C may start.
    constant : float
        The part of the objective that no coefficient changes.
    partition, part_results : Partition and list of PartResult, or None
        For functions that were learned in parts.
    """

    kernel: HadamardKernel | PartitionedKernel
    intercept: float
    result: Result[Certificate]
    n_iter: int
    path_start: Array
    constant: float = 0.0
    partition: Partition | None = None
    part_results: Sequence[PartResult] = ()
