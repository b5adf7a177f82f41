"""Compare the papers cell by cell: printed and measured number, verdict and reason."""

from __future__ import annotations

import json
import re
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

AGREES, BETTER, WORSE = DECIDED = ("agrees", "better", "worse")
INCONCLUSIVE, NOT_RERUN, UNJUDGED = "inconclusive", "not rerun", "no verdict"

COUNTED = (*DECIDED, INCONCLUSIVE, NOT_RERUN)
"""Verdicts of the printed scores, in the order of the tables."""

STANDARD_ERRORS = 2.0

SHARE = 0.1
"""Tolerance as a share of the printed error."""


@dataclass(frozen=True)
class Quantity:
    """Description of the number in a cell."""

    name: str
    form: str
    best: float | None = 0.0
    """Value without any error; None if its numbers get no verdict."""
    least: float = 0.0
    """Minimum tolerance."""
    kind: str = "new rows"
    """Group of quantities: scores on new rows, on training rows, ranks, times."""


QUANTITIES = {
    each.name: each
    for each in (
        Quantity("accuracy", ".1f", 100.0, 0.2),
        Quantity("training accuracy", ".1f", 100.0, 0.2, "training rows"),
        Quantity("R2", ".4f", 1.0, 0.002),
        Quantity("1 - R2", ".3f", 0.0, 0.002),
        Quantity("training 1 - R2", ".3f", 0.0, 0.002, "training rows"),
        Quantity("mean squared error", ".3g"),
        Quantity("rank of F", ".0f", None, kind="rank of F"),
        Quantity("seconds", ".3g", None, kind="seconds"),
    )
}
"""Quantities by name. Accuracies are in per cent."""

SAME_COLUMNS = {"tau = 0.01": "DANK"}
"""Columns with the numbers of another column: DANK's tables 5 and 10 print its default again."""

AVERAGED = ("accuracy", "R2", "1 - R2")
"""Quantities of test rows with the same unit on all sets."""


def verdict(printed: Estimate, measured: Estimate | None, quantity: Quantity) -> str:
    """Judge a cell by its numbers alone.

    The tolerance is a tenth of the printed error. Larger differences count if they also exceed two
    combined standard errors; smaller ones agree only if the standard error is within the tolerance.
    Both means are over random splits of the same table, so the plain standard error applies.
    Numbers from a single split decide nothing.
    """
    if measured is None:
        return NOT_RERUN
    if quantity.best is None:
        return UNJUDGED
    if printed.spread is None or measured.spread is None:
        return INCONCLUSIVE
    gain, error = measured.mean - printed.mean, hypot(printed.error(), measured.error())
    tolerance = max(quantity.least, SHARE * abs(quantity.best - printed.mean))
    if abs(gain) > max(tolerance, STANDARD_ERRORS * error):
        return BETTER if (gain > 0.0) == (quantity.best > 0.0) else WORSE
    return AGREES if error <= tolerance else INCONCLUSIVE


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
    printed: Estimate
    measured: Estimate | None
    baseline: Estimate | None = None
    """The paper's number, ours, and the tuned baseline's on the same splits."""
    baseline_name: str = ""
    """Name of the baseline; empty if there is none or the method is the baseline."""
    number: tuple[str, ...] = ()
    """Paper, row, quantity and column of the printed number; several cells may share it."""
    verdict: str = ""
    explanation: str = ""
    """Reason of the verdict, or of a missing number."""

    @property
    def score(self) -> tuple[str, ...]:
        """Row, quantity, column and text of the printed score, the same wherever it is printed.

        The text has one decimal: DANK's paper cuts the second one of the numbers of KNPL's paper.
        """
        _, row, quantity, column = self.number
        column = SAME_COLUMNS.get(column, column)
        return row, quantity, column, re.sub(r"(\.\d)\d*", r"\1", self.printed.text)


About = tuple[str, str, str, str]
"""Study, paper, place and set of a cell."""

INCOMPARABLE, OPEN = "Not comparable, ", "Not explained: "
"""Prefixes of texts on numbers that no rule can compare, and of texts without a known reason."""


