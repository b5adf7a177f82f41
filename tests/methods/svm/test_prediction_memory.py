"""Prediction in blocks: memory does not grow with the number of rows."""

from itertools import product

import numpy as np
import pytest

from pliant import DANKClassifier, DANKRegressor
from pliant.datasets import make_clowns
from tests.memory import peak_memory

pytestmark = pytest.mark.slow

X, Y = make_clowns(300, random_state=0)
WAYS = {
    "exact": {"tau": 0.0},
    "low rank": {"tau": 0.01},
    "part": {"partition": {"n_parts": 3}},
}


def peak(call):
    """Return the peak of the memory during a call, of this thread and of any other."""
    with peak_memory() as used:
        call()
    return used.peak


@pytest.mark.parametrize(
    ("extension", "learner", "way"),
    [
        *product(["none", "smooth"], [DANKRegressor], WAYS.values()),
        *product(["nearest"], [DANKClassifier], WAYS.values()),
    ],
)
def test_memory_does_not_grow_with_the_rows(monkeypatch, extension, learner, way):
    monkeypatch.setattr("pliant.core.blocks.BLOCK_ENTRIES", 2000)
    monkeypatch.setattr("pliant.core.distances.BLOCK_ENTRIES", 2000)
    few = np.random.default_rng(0).normal(size=(400, 2))
    many = np.tile(few, (3, 1))  # so many that what a process keeps is negligible
    model = learner(extension=extension, **way).fit(X, Y)
    predict = model.predict if learner is DANKRegressor else model.decision_function
    predict(few)
    limit = 800 * 8 * 30  # 30 numbers per row; a Gram matrix would have 300
    # threads that other tests have left may add to some peaks, but not to all
    assert any(peak(lambda: predict(many)) - peak(lambda: predict(few)) < limit for _ in range(5))
