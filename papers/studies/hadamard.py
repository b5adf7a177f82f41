"""Tables 1, 2, 5 and 6 of DANK, Table 1 of KNPL, and the study of their defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from papers import page as md
from papers.contestants.hadamard import BATCH, CHOSEN, FIXED, RULES, TUNED
from papers.data import printed, text
from papers.results import Overall, Results
from papers.study import Shown, Study

GROUP = "hadamard"

PLAIN = f"svm:{FIXED}/none"
"""Reference of all tests."""

BY_BATCH = {
    "SVM-CV": PLAIN,
    "DANK, batch rule": f"batch-dank:{FIXED}/{BATCH}",
    "the same, eta tuned": f"batch-dank:{TUNED}/{BATCH}",
}
"""Columns of the table of the DANK paper's rule for new points."""

AT_REFERENCE = "dank-taus:0.01/reciprocal"
"""Reference of the table on the rank of F."""

ETAS = {FIXED: "eta = |alpha|^2 of the SVM", TUNED: "eta tuned"}

ASIDE = ("-printed", "-leaky")
"""Ends of the names of contestants that only appear in the paper's table."""

SCORES = {"classification": "accuracy", "regression": "1 - R2"}


def _digits(results: Results) -> int:
    """Return the number of decimals: one for per cent, three for 1 - R2."""
    return 1 if results.task(results.sets[0]) == "classification" else 3


def _named(who: str, results: Results) -> md.Row:
    """Return method, eta and rule of a variant."""
    name, _, variant = who.partition(":")
    eta, _, rule = variant.partition("/")
    return {"method": results.titles[name], "eta": eta, "rule": rule}


def _words(who: str, results: Results) -> str:
    """Return the name of a variant, such as ``KNPL, eta tuned, rule nearest``."""
    return "{method}, eta {eta}, rule {rule}".format_map(_named(who, results))


def _framed(study: Study, results: Results, *middle: str) -> list[str]:
    """Return the sections of a page: the protocol, the middle, the notes."""
    held = study.protocol
    protocol = text(
        GROUP, "protocol", repeats=results.repeats, folds=held.folds, low=min(held.powers),
        high=max(held.powers), tuning_rows=held.tuning_rows,
        scales=", ".join(f"{scale:g}" for scale in sorted(held.eta_scales)),
    )  # fmt: skip

    def cut(name: str) -> list[str]:
        n, most = results.groups(name)[0]["n_train"], held.tuning_rows
        return [f"parameters selected on {most} of {n} training rows"] * (n > most)

    return [
        protocol, md.contestants_note(study, results), md.left_out(study, results), *middle,
        "## Notes", md.set_notes(study, results, cut),
    ]  # fmt: skip


def tables(study: Study, results: Results) -> list[str]:
    """Return the paper's table, every rule for new points, the means and the tests."""
    compared = [
        shown.who
        for column in study.comparison.columns.values()
        for shown in column
        if "/" in shown.who
        and shown.who != PLAIN
        and results.has(results.sets[0], shown.who)
        and not shown.who.partition(":")[0].endswith(ASIDE)
    ]
    learned = [who.partition(":")[0] for who in compared if not who.endswith(BATCH)]
    parts = [*_printed(study, results, _settings(compared, results), PLAIN)]
    for who in learned:
        parts.append(f"## {results.titles[who]}: test scores by the rule for new points")
        for eta, meaning in ETAS.items():
            ways = {"SVM-CV": PLAIN, **{rule: f"{who}:{eta}/{rule}" for rule in (*RULES, CHOSEN)}}
            parts += [f"{meaning}; *chosen* is the rule selected by cross-validation:"]
            parts += [_measured(ways, results, PLAIN)]
    if all(results.has(name, who) for name in results.sets for who in BY_BATCH.values()):
        parts += ["## DANK by the paper's rule for a batch", text(GROUP, "batch")]
        parts += [_measured(BY_BATCH, results, PLAIN)]
    parts += ["## Averages over the sets", text(GROUP, "averages")]
    parts += [_averages(_ways(learned, [*ETAS]), results)]
    for who in compared:
        parts += _tests(who, results)
    return _framed(study, results, *parts)


def _settings(compared: Sequence[str], results: Results) -> str:
    """List the measured columns with the papers' settings, and those with another rule."""
    others = [_words(who, results) for who in compared if who.endswith("reciprocal")]
    papers = [_words(who, results) for who in compared if not who.endswith("reciprocal")]
    notes = [f"with the papers' settings: {'; '.join(papers)}"] if papers else []
    notes += [f"with another rule than the paper's: {'; '.join(others)}"] if others else []
    return "; ".join(notes)


def ranked(study: Study, results: Results) -> list[str]:
    """Return the table on the rank of F, and the same with the selected rule."""
    ways = {
        f"tau = {tau}": f"dank-taus:{tau}/{CHOSEN}" for tau in ("0", "0.001", "0.01", "0.1", "1")
    }
    return _framed(
        study, results, *_printed(study, results, text(GROUP, "ranked"), AT_REFERENCE),
        "## The same with the rule selected by cross-validation",
        _measured(ways, results, ways["tau = 0.01"]),
    )  # fmt: skip


