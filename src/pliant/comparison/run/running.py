"""The order of cells under a budget, and the end of a run.

The next cell is of the method that will have taken the least time with one more fold; a method that
has not run yet is expected to take an equal share of the budget. So quick methods finish all of
their folds first, and slow ones share the rest. The budget never changes a cell: it is finished as
it would be without a budget, or cut.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from joblib import Parallel, cpu_count, delayed

from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.record import Record
from pliant.comparison.run.isolation import CUT, close_all, perform_apart
from pliant.comparison.run.journal import Journal, method_key
from pliant.comparison.sample import Sample
from pliant.registry import Method

SHARES = 1.5
"""The most equal shares of the budget (time of all processes over methods) of one cell."""

SHORTEST = 20.0
"""Seconds that any cell may take, if the budget has them."""

Progress = Callable[[Record, int, int], object]
"""Called after each cell with its record, the number of cells done, and that of all."""


@dataclass
class _Queue:
    """The cells of one method that are still to be run, and the times of those that were."""

    method: Method
    cells: list[Cell]
    runs: list[float] = field(default_factory=list)
    since: dict[Cell, float] = field(default_factory=dict)
    reason: str = ""

    def ahead(self, now: float, share: float) -> float:
        """Return the seconds that it will have taken with one more cell, running ones with it."""
        running = sum(now - start for start in self.since.values())
        return sum(self.runs) + running + self.expected(share)

    def expected(self, share: float) -> float:
        """Return the seconds of a cell: the mean of those that ended, or else `share`."""
        return sum(self.runs) / len(self.runs) if self.runs else share

    def fits(self, left: float) -> bool:
        """Return whether another cell can be expected to end in time."""
        return self.expected(0.0) <= left


class Run:
    """Run the cells of some methods, and keep why cells are missing.

    Parameters
    ----------
    sample, protocol : Sample and Protocol
    methods : sequence of Method
    journal : Journal
        Cells that it holds are not run again.
    budget : float or None
        Seconds for all cells together, by the clock.
    n_jobs : int or None
        Cells at a time; None or -1: one for each core.
    progress : callable, optional
        See `Progress`.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C ended the run.
    """

    def __init__(
        self,
        sample: Sample,
        protocol: Protocol,
        methods: Sequence[Method],
        journal: Journal,
        *,
        budget: float | None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._sample, self._protocol, self._journal = sample, protocol, journal
        self._n_jobs = cpu_count() if n_jobs in (None, -1) else n_jobs
        self._budget = budget
        self._progress = progress
        self._keys = {method.name: method_key(method, sample.task) for method in methods}
        self._lock = threading.Lock()
        self.interrupted = False
        self.records: dict[Cell, Record] = {}
        self._queues = {method.name: self._queue(method) for method in methods}
        self._total = len(methods) * len(protocol.places())
        waiting = sum(bool(queue.cells) for queue in self._queues.values())
        self._share = (budget or 0.0) * self._n_jobs / max(1, waiting)
        self._cap = max(SHORTEST, SHARES * self._share)

    def reason(self, name: str) -> str:
        """Return why cells of a method are missing; "" if none is."""
        queue = self._queues[name]
        if queue.reason or not (queue.cells or queue.since):
            return queue.reason
        return "interrupted" if self.interrupted else "the budget ended"

    def __call__(self) -> None:
        """Run what is not in the journal, until all is done or the time is up."""
        self._ends = None if self._budget is None else time.time() + self._budget
        work = Parallel(
            n_jobs=self._n_jobs,
            prefer="threads",
            return_as="generator_unordered",
            pre_dispatch="n_jobs",
            batch_size=1,
        )
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*tasks which were still being processed")
                for record in work(self._tasks()):
                    self._take(record)
        except BaseException as stop:
            close_all()
            self.interrupted = True
            if not isinstance(stop, KeyboardInterrupt):
                raise

    def _queue(self, method: Method) -> _Queue:
        """Return the cells of a method to run; those in the journal are taken from there."""
        cells = [Cell(method.name, *place) for place in self._protocol.places()]
        for cell in cells:
            if record := self._journal.find(self._keys[method.name], cell):
                self.records[cell] = record
        return _Queue(method, [cell for cell in cells if cell not in self.records])

    def _tasks(self) -> Iterator[Any]:
        """Yield the next cell whenever joblib asks for one."""
        while chosen := self._next():
            method, cell, ends = chosen
            yield delayed(perform_apart)(
                self._sample, self._protocol, method, cell, self._journal.key, ends
            )

    def _next(self) -> tuple[Method, Cell, float | None] | None:
        """Return the next cell and when it is to be killed; None if there is none."""
        with self._lock:
            now = time.time()
            left = float("inf") if self._ends is None else self._ends - now
            waiting = [q for q in self._queues.values() if q.cells and not q.reason]
            waiting = [queue for queue in waiting if queue.fits(left)]
            if left <= 0 or not waiting:
                return None
            queue = min(waiting, key=lambda each: each.ahead(now, self._share))
            cell = queue.cells.pop(0)
            queue.since[cell] = now
            ends = None if self._ends is None else now + min(left, self._cap)
            return queue.method, cell, ends

    def _take(self, record: Record) -> None:
        """Keep the record of a cell and its time."""
        cell = Cell(record["method"], record["repeat"], record["fold"])
        queue = self._queues[cell.method]
        with self._lock:
            queue.runs.append(time.time() - queue.since.pop(cell))
            if record["status"] == CUT:
                queue.cells.insert(0, cell)
                if self._ends is not None and time.time() < self._ends:
                    queue.reason = (
                        f"a fold takes more than its share of the budget, {self._cap:.0f} s"
                    )
        if record["status"] != CUT:
            self.records[cell] = record
            if not record.pop("crashed", False):
                self._journal.add(self._keys[cell.method], record)
        if self._progress is not None:
            self._progress(record, len(self.records), self._total)
