"""User estimators: names, seeds, journal keys, and errors."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.linear_model import Perceptron, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from pliant.tables.comparison.baselines import BASELINES
from pliant.tables.comparison.cells import fit_method, perform
from pliant.tables.comparison.comparing import compare_sample
from pliant.tables.comparison.contenders import methods_of
from pliant.tables.comparison.folds import outer_split
from pliant.tables.comparison.journal import method_key
from pliant.tables.comparison.options import RunOptions
from pliant.tables.comparison.protocol import Cell, Protocol
from pliant.tables.comparison.sample import Sample
from pliant.tables.registry import METHODS

PROTOCOL = Protocol(folds=3, repeats=1)


@pytest.fixture(scope="module")
def sample():
    r = np.random.default_rng(0)
    X = 100 * r.normal(size=(60, 3))
    X[::7, 1] = np.nan
    return Sample.of(X, (X[:, 0] > 0).astype(int))


def one(estimator, task="classification"):
    (method,) = methods_of([estimator], task, 40)
    return method


def names(*given):
    return [method.name for method in methods_of(given, "classification", 40)]


class Keeping(RegressorMixin, BaseEstimator):
    """A regressor that keeps the features it was given."""

    def fit(self, X, y):
        self.X_ = X
        return self


def test_features_of_all_rows_are_not_copied():
    sample = Sample.of(np.arange(24.0).reshape(12, 2), np.arange(12) / 7)
    method = one(Keeping(), "regression")
    for rows in (np.arange(12), np.arange(11), np.arange(12)[::-1]):
        kept = fit_method(method, sample, rows, PROTOCOL, 0).model[-1].X_
        np.testing.assert_array_equal(kept, sample.X[rows])
        assert np.shares_memory(kept, sample.X) == np.array_equal(rows, np.arange(12))


def test_estimator_is_fitted_unchanged(sample):
    """The score matches a plain loop without scaling and search."""
    given = SVC(gamma=1e-4, C=3.0, random_state=7)
    record = perform(sample, PROTOCOL, one(given), Cell("SVC", 0, 1))
    train, test = outer_split(sample, PROTOCOL, 0, 1)
    medians = np.nanmedian(sample.X[train], axis=0)
    X = np.where(np.isnan(sample.X), medians, sample.X)
    model = SVC(gamma=1e-4, C=3.0, random_state=7).fit(X[train], sample.y[train])
    assert record["scores"]["accuracy"] == model.score(X[test], sample.y[test])
    assert record["chosen"] == {}
    assert not hasattr(given, "classes_")


def test_user_seeds_take_precedence():
    free, fixed = one(DecisionTreeClassifier()), one(DecisionTreeClassifier(random_state=3))
    assert free.make_estimator("classification", seed=11, n_rows=10).random_state == 11
    assert fixed.make_estimator("classification", seed=11, n_rows=10).random_state == 3
    inside = one(make_pipeline(Perceptron(random_state=5)))
    assert inside.make_estimator("classification", seed=11, n_rows=10)[-1].random_state == 5


class Labels(ClassifierMixin, BaseEstimator):
    """A classifier without decision values and probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


def test_classifier_without_scores(sample):
    record = perform(sample, PROTOCOL, one(Labels()), Cell("Labels", 0, 0))
    assert record["scores"]["accuracy"] == 1.0
    assert (record["scores"]["auc"], record["scores"]["log_loss"]) == (None, None)


def test_method_key_depends_on_the_version_of_its_package(monkeypatch):
    learner, keys = replace(METHODS["dank"], package="numpy"), []
    for version in "121":
        monkeypatch.setattr("pliant.tables.comparison.journal.version", lambda _, v=version: v)
        keys.append(method_key(learner, "classification"))
    assert keys[0] == keys[2] != keys[1]


def test_method_key_depends_on_all_settings(sample, tmp_path, monkeypatch):
    long = dict.fromkeys(map(str, range(400)), 0)
    settings = ({}, {"C": 2.0}, {"class_weight": long}, {"class_weight": long | {"399": 1}})
    keys = [method_key(one(("m", SVC(**each))), "classification") for each in settings]
    assert len(set(keys)) == 4
    assert keys == [method_key(one(("m", SVC(**each))), "classification") for each in settings]
    cache = tmp_path / "cells.jsonl"
    monkeypatch.setattr("pliant.tables.comparison.cells.starts_processes", lambda: False)
    for C in (1.0, 1.0, 2.0):
        options = RunOptions(None, 1, cache=cache, resume=True)
        result = compare_sample(sample, [("m", SVC(C=C))], PROTOCOL, options)
        assert len(result.records) == 3
    assert len(cache.read_text().splitlines()) == 1 + 3 + 3


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_all_are_the_methods_of_a_task_whose_package_is_installed(task, monkeypatch):
    def find_spec(package):
        return None if package == "lightgbm" else package

    monkeypatch.setattr("pliant.tables.comparison.baselines.find_spec", find_spec)
    found = [method.name for method in methods_of("all", task, 40)]
    known = METHODS | BASELINES
    expected = {name for name, method in known.items() if task in method.tasks} - {"lightgbm"}
    assert sorted(found) == sorted(expected)
    assert {"dank", "lab-rbf", "dummy", "svm", "xgboost", "catboost"} < expected
    assert ("osk" in expected, "kernel-ridge" in expected) == (
        (True, False) if task == "classification" else (False, True)
    )


class Locked(RegressorMixin, BaseEstimator):
    def __init__(self, lock=None):
        self.lock = lock

    def fit(self, X, y):
        return self


class Strange(RegressorMixin, BaseEstimator):
    def __init__(self, a=1):
        self.a = np.array(a)

    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([3], TypeError, r"expected a method name, .* or a pair .*, got 3"),
        ([SVC], TypeError, r"got <class .*SVC'>: expected SVC\(\)"),
        ([KMeans()], TypeError, r"a classifier or a regressor .* got KMeans\(\)"),
        ([StandardScaler()], TypeError, "a classifier or a regressor"),
        ([(3, SVC())], TypeError, r"expected a string as the name in \(.name., estimator\), got 3"),
        ([("dank", SVC())], ValueError, "pliant has a method of the name 'dank'"),
        ([("blend", SVC())], ValueError, "pliant has a method of the name 'blend'"),
        ([("a", SVC()), ("a", SVR())], ValueError, "expected each method once, got 'a' twice"),
        ([Locked(threading.Lock())], ValueError, "can be cloned and pickled, got Locked"),
        ([Strange()], ValueError, "can be cloned and pickled, got Strange"),
        ([make_pipeline(FunctionTransformer(lambda X: X), Ridge())], ValueError, "a lambda cannot"),
        ("svm", TypeError, r"expected methods to be a list .* got 'svm'"),
        (SVC(), TypeError, r"expected methods to be a list .* got SVC\(\)"),
        (["svn"], ValueError, "unknown method 'svn'; did you mean 'svm'"),
        ([], ValueError, "expected at least one method, got none"),
    ],
)
def test_invalid_methods_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        methods_of(given, "classification", 40)
