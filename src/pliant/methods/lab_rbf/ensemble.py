"""The members of a LAB-RBF model, and how they are trained."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from sklearn.base import BaseEstimator

from pliant.core.blocks import BLOCK_ENTRIES
from pliant.core.progress import Deadline
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_real
from pliant.methods.lab_rbf.kernel import PROFILES, WARPS, LocalRBFKernel, Warp
from pliant.methods.lab_rbf.objective import ridge_path
from pliant.methods.lab_rbf.rows import Device, Table
from pliant.methods.lab_rbf.trainer import Begun, Layer, Learned, Recipe, Trainer

TINY = float(np.finfo(np.float64).tiny)

MARGIN = 0.125
"""Share of a feature's range, on both sides of it, that predictions distinguish."""

WORTH_THREADS = 200_000
"""Number of kernel values, one matrix of them, from which on threads save time."""

PREDICTED = 8192
"""Number of points that a thread predicts at a time."""

SLOPE_ROWS = 1000
"""Rows that slopes are averaged over."""

MOST_HELD_OUT = 10_000
"""Maximum number of rows that a member holds out."""

PROBES, PROBE_ROWS, PROBE_SUPPORT = 3, 1500, 150
"""Number of small expansions that a scale is tried on, and their rows and support points."""

PROBE_STEPS, PROBE_SHRINKAGES = 15, (1e-1, 1e-2)
"""Maximum number of steps of each stage of these expansions, and their shrinkage penalties."""

COMPARABLE = 1.1
"""Scales of features whose loss is within this factor of the lowest one are all used."""

Loss = Callable[[Table, Indices], Callable[[Array], float]]
"""(table, rows) -> the loss of scaled predictions of these rows."""


class Terms(NamedTuple):
    """What an expansion at n points is computed from, for mapped features.

    Attributes
    ----------
    points, centres : arrays of shape (n, d) and (m, d)
        The mapped points u and centres c_i.
    squares : array of shape (m, d)
        W, the squares of the bandwidths.
    distances, kernel, slopes : arrays of shape (n, m)
        D, h(D) and h'(D).
    """

    points: Array
    centres: Array
    squares: Array
    distances: Array
    kernel: Array
    slopes: Array

    def gradient(self, c: Array, v: Array) -> Array:
        """Return df/du of one output with the coefficients c and v, shape (n, d)."""
        # df/du = sum_i c_i h'(D_i) 2 W_i o (u - c_i) + v, for all points by two products.
        weighted = self.slopes * c
        pull = self.points * (weighted @ self.squares) - weighted @ (self.squares * self.centres)
        return np.asarray(2.0 * pull + v)


