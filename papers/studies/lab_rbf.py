"""LAB-RBF: Tables 1, 2 and 3, its defaults beside other regressors, and its classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from papers import page as md
from papers.data import paper_sets, printed, text
from papers.results import Gain, Results
from papers.studies.bars import LAB, bars
from papers.study import Study
from pliant.comparison import Column

GROUP = "lab"

NOT_INSTALLED = "not installed"

PARKINSON = "parkinsons_total"

PRINTED_AS = {
    "paper-lab": LAB,
    "paper-lab-one-draw": LAB,
    "krr": "RBF KRR",
    "nystroem": "Falkon",
    "nystroem-paper": "Falkon",
    "tl1-euclidean": "TL1 KRR",
    "tl1": "TL1 KRR",
    "r-svr-mkl": "R-SVR-MKL",
    "svr-mkl": "SVR-MKL",
    "mlp-deep": "ResNet",
    "mlp-wide": "WNN",
}
"""The paper's name of the method that a contestant stands beside."""

WINS = (
    Column("sets"),
    Column("mean", "by the mean"),
    Column("rule", "beyond one standard error"),
    Column("corrected", "beyond one corrected error"),
)


def sections(
    study: Study, results: Results, middle: Callable[[Study, Results], Iterator[str]]
) -> list[str]:
    """Return the protocol, the bars, the middle, the times and the notes of a page."""
    lines, draws = "\n".join(map(str, bars(study, results))), study.beside.printed
    return [
        _protocol(study, results),
        md.contestants_note(study),
        md.left_out(study, results),
        text(GROUP, "draws") if draws else "",
        *(["## What was asked for", lines] if lines else []),
        *middle(study, results),
        "## Time of training",
        text(GROUP, "times"),
        _times(results),
        "## Notes",
        "\n".join([notes(study, results), *([text(GROUP, "toms_hardware")] if draws else [])]),
    ]


def _protocol(study: Study, results: Results) -> str:
    held = results.held["protocol"]
    testing, first = round(100 * held["test_size"]), held["first_seed"]
    classes = any(results.sets_of("classification"))
    return text(
        GROUP, "protocol", repeats=results.repeats, first=first, last=first + results.repeats - 1,
        training=100 - testing, testing=testing, stratified=", stratified" if classes else "",
        target="" if classes else " and the target",
        score="accuracy and log loss" if classes else "R2",
    )  # fmt: skip


def notes(study: Study, results: Results) -> str:
    """List what is particular to a set."""

    def few(name: str) -> list[str]:
        shortened = ", ".join(f"{title} on the first {k}" for title, k in md.fewer(results, name))
        return [f"measured on fewer splits: {shortened}"] if shortened else []

    return md.set_notes(study, results, few, by_contestant=True)


def tables(study: Study, results: Results) -> Iterator[str]:
    """Return Tables 1 and 3 with the paper's numbers, the measured peers, and Table 2."""
    yield from ("## Tables 1 and 3: test R2, paper / measured", text(GROUP, "printed"))
    yield _printed(results)
    yield from _scores(study, results)
    yield from ("## Table 2: support points", text(GROUP, "support"), _support(results))
    if PARKINSON in results.sets:
        yield from (f"## {PARKINSON}, split by split", text(GROUP, "seeds"), _seeds(results))
    yield from _against(results)


def defaults(study: Study, results: Results) -> Iterator[str]:
    """Return the scores of all contestants, and who wins."""
    yield from _scores(study, results)
    yield from _against(results)


def classes(study: Study, results: Results) -> Iterator[str]:
    """Return accuracy and log loss."""
    yield from ("## Accuracy", text(GROUP, "marks", first=study.contestants[0].title))
    yield _score_table(study, results)
    yield from ("## Log loss", "Likewise; lower is better.")
    yield _score_table(study, results, "log_loss", 3)
    yield from _against(results)
    yield "Of the log loss, positive where it is lower:"
    yield from md.differences(results, _gains(results, "log_loss"), lambda name: 3)


def _gains(results: Results, part: str = "test") -> dict[str, dict[str, Gain]]:
    """Return the gains of the first contestant, in R2 or accuracy, or by a lower log loss."""
    first, *peers = results.all_titles
    signs = dict.fromkeys(results.sets, -1.0 if part == "log_loss" else 1.0)
    return {peer: results.compared(first, peer, part, signs) for peer in peers}


def _scores(study: Study, results: Results) -> list[str]:
    first = study.contestants[0].title
    return ["## Test R2", text(GROUP, "marks", first=first), _score_table(study, results)]


