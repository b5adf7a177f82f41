"""DANK with tau > 0 and KNPL, compared with the algorithms of the papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.harness.calls import fitting
from benchmarks.harness.spec import Params, Prepared
from benchmarks.problems import gaussian_dual, two_classes
from pliant import DANKClassifier, KNPLClassifier
from pliant.core.typing import Array
from pliant.methods.dank import sequential
from pliant.methods.dank.problem import HadamardDual, automatic_eta, hadamard_dual
from pliant.methods.svm import smo
from tests.reference import dank_algorithm1, knpl_admm

OF_ITERATIONS = 2000
"""Iterations of the paper's Algorithm 1, of which a part is run."""

MACHINES = {"DANK": DANKClassifier, "KNPL": KNPLClassifier, "SVC": SVC}


def sequence(params: Params) -> Prepared:
    """Prepare pliant's sequence of margin duals, from alpha = 0 to a certified gap."""
    problem = _problem(params)
    start = np.zeros(len(problem.plain.rows))
    return (
        lambda: sequential.solve(problem, start.copy(), tol=params["tol"]),
        lambda result: {**_describe(problem, result.x), "iterations": len(result.history) - 1},
    )


def algorithm_1(params: Params) -> Prepared:
    """Prepare a part of the iterations of DANK's Algorithm 1, with the full SVD as printed."""

    def run(K: Array, y: Array, eta: float) -> Any:
        iterations, tau = params["iterations"], params["tau"]
        return dank_algorithm1.nesterov(K, y, params["C"], eta, tau, max_iter=iterations, eps=0.0)

    def more(result: Any) -> dict[str, Any]:
        share = params["iterations"] / OF_ITERATIONS
        seconds = f"{result.seconds[-1] / share:.0f} s for {OF_ITERATIONS}"
        return {"iterations": params["iterations"], "extrapolated": seconds}

    return _as_printed(params, run, more)


def projected_gradient(params: Params) -> Prepared:
    """Prepare projected gradient on h, with KNPL's 15 steps of ADMM in each evaluation."""
    tol = params["coarse tol"]
    return _as_printed(
        params,
        lambda K, y, eta: knpl_admm.projected_gradient(K, y, params["C"], eta, tol=tol),
        lambda result: {"iterations": len(result.values) - 1},
    )


def alternation(params: Params) -> Prepared:
    """Prepare KNPL's Algorithm 2: ten rounds that alternate between ADMM and SVM."""

    def more(result: Any) -> dict[str, Any]:
        last = (*result.after_adaptation[-2:], *result.after_svm[-2:])
        return {"iterations": len(result.after_svm), "cycle": " / ".join(f"{v:.2f}" for v in last)}

    return _as_printed(params, lambda K, y, eta: knpl_admm.alternate(K, y, params["C"], eta), more)


def whole_fit(params: Params) -> Prepared:
    """Prepare a fit from X, with all defaults except C, gamma and the options in `params`."""
    model = MACHINES[params["machine"]](
        C=params["C"], gamma=params["gamma"], **params.get("options", {})
    )

    def describe(fitted: Any) -> dict[str, Any]:
        if params["machine"] == "SVC":
            return {"support": len(fitted.support_)}
        objective = fitted.objective_ - fitted.objective_constant_
        gap = f"{fitted.dual_gap_ / (1.0 + abs(objective)):.1e}"
        return {"objective": objective, "relative gap": gap, "support": len(fitted.support_)}

    return fitting(model, *two_classes(params), describe=describe)


def _as_printed(
    params: Params, run: Callable[[Array, Array, float], Any], more: Callable[[Any], dict[str, Any]]
) -> Prepared:
    """Prepare a paper's algorithm, a function of K, y and eta that returns an alpha."""
    problem = _problem(params)
    K, y, eta = problem.plain.rows.gram, problem.plain.linear, 0.25 / problem.c
    return lambda: run(K, y, eta), lambda result: {
        **_describe(problem, result.alpha * y),
        **more(result),
    }


def _problem(params: Params) -> HadamardDual:
    plain = gaussian_dual(params)
    eta = automatic_eta(smo.solve(plain, tol=1e-6).x) * params.get("eta_scale", 1.0)
    return hadamard_dual(plain, eta, tau=params["tau"], centred=params["tau"] == 0.0)


def _describe(problem: HadamardDual, beta: Array) -> dict[str, Any]:
    proof = problem.certificate(problem.at(beta, verify=True))
    return {
        "objective": proof.value,
        "relative gap": f"{proof.gap / (1.0 + abs(proof.value)):.1e}",
        "support": int(np.count_nonzero(beta)),
    }
