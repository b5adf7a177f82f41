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

A point enters through its profile: nothing, p(x) or m(x). It is computed from b(x) and the products
k(x, X) W, for the support points only (where beta is not zero), with the weights W nothing,
diag(beta) U or beta. F is never formed. The learned kernel is

    k_new(x, y) = k(x, y) F(x~, y~),

where the rule for new points (see `pliant.kernels.extension`) chooses b and x~: "smooth" has
x~ = x and b an interpolation of beta; "nearest" and "reciprocal" have x~ = x_i and b = beta_i for
one training point i; "none" has F = 1. As each F is PSD, so is k_new if k is.

A kernel learned in parts has a centre and an adaptive matrix F_p for each part p, in the quartic or
centred form; pi(x) is the part of the nearest centre:

    k_new(x, y) = k(x, y) F_p(x, y)        where pi(x) = pi(y) = p
                  k(x, y), or 0            between different parts

The first choice is the minimiser F = 1 between parts of the block problem (Liu et al. 2020,
problem (20)); the second makes each part a model of its own, the block-diagonal F that the paper
prints. Both are PSD if k is: F - 11' is block-diagonal and PSD. For KNPL each block of F - 11' is
centred: the rows of F sum to n_p within a part of n_p points and, with F = 1 between parts, to n.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from pliant.core.linalg import nearest_rows
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_integer, check_points, check_real
from pliant.kernels.base import Kernel
from pliant.kernels.extension import (
    CoordinateNeighbors,
    GramNeighbors,
    Neighbors,
    nearest,
    reciprocal,
    smooth,
)
from pliant.kernels.standard import Precomputed
from pliant.methods.dank.problem import (
    AdaptationSpectrum,
    CentredForm,
    Form,
    QuarticForm,
    ThresholdForm,
    row_blocks,
)

Extension: TypeAlias = Literal["none", "nearest", "reciprocal", "smooth"]
EXTENSIONS = get_args(Extension)
"""The rules for new points."""

Between: TypeAlias = Literal["one", "zero"]
BETWEEN = get_args(Between)
"""F between points of different parts."""


class AdaptiveMatrix:
    """F on n training points, in implicit form.

    Parameters
    ----------
    kernel : HadamardKernel or PartitionedKernel
        The learned kernel.
    """

    def __init__(self, kernel: AdaptedKernel) -> None:
        self.kernel = kernel

    def __len__(self) -> int:
        """Return n."""
        return len(self.kernel.points)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, n)."""
        return len(self), len(self)

    @property
    def radius(self) -> float:
        """The Frobenius norm of F - 11', the size of the adaptation."""
        points, sizes = self._representatives()
        total = 0.0  # the entry of a pair of representatives counts once for each pair of points
        for rows in row_blocks(len(points), len(points)):
            change = self.kernel.change_between(points[rows], points)
            total += float(sizes[rows] @ change**2 @ sizes)
        return float(np.sqrt(total))

    @property
    def rank(self) -> int:
        """The rank of F: the number of eigenvalues above 1e-12 times the largest.

        O(n_support^3) unless the fit has computed it (tau > 0).
        """
        if self.kernel.rank is not None:
            return self.kernel.rank
        # F = E R E', with E the indicators of groups of equal rows and D = E'E their sizes: the
        # eigenvalues of F besides zero are those of D^1/2 R D^1/2.
        points, sizes = self._representatives()
        root, F = np.sqrt(sizes), 1.0 + self.kernel.change_between(points, points)
        values = np.linalg.eigvalsh(root[:, None] * F * root)
        return int((values > 1e-12 * values[-1]).sum())

    def columns(self, indices: Any) -> Array:
        """Return the columns `indices` (a number, a slice or an array), shape (n, m)."""
        everything = np.arange(len(self))
        return 1.0 + self.kernel.change_between(everything, np.atleast_1d(everything[indices]))

    def toarray(self) -> Array:
        """Return F, shape (n, n)."""
        return self.columns(slice(None))

    def _representatives(self) -> tuple[Indices, Array]:
        """Return the support points and another point of each group, with their multiplicities.

        All points of a group without a coefficient have the same row of F.
        """
        support = self.kernel.support
        others = np.setdiff1d(np.arange(len(self)), support)
        _, first, counts = np.unique(
            self.kernel.groups[others], return_index=True, return_counts=True
        )
        points = np.append(support, others[first])
        return points, np.append(np.ones(len(support)), counts)

    def _check_loaded(self) -> None:
        """Raise ValueError for an attribute from a file that is not a learned kernel."""
        if not isinstance(self.kernel, AdaptedKernel):
            raise ValueError(f"expected a learned kernel, got {type(self.kernel).__name__}")


