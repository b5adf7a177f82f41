"""The measurements of the study, kept as they are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from joblib import Parallel, delayed

from papers.accuracy.contestant import Contestant
from papers.accuracy.protocol import AccuracyProtocol
from papers.accuracy.study import perform
from papers.cache import Cache
from papers.study import Record, Run

__all__ = ["complete"]


@dataclass(frozen=True)
class Key:
    """What a kept measurement has to agree in, to be taken for another."""

    contestant: Contestant
    test_size: float
    folds: int


def complete(
    sets: Sequence[str],
    repeats: int,
    path: Path,
    folder: str,
    protocol: AccuracyProtocol,
    *,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """Measure what the file at `path` lacks, in `jobs` processes; return all records."""
    records = []
    for name in sets:
        for contestant in protocol.on(name):
            cache = Cache(path, Key(contestant, protocol.test_size, protocol.folds))
            runs = [Run(contestant.name, name, repeat) for repeat in range(repeats)]
            missing = [run for run in runs if run not in cache]
            found = Parallel(n_jobs=jobs, return_as="generator_unordered")(
                delayed(perform)(run, folder, protocol, contestant) for run in missing
            )
            for record in found:
                tell("{set}, repeat {repeat}, {contestant}: {seconds:.1f} s".format_map(record))
                cache.add(record)
            records += [cache[run] for run in runs]
    return records
