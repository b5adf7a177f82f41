"""The order of cells under a budget, and what becomes of cells that are cut, fail or crash."""

import os
import threading
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier

from pliant.comparison import cells as cell_module
from pliant.comparison import isolation
from pliant.comparison.cells import cut, perform
from pliant.comparison.comparing import compare_sample
from pliant.comparison.journal import key_of
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.sample import Sample
from pliant.comparison.workers import close_all, perform_apart, warm_up
from pliant.registry import Method

PROTOCOL = Protocol(folds=2, repeats=1, seed=3)


class Trouble(ClassifierMixin, BaseEstimator):
    """A classifier that sleeps, dies or complains when it is fitted."""

    def __init__(self, what="sleep", seconds=30.0):
        self.what = what
        self.seconds = seconds

    def fit(self, X, y):
        if self.what == "sleep":
            time.sleep(self.seconds)
        if self.what == "die":
            os._exit(7)
        if self.what == "complain":
            raise ValueError("expected better rows, got these")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def method(name, maker, **grid):
    return Method(name, name, "", maker, None, grid, 10_000, "for tests")


def trouble(what, seconds=30.0):
    return method(what, lambda: Trouble(what, seconds))


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return Sample.of(X, (X[:, 0] > 0).astype(int))


@pytest.fixture(autouse=True, scope="module")
def _no_process_is_left():
    yield
    close_all()


def entry(result, name):
    return next(entry for entry in result.methods if entry.name == name)


class Clock:
    """A clock that stands still but where a test moves it: no load of the computer matters."""

    def __init__(self):
        self.now = 1e9
        self.others = threading.Semaphore(0)
        self.awaited = 0

    def time(self):
        return self.now


@pytest.fixture
def here(monkeypatch):
    """Cells run in this process, in no time; the one that sleeps is cut when its time is up.

    It sleeps until `awaited` other cells are done.
    """
    clock = Clock()

    def perform_here(sample, protocol, learner, cell, key, ends):
        if learner.name != "sleep":
            record = perform(sample, protocol, learner, cell)
            if "seconds" in record:
                record["seconds"]["total"] = 0.01
            clock.others.release()
            return record
        while clock.awaited:
            assert clock.others.acquire(timeout=100.0)
            clock.awaited -= 1
        clock.now = max(clock.now, ends)
        return cut(cell)

    monkeypatch.setattr(cell_module, "figures", lambda *model: [])
    monkeypatch.setattr(cell_module, "reset_peak_memory", lambda: None)
    monkeypatch.setattr("pliant.comparison.race.perform_apart", perform_here)
    monkeypatch.setattr("pliant.comparison.race.time", clock)
    return clock


@pytest.mark.usefixtures("here")
def test_a_failing_method_is_a_row_with_its_error(sample):
    methods = [trouble("complain"), method("plain", DummyClassifier)]
    result = compare_sample(sample, methods, PROTOCOL, budget=None, n_jobs=1)
    assert entry(result, "plain").status == "done"
    assert entry(result, "complain").status == "error"
    assert entry(result, "complain").reason == "ValueError: expected better rows, got these"
    assert [record["status"] for record in result.records] == ["error", "error", "done", "done"]


def test_a_budget_cuts_what_is_slow_and_leaves_the_rest_as_it_would_be(sample, here):
    plain = method("plain", DummyClassifier)
    here.awaited = 2
    some = compare_sample(sample, [trouble("sleep"), plain], PROTOCOL, budget=10.0, n_jobs=2)
    assert entry(some, "sleep").status == "cut"
    assert entry(some, "sleep").reason == "0 of 2 folds: the budget ended"
    assert entry(some, "plain").status == "done"
    whole = compare_sample(sample, [plain], PROTOCOL, budget=None, n_jobs=1)
    assert some.score_text() == whole.score_text()
    assert not some.interrupted


def test_a_search_that_will_not_end_in_time_is_given_up_early(sample, monkeypatch):
    """By its first fits, long before; the process lives on, and no score depends on it."""
    clock, n_fits = Clock(), []

    def fit(self, X, y):
        n_fits.append(len(X))
        clock.now += 0.6
        self.classes_ = np.unique(y)
        return self

    monkeypatch.setattr(Trouble, "fit", fit)
    monkeypatch.setattr("pliant.comparison.search.time", clock)
    learner = method("slow", lambda: Trouble("none"), seconds=tuple(0.6 + np.arange(30) / 1e3))
    cell, ends = Cell("slow", 0, 0), clock.now + 10.0
    record = perform(sample, PROTOCOL, learner, cell, ends)
    assert len(n_fits) == 2  # of 150: after the first, less than a second has passed
    assert (record["status"], record["scores"]) == ("cut", {})
    assert record["error"] == "a search takes 90 s or more"
    plain = perform(sample, PROTOCOL, method("plain", DummyClassifier), Cell("plain", 0, 0), ends)
    assert plain["status"] == "done"


def test_a_process_that_dies_is_an_error_that_is_tried_again(sample, tmp_path):
    cache = tmp_path / "cells.jsonl"
    protocol = Protocol(folds=2, repeats=1)
    result = compare_sample(sample, [trouble("die")], protocol, budget=None, n_jobs=2, cache=cache)
    assert entry(result, "die").status == "error"
    assert "the process died" in entry(result, "die").reason
    assert len(cache.read_text().splitlines()) == 1


def test_a_cell_is_killed_when_its_time_is_up(sample):
    """It sleeps for a day: that there is a record shows that nobody waited for its end."""
    close_all()
    learner, ends = trouble("sleep", 86_400.0), time.time() + 3.0
    record = perform_apart(sample, PROTOCOL, learner, Cell("sleep", 0, 0), "k", ends)
    assert record["status"] == "cut"
    assert not isolation._FREE
    assert not isolation._BUSY


def test_a_cell_in_another_process_gives_what_it_gives_here(sample):
    """Processes are started once: further ones are there already."""
    warm_up(1)
    cell, learner = Cell("plain", 0, 1), method("plain", DummyClassifier)
    key = key_of(sample, PROTOCOL)
    there = perform_apart(sample, PROTOCOL, learner, cell, key)
    here = perform(sample, PROTOCOL, learner, cell)
    for name in ("scores", "chosen", "rows", "predictions", "curve", "status"):
        assert there[name] == here[name]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_jobs": 0}, "expected n_jobs >= 1, an integer, got 0"),
        ({"n_jobs": "two"}, "'two'"),
        ({"budget": 0.0}, "expected budget > 0"),
        ({"methods": []}, "expected at least one method, got none"),
        ({"methods": ["svm", "svm"]}, "expected each method once, got 'svm' twice"),
        ({"methods": ["dnk"]}, "unknown method 'dnk'; did you mean 'dank'"),
        ({"protocol": Protocol(metric="r2")}, "expected a metric out of accuracy"),
        ({"protocol": Protocol(folds=40)}, "expected at least 40 rows of each class for 40 folds"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_runs(sample, monkeypatch, options, said):
    monkeypatch.setattr("pliant.comparison.race.perform_apart", lambda *_: pytest.fail("ran"))
    with pytest.raises((ValueError, TypeError), match=said):
        compare_sample(sample, **options)
