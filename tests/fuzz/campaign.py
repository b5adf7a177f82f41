"""Many cases of the fuzzers, each with a limit of time.

    python -m tests.fuzz.campaign estimators tables --cases 1000 --first 0

A driver is a module of this package with a function

    case(seed: int, folder: pathlib.Path) -> str | None

that does one random thing to pliant, decided by the seed alone, and returns None if it ended as it
should, or a line that says what was wrong, beginning with its kind and a colon ("raw error:
IndexError in ..."). It may write into the folder, which is empty. An exception that it raises, a
process that dies, and a case that runs longer than the limit are findings too: seconds of the
processor where the system tells them, so that a busy computer makes no findings, and in any case
ten times as many by the clock. The same seed gives
the same case, so

    python -m tests.fuzz.campaign tables --cases 1 --first 4711

repeats a finding.
"""

import argparse
import faulthandler
import importlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

KINDS = ("estimators", "model_files", "tables", "journals", "names")
"""The drivers."""

LIMIT = 60.0
"""Seconds of the processor for a case, unless said otherwise; the first compiles code as well."""

STARVED = 10.0
"""Limit by the clock, as a multiple of the other: a case may wait for ever."""

SHOWN = 3
"""Seeds that are printed of findings that begin with the same words."""


@dataclass(frozen=True)
class Finding:
    """A case that did not end as it should."""

    kind: str
    seed: int
    what: str


def run(kinds: Sequence[str], seeds: range, processes: int, limit: float) -> Iterator[Finding]:
    """Run the cases of some drivers in processes of their own, and yield what was wrong."""
    left = [(kind, seed) for kind in reversed(kinds) for seed in reversed(seeds)]
    workers = [_Worker() for _ in range(max(1, min(processes, len(left))))]
    try:
        for worker in workers:
            worker.start(left.pop(), limit)
        while any(worker.job for worker in workers):
            busy = [worker for worker in workers if worker.job]
            first = min(worker.deadline for worker in busy)
            wait([worker.ends for worker in busy], timeout=max(0.0, first - time.monotonic()))
            for worker in busy:
                found = worker.look()
                if found is not None:
                    yield from found
                    if left:
                        worker.start(left.pop(), limit)
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that runs cases, and is replaced when it dies or takes too long."""

    def __init__(self) -> None:
        self.job: tuple[str, int] | None = None
        self.deadline = self.last = self.due = 0.0
        self._process: Any = None
        self.ends: Any = None

    def start(self, job: tuple[str, int], limit: float) -> None:
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self.ends, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=False)
            self._process.start()
            other.close()
        now = time.monotonic()
        self.job, self.deadline, self.last = job, now + limit, now + STARVED * limit
        self.due = processor_seconds(self._process.pid) + limit
        self.ends.send(job)

    def look(self) -> list[Finding] | None:
        """Return what the case found, None while it runs."""
        assert self.job is not None
        if self.ends.poll():
            try:
                what = self.ends.recv()
            except (EOFError, OSError):
                what = f"crash: the process ended with code {self._ended()}"
        elif time.monotonic() < self.deadline or self._starved():
            return None
        else:
            what = "hang: the case ran longer than its limit"
            self.stop()
        (kind, seed), self.job = self.job, None
        return [] if what is None else [Finding(kind, seed, what)]

    def _starved(self) -> bool:
        """Return whether the case has had too little of the processor, and let it run on then."""
        now = time.monotonic()
        left = min(self.due - processor_seconds(self._process.pid), self.last - now)
        if not left > 0:
            return False
        self.deadline = now + max(0.1, left)
        return True

    def _ended(self) -> int | None:
        self._process.join()
        code: int | None = self._process.exitcode
        self._process = None
        return code

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def processor_seconds(pid: int) -> float:
    """Return the seconds of the processor that a process has used; those by the clock elsewhere."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return time.monotonic()
    used = state.rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / float(os.sysconf("SC_CLK_TCK"))


def _serve(jobs: Connection) -> None:
    """Run the cases that arrive, and answer each with what was wrong."""
    faulthandler.enable()
    while True:
        try:
            kind, seed = jobs.recv()
        except EOFError:
            return
        jobs.send(outcome(kind, seed))


def outcome(kind: str, seed: int) -> str | None:
    """Run one case in this process, and return what was wrong."""
    case = importlib.import_module(f"tests.fuzz.{kind}").case
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder, warnings.catch_warnings():
        try:
            what: str | None = case(seed, Path(folder))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            what = f"raised: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}: "
            what += str(error)
        finally:
            os.chdir(here)
    return what


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.campaign", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kinds", nargs="*", default=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--cases", type=int, default=100, help="of each kind (default 100)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each case")
    parser.add_argument("--out", type=Path, help="a file for the findings, one JSON object a line")
    given = parser.parse_args(arguments)
    if unknown := set(given.kinds) - set(KINDS):
        parser.error(f"unknown kind {', '.join(sorted(unknown))}; choose from {', '.join(KINDS)}")
    seeds = range(given.first, given.first + given.cases)
    began, similar = time.monotonic(), defaultdict(list)
    for finding in run(given.kinds, seeds, given.processes, given.limit):
        if given.out is not None:
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(finding)) + "\n")
        group = similar[finding.kind, finding.what[:60]]
        group.append(finding.seed)
        if len(group) <= SHOWN:
            print(f"{finding.kind} {finding.seed}: {ascii(finding.what)[1:-1][:600]}", flush=True)
    total = sum(map(len, similar.values()))
    print(
        f"{len(given.kinds) * given.cases} cases in {time.monotonic() - began:.0f} s: {total} "
        f"findings of {len(similar)} kinds"
    )
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
