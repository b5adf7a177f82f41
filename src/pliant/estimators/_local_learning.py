"""How the bandwidths of one LAB-RBF expansion are learned.

1. support points are drawn; 2. the best of a few bandwidths for all; 3. one bandwidth for each
feature; 4. local bandwidths, held together less and less, until the held-out error grows twice;
5. from the best of them, all rows again. The ridge of the coefficients is chosen on the held-out
rows at each stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from pliant._device import Device
from pliant._typing import Array, Indices
from pliant.estimators._local_growth import Start, begin
from pliant.estimators._local_recipe import Learned, Recipe, Sample
from pliant.kernels.profiles import PROFILES
from pliant.problems._local_rows import LocalFeatures, LocalRows
from pliant.problems.local_ridge import (
    Bandwidths,
    Evidence,
    Interpolation,
    Objective,
    Problem,
    Ridge,
    Shared,
    ridge_path,
)
from pliant.solvers import adam, step_capped
from pliant.solvers.result import Progress, Result

__all__ = ["Learner", "learn"]

TOL = 1e-4
"""Steps that gain less, relative to the objective, are not worth their time on held-out rows."""

PATIENCE = 2
"""Shrinkages without a better held-out error that end the path."""


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
        return self.recipe.objective == "evidence"

    def problem(self, objective: Objective, shrinkage: float) -> Problem:
        """Return the problem whose bandwidths a shrinkage holds together; inf: they are equal."""
        if math.isinf(shrinkage):
            return Shared(objective, self.learns_level)
        return Bandwidths(objective, shrinkage, self.learns_level)

    def minimise(
        self, problem: Problem, start: tuple[Array, float], max_iter: int
    ) -> tuple[Array, float]:
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


def learn(
    recipe: Recipe,
    train: Sample,
    held_out: Sample | None,
    everything: Sample | None,
    loss: Callable[[Array], float],
    *,
    device: Device,
    rng: RandomState,
    watch: Callable[[Progress], Any] = lambda _: False,
) -> Learned:
    """Learn the bandwidths of one expansion.

    Parameters
    ----------
    recipe : Recipe
        How.
    train, held_out : Sample
        What bandwidths are learned from, and what judges them.
    everything : Sample or None
        What the last stage learns from; None leaves that stage out.
    loss : callable
        Predictions of the held-out rows, (n, q) -> what is to be small.
    device : Device
    rng : RandomState
    watch : callable
        Called after each step; True ends learning with the best so far.
    """
    learner = Learner(recipe, train, held_out, loss, device, rng, watch)
    chosen, start = begin(learner)
    objective = learner.objective(train, chosen)
    best = _path(learner, objective, start)
    s, level = best.log_squares, best.level
    final, mean = objective, train.mean()
    if everything is not None and not learner.stopped:
        final, mean = learner.objective(everything, chosen), everything.mean()
        problem = learner.problem(final, best.shrinkage)
        s, level = learner.minimise(problem, (s, level), recipe.max_iter)
    coefficients = final.coefficients(s) if isinstance(final, Interpolation) else None
    return Learned(
        train.X[chosen],
        s,
        chosen,
        best.alpha,
        best.shrinkage,
        best.loss,
        learner.history,
        coefficients,
        mean,
        best.predicted,
    )


def _path(learner: Learner, objective: Objective, start: Start) -> Stage:
    """Return the best stage from bandwidths alike to bandwidths of their own.

    A start that the user chose, or that grew, is not made alike first.
    """
    r = learner.recipe
    point = start
    grown = isinstance(r.support, str) and r.support == "residual"
    if not grown and r.initial_bandwidth is None:
        shared = learner.problem(objective, math.inf)
        point = learner.minimise(shared, point, -(-2 * r.max_iter // 3))
    best = learner.judged(objective, *point, r.shrinkages[-1] if grown else math.inf)
    lowest, worse = best.loss, 0
    for shrinkage in r.shrinkages:
        if learner.stopped:
            break
        problem = learner.problem(objective, shrinkage)
        point = learner.minimise(problem, point, r.max_iter)
        stage = learner.judged(objective, *point, shrinkage)
        best = stage if not stage.loss >= best.loss else best
        worse = worse + 1 if stage.loss >= lowest else 0
        lowest = min(lowest, stage.loss)
        if worse == PATIENCE:
            break
    return best
