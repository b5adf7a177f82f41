"""SCG-LDK, SCG-OSK, LDK and OSK: Tables 3, 4 and 5 of SCG, and held-out embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
from scipy import stats

from benchmarks.signed_ranks import signed_rank_p
from papers import page as md
from papers.contestants.embeddings import DIMENSIONS, NEIGHBOURS, variant
from papers.contestants.scg import CS, MOST_STEPS
from papers.data import Estimate, printed, text
from papers.results import LEVEL, Results
from papers.study import Shown, Study
from pliant.core.typing import Array
from pliant.tables.comparison.statistics import (
    FriedmanTest,
    average_ranks,
    differences,
    friedman_test,
    nemenyi_critical_difference,
)

GROUP = "scg"

OURS, PLAIN = "scg-ldk", "gaussian"

REFERENCE = "features"
"""The contestant without an embedding, which has no rank."""

IN_PAPER = (
    "gaussian", "fsk", "simple-npk", "ir-gaussian", "osk", "ldk", "scg-osk", "scg-ldk",
)  # fmt: skip
"""Contestants that correspond to a method of the paper, in the order of the ranks."""

EXTENSION_P_VALUE = 0.6785
"""Printed p-value of Wilcoxon's test between the columns of Table 4."""

REPORTED = {
    "scg-table-3": {"F": 5.17, "critical F": 2.16, "critical difference": 3.32},
    "scg-table-5": {"F": 87.65, "critical F": 2.60, "critical difference": 3.08},
}
"""Printed results of Friedman's and Nemenyi's tests."""

SCALES = {
    None: "standardised by the training points",
    1.0: "0 or 1, unscaled",
    16.0: "divided by 16",
    255.0: "divided by 255",
}


def paper_means(study: str) -> Array:
    """Return the paper's mean accuracies, a row per set and a column per method."""
    rows = [cells["accuracy"].values() for cells in printed(study).values()]
    return np.array([[_mean(text) for text in row] for row in rows])


def _mean(text: str) -> float:
    estimate = Estimate.printed(text, 1)
    assert estimate is not None
    return estimate.mean


def _framed(study: Study, results: Results, summary: str, *tables: str) -> list[str]:
    """Return a summary, the protocol, the tables and the notes of a page."""
    return [
        summary,
        *("## Protocol", _protocol(study, results), md.left_out(study, results)),
        md.contestants_note(study, results),
        *tables,
        *("## Notes", text(GROUP, f"{study.name}-note"), md.set_notes(study, results)),
    ]


def _protocol(study: Study, results: Results) -> str:
    held = study.protocol
    units = {study.chosen(name).unit: name for name in results.sets}
    scales = "; ".join(
        SCALES[unit] + (f" ({name})" if len(units) > 1 else "") for unit, name in units.items()
    )
    if study.comparison.by_variant:
        judge = text(GROUP, "judged_by_neighbours", neighbours=NEIGHBOURS)
    else:
        values = ", ".join(f"{C:g}" for C in CS)
        judge = text(GROUP, "judged_by_svc", values=values, folds=held.folds, steps=MOST_STEPS)
    first = held.first_seed
    return text(
        GROUP, "divided", repeats=results.repeats, first=first, last=first + results.repeats - 1,
        how=text(GROUP, f"{study.name}-divided"), scales=scales, judge=judge,
    )  # fmt: skip


def compared(study: Study, results: Results) -> list[str]:
    """Return accuracies, ranks and times of a table of several methods."""
    main = [who for who in IN_PAPER if who in results.titles]
    others = [who for who in results.titles if who != OURS]
    more = [who for who in results.titles if who not in main]
    means = {
        title: float(np.mean(results.means([who], "unlabelled")))
        for who, title in results.titles.items()
        if all(results.has(name, who) for name in results.sets)
    }
    listed = ", ".join(f"{title} {mean:.2f}" for title, mean in means.items())

    def seconds(name: str, shown: Shown) -> str:
        return md.NONE if shown.who == PLAIN else f"{_seconds(results, name, shown.who):.2g}"

    paired = []
    if OURS in main and others:
        chosen = f"The paper's gamma, as selected by SCG-LDK: {_chosen(results, OURS, 'strength')}."
        paired = ["## SCG-LDK against the others", text(GROUP, "paired"), _paired(results, others)]
        paired.append(chosen)
    return _framed(
        study, results, _summary(study, results),
        *("## Accuracy", text(GROUP, "comparison")),
        md.comparison_table(study, results, "accuracy", lambda *each: _spread(results, *each)),
        f"Mean of the measured accuracies over the {len(results.sets)} sets: {listed}.",
        *("## Ranks", _printed_standing(study.name), _standing(results, main)),
        *paired,
        *("## Seconds", text(GROUP, "seconds")),
        md.comparison_table(study, results, "seconds", seconds),
        *(["## Variants", text(GROUP, "variants"), _variants(results, more)] if more else []),
    )  # fmt: skip


