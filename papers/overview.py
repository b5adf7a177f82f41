"""Compare the papers cell by cell: printed and measured number, verdict and reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from math import hypot
from pathlib import Path

import numpy as np

from papers.data import FOLDER, Estimate, numbers, printed, text, toml
from papers.page import NONE, bullets, escape, markdown
from papers.results import Results
from papers.study import Document, Shown, Study, studies

AGREES, BETTER, WORSE, DIFFERS = "agrees", "better", "worse", "differs"
NOT_RERUN, OURS = "not rerun", "ours"

VERDICTS = {
    AGREES: "within two standard errors of the difference, or within the tolerance",
    BETTER: "measured better than printed, by more than that",
    WORSE: "measured worse than printed, by more than that",
    DIFFERS: "a different number, where neither is better: the rank of F",
    NOT_RERUN: "printed, but not measured",
    OURS: "measured, but not in the paper",
}

STANDARD_ERRORS = 2.0

FAR = 20.0
"""Multiple of the tolerance beyond which numbers never agree, for example .2 of R2."""

PAPERS = {
    "DANK": "Liu, Huang, Gong, Yang, Li: Learning Data-adaptive Non-parametric Kernels (2020)",
    "KNPL": "Liu, Huang, Gong, Yang, Li: Nonlinear Pairwise Layer and Its Training for Kernel "
    "Learning (2018)",
    "TKL": "Talitckii, Colbert, Peet: Efficient Convex Algorithms for Universal Kernel Learning "
    "(2024)",
    "LAB-RBF": "He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric "
    "Locally-Adaptive Kernels",
    "SCG": "Pan, Chen, Chen, Xu: Efficient learning of supervised kernels with a graph-based loss "
    "function (2016)",
}

TOLERANCES = (
    "1 point of accuracy, .01 of R2, 5 % of a mean squared error, 20 % of a rank, a factor of 3 of "
    "a time, on a different computer"
)


@dataclass(frozen=True)
class Quantity:
    """Description of the number in a cell."""

    name: str
    sign: int
    """1 if more is better, -1 if less is, 0 if neither is."""
    form: str
    tolerance: float
    """Tolerance: absolute, or relative to the printed number."""
    relative: bool = False
    factor: bool = False
    """True if the tolerance is a factor, up or down."""
    kind: str = "new rows"
    """Group of quantities: scores on new rows, on training rows, ranks, times."""

    def allows(self, printed: float, measured: float, times: float = 1.0) -> bool:
        """Return True if a multiple of the tolerance covers the difference."""
        if self.factor:
            low, high = sorted((printed, measured))
            return high <= self.tolerance * low
        most = times * self.tolerance * (printed if self.relative else 1.0)
        return abs(measured - printed) <= most


QUANTITIES = {
    each.name: each
    for each in (
        Quantity("accuracy", 1, ".1f", 1.0),
        Quantity("training accuracy", 1, ".1f", 1.0, kind="training rows"),
        Quantity("R2", 1, ".4f", 0.01),
        Quantity("1 - R2", -1, ".3f", 0.01),
        Quantity("training 1 - R2", -1, ".3f", 0.01, kind="training rows"),
        Quantity("mean squared error", -1, ".3g", 0.05, relative=True),
        Quantity("rank of F", 0, ".0f", 0.2, relative=True, kind="rank of F"),
        Quantity("seconds", -1, ".2g", 3.0, factor=True, kind="seconds"),
    )
}
"""Quantities by name. Accuracies are in per cent."""

AVERAGED = ("accuracy", "R2", "1 - R2")
"""Quantities of test rows with the same unit on all sets."""


def verdict(printed: Estimate | None, measured: Estimate | None, quantity: Quantity) -> str:
    """Judge a cell by its numbers alone.

    The numbers agree if the tolerance covers their difference, or if the difference is at most two
    combined standard errors of both means and at most `FAR` tolerances. Both are means
    over random splits of the same table, so the plain standard error applies. A printed
    number without a standard deviation counts as exact; one split of ours has the paper's.
    """
    if printed is None or measured is None:
        return OURS if printed is None else NOT_RERUN
    gain = measured.mean - printed.mean
    error = hypot(printed.error(), measured.error(printed.spread or 0.0))
    near = not quantity.factor and abs(gain) <= STANDARD_ERRORS * error
    near &= quantity.allows(printed.mean, measured.mean, FAR)
    if near or quantity.allows(printed.mean, measured.mean):
        return AGREES
    if quantity.sign == 0:
        return DIFFERS
    return BETTER if gain * quantity.sign > 0 else WORSE


@dataclass(frozen=True)
class Agreement:
    """Comparison of a printed and a measured cell."""

    study: str
    paper: str
    place: str
    """Paper and place, such as ``"DANK"`` and ``"Table 1"``."""
    set: str
    quantity: str
    method: str
    """Row, quantity, and the paper's name of the method."""
    printed: Estimate | None
    measured: Estimate | None
    baseline: Estimate | None = None
    """The paper's number, ours, and the tuned baseline's on the same splits."""
    baseline_name: str = ""
    """Name of the baseline; empty if there is none or the method is the baseline."""
    explanation: str = ""
    """Reason of the difference, or of a missing number."""

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        return verdict(self.printed, self.measured, QUANTITIES[self.quantity])


