"""Large sets: libsvm, DANK on all rows and part by part, and the methods of DANK's Table 4."""

from __future__ import annotations

import time
from copy import copy
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.svm import SVC

from papers.data import PaperSet
from papers.sample import Protocol, Sample
from papers.study import MEASURED, Contestant, Needed, Record, Variants, unconverged
from pliant import DANKClassifier, KMeansPartition
from pliant.core.blocks import in_blocks
from pliant.core.typing import Array
from pliant.methods import HadamardKernel

LEAST = 0.005
"""tau/2 for tau = .01: the threshold of the eigenvalues."""

FEW = 300
"""Rows of a first, unmeasured fit, which loads compiled code."""

RULE = "reciprocal"
"""The paper's rule, except that a new point is ranked among the training points."""


class LargeModel(Contestant):
    """A contestant with the paper's C and gamma."""

    def model(self, given: PaperSet, tol: float) -> Any:
        """Return the unfitted estimator."""
        raise NotImplementedError

    def details(self, fitted: Any, sample: Sample) -> Record:
        """Return accuracies in per cent, and other numbers; ``test`` corresponds to the paper's."""
        return {"test": _accuracy(fitted, sample)}

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Fit and score; ``fit_seconds`` are process seconds."""
        with unconverged():
            self.model(sample.chosen, protocol.tol).fit(sample.X[:FEW], sample.y[:FEW])
        model = self.model(sample.chosen, protocol.tol)
        began = time.process_time()
        model.fit(sample.X, sample.y)
        busy = time.process_time() - began
        return {MEASURED: {**self.details(model, sample), "fit_seconds": busy}}


class Libsvm(LargeModel):
    """scikit-learn's SVC, with as large a cache as the paper's."""

    cache_mb: float

    def model(self, given: PaperSet, tol: float) -> SVC:
        return SVC(C=given.C, gamma=given.gamma, cache_size=self.cache_mb)

    def details(self, fitted: SVC, sample: Sample) -> Record:
        return {"test": _accuracy(fitted, sample), "support": len(fitted.support_)}


class Exact(LargeModel):
    """DANK on all rows, eta = |alpha|^2 of the plain SVM."""

    tau: float
    cache_mb: float

    def model(self, given: PaperSet, tol: float) -> DANKClassifier:
        options = {"tau": self.tau, "tol": tol, "cache_mb": self.cache_mb}
        return DANKClassifier(C=given.C, gamma=given.gamma, **options)

    def details(self, fitted: DANKClassifier, sample: Sample) -> Record:
        rank = fitted.adaptation_.rank if self.tau else counted_rank(fitted.kernel_)
        return {
            "test": _accuracy(fitted, sample, extension=RULE),
            "smooth": _accuracy(fitted, sample, extension="smooth"),
            **_numbers(fitted, rank),
        }


class Scalable(LargeModel):
    """DANK part by part, tau = 0, eta = |alpha|^2 over the parts' plain SVMs."""

    refine: bool

    def model(self, given: PaperSet, tol: float) -> DANKClassifier:
        return DANKClassifier(
            C=given.C, gamma=given.gamma, tau=0.0, tol=tol,
            partition=KMeansPartition(given.n_parts, refine=self.refine),
        )  # fmt: skip

    def details(self, fitted: DANKClassifier, sample: Sample) -> Record:
        if self.refine:
            return {"smooth": _accuracy(fitted, sample), **_numbers(fitted, None)}
        return {
            "test": _whole_accuracy(fitted, sample, extension=RULE),
            "smooth": _whole_accuracy(fitted, sample, extension="smooth"),
            "by parts": _accuracy(fitted, sample, extension="smooth"),
            **_numbers(fitted, counted_rank(fitted.kernel_)),
        }


def _accuracy(fitted: Any, sample: Sample, **rule: str) -> float:
    """Return the accuracy in per cent; `rule` changes parameters of the learned kernel."""
    other = copy(fitted)
    if rule:
        other.kernel_ = copy(fitted.kernel_).set_params(**rule)
    return 100.0 * float(np.mean(other.predict(sample.X_test) == sample.y_test))


def _whole_accuracy(fitted: Any, sample: Sample, extension: str) -> float:
    """Return the accuracy in per cent of the expansion over all parts, with F = 1 between them.

    The learned kernel is 0 between parts; there, F = 1 gives the base kernel.
    """
    kernel = copy(fitted.kernel_).set_params(extension=extension)
    support, vectors = kernel.labels[kernel.support], fitted.support_vectors_

    def between(X: Array) -> Array:
        other = kernel.place(X)[:, None] != support
        return np.asarray(kernel(X, vectors) + kernel.base(X, vectors) * other)

    values: Array = in_blocks(
        sample.X_test, len(vectors), lambda some: between(some) @ fitted.dual_coef_
    )
    predicted = fitted.classes_[(values + fitted.intercept_ > 0.0).astype(int)]
    return 100.0 * float(np.mean(predicted == sample.y_test))


def _numbers(fitted: DANKClassifier, rank: int | None) -> Record:
    reached = fitted.objective_ - fitted.objective_constant_
    gap = fitted.dual_gap_ / (1.0 + abs(reached))
    return {"rank": rank, "support": len(fitted.support_), "gap": gap}


def counted_rank(kernel: Any) -> int:
    """Return the number of eigenvalues of F = 11' + A/(4 eta) above `LEAST`, summed over parts."""
    parts = getattr(kernel, "parts", None)
    if parts is not None:
        return sum(map(counted_rank, parts))
    return int(np.sum(eigvalsh(_reduced(kernel)) > LEAST))


def _reduced(kernel: HadamardKernel) -> Array:
    """Return a matrix with the nonzero eigenvalues of F, shape (n_support + 1)^2.

    All rows of F without a support point are equal: they become one row, for the unit vector of
    ones over them.
    """
    support = kernel.support
    beta, points = kernel.beta[support], kernel.points[support]
    ones = np.append(np.ones(len(support)), np.sqrt(len(kernel.beta) - len(support)))
    F = np.outer(ones, ones)
    F[:-1, :-1] += kernel.quartic * beta[:, None] * kernel.base(points) * beta
    return F
