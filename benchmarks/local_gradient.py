"""LAB-RBF's objectives: value and gradient beside autograd in PyTorch, and what they cost."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.calls import repeated
from benchmarks.harness.spec import Params, Prepared
from benchmarks.local_sets import generated
from pliant.core.device import get_device
from pliant.core.typing import Array
from pliant.methods.lab_rbf.features import LocalFeatures, LocalRows
from pliant.methods.lab_rbf.kernel import PROFILES
from pliant.methods.lab_rbf.objective import Interpolation, Objective, Ridge

ALPHA = 0.1
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
"""The largest error, relative to the largest entry, with which a gradient is accepted."""


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

    def evaluate() -> tuple[float, Array]:
        point = objective.at(problem.log_squares, 0.0)
        return point.value, point.gradient

    return _compared(evaluate, problem, params)


def autograd(params: Params) -> Prepared:
    """Prepare the same objective with rows x support points x features temporaries."""
    problem = given(params)
    torch_threads()
    evaluate = autograd_objective(problem, params["objective"], params["dtype"])
    return _compared(evaluate, problem, params)


def torch_threads() -> Any:
    """Return PyTorch, with as many threads as the process may have."""
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    return torch


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


def _compared(
    evaluate: Callable[[], tuple[float, Array]], problem: Given, params: Params
) -> Prepared:
    call = repeated(evaluate, params["evaluations"])
    return call, lambda result: describe(result, problem, params)


def describe(result: tuple[float, Array], problem: Given, params: Params) -> dict[str, Any]:
    """Compare with autograd in float64; refuse to time what computes something else."""
    value, gradient = result
    exact, slope = autograd_objective(problem, params["objective"], "float64")()
    error = float(np.abs(gradient - slope).max() / np.abs(slope).max())
    tolerance = TOLERANCE[params["dtype"]]
    if not (error <= tolerance and abs(value - exact) <= tolerance * abs(exact)):
        raise ValueError(f"expected a gradient within {tolerance:g}, got an error of {error:.1e}")
    return {"value": value, "gradient error": f"{error:.0e}"}
