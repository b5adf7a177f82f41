"""SCG-LDK by landmarks: 100 000 points, what landmarks miss, and how costs grow with the points."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Params, Prepared
from benchmarks.supervised_sets import UNKNOWN, Labelled, generated, random_pairs
from pliant import SCGLogDetLearner
from pliant.core.typing import Array


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


def _sample(rows: int, known: int) -> Labelled:
    X, y = generated(rows, seed=0)
    y[known:] = UNKNOWN
    return Labelled(X, y)
