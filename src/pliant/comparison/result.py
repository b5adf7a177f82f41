"""The result of a comparison: every method asked for and every finished cell, as plain data."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pliant.comparison.best import Source, fitted, winner
from pliant.comparison.brief import as_html, as_text
from pliant.comparison.outcome import Outcome
from pliant.comparison.protocol import Protocol
from pliant.comparison.record import Entry, stage_of
from pliant.comparison.report import write_report
from pliant.comparison.report.sentences import sentence
from pliant.comparison.stats.standings import Standing

if TYPE_CHECKING:
    import pandas as pd

SCORES = ["method", "repeat", "fold", "stage", "metric", "value"]
"""The columns of a table of scores."""

PLAIN = ("sample", "truth", "seconds", "budget", "interrupted", "environment", "command")
"""The parts of a result that are plain data as they are."""


@dataclass(frozen=True, eq=False)
class ComparisonResult(Outcome):
    """Scores of methods on shared outer folds.

    Parameters
    ----------
    sample : dict
        The facts of the table: name, target, task, rows, features, feature_names, classes,
        categorical, missing, groups, ordered.
    truth : dict
        The target of the rows that predictions name, by row number as text.
    protocol : Protocol
    methods : tuple of Entry
        All methods asked for, in order.
    records : tuple of Record
        Finished cells, in the order of methods and folds; see `pliant.comparison.record.Record`.
    seconds : float
        By the clock.
    budget : float or None
    interrupted : bool
    environment : dict
        Versions, cores, and the key of the comparison.
    command : str or None
        The command that repeats it.
    source : Source or None
        What was compared on what, to fit the best method; None for a result that was read from
        plain data.
    """

    source: Source | None = None

    def __repr__(self) -> str:
        """Return the leaderboard in a few lines."""
        return as_text(self)

    def _repr_html_(self) -> str:
        """Return the leaderboard as a table for a notebook."""
        return as_html(self)

    @property
    def best(self) -> str | None:
        """The name of the recommended method, or else of that with the best mean; None without."""
        standing = winner(self)
        return None if standing is None else standing.method.name

    @cached_property
    def best_estimator_(self) -> Any:
        """The best method, fitted on all rows by `fit_best` when it is first asked for."""
        return self.fit_best()

    def fit_best(self, method: str | None = None) -> Any:
        """Fit the recommended method on all rows.

        Where the method was ranked with searched settings, folds may have chosen different ones.
        The same search chooses them once more, on inner folds of all rows; no setting of a fold is
        taken over. The scores of the folds estimate how good this procedure is. A method that was
        ranked with its default settings is fitted with these. What is missing is filled in, and
        text encoded, in the same way as in each fold.

        Parameters
        ----------
        method : str, optional
            The name of another method that was compared; by default `best`.

        Returns
        -------
        estimator
            Fitted. It takes what `pliant.compare` was given: arrays, or data frames with the same
            columns in any order. `pliant.persistence.save_model` saves it.

        Raises
        ------
        ValueError
            If no method has a score, `method` was not compared, or the result was read from plain
            data, which has no table.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from pliant import compare
        >>> X, y = load_iris(return_X_y=True)
        >>> result = compare(X, y, methods=["dummy", "linear"], folds=3, repeats=1, n_jobs=1)
        >>> result.fit_best().predict(X[:3])
        array([0, 0, 0])
        """
        if self.source is None:
            raise ValueError(
                "the result was read from plain data, without its table: call compare again, or "
                "run pliant fit --method NAME --tune"
            )
        return fitted(self, self.source, method)

    def sentence(self) -> str:
        """Return what to use, and what the scores cannot show, in some sentences."""
        return sentence(self.standings(), self.metric)

    @property
    def scores(self) -> pd.DataFrame:
        """Every score: method, repeat, fold, stage, metric, value; a row each."""
        import pandas as pd

        return pd.DataFrame(self._score_rows(), columns=SCORES)

    @property
    def leaderboard(self) -> pd.DataFrame:
        """A row for each method, the best first: means, standard errors, tests, time and memory."""
        import pandas as pd

        return pd.DataFrame([_row(each) for each in self.standings()])

    def score_text(self) -> str:
        """Return all scores as CSV: the same bytes for the same seed, table and versions."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(SCORES)
        for *place, value in self._score_rows():
            writer.writerow([*place, "" if value is None else repr(value)])
        return text.getvalue()

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML file that shows all of it, and needs no network.

        Raises
        ------
        TableError
            If the file cannot be written.
        """
        write_report([self], path)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            **{name: getattr(self, name) for name in PLAIN},
            "protocol": self.protocol.to_dict(),
            "sentence": self.sentence(),
            "methods": [asdict(entry) for entry in self.methods],
            "leaderboard": [_row(each) for each in self.standings()],
            "records": list(self.records),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> ComparisonResult:
        """Make a result from what `to_dict` returned.

        Raises
        ------
        ValueError
            If a part is absent.
        """
        if absent := {*PLAIN, "protocol", "methods", "records"} - set(state):
            raise ValueError(f"expected the parts of a comparison, {sorted(absent)[0]!r} is absent")
        return cls(
            **{name: state[name] for name in PLAIN},
            protocol=Protocol(**state["protocol"]),
            methods=tuple(Entry(**entry) for entry in state["methods"]),
            records=tuple(state["records"]),
        )

    def _score_rows(self) -> list[list[Any]]:
        return [
            [record["method"], record["repeat"], record["fold"], stage_of(record), name, value]
            for record in self.records
            for name, value in record["scores"].items()
        ]


def _row(standing: Standing) -> dict[str, Any]:
    """Return a standing with its method's facts as one flat row."""
    row: dict[str, Any] = {}
    for name, value in asdict(standing).items():
        if name == "lead":
            continue
        if name == "method":
            row |= {key: value[key] for key in ("name", "title", "kind", "status", "reason")}
        elif isinstance(value, dict):
            row |= {f"{name}_{key}": part for key, part in value.items()}
        else:
            row[name] = value
    return row
