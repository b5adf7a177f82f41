"""Speed of the two-coordinate solver compared with libsvm, and of warm starts along paths.

Includes whole fits on precomputed Gram matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.harness.calls import fitting
from benchmarks.harness.spec import Params, Prepared
from benchmarks.problems import gaussian_gram, two_classes
from pliant import DANKClassifier
from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.kernels import Precomputed
from pliant.methods.svm.dual import MarginDual, better_start, svc_dual
from pliant.methods.svm.rows import DenseRows
from pliant.methods.svm.smo import solve

STEPS = 11


def libsvm(params: Params) -> Prepared:
    """Prepare scikit-learn's SVC on the Gram matrix."""
    gram, y = _gram_and_labels(params)
    model = SVC(C=params["C"], kernel="precomputed", tol=params["violation"], cache_size=1000)

    def describe(fitted: SVC) -> dict[str, Any]:
        beta = np.zeros(len(y))
        beta[fitted.support_] = fitted.dual_coef_[0]
        return _describe(_dual(gram, y, params), beta, int(fitted.n_iter_[0]))

    return lambda: model.fit(gram, y), describe


def svm(params: Params) -> Prepared:
    gram, y = _gram_and_labels(params)
    return _solving(lambda: _dual(gram, y, params), params)


def dank_eta_given(params: Params) -> Prepared:
    """Prepare DANK's dual, with eta = |alpha|^2 of the plain SVM computed beforehand."""
    gram, y = _gram_and_labels(params)
    plain = solve(_dual(gram, y, params), violation=params["violation"])
    quartic = 0.25 / float(plain.x @ plain.x)
    return _solving(lambda: _dual(gram, y, params).with_quartic(quartic), params)


def precomputed(params: Params) -> Prepared:
    """Prepare a whole fit on a precomputed Gram matrix, with or without the test that it is PSD.

    ``machine`` is SVC or DANK, and ``options`` are parameters in addition to C.
    """
    gram, y = _gram_and_labels(params)
    options = {"C": params["C"], **params.get("options", {})}
    if params["machine"] == "SVC":
        peer = SVC(kernel="precomputed", cache_size=1000, **options)
        return fitting(peer, gram, y, describe=lambda fitted: {"support": len(fitted.support_)})
    if "eta" in options:
        options["eta"] = float(options["eta"])
    model, points = DANKClassifier("precomputed", **options), gram
    if not params["proof"]:
        model.set_params(kernel=Precomputed(gram, assume_psd=True))
        points = np.arange(len(y))[:, None]

    def describe(fitted: DANKClassifier) -> dict[str, Any]:
        return {"support": len(fitted.support_), "relative gap": f"{fitted.relative_gap_:.1e}"}

    return fitting(model, points, y, describe=describe)


def _solving(problem: Callable[[], MarginDual], params: Params) -> Prepared:
    """Prepare a solve from zero; the call includes building the problem."""

    def call() -> Result[Array]:
        return solve(problem(), violation=params["violation"])

    return call, lambda result: _describe(problem(), result.x, result.n_iter)


def dank_eta_auto(params: Params) -> Prepared:
    """Prepare two solves: the plain SVM, and DANK's dual started from its solution."""
    gram, y = _gram_and_labels(params)

    def call() -> tuple[float, Array, int]:
        problem = _dual(gram, y, params)
        plain = solve(problem, violation=params["violation"])
        quartic = 0.25 / float(plain.x @ plain.x)
        result = solve(problem.with_quartic(quartic), plain.x, violation=params["violation"])
        return quartic, result.x, plain.n_iter + result.n_iter

    def describe(solved: tuple[float, Array, int]) -> dict[str, Any]:
        quartic, *rest = solved
        return _describe(_dual(gram, y, params).with_quartic(quartic), *rest)

    return call, describe


def _gram_and_labels(params: Params) -> tuple[Array, Array]:
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


def c_path(params: Params) -> Prepared:
    """Prepare the path C, 1.2 C, ... of the plain SVM on one Gram matrix."""
    gram, y = _gram_and_labels(params)
    factor, rows = params["factor"], DenseRows(gram)
    duals = [svc_dual(rows, y, params["C"] * factor**k) for k in range(STEPS)]
    return lambda: _follow(duals, params, factor), _describe_path


def gamma_path(params: Params) -> Prepared:
    """Prepare the path gamma, 1.1 gamma, ... of the plain SVM, with precomputed Gram matrices."""
    X, y = two_classes(params)
    gammas = [params["gamma"] * params["factor"] ** k for k in range(STEPS)]
    duals = [_dual(gaussian_gram(X, gamma), y, params) for gamma in gammas]
    return lambda: _follow(duals, params, 1.0), _describe_path


def _follow(duals: Iterable[MarginDual], params: Params, factor: float) -> list[tuple[float, int]]:
    """Solve the problems in order; return their objectives and numbers of steps."""
    beta: Array | None = None
    solved = []
    for dual in duals:
        start = None
        if params["warm"] and beta is not None:
            start = better_start(dual, beta, factor)
        result = solve(dual, start, violation=params["violation"])
        beta = result.x
        solved.append((result.value, result.n_iter))
    return solved


def _describe_path(solved: list[tuple[float, int]]) -> dict[str, Any]:
    return {"sum of objectives": sum(v for v, _ in solved), "steps": sum(n for _, n in solved)}
