"""SCG-LDK by landmarks: 100 000 points, what landmarks miss, and how costs grow with the points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.harness.calls import exponent, fitting, processor_seconds, whole_process
from benchmarks.harness.spec import Params, Prepared
from benchmarks.supervised_sets import UNKNOWN, Labelled, generated, random_pairs
from pliant import OrderSpectralLearner, SCGLogDetLearner
from pliant.core.typing import Array

ROUNDS = 5
SHARE = 0.1
"""Of the points of a fit that are labelled."""

LEARNERS: dict[str, Callable[[], Any]] = {
    "SCG-LDK, Gram": lambda: SCGLogDetLearner(strength=100.0),
    "SCG-LDK, 2 components": lambda: SCGLogDetLearner(strength=100.0, n_components=2),
    "SCG-LDK, 256 landmarks": lambda: SCGLogDetLearner(
        strength=100.0, n_landmarks=256, random_state=0
    ),
    "OSK, Gram": OrderSpectralLearner,
}


def learner(params: Params) -> SCGLogDetLearner:
    """Return the learner with features from landmarks."""
    return SCGLogDetLearner(
        strength=params["strength"], n_landmarks=params["landmarks"], random_state=0
    )


def from_labels(params: Params) -> Prepared:
    """Prepare a fit with a share ``known`` of the labels."""
    X, y = _sample(params["rows"], int(params["known"] * params["rows"]))
    return lambda: learner(params).fit(X, y), _describe


def from_pairs(params: Params) -> Prepared:
    """Prepare a fit with random pairs."""
    X, y = generated(params["rows"], seed=0)
    similar, dissimilar = random_pairs(y, params["pairs"], seed=0)
    return lambda: learner(params).fit(X, similar=similar, dissimilar=dissimilar), _describe


def _describe(fitted: SCGLogDetLearner) -> dict[str, Any]:
    return {
        **whole_process("GiB"),
        "strength": fitted.strength_,
        "share of tr K0 missed": fitted.approximation_error_,
    }


def exact(params: Params) -> Prepared:
    """Prepare a fit on the whole kernel matrix."""
    model = SCGLogDetLearner(strength=params["strength"])
    data = generated(params["rows"], seed=0)
    return fitting(model, *data, describe=lambda fitted: {"strength": fitted.strength_})


def by_landmarks(params: Params) -> Prepared:
    """Prepare a fit by landmarks; describe how far K0 and K are from the exact ones."""
    X, y = generated(params["rows"], seed=0)

    def describe(fitted: SCGLogDetLearner) -> dict[str, Any]:
        whole = SCGLogDetLearner(strength=params["strength"])
        K = whole.fit_gram(X, y)
        before = _relative_error(nystroem(fitted, X), whole.kernel_.base(X))
        after = _relative_error(fitted.kernel_(X), K)
        return {
            "strength": fitted.strength_,
            "share of tr K0 missed": fitted.approximation_error_,
            "error of K0": before,
            "error of K": after,
            "amplified by": after / before,
        }

    return lambda: learner(params).fit(X, y), describe


def nystroem(fitted: SCGLogDetLearner, X: Array) -> Array:
    """Return K0 as the landmarks give it."""
    base, landmarks = fitted.kernel_.base, fitted.kernel_.landmarks
    cross = base(X, landmarks)
    return cross @ np.linalg.pinv(base(landmarks), rcond=1e-12, hermitian=True) @ cross.T


def _relative_error(computed: Array, exact: Array) -> float:
    return float(np.linalg.norm(computed - exact) / np.linalg.norm(exact))


def fits(params: Params) -> Prepared:
    """Prepare fits of more and more points, a share of them labelled."""
    samples = [_sample(rows, int(SHARE * rows)) for rows in params["sizes"]]
    model = LEARNERS[params["learner"]]()
    calls = [lambda each=each: model.fit(*each) for each in samples]
    return lambda: least_seconds(calls), lambda seconds: grown(params["sizes"], seconds, "s")


def new_points(params: Params) -> Prepared:
    """Prepare `transform` of the same new points after fits of more and more points."""
    new = generated(params["new"], seed=1).X
    models = [
        LEARNERS[params["learner"]]().fit(*_sample(rows, params.get("known", rows)))
        for rows in params["sizes"]
    ]
    calls = [lambda model=model: model.transform(new) for model in models]

    def describe(seconds: list[float]) -> dict[str, Any]:
        return grown(params["sizes"], [1e6 * each / params["new"] for each in seconds], "us")

    return lambda: least_seconds(calls), describe


def _sample(rows: int, known: int) -> Labelled:
    X, y = generated(rows, seed=0)
    y[known:] = UNKNOWN
    return Labelled(X, y)


def least_seconds(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Return the least processor time of each call in some rounds of all of them."""
    return np.min([[*map(processor_seconds, calls)] for _ in range(ROUNDS)], axis=0).tolist()


def grown(sizes: Sequence[int], times: Sequence[float], unit: str) -> dict[str, float]:
    """Return the slope of log time over log size, and the time for each size."""
    each = {f"{size} points ({unit})": time for size, time in zip(sizes, times, strict=True)}
    return {"exponent": exponent(sizes, times), **each}
