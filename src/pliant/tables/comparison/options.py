"""How a comparison runs: its time, its processes, its file. No option changes a fold's score."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from joblib import cpu_count

from pliant.core.parameters import check_integer, check_job_count, check_real
from pliant.tables.comparison.cells import FittedMethod, close_all, fit_whole, perform_apart
from pliant.tables.comparison.protocol import Cell, Record

BUDGET = 300.0
"""Default time budget of a comparison, in seconds."""


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


Progress: TypeAlias = Callable[[RaceState], object]
"""Callback for the start and end of cells, and for regular updates while cells run."""


@dataclass(frozen=True)
class Runner:
    """What a race uses to run cells and fits to all rows, to end those that run, and to tell time.

    `perform` runs a cell, `fit` fits a method to all rows, and `close` ends both. `pool` makes the
    threads that wait for them; `clock` returns seconds.
    """

    perform: Callable[..., Record] = perform_apart
    fit: Callable[..., FittedMethod | None] = fit_whole
    close: Callable[[], None] = close_all
    pool: Callable[[int], Any] = ThreadPoolExecutor
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class RunOptions:
    """How a comparison runs; see `compare` for its options of the same names.

    `command` is the command line that repeats the comparison, shown in the report. `runner` runs
    the cells.

    Raises
    ------
    ValueError, TypeError
        If `budget` or `n_jobs` is invalid; the message quotes the value.
    """

    budget: float | None = BUDGET
    n_jobs: int | None = None
    executor: Any = None
    cache: str | os.PathLike[str] | None = None
    resume: bool = False
    progress: Progress | bool | None = False
    command: str | None = None
    runner: Runner = field(default_factory=Runner)

    def __post_init__(self) -> None:
        if self.budget is not None:
            check_real("budget", self.budget, above=0)
        if self.n_jobs is not None and self.n_jobs != -1:
            check_integer("n_jobs", self.n_jobs, least=1)
        check_job_count("n_jobs", self.n_jobs)

    @property
    def jobs(self) -> int:
        """The number of fits that run at the same time."""
        return cpu_count() if self.n_jobs in (None, -1) else self.n_jobs
