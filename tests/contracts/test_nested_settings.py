"""Settings of settings, such as ``partition__n_parts``, can be set and searched from any value."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from pliant import (
    DANKClassifier,
    DANKRegressor,
    KMeansPartition,
    KNPLClassifier,
    KNPLRegressor,
    LABRBFAlgorithm,
    LABRBFClassifier,
    LABRBFRegressor,
    TKLClassifier,
    TKLRegressor,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = np.sin(2 * X[:, 0])

PARTED = [DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor, TKLClassifier, TKLRegressor]


@pytest.mark.parametrize("made", PARTED)
@pytest.mark.parametrize(
    ("before", "seed"), [(None, 0), ("kmeans", 0), ({"random_state": 5}, 5)], ids=str
)
def test_partitions(made, before, seed):
    model = made(partition=before)
    assert model.set_params(partition__n_parts=4) is model
    assert isinstance(model.partition, KMeansPartition)
    assert (model.partition.n_parts, model.partition.random_state) == (4, seed)
    assert made().partition is None


@pytest.mark.parametrize("made", [LABRBFClassifier, LABRBFRegressor])
def test_algorithms(made):
    model = made().set_params(algorithm__objective="ridge", n_members=2)
    assert model.algorithm.objective == "ridge"
    assert model.n_members == 2
    model.set_params(algorithm__linear=False)  # keeps the object
    assert (model.algorithm.objective, model.algorithm.linear) == ("ridge", False)
    assert clone(model).algorithm.objective == "ridge"
    assert made().algorithm == "default"
    chosen = LABRBFAlgorithm()
    assert made().set_params(algorithm=chosen, algorithm__shrinkage=0.5).algorithm is chosen


def test_a_value_and_its_settings_at_once():
    model = DANKClassifier().set_params(partition="kmeans", partition__n_parts=4)
    assert (model.partition.n_parts, model.partition.random_state) == (4, 0)
    grid = {"partition": ["kmeans"], "partition__n_parts": [2, 3]}
    search = GridSearchCV(DANKClassifier(), grid, cv=2).fit(X, y > 0)
    assert search.best_estimator_.partition.n_parts in (2, 3)


def test_a_refused_setting_changes_nothing():
    model = DANKClassifier()
    with pytest.raises(ValueError, match="'n_partz'"):
        model.set_params(partition__n_partz=4, C=3.0)
    assert model.partition is None
    assert model.C == DANKClassifier().C


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match="'objectiv'"):
        LABRBFRegressor().set_params(algorithm__objectiv="ridge")
    model = DANKClassifier().set_params(partition__n_parts=0)
    with pytest.raises(ValueError, match="expected n_parts"):
        model.fit(X, y > 0)


def test_a_grid_of_settings():
    grid = {"algorithm__objective": ["ridge", "evidence"]}
    model = LABRBFRegressor(n_members=1, max_iter=3, dense=False, random_state=0)
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    best = search.best_estimator_.algorithm
    assert isinstance(best, LABRBFAlgorithm)
    assert best.objective == search.best_params_["algorithm__objective"]
    scores = search.cv_results_["mean_test_score"]
    expected = [
        GridSearchCV(model, {"algorithm": [LABRBFAlgorithm(objective=objective)]}, cv=2)
        .fit(X, y)
        .best_score_
        for objective in ("ridge", "evidence")
    ]
    np.testing.assert_array_equal(scores, expected)
    assert scores[0] != scores[1]


def test_a_grid_of_parts():
    model = DANKClassifier(eta=float("inf"))
    search = GridSearchCV(model, {"partition__n_parts": [1, 3]}, cv=2).fit(X, y > 0)
    assert search.best_estimator_.partition.n_parts == search.best_params_["partition__n_parts"]
    assert model.partition is None
