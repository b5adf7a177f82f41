"""Cells and searches against a slow reference implementation of nested cross-validation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_friedman1
from sklearn.exceptions import UndefinedMetricWarning

from pliant.tables.comparison.cells import fit_method, kept_rows, perform
from pliant.tables.comparison.contenders import named
from pliant.tables.comparison.protocol import Cell, Protocol
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.search import rounds, search
from pliant.tables.registry import METHODS
from tests.reference import naive_comparison as naive

NAMES = ("dummy", "linear", "svm", "dank")
SMALL = {"folds": 3, "repeats": 2, "inner_folds": 3, "candidates": 3}
SMALL |= {"search_rows": 2000, "seed": 7, "metric": None}


def table(task, n=60, *, classes=2, categories=True, groups=None, ordered=False, seed=0):
    """Return numeric and categorical features with missing values, and a dependent target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 0]
    X[:, 3] = rng.integers(0, 3, n)
    signal = X[:, 0] + np.sin(X[:, 1] / 3) + (X[:, 3] == 2) + 0.3 * rng.standard_normal(n)
    y = 100 + 20 * signal
    if task == "classification":
        edges = np.quantile(signal, np.arange(1, classes) / classes)
        y = np.array(["no", "yes", "maybe"])[np.searchsorted(edges, signal)]
    X[rng.random((n, 4)) < 0.08] = np.nan
    return {
        "X": X if categories else X[:, :3],
        "y": y,
        "task": task,
        "categories": {3: 3} if categories else {},
        "groups": None if groups is None else rng.integers(0, groups, n),
        "ordered": ordered,
    }


def engine(made, protocol, method, repeat, fold):
    names = {column: ("a", "b", "c")[:count] for column, count in made["categories"].items()}
    sample = Sample(**made | {"categories": names})
    return perform(sample, Protocol(**protocol), named(method), Cell(method, repeat, fold))


def check(made, method, repeat, fold, **changes):
    protocol = SMALL | changes
    found = engine(made, protocol, method, repeat, fold)
    expected = naive.cell(method, made, protocol, repeat, fold)
    assert found["error"] is None
    assert found["chosen"] == expected["chosen"]
    if expected["values"] is None:
        assert found["kept"] is None
    else:
        assert found["kept"]["rows"] == expected["rows"]
        np.testing.assert_allclose(found["kept"]["values"], expected["values"], rtol=2e-6)
    assert found["scores"].keys() == expected["scores"].keys()
    for name, value in expected["scores"].items():
        tolerance = 1e-6 if name == "log_loss" else 1e-12
        close = value if value is None else pytest.approx(value, rel=tolerance, abs=1e-14)
        assert found["scores"][name] == close, name


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_cells_match_twin(task, method):
    check(table(task), method, 1, 1)


def test_rarest_class_limits_inner_folds():
    made = table("classification", 60)
    made["y"] = np.where(np.arange(60) % 10 == 3, "yes", "no")
    for inner_folds in (None, 5):
        check(made, "linear", 1, 0, inner_folds=inner_folds)
    made["y"] = np.where(np.arange(60) % 3 == 0, "yes", "no")
    check(made, "linear", 1, 0, inner_folds=None)


def test_candidates_sharing_kernels():
    check(table("classification", 60), "ldk", 1, 0, folds=2, candidates=8)


@pytest.mark.parametrize("method", ["svm", "dank"])
def test_three_classes(method):
    check(table("classification", 75, classes=3), method, 1, 2)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_groups_and_time_order(task):
    check(table(task, 80, groups=15), "svm", 1, 1)
    check(table(task, 120, ordered=True), "svm", 0, 1, repeats=1)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_successive_halving_rounds(task):
    """The search uses 153, then 459 of 500 training rows, as the limit is 460."""
    made = table(task, 1000, categories=False)
    check(made, "svm", 1, 0, folds=2, candidates=5, search_rows=460)


def test_search_by_log_loss():
    check(table("classification", 60), "svm", 0, 1, metric="log_loss", candidates=6)


def test_stored_rows_are_shared_by_methods():
    """At most 2000 rows of a fold are stored."""
    test = np.arange(100, 3100)
    kept = kept_rows(Protocol(seed=3), (1, 2), test)
    assert len(np.unique(kept)) == 2000
    assert (np.diff(kept) > 0).all()
    np.testing.assert_array_equal(kept_rows(Protocol(), (0, 0), test[:50]), np.arange(50))
    assert set(kept) != set(kept_rows(Protocol(seed=3), (1, 3), test))


def test_rare_class_is_in_every_round():
    """The AUC of a single class is undefined, so the choice would be random."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((460, 3))
    y = (X[:, 0] + rng.standard_normal(460) > 1.9).astype(int)
    sample, protocol = Sample(X, y, "classification"), Protocol(metric="auc", candidates=3)
    for seed in range(8):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UndefinedMetricWarning)
            assert search(named("linear"), sample, np.arange(460), protocol, seed)


def test_inner_folds_with_single_training_class_are_dropped():
    """With time order, early rows can belong to a single class."""
    made = table("classification", 120, ordered=True)
    made["y"][:20] = "no"
    check(made, "svm", 0, 1, repeats=1)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(20, 5000),
    n_candidates=st.integers(1, 64),
    rare=st.integers(1, 500),
    search_rows=st.integers(10, 4000),
)
def test_rounds_match_twin(n, n_candidates, rare, search_rows):
    y = np.arange(n) < min(rare, n // 2)
    expected = naive.rounds(n, n_candidates, y, "classification", search_rows)
    share = min(rare, n // 2) / n
    first, most = rounds(n, n_candidates, share, Protocol(search_rows=search_rows))
    assert first == expected[0]
    assert most - 27 < expected[-1] <= most


ROWS, PART = 120, 40
X, Y = make_friedman1(2 * ROWS, 5, random_state=0)
SAMPLE = Sample(X, Y, "regression")
PROTOCOL = Protocol(folds=2, repeats=1, inner_folds=2, candidates=2, search_rows=PART)


@pytest.mark.parametrize("rows", [PART, ROWS])
def test_search_rescales_penalty(rows):
    chosen = search(METHODS["tkl"], SAMPLE, np.arange(rows), PROTOCOL, seed=0)
    name = "regressor__machine__C"
    assert chosen[name] * PART / rows in METHODS["tkl"].grid["C"]


def test_rescaled_penalty_is_used_in_fit_and_calibration():
    labels = Sample(X, np.where(Y - np.median(Y) > 0.0, "a", "b"), "classification")
    rows = np.arange(ROWS)
    fitted = fit_method(METHODS["tkl"], labels, rows, PROTOCOL, 0)
    chosen = fitted.settings["machine__C"]
    assert chosen * PART / ROWS in METHODS["tkl"].grid["C"]
    assert fitted.own.get_params()["machine__C"] == chosen
    assert fitted.model.get_params()["estimator__machine__C"] == chosen


def test_untuned_methods_use_defaults():
    for name in ("extra-trees", "boosting", "dummy"):
        found = fit_method(named(name), SAMPLE, np.arange(40), PROTOCOL, 0)
        assert found.settings == {}
