"""The data of a finished comparison, and where each method stands by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.comparison.metrics import METRICS, Metric, metric_name, metrics_of
from pliant.comparison.protocol import Protocol
from pliant.comparison.record import Entry, Record
from pliant.comparison.stats.recommendation import Recommendation, recommend
from pliant.comparison.stats.standings import Standing, standings
from pliant.core.validation import check_choice


@dataclass(frozen=True, eq=False)
class Outcome:
    """Scores of methods on shared outer folds; see `ComparisonResult`."""

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
        """The metrics of the task."""
        return metrics_of(self.task)

    @property
    def metric(self) -> Metric:
        """The metric of the search and of the ranks."""
        return METRICS[self.protocol.metric or self.metrics[0].name]

    def standings(self, metric: str | None = None) -> list[Standing]:
        """Return the place of every method, the best first; those without a score last.

        Parameters
        ----------
        metric : str, optional
            By default the metric of the search; scikit-learn's names are known too.
        """
        names = tuple(each.name for each in self.metrics)
        name = self.metric.name if metric is None else metric_name(metric)
        chosen = METRICS[check_choice("metric", name, names)]
        return standings(self.methods, self.records, chosen, self.protocol)

    def recommendation(self) -> Recommendation | None:
        """Return the method to use, and why; None where none can be recommended."""
        return recommend(self.standings())
