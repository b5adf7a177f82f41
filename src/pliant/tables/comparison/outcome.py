"""Standings, blend and final models of a comparison, and average ranks over tables.

Over several tables, methods are ranked on each table by their mean score (1 is best), so tables
with different tasks and metrics can be combined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.core.text import listed, quoted, suggest
from pliant.core.typing import Array, Indices
from pliant.tables.comparison import statistics
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from pliant.tables.comparison.blending import BlendOutcome, HeldOut, held_out_of, learn_blend
from pliant.tables.comparison.cells import FittedMethod, fit_apart
from pliant.tables.comparison.folds import outer_split
from pliant.tables.comparison.metrics import Metric, metric_of, metrics_of
from pliant.tables.comparison.protocol import BLEND, DEFAULT, DUMMY, Entry, Protocol, Record
from pliant.tables.comparison.reading import from_frames
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.standings import (
    Standing,
    finished,
    held_out_share,
    interval_of,
    standings,
)
from pliant.tables.comparison.text import known
from pliant.tables.registry import Method

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
"""Significance level of the tests over several tables."""


@dataclass(frozen=True, eq=False)
class Source:
    """The table, the methods and the number of jobs of a comparison."""

    sample: Sample
    methods: tuple[Method, ...]
    n_jobs: int | None = None
    fitted: Mapping[str, FittedMethod] = field(default_factory=dict)  # to all rows, by name


class Step(NamedTuple):
    """The recommended model after a method has finished, and its expected score."""

    seconds: float  # from the start
    added: str  # the method
    best: str  # "blend" or a method
    mean: float | None


@dataclass(frozen=True)
class Expected:
    """The expected score of the recommended model on new rows.

    `mean` is the mean score over the common folds. `low` and `high` are the ends of a 90 % interval
    for the score on as many new rows as the table has. `means` maps each metric to its mean score.
    Unknown values are None.
    """

    mean: float | None
    low: float | None
    high: float | None
    means: dict[str, float | None]


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """The data of a comparison; see `pliant.tables.comparison.ComparisonResult`."""

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
    source: Source | None = None
    spent: float = 0.0

    @property
    def task(self) -> str:
        """The task, "classification" or "regression"."""
        return str(self.sample["task"])

    @property
    def metric(self) -> Metric:
        """The metric for tuning and ranking."""
        return self.protocol.metric_for(self.task)

    def standings(self, metric: str | None = None) -> list[Standing]:
        """Return the standing of each method, best first; methods without a score come last.

        Parameters
        ----------
        metric : str, optional
            Name of a metric or a scikit-learn scorer; by default the metric of the comparison.
        """
        if metric is None:
            return self._standings
        return standings(self.methods, self.records, metric_of(metric, self.task), self.protocol)

    @cached_property
    def _standings(self) -> list[Standing]:
        return standings(self.methods, self.records, self.metric, self.protocol)

    @cached_property
    def blend(self) -> BlendOutcome | None:
        """The weights and held-out predictions of the blend, or None."""
        metrics = {each.name: each for each in (*metrics_of(self.task), self.metric)}
        return self._learn_blend([*metrics.values()])

    def _learn_blend(self, metrics: Sequence[Metric]) -> BlendOutcome | None:
        """Learn the blend, and score it by the given metrics."""
        return learn_blend(self.held_out, metrics, ordered=bool(self.sample["ordered"]))

    @property
    def held_out(self) -> HeldOut | None:
        """The held-out predictions of the methods that the blend may consist of, or None."""
        return held_out_of(
            self._standings,
            finished(self.methods, self.records),
            {int(row): value for row, value in self.truth.items()},
            self.sample["classes"],
            self.metric,
        )

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the blend by method name; empty without a blend."""
        return {} if self.blend is None else self.blend.weights

    @property
    def best_single(self) -> Standing | None:
        """The method with the best mean, other than the dummy."""
        ranked = (s for s in self._standings if s.rank is not None and s.method.name != DUMMY)
        return next(ranked, None)

    @property
    def best(self) -> str | None:
        """The name of the recommended model: "blend", or the only method with nonzero weight.

        Without a blend, the method with the best mean; None if no method has a score.
        """
        if self.blend is not None:
            return BLEND if len(self.weights) > 1 else next(iter(self.weights))
        return None if self.best_single is None else self.best_single.method.name

    @cached_property
    def expected(self) -> Expected:
        """The expected score of the recommended model, from held-out rows."""
        if self.blend is None or self.best != BLEND:
            single = next((s for s in self._standings if s.method.name == self.best), None)
            if single is None:
                return Expected(None, None, None, {})
            return Expected(single.mean, single.low, single.high, single.means)
        scores = list(self.blend.scores.values())
        names = dict.fromkeys(name for each in scores for name in each)
        values = {name: [s for each in scores if known(s := each[name])] for name in names}
        means = {name: float(np.mean(some)) if some else None for name, some in values.items()}
        share = held_out_share(r for r in self.records if r["status"] == "done")
        around = interval_of(values.get(self.metric.name, []), share, self.metric)
        low, high = (None, None) if around is None else around[1:]
        return Expected(means.get(self.metric.name), low, high, means)

    @cached_property
    def history(self) -> list[Step]:
        """The recommended model after each method had all folds of the first repeat, by time.

        A LAB-RBF model that was fitted to all rows before the comparison comes first; its score is
        that of the folds.
        """
        first = [record for record in self.records if record["repeat"] == 0]
        cells = finished(self.methods, first)
        ended = {
            name: max(record.get("at", 0.0) for record in mine.values())
            for name, mine in cells.items()
            if len(mine) == self.protocol.folds and name != DUMMY
        }
        if self.spent and DEFAULT in ended:
            ended[DEFAULT] = self.spent
        steps, names = [], set[str]()
        for name in sorted(ended, key=lambda name: ended[name]):
            names.add(name)
            part = replace(
                self,
                methods=tuple(entry for entry in self.methods if entry.name in names),
                records=tuple(record for record in first if record["method"] in names),
            )
            vars(part)["blend"] = part._learn_blend([self.metric])  # other scores take most time
            if part.best is not None:
                steps.append(Step(ended[name], name, part.best, part.expected.mean))
        return steps

    def fit_best(self, method: str | None = None) -> Any:
        """Fit the recommended model on all rows.

        Each method is tuned again by the same search, on inner folds of all rows; settings from
        the outer folds are not reused. The comparison scores estimate the performance of this
        procedure.

        Parameters
        ----------
        method : str, optional
            "blend", or the name of a compared method; by default `best`.

        Returns
        -------
        estimator
            Fitted model for input of the type given to `pliant.compare`: arrays, or data frames
            with the same columns in any order. `pliant.save` saves it.

        Raises
        ------
        ValueError
            If no method has a score, `method` was not compared, or the result was loaded from plain
            data or a pickle, without its table.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from pliant import compare
        >>> X, y = load_iris(return_X_y=True)
        >>> result = compare(X, y, methods=["dummy", "linear"], folds=3, repeats=1, n_jobs=1)
        >>> result.fit_best().predict(X[:3])
        array([0, 0, 0])
        """
        sample = self._source().sample
        return for_input(self._fit(method or self.best, np.arange(len(sample.y))), sample)

    @cached_property
    def best_estimator_(self) -> Any:
        """The recommended model, fitted on all rows by `fit_best` on first access."""
        return self.fit_best()

    def fit_on_first_fold(self) -> Any:
        """Fit the recommended model on the training rows of the first fold, for plots."""
        train, _ = outer_split(self._source().sample, self.protocol, 0, 0)
        return self._fit(self.best, train)

    def _fit(self, name: str | None, rows: Indices) -> Any:
        source, blend = self._source(), self.blend
        compared = {each.name: each for each in source.methods}
        if name is None:
            raise ValueError("no method has a score: no fold was finished")
        if name != BLEND and name not in compared:
            told = suggest(name, compared)
            raise ValueError(f"unknown method {quoted(name)} in this comparison; {told}")
        names = list(blend.weights) if name == BLEND and blend is not None else [name]
        fitted = dict(source.fitted) if len(rows) == len(source.sample.y) else {}
        missing = [compared[each] for each in names if each not in fitted]
        new = fit_apart(source.sample, self.protocol, missing, rows, source.n_jobs)
        fitted |= {each.name: model for each, model in zip(missing, new, strict=True)}
        if name != BLEND or blend is None:
            return fitted[name].own
        kind = BlendClassifier if self.task == "classification" else BlendRegressor
        members = [(each, fitted[each].model) for each in names]
        X, y = source.sample.X[rows], source.sample.y[rows]
        return kind.of(members, [*blend.weights.values()], (blend.values, blend.y), X, y)

    def _source(self) -> Source:
        if self.source is None:
            raise ValueError(
                "the result was loaded from plain data or a pickle, without its table: call "
                "compare again, or run pliant fit"
            )
        return self.source

    @property
    def scores(self) -> pd.DataFrame:
        """All scores, with columns method, repeat, fold, metric and value."""
        import pandas as pd

        rows = [
            (record["method"], record["repeat"], record["fold"], name, value)
            for record in self.records
            for name, value in record["scores"].items()
        ]
        return pd.DataFrame(rows, columns=["method", "repeat", "fold", "metric", "value"])

    @property
    def leaderboard(self) -> pd.DataFrame:
        """Means, intervals, tests, weights and times, one row per method, best first."""
        import pandas as pd

        weights = self.weights
        rows = [row_of(s) | {"weight": weights.get(s.method.name, 0.0)} for s in self._standings]
        return pd.DataFrame(rows)


