"""Tables 3 and 4 of TKL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from papers.accuracy.printed import LATER_METHODS, NAME, PRINTED_AS, printed_cells
from papers.accuracy.standing import way
from papers.accuracy.study import TUNED
from papers.document import Document
from papers.overview.agreement import QUANTITIES, Agreement
from papers.overview.estimate import Estimate
from papers.scores import Scores

__all__ = ["cells"]

REPEATS = 5
"""Of the paper."""

PLAIN, BASELINE = "svm", "tuned Gaussian SVM or SVR"


def cells(document: Document, documents: Mapping[str, Document]) -> list[Agreement]:
    """Return the cells of both tables."""
    scores = Scores(document)
    return [cell for name in scores.sets() for cell in _row(scores, name)]


def _row(scores: Scores, name: str) -> Iterator[Agreement]:
    regression = name in scores.sets("regression")
    quantity = "mean squared error" if regression else "accuracy"
    printed = printed_cells().get(name, {})
    place = ("Table 3" if regression else "Table 4") if printed else "not in its tables"
    about = (NAME, "TKL", place, name)
    base = Estimate.of(scores.values(name, way(PLAIN)), QUANTITIES[quantity].form)
    for contestant, method in PRINTED_AS.items():
        said = Estimate.printed(printed.get(method, ""), REPEATS)
        if said is None and contestant != "tkl":
            continue
        found = Estimate.of(scores.values(name, way(contestant)), QUANTITIES[quantity].form)
        yield Agreement(*about, quantity, method, said, found, base, BASELINE)
        if said is not None:
            yield _seconds(scores, contestant, method, printed, about)
    for method in LATER_METHODS:
        if (said := Estimate.printed(printed.get(method, ""), REPEATS)) is not None:
            yield Agreement(*about, quantity, method, said, None)


def _seconds(
    scores: Scores,
    contestant: str,
    method: str,
    printed: Mapping[str, str],
    about: tuple[str, str, str, str],
) -> Agreement:
    """Return the time of the last fit."""
    name = about[-1]
    seconds = scores.result(name, contestant)["variants"][TUNED]["fit_seconds"]
    found = Estimate.of(seconds, QUANTITIES["seconds"].form)
    said = Estimate.printed(printed[f"{method} seconds"], REPEATS)
    return Agreement(*about, "seconds", method, said, found)