class LABRBFMember(BaseEstimator):
    """One LAB-RBF expansion f(t) = K(t, C) c + u(t)'v + b, as `LABRBFRegressor` learns several.

    Attributes
    ----------
    kernel_ : LocalRBFKernel
        k(t, c_i) = h(|theta_i o (u(t) - u(c_i))|^2).
    support_ : array of shape (n_support,)
        Indices of the centres in the training data.
    dual_coef_ : array of shape (n_support, n_outputs)
        c.
    coef_ : array of shape (n_features, n_outputs)
        v, of the mapped features; zeros without a linear part.
    intercept_ : array of shape (n_outputs,)
        b.
    warp_ : Warp
        u, the map of the features to [-1, 1].
    limits_ : array of shape (2, n_features)
        Lowest and highest values of the features that f distinguishes: points beyond are taken to
        be at these.
    linear_ : bool
        Whether there is a linear part.
    objective_ : str
        The objective that the bandwidths minimise.
    alpha_, shrinkage_ : float
        Ridge and shrinkage penalties chosen on the held-out samples; a shrinkage of inf means one
        bandwidth for each feature.
    level_ : float
        The logarithm of the ridge penalty that bandwidths ended with; learned by the evidence.
    validation_score_ : float
        1 - the loss on this member's held-out samples, relative to that of a constant.
    objective_history_ : array of shape (n_iter_,)
        The objective after each step, one stage after the other.
    slopes_, support_slopes_ : arrays of shape (n_features,) and (n_support, n_features)
        Mean squared slopes of f, and of each term of it.
    deviations_ : array of shape (n_features,)
        The standard deviations of the mapped features.
    """

    kernel_: LocalRBFKernel
    support_: Indices
    dual_coef_: Array
    coef_: Array
    intercept_: Array

    @classmethod
    def of(
        cls,
        learned: Learned,
        recipe: Recipe,
        warp: Warp,
        rows: Indices,
        points: Array,
        limits: Array,
    ) -> Self:
        """Return the member with learned bandwidths; its coefficients are still to come.

        `rows` are the row numbers of the support points, `points` the support points themselves,
        and `limits` those of the features.
        """
        member, stage = cls(), learned.stage
        theta = np.exp(stage.log_squares / 2)
        if warp.affine:
            member.kernel_ = LocalRBFKernel(points, theta * warp.slopes, recipe.profile)
        else:
            member.kernel_ = LocalRBFKernel(points, theta, recipe.profile, warp)
        member.support_, member.warp_, member.limits_ = rows, warp, limits
        member.linear_, member.objective_ = recipe.linear, recipe.objective
        member.alpha_, member.shrinkage_ = float(stage.alpha), float(stage.shrinkage)
        member.level_ = float(stage.level)
        member.validation_score_ = float(1.0 - stage.loss)
        member.objective_history_ = np.array(learned.history, dtype=np.float64)
        return member

    def begun(self) -> Begun:
        """Return what a fit with ``warm_start=True`` goes on from."""
        theta, slopes = self.kernel_.bandwidths, self.warp_.slopes
        if self.kernel_.warp is None:  # theta is in inverse units
            theta = np.divide(theta, slopes, out=np.zeros_like(theta), where=slopes > 0)
        with np.errstate(divide="ignore"):
            log_squares = 2.0 * np.log(theta)
        centres = self.warp_(self.kernel_.centres)
        return Begun(centres, log_squares, self.level_, self.shrinkage_)

    def features(self, X: Array) -> Array:
        """Return [K(X, C), u(X)] (without u(X), if there is no linear part)."""
        X = self.within(X)
        kernel = self.kernel_(X, self.kernel_.centres)
        return np.hstack([kernel, self.warp_(X)]) if self.linear_ else kernel

    def within(self, X: Array) -> Array:
        """Return the points, moved into the limits of the features."""
        return np.asarray(X.clip(*self.limits_))

    def set_coefficients(self, a: Array, intercept: Array) -> None:
        """Set the coefficients [c; v] and b."""
        m, d = self.kernel_.centres.shape
        self.dual_coef_, self.intercept_ = a[:m], np.asarray(intercept)
        self.coef_ = a[m:] if self.linear_ else np.zeros((d, a.shape[1]))

    def expand(self, X: Array) -> Array:
        """Return f of each point, shape (n_samples, n_outputs)."""
        X = self.within(X)
        f = self.kernel_.times(X, self.dual_coef_) + self.intercept_
        return f + self.warp_(X) @ self.coef_ if self.linear_ else f

    def linear_part(self) -> tuple[Array, Array]:
        """Return the coefficients of the features, (n_features, n_outputs), and the constant.

        They belong to the features themselves if all keep their scale, else to the mapped ones.
        """
        if not self.warp_.affine:
            return self.coef_, self.intercept_
        coef = self.warp_.slopes[:, None] * self.coef_
        return coef, self.intercept_ - self.warp_.centres @ coef

    def terms(self, X: Array) -> Terms:
        """Return what f and its derivatives at some points are computed from."""
        X = self.within(X)
        u, C = self.warp_(X), self.warp_(self.kernel_.centres)
        theta = self.kernel_.bandwidths
        if self.kernel_.warp is None:  # theta is in inverse units; u and C are on [-1, 1]
            known = self.warp_.slopes > 0
            theta = np.divide(theta, self.warp_.slopes, out=np.zeros_like(theta), where=known)
        D = self.kernel_.squares(X)
        profile = PROFILES[self.kernel_.profile]
        K = profile.value(np, D.copy())
        return Terms(u, C, theta * theta, D, K, profile.factor * profile.slope(np, D, K))

    def measure_slopes(self, X: Array) -> None:
        """Store mean squared slopes over some points, times the variance of each mapped feature.

        ``slopes_`` is that of f along each feature, summed over the outputs, each of which sums to
        1; ``support_slopes_`` that of each term c_i k(t, c_i).
        """
        terms = self.terms(X)
        u, C, W, slopes = terms.points, terms.centres, terms.squares, terms.slopes
        whole = np.zeros(X.shape[1])
        variance = u.var(axis=0)
        size = np.abs(np.vstack([self.dual_coef_, self.coef_])).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        for c, v in zip((self.dual_coef_ / size).T, (self.coef_ / size).T, strict=True):
            gradient = terms.gradient(c, v)
            part = (gradient * gradient).mean(axis=0) * variance
            whole += part / max(float(part.sum()), TINY)  # each output counts alike
        # The sum over points of (h'(D_i) (u - c_i))^2, expanded in powers of u: shape (m, d).
        squares = slopes * slopes
        ones = squares.sum(axis=0)[:, None]
        parts = squares.T @ (u * u) - 2.0 * C * (squares.T @ u) + C * C * ones
        sizes = ((self.dual_coef_ / size) ** 2).sum(axis=1)[:, None]
        parts *= 4.0 * W * W * sizes / len(X)
        self.slopes_, self.support_slopes_ = whole, parts * variance
        self.deviations_ = np.sqrt(variance)

    def relevance(self) -> Array:
        """Return the share of each feature in the squared slope of f, shape (n_features,)."""
        return np.asarray(self.slopes_ / max(float(self.slopes_.sum()), TINY))

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        parts: tuple[object, object] = (self.kernel_, self.warp_)
        if not isinstance(parts[0], LocalRBFKernel) or not isinstance(parts[1], Warp):
            raise ValueError("expected a LocalRBFKernel and a Warp")
        m, d = self.kernel_.centres.shape
        q = check_points(self.dual_coef_, "dual_coef_").shape[1]
        shapes = {
            "dual_coef_": (m, q),
            "coef_": (d, q),
            "intercept_": (q,),
            "limits_": (2, d),
            "support_": (m,),
            "slopes_": (d,),
            "deviations_": (d,),
            "support_slopes_": (m, d),
        }
        for name, shape in shapes.items():
            value = np.asarray(getattr(self, name))
            numeric = value.dtype.kind in "iuf"
            if value.shape != shape or not numeric or not np.isfinite(value).all():
                raise ValueError(f"expected finite {name} of shape {shape}, got {value.shape}")
        if self.warp_.slopes.shape != (d,) or not isinstance(self.linear_, bool):
            raise ValueError(f"expected warp_ of {d} features and linear_ True or False")
        check_real("alpha_", self.alpha_, above=0)
        check_real("shrinkage_", self.shrinkage_, least=0, infinite=True)
        check_real("level_", self.level_)
        if not isinstance(self.validation_score_, float):
            raise ValueError(f"expected validation_score_, got {self.validation_score_!r:.80}")
        if np.asarray(self.objective_history_).dtype.kind != "f":
            raise ValueError("expected objective_history_ of numbers")


