"""Settings from a search on a subset of the rows."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from pliant.comparison.cells import fit_method
from pliant.comparison.contenders import named
from pliant.comparison.protocol import Protocol
from pliant.comparison.sample import Sample
from pliant.comparison.search import search
from pliant.registry import METHODS

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