class PlacedPoints(NamedTuple):
    """Points x~ with their coefficients b and their profiles."""

    points: Array
    b: Array
    profile: Array


class AdaptedKernel(Kernel):
    """A base kernel times an adaptive matrix, with cached properties of its attributes."""

    _cached: ClassVar[tuple[str, ...]]
    """Names of the cached properties."""

    _kept: ClassVar[tuple[str, ...]] = ()
    """Names of cached values that pickles and model files keep, as they take long to compute."""

    base: Kernel
    points: Array
    beta: Array
    eta: float

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """True if the base kernel is positive semi-definite."""
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
    def rank(self) -> int | None:
        """The rank of F if it is known without a decomposition, or None."""
        return None

    @property
    def groups(self) -> Indices:
        """A number for each training point: points of a number with beta = 0 share a row of F."""
        return np.zeros(len(self.points), dtype=np.intp)

    @abstractmethod
    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points, shape (len(rows), len(columns))."""

    def adaptation(self) -> AdaptiveMatrix:
        """Return F on the training points; between different parts it is one."""
        return AdaptiveMatrix(self)

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.base._check_pair(X, Y)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute and drop all cached values; a Gaussian process sets an empty theta."""
        if name != "theta":
            for cached in self._cached + self._kept:
                self.__dict__.pop(cached, None)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the values that are cheap to compute again."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._cached}

    def _check_loaded(self) -> None:
        """Drop cached values from a file, except those that are kept."""
        super()._check_loaded()
        for cached in self._cached:
            self.__dict__.pop(cached, None)


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
        True if the rows of F sum to n (KNPL); then tau = 0.
    """

    _cached = (
        "_neighbors", "_pooled", "support", "support_sums", "form", "_at_support", "_table",
        "_products",
    )  # fmt: skip
    _kept = ("eigenpairs",)

    def __init__(
        self,
        base: Kernel,
        points: Array,
        beta: Array,
        eta: float = np.inf,
        extension: Extension = "smooth",
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
            # Predictions have Y = support: its profiles are cached, and the kernel values are used
            # for the profiles of X as well.
            s = self.support.size
            known = len(Y) == s and np.array_equal(Y, self.points[self.support])
            right = self._at_support if known else self._by_coordinates(Y)
            left = right if Y is X else self._by_coordinates(X, gram if known else None)
            adapted = self._change(gram, left, right)
        else:
            place = self._place(X)
            adapted = self._copied(place, place if Y is X else self._place(Y))
        adapted += 1.0  # k F = k (1 + change), in place: this is the only copy of the matrix
        adapted *= gram
        return adapted

    def _diagonal(self, X: Array) -> Array:
        diagonal = self.base._diagonal(X)
        if self._rule == "none":
            return diagonal
        if self._rule == "smooth":  # shape (m,)
            change = self._change_of_each(self._by_coordinates(X))
        else:
            # many points may share their x~, where F is computed once
            place, back = np.unique(self._place(X), return_inverse=True)
            change = self._change_of_each(self._trained(place))[back]
        return np.asarray(diagonal * (1.0 + change))

    def _by_coordinates(self, X: Array, cross: Array | None = None) -> PlacedPoints:
        """Return points at their own coordinates (x~ = x); `cross` is k(X, support), or None."""
        b, weights = self._smooth(X), self.form.weights(self.beta[self.support])
        products = self._times(X, weights) if cross is None else cross @ weights
        return PlacedPoints(X, b, self.form.profile(b, products))

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

        By symmetry half of the kernel values suffice: each block of rows starts at the diagonal,
        and the values to the right of its square count for the columns, too.
        """
        points, beta = self.points[self.support], self.beta[self.support]
        sums = np.zeros(len(points))
        for rows in row_blocks(len(points), len(points)):
            gram = self.base._gram(points[rows], points[rows.start :])  # the upper triangle
            sums[rows] += gram @ beta[rows.start :]
            sums[rows.stop :] += beta[rows] @ gram[:, rows.stop - rows.start :]
        return sums

    def keep(self, spectrum: AdaptationSpectrum | None) -> None:
        """Keep the spectrum of the threshold form, if it is known, in pickles and files too."""
        adapted = self.extension != "none" and self.eta != np.inf and self.beta.any()
        if adapted and self.tau and spectrum is not None and spectrum.values.size:
            rows = [spectrum.values, spectrum.support, spectrum.others]
            self.__dict__["eigenpairs"] = np.vstack(rows)  # shape (s + 2, r)

    def _trained(self, indices: Indices) -> PlacedPoints:
        """Return training points with their learned coefficients."""
        table, row_of = self._table
        return PlacedPoints(self.points[indices], self.beta[indices], table[row_of[indices]])

    @cached_property
    def _table(self) -> tuple[Array, Indices]:
        """Profiles of the support points and, last, of all others; the row of each point."""
        # Where beta = 0, a(x, .) = 0, and so are the products that b(x) multiplies.
        b = np.append(self.beta[self.support], 0.0)
        products = np.vstack([self._products, np.zeros(self._products.shape[1])])
        row_of = np.full(len(self.points), len(self.support))
        row_of[self.support] = np.arange(len(self.support))
        return self.form.profile(b, products), row_of

    @cached_property
    def _products(self) -> Array:
        """The products k(X, support) W of the support points' profiles, shape (s, q)."""
        if self.centred:  # W = beta
            return self.support_sums[:, None]
        weights = self.form.weights(self.beta[self.support])
        return self._times(self.points[self.support], weights)

    def _change(self, gram: Array, left: PlacedPoints, right: PlacedPoints) -> Array:
        """Return F - 1 between points, given k between them."""
        # a(x, y) = b(x) k(x, y) b(y)
        learned = left.b[:, None] * gram
        learned *= right.b
        return self.form.change(learned, left.profile, right.profile)

    def _change_of_each(self, placed: PlacedPoints) -> Array:
        """Return F(x, x) - 1 at points."""
        learned = placed.b**2 * self.base._diagonal(placed.points)
        return self.form.change_of_each(learned, placed.profile)

    def _copied(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points that may occur many times."""
        # F between different points only, then copied
        left, row_of = np.unique(rows, return_inverse=True)
        right, column_of = np.unique(columns, return_inverse=True)
        return self.change_between(left, right)[row_of[:, None], column_of]

    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points, with their learned coefficients."""
        gram = self._between(rows, columns)
        return self._change(gram, self._trained(rows), self._trained(columns))

    @property
    def rank(self) -> int | None:
        """The rank of F in the threshold form, or None."""
        return self.form.rank

    def in_places(self, X: Array, places: Indices) -> Array:
        """Return k(x, x_j) F(x~, x_j) for all support points x_j, shape (m, s).

        `places`, shape (m,), has for each row x of X the number of the training point x~ whose
        row of F it takes.
        """
        gram = self.base._gram(X, self.points[self.support])
        if not (self.support.size and self.quartic):  # F = 1
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

    @cached_property
    def form(self) -> Form:
        """The closed form of F."""
        self._check_form()
        n, c, support, tau = len(self.points), self.quartic, self.support, float(self.tau)
        if self.centred:  # the mean entry of A is beta'K beta / n^2
            return CentredForm(c, n, float(self.beta[support] @ self.support_sums) / n**2)
        if not (tau and c and support.size):
            return QuarticForm(c)
        # The fit keeps its eigenpairs: see `keep`. Otherwise they are computed again.
        known = vars(self).get("eigenpairs")
        if known is not None:
            spectrum = AdaptationSpectrum(known[0], known[1:-1], known[-1], n, True)
        else:
            spectrum = AdaptationSpectrum.of(self._between, support, self.beta[support], c, tau, n)
        return ThresholdForm(c, tau, spectrum)

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
    def _at_support(self) -> PlacedPoints:
        """The support points at their own coordinates."""
        points = self.points[self.support]
        b = self._smooth(points)
        return PlacedPoints(points, b, self.form.profile(b, self._products))

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
        """The training points, ready for searches of neighbours."""
        if isinstance(self.base, Precomputed):
            return GramNeighbors(self.base, self.points)
        return CoordinateNeighbors(self.points)

    @cached_property
    def _pooled(self) -> Array:
        """beta, with its mean wherever training points are equal, for the smooth rule."""
        return self._neighbors.pool(self.beta)

    def _check_loaded(self) -> None:
        """Raise ValueError for inconsistent attributes from a file."""
        super()._check_loaded()
        points, beta = check_points(self.points, "points"), np.asarray(self.beta)
        if beta.shape != (len(points),) or beta.dtype != np.float64 or not np.isfinite(beta).all():
            raise ValueError(f"expected {len(points)} finite coefficients, got shape {beta.shape}")
        self.base._check_pair(points, points)
        check_integer("n_neighbors", self.n_neighbors, least=1)
        check_choice("extension", self.extension, EXTENSIONS)
        self._check_form()
        if "eigenpairs" in vars(self):
            pairs = np.asarray(vars(self)["eigenpairs"])
            fits = pairs.ndim == 2 and len(pairs) == len(self.support) + 2
            if not (fits and pairs.dtype == np.float64 and np.isfinite(pairs).all()):
                raise ValueError(
                    f"expected {len(self.support) + 2} rows of finite eigenpairs, got shape "
                    f"{pairs.shape}"
                )


class PartitionedKernel(AdaptedKernel):
    """The kernel that DANK and KNPL learn in parts: k(x, y) F(x, y).

    Parameters
    ----------
    base : Kernel
        k, positive semi-definite, of points with coordinates.
    points : array of shape (n, d)
        The training points, float64.
    beta : array of shape (n,)
        Their signed dual coefficients.
    labels : array of shape (n,)
        The part of each, 0 to v - 1.
    centres : array of shape (v, d)
        The centres of the parts.
    eta : float
        >= 1e-300, may be inf: the weight of the penalty of F.
    extension : {"smooth", "nearest", "reciprocal", "none"}
        The rule for new points, among the training points of their part.
    n_neighbors : int
        >= 1, for "smooth".
    between : {"one", "zero"}
        F between different parts.
    centred : bool
        True if the rows of F sum to the number of points within each part (KNPL).
    """

    _cached = ("parts", "support", "_within")

    def __init__(
        self,
        base: Kernel,
        points: Array,
        beta: Array,
        labels: Indices,
        centres: Array,
        eta: float = np.inf,
        extension: Extension = "smooth",
        n_neighbors: int = 5,
        between: Between = "one",
        centred: bool = False,
    ) -> None:
        self.base = base
        self.points = points
        self.beta = beta
        self.labels = labels
        self.centres = centres
        self.eta = eta
        self.extension = extension
        self.n_neighbors = n_neighbors
        self.between = between
        self.centred = centred

    def place(self, X: Array) -> Indices:
        """Return the part of the nearest centre for each row of X, shape (m,)."""
        return nearest_rows(check_points(X, "X", n_features=self.centres.shape[1]), self.centres)

    @cached_property
    def parts(self) -> list[HadamardKernel]:
        """The kernel of each part."""
        masks = (self.labels == p for p in range(len(self.centres)))
        return [self._of(self.points[mine], self.beta[mine]) for mine in masks]

    def _of(self, points: Array, beta: Array) -> HadamardKernel:
        """Return the kernel of one part, from its points and coefficients."""
        return HadamardKernel(
            self.base, points, beta, self.eta, self.extension, self.n_neighbors,
            centred=self.centred,
        )  # fmt: skip

    @cached_property
    def _within(self) -> Indices:
        """The number of each training point within its part, shape (n,)."""
        within = np.empty(len(self.points), dtype=np.intp)
        for p in range(len(self.centres)):
            mine = np.flatnonzero(self.labels == p)
            within[mine] = np.arange(len(mine))
        return within

    def _gram(self, X: Array, Y: Array) -> Array:
        if check_choice("between", self.between, BETWEEN) == "one":
            gram = self.base._gram(X, Y)
        else:
            gram = np.zeros((len(X), len(Y)))
        left = self.place(X)
        right = left if Y is X else self.place(Y)
        # Pairs of points of one part: F_p, between the points at their places in X and Y.
        for p in np.intersect1d(left, right):
            rows, columns = np.flatnonzero(left == p), np.flatnonzero(right == p)
            own = X[rows]
            others = own if Y is X else Y[columns]  # the same array shows a symmetric block
            gram[np.ix_(rows, columns)] = self.parts[p]._gram(own, others)
        return gram

    def _diagonal(self, X: Array) -> Array:
        diagonal, place = np.empty(len(X)), self.place(X)
        for p in np.unique(place):
            diagonal[place == p] = self.parts[p]._diagonal(X[place == p])
        return diagonal

    @property
    def groups(self) -> Indices:
        """The part of each point, shape (n,)."""
        return self.labels

    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points: zero between parts, whatever `between` is."""
        change = np.zeros((len(rows), len(columns)))
        left, right = self.labels[rows], self.labels[columns]
        for p in np.intersect1d(left, right):
            mine, others = np.flatnonzero(left == p), np.flatnonzero(right == p)
            # the kernel of a part counts its points from zero
            change[np.ix_(mine, others)] = self.parts[p].change_between(
                self._within[rows[mine]], self._within[columns[others]]
            )
        return change

    def _check_loaded(self) -> None:
        """Raise ValueError for inconsistent attributes from a file."""
        super()._check_loaded()
        points = check_points(self.points, "points")
        centres = check_points(self.centres, "centres", n_features=points.shape[1])
        labels = np.asarray(self.labels)
        if labels.shape != (len(points),) or not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(
                f"expected {len(points)} labels, got shape {labels.shape} of type {labels.dtype}"
            )
        wrong = labels[(labels < 0) | (labels >= len(centres))]
        if wrong.size:
            raise ValueError(f"expected labels from 0 to {len(centres) - 1}, got {wrong[0]}")
        check_choice("between", self.between, BETWEEN)
        self._of(self.points, self.beta)._check_loaded()
