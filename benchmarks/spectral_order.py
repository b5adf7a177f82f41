"""Weights of eigenvectors in an order: closed forms and least squares, beside generic solvers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.harness.calls import repeated
from benchmarks.harness.spec import Params, Prepared
from pliant import SideInformation
from pliant.core.typing import Array
from pliant.methods.side_information import order_spectral
from pliant.methods.side_information.neighbor_graph import NeighborGraph

TIMES = 20
"""How often each is called, one call after another."""


class Given(NamedTuple):
    """The problem of OSK, and the losses of SCG-OSK."""

    problem: order_spectral.SpectralAlignment
    losses: Array


def given(params: Params) -> Given:
    """Return what the labels of some handwritten digits say of ``components`` eigenvectors."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    hidden = np.random.default_rng(0).permutation(len(y))[params["labels"] :]
    known = SideInformation.from_labels(np.where(np.isin(np.arange(len(y)), hidden), -1, y))
    vectors = NeighborGraph(X, 5).smoothest(params["components"], drop_null=True).vectors
    return Given(
        order_spectral.SpectralAlignment.of(vectors, known),
        order_spectral.graph_losses(vectors, known.graph("complete")),
    )


def least_squares(params: Params) -> Prepared:
    """Prepare non-negative least squares."""
    problem, cone = given(params).problem, order_spectral.OrderCone(params["components"])
    call = repeated(lambda: problem.best(cone), TIMES)
    return call, lambda mu: {"alignment": problem.alignment(mu)}


def quadratic_program(params: Params) -> Prepared:
    """Prepare the quadratically constrained program of the paper, through cvxpy."""
    from tests.reference.naive_spectral import qcqp

    problem = given(params).problem
    call = repeated(lambda: qcqp(problem.products, problem.agreement, "strict"), TIMES)
    return call, lambda mu: {"alignment": problem.alignment(mu)}


def vertex(params: Params) -> Prepared:
    """Prepare the closed form of the linear program."""
    losses, cone = given(params).losses, order_spectral.OrderCone(params["components"])
    call = repeated(lambda: order_spectral.best_vertex(losses, cone), TIMES)
    return call, lambda mu: {"loss": float(losses @ mu)}


def linear_program(params: Params) -> Prepared:
    """Prepare the linear program of the paper, through SciPy."""
    from tests.reference.naive_spectral import least_loss

    losses = given(params).losses
    return repeated(lambda: least_loss(losses, "strict"), TIMES), lambda loss: {"loss": loss}
