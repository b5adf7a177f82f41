"""A base kernel times an adaptive matrix F, entry by entry, with a rule for new points.

DANK and KNPL learn a PSD matrix F for the pairs of n training points. With K their Gram matrix,
c = 1/(4 eta), A_ij = beta_i K_ij beta_j and P = I - 11'/n, it minimises
-1/2 beta'(F o K) beta + eta penalty(F):

    form         penalty                      F
    quartic      |F - 11'|^2                  11' + c A                      DANK, tau = 0
    threshold    |F - 11'|^2 + tau trace F    (11' + c A - (tau/2) I)_+      DANK, tau > 0
    centred      |F|^2,  F1 = n1              11' + c P A P                  KNPL

(Liu et al. 2020, problem (4) and equation (9); Liu et al. 2018, problem (4)). Each form extends to
any two points x, y through a function b with b(x_i) = beta_i, and stays PSD: with
a(x, y) = b(x) k(x, y) b(y), S = 11' + c A = U diag(l) U' above tau/2, and s = l - tau/2,

    quartic      F(x, y) = 1 + c a(x, y)
    threshold    F(x, y) = p(x)'p(y),  p(x) = (1' + c a(x, X)) U diag(sqrt(s)/l)
    centred      F(x, y) = 1 + c (a(x, y) - m(x) - m(y) + mean_i m(x_i)),  m(x) = mean_i a(x, x_i)

A point enters through its profile: nothing, p(x) or m(x), which need k(x, x_i) for the support
points only (where beta is not zero): it is computed from b(x) and the products k(x, X) W, where the
weights W are nothing, diag(beta) U or beta. F is never formed. The learned kernel is

    k_new(x, y) = k(x, y) F(x~, y~),

where the rule for new points (see `pliant.core.kernels.extension`) chooses b and x~: "smooth" has
x~ = x and b an interpolation of beta; "nearest" and "reciprocal" have x~ = x_i and b = beta_i for
one training point i; "none" has F = 1. As each F is PSD, so is k_new if k is.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.kernels.extension import (
    CoordinateNeighbors,
    GramNeighbors,
    Neighbors,
    nearest,
    reciprocal,
    smooth,
)
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_integer, check_points, check_real
from pliant.methods.hadamard.adaptive_matrix import AdaptiveMatrix
from pliant.methods.hadamard.forms import CentredForm, Form, QuarticForm, ThresholdForm
from pliant.methods.hadamard.problem import Spectrum, row_blocks

EXTENSIONS = ("none", "nearest", "reciprocal", "smooth")
"""The rules for new points."""

CHECKED = 16
"""Number of support points at which sums that were read from a file are computed again."""


@dataclass(frozen=True, eq=False)
class _Placed:
    """Points x~ with their coefficients b and their profiles."""

    points: Array
    b: Array
    profile: Array


class AdaptedKernel(Kernel):
    """A base kernel times an adaptive matrix; what it computes from its attributes is cached."""

    _cached: ClassVar[tuple[str, ...]]
    """What a kernel computes from its attributes when it is needed."""

    _kept: ClassVar[tuple[str, ...]] = ()
    """The part of it that pickles and model files keep, as it takes long to compute."""

    base: Kernel
    points: Array
    beta: Array
    eta: float

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether the base kernel is positive semi-definite."""
        return self.base.psd

    @property
    def quartic(self) -> float:
        """The factor c = 1/(4 eta) of the learned part."""
        return 1.0 / (4.0 * check_real("eta", self.eta, least=1e-300, infinite=True))

    @cached_property
    def support(self) -> Indices:
        """The numbers of the training points with beta != 0."""
        return np.flatnonzero(self.beta)

    @property
    @abstractmethod
    def rank(self) -> int | None:
        """The rank of F, where it is known."""

    @property
    @abstractmethod
    def groups(self) -> Indices:
        """A number for each training point; equal points without beta share their row of F."""

    @abstractmethod
    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points, shape (len(rows), len(columns))."""

    def adaptation(self) -> AdaptiveMatrix:
        """Return F on the training points; between different parts it is one."""
        return AdaptiveMatrix(self)

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.base._check_pair(X, Y)

    def __setattr__(self, name: str, value: Any) -> None:
        """Drop what was computed from the old value; a Gaussian process sets an empty theta."""
        if name != "theta":
            self._forget(self.__dict__, self._cached + self._kept)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be computed again."""
        state = dict(super().__getstate__())
        self._forget(state, self._cached)
        return state

    @staticmethod
    def _forget(attributes: dict[str, Any], names: tuple[str, ...]) -> None:
        for name in names:
            attributes.pop(name, None)


