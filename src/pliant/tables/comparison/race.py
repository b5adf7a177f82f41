"""Run the methods of a comparison fold by fold, in parallel, within a time budget.

A *cell* is one method, fitted and scored on one fold. One method after the other runs its folds of
the first repeat: LAB-RBF, the dummy, and the others by typical time. After the first fold of a
method, its other folds follow if they, and a fit to all rows, fit into the time left. A method that
has weight in the blend of the finished ones is then fitted to all rows; so at any time the best
model of the finished methods is ready. A further repeat starts only if it fits into
the time left, and the methods with all folds share it. The budget limits which cells run; it does
not affect their scores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

import numpy as np

from pliant.core.text import count, remove_controls
from pliant.tables.comparison.baselines import BASELINES
from pliant.tables.comparison.cells import (
    FittedMethod,
    ThisProcess,
    await_processes,
    starts_processes,
)
from pliant.tables.comparison.journal import Journal, method_key
from pliant.tables.comparison.metrics import Metric
from pliant.tables.comparison.options import RaceState, RunOptions
from pliant.tables.comparison.protocol import (
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
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.standings import standings
from pliant.tables.comparison.text import fixed, seconds
from pliant.tables.registry import METHODS, Method

BEAT = 0.5
"""Maximum time between calls of a `Progress` callback, in seconds."""

TYPICAL = {
    DEFAULT: 1.0, DUMMY: 0.0, "boosting": 0.2, "gp": 0.1, "extra-trees": 0.4, "forest": 0.6,
    "linear": 0.7, "lightgbm": 0.1, "xgboost": 0.1, "catboost": 4.0, "kernel-ridge": 1.0,
    REFERENCE: 3.0,
}  # fmt: skip
"""Typical seconds of a fold of a table with `TYPICAL_ROWS` rows, medians over tables.

