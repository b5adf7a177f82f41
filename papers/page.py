"""A study as a Markdown page: the common parts of all studies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy.typing as npt

from papers.data import Estimate, paper_sets, printed
from papers.results import Gain, Results, standing
from papers.study import Shown, Study

NONE = "–"
"""Cell without a number of the paper or a measurement."""

LATER, ABSENT = "later", "not available"
"""Cells of a method that was not measured, and of a missing set."""

Row: TypeAlias = dict[str, str]
Gains: TypeAlias = Mapping[str, Mapping[str, Gain]]
"""Gain of the first contestant, by contestant and set."""

VERDICTS = {1: "win", 0: "tie", -1: "loss"}

_MARKUP = re.compile(r"[\\`*\[\]|<>]")
_NUMBER = re.compile(r"[-+.\d–]")


def escape(text: str) -> str:
    """Escape Markdown; underscores occur only inside words here."""
    return _MARKUP.sub(r"\\\g<0>", text)


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown texts; numbers are aligned to the right."""
    rule = [
        "--:" if all(map(_NUMBER.match, cells)) else "---" for cells in zip(*lines, strict=True)
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, rule or ["---"], *lines])


def table(rows: Sequence[Mapping[str, str]], titles: Mapping[str, str] = {}) -> str:
    """Return rows as a table; its columns are all keys, in the order of first appearance."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = [[escape(row.get(key, NONE)) for key in keys] for row in rows]
    return markdown([escape(titles.get(key, key)) for key in keys], lines) if rows else ""


def bullets(lines: Sequence[str]) -> str:
    """Return a bullet list."""
    return "\n".join(f"* {line}" for line in lines)


def page(study: Study, document: Mapping[str, Any]) -> str:
    """Return the page of a study."""
    results = Results(study, document)
    module, _, name = study.page.partition(".")
    sections = getattr(import_module(f"papers.studies.{module}"), name)(study, results)
    parts = [f"# {study.title}", *sections, _provenance(study, document)]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _provenance(study: Study, document: Mapping[str, Any]) -> str:
    """Describe the computer and duration of all measurements, including earlier runs."""
    minutes = sum(r["seconds"] for r in document["results"]) / 60
    earlier = "".join(
        f" Measured earlier, at least in part: "
        f"{', '.join(study.titles[who] for who in part['contestants'])} ({_where(part)})."
        for part in document.get("earlier", ())
    )
    whole = f"{minutes:.0f} minutes of one core in total, one thread per measurement."
    return f"{whole} {_where(document)}.{earlier}"


def _where(part: Mapping[str, Any]) -> str:
    machine = part["machine"]
    packages = ", ".join(f"{name} {v}" for name, v in machine["packages"].items() if v)
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, {machine['python']}, "
        f"{packages}; {part['date']}"
    )


def left_out(study: Study, results: Results) -> str:
    """List the sets of the study that were not measured."""
    missing = [name for name in study.sets if name not in results.sets]
    return f"Not measured in this run: {', '.join(missing)}." if missing else ""


def contestants_note(study: Study, results: Results | None = None) -> str:
    """List the tuning and fit of each contestant; with results, of the measured ones."""
    return bullets([
        f"{each.title}: {each.words()}."
        for each in study.contestants
        if results is None or each.name in results.titles
    ])  # fmt: skip


def set_notes(
    study: Study, results: Results, more: Callable[[str], Sequence[str]] = lambda name: ()
) -> str:
    """List notes on each set: its note, `more`, fewer splits, and solves that ended early."""
    lines = []
    for name in results.sets:
        counts = {results.titles[g["contestant"]]: g["unconverged"] for g in results.groups(name)}
        early = ", ".join(f"{count} ({title})" for title, count in counts.items() if count)
        few = ", ".join(f"{title} on the first {k}" for title, k in _fewer(results, name))
        remarks = [study.chosen(name).note, *more(name)]
        remarks += [f"measured on fewer splits: {few}"] if few else []
        remarks += [f"solves that ended before their tolerance: {early}"] if early else []
        if any(remarks):
            lines.append(f"{name}: {'; '.join(filter(None, remarks))}.")
    return bullets(lines)


def _fewer(results: Results, name: str) -> list[tuple[str, int]]:
    """Return the contestants measured only on the first splits, and the number of these."""
    counts = [
        (results.titles[group["contestant"]], len(next(iter(found.values()))))
        for group in results.groups(name)
        for found in list(group["variants"].values())[:1]
    ]
    return [(title, count) for title, count in counts if count < results.repeats]


def mark(side: int) -> str:
    """Return the sign of a significant difference."""
    return {1: "•", -1: "∘", 0: ""}[side]


def p_text(value: float | None) -> str:
    """Return a p-value as text; n/a without a test."""
    return "n/a" if value is None else f"{value:.3f}"


def spread(values: npt.ArrayLike, digits: int) -> str:
    """Return mean ± standard deviation, such as ``75.3±7.0``; only the mean for one value."""
    return Estimate.of(values, f".{digits}f").text


def score_table(
    results: Results,
    ways: Mapping[str, str],
    digits: int,
    side: Callable[[str, str], int] = lambda name, who: 0,
    part: str = "test",
) -> str:
    """Return mean scores; `side` marks a contestant on a set, `ways` maps headings to these."""
    rows = []
    for name in results.sets:
        row = {"set": name}
        for heading, who in ways.items():
            row[heading] = NONE
            if results.has(name, who):
                row[heading] = spread(results.values(name, who, part), digits) + mark(
                    side(name, who)
                )
        rows.append(row)
    return table(rows)


def comparison_table(
    study: Study,
    results: Results,
    quantity: str,
    show: Callable[[str, Shown], str],
    others: Mapping[str, str] = {},
    more: Sequence[str] = (),
) -> str:
    """Return paper / measured for the paper's sets and methods, `others` and `more` sets."""
    columns: dict[tuple[str, str], Shown] = {}
    cells = {row: each[quantity] for row, each in printed(study.name).items() if quantity in each}
    for method in dict.fromkeys(method for each in cells.values() for method in each):
        for shown in study.comparison.columns.get(method, (Shown(""),)):
            columns[method, shown.label or method] = shown
    columns |= {("", title): Shown(who) for title, who in others.items()}
    rows = []
    for row in [*cells, *more]:
        for name in study.measured_for(row) or [row]:
            line = {"set": name if name == row else f"{name} ({row})"}
            for (method, heading), shown in columns.items():
                measured = _state(study, results, name, shown) or show(name, shown)
                line[heading] = f"{cells.get(row, {}).get(method, NONE)} / {measured}"
            rows.append(line)
    return table(rows)


