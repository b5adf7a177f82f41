"""A study as a Markdown page: the paper's table, the rules for new points, the tests."""

from __future__ import annotations

from collections.abc import Sequence

from papers.averages import EXPLAINED, averages
from papers.contestants import CONTESTANTS
from papers.defaults import defaults_sections
from papers.document import Document
from papers.printed import printed_table
from papers.rendering import (
    beside,
    digits,
    left_out,
    mark,
    p_text,
    protocol_note,
    provenance,
    set_notes,
    words,
)
from papers.scores import PLAIN, Scores, Way
from papers.study import AT_TAUS, TAUS
from papers.tables import PaperTable
from papers.tuning import CHOSEN, FIXED, TUNED, variant
from pliant.comparison import Column, markdown_table
from pliant.comparison.rendering import Cell
from pliant.methods.hadamard.kernel import EXTENSIONS

__all__ = ["page"]

ETAS = {FIXED: "eta = |alpha|^2 of the SVM", TUNED: "eta tuned"}

RANKED = (
    "the rank of F in brackets; sigma and C are those that DANK chose with tau = 0.01, eta fixed "
    "and the reciprocal rule, which the other tau share"
)


def page(table: PaperTable, study: Document) -> str:
    """Return the page of a study."""
    scores = Scores(study)
    parts = [
        f"# {table.title}\n",
        protocol_note(study),
        left_out(table.sets, study),
        *_sections(table, scores),
        "## Notes\n",
        set_notes(study, scores),
        provenance(study),
    ]
    return "\n".join(part for part in parts if part)


def _sections(table: PaperTable, scores: Scores) -> list[str]:
    if not table.measured:
        return defaults_sections(scores)
    if table.reference != PLAIN:
        return [*_printed(table, scores), *_other_rule(scores)]
    return [
        *_printed(table, scores),
        *(part for way in table.compared for part in _by_rule(way.contestant, scores)),
        *_over_sets(table.compared, scores),
        *(part for way in table.compared for part in _tested(way, scores)),
    ]


def _printed(table: PaperTable, scores: Scores) -> list[str]:
    """The paper's table, each cell paper / measured."""
    rows: list[dict[str, Cell]] = [
        {"set": name}
        | {
            key: beside(cell, scores, name, table.measured.get(key), table.reference)
            for key, cell in cells.items()
        }
        for name, cells in printed_table(table.name).items()
        if name in scores.sets()
    ]
    return ["## Paper / measured\n", _legend(table, scores), markdown_table(rows)]


def _legend(table: PaperTable, scores: Scores) -> str:
    unit = "Accuracy in per cent" if scores.sets("classification") else "1 - R2"
    against = "SVM-CV" if table.reference == PLAIN else "tau = 0.01"
    methods = "; ".join(map(words, table.compared))
    measured = f"the papers' settings ({methods})" if methods else RANKED
    return (
        f"{unit}, mean ± standard deviation; {measured}. Measured numbers marked • are better, ∘ "
        f"worse than {against} by the paired t test at 5 %; the paper's own marks are kept. "
        "*later*: not measured yet.\n"
    )


def _other_rule(scores: Scores) -> list[str]:
    """The accuracies at each tau with the rule that cross-validation chose at tau = 0.01."""
    ways = {f"tau = {tau:g}": Way(AT_TAUS, f"{tau:g}/{CHOSEN}") for tau in TAUS}
    reference = ways["tau = 0.01"]
    return [
        "## The same with the rule chosen by cross-validation\n",
        _measured(ways, scores, reference),
    ]


def _by_rule(contestant: str, scores: Scores) -> list[str]:
    """The test scores by each rule for new points, beside the plain machine."""
    title = CONTESTANTS[contestant].title
    parts = [f"## {title}: test scores by the rule for new points\n"]
    for eta, said in ETAS.items():
        ways = {"SVM-CV": PLAIN} | {
            rule: Way(contestant, variant(eta, rule)) for rule in (*EXTENSIONS, CHOSEN)
        }
        parts += [f"{said}; *chosen* is the rule chosen by cross-validation:\n"]
        parts += [_measured(ways, scores, PLAIN)]
    return parts


def _measured(ways: dict[str, Way], scores: Scores, reference: Way) -> str:
    names = scores.sets()
    rows: list[dict[str, Cell]] = [
        {"set": name}
        | {
            key: scores.score(name, way, mark=mark(_side(scores, name, way, reference)))
            for key, way in ways.items()
        }
        for name in names
    ]
    decimals = digits(scores, names[0])
    return markdown_table(rows, [Column("set"), *(Column(k, digits=decimals) for k in ways)])


def _side(scores: Scores, name: str, way: Way, reference: Way) -> int:
    return 0 if way == reference else scores.side(name, way, reference)


def _over_sets(compared: Sequence[Way], scores: Scores) -> list[str]:
    """All ways to choose, over the sets of the table."""
    ways = [
        Way(way.contestant, variant(eta, rule))
        for way in compared
        for eta in ETAS
        for rule in (*EXTENSIONS, CHOSEN)
    ]
    return ["## Averages over the sets\n", EXPLAINED, averages(ways, scores)]


def _tested(way: Way, scores: Scores) -> list[str]:
    """The paired tests of a paper's method against the plain machine."""
    ways = [way, Way(way.contestant, variant(TUNED, CHOSEN))]
    return [
        f"## {CONTESTANTS[way.contestant].title}: tests against SVM-CV\n",
        "Over the repeats of each set: p-values of the paired t test, of its correction for "
        "overlapping training rows (Nadeau and Bengio), and of Wilcoxon's signed-rank test. n/a: "
        "the differences do not vary. Where a set has its own test file, the tests speak of the "
        "folds of cross-validation only. The plain t test finds too many differences.\n",
        *(_tests_table(each, scores) for each in dict.fromkeys(ways)),
    ]


def _tests_table(way: Way, scores: Scores) -> str:
    rows: list[dict[str, Cell]] = [
        {"set": name, **_tests(scores, name, way)} for name in scores.sets()
    ]
    return f"{words(way)}:\n\n{markdown_table(rows, _test_columns(scores))}"


def _test_columns(scores: Scores) -> Sequence[Column]:
    decimals = digits(scores, scores.sets()[0]) + 1
    gain = Column("gain", "gain over SVM-CV", decimals)
    return [
        Column("set"),
        gain,
        *map(Column, ("t", "corrected t", "Wilcoxon", "better–equal–worse")),
    ]


def _tests(scores: Scores, name: str, way: Way) -> dict[str, Cell]:
    tests = scores.tests(name, way)
    if tests is None:
        return {"gain": scores.gain(name, way), "t": "n/a", "corrected t": "n/a", "Wilcoxon": "n/a"}
    return {
        "gain": tests.t.mean_difference,
        "t": p_text(tests.t.p_value),
        "corrected t": p_text(tests.corrected.p_value),
        "Wilcoxon": p_text(tests.wilcoxon.p_value),
        "better–equal–worse": f"{tests.t.wins}–{tests.t.ties}–{tests.t.losses}",
    }
