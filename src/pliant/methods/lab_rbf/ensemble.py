"""The members of a LAB-RBF model, and how they are trained."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from sklearn.base import BaseEstimator

from pliant.core.blocks import BLOCK_ENTRIES
from pliant.core.progress import Deadline
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_real
from pliant.methods.lab_rbf.kernel import PROFILES, WARPS, LocalRBFKernel, Warp
from pliant.methods.lab_rbf.objective import ridge_path
from pliant.methods.lab_rbf.rows import Device, Table
from pliant.methods.lab_rbf.trainer import Layer, Learned, Recipe, Trainer

TINY = float(np.finfo(np.float64).tiny)
EPSILON = float(np.finfo(np.float64).eps)

SLOPE_ROWS = 1000
"""Rows that slopes are averaged over."""

CHANGE_ROWS = 200
"""Maximum number of these rows among which features are permuted."""

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
    linear_ : bool
        Whether there is a linear part.
    objective_ : str
        The objective that the bandwidths minimise.
    alpha_, shrinkage_ : float
        Ridge and shrinkage penalties chosen on the held-out samples; a shrinkage of inf means one
        bandwidth for each feature.
    validation_score_ : float
        1 - the loss on this member's held-out samples, relative to that of a constant.
    objective_history_ : array of shape (n_iter_,)
        The objective after each step, one stage after the other.
    changes_ : array of shape (n_features,)
        The mean squared change of f as a feature is permuted, relative to the variance of f.
    support_slopes_ : array of shape (n_support, n_features)
        Mean squared slopes of each term of f.
    deviations_ : array of shape (n_features,)
        The standard deviations of the mapped features.
    """

    kernel_: LocalRBFKernel
    support_: Indices
    dual_coef_: Array
    coef_: Array
    intercept_: Array

    @classmethod
    def of(cls, learned: Learned, recipe: Recipe, warp: Warp, rows: Indices, points: Array) -> Self:
        """Return the member with learned bandwidths; its coefficients are still to come.

        `rows` are the row numbers of the support points, `points` the support points themselves.
        """
        member, stage = cls(), learned.stage
        theta = np.exp(stage.log_squares / 2)
        if warp.affine:
            member.kernel_ = LocalRBFKernel(points, theta * warp.slopes, recipe.profile)
        else:
            member.kernel_ = LocalRBFKernel(points, theta, recipe.profile, warp)
        member.support_, member.warp_ = rows, warp
        member.linear_, member.objective_ = recipe.linear, recipe.objective
        member.alpha_, member.shrinkage_ = float(stage.alpha), float(stage.shrinkage)
        member.validation_score_ = float(1.0 - stage.loss)
        member.objective_history_ = np.array(learned.history, dtype=np.float64)
        return member

    def features(self, X: Array) -> Array:
        """Return [K(X, C), u(X)] (without u(X), if there is no linear part)."""
        kernel = self.kernel_(X, self.kernel_.centres)
        return np.hstack([kernel, self.warp_(X)]) if self.linear_ else kernel

    def set_coefficients(self, a: Array, intercept: Array) -> None:
        """Set the coefficients [c; v] and b."""
        m, d = self.kernel_.centres.shape
        self.dual_coef_, self.intercept_ = a[:m], np.asarray(intercept)
        self.coef_ = a[m:] if self.linear_ else np.zeros((d, a.shape[1]))

    def expand(self, X: Array) -> Array:
        """Return f of each point, shape (n_samples, n_outputs)."""
        f = self.kernel_(X, self.kernel_.centres) @ self.dual_coef_ + self.intercept_
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
        u, C = self.warp_(X), self.warp_(self.kernel_.centres)
        theta = self.kernel_.bandwidths
        if self.kernel_.warp is None:  # theta is in inverse units; u and C are on [-1, 1]
            known = self.warp_.slopes > 0
            theta = np.divide(theta, self.warp_.slopes, out=np.zeros_like(theta), where=known)
        D = self.kernel_.squares(X)
        profile = PROFILES[self.kernel_.profile]
        K = profile.value(np, D.copy())
        return Terms(u, C, theta * theta, D, K, profile.factor * profile.slope(np, D, K))

    def measure(self, X: Array) -> None:
        """Store how much f and its terms depend on each feature, over some points.

        ``support_slopes_`` are mean squared slopes of each term c_i k(t, c_i), times the variance
        of each mapped feature; `_changes` describes ``changes_``.
        """
        terms = self.terms(X)
        u, C, W = terms.points, terms.centres, terms.squares
        size = np.abs(np.vstack([self.dual_coef_, self.coef_])).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        c, v = self.dual_coef_ / size, self.coef_ / size
        self.changes_ = self._changes(terms, c, v)
        # The sum over points of (h'(D_i) (u - c_i))^2, expanded in powers of u: shape (m, d).
        squares = terms.slopes * terms.slopes
        ones = squares.sum(axis=0)[:, None]
        parts = squares.T @ (u * u) - 2.0 * C * (squares.T @ u) + C * C * ones
        parts *= 4.0 * W * W * (c * c).sum(axis=1)[:, None] / len(X)
        variance = u.var(axis=0)
        self.support_slopes_ = parts * variance
        self.deviations_ = np.sqrt(variance)

    def _changes(self, terms: Terms, c: Array, v: Array) -> Array:
        """Return the mean squared change of f as each feature is permuted, shape (n_features,).

        It is divided by the variance of f and averaged over the outputs.
        """
        n = len(terms.points)
        rows = np.linspace(0, n - 1, min(n, CHANGE_ROWS)).astype(np.intp)
        u, D, f = terms.points[rows], terms.distances[rows], terms.kernel[rows] @ c
        variance = np.maximum((f + u @ v).var(axis=0), EPSILON**2)
        permuted = u[RandomState(0).permutation(len(u))]
        profile, changes = PROFILES[self.kernel_.profile], np.zeros(u.shape[1])
        for j, (W, C) in enumerate(zip(terms.squares.T, terms.centres.T, strict=True)):
            moved = np.flatnonzero(permuted[:, j] != u[:, j])
            old, new = u[moved, j], permuted[moved, j]
            # Only the terms W_ij (u_j - c_ij)^2 of the squared distances change.
            distances = np.column_stack([new * new - old * old, old - new]) @ [W, 2.0 * W * C]
            distances += D[moved]
            kernel = profile.value(np, np.maximum(distances, 0.0, out=distances))
            change = kernel @ c - f[moved] + np.outer(new - old, v[j])
            changes[j] = ((change * change).sum(axis=0) / variance).mean() / len(u)
        return changes

    def relevance(self) -> Array:
        """Return the share of each feature in the changes of f, shape (n_features,)."""
        return np.asarray(self.changes_ / max(float(self.changes_.sum()), TINY))

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
            "support_": (m,),
            "changes_": (d,),
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
        if not isinstance(self.validation_score_, float):
            raise ValueError(f"expected validation_score_, got {self.validation_score_!r:.80}")
        if np.asarray(self.objective_history_).dtype.kind != "f":
            raise ValueError("expected objective_history_ of numbers")


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
    parts = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")(
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
        self, table: Table, recipes: list[Recipe], scales: list[str], seeds: Indices
    ) -> list[Run]:
        """Learn a member by each recipe, with a seed of its own; fewer if learning is to stop.

        Their coefficients are still to come, but for those of the interpolation objective.

        Members take turns with the scales: member k gets scale k + k // len(scales), so that it
        does not always meet the same objective.
        """
        warps = [Warp.learn(table.X, scale, scale=self.scale) for scale in scales]
        runs = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(self._train_member)(
                table,
                recipe,
                warps[(k + k // len(warps)) % len(warps)],
                int(seeds[k]),
                needed=k == 0,
            )
            for k, recipe in enumerate(recipes)
        )
        return [run for run in runs if run is not None]

    @blas_limited
    def _train_member(
        self, table: Table, recipe: Recipe, warp: Warp, seed: int, *, needed: bool
    ) -> Run | None:
        """Learn a member; None if learning was to stop before, unless one is needed."""
        if self.watch.stopped and not needed:
            return None
        rng = RandomState(seed)
        split = self._split(len(table), rng)
        if not isinstance(recipe.support, str):
            split = split.with_support(recipe.support)
            recipe = replace(recipe, support=np.arange(len(recipe.support)))
        learned = self._learn(table, recipe, warp, split, rng)
        support = split.train[learned.rows]
        numbers, points = table.numbers[support], table.points(support)
        member = LABRBFMember.of(learned, recipe, warp, numbers, points)
        if learned.coefficients is not None:  # they belong to targets on [-1, 1]
            intercept = table.middle + table.spread * learned.mean
            member.set_coefficients(learned.coefficients * table.spread, intercept)
        some = split.everything[:SLOPE_ROWS]
        return Run(member, split.held_out, learned.stage.predicted, learned.layered, some)

    def _split(self, n: int, rng: RandomState) -> Split:
        """Split n rows at random."""
        order, limit = rng.permutation(n), self.max_bandwidth_rows
        if self.validation_fraction == 0:
            return Split(order[:limit], None, order[:limit])
        held_out = min(max(1, int(self.validation_fraction * n)), MOST_HELD_OUT, n - 1)
        return Split(order[held_out:][:limit], order[:held_out], order[:limit])

    def _learn(
        self,
        table: Table,
        recipe: Recipe,
        warp: Warp,
        split: Split,
        rng: RandomState,
        *,
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
        trainer = Trainer(recipe, train, held_out, loss, self.device, rng, self.watch, layer)
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
        losses = []
        for seed in seeds:
            if self.watch.stopped:
                return math.inf
            rng = RandomState(seed)
            split = self._split(len(table), rng)
            split = split._replace(train=split.train[:PROBE_ROWS])
            learned = self._learn(table, recipe, warp, split, rng, last_stage=False)
            losses.append(max(learned.stage.loss, TINY))
        return float(np.exp(np.mean(np.log(losses))))


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
