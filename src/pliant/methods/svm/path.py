"""Fits for many values of C on one Gram matrix, each started from its neighbour's solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from pliant.core.threads import blas_limited
from pliant.core.validation import check_parameters
from pliant.methods.svm.estimators import BaseSVM
from pliant.methods.svm.task import WarmStart


@blas_limited
def C_path(
    estimator: BaseSVM,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    Cs: Sequence[float],
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> list[Any]:
    """Fit one estimator for each C, sharing the Gram matrix and starting warm.

    Each estimator equals one that is fitted by itself, to the tolerance of the estimator; together
    they cost less, which is what cross-validation over C needs. (`TKLClassifier` and the like,
    whose Gram matrix depends on C, are fitted one by one; `MKLClassifier` and `MKLRegressor` share
    the Gram matrices, and do not start warm.)

    Parameters
    ----------
    estimator : BaseSVM
        Such as a `DANKClassifier`; it is cloned, not changed.
    X, y, sample_weight : array-like
        What its ``fit`` takes.
    Cs : sequence of float
        Each > 0, in any order.

    Returns
    -------
    list of estimators
        Fitted, in the order of `Cs`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from pliant import C_path, DANKClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> models = C_path(DANKClassifier(), scale(X), y, [0.1, 1, 10])
    >>> [model.C for model in models]
    [0.1, 1, 10]
    """
    if len(Cs) == 0:
        raise ValueError("expected at least one C, got none")
    models = [clone(estimator).set_params(C=C) for C in Cs]
    for model in models:
        check_parameters(model)
    tasks = models[0]._prepare(X, y, sample_weight)
    shared = {name: value for name, value in vars(models[0]).items() if name.endswith("_")}
    starts: list[WarmStart | None] = [None] * len(tasks)
    rising = np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable")
    for position, here in enumerate(rising):
        vars(models[here]).update(shared)
        with np.errstate(over="ignore", invalid="ignore"):
            solutions = models[here]._complete(tasks, starts, callback=lambda _: False)
        models[here]._check_finite()
        if position + 1 < len(rising):
            growth = float(Cs[rising[position + 1]]) / float(Cs[here])
            starts = [WarmStart(beta, growth) for beta in solutions]
    return models
