"""Cells use only training rows of their fold, whole groups, and earlier rows in time order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from pliant.tables.comparison.cells import perform
from pliant.tables.comparison.contenders import named
from pliant.tables.comparison.folds import check_folds, outer_split, without_rare_classes
from pliant.tables.comparison.protocol import Cell, Protocol
from pliant.tables.comparison.sample import Sample
from pliant.tables.reading.encoder import ColumnEncoder
from pliant.tables.registry import Method

PROTOCOL = Protocol(folds=3, repeats=2, inner_folds=3, candidates=3, seed=5)
SEEN: list[tuple[str, np.ndarray]] = []
"""Calls of spies, in order: "fit" or "ask", and the row numbers."""


class _Spy(BaseEstimator):
    """Estimator that learns nothing and records the first column of its input."""

    def __init__(self, depth=1):
        self.depth = depth

    def fit(self, X, y):
        SEEN.append(("fit", X[:, 0].astype(int)))
        self.found_ = np.unique(y)
        return self

    def predict(self, X):
        SEEN.append(("ask", X[:, 0].astype(int)))
        return np.resize(self.found_, len(X))


class SpyClassifier(ClassifierMixin, _Spy):
    @property
    def classes_(self):
        return self.found_

    def decision_function(self, X):
        SEEN.append(("ask", X[:, 0].astype(int)))
        return X[:, 1]


class SpyRegressor(RegressorMixin, _Spy):
    pass


SPY = Method(
    *("spy", "Spy", "", SpyClassifier, SpyRegressor, {"depth": (1, 2, 3)}, 10_000, ""),
    any_scale=True,
)


def numbered(task, n=90, **facts):
    """Return a sample with row numbers as the first feature."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(n), rng.standard_normal((n, 2))])
    y = rng.integers(0, 2, n) if task == "classification" else rng.standard_normal(n)
    return Sample(X, y, task, **facts)


def watched(sample, repeat, fold):
    """Return the calls of a spy in one cell."""
    SEEN.clear()
    record = perform(sample, PROTOCOL, SPY, Cell("spy", repeat, fold))
    assert record["error"] is None
    assert len(SEEN) >= 19
    return list(SEEN)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_models_are_fitted_on_training_rows_only(task):
    sample = numbered(task)
    train, test = outer_split(sample, PROTOCOL, 1, 1)
    seen = watched(sample, 1, 1)
    for kind, rows in seen:
        if kind == "fit":
            assert set(rows) <= set(train)
    fitted = [rows for kind, rows in seen if kind == "fit"]
    asked = [set(rows) for kind, rows in seen if kind == "ask"]
    assert any(len(rows) == len(train) for rows in fitted)
    assert set(test) in asked
    assert all(rows == set(test) or rows <= set(train) for rows in asked)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_groups_are_never_split(task):
    groups = np.random.default_rng(1).integers(0, 18, 90)
    sample = numbered(task, groups=groups)
    learned: set[int] = set()
    for kind, rows in watched(sample, 1, 2):
        found = set(groups[rows])
        if kind == "fit":
            learned = found
        else:
            assert not learned & found


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_time_order_uses_earlier_rows_only(task):
    sample = numbered(task, 120, ordered=True)
    last = -1
    for kind, rows in watched(sample, 0, 2):
        if kind == "fit":
            last = rows.max()
        else:
            assert rows.min() > last