These methods run first, in this order; the others follow in the given one."""

TYPICAL_ROWS = 250

ALL_ROWS: Place = (-1, -1)
"""The place of a fit to all rows, which has no score."""

FIRST_SHARE = 1 / 3
"""Maximum share of the budget for one method on the first fold; 20 s are always allowed."""


def typical_seconds(name: str, n_rows: int) -> float:
    """Return the typical seconds of a fold of a method, about proportional to the rows."""
    return TYPICAL.get(name, 0.0) * n_rows / TYPICAL_ROWS


@dataclass(eq=False)
class Race:
    """Run every method on every fold, except for results that the journal file already contains.

    `spent` seconds of the budget are over. `members` returns the methods with weight in the blend
    of those with the given records; they are fitted to all rows, except for those in `fitted`.
    Cells with a record in `given` are not run. Cells run in processes or in an executor. Where no
    process can be started, this one runs them one after another; as it cannot stop a fit at the end
    of the budget, a method starts only if its folds are expected to end before.

    Attributes
    ----------
    interrupted : bool
        True after Ctrl-C.
    records : dict of Cell to Record
        Finished cells.
    fitted : dict of str to FittedMethod
        Methods fitted to all rows, by name.
    """

    sample: Sample
    protocol: Protocol
    methods: Sequence[Method]
    journal: Journal
    options: RunOptions = field(default_factory=RunOptions)
    spent: float = 0.0
    members: Callable[[Sequence[Record]], Collection[str]] | None = None
    fitted: dict[str, FittedMethod] = field(default_factory=dict)
    given: Sequence[Record] = ()

    def __post_init__(self) -> None:
        self._runner, self._budget = self.options.runner, self.options.budget
        self._executor = self.options.executor
        if self._executor is None and not starts_processes():
            self._executor = ThisProcess()
        self._is_here = isinstance(self._executor, ThisProcess)
        self._at_a_time = 1 if self._is_here else self.options.jobs
        n_rows = len(self.sample.y)
        first = self.fitted.get(DEFAULT)
        self._took = 0.0 if first is None else first.seconds.get("fit", 0.0)
        self._pace = max(1.0, self._took / typical_seconds(DEFAULT, n_rows))  # of a busy computer
        early = {name: place for place, name in enumerate(TYPICAL)}
        in_order = sorted(self.methods, key=lambda m: early.get(m.name, len(early)))
        self._methods = {method.name: method for method in in_order}
        self._keys = {name: method_key(m, self.sample.task) for name, m in self._methods.items()}
        self._running: dict[Cell, tuple[Future[Any], float]] = {}  # with the start time
        self._failed: set[str] = set()  # fits to all rows
        self._weighted: tuple[Any, Collection[str]] = None, ()
        self._cut: dict[str, str] = {}
        self._began, self._ends = self._runner.clock(), inf
        self.interrupted: bool = False
        self.records: dict[Cell, Record] = {}
        for name, key in self._keys.items():
            for place in self.protocol.places():
                if record := self.journal.find(key, Cell(name, *place)):
                    self.records[cell_of(record)] = record
        self.records |= {cell_of(record): record for record in self.given}
        self._before = max((r.get("at", 0.0) for r in self.records.values()), default=self.spent)

    def run(self) -> None:
        """Run the cells without a record until all are done or the time budget runs out."""
        self._began = self._runner.clock()
        self._ends = inf if self._budget is None else self._began + self._budget - self.spent
        # In this process, Ctrl-C ends a fit, which only the main thread can do.
        threads = ThisProcess() if self._is_here else self._runner.pool(self._at_a_time)
        try:
            if self._executor is None and self._next_cell() is not None:
                # The start of a process is not the time of a method.
                await_processes(self._at_a_time, None if self._ends == inf else self._left())
            while self._start_cells(threads):
                self._report()
                cells = {future: cell for cell, (future, _) in self._running.items()}
                for future in wait(cells, BEAT, FIRST_COMPLETED).done:
                    self._store(cells[future], future.result())
            self._report()
        except BaseException as stop:
            self.interrupted = True
            with suppress(KeyboardInterrupt):  # a second one loses no result
                self._runner.close()
            if not isinstance(stop, KeyboardInterrupt):
                raise
        finally:
            with suppress(KeyboardInterrupt):
                threads.shutdown()

    def is_done(self, name: str) -> bool:
        """Return True if a method has records for all folds of the started repeats."""
        repeats = {cell.repeat for cell in self.records} or {0}
        return all(place in self._places_of(name) for place in self._places(repeats))

    def is_unfinished(self, name: str) -> bool:
        """Return True if another method has all folds of the first repeat, and this one has not."""
        first = set(self._places([0]))
        have_all = {n for n in self._methods if first <= self._places_of(n)}
        return name not in have_all and bool(have_all - {DUMMY})

    def reason(self, name: str) -> str:
        """Return the reason why a method has no records for some folds."""
        if self.interrupted:
            return "interrupted"
        if name in self._cut:
            return self._cut[name]
        took, missing = self._expected(name), self._missing(name)
        if not took or not missing:
            return "the budget ran out"
        if not self._places_of(name):
            return f"its folds take about {seconds(self._folds_take(name))}"
        return (
            f"a fold takes {seconds(took)}; its other folds need about "
            f"{seconds(self._folds_take(name))} more"
        )

    def _start_cells(self, threads: Any) -> bool:
        """Start cells until `n_jobs` run; return True if any is running."""
        while len(self._running) < self._at_a_time:
            now = self._runner.clock()
            cell = None if now >= self._ends else self._next_cell()
            if cell is None:
                break
            deadline = self._ends
            others = self._methods.keys() - self._cut.keys() - {cell.method, DUMMY}
            is_first = others and cell.place == self.protocol.places()[0]
            if is_first and self._budget is not None and self._executor is None:
                # In an executor, a fit may have to wait.
                deadline = min(deadline, now + max(20.0, FIRST_SHARE * self._budget))
            given = self.sample, self.protocol, self._methods[cell.method]
            where = None if deadline == inf else deadline, self._executor
            if cell.place == ALL_ROWS:
                future: Future[Any] = threads.submit(self._runner.fit, *given, *where)
            else:
                future = threads.submit(self._runner.perform, *given, cell, *where)
            self._running[cell] = future, now
        return bool(self._running)

    def _next_cell(self) -> Cell | None:
        """Return the next cell to run, or None to wait for running cells or to end."""
        first = self._places([0])
        for name in self._methods:
            tried = first[0] in self._places_of(name)
            places = [*first[1:], ALL_ROWS] if tried else first[:1]
            probes = not tried and not self._is_here
            if (probes or self._fits(name)) and (cell := self._first_open(places, [name])):
                return cell
        if any(cell.repeat <= 0 for cell in self._running):
            return None
        whole = [name for name in self._methods if not self._missing(name)]
        others = [name for name in self._methods if name != DUMMY]
        if others and not set(whole) & set(others):
            # No method fits: a single one runs as many folds as possible, the first of several one.
            return self._first_open(first if len(others) == 1 else first[:1], others[:1])
        for repeat in range(1, self.protocol.repeats):
            if not self._repeat_fits(repeat, whole):
                return None
            if cell := self._first_open(self._places([repeat]), whole):
                ends = not self._is_here or self._expected(cell.method) <= self._left()
                return cell if ends else None
        return None

    def _fits(self, name: str) -> bool:
        """Return True if a method's folds and its fit to all rows fit into the time left."""
        begun = len(self._places_of(name)) > 1  # then a slow fold is no reason to stop
        begun = begun and not (self._is_here and not self._missing(name))
        whole = self.members is not None and name not in self.fitted and not begun
        last = 1.25 * self._expected(name) if whole else 0.0
        return self._folds_take(name) + last <= self._left() or name == DUMMY

    def _folds_take(self, name: str) -> float:
        """Return the expected time of a method's missing folds of the first repeat."""
        return self._expected(name) * ceil(self._missing(name) / self._at_a_time)

    def _left(self) -> float:
        """Return the seconds of the budget that are left."""
        return self._ends - self._runner.clock()

    def _first_open(self, places: Sequence[Place], names: Sequence[str]) -> Cell | None:
        """Return the first open cell, fold by fold."""
        cells = (Cell(name, *place) for place in places for name in names)
        return next(filter(self._is_open, cells), None)

    def _weighted_now(self) -> Collection[str]:
        """Return the methods with weight in the blend of those with all folds of the first repeat.

        The weights are learned from the repeats of which all of them have all folds.
        """
        complete = {name for name in self._methods if name != DUMMY and not self._missing(name)}
        if self.members is None or not complete:
            return ()
        shared = set.intersection(*map(self._places_of, complete))
        repeats = {repeat for repeat, _ in shared if shared.issuperset(self._places([repeat]))}
        if (complete, repeats) != self._weighted[0]:
            cells = [c for c in self.records if c.method in complete and c.repeat in repeats]
            members = self.members([self.records[cell] for cell in cells])
            self._weighted = (complete, repeats), members
        return self._weighted[1]

    def _places(self, repeats: Collection[int]) -> list[Place]:
        return [place for place in self.protocol.places() if place[0] in repeats]

    def _places_of(self, name: str) -> set[Place]:
        """Return the folds for which a method has records."""
        return {cell.place for cell in self.records if cell.method == name}

    def _missing(self, name: str) -> int:
        """Return the number of folds of the first repeat that a method has no record for."""
        return len(set(self._places([0])) - self._places_of(name))

    def _is_open(self, cell: Cell) -> bool:
        if cell.place == ALL_ROWS:
            known = cell.method in self.fitted or cell.method in self._failed
            return not known and cell not in self._running and cell.method in self._weighted_now()
        return not (cell.method in self._cut or cell in self.records or cell in self._running)

    def _store(self, cell: Cell, record: Any) -> None:
        took = self._runner.clock() - self._running.pop(cell)[1]
        if cell.place == ALL_ROWS:
            if record is None:
                self._failed.add(cell.method)
            else:
                self.fitted[cell.method] = record
            return
        if record["status"] == "cut":
            slow = f"a fold takes more than {seconds(took)}"
            at_end = self._runner.clock() >= self._ends - BEAT
            self._cut[cell.method] = "the budget ran out" if at_end else slow
            return
        self.records[cell] = record
        record["at"] = self._before + self._runner.clock() - self._began
        if not record.pop("crashed", False):
            self.journal.add(self._keys[cell.method], record)

    def _repeat_fits(self, repeat: int, names: Sequence[str]) -> bool:
        """Return True if a repeat should fit into the remaining time."""
        if any(cell.repeat == repeat for cell in self.records):
            return True
        took = [*map(self._expected, names)]
        needed = sum(took) * self.protocol.folds / self._at_a_time
        return max([needed, *took]) <= self._left()

    def _expected(self, name: str) -> float:
        """Return the mean seconds per cell of a method, or the typical ones; 0 if unknown.

        For LAB-RBF, those of the fit to all rows take the place of the typical ones.
        """
        took = [
            record["seconds"].get("total", 0.0)
            for cell, record in self.records.items()
            if cell.method == name and "seconds" in record
        ]
        if not took and name == DEFAULT and self._took:
            return self._took
        typical = self._pace * typical_seconds(name, len(self.sample.y))
        return float(np.mean(took)) if took else typical

    def _report(self) -> None:
        if not callable(self.options.progress):
            return
        cells = [Cell(name, *place) for name in self._methods for place in self.protocol.places()]
        left = None if self._budget is None else max(0.0, self._left())
        waiting = sum(map(self._is_open, cells)) + len(self._running)
        records, running = tuple(self.records.values()), tuple(self._running)
        elapsed = self.spent + self._runner.clock() - self._began
        self.options.progress(RaceState(records, running, waiting, elapsed, left))


