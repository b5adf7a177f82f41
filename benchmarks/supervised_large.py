"""SCG-LDK by landmarks: time and memory for 100 000 points, and what landmarks miss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.supervised_sets import generated, random_pairs
from pliant import SCGLogDetLearner
from pliant.comparison.run.memory import peak_memory
from pliant.core.typing import Array

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

ROWS, LANDMARKS, PAIRS = 100_000, 256, 200_000
KNOWN = 0.1
STRENGTH = 100.0
SECONDS = 20

EXACT_ROWS = 3000
"""Few enough for the exact kernel matrix."""


def learner(params: Params) -> SCGLogDetLearner:
    """Return the learner with features from landmarks."""
    return SCGLogDetLearner(
        strength=params["strength"], n_landmarks=params["landmarks"], random_state=0
    )


def from_labels(params: Params) -> Prepared:
    """Prepare a fit with a share ``known`` of the labels."""
    X, y = generated(params["rows"], seed=0)
    y[int(params["known"] * len(y)) :] = -1
    return lambda: learner(params).fit(X, y), _describe


def from_pairs(params: Params) -> Prepared:
    """Prepare a fit with random pairs."""
    X, y = generated(params["rows"], seed=0)
    similar, dissimilar = random_pairs(y, params["pairs"], seed=0)
    return lambda: learner(params).fit(X, similar=similar, dissimilar=dissimilar), _describe


def _describe(fitted: SCGLogDetLearner) -> dict[str, Any]:
    largest = peak_memory()
    return {
        "whole process (GiB)": None if largest is None else largest / 2**30,
        "strength": fitted.strength_,
        "share of tr K0 missed": fitted.approximation_error_,
    }


def exact(params: Params) -> Prepared:
    """Prepare a fit on the whole kernel matrix."""
    X, y = generated(params["rows"], seed=0)
    model = SCGLogDetLearner(strength=params["strength"])
    return lambda: model.fit(X, y), lambda fitted: {"strength": fitted.strength_}


def by_landmarks(params: Params) -> Prepared:
    """Prepare a fit by landmarks; tell how far K0 and K are from the exact ones."""
    X, y = generated(params["rows"], seed=0)

    def describe(fitted: SCGLogDetLearner) -> dict[str, Any]:
        whole = SCGLogDetLearner(strength=params["strength"])
        K = whole.fit_gram(X, y)
        before = _relative_error(_nystroem(fitted, X), whole.kernel_.base(X))
        after = _relative_error(fitted.kernel_(X), K)
        return {
            "strength": fitted.strength_,
            "share of tr K0 missed": fitted.approximation_error_,
            "error of K0": before,
            "error of K": after,
            "amplified by": after / before,
        }

    return lambda: learner(params).fit(X, y), describe


def _nystroem(fitted: SCGLogDetLearner, X: Array) -> Array:
    """Return K0 as the landmarks give it."""
    base, landmarks = fitted.kernel_.base, fitted.kernel_.landmarks
    cross = base(X, landmarks)
    return cross @ np.linalg.pinv(base(landmarks), rcond=1e-12, hermitian=True) @ cross.T


def _relative_error(found: Array, exact: Array) -> float:
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def _cases(has_data: bool) -> list[Case]:
    del has_data
    return [_large(), *(_missed(strength) for strength in (1.0, 100.0, 10_000.0))]


def _large() -> Case:
    params = {"rows": ROWS, "landmarks": LANDMARKS, "pairs": PAIRS, "known": KNOWN}
    some = f"{KNOWN:.0%} labelled"
    given, every = {"strength": STRENGTH}, {"strength": STRENGTH, "known": 1.0}
    contestants = [
        Contestant(some, f"{__name__}:from_labels", given),
        Contestant("all labelled", f"{__name__}:from_labels", every),
        Contestant(f"{some}, defaults", f"{__name__}:from_labels", {"strength": "auto"}),
        Contestant(f"{PAIRS} pairs", f"{__name__}:from_pairs", given),
        Contestant(f"{PAIRS} pairs, defaults", f"{__name__}:from_pairs", {"strength": "auto"}),
    ]
    warm_up = {**params, "rows": 2000, "pairs": 2000}
    return Case(f"{ROWS} points, {LANDMARKS} landmarks", contestants, params, warm_up)


def _missed(strength: float) -> Case:
    params = {"rows": EXACT_ROWS, "strength": strength}
    contestants = [
        Contestant("exact", f"{__name__}:exact"),
        *(
            Contestant(f"{m} landmarks", f"{__name__}:by_landmarks", {"landmarks": m}, "exact")
            for m in (64, 256, 1024)
        ),
    ]
    name = f"{EXACT_ROWS} points, strength {strength:g}"
    return Case(name, contestants, params, {**params, "rows": 1100})


BENCHMARK = Benchmark(
    name="supervised-large",
    title="SCG-LDK by landmarks, 100 000 points",
    notes=(
        "Generated: ten classes of three normal clusters each in 20 dimensions "
        "(`benchmarks/supervised_sets.py`). Gaussian kernel, gamma 1/(d var(X)). A fit of "
        f"{ROWS} points with {LANDMARKS} landmarks must stay below {SECONDS} s. Defaults: "
        f"strength chosen by cross-validation; else {STRENGTH:g}. Peak memory is what the fit adds "
        "to the data. Errors are Frobenius norms of what the landmarks make of K0 and of "
        "the learned K less the exact matrices, relative to these, all points labelled; their "
        "quotient is what learning adds. There, the time ratio is that to the exact fit."
    ),
    cases=_cases,
    clock="processor",
)
