"""The three studies: their sets, and who competes where."""

from __future__ import annotations

from dataclasses import dataclass

from papers.local.adaptive import DefaultLAB, LABClassifier, PaperLAB
from papers.local.boosting import Boosting, TunedBoosting
from papers.local.classifiers import (
    BoostingClassifier,
    ForestClassifier,
    GaussianSVC,
)
from papers.local.contestant import Contestant
from papers.local.measuring import Entry
from papers.local.protocol import LocalProtocol
from papers.local.recursive import RecursiveMachine, TunedRecursiveMachine
from papers.local.ridge import GaussianRidge, NystroemRidge
from papers.local.scikit import ExtraTrees, Forest, GaussianProcess, GaussianSVR

__all__ = ["CLASSIFICATION", "DEFAULTS", "STUDIES", "TABLES", "Held", "LocalStudy"]


@dataclass(frozen=True)
class LocalStudy:
    """A study.

    Attributes
    ----------
    name, title : str
        On the command line and on the page.
    repeats : int
        Splits, unless the command line says otherwise.
    entries : tuple of Entry
        The first one is compared with the others; it is measured on all sets.
    """

    name: str
    title: str
    repeats: int
    entries: tuple[Entry, ...]

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets, in the order of the page."""
        return self.entries[0].sets

    @property
    def contestants(self) -> tuple[Contestant, ...]:
        """The contestants, in the order of the page."""
        return tuple(each.contestant for each in self.entries)


@dataclass(frozen=True)
class Held:
    """What a document says was held fixed."""

    splits: LocalProtocol
    contestants: tuple[Contestant, ...]


PRINTED = (
    "tecator",
    "yacht",
    "airfoil",
    "sml2010_room",
    "parkinsons_total",
    "comp_activ",
    "grid_stability",
    "kc_house",
)

WIDER = (
    "yacht",
    "boston_housing",
    "tecator",
    "airfoil",
    "space_ga",
    "abalone",
    "sml2010_room",
    "parkinsons_total",
    "comp_activ",
    "cpusmall",
    "ccpp",
    "grid_stability",
    "california_housing",
    "kc_house",
)

CLASSES = (
    "sonar",
    "ionosphere",
    "german",
    "pima_diabetes",
    "fourclass",
    "glass",
    "wine",
    "splice_train",
    "breast_cancer_wdbc",
    "spambase",
)

AT_MOST_600_ROWS = ("yacht", "boston_housing", "tecator")

WITH_XRFM = ("yacht", "boston_housing", "tecator", "airfoil", "space_ga", "abalone")


def _on(sets: tuple[str, ...], some: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in sets if name in some)


TABLES = LocalStudy(
    "lab-rbf-tables-1-2",
    "LAB-RBF, Tables 1, 2 and 3: accuracy with the paper's support points",
    10,
    (
        Entry(PaperLAB(), PRINTED),
        Entry(PaperLAB(draws=1, name="paper-lab-one-draw", title="LAB-RBF, one draw"), PRINTED),
        Entry(DefaultLAB(), PRINTED),
        Entry(GaussianRidge(), PRINTED),
        Entry(NystroemRidge(), PRINTED),
        Entry(GaussianSVR(), PRINTED),
        Entry(GaussianProcess(), _on(PRINTED, AT_MOST_600_ROWS)),
        Entry(Forest(), PRINTED),
        Entry(ExtraTrees(), PRINTED),
        Entry(Boosting(), PRINTED),
        Entry(TunedBoosting(), PRINTED),
    ),
)

DEFAULTS = LocalStudy(
    "lab-rbf-defaults",
    "LAB-RBF with its defaults, beside what a user would pick instead, on 14 sets",
    10,
    (
        Entry(DefaultLAB(), WIDER),
        Entry(Boosting(), WIDER),
        Entry(TunedBoosting(), WIDER),
        Entry(GaussianRidge(), WIDER),
        Entry(ExtraTrees(), WIDER),
        Entry(GaussianProcess(), _on(WIDER, AT_MOST_600_ROWS)),
        Entry(RecursiveMachine(), WITH_XRFM),
        Entry(TunedRecursiveMachine(), WITH_XRFM),
    ),
)

CLASSIFICATION = LocalStudy(
    "lab-rbf-classification",
    "LAB-RBF as a classifier, on 10 sets",
    5,
    (
        Entry(LABClassifier(), CLASSES),
        Entry(GaussianSVC(), CLASSES),
        Entry(BoostingClassifier(), CLASSES),
        Entry(ForestClassifier(), CLASSES),
    ),
)

STUDIES = {study.name: study for study in (TABLES, DEFAULTS, CLASSIFICATION)}
"""The studies by name."""
