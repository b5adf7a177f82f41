"""Methods of the comparison of intervals, by name; each imports its packages when it runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from benchmarks.table_contestants import CONTESTANTS
from pliant.core.typing import Array

Intervals: TypeAlias = Callable[[Array, float], Array]
"""(points, coverage) -> lower and upper ends, shape (n, 2)."""

HELD_OUT = 0.2
"""Share of the training rows used to calibrate intervals."""

MOST_TUNED = 1000
"""Maximum number of rows to tune the SVR on."""

SVR_GRID = {
    "regressor__svr__C": [0.1, 1, 10, 100, 1000],
    "regressor__svr__gamma": [0.001, 0.01, 0.1, 1.0],
}


def lab_rbf(X: Array, y: Array, seed: int, **options: Any) -> Intervals:
    """Fit LAB-RBF with its defaults except `options`."""
    from pliant import LABRBFRegressor

    model = LABRBFRegressor(random_state=seed, **options).fit(X, y)
    return lambda points, coverage: model.predict_interval(points, coverage=coverage)


def quantile_boosting(X: Array, y: Array, seed: int) -> Intervals:
    """Fit histogram gradient boosting with default settings to both quantiles."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    def ends(points: Array, coverage: float) -> Array:
        tails = ((1 - coverage) / 2, (1 + coverage) / 2)
        models = (
            HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=seed)
            for q in tails
        )
        return np.column_stack([model.fit(X, y).predict(points) for model in models])

    return ends


def conformal_svr(X: Array, y: Array, seed: int) -> Intervals:
    """Compute MAPIE's split-conformal intervals around a tuned Gaussian SVR."""
    from mapie.regression import SplitConformalRegressor
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    train, held_out, y_train, y_held_out = train_test_split(
        X, y, test_size=HELD_OUT, random_state=seed
    )
    machine = make_pipeline(StandardScaler(), SVR(epsilon=0.05))
    model = TransformedTargetRegressor(machine, transformer=StandardScaler())
    search = GridSearchCV(model, SVR_GRID, refit=False)
    search.fit(train[:MOST_TUNED], y_train[:MOST_TUNED])
    model.set_params(**search.best_params_).fit(train, y_train)

    def ends(points: Array, coverage: float) -> Array:
        if coverage * (len(held_out) + 1) > len(held_out):  # MAPIE raises an error
            return np.tile([-np.inf, np.inf], (len(points), 1))
        conformal = SplitConformalRegressor(model, coverage, prefit=True)
        conformal.conformalize(held_out, y_held_out)
        return np.asarray(conformal.predict_interval(points)[1])[:, :, 0]

    return ends


def logistic(classification: bool, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


INTERVALS: dict[str, Callable[[Array, Array, int], Intervals] | None] = {
    "lab_rbf": lab_rbf,
    "lab_rbf_calibrated": partial(lab_rbf, calibration=HELD_OUT),
    "gaussian_process": None,
    "quantile_boosting": quantile_boosting,
    "conformal_svr": conformal_svr,
}
"""Methods for regression: (X, y, seed) -> intervals; None: no longer measured."""

PROBABILITIES: dict[str, Callable[[bool, int], Any]] = {
    "lab_rbf": CONTESTANTS["lab_rbf"],
    "logistic": logistic,
    "svm": CONTESTANTS["svm"],
    "forest": CONTESTANTS["random_forest"],
}
"""Methods for classification: (True, seed) -> an unfitted estimator."""

TITLES = {
    "lab_rbf": "LAB-RBF",
    "lab_rbf_calibrated": "LAB-RBF, calibration=0.2",
    "gaussian_process": "Gaussian process",
    "quantile_boosting": "quantile boosting",
    "conformal_svr": "conformal SVR",
    "logistic": "logistic regression",
    "svm": "SVM, Platt",
    "forest": "random forest",
}
