"""Training the bandwidths of one LAB-RBF expansion.

1. Support points are drawn. 2. The best of a few bandwidths is taken for all of them. 3. Each
feature gets a bandwidth. 4. Each support point gets bandwidths of its own, which are regularised
less and less, until the held-out error rises. 5. The best of these stages goes on with
all rows. The ridge penalty of the coefficients is chosen on the held-out rows at each stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from pliant.core.device import Device
from pliant.core.progress import Progress
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf import solvers
from pliant.methods.lab_rbf.features import LocalFeatures, LocalRows, Table
from pliant.methods.lab_rbf.kernel import PROFILES
from pliant.methods.lab_rbf.objective import (
    HIGHEST,
    LOWEST,
    Bandwidths,
    Evidence,
    Interpolation,
    Objective,
    Ridge,
    ridge_path,
)

TOL = 1e-4  # Relative gain of a step below which it does not pay on held-out rows.
# First values of theta^2 d, the same for all centres and features, that are tried.
WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
GROWTHS = 5  # Number of times that support points are added where errors are large.
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)  # Ridge penalties that the held-out rows choose from.
SHRINKAGES = (1e-1, 1e-2, 1e-3, 1e-4)  # Shrinkage penalties of the stages.
# Fewer support points than this need less ridge and shrinkage while bandwidths are learned.
FEW = 150
RIGID = 1e6  # A shrinkage of at least this leaves one bandwidth for each feature.
LARGE = 4000  # Number of rows from which on more support points are taken by default.

Layer = Callable[[Array, Table, Array], Array]
"""(features, their rows, features of other rows) -> predictions of these other rows."""

Start = tuple[Array, float]
"""log theta^2 of all centres, shape (m, d), and log lam."""


@dataclass(frozen=True)
class Recipe:
    """How one expansion is learned: parameters of the model, with nothing left automatic."""

    n_support: int
    objective: str
    linear: bool
    alpha: float  # ridge penalty while bandwidths are learned
    alphas: tuple[float, ...]  # those that the coefficients choose from
    shrinkages: tuple[float, ...]  # falling; inf: one bandwidth for each feature
    profile: str
    support: str | Indices  # a strategy, or places among the training rows
    solver: str
    max_iter: int
    learning_rate: float
    initial_bandwidth: float | None  # of all centres and features; None: the best of a few

    @classmethod
    def of(
        cls, parameters: Mapping[str, Any], k: int, support: str | Indices, table: Table
    ) -> Recipe:
        """Return how the k-th member of a model is learned, k = 0, 1, ..., given its parameters.

        `support` is how support points are chosen, or which they are. Ridge penalties that are
        chosen grow with the mean weight of a row.
        """
        p: dict[str, Any] = {
            name: None if is_automatic(value) else value for name, value in parameters.items()
        }
        n_rows, weight, objective = len(table), table.mean_weight, p["objective"]
        if objective == "mixed":
            objective = "evidence" if k % 2 and n_rows < LARGE else "ridge"
        default = 400 if n_rows >= LARGE else max(1, min(200, n_rows // 3))
        n_support = default if p["n_support"] is None else int(p["n_support"])
        few = n_support < FEW
        alpha = 1e-3 if objective == "interpolation" else (0.01 if few else 0.1) * weight
        alphas: tuple[float, ...] = tuple(weight * choice for choice in ALPHAS)
        shrinkages: tuple[float, ...] = (*SHRINKAGES, 1e-5, 0.0) if few else SHRINKAGES
        if p["alpha"] is not None:
            alpha = float(p["alpha"])
            alphas = (alpha,)
        if p["shrinkage"] is not None:
            shrinkages = (float(p["shrinkage"]) if p["shrinkage"] < RIGID else math.inf,)
        linear = objective != "interpolation" and k % 4 != 1
        first = p["initial_bandwidth"]
        return cls(
            n_support=n_support,
            objective=objective,
            linear=linear if p["linear"] is None else bool(p["linear"]),
            alpha=alpha,
            alphas=alphas,
            shrinkages=shrinkages,
            support=support,
            initial_bandwidth=None if first is None else float(first),
            **{name: p[name] for name in ("profile", "solver", "max_iter", "learning_rate")},
        )


def is_automatic(value: object) -> bool:
    """Return whether a parameter is left to the fit."""
    return isinstance(value, str) and value == "auto"


class Stage(NamedTuple):
    """Bandwidths with the ridge penalty that suits them, and their held-out loss."""

    log_squares: Array
    level: float  # log lam
    alpha: float
    shrinkage: float
    loss: float = math.nan
    predicted: Array | None = None  # held-out predictions, shape (n_held_out, q)


class Learned(NamedTuple):
    """The result of `Trainer.train`."""

    stage: Stage  # the best one, with the bandwidths of the last one
    rows: Indices  # places of the m support points among the training rows
    history: list[float]  # the objective after each step
    coefficients: Array | None  # of the interpolation objective, (m, q); else all rows give them
    mean: Array  # of the scaled target, shape (q,); the expansion is added to it
    layered: Array | None  # predictions of the validation rows by the last layer, if there is one


@dataclass(eq=False)
class Trainer:
    """Learns the bandwidths of one expansion."""

    recipe: Recipe
    rows: Table  # with features mapped and targets scaled
    held_out: Table | None
    loss: Callable[[Array], float] | None  # of predictions of the held-out rows
    device: Device
    rng: RandomState
    callback: Callable[[Progress], object]  # True ends learning with the best so far
    layer: Layer | None = None  # where coefficients are not those of a ridge fit
    begun: tuple[Array, Stage] | None = None  # mapped centres and last stage of an earlier fit
    history: list[float] = field(default_factory=list)
    stopped: bool = False

    def train(self, everything: Table | None) -> Learned:
        """Return the learned bandwidths; the last stage takes the rows `everything`, if given."""
        if self.begun is not None:
            chosen = np.zeros(0, dtype=np.intp)
            objective = self._objective(self.rows, chosen)
            _, (s, level, _, shrinkage, *_) = self.begun
            start = s.clip(LOWEST, HIGHEST), level
            point = self._minimise(objective, shrinkage, start, self.recipe.max_iter)
            best = self._validated(objective, *point, shrinkage)
        elif self._grows:
            chosen, start = self._grow()
            objective = self._objective(self.rows, chosen)
            best = self._path(objective, start)
        else:
            support = self.recipe.support
            chosen = self._choose(support) if isinstance(support, str) else support
            objective = self._objective(self.rows, chosen)
            best = self._path(objective, self._start(objective))
        mean, layered = self.rows.mean, self._layered(objective, best)
        if everything is not None and not self.stopped:
            objective, mean = self._objective(everything, chosen), everything.mean
            start = best.log_squares, best.level
            half = -(-self.recipe.max_iter // 2)  # rounded up: it starts where another stage ended
            s, level = self._minimise(objective, best.shrinkage, start, half)
            best = best._replace(log_squares=s, level=level)
        coefficients = None
        if isinstance(objective, Interpolation):
            coefficients = objective.coefficients(best.log_squares)
        return Learned(best, chosen, self.history, coefficients, mean, layered)

    def _layered(self, objective: Objective, stage: Stage) -> Array | None:
        """Return what the last layer predicts for the validation rows."""
        if self.layer is None or self.held_out is None:
            return None
        features, held_out = (
            self.device.numpy(_features(objective, X, stage.log_squares))
            for X in (self.rows.X, self.held_out.X)
        )
        return self.layer(features, self.rows, held_out)

    @property
    def _grows(self) -> bool:
        """Whether support points are added while bandwidths are learned."""
        return isinstance(self.recipe.support, str) and self.recipe.support == "residual"

    def _objective(self, sample: Table, chosen: Indices) -> Objective:
        """Return the objective on a sample; the centres are training rows, or those of `begun`."""
        r = self.recipe
        centres = self.rows.X[chosen] if self.begun is None else self.begun[0]
        features = LocalFeatures(centres, PROFILES[r.profile], r.linear, self.device)
        mean = sample.mean
        rows = LocalRows.of(features, sample.X, sample.Y - mean, sample.weights)
        scale = max(rows.square(), np.finfo(np.float64).tiny)
        if r.objective == "evidence":
            return Evidence(rows, scale)
        if r.objective == "interpolation":
            return Interpolation(rows, self.rows.Y[chosen] - mean, r.alpha, scale)
        return Ridge(rows, r.alpha, scale)

    def _start(self, objective: Objective) -> Start:
        """Return the best of a few bandwidths for all centres and features, and log lam."""
        m, d = objective.rows.features.centres.shape
        level = math.log(self.recipe.alpha)
        if self.recipe.initial_bandwidth is not None:
            first = 2.0 * math.log(self.recipe.initial_bandwidth)
            return np.full((m, d), min(max(first, LOWEST), HIGHEST)), level
        starts = [np.full((m, d), math.log(width / d)) for width in WIDTHS]
        values = [objective.value(s, level) for s in starts]
        return starts[int(np.argmin(values))], level

    def _path(self, objective: Objective, start: Start) -> Stage:
        """Return the best stage from shared bandwidths to bandwidths of each centre's own.

        A start that the user chose, or that has grown, is not made shared first.
        """
        r, point = self.recipe, start
        if not self._grows and r.initial_bandwidth is None:
            two_thirds = -(-2 * r.max_iter // 3)  # rounded up
            point = self._minimise(objective, math.inf, point, two_thirds)
        best = self._validated(objective, *point, r.shrinkages[-1] if self._grows else math.inf)
        for shrinkage in r.shrinkages:
            if self.stopped:
                break
            point = self._minimise(objective, shrinkage, point, r.max_iter)
            stage = self._validated(objective, *point, shrinkage)
            if stage.loss >= best.loss:
                break
            best = stage  # also where losses are nan
        return best

    def _minimise(
        self, objective: Objective, shrinkage: float, start: Start, max_iter: int
    ) -> Start:
        """Run the solver; a shrinkage of inf means one bandwidth for each feature."""
        if self.stopped:
            return start
        r, record = self.recipe, self._record
        problem = Bandwidths(objective, shrinkage, r.objective == "evidence")
        x = problem.pack(*start)
        if r.solver == "lbfgs" or problem.shared:
            result = solvers.descend(problem, x, tol=TOL, max_iter=max_iter, callback=record)
        else:
            result = solvers.adam(
                problem,
                x,
                n_rows=len(objective.rows),
                rng=self.rng,
                rate=r.learning_rate,
                max_iter=max_iter,
                callback=record,
            )
        return problem.unpack(result.x)

    def _record(self, progress: Progress) -> bool:
        """Keep the objective; return whether to stop."""
        self.history.append(progress.objective)
        self.stopped = self.stopped or bool(self.callback(progress))
        return self.stopped

    def _validated(self, objective: Objective, s: Array, level: float, shrinkage: float) -> Stage:
        """Return the bandwidths with the best ridge penalty on the validation rows."""
        fixed = self.recipe.objective == "interpolation"
        alphas = (self.recipe.alpha,) if fixed else self.recipe.alphas
        if self.held_out is None or self.loss is None:
            return Stage(s, level, alphas[0], shrinkage)
        features = _features(objective, self.held_out.X, s)
        mean, device = self.rows.mean, self.device
        predictions = [
            mean + device.numpy(features @ device.array(a))
            for a in self._coefficients(objective, s, alphas)
        ]
        losses = [self.loss(predicted) for predicted in predictions]
        best = int(np.argmin(losses))
        return Stage(s, level, alphas[best], shrinkage, losses[best], predictions[best])

    def _coefficients(self, objective: Objective, s: Array, alphas: tuple[float, ...]) -> Array:
        """Return the coefficients for each ridge penalty, shape (len(alphas), p, q)."""
        if isinstance(objective, Interpolation):
            return objective.coefficients(s)[None]
        rows = objective.rows
        gram, right, _ = rows.normal_equations(rows.at(s).features, min(alphas))
        return ridge_path(gram, right, np.array(alphas))

    def _choose(self, strategy: str, n_support: int | None = None) -> Indices:
        """Return the places of different support points, as a strategy of `STRATEGIES` says."""
        X, Y = self.rows.X, self.rows.Y
        different = np.sort(np.unique(X, axis=0, return_index=True)[1])
        count = min(n_support or self.recipe.n_support, len(different))
        chosen = STRATEGIES[strategy](X[different], Y[different], count, self.rng)
        return np.asarray(different[chosen])

    def _grow(self) -> tuple[Indices, Start]:
        """Add the points with the largest residuals to a random half (He et al., Algorithm 1)."""
        r, X = self.recipe, self.rows.X
        chosen = self._choose("random", (r.n_support + 1) // 2)
        start = self._start(self._objective(self.rows, chosen))
        most = min(r.n_support, len(np.unique(X, axis=0)))
        more = max(1, -(-(most - len(chosen)) // GROWTHS))  # rounded up
        while len(chosen) < most:
            objective = self._objective(self.rows, chosen)
            steps = max(1, r.max_iter // GROWTHS)
            s, level = self._minimise(objective, r.shrinkages[-1], start, steps)
            added = self._worst(objective, s, chosen, min(more, most - len(chosen)))
            chosen = np.concatenate([chosen, added])
            start = np.vstack([s, np.tile(s.mean(axis=0), (len(added), 1))]), level
        return chosen, start

    def _worst(self, objective: Objective, s: Array, chosen: Indices, count: int) -> Indices:
        """Return the rows with the largest errors, each at a point that is not chosen already."""
        X, rows, device = self.rows.X, objective.rows, self.device
        a = device.array(self._coefficients(objective, s, (self.recipe.alpha,))[0])
        errors = device.numpy(rows.at(s).features @ a - rows.target)
        order = np.argsort(-(errors**2).sum(axis=1), kind="stable")
        order = order[~np.isin(order, chosen)]
        _, places = np.unique(np.vstack([X[chosen], X[order]]), axis=0, return_index=True)
        new = np.sort(places[places >= len(chosen)]) - len(chosen)
        return np.asarray(order[new[:count]])


def _features(objective: Objective, X: Array, log_squares: Array) -> Any:
    """Return the features of points, on the device, not weighted."""
    local = objective.rows.features
    return local.at(local.moments(X), log_squares).features


def _distant(X: Array, Y: Array, count: int, rng: RandomState) -> Indices:
    """Draw points far apart in [X, sqrt(d / q) Y]: k-means++, without its trials.

    Each point is drawn with a probability proportional to its squared distance from the nearest
    one drawn before. (scikit-learn's takes ten times as long for some hundred points.)
    """
    points = np.hstack([X, np.sqrt(X.shape[1] / Y.shape[1]) * Y])
    sizes = np.einsum("ij,ij->i", points, points)
    drawn = [int(rng.randint(len(points)))]
    nearest = np.full(len(points), np.inf)
    for uniform in rng.uniform(size=count - 1):
        last = drawn[-1]
        squares = sizes - 2.0 * (points @ points[last]) + sizes[last]
        np.minimum(nearest, squares, out=nearest)
        nearest[last] = 0.0
        cumulated = np.cumsum(np.maximum(nearest, 0.0))
        place = int(np.searchsorted(cumulated, uniform * cumulated[-1], side="right"))
        drawn.append(min(place, len(points) - 1))
    return np.unique(drawn)


def _random(X: Array, Y: Array, count: int, rng: RandomState) -> Indices:
    return np.sort(rng.choice(len(X), count, replace=False))


# How support points are chosen among different points; "residual" begins at random.
STRATEGIES = {"kmeans++": _distant, "residual": _random, "random": _random}