@cache
def reasons() -> tuple[tuple[str, dict[str, str]], ...]:
    """Return reasons with `fnmatch` patterns, separated by ``|``, of the fields of their cells."""
    files = sorted((FOLDER / "reasons").glob("*.toml"))
    entries = [entry for path in files for entry in toml(f"reasons/{path.stem}")["reason"]]
    found = []
    for entry in entries:
        why, words = entry.pop("incomparable", ""), " ".join(entry.pop("text").split())
        opening = f"{INCOMPARABLE}{why}: " if why else OPEN * entry.pop("open", False)
        judged = "agrees|better|worse|inconclusive" if why else "better|worse"
        found.append((opening + words, {"verdict": judged, **entry}))
    return tuple(found)


def _judged(cell: Agreement) -> Agreement:
    """Return a cell with its verdict and its first matching reason."""
    cell = replace(cell, verdict=verdict(cell.printed, cell.measured, QUANTITIES[cell.quantity]))
    why = next((why for why, patterns in reasons() if _fits(patterns, cell)), "")
    judged = INCONCLUSIVE if why.startswith(INCOMPARABLE) else cell.verdict
    return replace(cell, explanation=why, verdict=judged)


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
        """Yield a cell for each printed number and each of its measurements."""
        study, declared = self.study, self.study.comparison
        for row, quantities in printed(study.name).items():
            for name in study.measured_for(row) or [row]:
                about = (study.name, declared.paper, declared.places.get(row, declared.place), name)
                for quantity in [each for each in quantities if each in QUANTITIES]:
                    for method, cell in quantities[quantity].items():
                        for each in self.of_printed(about, quantity, method, cell):
                            number = (declared.paper, row, each.quantity, method)
                            yield replace(each, number=number)

    def of_printed(
        self, about: About, quantity: str, method: str, text: str
    ) -> Iterator[Agreement]:
        """Yield a printed cell for each measuring variant, and the rank of F in parentheses."""
        name, repeats = about[-1], self.study.comparison.repeats
        given = Estimate.printed(text, repeats)
        if given is None:
            return
        columns = self.columns(method, name)
        if not columns:
            yield Agreement(*about, quantity, method, given, None)
        for shown in columns:
            label = shown.label or method
            if not self.results.has(name, shown.who):
                yield Agreement(*about, quantity, label, given, None)
                continue
            measured = _estimate(self.results, name, quantity, shown)
            baseline = self.baseline(name, quantity, shown, measured.repeats)
            yield Agreement(*about, quantity, label, given, measured, *baseline)
            if "(" in text:
                ranks = self.results.numbers(name, shown.who, "rank")
                counted = Estimate.of(ranks, QUANTITIES["rank of F"].form)
                rank = Estimate(numbers(text)[-1], None, repeats, f"{numbers(text)[-1]:.0f}")
                yield Agreement(*about, "rank of F", label, rank, counted)

    def columns(self, method: str, name: str) -> Sequence[Shown]:
        """Return the measured columns of a method on a set; a single one even if it is missing."""
        study = self.study
        columns = study.comparison.columns.get(method, ()) if name in study.sets else ()
        there = [each for each in columns if name in study.sets_of(each.who.partition(":")[0])]
        return there or columns[:1]

    def baseline(
        self, name: str, quantity: str, shown: Shown, repeats: int
    ) -> tuple[Estimate | None, str]:
        """Return the measurement on the first splits, and the name, of a score's baseline."""
        task = "regression" if quantity.endswith(("R2", "error")) else "classification"
        base, title = self.study.comparison.baseline.get(task, ("", ""))
        plain, alone = self.plain, quantity == "seconds" or base in ("", shown.who)
        if alone or plain is None or not plain.has(name, base):
            return None, ""
        part = shown.part if shown.part in plain.found(name, base) else "test"
        return _estimate(plain, name, quantity, Shown(base, part=part), repeats), title


def _estimate(
    results: Results, name: str, quantity: str, shown: Shown, most: int | None = None
) -> Estimate:
    form = QUANTITIES[quantity].form
    if quantity == "seconds":
        seconds = results.numbers(name, shown.who, results.study.comparison.seconds)
        return Estimate.of([np.median(seconds)], form)
    part = "train" if quantity.startswith("training ") else shown.part
    return Estimate.of(results.values(name, shown.who, part)[:most], form)


