"""The ascent of the lower bound of Bayesian multiple kernel learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from pliant.methods.mkl.bemkl import Model
from pliant.methods.mkl.bemkl_factors import Posterior

CALM = 10
"""Iterations without momentum, while it is still open which kernels have weight."""

PATIENCE = 3
"""Iterations in a row whose gains are small before the ascent ends."""


@dataclass
class Fit:
    """Where an ascent ended, and the bound after each iteration."""

    posterior: Posterior
    bounds: list[float] = field(default_factory=list)
    converged: bool = False
    stopped: bool = False


def ascend(
    model: Model, max_iter: int, tol: float, callback: Callable[[object], object] = lambda _: None
) -> Fit:
    """Update all factors in turn, until the bound rises by less than tol (1 + |bound|).

    That in `PATIENCE` iterations in a row; or else until there were `max_iter`, or the callback
    returns True. From iteration `CALM` on, the updates start from a point further along the last
    change, with the growing momentum of Nesterov's method. Where the bound falls, the iteration is
    repeated without momentum, which starts again.
    """
    fit, before = Fit(model.start()), model.start()
    age = small = 0
    for _ in range(max_iter):
        now = fit.posterior
        age = age + 1 if len(fit.bounds) >= CALM else 0
        fit.posterior, bound = _swept(model, now.ahead(before, age / (age + 3)) if age else now)
        if age and not bound >= fit.bounds[-1]:
            age = 0
            fit.posterior, bound = _swept(model, now)
        if not np.isfinite(bound):
            raise ValueError(
                f"expected a finite lower bound, got {bound} after {len(fit.bounds) + 1} "
                "iterations; scale the target, or use other priors"
            )
        gain = bound - fit.bounds[-1] if fit.bounds else np.inf
        small = small + 1 if gain < tol * (1.0 + abs(bound)) else 0
        before = now
        fit.bounds.append(bound)
        fit.converged = small >= PATIENCE
        fit.stopped = callback(bound) is True and not fit.converged
        if fit.converged or fit.stopped:
            break
    return fit


def _swept(model: Model, start: Posterior) -> tuple[Posterior, float]:
    """Return the posterior after one update of all factors, and its bound; nan where it fails."""
    posterior = replace(start)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        try:
            model.sweep(posterior)
            return posterior, model.bound(posterior)
        except np.linalg.LinAlgError:
            return posterior, float("nan")
