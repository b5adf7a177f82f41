"""LDK by Bregman projections: the active block, all points, one pair after another; and SCG-LDK."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dger
from sklearn.datasets import make_classification

from benchmarks.datasets import load_local
from benchmarks.harness.calls import fitting
from benchmarks.harness.spec import Params, Prepared
from pliant import LogDetLearner, SCGLogDetLearner, SideInformation
from pliant.core.typing import Array, Indices
from pliant.kernels import as_kernel
from pliant.methods.side_information import bregman
from pliant.methods.side_information.bregman import DistanceBounds, apart, squared_distances

TOL, SWEEPS = 1e-3, 20
"""Every LDK stops at this relative gap, or after this number of sweeps."""

STRENGTH = 100.0

SHAPES = {"breast_cancer_wdbc": (569, 30), "heart_statlog": (270, 13)}
"""Rows and features of the sets."""


class Given(NamedTuple):
    """Standardised points, classes (-1: unknown), and the pairs of rows that LDK learns from."""

    X: Array
    y: Indices
    pairs: Indices
    signs: Array


def given(params: Params) -> Given:
    """Return a set with ``labels`` labels, drawn at random, and up to ``pairs`` of their pairs."""
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
    if params["data"]:
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

    return (
        lambda: model.fit(X, similar=pairs[signs > 0], dissimilar=pairs[signs < 0]),
        lambda fitted: _describe(fitted.objective_, fitted.dual_gap_, fitted.n_iter_),
    )


def all_points(params: Params) -> Prepared:
    """Prepare the same projections on the Gram matrix of all points."""
    problem_of, rng = _problem(params), np.random.RandomState
    return (
        lambda: bregman.solve(problem_of(), rng=rng(0), tol=TOL, max_iter=SWEEPS),
        lambda result: _describe(result.value, result.gap, result.n_iter),
    )


def one_after_another(params: Params) -> Prepared:
    """Prepare the algorithm as it is written: pairs in their order, K after each of them."""
    problem_of = _problem(params)

    def call() -> tuple[float, float, int]:
        problem = problem_of()
        K, duals, log_det = problem.gram.copy(order="F"), np.zeros(len(problem.pairs)), 0.0
        for sweep in range(1, SWEEPS + 1):
            log_det += _sweep(problem, K, duals)
            proof = problem.certificate(duals, K, log_det)
            reached = proof.value, proof.gap, sweep
            if proof.gap <= TOL * (1.0 + abs(proof.value)):
                break
        return reached

    return call, lambda result: _describe(*result)


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
        low, high = np.percentile(squared_distances(gram, pairs[used]), (5.0, 95.0))
        bounds = np.where(signs[used] > 0, low, high)
        return DistanceBounds(gram, pairs[used], signs[used], bounds)

    return problem_of


def _describe(objective: float, gap: float, sweeps: int) -> dict[str, Any]:
    return {"objective": objective, "gap": gap, "sweeps": sweeps}


def closed_form(params: Params) -> Prepared:
    """Prepare `SCGLogDetLearner` on the same pairs, or on the labels that they come from."""
    X, y, pairs, signs = given(params)
    model = SCGLogDetLearner(strength=STRENGTH)
    if params["from"] == "labels":
        return fitting(model, X, y)
    similar, dissimilar = pairs[signs > 0], pairs[signs < 0]
    return lambda: model.fit(X, similar=similar, dissimilar=dissimilar), lambda fitted: {}
