"""The problem of DANK and KNPL: a margin dual whose kernel matrix is adapted entry by entry.

    max_beta h(beta),   h(beta) = gain(beta) + min_F -1/2 beta'(F o K) beta + eta penalty(F)

over PSD matrices F, with o the entrywise product and gain and constraints those of a `MarginDual`
(Liu et al. 2020, problem (4) and section 5; Liu et al. 2018, problem (4)). F is eliminated in
closed form by one of three rules. With c = 1/(4 eta), A_ij = beta_i K_ij beta_j, P = I - 11'/n, l
the eigenvalues of 11' + cA, s = (l - tau/2)_+ and h0 = h(0),

    rule         h - h0, besides the gain                     h0
    quartic      -1/2 beta'K beta - (c/4) |A|^2               0
    threshold    eta (n^2 - sum s^2) - h0                     eta (tau n - tau^2/4)
    centred      -1/2 beta'K beta - (c/4) |P A P|^2           0

(the last without the constant eta n^2). `pliant.methods.dank.kernel` has the F of each rule.
The quartic rule is a `MarginDual` itself, for two-coordinate ascent. The others are an
`AdaptedDual`: the quartic rule plus a smooth function, which is linear in a model that
two-coordinate ascent can solve. For the threshold rule that function, eta times a sum of Huber
functions of l, is convex, so that the model lies below h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, eigsh

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_real
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.rows import Rows

LEEWAY = 1e-6
"""An eigenvalue that is missed is at most this share above tau/2.

The objective is then too high by at most eta (LEEWAY tau/2)^2 each, which is below rounding.
"""

FLATTEST = 1e-6
"""Smallest weight of K in a model; F is about 1 - tau/(2n) times the matrix of ones."""

BLOCK_ENTRIES = 500_000
"""Entries of a matrix that are held at once where only sums over them are needed."""

SMALL = 300
"""Largest order of matrices that LAPACK decomposes without trying Lanczos iterations first."""

FEW_PAIRS = 64
"""Number of eigenpairs that are kept in any case; with the default tau there are about 50."""

FEW = 0.03
"""Largest share of the eigenvectors for which Lanczos iterations are used."""

SOME = 0.2
"""Largest share of the eigenvectors for which LAPACK computes only some of them.

