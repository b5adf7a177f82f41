"""The measurements of the studies, kept as they are made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from papers.cache import Cache, fill
from papers.side_information.contestant import Contestant
from papers.side_information.protocol import SideProtocol, divide
from papers.side_information.sets import read
from papers.study import Record, Run, unconverged

__all__ = ["Entry", "complete", "perform"]


@dataclass(frozen=True)
class Entry:
    """A contestant, the sets of a study that it is measured on, and how often at most."""

    contestant: Contestant
    sets: tuple[str, ...]
    most_repeats: tuple[tuple[str, int], ...] = ()

    def runs(self, sets: Sequence[str], repeats: int) -> list[Run]:
        """Return its runs, repeat by repeat."""
        most = dict(self.most_repeats)
        return [
            Run(self.contestant.name, name, repeat)
            for repeat in range(repeats)
            for name in sets
            if name in self.sets and repeat < most.get(name, repeats)
        ]


@dataclass(frozen=True)
class Key:
    """What a kept measurement has to agree in, to be taken for another."""

    contestant: Contestant
    protocol: SideProtocol


def perform(run: Run, folder: str, protocol: SideProtocol, contestant: Contestant) -> Record:
    """Measure a contestant on one repeat of a set, in one thread.

    Returns
    -------
    dict
        The run; ``variants``, what the contestant measured; the numbers of labelled points
        (``n_train``) and of the others; ``seconds`` of the whole; and ``unconverged``, the number
        of solves that ended before their tolerance was reached.
    """
    start = time.perf_counter()
    sample = divide(run.set, read(run.set, folder), protocol, run.repeat)
    with threadpool_limits(1), unconverged() as early:
        variants = contestant.measure(sample, protocol, protocol.first_seed + run.repeat)
    return {
        **asdict(run),
        "variants": variants,
        "task": "classification",
        "n_train": len(sample.labelled),
        "n_test": len(sample.unlabelled) + len(sample.y_test),
        "d": sample.X.shape[1],
        "seconds": round(time.perf_counter() - start, 2),
        "unconverged": len(early),
    }


def complete(
    entries: Sequence[Entry],
    sets: Sequence[str],
    repeats: int,
    path: Path,
    folder: str,
    protocol: SideProtocol,
    *,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """Measure what the file at `path` lacks, in `jobs` processes; return all records."""
    caches = {each.contestant: Cache(path, Key(each.contestant, protocol)) for each in entries}
    wanted = [(e.contestant, run) for e in entries for run in e.runs(sets, repeats)]
    first = sorted(wanted, key=lambda each: each[1].repeat)
    fill(caches, first, perform, folder, protocol, jobs=jobs, tell=tell)
    return [caches[contestant][run] for contestant, run in wanted]
