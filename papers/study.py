"""Declared studies and contestants, and their measurement with a cache of records."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.harness.machine import describe_machine
from papers.data import PaperSet, paper_sets, read, toml
from papers.sample import Protocol, Sample

Record: TypeAlias = dict[str, Any]
Needed: TypeAlias = Record | None
Document: TypeAlias = dict[str, Any]

Variants: TypeAlias = dict[str, dict[str, Any]]
"""Selected parameters and measurements, by name of the variant."""

MEASURED = "measured"
"""Name of a single variant."""

CACHE = "runs.jsonl"
"""File with the measurements of all studies."""

SHOWN = (
    "test", "train", "unlabelled", "log_loss", "smooth", "by parts", "rank", "support", "gap",
    "early", "setting", "strength", "kernel", "fit_seconds", "tuning_seconds", "kernel_seconds",
)  # fmt: skip
"""Parts of a measurement that a document keeps for the pages."""

DIGITS = 6


class Listed(tuple[Any, ...]):
    """A list in a text template: ``{Cs}``, ``{Cs.least:g}``, ``{Cs.most:g}``, ``{Cs.count}``."""

    least = property(min)
    most = property(max)
    count = property(len)  # type: ignore[assignment]

    def __format__(self, joined: str) -> str:
        """Join the values by commas, or by the word after the colon."""
        texts = [each if isinstance(each, str) else f"{each:g}" for each in self]
        return (f" {joined} " if joined else ", ").join(texts)


class Contestant:
    """A method in a comparison.

    Its settings, each an attribute, are in `papers/contestants.toml`: `title` and `text` for the
    pages, and the settings that its class requires. `grid` has the candidates of a search by name.
    """

    name: str
    title: str
    text: str
    grid: Mapping[str, Sequence[Any]] = {}
    kept: bool = False
    """True if it only has stored results and is no longer measured."""
    needs: str | None = None
    """Declared contestant that supplies the selected parameters."""

    def __init__(self, name: str, **settings: Any) -> None:
        vars(self).update(settings, name=name)

    def measure(self, sample: Sample, protocol: Protocol, repeat: int, needed: Needed) -> Variants:
        """Tune, fit, and score on the test rows; `needed` is the record of `needs`."""
        raise NotImplementedError

    def words(self) -> str:
        """Describe its tuning and fit."""
        values = {**vars(self), **self.grid}
        listed = {k: Listed(v) if isinstance(v, list | tuple) else v for k, v in values.items()}
        text = f"{self.text}. It is no longer measured" if self.kept else self.text
        return " ".join(text.split()).format(**listed)


@cache
def _declared() -> dict[str, dict[str, Any]]:
    return toml("contestants")


def contestant(key: str, **changes: Any) -> Contestant:
    """Return a declared contestant, such as "tkl/forest", with some settings changed.

    ``of`` names its class in `papers/contestants`, and ``base`` a contestant with other settings.
    """
    settings = dict(_declared()[key])
    while "base" in settings:
        base = _declared()[settings.pop("base")]
        settings = {**base, **settings}
    module, _, kind = settings.pop("of").partition(".")
    made = getattr(import_module(f"papers.contestants.{module}"), kind)
    return made(**{"name": key.partition("/")[2], **settings, **changes})  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Run:
    """A contestant, a set and a repeat."""

    contestant: str
    set: str
    repeat: int


@dataclass(frozen=True)
class Shown:
    """A measured column: a contestant or one of its variants, for a method of the paper."""

    who: str
    """Contestant and variant, such as "svm" or "svm:fixed/none"."""
    label: str = ""
    """Name of the method on the overview; empty for the paper's name."""
    part: str = "test"
    """Key of its score among the numbers of a measurement."""

    @classmethod
    def of(cls, declared: Any) -> Shown:
        """Read a column of studies.toml."""
        return cls(declared) if isinstance(declared, str) else cls(**declared)


