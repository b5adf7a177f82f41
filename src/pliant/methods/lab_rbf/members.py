"""Members of a LAB-RBF model: expansions in a kernel with local bandwidths.

A `Basis` computes the features of an expansion, and a `LearnedBasis` also says how its bandwidths
were learned. An `Expansion` adds coefficients; a `LABRBFMember` is both. They are values: `replace`
makes a changed copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.random import RandomState

from pliant.core import process
from pliant.core.estimators import BaseEstimator
from pliant.core.form import Object, Part, SavedForm, indices, numbers, shown
from pliant.core.parameters import integer, real_number
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices, Mask
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.constants import TINY
from pliant.methods.lab_rbf.kernel import (
    PROFILES,
    JoinedRBFKernel,
    LocalRBFKernel,
    Profile,
    Warp,
)

if not process.BARE:  # what a fit needs
    from pliant.methods.lab_rbf.objective import dual_ridge_path, ridge_path
    from pliant.methods.lab_rbf.table import Sums, Table

CHANGES_BLOCK = 1_000_000  # Maximum number of kernel values of a block of permuted features.

Coefficients: TypeAlias = tuple[Array, Array]
"""Coefficients [c; v], shape (p, q), and the intercept b, shape (q,)."""


class Metrics(NamedTuple):
    """Metrics M = A A' that a local member has learned: A of shape (d, d), or its diagonal."""

    bandwidths: Array
    gradients: Array


class Terms(NamedTuple):
    """Intermediate values of an expansion at n points, for m centres.

    The squared distance of u from centre i is D_i = (u - c_i)'M_i (u - c_i). Its gradient is twice
    M_i (u - c_i) = G_i o p - q_i: with M_i = diag(W_i), G = W, p = u and q_i = W_i o c_i; with the
    same M for all centres, G = 1, p = M u and q_i = M c_i.
    """

    points: Array  # transformed points u, shape (n, d)
    pulled: Array  # p, shape (n, d)
    gains: Array  # G, shape (m, d)
    offsets: Array  # q, shape (m, d)
    curvatures: Array  # diagonal of M_i, shape (m, d)
    distances: Array  # D, shape (n, m)
    kernel: Array  # h(D), shape (n, m)
    slopes: Array  # h'(D), shape (n, m)

    def gradient(self, c: Array, v: Array) -> Array:
        """Compute df/du of one output with coefficients c and v, shape (n, d)."""
        # df/du = sum_i c_i h'(D_i) 2 (G_i o p - q_i) + v, by two matrix products
        weighted = self.slopes * c
        pull = self.pulled * (weighted @ self.gains) - weighted @ self.offsets
        return np.asarray(2.0 * pull + v)


@dataclass(frozen=True, eq=False, repr=False)
class Basis:
    """Features F = [K(X, C), u(X)] of an expansion, or K(X, C) without a linear part.

    See `LABRBFMember` for the attributes.
    """

    kernel_: LocalRBFKernel
    warp_: Warp
    limits_: Array
    linear_: bool

    def features(self, X: Array) -> Array:
        """Compute F = [K(X, C), u(X)], or K(X, C) without a linear part."""
        X = X.clip(*self.limits_)
        kernel = self.kernel_.values(X)
        return np.hstack([kernel, self.warp_(X)]) if self.linear_ else kernel

    @property
    def mixing(self) -> Array | None:
        """The matrix A of a metric M = A A' that all centres share, or None for bandwidths."""
        return None if self.kernel_.warp is None else self.kernel_.warp.mixing

    def mapped_bandwidths(self) -> Array:
        """Return theta for features on [-1, 1], or sqrt(M_jj); 0 for constant features."""
        theta, slopes = self.kernel_.bandwidths, self.warp_.slopes
        if self.mixing is not None:
            return theta * np.linalg.norm(self.mixing, axis=1)
        if self.kernel_.warp is not None:
            return theta
        return np.divide(theta, slopes, out=np.zeros_like(theta), where=slopes > 0)

    def bandwidths(self) -> Array:
        """Return theta in inverse units of the features, or sqrt(M_jj), if u is affine."""
        return self.mapped_bandwidths() * (self.warp_.slopes if self.warp_.affine else 1.0)

    def terms(self, X: Array) -> Terms:
        """Compute squared distances, kernel values and slopes at given points."""
        X, kernel = X.clip(*self.limits_), self.kernel_
        D = kernel.squares(X)
        profile = PROFILES[kernel.profile]
        K = profile.value(np, D.copy())
        slopes = profile.factor * profile.slope(np, D, K)
        u, C = self.warp_(X), self.warp_(kernel.centres)
        if self.mixing is not None:
            M, ones = self.mixing @ self.mixing.T, np.ones_like(C)
            return Terms(u, u @ M, ones, C @ M, ones * M.diagonal(), D, K, slopes)
        W = self.mapped_bandwidths() ** 2
        return Terms(u, u, W, W * C, W, D, K, slopes)