def _score_table(study: Study, results: Results, part: str = "test", digits: int = 4) -> str:
    """Mean ± standard deviation of every contestant on every set, marked against the first."""
    gains = _gains(results, part)
    rows: list[md.Row] = []
    for name in results.sets:
        row: md.Row = {"set": name}
        for entry in study.entries:
            who = entry.contestant.name
            side = -gains[who][name].verdict if name in gains.get(who, ()) else 0
            absent = NOT_INSTALLED if entry.contestant.package else md.LATER
            missing = absent if name in entry.sets else md.NONE
            row[entry.contestant.title] = (
                md.spread(results.values(name, who, part), digits) + md.mark(side)
                if results.has(name, who)
                else missing
            )
        rows.append(row)
    return md.table(rows)


def _against(results: Results) -> list[str]:
    first, gains = next(iter(results.all_titles.values())), _gains(results)
    return [
        "## Wins, ties and losses",
        md.wins(results, gains, WINS),
        "## Paired differences",
        text(GROUP, "paired", first=first),
        *md.differences(results, gains, lambda name: 4),
    ]


def _printed(results: Results) -> str:
    """Paper / measured: our models, what stands beside a method of the paper, and the others."""
    paper = printed("lab-rbf-tables-1-2")
    shown = {who: method for who, method in PRINTED_AS.items() if who in results.titles}
    others = [m for m in paper["Tecator"]["R2"] if m not in shown.values()]
    rows: list[md.Row] = []
    for name in results.sets:
        row_name = paper_sets(GROUP)[name].printed or ""
        cells = paper[row_name]["R2"]
        row: md.Row = {"set": name, "paper's name": row_name}
        for who, method in shown.items():
            there = results.has(name, who)
            measured = md.spread(results.values(name, who), 4) if there else md.NONE
            row[f"{method} / {results.titles[who]}"] = f"{cells.get(method, md.NONE)} / {measured}"
        row |= {m: f"{cells[m]} / {md.LATER}" if m in cells else md.NONE for m in others}
        rows.append(row)
    return md.table(rows)


def _support(results: Results) -> str:
    """Support points, the paper's and those measured."""
    held = {each["name"]: each for each in results.held["contestants"]}
    limits = {"nystroem": held["nystroem"]["centres"], "krr": held["krr"]["most_rows"]}
    rows: list[md.Row] = []
    for name in results.sets:
        cells = printed("lab-rbf-tables-1-2")[paper_sets(GROUP)[name].printed or ""]
        points, row = cells["support points"], md.Row(set=name)
        methods = ("R-SVR-MKL", "SVR-MKL", "Falkon", LAB)
        row |= {f"{method} (paper)": points.get(method, md.NONE) for method in methods}
        for who in ("paper-lab", "lab", "svr", "r-svr-mkl", "svr-mkl"):
            if who in results.titles:
                there = results.has(name, who)
                count = results.numbers(name, who, "support").mean() if there else None
                row[results.titles[who]] = md.NONE if count is None else f"{count:.0f}"
        n_train = results.group(name, "krr")["n_train"]
        row |= {results.titles[who]: f"{min(most, n_train)}" for who, most in limits.items()}
        rows.append(row)
    return md.table(rows)


def _seeds(results: Results) -> str:
    """The score on every split, one column a contestant; then the least and the mean."""
    first = results.held["protocol"]["first_seed"]
    labels = [*(str(first + k) for k in range(results.repeats)), "least", "mean"]
    rows: list[md.Row] = [{"seed": label} for label in labels]
    for who in ("paper-lab-one-draw", "paper-lab", "lab"):
        title, values = results.titles[who], results.values(PARKINSON, who)
        for repeat, value in zip(results.group(PARKINSON, who)["repeat"], values, strict=True):
            rows[repeat][title] = f"{value:.4f}"
        rows[-2][title] = f"{values.min():.4f}"
        rows[-1][title] = f"{values.mean():.4f}"
    return md.table(rows)


def _times(results: Results) -> str:
    """Process seconds of the fit, and in brackets of the choice of parameters."""
    rows: list[md.Row] = []
    for name in results.sets:
        row: md.Row = {"set": name, "train × d": md.shape(results, name)}
        for who, title in results.all_titles.items():
            row[title] = md.NONE
            if results.has(name, who):
                fit, choice = (
                    results.numbers(name, who, f"{part}_seconds").mean()
                    for part in ("fit", "tuning")
                )
                row[title] = f"{fit:.2f}" + (f" ({choice:.1f})" if choice >= 0.05 else "")
        rows.append(row)
    return md.table(rows)
