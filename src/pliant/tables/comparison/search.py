"""The methods' pipelines, and the search for the best settings on inner folds.

All preprocessing is part of the pipeline: imputation, encoding of categories and text, scaling of
features and regression targets. All steps are therefore fitted on the training rows of each fold.

The search is scikit-learn's ``HalvingRandomSearchCV`` with rows as the resource: all candidates
start on few rows, and the best third of each round continues with three times as many rows. Below
450 training rows, and for small grids, there is one round with all rows. If the last round has
fewer rows than the training set, penalty parameters are rescaled to all rows
(`pliant.tables.registry.Method.rescale`). Only the search uses a method's ``rough`` parameters.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import get_scorer
from sklearn.model_selection import HalvingRandomSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pliant.core.estimators import BaseEstimator
from pliant.core.typing import Array, Indices
from pliant.kernels.standard import scaled_gamma
from pliant.tables.comparison.folds import inner_count, inner_splits, outer_split
from pliant.tables.comparison.metrics import Metric, Predictions, metrics_of
from pliant.tables.comparison.protocol import Protocol
from pliant.tables.comparison.sample import Sample
from pliant.tables.registry import Method

FACTOR = 3
"""Ratio of candidates, and of rows, between consecutive rounds."""

Scorer: TypeAlias = Callable[[Any, Array, Array], float]


def around(learner: Any, method: Method, sample: Sample, *, for_new_rows: bool = False) -> Any:
    """Combine preprocessing and a learner in a pipeline.

    `pliant.tables.ColumnEncoder` imputes missing values and encodes categories and text. Unless the
    method is scale-invariant, features and a regression target are standardised. Sparse features
    stay as they are. `for_new_rows` adds the encoder even if this sample does not need it.
    """
    encoded = (for_new_rows or sample.needs_encoder) and not sample.is_sparse
    steps: list[tuple[str, Any]] = [("columns", sample.encoder())] if encoded else []
    if not (method.any_scale or sample.is_sparse):
        steps.append(("scaler", StandardScaler()))
    model = Pipeline([*steps, ("machine", learner)])
    if _scales_target(method, sample):
        return TransformedTargetRegressor(model, transformer=StandardScaler())
    return model


def search_grid(method: Method, sample: Sample) -> dict[str, list[Any]]:
    """Return a method's grid, with its pipeline's parameter names."""
    inside = "regressor__" if _scales_target(method, sample) else ""
    grid = method.param_grid(_n_columns(sample), sample.task)
    return {f"{inside}machine__{name}": values for name, values in grid.items()}


def names_after(model: Any, names: Sequence[str]) -> list[str]:
    """Return the feature names that the last step of a fitted pipeline receives."""
    inside = getattr(model, "regressor_", getattr(model, "regressor", model))
    if not isinstance(inside, Pipeline):
        return [str(name) for name in names]
    before = names if len(inside) == 1 else inside[:-1].get_feature_names_out(list(names))
    return names_after(inside[-1], before)


def _scales_target(method: Method, sample: Sample) -> bool:
    return sample.task == "regression" and not method.any_scale


def _n_columns(sample: Sample) -> float:
    """Return the number of features the learner receives if all categories occur.

    For sparse features, it is the number of standardised ones with the same distances, d var(X).
    """
    if sample.is_sparse:
        return 1.0 / scaled_gamma(sample.X)
    encoder, n_classes = sample.encoder(), len(sample.classes or ())
    means = n_classes if n_classes > 2 else 1
    n_columns = sample.X.shape[1]
    for size in map(len, sample.categories.values()):
        n_columns += (size if size <= encoder.most_one_hot else means) - 1
    for start, stop in sample.texts:
        n_columns -= max(0, stop - start - encoder.n_components)
    return n_columns


def search(
    method: Method, sample: Sample, rows: Indices, protocol: Protocol, seed: int
) -> dict[str, Any]:
    """Tune a method by its scores on inner folds of the training rows.

    Returns pipeline parameters for a fit on all these rows: {} for defaults, the point of a
    one-point grid, or the result of a search. The seed determines candidates, folds, and the rows
    of each round. Raises ValueError if the rows do not allow two inner folds, or if all fits fail.
    """
    grid = search_grid(method, sample)
    size = len(ParameterGrid(grid))
    if size == 1:
        return {name: values[0] for name, values in grid.items()}
    n_folds = inner_count(sample, rows, protocol)
    if n_folds < 2:
        raise ValueError("tuning requires at least 4 rows, and 2 rows of each class")
    (metric, scorer), rarest = _scoring(method, sample, protocol), 1.0
    if sample.task == "classification":
        y = sample.y[rows]
        counts = np.unique(y[sample.labelled(y)], return_counts=True)[1]
        rarest = float(counts.min() / len(rows)) / (n_folds if metric.name == "auc" else 1)
    candidates = min(size, protocol.candidates)
    fewest, most = rounds(len(rows), candidates, rarest, protocol)
    learner = method.make_estimator(sample.task, seed=seed, n_rows=most, rough=True)
    halving = HalvingRandomSearchCV(
        around(learner, method, sample),
        grid,
        n_candidates=candidates,
        factor=FACTOR,
        min_resources=fewest,
        max_resources=most,
        scoring=scorer,
        cv=inner_splits(sample, rows, n_folds, seed),
        refit=False,
        return_train_score=False,
        error_score=np.nan,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            halving.fit(sample.X[rows], sample.y[rows])
        except ValueError as error:
            text = str(error).strip()
            if "fits failed" not in text:
                raise
            last = text.splitlines()[-1]
            raise ValueError(f"every fit of the search failed: {last}") from None
    if not math.isfinite(halving.best_score_):
        raise ValueError(
            "no candidate has a score on every inner fold: too few rows, or a rare class"
        )
    return dict(method.rescale(halving.best_params_, len(rows) / most))


def rounds(n_rows: int, candidates: int, rarest: float, protocol: Protocol) -> tuple[int, int]:
    """Return the number of rows in the first and last rounds.

    The last round uses all rows, at most ``search_rows``; each other round uses a third of the
    rows of the round after it. The first round has at least 150 rows and, on average, ten rows of
    the rarest class. `candidates` limits the number of rounds. `rarest` is the share of the rarest
    class, divided by the number of folds for "auc".
    """
    most = min(n_rows, protocol.search_rows)
    least = max(150, math.ceil(10 / rarest))
    n_rounds = 1
    while FACTOR**n_rounds <= candidates and most // FACTOR**n_rounds >= least:
        n_rounds += 1
    return most // FACTOR ** (n_rounds - 1), most


def _scoring(method: Method, sample: Sample, protocol: Protocol) -> tuple[Metric, Scorer]:
    """Return the metric for tuning and its scorer on labelled rows.

    Accuracy replaces a metric that needs probabilities if the uncalibrated learner has none.
    """
    metric, many = protocol.metric_for(sample.task), len(sample.classes or ()) > 2
    scorer = get_scorer("roc_auc_ovr" if many and metric.name == "auc" else metric.scorer)
    ways = getattr(scorer, "_response_method", "predict")
    needs = ways == "predict_proba" or (many and "predict_proba" in ways)
    if needs and not hasattr(method.make_estimator(sample.task, seed=0, n_rows=0), "predict_proba"):
        metric = metrics_of(sample.task)[0]
        scorer = get_scorer(metric.scorer)

    def score(model: Any, X: Array, y: Array) -> float:
        known = sample.labelled(y)
        return float(scorer(model, X[known], y[known]))

    return metric, score


def cross_validate(
    model: BaseEstimator, sample: Sample, protocol: Protocol
) -> list[dict[str, float]]:
    """Cross-validate a model on the folds of the first repeat.

    Returns, for each fold, the scores on labelled rows by metric title.
    """
    folds = []
    for fold in range(protocol.folds):
        train, test = outer_split(sample, protocol, 0, fold)
        fitted = clone(model).fit(sample.X[train], sample.y[train])
        test = test[sample.labelled(sample.y[test])]
        predictions = predict_all(fitted, fitted, sample.X[test])
        scores = {m.title: m.finite(sample.y[test], predictions) for m in metrics_of(sample.task)}
        folds.append({title: score for title, score in scores.items() if score is not None})
    return folds


def predict_all(model: Any, own: Any, X: Array) -> Predictions:
    """Predict with an estimator ``own``, and its probabilities with its calibrated ``model``."""
    values, classes = np.ravel(own.predict(X)), getattr(own, "classes_", None)  # CatBoost: (n, 1)
    if classes is None or len(classes) == 0:  # CatBoost's regressor has no classes
        return Predictions(values)
    probability = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    ranks = hasattr(own, "decision_function") and not hasattr(own, "predict_proba")
    decision = own.decision_function(X) if ranks else None
    return Predictions(values, decision, probability, classes)