About = tuple[str, str, str, str]
"""Study, paper, place and set of a cell."""

OPEN = "Not explained: "
"""Prefix of a text without a known reason."""

TIMES = "Times come from a different computer and program; a factor of three counts as agreement. "
"""Prefix of a text on times."""

UNKNOWN = OPEN + "the reason has not been studied."
"""Text for a cell without a matching reason; no stored result needs it."""


@cache
def reasons() -> tuple[tuple[str, dict[str, str]], ...]:
    """Return reasons with `fnmatch` patterns, separated by ``|``, of the fields of their cells."""
    files = sorted((FOLDER / "reasons").glob("*.toml"))
    entries = [entry for path in files for entry in toml(f"reasons/{path.stem}")["reason"]]
    return tuple(
        (
            OPEN * entry.pop("open", False)
            + TIMES * entry.pop("times", False)
            + " ".join(entry.pop("text").split()),
            {"verdict": "better|worse|differs", **entry},
        )
        for entry in entries
    )


def _explained(cell: Agreement) -> Agreement:
    """Return a cell with its first matching reason; additional cells need none."""
    if cell.verdict == OURS:
        return cell
    known = next((why for why, patterns in reasons() if _fits(patterns, cell)), "")
    return replace(cell, explanation=known or UNKNOWN * (cell.verdict != AGREES))


def _fits(patterns: dict[str, str], cell: Agreement) -> bool:
    return all(
        any(fnmatchcase(getattr(cell, name), one) for one in each.split("|"))
        for name, each in patterns.items()
    )


@dataclass(frozen=True)
class _Cells:
    """Builder of the cells of one study; `plain` has its baseline."""

    study: Study
    results: Results
    plain: Results | None

    def all(self) -> Iterator[Agreement]:
        """Yield the printed cells, then the additional ones."""
        study, declared = self.study, self.study.comparison
        rows = printed(study.name) if declared.printed else {}
        for row, quantities in rows.items():
            for name in study.measured_for(row) or [row]:
                about = (study.name, declared.paper, declared.places.get(row, declared.place), name)
                for quantity in [each for each in quantities if each in QUANTITIES]:
                    for method, cell in quantities[quantity].items():
                        yield from self.of_printed(about, quantity, method, cell)
        for name in self.results.sets:
            if (study.chosen(name).printed or name) in rows and not declared.own_quantity:
                continue
            regression = self.results.task(name) == "regression"
            quantity = declared.own_quantity or (declared.regression if regression else "accuracy")
            for shown in declared.own:
                about = (study.name, declared.paper, declared.own_place or declared.place, name)
                own = self.cell(about, quantity, shown.label, None, shown)
                place = f"{name}, {shown.who.partition(':')[2]}" if declared.by_variant else name
                yield replace(own, set=place)

    def of_printed(
        self, about: About, quantity: str, method: str, text: str
    ) -> Iterator[Agreement]:
        """Yield a printed cell for each measuring variant, and the rank of F in parentheses."""
        repeats = self.study.comparison.repeats
        given = Estimate.printed(text, repeats)
        if given is None:
            return
        columns = self.columns(method, about[-1])
        if not columns:
            yield Agreement(*about, quantity, method, given, None)
        for shown in columns:
            label = shown.label or method
            yield self.cell(about, quantity, label, given, shown)
            if "(" in text and self.results.has(about[-1], shown.who):
                ranks = self.results.numbers(about[-1], shown.who, "rank")
                counted = Estimate.of(ranks, QUANTITIES["rank of F"].form)
                rank = Estimate(numbers(text)[-1], None, repeats, f"{numbers(text)[-1]:.0f}")
                yield Agreement(*about, "rank of F", label, rank, counted)

    def columns(self, method: str, name: str) -> Sequence[Shown]:
        """Return the measured columns of a method on a set; a single one even if it is missing."""
        study = self.study
        columns = study.comparison.columns.get(method, ()) if name in study.sets else ()
        there = [each for each in columns if name in study.sets_of(each.who.partition(":")[0])]
        return there or columns[:1]

    def cell(
        self, about: About, quantity: str, label: str, given: Estimate | None, shown: Shown
    ) -> Agreement:
        """Return a cell with its measurement and baseline."""
        name, comparison, plain = about[-1], self.study.comparison, self.plain
        if not self.results.has(name, shown.who):
            return Agreement(*about, quantity, label, given, None)
        measured = _estimate(self.results, name, quantity, shown)
        task = "regression" if quantity.endswith(("R2", "error")) else "classification"
        base, title = comparison.baseline.get(task, ("", ""))
        if comparison.by_variant and base:
            base = f"{base}:{shown.who.partition(':')[2]}"
        timed = quantity == "seconds" and not comparison.baseline_seconds
        if not base or timed or base == shown.who or plain is None or not plain.has(name, base):
            return Agreement(*about, quantity, label, given, measured)
        other = _estimate(plain, name, quantity, Shown(base, part=shown.part))
        return Agreement(*about, quantity, label, given, measured, other, title)