def mean_of(members: list[LABRBFMember], X: Array, n_jobs: int | None) -> Array:
    """Return the mean of the members' expansions, shape (n_samples, n_outputs)."""
    size = sum(len(member.support_) for member in members)
    n_jobs = threads_for(n_jobs, worth_it=len(X) * size >= 10 * WORTH_THREADS)
    blocks = (X[low : low + PREDICTED] for low in range(0, len(X), PREDICTED))
    parallel = Parallel(n_jobs=n_jobs, require="sharedmem")
    return np.concatenate(parallel(delayed(_mean_of)(members, block) for block in blocks))


def limits_of(X: Array) -> Array:
    """Return the range of each feature, a little extended on both sides, shape (2, n_features)."""
    low, high = np.asarray(X.min(axis=0), float), np.asarray(X.max(axis=0), float)
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        margin = 2.0 * MARGIN * (high / 2 - low / 2)
        return np.stack([low - margin, high + margin]).clip(-largest, largest)


@blas_limited
def _mean_of(members: list[LABRBFMember], X: Array) -> Array:
    points = np.asarray(X, dtype=np.float64)
    return np.asarray(sum(member.expand(points) for member in members) / len(members))


def check_members(members: object, averaged: object, n_features: int, n_outputs: int) -> None:
    """Raise ValueError if members, read from a file, do not belong together."""
    if not isinstance(members, list) or not members:
        raise ValueError("expected a list of members_")
    if not all(isinstance(m, LABRBFMember) for m in members):
        raise ValueError("expected members_ to be members of a LAB-RBF model")
    used = np.asarray(averaged)
    if used.shape != (len(members),) or used.dtype != bool or not used.any():
        raise ValueError(
            f"expected averaged_ to hold True or False for each of {len(members)} members, "
            "and some True"
        )
    shapes = {(m.kernel_.centres.shape[1], len(m.intercept_)) for m in members}
    if shapes != {(n_features, n_outputs)}:
        raise ValueError(
            f"expected members of {n_features} features and {n_outputs} outputs, got "
            f"{sorted(shapes)}"
        )


