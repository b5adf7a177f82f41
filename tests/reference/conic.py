"""A generic conic solver, to the accuracy that rounding lets it reach on this processor."""

import contextlib
import warnings

import cvxpy as cp

TOLERANCES = (1e-8, 1e-7)
"""The solver's own tolerance, and one that a badly scaled problem reaches too."""


def solve(problem, tolerances=TOLERANCES, **settings):
    """Solve a problem to the first of the tolerances that the solver reaches; return that one.

    The solver ends "inaccurate" where rounding stops it before a tolerance. Where that happens
    depends on the order of sums in BLAS, and so on the processor.
    """
    for tolerance in tolerances:
        asked = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL, **asked, **settings)
            if problem.status == cp.OPTIMAL:
                return tolerance
    raise RuntimeError(f"expected an optimum to {tolerances[-1]:g}, got {problem.status}")
