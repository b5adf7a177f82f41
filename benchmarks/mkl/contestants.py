"""Those whose time is compared: each gets the same Gram matrices and returns the weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.mkl.simple_mkl import simple_mkl
from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array

LAM = 0.1
"""EasyMKL's lambda."""


@dataclass(frozen=True)
class Learned:
    """Weights, and what a contestant reports of itself."""

    weights: Array
    reported: dict[str, Any] = field(default_factory=dict)


Contestant = Callable[[Array, Array, float, float, float], Learned]
"""(grams, y, C, relative gap, time limit in seconds) -> weights."""


class Given(Kernel):
    """A kernel whose values are given; points are row numbers.

    Parameters
    ----------
    values : array of shape (n_rows, n)
        Values of all rows with the first n of them, those to learn from.
    """

    def __init__(self, values: Array) -> None:
        self.values = values

    def _gram(self, X: Array, Y: Array) -> Array:
        rows, others = X[:, 0].astype(np.intp), Y[:, 0].astype(np.intp)
        if X is Y and self.values.shape == (len(rows), len(rows)):
            return self.values  # all rows, in their order
        return self.values[np.ix_(rows, others)]

    def _diagonal(self, X: Array) -> Array:
        return self.values.diagonal()[X[:, 0].astype(np.intp)]


def textbook(grams: Array, y: Array, C: float, tol: float, seconds: float) -> Learned:
    """Reduced gradients around scikit-learn's SVC."""
    solution = simple_mkl(grams, y, C, tol=tol, seconds=seconds)
    reported = {
        "gap": solution.gap,
        "svms": solution.n_svms,
        "gradients": solution.n_gradients,
        "stopped": solution.stopped,
    }
    return Learned(solution.weights, reported)


def pliant_simple(grams: Array, y: Array, C: float, tol: float, seconds: float) -> Learned:
    """MKLClassifier(weights="simple")."""
    model = _pliant("simple", grams, y, C, tol, seconds)
    return Learned(
        model.weights_, {"gap": float(model.relative_gap_), "gradients": int(model.n_iter_) + 1}
    )


def pliant_easy(grams: Array, y: Array, C: float, tol: float, seconds: float) -> Learned:
    """MKLClassifier(weights="easy") with the SVM at the end."""
    model = _pliant("easy", grams, y, C, tol, seconds)
    return Learned(model.weights_ / model.weights_.sum())


def _pliant(weights: str, grams: Array, y: Array, C: float, tol: float, seconds: float) -> Any:
    from pliant import MKLClassifier

    model = MKLClassifier(
        [Given(gram) for gram in grams], weights=weights, C=C, tol=tol, normalize=False,
        max_iter=-1, max_seconds=seconds, n_jobs=1,
    )  # fmt: skip
    return model.fit(np.arange(len(y), dtype=np.float64)[:, None], y)


def mklpy_easy(grams: Array, y: Array, C: float, tol: float, seconds: float) -> Learned:
    """MKLpy's EasyMKL with an SVC at the end; it has no time limit."""
    import torch
    from MKLpy.algorithms import EasyMKL
    from sklearn.svm import SVC

    torch.set_num_threads(1)
    model = EasyMKL(lam=LAM, learner=SVC(C=C, tol=tol))
    model.fit(list(torch.from_numpy(grams)), torch.from_numpy(y))
    return Learned(np.asarray(model.solution.weights, dtype=np.float64))


SIMPLE: dict[str, Contestant] = {"textbook": textbook, "pliant": pliant_simple}
"""Those that solve the problem of SimpleMKL to a gap."""

EASY: dict[str, Contestant] = {"MKLpy": mklpy_easy, "pliant, easy": pliant_easy}
"""Those that solve EasyMKL's; the tolerance is that of the SVM at the end."""

CONTESTANTS = {**SIMPLE, **EASY}


def timed(
    contestant: str, grams: Array, y: Array, C: float, tol: float, seconds: float
) -> tuple[Learned, dict[str, float]]:
    """Return what a contestant learns, with its processor time and the time by the clock."""
    began, busy = perf_counter(), process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The use of `x.T` on tensors")
        learned = CONTESTANTS[contestant](grams, y, C, tol, seconds)
    busy, clock = process_time() - busy, perf_counter() - began
    return learned, {"seconds": busy, "clock": clock}
