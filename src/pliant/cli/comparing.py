"""Behind ``pliant compare``: what is checked first, then table after table under one budget."""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from pliant._exceptions import TableError
from pliant._files import printable, quoted
from pliant.cli.console import Tick, progress, tell
from pliant.cli.outputs import STDOUT, check_outputs
from pliant.comparison.baselines import named
from pliant.comparison.cell import Record
from pliant.comparison.comparing import check_metric, compare_sample
from pliant.comparison.folds import check_folds, settled
from pliant.comparison.ledger import Ledger, check_ours, key_of
from pliant.comparison.protocol import Protocol
from pliant.comparison.reading import read_sample, table_name
from pliant.comparison.result import ComparisonResult
from pliant.comparison.sample import Sample

__all__ = ["Plan", "duration", "method_names", "run_plan"]

DURATION = re.compile(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?", re.ASCII)
SECONDS = (3600.0, 60.0, 1.0)

LEAST = 1e-3
"""Seconds for a table when all of the budget is spent: its cells are then listed as cut."""


@dataclass(frozen=True)
class Plan:
    """What ``pliant compare`` is asked to do.

    Parameters
    ----------
    tables : tuple of Path
    target : str
        The column to learn, in each of them.
    methods : tuple of str or None
        Names in the registry or of baselines; None: all for the task.
    budget : str
        As it was written, see `duration`.
    protocol : Protocol
    task, missing, drop, group, time
        As in `pliant.comparison.reading.read_sample`.
    jobs : int or None
        Cells at a time.
    cache : Path or None
        Where finished cells are kept; None: a file for each table in the current folder.
    resume : bool
    report, json : Path or None
        What is written in the end.
    """

    tables: tuple[Path, ...]
    target: str
    methods: tuple[str, ...] | None = None
    budget: str = "10m"
    protocol: Protocol = field(default_factory=Protocol)
    task: str | None = None
    missing: str = "impute"
    drop: tuple[str, ...] = ()
    group: str | None = None
    time: str | None = None
    jobs: int | None = None
    cache: Path | None = None
    resume: bool = False
    report: Path | None = None
    json: Path | None = None

    @property
    def names(self) -> list[str]:
        """What to call each table: its file's name, numbered where several share one."""
        found = [table_name(path) for path in self.tables]
        seen = Counter[str]()
        for place, name in enumerate(found):
            seen[name] += 1
            found[place] = name if seen[name] == 1 else f"{name}-{seen[name]}"
        return found

    @property
    def caches(self) -> list[Path]:
        """Where the finished cells of each table are kept."""
        if self.cache is not None:
            return [self.cache]
        return [Path(f"{name}.compare.jsonl") for name in self.names]

    @property
    def command(self) -> str:
        """What to type to repeat this."""
        given = {
            "--methods": None if self.methods is None else ",".join(self.methods),
            "--budget": self.budget,
            "--folds": str(self.protocol.folds),
            "--repeats": str(self.protocol.repeats),
            "--seed": str(self.protocol.seed),
            "--metric": self.protocol.metric,
            "--task": self.task,
            "--missing": self.missing,
            "--group": self.group,
            "--time": self.time,
        }
        words = ["pliant", "compare", *map(str, self.tables), "--target", self.target]
        words += [word for name in self.drop for word in ("--drop", name)]
        words += [word for pair in given.items() if pair[1] is not None for word in pair if word]
        return shlex.join(words)


def duration(text: str) -> float | None:
    """Return the seconds of a time such as ``90s``, ``10m`` or ``1h30m``; None for ``none``."""
    found = DURATION.fullmatch(text.strip().lower())
    if text.strip().lower() == "none":
        return None
    try:
        parts = [float(part or 0) for part in found.groups()] if found else []
    except ValueError:
        parts = []
    seconds = sum(part * unit for part, unit in zip(parts, SECONDS, strict=False))
    if not seconds > 0:
        raise ValueError(
            f"expected --budget TIME, such as 90s, 10m or 1h, or none, got {quoted(text)}"
        )
    return seconds


def method_names(text: str | None) -> tuple[str, ...] | None:
    """Return the methods that a list such as ``dank,svm`` names; each must be known."""
    if text is None:
        return None
    names = [named(name.strip()).name for name in text.split(",")]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"expected each method once in --methods, got {twice[0]} twice")
    return tuple(names)


