"""Tables 3 and 4 of TKL, beside forests, boosting and a Gaussian kernel."""

from __future__ import annotations

from math import floor, log10

from papers import page as md
from papers.data import printed, text
from papers.results import Gain, Results, Standing, standings
from papers.studies.hadamard import signs
from papers.study import Study
from pliant.comparison import Column

GROUP = "tkl"

NAME = "tkl-tables-3-4"
"""The study that the aim was set for."""

PRINTED_AS = {
    "tkl": "TKL",
    "tkl-rescaled": "TKL",
    "forest": "RF",
    "boosting": "XGBoost",
    "smkl": "SMKL",
    "mlp": "NNet",
    "amkl": "AMKL",
    "pwmk": "PWMK",
    "broken-cka": "CKA",
}
"""The paper's name of the method that a contestant stands beside."""

TABLES = {
    "regression": "Table 3: mean squared error of regression, in the units of the target",
    "classification": "Table 4: accuracy of classification, in per cent",
}

LEAST_WINS, MOST_LOSSES = 8, 2
"""The aim against the random forest."""

WINS = (
    Column("rule", "wins–ties–losses"),
    Column("corrected", "with the corrected error"),
    Column("mean", "by the mean"),
)

Gains = dict[str, dict[str, Gain]]


def sections(study: Study, results: Results) -> list[str]:
    """Return both tables, the wins, the paired differences and the costs."""
    gains = {
        peer: results.compared("tkl", peer, signs=signs(results))
        for peer in results.titles
        if peer != "tkl"
    }
    tasks = [task for task in TABLES if results.sets_of(task)]
    return [
        _protocol(study, results),
        md.contestants_note(study),
        md.left_out(study, results),
        *_standing(study, results, gains),
        *(part for task in tasks for part in _table(study, task, results, gains)),
        "## Paired differences",
        text(GROUP, "paired"),
        *md.differences(results, gains, lambda name: _digits(results, name) + 1),
        *("## Time of training", text(GROUP, "times"), _times(study, results)),
        *("## What TKL chose", text(GROUP, "chosen"), _chosen(results)),
        "## Notes",
        md.set_notes(study, results, lambda name: _exceptional(results, name), by_contestant=True),
    ]


def _protocol(study: Study, results: Results) -> str:
    testing = round(100 * results.held["protocol"]["test_size"])
    n_folds = results.held["protocol"]["folds"]
    return text(
        GROUP, "protocol", repeats=results.repeats, folds=n_folds, testing=testing,
        training=100 - testing,
    )  # fmt: skip


def _standing(study: Study, results: Results, gains: Gains) -> list[str]:
    """Wins, ties and losses against each peer; the aim is judged over all sets."""
    parts = [f"## Wins, ties and losses over {len(results.sets)} sets", text(GROUP, "rule")]
    parts.append(md.wins(results, gains, WINS))
    if study.name == NAME and set(results.sets) == set(study.sets) and "forest" in gains:
        parts.append(aim_note(standings(list(gains["forest"].values()))["rule"]))
    return parts


def aim_note(count: Standing) -> str:
    """Say whether the aim against the random forest is reached, over all sets and by the rule."""
    reached = count.wins >= LEAST_WINS and count.losses <= MOST_LOSSES
    return text(
        GROUP, "aim", least=LEAST_WINS, most=MOST_LOSSES,
        reached="reached" if reached else "missed", **vars(count),
    )  # fmt: skip


def _table(study: Study, task: str, results: Results, gains: Gains) -> list[str]:
    """One of the paper's tables, each cell paper / measured."""
    rows: list[md.Row] = []
    for name in results.sets_of(task):
        cells = next(iter(printed(study.name).get(name, {}).values()), {})
        row: md.Row = {"set": name}
        measured = {who: t for who, t in results.titles.items() if results.has(name, who)}
        for who, title in results.titles.items():
            shown = md.NONE
            if who in measured:
                side = -gains[who][name].verdict if who in gains else 0
                shown = md.spread(results.values(name, who), _digits(results, name)) + md.mark(side)
            row[title] = f"{cells.get(PRINTED_AS.get(who, ''), md.NONE)} / {shown}"
        there = {PRINTED_AS.get(who) for who in results.titles}
        later = {key: text for key, text in cells.items() if key not in there}
        rows.append(row | {key: f"{text} / {md.LATER}" for key, text in later.items()})
    return [f"## {TABLES[task]}", text(GROUP, "beside"), md.table(rows)]


def _digits(results: Results, name: str) -> int:
    """Return the decimals of a set's scores: two for per cent, for errors three digits or more."""
    if results.task(name) == "classification":
        return 2
    error = results.mean(name, "tkl")
    return max(2, 2 - floor(log10(error))) if error > 0 else 2


def _times(study: Study, results: Results) -> str:
    """The seconds of each contestant."""
    rows: list[md.Row] = []
    for name in results.sets:
        row: md.Row = {"set": name, "shape": md.shape(results, name)}
        seconds = printed(study.name).get(name, {}).get("seconds", {})
        for who, title in results.titles.items():
            if not results.has(name, who):
                row[title] = md.NONE
                continue
            values = results.numbers(name, who, "fit_seconds")
            shown = md.spread(values, 2 if values.mean() > 0.1 else 3)
            choice = results.numbers(name, who, "tuning_seconds").mean()
            row[title] = f"{seconds.get(PRINTED_AS.get(who, ''), md.NONE)} / {shown} ({choice:.1f})"
        rows.append(row)
    columns = [Column("set"), Column("shape", "train × d"), *map(Column, results.titles.values())]
    return md.table(rows, columns)


def _chosen(results: Results) -> str:
    """What TKL chose on each split, and how far its last fits went."""
    rows: list[md.Row] = []
    for name in results.sets:
        measured = results.group(name, "tkl")["variants"]["measured"]
        settings = measured["setting"]
        row: md.Row = {"set": name}
        row |= {key: md.several([each[key] for each in settings]) for key in settings[0]}
        row |= {"rank": md.several(measured["rank"])} if "rank" in measured else {}
        row |= {"largest gap": f"{max(measured['gap']):.1e}"} if "gap" in measured else {}
        rows.append(row | {"early ends": f"{sum(measured['early'])} of {len(settings)}"})
    return md.table(rows)


def _exceptional(results: Results, name: str) -> list[str]:
    """Say what a contestant does differently on one set."""
    return [
        f"{results.titles[each['contestant']]} with "
        f"{', '.join(f'{key} = {value}' for key, value in each['fields'])} here"
        for each in results.held.get("exceptions", ())
        if each["set"] == name and each["contestant"] in results.titles
    ]