def _estimate(results: Results, name: str, quantity: str, shown: Shown) -> Estimate:
    form, comparison = QUANTITIES[quantity].form, results.study.comparison
    if quantity == "seconds":
        seconds = results.numbers(name, shown.who, comparison.seconds)
        if comparison.median:
            median = float(np.median(seconds))
            return Estimate(median, None, len(seconds), format(median, form))
        return Estimate.of(seconds, form)
    part = "train" if quantity.startswith("training ") else shown.part
    scale = comparison.scale if quantity.endswith("accuracy") else 1.0
    return Estimate.of(scale * results.values(name, shown.who, part), form)


def gather(kept: Mapping[str, Document]) -> list[Agreement]:
    """Return the cells of all stored documents with reasons, in the order of the page."""
    found: list[Agreement] = []
    for name, document in sorted(kept.items()):
        study = studies()[name]
        base = study.comparison.baseline_in or name
        plain = Results(studies()[base], kept[base]) if base in kept else None
        found += _Cells(study, Results(study, document), plain).all()
    papers, quantities = list(PAPERS), list(QUANTITIES)
    found.sort(key=lambda c: (papers.index(c.paper), c.place, quantities.index(c.quantity)))
    return [_explained(cell) for cell in found]


def kept_documents(folder: Path) -> dict[str, Document]:
    """Return the documents of a folder of results by name."""
    paths = {name: folder / f"{name}.json" for name in studies()}
    return {name: json.loads(p.read_text("utf-8")) for name, p in paths.items() if p.exists()}


def overview(found: Sequence[Agreement], figures: Sequence[str]) -> str:
    """Return the page; `figures` are the titles of the drawn figures."""
    kinds = dict.fromkeys(each.kind for each in QUANTITIES.values())
    number = Counter((cell.verdict, QUANTITIES[cell.quantity].kind) for cell in found)
    counts = [[number[each, kind] for kind in kinds] for each in VERDICTS]
    verdicts = [
        [f"**{each}**", *map(str, row), str(sum(row)), meaning]
        for row, (each, meaning) in zip(counts, VERDICTS.items(), strict=True)
    ]
    notes = _numbered(found)
    parts = [
        "# The papers, cell by cell",
        text("overview", "kept"),
        text("overview", "read"),
        text("overview", "rule", errors=STANDARD_ERRORS, far=FAR, tolerances=TOLERANCES),
        markdown(["cells", *kinds, "all", "meaning"], verdicts),
    ]
    for paper, citation in PAPERS.items():
        parts += _paper([c for c in found if c.paper == paper], paper, citation, notes)
        titles = [title for title in figures if title.startswith(f"{paper},")]
        parts += [f"### {paper}: reproduced figures"] * bool(titles) + [bullets(titles)]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _numbered(found: Sequence[Agreement]) -> dict[str, int]:
    """Number the explanations of the measured cells, in the order of the cells."""
    texts = [cell.explanation for cell in found if cell.verdict != NOT_RERUN]
    return {text: k for k, text in enumerate(dict.fromkeys(filter(None, texts)), start=1)}


