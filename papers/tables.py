"""The tables by name: their columns, and what has to be measured for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from papers.contestants import CONTESTANTS
from papers.printed import printed_table
from papers.scores import PLAIN, Way
from papers.sets import SETS
from papers.study import AT_TAUS, CHOSEN_AT, TAUS, Run
from papers.tuning import FIXED, TUNED, variant

__all__ = ["TABLES", "PaperTable"]

DANK = Way(CHOSEN_AT, variant(FIXED, "reciprocal"))
"""The paper's DANK: tau = .01, eta = |alpha|^2 of the SVM, reciprocal nearest neighbours."""

KNPL = Way("knpl", variant(TUNED, "nearest"))
"""The paper's KNPL: eta chosen by cross-validation, nearest neighbours."""


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper, or the table that chooses defaults.

    Attributes
    ----------
    name, title : str
    sets : tuple of str
        Its rows.
    measured : dict
        What stands beside a printed column, by its heading: a way and "train" or "test". Other
        printed columns are of methods that come later.
    contestants : tuple of str
        What is measured for it.
    compared : tuple of Way
        The papers' own methods, shown with every rule for new points and tested in particular.
    reference : Way
        What the marks of significance refer to.
    """

    name: str
    title: str
    sets: tuple[str, ...]
    contestants: tuple[str, ...]
    measured: dict[str, tuple[Way, str]] = field(default_factory=dict)
    compared: tuple[Way, ...] = ()
    reference: Way = PLAIN

    def runs(self, sets: list[str], repeats: int) -> list[Run]:
        """Return all runs for some of the sets."""
        return [
            Run(contestant, name, repeat)
            for name in sets
            for repeat in range(SETS[name].repeats(repeats))
            for contestant in self.contestants
        ]


def _printed_sets(name: str) -> tuple[str, ...]:
    return tuple(printed_table(name))


def _both(heading: str, way: Way) -> dict[str, tuple[Way, str]]:
    return {f"{heading} training": (way, "train"), f"{heading} test": (way, "test")}


_CLASSES = tuple(dict.fromkeys([*_printed_sets("dank-table-1"), *_printed_sets("knpl-table-1")]))

TABLES: dict[str, PaperTable] = {
    table.name: table
    for table in (
        PaperTable(
            "dank-table-1",
            "DANK, Table 1: accuracy beside an SVM",
            _printed_sets("dank-table-1"),
            (PLAIN.contestant, DANK.contestant),
            {**_both("SVM-CV", PLAIN), **_both("DANK", DANK)},
            (DANK,),
        ),
        PaperTable(
            "dank-table-2",
            "DANK, Table 2: accuracy beside other learned kernels",
            _printed_sets("dank-table-2"),
            (PLAIN.contestant, KNPL.contestant, DANK.contestant),
            {"KNPL test": (KNPL, "test"), "DANK test": (DANK, "test")},
            (KNPL, DANK),
        ),
        PaperTable(
            "dank-table-5",
            "DANK, Table 5: accuracy and rank of F at each tau",
            _printed_sets("dank-table-5"),
            (AT_TAUS,),
            {f"tau = {t:g}": (Way(AT_TAUS, f"{t:g}/reciprocal"), "test") for t in TAUS},
            reference=Way(AT_TAUS, "0.01/reciprocal"),
        ),
        PaperTable(
            "dank-table-6",
            "DANK, Table 6: regression",
            _printed_sets("dank-table-6"),
            (PLAIN.contestant, DANK.contestant),
            {**_both("SVR-CV", PLAIN), **_both("DANK", DANK)},
            (DANK,),
        ),
        PaperTable(
            "knpl-table-1",
            "KNPL, Table 1: accuracy beside an SVM",
            _printed_sets("knpl-table-1"),
            (PLAIN.contestant, KNPL.contestant),
            {**_both("SVM-CV", PLAIN), **_both("KNPL", KNPL)},
            (KNPL,),
        ),
        PaperTable(
            "defaults",
            "Which tau and which rule for new points win on average",
            (*_CLASSES, *_printed_sets("dank-table-6")),
            tuple(CONTESTANTS),
        ),
    )
}
"""The tables by name."""
