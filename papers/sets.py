"""The data sets of the tables: which files they are, and what is done to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.datasets import load_local
from pliant.core.typing import Array

__all__ = ["SETS", "PaperSet", "Table", "read"]


@dataclass(frozen=True)
class PaperSet:
    """A set of a paper.

    Attributes
    ----------
    file : str
        Its name in the data folder.
    test_file : str or None
        The set's own test file; without one, the rows are halved at random.
    clipped : bool
        Whether features are clipped at their .1 and 99.9 percentiles in the training rows.
    most_repeats : int or None
        Fewer repeats than asked for, because the set is large.
    note : str
        What the reader of a table should know.
    """

    file: str
    test_file: str | None = None
    clipped: bool = False
    most_repeats: int | None = None
    note: str = ""

    def repeats(self, asked: int) -> int:
        """Return how often the set is measured when `asked` repeats are wanted."""
        return asked if self.most_repeats is None else min(asked, self.most_repeats)


_OWN_TEST = "own training and test files; repeats differ by the folds of cross-validation only"
_MONKS = f"{_OWN_TEST}; the test file contains the training points"

SETS: dict[str, PaperSet] = {
    "diabetic": PaperSet("diabetic_retinopathy"),
    "heart": PaperSet("heart_statlog"),
    "monks1": PaperSet("monks1_train", "monks1_test", note=_MONKS),
    "monks2": PaperSet("monks2_train", "monks2_test", note=_MONKS),
    "monks3": PaperSet("monks3_train", "monks3_test", note=_MONKS),
    "sonar": PaperSet("sonar"),
    "spect": PaperSet("spect_train", "spect_test", note=f"{_OWN_TEST}; d is 22, the paper has 21"),
    "glass": PaperSet("glass", note="six classes, one machine per pair"),
    "fertility": PaperSet("fertility"),
    "wine": PaperSet("wine", note="three classes, one machine per pair"),
    "breast-cancer": PaperSet(
        "breast_cancer_original_complete",
        note="the 683 rows of 699 without a missing value; d is 9, without the patient's number",
    ),
    "climate": PaperSet("climate_crashes", note="d is 18, without the study and run numbers"),
    "guide1-t": PaperSet("guide1_test", note="the file published as guide1's test part, halved"),
    "haberman": PaperSet("haberman"),
    "ionosphere": PaperSet("ionosphere"),
    "splice": PaperSet("splice_train", note="the 1000 rows published as training part, halved"),
    "spambase": PaperSet("spambase"),
    "EEG": PaperSet(
        "eeg_eye_state",
        clipped=True,
        most_repeats=3,
        note="features clipped at their .1 and 99.9 percentiles in the training rows, because a "
        "few gross outliers spoil plain min-max scaling; 3 repeats",
    ),
    "bodyfat": PaperSet("bodyfat", note="the first feature is a function of the target"),
    "pyrim": PaperSet("pyrim"),
    "space": PaperSet("space_ga"),
    "triazines": PaperSet("triazines"),
    "cpusmall": PaperSet("cpusmall", most_repeats=3, note="8192 rows; 3 repeats"),
    "housing": PaperSet("boston_housing"),
    "mg": PaperSet("mg"),
    "mpg": PaperSet("auto_mpg"),
}
"""The sets by the papers' names."""


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a set.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    task : {"classification", "regression"}
    own_training : int or None
        The first rows that are the set's own training file; None if the set has no test file.
    """

    X: Array
    y: npt.NDArray[Any]
    task: str
    own_training: int | None


def read(name: str, folder: str) -> Table:
    """Load a set by the papers' name; TableError if its file is not there."""
    chosen = SETS[name]
    data = load_local(chosen.file, folder)
    task = "regression" if data.task == "regression" else "classification"
    if chosen.test_file is None:
        return Table(data.X, data.y, task, None)
    test = load_local(chosen.test_file, folder)
    X, y = np.concatenate([data.X, test.X]), np.concatenate([data.y, test.y])
    return Table(X, y, task, len(data.y))
