"""The measurements of the study, kept as they are made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.scale_sets import halves
from papers.cache import Cache, fill
from papers.large.contestants import Contestant
from papers.large.protocol import LargeProtocol
from papers.study import Record, Run, unconverged

__all__ = ["MEASURED", "complete", "perform"]

MEASURED = "measured"
"""The one variant of a record."""

FEW = 300
"""Rows of a first fit that is not measured: it loads what is compiled."""


@dataclass(frozen=True)
class Key:
    """What a kept measurement has to agree in, to be taken for another."""

    contestant: Contestant
    protocol: LargeProtocol


def perform(run: Run, folder: str, protocol: LargeProtocol, contestant: Contestant) -> Record:
    """Measure a contestant on one repeat of a set, in one thread.

    Returns
    -------
    dict
        The run; the rows on both sides; ``seconds`` of the whole; ``unconverged``, the number of
        solves that ended before their tolerance was reached; and under ``variants`` the details
        of the fitted machine, with the process seconds of the fit.
    """
    start = time.perf_counter()
    chosen = protocol[run.set]
    sample = halves(chosen.machine, run.repeat, folder)
    with threadpool_limits(1), unconverged() as early:
        contestant.machine(chosen, protocol.tol).fit(sample.X[:FEW], sample.y[:FEW])
        early.clear()
        machine = contestant.machine(chosen, protocol.tol)
        began = time.process_time()
        machine.fit(sample.X, sample.y)
        busy = time.process_time() - began
        found = contestant.details(machine, sample)
    return {
        **asdict(run),
        "variants": {MEASURED: {**found, "fit_seconds": busy}},
        "task": "classification",
        "n_train": len(sample.y),
        "n_test": len(sample.y_test),
        "d": sample.X.shape[1],
        "seconds": round(time.perf_counter() - start, 2),
        "unconverged": len(early),
    }


def complete(
    contestants: Sequence[Contestant],
    sets: Sequence[str],
    repeats: int,
    path: Path,
    folder: str,
    protocol: LargeProtocol,
    *,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """Measure what the file at `path` lacks, in `jobs` processes; return all records."""
    caches = {each: Cache(path, Key(each, protocol)) for each in contestants}
    wanted = [
        (each, Run(each.name, name, repeat))
        for repeat in range(repeats)
        for name in sets
        for each in contestants
    ]
    fill(caches, wanted, perform, folder, protocol, jobs=jobs, tell=tell)
    return [caches[contestant][run] for contestant, run in wanted]
