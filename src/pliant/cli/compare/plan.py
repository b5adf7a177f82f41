"""The options of ``pliant compare``."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from pliant.cli.table_options import TableOptions
from pliant.comparison.protocol import Protocol
from pliant.comparison.reading import table_name
from pliant.comparison.run.baselines import named
from pliant.core.text import quoted

DURATION = re.compile(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?", re.ASCII)
BUDGET = "5m"
"""The budget by default, as it is written."""

SECONDS = (3600.0, 60.0, 1.0)


@dataclass(frozen=True)
class Plan:
    """The options of ``pliant compare``.

    Without `methods`, all for the task are compared. The `budget` is as it was written, see
    `duration`. `task`, `group` and `time` are as in `pliant.comparison.reading.read_sample`, as the
    options of `table` are. The `cache` is the journal of finished cells; without one, there is a
    file for each table in the current folder. With `fit_best` the method to use is fitted and
    written to `out`.
    """

    tables: tuple[Path, ...]
    target: str
    methods: tuple[str, ...] | None = None
    budget: str = BUDGET
    protocol: Protocol = field(default_factory=Protocol)
    task: str | None = None
    table: TableOptions = field(default_factory=TableOptions)
    group: str | None = None
    time: str | None = None
    jobs: int | None = None
    cache: Path | None = None
    resume: bool = False
    report: Path | None = None
    json: Path | None = None
    fit_best: bool = False
    out: Path | None = None

    @property
    def names(self) -> list[str]:
        """The name of each table: that of its file, numbered where several share one."""
        names = [table_name(path) for path in self.tables]
        seen = Counter[str]()
        for place, name in enumerate(names):
            seen[name] += 1
            names[place] = name if seen[name] == 1 else f"{name}-{seen[name]}"
        return names

    @property
    def caches(self) -> list[Path]:
        """The journal of finished cells of each table."""
        if self.cache is not None:
            return [self.cache]
        return [Path(f"{name}.compare.jsonl") for name in self.names]

    @property
    def command(self) -> str:
        """The command that repeats this."""
        given = {
            "--methods": None if self.methods is None else ",".join(self.methods),
            "--budget": self.budget,
            "--folds": str(self.protocol.folds),
            "--repeats": str(self.protocol.repeats),
            "--seed": str(self.protocol.seed),
            "--metric": self.protocol.metric,
            "--task": self.task,
            "--group": self.group,
            "--time": self.time,
        }
        words = ["pliant", "compare", *map(str, self.tables), "--target", self.target]
        words += self.table.words
        words += [word for pair in given.items() if pair[1] is not None for word in pair if word]
        return shlex.join(words)


def duration(text: str) -> float | None:
    """Return the seconds of a time such as ``90s``, ``10m`` or ``1h30m``; None for ``none``."""
    match = DURATION.fullmatch(text.strip().lower())
    if text.strip().lower() == "none":
        return None
    try:
        parts = [float(part or 0) for part in match.groups()] if match else []
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
