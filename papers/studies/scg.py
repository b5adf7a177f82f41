"""SCG-LDK, SCG-OSK, LDK and OSK: Tables 3, 4 and 5 of SCG, and held-out embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from papers import page as md
from papers.contestants.embeddings import DIMENSIONS, NEIGHBOURS, variant
from papers.contestants.learned_kernels import CS, MOST_STEPS
from papers.data import Estimate, paper_sets, printed, text
from papers.results import LEVEL, Results, Way
from papers.study import Study
from pliant.comparison import (
    Column,
    FriedmanTest,
    Score,
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
    wilcoxon_test,
)
from pliant.core.typing import Array

GROUP = "scg"

OURS, PLAIN = "scg-ldk", "gaussian"

REFERENCE = "features"
"""The contestant that is no embedding, and has no rank."""

MEASURED_AS = {
    "Gaussian": "gaussian",
    "FSK": "fsk",
    "SimpleNPK": "simple-npk",
    "IR-Gaussian": "ir-gaussian",
    "OSK": "osk",
    "LDK": "ldk",
    "SCG-OSK": "scg-osk",
    "SCG-LDK": "scg-ldk",
}
"""The contestant that stands beside a method of the paper, in the order of the ranks."""

EXTENSION = {"Unlabelled": "unlabelled", "Test": "test"}
"""The columns of Table 4, and the points that they are about."""

EXTENSION_P_VALUE = 0.6785
"""Of Wilcoxon's test between the columns of Table 4, as printed."""

REPORTED = {
    "scg-table-3": {"F": 5.17, "critical F": 2.16, "critical difference": 3.32},
    "scg-table-5": {"F": 87.65, "critical F": 2.60, "critical difference": 3.08},
}
"""What the paper prints of Friedman's and Nemenyi's tests."""

SCALES = {
    None: "standardised by the points that are learned from",
    1.0: "0 or 1, as they come",
    16.0: "divided by 16",
    255.0: "divided by 255",
}


def paper_means(study: str) -> Array:
    """Return the mean accuracies that the paper prints, a row per set, a column per method."""
    rows = [cells["accuracy"].values() for cells in printed(study).values()]
    return np.array([[_mean(text) for text in row] for row in rows])


def _mean(text: str) -> float:
    estimate = Estimate.printed(text, 1)
    assert estimate is not None
    return estimate.mean


def sections(
    study: Study, results: Results, middle: Callable[[Study, Results], Iterator[str]]
) -> list[str]:
    """Return a summary, the protocol, the tables and the notes of a page."""
    first, *tables = middle(study, results)

    def few(name: str) -> list[str]:
        return [f"{title} on the first {k} divisions only" for title, k in md.fewer(results, name)]

    return [
        first,
        "## Protocol",
        _protocol(study, results),
        md.left_out(study, results),
        md.contestants_note(study, results),
        *tables,
        "## Notes",
        text(GROUP, f"{study.name}-note"),
        md.set_notes(study, results, few),
    ]


def _protocol(study: Study, results: Results) -> str:
    held = results.held["protocol"]
    units = {study.chosen(name).unit: name for name in results.sets}
    scales = "; ".join(
        SCALES[unit] + (f" ({name})" if len(units) > 1 else "") for unit, name in units.items()
    )
    if study.beside.by_variant:
        judge = text(GROUP, "judged_by_neighbours", neighbours=NEIGHBOURS)
    else:
        values = ", ".join(f"{C:g}" for C in CS)
        judge = text(GROUP, "judged_by_svc", values=values, folds=held["folds"], steps=MOST_STEPS)
    first = held["first_seed"]
    return text(
        GROUP, "divided", repeats=results.repeats, first=first, last=first + results.repeats - 1,
        how=text(GROUP, f"{study.name}-divided"), scales=scales, judge=judge,
    )  # fmt: skip


