"""The steps of a fit of MKL: candidate kernels, the weights that all problems share, functions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from pliant.core.estimators import ConvergenceWarning
from pliant.core.progress import Deadline, Result, Status
from pliant.core.typing import Array, Callback, Indices
from pliant.core.validation import stack_level
from pliant.kernels.base import Kernel, WeightedSum
from pliant.methods.mkl import newton
from pliant.methods.mkl.candidates import candidate_kernels, default_kernels, normalized_kernels
from pliant.methods.mkl.machine import BaseMKL
from pliant.methods.mkl.problem import Grams, WeightCertificate, WeightLearning
from pliant.methods.mkl.rules import CLASS_RULES, RULES
from pliant.methods.svm.problem import LearnedFunction, SVMProblem, TrainingData

START_SAMPLES = 500
"""Number of samples used to initialise the weights if not all Gram matrices are kept."""


@dataclass(frozen=True, eq=False)
class MKLOptions:
    """The parameters of a fit, checked; `name` is that of the estimator, for messages."""

    name: str
    kernels: Any
    weights: str
    norm: float
    normalize: bool
    tol: float
    max_iter: int
    max_seconds: float | None
    cache_mb: float
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class Candidates:
    """Kernels, and their Gram matrices on `samples`, the training samples with positive weight."""

    kernels: list[Kernel]
    grams: Grams
    samples: Indices


def fit_options(model: BaseMKL) -> MKLOptions:
    """Collect the parameters of a fit; raise ValueError for a combination that has no problem."""
    if model.norm != 1.0 and model.weights != "simple":
        raise ValueError(
            f"expected norm=1 with weights={model.weights!r}, as only 'simple' supports other "
            f"norms, got {model.norm!r}"
        )
    return MKLOptions(
        name=type(model).__name__,
        kernels=model.kernels,
        weights=model.weights,
        norm=float(model.norm),
        normalize=bool(model.normalize),
        tol=float(model.tol),
        max_iter=int(model.max_iter),
        max_seconds=model.max_seconds,
        cache_mb=float(model.cache_mb),
        n_jobs=model.n_jobs,
    )


def training_grams(data: TrainingData, options: MKLOptions) -> Candidates:
    """Build the candidate kernels, and compute their Gram matrices."""
    if isinstance(options.kernels, str) and options.kernels == "auto":
        kernels = default_kernels(data.X)
    else:
        kernels = candidate_kernels(options.kernels, data.X, data.feature_names)
    kernels = normalized_kernels(kernels, data.X, options.normalize)
    grams = Grams(kernels, data.X, options.cache_mb, options.n_jobs)
    return Candidates(kernels=kernels, grams=grams, samples=data.used)


def learn_weights(
    problems: Sequence[SVMProblem], candidates: Candidates, options: MKLOptions, deadline: Deadline
) -> Result[WeightCertificate]:
    """Learn the weights that all problems share, and solve their SVMs at these weights."""
    learning = _state_learning(problems, candidates, options)
    tol = options.tol
    if options.weights == "simple":
        whole = candidates.grams.whole
        start = None if whole else _start_weights(problems, candidates, options, deadline)
        result = newton.solve(
            learning, start, tol=tol, max_iter=options.max_iter, callback=deadline
        )
    else:
        weights = (RULES | CLASS_RULES)[options.weights](learning)
        result = newton.solve_at(learning, weights, tol=tol, callback=deadline)
    if result.gap > tol * abs(result.value):
        _warn_of_gap(result, options, late=deadline.expired)
    return result


def learned_functions(
    result: Result[WeightCertificate], candidates: Candidates
) -> list[LearnedFunction]:
    """Build one function per problem; all share the kernel, and bounds on the mean objective."""
    proof = result.certificate
    assert proof is not None
    # K = sum_m d_m K_m over the kernels with positive weight
    used = list(compress(candidates.kernels, result.x))
    learned = WeightedSum(used, result.x[result.x != 0.0])
    return [
        LearnedFunction(
            kernel=learned,
            beta=b,
            intercept=intercept,
            objective=float(result.value),
            gap=float(result.gap),
            n_iter=len(result.history),
            history=result.history,
            attributes={
                "kernels_": candidates.kernels,
                "weights_": result.x,
                "lower_bound_": float(proof.lower),
            },
        )
        for b, intercept in zip(proof.solutions, proof.intercepts, strict=True)
    ]


def _state_learning(
    problems: Sequence[SVMProblem], candidates: Candidates, options: MKLOptions
) -> WeightLearning:
    """Build the problem for the shared weights."""
    # rows of each SVM's points in the Gram matrices
    places = [np.searchsorted(candidates.samples, problem.members) for problem in problems]
    return WeightLearning(
        grams=candidates.grams, places=places, problems=problems, norm=options.norm
    )


def _start_weights(
    problems: Sequence[SVMProblem], candidates: Candidates, options: MKLOptions, callback: Callback
) -> Array | None:
    """Learn weights on a stratified sample; return None if there are too few samples."""
    n = len(candidates.samples)
    if n < 2 * START_SAMPLES:
        return None
    step = n / START_SAMPLES
    parts = []
    for problem in problems:
        order = np.argsort(problem.target, kind="stable")  # sorted by class or target
        count = -(-len(order) * START_SAMPLES // n)  # in integers, as i n/k may round to n
        chosen = np.sort(order[np.arange(count) * n // START_SAMPLES])
        part = problem.subset(chosen)
        # C n/k for k of n samples keeps the balance between losses and norm
        parts.append(replace(part, weights=part.weights * step))
    if any(len(np.unique(np.sign(part.target))) < 2 for part in parts):
        return None
    members = np.unique(np.concatenate([part.members for part in parts]))
    points = candidates.grams.points[np.searchsorted(candidates.samples, members)]
    grams = Grams(candidates.kernels, points, options.cache_mb, options.n_jobs)
    learning = _state_learning(parts, Candidates(candidates.kernels, grams, members), options)
    # a coarse solution is sufficient
    return newton.solve(learning, tol=0.03, max_iter=30, callback=callback).x


def _warn_of_gap(result: Result[WeightCertificate], options: MKLOptions, *, late: bool) -> None:
    """Warn about a gap larger than ``tol``, unless a callback stopped the fit."""
    if result.status is Status.STOPPED and not late:
        return
    advice = result.status.value
    if result.certificate is not None and result.certificate.exhausted:
        advice = "SVMs reached their step limit; raise tol or lower C"
    if late:
        advice = f"the time limit max_seconds = {options.max_seconds} was reached"
    warnings.warn(
        f"{options.name} stopped after {len(result.history)} weight vectors with a "
        f"relative gap of {result.gap / abs(result.value):.3g}, above tol = {options.tol:g}: "
        f"{advice}",
        ConvergenceWarning,
        stacklevel=stack_level(),
    )
