"""A base kernel times an adaptive matrix F, entry by entry, extended to new points.

DANK and KNPL learn a PSD matrix F for the pairs of n training points. With their Gram matrix K,
c = 1/(4 eta), A_ij = beta_i K_ij beta_j and P = I - 11'/n, F minimises
-1/2 beta'(F o K) beta + eta penalty(F):

    form         penalty                      F
    quartic      |F - 11'|^2                  11' + c A                      DANK, tau = 0
    threshold    |F - 11'|^2 + tau trace F    (11' + c A - (tau/2) I)_+      DANK, tau > 0
    centred      |F|^2,  F1 = n1              11' + c P A P                  KNPL

(Liu et al. 2020, problem (4) and equation (9); Liu et al. 2018, problem (4)). A function b with
b(x_i) = beta_i extends each form to any two points x, y, and F remains PSD. Let S = 11' + c A,
U diag(l) U' its part with eigenvalues above tau/2, s = l - tau/2 and a(x, y) = b(x) k(x, y) b(y):

    quartic      F(x, y) = 1 + c a(x, y)
    threshold    F(x, y) = p(x)'p(y),  p(x) = (1' + c a(x, X)) U diag(sqrt(s)/l)
    centred      F(x, y) = 1 + c (a(x, y) - m(x) - m(y) + mean_i m(x_i)),  m(x) = mean_i a(x, x_i)

The *profile* of a point is empty, p(x) or m(x), depending on the form. It is computed from b(x) and
the products k(x, X) W with the support points (beta != 0); the weights W are empty, diag(beta) U or
beta. F is never formed. The learned kernel is

    k_new(x, y) = k(x, y) F(x~, y~),

and its extension (see `pliant.kernels.extension`) defines b and x~: "smooth" has x~ = x and
interpolates beta; "nearest" and "reciprocal" have x~ = x_i and b = beta_i for one training point i;
"none" has F = 1. As each F is PSD, k_new is PSD if k is.

A kernel learned in parts has a centre and an adaptive matrix F_p for each part p, in the quartic or
centred form. With pi(x) the part of the nearest centre,

    k_new(x, y) = k(x, y) F_p(x, y)    if pi(x) = pi(y) = p
                  0                    between different parts

It is PSD if k is. The zeros are those of the base kernel for which the parts together solve the
problem (Liu et al. 2020, Lemma 5). F has no effect there, and its penalty is smallest for F = 1. So
F - 11' is block-diagonal and PSD. For KNPL, each block of F - 11' is centred: the rows of F sum to
n_p within a part of n_p points.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from pliant.core.blocks import row_blocks
from pliant.core.distances import nearest_rows
from pliant.core.form import FINITE, Object, Part, SavedForm, indices
from pliant.core.parameters import (
    check_choice,
    check_integer,
    check_real,
    integer,
    one_of,
    real_number,
)
from pliant.core.sparse import equal_points, in_form_of, is_sparse
from pliant.core.typing import Array, Columns, Indices
from pliant.core.validation import check_points
from pliant.kernels.base import Kernel, KernelOn
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
    BLOCK_ENTRIES,
    CentredForm,
    Form,
    QuarticForm,
    Spectrum,
    ThresholdForm,
)

Extension: TypeAlias = Literal["none", "nearest", "reciprocal", "smooth"]
EXTENSIONS = get_args(Extension)
"""Names of the extensions to new points."""


class ProfiledPoints(NamedTuple):
    """Points x~ with their coefficients b and their profiles."""

    points: Array
    b: Array
    profile: Array


class BaseHadamardKernel(Kernel):
    """A base kernel times an adaptive matrix; cached properties depend on its attributes."""

    _cached: ClassVar[tuple[str, ...]]
    """Names of the cached properties."""

    _stored: ClassVar[tuple[str, ...]] = ()
    """Names of expensive cached values that pickles and model files keep."""

    _form: ClassVar[SavedForm] = {
        "base": KernelOn("points"),
        "points": Part("f8", ("points", "coordinates"), sparse=True),
        "beta": Part("f8", ("points",), low=-FINITE, high=FINITE),
        "eta": real_number(above=0, infinite=True),
        "extension": one_of(EXTENSIONS),
        "n_neighbors": integer(least=1),
        "centred": Object(bool),
    }

    base: Kernel
    points: Array
    beta: Array
    eta: float

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """True if the base kernel is positive semi-definite."""
        return self.base.psd

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """True if the training points are sparse."""
        return is_sparse(self.points)

    @property
    def quartic(self) -> float:
        """The factor c = 1/(4 eta) of the learned part."""
        return 1.0 / (4.0 * check_real("eta", self.eta, above=0, infinite=True))

    @cached_property
    def support(self) -> Indices:
        """The indices of the training points with beta != 0."""
        return np.flatnonzero(self.beta)

    @property
    def rank(self) -> int | None:
        """The rank of F, or None if it requires a decomposition."""
        return None

    @property
    def groups(self) -> Indices:
        """The group of each training point; points of a group with beta = 0 share a row of F."""
        return np.zeros(len(self.beta), dtype=np.intp)

    @abstractmethod
    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points, shape (len(rows), len(columns))."""

    def adaptation(self) -> AdaptiveMatrix:
        """Return F on the training points; it is 1 between different parts."""
        return AdaptiveMatrix(self)

    def _check_pair(self, X: Array, Y: Array) -> None:
        self.base._check_pair(X, Y)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute and drop all cached values, unless a Gaussian process sets theta."""
        if name != "theta":
            for cached in self._cached + self._stored:
                self.__dict__.pop(cached, None)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without values that are cheap to recompute."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in self._cached}


class AdaptiveMatrix:
    """F on n training points, in implicit form.

    Parameters
    ----------
    kernel : HadamardKernel or PartitionedKernel
        The learned kernel.
    """

    _form: ClassVar[SavedForm] = {"kernel": Object(BaseHadamardKernel)}

    def __init__(self, kernel: BaseHadamardKernel) -> None:
        self.kernel = kernel

    def __len__(self) -> int:
        """Return n."""
        return len(self.kernel.beta)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, n)."""
        return len(self), len(self)

    @property
    def radius(self) -> float:
        """The Frobenius norm of F - 11', the size of the adaptation."""
        points, sizes = self._representatives()
        total = 0.0  # each entry is weighted by the number of pairs of points it represents
        for rows in row_blocks(len(points), len(points), BLOCK_ENTRIES):
            change = self.kernel.change_between(points[rows], points)
            total += float(sizes[rows] @ change**2 @ sizes)
        return float(np.sqrt(total))

    @property
    def rank(self) -> int:
        """The rank of F: the number of eigenvalues above 1e-12 times the largest.

        The cost is O(n_support^3) unless the fit has computed the rank (tau > 0).
        """
        if self.kernel.rank is not None:
            return self.kernel.rank
        # F = E R E', with E the indicators of groups of equal rows and D = E'E their sizes. The
        # matrix D^1/2 R D^1/2 has the nonzero eigenvalues of F.
        points, sizes = self._representatives()
        root, F = np.sqrt(sizes), 1.0 + self.kernel.change_between(points, points)
        values = np.linalg.eigvalsh(root[:, None] * F * root)
        return int((values > 1e-12 * values[-1]).sum())

    def columns(self, indices: int | Columns) -> Array:
        """Return the columns `indices` (an integer, a slice or an array), shape (n, m)."""
        every = np.arange(len(self))
        return 1.0 + self.kernel.change_between(every, np.atleast_1d(every[indices]))

    def toarray(self) -> Array:
        """Return F, shape (n, n)."""
        return self.columns(slice(None))

    def _representatives(self) -> tuple[Indices, Array]:
        """Return one point for each distinct row of F, and the number of points with that row.

        Every support point is included. All other points of a group share one row of F.
        """
        support = self.kernel.support
        others = np.setdiff1d(np.arange(len(self)), support)
        _, index, counts = np.unique(
            self.kernel.groups[others], return_index=True, return_counts=True
        )
        points = np.append(support, others[index])
        return points, np.append(np.ones(len(support)), counts)