def fit_coefficients(members: list[LABRBFMember], table: Table, n_jobs: int | None = None) -> None:
    """Set c, v and b of members to their ridge fits on all rows, in one pass over them.

    The intercept is the weighted mean of Y, as it was while bandwidths were learned. Each of
    `n_jobs` threads takes a block of rows at a time.
    """
    mean = table.mean()
    width = max(len(member.support_) for member in members) + table.X.shape[1]
    threads = threads_for(n_jobs, worth_it=len(table) * width >= WORTH_THREADS)
    parts = Parallel(n_jobs=threads, require="sharedmem", return_as="generator")(
        delayed(_sums)(members, table, rows, mean) for rows in row_blocks(len(table), width)
    )
    sums = reduce(_added, parts)
    for member, (gram, right) in zip(members, sums, strict=True):
        a = ridge_path(gram, right, np.array([member.alpha_]))[0]
        member.set_coefficients(a, mean)


Sums = list[tuple[Array, Array]]
"""F'F and F'y of each member."""


@blas_limited
def _sums(members: list[LABRBFMember], table: Table, rows: slice, mean: Array) -> Sums:
    """Return the normal equations of one block of rows."""
    X, residual = np.asarray(table.X[rows], dtype=np.float64), table.Y[rows] - mean
    weights = None if table.weights is None else table.weights[rows, None]
    sums: Sums = []
    for member in members:
        F = member.features(X)
        weighted = F if weights is None else F * weights
        sums.append((weighted.T @ F, weighted.T @ residual))
    return sums


def _added(one: Sums, other: Sums) -> Sums:
    return [(A + C, b + d) for (A, b), (C, d) in zip(one, other, strict=True)]


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Iterate over rows in blocks of about BLOCK_ENTRIES numbers, `width` of them per row."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    return (slice(low, low + step) for low in range(0, n_rows, step))


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

    def with_support(self, support: Indices) -> Split:
        """Return the split with the support points that the user names first in `train`."""
        train = np.concatenate([support, np.setdiff1d(self.train, support, assume_unique=True)])
        if self.held_out is None:
            return self._replace(train=train)
        held_out = np.setdiff1d(self.held_out, support)
        if not len(held_out):
            raise ValueError(
                f"expected some rows that are no support points, to hold out, got {len(support)} "
                "support points that leave none; name fewer, or set validation_fraction=0"
            )
        return self._replace(train=train, held_out=held_out)


class Run(NamedTuple):
    """A member, its validation rows, and its scaled predictions of them.

    `layered` is what another last layer predicts for them. `rows` are some rows that its bandwidths
    are learned from.
    """

    member: LABRBFMember
    held_out: Indices | None
    predicted: Array | None
    layered: Array | None
    rows: Indices


