"""What a comparison found: every method asked for, every cell that was finished, as plain data."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pliant.comparison.cell import Record
from pliant.comparison.metrics import METRICS, Metric, metrics_of
from pliant.comparison.protocol import Protocol
from pliant.comparison.sentences import sentence
from pliant.comparison.standings import Standing, standings
from pliant.core.validation import check_choice

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BASELINE", "LEARNED", "ComparisonResult", "Entry"]

SCORES = ["method", "repeat", "fold", "metric", "value"]
"""The columns of a table of scores."""

LEARNED, BASELINE = "learned kernel", "baseline"


@dataclass(frozen=True)
class Entry:
    """A method that was asked for, and what became of it.

    Parameters
    ----------
    name, title, summary : str
    kind : {"learned kernel", "baseline"}
    status : {"done", "cut", "error", "skipped"}
        All cells finished; some are missing; none succeeded; none was tried.
    reason : str
        Why it is not done; "" if it is.
    """

    name: str
    title: str
    kind: str
    summary: str
    status: str
    reason: str = ""


@dataclass(frozen=True, eq=False)
class ComparisonResult:
    """Scores of methods on shared outer folds.

    Parameters
    ----------
    sample : dict
        What the table is: name, target, task, rows, features, feature_names, classes, categorical,
        missing, groups, ordered.
    truth : dict
        The target of the rows that predictions name, by row number as text.
    protocol : Protocol
    methods : tuple of Entry
        All methods asked for, in order.
    records : tuple of dict
        Finished cells, as `pliant.comparison.cell.perform` returns them, in the order of methods
        and folds.
    seconds : float
        By the clock.
    budget : float or None
    interrupted : bool
    environment : dict
        Versions, cores, and the key of the comparison.
    command : str or None
        What repeats it.
    """

    sample: dict[str, Any]
    truth: dict[str, Any]
    protocol: Protocol
    methods: tuple[Entry, ...]
    records: tuple[Record, ...]
    seconds: float
    budget: float | None
    interrupted: bool
    environment: dict[str, str]
    command: str | None = None

    @property
    def task(self) -> str:
        """Classification or regression."""
        return str(self.sample["task"])

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What was measured."""
        return metrics_of(self.task)

    @property
    def metric(self) -> Metric:
        """What the search and the ranking went by."""
        return METRICS[self.protocol.metric or self.metrics[0].name]

    def standings(self, metric: str | None = None) -> list[Standing]:
        """Return the place of every method, the best first; those without a score last.

        Parameters
        ----------
        metric : str, optional
            By default the one that the search went by.
        """
        names = tuple(each.name for each in self.metrics)
        chosen = self.metric if metric is None else METRICS[check_choice("metric", metric, names)]
        return standings(self.methods, self.records, chosen, self.protocol)

    def sentence(self) -> str:
        """Say in plain words what was found."""
        return sentence(self.standings(), self.metric)

    @property
    def scores(self) -> pd.DataFrame:
        """Every score: method, repeat, fold, metric, value; a row each."""
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
        from pliant.comparison.report import write_report

        write_report([self], path)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            **{name: getattr(self, name) for name in ("sample", "truth", "seconds", "budget")},
            "interrupted": self.interrupted,
            "environment": self.environment,
            "command": self.command,
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
        names = ("sample", "truth", "seconds", "budget", "interrupted", "environment", "command")
        if absent := {*names, "protocol", "methods", "records"} - set(state):
            raise ValueError(f"expected the parts of a comparison, {sorted(absent)[0]!r} is absent")
        return cls(
            **{name: state[name] for name in names},
            protocol=Protocol(**state["protocol"]),
            methods=tuple(Entry(**entry) for entry in state["methods"]),
            records=tuple(state["records"]),
        )

    def _score_rows(self) -> list[list[Any]]:
        return [
            [record["method"], record["repeat"], record["fold"], name, value]
            for record in self.records
            for name, value in record["scores"].items()
        ]


def _row(standing: Standing) -> dict[str, Any]:
    """Return a standing with its method's facts as one flat row."""
    row: dict[str, Any] = {}
    for name, value in asdict(standing).items():
        if name == "method":
            row |= {key: value[key] for key in ("name", "title", "kind", "status", "reason")}
        elif isinstance(value, dict):
            row |= {f"{name}_{key}": part for key, part in value.items()}
        else:
            row[name] = value
    return row
