"""Each entry of the registry is a method that can be learned, tuned and found."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid

from pliant.registry import METHODS, get_method

TASKS = [(method, task) for method in METHODS.values() for task in method.tasks]

r = np.random.default_rng(0)
X = r.normal(size=(40, 3))
TARGETS = {"classification": np.where(X[:, 0] > 0, "a", "b"), "regression": X[:, 0] + X[:, 1] ** 2}


def test_names_are_the_keys():
    assert [method.name for method in METHODS.values()] == list(METHODS)
    assert "dank" in METHODS


@pytest.mark.parametrize(("method", "task"), TASKS)
def test_a_learner_does_its_task(method, task):
    learner = method.learner(task)()
    assert (is_classifier if task == "classification" else is_regressor)(learner)
    assert learner.fit(X, TARGETS[task]).score(X, TARGETS[task]) > 0.5


@pytest.mark.parametrize(("method", "task"), TASKS)
def test_a_learner_takes_each_setting_of_the_grid(method, task):
    for settings in ParameterGrid(method.param_grid(X.shape[1])):
        learner = method.learner(task)(**settings).fit(X[:12], TARGETS[task][:12])
        assert learner.predict(X).shape == (len(X),)


def test_gamma_of_the_grid_is_relative_to_the_number_of_features():
    method = METHODS["dank"]
    grid = method.param_grid(10)
    assert grid["gamma"] == pytest.approx([factor / 10 for factor in method.grid["gamma"]])
    assert grid["C"] == list(method.grid["C"])


def test_the_grid_has_the_defaults_inside():
    grid = METHODS["dank"].grid
    assert min(grid["C"]) < 1.0 < max(grid["C"])
    assert 1.0 in grid["gamma"]


def test_a_method_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        METHODS["dank"].name = "other"


def test_an_unknown_method_is_told_with_a_close_match():
    assert get_method("dank") is METHODS["dank"]
    with pytest.raises(ValueError, match=r"unknown method 'Dnak'; did you mean 'dank'\?"):
        get_method("Dnak")
    with pytest.raises(ValueError, match=r"unknown method 'xyz'; there are: dank"):
        get_method("xyz")


def test_a_task_that_a_method_has_no_learner_for():
    method = dataclasses.replace(METHODS["dank"], regressor=None)
    assert method.tasks == ("classification",)
    with pytest.raises(ValueError, match="dank does classification, not 'regression'"):
        method.learner("regression")
