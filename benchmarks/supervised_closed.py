"""SCG-LDK's K and Q in closed form, beside the paper's inverses: n, and the number of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.supervised_sets import adult, some_known
from pliant import SCGLogDetLearner, SideInformation
from pliant.core.typing import Array
from pliant.kernels import as_kernel
from pliant.methods.side_information.scg_problem import SCGLogDet

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

ROWS, LABELS = 1605, 200
"""Adult-a1a, with the labels that the paper gives it."""

SIZES = (400, 800, 1605, 2265)
LABEL_COUNTS = (80, 400, 800, 1605)

TIMES = 3
"""Calls that are measured together."""

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
    return _prepare(params, lambda K0, known: _by_inverses(K0, known, again=True))


def two_inverses(params: Params) -> Prepared:
    """Prepare the paper's formulas with the inverse of K0 kept."""
    return _prepare(params, lambda K0, known: _by_inverses(K0, known, again=False))


def pliant(params: Params) -> Prepared:
    """Prepare the closed form of the library, on the same graph over all points."""

    def solve(K0: Array, known: SideInformation) -> Learned:
        found = SCGLogDet(K0, known.graph("complete"), STRENGTH).solve()
        return Learned(found.gram, found.matrix)

    return _prepare(params, solve)


def fit(params: Params) -> Prepared:
    """Prepare a whole fit, kernel matrix included, of a learner with a given strength."""
    X, y = adult(params)
    labels = some_known(y, params["labels"], params["seed"]).labels
    learner = SCGLogDetLearner(
        strength=STRENGTH, scale_strength=False, graph=params["graph"], unlabeled=-1
    )
    return lambda: _repeat(lambda: learner.fit(X, labels), params), lambda fitted: {
        "objective": fitted.objective_
    }


def _by_inverses(K0: Array, known: SideInformation, *, again: bool) -> Learned:
    """Return K = (K0^{-1} + gamma S)^{-1} and Q = K0^{-1} (K - K0) K0^{-1}."""
    inverse = np.linalg.inv(K0)
    K = np.linalg.inv(inverse + STRENGTH * known.graph("complete").toarray())
    if again:
        inverse = np.linalg.inv(K0)
    return Learned(K, inverse @ (K - K0) @ inverse)


def _prepare(params: Params, solve: Callable[[Array, SideInformation], Learned]) -> Prepared:
    K0, known = given(params)

    def describe(found: Learned) -> dict[str, Any]:
        rebuilt = K0 + K0 @ found.matrix @ K0
        error = float(np.abs(rebuilt - found.gram).max() / np.abs(found.gram).max())
        return {
            "loss <K, S>": known.graph("complete").trace_with(found.gram),
            "K0 + K0 Q K0 off K by": f"{error:.0e}",
        }

    return lambda: _repeat(lambda: solve(K0, known), params), describe


def _repeat(call: Callable[[], Any], params: Params) -> Any:
    """Return what a call returns, made ``times`` times: what memory it needs is then at hand."""
    for _ in range(params["times"]):
        found = call()
    return found


def _cases(has_data: bool) -> list[Case]:
    return [
        *(_case(rows, rows * LABELS // ROWS, has_data, list(_beside(rows))) for rows in SIZES),
        *(_case(ROWS, labels, has_data, list(_alone())) for labels in LABEL_COUNTS),
    ]


def _case(rows: int, labels: int, has_data: bool, contestants: list[Contestant]) -> Case:
    params = {"rows": rows, "labels": labels, "data": has_data, "seed": 0, "times": TIMES}
    name = f"{rows} points, {labels} labels" + ("" if has_data else ", generated")
    warm_up = {**params, "rows": 200, "labels": 50, "times": 1}
    return Case(name, contestants, params, warm_up)


def _beside(rows: int) -> Iterator[Contestant]:
    """Yield the paper's forms, and pliant once beside each: their ratios are paired."""
    three, two = "paper, three inverses", "paper, two inverses"
    yield Contestant(three, f"{__name__}:three_inverses")
    yield Contestant("pliant", f"{__name__}:pliant", baseline=three, goal=GOAL)
    if rows == ROWS:
        yield Contestant(two, f"{__name__}:two_inverses")
        yield Contestant("pliant, once more", f"{__name__}:pliant", baseline=two)
    yield from _fits()


def _alone() -> Iterator[Contestant]:
    yield Contestant("pliant", f"{__name__}:pliant")
    yield from _fits()


def _fits() -> Iterator[Contestant]:
    yield Contestant("pliant, whole fit", f"{__name__}:fit", {"graph": "complete"})
    yield Contestant("pliant, fit by default", f"{__name__}:fit", {"graph": "labeled"})


BENCHMARK = Benchmark(
    name="supervised-closed",
    title="SCG-LDK in closed form, beside the paper's inverses",
    notes=(
        "Random rows of adult-a1a (up to 1605) and adult-a2a, an eighth of them labelled; then "
        f"1605 rows with more and fewer labels. Times are those of {TIMES} calls one after "
        "another. Everybody is given K0, Gaussian with gamma 1/(d var(X)), and gives K and Q; the "
        "graph has all points, gamma = 1. The paper: Eq. 29, and Q = K0^{-1} (K - K0) K0^{-1}, "
        "with the inverse of K0 computed where it is written, or kept. It needs "
        f"{RIDGE:g} on the diagonal of K0, as some rows occur twice: everybody gets it. "
        "The column after the loss is how far K0 + K0 Q K0 is from K, relative to the largest "
        "entry: the kernel at new points goes wrong by as much. A whole fit makes K0 and Q; by "
        "default the graph has the labelled points only. The paper, on its machine, needs 2.24 s "
        f"for one fit of adult-a1a with 200 labels. The goal is {GOAL:g}."
    ),
    cases=_cases,
    quantity="speed-up",
    clock="processor",
)
