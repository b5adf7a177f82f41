"""One fitted LAB-RBF expansion."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

from pliant.core.blocks import BLOCK_ENTRIES
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points, check_real
from pliant.methods.lab_rbf.data import Table
from pliant.methods.lab_rbf.kernel import LocalRBFKernel
from pliant.methods.lab_rbf.objective import ridge_path
from pliant.methods.lab_rbf.profiles import PROFILES
from pliant.methods.lab_rbf.recipe import Learned, Recipe
from pliant.methods.lab_rbf.warp import Warp

__all__ = ["LABRBFMember", "fit_coefficients", "row_blocks"]

TINY = float(np.finfo(np.float64).tiny)


class LABRBFMember(BaseEstimator):
    """One LAB-RBF expansion f(t) = K(t, C) c + u(t)'v + b, as `LABRBFRegressor` learns several.

    Attributes
    ----------
    kernel_ : LocalRBFKernel
        k(t, c_i) = h(|theta_i o (u(t) - u(c_i))|^2).
    support_ : array of shape (m,)
        Rows of the training data that the centres are.
    dual_coef_ : array of shape (m, q)
        c, one column for each output.
    coef_ : array of shape (d, q)
        v, of the mapped features; zeros without a linear part.
    intercept_ : array of shape (q,)
        b.
    warp_ : Warp
        u, the map of the features to [-1, 1].
    linear_ : bool
        Whether there is a linear part.
    objective_ : str
        What the bandwidths minimise.
    alpha_, shrinkage_ : float
        The ridge and the penalty that the held-out rows chose; a shrinkage of inf means one
        bandwidth for each feature.
    validation_score_ : float
        1 - the loss on this member's held-out rows, relative to that of a constant.
    objective_history_ : array of shape (n_iter_,)
        The objective after each step, one stage after the other.
    slopes_, support_slopes_ : arrays of shape (d,) and (m, d)
        Mean squared slopes of f, and of each term of it.
    """

    kernel_: LocalRBFKernel
    support_: Indices
    dual_coef_: Array
    coef_: Array
    intercept_: Array

    @classmethod
    def of(
        cls, learned: Learned, recipe: Recipe, warp: Warp, support: Indices, points: Array
    ) -> Self:
        """Return the member with learned bandwidths; its coefficients are still to come."""
        member = cls()
        theta = np.exp(learned.log_squares / 2)
        if warp.affine:
            member.kernel_ = LocalRBFKernel(points, theta * warp.slopes, recipe.profile)
        else:
            member.kernel_ = LocalRBFKernel(points, theta, recipe.profile, warp)
        member.support_, member.warp_ = support, warp
        member.linear_, member.objective_ = recipe.linear, recipe.objective
        member.alpha_, member.shrinkage_ = float(learned.alpha), float(learned.shrinkage)
        member.validation_score_ = float(1.0 - learned.loss)
        member.objective_history_ = np.array(learned.history, dtype=np.float64)
        return member

    def features(self, X: Array) -> Array:
        """Return [K(X, C), u(X)] (without u(X), if there is no linear part)."""
        kernel = self.kernel_(X, self.kernel_.centres)
        return np.hstack([kernel, self.warp_(X)]) if self.linear_ else kernel

    def set_coefficients(self, a: Array, intercept: Array) -> Self:
        """Take the coefficients [c; v] and b."""
        m, d = self.kernel_.centres.shape
        self.dual_coef_, self.intercept_ = a[:m], np.asarray(intercept)
        self.coef_ = a[m:] if self.linear_ else np.zeros((d, a.shape[1]))
        return self

    def expand(self, X: Array) -> Array:
        """Return f of each point, shape (n, q)."""
        f = self.kernel_(X, self.kernel_.centres) @ self.dual_coef_ + self.intercept_
        return f + self.warp_(X) @ self.coef_ if self.linear_ else f

    def linear_part(self) -> tuple[Array, Array]:
        """Return what multiplies the features, (d, q), and the constant, (q,).

        Of the features themselves if all keep their scale, else of the mapped ones.
        """
        if not self.warp_.affine:
            return self.coef_, self.intercept_
        coef = self.warp_.slopes[:, None] * self.coef_
        return coef, self.intercept_ - self.warp_.centres @ coef

    def measure_slopes(self, X: Array) -> None:
        """Keep the slopes over some points."""
        self.slopes_, self.support_slopes_ = self._slopes(X)

    def _slopes(self, X: Array) -> tuple[Array, Array]:
        """Return mean squared slopes, times the variance of each mapped feature.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        whole : array of shape (d,)
            Of f along each feature, summed over the outputs, each of which sums to 1.
        bumps : array of shape (m, d)
            Of each term c_i k(t, c_i).
        """
        u, C = self.warp_(X), self.warp_(self.kernel_.centres)
        theta = self.kernel_.bandwidths
        if self.kernel_.warp is None:
            known = self.warp_.slopes > 0
            theta = np.divide(theta, self.warp_.slopes, out=np.zeros_like(theta), where=known)
        W, D = theta * theta, self.kernel_.squares(X)
        profile = PROFILES[self.kernel_.profile]
        slopes = profile.factor * profile.slope(np, D, profile.value(np, D.copy()))
        whole = np.zeros(X.shape[1])
        spread = u.var(axis=0)
        size = np.abs(np.vstack([self.dual_coef_, self.coef_])).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        for c, v in zip((self.dual_coef_ / size).T, (self.coef_ / size).T, strict=True):
            weighted = slopes * c
            gradient = 2.0 * (u * (weighted @ W) - weighted @ (W * C)) + v
            part = (gradient * gradient).mean(axis=0) * spread
            whole += part / max(float(part.sum()), TINY)  # each output counts alike
        squares = slopes * slopes
        ones = squares.sum(axis=0)[:, None]
        bumps = squares.T @ (u * u) - 2.0 * C * (squares.T @ u) + C * C * ones
        sizes = ((self.dual_coef_ / size) ** 2).sum(axis=1)[:, None]
        bumps *= 4.0 * W * W * sizes / len(X)
        return whole, bumps * spread

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
            "slopes_": (d,),
            "support_slopes_": (m, d),
        }
        for name, shape in shapes.items():
            value = np.asarray(getattr(self, name))
            if (
                value.shape != shape
                or value.dtype.kind not in "iuf"
                or not np.isfinite(value).all()
            ):
                raise ValueError(f"expected finite {name} of shape {shape}, got {value.shape}")
        if self.warp_.slopes.shape != (d,) or not isinstance(self.linear_, bool):
            raise ValueError(f"expected warp_ of {d} features and linear_ True or False")
        check_real("alpha_", self.alpha_, above=0)
        check_real("shrinkage_", self.shrinkage_, least=0, infinite=True)
        if not isinstance(self.validation_score_, float):
            raise ValueError(f"expected validation_score_, got {self.validation_score_!r:.80}")
        if np.asarray(self.objective_history_).dtype.kind != "f":
            raise ValueError("expected objective_history_ of numbers")


def fit_coefficients(members: list[LABRBFMember], table: Table, n_jobs: int | None = None) -> None:
    """Set c, v and b of members to their ridge fits on all rows, in one pass over them.

    The intercept is the weighted mean of Y, as it was while bandwidths were learned.

    Parameters
    ----------
    members : list of LABRBFMember
    table : Table
        n rows.
    n_jobs : int, optional
        Threads, each with a block of rows.
    """
    mean = np.average(table.Y, axis=0, weights=table.weights)
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


def _sums(members: list[LABRBFMember], table: Table, rows: slice, mean: Array) -> Sums:
    """Return what the ridge fits need of one block of rows."""
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


def row_blocks(rows: int, width: int) -> Iterator[slice]:
    """Go through rows in blocks of about BLOCK_ENTRIES numbers of `width` a row."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    return (slice(low, low + step) for low in range(0, rows, step))
