"""Training of the members of a LAB-RBF model.

`Trainer.choose_starts` selects the rows, centres and initial bandwidths of each member;
`Trainer.continue_members` uses the centres and bandwidths of a previous fit. `Trainer.train` then
learns one bandwidth per feature. The first members, the leaders, start from initial values; the
others start from the bandwidths of the leader with the lowest loss on their held-out rows. Stages
with a shrinkage penalty give each centre bandwidths of its own, while that lowers the loss.
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
from pliant.core.parameters import check_random_state
from pliant.core.progress import Deadline, Progress
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf import constants, solvers
from pliant.methods.lab_rbf.algorithm import LABRBFAlgorithm
from pliant.methods.lab_rbf.kernel import (
    PROFILES,
    WARPS,
    LocalRBFKernel,
    Warp,
    centre_products,
    point_products,
)
from pliant.methods.lab_rbf.members import FitState, LearnedBasis, Metrics, Split, Terms
from pliant.methods.lab_rbf.objective import (
    BandwidthProblem,
    LocalFeatures,
    LocalRows,
    MarginalLikelihood,
    Ridge,
    RowObjective,
    dual_ridge_path,
    ridge_path,
)
from pliant.methods.lab_rbf.table import Table, feature_limits

Loss: TypeAlias = Callable[[Table, Indices], Callable[[Array], float]]
"""Build the loss of scaled predictions at given rows, about 1 for a constant prediction."""

Layer: TypeAlias = Callable[[Array, Table, Array, Table], Array | None]
"""Fit coefficients to features and rows; return predictions of held-out rows, or None."""

Point: TypeAlias = tuple[Array, float]
"""log theta^2 of all centres, shape (m, d), and log of the ridge penalty."""


@dataclass(frozen=True, eq=False)
class MemberSettings:
    """Settings of one member, with all automatic parameters resolved."""

    algorithm: LABRBFAlgorithm  # for the initial bandwidth and the solver
    n_support: int  # centres with learned bandwidths
    n_grown: int  # centres after growth, see `_grow`
    objective: Literal["ridge", "evidence"]
    linear: bool
    alpha: float  # ridge penalty for learning the bandwidths
    alphas: Array  # candidate ridge penalties on the coefficients
    shrinkages: tuple[float, ...]  # of the local stages; inf means one bandwidth per feature
    profile: str  # key of `PROFILES`
    max_iter: int
    tolerance: float  # smallest relative decrease by a step that continues a stage
    learns_shared: bool  # True if the first stage learns one bandwidth per feature


def draw_seeds(random_state: int | RandomState | None, n_members: int) -> Indices:
    """Draw one seed per member."""
    rng = check_random_state(random_state)
    return rng.randint(2**31 - 1, size=n_members).astype(np.intp)


def resolve_support(
    n_support: int | Literal["auto"], n_rows: int, most: int = constants.MAX_SUPPORT
) -> int:
    """Return the number of support points with learned bandwidths; "auto" is at most `most`."""
    return max(1, min(most, n_rows // 3)) if n_support == "auto" else int(n_support)


class MemberStart(NamedTuple):
    """Rows, centres and initial bandwidths of a member."""

    settings: MemberSettings
    split: Split
    rng: RandomState  # draws the split and the centres
    warp: Warp
    rows: Table  # training rows, with transformed features and scaled targets
    positions: Indices  # positions of the centres among the training rows; empty in a warm start
    centres: Array  # transformed, shape (m, d)
    initial: tuple[Array, ...]  # alternative values of log theta^2, shape (m, d); none: a follower
    log_penalty: float  # log of the ridge penalty for learning the bandwidths
    first_stage: tuple[float, int]  # shrinkage and number of steps of the first stage
    shrinkages: tuple[float, ...]  # shrinkage penalties of the local stages
    member: LearnedBasis | None = None  # member to continue in a warm start

    def following(self, metrics: Sequence[Array]) -> MemberStart:
        """Return the start from one of several log theta^2, each of shape (d,), with few steps."""
        initial = tuple(np.tile(s, (len(self.centres), 1)) for s in metrics)
        steps = -(-self.settings.max_iter // 4)  # rounded up
        return self._replace(initial=initial, first_stage=(math.inf, steps))


class Stage(NamedTuple):
    """Bandwidths, with the selected ridge penalty and the held-out loss."""

    log_squares: Array
    log_penalty: float  # log of the ridge penalty for learning the bandwidths
    alpha: float
    shrinkage: float
    loss: float = math.nan
    predicted: Array | None = None  # held-out predictions, shape (n_held_out, q)


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains the members of one model."""

    settings: list[MemberSettings]  # one per member
    seeds: Indices  # one per member
    device: Device
    deadline: Deadline
    loss: Loss
    layer: Layer | None  # fits the coefficients; None for a ridge fit
    validation_fraction: float
    tries_scales: bool  # True to try scales of features and target on held-out rows
    n_jobs: int | None
    classes: Indices | None = None  # class of each row; a row of each class is not held out
    probe_losses: dict[tuple[bool, str], float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)  # protects the deadline

    def choose_scales(self, table: Table) -> list[str]:
        """Return the feature scales with a held-out loss near the lowest, ordered by loss.

        With more than `constants.MEMBER_ROWS` rows, return all scales if each has a member: members
        that differ in scale are more accurate together, and those with a high loss do not
        contribute.
        """
        scales = ["raw"]
        for scale in WARPS[1:] if self.tries_scales else ():
            if not Warp.learn(table.X, scale).affine:
                scales.append(scale)  # noqa: PERF401
        many = len(table) > constants.MEMBER_ROWS
        if len(scales) == 1 or (many and len(scales) <= len(self.settings)):
            return scales
        losses = {scale: self.probe(table, scale) for scale in scales}
        limit = constants.SCALE_TOLERANCE * min(losses.values())
        return sorted((s for s in losses if losses[s] <= limit), key=lambda s: losses[s])

    def choose_starts(
        self, table: Table, warps: list[Warp], n_continued: int = 0
    ) -> list[MemberStart]:
        """Choose rows, centres and initial bandwidths of members after the first `n_continued`.

        Each leader has one initial value, if there are at least `constants.LEADERS` members.
        """
        from sklearn.ensemble import ExtraTreesRegressor

        if n_continued == len(self.settings):
            return []
        d, tasks = table.X.shape[1], []
        proportions = [np.full(d, 1.0 / d)]
        if self.validation_fraction > 0 and self.settings[0].learns_shared:
            # The second initial value uses the importances of the features for randomised trees.
            rows = RandomState(0).permutation(len(table))[: constants.SCREENING_ROWS]
            sample = table.sample(rows, warps[0])
            trees = ExtraTreesRegressor(
                40, min_samples_leaf=3, max_features=min(d, 500), random_state=0
            )
            # float32 hides the rounding errors of scaled targets, which could change a split.
            Y = sample.Y.astype(np.float32)
            trees.fit(sample.X, Y[:, 0] if Y.shape[1] == 1 else Y, sample.weights)
            # The importances are NaN if no split of any tree reduces the error.
            proportions.append(np.fmax(trees.feature_importances_, 1e-3 / d))
        for k in range(n_continued, len(self.settings)):
            # The shift by k // len(warps) combines each warp with both objectives.
            warp, settings = warps[(k + k // len(warps)) % len(warps)], self.settings[k]
            shares = proportions
            if settings.learns_shared and k >= n_continued + constants.LEADERS:
                shares = []  # the member follows a leader
            elif len(self.settings) >= constants.LEADERS:
                # The shift by k // 2 combines each initial value with both objectives.
                shares = [proportions[k // 2 % len(proportions)]]
            split, begin = self._split(len(table), k), delayed(self._choose_start)
            tasks.append(begin(table, settings, warp, split, self.seeds[k], shares))
        return list(self._parallel(table, self.settings[0])(tasks))

    @blas_limited
    def _choose_start(
        self,
        table: Table,
        settings: MemberSettings,
        warp: Warp,
        split: Split,
        seed: int,
        proportions: list[Array],
    ) -> MemberStart:
        """Choose centres and initial bandwidths of one member.

        Each array of `proportions`, shape (d,), gives one initial value: theta_j^2 is proportional
        to its j-th entry.
        """
        rng, rows = RandomState(seed), table.sample(split.train, warp)
        positions = _choose_centres(rows, settings.n_support, rng)
        centres = rows.X[positions]
        log_penalty = math.log(settings.alpha)
        # The first stage takes 2/3 of max_iter steps (rounded up).
        stage = math.inf, -(-2 * settings.max_iter // 3) if settings.learns_shared else 0
        start = MemberStart(
            settings, split, rng, warp, rows, positions, centres, (), log_penalty, stage,
            settings.shrinkages,
        )  # fmt: skip
        if settings.algorithm.initial_bandwidth != "auto":
            s = np.full(centres.shape, 2.0 * math.log(settings.algorithm.initial_bandwidth))
            return start._replace(initial=(s.clip(*constants.LOG_SQUARE_RANGE),))
        objective = build_objective(start, rows, self.device)
        return start._replace(initial=_initial_squares(objective, log_penalty, proportions))

    def continue_members(self, table: Table, members: Sequence[LearnedBasis]) -> list[MemberStart]:
        """Continue the members of a previous fit on new rows; initialise additional members."""
        starts = []
        for k, (member, settings) in enumerate(zip(members, self.settings, strict=False)):
            rng, warp, split = RandomState(self.seeds[k]), member.warp_, self._split(len(table), k)
            assert member.objective_ in ("ridge", "evidence")  # dense members are learned anew
            objective, linear, profile = member.objective_, member.linear_, member.kernel_.profile
            settings = replace(settings, objective=objective, linear=linear, profile=profile)
            s = 2.0 * np.log(member.mapped_bandwidths()[: member.n_learned_])  # log 0 for constants
            s = s.clip(*constants.LOG_SQUARE_RANGE)
            centres = warp(member.kernel_.centres[: member.n_learned_])
            rows = table.sample(split.train, warp)
            positions, stage = np.zeros(0, dtype=np.intp), (member.shrinkage_, settings.max_iter)
            start = MemberStart(
                settings, split, rng, warp, rows, positions, centres, (s,), member.log_penalty_,
                stage, shrinkages=(), member=member,
            )  # fmt: skip
            starts.append(start)
        warps = list({member.warp_.key(): member.warp_ for member in members}.values())
        return starts + self.choose_starts(table, warps, n_continued=len(members))

    def train(self, table: Table, starts: list[MemberStart]) -> list[FitState]:
        """Learn the bandwidths of all members, or of at least one if the fit is stopped."""
        limits, parallel = feature_limits(table), self._parallel(table, self.settings[0])
        trainings = self._begin(table, [start for start in starts if start.initial], parallel)
        lowest = min((training.stage for training in trainings), key=lambda stage: stage.loss)
        if not self.deadline.stopped:
            # The bandwidths of members that continue a previous fit differ between centres.
            metrics = [training.stage.log_squares.mean(axis=0) for training in trainings]
            followers = [start.following(metrics) for start in starts if not start.initial]
            trainings += self._begin(table, followers, parallel)
        finish = delayed(self._finish_training)
        choosing = constants.CHOOSING_MEMBERS
        if self.many_classes:
            choosing = constants.FEW_CHOOSING_MEMBERS
        layers = [self.layer] * choosing + [None] * len(trainings)
        pairs = zip(trainings, layers, strict=False)
        return list(parallel([finish(table, each, lowest, limits, layer) for each, layer in pairs]))

    def _begin(
        self, table: Table, starts: list[MemberStart], parallel: Parallel
    ) -> list[BandwidthTraining]:
        """Learn the first stages of members; of at least one, if the fit is stopped."""
        # Members with the evidence objective take longest and start first, to balance the threads.
        faster = np.array([start.settings.objective != "evidence" for start in starts])
        order, begin = np.argsort(faster, kind="stable"), delayed(self._begin_training)
        begun = parallel([begin(table, starts[k], required=k == order[0]) for k in order])
        return [begun[k] for k in np.argsort(order) if begun[k] is not None]

    @blas_limited
    def _begin_training(
        self, table: Table, start: MemberStart, *, required: bool
    ) -> BandwidthTraining | None:
        """Learn the first stage; None if the fit is stopped, unless `required` or continued."""
        if self.deadline.stopped and not required and start.member is None:
            return None
        training = self._build_training(table, start)
        training.learn_first_stage()
        return training

    @blas_limited
    def _finish_training(
        self,
        table: Table,
        training: BandwidthTraining,
        lowest: Stage,
        limits: Array,
        layer: Layer | None,
    ) -> FitState:
        """Learn local bandwidths, and then on all rows in the last stage."""
        start, layer_output, metrics = training.start, None, None
        split, held_out = start.split, training.held_out
        stage = training.learn_local(lowest)
        objective = training.objective
        if held_out is not None:
            n_rows = constants.GRADIENT_ROWS
            if self.many_classes:
                n_rows = constants.FEW_GRADIENT_ROWS
            metrics = _learn_metrics(start, stage, objective, n_rows)
        if layer is not None and held_out is not None:
            F = self.device.numpy(_features(objective, start.rows.X, stage.log_squares))
            held_out_F = self.device.numpy(_features(objective, held_out.X, stage.log_squares))
            layer_output = layer(F, start.rows, held_out_F, held_out)
        if held_out is not None and not training.stopped:
            # The last stage uses all rows, and a quarter of the steps (rounded up).
            final = table.sample(split.final, start.warp)
            objective = build_objective(start, final, self.device)
            n_steps = -(-start.settings.max_iter // 4)
            point = stage.log_squares, stage.log_penalty
            s, log_penalty = training.minimise(objective, stage.shrinkage, point, n_steps)
            stage = stage._replace(log_squares=s, log_penalty=log_penalty)
        history = np.array(training.history, dtype=float)
        basis = _build_basis(start, stage, table, limits, history)
        comparable = held_out is None or bool(np.ptp(held_out.Y, axis=0).any())
        return FitState(basis, split, stage.predicted, layer_output, metrics, comparable)

    @property
    def many_classes(self) -> bool:
        """True if the targets are the signs of many classes."""
        return self.classes is not None and int(self.classes.max()) >= constants.MANY_CLASSES

    def probe(self, table: Table, scale: str) -> float:
        """Compute the geometric mean held-out loss over small expansions on few rows."""
        key = table.unit is not None, scale
        if key not in self.probe_losses:
            settings = replace(
                self.settings[0],
                objective="ridge",
                n_support=min(self.settings[0].n_support, 100),
                linear=True,
                max_iter=min(self.settings[0].max_iter, constants.PROBE_STEPS),
            )
            warp = Warp.learn(table.X, scale)
            probe = delayed(self._probe_once)
            tasks = [probe(table, settings, warp, k) for k in range(constants.PROBES)]
            losses = self._parallel(table, settings)(tasks)
            self.probe_losses[key] = float(np.exp(np.mean(np.log(losses))))
        return self.probe_losses[key]

    @blas_limited
    def _probe_once(self, table: Table, settings: MemberSettings, warp: Warp, k: int) -> float:
        """Compute the held-out loss of one small expansion; `random_state` has no effect on it."""
        if self.deadline.stopped:
            return math.inf
        split = self._split(len(table), k, np.arange(constants.PROBES + 1))
        split = split._replace(train=split.train[: constants.SCREENING_ROWS])
        equal = [np.full(table.X.shape[1], 1.0 / table.X.shape[1])]
        training = self._build_training(
            table, self._choose_start(table, settings, warp, split, k, equal)
        )
        training.learn_first_stage()
        return max(training.stage.loss, constants.TINY)

    def _build_training(self, table: Table, start: MemberStart) -> BandwidthTraining:
        """Set up the training of a member, with its held-out rows and loss."""
        rows, held_out, loss = start.split.held_out, None, None
        if rows is not None:
            held_out, loss = table.sample(rows, start.warp), self.loss(table, rows)
        objective = build_objective(start, start.rows, self.device)
        return BandwidthTraining(
            start, objective, held_out, loss, self.device, self.deadline, self.lock
        )

    def _parallel(self, table: Table, settings: MemberSettings) -> Parallel:
        """Build a thread pool, with one thread for small tables."""
        n_values = min(len(table), constants.BANDWIDTH_ROWS) * settings.n_support
        worth_it = n_values >= constants.MIN_THREADED
        return Parallel(n_jobs=threads_for(self.n_jobs, worth_it=worth_it), require="sharedmem")

    def _split(self, n: int, k: int, seeds: Indices | None = None) -> Split:
        """Split n rows for the k-th member; copy the parts, as views would keep all indices.

        Consecutive members hold out different parts of one permutation. The last member starts
        another one, so that some rows are held out twice, which the intervals need.
        """
        seeds, fraction = self.seeds if seeds is None else seeds, self.validation_fraction
        if fraction == 0:
            final = RandomState(seeds[k]).permutation(n)[: constants.BANDWIDTH_ROWS].copy()
            return Split(final, None, final)
        part = k % max(1, min(len(seeds) - 1, int(1.0 / fraction)))
        n_held_out = min(max(1, int(fraction * n)), constants.HELD_OUT_ROWS)
        order = np.roll(RandomState(seeds[k - part]).permutation(n), -part * n_held_out)
        codes = np.zeros(n) if self.classes is None else self.classes[order]
        free = np.ones(n, dtype=bool)
        free[n - 1 - np.unique(codes[::-1], return_index=True)[1]] = False  # last of each class
        held_out = free & (np.cumsum(free) <= n_held_out)
        train, final = order[~held_out], order[: constants.BANDWIDTH_ROWS].copy()
        return Split(train[: constants.BANDWIDTH_ROWS].copy(), order[held_out], final)


@dataclass(eq=False)
class BandwidthTraining:
    """Minimises the objective of one member and records its values."""

    start: MemberStart
    objective: RowObjective  # on all training rows
    held_out: Table | None  # with transformed features and scaled targets
    loss: Callable[[Array], float] | None  # held-out loss of predictions
    device: Device
    deadline: Deadline
    lock: threading.Lock  # protects the deadline, which all threads share
    history: list[float] = field(default_factory=list)
    stopped: bool = False
    stage: Stage = field(init=False)  # first stage

    def learn_first_stage(self) -> None:
        """Run the first stage from the initial value with the lowest held-out loss."""
        start, (shrinkage, n_steps) = self.start, self.start.first_stage
        points = [(log_squares, start.log_penalty) for log_squares in start.initial]
        point = points[0]
        if len(points) > 1:
            stages = [self.validate(self.objective, each, shrinkage) for each in points]
            point = points[int(np.argmin([stage.loss for stage in stages]))]
        if n_steps:
            point = self.minimise(self.objective, shrinkage, point, n_steps)
        self.stage = self.validate(self.objective, point, shrinkage)

    def learn_local(self, lowest: Stage) -> Stage:
        """Learn bandwidths for each centre in stages, while they lower the held-out loss.

        If this member's first stage has a much higher loss than the `lowest` of the leaders, this
        starts from the bandwidths of that stage, provided they are better for this member.
        """
        best, start = self.stage, self.start
        continued = start.member is not None or not start.settings.learns_shared
        if not continued and best.loss > constants.SHARED_LOSS * lowest.loss:
            s = np.broadcast_to(lowest.log_squares[0], best.log_squares.shape)
            stage = self.validate(self.objective, (s, start.log_penalty), math.inf)
            best = stage if stage.loss < best.loss else best
        for shrinkage in start.shrinkages:
            if self.stopped:
                break
            point = best.log_squares, best.log_penalty
            point = self.minimise(self.objective, shrinkage, point, start.settings.max_iter)
            stage = self.validate(self.objective, point, shrinkage)
            if stage.loss >= best.loss:
                break
            best = stage  # also if the losses are nan
        return best

    def minimise(
        self, objective: RowObjective, shrinkage: float, start: Point, max_iter: int
    ) -> Point:
        """Run the solver; a shrinkage of inf means one bandwidth per feature."""
        if self.stopped:
            return start
        settings, record = self.start.settings, self._record
        problem = BandwidthProblem(objective, shrinkage, settings.objective == "evidence")
        x = problem.pack(*start)
        tol = settings.tolerance
        result = solvers.descend(problem, x, tol=tol, max_iter=max_iter, callback=record)
        return problem.unpack(result.x)

    def _record(self, progress: Progress) -> bool:
        """Record the objective, and return True if the fit must stop."""
        self.history.append(progress.objective)
        with self.lock:
            self.stopped = self.stopped or self.deadline(progress)
        return self.stopped

    def validate(self, objective: RowObjective, point: Point, shrinkage: float) -> Stage:
        """Choose the ridge penalty on the held-out rows."""
        (s, log_penalty), settings = point, self.start.settings
        alphas = settings.alphas
        if self.held_out is None or self.loss is None:
            return Stage(s, log_penalty, alphas[0], shrinkage)
        F, mean = _features(objective, self.held_out.X, s), self.start.rows.mean
        predictions, losses = [], []
        for a in _coefficients(objective, s, alphas):
            predictions.append(mean + self.device.numpy(F @ self.device.array(a)))
            losses.append(self.loss(predictions[-1]))
        best = int(np.argmin(losses))
        return Stage(s, log_penalty, alphas[best], shrinkage, losses[best], predictions[best])


def _initial_squares(
    objective: RowObjective, log_penalty: float, proportions: list[Array]
) -> tuple[Array, ...]:
    """Choose the multiple of each array with the lowest objective; return log theta^2."""
    m, chosen = len(objective.rows.features.centres), []
    for each in proportions:
        lowest = math.inf, np.zeros((m, len(each)))  # kept if no value is finite
        for square in constants.INITIAL_SQUARES:
            s = np.tile(np.log(square * each).clip(*constants.LOG_SQUARE_RANGE), (m, 1))
            value = objective.value(s, log_penalty)
            if value < lowest[0]:
                lowest = value, s
        chosen.append(lowest[1])
    return tuple(chosen)


def build_objective(start: MemberStart, sample: Table, device: Device) -> RowObjective:
    """Build the objective of a member on the rows of `sample`."""
    settings, mean = start.settings, sample.mean
    profile = PROFILES[settings.profile]
    features = LocalFeatures(start.centres, profile, settings.linear, device)
    rows = LocalRows.from_arrays(features, sample.X, sample.Y - mean, sample.weights)
    y = device.numpy(rows.target)
    scale = max(float(np.vdot(y, y)) / len(rows), constants.TINY)  # v, the mean square of y
    if settings.objective == "evidence":
        return MarginalLikelihood(rows, scale)
    return Ridge(rows, settings.alpha, scale)


def _features(objective: RowObjective, X: Array, log_squares: Array) -> Array:
    """Compute the unweighted features of points on the device."""
    local = objective.rows.features
    return local.evaluate(local.moments(X), log_squares).features


def _coefficients(objective: RowObjective, s: Array, alphas: Array) -> Array:
    """Compute the coefficients for each ridge penalty, shape (len(alphas), p, q)."""
    rows, device = objective.rows, objective.rows.features.device
    F = rows.evaluate(s).features
    if len(F) < F.shape[1]:
        F, y = device.double(F), device.double(rows.target)
        return dual_ridge_path(device.numpy(F), device.numpy(y), alphas)
    gram, right, _ = rows.normal_equations(F, float(alphas.min()))
    return ridge_path(gram, right, alphas)


def _learn_metrics(
    start: MemberStart, stage: Stage, objective: RowObjective, n_rows: int
) -> Metrics:
    """Compute the metrics of the fit to the training rows, for the dense members.

    One is the median over the centres of theta^2. The other is the mean over points of the outer
    product of the gradient of f (Trivedi, Wang, Kpotufe and Shakhnarovich 2014), with its trace. If
    there are more features than gradients, it is singular, and the first one takes its place; also
    with more than 1000 features, for which it takes long.
    """
    s, C = stage.log_squares, start.centres
    squares = np.exp(np.median(s, axis=0))
    metric = np.sqrt(squares)
    a = _coefficients(objective, s, np.array([stage.alpha]))[0]
    c, v = a[: len(C)], a[len(C) :] if start.settings.linear else np.zeros((C.shape[1], a.shape[1]))
    W, u = np.exp(s), start.rows.X[:n_rows]
    if u.shape[1] > min(len(u) * a.shape[1], 1000):
        return Metrics(metric, metric)
    profile = PROFILES[start.settings.profile]
    D = np.maximum(point_products(u) @ centre_products(W, C).T, 0.0)
    K = profile.value(np, D.copy())
    terms = Terms(u, u, W, W * C, W, D, K, profile.factor * profile.slope(np, D, K))
    gradients = (terms.gradient(*column) for column in zip(c.T, v.T, strict=True))
    outer = np.asarray(sum(g.T @ g for g in gradients))
    trace = float(np.trace(outer))
    if not 0.0 < trace < np.inf:  # f is constant
        return Metrics(metric, metric)
    values, vectors = np.linalg.eigh(outer * (squares.sum() / trace))
    return Metrics(metric, vectors * np.sqrt(np.maximum(values, 0.0)))


def distinct_rows(X: Array) -> Indices:
    """Return the positions of the first of each set of equal points, in order."""
    return np.asarray(np.sort(np.unique(X, axis=0, return_index=True)[1]))


def _choose_centres(rows: Table, count: int, rng: RandomState) -> Indices:
    """Choose the positions of distinct support points by k-means++."""
    distinct = distinct_rows(rows.X)
    X, Y, count = rows.X[distinct], rows.Y[distinct], min(count, len(distinct))
    # k-means++ on [X, sqrt(d / q) Y]: probabilities are proportional to the squared distance to
    # the nearest drawn point. scikit-learn's version, with several trials, is ten times slower.
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
        index = int(np.searchsorted(cumulated, uniform * cumulated[-1], side="right"))
        drawn.append(min(index, len(points) - 1))
    return np.asarray(distinct[np.unique(drawn)])


def _build_basis(
    start: MemberStart, stage: Stage, table: Table, limits: Array, history: Array
) -> LearnedBasis:
    """Build the basis of a member with learned bandwidths."""
    warp, old = start.warp, start.member
    if old is not None:
        learned = slice(old.n_learned_)
        support, points = old.support_[learned], old.kernel_.centres[learned]
    else:
        rows = start.split.train[start.positions]
        support, points = table.numbers[rows], table.points(rows)
    kernel = build_kernel(points, stage.log_squares, start.settings.profile, warp)
    n_learned = len(points)
    if start.settings.n_grown > start.settings.n_support:
        kernel, support = _grow(kernel, support, table, start)
    return LearnedBasis(
        kernel_=kernel,
        warp_=warp,
        limits_=limits,
        linear_=start.settings.linear,
        support_=support,
        n_learned_=n_learned,
        objective_=start.settings.objective,
        alpha_=float(stage.alpha),
        shrinkage_=float(stage.shrinkage),
        log_penalty_=float(stage.log_penalty),
        validation_score_=float(1.0 - stage.loss),
        objective_history_=history,
    )


def build_kernel(points: Array, log_squares: Array, profile: str, warp: Warp) -> LocalRBFKernel:
    """Build the kernel of centres in the units of the features, from log theta^2."""
    theta = np.exp(log_squares / 2)
    if warp.affine:  # u = (x - centre) o slope: theta in the inverse units of x
        return LocalRBFKernel(points, theta * warp.slopes, profile)
    return LocalRBFKernel(points, theta, profile, warp)


def _grow(
    kernel: LocalRBFKernel, support: Indices, table: Table, start: MemberStart
) -> tuple[LocalRBFKernel, Indices]:
    """Add random rows as centres, with the bandwidths of the nearest centre in its own metric."""
    m, n_grown = len(support), start.settings.n_grown
    drawn = start.rng.choice(len(table), min(n_grown, len(table)), replace=False)
    points = np.vstack([kernel.centres, table.points(drawn)])
    distinct = np.sort(np.unique(points, axis=0, return_index=True)[1])
    new = distinct[distinct >= m][: max(0, n_grown - m)]
    nearest = kernel.squares(points[new]).argmin(axis=1)
    theta = np.vstack([kernel.bandwidths, kernel.bandwidths[nearest]])
    centres = np.vstack([kernel.centres, points[new]])
    kernel = LocalRBFKernel(centres, theta, kernel.profile, kernel.warp)
    return kernel, np.concatenate([support, table.numbers[drawn[new - m]]])
