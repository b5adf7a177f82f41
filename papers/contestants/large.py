"""Large sets: libsvm, DANK on all rows, and DANK part by part."""

from __future__ import annotations

import time
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.svm import SVC

from benchmarks.scale_sets import SETS, ScaleSet, halves
from papers.data import PaperSet, paper_sets
from papers.sample import Sample
from papers.study import MEASURED, Contestant, Protocol, Variants, unconverged
from pliant import DANKClassifier
from pliant.core.typing import Array
from pliant.kernels import HadamardKernel, PartitionedKernel

LEAST = 0.005
"""tau/2 for tau = .01: what the threshold rule takes off every eigenvalue."""

FEW = 300
"""Rows of a first fit that is not measured: it loads what is compiled."""

RULE = "reciprocal"
"""The paper's rule but for the points that a new one is ranked among: here the training points."""


@dataclass(frozen=True)
class LargeHalves(Protocol):
    """Random halves with the paper's C and gamma; DANK's relative gap."""

    tol: float = 1e-4
    n_parts: int | None = None
    """Parts of the decomposed problem; None takes those of the set."""

    def sample(
        self, name: str, chosen: PaperSet, folder: str, repeat: int, contestant: Contestant
    ) -> Sample:
        """Return one half for training, the other for testing."""
        return Sample(name, "classification", *halves(SETS[name], repeat, folder))


class LargeModel(Contestant):
    """A contestant whose parameters are given."""

    @abstractmethod
    def model(self, given: ScaleSet, n_parts: int, tol: float) -> Any:
        """Return the estimator, not fitted."""

    @abstractmethod
    def details(self, fitted: Any, sample: Sample) -> dict[str, Any]:
        """Return accuracies by the rule for new points, and other numbers.

        ``test`` is by `RULE` and stands beside the paper's.
        """

    def measure(self, sample: Sample, protocol: LargeHalves, repeat: int, needed: Any) -> Variants:
        """Fit, and judge; ``fit_seconds`` are process seconds."""
        n_parts = protocol.n_parts or paper_sets("large")[sample.name].n_parts
        given = (SETS[sample.name], n_parts, protocol.tol)
        with unconverged():
            self.model(*given).fit(sample.X[:FEW], sample.y[:FEW])
        model = self.model(*given)
        began = time.process_time()
        model.fit(sample.X, sample.y)
        busy = time.process_time() - began
        return {MEASURED: {**self.details(model, sample), "fit_seconds": busy}}


@dataclass(frozen=True)
class Libsvm(LargeModel):
    """scikit-learn's SVC, with as large a cache as the paper's."""

    name: str = "libsvm"
    title: str = "SVC"
    cache_mb: float = 5000.0

    def model(self, given: ScaleSet, n_parts: int, tol: float) -> SVC:
        return SVC(C=given.C, gamma=given.gamma, cache_size=self.cache_mb)

    def details(self, fitted: SVC, sample: Sample) -> dict[str, Any]:
        return {"test": _accuracy(fitted, sample), "support": len(fitted.support_)}


@dataclass(frozen=True)
class Exact(LargeModel):
    """DANK on all rows, eta = |alpha|^2 of the plain SVM."""

    tau: float = 0.01
    cache_mb: float = 6000.0
    name: str = "exact"
    title: str = "DANK exact"

    def model(self, given: ScaleSet, n_parts: int, tol: float) -> DANKClassifier:
        return DANKClassifier(
            C=given.C, gamma=given.gamma, tau=self.tau, tol=tol, cache_mb=self.cache_mb
        )

    def details(self, fitted: DANKClassifier, sample: Sample) -> dict[str, Any]:
        rank = fitted.adaptation_.rank if self.tau else counted_rank(fitted.kernel_)
        return {
            "test": _accuracy(fitted, sample, extension=RULE),
            "smooth": _accuracy(fitted, sample, extension="smooth"),
            **_numbers(fitted, rank),
        }


@dataclass(frozen=True)
class Scalable(LargeModel):
    """DANK part by part, tau = 0, eta = |alpha|^2 of the parts' plain SVMs together."""

    refine: bool = False
    name: str = "scalable"
    title: str = "DANK decomposed"

    @property
    def kind(self) -> str:
        return f"Scalable, {self.refine}"

    def model(self, given: ScaleSet, n_parts: int, tol: float) -> DANKClassifier:
        return DANKClassifier(
            C=given.C, gamma=given.gamma, tau=0.0, tol=tol, partition="kmeans",
            n_parts=n_parts, refine=self.refine, random_state=0,
        )  # fmt: skip

    def details(self, fitted: DANKClassifier, sample: Sample) -> dict[str, Any]:
        if self.refine:
            return {"smooth": _accuracy(fitted, sample), **_numbers(fitted, None)}
        return {
            "test": _accuracy(fitted, sample, between="one", extension=RULE),
            "smooth": _accuracy(fitted, sample, between="one", extension="smooth"),
            "by parts": _accuracy(fitted, sample, between="zero", extension="smooth"),
            **_numbers(fitted, counted_rank(fitted.kernel_)),
        }


def _accuracy(fitted: Any, sample: Sample, **rule: str) -> float:
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


def counted_rank(kernel: HadamardKernel | PartitionedKernel) -> int:
    """Return the number of eigenvalues of F = 11' + A/(4 eta) above `LEAST`.

    Of a kernel learned part by part, the sum over the parts, that is the count for the
    block-diagonal F that the paper prints.
    """
    if isinstance(kernel, PartitionedKernel):
        return sum(counted_rank(part) for part in kernel.parts)
    return int(np.sum(eigvalsh(_reduced(kernel)) > LEAST))


def _reduced(kernel: HadamardKernel) -> Array:
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
