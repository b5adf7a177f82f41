"""Speed of the two-coordinate solver beside libsvm, on one problem at two sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.problems import SPEED, gaussian_gram, two_classes
from pliant.core.typing import Array
from pliant.methods.svm.dual import MarginDual, svc_dual
from pliant.methods.svm.rows import DenseRows
from pliant.methods.svm.smo import solve

Params = Mapping[str, Any]
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]

LIBSVM = "scikit-learn SVC"


def libsvm(params: Params) -> Prepared:
    """Prepare scikit-learn's SVC on the Gram matrix."""
    gram, y = _given(params)
    model = SVC(C=params["C"], kernel="precomputed", tol=params["violation"], cache_size=1000)

    def describe(fitted: SVC) -> dict[str, Any]:
        beta = np.zeros(len(y))
        beta[fitted.support_] = fitted.dual_coef_[0]
        return _describe(svc_dual(DenseRows(gram), y, params["C"]), beta, int(fitted.n_iter_[0]))

    return lambda: model.fit(gram, y), describe


def svm(params: Params) -> Prepared:
    """Prepare the plain SVM dual."""
    gram, y = _given(params)

    def call() -> tuple[Array, int]:
        found = solve(_dual(gram, y, params), violation=params["violation"])
        return found.x, found.n_iter

    return call, lambda found: _describe(svc_dual(DenseRows(gram), y, params["C"]), *found)


def dank_eta_given(params: Params) -> Prepared:
    """Prepare DANK's dual, with eta = |alpha|^2 of the plain SVM known beforehand."""
    gram, y = _given(params)
    plain = solve(_dual(gram, y, params), violation=params["violation"])
    quartic = 0.25 / float(plain.x @ plain.x)

    def call() -> tuple[Array, int]:
        problem = _dual(gram, y, params).with_quartic(quartic)
        found = solve(problem, violation=params["violation"])
        return found.x, found.n_iter

    exact = svc_dual(DenseRows(gram), y, params["C"], quartic=quartic)
    return call, lambda found: _describe(exact, *found)


def dank_eta_auto(params: Params) -> Prepared:
    """Prepare both of it: the plain SVM, and DANK's dual started from its solution."""
    gram, y = _given(params)

    def call() -> tuple[Array, int, float]:
        problem = _dual(gram, y, params)
        plain = solve(problem, violation=params["violation"])
        quartic = 0.25 / float(plain.x @ plain.x)
        found = solve(problem.with_quartic(quartic), plain.x, violation=params["violation"])
        return found.x, plain.n_iter + found.n_iter, quartic

    def describe(found: tuple[Array, int, float]) -> dict[str, Any]:
        beta, n_iter, quartic = found
        return _describe(svc_dual(DenseRows(gram), y, params["C"], quartic=quartic), beta, n_iter)

    return call, describe


def _given(params: Params) -> tuple[Array, Array]:
    X, y = two_classes(params)
    return gaussian_gram(X, params["gamma"]), y


def _dual(gram: Array, y: Array, params: Params) -> MarginDual:
    return svc_dual(DenseRows(gram), y, params["C"])


def _describe(problem: MarginDual, beta: Array, n_iter: int) -> dict[str, Any]:
    proof = problem.certificate(beta)
    return {
        "objective": proof.value,
        "gap": proof.gap,
        "steps": n_iter,
        "support": int(np.count_nonzero(beta)),
    }


def _cases(has_data: bool) -> list[Case]:
    del has_data
    fixed = {"problem": SPEED, "seed": 0, "gamma": 3.0, "C": 8.0, "violation": 1e-3}
    contestants = (
        Contestant(LIBSVM, f"{__name__}:libsvm"),
        Contestant("pliant SVM", f"{__name__}:svm", baseline=LIBSVM, goal=1.0),
        Contestant("DANK, eta given", f"{__name__}:dank_eta_given", baseline=LIBSVM, goal=1.5),
        Contestant('DANK, eta="auto"', f"{__name__}:dank_eta_auto", baseline=LIBSVM, goal=2.5),
    )
    return [
        Case(f"n = {n}", contestants, {**fixed, "rows": n}, warm_up={**fixed, "rows": 120})
        for n in (2000, 5000)
    ]


BENCHMARK = Benchmark(
    name="speed",
    title="Solving the dual, beside libsvm",
    notes=(
        "Gram matrix given, solved to a violation of 1e-3 from a cold start: "
        "`make_speed_problem(n)`, Gaussian kernel with gamma 3, C 8."
    ),
    cases=_cases,
)
