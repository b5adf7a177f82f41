"""Summaries of fitted estimators, in one form for all methods and for other libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import BaseEstimator

from pliant.core.typing import Array
from pliant.kernels.base import Kernel, short_names


@dataclass(frozen=True, eq=False)
class Convergence:
    """The certified gap at each check of a solver.

    `gaps`, relative to `scale`, belong to `steps` in the given `unit`, both of shape (n_checks,);
    nan without a certificate. `tol` is the wanted gap.
    """

    steps: Array
    gaps: Array
    tol: float
    unit: str = "two-coordinate steps"
    scale: str = "(1 + |objective|)"


@dataclass(frozen=True, eq=False)
class FunctionSummary:
    """One learned real function.

    Attributes
    ----------
    estimator : estimator
        The fitted estimator with this function: itself, or one of its ``estimators_``.
    n_support : int or None
        Number of support points; None without support points.
    n_iter : int or None
        Number of iterations, in the unit of the solver.
    objective, gap, relative_gap : float or None
        The objective, the certified bound on its distance from the optimum, and that bound in the
        units of ``tol``; None without a certificate.
    classes : tuple or None
        The two separated classes of more than two.
    details : mapping
        Further facts by name, such as ``eta``, ``rank``, ``parts`` or ``members``.
    convergence : Convergence or None
    """

    estimator: BaseEstimator
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
    """The summary of a fitted estimator.

    Attributes
    ----------
    functions : tuple of FunctionSummary
        One for two classes or a regression, one for each pair of more classes. Empty for estimators
        that learn only a kernel or an embedding.
    kernel : Kernel or None
        The learned kernel; None for none, or one for each pair of classes.
    base_kernel : Kernel or None
        The kernel at the start of learning.
    learner : mapping
        Facts of a kernel that is learned before the functions, such as ``strength``.
    n_support : int or None
        Number of different support points of all functions together.
    drawings : frozenset of str
        The available drawings of the estimator (with more than two classes, of each function):
        "gram", "adaptation", "tessellation", "bandwidths", "relevance", "intervals", "weights" and
        "convergence".
    convergence : Convergence or None
        Convergence of the solver that learned the kernel, if it certifies a gap; `functions` have
        those of their own solvers.
    weights : KernelWeights or None
        The weights, if the learned kernel is a weighted sum.
    """

    functions: tuple[FunctionSummary, ...] = ()
    kernel: Kernel | None = None
    base_kernel: Kernel | None = None
    learner: Mapping[str, Any] = field(default_factory=dict)
    n_support: int | None = None
    drawings: frozenset[str] = frozenset()
    convergence: Convergence | None = None
    weights: KernelWeights | None = None


def summarize(estimator: BaseEstimator) -> Summary:
    """Return the summary of a fitted estimator; another library's has its support points only."""
    if hasattr(estimator, "summary"):
        summary: Summary = estimator.summary()
        return summary
    support = getattr(estimator, "support_", None)
    n_support = None if support is None or support.dtype.kind != "i" else len(support)
    return Summary((FunctionSummary(estimator, n_support),), n_support=n_support)
