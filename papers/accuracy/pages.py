"""The study as a Markdown page: both tables, who wins, the paired differences, the cost."""

from __future__ import annotations

from papers.accuracy.cells import (
    NONE,
    decimals,
    gain_cells,
    paper,
    score_text,
    titles_of,
)
from papers.accuracy.costs import chosen, times
from papers.accuracy.notes import PAIRED, RULE, aim_note, protocol_note, set_notes
from papers.accuracy.printed import LATER_METHODS, printed_cells
from papers.accuracy.protocol import AccuracyProtocol
from papers.accuracy.sets import SETS
from papers.accuracy.standing import gain, standings
from papers.document import Document
from papers.rendering import left_out, provenance
from papers.scores import Scores
from pliant.comparison import LATER, Column, markdown_table
from pliant.comparison.rendering import Cell

__all__ = ["page"]

TABLES = {
    "regression": "Table 3: mean squared error of regression, in the units of the target",
    "classification": "Table 4: accuracy of classification, in per cent",
}


def page(study: Document, protocol: AccuracyProtocol) -> str:
    """Return the page of a study that was measured by a protocol."""
    scores = Scores(study)
    tasks = [task for task in TABLES if scores.sets(task)]
    return "\n".join(part for part in [
        "# TKL, Tables 3 and 4: accuracy beside forests, boosting and a Gaussian kernel\n",
        protocol_note(study, protocol),
        left_out(list(SETS), study),
        *_standing(study, scores),
        *(part for task in tasks for part in _table(task, study, scores)),
        *_differences(study, scores),
        *times(study, scores),
        *chosen(study, scores),
        "## Notes\n",
        set_notes(study, scores),
        provenance(study),
    ] if part)  # fmt: skip


def _standing(study: Document, scores: Scores) -> list[str]:
    """Wins, ties and losses of the first contestant against each other one."""
    first, *peers = titles = titles_of(study)
    counts = {
        peer: standings([gain(scores, name, first, peer) for name in scores.sets()])
        for peer in peers
    }
    rows: list[dict[str, Cell]] = [
        {"peer": titles[peer]} | {key: str(count) for key, count in found.items()}
        for peer, found in counts.items()
    ]
    columns = [
        Column("peer", "TKL against"),
        Column("rule", "wins–ties–losses"),
        Column("corrected", "with the corrected error"),
        Column("mean", "by the mean"),
    ]
    title = f"## Wins, ties and losses over {len(scores.sets())} sets\n"
    complete = set(scores.sets()) == set(SETS) and "forest" in counts
    aim = [aim_note(counts["forest"]["rule"])] if complete else []
    return [title, RULE, markdown_table(rows, columns), *aim]


def _table(task: str, study: Document, scores: Scores) -> list[str]:
    """One of the paper's tables, each cell paper / measured."""
    return [
        f"## {TABLES[task]}\n",
        "Paper / measured, mean ± standard deviation over the splits. Marked • are measured "
        f"numbers better, ∘ worse than TKL's by the rule. *{LATER}*: not measured yet; {NONE}: not "
        "in the paper.\n",
        markdown_table([_row(name, study, scores) for name in scores.sets(task)]),
    ]


def _row(name: str, study: Document, scores: Scores) -> dict[str, Cell]:
    first, *peers = titles = titles_of(study)
    digits = decimals(scores, name, first)
    row: dict[str, Cell] = {"set": name}
    for contestant, title in titles.items():
        side = -gain(scores, name, first, contestant).verdict if contestant in peers else 0
        measured = score_text(scores, name, contestant, digits, side)
        row[title] = f"{paper(name, contestant)} / {measured}"
    printed = printed_cells().get(name, {})
    return row | {key: f"{printed[key]} / {LATER}" for key in LATER_METHODS if printed.get(key)}


def _differences(study: Document, scores: Scores) -> list[str]:
    """The paired differences, one table for each peer."""
    first, *peers = titles = titles_of(study)
    columns = [
        *map(Column, ("set", "gain")),
        Column("error", "standard error"),
        Column("corrected", "corrected error"),
        *map(Column, ("p", "corrected p")),
        Column("splits", "better–equal–worse"),
        Column("verdict"),
    ]
    parts = ["## Paired differences\n", PAIRED]
    for peer in peers:
        rows: list[dict[str, Cell]] = [
            {"set": name}
            | gain_cells(gain(scores, name, first, peer), decimals(scores, name, first) + 1)
            for name in scores.sets()
        ]
        parts += [f"TKL against {titles[peer]}:\n", markdown_table(rows, columns)]
    return parts