def for_input(model: Any, sample: Sample) -> Any:
    """Return a fitted model for input of the type of the sample: arrays, or data frames."""
    return model if sample.schema is None else from_frames(model, sample.schema)


def row_of(standing: Standing) -> dict[str, Any]:
    """Return a standing as a flat row that includes its method's fields."""
    row: dict[str, Any] = {}
    for name, value in asdict(standing).items():
        if name == "method":
            row |= {key: value[key] for key in ("name", "title", "kind", "status", "reason")}
        elif isinstance(value, dict):
            row |= {f"{name}_{key}": part for key, part in value.items()}
        else:
            row[name] = value
    return row


@dataclass(frozen=True, eq=False)
class Across:
    """Comparison of k methods over N tables.

    Attributes
    ----------
    methods : tuple of Entry
        The methods with a rank on all tables, sorted by average rank, without the dummy.
    tables : tuple of str
        Names of the tables; duplicates are numbered.
    left_out : dict of str to str
        Reasons why other methods are excluded, by method name.
    friedman : FriedmanTest
        Friedman's test with Iman and Davenport's F, and the average ranks.
    critical_difference : float
        Nemenyi's critical difference of average ranks.
    """

    methods: tuple[Entry, ...]
    tables: tuple[str, ...]
    left_out: dict[str, str]
    friedman: statistics.FriedmanTest
    critical_difference: float

    @property
    def ranks(self) -> Array:
        """The average ranks of the methods."""
        return self.friedman.ranks

    def sentence(self) -> str:
        """Summarise the tests in a sentence.

        For example "Over 6 tables the 9 methods differ significantly (Friedman's test, p = 0.01);
        DANK has the best average rank, 2.1, and ranks more than 2.5 apart differ significantly."
        """
        p = self.friedman.p_value
        shown = "p < 0.001" if p < 0.001 else f"p = {p:.3g}"
        differ, far = "do not differ", ""
        if p < LEVEL:
            apart = f"{self.critical_difference:.1f}"
            differ, far = "differ", f", and ranks more than {apart} apart differ significantly"
            if self.ranks.max() - self.ranks.min() <= self.critical_difference:
                far = f", but no two ranks are more than {apart} apart, which would be significant"
        equal = np.isclose(self.ranks, self.ranks[0], rtol=0, atol=1e-9)
        best = [entry.title for entry in compress(self.methods, equal)]
        return (
            f"Over {len(self.tables)} tables the {len(self.methods)} methods {differ} "
            f"significantly (Friedman's test, {shown}); {listed(best)} "
            f"{'has' if len(best) == 1 else 'have'} the best average rank, "
            f"{self.ranks[0]:.1f}{far}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return ranks and tests as plain data."""
        names = [entry.name for entry in self.methods]
        return {
            "tables": list(self.tables),
            "ranks": dict(zip(names, self.ranks.tolist(), strict=True)),
            "friedman": {"statistic": self.friedman.statistic, "p_value": self.friedman.p_value},
            "critical_difference": self.critical_difference,
            "level": LEVEL,
            "left_out": self.left_out,
            "sentence": self.sentence(),
        }


def across(results: Sequence[Outcome]) -> Across:
    """Compare methods over several tables.

    Parameters
    ----------
    results : sequence of N >= 2 ComparisonResult
        One result per table; tasks and metrics may differ.

    Raises
    ------
    ValueError
        If there are fewer than two tables, or fewer than two methods with a rank on all tables.
    """
    if len(results) < 2:
        raise ValueError(f"expected at least 2 tables, got {len(results)}")
    given = [str(result.sample["name"]) for result in results]
    tables = tuple(
        f"{name} ({given[: k + 1].count(name)})" if given.count(name) > 1 else name
        for k, name in enumerate(given)
    )
    places = [{each.method.name: each for each in result.standings()} for result in results]
    reasons: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for place in places for name in place):
        for table, place in zip(tables, places, strict=True):
            if name not in place:
                reasons.setdefault(name, []).append(f"{table}: not compared")
            elif place[name].rank is None:
                why = place[name].method.reason or "some common folds have no score"
                reasons.setdefault(name, []).append(f"{table}: {why}")
    left_out = {name: listed(causes) for name, causes in reasons.items()}
    names = [e.name for e in results[0].methods if e.name != DUMMY and e.name not in left_out]
    if (k := len(names)) < 2:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(f"expected at least 2 methods with a rank on all tables, got {k} ({why})")
    means = np.array([[place[name].mean for name in names] for place in places], dtype=np.float64)
    largest = np.abs(means).max(axis=1)
    signs = np.array([1.0 if each.metric.higher_is_better else -1.0 for each in results])
    scores = means * (signs / np.where(largest > 0, largest, 1.0))[:, None]  # higher is better
    order = np.argsort(statistics.average_ranks(scores), kind="stable")
    return Across(
        methods=tuple(places[0][names[j]].method for j in order),
        tables=tables,
        left_out=left_out,
        friedman=statistics.friedman_test(scores[:, order]),
        critical_difference=statistics.nemenyi_critical_difference(k, len(tables), LEVEL),
    )
