"""The members of a LAB-RBF model: what each learned, its predictions, and their coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

from pliant.core.blocks import BLOCK_ENTRIES
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_real, check_row_numbers
from pliant.kernels.base import Kernel, WeightedSum
from pliant.methods.lab_rbf.features import Table
from pliant.methods.lab_rbf.kernel import PROFILES, LocalRBFKernel, Warp
from pliant.methods.lab_rbf.objective import ridge_path

TINY = float(np.finfo(np.float64).tiny)
EPSILON = float(np.finfo(np.float64).eps)

MARGIN = 0.125  # Share of a feature's range, on both sides of it, that predictions distinguish.
# Number of kernel values, one matrix of them, from which on threads save time.
WORTH_THREADS = 200_000
PREDICTED = 8192  # Number of points that a thread predicts at a time.
CHANGE_ROWS = 200  # Maximum number of rows among which features are permuted.
CORRELATED = 0.8  # Absolute rank correlation from which on two features count as correlated.
# Maximum numbers of rows and of features that are compared, and of pairs that are kept.
COMPARED, MOST_PAIRS = 1000, 1000


class Terms(NamedTuple):
    """Parts of an expansion at n points u, for m mapped centres, W = theta o theta of (m, d).

    D, h(D) and h'(D) have the shape (n, m).
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
    changes_ : array of shape (n_features,)
        The mean squared change of f as a feature is permuted, relative to the variance of f.
    support_slopes_ : array of shape (n_support, n_features)
        Mean squared slopes of each term of f, times the variance of each mapped feature.
    deviations_ : array of shape (n_features,)
        The standard deviations of the mapped features.
    """

    kernel_: LocalRBFKernel
    support_: Indices
    dual_coef_: Array
    coef_: Array
    intercept_: Array

    def mapped_bandwidths(self) -> Array:
        """Return theta for features on [-1, 1]; 0 for constant features."""
        theta, slopes = self.kernel_.bandwidths, self.warp_.slopes
        if self.kernel_.warp is not None:
            return theta
        return np.divide(theta, slopes, out=np.zeros_like(theta), where=slopes > 0)

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
        """Return coefficients of the features (if all keep their scale), and the constant."""
        if not self.warp_.affine:
            return self.coef_, self.intercept_
        coef = self.warp_.slopes[:, None] * self.coef_
        return coef, self.intercept_ - self.warp_.centres @ coef

    def terms(self, X: Array) -> Terms:
        """Return what f and its derivatives at some points are computed from."""
        X, theta = self.within(X), self.mapped_bandwidths()
        D = self.kernel_.squares(X)
        profile = PROFILES[self.kernel_.profile]
        K = profile.value(np, D.copy())
        slopes = profile.factor * profile.slope(np, D, K)
        return Terms(self.warp_(X), self.warp_(self.kernel_.centres), theta * theta, D, K, slopes)

    def measure(self, X: Array) -> None:
        """Store how much f and its terms depend on each feature, over some points."""
        terms = self.terms(X)
        u, C, W = terms.points, terms.centres, terms.squares
        size = np.abs(np.vstack([self.dual_coef_, self.coef_])).max(axis=0)
        size = np.where(size > 0, size, 1.0)  # outputs in any unit count alike
        c, v = self.dual_coef_ / size, self.coef_ / size
        self.changes_ = self._changes(terms, c, v)
        # The sum over points of (h'(D_i) (u - c_i))^2, expanded in powers of u: shape (m, d).
        squares = terms.slopes * terms.slopes
        ones = squares.sum(axis=0)[:, None]
        parts = squares.T @ (u * u) - 2.0 * C * (squares.T @ u) + C * C * ones
        parts = np.maximum(parts, 0.0)  # rounding leaves less where all points are far away
        parts *= 4.0 * W * W * (c * c).sum(axis=1)[:, None] / len(X)
        variance = u.var(axis=0)
        self.support_slopes_ = parts * variance
        self.deviations_ = np.sqrt(variance)

    def _changes(self, terms: Terms, c: Array, v: Array) -> Array:
        """Return the mean squared change of f as each feature is permuted, over its variance."""
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
            "limits_": (2, d),
            "support_": (m,),
            "changes_": (d,),
            "deviations_": (d,),
            "support_slopes_": (m, d),
            "level_": (),
        }
        for name, shape in shapes.items():
            value = np.asarray(getattr(self, name))
            numeric = value.dtype.kind in "iuf"
            if value.shape != shape or not numeric or not np.isfinite(value).all():
                raise ValueError(f"expected finite {name} of shape {shape}, got {value.shape}")
        if self.warp_.slopes.shape != (d,) or not isinstance(self.linear_, bool):
            raise ValueError(f"expected warp_ of {d} features and linear_ True or False")
        check_row_numbers("support_", self.support_)
        check_real("alpha_", self.alpha_, above=0)


def mean_of(members: list[LABRBFMember], X: Array, n_jobs: int | None) -> Array:
    """Return the mean of the members' expansions, shape (n_samples, n_outputs)."""
    size = sum(len(member.support_) for member in members)
    n_jobs = threads_for(n_jobs, worth_it=len(X) * size >= 10 * WORTH_THREADS)
    blocks = (X[low : low + PREDICTED] for low in range(0, len(X), PREDICTED))
    parallel = Parallel(n_jobs=n_jobs, require="sharedmem")
    return np.concatenate(parallel(delayed(_mean_of)(members, block) for block in blocks))