def gather(kept: Mapping[str, Document]) -> list[Agreement]:
    """Return the judged cells of all stored documents, in the order of the page."""
    found: list[Agreement] = []
    for study in studies().values():
        if study.name in kept and study.comparison.printed:
            base = study.comparison.baseline_in or study.name
            plain = Results(studies()[base], kept[base]) if base in kept else None
            found += _Cells(study, Results(study, kept[study.name]), plain).all()
    papers, quantities = list(toml("findings")), list(QUANTITIES)
    found.sort(key=lambda c: (papers.index(c.paper), c.place, quantities.index(c.quantity)))
    return [_judged(cell) for cell in found]


def kept_documents(folder: Path) -> dict[str, Document]:
    """Return the documents of a folder of results by name."""
    paths = {name: folder / f"{name}.json" for name in studies()}
    return {name: json.loads(p.read_text("utf-8")) for name, p in paths.items() if p.exists()}


def counted(cells: Sequence[Agreement]) -> list[Agreement]:
    """Return one cell for each printed score: the first with a measurement, if there is one."""
    scores = [cell for cell in cells if QUANTITIES[cell.quantity].best is not None]
    first: dict[tuple[str, ...], Agreement] = {}
    for cell in sorted(scores, key=lambda each: each.measured is None):
        first.setdefault(cell.score, cell)
    return list(first.values())


def printed_again(cells: Sequence[Agreement]) -> tuple[int, int]:
    """Return the number of printed scores, and that of repeats of others among them."""
    scores = [cell for cell in cells if QUANTITIES[cell.quantity].best is not None]
    places = len({cell.number for cell in scores})
    return places, places - len(counted(cells))


def comparable(cells: Sequence[Agreement]) -> list[Agreement]:
    """Return the measured cells with numbers that can be compared."""
    return [c for c in cells if c.measured and not c.explanation.startswith(INCOMPARABLE)]


def mismatched(cells: Sequence[Agreement], others: Sequence[Agreement]) -> Counter[str]:
    """Count the verdicts on printed scores and other methods' measured scores on the same set."""
    return Counter(
        verdict(a.printed, b.measured, QUANTITIES[a.quantity])
        for a in comparable(cells)
        for b in comparable(others)
        if (a.study, a.set, a.quantity) == (b.study, b.set, b.quantity) and a.printed != b.printed
    )


def share(verdicts: Counter[str]) -> str:
    """Return the share of agreement among decided verdicts, in per cent."""
    decided = sum(verdicts[each] for each in DECIDED)
    return f"{100 * verdicts[AGREES] / decided:.0f} % of {decided}" if decided else NONE


def _standing(found: Sequence[Agreement]) -> str:
    """Count verdicts for each paper, and the agreement of right and of mismatched pairs."""
    groups: dict[tuple[str, str], list[Agreement]] = {}
    for cell in counted(found):
        groups.setdefault((cell.paper, QUANTITIES[cell.quantity].kind), []).append(cell)
    groups["all", ""] = counted(found)
    rows = []
    for key, cells in groups.items():
        right = Counter(cell.verdict for cell in cells)
        shares = share(right), share(mismatched(cells, cells))
        rows.append([*key, str(len(cells)), *(str(right[each]) for each in COUNTED), *shares])
    head = ["paper", "scores on", "printed", *COUNTED, "agree", "mismatched pairs agree"]
    return markdown(head, rows)


def overview(found: Sequence[Agreement], figures: Sequence[str]) -> str:
    """Return the page; `figures` are the titles of the drawn figures."""
    notes, (places, repeats) = _numbered(found), printed_again(found)
    parts = [
        "# The papers, cell by cell",
        *(text("overview", key) for key in ("kept", "read", "rule", "mismatched")),
        text("overview", "repeats", printed=places, repeats=repeats),
        _standing(found),
    ]
    for paper in toml("findings"):
        parts += _paper([c for c in found if c.paper == paper], paper, notes)
        titles = [title for title in figures if title.startswith(f"{paper},")]
        parts += [f"### {paper}: reproduced figures"] * bool(titles) + [bullets(titles)]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _numbered(found: Sequence[Agreement]) -> dict[str, int]:
    """Number the explanations of the measured cells, in the order of the cells."""
    texts = [cell.explanation for cell in found if cell.verdict != NOT_RERUN]
    return {text: k for k, text in enumerate(dict.fromkeys(filter(None, texts)), start=1)}


