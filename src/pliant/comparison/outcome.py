"""The data of a finished comparison: standings, blend, and the models fitted on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from pliant.comparison.blend import BlendClassifier, BlendRegressor
from pliant.comparison.blending import BlendOutcome, blended
from pliant.comparison.folds import outer_split
from pliant.comparison.metrics import Metric, metric_of
from pliant.comparison.protocol import Protocol
from pliant.comparison.reading import TableEncoder, TablePipeline
from pliant.comparison.record import DUMMY, Entry, Record
from pliant.comparison.sample import Sample
from pliant.comparison.standings import (
    Standing,
    finished,
    held_out_share,
    interval_of,
    is_number,
    standings,
)
from pliant.comparison.workers import fit_apart
from pliant.core.text import meant, quoted
from pliant.registry import Method
from pliant.tables import TableSchema

if TYPE_CHECKING:
    import pandas as pd

BLEND = "blend"
"""The name of the blend among the methods."""


@dataclass(frozen=True, eq=False)
class Source:
    """The table and the methods of a comparison, the schema of a data frame, and fits at a time."""

    sample: Sample
    methods: tuple[Method, ...]
    schema: TableSchema | None = None
    n_jobs: int | None = None


@dataclass(frozen=True)
class Expected:
    """The score that the recommended model is expected to have on new rows.

    Attributes
    ----------
    mean : float or None
        Over the common folds; None with one fold.
    low, high : float or None
        The 90 % interval of the mean.
    means : dict of str to float or None
        The mean of each metric.
    """

    mean: float | None
    low: float | None
    high: float | None
    means: dict[str, float | None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Scores of methods on shared folds, and their blend; see `ComparisonResult`."""

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

    @property
    def task(self) -> str:
        """Classification or regression."""
        return str(self.sample["task"])

    @property
    def metric(self) -> Metric:
        """The metric of searches and ranks."""
        return self.protocol.metric_for(self.task)

    def standings(self, metric: str | None = None) -> list[Standing]:
        """Return the place of every method, the best first; those without a score last.

        Parameters
        ----------
        metric : str, optional
            By default that of the comparison; scikit-learn's names are known too.
        """
        if metric is None:
            return self._standings
        return standings(self.methods, self.records, metric_of(metric, self.task), self.protocol)

    @cached_property
    def _standings(self) -> list[Standing]:
        return standings(self.methods, self.records, self.metric, self.protocol)

    @cached_property
    def blend(self) -> BlendOutcome | None:
        """The weights and held-out predictions of the blend; None where nothing can be blended."""
        cells = finished(self.methods, self.records)
        truth = {int(row): value for row, value in self.truth.items()}
        facts = self.sample
        return blended(
            self._standings,
            cells,
            truth,
            facts["classes"],
            self.metric,
            ordered=bool(facts["ordered"]),
        )

    @property
    def best_single(self) -> Standing | None:
        """The ranked method with the best mean, the dummy left aside."""
        ranked = [s for s in self._standings if s.rank is not None and s.method.name != DUMMY]
        return ranked[0] if ranked else None

    @property
    def best(self) -> str | None:
        """The name of the model to use: "blend", or the only method that has weight.

        Where nothing can be blended it is the method with the best mean; None without a score.
        """
        if self.blend is not None:
            return BLEND if len(self.blend.weights) > 1 else next(iter(self.blend.weights))
        return None if self.best_single is None else self.best_single.method.name

    @cached_property
    def expected(self) -> Expected:
        """The score of the model to use, on rows that it did not learn from."""
        if self.blend is None or self.best != BLEND:
            single = next((s for s in self._standings if s.method.name == self.best), None)
            if single is None:
                return Expected(None, None, None, {})
            return Expected(single.mean, single.low, single.high, single.means)
        scores = list(self.blend.scores.values())
        names = dict.fromkeys(name for each in scores for name in each)
        means = {name: _mean([each[name] for each in scores]) for name in names}
        own = [s for each in scores if is_number(s := each[self.metric.name])]
        share = held_out_share(r for r in self.records if r["status"] == "done")
        around = interval_of(own, share, self.metric)
        low, high = (None, None) if around is None else around[1:]
        return Expected(means.get(self.metric.name), low, high, means)

    def fit_best(self, method: str | None = None) -> Any:
        """Fit the model to use on all rows.

        The members of a blend choose their settings once more, by the same search on inner folds
        of all rows; no setting of a fold is taken over. The scores of the folds estimate how good
        this procedure is.

        Parameters
        ----------
        method : str, optional
            "blend", or the name of a method that was compared; by default `best`.

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
        model, schema = self.fit_numbers(method), self._source().schema
        return model if schema is None else from_frames(model, schema)

    def fit_numbers(self, method: str | None = None) -> Any:
        """Fit the model to use; it takes the numbers of the sample. See `fit_best`."""
        sample = self._source().sample
        return self._fit(method or self.best, np.arange(len(sample.y)))

    @cached_property
    def best_estimator_(self) -> Any:
        """The model to use, fitted on all rows by `fit_best` when it is first asked for."""
        return self.fit_best()

    def fit_on_first_fold(self) -> Any:
        """Fit the model to use on the training rows of the first fold, for pictures."""
        train, _ = outer_split(self._source().sample, self.protocol, 0, 0)
        return self._fit(self.best, train)

    def _fit(self, name: str | None, rows: Any) -> Any:
        """Fit a method, or the members of the blend, on some rows."""
        source = self._source()
        known = {each.name: each for each in source.methods}
        if name is None:
            raise ValueError("expected a method with a score, got none: no fold was finished")
        if name != BLEND and name not in known:
            told = meant(name, known)
            raise ValueError(f"unknown method {quoted(name)} in this comparison; {told}")
        sample, protocol = source.sample, self.protocol
        names = list(self.blend.weights) if name == BLEND and self.blend is not None else [name]
        chosen = [known[each] for each in names]
        models = fit_apart(sample, protocol, chosen, rows, source.n_jobs)
        if name != BLEND or self.blend is None:
            return models[0].own
        kind = BlendClassifier if self.task == "classification" else BlendRegressor
        members = [(each, fitted.model) for each, fitted in zip(names, models, strict=True)]
        weights = list(self.blend.weights.values())
        held_out = (self.blend.values, self.blend.y)
        return kind.of(members, weights, held_out, sample.X[rows], sample.y[rows])

    def _source(self) -> Source:
        if self.source is None:
            raise ValueError(
                "the result was read from plain data, without its table: call compare again, or "
                "run pliant fit"
            )
        return self.source

    @property
    def scores(self) -> pd.DataFrame:
        """Every score: method, repeat, fold, metric, value; a row each."""
        import pandas as pd

        columns = ["method", "repeat", "fold", "metric", "value"]
        rows = [
            [record["method"], record["repeat"], record["fold"], name, value]
            for record in self.records
            for name, value in record["scores"].items()
        ]
        return pd.DataFrame(rows, columns=columns)

    @property
    def leaderboard(self) -> pd.DataFrame:
        """A row for each method, the best first: means, intervals, tests, weights, time."""
        import pandas as pd

        weights = {} if self.blend is None else self.blend.weights
        rows = [row_of(s) | {"weight": weights.get(s.method.name, 0.0)} for s in self._standings]
        return pd.DataFrame(rows)


def from_frames(model: Any, schema: TableSchema) -> Any:
    """Return a fitted estimator of numbers with a first step that takes data frames."""
    first = ("table", TableEncoder.of(schema))
    if isinstance(model, TransformedTargetRegressor):
        model.regressor_ = Pipeline([first, *model.regressor_.steps])
        return model
    steps = model.steps if isinstance(model, Pipeline) else [("blend", model)]
    return TablePipeline([first, *steps])


def _mean(values: Sequence[Any]) -> float | None:
    numbers = [value for value in values if is_number(value)]
    return float(np.mean(numbers)) if numbers else None


def row_of(standing: Standing) -> dict[str, Any]:
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
