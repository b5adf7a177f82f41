"""Any study, measured: what the cache lacks, then its document and its page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from benchmarks.harness.machine import describe_machine, load_average
from papers.study import Contestant, Protocol, Record, Run, Study, perform

Document = dict[str, Any]

CACHE = "runs.jsonl"
"""The file that keeps the measurements of all studies."""

FORMAT = 2
"""The version of the document's layout."""

DIGITS = 6


def measure(
    study: Study,
    sets: Sequence[str],
    repeats: int,
    data: Path,
    out: Path,
    jobs: int = 1,
    earlier: Document | None = None,
    only: Sequence[str] = (),
) -> Document:
    """Measure what the cache in `out` and the earlier document lack; return the document.

    Measurements of the earlier document stay as they are, however many splits they have; the
    document names their contestants, date and computer. `only` names the contestants that are
    measured, if not all.
    """
    cache = Cache(out / CACHE)
    taken = taken_over(study, earlier or {}, cache)
    chosen = [each for each in study.entries if not only or each.contestant.name in only]
    part = replace(study, entries=tuple(chosen))
    complete(part, sets, repeats, cache, str(data), jobs=jobs, log=_log)
    splits = max(repeats, (earlier or {}).get("repeats", 0))
    kept = [cache.get(each, study.protocol, run) for each, run in study.runs(sets, splits)]
    whole = document(study, sets, splits, [record for record in kept if record is not None])
    if earlier is not None and taken:
        whole["earlier"] = _origins(study, earlier, {run.contestant for _, run in taken})
    return whole


def taken_over(
    study: Study, earlier: Document, cache: Cache
) -> dict[tuple[Contestant, Run], Record]:
    """Put the measurements of a document into the memory of a cache; return those it lacked.

    The document doesn't hold how its contestants were tuned: whoever takes it over vouches that
    those of the same name are the same.
    """
    known = {
        (run.contestant, run.set, run.repeat): (each, run)
        for each, run in study.runs(study.sets, earlier.get("repeats", 0))
    }
    taken = {}
    for group in earlier.get("results", ()):
        for record in _records(group):
            place = known.get((record["contestant"], record["set"], record["repeat"]))
            if place is not None and cache.get(place[0], study.protocol, place[1]) is None:
                cache.remember(place[0], study.protocol, record)
                taken[place] = record
    return taken


def _records(group: Mapping[str, Any]) -> list[Record]:
    """Return the records that were grouped; the inverse of `_group`, but for rounded numbers."""
    varying = ("repeat", "seconds", "unconverged")
    fixed = {k: v for k, v in group.items() if k not in (*varying, "variants")}
    return [
        {
            **fixed,
            **{key: group[key][k] for key in varying},
            "variants": {
                name: {key: values[k] for key, values in entries.items()}
                for name, entries in group["variants"].items()
            },
        }
        for k in range(len(group["repeat"]))
    ]


def _origins(study: Study, earlier: Document, names: set[str]) -> list[Document]:
    """Return which contestants were measured when and where, of an earlier document."""
    older = [
        {**part, "contestants": [who for who in part["contestants"] if who in names]}
        for part in earlier.get("earlier", ())
    ]
    dated = {who for part in older for who in part["contestants"]}
    rest = [each.name for each in study.contestants if each.name in names - dated]
    own = {key: earlier[key] for key in ("date", "load_average", "machine")}
    return [part for part in (*older, {**own, "contestants": rest}) if part["contestants"]]