def _state(study: Study, results: Results, name: str, shown: Shown) -> str:
    """Return the reason of a missing measurement, or an empty text."""
    if not shown.who or shown.who.partition(":")[0] not in results.titles:
        return LATER
    if name not in results.sets:
        return NONE if name in paper_sets(study.group) else ABSENT
    return "" if results.has(name, shown.who) else NONE


def gains_of_first(results: Results, part: str = "test") -> dict[str, dict[str, Gain]]:
    """Return the gains of the study's first contestant over each peer."""
    first, *peers = results.study.titles
    return {peer: results.compared(first, peer, part) for peer in peers}


def differences(results: Results, gains: Gains, digits: Callable[[str], int]) -> Iterator[str]:
    """Return the paired differences, one table for each measured peer."""
    titles = results.study.titles
    for peer, by_set in gains.items():
        rows = [{"set": name} | _gain(gain, digits(name)) for name, gain in by_set.items()]
        if rows:
            yield from (f"{next(iter(titles.values()))} against {titles[peer]}:", table(rows))


def _gain(gain: Gain, digits: int) -> Row:
    return {
        "gain": f"{round(gain.mean, digits) + 0.0:+.{digits}f}",
        "standard error": f"{gain.error:.{digits}f}",
        "corrected error": f"{gain.corrected_error:.{digits}f}",
        "p": p_text(gain.p_value),
        "corrected p": p_text(gain.corrected_p),
        "better–equal–worse": "–".join(map(str, gain.splits)),
        "verdict": VERDICTS[gain.verdict],
    }


def wins(results: Results, gains: Gains) -> str:
    """Return the numbers of sets with wins, ties and losses against each peer."""
    titles = results.study.titles
    rows = [
        {
            f"{next(iter(titles.values()))} against": titles[peer],
            "sets": str(len(by_set)),
            "beyond one standard error": standing([g.verdict for g in by_set.values()]),
            "beyond one corrected error": standing(
                [g.side(g.corrected_error) for g in by_set.values()]
            ),
            "by the mean": standing([g.side(0.0) for g in by_set.values()]),
        }
        for peer, by_set in gains.items()
    ]
    return table(rows)


def times_table(study: Study, results: Results, show: Callable[[str, str], str]) -> str:
    """Return the training rows and features of each set, and the seconds of each contestant."""
    rows = []
    for name in results.sets:
        group = results.groups(name)[0]
        row = {"set": name, "train × d": f"{group['n_train']} × {group['d']}"}
        for who, title in study.titles.items():
            row[title] = show(name, who) if results.has(name, who) else NONE
        rows.append(row)
    return table(rows)
