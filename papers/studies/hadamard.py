"""Tables 1, 2, 5 and 6 of DANK, Table 1 of KNPL, and the study that chose their defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from papers import page as md
from papers.contestants.hadamard import BATCH, CHOSEN, CONTESTANTS, FIXED, TAUS, TUNED
from papers.data import printed, text
from papers.results import Overall, Results, Way, way
from papers.study import Study
from pliant.comparison import Column
from pliant.kernels import EXTENSIONS

GROUP = "hadamard"

PLAIN = Way("svm", f"{FIXED}/none")
"""The reference of all tests."""

BY_BATCH = {
    "SVM-CV": PLAIN,
    "DANK, batch rule": Way("batch-dank", f"{FIXED}/{BATCH}"),
    "the same, eta tuned": Way("batch-dank", f"{TUNED}/{BATCH}"),
}
"""The columns of the table of the DANK paper's own rule for new points."""

AT_REFERENCE = Way("dank-taus", "0.01/reciprocal")
"""The reference of the table on the rank of F."""

ETAS = {FIXED: "eta = |alpha|^2 of the SVM", TUNED: "eta tuned"}

SCORES = {"classification": "accuracy", "regression": "1 - R2"}
"""The score of each task."""


def signs(results: Results) -> dict[str, float]:
    """Return for each set 1 where a high score is good, -1 where a low one is."""
    return {name: 1.0 if results.task(name) == "classification" else -1.0 for name in results.sets}


def side(results: Results, name: str, who: Way, reference: Way = PLAIN) -> int:
    """Return 1 or -1 where a score is significantly better or worse than the reference's."""
    sign = signs(results)[name]
    return 0 if who == reference else results.gain(name, who, reference, sign=sign).significant


def digits(results: Results) -> int:
    """Return the decimals of the scores: one for per cent, three for 1 - R2."""
    return 1 if results.task(results.sets[0]) == "classification" else 3


def named(who: Way) -> md.Row:
    """Return a way's method, eta and rule."""
    eta, _, rule = who.variant.partition("/")
    return {"method": CONTESTANTS[who.contestant].title, "eta": eta, "rule": rule}


def words(who: Way) -> str:
    """Return a way in words, such as ``KNPL, eta tuned, rule nearest``."""
    return "{method}, eta {eta}, rule {rule}".format_map(named(who))


def sections(
    study: Study, results: Results, middle: Callable[[Study, Results], Sequence[str]]
) -> list[str]:
    """Return the sections of a page: the protocol, the middle, the notes."""
    held = results.held["protocol"]
    most = held["tuning_rows"]
    protocol = text(
        GROUP, "protocol", repeats=results.repeats, folds=held["folds"],
        low=min(held["powers"]), high=max(held["powers"]), tuning_rows=most,
        scales=", ".join(f"{scale:g}" for scale in sorted(held["eta_scales"])),
    )  # fmt: skip

    def cut(name: str) -> list[str]:
        n_train = results.groups(name)[0]["n_train"]
        return [f"parameters chosen on {most} of {n_train} training rows"] * (n_train > most)

    notes = md.set_notes(study, results, cut)
    return [protocol, md.left_out(study, results), *middle(study, results), "## Notes", notes]


def tables(study: Study, results: Results) -> Iterator[str]:
    """Return the paper's table, every rule for new points, the means and the tests."""
    compared = [way(shown.way) for _, (shown,) in list(study.beside.columns.items())[1:]]
    methods = f"the papers' settings ({'; '.join(map(words, compared))})"
    yield from _printed(study, results, methods, PLAIN)
    for who in compared:
        yield from _by_rule(who.contestant, results)
    yield from _by_batch(results)
    ways = _ways([who.contestant for who in compared], ETAS)
    yield from ("## Averages over the sets", text(GROUP, "averages"), averages(ways, results))
    for who in compared:
        yield from _tests(who, results)


def ranked(study: Study, results: Results) -> Iterator[str]:
    """Return the table on the rank of F, and the same with the chosen rule."""
    yield from _printed(study, results, text(GROUP, "ranked"), AT_REFERENCE)
    yield "## The same with the rule chosen by cross-validation"
    ways = {f"tau = {tau:g}": Way("dank-taus", f"{tau:g}/{CHOSEN}") for tau in TAUS}
    yield _measured(ways, results, ways["tau = 0.01"])


def _printed(study: Study, results: Results, measured: str, reference: Way) -> list[str]:
    """The paper's table, each cell paper / measured."""
    unit = "Accuracy in per cent" if results.sets_of("classification") else "1 - R2"
    against = "SVM-CV" if reference == PLAIN else "tau = 0.01"
    rows: list[md.Row] = []
    for name, quantities in printed(study.name).items():
        if name not in results.sets:
            continue
        row: md.Row = {"set": name}
        for method in max(quantities.values(), key=len):
            for quantity, cells in quantities.items():
                part = "training" if quantity.startswith("training") else "test"
                heading = method if reference != PLAIN else f"{method} {part}"
                if method in cells:
                    beside = _beside(study, results, name, method, part, reference)
                    row[heading] = f"{cells[method]} / {beside}"
        rows.append(row)
    legend = text(GROUP, "legend", unit=unit, measured=measured, against=against)
    return ["## Paper / measured", legend, md.table(rows)]


def _beside(
    study: Study, results: Results, name: str, method: str, part: str, reference: Way
) -> str:
    if method not in study.beside.columns:
        return md.LATER
    who = study.beside.columns[method][0].way
    assert isinstance(who, Way)
    shown = md.spread(
        results.values(name, who, "train" if part == "training" else part), digits(results)
    )
    if "rank" in results.group(name, who)["variants"][who.variant]:
        shown += f" ({results.numbers(name, who, 'rank').mean():.0f})"
    return shown + md.mark(side(results, name, who, reference) if part == "test" else 0)


