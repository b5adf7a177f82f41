"""Tables 3 and 4 of TKL, compared with forests, boosting and a Gaussian kernel."""

from __future__ import annotations

from math import floor, log10

from papers import page as md
from papers.data import printed, text
from papers.results import Results
from papers.study import Shown, Study

GROUP = "tkl"

NAME = "tkl-tables-3-4"
"""The study with a goal."""

TABLES = {
    "regression": (
        "mean squared error",
        "Table 3: mean squared error of regression, in the units of the target",
    ),
    "classification": ("accuracy", "Table 4: accuracy of classification, in per cent"),
}
"""Quantity and heading of each task."""

LEAST_WINS, MOST_LOSSES = 8, 2
"""Goal against the random forest."""


def tables(study: Study, results: Results) -> list[str]:
    """Return both tables, the wins, the paired differences and the costs."""
    gains = {peer: g for peer, g in md.gains_of_first(results).items() if peer in results.titles}
    testing = round(100 * study.protocol.test_size)
    protocol = text(
        GROUP, "protocol", repeats=results.repeats, folds=study.protocol.folds, testing=testing,
        training=100 - testing,
    )  # fmt: skip
    return [
        protocol,
        md.contestants_note(study),
        md.left_out(study, results),
        f"## Wins, ties and losses over {len(results.sets)} sets",
        text(GROUP, "rule"),
        md.wins(results, gains),
        aim_note(study, results, gains),
        *_tables(study, results, gains),
        "## Paired differences",
        text(GROUP, "paired"),
        *md.differences(results, gains, lambda name: _digits(results, name) + 1),
        *("## Time of training", text(GROUP, "times"), _times(study, results)),
        *("## Parameters selected by TKL", text(GROUP, "chosen"), _chosen(results)),
        "## Notes",
        md.set_notes(study, results, lambda name: _exceptional(study, results, name)),
    ]


def aim_note(study: Study, results: Results, gains: md.Gains) -> str:
    """State whether the goal against the random forest is reached on all sets by the rule."""
    if study.name != NAME or set(results.sets) != set(study.sets) or "forest" not in gains:
        return ""
    sides = [gain.verdict for gain in gains["forest"].values()]
    wins, ties, losses = (sides.count(each) for each in (1, 0, -1))
    reached = "reached" if wins >= LEAST_WINS and losses <= MOST_LOSSES else "missed"
    return text(
        GROUP, "aim", least=LEAST_WINS, most=MOST_LOSSES, reached=reached, wins=wins, ties=ties,
        losses=losses,
    )  # fmt: skip


def _tables(study: Study, results: Results, gains: md.Gains) -> list[str]:
    """Return the paper's tables, each cell paper / measured."""
    comparison = {shown.who for column in study.comparison.columns.values() for shown in column}
    others = {title: who for who, title in results.titles.items() if who not in comparison}

    def show(name: str, shown: Shown) -> str:
        side = -gains[shown.who][name].verdict if shown.who in gains else 0
        return md.spread(results.values(name, shown.who), _digits(results, name)) + md.mark(side)

    parts = []
    for task, (quantity, heading) in TABLES.items():
        sets = results.sets_of(task)
        if sets:
            more = [name for name in sets if name not in printed(study.name)]
            parts += [f"## {heading}", text(GROUP, "comparison"), text(GROUP, task)]
            parts += [md.comparison_table(study, results, quantity, show, others, more)]
    return parts


def _digits(results: Results, name: str) -> int:
    """Return the number of decimals: two for per cent, for errors three digits or more."""
    if results.task(name) == "classification":
        return 2
    error = results.mean(name, "tkl")
    return max(2, 2 - floor(log10(error))) if error > 0 else 2


def _times(study: Study, results: Results) -> str:
    methods = {s.who: m for m, column in study.comparison.columns.items() for s in column}

    def show(name: str, who: str) -> str:
        seconds = printed(study.name).get(name, {}).get("seconds", {}).get(methods.get(who, ""))
        values = results.numbers(name, who, "fit_seconds")
        shown = md.spread(values, 2 if values.mean() > 0.1 else 3)
        choice = results.numbers(name, who, "tuning_seconds").mean()
        return f"{seconds or md.NONE} / {shown} ({choice:.1f})"

    return md.times_table(study, results, show)


def _chosen(results: Results) -> str:
    """Return TKL's parameters on each split, and the convergence of its final fits."""
    rows = []
    for name in results.sets:
        measured = results.found(name, "tkl")
        settings = measured["setting"]
        chosen = {key: [each[key] for each in settings] for key in settings[0]}
        chosen |= {"rank": measured["rank"]} if "rank" in measured else {}
        row = {key: ", ".join(f"{value:g}" for value in each) for key, each in chosen.items()}
        row |= {"largest gap": f"{max(measured['gap']):.1e}"} if "gap" in measured else {}
        row["early ends"] = f"{sum(measured['early'])} of {len(settings)}"
        rows.append({"set": name, **row})
    return md.table(rows)


def _exceptional(study: Study, results: Results, name: str) -> list[str]:
    """Describe the different settings of contestants on one set."""
    return [
        f"{results.titles[who]} with {', '.join(f'{k} = {v}' for k, v in sets[name].items())} here"
        for who, sets in study.exceptions.items()
        if name in sets and who in results.titles
    ]


def seconds(study: Study, results: Results) -> list[str]:
    """Return Table 1, the seconds to learn the kernel."""

    def show(name: str, shown: Shown) -> str:
        return md.spread(results.numbers(name, shown.who, "fit_seconds"), 3)

    return [
        text(GROUP, "whole"),
        md.contestants_note(study),
        "## Seconds, paper / measured",
        md.comparison_table(study, results, "seconds", show, {"TKL by pliant": "pliant"}),
    ]
