"""One part of a training set: the problem without intercept, solved by any worker.

A part of n_p points is a problem of the family by itself, over F with a row for each of its points.
For KNPL that means F1 = n_p 1. So the parts together solve KNPL's problem for a kernel that is zero
between parts, over the F whose rows sum to n_p within their part; with F = 1 between parts they
sum to n, and F is one that the problem on all points admits, too. (A block-diagonal A does not make
P A P block-diagonal: the rows of the best F on all points sum to n, but not to n_p within a part.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.progress import Progress, Result, Status, is_over
from pliant.core.typing import Array
from pliant.methods.hadamard import sequential
from pliant.methods.hadamard.gram_rows import gram_rows
from pliant.methods.hadamard.problem import adapted_dual
from pliant.methods.svm import smo
from pliant.methods.svm.dual import MarginDual, without_intercept
from pliant.methods.svm.parts.divide import Partition
from pliant.methods.svm.parts.parallel import halted
from pliant.methods.svm.parts.store import PartResult
from pliant.methods.svm.rows import DenseRows, Rows
from pliant.methods.svm.task import Task

SMALL_PART = 2000
"""Largest part whose Gram matrix is computed whole: rows on demand gain nothing."""


class PartOptions(NamedTuple):
    """How a part is solved.

    `tol` and `max_iter` are those of `pliant.methods.svm.smo.solve`, `cache_mb` and `dtype` those
    of `pliant.methods.hadamard.gram_rows.gram_rows`. `ends` is when to stop with the best solution
    so far, by the clock `time.time`; None for never. `centred` is whether the rows of F sum to the
    number of points, as for KNPL.
    """

    tol: float
    max_iter: int
    ends: float | None
    cache_mb: float
    dtype: str
    centred: bool = False


def solve_part(
    kernel: Kernel,
    points: Array,
    margin: Callable[[Rows], MarginDual],
    eta: float,
    start: Array,
    options: PartOptions,
) -> PartResult:
    """Maximise the problem of some points without its equality constraint (problem (19)).

    `margin` makes the dual of the Gram matrix of the base kernel on the points, shape (m, d).
    `eta` is the weight of the penalty of F, inf for the plain SVM. `start`, shape (m,), is where to
    begin.
    """
    if is_over(options.ends) or halted():
        return _untouched(margin)
    plain = margin(_rows(kernel, points, options))
    unit = plain.unit
    problem = adapted_dual(
        without_intercept(plain), eta, centred=options.centred, n_points=len(points)
    )
    begin = np.append(start, -start.sum())
    limits: dict[str, Any] = {"tol": options.tol, "max_iter": options.max_iter, "unit": unit}
    result: Result[Any]
    if isinstance(problem, MarginDual):
        result = smo.solve(problem, begin, callback=_ended(options), **limits)
    else:
        inner = partial(smo.solve, unit=unit)
        result = sequential.solve(problem, begin, inner=inner, callback=_ended(options), **limits)
    return PartResult(result.x[:-1], result.value, result.gap, result.n_iter, result.status.name)


def _rows(kernel: Kernel, points: Array, options: PartOptions) -> Rows:
    """Return the Gram matrix of a part: whole where it is small, or read many times and fits."""
    fits = 8.0 * len(points) ** 2 <= options.cache_mb * 2.0**20
    whole = len(points) if options.centred and fits else SMALL_PART
    return gram_rows(kernel, points, cache_mb=options.cache_mb, dtype=options.dtype, whole=whole)


def _ended(options: PartOptions) -> Callable[[Progress], bool]:
    """Return a callback that asks whether the time is up or nobody needs the part any more."""
    return lambda _: is_over(options.ends) or halted()


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
    eta: float
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
        return some.kernel, some.points, self.margin(some), self.eta, start, self.options

    def untouched(self, part: int) -> PartResult:
        """Return the result for a part that was not begun."""
        return _untouched(self.margin(self.task.subset(self.partition.members(part))))