@dataclass(frozen=True, eq=False)
class EnsembleTrainer:
    """Trains the members of one model.

    `device` is where the large arrays live, `watch` reports when to stop, `loss` is described at
    `Loss` and `layer` at `Layer`; all other attributes are parameters of the model.
    """

    device: Device
    watch: Watch
    validation_fraction: float
    max_bandwidth_rows: int
    scale: bool
    loss: Loss
    layer: Layer | None
    n_jobs: int | None

    def train(
        self,
        table: Table,
        recipes: list[Recipe],
        scales: list[str],
        seeds: Indices,
        begun: Sequence[LABRBFMember] = (),
    ) -> list[Run]:
        """Learn a member by each recipe, with a seed of its own; fewer if learning is to stop.

        Their coefficients are still to come, but for those of the interpolation objective. The
        first members go on from those that are `begun`.

        Members take turns with the scales: member k gets scale k + k // len(scales), so that it
        does not always meet the same objective.
        """
        limits = limits_of(table.X)
        warps = list({member.warp_.key(): member.warp_ for member in begun}.values())
        warps = warps or [Warp.learn(table.X, scale, scale=self.scale) for scale in scales]
        # Members by evidence take longest: begun first, they leave no core waiting at the end.
        order = sorted(range(len(recipes)), key=lambda k: recipes[k].objective != "evidence")
        members = [*begun, *[None] * (len(recipes) - len(begun))]
        runs = self._parallel(table, recipes[0])(
            delayed(self._train_member)(
                table,
                recipes[k],
                warps[(k + k // len(warps)) % len(warps)],
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
        """Return what runs tasks in threads; in small ones, threads would wait for each other."""
        rows = min(len(table), self.max_bandwidth_rows)
        worth_it = rows * recipe.n_support >= WORTH_THREADS
        n_jobs = threads_for(self.n_jobs, worth_it=worth_it)
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
        """Learn a member; None if learning was to stop before, unless one is needed.

        One that is `begun` keeps its support points, their numbers, its objective and its scale.
        """
        if self.watch.stopped and not needed and begun is None:
            return None
        rng = RandomState(seed)
        split = self._split(len(table), rng)
        if begun is not None:
            kept = {"objective": begun.objective_, "linear": begun.linear_}
            recipe, warp = replace(recipe, profile=begun.kernel_.profile, **kept), begun.warp_
        elif not isinstance(recipe.support, str):
            split = split.with_support(recipe.support)
            recipe = replace(recipe, support=np.arange(len(recipe.support)))
        learned = self._learn(table, recipe, warp, split, rng, begun=begun)
        if begun is not None:
            numbers, points = begun.support_, begun.kernel_.centres
        else:
            support = split.train[learned.rows]
            numbers, points = table.numbers[support], table.points(support)
        member = LABRBFMember.of(learned, recipe, warp, numbers, points, limits)
        if learned.coefficients is not None:  # they belong to targets on [-1, 1]
            intercept = table.middle + table.spread * learned.mean
            member.set_coefficients(learned.coefficients * table.spread, intercept)
        some = split.everything[:SLOPE_ROWS]
        return Run(member, split.held_out, learned.stage.predicted, learned.layered, some)

    def _split(self, n: int, rng: RandomState) -> Split:
        """Split n rows at random."""
        order, limit = rng.permutation(n), self.max_bandwidth_rows
        if self.validation_fraction == 0:
            return Split(order[:limit].copy(), None, order[:limit].copy())
        held_out = min(max(1, int(self.validation_fraction * n)), MOST_HELD_OUT, n - 1)
        parts = order[held_out:][:limit], order[:held_out], order[:limit]
        return Split(*(part.copy() for part in parts))  # not views, which would keep all n

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
        train, held_out, everything = table.sample(split.train, warp), None, None
        loss: Callable[[Array], float] = _no_loss
        if split.held_out is not None:
            held_out = table.sample(split.held_out, warp)
            loss = self.loss(table, split.held_out)
            everything = table.sample(split.everything, warp) if last_stage else None
        layer = self.layer if last_stage else None
        trainer = Trainer(
            recipe, train, held_out, loss, self.device, rng, self.watch, layer,
            None if begun is None else begun.begun(),
        )  # fmt: skip
        # A product in float32 may flag an invalid operation although its result is finite; the
        # solver takes a step only if the objective there is finite.
        with np.errstate(invalid="ignore"):
            return trainer.train(everything)

    def probe(self, recipe: Recipe, seeds: Indices, table: Table, scale: str) -> float:
        """Return the held-out loss of small expansions on few rows, their geometric mean."""
        count = min(recipe.n_support, PROBE_SUPPORT)
        recipe = replace(
            recipe,
            objective="ridge",
            n_support=count,
            n_draws=1,
            linear=True,
            max_iter=min(recipe.max_iter, PROBE_STEPS),
            shrinkages=PROBE_SHRINKAGES,
        )
        warp = Warp.learn(table.X, scale, scale=self.scale)
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


def _no_loss(predicted: Array) -> float:
    """Stand in where no rows are held out."""
    return math.nan


def comparable_scales(table: Table, probe: Callable[[Table, str], float]) -> list[str]:
    """Return the scales of features that do about equally well, the best one first.

    `probe` returns the held-out loss of a small expansion with the features on a scale.
    """
    others = [scale for scale in WARPS[1:] if not Warp.learn(table.X, scale).affine]
    if not others:
        return ["raw"]
    losses = {scale: probe(table, scale) for scale in ("raw", *others)}
    limit = COMPARABLE * min(losses.values())
    return sorted((s for s in losses if losses[s] <= limit), key=lambda s: losses[s])
