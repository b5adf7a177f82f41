"""Prediction in blocks: memory does not grow with the number of rows."""

import tracemalloc
from itertools import product

import numpy as np
import pytest

from pliant import DANKClassifier, DANKRegressor
from pliant.datasets import make_clowns

pytestmark = pytest.mark.slow

X, Y = make_clowns(300, random_state=0)
WAYS = {
    "exact": {"tau": 0.0},
    "low rank": {"tau": 0.01},
    "part": {"partition": {"n_parts": 3}},
}
WHOLE = {"partition": {"n_parts": 3, "prediction": "whole"}}


def held(call):
    """Return the minimum peak of two calls, as threads of other tests may add to a peak."""
    peaks = []
    for _ in range(2):
        tracemalloc.start()
        call()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return min(peaks)


@pytest.mark.parametrize(
    ("extension", "learner", "way"),
    [
        *product(["none", "smooth"], [DANKRegressor], WAYS.values()),
        *product(["nearest"], [DANKClassifier], WAYS.values()),
        ("none", DANKRegressor, WHOLE),
    ],
)
def test_memory_does_not_grow_with_the_rows(monkeypatch, extension, learner, way):
    monkeypatch.setattr("pliant.core.blocks.BLOCK_ENTRIES", 2000)
    monkeypatch.setattr("pliant.core.linalg.BLOCK_ENTRIES", 2000)
    few = np.random.default_rng(0).normal(size=(400, 2))
    many = np.tile(few, (3, 1))  # so many that what a process keeps is negligible
    model = learner(extension=extension, **way).fit(X, Y)
    predict = model.predict if learner is DANKRegressor else model.decision_function
    predict(few)
    grown = held(lambda: predict(many)) - held(lambda: predict(few))
    assert grown < 800 * 8 * 30  # 30 numbers per row; a Gram matrix would have 300
