"""Training of the members of a LAB-RBF model: scales of the features, splits, bandwidths."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState

from pliant.core.device import Device
from pliant.core.progress import Deadline, Progress
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_random_state
from pliant.methods.lab_rbf import solvers
from pliant.methods.lab_rbf.features import LocalFeatures, LocalRows, Table
from pliant.methods.lab_rbf.kernel import PROFILES, WARPS, LocalRBFKernel, Warp
from pliant.methods.lab_rbf.members import TINY, WORTH_THREADS, LABRBFMember, limits_of
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
# Maximum number of rows that bandwidths are learned from. Coefficients are fitted to all.
BANDWIDTH_ROWS = 3000
SLOPE_ROWS = 1000  # Rows that slopes are averaged over.
MOST_HELD_OUT = 10_000  # Maximum number of rows that a member holds out.
# Number of small expansions that a scale is tried on, and their rows and support points.
PROBES, PROBE_ROWS, PROBE_SUPPORT = 3, 1000, 100
# Maximum number of steps of each stage of these expansions, and their shrinkage penalty.
PROBE_STEPS, PROBE_SHRINKAGES = 15, (3e-2,)
# Scales of features whose loss is within this factor of the lowest one are all used.
COMPARABLE = 1.1
LARGEST_SEED = np.iinfo(np.int32).max

Layer = Callable[[Array, Table, Array], Array]
"""(features, their rows, features of other rows) -> predictions of these other rows."""

Start = tuple[Array, float]
"""log theta^2 of all centres, shape (m, d), and log lam."""


# Parameters that a `Recipe` takes as they are.
_GIVEN = ("profile", "support", "solver", "max_iter", "learning_rate")


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
    support: str  # one of `STRATEGIES`
    solver: str
    max_iter: int
    learning_rate: float
    initial_bandwidth: float | None  # of all centres and features; None: the best of a few

    @classmethod
    def of(cls, parameters: Mapping[str, Any], k: int, table: Table) -> Recipe:
        """Return the recipe of the k-th member of a model, k = 0, 1, ..., from its parameters."""
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
            initial_bandwidth=None if first is None else float(first),
            **{name: p[name] for name in _GIVEN},
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
            chosen = self._choose(self.recipe.support)
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
        return self.recipe.support == "residual"

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
        """Return the best stage from shared bandwidths to bandwidths of each centre's own."""
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
    """Draw points far apart in [X, sqrt(d / q) Y]: k-means++, without its trials."""
    # scikit-learn's takes ten times as long for some hundred points.
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


Loss = Callable[[Table, Indices], Callable[[Array], float]]
"""(table, rows) -> the loss of scaled predictions of these rows."""


class Watch(Deadline):
    """A deadline that several threads may ask."""

    def __init__(self, callback: Callable[..., object], seconds: float | None) -> None:
        super().__init__(callback, seconds)
        self._lock = threading.Lock()

    def __call__(self, step: object = None) -> bool:
        """Return whether to stop; once True, always True."""
        with self._lock:
            return super().__call__(step)


class Split(NamedTuple):
    """Rows to learn from, validation rows (None if none are held out), rows of the last stage."""

    train: Indices
    held_out: Indices | None
    everything: Indices


class Run(NamedTuple):
    """A member, how it was learned, and the rows that it was learned and validated on."""

    member: LABRBFMember
    learned: Learned
    split: Split


