"""The tables of the pages: scores, paired differences, times, support points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from papers.accuracy.cells import gain_cells, spread
from papers.accuracy.standing import Gain, standings
from papers.local.printed import ELSEWHERE, PRINTED_AS, R2, SUPPORT
from papers.local.results import Results
from papers.local.sets import SETS
from papers.rendering import mark
from pliant.comparison import LATER, Column, markdown_table
from pliant.comparison.rendering import Cell

__all__ = ["differences", "printed_table", "score_table", "seeds", "support", "times", "wins"]

NONE = "–"
"""Where the paper has no number, or a contestant is not measured."""

ABSENT = "not installed"

Row = dict[str, Cell]


def score_table(
    results: Results, entered: Mapping[str, Sequence[str]], part: str = "test", digits: int = 4
) -> str:
    """Mean ± standard deviation of every contestant on every set, marked against the first."""
    first = next(iter(results.titles))
    rows: list[Row] = []
    for name in results.sets:
        row: Row = {"set": name}
        for who, title in results.titles.items():
            row[title] = _score(results, name, who, first, part, digits, entered)
        rows.append(row)
    return markdown_table(rows)


def _score(
    results: Results,
    name: str,
    who: str,
    first: str,
    part: str,
    digits: int,
    entered: Mapping[str, Sequence[str]],
) -> str:
    if not results.has(name, who):
        return ABSENT if name in entered[who] else NONE
    side = 0 if who == first else -results.gain(name, first, who, part).verdict
    return spread(results.values(name, who, part), digits) + mark(side)


def printed_table(results: Results) -> str:
    """Paper / measured: our machine, what stands beside a method of the paper, and the others."""
    rows: list[Row] = []
    for name in results.sets:
        printed = SETS[name].printed or ""
        row: Row = {"set": name, "paper's name": printed}
        for who, method in PRINTED_AS.items():
            measured = spread(results.values(name, who), 4)
            row[f"{method} / {results.titles[who]}"] = (
                f"{R2[method].get(printed, NONE)} / {measured}"
            )
        for method in ELSEWHERE:
            cell = R2[method].get(printed)
            row[method] = NONE if cell is None else f"{cell} / {LATER}"
        rows.append(row)
    return markdown_table(rows)


def support(results: Results) -> str:
    """Support points, the paper's and those measured."""
    held = {each["name"]: each for each in results.contestants}
    centres, most_rows = held["nystroem"]["centres"], held["krr"]["most_rows"]
    rows: list[Row] = []
    for name in results.sets:
        printed = SETS[name].printed or ""
        n_train = results.group(name, "krr")["n_train"]
        row: Row = {"set": name}
        row |= {f"{method} (paper)": SUPPORT[method].get(printed, NONE) for method in SUPPORT}
        row |= {
            results.titles[who]: f"{results.mean(name, who, 'support'):.0f}"
            for who in ("paper-lab", "lab", "svr")
        }
        row |= {
            results.titles["nystroem"]: f"{min(centres, n_train)}",
            results.titles["krr"]: f"{min(most_rows, n_train)}",
        }
        rows.append(row)
    return markdown_table(rows)


def wins(results: Results, part: str = "test") -> str:
    """On how many sets the first contestant wins, ties and loses."""
    first, *peers = results.titles
    rows: list[Row] = []
    for peer in peers:
        gains = [
            results.gain(name, first, peer, part)
            for name in results.sets
            if results.has(name, peer)
        ]
        counts = {key: str(count) for key, count in standings(gains).items()}
        rows.append({"peer": results.titles[peer], "sets": len(gains), **counts})
    columns = [
        Column("peer", f"{results.titles[first]} against"),
        Column("sets"),
        Column("mean", "by the mean"),
        Column("rule", "beyond one standard error"),
        Column("corrected", "beyond one corrected error"),
    ]
    return markdown_table(rows, columns)


def differences(results: Results, part: str = "test", digits: int = 4) -> list[str]:
    """The paired differences, one table for each peer."""
    first, *peers = results.titles
    columns = [
        *map(Column, ("set", "gain")),
        Column("error", "standard error"),
        Column("corrected", "corrected error"),
        *map(Column, ("p", "corrected p")),
        Column("splits", "better–equal–worse"),
        Column("verdict"),
    ]
    tables = []
    for peer in peers:
        gains: dict[str, Gain] = {
            name: results.gain(name, first, peer, part)
            for name in results.sets
            if results.has(name, peer)
        }
        rows: list[Row] = [{"set": name} | gain_cells(gain, digits) for name, gain in gains.items()]
        heading = f"{results.titles[first]} against {results.titles[peer]}:\n"
        tables += [heading, markdown_table(rows, columns)] if rows else []
    return tables


def times(results: Results) -> str:
    """Process seconds of the fit, and in brackets of the choice of parameters."""
    rows: list[Row] = []
    for name in results.sets:
        group = next(results.group(name, who) for who in results.titles if results.has(name, who))
        row: Row = {"set": name, "train × d": f"{group['n_train']} × {group['d']}"}
        for who, title in results.titles.items():
            row[title] = _seconds(results, name, who) if results.has(name, who) else NONE
        rows.append(row)
    return markdown_table(rows)


def _seconds(results: Results, name: str, who: str) -> str:
    fit, choice = (results.mean(name, who, f"{part}_seconds") for part in ("fit", "tuning"))
    return f"{fit:.2f}" + (f" ({choice:.1f})" if choice >= 0.05 else "")


def seeds(results: Results, name: str, first_seed: int, contestants: Sequence[str]) -> str:
    """A set's score on every split, one column a contestant; then the least and the mean."""
    rows: list[Row] = [{"seed": str(first_seed + k)} for k in range(results.repeats)]
    rows += [{"seed": "least"}, {"seed": "mean"}]
    for who in contestants:
        found, values = results.group(name, who)["repeat"], results.values(name, who)
        for repeat, value in zip(found, values, strict=True):
            rows[repeat][results.titles[who]] = f"{value:.4f}"
        rows[-2][results.titles[who]] = f"{values.min():.4f}"
        rows[-1][results.titles[who]] = f"{values.mean():.4f}"
    return markdown_table(rows)
