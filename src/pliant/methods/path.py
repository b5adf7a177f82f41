"""Fits with several values of C, which share what does not depend on C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import clone
from pliant.core.parameters import check_parameters
from pliant.core.progress import Deadline, FitProgress, with_callbacks
from pliant.core.threads import blas_limited
from pliant.methods.dank.fit import adapt, fit_options
from pliant.methods.dank.gram import HadamardOptions, TrainingGram, training_gram
from pliant.methods.dank.machine import BaseHadamard
from pliant.methods.dank.parts import adapt_in_parts
from pliant.methods.mkl import fit as mkl
from pliant.methods.mkl.machine import BaseMKL
from pliant.methods.svm.machine import BaseSVM
from pliant.methods.svm.problem import LearnedFunction, SVMProblem, TrainingData, WarmStart

Learn: TypeAlias = Callable[[Deadline], list[LearnedFunction]]
"""Learns one function per problem; stops when a call of its argument returns True."""


@blas_limited
def C_path(
    estimator: BaseSVM,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    Cs: Sequence[float],
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> list[Any]:
    """Fit one estimator per C, sharing the Gram matrix and using warm starts.

    Each estimator equals the result of ``fit`` with the same C, up to ``tol``. The path costs less
    than separate fits, for example in cross-validation over C. (TKL and GKL share nothing, as
    their Gram matrix depends on C. MKL shares the Gram matrices, but uses no warm starts.) Each
    fit calls the callbacks, and prints its progress with ``verbose=True``.

    Parameters
    ----------
    estimator : BaseSVM
        For example, a `DANKClassifier`; it is cloned, not modified.
    X, y, sample_weight : array-like
        Training data, as for ``fit``.
    Cs : sequence of float
        Each from 1e-12 to 1e12, in any order.

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
        raise ValueError("expected at least one value in Cs, got none")
    models = [clone(estimator).set_params(C=C) for C in Cs]
    for model in models:
        check_parameters(model)
    order = np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable")
    ordered = [models[k] for k in order]
    if isinstance(estimator, BaseHadamard):
        _fit_hadamard(ordered, X, y, _shared_data(ordered, X, y, sample_weight))
    elif isinstance(estimator, BaseMKL):
        _fit_mkl(ordered, X, y, _shared_data(ordered, X, y, sample_weight))
    else:
        for model in ordered:
            model.fit(X, y, sample_weight)
    return models


def _shared_data(
    models: Sequence[Any], X: Any, y: Any, sample_weight: npt.ArrayLike | None
) -> TrainingData:
    """Check the data and state the problems; all models get ``n_features_in_``."""
    data: TrainingData = models[0]._training_data(X, y, sample_weight)
    seen = {name: value for name, value in vars(models[0]).items() if name.endswith("_")}
    for model in models[1:]:
        vars(model).update(seen)
    return data


@with_callbacks
def _fit_one(model: Any, X: Any, y: Any, data: TrainingData, learn: Learn) -> list[LearnedFunction]:
    """Fit a model with the functions that `learn` returns; report the progress as ``fit`` does."""
    progress = FitProgress(model, X, y)
    functions = learn(Deadline(progress, model.max_seconds))
    model._store(data, functions)
    progress.end()
    return functions


def _fit_hadamard(models: Sequence[Any], X: Any, y: Any, data: TrainingData) -> None:
    """Fit DANK or KNPL for ascending C; share the Gram matrix, and start from the last solution."""
    base = training_gram(data, fit_options(models[0]))
    starts: list[WarmStart | None] = [None] * len(data.problems)
    for k, model in enumerate(models):
        data = data.with_C(float(model.C))
        learn = partial(_adapt_all, data.problems, base, fit_options(model), starts)
        functions = _fit_one(model, X, y, data, learn)
        if k + 1 < len(models):
            # the solution for C, times C'/C, is feasible for a larger C'
            growth = float(models[k + 1].C) / float(model.C)
            starts = [_warm_start(each, growth) for each in functions]


def _adapt_all(
    problems: Sequence[SVMProblem],
    base: TrainingGram,
    options: HadamardOptions,
    starts: Sequence[WarmStart | None],
    deadline: Deadline,
) -> list[LearnedFunction]:
    """Learn one function per problem, from its start or in parts."""
    if options.partition is not None:
        return [adapt_in_parts(problem, base, options, deadline) for problem in problems]
    return [
        adapt(problem, base, options, deadline, start)
        for problem, start in zip(problems, starts, strict=True)
    ]


def _warm_start(function: LearnedFunction, growth: float) -> WarmStart:
    return WarmStart(function.beta if function.path_start is None else function.path_start, growth)


def _fit_mkl(models: Sequence[Any], X: Any, y: Any, data: TrainingData) -> None:
    """Fit MKL for ascending C; share the Gram matrices."""
    candidates = mkl.training_grams(data, mkl.fit_options(models[0]))
    for model in models:
        data = data.with_C(float(model.C))
        learn = partial(_weigh_all, data.problems, candidates, mkl.fit_options(model))
        _fit_one(model, X, y, data, learn)


def _weigh_all(
    problems: Sequence[SVMProblem],
    candidates: mkl.Candidates,
    options: mkl.MKLOptions,
    deadline: Deadline,
) -> list[LearnedFunction]:
    """Learn the weights that all problems share, and one function per problem."""
    result = mkl.learn_weights(problems, candidates, options, deadline)
    return mkl.learned_functions(result, candidates)
