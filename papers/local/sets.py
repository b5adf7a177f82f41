"""The sets of the studies: which files they are, and what the LAB-RBF paper did with them."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.datasets import load_local
from papers.sets import Table

__all__ = ["SETS", "LocalSet", "read"]


@dataclass(frozen=True)
class LocalSet:
    """A set of the studies.

    Attributes
    ----------
    printed : str or None
        Its column or row in the paper's tables.
    support : int or None
        The paper's number of support points (its Tables 2 and 3).
    file : str or None
        Its name in the data folder, where that is another one.
    note : str
        What the reader of a page should know.
    """

    printed: str | None = None
    support: int | None = None
    file: str | None = None
    note: str = ""


SETS: dict[str, LocalSet] = {
    "tecator": LocalSet("Tecator", 20),
    "yacht": LocalSet("Yacht", 30),
    "airfoil": LocalSet("Airfoil", 200),
    "sml2010_room": LocalSet("SML", 340),
    "parkinsons_total": LocalSet("Parkinson", 110),
    "comp_activ": LocalSet(
        "Comp-active",
        70,
        note="the paper has a test set that was given with the data, and one number without a "
        "spread; here the splits are random as on the other sets",
    ),
    "grid_stability": LocalSet(
        "Electrical", 300, note="the paper's Electrical; 12 features, the paper counts 11"
    ),
    "kc_house": LocalSet(
        "KC House", 400, note="18 features and 21613 rows; the paper has 14 and 21623"
    ),
    "boston_housing": LocalSet(),
    "space_ga": LocalSet(),
    "abalone": LocalSet(),
    "cpusmall": LocalSet(),
    "ccpp": LocalSet(),
    "california_housing": LocalSet(note="6000 random training rows of each split"),
    "sonar": LocalSet(),
    "ionosphere": LocalSet(),
    "german": LocalSet(file="german_numeric"),
    "pima_diabetes": LocalSet(),
    "fourclass": LocalSet(),
    "glass": LocalSet(note="six classes"),
    "wine": LocalSet(note="three classes"),
    "splice_train": LocalSet(
        note="the 1000 rows published as the training part, split like the other sets; the 2175 "
        "rows of the test part are not used"
    ),
    "breast_cancer_wdbc": LocalSet(),
    "spambase": LocalSet(),
}
"""The sets by the names on the pages."""


def read(name: str, folder: str) -> Table:
    """Load a set; TableError if its file is not there."""
    data = load_local(SETS[name].file or name, folder)
    task = "regression" if data.task == "regression" else "classification"
    return Table(data.X, data.y, task, None)
