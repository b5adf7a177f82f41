"""A fitted support vector machine: its function, its summary, and checks of a loaded one."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from pliant.core.blocks import in_blocks
from pliant.core.kernels.base import Kernel
from pliant.core.summary import FunctionSummary, Summary
from pliant.core.typing import Array
from pliant.core.validation import check_points


def expansion(kernel: Kernel, X: Array, vectors: Array, coefficients: Array) -> Array:
    """Return kernel(X, vectors) @ coefficients, shape (m,), in blocks of rows of X."""
    values: Array = in_blocks(X, len(vectors), lambda some: kernel(some, vectors) @ coefficients)
    return values


def summary_of(estimator: Any) -> Summary:
    """Return the summary of a fitted `pliant.methods.svm.estimators.BaseSVM`.

    There is one function for two classes or a regression, and one for each pair of more classes,
    whose kernels are different.
    """
    members = getattr(estimator, "estimators_", [estimator])
    several = members[0] is not estimator
    pairs = combinations(estimator.classes_.tolist(), 2) if several else [None]
    functions = tuple(_function(*each) for each in zip(members, pairs, strict=True))
    drawings = set(estimator._drawings)
    if all(_is_certified(function) for function in functions):
        drawings.add("convergence")
    return Summary(
        functions=functions,
        kernel=None if several else estimator.kernel_,
        base_kernel=getattr(members[0].kernel_, "base", None),
        n_support=len(np.unique(np.concatenate([each.support_ for each in members]))),
        drawings=frozenset(drawings),
    )


def _function(fitted: Any, classes: tuple[Any, Any] | None) -> FunctionSummary:
    return FunctionSummary(
        estimator=fitted,
        n_support=len(fitted.support_),
        n_iter=int(fitted.n_iter_),
        objective=float(fitted.objective_),
        gap=float(fitted.dual_gap_),
        relative_gap=float(fitted.relative_gap_),
        classes=classes,
        details=fitted._details(),
        convergence=fitted._convergence(),
    )


def _is_certified(function: FunctionSummary) -> bool:
    """Whether the gap is known at each check of the solver."""
    steps = function.convergence
    return steps is not None and bool(np.isfinite(steps.gaps).all())


def check_loaded(estimator: Any) -> None:
    """Raise ValueError if attributes, read from a file, do not belong together."""
    members = getattr(estimator, "estimators_", [estimator])
    n_classes = len(getattr(estimator, "classes_", (0, 1)))
    if len(members) != n_classes * (n_classes - 1) // 2:
        raise ValueError(f"expected an estimator for each pair of {n_classes} classes")
    for fitted in members:
        vectors = check_points(fitted.support_vectors_, "support_vectors_")
        coefficients = np.asarray(fitted.dual_coef_)
        if coefficients.shape != (len(vectors),) or len(fitted.support_) != len(vectors):
            raise ValueError(
                f"expected {len(vectors)} coefficients, got shape {coefficients.shape}"
            )
        if not np.isfinite([*coefficients, fitted.intercept_]).all():
            raise ValueError("expected finite coefficients")
        if not isinstance(fitted.kernel_, Kernel):
            raise ValueError(f"expected a kernel, got {type(fitted.kernel_).__name__}")
        for name in fitted._finite:
            values = np.asarray(getattr(fitted, name), dtype=np.float64)
            if not np.isfinite(values).all():
                raise ValueError(f"expected finite numbers in {name}, got {values!r}")
