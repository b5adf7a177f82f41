"""The compiled tessellated Gram matrix, and D(w), beside the same formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.algorithm2 import measures
from benchmarks.harness.spec import Params, Prepared
from pliant.core.typing import Array
from pliant.kernels import TessellatedKernel

LOWER, UPPER = -0.5, 1.5

RANK = 2
"""Of P: what TKL finds as a rule."""


def compiled_gram(params: Params) -> Prepared:
    """Prepare the kernel's own Gram matrix."""
    X, F, _ = _given(params)
    kernel = TessellatedKernel(LOWER, UPPER, factor=F)
    return lambda: kernel.gram(X, dtype=params["dtype"]), _error_from(gram_expression(X, F))


def numpy_gram(params: Params) -> Prepared:
    """Prepare the expression, computed in one precision and returned in another."""
    X, F, _ = _given(params)
    exact = gram_expression(X, F)
    X, F = X.astype(params["computed in"]), F.astype(params["computed in"])
    return lambda: gram_expression(X, F).astype(params["dtype"], copy=False), _error_from(exact)


def compiled_quadratic(params: Params) -> Prepared:
    """Prepare the kernel's own D(w)."""
    X, F, w = _given(params)
    kernel = TessellatedKernel(LOWER, UPPER, factor=F)
    return lambda: kernel.quadratic(X, w), _error_from(quadratic_expression(X, w))


def numpy_quadratic(params: Params) -> Prepared:
    """Prepare D(w) by matrix products with B."""
    X, _, w = _given(params)
    return lambda: quadratic_expression(X, w), _error_from(quadratic_expression(X, w))


def gram_expression(X: Array, F: Array) -> Array:
    """Return K = B o (U U') + (p U) H' + H (p U)' + H H', the box of measure 1, basis "x"."""
    Z = np.column_stack([np.ones(len(X), dtype=X.dtype), X])
    above, below = np.split(F, 2)
    U, H = Z @ (above - below), Z @ below
    p, B = measures(X, LOWER, UPPER)
    pU = p[:, None] * U
    return np.asarray(B * (U @ U.T) + pU @ H.T + H @ pU.T + H @ H.T)


def quadratic_expression(X: Array, w: Array) -> Array:
    """Return D(w) from S = Zw'B Zw, z = Zw'1 and q = Zw'p."""
    Zw = np.column_stack([np.ones(len(X)), X]) * w[:, None]
    p, B = measures(X, LOWER, UPPER)
    S, z, q = Zw.T @ B @ Zw, Zw.sum(axis=0), Zw.T @ p
    D12 = np.outer(q, z) - S
    return np.block([[S, D12], [D12.T, np.outer(z, z) - np.outer(z, q) - np.outer(q, z) + S]])


def _given(params: Params) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(params["seed"])
    X = random.random((params["rows"], params["features"]))
    F = random.standard_normal((2 * (params["features"] + 1), RANK))
    return X, F, random.standard_normal(params["rows"])


def _error_from(exact: Array) -> Callable[[npt.NDArray[Any]], dict[str, Any]]:
    def describe(gram: npt.NDArray[Any]) -> dict[str, Any]:
        return {"relative error": f"{np.abs(gram - exact).max() / np.abs(exact).max():.0e}"}

    return describe