@dataclass(frozen=True, eq=False, repr=False)
class Expansion(Basis):
    """Expansion f in a basis. See `LABRBFMember` for the attributes."""

    dual_coef_: Array
    linear_coef_: Array
    intercept_: Array

    def expand(self, X: Array) -> Array:
        """Compute f at each point, shape (n_samples, n_outputs)."""
        X = X.clip(*self.limits_)
        f = self.kernel_.times(X, self.dual_coef_) + self.intercept_
        return f + self.warp_(X) @ self.linear_coef_ if self.linear_ else f

    def scaled(self, weight: float) -> Self:
        """Return the expansion of weight times f."""
        c, v, b = self.dual_coef_, self.linear_coef_, self.intercept_
        return replace(self, dual_coef_=weight * c, linear_coef_=weight * v, intercept_=weight * b)

    def linear_part(self) -> tuple[Array, Array]:
        """Return the coefficients of x, or of u(x) if u is not affine, and the intercept."""
        # u = (x - centre) o slope: u'v + b = x'(slope o v) + b - centre'(slope o v)
        if not self.warp_.affine:
            return self.linear_coef_, self.intercept_
        coef = self.warp_.slopes[:, None] * self.linear_coef_
        return coef, self.intercept_ - self.warp_.centres @ coef


@dataclass(frozen=True, eq=False, repr=False)
class LearnedBasis(Basis):
    """Basis with learned bandwidths. See `LABRBFMember` for the attributes."""

    support_: Indices
    n_learned_: int
    objective_: Literal["ridge", "evidence", "interpolation", "dense"]
    alpha_: float
    shrinkage_: float
    log_penalty_: float
    validation_score_: float
    objective_history_: Array


class Split(NamedTuple):
    """Training rows, held-out rows or None, and rows of the last stage."""

    train: Indices
    held_out: Indices | None
    final: Indices


class FitState(NamedTuple):
    """Trained basis of a local member, with its split and its held-out predictions.

    `comparable` is False if the held-out targets are constant, for example all of one class: the
    loss relative to their variance is then unlike that of other members.
    """

    basis: LearnedBasis
    split: Split
    predicted: Array | None
    layer_output: Array | None  # held-out predictions of the layer for each penalty
    metrics: Metrics | None = None  # learned from the training rows, None if none are held out
    comparable: bool = True


class HeldOut(NamedTuple):
    """Predictions of rows by the members that held them out.

    In regression, their errors are scaled to the size of those of all members together. They are
    numbers of shape (n, n_outputs), or probabilities of shape (n, n_classes).
    """

    rows: Indices  # row numbers in the training data
    values: Array


