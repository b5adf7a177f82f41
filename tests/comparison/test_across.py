"""Comparisons over several tables against Demšar's worked example and small examples."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pliant.comparison.result import across
from tests.comparison.comparison_cases import result_of
from tests.comparison.test_ranks import C45

METHODS = ("svm", "dank", "tkl", "linear")


def tables(scores, names=METHODS, metrics=None):
    """Return a result for each row of mean scores."""
    metrics = metrics or ["accuracy"] * len(scores)
    return [
        result_of({name: [x, x] for name, x in zip(names, row, strict=True)}, f"table {k}", metric)
        for k, (row, metric) in enumerate(zip(scores, metrics, strict=True))
    ]


def test_demsar_example_and_to_dict():
    """Table 6 of Demšar (2006), sorted by average rank."""
    found = across(tables(C45))
    data = json.loads(json.dumps(found.to_dict()))
    assert list(data["ranks"]) == ["linear", "dank", "tkl", "svm"]
    np.testing.assert_allclose([*data["ranks"].values()], found.ranks)
    np.testing.assert_allclose(found.ranks, [1.964, 2.000, 2.893, 3.143], atol=5e-4)
    assert data["friedman"]["statistic"] == pytest.approx(3.69, abs=5e-3)
    assert data["critical_difference"] == pytest.approx(1.25, abs=5e-3)
    assert data["sentence"] == found.sentence()


def test_ranks_combine_tables_of_different_tasks():
    """Accuracy is maximised and RMSE, on a much larger scale, is minimised."""
    scores = [[0.8, 0.9, 0.7]] * 4 + [[3e4, 2.5e4, 4e4]] * 4
    found = across(tables(scores, METHODS[:3], ["accuracy"] * 4 + ["rmse"] * 4))
    np.testing.assert_array_equal(found.ranks, [1, 2, 3])
    assert [entry.name for entry in found.methods] == ["dank", "svm", "tkl"]


def test_unranked_methods_are_excluded_with_reasons():
    scores = {"svm": [0.8, 0.8], "dank": [0.9, 0.9]}
    first = result_of({**scores, "tkl": [0.9, 0.9], "osk": [None, None]}, "a")
    cut = {"tkl": "1 of 2 folds: the budget ended"}
    second = result_of({**scores, "tkl": [0.9, None], "osk": [0.7, 0.7]}, "b", reasons=cut)
    third = result_of({**scores, "osk": [0.7, 0.7], "ldk": [0.7, 0.7]}, "b")
    found = across([first, second, third])
    assert [entry.name for entry in found.methods] == ["dank", "svm"]
    assert found.tables == ("a", "b (1)", "b (2)")
    assert found.left_out == {
        "tkl": "b (1): 1 of 2 folds: the budget ended and b (2): not compared",
        "osk": "a: no score on all common folds",
        "ldk": "a: not compared and b (1): not compared",
    }
