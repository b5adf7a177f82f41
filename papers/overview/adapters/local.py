"""Tables 1 and 3 of LAB-RBF, and the two studies of our own on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from papers.document import Document
from papers.local.printed import ELSEWHERE, LAB, PRINTED_AS, R2
from papers.local.results import Results
from papers.local.sets import SETS
from papers.local.studies import CLASSIFICATION, DEFAULTS, TABLES
from papers.overview.agreement import QUANTITIES, Agreement
from papers.overview.estimate import Estimate

__all__ = ["cells"]

REPEATS = 50
"""Of the paper."""

PAPER = "LAB-RBF"

BASELINE = {
    TABLES.name: ("tuned-boosting", "tuned gradient boosting"),
    DEFAULTS.name: ("tuned-boosting", "tuned gradient boosting"),
    CLASSIFICATION.name: ("svc", "tuned Gaussian SVM"),
}
"""The contestant that each study measures itself by."""

LARGE = ("Electrical", "KC House", "TomsHardware")
"""The sets of Table 3; the others are in Table 1."""


def cells(document: Document, documents: Mapping[str, Document]) -> list[Agreement]:
    """Return the cells of a study."""
    results = Results(document)
    if document["table"] == TABLES.name:
        return [*_printed(results), *_elsewhere(results)]
    return list(_own(document["table"], results))


def _printed(results: Results) -> Iterator[Agreement]:
    """Return what stands beside a method of the paper."""
    for name in results.sets:
        row = SETS[name].printed or ""
        base, title = _baseline(TABLES.name, results, name)
        for who, method in PRINTED_AS.items():
            said = Estimate.printed(R2[method].get(row, ""), REPEATS)
            if said is None or not results.has(name, who):
                continue
            shown = f"{LAB}: {results.titles[who]}" if method == LAB else method
            found = Estimate.of(results.values(name, who), QUANTITIES["R2"].form)
            yield Agreement(
                TABLES.name, PAPER, _place(row), name, "R2", shown, said, found, base, title
            )


def _elsewhere(results: Results) -> Iterator[Agreement]:
    """Return the paper's cells of methods, and of a set, that are not measured."""
    names = {SETS[name].printed: name for name in TABLES.sets}
    for method, cells_of in R2.items():
        for row, text in cells_of.items():
            if method in ELSEWHERE or row not in names:
                said = Estimate.printed(text, REPEATS)
                yield Agreement(
                    TABLES.name, PAPER, _place(row), names.get(row, row), "R2", method, said, None
                )


def _own(study: str, results: Results) -> Iterator[Agreement]:
    """Return the first contestant on every set, beside the baseline of the study."""
    who, method = next(iter(results.titles.items()))
    classes = study == CLASSIFICATION.name
    quantity = "accuracy" if classes else "R2"
    place = "our study of classification" if classes else "our study of the defaults"
    for name in results.sets:
        base, title = _baseline(study, results, name)
        found = _estimate(results, name, who, quantity)
        yield Agreement(
            study, PAPER, place, name, quantity, f"{method}, defaults", None, found, base, title
        )


def _baseline(study: str, results: Results, name: str) -> tuple[Estimate | None, str]:
    who, title = BASELINE[study]
    if not results.has(name, who):
        return None, ""
    return _estimate(
        results, name, who, "accuracy" if study == CLASSIFICATION.name else "R2"
    ), title


def _estimate(results: Results, name: str, who: str, quantity: str) -> Estimate:
    scale = 100.0 if quantity == "accuracy" else 1.0
    return Estimate.of(scale * results.values(name, who), QUANTITIES[quantity].form)


def _place(row: str) -> str:
    return "Table 3" if row in LARGE else "Table 1"