It then makes each orthogonal to all others, which for nearly all eigenvectors of a matrix of order
1900 takes 8 s, where all of them take 1.3 s in another way.
"""


def automatic_eta(beta: Array) -> float:
    """Return the paper's scale of eta, |alpha|^2 of the plain SVM; inf where alpha is zero.

    With it and K_ii = 1, trace(F - 11') = 1/4 for DANK with tau = 0.
    """
    return float(beta @ beta) if beta.any() else np.inf


def adapted_dual(
    plain: MarginDual,
    eta: float,
    *,
    tau: float = 0.0,
    centred: bool = False,
    n_points: int | None = None,
) -> MarginDual | AdaptedDual:
    """Return the problem for the dual of a plain SVM and one of the three rules.

    Parameters
    ----------
    plain : MarginDual
    eta : float
        > 0; inf for no adaptation.
    tau : float
        >= 0, < 2n. 0 is the quartic rule, > 0 the threshold rule (DANK).
    centred : bool
        The centred rule (KNPL); then tau = 0.
    n_points : int, optional
        For the centred rule, the number of points that F has a row for, where `plain` has one more
        coordinate (see `pliant.methods.svm.dual.without_intercept`).

    Raises
    ------
    ValueError
        If eta or tau is out of range.
    """
    check_real("eta (times eta_scale)", eta, least=1e-300, infinite=True)
    c, n = 1.0 / (4.0 * eta), len(plain.rows)
    if check_real("tau", tau, least=0) >= 2 * n:
        raise ValueError(
            f"expected tau < 2n = {2 * n} for {n} training points (F is zero else), got {tau!r}"
        )
    if c == 0.0 or not (tau or centred):
        return plain.with_quartic(c)
    rule = CentredRule(c, n_points or n) if centred else ThresholdRule(c, tau)
    return AdaptedDual(plain, rule)


class Point(NamedTuple):
    """A beta, shape (n,), with the value and the gradient of the problem there.

    `value` is h(beta) - h0, and `f` is (F o K) beta, shape (n,), with F the inner minimiser.
    `fields` are K beta and (K o K) beta^2. `spectrum` holds the eigenvalues that F needs; None for
    the centred rule.
    """

    beta: Array
    value: float
    f: Array
    fields: tuple[Array, Array]
    spectrum: Spectrum | None = None


@dataclass(frozen=True, eq=False)
class AdaptedCertificate(Certificate):
    """A certificate, with the eigenpairs of F at its point where they are few."""

    spectrum: Spectrum | None = None


@dataclass(frozen=True, eq=False)
class AdaptedDual:
    """The problem of the module's first lines, for a rule that couples all coordinates.

    Parameters
    ----------
    plain : MarginDual
        The dual of the plain SVM: gain, constraints and K.
    rule : CentredRule or ThresholdRule
        How F is chosen.
    """

    plain: MarginDual
    rule: CentredRule | ThresholdRule

    @property
    def psd(self) -> bool:
        """Whether gaps are certified."""
        return self.plain.psd

    @property
    def quartic(self) -> MarginDual:
        """The quartic rule with the same eta."""
        return self.plain.with_quartic(self.rule.c)

    @property
    def constant(self) -> float:
        """h0, the part of the objective that no beta changes."""
        return self.rule.constant(len(self.plain.rows))

    def at(self, beta: Array, like: Point | None = None, *, certain: bool = False) -> Point:
        """Return value and gradient at a feasible `beta`.

        Parameters
        ----------
        beta : array of shape (n,)
        like : Point, optional
            A point nearby, which shortens the search for eigenvalues.
        certain : bool
            Whether to make sure that no eigenvalue is missed, as for the last point.
        """
        near = None if like is None else like.spectrum
        if like is not None and like.beta is beta and (near is None or near.complete):
            return like
        fields, guess = self.quartic.fields(beta), 0 if near is None else len(near.values)
        value, f, spectrum = self.rule.inner(self.plain.rows, beta, fields, guess, certain)
        return Point(beta, self.plain.gain(beta) + value, f, fields, spectrum)

    def certificate(self, point: Point) -> Certificate:
        """Return the tightest bound on the optimum that a point gives; values less h0."""
        bound, spectrum = self.plain.bound(point.beta, point.value, point.f), point.spectrum
        few = spectrum is not None and spectrum.is_small
        return AdaptedCertificate(**vars(bound), spectrum=spectrum if few else None)

    def model(self, point: Point, share: float) -> MarginDual:
        """Return a margin dual that has the gradient of h at `point`, divided by min(1, 1 + share).

        A share in [0, 1] is that of the weight of the quartic rule that the quartic term has. A
        share in (-1, 0) is for an h that is flatter than the plain SVM, as where tau is near 2n:
        there is no quartic term, and K has the weight 1 + share, or 1 after the division. For the
        threshold rule and share = 1 the model differs from h at the point by a constant, and lies
        below elsewhere.
        """
        quartic, flat = max(share, 0.0) * self.rule.c, min(1.0, 1.0 + share)
        u, v = point.fields
        gradient = (self.plain.linear - point.f) / flat
        return replace(
            self.plain,
            linear=gradient + (u + quartic * point.beta * v),
            epsilon=self.plain.epsilon / flat,
            quartic=quartic,
        )

    def predicted_gain(self, at: Point, old: Point, new: Point) -> float:
        """Return the gain from `old` to `new`, with the other part of h linear as at `at`.

        As that part is concave, this is at least the true gain of h for `at` = `old`, and at most
        for `at` = `new`, and no large numbers cancel in it.
        """
        step = new.beta - old.beta
        tube = np.abs(new.beta) - np.abs(old.beta)
        return float((self.plain.linear - at.f) @ step - (self.plain.epsilon * tube).sum())

    def share(self, old: Point, new: Point) -> float:
        """Return the share, as in `model`, with the curvature that h has between two points."""
        step = new.beta - old.beta
        plain = float(step @ (new.fields[0] - old.fields[0]))
        change = new.beta * new.fields[1] - old.beta * old.fields[1]
        quartic, actual = self.rule.c * float(step @ change), float(step @ (new.f - old.f))
        if actual < plain:
            return max(actual / plain, FLATTEST) - 1.0 if plain > 0.0 else 0.0
        return min((actual - plain) / quartic, 1.0) if quartic > 0.0 else 1.0


Inner: TypeAlias = "tuple[float, Array, Spectrum | None]"
"""The minimum over F less h0, f = (F o K) beta, and the eigenvalues of F, as in `Point`."""


@dataclass(frozen=True)
class CentredRule:
    """The rule of KNPL: penalty |F|^2, and the rows of F sum to n, the number of points."""

    c: float
    n: int

    def constant(self, n: int) -> float:
        """Return zero."""
        return 0.0

    def inner(
        self, rows: Rows, beta: Array, fields: tuple[Array, Array], guess: int, certain: bool
    ) -> Inner:
        """Return the inner minimum, from three sums over the Gram matrix: O(n^2).

        A1 = beta o u with u = K beta, and |PAP|^2 = |A|^2 - (2/n) |A1|^2 + (1'A1)^2/n^2.
        """
        u, v = fields
        n = self.n
        mean = beta * u / n
        total = mean.sum() / n
        size = (beta**2) @ v - 2.0 * n * (mean @ mean) + (n * total) ** 2
        change = beta * v - mean * u - rows.matvec(mean * beta) + total * u
        return float(-0.5 * beta @ u - 0.25 * self.c * size), u + self.c * change, None


@dataclass(frozen=True)
class ThresholdRule:
    """The rule of DANK with tau > 0: penalty |F - 11'|^2 + tau trace(F)."""

    c: float
    tau: float

    def constant(self, n: int) -> float:
        """Return h0 = eta (tau n - tau^2/4)."""
        return (self.tau * n - 0.25 * self.tau**2) / (4.0 * self.c)

    def inner(
        self, rows: Rows, beta: Array, fields: tuple[Array, Array], guess: int, certain: bool
    ) -> Inner:
        """Return the inner minimum, from the few eigenvalues of 11' + cA above tau/2.

        The largest is n + e with a small e, which is computed by itself: with h0 taken off, the
        terms of size eta n^2 cancel on paper, not in floating point.
        """
        support, n = np.flatnonzero(beta), len(beta)
        spectrum = Spectrum.of(
            rows.part, support, beta[support], self.c, self.tau, n,
            guess=max(guess, 4), certain=certain,
        )  # fmt: skip
        if not spectrum.values.size:  # possible only where K is not positive semi-definite
            return (n - 0.5 * self.tau) ** 2 / (4.0 * self.c), np.zeros(n), None
        leading = np.zeros(n)
        leading[support] = beta[support] * spectrum.support[:, 0]
        image = self.c * (beta * rows.matvec(leading))[support]
        excess = spectrum.excess(image)
        root = 0.5 / np.sqrt(self.c)  # sqrt(eta): eta times a square would overflow
        kept = root * (spectrum.values[1:] - 0.5 * self.tau)
        loss = root * excess * (root * (2.0 * n + excess - self.tau)) + kept @ kept
        f = _product(rows, beta, support, spectrum, self.tau)
        return -float(loss), f, spectrum


def _product(rows: Rows, beta: Array, support: Indices, spectrum: Spectrum, tau: float) -> Array:
    """Return (F o K) beta for F = U diag(s) U', shape (n,), from blocks of F.

    All points without a coefficient share one row of F.
    """
    scale, vectors = spectrum.values - 0.5 * tau, spectrum.support
    shared = np.zeros(len(beta))
    shared[support] = beta[support] * (vectors @ (scale * spectrum.others))
    f = rows.matvec(shared)
    for part in row_blocks(len(support), len(support)):
        adapted = (vectors[part] * scale) @ vectors.T
        adapted *= rows.part(support[part], support)
        f[support[part]] = adapted @ beta[support]
    return f


class Spectrum(NamedTuple):
    """The eigenpairs above tau/2 of S = 11' + c A, for n points of which some are support points.

    The r `values` are in descending order. `support`, shape (s, r), holds the rows of the
    eigenvectors at the support points, and `others`, shape (r,), the row that all other points
    share. `complete` is whether it is certain that none above (1 + LEEWAY) tau/2 is missing.
    """

    values: Array
    support: Array
    others: Array
    n: int
    complete: bool

    @property
    def is_small(self) -> bool:
        """Whether it takes a sixteenth of the memory of the matrix, or less; or little memory."""
        s, r = self.support.shape
        return r <= max(FEW_PAIRS, s // 16)

    def packed(self) -> Array:
        """Return values, support and others as the rows of one array, shape (s + 2, r)."""
        return np.vstack([self.values, self.support, self.others])

    @classmethod
    def unpacked(cls, pairs: Array, n: int) -> Spectrum:
        """Return the spectrum, complete, that `packed` returned."""
        return cls(pairs[0], pairs[1:-1], pairs[-1], n, True)

    @property
    def sums(self) -> Array:
        """The sum of each eigenvector, 1'U."""
        total: Array = self.support.sum(axis=0) + (self.n - len(self.support)) * self.others
        return total

    @classmethod
    def of(
        cls,
        between: Callable[[Indices, Indices], Array],
        support: Indices,
        beta: Array,
        c: float,
        tau: float,
        n: int,
        *,
        guess: int = 8,
        certain: bool = True,
    ) -> Spectrum:
        """Return the spectrum of S, with c, tau and n as in the module's first lines.

        between(rows, columns) returns the kernel between points given by their numbers. `support`
        and `beta`, shape (s,), are the numbers of the support points and their coefficients.
        `guess` is about how many eigenvalues there are, and `certain` whether to make sure that
        none above (1 + LEEWAY) tau/2 is missing.
        """

        def core() -> Array:
            return _core(between, support, beta, c, n)

        pairs = eigenpairs_above(core(), 0.5 * tau, guess)
        limit, known = (1.0 + LEEWAY) * 0.5 * tau, pairs.complete or not certain
        if not known and not none_above(core(), limit, pairs.values, pairs.vectors):
            pairs = eigenpairs_above(core(), 0.5 * tau, guess=n)
        others = pairs.vectors[-1] / np.sqrt(max(n - len(support), 1))
        return cls(pairs.values, pairs.vectors[:-1], others, n, pairs.complete or certain)

    def excess(self, image: Array) -> float:
        """Return the largest eigenvalue less n, without cancellation.

        With e = 1/sqrt(n), w the eigenvector of the largest eigenvalue l of S = n ee' + cA, and
        `image` = cAw at the support points (zero elsewhere), the part of w across e is
        p = P cAw/l, and l - n = c w'Aw - n |p|^2.
        """
        n, mean = self.n, image.sum() / self.n
        top = self.values[0]
        across = (((image - mean) / top) ** 2).sum() + (n - len(image)) * (mean / top) ** 2
        return float(self.support[:, 0] @ image - n * across)


def _core(
    between: Callable[[Indices, Indices], Array], support: Indices, beta: Array, c: float, n: int
) -> Array:
    """Return S = 11' + c A on the span of its rows, shape (s + 1, s + 1).

    The basis is the s support points, with coefficients `beta`, and the unit vector of ones over
    the other n - s points, whose rows of S are ones: the other eigenvalues of S are zero.
    """
    s = len(support)
    core = np.empty((s + 1, s + 1))
    for rows in row_blocks(s, s):
        inner = core[rows, :s]
        inner[:] = between(support[rows], support)
        inner *= (c * beta[rows])[:, None]
        inner *= beta
        inner += 1.0
    core[s, :s] = core[:s, s] = np.sqrt(n - s)
    core[s, s] = n - s
    return core


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield blocks of a matrix's rows with at most BLOCK_ENTRIES entries, or of one row."""
    step = max(1, BLOCK_ENTRIES // max(1, columns))
    return (slice(low, min(low + step, rows)) for low in range(0, rows, step))


class Eigenpairs(NamedTuple):
    """Eigenvalues above a level, descending, shape (r,), and orthonormal vectors, shape (n, r).

    `complete`: whether it is certain that there are no others.
    """

    values: Array
    vectors: Array
    complete: bool


def eigenpairs_above(matrix: Array, level: float, guess: int = 8) -> Eigenpairs:
    """Return the eigenvalues above `level` of a symmetric matrix, which may be overwritten.

    If they are few (about `guess`) of many, Lanczos iterations compute them, O(n^2) each; else
    LAPACK does, O(n^3). Lanczos iterations can miss one of several equal eigenvalues: `none_above`
    checks that.
    """
    n = len(matrix)
    k = guess + 4
    while n > SMALL and k <= FEW * n:
        try:
            values, vectors = eigsh(matrix, k, which="LA", v0=np.ones(n))
        except ArpackError:
            break
        if values[0] <= level:
            return _descending(values, vectors, level, complete=False)
        k *= 2
    if n <= SMALL:
        return _descending(*np.linalg.eigh(matrix), level, complete=True)
    diagonal = matrix.diagonal().copy()
    try:
        level_and_up = (level, np.inf) if FEW * n < guess <= SOME * n else None
        pairs = scipy.linalg.eigh(matrix.T, subset_by_value=level_and_up, overwrite_a=True)
    except np.linalg.LinAlgError:  # clustered eigenvalues; the upper triangle is overwritten
        matrix[np.diag_indices_from(matrix)] = diagonal
        pairs = np.linalg.eigh(matrix, UPLO="L")
    return _descending(*pairs, level, complete=True)


def _descending(values: Array, vectors: Array, level: float, *, complete: bool) -> Eigenpairs:
    """Return the pairs above `level`, given in ascending order, in descending order."""
    first = int(np.searchsorted(values, level, side="right"))
    return Eigenpairs(values[first:][::-1], vectors[:, first:][:, ::-1], complete)


def none_above(matrix: Array, level: float, values: Array, vectors: Array) -> bool:
    """Whether all eigenvalues of a symmetric matrix but the given ones are below `level` > 0.

    One Cholesky factorisation decides, O(n^3/3): the matrix V diag(values) V' - M + level I is
    positive definite just then. M is overwritten.
    """
    for low in range(0, len(matrix), 256):
        rows = slice(low, low + 256)
        matrix[rows] = (vectors[rows] * values) @ vectors.T - matrix[rows]
    matrix[np.diag_indices_from(matrix)] += level
    try:
        scipy.linalg.cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True