def compared(study: Study, results: Results) -> Iterator[str]:
    """Return accuracies, ranks and times of a table of several methods."""
    main = [who for who in MEASURED_AS.values() if who in results.titles]
    others = [who for who in results.titles if who != OURS]
    more = [who for who in results.titles if who not in main]
    yield _summary(study, results)
    yield from ("## Accuracy", text(GROUP, "beside"), _beside("accuracy", study, results))
    means = {
        title: float(np.mean(results.means([who], "unlabelled")))
        for who, title in results.titles.items()
        if all(results.has(name, who) for name in results.sets)
    }
    listed = ", ".join(f"{title} {mean:.2f}" for title, mean in means.items())
    yield f"Mean of the measured accuracies over the {len(results.sets)} sets: {listed}."
    yield from ("## Ranks", _printed_standing(study.name), standing(results, main))
    if OURS in main and others:
        yield from ("## SCG-LDK against the others", text(GROUP, "paired"))
        yield paired(results, OURS, others)
        chosen = _chosen(results, OURS, "strength")
        yield f"The paper's gamma, as SCG-LDK chose it: {chosen}."
    yield from ("## Seconds", text(GROUP, "seconds"), _beside("seconds", study, results))
    if more:
        yield from ("## Variants", text(GROUP, "variants"), _variants(results, more))


def _summary(study: Study, results: Results) -> str:
    """Compare SCG-LDK with the plain model, here and in the paper."""
    if not {OURS, PLAIN} <= set(results.titles) or len(results.sets) < 2:
        return ""
    ours, plain = results.means([OURS, PLAIN], "unlabelled").T
    rows = [printed(study.name)[name]["accuracy"] for name in results.sets]
    paper, other = (np.mean([_mean(row[m]) for row in rows]) for m in ("SCG-LDK", "Gaussian"))
    p = wilcoxon_test(ours, plain).p_value
    parts = [
        text(
            GROUP, "compared", sets=len(ours), ours=ours.mean(), plain=plain.mean(), p=p,
            difference="a difference that is" if p < LEVEL else "no difference that is",
            paper=paper, paper_plain=other,
        )
    ]  # fmt: skip
    if {"scg-osk", "scg-osk-published"} <= set(results.titles):
        means = results.means(["scg-osk", "scg-osk-published"], "unlabelled").mean(axis=0)
        parts.append(text(GROUP, "degenerate", dropped=means[0], published=means[1]))
    return " ".join(parts)


def _beside(quantity: str, study: Study, results: Results) -> str:
    """Return a table of the paper's sets and methods, each cell paper / measured."""
    rows: list[md.Row] = []
    for name, quantities in printed(study.name).items():
        row: md.Row = {"set": name}
        for method in quantities["accuracy"]:
            cell = quantities[quantity].get(method, md.NONE)
            row[method] = f"{cell} / {_measured(quantity, name, MEASURED_AS.get(method), results)}"
        rows.append(row)
    return md.table(rows)


def _measured(quantity: str, name: str, who: str | None, results: Results) -> str:
    if who is None or who not in results.titles:
        return md.LATER
    if name not in results.sets:
        return md.NONE if name in paper_sets(GROUP) else md.ABSENT
    if not results.has(name, who) or (quantity == "seconds" and who == PLAIN):
        return md.NONE
    if quantity == "seconds":
        return f"{_seconds(results, name, who):.2g}"
    return md.spread(results.values(name, who, "unlabelled"), 1)


def _seconds(results: Results, name: str, who: str) -> float:
    """Return the median time of learning the kernel."""
    return float(np.median(results.numbers(name, who, "kernel_seconds")))


def _variants(results: Results, contestants: Sequence[str]) -> str:
    """Return accuracies and seconds of what is not in the paper."""
    columns = [Column("set")]
    for who in contestants:
        columns += [Column(results.titles[who], digits=1), Column(f"{who} seconds", "seconds")]
    rows: list[md.Row] = []
    for name in results.sets:
        row: md.Row = {"set": name}
        for who in contestants:
            if results.has(name, who):
                row[results.titles[who]] = results.score(name, who, "unlabelled")
                row[f"{who} seconds"] = f"{_seconds(results, name, who):.2g}"
        rows.append(row)
    return md.table(rows, columns)


def _tests(means: Array) -> tuple[FriedmanTest, float]:
    return friedman_test(means), nemenyi_critical_difference(means.shape[1], len(means), LEVEL)


