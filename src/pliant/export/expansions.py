"""Expansions in kernel values of pliant's methods as ONNX nodes.

The graph computes squared distances from products, as `LocalRBFKernel` does, so its largest array
has shape (n_samples, n_support).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from pliant.core.sparse import is_sparse
from pliant.core.typing import Array
from pliant.export.graph import OnnxGraph
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Gaussian, Matern
from pliant.methods.dank.kernel import HadamardKernel
from pliant.methods.lab_rbf.kernel import WARPS, LocalRBFKernel, Warp, centre_products
from pliant.methods.lab_rbf.members import Expansion
from pliant.methods.lab_rbf.model import LABRBFModel, RegressionModel
from pliant.methods.ridge.asymmetric import AsymmetricKernelRidge
from pliant.methods.ridge.sketched import BaseSketched
from pliant.methods.svm.machine import BaseSVM


def add_values(graph: OnnxGraph, model: Any, X: str) -> tuple[str, int]:
    """Add the sums of a method of pliant; return them with their number of columns."""
    members = model._terms if isinstance(model, LABRBFModel) else [_as_expansion(model)]
    return add_sum(graph, members, X), len(members[0].intercept_)


def add_sum(graph: OnnxGraph, members: Sequence[Expansion], X: str) -> str:
    """Add the sum of expansions, shape (n_samples, n_outputs)."""
    f: Any = np.sum([member.intercept_ for member in members], axis=0)
    groups: dict[bytes, list[Expansion]] = {}
    for member in members:
        mixing = b"" if member.mixing is None else member.mixing.tobytes()
        key = member.kernel_.profile.encode() + member.warp_.key() + mixing
        groups.setdefault(key, []).append(member)
    for group in groups.values():
        f = _add_members(graph, group, f, X)
    return str(f)


def _as_expansion(model: Any) -> Expansion:
    """Write a kernel expansion, or all functions of an SVM, as a LAB-RBF expansion."""
    name = type(model).__name__
    if not isinstance(model, BaseSVM | BaseSketched | AsymmetricKernelRidge):
        raise ValueError(f"expected a LAB-RBF model or a kernel expansion for ONNX, got {name}")
    functions = getattr(model, "estimators_", [model])  # an SVM has one per pair of classes
    parameters = [_radial_parameters(each.kernel_, name) for each in functions]
    if any(is_sparse(each.support_vectors_) for each in functions):
        raise ValueError(f"expected dense support vectors for ONNX, got sparse ones of {name}")
    vectors = np.vstack([each.support_vectors_ for each in functions])
    if not len(vectors):
        raise ValueError(f"expected a model with support vectors, got a constant {name}")
    c = block_diag(*(np.atleast_2d(each.dual_coef_.T).T for each in functions))
    intercept = np.hstack([each.intercept_ for each in functions]) + np.zeros(c.shape[1])
    # u(x) = theta o (x - mean), clipped to keep squares finite: at 1e9, kernel values are 0
    profile, theta = parameters[0]  # the same for all functions
    zeros, ones, mean = np.zeros_like(vectors[0]), np.ones_like(vectors), vectors.mean(axis=0)
    warp = Warp(zeros.astype(np.intp), zeros, ones[0], mean, theta * ones[0])
    return Expansion(
        kernel_=LocalRBFKernel(vectors, ones, profile, warp),
        warp_=warp,
        limits_=mean + np.outer([-1e9, 1e9], 1.0 / np.where(theta > 0, theta, 1.0) * ones[0]),
        linear_=False,
        dual_coef_=c,
        linear_coef_=np.zeros((vectors.shape[1], c.shape[1])),
        intercept_=intercept,
    )


def _radial_parameters(kernel: Kernel | None, name: str) -> tuple[str, Array]:
    """Return h and theta of a kernel h(|theta o (x - y)|^2) of the named estimator."""
    if isinstance(kernel, HadamardKernel) and kernel._extension == "none":
        kernel = kernel.base
    if type(kernel) is Gaussian:
        return "gaussian", np.sqrt(kernel.gamma)
    if type(kernel) is Matern:
        profile = {0.5: "laplacian", 1.5: "matern32", 2.5: "matern52"}[kernel.nu]
        return profile, np.sqrt(2.0 * np.asarray(kernel.gamma))
    got = "a precomputed kernel" if kernel is None else type(kernel).__name__
    if isinstance(kernel, HadamardKernel):
        got += f" with extension={kernel.extension!r}, not 'none'"
    raise ValueError(f"expected {name} with a Gaussian or Matern kernel for ONNX, got {got}")


def _add_members(graph: OnnxGraph, members: list[Expansion], f: str | Array, X: str) -> str:
    """Add the expansions of members with the same transform and profile to f."""
    warp, profile, add = members[0].warp_, members[0].kernel_.profile, graph.add
    order = np.argsort(warp.kinds, kind="stable")
    C = warp(np.vstack([member.kernel_.centres for member in members]))[:, order]
    low, high = warp(members[0].limits_)[:, order]
    u = X if warp.affine else _add_transforms(graph, warp, X)
    centres, slopes = warp.centres[order], warp.slopes[order]
    u = add("Mul", add("Sub", u, centres), slopes)
    rounding = (centres.astype(graph.dtype) - centres) * slopes  # float32 rounds the centres
    u = add("Add", u, rounding) if rounding.any() else u
    u = add("Min", add("Max", u, low), high)
    z, mixing = u, members[0].mixing
    if mixing is None:
        theta = np.vstack([member.mapped_bandwidths() for member in members])[:, order]
    else:  # z = A'u
        theta = np.vstack([member.kernel_.bandwidths for member in members])
        z, C = add("MatMul", u, mixing[order]), C @ mixing[order]
    mean = C.mean(axis=0)  # products lose digits far from the origin
    p = add("Sub", z, mean)
    w = centre_products(theta * theta, C - mean).T
    # D = [p o p, p] w[:-1] + w[-1]; with r = sqrt(factor D), h is exp(-D), exp(-r),
    # (1 + r) exp(-r) or (1 + r + r^2/3) exp(-r)
    factor = {"gaussian": -1.0, "laplacian": 1.0, "matern32": 3.0, "matern52": 5.0}[profile]
    z = add("Concat", add("Mul", p, p), p, axis=1)
    D = add("Gemm", z, w[:-1], w[-1], alpha=factor, beta=factor)
    if profile == "gaussian":
        K = add("Exp", add("Min", D, 0.0))
    elif profile == "laplacian":  # the root would amplify rounding errors near D = 0
        errors = 16.0 * np.finfo(graph.dtype).eps * w[-1]
        D = add("Where", add("Less", D, errors), 0.0, D)
        K = add("Exp", add("Neg", add("Sqrt", D)))
    else:
        r = add("Sqrt", add("Max", D, 0.0))
        K = add("Exp", add("Neg", r))
        if profile == "matern52":
            r = add("Mul", r, add("Add", add("Div", r, 3.0), 1.0))
        K = add("Mul", K, add("Add", r, 1.0))
    v = np.sum([member.linear_coef_ for member in members], axis=0)[order]
    f = add("Gemm", K, np.vstack([member.dual_coef_ for member in members]), f)
    return add("Gemm", u, v, f) if v.any() else f


def _add_transforms(graph: OnnxGraph, warp: Warp, X: str) -> str:
    """Add the transforms of the features, without scaling, in the order of their kinds."""
    add, parts = graph.add, []
    for kind in np.unique(warp.kinds):
        features = np.flatnonzero(warp.kinds == kind)
        t = add("Gather", X, features, axis=1)
        offsets, widths = warp.offsets[features], warp.widths[features]
        if WARPS[kind] == "log":
            t = add("Log", add("Add", add("Max", t, 0.0), offsets))
        elif WARPS[kind] == "asinh":  # sign(t) log(|t| + sqrt(t^2 + 1)): Asinh may lack float64
            t = add("Div", add("Sub", t, offsets), widths)
            root = add("Sqrt", add("Add", add("Mul", t, t), 1.0))
            t = add("Mul", add("Sign", t), add("Log", add("Add", add("Abs", t), root)))
        parts.append(t)
    return graph.add("Concat", *parts, axis=1)


def add_predictions(graph: OnnxGraph, model: Any, X: str) -> tuple[str, int, bool]:
    """Add the predictions of a regressor, clipped to the range of the target for LAB-RBF.

    Returns them with their number of columns, and True if they are of one target.
    """
    f, q = add_values(graph, model, X)
    if isinstance(model, RegressionModel):
        return add_target(graph, model, f), q, bool(model.single_output_)
    return f, q, model.dual_coef_.ndim == 1


def add_target(graph: OnnxGraph, model: RegressionModel, f: str) -> str:
    """Convert sums to the units of the target, and clip them to its range."""
    f = from_scale(graph, f, model.target_unit_)
    return graph.add("Min", graph.add("Max", f, model.target_low_), model.target_high_)


def from_scale(graph: OnnxGraph, f: str, unit: Array | None) -> str:
    """Convert values on the scale of the fit to the units of y: u sinh(f), or f without a unit."""
    if unit is None:
        return f
    twice = graph.add("Sub", graph.add("Exp", f), graph.add("Exp", graph.add("Neg", f)))
    return graph.add("Mul", twice, unit / 2.0)


def add_scores(graph: OnnxGraph, model: Any, X: str) -> tuple[str, str]:
    """Add the values of a classifier, shape (n, 1) or (n, n_classes), and scores of all classes."""
    f, _ = add_values(graph, model, X)
    k = len(model.classes_)
    if isinstance(model, BaseSVM) and k > 2:
        f = add_votes(graph, f, k)
    return f, graph.add("Mul", f, [0.0, 1.0]) if k == 2 else f


def add_votes(graph: OnnxGraph, f: str, k: int) -> str:
    """Add the one-vs-one votes of k classes, as `pliant.methods.svm.machine.votes`."""
    add, (low, high) = graph.add, np.array(list(combinations(range(k), 2))).T
    losers, signs = np.eye(k)[low], np.eye(k)[high] - np.eye(k)[low]  # f > 0 elects `high`
    won, sums = graph.cast(add("Greater", f, 0.0), graph.dtype), add("MatMul", f, signs)
    ratios = add("Div", sums, add("Add", add("Mul", add("Abs", sums), 3.0), 3.0))
    return add("Add", add("Gemm", won, signs, losers.sum(axis=0)), ratios)
