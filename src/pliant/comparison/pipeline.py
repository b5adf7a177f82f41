"""From a method to an estimator that takes samples of a table as they are.

All preprocessing is a step of the pipeline: medians and most frequent categories for what is
missing, columns for categories and texts, means and standard deviations, also those of a
regression target. So each fold learns its own, from its training rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pliant.comparison.sample import Sample
from pliant.registry import Method


def pipeline(
    method: Method,
    sample: Sample,
    n_rows: int,
    seed: int,
    *,
    rough: bool = False,
    for_new_rows: bool = False,
) -> Any:
    """Return an estimator for n_rows training rows, not fitted: preprocessing, then the learner.

    A rough one has the method's ``rough`` parameters, for a search; see `around`.
    """
    learner = method.machine(sample.task, seed=seed, n_rows=n_rows, rough=rough)
    return around(learner, method, sample, for_new_rows=for_new_rows)


def around(learner: Any, method: Method, sample: Sample, *, for_new_rows: bool = False) -> Any:
    """Return a learner of a method with its preprocessing.

    What is missing is filled in and categories and texts are encoded, see
    `pliant.tables.ColumnEncoder`; then all features are standardised, and for regression the
    target too, unless the method takes features on any scale. `for_new_rows`, gaps are filled in
    even if this sample has none.
    """
    encoded = for_new_rows or sample.needs_encoder
    steps: list[tuple[str, Any]] = [("columns", sample.encoder())] if encoded else []
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


def names_after(model: Any, names: Sequence[str]) -> list[str]:
    """Return the names of the features that the last step of a fitted pipeline gets."""
    inside = getattr(model, "regressor_", getattr(model, "regressor", model))
    if not isinstance(inside, Pipeline) or len(inside) == 1:
        return [str(name) for name in names]
    return [str(name) for name in inside[:-1].get_feature_names_out(list(names))]


def _scales_target(method: Method, sample: Sample) -> bool:
    return sample.task == "regression" and not method.streams


def _n_columns(sample: Sample) -> int:
    """Return the number of columns that the learner gets if all categories occur."""
    encoder, n_classes = sample.encoder(), len(sample.classes or ())
    means = n_classes if n_classes > 2 else 1
    n_columns = sample.X.shape[1]
    for size in map(len, sample.categories.values()):
        n_columns += (size if size <= encoder.most_one_hot else means) - 1
    for start, stop in sample.texts:
        n_columns -= max(0, stop - start - encoder.n_components)
    return n_columns
