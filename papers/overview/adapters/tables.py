"""The tables of DANK and KNPL, and the study that chose their defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from papers.contestants import CONTESTANTS
from papers.document import Document
from papers.overview.agreement import QUANTITIES, Agreement
from papers.overview.estimate import Estimate
from papers.printed import Printed, printed_table
from papers.scores import PLAIN, Scores, Way
from papers.tables import TABLES, PaperTable
from papers.tuning import FIXED, variant

__all__ = ["cells"]

REPEATS = 10
"""Of both papers."""

BASELINE = {"classification": "tuned Gaussian SVM", "regression": "tuned Gaussian SVR"}

BASELINE_IN = {"dank-table-5": "dank-table-1"}
"""Studies without the plain machine, and the study on the same splits that has it."""

DEFAULTS = (
    Way("dank-0.01", variant(FIXED, "smooth")),
    Way("knpl", variant(FIXED, "smooth")),
)
"""The defaults of the estimators."""


def cells(document: Document, documents: Mapping[str, Document]) -> list[Agreement]:
    """Return the cells of a table."""
    table, scores = TABLES[document["table"]], Scores(document)
    plain = _plain(table, scores, documents)
    if not table.measured:
        return list(_own(table, scores, plain))
    return [
        cell
        for name, row in printed_table(table.name).items()
        for heading, printed in row.items()
        for cell in _cell(table, scores, plain, name, heading, printed)
    ]


def _plain(table: PaperTable, scores: Scores, documents: Mapping[str, Document]) -> Scores | None:
    """Return the scores that hold the plain machine, if any do."""
    other = BASELINE_IN.get(table.name)
    if other is None:
        return scores
    return Scores(documents[other]) if other in documents else None


def _cell(
    table: PaperTable,
    scores: Scores,
    plain: Scores | None,
    name: str,
    heading: str,
    printed: Printed,
) -> Iterator[Agreement]:
    """Return a printed cell, and its rank of F where it has one."""
    measured = table.measured.get(heading) if name in scores.sets() else None
    regression = "SVR-CV test" in table.measured
    training = heading.endswith(" training")
    quantity = ("training " if training else "") + ("1 - R2" if regression else "accuracy")
    about = (table.name, *_where(table), name)
    said = Estimate.printed(printed.text, REPEATS)
    method = heading.removesuffix(" training").removesuffix(" test")
    if measured is None:
        yield Agreement(*about, quantity, method, said, None)
        return
    way, part = measured
    found = Estimate.of(scores.values(name, way, part), QUANTITIES[quantity].form)
    base = None if way == PLAIN else _baseline(plain, name, part, quantity)
    title = "" if base is None else BASELINE["regression" if regression else "classification"]
    yield Agreement(*about, quantity, method, said, found, base, title)
    if printed.rank is not None:
        ranks = scores.result(name, way.contestant)["variants"][way.variant]["rank"]
        said = Estimate(printed.rank, None, REPEATS, str(printed.rank))
        found = Estimate.of(ranks, QUANTITIES["rank of F"].form)
        yield Agreement(*about, "rank of F", method, said, found)


def _baseline(plain: Scores | None, name: str, part: str, quantity: str) -> Estimate | None:
    if plain is None or name not in plain.sets():
        return None
    return Estimate.of(plain.values(name, PLAIN, part), QUANTITIES[quantity].form)


def _own(table: PaperTable, scores: Scores, plain: Scores | None) -> Iterator[Agreement]:
    """Return the default machines on all sets beside the plain one."""
    for name in scores.sets():
        regression = name in scores.sets("regression")
        quantity = "1 - R2" if regression else "accuracy"
        title = BASELINE["regression" if regression else "classification"]
        for way in DEFAULTS:
            method = f"{CONTESTANTS[way.contestant].title}, smooth"
            found = Estimate.of(scores.values(name, way), QUANTITIES[quantity].form)
            base = _baseline(plain, name, "test", quantity)
            about = (table.name, *_where(table), name, quantity, method)
            yield Agreement(*about, None, found, base, title)


def _where(table: PaperTable) -> tuple[str, str]:
    """Return paper and place, such as ``("DANK", "Table 1")``."""
    if not table.measured:
        return "DANK", "our study of the defaults"
    paper, _, number = table.name.partition("-table-")
    return paper.upper(), f"Table {number}"
