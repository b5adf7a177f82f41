"""A study: sets, contestants, how rows are split; one measurement of a contestant on a set."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from papers.data import PaperSet, paper_sets, text
from papers.sample import Sample

if TYPE_CHECKING:
    from papers.beside import Beside
    from papers.results import Results

Record: TypeAlias = dict[str, Any]

Variants: TypeAlias = dict[str, dict[str, Any]]
"""What was chosen and measured, under the name of each variant."""

MEASURED = "measured"
"""The name where there is only one variant."""


@dataclass(frozen=True)
class Protocol(ABC):
    """What a study holds fixed, in the fields of a frozen dataclass."""

    @abstractmethod
    def sample(
        self, name: str, chosen: PaperSet, folder: str, repeat: int, contestant: Contestant
    ) -> Sample:
        """Return the rows of one repeat."""


class Listed:
    """A tuple in a text: ``{Cs}``, ``{Cs.least:g}``, ``{Cs.most:g}``, ``{Cs.count}``."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values, self.count = values, len(values)
        self.least, self.most = min(values, default=None), max(values, default=None)

    def __format__(self, joined: str) -> str:
        """Join the values by commas, or by the word after the colon."""
        texts = [each if isinstance(each, str) else f"{each:g}" for each in self.values]
        return (f" {joined} " if joined else ", ").join(texts)


class Contestant(ABC):
    """A method under comparison: a frozen dataclass whose fields say how it is tuned and fitted."""

    name: str
    title: str
    """In the records and on the pages."""
    package: ClassVar[str | None] = None
    """What has to be installed besides this project's own requirements."""
    needs: ClassVar[Contestant | None] = None
    """The one whose choices it takes over."""

    @abstractmethod
    def measure(
        self, sample: Sample, protocol: Any, repeat: int, needed: Record | None
    ) -> Variants:
        """Choose parameters by the training rows, fit, and judge by the test rows.

        `needed` is the record of the contestant in `needs`.
        """

    @property
    def kind(self) -> str:
        """The key of its text in `papers/texts/contestants.toml`."""
        return type(self).__name__

    def words(self) -> str:
        """Say how it is tuned and fitted."""
        attributes = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        values = {k: Listed(v) if isinstance(v, tuple) else v for k, v in attributes.items()}
        return text("contestants", self.kind, **values)

    def installed(self) -> bool:
        """Return whether the package it needs is installed."""
        return self.package is None or find_spec(self.package) is not None


@dataclass(frozen=True)
class Run:
    """A contestant on one repeat of a set."""

    contestant: str
    set: str
    repeat: int


@dataclass(frozen=True)
class Entry:
    """A contestant in a study."""

    contestant: Contestant
    sets: tuple[str, ...]
    """Those that it is measured on."""
    most_repeats: tuple[tuple[str, int], ...] = ()
    """The largest number of repeats on some sets."""
    exceptions: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = ()
    """Fields that are different on one set."""

    def on(self, name: str) -> Contestant:
        """Return the contestant as it is tuned and fitted on a set."""
        fields = dict(dict(self.exceptions).get(name, ()))
        return replace(self.contestant, **fields) if fields else self.contestant  # type: ignore


@dataclass(frozen=True)
class Study:
    """A table of a paper, or a study of our own."""

    name: str
    title: str
    """On the command line and on the page."""
    group: str
    """Of its sets and texts: files in `papers/sets` and `papers/texts`."""
    repeats: int
    """Splits, unless the command line says otherwise."""
    protocol: Protocol
    entries: tuple[Entry, ...]
    """The first one is measured on all sets."""
    sections: Callable[[Study, Results], Sequence[str]]
    """Returns the parts of the page between title and provenance; see `papers.page`."""
    beside: Beside
    """What stands beside the printed cells; see `papers.beside`."""
    percent: bool = True
    """Whether the pages show accuracies in per cent."""

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets, in the order of the page."""
        return self.entries[0].sets

    @property
    def contestants(self) -> tuple[Contestant, ...]:
        """The contestants, in the order of the page."""
        return tuple(each.contestant for each in self.entries)

    def chosen(self, name: str) -> PaperSet:
        """Return what is known of a set."""
        return paper_sets(self.group)[name]

    def measured_for(self, row: str) -> list[str]:
        """Return the sets that stand beside a row of the paper."""
        return [name for name in self.sets if (self.chosen(name).printed or name) == row]

    def runs(self, sets: Sequence[str], repeats: int) -> list[tuple[Contestant, Run]]:
        """Return all measurements for some of the sets, repeat by repeat."""
        return [
            (entry.on(name), Run(entry.contestant.name, name, repeat))
            for repeat in range(repeats)
            for name in sets
            for entry in self.entries
            if name in entry.sets and repeat < self._most(entry, name, repeats)
        ]

    def _most(self, entry: Entry, name: str, repeats: int) -> int:
        limits = (dict(entry.most_repeats).get(name), self.chosen(name).most_repeats)
        return min(repeats, *(each for each in limits if each is not None), repeats)

    def held(self) -> dict[str, Any]:
        """Return what a document says was held fixed."""
        exceptions = [
            {"set": name, "contestant": entry.contestant.name, "fields": fields}
            for entry in self.entries
            for name, fields in entry.exceptions
        ]
        return {
            "protocol": asdict(self.protocol),
            "contestants": [asdict(each) for each in self.contestants],  # type: ignore
            **({"exceptions": exceptions} if exceptions else {}),
        }


def perform(
    run: Run,
    contestant: Contestant,
    protocol: Protocol,
    chosen: PaperSet,
    folder: str,
    needed: Record | None = None,
) -> Record:
    """Measure a contestant on one repeat of a set, in one thread.

    Returns the run; the rows on both sides; ``seconds`` of the whole; ``unconverged``, the number
    of solves that ended before their tolerance was reached; and under ``variants`` what was chosen
    and measured.
    """
    start = time.perf_counter()
    sample = protocol.sample(run.set, chosen, folder, run.repeat, contestant)
    with threadpool_limits(1), unconverged() as early:
        variants = contestant.measure(sample, protocol, run.repeat, needed)
    return {
        **asdict(run),
        "variants": variants,
        "task": sample.task,
        **sample.sizes(),
        "seconds": round(time.perf_counter() - start, 2),
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
