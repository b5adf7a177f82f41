"""How the time of a fit by landmarks grows with the points, and that of a new point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.supervised_sets import UNKNOWN, Labelled, generated
from pliant import OrderSpectralLearner, SCGLogDetLearner

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

ROUNDS = 5

FITS = (12_500, 25_000, 50_000, 100_000)
SHARE = 0.1

SIZES = (500, 1000, 2000, 4000)
NEW, KNOWN = 1000, 200

LEARNERS: dict[str, Callable[[], Any]] = {
    "SCG-LDK, Gram": lambda: SCGLogDetLearner(strength=100.0),
    "SCG-LDK, 2 components": lambda: SCGLogDetLearner(strength=100.0, n_components=2),
    "SCG-LDK, 256 landmarks": lambda: SCGLogDetLearner(
        strength=100.0, n_landmarks=256, random_state=0
    ),
    "OSK, Gram": OrderSpectralLearner,
}


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
        LEARNERS[params["learner"]]().fit(*_sample(rows, params["known"] or rows))
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
    return np.min([[_seconds(call) for call in calls] for _ in range(ROUNDS)], axis=0).tolist()


def _seconds(call: Callable[[], Any]) -> float:
    began = process_time()
    call()
    return process_time() - began


def grown(sizes: Sequence[int], times: Sequence[float], unit: str) -> dict[str, float]:
    """Return the slope of log time over log size, and the time for each size."""
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    each = {f"{size} points ({unit})": time for size, time in zip(sizes, times, strict=True)}
    return {"exponent": float(slope), **each}


def _cases(has_data: bool) -> list[Case]:
    del has_data
    given = {"sizes": FITS, "learner": "SCG-LDK, 256 landmarks"}
    fit = Contestant("SCG-LDK, 256 landmarks", f"{__name__}:fits")
    return [
        Case("fit", [fit], given, {**given, "sizes": (1000, 2000)}),
        _of_new_points(KNOWN, f"new point, {KNOWN} labelled"),
        _of_new_points(None, "new point, all labelled"),
    ]


def _of_new_points(known: int | None, name: str) -> Case:
    params = {"sizes": SIZES, "new": NEW, "known": known}
    contestants = [
        Contestant(learner, f"{__name__}:new_points", {"learner": learner}) for learner in LEARNERS
    ]
    return Case(name, contestants, params, warm_up={**params, "sizes": (300, 400)})


BENCHMARK = Benchmark(
    name="supervised-growth",
    title="How the costs of learning from side information grow",
    notes=(
        "Generated points (`benchmarks/supervised_sets.py`). Fits by 256 landmarks, "
        f"{SHARE:.0%} of the points labelled, in seconds for each number of points; and "
        f"`transform` of {NEW} new points after fits of {SIZES[0]} to {SIZES[-1]} points, in "
        "microseconds for a new point: kernel values against all fit points, two coordinates, or "
        f"features. Each is the least processor time of {ROUNDS} calls, all sizes taking turns in "
        "one process; the exponent is the slope of log time over log number of points. The column "
        "of processor times is for all of these calls together."
    ),
    cases=_cases,
    clock="processor",
)
