"""What learning one function returns; the estimator makes its fitted attributes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.core.progress import Result
from pliant.core.typing import Array, Indices
from pliant.methods.svm.dual import Certificate

if TYPE_CHECKING:
    from pliant.methods.hadamard.kernel import HadamardKernel
    from pliant.methods.hadamard.partitioned_kernel import PartitionedKernel

__all__ = ["PartFacts", "Solution"]


@dataclass(frozen=True, eq=False)
class PartFacts:
    """The parts in which a function was learned.

    Attributes
    ----------
    labels, centres : arrays of shape (n_samples,) and (n_parts, n_features)
        The part of each sample, and the centres of the parts.
    gaps, seconds : arrays of shape (n_parts,)
        The certified gap of each part, and the processor time that it took.
    """

    labels: Indices
    centres: Array
    gaps: Array
    seconds: Array


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
    parts : PartFacts or None
        For functions that were learned in parts.
    """

    kernel: HadamardKernel | PartitionedKernel
    intercept: float
    result: Result[Certificate]
    n_iter: int
    path_start: Array
    constant: float = 0.0
    parts: PartFacts | None = None
