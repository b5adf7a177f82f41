"""SCG-LDK's K and Q in closed form, beside the paper's inverses: n, and the number of labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.calls import repeated
from benchmarks.harness.spec import Params, Prepared
from benchmarks.supervised_sets import adult, some_known
from pliant import SCGLogDetLearner, SideInformation
from pliant.core.typing import Array
from pliant.kernels import as_kernel
from pliant.methods.side_information.scg_problem import SCGLogDet

STRENGTH = 1.0
"""The paper's raw gamma."""

RIDGE = 1e-8
"""On the diagonal of K0, for everybody: rows that occur twice make it singular."""


class Learned(NamedTuple):
    """K and Q."""

    gram: Array
    matrix: Array


class Given(NamedTuple):
    """K0, and what is known of its points."""

    gram: Array
    known: SideInformation


def given(params: Params) -> Given:
    """Return the Gaussian kernel matrix of ``rows`` points, ``labels`` of them labelled."""
    X, y = adult(params)
    gram = as_kernel("gaussian", X)(X)
    gram[np.diag_indices_from(gram)] += RIDGE
    return Given(gram, some_known(y, params["labels"], params["seed"]))


def three_inverses(params: Params) -> Prepared:
    """Prepare the paper's two formulas, each by itself."""
    return _prepare(params, partial(by_inverses, again=True))


def two_inverses(params: Params) -> Prepared:
    """Prepare the paper's formulas with the inverse of K0 kept."""
    return _prepare(params, partial(by_inverses, again=False))


def pliant(params: Params) -> Prepared:
    """Prepare the closed form of the library, on the same graph over all points."""

    def solve(K0: Array, known: SideInformation) -> Learned:
        solution = SCGLogDet(K0, known.graph("complete"), STRENGTH).solve()
        return Learned(solution.gram, solution.matrix)

    return _prepare(params, solve)


def fit(params: Params) -> Prepared:
    """Prepare a whole fit, kernel matrix included, of a learner with a given strength."""
    X, y = adult(params)
    labels = some_known(y, params["labels"], params["seed"]).labels
    learner = SCGLogDetLearner(
        strength=STRENGTH, scale_strength=False, graph=params["graph"], unlabeled=-1
    )
    return (
        repeated(lambda: learner.fit(X, labels), params["times"]),
        lambda fitted: {"objective": fitted.objective_},
    )


def by_inverses(K0: Array, known: SideInformation, *, again: bool) -> Learned:
    """Return K = (K0^{-1} + gamma S)^{-1} and Q = K0^{-1} (K - K0) K0^{-1}."""
    inverse = np.linalg.inv(K0)
    K = np.linalg.inv(inverse + STRENGTH * known.graph("complete").toarray())
    if again:
        inverse = np.linalg.inv(K0)
    return Learned(K, inverse @ (K - K0) @ inverse)


def _prepare(params: Params, solve: Callable[[Array, SideInformation], Learned]) -> Prepared:
    K0, known = given(params)

    def describe(learned: Learned) -> dict[str, Any]:
        rebuilt = K0 + K0 @ learned.matrix @ K0
        error = float(np.abs(rebuilt - learned.gram).max() / np.abs(learned.gram).max())
        return {
            "loss <K, S>": known.graph("complete").trace_with(learned.gram),
            "K0 + K0 Q K0 off K by": f"{error:.0e}",
        }

    return repeated(lambda: solve(K0, known), params["times"]), describe
