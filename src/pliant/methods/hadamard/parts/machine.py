"""A machine that can be learned part by part: its parameters, and how it predicts."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.blocks import in_blocks
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.typing import Array
from pliant.core.validation import check_choice, check_flag, check_integer
from pliant.methods.hadamard.kernel import HadamardKernel
from pliant.methods.hadamard.machine import HadamardMachine
from pliant.methods.hadamard.partitioned_kernel import PartitionedKernel
from pliant.methods.hadamard.parts.run import PartedLearning
from pliant.methods.svm.estimators import Task, WarmStart

__all__ = ["PREDICTIONS", "PartedMachine"]

PREDICTIONS = ("part", "whole")


class PartedMachine(HadamardMachine):
    """A machine of the quartic rule, which can be learned part by part."""

    partition: str | None
    n_parts: int | str
    prediction: str
    refine: bool
    n_jobs: int | None
    checkpoint: Any
    random_state: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.partition is not None:
            check_choice("partition", self.partition, ("kmeans",))
        if isinstance(self.n_parts, str):
            check_choice("n_parts", self.n_parts, ("auto",))
        else:
            check_integer("n_parts", self.n_parts, least=1)
        check_choice("prediction", self.prediction, PREDICTIONS)
        check_flag("refine", self.refine)
        if self.partition is None and self.refine:
            raise ValueError("expected refine=False without partition='kmeans', got refine=True")
        jobs = self.n_jobs
        if jobs is not None and (
            not isinstance(jobs, Integral) or isinstance(jobs, bool) or not jobs
        ):
            raise ValueError(f"expected n_jobs None or a whole number other than 0, got {jobs!r}")
        self._check_checkpoint()

    def _check_checkpoint(self) -> None:
        folder = self.checkpoint
        if folder is None:
            return
        if not isinstance(folder, str | Path):
            raise TypeError(f"expected checkpoint to be a folder or None, got {folder!r}")
        if self.partition is None:
            raise ValueError(
                f"expected checkpoint=None without partition='kmeans', got {str(folder)!r}"
            )

    def _keeps_whole(self, n: int) -> bool:
        return self.partition is None and super()._keeps_whole(n)

    def _learn(self, task: Task, start: WarmStart | None, callback: Callable[..., Any]) -> Array:
        if self.partition is None:
            return super()._learn(task, start, callback)
        if isinstance(task.kernel, Precomputed):
            raise ValueError(
                f"expected a kernel of points for partition={self.partition!r}, which divides them "
                "by their coordinates, got kernel='precomputed'"
            )
        return PartedLearning(self, task, callback).run()

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for machine in getattr(self, "estimators_", [self]):
            support = machine.kernel_.support
            if len(support) != len(machine.support_vectors_):
                raise ValueError(
                    f"expected {len(support)} support points, as in the kernel, got "
                    f"{len(machine.support_vectors_)}"
                )

    def _expand(self, X: Array) -> Array:
        kernel = self.kernel_
        if not isinstance(kernel, PartitionedKernel) or kernel.between == "one":
            return super()._expand(X)
        return self._expand_by_parts(kernel, X)

    def _expand_by_parts(self, kernel: PartitionedKernel, X: Array) -> Array:
        """Return the same as `_expand`, without the kernel values that are zero."""
        values = np.full(len(X), float(self.intercept_))
        place, owners = kernel.place(X), kernel.labels[kernel.support]
        for p in np.unique(place):
            rows, mine = np.flatnonzero(place == p), owners == p
            if mine.any():
                vectors, weights = self.support_vectors_[mine], self.dual_coef_[mine]
                values[rows] += _expansion(kernel.parts[p], X[rows], vectors, weights)
        return values


def _expansion(kernel: HadamardKernel, X: Array, vectors: Array, weights: Array) -> Array:
    """Return kernel(X, vectors) @ weights, in blocks of rows."""
    found: Array = in_blocks(X, len(vectors), lambda some: kernel(some, vectors) @ weights)
    return found
