"""Weights of eigenvectors in an order: closed forms and least squares, beside generic solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.spec import Benchmark, Case, Contestant
from pliant import SideInformation
from pliant.core.typing import Array
from pliant.methods.side_information.neighbor_graph import NeighborGraph
from pliant.methods.side_information.osk_problem import (
    OrderCone,
    SpectralAlignment,
    best_vertex,
    graph_losses,
)

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

LABELS = 400
TIMES = 20
"""How often each is called, one call after another."""

GOAL = 10.0


class Given(NamedTuple):
    """The problem of OSK, and the losses of SCG-OSK."""

    problem: SpectralAlignment
    losses: Array


def given(params: Params) -> Given:
    """Return what the labels of some handwritten digits say of ``components`` eigenvectors."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    hidden = np.random.default_rng(0).permutation(len(y))[params["labels"] :]
    known = SideInformation.from_labels(np.where(np.isin(np.arange(len(y)), hidden), -1, y))
    vectors = NeighborGraph(X, 5).smoothest(params["components"], drop_null=True).vectors
    return Given(
        SpectralAlignment.of(vectors, known), graph_losses(vectors, known.graph("complete"))
    )


def _repeated(call: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: [call() for _ in range(TIMES)][-1]


def least_squares(params: Params) -> Prepared:
    """Prepare non-negative least squares."""
    problem, cone = given(params).problem, OrderCone(params["components"])
    return _repeated(lambda: problem.best(cone)), lambda mu: {"alignment": problem.alignment(mu)}


def quadratic_program(params: Params) -> Prepared:
    """Prepare the quadratically constrained program of the paper, through cvxpy."""
    from tests.reference.naive_spectral import qcqp

    problem = given(params).problem
    return (
        _repeated(lambda: qcqp(problem.products, problem.agreement, "strict")),
        lambda mu: {"alignment": problem.alignment(mu)},
    )


def vertex(params: Params) -> Prepared:
    """Prepare the closed form of the linear program."""
    losses, cone = given(params).losses, OrderCone(params["components"])
    return _repeated(lambda: best_vertex(losses, cone)), lambda mu: {"loss": float(losses @ mu)}


def linear_program(params: Params) -> Prepared:
    """Prepare the linear program of the paper, through SciPy."""
    from tests.reference.naive_spectral import least_loss

    losses = given(params).losses
    return _repeated(lambda: least_loss(losses, "strict")), lambda loss: {"loss": loss}


def _cases(has_data: bool) -> list[Case]:
    del has_data
    return [_case(components) for components in (20, 100, 200)]


def _case(components: int) -> Case:
    params = {"components": components, "labels": LABELS}
    here = __name__
    contestants = [
        Contestant("QCQP", f"{here}:quadratic_program"),
        Contestant("least squares", f"{here}:least_squares", baseline="QCQP", goal=GOAL),
        Contestant("linear program", f"{here}:linear_program"),
        Contestant("closed form", f"{here}:vertex", baseline="linear program"),
    ]
    return Case(f"{components} eigenvectors", contestants, params)


BENCHMARK = Benchmark(
    name="spectral-order",
    title="Weights of eigenvectors in an order (OSK and SCG-OSK)",
    notes=(
        f"Scikit-learn's 1797 digits, {LABELS} of them labelled, 5 nearest neighbours, null space "
        f"dropped, strict order; {TIMES} times one after another. Everybody is given the inner "
        "products of the matrices v_i v_i' with each other and with T, or the losses v_i'S v_i. "
        "OSK: the program of the paper through cvxpy and Clarabel, with its default tolerances; "
        "least squares is exact. "
        f"SCG-OSK: the linear program through SciPy and HiGHS. The goal for OSK is {GOAL:g}."
    ),
    cases=_cases,
    quantity="speed-up",
    clock="processor",
)
