"""SCG-LDK's K and Q in closed form, beside the paper's inverses: n, and the number of labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.calls import repeated
from benchmarks.harness.spec import Case, Contestant, Params, Prepared
from benchmarks.supervised_sets import adult, some_known
from pliant import SCGLogDetLearner, SideInformation
from pliant.core.typing import Array
from pliant.kernels import as_kernel
from pliant.methods.side_information.scg_problem import SCGLogDet

ROWS, LABELS = 1605, 200
"""Adult-a1a, with the labels that the paper gives it."""

SIZES = (400, 800, 1605, 2265)
LABEL_COUNTS = (80, 400, 800, 1605)

TIMES = 3
"""Calls that are measured together: what memory a call needs is then at hand."""

STRENGTH = 1.0
"""The paper's raw gamma."""

RIDGE = 1e-8
"""On the diagonal of K0, for everybody: rows that occur twice make it singular."""

GOAL = 3.0


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


THREE, TWO = "paper, three inverses", "paper, two inverses"

FITS = (
    Contestant("pliant, whole fit", fit, {"graph": "complete"}),
    Contestant("pliant, fit by default", fit, {"graph": "labeled"}),
)

BESIDE_THREE = (
    Contestant(THREE, three_inverses),
    Contestant("pliant", pliant, baseline=THREE, goal=GOAL),
)

BESIDE_TWO = (
    Contestant(TWO, two_inverses),
    Contestant("pliant, once more", pliant, baseline=TWO),
)
"""pliant stands once beside each form of the paper: their ratios are paired."""


def cases(has_data: bool) -> list[Case]:
    """Return problems of more and more points, and of more and more labels."""
    return [
        *(
            _case(
                rows, rows * LABELS // ROWS, has_data,
                [*BESIDE_THREE, *(BESIDE_TWO if rows == ROWS else ()), *FITS],
            )
            for rows in SIZES
        ),
        *(
            _case(ROWS, labels, has_data, [Contestant("pliant", pliant), *FITS])
            for labels in LABEL_COUNTS
        ),
    ]  # fmt: skip


def _case(rows: int, labels: int, has_data: bool, contestants: list[Contestant]) -> Case:
    params = {"rows": rows, "labels": labels, "data": has_data, "seed": 0, "times": TIMES}
    name = f"{rows} points, {labels} labels" + ("" if has_data else ", generated")
    return Case(name, contestants, params, warm_up={"rows": 200, "labels": 50, "times": 1})
