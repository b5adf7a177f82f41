"""Who competes: libsvm, DANK on all rows, and DANK part by part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

from sklearn.svm import SVC

from benchmarks.scale_sets import Halves
from papers.large.protocol import LargeSet
from papers.large.rank import counted_rank
from pliant import DANKClassifier

__all__ = ["CONTESTANTS", "Contestant", "Exact", "Libsvm", "Scalable"]

PAPERS_RULE = "reciprocal"


class Contestant(ABC):
    """A frozen dataclass whose fields say how it is fitted.

    Attributes
    ----------
    name, title : str
        In the records and on the page.
    """

    name: str
    title: str

    @abstractmethod
    def machine(self, chosen: LargeSet, tol: float) -> Any:
        """Return the estimator, not fitted."""

    @abstractmethod
    def details(self, fitted: Any, sample: Halves) -> dict[str, Any]:
        """Return accuracies by the rule for new points, and other numbers.

        ``test`` is by the paper's rule and stands beside the paper's.
        """

    @abstractmethod
    def words(self) -> str:
        """Say in a sentence what it is."""


@dataclass(frozen=True)
class Libsvm(Contestant):
    """scikit-learn's SVC, with as large a cache as the paper's."""

    name: str = "libsvm"
    title: str = "SVC"
    cache_mb: float = 5000.0

    def machine(self, chosen: LargeSet, tol: float) -> SVC:
        given = chosen.machine
        return SVC(C=given.C, gamma=given.gamma, cache_size=self.cache_mb)

    def details(self, fitted: SVC, sample: Halves) -> dict[str, Any]:
        return {"test": _accuracy(fitted, sample), "support": len(fitted.support_)}

    def words(self) -> str:
        return f"scikit-learn's SVC, cache {self.cache_mb:g} MB"


@dataclass(frozen=True)
class Exact(Contestant):
    """DANK on all rows, eta = |alpha|^2 of the plain SVM."""

    tau: float = 0.01
    cache_mb: float = 6000.0
    name: str = "exact"
    title: str = "DANK exact"

    def machine(self, chosen: LargeSet, tol: float) -> DANKClassifier:
        given = chosen.machine
        return DANKClassifier(
            C=given.C, gamma=given.gamma, tau=self.tau, tol=tol, cache_mb=self.cache_mb
        )

    def details(self, fitted: DANKClassifier, sample: Halves) -> dict[str, Any]:
        rank = fitted.adaptation_.rank if self.tau else counted_rank(fitted.kernel_)
        return {
            "test": _accuracy(fitted, sample, extension=PAPERS_RULE),
            "smooth": _accuracy(fitted, sample, extension="smooth"),
            **_numbers(fitted, rank),
        }

    def words(self) -> str:
        return (
            f"DANK on all rows, tau = {self.tau:g}, eta = |alpha|^2 of the plain SVM, cache "
            f"{self.cache_mb:g} MB"
        )


@dataclass(frozen=True)
class Scalable(Contestant):
    """DANK part by part, tau = 0, eta = |alpha|^2 of the parts' plain SVMs together."""

    refine: bool = False
    name: str = "scalable"
    title: str = "DANK decomposed"

    def machine(self, chosen: LargeSet, tol: float) -> DANKClassifier:
        given = chosen.machine
        return DANKClassifier(
            C=given.C, gamma=given.gamma, tau=0.0, tol=tol, partition="kmeans",
            n_parts=chosen.n_parts, refine=self.refine, random_state=0,
        )  # fmt: skip

    def details(self, fitted: DANKClassifier, sample: Halves) -> dict[str, Any]:
        if self.refine:
            return {"smooth": _accuracy(fitted, sample), **_numbers(fitted, None)}
        return {
            "test": _accuracy(fitted, sample, between="one", extension=PAPERS_RULE),
            "smooth": _accuracy(fitted, sample, between="one", extension="smooth"),
            "by parts": _accuracy(fitted, sample, between="zero", extension="smooth"),
            **_numbers(fitted, counted_rank(fitted.kernel_)),
        }

    def words(self) -> str:
        if self.refine:
            return "the same, refined to the optimum of the exact problem"
        return "DANK part by part without b, tau = 0, eta = |alpha|^2 of the parts' plain SVMs"


def _accuracy(fitted: Any, sample: Halves, **rule: str) -> float:
    """Return the accuracy in per cent; `rule` changes parameters of the learned kernel."""
    other = copy(fitted)
    if rule:
        other.kernel_ = copy(fitted.kernel_).set_params(**rule)
    return 100.0 * float(other.score(sample.X_test, sample.y_test))


def _numbers(fitted: DANKClassifier, rank: int | None) -> dict[str, Any]:
    reached = fitted.objective_ - fitted.objective_constant_
    return {
        "rank": rank,
        "support": len(fitted.support_),
        "gap": fitted.dual_gap_ / (1.0 + abs(reached)),
        "eta": fitted.eta_,
    }


CONTESTANTS: tuple[Contestant, ...] = (
    Libsvm(),
    Exact(),
    Exact(0.0, 2000.0, "exact-0", "DANK exact, tau = 0"),
    Scalable(),
    Scalable(refine=True, name="refined", title="DANK refined"),
)
"""The contestants, in the order of the page."""
