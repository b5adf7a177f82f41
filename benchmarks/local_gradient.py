"""Value and gradient of LAB-RBF's objectives, beside autograd in PyTorch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.local_sets import generated
from pliant.core.typing import Array
from pliant.methods.lab_rbf.kernel import PROFILES
from pliant.methods.lab_rbf.objective import Interpolation, Objective, Ridge
from pliant.methods.lab_rbf.rows import LocalFeatures, LocalRows, get_device

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

ROWS, N_SUPPORT, FEATURES = 4700, 110, 20
ALPHA = 0.1
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
"""The largest error, relative to the largest entry, with which a gradient is accepted."""

GOALS = {"float32": 20.0, "float64": 10.0}


class Given(NamedTuple):
    """Centred rows, the support points among them, and where value and gradient are asked for."""

    X: Array
    y: Array
    X_support: Array
    y_support: Array
    log_squares: Array


def given(params: Params) -> Given:
    """Draw a problem of ``rows``, ``support`` and ``features``; log theta^2 is about log(1/d)."""
    X, y = generated(params["rows"], params["features"], seed=0)
    y = y - y.mean()
    random = np.random.default_rng(1)
    chosen = random.choice(len(X), params["support"], replace=False)
    spread = 0.5 * random.standard_normal((len(chosen), X.shape[1]))
    return Given(X, y, X[chosen], y[chosen], spread - np.log(X.shape[1]))


def pliant(params: Params) -> Prepared:
    """Prepare the formulas of the library."""
    problem = given(params)
    objective = library_objective(problem, params)

    def call() -> tuple[float, Array]:
        for _ in range(params["evaluations"]):
            found = objective.at(problem.log_squares, 0.0)
        return found.value, found.gradient

    return call, lambda found: _describe(found, problem, params)


def autograd(params: Params) -> Prepared:
    """Prepare the same objective with rows x support points x features temporaries."""
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    problem = given(params)
    value_and_gradient = autograd_objective(problem, params["objective"], params["dtype"])

    def call() -> tuple[float, Array]:
        for _ in range(params["evaluations"]):
            found = value_and_gradient()
        return found

    return call, lambda found: _describe(found, problem, params)


def library_objective(problem: Given, params: Params) -> Objective:
    """Return the library's objective, centred and scaled by the mean square of y."""
    device = get_device(params["device"], params["dtype"])
    features = LocalFeatures(problem.X_support, PROFILES["gaussian"], False, device)
    rows = LocalRows.of(features, problem.X, problem.y[:, None])
    if params["objective"] == "ridge":
        return Ridge(rows, ALPHA, rows.square())
    return Interpolation(rows, problem.y_support[:, None], ALPHA, rows.square())


def autograd_objective(
    problem: Given, objective: str, dtype: str
) -> Callable[[], tuple[float, Array]]:
    """Return a function of nothing: value and gradient with respect to log theta^2."""
    import torch

    from benchmarks.algorithm1 import interpolation_loss, ridge_loss

    X, y, support, y_support, s = (
        torch.as_tensor(each, dtype=getattr(torch, dtype)) for each in problem
    )
    s.requires_grad_()
    scale = float(np.mean(problem.y**2))

    def evaluate() -> tuple[float, Array]:
        s.grad = None
        bandwidths = torch.exp(s / 2)
        if objective == "ridge":
            loss = ridge_loss(X, y, support, bandwidths, ALPHA) / scale
        else:
            loss = interpolation_loss(X, y, support, y_support, bandwidths, ALPHA) / scale
        loss.backward()
        return loss.item(), s.grad.numpy().astype(np.float64)

    return evaluate


def _describe(found: tuple[float, Array], problem: Given, params: Params) -> dict[str, Any]:
    """Compare with autograd in float64; refuse to time what computes something else."""
    value, gradient = found
    exact, slope = autograd_objective(problem, params["objective"], "float64")()
    error = float(np.abs(gradient - slope).max() / np.abs(slope).max())
    tolerance = TOLERANCE[params["dtype"]]
    if not (error <= tolerance and abs(value - exact) <= tolerance * abs(exact)):
        raise ValueError(f"expected a gradient within {tolerance:g}, got an error of {error:.1e}")
    return {"value": value, "gradient error": f"{error:.0e}"}


def _cases(has_data: bool) -> list[Case]:
    del has_data
    return [
        _case(objective, dtype)
        for objective in ("interpolation", "ridge")
        for dtype in ("float32", "float64")
    ]


def _case(objective: str, dtype: str) -> Case:
    params = {
        "rows": ROWS, "support": N_SUPPORT, "features": FEATURES, "objective": objective,
        "dtype": dtype, "evaluations": 10,
    }  # fmt: skip
    peer, here = "PyTorch autograd", f"{__name__}:pliant"
    contestants = [
        Contestant(peer, f"{__name__}:autograd"),
        Contestant("pliant", here, {"device": "cpu"}, baseline=peer, goal=GOALS[dtype]),
        Contestant("pliant on PyTorch", here, {"device": "torch"}, baseline=peer),
    ]
    return Case(f"{objective}, {dtype}", contestants, params, {**params, "evaluations": 1})


BENCHMARK = Benchmark(
    name="local-gradient",
    title="Value and gradient of LAB-RBF's objectives, beside autograd",
    notes=(
        f"{N_SUPPORT} support points, {FEATURES} features, {ROWS} rows, generated; ten evaluations "
        "one after another. The peer is autograd in PyTorch through arrays of rows x support "
        "points x features, the kernel as Eq. 1 of the paper writes it. Interpolation: Eq. 9, the "
        "coefficients those of the support points alone. Ridge: the coefficients fitted to all "
        "rows. Every gradient is compared with autograd in float64, and a measurement fails "
        f"where it differs by more than {TOLERANCE['float32']:g} (float32) or "
        f"{TOLERANCE['float64']:g} (float64) of the largest entry. The goals are 20 in float32 and "
        "10 in float64, with less than 200 MB of memory beyond the data."
    ),
    cases=_cases,
    quantity="speed-up",
    clock="processor",
)
