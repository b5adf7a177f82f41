"""The measurements of the studies, kept as they are made; studies share them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from papers.cache import Cache, fill
from papers.local.contestant import Contestant
from papers.local.protocol import LocalProtocol
from papers.local.study import perform
from papers.study import Record, Run

__all__ = ["Entry", "complete"]


@dataclass(frozen=True)
class Entry:
    """A contestant, and the sets of a study that it is measured on."""

    contestant: Contestant
    sets: tuple[str, ...]


@dataclass(frozen=True)
class Key:
    """What a kept measurement has to agree in, to be taken for another."""

    contestant: Contestant
    protocol: LocalProtocol


def complete(
    entries: Sequence[Entry],
    sets: Sequence[str],
    repeats: int,
    path: Path,
    folder: str,
    protocol: LocalProtocol,
    *,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """Measure what the file at `path` lacks, in `jobs` processes; return all records.

    All sets are measured on the first split before any is on the second. A contestant whose
    package is not installed has the records that were kept of it, and no others.
    """
    caches = {each.contestant: Cache(path, Key(each.contestant, protocol)) for each in entries}
    wanted = [
        (each.contestant, Run(each.contestant.name, name, repeat))
        for repeat in range(repeats)
        for name in sets
        for each in entries
        if name in each.sets
    ]
    able = (each for each in wanted if each[0].installed())
    fill(caches, able, perform, folder, protocol, jobs=jobs, tell=tell)
    return [caches[contestant][run] for contestant, run in wanted if run in caches[contestant]]
