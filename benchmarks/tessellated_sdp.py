"""Learning P as one semidefinite program, beside Algorithm 2 and pliant: the paper's Table 1."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from benchmarks.algorithm2 import Blocks, tessellated_blocks
from benchmarks.harness.spec import Params, Prepared
from benchmarks.tessellated import DELTA
from benchmarks.tessellated_sets import points_and_target, scaled
from pliant.core.typing import Array
from tests.reference import tessellated_sdp

TOLERANCES = {"tol_gap_abs": 1e-5, "tol_gap_rel": 1e-5, "tol_feas": 1e-6}
"""Of the program's solver, which settles for a gap of 5e-5 where it has to; on some sets it does
not get to its default, 1e-8."""


def semidefinite(params: Params) -> Prepared:
    """Prepare the semidefinite program, for an interior-point solver."""
    X, y = scaled(*points_and_target(params))
    Z, blocks = tessellated_blocks(X, -DELTA, 1.0 + DELTA)
    G = tensor(Z, blocks)
    return lambda: learn_shape(G, y, params["C"]), lambda value: {"objective": value}


def learn_shape(G: Array, y: Array, C: float) -> float:
    """Return the optimum over P and the values f of the decision function at the points.

        minimise  t/2 + C sum(s),   [[K_P, f - b], [(f - b)', t]] PSD,  P PSD,  tr P = n_P,
        y f >= 1 - s,  s >= 0

    t is the squared norm of the function. Labels and C are multiplied by a unit that brings the
    optimum to the order of 10, which tolerances of solvers expect. G has the shape
    (n_P, n_P, m, m), and y holds labels -1 and 1.
    """
    import cvxpy as cp

    size, m = len(G), len(y)
    unit = tessellated_sdp.unit_of(G, tessellated_sdp.classification(y, C))
    P = cp.Variable((size, size), PSD=True)
    g, t, b = cp.Variable((m, 1)), cp.Variable((1, 1)), cp.Variable()
    slack = cp.Variable(m, nonneg=True)
    K = cp.reshape(cp.vec(P, order="C") @ G.reshape(size**2, m**2), (m, m), order="C")
    block = cp.bmat([[K, g], [g.T, t]])
    program = cp.Problem(
        cp.Minimize(t[0, 0] / 2 + unit * C * cp.sum(slack)),
        [
            (block + block.T) / 2 >> 0,
            cp.trace(P) == size,
            cp.multiply(y, g[:, 0] + b) >= unit - slack,
        ],
    )
    return _optimum(program) / unit**2


def _optimum(program: Any) -> float:
    """Return the optimum; where rounding stops the solver, it tries with its own scaling."""
    import cvxpy as cp

    for own_scaling in (False, True):
        with warnings.catch_warnings(), suppress(cp.SolverError):
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            program.solve(solver=cp.CLARABEL, equilibrate_enable=own_scaling, **TOLERANCES)
            return float(program.value)
    raise RuntimeError(f"expected an optimum, got {program.status}")


def tensor(Z: Array, blocks: Blocks) -> Array:
    """Return all G_ij(x_k, x_l), shape (n_P, n_P, m, m), from `tessellated_blocks`."""
    products = np.einsum("ki,lj->ijkl", Z, Z)
    halves = [np.concatenate([products * block for block in row], axis=1) for row in blocks]
    return np.concatenate(halves)
