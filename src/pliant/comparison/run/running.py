"""Run the cells of a comparison in the order of its schedule, some at a time, under a budget.

The budget never changes a cell: it is finished as it would be without a budget, or cut.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from joblib import cpu_count

from pliant.comparison.metrics import METRICS, metrics_of
from pliant.comparison.protocol import SEARCHED, Cell, Protocol, Stage
from pliant.comparison.record import Record, cell_of
from pliant.comparison.run.cells import CUT
from pliant.comparison.run.folds import is_large
from pliant.comparison.run.isolation import close_all, perform_apart
from pliant.comparison.run.journal import Journal, method_key
from pliant.comparison.run.schedule import STAGES, Lane, Schedule
from pliant.comparison.run.search import is_searched
from pliant.comparison.sample import Sample
from pliant.comparison.text import seconds
from pliant.registry import Method

Progress = Callable[[Record, int, int], object]
"""Called after each cell with its record, the number of cells done, and that of all."""

BEAT = 0.5
"""Seconds between two looks of a `Watch`, at most."""


@dataclass(frozen=True)
class Moment:
    """What a run does at a moment.

    Attributes
    ----------
    records : tuple of Record
        Finished cells.
    running : tuple of Cell
    left : int
        Cells still to be run, by what is known so far.
    seconds : float
        Since the beginning.
    seconds_left : float or None
        Of the budget.
    answered : bool
        Whether every method has its first answer, or cannot have one.
    """

    records: tuple[Record, ...]
    running: tuple[Cell, ...]
    left: int
    seconds: float
    seconds_left: float | None
    answered: bool


Ended: TypeAlias = "queue.SimpleQueue[Record | BaseException]"
"""The records of cells in the order in which they end, or what went wrong instead."""

Watch = Callable[[Moment], object]
"""Called when a cell begins or ends, and twice a second."""


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
    watch : callable, optional
        See `Watch`.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C ended the run.
    records : dict of Cell to Record
        Finished cells.
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
        watch: Watch | None = None,
    ) -> None:
        self._sample, self._protocol, self._journal = sample, protocol, journal
        self._n_jobs = cpu_count() if n_jobs is None or n_jobs == -1 else n_jobs
        self._budget, self._progress, self._watch = budget, progress, watch
        self._methods = {method.name: method for method in methods}
        self._keys = {method.name: method_key(method, sample.task) for method in methods}
        self._metric = METRICS[protocol.metric or metrics_of(sample.task)[0].name]
        self._began = time.time()
        self._ends: float | None = None
        self._begun: dict[Cell, float] = {}
        self.interrupted = False
        self.records: dict[Cell, Record] = {}
        self._schedule = Schedule(
            [Lane(method.name, is_searched(method, sample)) for method in methods],
            protocol.places(),
            budget=budget,
            large=is_large(sample, protocol),
        )
        for method in methods:
            self._recall(method)

    def reason(self, name: str) -> str:
        """Return why cells of a method are missing."""
        stopped = self._schedule.lanes[name].stopped
        if stopped:
            return next(reversed(stopped.values()))
        return "interrupted" if self.interrupted else "the budget ended"

    def stopped(self, name: str, stage: Stage) -> str:
        """Return why a stage of a method was given up; "" if it was not."""
        return self._schedule.lanes[name].stopped.get(stage, "")

    def __call__(self) -> None:
        """Run what is not in the journal, until all is done or the time is up."""
        self._began = time.time()
        self._ends = None if self._budget is None else self._began + self._budget
        ended: Ended = queue.SimpleQueue()
        threads = ThreadPoolExecutor(self._n_jobs)
        try:
            while self._begin(threads, ended):
                self._look()
                self._take(self._wait(ended))
        except BaseException as stop:
            close_all()
            self.interrupted = True
            if not isinstance(stop, KeyboardInterrupt):
                raise
        finally:
            threads.shutdown()
        self._look()

    def _recall(self, method: Method) -> None:
        """Take the cells of a method that the journal holds from there."""
        for place in self._protocol.places():
            for stage in STAGES:
                cell = Cell(method.name, *place, stage)
                if record := self._journal.find(self._keys[method.name], cell):
                    self.records[cell] = record
                    took = record.get("seconds", {}).get("total") or 0.0
                    self._schedule.finish(cell, took, self._score(record))

    def _begin(self, threads: ThreadPoolExecutor, ended: Ended) -> bool:
        """Begin as many cells as may run; return whether any is running."""
        schedule = self._schedule
        while len(schedule.running) < self._n_jobs:
            now = time.time()
            cell = schedule.take(now, self._ends)
            if cell is None:
                break
            most = schedule.limit(cell)
            self._begun[cell] = now
            ends = None if most is None or self._ends is None else min(self._ends, now + most)
            threads.submit(self._perform, cell, ends, ended)
        return bool(schedule.running)

    def _perform(self, cell: Cell, ends: float | None, ended: Ended) -> None:
        method, key = self._methods[cell.method], self._journal.key
        try:
            ended.put(perform_apart(self._sample, self._protocol, method, cell, key, ends))
        except BaseException as error:
            ended.put(error)

    def _wait(self, ended: Ended) -> Record:
        """Return the next record; look around from time to time, so that Ctrl-C is noticed."""
        while True:
            try:
                record = ended.get(timeout=BEAT)
            except queue.Empty:
                self._look()
                continue
            if isinstance(record, BaseException):
                raise record
            return record

    def _take(self, record: Record) -> None:
        """Keep the record of a cell and its time."""
        cell = cell_of(record)
        took = time.time() - self._begun[cell]
        if record["status"] == CUT:
            self._schedule.stop(cell, self._why(cell, record))
        else:
            took = record.get("seconds", {}).get("total") or took  # without the start of a process
            self._schedule.finish(cell, took, self._score(record))
            self.records[cell] = record
            if not record.pop("crashed", False):
                self._journal.add(self._keys[cell.method], record)
        if self._progress is not None:
            done = len(self.records)
            self._progress(record, done, done + self._schedule.left())

    def _why(self, cell: Cell, record: Record) -> str:
        """Return why the stage of a cell that was cut is given up."""
        limit = self._schedule.limit(cell) or 0.0
        if self._ends is not None and self._begun[cell] + limit >= self._ends:
            return "the budget ended"
        most = seconds(limit)
        if cell.stage == SEARCHED:
            return f"a search takes more than its share of the budget, {most}"
        return f"a fold takes more than its share of the budget, {most}"

    def _score(self, record: Record) -> float | None:
        """Return the score of a record, the higher the better."""
        score = record["scores"].get(self._metric.name)
        return score if score is None or self._metric.higher_is_better else -score

    def _look(self) -> None:
        if self._watch is None:
            return
        schedule = self._schedule
        left = None if self._ends is None else max(0.0, self._ends - time.time())
        self._watch(
            Moment(
                tuple(self.records.values()),
                tuple(schedule.running),
                schedule.left(),
                time.time() - self._began,
                left,
                schedule.answered,
            )
        )
