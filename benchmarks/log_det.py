"""LDK by Bregman projections: the active block, all points, one pair after another; and SCG-LDK."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dger
from sklearn.datasets import make_classification

from benchmarks.datasets import load_local
from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.local_sets import ABSENT, named
from pliant import LogDetLearner, SCGLogDetLearner, SideInformation
from pliant.core.typing import Array, Indices
from pliant.kernels import as_kernel
from pliant.methods.side_information import bregman
from pliant.methods.side_information.ldk_problem import (
    DistanceBounds,
    apart,
    pair_distances,
    percentile_bounds,
)

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

TOL, SWEEPS = 1e-3, 20
"""Every LDK stops at this relative gap, or after so many sweeps."""

STRENGTH = 100.0

SHAPES = {"breast_cancer_wdbc": (569, 30), "heart_statlog": (270, 13)}
"""Rows and features of the sets."""


class Given(NamedTuple):
    """Standardised points, classes (-1: unknown), and the pairs of rows that LDK learns from."""

    X: Array
    y: Indices
    pairs: Indices
    signs: Array


class Found(NamedTuple):
    """What a run of LDK proves, and after how many sweeps."""

    objective: float
    gap: float
    sweeps: int


def given(params: Params) -> Given:
    """Return a set with so many labels, drawn at random, and up to ``pairs`` of their pairs."""
    X, classes = _set(params)
    rng = np.random.RandomState(0)
    y = np.full(len(X), -1)
    known = rng.permutation(len(X))[: params["labels"]]
    y[known] = np.unique(classes, return_inverse=True)[1].reshape(-1)[known]
    information = SideInformation.from_labels(y, unlabeled=-1)
    pairs, signs = information.sample_pairs(params["pairs"], rng)
    order = np.lexsort(pairs.T[::-1])
    return Given(X, y, pairs[order], signs[order])


def _set(params: Params) -> tuple[Array, Any]:
    if params["has_data"]:
        data = load_local(params["set"])
        X, y = data.X, data.y
    else:
        rows, features = SHAPES[params["set"]]
        X, y = make_classification(rows, features, n_informative=features // 2, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def active_block(params: Params) -> Prepared:
    """Prepare `LogDetLearner`, which projects on the points that are in a pair."""
    X, _, pairs, signs = given(params)
    model = LogDetLearner(max_pairs=None, tol=TOL, max_iter=SWEEPS, random_state=0)

    def call() -> LogDetLearner:
        return model.fit(X, similar=pairs[signs > 0], dissimilar=pairs[signs < 0])

    return call, lambda fitted: _describe(
        Found(fitted.objective_, fitted.dual_gap_, fitted.n_iter_)
    )


def all_points(params: Params) -> Prepared:
    """Prepare the same projections on the Gram matrix of all points."""
    problem_of = _problem(params)

    def call() -> Found:
        problem = problem_of()
        result = bregman.solve(problem, rng=np.random.RandomState(0), tol=TOL, max_iter=SWEEPS)
        return Found(result.value, result.gap, result.n_iter)

    return call, _describe


def one_after_another(params: Params) -> Prepared:
    """Prepare the algorithm as it is written: pairs in their order, K after each of them."""
    problem_of = _problem(params)

    def call() -> Found:
        problem = problem_of()
        K, duals, log_det = problem.gram.copy(order="F"), np.zeros(len(problem.pairs)), 0.0
        for sweep in range(1, SWEEPS + 1):
            log_det += _sweep(problem, K, duals)
            proof = problem.certificate(duals, K, log_det)
            found = Found(proof.value, proof.gap, sweep)
            if proof.gap <= TOL * (1.0 + abs(proof.value)):
                break
        return found

    return call, _describe


def _sweep(problem: DistanceBounds, K: Array, duals: Array) -> float:
    """Project on one bound after another, change K and the duals; return the change of log det."""
    nu, change = problem.slack, 0.0
    for k, (i, j) in enumerate(problem.pairs):
        s, w = problem.signs[k], K[:, i] - K[:, j]
        p = w[i] - w[j]
        inverse_slack = 1.0 / problem.bounds[k] - s * duals[k] / nu
        a = min(duals[k], s * nu / (nu + 1.0) * (1.0 / p - inverse_slack))
        if a:
            duals[k] -= a
            change += math.log1p(-s * a * p)
            dger(s * a / (1.0 - s * a * p), w, w, a=K, overwrite_a=1)
    return change


def _problem(params: Params) -> Callable[[], DistanceBounds]:
    """Return what makes the problem on all points, its Gram matrix included."""
    X, _, pairs, signs = given(params)

    def problem_of() -> DistanceBounds:
        gram = as_kernel("gaussian", X)(X)
        used = apart(gram, pairs)
        low, high = percentile_bounds(pair_distances(gram, pairs[used]), (5.0, 95.0))
        bounds = np.where(signs[used] > 0, low, high)
        return DistanceBounds(gram, pairs[used], signs[used], bounds)

    return problem_of


def _describe(found: Found) -> dict[str, Any]:
    return {"objective": found.objective, "gap": found.gap, "sweeps": found.sweeps}


def closed_form(params: Params) -> Prepared:
    """Prepare `SCGLogDetLearner` on the same pairs, or on the labels that they come from."""
    X, y, pairs, signs = given(params)
    model = SCGLogDetLearner(strength=STRENGTH)
    if params["from"] == "labels":
        return lambda: model.fit(X, y), lambda fitted: {}
    similar, dissimilar = pairs[signs > 0], pairs[signs < 0]
    return lambda: model.fit(X, similar=similar, dissimilar=dissimilar), lambda fitted: {}


_HERE = f"{__name__}:"
_PLAIN, _FULL, _LDK = "LDK, one pair after another", "LDK on all points", "LDK"
_CONTESTANTS = (
    Contestant(_PLAIN, f"{_HERE}one_after_another"),
    Contestant(_FULL, f"{_HERE}all_points", baseline=_PLAIN),
    Contestant(_LDK, f"{_HERE}active_block", baseline=_PLAIN),
    Contestant("SCG-LDK, pairs", f"{_HERE}closed_form", {"from": "pairs"}, baseline=_LDK),
    Contestant("SCG-LDK, labels", f"{_HERE}closed_form", {"from": "labels"}, baseline=_LDK),
)
_GROWING = (
    Contestant(_LDK, f"{_HERE}active_block"),
    Contestant("SCG-LDK, labels", f"{_HERE}closed_form", {"from": "labels"}, baseline=_LDK),
)


def _cases(has_data: bool) -> list[Case]:
    return [
        *(_case("breast_cancer_wdbc", k, 8000, _CONTESTANTS, has_data) for k in (569, 114)),
        *(
            _case("heart_statlog", k, 10**6, _GROWING, has_data)
            for k in (30, 60, 90, 135, 190, 270)
        ),
    ]


def _case(
    name: str, labels: int, pairs: int, contestants: tuple[Contestant, ...], has_data: bool
) -> Case:
    params = {"set": name, "has_data": has_data, "labels": labels, "pairs": pairs}
    known = min(pairs, labels * (labels - 1) // 2)
    return Case(
        f"{named(name, has_data)}, {labels} labels, {known} pairs",
        contestants,
        params,
        warm_up={**params, "labels": 20},
    )


BENCHMARK = Benchmark(
    name="log-det",
    title="LDK by Bregman projections, beside SCG-LDK",
    notes=(
        "Standardised points, Gaussian kernel with gamma='scale', labels drawn at random, slack "
        f"price 1, bounds at the 5th and 95th percentile. Every LDK stops at a certified relative "
        f"gap of {TOL:g} or after {SWEEPS} sweeps over the same pairs. 'One pair after another' is "
        "the algorithm as it is written: the pairs in their order, a rank-one update of the "
        "matrix of all points by BLAS after each, in Python. LDK on all points draws the order "
        "anew and brings the matrix up to date for 64 pairs at once; LDK is LogDetLearner, the "
        "same on the points that are in a pair. SCG-LDK is SCGLogDetLearner with strength "
        f"{STRENGTH:g}, from the same pairs or from the labels; its speed-up is over LDK. Times "
        f"include the base Gram matrix. {ABSENT}"
    ),
    cases=_cases,
    quantity="speed-up",
    clock="processor",
)
