"""From a study's results to the cells of the overview: printed numbers, and what stands beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.agreement import QUANTITIES, Agreement
from papers.data import Estimate, numbers, printed
from papers.results import Results, Way, way

if TYPE_CHECKING:
    from papers.study import Study


@dataclass(frozen=True)
class Shown:
    """A measured column."""

    way: Way | str
    """The contestant that stands beside a method of the paper."""
    label: str = ""
    """The method's name on the overview; empty for the paper's."""
    part: str = "test"
    """Key of its score among the numbers of a measurement."""


@dataclass(frozen=True)
class Beside:
    """What stands beside the numbers of a paper."""

    paper: str
    place: str = ""
    """Such as ``"DANK"`` and ``"Table 1"``."""
    places: Mapping[str, str] = field(default_factory=dict)
    """The places of printed sets that stand in another table."""
    columns: Mapping[str, Sequence[Shown]] = field(default_factory=dict)
    """By the paper's name of the method; other methods are not rerun."""
    own: Sequence[Shown] = ()
    """Shown on the sets that are not in the paper's table."""
    own_place: str = ""
    repeats: int = 1
    """Of the paper."""
    baseline: Mapping[str, tuple[Way | str, str]] = field(default_factory=dict)
    """The tuned baseline, by the task."""
    baseline_in: str = ""
    """The study on the same splits that has the baseline, if it is another one."""
    seconds: str = "fit_seconds"
    """Key of the seconds; their median over the repeats is shown if `median`."""
    median: bool = False
    baseline_seconds: bool = False
    """Whether the seconds of the baseline are shown as well."""
    regression: str = "1 - R2"
    """The quantity of a regression."""
    scale: float = 1.0
    """What makes per cent of an accuracy."""
    by_variant: bool = False
    """Whether each variant has a row of its own."""
    printed: bool = True
    """Whether the paper prints any of it."""


def cells(study: Study, results: Results, others: Mapping[str, Results]) -> Iterator[Agreement]:
    """Return the cells of a study; its baseline may stand in another one."""
    beside = study.beside
    plain = others.get(beside.baseline_in) if beside.baseline_in else results
    maker = _Maker(study, results, plain)
    rows = printed(study.name) if beside.printed else {}
    for row, quantities in rows.items():
        for name in study.measured_for(row) or [row]:
            for quantity, texts in quantities.items():
                if quantity in QUANTITIES:
                    yield from maker.row(row, name, quantity, texts)
    for name in results.sets:
        if (study.chosen(name).printed or name) not in rows:
            yield from maker.own(name)