def _printed_standing(study: str) -> str:
    """Say what the paper finds over its table, beside what its printed numbers give."""
    friedman, difference = _tests(paper_means(study))
    critical = friedman.critical_value(LEVEL)
    return text(
        GROUP, "printed_standing", reported=REPORTED[study], F=friedman.statistic,
        critical=critical, difference=difference,
    )  # fmt: skip


def standing(results: Results, contestants: Sequence[str]) -> str:
    """Say what the measured accuracies give: ranks, Friedman's F, significant differences."""
    if len(results.sets) < 2 or len(contestants) < 2:
        return ""
    friedman, difference = _tests(results.means(contestants, "unlabelled"))
    order = sorted(zip(friedman.ranks, [results.titles[who] for who in contestants], strict=True))
    verdict = f"No difference is significant at the {LEVEL:g} level."
    if friedman.rejects(LEVEL):
        pairs = combinations(order, 2)
        apart = [f"{a} before {b}" for (p, a), (q, b) in pairs if q - p > difference]
        verdict = (
            f"The methods differ at the {LEVEL:g} level; Nemenyi's critical difference is "
            f"{difference:.2f}. Further apart than that: {'; '.join(apart) or 'no two of them'}."
        )
    return text(
        GROUP, "standing", methods=len(contestants), sets=len(results.sets),
        ranks=", ".join(f"{title} {rank:.2f}" for rank, title in order), F=friedman.statistic,
        first=friedman.degrees[0], second=friedman.degrees[1],
        critical=friedman.critical_value(LEVEL), p=friedman.p_value, verdict=verdict,
    )  # fmt: skip


def paired(results: Results, first: str, others: Sequence[str]) -> str:
    """Return a table of one contestant against others: repeats and sets won, Wilcoxon's test.

    The test compares mean accuracies over the sets, as the paper's Wilcoxon test does.
    """
    columns = [
        Column("other", f"{results.titles[first]} against"),
        Column("gain", "mean gain", 2),
        Column("sets", "sets won–level–lost"),
        Column("repeats", "repeats won–level–lost"),
        Column("p", "Wilcoxon p over sets", 4),
        Column("h", "h"),
    ]
    rows: list[md.Row] = []
    for other in others:
        a, b = results.means([first, other], "unlabelled").T
        shared = [results.shared(name, [first, other], "unlabelled") for name in results.sets]
        test = wilcoxon_test(a, b) if len(a) > 1 else None
        rows.append({
            "other": results.titles[other],
            "gain": float((a - b).mean()),
            "sets": _counts((a - b).round(9)),
            "repeats": _counts(np.concatenate([(x - y).round(9) for x, y in shared])),
            "p": None if test is None else test.p_value,
            "h": None if test is None else int(test.p_value < LEVEL),
        })  # fmt: skip
    return md.table(rows, columns)


def _counts(gains: Array) -> str:
    won, lost = int(np.sum(gains > 0)), int(np.sum(gains < 0))
    return f"{won}–{len(gains) - won - lost}–{lost}"


def _chosen(results: Results, who: str, key: str) -> str:
    """Return how often each value was chosen, over all sets and repeats."""
    values = [value for name in results.sets for value in results.entries(name, who, key)]
    kinds, counts = np.unique(values, return_counts=True)
    shares = (100 * counts / len(values)).tolist()
    return ", ".join(f"{k:g} in {share:.0f} %" for k, share in zip(kinds, shares, strict=True))