@dataclass(eq=False, repr=False)
class HadamardKernel(BaseHadamardKernel):
    """The kernel that DANK and KNPL learn: k(x, y) F(x, y).

    Parameters
    ----------
    base : Kernel
        k, positive semi-definite.
    points : array or CSR array of shape (n, d)
        The training points, float64.
    beta : array of shape (n,)
        The signed dual coefficients of the training points.
    eta : float
        Weight of the penalty on F, > 0; may be inf.
    extension : {"smooth", "nearest", "reciprocal", "none"}
        The extension to new points.
    n_neighbors : int
        Number of neighbours for "smooth", >= 1.
    tau : float
        Weight of the trace of F relative to eta, >= 0 and < 2n (DANK).
    centred : bool
        True if the rows of F sum to n (KNPL), which requires tau = 0.
    """

    _cached = (
        *("_neighbors", "_pooled_beta", "support", "support_sums", "form", "_support_points"),
        *("_profile_table", "_products"),
    )
    _stored = ("eigenpairs",)

    _form: ClassVar[SavedForm] = {
        "eigenpairs": Part("f8", ("rows", "rank"), low=-FINITE, high=FINITE, optional=True)
    }

    base: Kernel
    points: Array
    beta: Array
    eta: float = np.inf
    extension: Extension = "smooth"
    n_neighbors: int = 5
    tau: float = 0.0
    centred: bool = False

    @property
    def _extension(self) -> str:
        """The extension to new points, or "none" if F = 1."""
        extension = check_choice("extension", self.extension, EXTENSIONS)
        return extension if self.support.size and self.quartic else "none"

    def _gram(self, X: Array, Y: Array) -> Array:
        same, X = Y is X, in_form_of(X, self.points)
        Y = X if same else in_form_of(Y, self.points)
        gram = self.base._gram(X, Y)
        if self._extension == "none":
            return gram
        if self._extension == "smooth":
            # For predictions, Y holds the support points: their profiles are cached, and the
            # profiles of X reuse the kernel values.
            s = self.support.size
            predicts = Y.shape[0] == s and equal_points(Y, self.points[self.support])
            right = self._support_points if predicts else self._compute_profiles(Y)
            left = right if Y is X else self._compute_profiles(X, gram if predicts else None)
            adapted = self._change(gram, left, right)
        else:
            matched = self._match(X)
            adapted = self._gather_change(matched, matched if Y is X else self._match(Y))
        adapted += 1.0  # k F = k (1 + change), in place to avoid another copy of the matrix
        adapted *= gram
        return adapted

    def _diagonal(self, X: Array) -> Array:
        X = in_form_of(X, self.points)
        diagonal = self.base._diagonal(X)
        if self._extension == "none":
            return diagonal
        if self._extension == "smooth":  # shape (m,)
            change = self._change_of_each(self._compute_profiles(X))
        else:
            # many points may share one x~, so F is computed once for each x~
            matched, inverse = np.unique(self._match(X), return_inverse=True)
            change = self._change_of_each(self._select_training(matched))[inverse]
        return np.asarray(diagonal * (1.0 + change))

    def _compute_profiles(self, X: Array, cross: Array | None = None) -> ProfiledPoints:
        """Compute b and the profiles for x~ = x; `cross` is k(X, support) if known."""
        b, weights = self._interpolate(X), self.form.weights(self.beta[self.support])
        products = self._multiply(X, weights) if cross is None else cross @ weights
        return ProfiledPoints(X, b, self.form.profile(b, products))

    def _multiply(self, X: Array, weights: Array) -> Array:
        """Compute k(X, support) @ weights, shape (m, q), in blocks of rows."""
        points, products = self.points[self.support], np.empty((X.shape[0], weights.shape[1]))
        if products.size:
            for rows in row_blocks(len(products), points.shape[0], BLOCK_ENTRIES):
                products[rows] = self.base._gram(X[rows], points) @ weights
        return products

    @cached_property
    def support_sums(self) -> Array:
        """K beta at the support points, shape (s,), for the means of the centred form.

        By symmetry, half of the kernel values suffice. Each block of rows starts at the diagonal,
        and its values to the right of the diagonal block also contribute to the columns.
        """
        points, beta = self.points[self.support], self.beta[self.support]
        sums = np.zeros(len(beta))
        for rows in row_blocks(len(beta), len(beta), BLOCK_ENTRIES):
            gram = self.base._gram(points[rows], points[rows.start :])  # the upper triangle
            sums[rows] += gram @ beta[rows.start :]
            sums[rows.stop :] += beta[rows] @ gram[:, rows.stop - rows.start :]
        return sums

    def store_spectrum(self, spectrum: Spectrum | None) -> None:
        """Store the spectrum of the threshold form, if known; pickles and model files keep it."""
        adapted = self.extension != "none" and self.eta != np.inf and self.beta.any()
        if adapted and self.tau and spectrum is not None and spectrum.values.size:
            rows = [spectrum.values, spectrum.support, spectrum.others]
            self.__dict__["eigenpairs"] = np.vstack(rows)  # shape (s + 2, r)

    def _select_training(self, indices: Indices) -> ProfiledPoints:
        """Return training points with their learned coefficients and profiles."""
        table, row_of = self._profile_table
        return ProfiledPoints(self.points[indices], self.beta[indices], table[row_of[indices]])

    @cached_property
    def _profile_table(self) -> tuple[Array, Indices]:
        """Profiles of the support points, one row for all other points, and each point's row."""
        # For beta = 0, a(x, .) = 0: the factor b(x) = 0 makes the products irrelevant.
        b = np.append(self.beta[self.support], 0.0)
        products = np.vstack([self._products, np.zeros(self._products.shape[1])])
        row_of = np.full(len(self.beta), len(self.support))
        row_of[self.support] = np.arange(len(self.support))
        return self.form.profile(b, products), row_of

    @cached_property
    def _products(self) -> Array:
        """The products k(support, support) W for the support points' profiles, shape (s, q)."""
        if self.centred:  # W = beta
            return self.support_sums[:, None]
        weights = self.form.weights(self.beta[self.support])
        return self._multiply(self.points[self.support], weights)

    def _change(self, gram: Array, left: ProfiledPoints, right: ProfiledPoints) -> Array:
        """Return F - 1 between points, given k between them."""
        # a(x, y) = b(x) k(x, y) b(y)
        learned = left.b[:, None] * gram
        learned *= right.b
        return self.form.change(learned, left.profile, right.profile)

    def _change_of_each(self, points: ProfiledPoints) -> Array:
        """Return F(x, x) - 1 for each point."""
        learned = points.b**2 * self.base._diagonal(points.points)
        return self.form.change_of_each(learned, points.profile)

    def _gather_change(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points, computed once for repeated indices."""
        left, row_of = np.unique(rows, return_inverse=True)
        right, column_of = np.unique(columns, return_inverse=True)
        return self.change_between(left, right)[row_of[:, None], column_of]

    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points, from their learned coefficients."""
        gram = self._between(rows, columns)
        return self._change(gram, self._select_training(rows), self._select_training(columns))

    @property
    def rank(self) -> int | None:
        """The rank of F in the threshold form, or None."""
        return self.form.rank

    def in_places(self, X: Array, places: Indices) -> Array:
        """Return k(x, x_j) F(x~, x_j) for all support points x_j, shape (m, s).

        `places`, shape (m,), holds the index of the training point x~ for each row x of X.
        """
        gram = self.base._gram(X, self.points[self.support])
        if not (self.support.size and self.quartic):  # F = 1
            return gram
        adapted = self._gather_change(places, self.support)
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
        n, c, support, tau = len(self.beta), self.quartic, self.support, float(self.tau)
        if self.centred:  # the mean entry of A is beta'K beta / n^2
            return CentredForm(c, n, float(self.beta[support] @ self.support_sums) / n**2)
        if not (tau and c and support.size):
            return QuarticForm(c)
        pairs = vars(self).get("eigenpairs")  # see `store_spectrum`
        if pairs is not None:
            spectrum = Spectrum(
                values=pairs[0], support=pairs[1:-1], others=pairs[-1], n=n, complete=True
            )
        else:
            spectrum = Spectrum.of(self._between, support, self.beta[support], c, tau, n)
        return ThresholdForm(c, tau, spectrum)

    def _check_form(self) -> None:
        """Raise ValueError unless eta, tau and centred define one of the closed forms."""
        check_real("eta", self.eta, above=0, infinite=True)
        limit = 2 * len(self.beta)
        if check_real("tau", self.tau, least=0) >= limit:
            raise ValueError(f"expected tau < 2n = {limit}, got {self.tau!r}")
        if not isinstance(self.centred, bool | np.bool_):
            raise ValueError(f"expected centred to be True or False, got {self.centred!r}")
        if self.centred and self.tau > 0:
            raise ValueError(f"expected tau = 0 for a centred kernel, got {self.tau!r}")

    @cached_property
    def _support_points(self) -> ProfiledPoints:
        """The support points and their profiles for x~ = x."""
        points = self.points[self.support]
        b = self._interpolate(points)
        return ProfiledPoints(points, b, self.form.profile(b, self._products))

    def _interpolate(self, X: Array) -> Array:
        """Interpolate beta at each row of X, shape (m,)."""
        k = check_integer("n_neighbors", self.n_neighbors, least=1)
        return smooth(self._neighbors, X, self._pooled_beta, k)

    def _match(self, X: Array) -> Indices:
        """Return the index of the training point x~ for each row of X, shape (m,)."""
        search = nearest if self._extension == "nearest" else reciprocal
        return search(self._neighbors, X)

    @cached_property
    def _neighbors(self) -> Neighbors:
        """The training points, indexed for neighbour searches."""
        if isinstance(self.base, Precomputed):
            return GramNeighbors(self.base, self.points)
        return CoordinateNeighbors(self.points)

    @cached_property
    def _pooled_beta(self) -> Array:
        """beta averaged over equal training points, for the smooth extension."""
        return self._neighbors.pool(self.beta)

    def _check_loaded(self) -> None:
        self._check_form()
        pairs, rows = vars(self).get("eigenpairs"), len(self.support) + 2
        if pairs is not None and len(pairs) != rows:
            raise ValueError(f"expected {rows} rows of eigenpairs, got {len(pairs)}")


@dataclass(eq=False, repr=False)
class PartitionedKernel(BaseHadamardKernel):
    """The kernel that DANK and KNPL learn in parts: k(x, y) F(x, y), and 0 between parts.

    Parameters
    ----------
    base : Kernel
        k, positive semi-definite, on points with coordinates.
    points : array of shape (n, d)
        The training points, float64.
    beta : array of shape (n,)
        The signed dual coefficients of the training points.
    labels : array of shape (n,)
        The part of each training point, 0 to v - 1.
    centres : array of shape (v, d)
        The centres of the parts.
    eta : float
        Weight of the penalty on F, > 0; may be inf.
    extension : {"smooth", "nearest", "reciprocal", "none"}
        The extension to new points, from the training points of their part.
    n_neighbors : int
        Number of neighbours for "smooth", >= 1.
    centred : bool
        True if the rows of F sum to the number of points within each part (KNPL).
    """

    _cached = ("parts", "support", "_index_in_part")

    _form: ClassVar[SavedForm] = {
        "points": Part("f8", ("points", "coordinates")),
        "labels": indices("points", below="parts"),
        "centres": Part("f8", ("parts", "coordinates")),
    }

    base: Kernel
    points: Array
    beta: Array
    labels: Indices
    centres: Array
    eta: float = np.inf
    extension: Extension = "smooth"
    n_neighbors: int = 5
    centred: bool = False

    def place(self, X: Array) -> Indices:
        """Return the part of the nearest centre for each row of X, shape (m,)."""
        return nearest_rows(check_points(X, "X", n_features=self.centres.shape[1]), self.centres)

    @cached_property
    def parts(self) -> list[HadamardKernel]:
        """The kernel of each part."""
        masks = (self.labels == p for p in range(len(self.centres)))
        return [self._build_part(self.points[mask], self.beta[mask]) for mask in masks]

    def _build_part(self, points: Array, beta: Array) -> HadamardKernel:
        """Build the kernel of one part from its points and coefficients."""
        return HadamardKernel(
            base=self.base,
            points=points,
            beta=beta,
            eta=self.eta,
            extension=self.extension,
            n_neighbors=self.n_neighbors,
            centred=self.centred,
        )

    @cached_property
    def _index_in_part(self) -> Indices:
        """The index of each training point within its part, shape (n,)."""
        indices = np.empty(len(self.points), dtype=np.intp)
        for p in range(len(self.centres)):
            members = np.flatnonzero(self.labels == p)
            indices[members] = np.arange(len(members))
        return indices

    def _gram(self, X: Array, Y: Array) -> Array:
        gram = np.zeros((len(X), len(Y)))
        left = self.place(X)
        right = left if Y is X else self.place(Y)
        for p in np.intersect1d(left, right):  # pairs within part p
            rows, columns = np.flatnonzero(left == p), np.flatnonzero(right == p)
            X_p = X[rows]
            Y_p = X_p if Y is X else Y[columns]  # the same object marks a symmetric block
            gram[np.ix_(rows, columns)] = self.parts[p]._gram(X_p, Y_p)
        return gram

    def _diagonal(self, X: Array) -> Array:
        diagonal, parts = np.empty(len(X)), self.place(X)
        for p in np.unique(parts):
            diagonal[parts == p] = self.parts[p]._diagonal(X[parts == p])
        return diagonal

    @property
    def groups(self) -> Indices:
        """The part of each training point, shape (n,)."""
        return self.labels

    def change_between(self, rows: Indices, columns: Indices) -> Array:
        """Return F - 1 between training points; it is 0 between parts."""
        change = np.zeros((len(rows), len(columns)))
        left, right, index = self.labels[rows], self.labels[columns], self._index_in_part
        for p in np.intersect1d(left, right):
            i, j = np.flatnonzero(left == p), np.flatnonzero(right == p)
            part = self.parts[p].change_between(index[rows[i]], index[columns[j]])
            change[np.ix_(i, j)] = part
        return change