def _spread(results: Results, name: str, shown: Shown) -> str:
    return md.spread(results.values(name, shown.who, shown.part), 1)


def _summary(study: Study, results: Results) -> str:
    """Compare SCG-LDK with the plain model, here and in the paper."""
    if not {OURS, PLAIN} <= set(results.titles) or len(results.sets) < 2:
        return ""
    ours, plain = results.means([OURS, PLAIN], "unlabelled").T
    rows = [printed(study.name)[name]["accuracy"] for name in results.sets]
    paper, other = (np.mean([_mean(row[m]) for row in rows]) for m in ("SCG-LDK", "Gaussian"))
    p = signed_rank_p(ours, plain)
    parts = [
        text(
            GROUP, "compared", sets=len(ours), ours=ours.mean(), plain=plain.mean(), p=p,
            difference="the difference is" if p < LEVEL else "the difference is not",
            paper=paper, paper_plain=other,
        )
    ]  # fmt: skip
    if {"scg-osk", "scg-osk-published"} <= set(results.titles):
        means = results.means(["scg-osk", "scg-osk-published"], "unlabelled").mean(axis=0)
        parts.append(text(GROUP, "degenerate", dropped=means[0], published=means[1]))
    return " ".join(parts)


def _seconds(results: Results, name: str, who: str) -> float:
    return float(np.median(results.numbers(name, who, "kernel_seconds")))


def _variants(results: Results, contestants: Sequence[str]) -> str:
    """Return accuracies and seconds of variants that are not in the paper."""
    rows = []
    for name in results.sets:
        row = {"set": name}
        for who in contestants:
            title, there = results.titles[who], results.has(name, who)
            shown = md.spread(results.values(name, who, "unlabelled"), 1) if there else md.NONE
            row[title] = shown
            row[f"{title}, seconds"] = f"{_seconds(results, name, who):.2g}" if there else md.NONE
        rows.append(row)
    return md.table(rows)


def _tests(means: Array) -> tuple[FriedmanTest, float]:
    return friedman_test(means), nemenyi_critical_difference(means.shape[1], len(means), LEVEL)


def _critical(friedman: FriedmanTest) -> float:
    """Return the critical value of F at LEVEL."""
    return float(stats.f.ppf(1.0 - LEVEL, *friedman.degrees))


def _printed_standing(study: str) -> str:
    """Return the paper's test results, and the results from its printed numbers."""
    friedman, difference = _tests(paper_means(study))
    return text(
        GROUP, "printed_standing", reported=REPORTED[study], F=friedman.statistic,
        critical=_critical(friedman), difference=difference,
    )  # fmt: skip


def _standing(results: Results, contestants: Sequence[str]) -> str:
    """Return the test results of the measured accuracies: ranks, Friedman's F, differences."""
    if len(results.sets) < 2 or len(contestants) < 2:
        return ""
    friedman, difference = _tests(results.means(contestants, "unlabelled"))
    order = sorted(zip(friedman.ranks, [results.titles[who] for who in contestants], strict=True))
    verdict = f"No difference is significant at the {LEVEL:g} level."
    if friedman.p_value < LEVEL:
        pairs = combinations(order, 2)
        apart = [f"{a} ahead of {b}" for (p, a), (q, b) in pairs if q - p > difference]
        verdict = (
            f"The methods differ at the {LEVEL:g} level; Nemenyi's critical difference is "
            f"{difference:.2f}. Larger differences: {'; '.join(apart) or 'none'}."
        )
    return text(
        GROUP, "standing", methods=len(contestants), sets=len(results.sets),
        ranks=", ".join(f"{title} {rank:.2f}" for rank, title in order), F=friedman.statistic,
        first=friedman.degrees[0], second=friedman.degrees[1],
        critical=_critical(friedman), p=friedman.p_value, verdict=verdict,
    )  # fmt: skip


def _paired(results: Results, others: Sequence[str]) -> str:
    """Return a table of SCG-LDK against others: sets and repeats won, Wilcoxon's test.

    The test compares mean accuracies over the sets, as the paper's Wilcoxon test does.
    """
    rows = []
    for other in others:
        a, b = results.means([OURS, other], "unlabelled").T
        shared = [results.shared(name, [OURS, other], "unlabelled") for name in results.sets]
        repeats = [(x - y).round(9) for x, y in shared]
        p = signed_rank_p(a, b) if len(a) > 1 else None
        rows.append({
            f"{results.titles[OURS]} against": results.titles[other],
            "mean gain": f"{(a - b).mean():.2f}",
            "sets won–tied–lost": _counts((a - b).round(9)),
            "repeats won–tied–lost": _counts(np.concatenate(repeats)),
            "Wilcoxon p over sets": md.NONE if p is None else f"{p:.4f}",
            "h": md.NONE if p is None else f"{int(p < LEVEL)}",
        })  # fmt: skip
    return md.table(rows)