@pytest.mark.parametrize("method", ["linear", "dank"])
def test_test_rows_do_not_affect_the_model(method):
    """Changed targets and features of test rows change neither settings nor other predictions."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    X[::7, 1], X[:, 2] = np.nan, rng.integers(0, 2, 60)
    y = X[:, 0] + np.nan_to_num(X[:, 1]) + X[:, 2] + 0.1 * y
    before = Sample(X.copy(), y.copy(), "regression", categories={2: ("a", "b", "c")})
    after = replace(before, X=X, y=y)
    train, test = outer_split(before, PROTOCOL, 0, 1)
    y[test], y[test[0]] = 1e3, -1e3
    X[test[:3]] = [1e6, np.nan, 2.0]
    records = [perform(s, PROTOCOL, named(method), Cell(method, 0, 1)) for s in (before, after)]
    assert records[0]["chosen"] == records[1]["chosen"]
    first, second = (record["kept"] for record in records)
    assert first["rows"] == second["rows"] == test.tolist()
    assert first["values"][3:] == pytest.approx(second["values"][3:], rel=1e-6)
    assert first["values"][:3] != second["values"][:3]
    assert records[0]["scores"] != records[1]["scores"]
    assert not set(train) & set(test)


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(30, 80),
    folds=st.integers(2, 5),
    seed=st.integers(0, 100),
    task=st.sampled_from(["classification", "regression"]),
    kind=st.sampled_from(["plain", "groups", "time"]),
)
def test_outer_folds(n, folds, seed, task, kind):
    """Each row is a test row once per repeat, or at most once with time order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2) if task == "classification" else rng.random(n)
    groups = rng.integers(0, 12, n) if kind == "groups" else None
    sample = Sample(np.zeros((n, 1)), y, task, groups=groups, ordered=kind == "time")
    protocol = Protocol(folds=folds, repeats=1 if kind == "time" else 2, seed=seed)
    try:
        check_folds(sample, protocol)
    except ValueError:
        return
    for repeat in range(protocol.repeats):
        splits = [outer_split(sample, protocol, repeat, fold) for fold in range(folds)]
        tested = np.concatenate([test for _, test in splits])
        assert len(np.unique(tested)) == len(tested)
        for train, test in splits:
            assert len(train)
            assert len(test)
            if kind == "time":
                assert train.max() < test.min()
                continue
            assert sorted([*train, *test]) == list(range(n))
            if groups is not None:
                assert not set(groups[train]) & set(groups[test])
        if kind != "time":
            assert sorted(tested) == list(range(n))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=6), st.integers(2, 6))
def test_rare_classes_are_dropped(sizes, folds):
    """Each remaining class has two training rows; the note counts the dropped rows."""
    y = np.repeat(np.array([*"abcdef"])[: len(sizes)], sizes)
    sample = Sample(np.arange(len(y))[:, None].astype(float), y, "classification")
    protocol = Protocol(folds=folds, repeats=1)
    found = without_rare_classes(sample, folds)
    rare = [size for size in sizes if size < folds or size - -(-size // folds) < 2]
    if not rare or len(sizes) - len(rare) < 2:
        assert found is sample
        return
    check_folds(found, protocol)
    assert len(sample.y) - len(found.y) == sum(rare)
    assert len(found.classes) == len(sizes) - len(rare)
    np.testing.assert_array_equal(found.y, y[found.X[:, 0].astype(int)])
    assert f"{sum(rare)} row" in found.notes[-1]
    assert f"left out: too few for {folds} folds" in found.notes[-1]


def test_class_in_few_groups_is_dropped():
    y = np.repeat([*"abc"], [20, 20, 10])
    groups = np.concatenate([np.arange(40) // 4, np.full(10, 99)])
    sample = Sample(np.zeros((50, 1)), y, "classification", groups=groups)
    found = without_rare_classes(sample, 3)
    assert found.classes == ["a", "b"]
    np.testing.assert_array_equal(found.groups, groups[:40])
    later = Sample(np.zeros((50, 1)), y, "classification", ordered=True)
    assert without_rare_classes(later, 40) is later


def test_target_encoding_does_not_leak():
    """Encoded on all rows, random categories would predict three quarters of the labels."""
    rng = np.random.default_rng(2)
    codes, y = rng.integers(0, 150, 300).astype(float), rng.integers(0, 2, 300)
    texts = {0: tuple(f"c{k:03}" for k in range(150))}
    sample = Sample(codes[:, None], y, "classification", categories=texts)
    records = [perform(sample, PROTOCOL, named("linear"), Cell("linear", 0, k)) for k in range(3)]
    assert np.mean([record["scores"]["accuracy"] for record in records]) < 0.6
    leaked = ColumnEncoder({0: 150}, task="classification").fit(codes[:, None], y)
    assert np.mean((leaked.transform(codes[:, None])[:, 0] > y.mean()) == y) > 0.7
