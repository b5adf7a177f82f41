"""The study of ``pliant demo``: DANK against a tuned Gaussian SVM on one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from pliant.cli.console import learning, progress
from pliant.cli.fit.learning import Fold, Learner
from pliant.cli.fit.training import describe, summarise
from pliant.cli.model_facts import largest_gap, last_step, versions
from pliant.cli.report import gap_text
from pliant.comparison import Column, Score, corrected_t_test, text_table, verdict
from pliant.core.typing import Array
from pliant.registry import METHODS
from pliant.tables import TableSchema, read_table, write_predictions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SVM", "TARGET", "Study", "compare", "write_table"]

TARGET = "diagnosis"
"""The column that the demo learns."""

SVM = "Gaussian SVM"
"""What the method to compare with is called."""

COLUMNS = (
    Column("method", ""),
    Column("accuracy", digits=4),
    Column("time", "fit, ms", digits=1),
    Column("support", "support points", digits=0),
    Column("gap", "relative gap"),
)


@dataclass(frozen=True, eq=False)
class Study:
    """Two methods, tested on the same folds of one table.

    Attributes
    ----------
    schema : TableSchema
        What the table means.
    X, y : arrays of shape (n, d) and (n,)
        Its features and its target.
    folds : dict
        By method, what each fold gave.
    model : fitted pipeline
        DANK, tuned and learned on all rows.
    """

    schema: TableSchema
    X: Array
    y: Array
    folds: Mapping[str, Sequence[Fold]]
    model: Any

    def table(self) -> str:
        """Return the results of both methods as a table of text."""
        return text_table([_row(name, folds) for name, folds in self.folds.items()], COLUMNS)

    def verdict(self) -> str:
        """Say whether the difference is beyond chance."""
        scores = [self.accuracies(name) for name in self.folds]
        n_test = round(len(self.y) / len(scores[0]))
        test = corrected_t_test(*scores, n_train=len(self.y) - n_test, n_test=n_test)
        return verdict(test, *self.folds)

    def accuracies(self, name: str) -> Array:
        """Return the accuracy of a method in each fold."""
        return np.array([fold.scores["accuracy"] for fold in self.folds[name]])

    def notes(self) -> dict[str, Any]:
        """Return what is kept with the model, in the form of `pliant.cli.fit.training.train`."""
        return {
            "data": describe(self.schema, self.X, self.y),
            "cross_validation": summarise(self.folds[METHODS["dank"].title], "classification"),
            "versions": versions(),
        }

    def predictions(self) -> pd.DataFrame:
        """Return, for each row, what either method said of it without having seen it."""
        import pandas as pd

        frame = pd.DataFrame({"row": np.arange(1, len(self.y) + 1), "actual": self.y})
        for name, folds in self.folds.items():
            for fold in folds:
                decision = fold.model.decision_function(self.X[fold.test])
                frame.loc[fold.test, name] = fold.predicted
                frame.loc[fold.test, f"{name} decision"] = decision
        return frame


def write_table(path: Path) -> None:
    """Write the breast cancer data of scikit-learn as CSV, with the diagnosis in words."""
    data = load_breast_cancer(as_frame=True)
    names = np.asarray(data.target_names).astype(object)
    frame = data.data.assign(**{TARGET: names[data.target]})
    write_predictions(path, [frame])


def compare(path: Path, n_folds: int, seed: int) -> Study:
    """Tune and test both methods on a table, then learn DANK on all of its rows.

    Both choose from the same grid by the same inner cross-validation, in each fold anew.

    Parameters
    ----------
    path : Path
        A table with the column `TARGET` of two classes.
    n_folds : int
        Folds to test on.
    seed : int
        Decides which row is in which fold.
    """
    frame = read_table(path)
    schema = TableSchema.fit(frame, TARGET)
    X, y = schema.features(frame), schema.target_values(frame)
    dank = METHODS["dank"]
    grid = dank.param_grid(X.shape[1])
    machines = {dank.title: dank.learner("classification")(random_state=seed), SVM: SVC()}
    learners = {
        name: Learner(machine, "classification", grid, seed=seed)
        for name, machine in machines.items()
    }
    chosen = learners[dank.title]
    n_fits = chosen.n_fits + n_folds * sum(learner.n_fits for learner in learners.values())
    with progress(learning(len(y), n_fits), n_fits) as tick:
        folds = {
            name: learner.cross_validate(X, y, n_folds, tick) for name, learner in learners.items()
        }
        model, _ = chosen.learn(X, y, tick)
    return Study(schema, X, y, folds, model)


def _row(name: str, folds: Sequence[Fold]) -> dict[str, Any]:
    """Return the summary of one method."""
    machines = [last_step(fold.model) for fold in folds]
    certified = all(hasattr(machine, "dual_gap_") for machine in machines)
    return {
        "method": name,
        "accuracy": Score.of([fold.scores["accuracy"] for fold in folds]),
        "time": Score.of([1e3 * fold.seconds for fold in folds]),
        "support": Score.of([len(machine.support_) for machine in machines]),
        "gap": gap_text(max(map(largest_gap, machines))) if certified else None,
    }
