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
    from pliant.methods.svm.parts.divide import Partition
    from pliant.methods.svm.parts.store import PartResult


@dataclass(frozen=True, eq=False)
class Solution:
    """One learned function.

    `kernel` is the learned kernel, with the coefficients of all samples, and `intercept` the b of
    the decision function, in the units of the task. `result` is the outcome of the solver; it
    counts the steps of the last problem only, whereas `n_iter` includes those for eta="auto". A fit
    with another C may start from the coefficients `path_start`, shape (n_samples,). `unit` is that
    of the objective (see `pliant.methods.svm.dual.MarginDual.unit`), and `constant` is the part of
    it that no coefficient changes. `partition` and `part_results` belong to functions that were
    learned in parts.
    """

    kernel: HadamardKernel | PartitionedKernel
    intercept: float
    result: Result[Certificate]
    n_iter: int
    path_start: Array
    unit: float
    constant: float = 0.0
    partition: Partition | None = None
    part_results: Sequence[PartResult] = ()
