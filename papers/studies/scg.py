"""SCG-LDK, SCG-OSK, LDK and OSK: Tables 3, 4 and 5 of SCG, and held-out embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from papers import page as md
from papers.beside import Beside, Shown
from papers.contestants.embeddings import (
    DIMENSIONS,
    NEIGHBOURS,
    AllFeatures,
    Discriminants,
    Eigenmaps,
    Embedded,
    KernelFisher,
    KernelPrincipalComponents,
    NeighbourhoodComponents,
    PrincipalComponents,
    variant,
)
from papers.contestants.learned_kernels import (
    CS,
    MOST_STEPS,
    Divided,
    GaussianKernel,
    LargeSCGLogDet,
    LogDet,
    OrderSpectral,
    SCGLogDet,
)
from papers.data import Estimate, paper_sets, printed, text
from papers.results import LEVEL, Results, Way
from papers.studies.embeddings import embedding
from papers.study import Contestant, Entry, Study
from pliant.comparison import (
    Column,
    FriedmanTest,
    friedman_test,
    nemenyi_critical_difference,
    wilcoxon_test,
)
from pliant.core.typing import Array

GROUP = "scg"

OURS, PLAIN = "scg-ldk", "gaussian"

MEASURED_AS = {
    "Gaussian": "gaussian",
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


SMALL = ("Wine", "Iris", "Sonar", "Glass", "Heart", "Liver", "Ionosphere", "Breast", "Balance")

LARGE = tuple(f"Adult-a{k}a" for k in range(1, 7))

FEWER = (("Adult-a5a", 5), ("Adult-a6a", 3))
"""Repeats of the largest sets where every point is in the graph."""

BASELINE = {"classification": (PLAIN, "tuned Gaussian SVM")}

COLUMNS = {method: (Shown(who, part="unlabelled"),) for method, who in MEASURED_AS.items()}


def _study(
    name: str,
    title: str,
    repeats: int,
    protocol: Divided,
    sets: tuple[str, ...],
    contestants: tuple[Contestant, ...],
    middle: Callable[[Study, Results], Iterator[str]],
    beside: Beside,
    rare: dict[str, tuple[tuple[str, int], ...]] | None = None,
) -> Study:
    entries = tuple(Entry(each, sets, (rare or {}).get(each.name, ())) for each in contestants)
    shown = partial(sections, middle=middle)
    return Study(name, title, GROUP, repeats, protocol, entries, shown, beside)


def _beside_table(place: str) -> Beside:
    return Beside(
        "SCG", place, COLUMNS, repeats=20, baseline=BASELINE, seconds="kernel_seconds", median=True
    )


STUDIES = (
    _study(
        "scg-table-3",
        "SCG, Table 3: accuracy and time on small sets",
        20,
        Divided(unlabelled=0.3, test=0.0),
        SMALL,
        (
            GaussianKernel(),
            OrderSpectral(),
            LogDet(),
            OrderSpectral("scg", drop_null=True, name="scg-osk", title="SCG-OSK"),
            SCGLogDet(),
            OrderSpectral(drop_null=True, name="osk-default", title="OSK without the constant"),
            OrderSpectral("scg", name="scg-osk-published", title="SCG-OSK as published"),
            SCGLogDet(graph="labeled", name="scg-ldk-labelled", title="SCG-LDK, labelled graph"),
        ),
        compared,
        _beside_table("Table 3"),
    ),
    _study(
        "scg-table-4",
        "SCG, Table 4: SCG-LDK on points that come later",
        20,
        Divided(unlabelled=0.3, test=0.3),
        SMALL,
        (SCGLogDet(),),
        extension,
        Beside(
            "SCG",
            "Table 4",
            {
                "SCG-LDK, unlabelled points": (Shown(OURS, part="unlabelled"),),
                "SCG-LDK, later points": (Shown(OURS, part="test"),),
            },
            repeats=20,
        ),
    ),
    _study(
        "scg-table-5",
        "SCG, Table 5: accuracy and time on Adult",
        10,
        Divided(unlabelled=0.0, test=0.0),
        LARGE,
        (
            GaussianKernel(),
            OrderSpectral("scg", drop_null=True, n_neighbors=20, name="scg-osk", title="SCG-OSK"),
            LargeSCGLogDet(),
            SCGLogDet(
                "labeled", joint=False, name="scg-ldk-labelled", title="SCG-LDK, labelled graph"
            ),
        ),
        compared,
        _beside_table("Table 5"),
        {OURS: FEWER},
    ),
    _study(
        "scg-embedding",
        "SCG-LDK: held-out points in few dimensions",
        5,
        Divided(unlabelled=0.0, test=0.5),
        ("digits", "usps"),
        (
            Embedded(),
            Embedded("gaussian", "scg-ldk-gaussian", "KernelEmbedding, Gaussian"),
            AllFeatures(),
            PrincipalComponents(),
            KernelPrincipalComponents(),
            Discriminants(),
            NeighbourhoodComponents(),
            KernelFisher(),
            Eigenmaps(),
        ),
        embedding,
        Beside(
            "SCG",
            own=tuple(Shown(Way(OURS, variant(d)), "KernelEmbedding") for d in DIMENSIONS),
            own_place="our study of embeddings",
            baseline={
                "classification": ("kernel-fisher", "kernel Fisher discriminants, tuned"),
            },
            by_variant=True,
            printed=False,
        ),
    ),
)
