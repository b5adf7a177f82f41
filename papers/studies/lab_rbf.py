"""LAB-RBF: Tables 1, 2 and 3, its defaults compared with other regressors, and its classifier."""

from __future__ import annotations

from papers import page as md
from papers.data import printed, text
from papers.results import Results
from papers.study import Shown, Study

GROUP = "lab"

PARKINSON = "parkinsons_total"


def _framed(study: Study, results: Results, *middle: str) -> list[str]:
    """Return the protocol, the middle, the times and the notes."""
    held, draws = study.protocol, study.comparison.printed
    testing, first = round(100 * held.test_size), held.first_seed
    classes = any(results.sets_of("classification"))
    protocol = text(
        GROUP, "protocol", repeats=results.repeats, first=first, last=first + results.repeats - 1,
        training=100 - testing, testing=testing, stratified=", stratified" if classes else "",
        target="" if classes else " and the target",
        score="accuracy and log loss" if classes else "R2",
    )  # fmt: skip

    def seconds(name: str, who: str) -> str:
        fit, choice = (
            results.numbers(name, who, f"{part}_seconds").mean() for part in ("fit", "tuning")
        )
        return f"{fit:.2f}" + (f" ({choice:.1f})" if choice >= 0.05 else "")

    gains = md.gains_of_first(results)
    against = [
        *("## Wins, ties and losses", md.wins(results, gains), "## Paired differences"),
        text(GROUP, "paired", first=study.contestants[0].title),
        *md.differences(results, gains, lambda name: 4),
    ]
    return [
        protocol,
        md.contestants_note(study),
        md.left_out(study, results),
        text(GROUP, "draws") if draws else "",
        *middle,
        *against,
        *("## Time of training", text(GROUP, "times"), md.times_table(study, results, seconds)),
        "## Notes",
        md.set_notes(study, results),
    ]


def tables(study: Study, results: Results) -> list[str]:
    """Return Tables 1 and 3 with the paper's numbers, the measured peers, and Table 2."""

    def show(name: str, shown: Shown) -> str:
        return md.spread(results.values(name, shown.who), 4)

    seeds = [f"## {PARKINSON}, split by split", text(GROUP, "seeds")]
    return _framed(
        study, results,
        *("## Tables 1 and 3: test R2, paper / measured", text(GROUP, "printed")),
        md.comparison_table(study, results, "R2", show),
        *_scores(study, results, "Test R2"),
        *("## Table 2: support points", text(GROUP, "support"), _support(study, results)),
        *([*seeds, _seeds(results)] if PARKINSON in results.sets else []),
    )  # fmt: skip


def defaults(study: Study, results: Results) -> list[str]:
    """Return the scores of all contestants, and their wins."""
    return _framed(study, results, *_scores(study, results, "Test R2"))


def classes(study: Study, results: Results) -> list[str]:
    """Return accuracy and log loss."""
    losses = md.gains_of_first(results, "log_loss")
    return _framed(
        study, results, *_scores(study, results, "Accuracy"),
        *_scores(study, results, "Log loss: lower is better", "log_loss", 3),
        "Differences of the log loss, positive if LAB-RBF's is lower:",
        *md.differences(results, losses, lambda name: 3),
    )  # fmt: skip


def _scores(
    study: Study, results: Results, title: str, part: str = "test", digits: int = 4
) -> list[str]:
    """Return mean ± standard deviation of all contestants, with marks against the first."""
    gains = md.gains_of_first(results, part)

    def side(name: str, who: str) -> int:
        return -gains[who][name].verdict if name in gains.get(who, ()) else 0

    ways = {heading: who for who, heading in study.titles.items()}
    marks = text(GROUP, "marks", first=study.contestants[0].title)
    return [f"## {title}", marks, md.score_table(results, ways, digits, side, part)]


def _support(study: Study, results: Results) -> str:
    """Return the support points of the paper and the measured ones."""
    by_name = {each.name: each for each in study.contestants}
    limits = {"nystroem": by_name["nystroem"].centres, "krr": by_name["krr"].fit_rows}
    rows = []
    for name in results.sets:
        points = printed(study.name)[study.chosen(name).printed or ""]["support points"]
        row = {"set": name}
        for method in ("R-SVR-MKL", "SVR-MKL", "Falkon", "LAB RBF"):
            row[f"{method} (paper)"] = points.get(method, md.NONE)
        for who in ("best-draw", "printed", "lab", "svr", "r-svr-mkl", "svr-mkl"):
            there = who in results.titles and results.has(name, who)
            count = results.numbers(name, who, "support").mean() if there else None
            row[study.titles[who]] = md.NONE if count is None else f"{count:.0f}"
        n_train = results.groups(name)[0]["n_train"]
        row |= {study.titles[who]: f"{min(most, n_train)}" for who, most in limits.items()}
        rows.append(row)
    return md.table(rows)


def _seeds(results: Results) -> str:
    """Return the score on every split, one column per contestant, then minimum and mean."""
    first = results.study.protocol.first_seed
    labels = [*(str(first + k) for k in range(results.repeats)), "least", "mean"]
    rows = [{"seed": label} for label in labels]
    for who in ("one-draw", "best-draw", "lab"):
        values = results.values(PARKINSON, who)
        for row, value in zip(rows, values, strict=False):
            row[results.titles[who]] = f"{value:.4f}"
        rows[-2][results.titles[who]] = f"{values.min():.4f}"
        rows[-1][results.titles[who]] = f"{values.mean():.4f}"
    return md.table(rows)