def _counts(gains: Array) -> str:
    won, lost = int(np.sum(gains > 0)), int(np.sum(gains < 0))
    return f"{won}–{len(gains) - won - lost}–{lost}"


def _chosen(results: Results, who: str, key: str) -> str:
    """Return the share of repeats over all sets in which each value was selected."""
    values = [value for name in results.sets for value in results.found(name, who)[key]]
    kinds, counts = np.unique(values, return_counts=True)
    shares = (100 * counts / len(values)).tolist()
    return ", ".join(f"{k:g} in {share:.0f} %" for k, share in zip(kinds, shares, strict=True))


def extension(study: Study, results: Results) -> list[str]:
    """Return Table 4 and its test."""
    means = [[results.mean(n, OURS, p) for n in results.sets] for p in ("unlabelled", "test")]
    p = signed_rank_p(*means) if len(results.sets) > 1 else None
    paper = paper_means(study.name)
    summary = "" if p is None else text(
        GROUP, "extension", reported=EXTENSION_P_VALUE, p=p, h=int(p < LEVEL),
        printed=signed_rank_p(*paper.T), off=-float(differences(*means).mean()),
    )  # fmt: skip
    parts = ("unlabelled", "later")
    both = zip(parts, paper.mean(axis=0), means, strict=True)
    averages = ", ".join(f"{part} {cell:.1f} / {np.mean(mean):.1f}" for part, cell, mean in both)
    return _framed(
        study, results, summary,
        *("## Accuracy on unlabelled and on later points", text(GROUP, "later_points")),
        md.comparison_table(study, results, "accuracy", lambda *each: _spread(results, *each)),
        f"Average (paper: ten sets): {averages}.",
        f"The paper's gamma, as selected: {_chosen(results, OURS, 'strength')}.",
    )  # fmt: skip


def embedding(study: Study, results: Results) -> list[str]:
    """Return accuracies in few dimensions, and gains."""
    places = {f"{n}, {variant(d)}": (n, variant(d)) for n, d in product(results.sets, DIMENSIONS)}
    ranked = [who for who in results.titles if who != REFERENCE]
    means = np.array([
        [results.mean(name, f"{who}:{dimension}") for who in ranked]
        for name, dimension in places.values()
    ])  # fmt: skip
    leaders = []
    for place, row in zip(places, means, strict=True):
        order = np.argsort(-row, kind="stable")[:2]
        first, second = (f"{results.titles[ranked[i]]} {row[i]:.1f} %" for i in order)
        leaders.append(f"{place}: {first}, then {second}")
    ranks = dict(zip(ranked, average_ranks(means).tolist(), strict=True)) if len(ranked) > 1 else {}
    rows = [
        {"embedding": title}
        | {place: md.spread(results.values(n, f"{who}:{d}"), 1) for place, (n, d) in places.items()}
        | {"mean rank": f"{ranks[who]:.2f}" if who in ranks else md.NONE}
        for who, title in results.titles.items()
    ]
    chosen = []
    for place, (name, dimension) in places.items():
        counts = Counter(results.found(name, f"{OURS}:{dimension}")["kernel"])
        kernels = ", ".join(f"{kernel} {count}" for kernel, count in counts.most_common())
        chosen.append(f"{place}: {kernels}")
    first = results.titles[OURS]
    return _framed(
        study, results, f"First and second by the mean: {'; '.join(leaders)}.",
        "## Accuracy of the nearest neighbours",
        "On held-out points, mean ± standard deviation in per cent.",
        md.table(rows),
        *(f"## {first} against the others", text(GROUP, "gains", first=first)),
        md.table([_gains(results, who, places) for who in results.titles if who != OURS]),
        "The selected base kernel, with the number of splits: " + "; ".join(chosen) + ".",
    )  # fmt: skip


def _gains(results: Results, other: str, places: dict[str, tuple[str, str]]) -> md.Row:
    """Return the mean gain of our embedding over another one, over common splits."""
    row = {"against": results.titles[other]}
    for place, (name, dimension) in places.items():
        a, b = results.shared(name, [f"{OURS}:{dimension}", f"{other}:{dimension}"])
        gains, n = a - b, len(a)
        error = gains.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
        won = int(np.sum(gains > 1e-9))
        row[place] = f"{gains.mean():+.1f}±{error:.1f} ({won} of {n})"
    return row