def _measured(ways: dict[str, Way], results: Results, reference: Way) -> str:
    return md.compared_table(
        results, ways, digits(results), lambda name, key: side(results, name, ways[key], reference)
    )


def _by_rule(contestant: str, results: Results) -> Iterator[str]:
    """The test scores by each rule for new points, beside the plain model."""
    yield f"## {CONTESTANTS[contestant].title}: test scores by the rule for new points"
    for eta, meaning in ETAS.items():
        ways = {"SVM-CV": PLAIN}
        ways |= {rule: Way(contestant, f"{eta}/{rule}") for rule in (*EXTENSIONS, CHOSEN)}
        yield f"{meaning}; *chosen* is the rule chosen by cross-validation:"
        yield _measured(ways, results, PLAIN)


def _by_batch(results: Results) -> Iterator[str]:
    """The test scores by the paper's rule for a batch, where they were measured on all sets."""
    if all(results.has(name, who) for name in results.sets for who in BY_BATCH.values()):
        yield "## DANK by the paper's rule for a batch"
        yield text(GROUP, "batch")
        yield _measured(BY_BATCH, results, PLAIN)


def _ways(contestants: Sequence[str], etas: Sequence[str] | dict[str, str]) -> list[Way]:
    """Return all ways to choose."""
    return [
        Way(contestant, f"{eta}/{rule}")
        for contestant in contestants
        for eta in etas
        for rule in (*EXTENSIONS, CHOSEN)
    ]


def _tests(who: Way, results: Results) -> Iterator[str]:
    """The paired tests of a paper's method against the plain model."""
    yield f"## {CONTESTANTS[who.contestant].title}: tests against SVM-CV"
    yield text(GROUP, "tests")
    columns = [
        Column("set"),
        Column("gain", "gain over SVM-CV", digits(results) + 1),
        *map(Column, ("t", "corrected t", "Wilcoxon", "better–equal–worse")),
    ]
    for each in dict.fromkeys([who, Way(who.contestant, f"{TUNED}/{CHOSEN}")]):
        rows: list[md.Row] = []
        for name, gain in results.compared(each, PLAIN, signs=signs(results)).items():
            row: md.Row = {"set": name, "gain": gain.mean, "t": md.p_text(gain.p_value)}
            row |= {
                "corrected t": md.p_text(gain.corrected_p),
                "Wilcoxon": md.p_text(gain.wilcoxon_p),
            }
            if gain.p_value is not None:
                row["better–equal–worse"] = "–".join(map(str, gain.splits))
            rows.append(row)
        yield f"{words(each)}:\n\n{md.table(rows, columns)}"


def averages(ways: Sequence[Way], results: Results) -> str:
    """Return a table with a row for each way to choose, over the sets of each task."""
    tasks = {task: results.sets_of(task) for task in SCORES if results.sets_of(task)}
    ranks = results.ranks(ways, results.sets, signs(results)).mean(axis=1)
    rows: list[md.Row] = [named(who) for who in ways]
    columns = [Column("method"), Column("eta"), Column("rule")]
    for task, sets in tasks.items():
        over = results.overall(ways, sets, PLAIN, signs(results))
        rows = [row | _overall(task, overall) for row, overall in zip(rows, over, strict=True)]
        decimals = 2 if task == "classification" else 4
        columns += [
            Column(f"{task} mean", f"{SCORES[task]}, {len(sets)} sets", decimals),
            Column(f"{task} gain", "gain", decimals),
            Column(f"{task} rank", "rank", 2),
            Column(f"{task} sides", "better / worse"),
            Column(f"{task} p", "p"),
        ]
    if len(tasks) > 1:
        rows = [row | {"rank": rank} for row, rank in zip(rows, ranks, strict=True)]
        columns.append(Column("rank", "rank, all sets", 2))
    return md.table(rows, columns)


def _overall(task: str, overall: Overall) -> md.Row:
    return {
        f"{task} mean": overall.mean,
        f"{task} gain": overall.gain,
        f"{task} rank": overall.rank,
        f"{task} sides": f"{overall.better} / {overall.worse}",
        f"{task} p": md.p_text(overall.p_value),
    }


def defaults(study: Study, results: Results) -> Iterator[str]:
    """Return a table for each method and each way to set eta, and the best rows in words."""
    yield from ("## Averages over the sets", text(GROUP, "averages"))
    danks = [name for name in CONTESTANTS if name.startswith("dank")]
    for method, contestants in {"DANK": danks, "KNPL": ["knpl"]}.items():
        for eta in ETAS:
            ways = _ways(contestants, [eta])
            yield from (f"### {method}, eta {eta}", averages(ways, results), _first(ways, results))


def _first(ways: Sequence[Way], results: Results) -> str:
    """Name the ways with a rule of their own that come first by each average."""
    ways = [who for who in ways if not who.variant.endswith(CHOSEN)]
    ranks = results.ranks(ways, results.sets, signs(results)).mean(axis=1)
    best = [f"best mean rank over all sets: {words(ways[int(ranks.argmin())])}"]
    for task, score in SCORES.items():
        if names := results.sets_of(task):
            gains = [
                np.mean([signs(results)[name] * results.mean(name, who) for name in names])
                for who in ways
            ]
            best.append(f"best mean {score}: {words(ways[int(np.argmax(gains))])}")
    return f"Among themselves, without *chosen*: {'; '.join(best)}."
