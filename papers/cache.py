"""Measurements that are kept as they are made, so that an interrupted study goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from papers.protocol import Protocol
from papers.study import Record, Run, perform

__all__ = ["Cache", "complete", "fill"]


class Cache:
    """Records in a file of JSON lines, one a run; those of another protocol are passed over.

    Parameters
    ----------
    path : Path
        The file; made with the first record.
    protocol : dataclass
        What was held fixed; only records measured by it count.
    """

    def __init__(self, path: Path, protocol: Any) -> None:
        self._path = path
        self._protocol = json.loads(json.dumps(asdict(protocol)))
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._records = {_run(r): r for r in map(self._record, lines) if r is not None}

    def __contains__(self, run: Run) -> bool:
        """Return whether the run was measured."""
        return run in self._records

    def __getitem__(self, run: Run) -> Record:
        """Return what was measured."""
        return self._records[run]

    def add(self, record: Record) -> Run:
        """Keep a record, here and in the file; return its run."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"protocol": self._protocol, "record": record})
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"\n{line}")  # on a line of its own, even if the one before was cut off
        self._records[_run(record)] = record
        return _run(record)

    def _record(self, line: str) -> Record | None:
        """Read a line; None if it is of another protocol, or was cut off while being written."""
        try:
            entry = json.loads(line)
        except ValueError:
            return None
        return entry["record"] if entry["protocol"] == self._protocol else None


def _run(record: Record) -> Run:
    return Run(record["contestant"], record["set"], record["repeat"])


def complete(
    runs: Sequence[Run],
    cache: Cache,
    folder: str,
    protocol: Protocol,
    *,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """Measure what the cache lacks, in `jobs` processes; return the records of all runs."""
    needed = [run.needs for run in runs if run.needs is not None]
    for stage in ([*needed, *(run for run in runs if run.needs is None)], runs):
        _measure(dict.fromkeys(stage), cache, folder, protocol, jobs, tell)
    return [cache[run] for run in runs]


def _measure(
    runs: Iterable[Run],
    cache: Cache,
    folder: str,
    protocol: Protocol,
    jobs: int,
    tell: Callable[[str], None],
) -> None:
    missing = [run for run in runs if run not in cache]
    records = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(perform)(run, folder, protocol, cache[run.needs] if run.needs else None)
        for run in missing
    )
    for done, record in enumerate(records, start=1):
        run = cache.add(record)
        tell(
            f"{run.set}, repeat {run.repeat}, {run.contestant}: {record['seconds']:.1f} s "
            f"({done} of {len(missing)})"
        )


def fill(
    caches: Mapping[Any, Cache],
    wanted: Iterable[tuple[Any, Run]],
    measure: Callable[[Run, str, Any, Any], Record],
    folder: str,
    protocol: Any,
    *,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Measure what the caches of some contestants lack, in `jobs` processes.

    Parameters
    ----------
    caches : mapping of contestant to Cache
    wanted : iterable of (contestant, run)
    measure : callable
        Called as ``measure(run, folder, protocol, contestant)``.
    """
    found = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_measured)(contestant, measure, run, folder, protocol)
        for contestant, run in wanted
        if run not in caches[contestant]
    )
    for contestant, record in found:
        tell("{set}, repeat {repeat}, {contestant}: {seconds:.1f} s".format_map(record))
        caches[contestant].add(record)


def _measured(
    contestant: Any,
    measure: Callable[[Run, str, Any, Any], Record],
    run: Run,
    folder: str,
    protocol: Any,
) -> tuple[Any, Record]:
    return contestant, measure(run, folder, protocol, contestant)