def extension(study: Study, results: Results) -> Iterator[str]:
    """Return Table 4 and its test."""
    means = {
        part: [results.mean(name, OURS, part) for name in results.sets]
        for part in EXTENSION.values()
    }
    test = wilcoxon_test(*means.values()) if len(results.sets) > 1 else None
    paper = paper_means(study.name)
    yield "" if test is None else text(
        GROUP, "extension", reported=EXTENSION_P_VALUE, p=test.p_value, h=int(test.p_value < LEVEL),
        printed=wilcoxon_test(*paper.T).p_value, off=-test.mean_difference,
    )  # fmt: skip
    yield from ("## Accuracy on unlabelled and on later points", text(GROUP, "later_points"))
    rows: list[md.Row] = []
    for name, cells in printed(study.name).items():
        row: md.Row = {"set": name}
        for (title, part), cell in zip(EXTENSION.items(), cells["accuracy"].values(), strict=True):
            there = name in results.sets
            absent = md.NONE if name in paper_sets(GROUP) else md.ABSENT
            measured = md.spread(results.values(name, OURS, part), 1) if there else absent
            row[title] = f"{cell} / {measured}"
        rows.append(row)
    last: md.Row = {"set": "Average (paper: ten sets)"}
    for (title, part), cell in zip(EXTENSION.items(), paper.mean(axis=0), strict=True):
        last[title] = f"{cell:.1f} / {np.mean(means[part]):.1f}"
    yield md.table([*rows, last])
    yield f"The paper's gamma, as chosen: {_chosen(results, OURS, 'strength')}."


def embedding(study: Study, results: Results) -> Iterator[str]:
    """Return accuracies in few dimensions, and what is gained."""
    ranked = [who for who in results.titles if who != REFERENCE]
    leaders = []
    for k, name in enumerate(results.sets):
        for d in DIMENSIONS:
            means = results.means(_in(ranked, d))[k]
            order = np.argsort(-means, kind="stable")[:2]
            first, second = (f"{results.titles[ranked[i]]} {means[i]:.1f} %" for i in order)
            leaders.append(f"{name}, {variant(d)}: {first} before {second}")
    yield f"First and second by the mean: {'; '.join(leaders)}."
    yield "## Accuracy of the nearest neighbours"
    yield "Of held-out points, mean ± standard deviation in per cent."
    yield _embeddings(results, ranked)
    if OURS in results.titles:
        first = results.titles[OURS]
        others = [who for who in results.titles if who != OURS]
        yield from (f"## {first} against the others", text(GROUP, "gains", first=first))
        yield _gains(results, others)
        lines = []
        for name in results.sets:
            for d in DIMENSIONS:
                counts = Counter(results.entries(name, Way(OURS, variant(d)), "kernel"))
                kernels = ", ".join(f"{kernel} {count}" for kernel, count in counts.most_common())
                lines.append(f"{name}, {variant(d)}: {kernels}")
        chosen = "The base kernel that it chose, and in how many divisions"
        yield f"{chosen}: {'; '.join(lines)}."


def _in(contestants: Sequence[str], dimension: int) -> list[Way]:
    return [Way(who, variant(dimension)) for who in contestants]


def _embeddings(results: Results, ranked: Sequence[str]) -> str:
    """Return the accuracies in few dimensions, and the mean rank of each way to embed."""
    ranks: dict[str, Any] = {}
    if len(ranked) > 1:
        means = np.concatenate([results.means(_in(ranked, d)) for d in DIMENSIONS])
        ranks = dict(zip(ranked, average_ranks(means).tolist(), strict=True))
    keys = {f"{name}, {variant(d)}": (name, d) for name in results.sets for d in DIMENSIONS}
    rows: list[md.Row] = []
    for who, title in results.titles.items():
        row: md.Row = {"embedding": title, "mean rank": ranks.get(who)}
        for key, (name, d) in keys.items():
            row[key] = Score.of(results.values(name, Way(who, variant(d))))
        rows.append(row)
    heads = [Column(key, digits=1) for key in keys]
    return md.table(rows, [Column("embedding"), *heads, Column("mean rank", digits=2)])


def _gains(results: Results, others: Sequence[str]) -> str:
    """Return the mean gain of our embedding over others, split by split."""
    rows: list[md.Row] = []
    for other in others:
        row: md.Row = {"against": results.titles[other]}
        for name in results.sets:
            for d in DIMENSIONS:
                a, b = results.shared(name, _in([OURS, other], d))
                gains, n = a - b, len(a)
                error = gains.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
                won = int(np.sum(gains > 1e-9))
                row[f"{name}, {variant(d)}"] = f"{gains.mean():+.1f}±{error:.1f} ({won} of {n})"
        rows.append(row)
    return md.table(rows)
