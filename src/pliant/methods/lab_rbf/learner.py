"""The stages of learning one LAB-RBF expansion: minimise, then judge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from pliant.core.progress import Progress, Result
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf import adam, step_capped
from pliant.methods.lab_rbf.device import Device
from pliant.methods.lab_rbf.objective import (
    Bandwidths,
    Evidence,
    Interpolation,
    Objective,
    Problem,
    Ridge,
    Shared,
    ridge_path,
)
from pliant.methods.lab_rbf.profiles import PROFILES
from pliant.methods.lab_rbf.recipe import Recipe, Sample
from pliant.methods.lab_rbf.rows import LocalFeatures, LocalRows

__all__ = ["Learner", "Stage", "Start"]

TOL = 1e-4
"""Steps that gain less, relative to the objective, are not worth their time on held-out rows."""

Start = tuple[Array, float]
"""log theta^2 of all centres, and log lam."""


class Stage(NamedTuple):
    """Bandwidths with the ridge that suits them, and their held-out loss."""

    log_squares: Array
    level: float
    alpha: float
    shrinkage: float
    loss: float
    predicted: Array | None = None


@dataclass(eq=False)
class Learner:
    """One run of `learn`: what stays the same through its stages."""

    recipe: Recipe
    train: Sample
    held_out: Sample | None
    loss: Callable[[Array], float]
    device: Device
    rng: RandomState
    watch: Callable[[Progress], Any]
    history: list[float] = field(default_factory=list)
    stopped: bool = False

    def objective(self, sample: Sample, chosen: Indices) -> Objective:
        """Return the objective on a sample; the centres are rows of the training part."""
        r = self.recipe
        features = LocalFeatures(self.train.X[chosen], PROFILES[r.profile], r.linear, self.device)
        mean = sample.mean()
        rows = LocalRows.of(features, sample.X, sample.Y - mean, sample.weights, r.batch_rows)
        scale = max(rows.square(), np.finfo(np.float64).tiny)
        if r.objective == "evidence":
            return Evidence(rows, scale)
        if r.objective == "interpolation":
            return Interpolation(rows, self.train.Y[chosen] - mean, r.alpha, scale)
        return Ridge(rows, r.alpha, scale)

    @property
    def learns_level(self) -> bool:
        """Whether the noise level is learned too, as the evidence allows."""
        return self.recipe.objective == "evidence"

    def problem(self, objective: Objective, shrinkage: float) -> Problem:
        """Return the problem whose bandwidths a shrinkage holds together; inf: they are equal."""
        if math.isinf(shrinkage):
            return Shared(objective, self.learns_level)
        return Bandwidths(objective, shrinkage, self.learns_level)

    def minimise(self, problem: Problem, start: Start, max_iter: int) -> Start:
        """Run the solver from `start`; remember the objectives on the way."""
        x = problem.pack(*start)
        if self.stopped:
            return start
        if self.recipe.solver == "adam" and isinstance(problem, Bandwidths):
            result = self._adam(problem, x, max_iter)
        else:
            result = step_capped.solve(problem, x, tol=TOL, max_iter=max_iter, callback=self._see)
        return problem.unpack(result.x)

    def _adam(self, problem: Bandwidths, x: Array, max_iter: int) -> Result[None]:
        return adam.solve(
            problem,
            x,
            n_rows=len(problem.objective.rows),
            rng=self.rng,
            rate=self.recipe.learning_rate,
            max_iter=max_iter,
            callback=self._see,
        )

    def _see(self, progress: Progress) -> bool:
        self.history.append(progress.objective)
        self.stopped = self.stopped or bool(self.watch(progress))
        return self.stopped

    def judged(self, objective: Objective, s: Array, level: float, shrinkage: float) -> Stage:
        """Return the bandwidths with the best ridge on the held-out rows."""
        fixed = self.recipe.objective == "interpolation"
        alphas = (self.recipe.alpha,) if fixed else self.recipe.alphas
        if self.held_out is None:
            return Stage(s, level, alphas[0], shrinkage, math.nan)
        local = objective.rows.features
        block = local.evaluate(
            objective.rows.of(local, self.held_out.X, self.held_out.Y).rows, local.parameters(s)
        )
        mean, device = self.train.mean(), local.device
        coefficients = self.coefficients(objective, s, alphas)
        guesses = [mean + device.numpy(block.features @ device.array(a)) for a in coefficients]
        losses = [self.loss(guess) for guess in guesses]
        best = int(np.argmin(losses))
        return Stage(s, level, alphas[best], shrinkage, losses[best], guesses[best])

    def coefficients(self, objective: Objective, s: Array, alphas: tuple[float, ...]) -> Array:
        """Return the coefficients for each ridge, shape (len(alphas), p, q)."""
        if isinstance(objective, Interpolation):
            return objective.coefficients(s)[None]
        gram, right = objective.rows.evaluated(s).normal_equations()
        return ridge_path(gram, right, np.array(alphas))