def limits_of(table: Table) -> Array:
    """Return the range of each feature, a little extended on both sides, shape (2, n_features)."""
    low, high = table.ends
    margin = 2.0 * MARGIN * (high / 2 - low / 2)
    return np.stack([low - margin, high + margin])


@blas_limited
def _mean_of(members: list[LABRBFMember], X: Array) -> Array:
    points = np.asarray(X, dtype=np.float64)
    return mean_over([member.expand(points) for member in members])


def mean_over(values: Sequence[Array] | Array) -> Array:
    """Return the mean of arrays of one shape."""
    return np.asarray(sum(values) / len(values))


def joined(parts: list[LocalRBFKernel]) -> LocalRBFKernel:
    """Return one kernel with the centres of several, which map the features alike."""
    return LocalRBFKernel(
        np.vstack([part.centres for part in parts]),
        np.vstack([part.bandwidths for part in parts]),
        parts[0].profile,
        parts[0].warp,
    )


def symmetric_kernel(members: list[LABRBFMember]) -> Kernel:
    """Return a symmetric kernel with the mean widths of members; those that map alike share one."""
    groups: dict[bytes, list[LocalRBFKernel]] = {}
    for member in members:
        groups.setdefault(member.warp_.key(), []).append(member.kernel_)
    kernels = [joined(parts).symmetric_kernel() for parts in groups.values()]
    if len(kernels) == 1:
        return kernels[0]
    return WeightedSum(kernels, [len(parts) / len(members) for parts in groups.values()])


def check_members(members: object, averaged: object, n_features: int, n_outputs: int) -> None:
    """Raise ValueError if members, read from a file, do not belong together."""
    if not isinstance(members, list) or not all(isinstance(m, LABRBFMember) for m in members):
        raise ValueError("expected members_ to be a list of members of a LAB-RBF model")
    used = np.asarray(averaged)
    if used.shape != (len(members),) or used.dtype != bool or not used.any():
        raise ValueError(f"expected averaged_ of {len(members)} members, some of them True")
    shapes = {(m.kernel_.centres.shape[1], len(m.intercept_)) for m in members}
    if shapes != {(n_features, n_outputs)}:
        raise ValueError(f"expected members of {n_features} features and {n_outputs} outputs")


def correlated_pairs(X: Array) -> Indices:
    """Return the pairs of columns with abs(Spearman's correlation) > .8, the strongest first."""
    ranks = rankdata(X, axis=0)
    ranks -= ranks.mean(axis=0)
    size = np.sqrt((ranks * ranks).sum(axis=0))
    ranks /= np.where(size > 0, size, 1.0)
    strength = np.triu(np.abs(ranks.T @ ranks), k=1)
    pairs = np.argwhere(strength > CORRELATED)
    order = np.argsort(-strength[pairs[:, 0], pairs[:, 1]], kind="stable")
    return np.asarray(pairs[order[:MOST_PAIRS]], dtype=np.intp)


def correlated_features(table: Table, relevance: Array) -> Indices:
    """Return the pairs of correlated features among the most relevant ones, in training rows."""
    rows = np.linspace(0, len(table) - 1, min(len(table), COMPARED)).astype(np.intp)
    features = np.sort(np.argsort(-relevance, kind="stable")[:COMPARED])
    return np.asarray(features[correlated_pairs(table.points(rows)[:, features])])


def fit_coefficients(members: list[LABRBFMember], table: Table, n_jobs: int | None = None) -> None:
    """Set c and v of members to ridge fits on all rows in one pass; b is the mean of Y."""
    if table.whole is None:
        sums = normal_equations(members, table, table.mean, n_jobs)
    else:
        sums = table.whole.sums(members, table)
    for member, (gram, right) in zip(members, sums, strict=True):
        a = ridge_path(gram, right, np.array([member.alpha_]))[0]
        member.set_coefficients(a, table.whole_mean)


Sums = list[tuple[Array, Array]]
"""F'F and F'y of each member."""


def normal_equations(
    members: list[LABRBFMember], table: Table, mean: Array, n_jobs: int | None
) -> Sums:
    """Return the normal equations of all rows in memory, for targets less their mean."""
    width = max(len(member.support_) for member in members) + table.X.shape[1]
    threads = threads_for(n_jobs, worth_it=len(table) * width >= WORTH_THREADS)
    parts = Parallel(n_jobs=threads, require="sharedmem", return_as="generator")(
        delayed(_sums_of)(members, table, mean, rows) for rows in row_blocks(len(table), width)
    )
    return reduce(added, parts)


@blas_limited
def _sums_of(members: list[LABRBFMember], table: Table, mean: Array, rows: slice) -> Sums:
    """Return the normal equations of one block of rows."""
    X = np.asarray(table.X[rows], dtype=np.float64)
    residual = table.Y[rows] - mean
    weights = None if table.weights is None else table.weights[rows, None]
    sums: Sums = []
    for member in members:
        F = member.features(X)
        weighted = F if weights is None else F * weights
        sums.append((weighted.T @ F, weighted.T @ residual))
    return sums


def added(one: Sums, other: Sums) -> Sums:
    """Return the sum of the normal equations of two blocks."""
    return [(A + C, b + d) for (A, b), (C, d) in zip(one, other, strict=True)]


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Iterate over rows in blocks of about BLOCK_ENTRIES numbers, `width` of them per row."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    return (slice(low, low + step) for low in range(0, n_rows, step))
