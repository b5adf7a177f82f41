"""A generic conic solver, with the best accuracy that rounding permits."""

import contextlib
import warnings

import cvxpy as cp

TOLERANCES = (1e-8, 1e-7)
"""The solver's default tolerance, and one for badly scaled problems."""


def solve(problem, tolerances=TOLERANCES, **settings):
    """Solve a problem to the first tolerance that the solver reaches; return that tolerance.

    The solver ends as "inaccurate" if rounding stops it before a tolerance. This depends
    on the order of sums in BLAS, and therefore on the processor.
    """
    for tolerance in tolerances:
        asked = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL, **asked, **settings)
            if problem.status == cp.OPTIMAL:
                return tolerance
    raise RuntimeError(f"expected an optimum to {tolerances[-1]:g}, got {problem.status}")
