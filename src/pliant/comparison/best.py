"""The winner of a comparison, fitted on all rows, as an estimator that takes the raw table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from pliant.comparison.frames import TableEncoder
from pliant.comparison.outcome import Outcome
from pliant.comparison.protocol import SEARCHED, Stage
from pliant.comparison.run.pipeline import pipeline
from pliant.comparison.run.search import defaults, is_searched, search
from pliant.comparison.sample import Sample
from pliant.comparison.stats.standings import Standing
from pliant.core.text import meant, quoted
from pliant.registry import Method
from pliant.tables import TableSchema


@dataclass(frozen=True, eq=False)
class Source:
    """What a comparison ran on: the table, the methods, and the schema of a data frame."""

    sample: Sample
    methods: tuple[Method, ...]
    schema: TableSchema | None = None


def winner(outcome: Outcome) -> Standing | None:
    """Return the recommended method, else the one with the best mean, None if none has a rank.

    The dummy is never recommended, but may have the best mean.
    """
    advice = outcome.recommendation()
    if advice is not None:
        return advice.standing
    return next((each for each in outcome.standings() if each.rank is not None), None)


def fitted(outcome: Outcome, source: Source, name: str | None) -> Any:
    """Return a method fitted on all rows, the best one by default; see `ComparisonResult.fit_best`.

    Raises
    ------
    ValueError
        If the method was not compared, or none has a score.
    """
    method = _method(outcome, source, name)
    sample, protocol = source.sample, outcome.protocol
    rows = np.arange(len(sample.y))
    model = pipeline(method, sample, len(rows), protocol.seed)
    searched = _stage(outcome, method.name) == SEARCHED and is_searched(method, sample)
    choice = (
        search(method, sample, rows, protocol, protocol.seed)
        if searched
        else defaults(method, sample)
    )
    model.set_params(**choice.chosen)
    model.fit(sample.X, sample.y)
    if source.schema is not None:
        model = _from_frames(model, source.schema)
    return model


def _method(outcome: Outcome, source: Source, name: str | None) -> Method:
    """Return the method of a name, or the best one."""
    known = {method.name: method for method in source.methods}
    if name is None:
        best = winner(outcome)
        if best is None:
            raise ValueError("expected a method with a score, got none: no fold was finished")
        return known[best.method.name]
    if name not in known:
        raise ValueError(f"unknown method {quoted(name)} in this comparison; {meant(name, known)}")
    return known[name]


def _stage(outcome: Outcome, name: str) -> Stage | None:
    """Return the stage by which a method was ranked."""
    return next((each.stage for each in outcome.standings() if each.method.name == name), None)


def _from_frames(model: Any, schema: TableSchema) -> Any:
    """Return a fitted estimator of numbers with a first step that takes data frames."""
    first = ("table", TableEncoder.of(schema))
    if isinstance(model, TransformedTargetRegressor):
        model.regressor_ = Pipeline([first, *model.regressor_.steps])
        return model
    return Pipeline([first, *model.steps])
