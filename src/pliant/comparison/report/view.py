"""One result as the sections of its report see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pliant.comparison.metrics import Metric
from pliant.comparison.outcome import Outcome
from pliant.comparison.record import LEARNED, Record, stage_of
from pliant.comparison.report.drawing import Axis, Interval, axis_of
from pliant.comparison.report.markup import Content, Markup, tag
from pliant.comparison.stats.common import Cells, finished
from pliant.comparison.stats.standings import Standing, scores_of
from pliant.comparison.text import decimals, known

STATUS = {"done": "complete", "cut": "unfinished", "error": "failed", "skipped": "skipped"}
"""The status of a method, in words."""

MOST_SHOWN = 5
"""Methods with a colour of their own, besides the reference."""


@dataclass(frozen=True, eq=False)
class View:
    """A result, its place on the page, and what several sections ask of it.

    `prefix` begins each id of this result, and `level` is that of the headings of its sections.
    """

    result: Outcome
    prefix: str = ""
    level: int = 2

    def ident(self, key: str) -> str:
        """Return the id of a part of this result's section."""
        return f"{self.prefix}{key}"

    @property
    def metric(self) -> Metric:
        """The metric of the ranks."""
        return self.result.metric

    @property
    def others(self) -> list[Metric]:
        """The other metrics."""
        return [each for each in self.result.metrics if each.name != self.metric.name]

    @property
    def regression(self) -> bool:
        """Whether the target is a number."""
        return self.result.task == "regression"

    @cached_property
    def standings(self) -> list[Standing]:
        """One for each method that was asked for, the best first, those without a rank last."""
        return self.result.standings()

    @cached_property
    def ranked(self) -> list[Standing]:
        """Those with a rank."""
        return [standing for standing in self.standings if standing.rank is not None]

    @cached_property
    def reference(self) -> Standing | None:
        """The method that the others are tested against: the Gaussian SVM if it has a score."""
        return next((each for each in self.standings if each.is_reference), None)

    @cached_property
    def shown(self) -> list[Standing]:
        """The methods with a colour of their own: the best ones, without those far behind."""
        rivals = [each for each in self.ranked if each is not self.reference]
        return [each for each in rivals[:MOST_SHOWN] if self._near(each)]

    @cached_property
    def scale(self) -> Axis | None:
        """The axis of the means and their errors, without those far behind."""
        intervals: list[Interval] = [
            (each.mean, each.error or 0.0) for each in self.ranked if known(each.mean)
        ]
        return axis_of(intervals, self.metric.higher_is_better)

    def _near(self, standing: Standing) -> bool:
        if self.scale is None or standing.mean is None:
            return True
        return 0 <= self.scale.share(standing.mean) <= 1

    @cached_property
    def featured(self) -> list[Standing]:
        """The best method, the best learned kernel and the reference, each once."""
        learned = [each for each in self.ranked if each.method.kind == LEARNED]
        wanted = [*self.ranked[:1], *learned[:1], self.reference]
        return [each for n, each in enumerate(wanted) if each and each not in wanted[:n]]

    @cached_property
    def digits(self) -> int:
        """The decimals of the metric."""
        return self.digits_of(self.metric.name)

    def digits_of(self, name: str) -> int:
        """Return the decimals of a metric of this name."""
        errors = [standing.errors.get(name) for standing in self.standings]
        return decimals([standing.means.get(name) for standing in self.standings], errors)

    def records(self, method: str) -> list[Record]:
        """Return the records of a method, in the order of stages and folds."""
        return [record for record in self.result.records if record["method"] == method]

    def ranked_records(self, method: str) -> list[Record]:
        """Return those of the stage that the method is ranked by, in the order of folds."""
        stages = {each.method.name: each.stage for each in self.standings}
        return [each for each in self.records(method) if stage_of(each) == stages.get(method)]

    def common_cells(self, method: str) -> Cells:
        """Return the finished cells of a ranked method on the common folds."""
        stages = finished(self.result.methods, self.result.records)
        each = next(each for each in self.ranked if each.method.name == method)
        mine = stages[method].get(each.stage, {}) if each.stage else {}
        common = set.intersection(
            *(
                set(scores_of(stages[s.method.name][s.stage], self.metric.name))
                for s in self.ranked
                if s.stage is not None
            )
        )
        return {place: record for place, record in mine.items() if place in common}

    def look(self, method: str) -> str:
        """Return the class of a method's lines."""
        if self.reference and method == self.reference.method.name:
            return "reference"
        shown = [standing.method.name for standing in self.shown]
        return f"series-{shown.index(method) + 1}" if method in shown else "others"

    def heading(self, title: Content, below: int = 0) -> Markup:
        """Write a heading of this result's sections, or some levels below."""
        return heading(self.level + below, title)


def heading(level: int, title: Content, **attributes: object) -> Markup:
    """Write a heading of a level, at most 6."""
    return tag(f"h{min(level, 6)}", title, **attributes)