def _paper(found: Sequence[Agreement], paper: str, notes: dict[str, int]) -> Iterator[str]:
    """Return the sections of a paper, its findings first."""
    about = toml("findings")[paper]
    citation, words = (" ".join(about[key].split()) for key in ("citation", "findings"))
    yield from (f"## {paper}", words, _claims(found, about["claims"]), f"{escape(citation)}.")
    yield _standing(found)
    yield _methods(found)
    for study, place, quantity in dict.fromkeys((c.study, c.place, c.quantity) for c in found):
        part = [c for c in found if (c.study, c.place, c.quantity) == (study, place, quantity)]
        yield from _grid(part, f"### {paper}, {escape(place)}: {quantity}", notes)
    used = sorted(_numbered(found), key=lambda text: notes[text])
    yield from [f"### {paper}: reasons"] * bool(used)
    yield bullets([f"({notes[text]}) {escape(text)}" for text in used])
    missing = [
        f"{each['place']}: {' '.join(each['reason'].split())}."
        for each in toml("missing")["missing"]
        if each["paper"] == paper
    ]
    yield f"### {paper}: not rerun"
    yield bullets([escape(text) for text in [*_gaps(found), *missing]])


def _claims(found: Sequence[Agreement], claims: Sequence[Sequence[str]]) -> str:
    """Return the mean gain of methods over others, printed and measured, with standard errors."""
    rows = []
    for study, quantity, *methods in claims:
        cells = [c for c in comparable(found) if (c.study, c.quantity) == (study, quantity)]
        one, other = ({c.set: c for c in cells if c.method == each} for each in methods)
        pairs = [(one[name], other[name]) for name in one if name in other]
        sign = 1.0 if QUANTITIES[quantity].best else -1.0
        gains = [
            [sign * (getattr(a, part).mean - getattr(b, part).mean) for a, b in pairs]
            for part in ("printed", "measured")
        ]
        shown = [_gain(each, QUANTITIES[quantity].form) for each in gains]
        rows.append([pairs[0][0].place, quantity, *map(escape, methods), str(len(pairs)), *shown])
    return markdown(["mean gain", "in", "of", "over", "sets", "paper", "measured"], rows)


def _gain(gains: Sequence[float], form: str) -> str:
    """Return the mean over sets and its standard error, and the number of positive gains."""
    error = np.std(gains, ddof=1) / len(gains) ** 0.5
    return f"{np.mean(gains):+{form}} ± {error:{form}} (on {sum(g > 0.0 for g in gains)})"


def _methods(found: Sequence[Agreement]) -> str:
    """Return averages and verdicts for each measured method of each table."""
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
        verdicts = Counter(cell.verdict for cell in group)
        wrong = share(mismatched(group, counted(found)))
        splits = sorted({cell.measured.repeats for cell in group if cell.measured})
        size = [str(len(group)), "–".join(map(str, dict.fromkeys([splits[0], splits[-1]])))]
        counts = ["–".join(str(verdicts[each]) for each in (*DECIDED, INCONCLUSIVE)), wrong]
        lines.append([escape(each) for each in [*key, *size, *means, *counts]])
    head = [
        "mean over sets", "quantity", "method", "sets", "splits", "paper", "measured",
        "tuned baseline", "agrees–better–worse–inconclusive", "mismatched pairs agree",
    ]  # fmt: skip
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
    parts = [cell.printed.text, cell.measured.text if cell.measured else NONE]
    parts += [cell.baseline.text.partition("±")[0]] if cell.baseline else []
    note = None if cell.verdict == NOT_RERUN else notes.get(cell.explanation)
    word = "" if cell.verdict == UNJUDGED else f" **{cell.verdict}**"
    return escape(" / ".join(parts)) + word + (f" ({note})" if note else "")


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
