"""The studies as Markdown pages."""

from __future__ import annotations

from papers.document import Document
from papers.local.bars import bars
from papers.local.cells import (
    differences,
    printed_table,
    score_table,
    seeds,
    support,
    times,
    wins,
)
from papers.local.notes import (
    DRAWS,
    MARKS,
    PAIRED,
    SEEDS,
    TIMES,
    TOMS_HARDWARE,
    bars_note,
    protocol_note,
    set_notes,
)
from papers.local.protocol import LocalProtocol
from papers.local.results import Results
from papers.local.studies import CLASSIFICATION, DEFAULTS, TABLES, LocalStudy
from papers.rendering import left_out, provenance
from pliant.comparison import LATER

__all__ = ["page"]

PARKINSON = "parkinsons_total"


def page(document: Document, study: LocalStudy, protocol: LocalProtocol) -> str:
    """Return the page of a study."""
    results = Results(document)
    middle = {TABLES.name: _tables, DEFAULTS.name: _defaults, CLASSIFICATION.name: _classes}
    parts = [
        f"# {study.title}\n",
        protocol_note(study, protocol, document["repeats"]),
        left_out(study.sets, document),
        DRAWS if study.name == TABLES.name else "",
        *bars_note(bars(study.name, results, study.sets)),
        *middle[study.name](results, study, protocol),
        "## Time of training\n",
        TIMES,
        times(results),
        "## Notes\n",
        set_notes(results) + (TOMS_HARDWARE if study.name == TABLES.name else ""),
        provenance(document),
    ]
    return "\n".join(part for part in parts if part)


def _tables(results: Results, study: LocalStudy, protocol: LocalProtocol) -> list[str]:
    """Tables 1 and 3 with the paper's numbers, the peers measured here, Table 2."""
    return [
        "## Tables 1 and 3: test R2, paper / measured\n",
        "The paper's numbers are means of 50 splits. RBF KRR and Falkon stand beside the kernel "
        f"ridge and the Nystroem ridge that are measured here. *{LATER}*: not measured yet; –: "
        "not in the paper.\n",
        printed_table(results),
        *_scores(results, study),
        "## Table 2: support points\n",
        "Mean over the splits, of the paper's methods and of those measured.\n",
        support(results),
        *_parkinson(results, protocol),
        *_against(results),
    ]


def _parkinson(results: Results, protocol: LocalProtocol) -> list[str]:
    if PARKINSON not in results.sets:
        return []
    table = seeds(
        results, PARKINSON, protocol.first_seed, ("paper-lab-one-draw", "paper-lab", "lab")
    )
    return [f"## {PARKINSON}, split by split\n", SEEDS, table]


def _defaults(results: Results, study: LocalStudy, protocol: LocalProtocol) -> list[str]:
    """The scores of all contestants and who wins."""
    return [*_scores(results, study), *_against(results)]


def _scores(results: Results, study: LocalStudy) -> list[str]:
    first = study.contestants[0].title
    table = score_table(results, _entered(study))
    return ["## Test R2\n", MARKS.format(first=first) + "\n", table]


def _against(results: Results, part: str = "test") -> list[str]:
    first = next(iter(results.titles.values()))
    return [
        "## Wins, ties and losses\n",
        wins(results, part),
        "## Paired differences\n",
        PAIRED.format(first=first),
        *differences(results, part),
    ]


def _classes(results: Results, study: LocalStudy, protocol: LocalProtocol) -> list[str]:
    """Accuracy and log loss."""
    entered, first = _entered(study), study.contestants[0].title
    return [
        "## Accuracy\n",
        MARKS.format(first=first) + "\n",
        score_table(results, entered),
        "## Log loss\n",
        "Likewise; lower is better.\n",
        score_table(results, entered, "log_loss", 3),
        *_against(results),
        "Of the log loss, positive where it is lower:\n",
        *differences(results, "log_loss", 3),
    ]


def _entered(study: LocalStudy) -> dict[str, tuple[str, ...]]:
    return {each.contestant.name: each.sets for each in study.entries}
