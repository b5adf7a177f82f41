"""Summaries of fitted estimators of pliant and other libraries, in a common format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

from pliant.core.estimators import BaseEstimator
from pliant.core.typing import Array
from pliant.kernels.base import Kernel, short_names

if TYPE_CHECKING:
    import pandas as pd


class Tabular:
    """Base class of results that print as tables; each implements `to_frame`."""

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a data frame."""
        raise NotImplementedError

    def _shown(self) -> pd.DataFrame:
        """Return the part of the data frame to print."""
        return self.to_frame()

    def _table(self, render: str) -> str:
        """Return the data frame as text or HTML; "" without pandas, which is optional."""
        try:
            method = getattr(self._shown(), render)
        except ImportError:
            return ""
        return str(method(max_rows=10, max_cols=10, float_format="{:.4g}".format))

    def __repr__(self) -> str:
        return self._table("to_string") or object.__repr__(self)

    def _repr_html_(self) -> str | None:
        return self._table("to_html") or None


@dataclass(frozen=True, eq=False)
class FunctionSummary:
    """Summary of a learned real-valued function.

    Attributes
    ----------
    estimator : estimator
        The fitted estimator of this function: the summarised estimator, or one in ``estimators_``.
    n_support : int or None
        Number of support points; None if the function has none.
    n_iter : int or None
        Number of iterations, in the solver's unit.
    objective, gap, relative_gap : float or None
        The objective, the certified bound on its distance from the optimum, and the bound in the
        units of ``tol``; None without a certificate.
    classes : tuple or None
        The two classes that the function separates, if there are more than two.
    details : mapping
        Further properties by name, such as ``eta``, ``rank``, ``parts`` or ``members``.
    """

    estimator: Any
    n_support: int | None = None
    n_iter: int | None = None
    objective: float | None = None
    gap: float | None = None
    relative_gap: float | None = None
    classes: tuple[Any, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class KernelWeights:
    """Learned weights of several kernels.

    `weights` has shape (n_sets, n_kernels), with one set in total or one for each pair of classes.
    """

    kernels: Sequence[Kernel]
    weights: Array

    def names(self, feature_names: Sequence[str] | None = None) -> list[str]:
        """Return a short name for each kernel, with feature names if given."""
        return short_names(self.kernels, feature_names)


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Tabular):
    """Summary of a fitted estimator, printed as a table.

    Attributes
    ----------
    functions : tuple of FunctionSummary
        One function for two classes or regression, and one per pair of classes otherwise. Empty for
        estimators that learn only a kernel or an embedding.
    kernel : Kernel or None
        The learned kernel; None if no kernel is learned or each pair of classes has its own.
    base_kernel : Kernel or None
        The kernel before learning.
    learner : mapping
        Properties of a kernel learned before the functions, such as ``strength``.
    n_support : int or None
        Number of distinct support points in all functions.
    drawings : frozenset of str
        The plots available for the estimator, or for each function with more than two classes:
        "adaptation", "tessellation", "bandwidths", "relevance", "intervals" and "weights".
    weights : KernelWeights or None
        The weights, if the learned kernel is a weighted sum.
    """

    functions: tuple[FunctionSummary, ...] = ()
    kernel: Kernel | None = None
    base_kernel: Kernel | None = None
    learner: Mapping[str, Any] = field(default_factory=dict)
    n_support: int | None = None
    drawings: frozenset[str] = frozenset()
    weights: KernelWeights | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers and words of each function, or of the learned kernel without one."""
        import pandas as pd

        names = ("classes", "n_support", "n_iter", "objective", "gap", "relative_gap")
        rows = [{n: getattr(f, n) for n in names} | dict(f.details) for f in self.functions]
        rows = [{**self.learner, **row} for row in rows or [{}]]
        kinds = (Real, str, tuple)  # arrays, such as the relevance, have their own attributes
        return pd.DataFrame([{k: v for k, v in r.items() if isinstance(v, kinds)} for r in rows])


def summarize(estimator: BaseEstimator) -> Summary:
    """Summarize a fitted estimator; for other libraries, only count the support points."""
    if hasattr(estimator, "summary"):
        summary: Summary = estimator.summary()
        return summary
    support = getattr(estimator, "support_", None)
    n_support = None if support is None or support.dtype.kind != "i" else len(support)
    return Summary((FunctionSummary(estimator, n_support),), n_support=n_support)
