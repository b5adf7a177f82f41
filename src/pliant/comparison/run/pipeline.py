"""From a method to an estimator that takes samples of a table as they are.

All preprocessing is a step of the pipeline: medians and most frequent categories for what is
missing, one-hot columns, means and standard deviations, also those of a regression target. So each
fold learns its own, from its training rows alone.
"""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pliant.comparison.sample import Sample
from pliant.registry import Method


def pipeline(
    method: Method,
    sample: Sample,
    n_rows: int,
    seed: int,
    *,
    rough: bool = False,
    encoded: bool = False,
) -> Any:
    """Return an estimator for n_rows training rows, not fitted: preprocessing, then the learner.

    Missing numbers become the median, missing categories the most frequent one; categories become
    one-hot columns (all zeros for an unknown one); then all features are standardised, and for
    regression the target too, unless the method takes features on any scale. A rough estimator has
    the method's ``rough`` parameters, for a search. Features that are `encoded` already, by the
    `pliant.tables.TableSchema` of their table, need no step that fills in gaps and encodes texts.
    """
    learner = method.machine(sample.task, seed=seed, n_rows=n_rows, rough=rough)
    needs_columns = not encoded and (bool(sample.categories) or sample.has_gaps)
    steps = [("columns", _columns(sample))] if needs_columns else []
    if not method.streams:
        steps.append(("scaler", StandardScaler()))
    model = Pipeline([*steps, ("machine", learner)])
    if _scales_target(method, sample):
        return TransformedTargetRegressor(model, transformer=StandardScaler())
    return model


def search_grid(method: Method, sample: Sample) -> dict[str, list[Any]]:
    """Return the grid of a search, as parameters of the pipeline."""
    inside = "regressor__" if _scales_target(method, sample) else ""
    grid = method.param_grid(_n_columns(sample), sample.task)
    return {f"{inside}machine__{name}": values for name, values in grid.items()}


def last_step(model: Any) -> Any:
    """Return a model, or the last step of a fitted pipeline, with or without a scaled target."""
    inside = getattr(model, "regressor_", model)
    return inside[-1] if isinstance(inside, Pipeline) else inside


def _scales_target(method: Method, sample: Sample) -> bool:
    return sample.task == "regression" and not method.streams


def _columns(sample: Sample) -> ColumnTransformer:
    """Return the step that fills in what is missing and encodes categories."""
    texts = sorted(sample.categories)
    numbers = [column for column in range(sample.X.shape[1]) if column not in sample.categories]
    fill = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = [
        ("numbers", SimpleImputer(strategy="median", keep_empty_features=True), numbers),
        ("categories", Pipeline([("fill", fill), ("encode", encode)]), texts),
    ]
    return ColumnTransformer([part for part in parts if part[2]])


def _n_columns(sample: Sample) -> int:
    """Return the number of columns that the learner gets if all categories occur."""
    one_hot = sum(len(texts) for texts in sample.categories.values())
    return sample.X.shape[1] - len(sample.categories) + one_hot
