"""Tables 3, 4 and 5 of SCG, and our study of embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from papers.document import Document
from papers.overview.agreement import QUANTITIES, Agreement
from papers.overview.estimate import Estimate
from papers.side_information.cells import MEASURED_AS
from papers.side_information.peer import DIMENSIONS, variant
from papers.side_information.printed import EXTENSION, LARGE, SMALL, Cells, cell
from papers.side_information.results import Results
from papers.side_information.studies import EMBEDDING, TABLE_3, TABLE_4

__all__ = ["cells"]

REPEATS = 20
"""Of the paper."""

PAPER = "SCG"

PLAIN, BASELINE = "gaussian", "tuned Gaussian SVM"

EMBEDDER, FISHER = "scg-ldk", ("kernel-fisher", "kernel Fisher discriminants, tuned")

PARTS = {"unlabelled": "unlabelled points", "test": "later points"}
"""The columns of Table 4."""


def cells(document: Document, documents: Mapping[str, Document]) -> list[Agreement]:
    """Return the cells of a study."""
    results, study = Results(document), document["table"]
    if study == EMBEDDING.name:
        return list(_embedded(results))
    if study == TABLE_4.name:
        return list(_extended(results))
    printed, place = (SMALL, "Table 3") if study == TABLE_3.name else (LARGE, "Table 5")
    return list(_compared(study, place, printed, results))


def _compared(study: str, place: str, printed: Cells, results: Results) -> Iterator[Agreement]:
    """Return accuracy and seconds of a table of several methods."""
    for name, row in printed.items():
        base = _accuracy(results, name, PLAIN)
        for method, text in row.items():
            accuracy, seconds = (Estimate.printed(part, REPEATS) for part in cell(text))
            who = MEASURED_AS.get(method, "")
            beside = (None, "") if who == PLAIN or base is None else (base, BASELINE)
            about = (study, PAPER, place, name)
            found = _accuracy(results, name, who)
            yield Agreement(*about, "accuracy", method, accuracy, found, *beside)
            if seconds is not None:
                yield Agreement(*about, "seconds", method, seconds, _seconds(results, name, who))


def _accuracy(results: Results, name: str, who: str, part: str | None = None) -> Estimate | None:
    if not results.has(name, who):
        return None
    return Estimate.of(results.accuracy(name, who, part), QUANTITIES["accuracy"].form)


def _seconds(results: Results, name: str, who: str) -> Estimate | None:
    """Return the median time, as the page of the study does."""
    if not results.has(name, who):
        return None
    median = results.seconds(name, who)
    repeats = len(results.chosen(name, who, "kernel_seconds"))
    return Estimate(median, None, repeats, format(median, QUANTITIES["seconds"].form))


def _extended(results: Results) -> Iterator[Agreement]:
    """Return Table 4, which has no baseline."""
    (who,) = results.titles
    for name, row in EXTENSION.items():
        for part, title in PARTS.items():
            said = Estimate.printed(row[part], REPEATS)
            found = _accuracy(results, name, who, part)
            yield Agreement(
                TABLE_4.name, PAPER, "Table 4", name, "accuracy", f"SCG-LDK, {title}", said, found
            )


def _embedded(results: Results) -> Iterator[Agreement]:
    """Return the learned embedding beside the strongest peer, in each number of dimensions."""
    peer, title = FISHER
    for name in results.sets:
        for d in DIMENSIONS:
            found, base = (
                Estimate.of(results.accuracy(name, who, variant=variant(d)), ".1f")
                for who in (EMBEDDER, peer)
            )
            yield Agreement(
                EMBEDDING.name, PAPER, "our study of embeddings", f"{name}, {variant(d)}",
                "accuracy", results.titles[EMBEDDER], None, found, base, title,
            )  # fmt: skip