class Cache:
    """Records in a file of JSON lines, so that an interrupted study goes on, and studies share.

    A record counts for one contestant, with all its fields, under one protocol. The file is made
    with the first record.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._records: dict[tuple[str, Run], Record] = {}
        for entry in map(_entry, lines):
            if entry is not None:
                self._keep(entry["key"], entry["record"])

    def get(self, contestant: Contestant, protocol: Protocol, run: Run) -> Record | None:
        """Return what was measured, None if it was not."""
        return self._records.get((_text(_key(contestant, protocol)), run))

    def add(self, contestant: Contestant, protocol: Protocol, record: Record) -> None:
        """Keep a record, here and in the file."""
        key = _key(contestant, protocol)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            # on a line of its own, even if the one before was cut off
            file.write("\n" + json.dumps({"key": key, "record": record}))
        self._keep(key, record)

    def remember(self, contestant: Contestant, protocol: Protocol, record: Record) -> None:
        """Keep a record here, and not in the file."""
        self._keep(_key(contestant, protocol), record)

    def _keep(self, key: dict[str, Any], record: Record) -> None:
        run = Run(record["contestant"], record["set"], record["repeat"])
        self._records[_text(key), run] = record


def _entry(line: str) -> dict[str, Any] | None:
    """Read a line; None if it was cut off while being written."""
    try:
        entry: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return entry


def _key(contestant: Contestant, protocol: Protocol) -> dict[str, Any]:
    return {
        "contestant": {"class": type(contestant).__name__, **asdict(contestant)},  # type: ignore
        "protocol": {"class": type(protocol).__name__, **asdict(protocol)},
    }


def _text(key: dict[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)


def complete(
    study: Study,
    sets: Sequence[str],
    repeats: int,
    cache: Cache,
    folder: str,
    *,
    jobs: int = 1,
    log: Callable[[str], None] = lambda line: None,
) -> list[Record]:
    """Measure what the cache lacks, in `jobs` processes; return all records.

    All sets are measured on the first split before any is on the second. A contestant whose
    package is not installed has the records that were kept of it, and no others.
    """
    runs = study.runs(sets, repeats)
    needed = [
        (each.needs, Run(each.needs.name, run.set, run.repeat)) for each, run in runs if each.needs
    ]
    for stage in (needed, runs):
        _fill(study, dict.fromkeys(stage), cache, folder, jobs, log)
    kept = [cache.get(each, study.protocol, run) for each, run in runs]
    return [record for record in kept if record is not None]


def _fill(
    study: Study,
    runs: dict[tuple[Contestant, Run], None],
    cache: Cache,
    folder: str,
    jobs: int,
    log: Callable[[str], None],
) -> None:
    protocol = study.protocol
    missing = [
        (each, run)
        for each, run in runs
        if each.installed() and cache.get(each, protocol, run) is None
    ]
    records = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_measured)(
            each, run, protocol, study.chosen(run.set), folder, _needed(each, run, study, cache)
        )
        for each, run in missing
    )
    for done, (contestant, record) in enumerate(records, start=1):
        cache.add(contestant, protocol, record)
        line = "{set}, repeat {repeat}, {contestant}: {seconds:.1f} s".format_map(record)
        log(f"{line} ({done} of {len(missing)})")


def _needed(contestant: Contestant, run: Run, study: Study, cache: Cache) -> Record | None:
    if contestant.needs is None:
        return None
    other = Run(contestant.needs.name, run.set, run.repeat)
    return cache.get(contestant.needs, study.protocol, other)


def _measured(contestant: Contestant, run: Run, *more: Any) -> tuple[Contestant, Record]:
    return contestant, perform(run, contestant, *more)


def document(
    study: Study, sets: Sequence[str], repeats: int, records: Sequence[Record]
) -> Document:
    """Return a study as a document that JSON can hold.

    ``results`` holds an object for each set and contestant; each list in it has an entry for each
    repeat, in order. The folder of the data isn't named.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in sorted(records, key=lambda r: r["repeat"]):
        groups.setdefault((record["set"], record["contestant"]), []).append(record)
    order = sorted(groups, key=lambda key: (sets.index(key[0]), key[1]))
    return {
        "format": FORMAT,
        "study": study.name,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "load_average": load_average(),
        "machine": describe_machine(),
        "protocol": study.held(),
        "repeats": repeats,
        "sets": list(sets),
        "results": [_group(groups[key]) for key in order],
    }


def _group(records: list[Record]) -> dict[str, Any]:
    first = records[0]
    fixed = {key: first[key] for key in ("set", "contestant", "task", "n_train", "n_test", "d")}
    varying = {key: [r[key] for r in records] for key in ("repeat", "seconds", "unconverged")}
    variants = {
        name: {key: [_short(r["variants"][name][key]) for r in records] for key in entries}
        for name, entries in first["variants"].items()
    }
    return {**fixed, **varying, "variants": variants}


def _short(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
