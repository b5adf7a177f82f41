"""A study as a Markdown page: the parts that all studies share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from benchmarks.markdown import markdown_table as table
from papers.results import Gain, Results, Way, standings
from papers.study import Study
from pliant.comparison import Column, Score
from pliant.comparison.report.rendering import Cell

NONE = "–"
"""Where the paper has no number, or nothing was measured."""

LATER = "later"
"""The cell of a method that is not built yet."""

ABSENT = "not at hand"
"""The cell of a set that is missing."""

Row = dict[str, Cell]

VERDICTS = {1: "win", 0: "tie", -1: "loss"}

DIFFERENCES = (
    *map(Column, ("set", "gain")),
    Column("error", "standard error"),
    Column("corrected", "corrected error"),
    *map(Column, ("p", "corrected p")),
    Column("splits", "better–equal–worse"),
    Column("verdict"),
)


def page(study: Study, document: Mapping[str, Any]) -> str:
    """Return the page of a study."""
    results = Results(document, study.percent)
    parts = [f"# {study.title}", *study.sections(study, results), provenance(document)]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def provenance(document: Mapping[str, Any]) -> str:
    """Say where and how long the measurements ran, those taken over from an earlier run too."""
    minutes = sum(sum(r["seconds"]) for r in document["results"]) / 60
    titles = {each["name"]: each["title"] for each in document["protocol"]["contestants"]}
    earlier = "".join(
        f" Measured before that, wholly or in part: "
        f"{', '.join(titles[who] for who in part['contestants'])} ({_where(part)})."
        for part in document.get("earlier", ())
    )
    whole = f"{minutes:.0f} minutes of one core in all, one thread a measurement."
    return f"{whole} {_where(document)}.{earlier}"


def _where(part: Mapping[str, Any]) -> str:
    machine = part["machine"]
    packages = ", ".join(f"{name} {v}" for name, v in machine["packages"].items() if v)
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, {machine['python']}, "
        f"{packages}; {part['date']}"
    )


def left_out(study: Study, results: Results) -> str:
    """Name the sets of the study that were not measured."""
    missing = [name for name in study.sets if name not in results.sets]
    return f"Not measured in this run: {', '.join(missing)}." if missing else ""


def contestants_note(study: Study, results: Results | None = None) -> str:
    """List how each contestant is tuned and fitted; with results, those that were measured."""
    return "\n".join(
        f"* {each.title}: {each.words()}."
        for each in study.contestants
        if results is None or each.name in results.titles
    )


def set_notes(
    study: Study,
    results: Results,
    more: Callable[[str], Sequence[str]] = lambda name: (),
    *,
    by_contestant: bool = False,
) -> str:
    """List what is particular to a set: its note, `more`, and how many solves ended early."""
    lines = []
    for name in results.sets:
        note = study.chosen(name).note
        remarks = [*([note] if note else []), *more(name), *_early(results, name, by_contestant)]
        lines += [f"* {name}: {'; '.join(remarks)}."] if remarks else []
    return "\n".join(lines)


def _early(results: Results, name: str, by_contestant: bool) -> list[str]:
    counts = {
        results.titles[group["contestant"]]: sum(group["unconverged"])
        for group in results.groups(name)
    }
    if not any(counts.values()):
        return []
    if not by_contestant:
        return [f"{sum(counts.values())} solves ended before their tolerance was reached"]
    each = ", ".join(f"{count} ({title})" for title, count in counts.items() if count)
    return [f"solves that ended before their tolerance: {each}"]


def fewer(results: Results, name: str) -> list[tuple[str, int]]:
    """Return the contestants that were measured on some of the splits only, and on how many."""
    counts = [(results.titles[g["contestant"]], len(g["repeat"])) for g in results.groups(name)]
    return [(title, count) for title, count in counts if count < results.repeats]


def mark(side: int) -> str:
    """Return the sign of a significant difference."""
    return {1: "•", -1: "∘", 0: ""}[side]


def p_text(value: float | None) -> str:
    """Return a p-value as text; n/a where there is no test."""
    return "n/a" if value is None else f"{value:.3f}"


def spread(values: npt.ArrayLike, digits: int) -> str:
    """Return mean ± standard deviation, such as ``75.3±7.0``; the mean alone of one value."""
    score = Score.of(values)
    deviation = "" if score.std is None else f"±{score.std:.{digits}f}"
    return f"{score.mean:.{digits}f}{deviation}"


def compared_table(
    results: Results,
    ways: Mapping[str, str | Way],
    digits: int,
    sides: Callable[[str, str], int],
) -> str:
    """Return scores as a table, aligned; `sides` marks the column `key` of a set."""
    rows: list[Row] = [
        {"set": name}
        | {key: results.score(name, who, mark=mark(sides(name, key))) for key, who in ways.items()}
        for name in results.sets
    ]
    return table(rows, [Column("set"), *(Column(key, digits=digits) for key in ways)])


def differences(
    results: Results,
    gains: Mapping[str, Mapping[str, Gain]],
    digits: Callable[[str], int],
) -> list[str]:
    """Return the paired differences, one table for each peer that was measured."""
    first = next(iter(results.all_titles.values()))
    parts = []
    for peer, by_set in gains.items():
        rows: list[Row] = [
            {"set": name} | _gain(gain, digits(name)) for name, gain in by_set.items()
        ]
        heading = f"{first} against {results.all_titles[peer]}:"
        parts += [heading, table(rows, DIFFERENCES)] if rows else []
    return parts


def _gain(gain: Gain, digits: int) -> Row:
    return {
        "gain": f"{round(gain.mean, digits) + 0.0:+.{digits}f}",
        "error": f"{gain.error:.{digits}f}",
        "corrected": f"{gain.corrected_error:.{digits}f}",
        "p": p_text(gain.p_value),
        "corrected p": p_text(gain.corrected_p),
        "splits": "–".join(map(str, gain.splits)),
        "verdict": VERDICTS[gain.verdict],
    }


def wins(
    results: Results, gains: Mapping[str, Mapping[str, Gain]], columns: Sequence[Column]
) -> str:
    """Return on how many sets the first contestant wins, ties and loses against each peer."""
    first = next(iter(results.all_titles.values()))
    rows: list[Row] = []
    for peer, by_set in gains.items():
        counts = {key: str(count) for key, count in standings(list(by_set.values())).items()}
        rows.append({"peer": results.all_titles[peer], "sets": len(by_set), **counts})
    return table(rows, [Column("peer", f"{first} against"), *columns])


def several(values: Sequence[float]) -> str:
    """Return the values of all splits in order, such as ``1, 1, 10, 1, 100``."""
    return ", ".join(f"{value:g}" for value in values)


def shape(results: Results, name: str) -> str:
    """Return the rows and features of a set's training rows."""
    group = results.groups(name)[0]
    return f"{group['n_train']} × {group['d']}"
