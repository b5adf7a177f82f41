"""One part of a training set: the problem without intercept, solved by any worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.progress import Status, is_over
from pliant.core.typing import Array
from pliant.methods.hadamard.gram_rows import gram_rows
from pliant.methods.hadamard.parts.divide import Partition
from pliant.methods.hadamard.parts.parallel import halted
from pliant.methods.hadamard.parts.store import PartResult
from pliant.methods.svm import smo
from pliant.methods.svm.dual import MarginDual, without_intercept
from pliant.methods.svm.rows import DenseRows, Rows
from pliant.methods.svm.task import Task

SMALL_PART = 2000
"""Largest part whose Gram matrix is computed whole: rows on demand gain nothing."""


class PartOptions(NamedTuple):
    """How a part is solved.

    `tol` and `max_iter` are those of `pliant.methods.svm.smo.solve`, `cache_mb` and `dtype` those
    of `pliant.methods.hadamard.gram_rows.gram_rows`. `ends` is when to stop with the best solution
    so far, by the clock `time.time`; None for never.
    """

    tol: float
    max_iter: int
    ends: float | None
    cache_mb: float
    dtype: str


def solve_part(
    kernel: Kernel,
    points: Array,
    margin: Callable[[Rows], MarginDual],
    quartic: float,
    start: Array,
    options: PartOptions,
) -> PartResult:
    """Maximise the dual of some points without its equality constraint (problem (19)).

    `margin` makes the dual of the Gram matrix of the base kernel on the points, shape (m, d). The
    weight of its quartic term is `quartic`, c = 1/(4 eta). `start`, shape (m,), is where to begin.
    """
    tol, max_iter, ends, cache_mb, dtype = options
    if is_over(ends) or halted():
        return _untouched(margin)
    rows = gram_rows(kernel, points, cache_mb=cache_mb, dtype=dtype, whole=SMALL_PART)
    dual = margin(rows).with_quartic(quartic)
    result = smo.solve(
        without_intercept(dual),
        np.append(start, -start.sum()),
        tol=tol,
        max_iter=max_iter,
        callback=lambda _: is_over(ends) or halted(),
        unit=dual.unit,
    )
    return PartResult(
        result.x[:-1], result.value, result.gap, result.n_iter, result.status.name
    )  # fmt: skip


def _untouched(margin: Callable[[Rows], MarginDual]) -> PartResult:
    """Return the result for a part that was not begun: beta = 0, and the gap there."""
    dual = margin(DenseRows(np.empty((0, 0))))  # the gap at zero does not depend on the rows
    gap = float(dual.loss(dual.linear).sum()) if dual.psd else np.nan
    return PartResult(np.zeros_like(dual.linear), 0.0, gap, 0, Status.STOPPED.name)


@dataclass(frozen=True, eq=False)
class PartTasks(Sequence[tuple[Any, ...]]):
    """The arguments of `solve_part` for each part, made on demand.

    `task` is that of all points, and `start` has a coefficient for each of them, shape (n,).
    `margin` returns the function that makes the dual of a task.
    """

    task: Task
    partition: Partition
    margin: Callable[[Task], Callable[[Rows], MarginDual]]
    quartic: float
    start: Array
    options: PartOptions

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.partition)

    def __getitem__(self, part: Any) -> Any:
        """Return the arguments of one part."""
        mine = self.partition.members(part)
        some = self.task.subset(mine)
        start = self.start[mine]
        return some.kernel, some.points, self.margin(some), self.quartic, start, self.options

    def untouched(self, part: int) -> PartResult:
        """Return the result for a part that was not begun."""
        return _untouched(self.margin(self.task.subset(self.partition.members(part))))