class HadamardKernel(AdaptedKernel):
    """The kernel that DANK and KNPL learn: k(x, y) F(x, y).

    Parameters
    ----------
    base : Kernel
        k, positive semi-definite.
    points : array of shape (n, d)
        The training points, float64.
    beta : array of shape (n,)
        Their signed dual coefficients.
    eta : float
        >= 1e-300, may be inf: the weight of the penalty of F.
    extension : {"smooth", "nearest", "reciprocal", "none"}
        The rule for new points.
    n_neighbors : int
        >= 1, for "smooth".
    tau : float
        >= 0, < 2n: the weight of the trace of F, relative to eta (DANK).
    centred : bool
        Whether the rows of F sum to n (KNPL); then tau = 0.
    """

    _cached = ("_neighbors", "_pooled", "support", "form", "_at_support", "_table", "_products")
    _kept = ("support_sums", "eigenpairs")

    def __init__(
        self,
        base: Kernel,
        points: Array,
        beta: Array,
        eta: float = np.inf,
        extension: str = "smooth",
        n_neighbors: int = 5,
        tau: float = 0.0,
        centred: bool = False,
    ) -> None:
        self.base = base
        self.points = points
        self.beta = beta
        self.eta = eta
        self.extension = extension
        self.n_neighbors = n_neighbors
        self.tau = tau
        self.centred = centred

    @property
    def _rule(self) -> str:
        """The rule for new points; "none" if no coefficient or c is zero."""
        rule = check_choice("extension", self.extension, EXTENSIONS)
        return rule if self.support.size and self.quartic else "none"

    def _gram(self, X: Array, Y: Array) -> Array:
        gram = self.base._gram(X, Y)
        if self._rule == "none":
            return gram
        if self._rule == "smooth":
            right = self._at_support if self._is_support(Y) else self._by_coordinates(Y)
            left = (
                right
                if Y is X
                else self._by_coordinates(X, gram if right is self._at_support else None)
            )
            adapted = self._change(gram, left, right)
        else:
            place = self._place(X)
            adapted = self._copied(place, place if Y is X else self._place(Y))
        adapted += 1.0
        adapted *= gram
        return adapted

    def _diagonal(self, X: Array) -> Array:
        diagonal = self.base._diagonal(X)
        if self._rule == "none":
            return diagonal
        if self._rule == "smooth":
            change = self._change_of_each(self._by_coordinates(X))
        else:
            place, back = np.unique(self._place(X), return_inverse=True)
            change = self._change_of_each(self._trained(place))[back]
        return np.asarray(diagonal * (1.0 + change))

    def _by_coordinates(self, X: Array, cross: Array | None = None) -> _Placed:
        """Return points at their own coordinates (x~ = x); `cross`, if known, is k(X, support)."""
        b, weights = self._smooth(X), self.form.weights(self.beta[self.support])
        products = self._times(X, weights) if cross is None else cross @ weights
        return _Placed(X, b, self.form.profile(b, products))

    def _times(self, X: Array, weights: Array) -> Array:
        """Return k(X, support) @ weights, shape (m, q), in blocks of rows."""
        points, products = self.points[self.support], np.empty((len(X), weights.shape[1]))
        if products.size:
            for rows in row_blocks(len(X), len(points)):
                products[rows] = self.base._gram(X[rows], points) @ weights
        return products

    @cached_property
    def support_sums(self) -> Array:
        """K beta at the support points, shape (s,), for the means of the centred form.

        Only half of the kernel values are computed, by symmetry: each block of rows starts at the
        diagonal, and what is to its right counts for the columns too.
        """
        points, beta = self.points[self.support], self.beta[self.support]
        sums = np.zeros(len(points))
        for rows in row_blocks(len(points), len(points)):
            gram = self.base._gram(points[rows], points[rows.start :])
            sums[rows] += gram @ beta[rows.start :]
            sums[rows.stop :] += beta[rows] @ gram[:, rows.stop - rows.start :]
        return sums

    def prepare(self, spectrum: Spectrum | None = None) -> None:
        """Compute now what takes long, so that the first prediction need not.

        `spectrum` is that of the threshold form, if it is known; pickles and model files keep it.
        """
        if self.centred and self._rule != "none":
            _ = self.support_sums
        if spectrum is not None and spectrum.values.size and self.tau and self._rule != "none":
            self.__dict__["eigenpairs"] = spectrum.packed()

    @property
    def _spectrum(self) -> Spectrum:
        """The eigenpairs of the threshold form: those of the fit, if it has kept them."""
        n, support, known = len(self.points), self.support, vars(self).get("eigenpairs")
        if known is not None:
            return Spectrum.unpacked(known, n)
        c, tau = self.quartic, float(self.tau)
        return Spectrum.of(self._between, support, self.beta[support], c, tau, n)

    def _trained(self, indices: Indices) -> _Placed:
        """Return training points, with the coefficients that were learned."""
        table, row_of = self._table
        return _Placed(self.points[indices], self.beta[indices], table[row_of[indices]])

    @cached_property
    def _table(self) -> tuple[Array, Indices]:
        """Profiles of the support points and, last, of all others; each point's row among them."""
        b = np.append(self.beta[self.support], 0.0)
        products = np.vstack([self._products, np.zeros(self._products.shape[1])])
        row_of = np.full(len(self.points), len(self.support))
        row_of[self.support] = np.arange(len(self.support))
        return self.form.profile(b, products), row_of

    @cached_property
    def _products(self) -> Array:
        """The products from which the profiles of the support points are computed, (s, q)."""
        if self.centred:
            return self.support_sums[:, None]
        weights = self.form.weights(self.beta[self.support])
        return self._times(self.points[self.support], weights)

    def _change(self, gram: Array, left: _Placed, right: _Placed) -> Array:
        """Return F - 1 between points, given k between them."""
        learned = left.b[:, None] * gram
        learned *= right.b
        return self.form.change(learned, left.profile, right.profile)

    def _change_of_each(self, placed: _Placed) -> Array:
        learned = placed.b**2 * self.base._diagonal(placed.points)
        return self.form.change_of_each(learned, placed.profile)

    def _copied(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points that may occur many times."""
        left, row_of = np.unique(rows, return_inverse=True)
        right, column_of = np.unique(columns, return_inverse=True)
        return self.change_between(left, right)[row_of[:, None], column_of]

    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points, with the coefficients that were learned."""
        gram = self._between(rows, columns)
        return self._change(gram, self._trained(rows), self._trained(columns))

    @property
    def rank(self) -> int | None:
        """The rank of F, where it is known."""
        return self.form.rank

    @property
    def groups(self) -> Indices:
        """Zeros, shape (n,): all points without beta share one row of F."""
        return np.zeros(len(self.points), dtype=np.intp)

    def in_places(self, X: Array, places: Indices) -> Array:
        """Return k(x, x_j) F(x~, x_j) for all support points x_j, shape (m, s).

        `places`, shape (m,), has for each row x of X the number of the training point x~ whose
        row of F it takes.
        """
        gram = self.base._gram(X, self.points[self.support])
        if not (self.support.size and self.quartic):
            return gram
        adapted = self._copied(places, self.support)
        adapted += 1.0
        adapted *= gram
        return adapted

    def _between(self, rows: Indices, columns: Indices) -> Array:
        """Return k between training points."""
        if not rows.size or not columns.size:
            return np.empty((rows.size, columns.size))
        return self.base._gram(self.points[rows], self.points[columns])

    def learned(self, rows: Indices, columns: Indices) -> Array:
        """Return A_ij = beta_i K_ij beta_j between training points."""
        gram = self._between(rows, columns)
        return np.asarray(self.beta[rows, None] * gram * self.beta[columns])

    @cached_property
    def form(self) -> Form:
        """The closed form of F."""
        self._check_form()
        n, c, support, tau = len(self.points), self.quartic, self.support, float(self.tau)
        if tau and not self.centred and c and support.size:
            return ThresholdForm(c, tau, self._spectrum)
        if not self.centred:
            return QuarticForm(c)
        return CentredForm(c, n, float(self.beta[support] @ self.support_sums) / n**2)

    def _check_form(self) -> None:
        """Raise ValueError unless eta, tau and centred name one of the closed forms."""
        check_real("eta", self.eta, least=1e-300, infinite=True)
        limit = 2 * len(self.points)
        if check_real("tau", self.tau, least=0) >= limit:
            raise ValueError(f"expected tau < 2n = {limit}, got {self.tau!r}")
        if not isinstance(self.centred, bool | np.bool_):
            raise ValueError(f"expected centred True or False, got {self.centred!r}")
        if self.centred and self.tau > 0:
            raise ValueError(f"expected tau = 0 for a centred kernel, got {self.tau!r}")

    @cached_property
    def _at_support(self) -> _Placed:
        points = self.points[self.support]
        b = self._smooth(points)
        return _Placed(points, b, self.form.profile(b, self._products))

    def _is_support(self, Y: Array) -> bool:
        """Whether Y are the support points, which `_at_support` keeps."""
        return len(Y) == self.support.size and np.array_equal(Y, self.points[self.support])

    def _smooth(self, X: Array) -> Array:
        """Return b at each row of X, shape (m,)."""
        k = check_integer("n_neighbors", self.n_neighbors, least=1)
        return smooth(self._neighbors, X, self._pooled, k)

    def _place(self, X: Array) -> Indices:
        """Return the number of the training point x~ for each row of X, shape (m,)."""
        rule = nearest if self._rule == "nearest" else reciprocal
        return rule(self._neighbors, X)

    @cached_property
    def _neighbors(self) -> Neighbors:
        if isinstance(self.base, Precomputed):
            return GramNeighbors(self.base, self.points)
        return CoordinateNeighbors(self.points)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        super()._check_loaded()
        points, beta = check_points(self.points, "points"), np.asarray(self.beta)
        if beta.shape != (len(points),) or beta.dtype != np.float64 or not np.isfinite(beta).all():
            raise ValueError(f"expected {len(points)} finite coefficients, got shape {beta.shape}")
        self.base._check_pair(points, points)
        check_integer("n_neighbors", self.n_neighbors, least=1)
        check_choice("extension", self.extension, EXTENSIONS)
        self._check_form()
        self._forget(self.__dict__, self._cached)
        if "support_sums" in vars(self):
            self._check_sums(self.support_sums)
            self._forget(self.__dict__, self._cached)
        if "eigenpairs" in vars(self):
            self._check_eigenpairs(vars(self)["eigenpairs"])
            self._forget(self.__dict__, self._cached)

    def _check_sums(self, sums: Any) -> None:
        """Raise ValueError unless `sums`, read from a file, are right at some support points."""
        support, sums = self.support, np.asarray(sums)
        if sums.shape != support.shape or sums.dtype != np.float64 or not np.isfinite(sums).all():
            raise ValueError(f"expected {len(support)} finite support_sums, got {sums!r}")
        some = np.unique(np.linspace(0, max(len(support) - 1, 0), CHECKED).astype(np.intp))
        some = some[: len(support)]
        gram, beta = self._between(support[some], support), self.beta[support]
        error = np.abs(sums[some] - gram @ beta)
        if (error > 1e-8 * (np.abs(gram) @ np.abs(beta))).any():
            raise ValueError(
                f"expected support_sums to be the sums of kernel values times beta, got {sums!r}"
            )

    def _check_eigenpairs(self, pairs: Any) -> None:
        """Raise ValueError unless `pairs`, read from a file, are eigenpairs above tau/2.

        The vectors are orthonormal, and each is an eigenvector at some support points.
        """
        support, n, pairs = self.support, len(self.points), np.asarray(pairs)
        fits = pairs.ndim == 2 and len(pairs) == len(support) + 2 and pairs.dtype == np.float64
        fits = fits and bool(pairs.size and len(support) and np.isfinite(pairs).all())
        if fits:
            spectrum = Spectrum.unpacked(pairs, n)
            vectors, values, others = spectrum.support, spectrum.values, spectrum.others
            squares = vectors.T @ vectors + (n - len(support)) * np.outer(others, others)
            some = np.unique(np.linspace(0, len(support) - 1, CHECKED).astype(np.intp))
            images = spectrum.sums + self.quartic * self.learned(support[some], support) @ vectors
            errors = np.abs(images - vectors[some] * values)
            fits = (
                bool((values > 0.5 * self.tau).all() and (np.diff(values) <= 0.0).all())
                and float(np.abs(squares - np.eye(len(values))).max()) <= 1e-6
                and float(errors.max()) <= 1e-6 * float(values[0])
            )
        if not fits:
            raise ValueError(
                f"expected eigenpairs of 1 + A/(4 eta) above tau/2, got an array of shape "
                f"{pairs.shape} that does not hold them"
            )

    @cached_property
    def _pooled(self) -> Array:
        return self._neighbors.pool(self.beta)
