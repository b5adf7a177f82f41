"""Settings that a search chose on a part of the rows, for all of them."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from pliant.comparison import cells
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.sample import Sample
from pliant.comparison.search import search
from pliant.registry import METHODS

ROWS, PART = 120, 40
X, Y = make_friedman1(2 * ROWS, 5, random_state=0)
SAMPLE = Sample(X, Y, "regression")
PROTOCOL = Protocol(folds=2, repeats=1, inner_folds=2, candidates=2, search_rows=PART)


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