def run_plan(plan: Plan) -> list[ComparisonResult]:
    """Check everything, then compare table after table; less results than tables after Ctrl-C.

    Tables share the budget equally; what one leaves is for those that follow.

    Raises
    ------
    ValueError
        For a table or an option that cannot be used; before any work is done.
    """
    budget = duration(plan.budget)
    ends = time.monotonic() + (budget or 0.0)  # reading the tables counts
    _check(plan)
    samples = _samples(plan)
    _check_caches(plan, samples)
    results: list[ComparisonResult] = []
    for sample, cache in zip(samples, plan.caches, strict=True):
        share = (ends - time.monotonic()) / (len(samples) - len(results))
        results.append(_compared(plan, sample, cache, budget and max(share, LEAST)))
        if results[-1].interrupted:
            break
    return results


def _check(plan: Plan) -> None:
    """Refuse what can be refused without a look into the tables."""
    if twice := [path for path, count in Counter(plan.tables).items() if count > 1]:
        raise TableError(f"expected each table once, got {quoted(twice[0], 200)} twice")
    if plan.cache is not None and len(plan.tables) > 1:
        raise ValueError("--cache names the file of one table: leave it out for several")
    if plan.report == STDOUT or plan.cache == STDOUT:
        raise ValueError("expected the name of a file, got '-': only --json can go to stdout")
    if plan.group is not None and plan.time is not None:
        raise ValueError("expected --group or --time, got both")
    check_outputs([plan.report, plan.json, *plan.caches], inputs=plan.tables)


def _samples(plan: Plan) -> list[Sample]:
    """Read all tables, and refuse what they do not allow."""
    return [
        replace(_sample(plan, path), name=name)
        for path, name in zip(plan.tables, plan.names, strict=True)
    ]


def _sample(plan: Plan, path: Path) -> Sample:
    """Read a table; if there are several, say which one cannot be used."""
    try:
        sample = read_sample(
            path,
            plan.target,
            task=plan.task,
            missing=plan.missing,
            drop=plan.drop,
            group=plan.group,
            time=plan.time,
        )
        check_metric(plan.protocol, sample)
        check_folds(sample, plan.protocol)
    except ValueError as error:
        if len(plan.tables) == 1:
            raise
        raise TableError(f"{quoted(path, 200)}: {error}") from None
    return sample


def _check_caches(plan: Plan, samples: Sequence[Sample]) -> None:
    """Refuse to go on with cells of another comparison, and say where cells are kept."""
    for sample, cache in zip(samples, plan.caches, strict=True):
        if plan.resume:
            Ledger(cache, key_of(sample, settled(plan.protocol, sample)), resume=True)
        elif cache.exists():
            check_ours(cache)
            tell(f"Note: what {quoted(cache, 200)} held is kept in {quoted(f'{cache}.old', 200)}")
    files = ", ".join(quoted(path, 200) for path in plan.caches)
    tell(f"Note: finished cells are kept in {files}; --resume goes on from there")


def _compared(plan: Plan, sample: Sample, cache: Path, budget: float | None) -> ComparisonResult:
    """Compare methods on one table, with progress from the first cell on."""
    with ExitStack() as stack:
        shown = _Shown(f"Comparing on {printable(sample.name, 40)}", stack)
        return compare_sample(
            sample,
            plan.methods,
            plan.protocol,
            budget=budget,
            n_jobs=plan.jobs,
            cache=cache,
            resume=plan.resume,
            progress=shown,
            command=plan.command,
        )


class _Shown:
    """Shows how many cells are done; how many there are is known with the first one."""

    def __init__(self, text: str, stack: ExitStack) -> None:
        self._text, self._stack = text, stack
        self._tick: Tick | None = None
        self._done = 0

    def __call__(self, record: Record, done: int, total: int) -> None:
        """Take note of a cell."""
        if self._tick is None:
            self._tick = self._stack.enter_context(progress(f"{self._text}: {total} cells", total))
        self._tick(done - self._done)
        self._done = done