@dataclass(frozen=True, eq=False)
class EnsembleTrainer:
    """Trains the members of one model."""

    parameters: Mapping[str, Any]  # of the model
    device: Device
    watch: Watch
    loss: Loss
    layer: Layer | None

    def learn(
        self,
        table: Table,
        begun: Mapping[str, Any],
        choose_target: Callable[[Table, Callable[[Table], float]], Table],
    ) -> tuple[Table, list[Run]]:
        """Choose the scales of features and target, then learn the members, fewer if stopped.

        `begun` is the state of an earlier fit. Only interpolation gives coefficients here.
        """
        p, scales, members = self.parameters, ["raw"], begun.get("members_", [])
        rng, n_members = check_random_state(p["random_state"]), p["n_members"]
        seeds = rng.randint(LARGEST_SEED, size=n_members + PROBES).astype(np.intp)
        if members:
            if begun.get("target_transform_") == "log":
                table = table.with_logarithms()
        elif p["transforms"] is not None and p["validation_fraction"] > 0:
            recipe = Recipe.of(p, 0, table)
            probe = cache(partial(self.probe, recipe, seeds[n_members:]))
            scales = comparable_scales(table, probe)
            table = choose_target(table, lambda changed: probe(changed, scales[0]))
        recipes = [Recipe.of(p, k, table) for k in range(n_members)]
        return table, self._train(table, recipes, scales, seeds, members)

    def _train(
        self,
        table: Table,
        recipes: list[Recipe],
        scales: list[str],
        seeds: Indices,
        begun: Sequence[LABRBFMember],
    ) -> list[Run]:
        """Learn a member by each recipe, with a seed of its own; the first go on from `begun`."""
        limits, table = limits_of(table), replace(table, whole=None)
        warps = list({member.warp_.key(): member.warp_ for member in begun}.values())
        warps = warps or [Warp.learn(table.X, scale) for scale in scales]
        # Members by evidence take longest: begun first, they leave no core waiting at the end.
        order = sorted(range(len(recipes)), key=lambda k: recipes[k].objective != "evidence")
        members = [*begun, *[None] * (len(recipes) - len(begun))]
        runs = self._parallel(table, recipes[0])(
            delayed(self._train_member)(
                table,
                recipes[k],
                warps[(k + k // len(warps)) % len(warps)],  # not always with the same objective
                int(seeds[k]),
                limits,
                members[k],
                needed=k == order[0],
            )
            for k in order
        )
        in_turn = sorted(zip(order, runs, strict=True), key=lambda pair: pair[0])
        return [run for _, run in in_turn if run is not None]

    def _parallel(self, table: Table, recipe: Recipe) -> Parallel:
        """Return the executor of tasks: threads, which would wait for each other in small ones."""
        worth_it = min(len(table), BANDWIDTH_ROWS) * recipe.n_support >= WORTH_THREADS
        n_jobs = threads_for(self.parameters["n_jobs"], worth_it=worth_it)
        return Parallel(n_jobs=n_jobs, require="sharedmem")

    @blas_limited
    def _train_member(
        self,
        table: Table,
        recipe: Recipe,
        warp: Warp,
        seed: int,
        limits: Array,
        begun: LABRBFMember | None,
        *,
        needed: bool,
    ) -> Run | None:
        """Learn a member; None if learning was to stop before, unless one is needed."""
        if self.watch.stopped and not needed and begun is None:
            return None
        rng = RandomState(seed)
        split = self._split(len(table), rng)
        if begun is not None:
            kept = {"objective": begun.objective_, "linear": begun.linear_}
            recipe, warp = replace(recipe, profile=begun.kernel_.profile, **kept), begun.warp_
        learned = self._learn(table, recipe, warp, split, rng, begun=begun)
        if begun is not None:
            numbers, points = begun.support_, begun.kernel_.centres
        else:
            support = split.train[learned.rows]
            numbers, points = table.numbers[support], table.points(support)
        member = _member(learned, recipe, warp, points)
        member.support_, member.limits_ = numbers, limits
        if learned.coefficients is not None:  # they belong to targets on [-1, 1]
            intercept = table.middle + table.spread * learned.mean
            member.set_coefficients(learned.coefficients * table.spread, intercept)
        return Run(member, learned, split)

    def _split(self, n: int, rng: RandomState) -> Split:
        """Split n rows at random."""
        order, share = rng.permutation(n), self.parameters["validation_fraction"]
        everything = order[:BANDWIDTH_ROWS].copy()  # not a view, which would keep all n
        if share == 0:
            return Split(everything, None, everything)
        held_out = min(max(1, int(share * n)), MOST_HELD_OUT, n - 1)
        train = order[held_out:][:BANDWIDTH_ROWS].copy()
        return Split(train, order[:held_out].copy(), everything)

    def _learn(
        self,
        table: Table,
        recipe: Recipe,
        warp: Warp,
        split: Split,
        rng: RandomState,
        *,
        begun: LABRBFMember | None = None,
        last_stage: bool = True,
    ) -> Learned:
        """Learn the bandwidths of one expansion."""
        held_out, loss, everything = None, None, None
        if split.held_out is not None:
            held_out, loss = table.sample(split.held_out, warp), self.loss(table, split.held_out)
            everything = table.sample(split.everything, warp) if last_stage else None
        train, layer = table.sample(split.train, warp), self.layer if last_stage else None
        start = None if begun is None else start_of(begun)
        trainer = Trainer(recipe, train, held_out, loss, self.device, rng, self.watch, layer, start)
        # A product in float32 may flag an invalid operation although its result is finite; the
        # solver takes a step only if the objective there is finite.
        with np.errstate(invalid="ignore"):
            return trainer.train(everything)

    def probe(self, recipe: Recipe, seeds: Indices, table: Table, scale: str) -> float:
        """Return the held-out loss of small expansions on few rows, their geometric mean."""
        recipe = replace(
            recipe,
            objective="ridge",
            support="kmeans++",
            n_support=min(recipe.n_support, PROBE_SUPPORT),
            linear=True,
            max_iter=min(recipe.max_iter, PROBE_STEPS),
            shrinkages=PROBE_SHRINKAGES,
        )
        warp, table = Warp.learn(table.X, scale), replace(table, whole=None)
        losses = self._parallel(table, recipe)(
            delayed(self._probed)(recipe, int(seed), table, warp) for seed in seeds
        )
        return float(np.exp(np.mean(np.log(losses))))

    @blas_limited
    def _probed(self, recipe: Recipe, seed: int, table: Table, warp: Warp) -> float:
        """Return the held-out loss of one small expansion."""
        if self.watch.stopped:
            return math.inf
        rng = RandomState(seed)
        split = self._split(len(table), rng)
        split = split._replace(train=split.train[:PROBE_ROWS])
        learned = self._learn(table, recipe, warp, split, rng, last_stage=False)
        return max(learned.stage.loss, TINY)


def _member(learned: Learned, recipe: Recipe, warp: Warp, points: Array) -> LABRBFMember:
    """Return the member with learned bandwidths of support points, without coefficients."""
    member, stage = LABRBFMember(), learned.stage
    theta = np.exp(stage.log_squares / 2)
    if warp.affine:
        member.kernel_ = LocalRBFKernel(points, theta * warp.slopes, recipe.profile)
    else:
        member.kernel_ = LocalRBFKernel(points, theta, recipe.profile, warp)
    member.warp_, member.linear_, member.objective_ = warp, recipe.linear, recipe.objective
    member.alpha_, member.shrinkage_ = float(stage.alpha), float(stage.shrinkage)
    member.level_ = float(stage.level)
    member.validation_score_ = float(1.0 - stage.loss)
    member.objective_history_ = np.array(learned.history, dtype=np.float64)
    return member


def start_of(member: LABRBFMember) -> tuple[Array, Stage]:
    """Return mapped centres and the last stage of a member to go on from."""
    with np.errstate(divide="ignore"):
        log_squares = 2.0 * np.log(member.mapped_bandwidths())
    centres = member.warp_(member.kernel_.centres)
    return centres, Stage(log_squares, member.level_, member.alpha_, member.shrinkage_)


def comparable_scales(table: Table, probe: Callable[[Table, str], float]) -> list[str]:
    """Return the scales of features with about the same held-out loss, the best one first."""
    others = [scale for scale in WARPS[1:] if not Warp.learn(table.X, scale).affine]
    if not others:
        return ["raw"]
    losses = {scale: probe(table, scale) for scale in ("raw", *others)}
    limit = COMPARABLE * min(losses.values())
    return sorted((s for s in losses if losses[s] <= limit), key=lambda s: losses[s])
