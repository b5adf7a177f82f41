"""SCG-LDK of a sample of 100 000 points: time, memory and accuracy on held-out points."""

from __future__ import annotations

from typing import Any

from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness.calls import whole_process
from benchmarks.harness.spec import Params, Prepared
from benchmarks.supervised_sets import generated
from pliant import KernelEmbedding, SCGLogDetLearner
from pliant.core.typing import Array

HELD_OUT = 2000

NEIGHBORS = 5


def of_sample(params: Params) -> Prepared:
    """Prepare an embedding fitted to the first ``sample`` points, and transform all points."""
    X, y = generated(params["rows"] + HELD_OUT, seed=0)
    rows, known = params["rows"], params["sample"]
    learner = SCGLogDetLearner(strength=params["strength"])
    embedding = KernelEmbedding(learner, params["components"], random_state=0)

    def describe(places: Array) -> dict[str, Any]:
        memory = whole_process("GiB")  # before the predictions below
        neighbours = KNeighborsClassifier(NEIGHBORS).fit(places, y[:rows])
        accuracy = neighbours.score(embedding.transform(X[rows:]), y[rows:])
        return {**memory, "strength": embedding.strength_, "held-out accuracy": accuracy}

    return lambda: embedding.fit(X[:known], y[:known]).transform(X[:rows]), describe