@dataclass(frozen=True, eq=False, repr=False)
class LABRBFMember(LearnedBasis, Expansion, BaseEstimator):
    """LAB-RBF expansion f(t) = K(t, C) c + u(t)'v + b; `LABRBFRegressor` averages several.

    Attributes
    ----------
    kernel_ : LocalRBFKernel
        Kernel k(t, c_i) = h(|theta_i o (u(t) - u(c_i))|^2).
    support_ : array of shape (n_support,)
        Indices of the centres in the training data.
    n_learned_ : int
        Number of centres with learned bandwidths; they come first. Every other centre has the
        bandwidths of the nearest centre with learned ones. 0 for a dense member, whose centres
        share a metric learned by a local member.
    dual_coef_ : array of shape (n_support, n_outputs)
        Coefficients c of the centres.
    linear_coef_ : array of shape (n_features, n_outputs)
        Coefficients v of the transformed features; zeros without a linear part.
    intercept_ : array of shape (n_outputs,)
        Intercept b.
    warp_ : Warp
        Transform u of the features to [-1, 1].
    limits_ : array of shape (2, n_features)
        Minimum and maximum to which the features are clipped.
    linear_ : bool
        True if the expansion has a linear part.
    objective_ : str
        Objective for the bandwidths, or "dense" for a dense member: kernel ridge regression with
        at most 20 000 samples as centres, or logistic regression with at most 2000. Its kernel has
        a linear part of weight 0.1 / n_features.
    alpha_, shrinkage_ : float
        Ridge and shrinkage penalties selected on the held-out samples. A shrinkage of inf means one
        bandwidth per feature.
    log_penalty_ : float
        Logarithm of the ridge penalty for the bandwidths, learned with the objective "evidence".
    validation_score_ : float
        R2 on the member's held-out samples; nan without held-out samples. For a dense member, on
        the held-out samples of all members.
    objective_history_ : array of shape (n_iter_,)
        Objective after each step, over all stages.
    changes_ : array of shape (n_features,)
        Mean squared change of f when a feature is permuted, relative to the variance of f.
    support_slopes_ : array of shape (n_support, n_features)
        Mean squared slopes of each term of f, times the variance of each transformed feature.
    deviations_ : array of shape (n_features,)
        Standard deviations of the transformed features.
    """

    _form: ClassVar[SavedForm] = {
        "kernel_": Object(LocalRBFKernel, sizes={"n_centres": "support", "n_features": "features"}),
        "support_": indices("support"),
        "n_learned_": integer(least=0),
        "dual_coef_": Part("number", ("support", "outputs")),
        "linear_coef_": numbers("features", "outputs"),
        "intercept_": numbers("outputs"),
        "warp_": Object(Warp, sizes={"n_features": "features"}),
        "limits_": numbers(2, "features"),
        "linear_": Object(bool),
        "alpha_": real_number(above=0),
        "log_penalty_": real_number(),
        "objective_history_": shown("steps"),
        "changes_, deviations_": numbers("features"),
        "support_slopes_": numbers("support", "features"),
    }

    changes_: Array
    support_slopes_: Array
    deviations_: Array

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.kernel_.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.intercept_)

    @classmethod
    def build(cls, basis: LearnedBasis, coefficients: Coefficients, X: Array) -> Self:
        """Build the member of a basis; its relevances are averages over the points X."""
        a, intercept = coefficients
        m, d = basis.kernel_.centres.shape
        c, v = a[:m], a[m:] if basis.linear_ else np.zeros((d, a.shape[1]))
        terms, profile = basis.terms(X), PROFILES[basis.kernel_.profile]
        variance = terms.points.var(axis=0)
        size = np.abs(np.vstack([c, v])).max(axis=0)
        size = np.where(size > 0, size, 1.0)  # gives all outputs equal weight
        return cls(
            **{each.name: getattr(basis, each.name) for each in fields(LearnedBasis)},
            dual_coef_=c,
            linear_coef_=v,
            intercept_=np.asarray(intercept),
            changes_=permutation_changes(terms, profile, c / size, v / size),
            support_slopes_=squared_slopes(terms, c / size) * variance,
            deviations_=np.sqrt(variance),
        )

    def relevance(self) -> Array:
        """Return each feature's share of the sum of `changes_`, shape (n_features,)."""
        return np.asarray(self.changes_ / max(float(self.changes_.sum()), TINY))


def squared_slopes(terms: Terms, c: Array) -> Array:
    """Compute the squared slopes of each term of f, averaged over the points, shape (m, d)."""
    # The sum over points of (h'(D_i) (G_i o p - q_i))^2, expanded in powers of p.
    p, G, q = terms.pulled, terms.gains, terms.offsets
    squares = terms.slopes * terms.slopes
    ones = squares.sum(axis=0)[:, None]
    parts = G * G * (squares.T @ (p * p)) - 2.0 * G * q * (squares.T @ p) + q * q * ones
    parts = np.maximum(parts, 0.0)  # rounding may give values < 0 if all points are far away
    parts *= 4.0 * (c * c).sum(axis=1)[:, None] / len(p)
    return np.asarray(parts)


