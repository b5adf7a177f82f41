"""Training tables and members of a LAB-RBF model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Literal, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from numpy.random import RandomState
from scipy.stats import rankdata

from pliant.core.blocks import BLOCK_ENTRIES
from pliant.core.estimators import BaseEstimator
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    check_integer,
    check_points,
    check_real,
    check_row_numbers,
    check_weights,
    positive_rows,
)
from pliant.methods.lab_rbf.constants import MIN_THREADED, TINY
from pliant.methods.lab_rbf.kernel import PROFILES, LocalRBFKernel, Warp

Sums: TypeAlias = list[tuple[Array, Array]]
"""F'F, shape (p, p), and F'y, shape (p, q), of each member."""


@dataclass(frozen=True, eq=False)
class Table:
    """Training data: n rows of positive weight."""

    X: Array  # shape (n, d); if a memory map, only blocks and samples are copied
    Y: Array  # targets on the scale of the fit, shape (n, q): asinh(y / unit) if unit is given
    numbers: Indices  # row numbers in the user's data
    weights: Array | None = None  # None if all are 1
    unit: Array | None = None  # shape (q,)

    @classmethod
    def from_arrays(cls, X: Array, Y: Array, sample_weight: npt.ArrayLike | None) -> Table:
        """Build the table of the rows with positive weight."""
        if sample_weight is None:
            return cls(X, Y, np.arange(len(X)))
        rows, weights, X, Y = positive_rows(check_weights(sample_weight, X), X, Y)
        mean = float((weights / len(weights)).sum())
        if not 1e-20 <= mean <= 1e20:  # weighted sums must be finite in float32
            raise ValueError(
                "expected sample_weight with a mean from 1e-20 to 1e+20, got a mean of "
                f"{mean:.3g}; divide the weights by their mean"
            )
        return cls(X, Y, rows, weights)

    def without_equal_weights(self) -> Self:
        """Return the table without weights if all are equal."""
        weights = self.weights
        equal = weights is not None and bool((weights == weights[0]).all())
        return replace(self, weights=None) if equal else self

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_rows(self) -> int:
        """Number of rows to which the coefficients are fitted."""
        return len(self)

    @cached_property
    def scale(self) -> tuple[Array, Array]:
        """Middle and half-range of each target, shape (q,); the half-range of a constant is 1."""
        low, high = self.Y.min(axis=0), self.Y.max(axis=0)
        half = (high - low) / 2
        return np.asarray(low + half), np.where(half > 0, half, 1.0)

    @property
    def mean_weight(self) -> float:
        """Mean weight of the rows."""
        return 1.0 if self.weights is None else float(self.weights.mean())

    @cached_property
    def mean(self) -> Array:
        """Weighted mean of the targets, shape (q,)."""
        return np.asarray(np.average(self.Y, axis=0, weights=self.weights))

    @property
    def feature_range(self) -> tuple[Array, Array]:
        """Minimum and maximum of each feature, float64."""
        return np.asarray(self.X.min(axis=0), float), np.asarray(self.X.max(axis=0), float)

    @property
    def target_range(self) -> tuple[Array, Array]:
        """Minimum and maximum of each target, on the scale of Y."""
        return self.Y.min(axis=0), self.Y.max(axis=0)

    def rows(self, rows: Indices) -> Table:
        """Return the table of the rows at the given positions."""
        weights, numbers = self.weights_of(rows), self.numbers[rows]
        return replace(self, X=self.X[rows], Y=self.Y[rows], numbers=numbers, weights=weights)

    def points(self, rows: Indices) -> Array:
        """Return the points in the given rows, float64."""
        return np.asarray(self.X[rows], dtype=np.float64)

    def weights_of(self, rows: Indices) -> Array | None:
        """Return the weights of the given rows, or None if all are 1."""
        return None if self.weights is None else self.weights[rows]

    def sample(self, rows: Indices, warp: Warp) -> Table:
        """Return the table of the given rows, with transformed features and targets on [-1, 1]."""
        middle, half = self.scale
        scaled = np.asarray((self.Y[rows] - middle) / half)
        return Table(warp(self.X[rows]), scaled, self.numbers[rows], self.weights_of(rows))

    def with_asinh(self, unit: Array | None) -> Self:
        """Return the table with targets asinh(y / unit), or this table if `unit` is None."""
        return self if unit is None else replace(self, Y=np.arcsinh(self.Y / unit), unit=unit)

    def normal_equations(
        self, members: list[LABRBFMember], n_jobs: int | None, mean: Array | None = None
    ) -> Sums:
        """Sum F'F and F'(y - mean) of each member over blocks of rows, on several threads."""
        mean = self.mean if mean is None else mean
        width = max(len(member.support_) for member in members) + self.X.shape[1]
        threads = threads_for(n_jobs, worth_it=len(self) * width >= MIN_THREADED)
        parts = Parallel(n_jobs=threads, require="sharedmem", return_as="generator")(
            delayed(_block_sums)(members, self, mean, rows) for rows in row_blocks(len(self), width)
        )
        return reduce(add_sums, parts)


class Terms(NamedTuple):
    """Intermediate values of an expansion at n points, for m centres."""

    points: Array  # transformed points u, shape (n, d)
    centres: Array  # transformed centres, shape (m, d)
    squares: Array  # W = theta o theta, shape (m, d)
    distances: Array  # D, shape (n, m)
    kernel: Array  # h(D), shape (n, m)
    slopes: Array  # h'(D), shape (n, m)


class LABRBFMember(BaseEstimator):
    """LAB-RBF expansion f(t) = K(t, C) c + u(t)'v + b; `LABRBFRegressor` averages several.

    Attributes
    ----------
    kernel_ : LocalRBFKernel
        Kernel k(t, c_i) = h(|theta_i o (u(t) - u(c_i))|^2).
    support_ : array of shape (n_support,)
        Indices of the centres in the training data.
    n_learned_ : int
        Number of centres with learned bandwidths; they come first. Every other centre has the
        bandwidths of the nearest centre with learned ones.
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
        Objective for the bandwidths.
    alpha_, shrinkage_ : float
        Ridge and shrinkage penalties selected on the held-out samples. A shrinkage of inf means one
        bandwidth per feature.
    log_penalty_ : float
        Logarithm of the ridge penalty for the bandwidths, learned with the objective "evidence".
    validation_score_ : float
        R2 on the member's held-out samples; nan without held-out samples.
    objective_history_ : array of shape (n_iter_,)
        Objective after each step, over all stages.
    changes_ : array of shape (n_features,)
        Mean squared change of f when a feature is permuted, relative to the variance of f.
    support_slopes_ : array of shape (n_support, n_features)
        Mean squared slopes of each term of f, times the variance of each transformed feature.
    deviations_ : array of shape (n_features,)
        Standard deviations of the transformed features.
    """

    kernel_: LocalRBFKernel
    support_: Indices
    n_learned_: int
    dual_coef_: Array
    linear_coef_: Array
    intercept_: Array
    warp_: Warp
    limits_: Array
    linear_: bool
    objective_: Literal["ridge", "evidence", "interpolation"]
    alpha_: float
    shrinkage_: float
    log_penalty_: float
    validation_score_: float
    objective_history_: Array
    changes_: Array
    support_slopes_: Array
    deviations_: Array

    def mapped_bandwidths(self) -> Array:
        """Return theta for features on [-1, 1]; 0 for constant features."""
        theta, slopes = self.kernel_.bandwidths, self.warp_.slopes
        if self.kernel_.warp is not None:
            return theta
        return np.divide(theta, slopes, out=np.zeros_like(theta), where=slopes > 0)

    def features(self, X: Array) -> Array:
        """Compute F = [K(X, C), u(X)], or K(X, C) without a linear part."""
        X = X.clip(*self.limits_)
        kernel = self.kernel_.values(X)
        return np.hstack([kernel, self.warp_(X)]) if self.linear_ else kernel

    def set_coefficients(self, a: Array, intercept: Array) -> None:
        """Set the coefficients [c; v] and b."""
        m, d = self.kernel_.centres.shape
        self.dual_coef_, self.intercept_ = a[:m], np.asarray(intercept)
        self.linear_coef_ = a[m:] if self.linear_ else np.zeros((d, a.shape[1]))

    def expand(self, X: Array) -> Array:
        """Compute f at each point, shape (n_samples, n_outputs)."""
        X = X.clip(*self.limits_)
        f = self.kernel_.times(X, self.dual_coef_) + self.intercept_
        return f + self.warp_(X) @ self.linear_coef_ if self.linear_ else f

    def linear_part(self) -> tuple[Array, Array]:
        """Return the coefficients of x, or of u(x) if u is not affine, and the intercept."""
        # u = (x - centre) o slope: u'v + b = x'(slope o v) + b - centre'(slope o v)
        if not self.warp_.affine:
            return self.linear_coef_, self.intercept_
        coef = self.warp_.slopes[:, None] * self.linear_coef_
        return coef, self.intercept_ - self.warp_.centres @ coef

    def terms(self, X: Array) -> Terms:
        """Compute squared distances, kernel values and slopes at given points."""
        X, theta = X.clip(*self.limits_), self.mapped_bandwidths()
        D = self.kernel_.squares(X)
        profile = PROFILES[self.kernel_.profile]
        K = profile.value(np, D.copy())
        slopes = profile.factor * profile.slope(np, D, K)
        return Terms(self.warp_(X), self.warp_(self.kernel_.centres), theta * theta, D, K, slopes)

    def measure(self, X: Array) -> None:
        """Measure the effect of each feature on f and its terms, averaged over X."""
        terms = self.terms(X)
        u, C, W = terms.points, terms.centres, terms.squares
        size = np.abs(np.vstack([self.dual_coef_, self.linear_coef_])).max(axis=0)
        size = np.where(size > 0, size, 1.0)  # gives all outputs equal weight
        c, v = self.dual_coef_ / size, self.linear_coef_ / size
        self.changes_ = self._permutation_changes(terms, c, v)
        # The sum over points of (h'(D_i) (u - c_i))^2, expanded in powers of u: shape (m, d).
        squares = terms.slopes * terms.slopes
        ones = squares.sum(axis=0)[:, None]
        parts = squares.T @ (u * u) - 2.0 * C * (squares.T @ u) + C * C * ones
        parts = np.maximum(parts, 0.0)  # rounding may give values < 0 if all points are far away
        parts *= 4.0 * W * W * (c * c).sum(axis=1)[:, None] / len(X)
        variance = u.var(axis=0)
        self.support_slopes_ = parts * variance
        self.deviations_ = np.sqrt(variance)

    def _permutation_changes(self, terms: Terms, c: Array, v: Array) -> Array:
        """Compute the mean squared change of f when a feature is permuted, relative to var(f)."""
        n = len(terms.points)
        rows = np.linspace(0, n - 1, min(n, 200)).astype(np.intp)  # see feature_relevance_
        u, D, f = terms.points[rows], terms.distances[rows], terms.kernel[rows] @ c
        variance = np.maximum((f + u @ v).var(axis=0), float(np.finfo(np.float64).eps) ** 2)
        permuted = u[RandomState(0).permutation(len(u))]
        profile, changes = PROFILES[self.kernel_.profile], np.zeros(u.shape[1])
        for j, (W, C) in enumerate(zip(terms.squares.T, terms.centres.T, strict=True)):
            moved = np.flatnonzero(permuted[:, j] != u[:, j])
            old, new = u[moved, j], permuted[moved, j]
            # The term W_ij (u_j - c_ij)^2 of the squared distance changes by W_ij (new^2 - old^2)
            # + 2 W_ij c_ij (old - new): one matrix product, shape (n, m).
            distances = np.column_stack([new * new - old * old, old - new]) @ [W, 2.0 * W * C]
            distances += D[moved]
            kernel = profile.value(np, np.maximum(distances, 0.0, out=distances))
            change = kernel @ c - f[moved] + np.outer(new - old, v[j])
            changes[j] = ((change * change).sum(axis=0) / variance).mean() / len(u)
        return changes

    def relevance(self) -> Array:
        """Return each feature's share of the sum of `changes_`, shape (n_features,)."""
        return np.asarray(self.changes_ / max(float(self.changes_.sum()), TINY))

    def _check_loaded(self) -> None:
        parts: tuple[object, object] = (self.kernel_, self.warp_)
        if not isinstance(parts[0], LocalRBFKernel) or not isinstance(parts[1], Warp):
            raise ValueError("expected kernel_ to be a LocalRBFKernel and warp_ to be a Warp")
        m, d = self.kernel_.centres.shape
        q = check_points(self.dual_coef_, "dual_coef_").shape[1]
        shapes = {"dual_coef_": (m, q), "linear_coef_": (d, q), "intercept_": (q,)}
        shapes |= {"limits_": (2, d), "support_": (m,), "support_slopes_": (m, d), "changes_": (d,)}
        shapes |= {"deviations_": (d,), "log_penalty_": ()}
        for name, shape in shapes.items():
            value = np.asarray(getattr(self, name))
            numeric = value.dtype.kind in "iuf"
            if value.shape != shape or not numeric or not np.isfinite(value).all():
                raise ValueError(f"expected finite {name} of shape {shape}, got {value.shape}")
        if self.warp_.slopes.shape != (d,) or not isinstance(self.linear_, bool):
            raise ValueError(f"expected warp_ with {d} features, and linear_ True or False")
        check_row_numbers("support_", self.support_)
        check_integer("n_learned_", self.n_learned_, least=1)
        check_real("alpha_", self.alpha_, above=0)


