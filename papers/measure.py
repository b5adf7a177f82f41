"""Any study, measured from a function: what its caches lack, then its document and page."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from papers import accuracy, large, local, side_information
from papers.accuracy.protocol import ACCURACY, AccuracyProtocol
from papers.cache import Cache, complete
from papers.document import Document, document
from papers.pages import page
from papers.protocol import PROTOCOL, Protocol
from papers.tables import TABLES, PaperTable

__all__ = ["LARGE", "REPEATS", "SETS", "Wanted", "measure"]

SETS = {
    **{table.name: table.sets for table in TABLES.values()},
    accuracy.NAME: accuracy.NAMES,
    **{study.name: study.sets for study in local.STUDIES.values()},
    **{study.name: study.sets for study in side_information.STUDIES.values()},
    large.NAME: large.LARGE.names,
}
"""The sets of each study."""

REPEATS = {
    **dict.fromkeys(TABLES, 10),
    accuracy.NAME: 5,
    **{study.name: study.repeats for study in local.STUDIES.values()},
    **{study.name: study.repeats for study in side_information.STUDIES.values()},
    large.NAME: large.REPEATS,
}
"""How often a set is split."""

LARGE = (large.CONTESTANTS, large.LARGE)
"""Who competes on the large sets, and what is held fixed."""


@dataclass(frozen=True)
class Wanted:
    """What is to be measured.

    Attributes
    ----------
    name : str
        Of the study.
    sets : sequence of str
        Out of its sets, in their order.
    repeats : int
    data, out : Path
        The folder of the sets, and that of the caches.
    jobs : int
        Processes.
    """

    name: str
    sets: Sequence[str]
    repeats: int
    data: Path
    out: Path
    jobs: int = 1


def measure(
    wanted: Wanted,
    protocol: Protocol = PROTOCOL,
    splits: AccuracyProtocol = ACCURACY,
    local_studies: Mapping[str, local.LocalStudy] = local.STUDIES,
    side_studies: Mapping[str, side_information.SideStudy] = side_information.STUDIES,
    large_study: tuple[Sequence[large.Contestant], large.LargeProtocol] = LARGE,
) -> tuple[Document, str]:
    """Measure what the caches lack; return the document of the study, and its page."""
    if wanted.name == accuracy.NAME:
        return _accuracy(wanted, splits)
    if wanted.name in local_studies:
        return _local(local_studies[wanted.name], wanted)
    if wanted.name in side_studies:
        return _side(side_studies[wanted.name], wanted)
    if wanted.name == large.NAME:
        return _large(*large_study, wanted)
    return _table(TABLES[wanted.name], wanted, protocol)


def _table(table: PaperTable, wanted: Wanted, protocol: Protocol) -> tuple[Document, str]:
    """Measure a table of DANK or KNPL, or the table that chooses defaults."""
    records = complete(
        table.runs(list(wanted.sets), wanted.repeats),
        Cache(wanted.out / "runs.jsonl", protocol),
        str(wanted.data),
        protocol,
        jobs=wanted.jobs,
        tell=_tell,
    )
    study = document(table.name, wanted.sets, wanted.repeats, protocol, records)
    return study, page(table, study)


def _accuracy(wanted: Wanted, protocol: AccuracyProtocol) -> tuple[Document, str]:
    """Measure the tables of TKL."""
    records = accuracy.complete(
        wanted.sets,
        wanted.repeats,
        wanted.out / "accuracy.jsonl",
        str(wanted.data),
        protocol,
        jobs=wanted.jobs,
        tell=_tell,
    )
    study = document(accuracy.NAME, wanted.sets, wanted.repeats, protocol, records)
    return study, accuracy.page(study, protocol)


def _local(chosen: local.LocalStudy, wanted: Wanted) -> tuple[Document, str]:
    """Measure a study of LAB-RBF."""
    records = local.complete(
        chosen.entries,
        wanted.sets,
        wanted.repeats,
        wanted.out / "lab-rbf.jsonl",
        str(wanted.data),
        local.LOCAL,
        jobs=wanted.jobs,
        tell=_tell,
    )
    held = local.Held(local.LOCAL, chosen.contestants)
    study = document(chosen.name, wanted.sets, wanted.repeats, held, records)
    return study, local.page(study, chosen, local.LOCAL)


def _side(chosen: side_information.SideStudy, wanted: Wanted) -> tuple[Document, str]:
    """Measure a study of kernels learned from side information."""
    records = side_information.complete(
        chosen.entries,
        wanted.sets,
        wanted.repeats,
        wanted.out / "side-information.jsonl",
        str(wanted.data),
        chosen.protocol,
        jobs=wanted.jobs,
        tell=_tell,
    )
    held = side_information.Held(chosen.protocol, chosen.contestants)
    study = document(chosen.name, wanted.sets, wanted.repeats, held, records)
    return study, side_information.page(study, chosen)


def _large(
    contestants: Sequence[large.Contestant],
    protocol: large.LargeProtocol,
    wanted: Wanted,
) -> tuple[Document, str]:
    """Measure the table of the large sets."""
    records = large.complete(
        contestants,
        wanted.sets,
        wanted.repeats,
        wanted.out / "large.jsonl",
        str(wanted.data),
        protocol,
        jobs=wanted.jobs,
        tell=_tell,
    )
    held = large.Held(protocol, tuple(contestants))
    study = document(large.NAME, wanted.sets, wanted.repeats, held, records)
    return study, large.page(study, protocol, contestants)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