class ProgressLines:
    """Print a line to stderr, starting with `title`, when more folds or methods have finished."""

    def __init__(self, metric: Metric, protocol: Protocol, title: str = "") -> None:
        self._metric, self._protocol = metric, protocol
        self._title = f"{title}: " if title else ""
        self._shown: tuple[int, list[str]] | None = None

    def __call__(self, state: RaceState) -> None:
        """Print a line if the methods with scores, or their number of folds, have changed."""
        if self._shown is None:
            fits = count(len(state.records) + state.remaining, "fit")
            self._print(f"at most {fits} on {count(self._protocol.folds, 'fold')}")
            self._shown = 0, []
        n_folds, names = self._finished(state)
        if not names or (n_folds, names) == self._shown:
            return
        self._shown = n_folds, names
        titles = {name: method.title for name, method in (METHODS | BASELINES).items()}
        entries = [Entry(name, titles.get(name, name), "", "", "done") for name in names]
        places = standings(entries, state.records, self._metric, self._protocol)
        best = [f"{s.method.title} {fixed(s.mean, 3)}" for s in places if s.mean is not None][:4]
        scores = f"{self._metric.title} {', '.join(best)}" if best else "no score yet"
        left = "" if state.seconds_left is None else f", {seconds(state.seconds_left)} left"
        done = f"{count(n_folds, 'fold')} of {count(len(names), 'method')}"
        self._print(f"{done} after {seconds(state.seconds)}{left}: {scores}")

    def _finished(self, state: RaceState) -> tuple[int, list[str]]:
        """Return a number of folds and the methods that have finished them.

        It is one fold, and then all folds of one or more repeats.
        """
        have: dict[str, set[Place]] = {}
        for record in state.records:
            if record["status"] == "done":
                have.setdefault(record["method"], set()).add((record["repeat"], record["fold"]))
        places, folds = self._protocol.places(), self._protocol.folds
        names = [name for name in have if have[name].issuperset(places[:folds])]
        if set(names) - {DUMMY}:
            shared = set.intersection(*(have[name] for name in names))
            return len(shared) // folds * folds, names
        names = [name for name in have if places[0] in have[name]]
        return (1, names) if set(names) - {DUMMY} else (0, [])

    def _print(self, text: str) -> None:
        line = remove_controls(f"{self._title}{text}".replace("−", "-"))  # for ASCII terminals
        print(line, file=sys.stderr, flush=True)
