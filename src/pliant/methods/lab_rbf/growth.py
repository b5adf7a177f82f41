"""Where learning a LAB-RBF expansion begins: its support points and first bandwidths."""

from __future__ import annotations

import math

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf.learner import Learner, Start
from pliant.methods.lab_rbf.objective import HIGHEST, LOWEST, Objective
from pliant.methods.lab_rbf.recipe import Recipe
from pliant.methods.lab_rbf.support import choose_support

__all__ = ["begin"]

WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Bandwidths theta^2 d for all centres and features that are tried first."""

GROWTHS = 5
"""How often support points are added where errors are large."""


def begin(learner: Learner) -> tuple[Indices, Start]:
    """Return the rows that are support points, and where their bandwidths start."""
    recipe, train = learner.recipe, learner.train
    if isinstance(recipe.support, str):
        if recipe.support == "residual":
            return _grown(learner)
        chosen = choose_support(recipe.support, train.X, train.Y, recipe.n_support, learner.rng)
    else:
        chosen = recipe.support
    return chosen, _first(learner.objective(train, chosen), recipe)


def _grown(learner: Learner) -> tuple[Indices, Start]:
    """Add the points with the largest residuals to a random half (He et al., Algorithm 1)."""
    recipe, train = learner.recipe, learner.train
    half = (recipe.n_support + 1) // 2
    chosen = choose_support("random", train.X, train.Y, half, learner.rng)
    start = _first(learner.objective(train, chosen), recipe)
    most = min(recipe.n_support, len(np.unique(train.X, axis=0)))
    more = max(1, -(-(most - len(chosen)) // GROWTHS))
    while len(chosen) < most:
        objective = learner.objective(train, chosen)
        problem = learner.problem(objective, recipe.shrinkages[-1])
        s, level = learner.minimise(problem, start, max(1, recipe.max_iter // GROWTHS))
        added = _worst(learner, objective, s, chosen, min(more, most - len(chosen)))
        chosen = np.concatenate([chosen, added])
        start = np.vstack([s, np.tile(s.mean(axis=0), (len(added), 1))]), level
    return chosen, start


def _worst(
    learner: Learner, objective: Objective, s: Array, chosen: Indices, count: int
) -> Indices:
    """Return rows with the largest errors, none of them at a place that is chosen already."""
    X, a = learner.train.X, learner.coefficients(objective, s, (learner.recipe.alpha,))[0]
    device = learner.device
    parts = [
        device.numpy(e.features @ device.array(a) - e.block.target)
        for e in objective.rows.evaluated(s)
    ]
    order = np.argsort(-(np.vstack(parts) ** 2).sum(axis=1), kind="stable")
    order = order[~np.isin(order, chosen)]
    _, places = np.unique(np.vstack([X[chosen], X[order]]), axis=0, return_index=True)
    new = np.sort(places[places >= len(chosen)]) - len(chosen)
    return np.asarray(order[new[:count]])


def _first(objective: Objective, recipe: Recipe) -> Start:
    """Return the best of a few bandwidths for all, and log lam."""
    m, d = objective.rows.features.centres.shape
    level = math.log(recipe.alpha)
    if recipe.initial_bandwidth is not None:
        at = 2.0 * math.log(recipe.initial_bandwidth)
        return np.full((m, d), min(max(at, LOWEST), HIGHEST)), level
    starts = [np.full((m, d), math.log(width / d)) for width in WIDTHS]
    values = [objective.at(s, level).value for s in starts]
    return starts[int(np.argmin(values))], level