def permutation_changes(terms: Terms, profile: Profile, c: Array, v: Array) -> Array:
    """Compute the mean squared change of f when a feature is permuted, relative to var(f)."""
    n = len(terms.points)
    rows = np.linspace(0, n - 1, min(n, 200)).astype(np.intp)  # see feature_relevance_
    u, D, f = terms.points[rows], terms.distances[rows], terms.kernel[rows] @ c
    p = terms.pulled[rows]
    variance = np.maximum((f + u @ v).var(axis=0), float(np.finfo(np.float64).eps) ** 2)
    order = RandomState(0).permutation(len(u))
    steps, changes = (u[order] - u).T, []
    width = max(1, CHANGES_BLOCK // D.size)
    for start in range(0, u.shape[1], width):  # a block of features j
        block = slice(start, start + width)
        s, pulled = steps[block], p.T[block]
        # If u_j grows by s, D_i grows by s^2 (M_i)_jj + 2 s (G_i o p - q_i)_j: one matrix product.
        powers = np.stack([s * s, 2.0 * s * pulled, -2.0 * s], axis=2)
        parts = terms.curvatures.T[block], terms.gains.T[block], terms.offsets.T[block]
        distances = powers @ np.stack(parts, axis=1)
        distances += D
        kernel = profile.value(np, np.maximum(distances, 0.0, out=distances))
        change = kernel @ c - f + s[:, :, None] * v[block, None]
        change[s == 0.0] = 0.0  # without rounding errors
        changes.append(((change * change).sum(axis=1) / variance).mean(axis=1) / len(u))
    return np.concatenate(changes)


@blas_limited
def sum_expansions(parts: list[LABRBFMember], X: Array) -> Array:
    """Compute the sum of expansions, shape (n_samples, n_outputs)."""
    points = np.asarray(X, dtype=np.float64)
    return np.asarray(sum(part.expand(points) for part in parts))


def contributing(fits: Sequence[FitState]) -> Mask:
    """Return a mask of the local fits with at most twice the median loss, or all if one is nan.

    With more than `constants.MEMBER_ROWS` rows, the lowest loss takes the place of the median: the
    losses then vary little with the rows held out. Losses that do not compare are left out.
    """
    losses = np.array([1.0 - fit.basis.validation_score_ for fit in fits])
    comparable = np.array([fit.comparable for fit in fits])
    if not comparable.any():
        return np.full(len(fits), True)
    known, many = losses[comparable], len(fits[0].split.final) > constants.MEMBER_ROWS
    limit = 2.0 * (known.min() if many else np.median(known))
    return np.asarray(~(losses > limit) | ~comparable)


def join_kernels(parts: list[LocalRBFKernel]) -> LocalRBFKernel | JoinedRBFKernel:
    """Join kernels into one kernel with all centres."""
    if len({(part.profile, b"" if part.warp is None else part.warp.key()) for part in parts}) > 1:
        return JoinedRBFKernel(parts)
    return LocalRBFKernel(
        np.vstack([part.centres for part in parts]),
        np.vstack([part.bandwidths for part in parts]),
        parts[0].profile,
        parts[0].warp,
    )


def correlated_pairs(X: Array) -> Indices:
    """Find pairs of columns with |Spearman's correlation| > 0.8, strongest first."""
    ranks = np.apply_along_axis(_average_ranks, 0, X)
    correlations = np.corrcoef(ranks, rowvar=False)  # nan for a constant column
    strength = np.triu(np.abs(np.atleast_2d(correlations)), k=1)
    pairs = np.argwhere(strength > 0.8)
    order = np.argsort(-strength[pairs[:, 0], pairs[:, 1]], kind="stable")
    return np.asarray(pairs[order[:1000]], dtype=np.intp)


def _average_ranks(column: Array) -> Array:
    """Return the rank of each value, from 1; equal values share the mean of their ranks."""
    _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    mean: Array = np.cumsum(counts) - (counts - 1) / 2
    return mean[places]


def ridge_fits(
    bases: Sequence[LearnedBasis], table: Table, n_jobs: int | None
) -> list[Coefficients]:
    """Compute c and v of each basis by ridge regression on `n_rows` rows; b is the mean of Y."""
    if len(table) == table.n_rows < table.X.shape[1]:
        return [_dual_ridge_fit(basis, table) for basis in bases]
    width = max(len(basis.kernel_.centres) for basis in bases) + table.X.shape[1]
    sums = table.sum_blocks(partial(_block_sums, bases, table.mean), width, n_jobs)
    paths = (
        ridge_path(*each, np.array([basis.alpha_])) for basis, each in zip(bases, sums, strict=True)
    )
    return [(path[0], table.mean) for path in paths]


def _dual_ridge_fit(basis: LearnedBasis, table: Table) -> Coefficients:
    """Compute the coefficients for fewer rows than features."""
    F, y = basis.features(table.points(np.arange(len(table)))), table.Y - table.mean
    if table.weights is not None:
        root = np.sqrt(table.weights)[:, None]
        F, y = root * F, root * y
    return dual_ridge_path(F, y, np.array([basis.alpha_]))[0], table.mean


def _block_sums(bases: Sequence[Basis], mean: Array, rows: Table) -> Sums:
    """Sum the normal equations of one block of rows."""
    residual, sums = rows.Y - mean, list[tuple[Array, Array]]()
    for basis in bases:
        F = basis.features(rows.X)
        weighted = F if rows.weights is None else F * rows.weights[:, None]
        sums.append((weighted.T @ F, weighted.T @ residual))
    return sums
