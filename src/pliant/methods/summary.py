"""Summaries of fitted estimators, in one form for all methods and for other libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pliant.core.typing import Array
from pliant.kernels.base import Kernel, short_names


@dataclass(frozen=True, eq=False)
class Convergence:
    """The certified gap at each check of a solver.

    `gaps`, relative to `scale`, are those after `steps` in the given `unit`, both of shape
    (n_checks,); nan where there is no certificate. `tol` is the gap that was asked for.
    """

    steps: Array
    gaps: Array
    tol: float
    unit: str = "two-coordinate steps"
    scale: str = "(1 + |objective|)"


@dataclass(frozen=True, eq=False)
class FunctionSummary:
    """One real function that an estimator has learned.

    Attributes
    ----------
    estimator : estimator
        The fitted estimator that holds it: itself, or one of its ``estimators_``.
    n_support : int or None
        Number of support points; None where there are none.
    n_iter : int or None
        Number of iterations, in the unit of the solver.
    objective, gap, relative_gap : float or None
        The objective, the certified bound on its distance from the optimum, and that bound in the
        units of ``tol``; None where the method certifies nothing.
    classes : tuple or None
        The two classes that it separates, where there are more than two.
    details : mapping
        Further facts by name, such as ``eta``, ``rank``, ``parts`` or ``members``.
    convergence : Convergence or None
    """

    estimator: Any
    n_support: int | None = None
    n_iter: int | None = None
    objective: float | None = None
    gap: float | None = None
    relative_gap: float | None = None
    classes: tuple[Any, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    convergence: Convergence | None = None


@dataclass(frozen=True, eq=False)
class KernelWeights:
    """The learned weights of several kernels.

    `weights` has shape (n_sets, n_kernels): one set, or one for each pair of classes.
    """

    kernels: Sequence[Kernel]
    weights: Array

    def names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """Return a short name of each kernel, with given names of the features."""
        return short_names(self.kernels, feature_names)


@dataclass(frozen=True, eq=False)
class Summary:
    """What a fitted estimator has learned.

    Attributes
    ----------
    functions : tuple of FunctionSummary
        One for each real function: one for two classes or a regression, one for each pair of more
        classes. Empty for what learns a kernel or an embedding only.
    kernel : Kernel or None
        The learned kernel; None where there is one for each pair of classes, or none.
    base_kernel : Kernel or None
        The kernel that learning started from.
    learner : mapping
        Facts of a kernel that was learned before the functions, such as ``strength``.
    n_support : int or None
        Number of different support points of all functions together.
    drawings : frozenset of str
        What can be drawn of the estimator (or, with more than two classes, of each function's):
        of "gram", "adaptation", "tessellation", "bandwidths", "relevance", "intervals", "weights"
        and "convergence".
    convergence : Convergence or None
        Of the solver that learned the kernel, if it certifies a gap; that of the solver of a
        function is in `functions`.
    weights : KernelWeights or None
        Where the learned kernel is a weighted sum of kernels.
    """

    functions: tuple[FunctionSummary, ...] = ()
    kernel: Any = None
    base_kernel: Any = None
    learner: Mapping[str, Any] = field(default_factory=dict)
    n_support: int | None = None
    drawings: frozenset[str] = frozenset()
    convergence: Convergence | None = None
    weights: KernelWeights | None = None


def summarize(estimator: Any) -> Summary:
    """Return the summary of a fitted estimator; of another library's, its support points if any."""
    if hasattr(estimator, "summary"):
        summary: Summary = estimator.summary()
        return summary
    support = getattr(estimator, "support_", None)
    n_support = None if support is None or support.dtype.kind != "i" else len(support)
    return Summary((FunctionSummary(estimator, n_support),), n_support=n_support)
