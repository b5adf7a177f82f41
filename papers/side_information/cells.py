"""The cells of the pages: *paper / measured*, accuracy and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from papers.side_information.peer import DIMENSIONS, variant
from papers.side_information.printed import EXTENSION, Cells, cell
from papers.side_information.results import Results
from papers.side_information.sets import SETS
from pliant.comparison import LATER, Column, Score, average_ranks, markdown_table
from pliant.comparison.rendering import Cell
from pliant.core.typing import Array

__all__ = [
    "ABSENT",
    "accuracies",
    "chosen",
    "embeddings",
    "extension",
    "gains",
    "times",
    "variants",
]

MEASURED_AS = {
    "Gaussian": "gaussian",
    "OSK": "osk",
    "LDK": "ldk",
    "SCG-OSK": "scg-osk",
    "SCG-LDK": "scg-ldk",
}
"""The contestant that stands beside a method of the paper."""

REFERENCE = "features"
"""The contestant that is no embedding, and has no rank."""

ABSENT = "not at hand"

NOT_MEASURED = "–"


def text(values: Array, digits: int = 1) -> str:
    """Return mean and standard deviation, such as ``75.3±7.0``."""
    score = Score.of(values)
    spread = "" if score.std is None else f"±{score.std:.{digits}f}"
    return f"{score.mean:.{digits}f}{spread}"


def missing(name: str) -> str:
    """Return what stands in place of a set that was not measured."""
    return NOT_MEASURED if name in SETS else ABSENT


def _beside(cells: Cells, results: Results, show: Callable[[str, str], str], part: int) -> str:
    """Return a table of the paper's sets and methods."""
    methods = list(next(iter(cells.values())))
    rows = []
    for name, printed in cells.items():
        row: dict[str, Cell] = {"set": name}
        for method in methods:
            said = cell(printed[method])[part] or NOT_MEASURED
            row[method] = f"{said} / {_measured(name, MEASURED_AS.get(method), results, show)}"
        rows.append(row)
    return markdown_table(rows)


def _measured(name: str, who: str | None, results: Results, show: Callable[[str, str], str]) -> str:
    if who is None or who not in results.titles:
        return LATER
    if name not in results.sets:
        return missing(name)
    return show(name, who) if results.has(name, who) else NOT_MEASURED


def accuracies(cells: Cells, results: Results) -> str:
    """Return the accuracies in per cent."""
    return _beside(cells, results, lambda name, who: text(results.accuracy(name, who)), 0)


def variants(results: Results, contestants: Sequence[str]) -> str:
    """Return accuracies and seconds of what is not in the paper."""
    rows = []
    for name in results.sets:
        row: dict[str, Cell] = {"set": name}
        for who in contestants:
            if results.has(name, who):
                row[results.titles[who]] = Score.of(results.accuracy(name, who))
                row[f"{results.titles[who]}: s"] = f"{results.seconds(name, who):.2g}"
        rows.append(row)
    titles = [results.titles[who] for who in contestants]
    columns = [Column("set")]
    for title in titles:
        columns += [Column(title, digits=1), Column(f"{title}: s", "seconds")]
    return markdown_table(rows, columns)


def times(cells: Cells, results: Results) -> str:
    """Return the seconds of learning a kernel."""

    def show(name: str, who: str) -> str:
        return NOT_MEASURED if who == "gaussian" else f"{results.seconds(name, who):.2g}"

    return _beside(cells, results, show, 1)


def extension(results: Results) -> str:
    """Return Table 4."""
    who = next(iter(results.titles))
    columns = {"unlabelled": "Unlabelled", "test": "Test"}
    rows: list[dict[str, Cell]] = []
    for name, printed in EXTENSION.items():
        row: dict[str, Cell] = {"set": name}
        for part, title in columns.items():
            there = name in results.sets
            found = text(results.accuracy(name, who, part)) if there else missing(name)
            row[title] = f"{printed[part]} / {found}"
        rows.append(row)
    averages = {part: results_mean(results, who, part) for part in columns}
    paper = {
        part: np.mean([float(row[part].split("±")[0]) for row in EXTENSION.values()])
        for part in columns
    }
    last = {columns[part]: f"{paper[part]:.1f} / {averages[part]:.1f}" for part in columns}
    return markdown_table([*rows, {"set": "Average (paper: ten sets)", **last}])


def results_mean(results: Results, who: str, part: str) -> float:
    """Return the mean over the sets."""
    return float(np.mean([results.accuracy(name, who, part).mean() for name in results.sets]))


def chosen(results: Results, who: str, key: str) -> str:
    """Return how often each value was chosen, over all sets and repeats."""
    values = [value for name in results.sets for value in results.chosen(name, who, key)]
    kinds, counts = np.unique(values, return_counts=True)
    return ", ".join(
        f"{kind:g} in {100 * count / len(values):.0f} %"
        for kind, count in zip(kinds, counts, strict=True)
    )


def embeddings(results: Results) -> str:
    """Return the accuracies in few dimensions, and the mean rank of each way to embed."""
    columns = [(name, d) for name in results.sets for d in DIMENSIONS]
    ranks = _ranks(results, [who for who in results.titles if who != REFERENCE])
    rows = []
    for who in results.titles:
        row: dict[str, Cell] = {"embedding": results.titles[who]}
        for name, d in columns:
            row[f"{name}, {variant(d)}"] = Score.of(results.accuracy(name, who, variant=variant(d)))
        rows.append(row | {"mean rank": ranks.get(who)})
    heads = [Column(f"{name}, {variant(d)}", digits=1) for name, d in columns]
    return markdown_table(rows, [Column("embedding"), *heads, Column("mean rank", digits=2)])


def _ranks(results: Results, contestants: Sequence[str]) -> dict[str, float]:
    """Return the mean rank over the sets and numbers of dimensions."""
    if len(contestants) < 2:
        return {}
    table = np.concatenate([results.means(contestants, variant(d)) for d in DIMENSIONS])
    return dict(zip(contestants, average_ranks(table).tolist(), strict=True))


def gains(results: Results, first: str, others: Sequence[str]) -> str:
    """Return the mean gain of one embedding over others, split by split."""
    rows = []
    for other in others:
        row: dict[str, Cell] = {"against": results.titles[other]}
        for name in results.sets:
            for d in DIMENSIONS:
                a, b = results.shared(name, [first, other], variant(d))
                row[f"{name}, {variant(d)}"] = _gain(a - b)
        rows.append(row)
    return markdown_table(rows)


def _gain(differences: Array) -> str:
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    won = int(np.sum(differences > 1e-9))
    return f"{differences.mean():+.1f}±{error:.1f} ({won} of {len(differences)})"
