"""Run many cases of the fuzzers, each with a time limit.

    python -m tests.fuzz.campaign estimators tables --cases 1000 --first 0

A driver is a module of this package with a function

    case(seed: int, folder: pathlib.Path) -> str | None

that performs a random action, determined by the seed alone. It returns None if the result is as
expected, or else a line that starts with the kind of the finding and a colon. It may write to
the folder, which is empty. Exceptions, crashed processes, and cases that exceed the time limit
are also findings. Cases are reproducible, so

    python -m tests.fuzz.campaign tables --cases 1 --first 4711

repeats a finding.
"""

import argparse
import faulthandler
import importlib
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KINDS = ("estimators", "model_files", "tables", "foreign", "names", "dask_cases")
"""The drivers."""

LIMIT = 120.0
"""Default time limit of a case in seconds, including the compilation of loops."""

SHOWN = 3
"""Maximum number of printed seeds for findings that start with the same words."""


def outcome(kind, seed):
    """Run one case in this process, and return its finding or None."""
    case = importlib.import_module(f"tests.fuzz.{kind}").case
    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder, warnings.catch_warnings():
        try:
            return case(seed, Path(folder))
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            return f"raised: {type(error).__name__} at {place}: {error}"
        finally:
            os.chdir(here)


def serve(kind, seeds, answers):
    """Run cases in a separate process, and send the finding of each."""
    faulthandler.enable()
    for seed in seeds:
        answers.send(outcome(kind, seed))


def findings(kind, seeds, limit):
    """Yield the seed and the finding of each failed case; replace crashed processes."""
    context = multiprocessing.get_context("spawn")
    while seeds:
        answers, end = context.Pipe(duplex=False)
        process = context.Process(target=serve, args=(kind, seeds, end))
        process.start()
        end.close()
        what = None
        while seeds and what is None:
            try:
                found = answers.recv() if answers.poll(limit) else "hang: longer than its limit"
                what = found if found and found.startswith("hang:") else None
            except EOFError:
                process.join()
                found = what = f"crash: the process ended with code {process.exitcode}"
            if found:
                yield seeds[0], found
            seeds = seeds[1:]
        process.kill()
        process.join()


def main(arguments=None):
    """Run the command line, and return 1 if there are findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.campaign", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kinds", nargs="*", default=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--cases", type=int, default=100, help="of each kind (default 100)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each case")
    given = parser.parse_args(arguments)
    if unknown := set(given.kinds) - set(KINDS):
        parser.error(f"unknown kind {', '.join(sorted(unknown))}; choose from {', '.join(KINDS)}")
    began, similar = time.monotonic(), Counter()

    def run(kind, first):
        seeds = range(given.first + first, given.first + given.cases, given.processes)
        for seed, what in findings(kind, seeds, given.limit):
            similar[kind, what[:60]] += 1
            if similar[kind, what[:60]] <= SHOWN:
                print(f"{kind} {seed}: {ascii(what)[1:-1][:600]}", flush=True)

    with ThreadPoolExecutor(given.processes) as pool:
        parts = [(kind, first) for kind in given.kinds for first in range(given.processes)]
        list(pool.map(lambda part: run(*part), parts))
    seconds = time.monotonic() - began
    number = len(given.kinds) * given.cases
    print(f"{number} cases in {seconds:.0f} s: {similar.total()} findings of {len(similar)} kinds")
    return int(similar.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
