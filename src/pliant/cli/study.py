"""The study of ``pliant demo``: DANK against a tuned Gaussian SVM on one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from pliant.cli.console import learning, progress
from pliant.cli.fit.tables import FitTable
from pliant.cli.fit.training import summarise
from pliant.cli.model_facts import versions
from pliant.cli.report import gap_text
from pliant.comparison import Column, Score, corrected_t_test, text_table, verdict
from pliant.comparison.protocol import Protocol
from pliant.comparison.record import REFERENCE
from pliant.comparison.run.baselines import BASELINES
from pliant.comparison.run.cells import largest_gap
from pliant.comparison.run.pipeline import last_step
from pliant.comparison.run.validation import TestedFold, Tuned, cross_validate, timed_fit
from pliant.core.summary import summarize
from pliant.core.typing import Array
from pliant.registry import METHODS
from pliant.tables import TableSchema, read_table, write_predictions

if TYPE_CHECKING:
    import pandas as pd

TARGET = "diagnosis"
"""The column that the demo learns."""

COLUMNS = (
    Column("method", ""),
    Column("accuracy", digits=4),
    Column("time", "fit, ms", digits=1),
    Column("support", "support points", digits=0),
    Column("gap", "relative gap"),
)


@dataclass(frozen=True, eq=False)
class Study:
    """Two methods, tested on the same folds of one table; `folds` are by the title of a method.

    The `model` is DANK, tuned and learned on all rows.
    """

    data: FitTable
    folds: Mapping[str, Sequence[TestedFold]]
    model: Any

    def table(self) -> str:
        """Return the results of both methods as a table of text."""
        return text_table([_row(name, folds) for name, folds in self.folds.items()], COLUMNS)

    def verdict(self) -> str:
        """Return a sentence on whether the difference is statistically significant."""
        scores = [_accuracies(folds) for folds in self.folds.values()]
        n_test = round(len(self.data.y) / len(scores[0]))
        test = corrected_t_test(*scores, n_train=len(self.data.y) - n_test, n_test=n_test)
        return verdict(test, *self.folds)

    def notes(self) -> dict[str, Any]:
        """Return the notes that are saved with the model, in the form of `train`."""
        return {
            "data": self.data.describe(),
            "cross_validation": summarise(self.folds[METHODS["dank"].title]),
            "versions": versions(),
        }

    def predictions(self) -> pd.DataFrame:
        """Return the predictions of either method for each row, from the other folds."""
        import pandas as pd

        frame = pd.DataFrame({"row": np.arange(1, len(self.data.y) + 1), "actual": self.data.y})
        for name, folds in self.folds.items():
            for fold in folds:
                decision = fold.model.decision_function(self.data.X[fold.test])
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

    Both search the same grid on the same inner folds, in each fold again.
    """
    frame = read_table(path)
    data = FitTable.of(frame, TableSchema.fit(frame, TARGET))
    sample, protocol = data.sample(), Protocol(folds=n_folds, repeats=1, seed=seed)
    dank = METHODS["dank"]
    svm = replace(BASELINES[REFERENCE], grid=dank.grid)
    makers = {method.title: Tuned(method, protocol) for method in (dank, svm)}
    folds, rows = range(n_folds), np.arange(len(data.y))
    n_fits = sum(n_folds + maker.count_fits(sample, folds) for maker in makers.values())
    n_fits += 1 + makers[dank.title].count_fits(sample, [None])
    with progress(learning(len(data.y), n_fits), n_fits) as tick:
        tested = {
            title: cross_validate(maker, sample, protocol, tick) for title, maker in makers.items()
        }
        model = makers[dank.title](sample, rows, None, tick)
        timed_fit(model, data.X, data.y)
        tick(1)
    return Study(data, tested, model)


def _accuracies(folds: Sequence[TestedFold]) -> Array:
    return np.array([fold.scores["accuracy"] for fold in folds])


def _row(name: str, folds: Sequence[TestedFold]) -> dict[str, Any]:
    """Return the summary of one method."""
    summaries = [summarize(last_step(fold.model)) for fold in folds]
    gaps = [gap for gap in map(largest_gap, summaries) if gap is not None]
    return {
        "method": name,
        "accuracy": Score.of(_accuracies(folds)),
        "time": Score.of([1e3 * fold.seconds for fold in folds]),
        "support": Score.of([each.n_support or 0 for each in summaries]),
        "gap": gap_text(max(gaps)) if gaps else None,
    }
