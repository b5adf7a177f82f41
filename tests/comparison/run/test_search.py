"""Settings that a search chose on a part of the rows, for all of them."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from pliant import TKLRegressor
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.run import cells
from pliant.comparison.run.baselines import BASELINES
from pliant.comparison.run.search import search
from pliant.comparison.run.validation import Tuned
from pliant.comparison.sample import Sample
from pliant.registry import METHODS

ROWS, PART = 120, 40
X, Y = make_friedman1(2 * ROWS, 5, random_state=0)
SAMPLE = Sample(X, Y, "regression")
PROTOCOL = Protocol(folds=2, repeats=1, inner_folds=2, candidates=2, search_rows=PART)

PER_ROW = {"tkl": ("C",)}
"""The methods whose penalty is scaled; C of the others, and what multiplies a mean, is not."""


def test_which_parameters_are_scaled():
    known = METHODS | BASELINES
    assert {name: each.per_row for name, each in known.items() if each.per_row} == PER_ROW
    assert all(set(each.per_row) <= set(each.grid) for each in known.values())


@pytest.mark.parametrize("name", ["tkl", "dank", "mkl", "lab-rbf", "scg-ldk"])
def test_settings_for_more_rows(name):
    method = METHODS[name]
    settings = {f"regressor__machine__{key}": 7.0 for key in [*method.grid, "machine__C"]}
    scaled = method.at_size(settings, 2.5)
    changed = {key for key in settings if scaled[key] != settings[key]}
    assert changed == {f"regressor__machine__{key}" for key in PER_ROW.get(name, ())}
    assert all(scaled[key] == 17.5 for key in changed)
    assert method.at_size(settings, 1.0) == settings


def test_c_multiplies_a_sum_over_the_rows():
    """Each row twice with C is each row once with 2 C: a mean would not notice."""
    rows = np.repeat(np.arange(12), 2)
    options = {"tol": 1e-4}
    twice = TKLRegressor(1.0, **options).fit(X[rows], Y[rows])
    once = TKLRegressor(2.0, **options).fit(X[:12], Y[:12])
    assert twice.objective_ == pytest.approx(once.objective_, rel=3e-4)


@pytest.mark.parametrize("rows", [PART, ROWS])
def test_a_search_scales_what_it_chose_on_a_part(rows):
    found = search(METHODS["tkl"], SAMPLE, np.arange(rows), PROTOCOL, seed=0)
    name = "regressor__machine__C"
    assert found.on_part[name] in METHODS["tkl"].grid["C"]
    assert found.chosen == found.on_part | {name: found.on_part[name] * rows / PART}


def test_cells_fit_all_rows_with_the_scaled_penalty_and_calibrate_with_the_chosen_one(monkeypatch):
    """The fits of a calibration have as many rows as those of the search."""
    labels = Sample(X, np.where(Y - np.median(Y) > 0.0, "a", "b"), "classification")
    rough = []
    monkeypatch.setattr(cells, "calibrated", lambda values, model, _: rough.append(model) or values)
    record = cells.perform(labels, PROTOCOL, METHODS["tkl"], Cell("tkl", 0, 0))
    assert record["error"] is None
    chosen = rough[0].get_params()["machine__C"]
    assert chosen in METHODS["tkl"].grid["C"]
    assert record["chosen"]["C"] == chosen * record["rows"]["train"] / PART


def test_a_tuned_model_has_the_scaled_penalty():
    model = Tuned(METHODS["tkl"], PROTOCOL)(SAMPLE, np.arange(ROWS), None, lambda _: None)
    C = model.get_params()["regressor__machine__C"] * PART / ROWS
    assert min(abs(C / value - 1) for value in METHODS["tkl"].grid["C"]) < 1e-12
