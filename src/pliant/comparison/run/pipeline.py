"""From a method to an estimator that takes rows of a table as they are.

Everything that is learned from data is a step of it: medians and commonest categories that stand
for what is missing, one-hot columns, means and deviations, also those of a regression target. So
each fold learns its own, from its training rows alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pliant.comparison.sample import Sample
from pliant.registry import Method

__all__ = ["fitted_machine", "pipeline", "search_grid"]


def pipeline(method: Method, sample: Sample, n_rows: int, seed: int, *, rough: bool = False) -> Any:
    """Return an estimator for n_rows training rows, not fitted: preprocessing, then the machine.

    Missing numbers become the median, missing categories the commonest; categories become one-hot
    columns (all zeros for one that was not seen); then all features are standardised, and for
    regression the target too, unless the method takes features on any scale. A rough one has the
    method's ``rough`` parameters, for a search.
    """
    machine = method.machine(sample.task, seed=seed, n_rows=n_rows)
    machine.set_params(**(method.rough if rough else {}))
    steps = [("columns", _columns(sample))] if _needs_columns(sample) else []
    if not method.streams:
        steps.append(("scaler", StandardScaler()))
    model = Pipeline([*steps, ("machine", machine)])
    if sample.task == "classification" or method.streams:
        return model
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def search_grid(method: Method, sample: Sample) -> dict[str, list[Any]]:
    """Return what a search chooses from, as parameters of the pipeline."""
    inside = "" if sample.task == "classification" or method.streams else "regressor__"
    grid = method.param_grid(_n_columns(sample), sample.task)
    return {f"{inside}machine__{name}": values for name, values in grid.items()}


def fitted_machine(model: Any) -> Any:
    """Return the machine at the end of a fitted pipeline, with or without a scaled target."""
    return getattr(model, "regressor_", model)[-1]


def _needs_columns(sample: Sample) -> bool:
    return bool(sample.categories) or bool(np.isnan(sample.X).any())


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
    """Return how many columns the machine sees if all categories occur."""
    one_hot = sum(len(texts) for texts in sample.categories.values())
    return sample.X.shape[1] - len(sample.categories) + one_hot