@dataclass(frozen=True)
class Comparison:
    """Measurements that correspond to the numbers of a paper."""

    paper: str
    place: str = ""
    """Paper and place, such as ``"DANK"`` and ``"Table 1"``."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Places of printed sets that are in another table."""
    columns: Mapping[str, Sequence[Shown]] = field(default_factory=dict)
    """Columns by the paper's name of the method; other methods are not rerun."""
    repeats: int = 1
    baseline: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The tuned baseline and its name, by task."""
    baseline_in: str = ""
    """Study on the same splits with the baseline, if different."""
    seconds: str = "fit_seconds"
    """Key of the seconds, whose median over the repeats is shown."""
    by_variant: bool = False
    """True if each variant has separate scores."""
    printed: bool = True
    """True if the paper prints any of it."""


@dataclass(frozen=True)
class Study:
    """A table of a paper, or an additional study."""

    name: str
    title: str
    group: str
    page: str
    """Function in `papers/studies` that returns its sections, such as "hadamard.tables"."""
    repeats: int
    sets: tuple[str, ...]
    """Sets in the order of the page; the first contestant is measured on all."""
    contestants: tuple[Contestant, ...]
    protocol: Protocol
    comparison: Comparison
    percent: bool = True
    """True if the pages show accuracies in per cent."""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Sets of the contestants that are not measured on all."""
    most_repeats: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Maximum number of repeats of a contestant by set, or on "all" others."""
    exceptions: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Different settings of a contestant on some sets."""

    @property
    def titles(self) -> dict[str, str]:
        return {each.name: each.title for each in self.contestants}

    def sets_of(self, who: str) -> Sequence[str]:
        return self.only.get(who, self.sets)

    def chosen(self, name: str) -> PaperSet:
        return paper_sets(self.group)[name]

    def measured_for(self, row: str) -> list[str]:
        """Return the sets that correspond to a row of the paper."""
        return [name for name in self.sets if (self.chosen(name).printed or name) == row]

    def on(self, who: Contestant, name: str) -> Contestant:
        """Return a contestant with its settings for a set."""
        different = self.exceptions.get(who.name, {}).get(name)
        return type(who)(**{**vars(who), **different}) if different else who

    def runs(self, sets: Sequence[str], repeats: int) -> list[tuple[Contestant, Run]]:
        """Return all measurements for some of the sets, repeat by repeat."""
        return [
            (self.on(who, name), Run(who.name, name, repeat))
            for repeat in range(repeats)
            for name in sets
            for who in self.contestants
            if name in self.sets_of(who.name) and repeat < self._most(who.name, name, repeats)
        ]

    def _most(self, who: str, name: str, repeats: int) -> int:
        most = self.most_repeats.get(who, {})
        limits = (most.get(name, most.get("all")), self.chosen(name).most_repeats)
        return min(each for each in (*limits, repeats) if each is not None)


def _study(name: str, declared: dict[str, Any]) -> Study:
    comparison = declared.pop("comparison")
    columns = {k: tuple(map(Shown.of, v)) for k, v in comparison.pop("columns", {}).items()}
    held = toml("protocols")[declared["group"]] | declared.pop("protocol", {})
    held = {k: tuple(map(tuple, v.items())) if isinstance(v, dict) else v for k, v in held.items()}
    held = {k: tuple(v) if isinstance(v, list) else v for k, v in held.items()}
    return Study(
        name,
        sets=tuple(declared.pop("sets")),
        contestants=tuple(map(contestant, declared.pop("contestants"))),
        protocol=Protocol(**held),
        comparison=Comparison(columns=columns, **comparison),
        **declared,
    )


@cache
def studies() -> dict[str, Study]:
    """Return the studies by name, in the order of the papers."""
    return {name: _study(name, declared) for name, declared in toml("studies").items()}


