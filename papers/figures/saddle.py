"""The saddle point of the TKL paper on rows of a data set, with a clock."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import minmax_scale, scale

from benchmarks.datasets import load_local
from pliant.core.typing import Array
from pliant.kernels import GeneralizedKernel, TessellatedKernel
from pliant.methods.svm.dual import svc_dual, svr_dual
from pliant.methods.tessellated.problem import KernelLearning, Oracle


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a data set, as `pliant.TKLClassifier` and `pliant.TKLRegressor` see them."""

    X: Array
    """Scaled to [0, 1]."""
    y: Array
    """Labels -1.0 and 1.0, or a target of mean 0 and standard deviation 1."""
    is_classification: bool


def read(name: str, folder: str | None, count: int | None = None, seed: int = 0) -> Rows:
    """Return the rows of a set, or `count` of them drawn at random."""
    data = load_local(name, folder)
    m = len(data.y)
    chosen = np.random.default_rng(seed).permutation(m)[:count] if count else np.arange(m)
    X, y = data.X[chosen], data.y[chosen].astype(np.float64)
    is_classification = data.task == "binary"
    return Rows(minmax_scale(X), y if is_classification else scale(y), is_classification)


@dataclass(frozen=True, eq=False)
class ClockedLearning(KernelLearning):
    """A saddle point that records, in `ticks`, the processor seconds after each inner fit."""

    started: list[float] = field(default_factory=lambda: [time.process_time()])
    ticks: list[float] = field(default_factory=list)

    def start_clock(self) -> None:
        """Count from now; by default, from when it was made."""
        self.started[:], self.ticks[:] = [time.process_time()], []

    def oracle(self, w: Array, gain: float, count: int = 1) -> Oracle:
        """Return the best P for w: the last step of each inner fit."""
        best = super().oracle(w, gain, count)
        self.ticks.append(time.process_time() - self.started[0])
        return best


def tessellated(degree: int = 1, basis: str = "x", delta: float = 0.5) -> TessellatedKernel:
    """Return the family on the box [-delta, 1 + delta], as the learners make it."""
    return TessellatedKernel(-delta, 1.0 + delta, degree, basis)


def learning(rows: Rows, C: float, epsilon: float, kernel: GeneralizedKernel) -> ClockedLearning:
    """State the saddle point on some rows."""
    margin: Any = (
        partial(svc_dual, signs=rows.y, C=C)
        if rows.is_classification
        else partial(svr_dual, target=rows.y, C=C, epsilon=epsilon)
    )
    return ClockedLearning(kernel, rows.X, margin)