@dataclass(frozen=True)
class _Maker:
    """Makes the cells of one study."""

    study: Study
    results: Results
    plain: Results | None

    def row(
        self, row: str, name: str, quantity: str, texts: Mapping[str, str]
    ) -> Iterator[Agreement]:
        """Return the cells of a printed row, beside the set `name`."""
        beside = self.study.beside
        about = (self.study.name, beside.paper, beside.places.get(row, beside.place), name)
        for method, text in texts.items():
            printed = Estimate.printed(text, beside.repeats)
            if printed is None:
                continue
            columns = self._ways(beside.columns.get(method, ()), name)
            if not columns:
                yield Agreement(*about, quantity, method, printed, None)
            for shown in columns:
                yield self._cell(about, quantity, shown.label or method, printed, shown)
                if "(" in text and self.results.has(name, shown.way):
                    yield self._rank(about, shown, shown.label or method, text)

    def _ways(self, columns: Sequence[Shown], name: str) -> Sequence[Shown]:
        """Return the ways to measure a method whose contestants the study has on a set.

        Of a single one that it has not, the cell says so.
        """
        if name not in self.study.sets:
            return ()
        sets = {each.contestant.name: each.sets for each in self.study.entries}
        there = [each for each in columns if name in sets[way(each.way).contestant]]
        return there or columns[:1]

    def own(self, name: str) -> Iterator[Agreement]:
        """Return the cells of a set that is not in the paper's table."""
        beside = self.study.beside
        regression = self.results.task(name) == "regression"
        quantity = beside.regression if regression else "accuracy"
        for shown in beside.own:
            about = (self.study.name, beside.paper, beside.own_place, name)
            cell = self._cell(about, quantity, shown.label, None, shown)
            row = f"{name}, {way(shown.way).variant}" if beside.by_variant else name
            yield replace(cell, set=row)

    def _cell(
        self,
        about: tuple[str, str, str, str],
        quantity: str,
        label: str,
        printed: Estimate | None,
        shown: Shown,
    ) -> Agreement:
        name = about[-1]
        if not self.results.has(name, shown.way):
            return Agreement(*about, quantity, label, printed, None)
        measured = self._estimate(self.results, name, quantity, shown)
        base = self._baseline(name, quantity, shown)
        return Agreement(*about, quantity, label, printed, measured, *base)

    def _estimate(self, results: Results, name: str, quantity: str, shown: Shown) -> Estimate:
        form = QUANTITIES[quantity].form
        if quantity == "seconds":
            seconds = results.numbers(name, shown.way, self.study.beside.seconds)
            if self.study.beside.median:
                median = float(np.median(seconds))
                return Estimate(median, None, len(seconds), format(median, form))
            return Estimate.of(seconds, form)
        part = "train" if quantity.startswith("training ") else shown.part
        scale = self.study.beside.scale if quantity.endswith("accuracy") else 1.0
        return Estimate.of(scale * results.values(name, shown.way, part), form)

    def _baseline(self, name: str, quantity: str, shown: Shown) -> tuple[Estimate | None, str]:
        """Return the number and the name of the baseline on a set."""
        beside = self.study.beside
        task = "regression" if quantity.endswith(("R2", "error")) else "classification"
        who, title = beside.baseline.get(task, ("", ""))
        if not who or (quantity == "seconds" and not beside.baseline_seconds):
            return None, ""
        base = way(who)._replace(variant=way(shown.way).variant) if beside.by_variant else way(who)
        if way(shown.way) == base or self.plain is None or not self.plain.has(name, base):
            return None, ""
        return self._estimate(self.plain, name, quantity, Shown(base, part=shown.part)), title

    def _rank(
        self, about: tuple[str, str, str, str], shown: Shown, label: str, text: str
    ) -> Agreement:
        rank = numbers(text)[-1]
        printed = Estimate(rank, None, self.study.beside.repeats, f"{rank:.0f}")
        ranks = self.results.numbers(about[-1], shown.way, "rank")
        counted = Estimate.of(ranks, QUANTITIES["rank of F"].form)
        return Agreement(*about, "rank of F", label, printed, counted)


def timing_cells(document: Mapping[str, Any]) -> Iterator[Agreement]:
    """Return the cells of TKL's Table 1: a speed benchmark, on all rows of each set."""
    suffix = ", all rows"
    cases = {c["name"]: c["measurements"] for c in document["cases"]}
    for name, quantities in printed("tkl-table-1").items():
        if f"{name}{suffix}" not in cases:
            continue
        about = (document["benchmark"], "TKL", "Table 1", name, "seconds")
        program, algorithm = (
            Estimate.printed(quantities["seconds"][method], 30) for method in ("SDP", "Algorithm 2")
        )
        seconds = {
            who: Estimate.of(
                [
                    each["processor_seconds"]
                    for each in cases[f"{name}{suffix}"]
                    if each["contestant"] == who
                ],
                QUANTITIES["seconds"].form,
            )
            for who in ("Algorithm 2", "pliant")
        }
        yield Agreement(*about, "SDP", program, None)
        yield Agreement(*about, "Algorithm 2", algorithm, seconds["Algorithm 2"])
        yield Agreement(*about, "TKL by pliant", None, seconds["pliant"])