class Cache:
    """Cache of records by contestant, settings and protocol, in a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: dict[str, Record] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            try:
                self._records.update([json.loads(line)])
            except ValueError:  # truncated line of an interrupted run
                continue

    def get(self, who: Contestant, protocol: Protocol, run: Run) -> Record | None:
        """Return a record, or None."""
        return self._records.get(_key(who, protocol, run))

    def add(self, who: Contestant, protocol: Protocol, run: Run, record: Record) -> None:
        """Store a record in memory and in the file."""
        key = _key(who, protocol, run)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            # start a new line, even after a truncated one
            file.write("\n" + json.dumps([key, record]))
        self._records[key] = record


def _key(who: Contestant, protocol: Protocol, run: Run) -> str:
    settings = {k: v for k, v in vars(who).items() if k not in ("title", "text")}
    parts = [type(who).__name__, settings, asdict(protocol), asdict(run)]
    return json.dumps(parts, sort_keys=True)


def measure(
    study: Study, sets: Sequence[str], repeats: int, data: Path, out: Path, jobs: int = 1
) -> Document:
    """Measure the runs missing from the cache in `out`, in `jobs` processes; return the document.

    All sets are measured on the first split before the second split starts.
    """
    kept = Cache(out / CACHE)
    runs = study.runs(sets, repeats)
    needed = [(contestant(each.needs), run) for each, run in runs if each.needs]
    needed = [(each, replace(run, contestant=each.name)) for each, run in needed]
    for stage in (needed, runs):
        _fill(study, stage, kept, str(data), jobs)
    records = [kept.get(each, study.protocol, run) for each, run in runs]
    return document(study, sets, repeats, [record for record in records if record is not None])


def _fill(
    study: Study, runs: list[tuple[Contestant, Run]], kept: Cache, folder: str, jobs: int
) -> None:
    held = study.protocol
    missing = {run: who for who, run in runs if not who.kept and kept.get(who, held, run) is None}
    calls = (
        delayed(_performed)(
            who, run, held, study.chosen(run.set), folder, _needed(who, run, kept, held)
        )
        for run, who in missing.items()
    )
    done = Parallel(n_jobs=jobs, return_as="generator_unordered")(calls)
    for count, (run, record) in enumerate(done, start=1):
        kept.add(missing[run], held, run, record)
        line = "{set}, repeat {repeat}, {contestant}: {seconds:.1f} s".format_map(record)
        print(f"{line} ({count} of {len(missing)})", file=sys.stderr, flush=True)


def _needed(who: Contestant, run: Run, kept: Cache, protocol: Protocol) -> Record | None:
    if who.needs is None:
        return None
    other = contestant(who.needs)
    return kept.get(other, protocol, replace(run, contestant=other.name))


def _performed(who: Contestant, run: Run, *more: Any) -> tuple[Run, Record]:
    return run, perform(who, run, *more)


def perform(
    who: Contestant,
    run: Run,
    protocol: Protocol,
    chosen: PaperSet,
    folder: str,
    needed: Record | None = None,
) -> Record:
    """Measure a contestant on one repeat of a set, in one thread.

    The record has the run; the numbers of rows; the total ``seconds``; ``unconverged``, the number
    of solves that ended before their tolerance; and ``variants``, the selected parameters and
    measurements.
    """
    start = time.perf_counter()
    sample = protocol.sample(run.set, chosen, read(chosen, folder), run.repeat, who)
    with threadpool_limits(1), unconverged() as early:
        variants = who.measure(sample, protocol, run.repeat, needed)
    n_train = len(sample.known)
    return {
        **asdict(run),
        "variants": variants,
        "task": sample.task,
        "n_train": n_train,
        "n_test": len(sample.y) - n_train + len(sample.y_test),
        "d": sample.X.shape[1],
        "seconds": time.perf_counter() - start,
        "unconverged": len(early) + sum(each.get("early", 0) for each in variants.values()),
    }


@contextmanager
def unconverged() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings of solves that ended early; show the other warnings."""
    early: list[warnings.WarningMessage] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ConvergenceWarning)
        yield early
    early += [w for w in seen if issubclass(w.category, ConvergenceWarning)]
    for other in seen:
        if not issubclass(other.category, ConvergenceWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)


def document(
    study: Study, sets: Sequence[str], repeats: int, records: Sequence[Record]
) -> Document:
    """Return a study as a JSON-compatible document with the contents of its pages."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in sorted(records, key=lambda r: r["repeat"]):
        groups.setdefault((record["set"], record["contestant"]), []).append(record)
    order = sorted(groups, key=lambda key: (sets.index(key[0]), key[1]))
    return {
        "study": study.name,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": describe_machine(),
        "repeats": repeats,
        "sets": list(sets),
        "results": [_group(groups[key]) for key in order],
    }


def _group(records: list[Record]) -> dict[str, Any]:
    first = records[0]
    variants = {
        name: {
            key: [_short(r["variants"][name][key]) for r in records]
            for key in SHOWN
            if first["variants"][name].get(key) is not None
        }
        for name in first["variants"]
    }
    return {
        **{key: first[key] for key in ("set", "contestant", "task", "n_train", "n_test", "d")},
        "seconds": round(sum(r["seconds"] for r in records), 1),
        "unconverged": sum(r["unconverged"] for r in records),
        "variants": variants,
    }


def _short(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value
