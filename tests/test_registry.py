"""Each entry of the registry is a method that can be fitted, tuned and found by name."""

import dataclasses

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.svm import SVC

from pliant.tables.registry import METHODS

TASKS = [(method, task) for method in METHODS.values() for task in method.tasks]

r = np.random.default_rng(0)
X = r.normal(size=(40, 3))
TARGETS = {"classification": np.where(X[:, 0] > 0, "a", "b"), "regression": X[:, 0] + X[:, 1] ** 2}


@pytest.mark.parametrize(("method", "task"), TASKS)
def test_a_learner_does_its_task(method, task):
    learner = method.learner(task)()
    assert (is_classifier if task == "classification" else is_regressor)(learner)
    assert learner.fit(X, TARGETS[task]).score(X, TARGETS[task]) > 0.5


@pytest.mark.parametrize(("method", "task"), TASKS)
def test_a_learner_takes_each_value_of_the_grid(method, task):
    grid = method.param_grid(X.shape[1])
    for k in range(max(map(len, grid.values()), default=1)):
        settings = {name: values[k % len(values)] for name, values in grid.items()}
        learner = method.learner(task)(**settings).fit(X[:12], TARGETS[task][:12])
        assert learner.predict(X).shape == (len(X),)


def test_gamma_of_the_grid_is_relative_to_the_number_of_features():
    method = METHODS["dank"]
    grid = method.param_grid(10)
    assert grid["gamma"] == pytest.approx([factor / 10 for factor in method.grid["gamma"]])
    assert grid["C"] == list(method.grid["C"])


@pytest.mark.parametrize(("method", "task"), TASKS)
def test_a_machine_belongs_to_one_method(method, task):
    machine = method.learner(task)()
    assert [each.name for each in METHODS.values() if each.matches(machine)] == [method.name]
    assert [each.name for each in METHODS.values() if each.matches(clone(machine))] == [method.name]


@pytest.mark.parametrize("name", ["scg-ldk", "scg-osk", "osk", "ldk"])
def test_a_learned_kernel_goes_to_a_plain_support_vector_machine(name):
    model = METHODS[name].learner("classification")(machine__C=3.0, unlabeled="c")
    assert (model.machine.C, model.unlabeled) == (3.0, "c")
    model.set_params(random_state=0).fit(X, TARGETS["classification"])
    rows = model.kernel_(X, model.support_vectors_)
    plain = SVC(kernel="precomputed", C=3.0, tol=1e-6).fit(rows, TARGETS["classification"])
    ours, theirs = model.decision_function(X), plain.decision_function(rows)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_method_that_streams_takes_features_on_any_scale(task):
    (method,) = [method for method in METHODS.values() if method.any_scale]
    learner = method.learner(task)(n_support=5, n_members=1, max_iter=3, random_state=0)
    scaled = X * [1e4, 1.0, 1e-3]
    predicted = learner.fit(scaled, TARGETS[task]).predict(scaled)
    plain = learner.fit(X, TARGETS[task]).predict(X)
    if task == "regression":
        np.testing.assert_allclose(plain, predicted, atol=1e-6)
    else:
        np.testing.assert_array_equal(plain, predicted)


def test_a_task_that_a_method_has_no_learner_for():
    method = dataclasses.replace(METHODS["dank"], regressor=None)
    assert method.tasks == ("classification",)
    with pytest.raises(ValueError, match="dank supports classification, not 'regression'"):
        method.learner("regression")
