"""LDK by Bregman projections, compared with SCG-LDK."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.datasets import load_local
from benchmarks.harness.calls import fitting
from benchmarks.harness.spec import Params, Prepared
from pliant import LogDetLearner, SCGLogDetLearner, SideInformation
from pliant.core.typing import Array, Indices

TOL, SWEEPS = 1e-3, 20
"""Relative gap, and number of sweeps, after which LDK stops."""

STRENGTH = 100.0


class LabelledPairs(NamedTuple):
    """Standardised points, classes (-1: unknown), and the pairs of rows for LDK."""

    X: Array
    y: Indices
    pairs: Indices
    signs: Array


def load_pairs(params: Params) -> LabelledPairs:
    """Return a set with ``labels`` random labels, and up to ``pairs`` of their pairs."""
    X, classes = _set(params)
    rng = np.random.RandomState(0)
    y = np.full(len(X), -1)
    known = rng.permutation(len(X))[: params["labels"]]
    y[known] = np.unique(classes, return_inverse=True)[1].reshape(-1)[known]
    information = SideInformation.from_labels(y, unlabeled=-1)
    pairs, signs = information.sample_pairs(params["pairs"], rng)
    order = np.lexsort(pairs.T[::-1])
    return LabelledPairs(X, y, pairs[order], signs[order])


def _set(params: Params) -> tuple[Array, Any]:
    if params["data"]:
        data = load_local(params["set"])
        X, y = data.X, data.y
    else:
        X, y = make_classification(270, 13, n_informative=6, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def active_block(params: Params) -> Prepared:
    """Prepare `LogDetLearner`, which projects on the points in pairs."""
    X, _, pairs, signs = load_pairs(params)
    model = LogDetLearner(max_pairs=None, tol=TOL, max_iter=SWEEPS, random_state=0)

    return (
        lambda: model.fit(X, similar=pairs[signs > 0], dissimilar=pairs[signs < 0]),
        lambda fitted: {
            "objective": fitted.objective_,
            "gap": fitted.dual_gap_,
            "sweeps": fitted.n_iter_,
        },
    )


def closed_form(params: Params) -> Prepared:
    """Prepare `SCGLogDetLearner` on the labels behind the pairs."""
    X, y, *_ = load_pairs(params)
    return fitting(SCGLogDetLearner(strength=STRENGTH), X, y)
