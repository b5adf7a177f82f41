"""Estimators with a ``kernel`` accept kernels of columns, by position or by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from pliant import (
    AsymmetricKernelRidge,
    DANKClassifier,
    DANKRegressor,
    KernelEmbedding,
    KNPLClassifier,
    LearnedKernelClassifier,
    LogDetLearner,
    SCGLogDetLearner,
    SketchedKernelRidge,
)
from pliant.kernels import Gaussian, Linear, Normalized, On, Polynomial, WeightedSum
from pliant.persistence import load, save

NAMES = ["age", "height", "weight", "income"]
RNG = np.random.default_rng(0)
X, NEW = RNG.uniform(-1, 1, size=(40, 4)), RNG.uniform(-1, 1, size=(7, 4))
FRAME, NEW_FRAME = (pd.DataFrame(points, columns=NAMES) for points in (X, NEW))
LABELS = np.where(X[:, 2] + X[:, 0] > 0, 1, 0)

ESTIMATORS = [
    DANKClassifier(),
    DANKClassifier(partition={"n_parts": 2}),
    DANKRegressor(),
    KNPLClassifier(),
    AsymmetricKernelRidge(),
    SketchedKernelRidge(n_centers=20, random_state=0),
    SCGLogDetLearner(random_state=0),
    LogDetLearner(max_pairs=50, random_state=0),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: repr(e)[:40])


def kernel_of(first, second):
    parts = [On(Gaussian(2.0), first), Normalized(On(Polynomial(2), second))]
    return WeightedSum(parts, [0.7, 0.3])


BY_NAME = kernel_of(["weight", "age"], "income")
BY_POSITION = kernel_of([2, 0], 3)


def outputs(model, points):
    """Return decisions, predictions or kernel values of a model at some points."""
    for name in ("decision_function", "predict", "transform"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(points))
    raise AssertionError("no outputs")


@every_estimator
def test_names_mean_the_columns_of_the_frame(estimator, tmp_path):
    expected = outputs(clone(estimator).set_params(kernel=BY_POSITION).fit(X, LABELS), NEW)
    model = clone(estimator).set_params(kernel=clone(BY_NAME)).fit(FRAME, LABELS)
    np.testing.assert_array_equal(outputs(model, NEW_FRAME), expected)
    assert model.kernel.kernels[0].columns == ["weight", "age"]  # the parameter is unchanged
    save(model, tmp_path / "model.pliant")
    loaded = load(tmp_path / "model.pliant")
    np.testing.assert_array_equal(outputs(loaded, NEW_FRAME), expected)


@every_estimator
def test_the_learned_kernel_knows_positions(estimator):
    model = clone(estimator).set_params(kernel=BY_NAME).fit(FRAME, LABELS)
    kernel = model.kernel_
    base = getattr(kernel, "base", kernel)
    assert base.kernels[0].columns.tolist() == [2, 0]
    assert np.isfinite(kernel(NEW, getattr(kernel, "points", X))).all()


@every_estimator
def test_columns_that_are_not_there_are_refused(estimator):
    for kernel, points, expected in (
        (BY_NAME, X, "as the names of the 4 features are unknown, got 'weight'"),
        (kernel_of(["wight"], 0), FRAME, "got 'wight'; did you mean 'weight'"),
        (kernel_of([0, 7], 0), X, "among 4 features, got .*index 7 is out of bounds"),
        (kernel_of([True, False], 0), X, "among 4 features, got .*: boolean index did not match"),
    ):
        with pytest.raises(ValueError, match=expected):
            clone(estimator).set_params(kernel=kernel).fit(points, LABELS)


def test_names_work_in_a_learned_kernel_with_a_machine_and_in_an_embedding():
    model = LearnedKernelClassifier(SCGLogDetLearner(BY_NAME), random_state=0).fit(FRAME, LABELS)
    twin = LearnedKernelClassifier(SCGLogDetLearner(BY_POSITION), random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(model.predict(NEW_FRAME), twin.predict(NEW))
    embedding = KernelEmbedding(SCGLogDetLearner(BY_NAME), random_state=0).fit(FRAME, LABELS)
    other = KernelEmbedding(SCGLogDetLearner(BY_POSITION), random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(embedding.transform(NEW_FRAME), other.transform(NEW))


def test_a_grid_search_chooses_between_columns():
    kernels = [On(Gaussian(), "income"), On(Gaussian(), ["age", "weight"]), On(Linear(), "height")]
    search = GridSearchCV(DANKClassifier(), {"kernel": kernels}, cv=3).fit(FRAME, LABELS)
    assert search.best_params_["kernel"].columns == ["age", "weight"]
