"""How the bandwidths of one LAB-RBF expansion are learned.

1. support points are drawn; 2. the best of a few bandwidths for all; 3. one bandwidth for each
feature; 4. local bandwidths, held together less and less, until the held-out error grows twice;
5. from the best of them, all rows again. The ridge of the coefficients is chosen on the held-out
rows at each stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numpy.random import RandomState

from pliant.core.progress import Progress
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.device import Device
from pliant.methods.lab_rbf.growth import begin
from pliant.methods.lab_rbf.learner import Learner, Stage, Start
from pliant.methods.lab_rbf.objective import Interpolation, Objective
from pliant.methods.lab_rbf.recipe import Learned, Recipe, Sample

__all__ = ["learn"]

PATIENCE = 2
"""Shrinkages without a better held-out error that end the path."""


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
    draws = [_drawn(learner) for _ in range(recipe.n_draws)]
    chosen, objective, best = min(draws, key=lambda draw: draw[2].loss)
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


def _drawn(learner: Learner) -> tuple[Indices, Objective, Stage]:
    """Draw support points; return their rows, the objective, and the best stage."""
    chosen, start = begin(learner)
    objective = learner.objective(learner.train, chosen)
    return chosen, objective, _path(learner, objective, start)


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
