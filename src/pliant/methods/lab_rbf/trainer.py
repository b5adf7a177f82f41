"""Training of the members of a LAB-RBF model.

`Trainer.choose_starts` chooses the rows, centres and first bandwidths of each member;
`Trainer.continue_members` takes centres and bandwidths of an earlier fit. `Trainer.train` then
learns the bandwidths along a path of falling shrinkage penalties.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState

from pliant.core.device import Device
from pliant.core.progress import Deadline, Progress
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf import solvers
from pliant.methods.lab_rbf.constants import (
    BANDWIDTH_ROWS,
    COMPARABLE,
    FIRST_SQUARES,
    HELD_OUT_ROWS,
    HIGHEST,
    LOWEST,
    PROBE_ROWS,
    PROBES,
    TINY,
    WORTH_THREADS,
)
from pliant.methods.lab_rbf.kernel import PROFILES, WARPS, LocalRBFKernel, Warp
from pliant.methods.lab_rbf.members import LABRBFMember, Table, limits_of
from pliant.methods.lab_rbf.objective import (
    Bandwidths,
    Interpolation,
    LocalFeatures,
    LocalRows,
    MarginalLikelihood,
    Ridge,
    RowObjective,
    ridge_path,
)

Loss: TypeAlias = Callable[[Table, Indices], Callable[[Array], float]]
"""(table, rows) -> the loss of scaled predictions of these rows, about 1 for a constant."""

Layer: TypeAlias = Callable[[Array, Table, Array], Array]
"""(features, their rows, features of other rows) -> predictions of the other rows."""

Point: TypeAlias = tuple[Array, float]
"""log theta^2 of all centres, shape (m, d), and log lam."""


@dataclass(frozen=True, eq=False)
class MemberSettings:
    """Settings of one member: parameters of the model, none of them automatic."""

    n_support: int
    objective: Literal["ridge", "evidence", "interpolation"]
    linear: bool
    alpha: float  # ridge penalty while bandwidths are learned
    alphas: Array  # penalties that the coefficients choose from
    shrinkages: tuple[float, ...]  # falling; inf: one bandwidth for each feature
    profile: str  # of `PROFILES`
    support: Literal["kmeans++", "residual", "random"]
    solver: Literal["lbfgs", "adam"]
    max_iter: int
    learning_rate: float
    initial_bandwidth: float | None  # of all centres and features; None: the best of FIRST_SQUARES


class Split(NamedTuple):
    """Training rows, validation rows (None without), and rows of the last stage."""

    train: Indices
    held_out: Indices | None
    everything: Indices


class MemberStart(NamedTuple):
    """Rows, centres and first bandwidths of a member, and the stages of its path."""

    settings: MemberSettings
    split: Split
    rng: RandomState  # draws the split, the centres and the mini-batches
    warp: Warp
    rows: Table  # training rows, features mapped and targets scaled
    places: Indices  # places of the centres among the training rows; empty in a warm start
    centres: Array  # mapped, shape (m, d)
    log_squares: Array  # log theta^2, shape (m, d)
    level: float  # log lam
    first: tuple[float, int]  # shrinkage and number of steps of the first stage
    shrinkages: tuple[float, ...]  # shrinkage penalties of all later stages
    member: LABRBFMember | None = None  # the member that a warm start continues


class Stage(NamedTuple):
    """Bandwidths, the ridge penalty that suits them, and their held-out loss."""

    log_squares: Array
    level: float  # log lam
    alpha: float
    shrinkage: float
    loss: float = math.nan
    predicted: Array | None = None  # held-out predictions, shape (n_held_out, q)


class FitState(NamedTuple):
    """A trained member, its rows, and its predictions of the validation rows."""

    member: LABRBFMember
    split: Split
    predicted: Array | None
    layered: Array | None  # by the last layer, for each of its penalties


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains the members of one model."""

    settings: list[MemberSettings]  # of each member
    seeds: Indices  # of each member, then of each probe
    device: Device
    deadline: Deadline
    loss: Loss
    layer: Layer | None  # the fit of the coefficients, if it is not a ridge fit
    validation_fraction: float
    tries_scales: bool  # of features and target, on held-out rows
    n_jobs: int | None
    probed: dict[tuple[bool, str], float] = field(default_factory=dict)  # losses of probes
    lock: threading.Lock = field(default_factory=threading.Lock)  # of the deadline

    def choose_scales(self, table: Table) -> list[str]:
        """Choose the scales of features whose held-out losses are close, the best one first."""
        others = []
        if self.tries_scales:
            others = [scale for scale in WARPS[1:] if not Warp.learn(table.X, scale).affine]
        if not others:
            return ["raw"]
        losses = {scale: self.probe(table, scale) for scale in ("raw", *others)}
        limit = COMPARABLE * min(losses.values())
        return sorted((s for s in losses if losses[s] <= limit), key=lambda s: losses[s])

    def choose_starts(
        self, table: Table, warps: list[Warp], n_continued: int = 0
    ) -> list[MemberStart]:
        """Choose rows, centres and first bandwidths of all members but the first `n_continued`."""
        tasks = []
        for k in range(n_continued, len(self.settings)):
            warp = warps[(k + k // len(warps)) % len(warps)]  # each warp meets both objectives
            seed = int(self.seeds[k])
            tasks.append(delayed(self._choose_start)(table, self.settings[k], warp, seed))
        return list(self._parallel(table, self.settings[0])(tasks))

    @blas_limited
    def _choose_start(
        self,
        table: Table,
        settings: MemberSettings,
        warp: Warp,
        seed: int,
        n_rows: int | None = None,
    ) -> MemberStart:
        """Choose rows (at most `n_rows`), centres and first bandwidths of one member."""
        rng, grows = RandomState(seed), settings.support == "residual"
        split = self._split(len(table), rng)
        split = split._replace(train=split.train[:n_rows])
        rows = table.sample(split.train, warp)
        # Algorithm 1 of the paper starts from a random half of the centres (`grow`).
        n_centres = (settings.n_support + 1) // 2 if grows else settings.n_support
        places = _choose_centres(rows, settings.support, n_centres, rng)
        centres = rows.X[places]
        m, d = centres.shape
        first, level, s = (math.inf, 0), math.log(settings.alpha), np.zeros((m, d))
        if grows:
            first = (settings.shrinkages[-1], 0)
        elif settings.initial_bandwidth is None:
            # two thirds of the steps, rounded up, with one bandwidth for each feature
            first = (math.inf, -(-2 * settings.max_iter // 3))
        start = MemberStart(
            settings, split, rng, warp, rows, places, centres, s, level, first, settings.shrinkages
        )
        # First bandwidths: theta as given, or the best theta^2 = square / d for the objective.
        if settings.initial_bandwidth is not None:
            given = 2.0 * math.log(settings.initial_bandwidth)
            return start._replace(log_squares=np.full((m, d), min(max(given, LOWEST), HIGHEST)))
        objective = build_objective(start, rows, self.device)
        tried = [np.full((m, d), math.log(square / d)) for square in FIRST_SQUARES]
        with np.errstate(invalid="ignore"):  # as in `_train_member`
            values = [objective.value(s, level) for s in tried]
        return start._replace(log_squares=tried[int(np.argmin(values))])

    def continue_members(self, table: Table, members: Sequence[LABRBFMember]) -> list[MemberStart]:
        """Start from members of an earlier fit, on new rows; further members start anew."""
        starts = []
        for member, settings, seed in zip(members, self.settings, self.seeds, strict=False):
            rng, warp = RandomState(seed), member.warp_
            split = self._split(len(table), rng)
            settings = replace(
                settings,
                objective=member.objective_,
                linear=member.linear_,
                profile=member.kernel_.profile,
            )
            with np.errstate(divide="ignore"):
                s = 2.0 * np.log(member.mapped_bandwidths())
            start = MemberStart(
                settings=settings,
                split=split,
                rng=rng,
                warp=warp,
                rows=table.sample(split.train, warp),
                places=np.zeros(0, dtype=np.intp),
                centres=warp(member.kernel_.centres),
                log_squares=s.clip(LOWEST, HIGHEST),
                level=member.level_,
                first=(member.shrinkage_, settings.max_iter),
                shrinkages=(),
                member=member,
            )
            starts.append(start)
        warps = list({member.warp_.key(): member.warp_ for member in members}.values())
        return starts + self.choose_starts(table, warps, n_continued=len(members))

    def train(self, table: Table, starts: list[MemberStart]) -> list[FitState]:
        """Learn the bandwidths of all members; of at least one, if the fit has to stop."""
        limits = limits_of(table)
        # Members by evidence take longest: started first, they leave no core idle at the end.
        others = np.array([start.settings.objective != "evidence" for start in starts])
        order = np.argsort(others, kind="stable")
        tasks = []
        for k in order:
            needed = k == order[0]
            tasks.append(delayed(self._train_member)(table, starts[k], limits, needed=needed))
        fits = self._parallel(table, self.settings[0])(tasks)
        return [fit for k in np.argsort(order) if (fit := fits[k]) is not None]

    @blas_limited
    def _train_member(
        self, table: Table, start: MemberStart, limits: Array, *, needed: bool
    ) -> FitState | None:
        """Learn the bandwidths of one member; None if the fit has to stop first."""
        if self.deadline.stopped and not needed and start.member is None:
            return None
        split, held_out, loss, layered = start.split, None, None, None
        if split.held_out is not None:
            held_out = table.sample(split.held_out, start.warp)
            loss = self.loss(table, split.held_out)
        training = BandwidthTraining(start, held_out, loss, self.device, self.deadline, self.lock)
        # A product in float32 may flag an invalid operation although its result is finite; the
        # solver takes a step only if the objective there is finite.
        with np.errstate(invalid="ignore"):
            if start.settings.support == "residual" and start.member is None:
                start = training.grow()
            objective, mean = build_objective(start, start.rows, self.device), start.rows.mean
            stage = training.follow_path(objective)
            if self.layer is not None and held_out is not None:
                F = self.device.numpy(_features(objective, start.rows.X, stage.log_squares))
                others = self.device.numpy(_features(objective, held_out.X, stage.log_squares))
                layered = self.layer(F, start.rows, others)
            if held_out is not None and not training.stopped:
                # The last stage takes all rows, with half as many steps (rounded up).
                everything = table.sample(split.everything, start.warp)
                objective, mean = build_objective(start, everything, self.device), everything.mean
                half = -(-start.settings.max_iter // 2)
                point = stage.log_squares, stage.level
                s, level = training.minimise(objective, stage.shrinkage, point, half)
                stage = stage._replace(log_squares=s, level=level)
        member = _build_member(start, stage, table)
        member.limits_, member.objective_history_ = limits, np.array(training.history, dtype=float)
        if isinstance(objective, Interpolation):
            c, (middle, half_range) = objective.coefficients(stage.log_squares), table.scale
            # Targets on [-1, 1] are (y - middle) / half.
            member.set_coefficients(c * half_range, middle + half_range * mean)
        return FitState(member, split, stage.predicted, layered)

    def probe(self, table: Table, scale: str) -> float:
        """Compute the held-out loss of small expansions on few rows, their geometric mean."""
        key = table.log_target, scale
        if key not in self.probed:
            settings = replace(
                self.settings[0],
                objective="ridge",
                support="kmeans++",
                n_support=min(self.settings[0].n_support, 100),
                linear=True,
                max_iter=min(self.settings[0].max_iter, 15),
                shrinkages=(3e-2,),
            )
            warp = Warp.learn(table.X, scale)
            losses = self._parallel(table, settings)(
                delayed(self._probe_once)(table, settings, warp, int(seed))
                for seed in self.seeds[-PROBES:]
            )
            self.probed[key] = float(np.exp(np.mean(np.log(losses))))
        return self.probed[key]

    @blas_limited
    def _probe_once(self, table: Table, settings: MemberSettings, warp: Warp, seed: int) -> float:
        """Compute the held-out loss of one small expansion."""
        if self.deadline.stopped:
            return math.inf
        start = self._choose_start(table, settings, warp, seed, PROBE_ROWS)
        rows = start.split.held_out
        assert rows is not None
        held_out, loss = table.sample(rows, warp), self.loss(table, rows)
        training = BandwidthTraining(start, held_out, loss, self.device, self.deadline, self.lock)
        with np.errstate(invalid="ignore"):
            stage = training.follow_path(build_objective(start, start.rows, self.device))
        return max(stage.loss, TINY)

    def _parallel(self, table: Table, settings: MemberSettings) -> Parallel:
        """Build the executor of tasks: several threads, or one for small tasks."""
        worth_it = min(len(table), BANDWIDTH_ROWS) * settings.n_support >= WORTH_THREADS
        return Parallel(n_jobs=threads_for(self.n_jobs, worth_it=worth_it), require="sharedmem")

    def _split(self, n: int, rng: RandomState) -> Split:
        """Split n rows at random."""
        order, share = rng.permutation(n), self.validation_fraction
        everything = order[:BANDWIDTH_ROWS].copy()  # not a view, which would keep all n
        if share == 0:
            return Split(everything, None, everything)
        held_out = min(max(1, int(share * n)), HELD_OUT_ROWS, n - 1)
        train = order[held_out:][:BANDWIDTH_ROWS].copy()
        return Split(train, order[:held_out].copy(), everything)


@dataclass(eq=False)
class BandwidthTraining:
    """Minimises the objective of one member, with a history of its values."""

    start: MemberStart
    held_out: Table | None  # with features mapped and targets scaled
    loss: Callable[[Array], float] | None  # of predictions of the held-out rows
    device: Device
    deadline: Deadline
    lock: threading.Lock  # of the deadline, shared with members in other threads
    history: list[float] = field(default_factory=list)
    stopped: bool = False

    def follow_path(self, objective: RowObjective) -> Stage:
        """Lower the shrinkage penalty from stage to stage while the held-out loss falls."""
        point = self.start.log_squares, self.start.level
        shrinkage, n_steps = self.start.first
        if n_steps:
            point = self.minimise(objective, shrinkage, point, n_steps)
        best = self.validate(objective, point, shrinkage)
        for shrinkage in self.start.shrinkages:
            if self.stopped:
                break
            point = self.minimise(objective, shrinkage, point, self.start.settings.max_iter)
            stage = self.validate(objective, point, shrinkage)
            if stage.loss >= best.loss:
                break
            best = stage  # also where losses are nan
        return best

    def minimise(
        self, objective: RowObjective, shrinkage: float, start: Point, max_iter: int
    ) -> Point:
        """Run the solver; a shrinkage of inf means one bandwidth for each feature."""
        if self.stopped:
            return start
        settings = self.start.settings
        problem = Bandwidths(objective, shrinkage, settings.objective == "evidence")
        x = problem.pack(*start)
        if settings.solver == "lbfgs" or problem.shared:
            result = solvers.descend(
                problem, x, tol=1e-4, max_iter=max_iter, callback=self._record
            )  # smaller relative gains do not pay on held-out rows
        else:
            result = solvers.adam(
                problem,
                x,
                n_rows=len(objective.rows),
                rng=self.start.rng,
                rate=settings.learning_rate,
                max_iter=max_iter,
                callback=self._record,
            )
        return problem.unpack(result.x)

    def _record(self, progress: Progress) -> bool:
        """Keep the objective; return True if the fit has to stop."""
        self.history.append(progress.objective)
        with self.lock:
            self.stopped = self.stopped or self.deadline(progress)
        return self.stopped

    def validate(self, objective: RowObjective, point: Point, shrinkage: float) -> Stage:
        """Choose the ridge penalty on the validation rows."""
        (s, level), settings = point, self.start.settings
        fixed = settings.objective == "interpolation"
        alphas = np.array([settings.alpha]) if fixed else settings.alphas
        if self.held_out is None or self.loss is None:
            return Stage(s, level, alphas[0], shrinkage)
        F, mean = _features(objective, self.held_out.X, s), self.start.rows.mean
        predictions, losses = [], []
        for a in _coefficients(objective, s, alphas):
            predictions.append(mean + self.device.numpy(F @ self.device.array(a)))
            losses.append(self.loss(predictions[-1]))
        best = int(np.argmin(losses))
        return Stage(s, level, alphas[best], shrinkage, losses[best], predictions[best])

    def grow(self) -> MemberStart:
        """Add the rows with the largest residuals to the centres (He et al., Algorithm 1)."""
        settings, X = self.start.settings, self.start.rows.X
        most = min(settings.n_support, len(np.unique(X, axis=0)))
        n_rounds = 5
        more = max(1, -(-(most - len(self.start.places)) // n_rounds))  # rounded up
        while len(self.start.places) < most:
            start = self.start
            objective = build_objective(start, start.rows, self.device)
            point, steps = (start.log_squares, start.level), max(1, settings.max_iter // n_rounds)
            s, level = self.minimise(objective, settings.shrinkages[-1], point, steps)
            added = self._worst_rows(objective, s, min(more, most - len(start.places)))
            places = np.concatenate([start.places, added])
            s = np.vstack([s, np.tile(s.mean(axis=0), (len(added), 1))])
            self.start = start._replace(
                places=places, centres=X[places], log_squares=s, level=level
            )
        return self.start

    def _worst_rows(self, objective: RowObjective, s: Array, count: int) -> Indices:
        """Find the rows with the largest errors, each at a point that is not yet a centre."""
        X, chosen, rows = self.start.rows.X, self.start.places, objective.rows
        alpha = np.array([self.start.settings.alpha])
        a = self.device.array(_coefficients(objective, s, alpha)[0])
        errors = self.device.numpy(rows.at(s).features @ a - rows.target)
        order = np.argsort(-(errors**2).sum(axis=1), kind="stable")
        order = order[~np.isin(order, chosen)]
        _, places = np.unique(np.vstack([X[chosen], X[order]]), axis=0, return_index=True)
        new = np.sort(places[places >= len(chosen)]) - len(chosen)
        return np.asarray(order[new[:count]])


def build_objective(start: MemberStart, sample: Table, device: Device) -> RowObjective:
    """Build the objective of a member on a sample of rows."""
    settings, mean = start.settings, sample.mean
    profile = PROFILES[settings.profile]
    features = LocalFeatures(start.centres, profile, settings.linear, device)
    rows = LocalRows.of(features, sample.X, sample.Y - mean, sample.weights)
    y = device.numpy(rows.target)
    scale = max(float(np.vdot(y, y)) / len(rows), TINY)  # v, the mean square of y
    if settings.objective == "evidence":
        return MarginalLikelihood(rows, scale)
    if settings.objective == "interpolation":
        targets = start.rows.Y[start.places] - mean
        return Interpolation(rows, targets, settings.alpha, scale)
    return Ridge(rows, settings.alpha, scale)


def _features(objective: RowObjective, X: Array, log_squares: Array) -> Array:
    """Evaluate the features of points, on the device, not weighted."""
    local = objective.rows.features
    return local.at(local.moments(X), log_squares).features


def _coefficients(objective: RowObjective, s: Array, alphas: Array) -> Array:
    """Compute the coefficients for each ridge penalty, shape (len(alphas), p, q)."""
    if isinstance(objective, Interpolation):
        return objective.coefficients(s)[None]
    rows = objective.rows
    gram, right, _ = rows.normal_equations(rows.at(s).features, float(alphas.min()))
    return ridge_path(gram, right, alphas)


def _choose_centres(rows: Table, support: str, count: int, rng: RandomState) -> Indices:
    """Choose the places of different support points: far apart, or at random."""
    different = np.sort(np.unique(rows.X, axis=0, return_index=True)[1])
    X, Y, count = rows.X[different], rows.Y[different], min(count, len(different))
    if support != "kmeans++":
        return np.asarray(different[np.sort(rng.choice(len(X), count, replace=False))])
    # k-means++ in [X, sqrt(d / q) Y]: each point is drawn by its squared distance to the points
    # drawn before. scikit-learn's, with several trials, takes ten times as long.
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
    return np.asarray(different[np.unique(drawn)])


def _build_member(start: MemberStart, stage: Stage, table: Table) -> LABRBFMember:
    """Build the member with learned bandwidths of its centres, without coefficients."""
    member, settings, warp = LABRBFMember(), start.settings, start.warp
    if start.member is not None:
        member.support_, points = start.member.support_, start.member.kernel_.centres
    else:
        rows = start.split.train[start.places]
        member.support_, points = table.numbers[rows], table.points(rows)
    theta = np.exp(stage.log_squares / 2)
    if warp.affine:  # u = (x - centre) o slope: theta in the inverse units of x
        member.kernel_ = LocalRBFKernel(points, theta * warp.slopes, settings.profile)
    else:
        member.kernel_ = LocalRBFKernel(points, theta, settings.profile, warp)
    member.warp_, member.linear_, member.objective_ = warp, settings.linear, settings.objective
    member.alpha_, member.shrinkage_ = float(stage.alpha), float(stage.shrinkage)
    member.level_ = float(stage.level)
    member.validation_score_ = float(1.0 - stage.loss)
    return member