@blas_limited
def mean_expansion(members: list[LABRBFMember], X: Array) -> Array:
    """Compute the mean of the members' expansions, shape (n_samples, n_outputs)."""
    points = np.asarray(X, dtype=np.float64)
    return np.asarray(sum(member.expand(points) for member in members) / len(members))


def feature_limits(table: Table) -> Array:
    """Compute the range of each feature, extended at both ends, shape (2, n_features)."""
    low, high = table.feature_range
    margin = (high - low) / 8
    return np.stack([low - margin, high + margin])


def join_kernels(parts: list[LocalRBFKernel]) -> LocalRBFKernel:
    """Join kernels with the same transform into one kernel with all centres."""
    return LocalRBFKernel(
        np.vstack([part.centres for part in parts]),
        np.vstack([part.bandwidths for part in parts]),
        parts[0].profile,
        parts[0].warp,
    )


def correlated_pairs(X: Array) -> Indices:
    """Find pairs of columns with |Spearman's correlation| > 0.8, strongest first."""
    correlations = np.corrcoef(rankdata(X, axis=0), rowvar=False)  # nan for a constant column
    strength = np.triu(np.abs(np.atleast_2d(correlations)), k=1)
    pairs = np.argwhere(strength > 0.8)
    order = np.argsort(-strength[pairs[:, 0], pairs[:, 1]], kind="stable")
    return np.asarray(pairs[order[:1000]], dtype=np.intp)


@blas_limited
def _block_sums(members: list[LABRBFMember], table: Table, mean: Array, rows: slice) -> Sums:
    """Sum the normal equations of one block of rows."""
    X = np.asarray(table.X[rows], dtype=np.float64)
    residual = table.Y[rows] - mean
    weights = None if table.weights is None else table.weights[rows, None]
    sums: Sums = []
    for member in members:
        F = member.features(X)
        weighted = F if weights is None else F * weights
        sums.append((weighted.T @ F, weighted.T @ residual))
    return sums


def add_sums(one: Sums, other: Sums) -> Sums:
    """Add the normal equations of two blocks."""
    return [(A + C, b + d) for (A, b), (C, d) in zip(one, other, strict=True)]


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Iterate over blocks of rows with about BLOCK_ENTRIES numbers, `width` per row."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    for low in range(0, n_rows, step):
        yield slice(low, low + step)