def _paper(
    found: Sequence[Agreement], paper: str, citation: str, notes: dict[str, int]
) -> Iterator[str]:
    """Return the sections of a paper."""
    total = Counter(cell.verdict for cell in found)
    counted = ", ".join(f"{total[each]} {each}" for each in VERDICTS if total[each])
    yield from (f"## {paper}", f"{escape(citation)}. {counted}.", _averages(found))
    for study, place, quantity in dict.fromkeys((c.study, c.place, c.quantity) for c in found):
        part = [c for c in found if (c.study, c.place, c.quantity) == (study, place, quantity)]
        yield from _grid(part, f"### {paper}, {escape(place)}: {quantity}", notes)
    used = sorted(_numbered(found), key=lambda text: notes[text])
    yield from [f"### {paper}: reasons of differences"] * bool(used)
    yield bullets([f"({notes[text]}) {escape(text)}" for text in used])
    missing = [
        f"{each['place']}: {' '.join(each['reason'].split())}."
        for each in toml("missing")["missing"]
        if each["paper"] == paper
    ]
    yield f"### {paper}: not rerun"
    yield bullets([escape(text) for text in [*_gaps(found), *missing]])


def _averages(found: Sequence[Agreement]) -> str:
    """Return an average for each measured method of each table."""
    groups: dict[tuple[str, str, str], list[Agreement]] = {}
    for cell in found:
        if cell.measured is not None and cell.quantity in AVERAGED:
            groups.setdefault((cell.place, cell.quantity, cell.method), []).append(cell)
    lines = []
    for key, group in groups.items():
        means = [
            _mean([getattr(cell, part) for cell in group], QUANTITIES[key[1]].form)
            for part in ("printed", "measured", "baseline")
        ]
        if name := group[0].baseline_name:
            means[2] += f" ({name})"
        lines.append([escape(each) for each in [*key, str(len(group)), *means]])
    head = ["mean over sets", "quantity", "method", "sets", "paper", "measured", "tuned baseline"]
    return markdown(head, lines) if lines else ""


def _mean(estimates: Sequence[Estimate | None], form: str) -> str:
    known = [each.mean for each in estimates if each is not None]
    return format(np.mean(known), form) if len(known) == len(estimates) else NONE


def _grid(part: Sequence[Agreement], title: str, notes: dict[str, int]) -> Iterator[str]:
    """Return the table of a place and quantity, without methods that were never measured."""
    methods = list(dict.fromkeys(cell.method for cell in part if cell.measured))
    if not methods:
        return
    by_place = {(cell.set, cell.method): cell for cell in part}
    lines = [
        [escape(name), *(_shown(by_place.get((name, method)), notes) for method in methods)]
        for name in dict.fromkeys(cell.set for cell in part if cell.method in methods)
    ]
    names = " or ".join(dict.fromkeys(cell.baseline_name for cell in part if cell.baseline_name))
    yield title
    yield f"Paper / measured{f' / {escape(names)}' if names else ''}."
    yield markdown(["set", *map(escape, methods)], lines)


def _shown(cell: Agreement | None, notes: dict[str, int]) -> str:
    """Return *paper / measured / baseline*, the verdict, and the number of the explanation."""
    if cell is None:
        return NONE
    parts = [each.text if each else NONE for each in (cell.printed, cell.measured)]
    parts += [cell.baseline.text.partition("±")[0]] if cell.baseline else []
    note = None if cell.verdict == NOT_RERUN else notes.get(cell.explanation)
    return f"{escape(' / '.join(parts))} **{cell.verdict}**" + (f" ({note})" if note else "")


def _gaps(found: Sequence[Agreement]) -> Iterator[str]:
    """List the printed cells that were not rerun, with reasons."""
    groups: dict[tuple[str, str], list[Agreement]] = {}
    for cell in found:
        if cell.verdict == NOT_RERUN:
            groups.setdefault((cell.place, cell.explanation), []).append(cell)
    for (place, reason), group in groups.items():
        sets, methods = (dict.fromkeys(getattr(c, key) for c in group) for key in ("set", "method"))
        who = ", ".join(sets if len(sets) == 1 < len(methods) else methods)
        count = "1 cell" if len(group) == 1 else f"{len(group)} cells"
        yield f"{place}: {who} ({count}). {reason}"
