"""The sets of the study: which files they are, and which of them a paper's table has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.datasets import load_local
from papers.sets import Table

__all__ = ["SETS", "AccuracySet", "read"]


@dataclass(frozen=True)
class AccuracySet:
    """A set of the study.

    Attributes
    ----------
    file : str
        Its name in the data folder.
    above : float or None
        A class is made of a number: is it above this one?
    note : str
        What the reader of the page should know.
    """

    file: str
    above: float | None = None
    note: str = ""


SETS: dict[str, AccuracySet] = {
    "heart": AccuracySet("heart_statlog"),
    "liver": AccuracySet(
        "liver_disorders",
        note="the class is the donors' selector column, which was meant to split the rows",
    ),
    "pima": AccuracySet("pima_diabetes"),
    "breast": AccuracySet(
        "breast_cancer_original_complete",
        note="the 683 rows of 699 without a missing value; 234 rows repeat an earlier one",
    ),
    "german": AccuracySet("german_numeric"),
    "fourclass": AccuracySet("fourclass"),
    "transfusion": AccuracySet("transfusion", note="215 rows repeat an earlier one"),
    "hill_valley": AccuracySet("hill_valley"),
    "shill": AccuracySet("shill_bidding", note="11 % of the rows are of the rarer class"),
    "abalone": AccuracySet(
        "abalone",
        above=9.0,
        note="the class is rings > 9; the paper does not say how it made two classes",
    ),
    "airfoil": AccuracySet("airfoil"),
    "boston": AccuracySet("boston_housing"),
    "ccpp": AccuracySet("ccpp"),
    "space_ga": AccuracySet(
        "space_ga",
        note="3107 rows and 6 features; the paper's Space has 8192 rows and 12 features",
    ),
}
"""The sets by the names on the page."""


def read(name: str, folder: str) -> Table:
    """Load a set; TableError if its file is not there."""
    chosen = SETS[name]
    data = load_local(chosen.file, folder)
    if chosen.above is not None:
        classes = np.where(data.y > chosen.above, 1, -1)
        return Table(data.X, classes, "classification", None)
    task = "regression" if data.task == "regression" else "classification"
    return Table(data.X, data.y, task, None)
