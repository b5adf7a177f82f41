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
from pliant.estimators._local_support import choose_support
from pliant.kernels.profiles import PROFILES
from pliant.problems._local_rows import LocalFeatures, LocalRows
from pliant.problems.local_ridge import (
    HIGHEST,
    LOWEST,
    Bandwidths,
    Evidence,
    Interpolation,
    Objective,
    Ridge,
    Shared,
    ridge_path,
)
from pliant.solvers import adam, step_capped
from pliant.solvers.result import Progress, Result

__all__ = ["Learned", "Recipe", "Sample", "learn"]

WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Bandwidths theta^2 d for all centres and features that are tried first."""

TOL = 1e-4
"""Steps that gain less, relative to the objective, are not worth their time on held-out rows."""

GROWTHS = 5
"""How often support points are added where errors are large."""

PATIENCE = 2
"""Shrinkages without a better held-out error that end the path."""


class Sample(NamedTuple):
    """Rows: points (n, d) and targets (n, q), both scaled, and weights (n,), or None if all 1."""

    X: Array
    Y: Array
    weights: Array | None = None

    def take(self, rows: Indices) -> Sample:
        """Return some of the rows."""
        return Sample(*(None if part is None else part[rows] for part in self))  # type: ignore[arg-type]

    def mean(self) -> Array:
        """Return the weighted mean of the targets, shape (q,)."""
        return np.asarray(np.average(self.Y, axis=0, weights=self.weights))


@dataclass(frozen=True)
class Recipe:
    """How one expansion is learned.

    Attributes
    ----------
    n_support : int
        The most support points.
    objective : {"ridge", "evidence", "interpolation"}
    linear : bool
        Whether the features themselves follow the kernel values.
    alpha : float
        The ridge while bandwidths are learned.
    alphas : tuple of float
        The ridges that the coefficients choose from.
    shrinkages : tuple of float
        What holds bandwidths together, falling.
    profile, support, solver : str
    max_iter : int
        Steps of each stage.
    batch_rows : int
        Rows looked at together.
    learning_rate : float
        Of Adam.
    initial_bandwidth : float or None
        theta of all centres and features at the start; None: the best of a few.
    """

    n_support: int
    objective: str = "ridge"
    linear: bool = False
    alpha: float = 0.1
    alphas: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
    shrinkages: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4)
    profile: str = "gaussian"
    support: str | Indices = "kmeans++"
    solver: str = "lbfgs"
    max_iter: int = 60
    batch_rows: int = 8192
    learning_rate: float = 0.01
    initial_bandwidth: float | None = None


class Stage(NamedTuple):
    """Bandwidths with the ridge that suits them, and their held-out loss."""

    log_squares: Array
    level: float
    alpha: float
    shrinkage: float
    loss: float
    predicted: Array | None = None


@dataclass(frozen=True, eq=False)
class Learned:
    """What `learn` found.

    Attributes
    ----------
    centres, log_squares : arrays of shape (m, d)
        Support points, and the logarithms of their squared bandwidths.
    rows : array of shape (m,)
        Their places in the sample.
    alpha, shrinkage : float
        Chosen on the held-out rows.
    loss : float
        The held-out loss; nan without such rows.
    history : list of float
        The objective after each step.
    coefficients : array of shape (m, q) or None
        Those of the interpolation objective; others follow from all rows.
    mean : array of shape (q,)
        The scaled target that they are added to.
    predicted : array of shape (n_held_out, q) or None
        The held-out rows as the best stage before the last saw them.
    """

    centres: Array
    log_squares: Array
    rows: Indices
    alpha: float
    shrinkage: float
    loss: float
    history: list[float]
    coefficients: Array | None
    mean: Array
    predicted: Array | None


@dataclass(eq=False)
class _Learner:
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

    def together(self, objective: Objective, shrinkage: float) -> Bandwidths | Shared:
        """Return the problem whose bandwidths a shrinkage holds together; inf: they are equal."""
        if math.isinf(shrinkage):
            return Shared(objective, self.learns_level)
        return Bandwidths(objective, shrinkage, self.learns_level)

    def minimise(
        self, problem: Bandwidths | Shared, start: tuple[Array, float], max_iter: int
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
    learner = _Learner(recipe, train, held_out, loss, device, rng, watch)
    chosen, start = _begin(learner)
    objective = learner.objective(train, chosen)
    best = _path(learner, objective, start)
    s, level = best.log_squares, best.level
    final, mean = objective, train.mean()
    if everything is not None and not learner.stopped:
        final, mean = learner.objective(everything, chosen), everything.mean()
        problem = learner.together(final, best.shrinkage)
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


Start = tuple[Array, float]
"""log theta^2 of all centres, and log lam."""


def _begin(learner: _Learner) -> tuple[Indices, Start]:
    """Return the rows that are support points, and where their bandwidths start."""
    recipe, train = learner.recipe, learner.train
    if isinstance(recipe.support, str):
        if recipe.support == "residual":
            return _grown(learner)
        chosen = choose_support(recipe.support, train.X, train.Y, recipe.n_support, learner.rng)
    else:
        chosen = recipe.support
    return chosen, _first(learner.objective(train, chosen), recipe)


def _grown(learner: _Learner) -> tuple[Indices, Start]:
    """Add the points with the largest residuals to a random half (He et al., Algorithm 1)."""
    recipe, train = learner.recipe, learner.train
    half = (recipe.n_support + 1) // 2
    chosen = choose_support("random", train.X, train.Y, half, learner.rng)
    start = _first(learner.objective(train, chosen), recipe)
    most = min(recipe.n_support, len(np.unique(train.X, axis=0)))
    more = max(1, -(-(most - len(chosen)) // GROWTHS))
    while len(chosen) < most:
        objective = learner.objective(train, chosen)
        problem = learner.together(objective, recipe.shrinkages[-1])
        s, level = learner.minimise(problem, start, max(1, recipe.max_iter // GROWTHS))
        added = _worst(learner, objective, s, chosen, min(more, most - len(chosen)))
        chosen = np.concatenate([chosen, added])
        start = np.vstack([s, np.tile(s.mean(axis=0), (len(added), 1))]), level
    return chosen, start


def _worst(
    learner: _Learner, objective: Objective, s: Array, chosen: Indices, count: int
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


def _path(learner: _Learner, objective: Objective, start: Start) -> Stage:
    """Return the best stage from bandwidths alike to bandwidths of their own.

    A start that the user chose, or that grew, is not made alike first.
    """
    r = learner.recipe
    point = start
    grown = isinstance(r.support, str) and r.support == "residual"
    if not grown and r.initial_bandwidth is None:
        shared = learner.together(objective, math.inf)
        point = learner.minimise(shared, point, -(-2 * r.max_iter // 3))
    best = learner.judged(objective, *point, r.shrinkages[-1] if grown else math.inf)
    lowest, worse = best.loss, 0
    for shrinkage in r.shrinkages:
        if learner.stopped:
            break
        problem = learner.together(objective, shrinkage)
        point = learner.minimise(problem, point, r.max_iter)
        stage = learner.judged(objective, *point, shrinkage)
        best = stage if not stage.loss >= best.loss else best
        worse = worse + 1 if stage.loss >= lowest else 0
        lowest = min(lowest, stage.loss)
        if worse == PATIENCE:
            break
    return best
