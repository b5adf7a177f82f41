"""Run the cells of a comparison, fold by fold for all methods, some at a time, under a budget.

After the first fold, methods leave that cannot get weight in a blend or are too slow for the
budget. All others have all folds of a repeat, in this order; a further repeat begins only if the
time left is expected to hold it, so that no method has a fold that others lack. The budget decides
which cells are run, and nothing about their scores.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from joblib import cpu_count

from pliant.comparison.journal import Journal, method_key
from pliant.comparison.protocol import Cell, Place, Protocol
from pliant.comparison.record import DUMMY, REFERENCE, Record, cell_of
from pliant.comparison.sample import Sample
from pliant.comparison.text import seconds
from pliant.comparison.workers import close_all, perform_apart, perform_on
from pliant.core.typing import Array
from pliant.registry import Method

Progress: TypeAlias = Callable[["Moment"], object]
"""Called when a cell begins or ends, and twice a second."""

BEAT = 0.5
"""Seconds between two calls of a `Progress`, at most."""

EARLY = ("lab-rbf", REFERENCE, DUMMY, "linear", "boosting")
"""Methods that are run first on each fold; the others follow as given."""

FIRST_SHARE = 1 / 3
"""The most of the budget that a cell of the first fold may take."""

SHORTEST = 20.0
"""Seconds that a cell of the first fold may take, if the budget has them."""

HOPELESS = 1.5
"""A method leaves if the loss on the first fold is surely this many times the least one."""

KEPT = 3
"""Methods that stay after the first fold at least."""

SURELY = 2.0
"""Standard errors of the mean difference of losses that make a difference sure."""


@dataclass(frozen=True)
class Moment:
    """The state of a race.

    Attributes
    ----------
    records : tuple of Record
        Finished cells.
    running : tuple of Cell
    left : int
        Cells still to be run, as far as is known.
    seconds : float
        Since the beginning.
    seconds_left : float or None
        Of the budget.
    """

    records: tuple[Record, ...]
    running: tuple[Cell, ...]
    left: int
    seconds: float
    seconds_left: float | None


class Race:
    """Run the cells of some methods.

    Parameters
    ----------
    sample, protocol : Sample and Protocol
    methods : sequence of Method
    journal : Journal
        Cells that it holds are not run again.
    budget : float or None
        Seconds for all cells together, by the clock.
    selective : bool
        Whether hopeless methods leave after the first fold.
    final_fits : float
        The number of fits on all rows that the budget has to hold as well, for each method.
    n_jobs : int or None
        Cells at a time; None or -1: one for each core.
    executor : object with ``submit``, optional
        Runs the cells, in place of processes on this computer.
    progress : callable, optional
        See `Progress`.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C ended the race.
    records : dict of Cell to Record
        Finished cells.
    left : dict of str to str
        Reasons of the methods that left after the first fold.
    """

    def __init__(
        self,
        sample: Sample,
        protocol: Protocol,
        methods: Sequence[Method],
        journal: Journal,
        *,
        budget: float | None,
        selective: bool = True,
        final_fits: float = 0.0,
        n_jobs: int | None = None,
        executor: Any = None,
        progress: Progress | None = None,
    ) -> None:
        self._sample, self._protocol, self._journal = sample, protocol, journal
        self._n_jobs = cpu_count() if n_jobs is None or n_jobs == -1 else n_jobs
        self._budget, self._selective, self._final_fits = budget, selective, final_fits
        self._executor, self._progress = executor, progress
        in_order = sorted(methods, key=lambda m: EARLY.index(m.name) if m.name in EARLY else 99)
        self._methods = {method.name: method for method in in_order}
        self._keys = {name: method_key(m, sample.task) for name, m in self._methods.items()}
        self._running: dict[Cell, float] = {}
        self._cut: dict[str, str] = {}
        self._settled = False
        self._ends: float | None = None
        self._began = time.time()
        self.interrupted = False
        self.records: dict[Cell, Record] = {}
        self.left: dict[str, str] = {}
        for name, key in self._keys.items():
            for place in protocol.places():
                if record := journal.find(key, Cell(name, *place)):
                    self.records[cell_of(record)] = record

    def run(self) -> None:
        """Run what is not in the journal, until all is done or the time is up."""
        self._began = time.time()
        self._ends = None if self._budget is None else self._began + self._budget
        ended: queue.SimpleQueue[Record | BaseException] = queue.SimpleQueue()
        threads = ThreadPoolExecutor(self._n_jobs)
        try:
            while self._begin(threads, ended):
                self._tell()
                self._take(self._wait(ended))
        except BaseException as stop:
            close_all()
            self.interrupted = True
            if not isinstance(stop, KeyboardInterrupt):
                raise
        finally:
            threads.shutdown()
        self._tell()

    def is_done(self, name: str) -> bool:
        """Return whether a method has all folds of the repeats that were begun."""
        repeats = {cell.repeat for cell in self.records} or {0}
        places = [place for place in self._protocol.places() if place[0] in repeats]
        return all(Cell(name, *place) in self.records for place in places)

    def reason(self, name: str) -> str:
        """Return the reason of missing cells of a method."""
        if name in self._cut or name in self.left:
            return self._cut.get(name) or self.left[name]
        return "interrupted" if self.interrupted else "the budget ended"

    def _begin(self, threads: ThreadPoolExecutor, ended: Any) -> bool:
        """Begin as many cells as may run; return whether any is running."""
        while len(self._running) < self._n_jobs:
            now = time.time()
            cell = None if self._ends is not None and now >= self._ends else self._next()
            if cell is None:
                break
            self._running[cell] = now
            threads.submit(self._perform, cell, self._deadline(cell, now), ended)
        return bool(self._running)

    def _next(self) -> Cell | None:
        """Return the next cell: fold by fold, and in the order of methods in each fold."""
        first = self._protocol.places()[0]
        for place in self._protocol.places():
            if place != first and not self._settled:
                if self._running:
                    return None  # methods leave when all have finished the first fold
                self._settle(first)
            if place[0] > 0 and place[1] == 0 and not self._holds_repeat(place[0]):
                return None
            for name in self._methods:
                cell = Cell(name, *place)
                if self._is_open(cell):
                    return cell
        return None

    def _is_open(self, cell: Cell) -> bool:
        gone = cell.method in self._cut or cell.method in self.left
        return not (gone or cell in self.records or cell in self._running)

    def _deadline(self, cell: Cell, now: float) -> float | None:
        """Return when to stop a cell; the first fold leaves time to the other methods."""
        if self._ends is None or self._budget is None:
            return None
        if cell.place != self._protocol.places()[0]:
            return self._ends
        return min(self._ends, now + max(SHORTEST, FIRST_SHARE * self._budget))

    def _perform(self, cell: Cell, ends: float | None, ended: Any) -> None:
        method, shared = self._methods[cell.method], (self._sample, self._protocol)
        try:
            if self._executor is not None:
                ended.put(perform_on(self._executor, *shared, method, cell, ends))
            else:
                ended.put(perform_apart(*shared, method, cell, self._journal.key, ends))
        except BaseException as error:
            ended.put(error)

    def _wait(self, ended: Any) -> Record:
        """Return the next record; look around from time to time, so that Ctrl-C is noticed."""
        while True:
            try:
                record = ended.get(timeout=BEAT)
            except queue.Empty:
                self._tell()
                continue
            if isinstance(record, BaseException):
                raise record
            return record

    def _take(self, record: Record) -> None:
        """Keep the record of a cell."""
        cell = cell_of(record)
        took = time.time() - self._running.pop(cell)
        if record["status"] == "cut":
            at_end = self._ends is not None and time.time() >= self._ends - BEAT
            slow = f"a fold takes more than {seconds(took)}"
            self._cut[cell.method] = "the budget ended" if at_end else slow
            return
        self.records[cell] = record
        if not record.pop("crashed", False):
            self._journal.add(self._keys[cell.method], record)

    def _settle(self, first: Place) -> None:
        """Let methods leave after the first fold."""
        self._settled = True
        losses = self._losses(first)
        if self._selective and losses:
            self.left |= hopeless(losses)
        self._leave_slow(losses)

    def _losses(self, place: Place) -> dict[str, Array]:
        """Return the loss of each kept row of a fold, by method."""
        return {
            name: row_losses(self._sample, record)
            for name in self._methods
            if (record := self.records.get(Cell(name, *place))) and record.get("kept")
        }

    def _leave_slow(self, losses: dict[str, Array]) -> None:
        """Let the slowest methods leave until the first repeat fits into the time left."""
        if self._ends is None:
            return
        best = min(losses, key=lambda name: float(losses[name].mean()), default=None)
        folds = self._protocol.folds - 1 + self._final_fits
        while True:
            took = {n: s for n in self._methods if (s := self._expected(n)) and n not in self.left}
            needed = sum(took.values()) * folds / self._n_jobs
            slow = sorted((name for name in took if name != best), key=lambda name: -took[name])
            if needed <= self._ends - time.time() or not slow:
                return
            self.left[slow[0]] = f"too slow for the budget: {seconds(took[slow[0]])} for a fold"

    def _holds_repeat(self, repeat: int) -> bool:
        """Return whether the time left is expected to hold a repeat and the final fits."""
        if self._ends is None or any(cell.repeat == repeat for cell in self.records):
            return True
        active = [name for name in self._methods if name not in self.left | self._cut]
        fits = self._protocol.folds + self._final_fits
        needed = sum(map(self._expected, active)) * fits / self._n_jobs
        return needed <= self._ends - time.time()

    def _expected(self, name: str) -> float:
        """Return the mean seconds of the cells of a method; 0 if none is finished."""
        took = [
            record["seconds"].get("total", 0.0)
            for cell, record in self.records.items()
            if cell.method == name and "seconds" in record
        ]
        return float(np.mean(took)) if took else 0.0

    def _tell(self) -> None:
        if self._progress is None:
            return
        cells = [Cell(name, *place) for name in self._methods for place in self._protocol.places()]
        left = None if self._ends is None else max(0.0, self._ends - time.time())
        waiting = sum(map(self._is_open, cells)) + len(self._running)
        records, running = tuple(self.records.values()), tuple(self._running)
        self._progress(Moment(records, running, waiting, time.time() - self._began, left))


def row_losses(sample: Sample, record: Record) -> Array:
    """Return the squared error, or minus the log of the probability, of each kept row."""
    kept = record["kept"]
    assert kept is not None
    y, values = sample.y[kept["rows"]], np.asarray(kept["values"], dtype=np.float64)
    if sample.task == "regression":
        return np.asarray((values - y) ** 2)
    classes = np.array(sample.classes)
    probability = values[np.arange(len(y)), np.searchsorted(classes, y)]
    return -np.log(np.clip(probability, 1e-4, 1.0))


def hopeless(losses: dict[str, Array]) -> dict[str, str]:
    """Return the methods that cannot get weight in a blend by their losses on a fold, with reasons.

    With the row losses l of a method and b of the best one, it is hopeless if
    mean(l - b) - 2 se(l - b) > (HOPELESS - 1) mean(b). The best `KEPT` stay whatever they lose, and
    the dummy does, as a yardstick.
    """
    ranked = sorted(losses, key=lambda name: float(losses[name].mean()))
    best = losses[ranked[0]]
    out = {}
    for name in ranked[KEPT:]:
        d = losses[name] - best
        surely = float(d.mean()) - SURELY * float(d.std()) / max(1.0, len(d) - 1) ** 0.5
        if surely > (HOPELESS - 1) * float(best.mean()) and name != DUMMY:
            out[name] = "the loss on the first fold is far above the best one"
    return out
