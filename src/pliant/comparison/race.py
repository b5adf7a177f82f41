"""Run the methods of a comparison fold by fold, in parallel, within a time budget.

A *cell* is one method, fitted and scored on one fold. After the first fold, methods too slow for
the budget or too inaccurate for the blend are dropped. The remaining methods run all folds of the
first repeat. Slow methods return if time is left. A further repeat starts only if the remaining
time is expected to suffice, so that all methods share their folds. The budget limits which cells
run; it does not affect their scores.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np
from joblib import cpu_count

from pliant.comparison.blend import losses_of
from pliant.comparison.cells import close_all, perform_apart, starts_processes
from pliant.comparison.contenders import BASELINES
from pliant.comparison.journal import Journal, method_key
from pliant.comparison.metrics import Metric
from pliant.comparison.protocol import (
    DEFAULT,
    DUMMY,
    REFERENCE,
    Cell,
    Entry,
    Place,
    Protocol,
    Record,
    cell_of,
)
from pliant.comparison.sample import Sample
from pliant.comparison.standings import standings
from pliant.comparison.text import fixed, seconds
from pliant.core.text import count, remove_controls
from pliant.core.typing import Array
from pliant.registry import METHODS, Method

Progress: TypeAlias = Callable[["RaceState"], object]
"""Callback for the start and end of cells, and for regular updates while cells run."""


BEAT = 0.5
"""Maximum time between calls of a `Progress` callback, in seconds."""

EARLY = (DEFAULT, REFERENCE, DUMMY, "linear", "boosting")
"""Methods that run first on each fold; the others follow in the given order."""

FIRST_SHARE = 1 / 3
"""Maximum share of the budget for one method on the first fold; 20 s are always allowed."""

HOPELESS, KEPT = 1.5, 3
"""A method is dropped if its loss on the first fold is significantly above `HOPELESS` times the
lowest loss; the `KEPT` best methods always stay."""


@dataclass(frozen=True)
class RaceState:
    """The state of a comparison: finished and running fits on folds, and times in seconds.

    `remaining` counts the fits that are running or may still run, `seconds` is the elapsed time,
    and `seconds_left` the remaining budget.
    """

    records: tuple[Record, ...]
    running: tuple[Cell, ...]
    remaining: int
    seconds: float
    seconds_left: float | None


@dataclass(eq=False)
class Race:
    """Run every method on every fold, except for results that the journal file already contains.

    The `budget` is the time in seconds for all cells plus `final_fits` fits of each method. If
    `selective`, methods too inaccurate for a blend are dropped after the first fold. `n_jobs` cells
    run at the same time (None or -1: one per core), in processes or in an `executor`. Where no
    process can be started, this one runs them one after another.

    Attributes
    ----------
    interrupted : bool
        True after Ctrl-C.
    records : dict of Cell to Record
        Finished cells.
    dropped : dict of str to str
        Reasons why methods were dropped after the first fold, by method name.
    """

    sample: Sample
    protocol: Protocol
    methods: Sequence[Method]
    journal: Journal
    budget: float | None = None
    selective: bool = True
    final_fits: float = 0.0
    n_jobs: int | None = None
    executor: Any = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self._at_a_time = cpu_count() if self.n_jobs in (None, -1) else self.n_jobs
        if self.executor is None and not starts_processes():
            self._at_a_time = 1
        early = {name: place for place, name in enumerate(EARLY)}
        in_order = sorted(self.methods, key=lambda m: early.get(m.name, len(EARLY)))
        self._methods = {method.name: method for method in in_order}
        self._keys = {name: method_key(m, self.sample.task) for name, m in self._methods.items()}
        self._running: dict[Cell, tuple[Future[Record], float]] = {}  # with the start time
        self._cut: dict[str, str] = {}
        self._has_dropped = False
        self._slow: dict[str, float] = {}  # seconds of a fold of the methods dropped for their time
        self._began, self._ends = time.monotonic(), inf
        self.interrupted: bool = False
        self.dropped: dict[str, str] = {}
        self.records: dict[Cell, Record] = {}
        for name, key in self._keys.items():
            for place in self.protocol.places():
                if record := self.journal.find(key, Cell(name, *place)):
                    self.records[cell_of(record)] = record

    def run(self) -> None:
        """Run the cells without a record until all are done or the time budget runs out."""
        self._began = time.monotonic()
        self._ends = inf if self.budget is None else self._began + self.budget
        threads = ThreadPoolExecutor(self._at_a_time)
        try:
            while self._start_cells(threads):
                self._report()
                cells = {future: cell for cell, (future, _) in self._running.items()}
                for future in wait(cells, BEAT, FIRST_COMPLETED).done:
                    self._store(cells[future], future.result())
        except BaseException as stop:
            close_all()
            self.interrupted = True
            if not isinstance(stop, KeyboardInterrupt):
                raise
        finally:
            threads.shutdown()
        self._report()

    def is_done(self, name: str) -> bool:
        """Return True if a method has records for all folds of the started repeats."""
        repeats = {cell.repeat for cell in self.records} or {0}
        places = [place for place in self.protocol.places() if place[0] in repeats]
        return all(Cell(name, *place) in self.records for place in places)

    def reason(self, name: str) -> str:
        """Return the reason why a method has no records for some folds."""
        otherwise = "interrupted" if self.interrupted else "the budget ran out"
        return {**self.dropped, **self._cut}.get(name, otherwise)

    def _start_cells(self, threads: ThreadPoolExecutor) -> bool:
        """Start cells until `n_jobs` run; return True if any is running."""
        while len(self._running) < self._at_a_time:
            now = time.monotonic()
            cell = None if now >= self._ends else self._next_cell()
            if cell is None:
                break
            deadline = self._ends
            if self.budget is not None and cell.place == self.protocol.places()[0]:
                deadline = min(deadline, now + max(20.0, FIRST_SHARE * self.budget))
            task = self.sample, self.protocol, self._methods[cell.method], cell
            ends = None if deadline == inf else deadline
            future = threads.submit(perform_apart, *task, ends, self.executor)
            self._running[cell] = future, now
        return bool(self._running)

    def _next_cell(self) -> Cell | None:
        """Return the next cell to run: fold by fold, methods in order within a fold."""
        first = self.protocol.places()[0]
        for place in self.protocol.places():
            if place != first and not self._has_dropped:
                if self._running:
                    return None  # wait for the first fold of all methods before dropping any
                self._drop_methods(first)
            if place[0] > 0 and place[1] == 0:
                if self._readmit():
                    return self._next_cell()
                if not self._repeat_fits(place[0]):
                    return None
            for name in self._methods:
                cell = Cell(name, *place)
                if self._is_open(cell):
                    return cell
        return None

    def _is_open(self, cell: Cell) -> bool:
        gone = cell.method in self._cut or cell.method in self.dropped
        return not (gone or cell in self.records or cell in self._running)

    def _store(self, cell: Cell, record: Record) -> None:
        took = time.monotonic() - self._running.pop(cell)[1]
        if record["status"] == "cut":
            slow = f"a fold takes more than {seconds(took)}"
            at_end = time.monotonic() >= self._ends - BEAT
            self._cut[cell.method] = "the budget ran out" if at_end else slow
            return
        self.records[cell] = record
        if not record.pop("crashed", False):
            self.journal.add(self._keys[cell.method], record)

    def _drop_methods(self, first: Place) -> None:
        """After the first fold, drop methods too inaccurate for a blend or too slow."""
        self._has_dropped = True
        losses = {
            name: row_losses(self.sample, record)
            for name in self._methods
            if (record := self.records.get(Cell(name, *first))) and record.get("kept")
        }
        if self.selective and losses:
            self.dropped |= hopeless(losses)
        best = min(losses, key=lambda name: float(losses[name].mean()), default=None)
        took = {n: s for n in self._methods if (s := self._expected(n)) and n not in self.dropped}
        left = self._ends - time.monotonic()
        # Keep the dummy and the best method, then the fastest, as long as they fit into the time.
        for name in sorted(took, key=lambda n: (n != DUMMY, n != best, took[n])):
            needed = self._needed(name)
            if needed <= left or name == DUMMY:
                left -= needed
            else:
                self._slow[name] = took[name]
                self.dropped[name] = f"too slow for the budget: {seconds(took[name])} for a fold"

    def _needed(self, name: str) -> float:
        """Return the seconds for the other folds of the first repeat and the final fits."""
        folds = self.protocol.folds - 1 + self.final_fits
        return self._expected(name) * folds / self._at_a_time

    def _readmit(self) -> bool:
        """Let the fastest of the slow methods return if its folds fit into the time left."""
        kept = [name for name in self._methods if name not in self.dropped | self._cut]
        finals = sum(map(self._expected, kept)) * self.final_fits / self._at_a_time
        left = self._ends - time.monotonic() - finals
        name = min(self._slow, key=lambda name: self._slow[name], default=None)
        if name is None or self._needed(name) > left:
            return False
        del self._slow[name], self.dropped[name]
        return True

    def _repeat_fits(self, repeat: int) -> bool:
        """Return True if a repeat and the final fits should fit into the remaining time."""
        if any(cell.repeat == repeat for cell in self.records):
            return True
        active = [name for name in self._methods if name not in self.dropped | self._cut]
        fits = self.protocol.folds + self.final_fits
        needed = sum(map(self._expected, active)) * fits / self._at_a_time
        return needed <= self._ends - time.monotonic()

    def _expected(self, name: str) -> float:
        """Return the mean seconds per cell of a method; 0 without finished cells."""
        took = [
            record["seconds"].get("total", 0.0)
            for cell, record in self.records.items()
            if cell.method == name and "seconds" in record
        ]
        return float(np.mean(took)) if took else 0.0

    def _report(self) -> None:
        if self.progress is None:
            return
        cells = [Cell(name, *place) for name in self._methods for place in self.protocol.places()]
        left = None if self.budget is None else max(0.0, self._ends - time.monotonic())
        waiting = sum(map(self._is_open, cells)) + len(self._running)
        records, running = tuple(self.records.values()), tuple(self._running)
        self.progress(RaceState(records, running, waiting, time.monotonic() - self._began, left))


def row_losses(sample: Sample, record: Record) -> Array:
    """Return the squared error or log loss of each row with a stored prediction."""
    kept = record["kept"]
    assert kept is not None
    classes = None if sample.task == "regression" else np.array(sample.classes)
    values = np.asarray(kept["values"], dtype=np.float64)
    return losses_of(values, sample.y[kept["rows"]], classes)


def hopeless(losses: dict[str, Array]) -> dict[str, str]:
    """Return the methods to drop for their losses on a fold, with reasons.

    A method with row losses l is dropped if mean(l - b) - 2 se(l - b) > (HOPELESS - 1) mean(b),
    where b are the row losses of the best method. The best `KEPT` methods always stay, and so does
    the dummy, as a baseline.
    """
    ranked = sorted(losses, key=lambda name: float(losses[name].mean()))
    best = losses[ranked[0]]
    out = {}
    for name in ranked[KEPT:]:
        d = losses[name] - best
        surely = float(d.mean()) - 2.0 * float(d.std()) / max(1.0, len(d) - 1) ** 0.5
        if surely > (HOPELESS - 1) * float(best.mean()) and name != DUMMY:
            out[name] = "the loss on the first fold is much higher than the lowest loss"
    return out


class ProgressLines:
    """Print a line to stderr, starting with `title`, each time all methods finish a fold."""

    def __init__(self, metric: Metric, protocol: Protocol, title: str = "") -> None:
        self._metric, self._protocol = metric, protocol
        self._title = f"{title}: " if title else ""
        self._shown = -1

    def __call__(self, state: RaceState) -> None:
        """Print a line if another fold is finished."""
        if self._shown < 0:
            self._shown = 0
            fits = count(len(state.records) + state.remaining, "fit")
            self._print(f"at most {fits} on {count(self._protocol.folds, 'fold')}")
        running = {cell.place for cell in state.running}
        folds = {(r["repeat"], r["fold"]) for r in state.records if r["status"] == "done"}
        if len(folds - running) <= self._shown:
            return
        self._shown = len(folds - running)
        titles = {name: method.title for name, method in (METHODS | BASELINES).items()}
        names = dict.fromkeys(record["method"] for record in state.records)
        entries = [Entry(name, titles.get(name, name), "", "", "done") for name in names]
        places = standings(entries, state.records, self._metric, self._protocol)
        best = [f"{s.method.title} {fixed(s.mean, 3)}" for s in places if s.mean is not None][:4]
        scores = f"{self._metric.title} {', '.join(best)}" if best else "no score yet"
        left = "" if state.seconds_left is None else f", {seconds(state.seconds_left)} left"
        self._print(f"{count(self._shown, 'fold')} after {seconds(state.seconds)}{left}: {scores}")

    def _print(self, text: str) -> None:
        line = remove_controls(f"{self._title}{text}".replace("−", "-"))  # for ASCII terminals
        print(line, file=sys.stderr, flush=True)
