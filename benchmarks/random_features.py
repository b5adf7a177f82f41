"""Aligned random features beside as many plain ones: errors of linear models on them.

Features are standardised; at most 3000 rows train, as many test. Classification is by logistic
regression, with C of 1, 10, 100 or 1000 by a quarter of the training rows; regression is by ridge
regression with the penalty of leave-one-out. Errors are shares of wrong labels, and 1 - R2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_local
from pliant import AlignedRandomFeatures
from pliant.core.typing import Array

CLASSES = (
    "german_numeric", "breast_cancer_wdbc", "sonar", "splice_train", "spambase", "ijcnn1_val",
    "eeg_eye_state", "adult_a3a", "usps_test",
)  # fmt: skip
REAL = (
    "abalone", "airfoil", "cpusmall", "california_housing", "kc_house", "space_ga", "bodyfat",
)  # fmt: skip

SEEDS = range(100, 105)
COUNTS = (30, 100)
ROWS = 3000
MORE = 10
"""Candidates, and plain features of the last column, for each feature."""

Table = tuple[str, bool, Array, Any]


def random_features() -> Iterator[list[Any]]:
    """Yield the head and the rows of random-features.csv: mean errors over the seeds."""
    yield [
        "set", "task", "features", "plain", "aligned", "aligned, rho = .005 N",
        f"{MORE} times as many plain", "seeds where aligned is better",
    ]  # fmt: skip
    for count in COUNTS:
        means = []
        for name, real, X, y in _tables():
            errors = np.array([_errors(X, y, real, count, seed) for seed in SEEDS])
            means.append(errors.mean(axis=0))
            better = int((errors[:, 1] < errors[:, 0]).sum())
            task = "regression" if real else "classification"
            yield [name, task, count, *(f"{e:.3f}" for e in means[-1]), f"{better} of {len(SEEDS)}"]
        ratios = np.exp(np.mean([np.log(e / e[0]) for e in means], axis=0))
        better = sum(e[1] < e[0] for e in means)
        shown = (f"{ratio:.3f}" for ratio in ratios)
        yield ["geometric mean", "ratio", count, *shown, f"{better} of {len(means)} sets"]


def _tables() -> Iterator[Table]:
    """Yield name, whether targets are real, X and y: local sets, and three generated ones."""
    for name in (*CLASSES, *REAL):
        data = load_local(name)
        yield name, name in REAL, data.X, data.y
    draw = np.random.default_rng(0)
    X = draw.standard_normal((4000, 20))
    yield "3 of 20 features (generated)", False, X, np.abs(X[:, 0]) + X[:, 1] * X[:, 2] > 0.7
    X = draw.standard_normal((4000, 10))
    yield "a sphere (generated)", False, X, (X**2).sum(axis=1) > 10.0
    X = draw.uniform(-1.0, 1.0, (4000, 15))
    y = np.sin(4.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * draw.standard_normal(4000)
    yield "3 of 15 features (generated)", True, X, y


def _errors(X: Array, y: Any, real: bool, count: int, seed: int) -> list[float]:
    """Return the errors on the features of the four columns."""
    parts = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=None if real else y)
    train, test, y_train, y_test = (part[:ROWS] for part in parts)
    scaler = StandardScaler().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    if real:
        mean, spread = y_train.mean(), y_train.std()
        y_train, y_test = (y_train - mean) / spread, (y_test - mean) / spread
    gamma = 1.0 / (train.shape[1] * train.var())
    many, known = MORE * count, {"random_state": seed, "target": "real" if real else "classes"}
    samplers = (
        RBFSampler(gamma=gamma, n_components=count, random_state=seed),
        AlignedRandomFeatures(count, **known),
        AlignedRandomFeatures(count, rho=0.005 * many, **known),
        RBFSampler(gamma=gamma, n_components=many, random_state=seed),
    )
    return [
        1.0 - make_pipeline(sampler, _linear(sampler, train, y_train, real))
        .fit(train, y_train)
        .score(test, y_test)
        for sampler in samplers
    ]  # fmt: skip


def _linear(sampler: BaseEstimator, X: Array, y: Any, real: bool) -> BaseEstimator:
    """Return the linear model, with its penalty."""
    if real:
        return RidgeCV(np.logspace(-6, 2, 9))
    Z, part = sampler.fit_transform(X, y), 3 * len(X) // 4
    models = [LogisticRegression(C=C, max_iter=300) for C in (1.0, 10.0, 100.0, 1000.0)]
    scores = [model.fit(Z[:part], y[:part]).score(Z[part:], y[part:]) for model in models]
    return models[int(np.argmax(scores))]