def _printed(study: Study, results: Results, measured: str, reference: str) -> Iterator[str]:
    """Yield the paper's tables, each cell paper / measured."""
    unit = "Accuracy in per cent" if results.sets_of("classification") else "1 - R2"
    against = "SVM-CV" if reference == PLAIN else "tau = 0.01"
    yield "## Paper / measured"
    yield text(GROUP, "legend", unit=unit, measured=measured, against=against)
    quantities = next(iter(printed(study.name).values()))
    for quantity in quantities:
        training = quantity.startswith("training")

        def show(name: str, shown: Shown, training: bool = training) -> str:
            part = "train" if training else "test"
            found = md.spread(results.values(name, shown.who, part), _digits(results))
            if "rank" in results.found(name, shown.who):
                found += f" ({results.numbers(name, shown.who, 'rank').mean():.0f})"
            return found + md.mark(0 if training else _side(results, name, shown.who, reference))

        yield from ([f"On the training rows: {quantity.split()[-1]}"] if training else [])
        yield md.comparison_table(study, results, quantity, show)


def _side(results: Results, name: str, who: str, reference: str) -> int:
    """Return 1 or -1 if a score is significantly better or worse than the reference's, else 0."""
    return 0 if who == reference else results.gain(name, who, reference).significant


def _measured(ways: dict[str, str], results: Results, reference: str) -> str:
    return md.score_table(
        results, ways, _digits(results), lambda name, who: _side(results, name, who, reference)
    )


def _ways(contestants: Sequence[str], etas: Sequence[str]) -> list[str]:
    rules = (*RULES, CHOSEN)
    return [f"{who}:{eta}/{rule}" for who in contestants for eta in etas for rule in rules]


def _tests(who: str, results: Results) -> Iterator[str]:
    """Yield the paired tests of a paper's method against the plain model."""
    name = who.partition(":")[0]
    yield f"## {results.titles[name]}: tests against SVM-CV"
    yield text(GROUP, "tests")
    own = [] if who.endswith(BATCH) else [f"{name}:{TUNED}/{CHOSEN}"]
    for each in dict.fromkeys([who, *own]):
        rows = [
            {
                "set": name,
                "gain over SVM-CV": f"{gain.mean:.{_digits(results) + 1}f}",
                "t": md.p_text(gain.p_value),
                "corrected t": md.p_text(gain.corrected_p),
                "Wilcoxon": md.p_text(gain.wilcoxon_p),
                "better–equal–worse": md.NONE
                if gain.p_value is None
                else "–".join(map(str, gain.splits)),
            }
            for name, gain in results.compared(each, PLAIN).items()
        ]
        yield f"{_words(each, results)}:\n\n{md.table(rows)}"


def _averages(ways: Sequence[str], results: Results) -> str:
    """Return a table with a row for each way to choose, over the sets of each task."""
    tasks = {task: results.sets_of(task) for task in SCORES if results.sets_of(task)}
    rows = [_named(who, results) for who in ways]
    for task, sets in tasks.items():
        for row, overall in zip(rows, results.overall(ways, sets, PLAIN), strict=True):
            row.update(_overall(task, len(sets), overall))
    if len(tasks) > 1:
        ranks = results.ranks(ways, results.sets).mean(axis=1)
        for row, rank in zip(rows, ranks, strict=True):
            row["rank, all sets"] = f"{rank:.2f}"
    return md.table(rows)


def _overall(task: str, count: int, overall: Overall) -> md.Row:
    digits = 2 if task == "classification" else 4
    head = f"{SCORES[task]}, {count} sets"
    return {
        head: f"{overall.mean:.{digits}f}",
        f"{SCORES[task]}: gain": f"{overall.gain:.{digits}f}",
        f"{SCORES[task]}: rank": f"{overall.rank:.2f}",
        f"{SCORES[task]}: better / worse": f"{overall.better} / {overall.worse}",
        f"{SCORES[task]}: p": md.p_text(overall.p_value),
    }


def defaults(study: Study, results: Results) -> list[str]:
    """Return a table for each method and setting of eta, and the best rows."""
    parts = ["## Averages over the sets", text(GROUP, "averages")]
    danks = [who for who in results.titles if who.startswith("dank")]
    for method, contestants in {"DANK": danks, "KNPL": ["knpl"]}.items():
        for eta in ETAS:
            ways = _ways(contestants, [eta])
            parts += [f"### {method}, eta {eta}", _averages(ways, results), _first(ways, results)]
    return _framed(study, results, *parts)


def _first(ways: Sequence[str], results: Results) -> str:
    """Name the variants with a fixed rule that are best by each average."""
    ways = [who for who in ways if not who.endswith(CHOSEN)]
    ranks = results.ranks(ways, results.sets).mean(axis=1)
    best = [f"best mean rank over all sets: {_words(ways[int(ranks.argmin())], results)}"]
    for task, score in SCORES.items():
        if names := results.sets_of(task):
            gains = [
                np.mean([results.sign(name) * results.mean(name, who) for name in names])
                for who in ways
            ]
            best.append(f"best mean {score}: {_words(ways[int(np.argmax(gains))], results)}")
    return f"Among these variants, without *chosen*: {'; '.join(best)}."
