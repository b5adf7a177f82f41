"""The results of ``pliant compare`` as plain data, and as text for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pliant.cli.compare.fitting import fit_command, order_of
from pliant.cli.compare.plan import Plan
from pliant.cli.outputs import STDOUT
from pliant.cli.report import facts, paragraph, program, word
from pliant.comparison import Column, text_table
from pliant.comparison.protocol import SAMPLED, SEARCHED
from pliant.comparison.result import ComparisonResult
from pliant.comparison.stats.across import Across, across
from pliant.comparison.stats.standings import Standing
from pliant.comparison.text import decimals, fixed, known, p_value, seconds, signed
from pliant.core.text import count, printable, quoted

RANK_COLUMNS = (
    Column("method"),
    Column("rank", "average rank", digits=2),
    Column("record", "won, tied, lost"),
    Column("p"),
)

BELOW = "-- below the line: not ranked "
"""What stands between methods with a rank and those without."""

ABSENT = {"skipped": "skipped", "error": "failed"}

LONG = 1e7
"""Differences from here on are written as powers of ten, as scores are."""


def all_as_text(results: Sequence[ComparisonResult]) -> str:
    """Return the results on each table, and then over all of them."""
    over_all = [_text_over_tables(results)] if len(results) > 1 else []
    return "\n\n\n".join([*map(_text, results), *over_all])


def all_as_data(results: Sequence[ComparisonResult]) -> dict[str, Any]:
    """Return the same as plain data: that of one table, or of each under "tables"."""
    data = [result.to_dict() for result in results]
    if len(data) == 1:
        return data[0]
    return {"tables": data, "across": _data_over_tables(results)}


def _text(result: ComparisonResult) -> str:
    """Return the result on one table: the leaderboard, in words, and what is missing."""
    blocks = [_headline(result), _leaderboard(result), paragraph(result.sentence()), _gaps(result)]
    return "\n\n".join(block for block in blocks if block)


def ending(plan: Plan, results: Sequence[ComparisonResult]) -> str:
    """Return where things are, and what to do next."""
    kept = "finished cells; --resume goes on from there"
    written = [(plan.report, "the report: open it in a browser"), (plan.json, "all of it as JSON")]
    files = [*written, *((cache, kept) for cache in plan.caches[: len(results)])]
    named = [(printable(path, 200), what) for path, what in files if path not in (None, STDOUT)]
    steps = [*_going_on(plan, results), *_fits(plan, results)]
    return facts(named) + "\n\nNext:\n" + "\n".join(f"  {step}" for step in steps)


def _headline(result: ComparisonResult) -> str:
    """Return what was compared on what, and how."""
    sample, protocol = result.sample, result.protocol
    classes = "" if sample["classes"] is None else f", {len(sample['classes'])} classes"
    size = f"{count(sample['rows'], 'row')}, {count(sample['features'], 'feature')}{classes}"
    name, target = printable(sample["name"], 40), quoted(sample["target"], 30)
    drawn = "" if protocol.repeats == 1 else f", drawn {protocol.repeats} times"
    kept = "" if sample["groups"] is None else f" of {count(sample['groups'], 'group')}"
    kept = " of later rows" if sample["ordered"] else kept
    how = f"Tested on {protocol.folds} folds{kept}{drawn}."
    return "\n".join([f"{name}: {result.task} of {target}, {size}", how, *_basis(result)])


def _basis(result: ComparisonResult) -> list[str]:
    """Return on how many folds methods are ranked, and from how many rows they learned."""
    ranked = [each for each in result.standings() if each.rank is not None]
    if not ranked:
        return []
    lines = []
    if ranked[0].folds < ranked[0].planned:
        folds = count(ranked[0].folds, "fold")
        lines.append(f"Ranked on the {folds} of {ranked[0].planned} that all ranked methods have.")
    if ranked[0].stage == SAMPLED:
        rows = _train_rows(result)
        lines.append(f"Learned from a sample of {rows} training rows, with default settings.")
    return lines


def _train_rows(result: ComparisonResult) -> int:
    return next(r["rows"]["train"] for r in result.records if r.get("stage") == SAMPLED)


def _leaderboard(result: ComparisonResult) -> str:
    """Return a line for each method, the best first."""
    places, metric = result.standings(), result.metric
    digits = decimals((each.mean for each in places), (each.error for each in places))
    rows = [_row(standing, digits) for standing in places]
    better = "" if metric.higher_is_better else ", lower is better"
    columns = (
        Column("method"),
        Column("score", f"{metric.title} ± error{better}"),
        Column("difference", "better by"),
        Column("p"),
        Column("fit", "one fit"),
        Column("folds"),
    )
    lines = text_table(rows, columns).splitlines()
    n_ranked = sum(each.rank is not None for each in places)
    if 0 < n_ranked < len(places):
        lines.insert(2 + n_ranked, BELOW + "-" * (max(map(len, lines)) - len(BELOW)))
    against = next((each.method.title for each in places if each.is_reference), None)
    notes = [_settings_note(places)]
    if against is not None:
        notes.append(f"better by: than {against} on the same rows; p: corrected t test, Holm")
    return "\n".join([*(line.rstrip() for line in lines), *filter(None, notes)])


def _settings_note(places: Sequence[Standing]) -> str:
    """Return which of the methods were ranked with searched settings."""
    ranked = [each for each in places if each.rank is not None and each.stage != SAMPLED]
    names = [each.method.title for each in ranked if each.stage == SEARCHED]
    if not ranked or len(names) == len(ranked):
        return ""
    if not names:
        return "settings: default"
    shown = textwrap.shorten(", ".join(names), 45, placeholder=" ...")
    return f"settings: searched for {shown}; default for others"


def _row(standing: Standing, digits: int) -> dict[str, str]:
    """Return the cells of a method."""
    error = "" if standing.error is None else f" ± {fixed(standing.error, digits)}"
    cells = {
        "score": fixed(standing.mean, digits) + error,
        "difference": "" if standing.is_reference else _signed(standing.difference, digits),
        "p": "" if standing.is_reference else p_value(standing.p_value),
        "fit": seconds(standing.seconds["fit"]),
        "folds": ABSENT.get(standing.method.status, f"{standing.folds} of {standing.planned}"),
    }
    plain = {name: text.replace("−", "-") for name, text in cells.items()}  # for ASCII terminals
    return {"method": standing.method.title, **plain}


def _signed(difference: float | None, digits: int) -> str:
    """Return a difference with its sign, as a power of ten where it would be long."""
    if known(difference) and abs(difference) >= LONG:
        return f"{difference:+.1e}"
    return signed(difference, digits)


def _text_over_tables(results: Sequence[ComparisonResult]) -> str:
    """Return the ranks over all tables and what they show; or why there are none."""
    title = f"Over {len(results)} tables"
    try:
        ranking = across(results)
    except ValueError as reason:
        return paragraph(f"{title}: no ranks, {printable(reason, 400)}")
    rows = [_rank_row(ranking, place) for place in range(len(ranking.methods))]
    note = (
        f"ranks differ significantly if more than {ranking.critical_difference:.2f} apart (Nemenyi)"
    )
    table = text_table(rows, RANK_COLUMNS).rstrip()
    return "\n\n".join([title, f"{table}\n{note}", paragraph(ranking.sentence())])


def _data_over_tables(results: Sequence[ComparisonResult]) -> dict[str, Any]:
    """Return the ranks and tests over all tables as plain data; or the reason for none."""
    try:
        ranking = across(results)
    except ValueError as reason:
        return {"reason": str(reason)}
    names = [entry.name for entry in ranking.methods]
    return {
        "tables": ranking.tables,
        "ranks": dict(zip(names, ranking.ranks.tolist(), strict=True)),
        "friedman": {"statistic": ranking.friedman.statistic, "p_value": ranking.friedman.p_value},
        "critical_difference": ranking.critical_difference,
        "level": ranking.level,
        "reference": ranking.reference,
        "test": ranking.test,
        "versus": {name: asdict(test) for name, test in ranking.versus.items()},
        "left_out": ranking.left_out,
        "sentence": ranking.sentence(),
    }


def _rank_row(ranking: Across, place: int) -> dict[str, Any]:
    """Return the cells of a method."""
    entry, rank = ranking.methods[place], float(ranking.ranks[place])
    test = ranking.versus.get(entry.name)
    if test is None:
        role = "the reference" if entry.name == ranking.reference else None
        return {"method": entry.title, "rank": rank, "record": role}
    record = f"{test.wins}, {test.ties}, {test.losses}"
    return {"method": entry.title, "rank": rank, "record": record, "p": p_value(test.p_value)}


def _gaps(result: ComparisonResult) -> str:
    """Return why methods are not complete, once for those with the same reason."""
    titles: dict[str, list[str]] = {}
    for each in result.methods:
        if each.reason:
            titles.setdefault(printable(each.reason, 300), []).append(each.title)
    lines = [paragraph(f"{', '.join(names)}: {why}") for why, names in titles.items()]
    ended = f"Interrupted after {seconds(result.seconds)}: this is what was finished."
    return "\n".join([*lines, *([ended] if result.interrupted else [])])


def _going_on(plan: Plan, results: Sequence[ComparisonResult]) -> list[str]:
    """Return how to go on where something was cut."""
    cut = any(entry.status == "cut" for result in results for entry in result.methods)
    if not cut and not results[-1].interrupted:
        return []
    longer = "" if results[-1].interrupted else ", with a larger --budget,"
    return [f"the same command{longer} and --resume: runs what is missing"]


def _fits(plan: Plan, results: Sequence[ComparisonResult]) -> list[str]:
    """Return the commands that learn a model by the method to use, and that list all methods."""
    commands = [
        fit_command(path, order_of(plan, advice.standing))
        for path, result in zip(plan.tables, results, strict=False)
        if plan.out is None and (advice := result.recommendation()) is not None
    ]
    used = [f"{program()} predict {word(plan.out)} {word(plan.tables[0])}"] if plan.out else []
    return [*commands, *used, f"{program()} methods"]
