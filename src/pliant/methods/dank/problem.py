"""The problem of DANK and KNPL: a margin dual with a kernel matrix adapted entry by entry.

    max_beta h(beta),   h(beta) = gain(beta) + min_F -1/2 beta'(F o K) beta + eta penalty(F)

over PSD matrices F, with o the entrywise product and the gain and constraints of a `MarginDual`
(Liu et al. 2020, problem (4) and section 5; Liu et al. 2018, problem (4)).

A *rule* eliminates F in closed form: it gives the inner minimum and its gradient. A *form* (at the
end of the module) evaluates that F between points. A *model* is a margin dual with the gradient of
h at one point; the solver maximises a sequence of models.

There are three rules. With c = 1/(4 eta), A_ij = beta_i K_ij beta_j, P = I - 11'/n, l the
eigenvalues of 11' + cA, s = (l - tau/2)_+ and h0 = h(0),

    rule         h - h0 without the gain                      h0
    quartic      -1/2 beta'K beta - (c/4) |A|^2               0
    threshold    eta (n^2 - sum s^2) - h0                     eta (tau n - tau^2/4)
    centred      -1/2 beta'K beta - (c/4) |P A P|^2           0

where the centred rule omits the constant eta n^2. `pliant.methods.dank.kernel` gives F for each
rule. The quartic rule gives a `MarginDual`, solved by two-coordinate ascent. Each other rule adds
to its objective a smooth function, which the models of `HadamardDual` linearise. For the threshold
rule this function is convex, eta times a sum of Huber functions of l, so the model lies below h.

For the threshold rule, eta n^2 and eta sum s^2 are much larger than h - h0; their difference loses
digits. If l = n + e is only the largest eigenvalue, and the sum runs over the others, n^2 cancels:

    -(h - h0 - gain) / eta = (l - tau/2)^2 - (n - tau/2)^2 + sum s^2 = e (2n + e - tau) + sum s^2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from pliant.core.blocks import row_blocks
from pliant.core.eigen import eigenpairs_above, none_above
from pliant.core.parameters import check_real
from pliant.core.typing import Array, Indices
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.rows import Rows

EIGENVALUE_SLACK = 1e-6
"""Largest relative excess over tau/2 of an undetected eigenvalue. Each such eigenvalue raises the
objective by at most eta (EIGENVALUE_SLACK tau/2)^2, which is below rounding error."""

BLOCK_ENTRIES = 500_000
"""Number of matrix entries in memory when a matrix is summed block by block."""


def automatic_eta(beta: Array) -> float:
    """Return the paper's scale of eta, |alpha|^2 of the plain SVM, or inf if alpha is zero.

    With this eta and K_ii = 1, trace(F - 11') = c |alpha|^2 = 1/4 for DANK with tau = 0.
    """
    return float(beta @ beta) if beta.any() else np.inf


def hadamard_dual(
    plain: MarginDual,
    eta: float,
    *,
    tau: float = 0.0,
    centred: bool = False,
    n_points: int | None = None,
) -> HadamardDual:
    """Build the problem of DANK or KNPL; eta, tau and `centred` determine the rule.

    Parameters
    ----------
    plain : MarginDual
        The dual of the plain SVM.
    eta : float
        > 0; inf for the plain SVM.
    tau : float
        >= 0, < 2n. 0 selects the quartic rule, a positive tau the threshold rule (DANK).
    centred : bool
        True for the centred rule (KNPL), which requires tau = 0.
    n_points : int, optional
        For the centred rule, the order of F. It differs from the number of coordinates if `plain`
        has an extra coordinate (see `pliant.methods.svm.dual.without_intercept`).

    Raises
    ------
    ValueError
        If eta or tau is out of range.
    """
    check_real("eta (times eta_scale)", eta, above=0, infinite=True)
    c, n = 1.0 / (4.0 * eta), len(plain.rows)
    if check_real("tau", tau, least=0) >= 2 * n:
        raise ValueError(
            f"expected tau < 2n = {2 * n} for {n} training points (otherwise F is 0), got {tau!r}"
        )
    quartic = plain.with_quartic(c)
    if c == 0.0 or not (tau or centred):
        return HadamardDual(plain, quartic)
    if centred:
        return HadamardDual(plain, quartic, CentredRule(c, n_points or n))
    constant = (tau * n - 0.25 * tau**2) / (4.0 * c)
    return HadamardDual(plain, quartic, ThresholdRule(c, tau), constant)


class DualPoint(NamedTuple):
    """A point beta, shape (n,), with the value and the gradient of h.

    `value` is h(beta) - h0, and `f` is (F o K) beta, shape (n,), with F the inner minimiser. The
    gradient of h is the gradient of the gain minus f. `fields` are K beta and (K o K) beta^2.
    `spectrum` holds the eigenpairs of S that define F; None for the centred rule or for F = 0.
    """

    beta: Array
    value: float
    f: Array
    fields: tuple[Array, Array]
    spectrum: Spectrum | None = None


@dataclass(frozen=True, eq=False)
class SpectralCertificate(Certificate):
    """A certificate, with the eigenpairs of S that define F if they are few."""

    spectrum: Spectrum | None = None


@dataclass(frozen=True, eq=False)
class HadamardDual:
    """The problem at the top of the module.

    Parameters
    ----------
    plain : MarginDual
        The dual of the plain SVM: gain, constraints and K.
    quartic : MarginDual
        The quartic rule with the same eta.
    rule : CentredRule, ThresholdRule or None
        The rule for F if it couples all coordinates. None means the quartic rule: `quartic` is
        then the whole problem, and the methods do not apply.
    constant : float
        h0, the constant term of the objective.
    """

    plain: MarginDual
    quartic: MarginDual
    rule: CentredRule | ThresholdRule | None = None
    constant: float = 0.0

    @property
    def c(self) -> float:
        """The weight 1/(4 eta) of the quartic term."""
        return self.quartic.quartic

    def at(self, beta: Array, near: DualPoint | None = None, *, verify: bool = False) -> DualPoint:
        """Compute the value and gradient at a feasible `beta`.

        Parameters
        ----------
        beta : array of shape (n,)
        near : DualPoint, optional
            A nearby point; its number of eigenvalues above tau/2 is the initial guess.
        verify : bool
            Verify that no eigenvalue is missing, as required at the last point.
        """
        known = None if near is None else near.spectrum
        if near is not None and near.beta is beta and (known is None or known.complete):
            return near
        assert self.rule is not None
        fields, guess = self.quartic.fields(beta), 0 if known is None else len(known.values)
        value, f, spectrum = self.rule.minimum(self.plain.rows, beta, fields, guess, verify)
        return DualPoint(
            beta=beta,
            value=self.plain.gain(beta) + value,
            f=f,
            fields=fields,
            spectrum=spectrum,
        )

    def certificate(self, point: DualPoint) -> Certificate:
        """Return the tightest bound on the optimum from one point; values exclude h0.

        The certificate stores up to 64 eigenpairs (the default tau leaves about 50), or more if
        they take at most a sixteenth of the memory of the matrix.
        """
        bound, spectrum = self.plain.bound(point.beta, point.value, point.f), point.spectrum
        if spectrum is not None and len(spectrum.values) > max(64, len(spectrum.support) // 16):
            spectrum = None
        return SpectralCertificate(**vars(bound), spectrum=spectrum)

    def model(self, point: DualPoint, share: float) -> MarginDual:
        """Return the model at `point`; its gradient is that of h divided by min(1, 1 + share).

        For a share in [0, 1], the quartic term has the weight `share` c. A share in (-1, 0) is used
        if h has less curvature than the dual of the plain SVM, for example with tau near 2n. Then
        there is no quartic term, and K has the weight 1 + share, which division by 1 + share makes
        1. For the threshold rule and share = 1, the model, up to a constant, touches h at the point
        and lies below h.
        """
        quartic, flat = max(share, 0.0) * self.c, min(1.0, 1.0 + share)
        u, v = point.fields
        gradient = (self.plain.linear - point.f) / flat
        # The gradient of the model is p - u - quartic beta o v; p makes it equal to `gradient`.
        return replace(
            self.plain,
            linear=gradient + (u + quartic * point.beta * v),
            epsilon=self.plain.epsilon / flat,
            quartic=quartic,
        )

    def predicted_gain(self, at: DualPoint, old: DualPoint, new: DualPoint) -> float:
        """Return the increase of h from `old` to `new`, with the inner minimum linearised at `at`.

        The inner minimum is concave in beta. So the result is an upper bound on the true increase
        for `at` = `old`, and a lower bound for `at` = `new`. No cancellation occurs.
        """
        step = new.beta - old.beta
        tube = np.abs(new.beta) - np.abs(old.beta)
        return float((self.plain.linear - at.f) @ step - (self.plain.epsilon * tube).sum())

    def share(self, old: DualPoint, new: DualPoint) -> float:
        """Return the share for which the model has the curvature of h between two points."""
        # With d = new - old, d'(f_new - f_old) = d'Kd + share c d'(beta o v at new - at old).
        step = new.beta - old.beta
        plain = float(step @ (new.fields[0] - old.fields[0]))
        change = new.beta * new.fields[1] - old.beta * old.fields[1]
        quartic, actual = self.c * float(step @ change), float(step @ (new.f - old.f))
        if actual < plain:
            # The weight of K is at least 1e-6. F is about (1 - tau/(2n)) 11' in this case.
            return max(actual / plain, 1e-6) - 1.0 if plain > 0.0 else 0.0
        return min((actual - plain) / quartic, 1.0) if quartic > 0.0 else 1.0


@dataclass(frozen=True)
class CentredRule:
    """The rule of KNPL: penalty |F|^2, and each row of F sums to the number of points n."""

    c: float
    n: int

    def minimum(
        self, rows: Rows, beta: Array, fields: tuple[Array, Array], guess: int, verify: bool
    ) -> tuple[float, Array, None]:
        """Return the inner minimum and f, minus its gradient, from three sums over K, O(n^2)."""
        u, v = fields
        n = self.n
        # With A1 = beta o u and mean = A1/n, |PAP|^2 = |A|^2 - (2/n) |A1|^2 + (1'A1)^2/n^2.
        mean = beta * u / n
        total = mean.sum() / n
        size = (beta**2) @ v - 2.0 * n * (mean @ mean) + (n * total) ** 2
        # change = ((PAP) o K) beta, with (PAP)_ij = A_ij - mean_i - mean_j + total
        change = beta * v - mean * u - rows.matvec(mean * beta) + total * u
        return float(-0.5 * beta @ u - 0.25 * self.c * size), u + self.c * change, None


@dataclass(frozen=True)
class ThresholdRule:
    """The rule of DANK with tau > 0: penalty |F - 11'|^2 + tau trace(F)."""

    c: float
    tau: float

    def minimum(
        self, rows: Rows, beta: Array, fields: tuple[Array, Array], guess: int, verify: bool
    ) -> tuple[float, Array, Spectrum | None]:
        """Return the inner minimum and f, minus its gradient, from the `Spectrum` of S."""
        support, n = np.flatnonzero(beta), len(beta)
        spectrum = Spectrum.of(
            rows.part,
            support,
            beta[support],
            self.c,
            self.tau,
            n,
            guess=max(guess, 4),
            verify=verify,
        )
        if not spectrum.values.size:  # possible only if K is not positive semi-definite
            return (n - 0.5 * self.tau) ** 2 / (4.0 * self.c), np.zeros(n), None
        # Compute e = l - n for the largest eigenvalue l of S without cancellation. The component of
        # its eigenvector w orthogonal to 1 is p = P cAw/l, and l - n = c w'Aw - n |p|^2.
        top, leading = spectrum.values[0], np.zeros(n)
        leading[support] = beta[support] * spectrum.support[:, 0]
        image = self.c * (beta * rows.matvec(leading))[support]  # cAw is 0 outside the support
        mean = image.sum() / n
        across = (((image - mean) / top) ** 2).sum() + (n - len(image)) * (mean / top) ** 2
        excess = float(spectrum.support[:, 0] @ image - n * across)
        # eta (e (2n + e - tau) + sum of s^2 over the others)
        root = 0.5 / np.sqrt(self.c)  # sqrt(eta), as eta times a square can overflow
        kept = root * (spectrum.values[1:] - 0.5 * self.tau)
        loss = root * excess * (root * (2.0 * n + excess - self.tau)) + kept @ kept
        return -float(loss), _product(rows, beta, support, spectrum, self.tau), spectrum


def _product(rows: Rows, beta: Array, support: Indices, spectrum: Spectrum, tau: float) -> Array:
    """Return (F o K) beta for F = U diag(s) U', shape (n,), from blocks of F.

    All points outside the support share one row f of F; their products are entries of K (beta o f).
    """
    scale, vectors = spectrum.values - 0.5 * tau, spectrum.support
    # F_ij = x_i' diag(s) x_j, where x_i is row i of U; outside the support, x_i = `others`.
    shared = np.zeros(len(beta))
    shared[support] = beta[support] * (vectors @ (scale * spectrum.others))
    f = rows.matvec(shared)
    for part in row_blocks(len(support), len(support), BLOCK_ENTRIES):
        adapted = (vectors[part] * scale) @ vectors.T
        adapted *= rows.part(support[part], support)
        f[support[part]] = adapted @ beta[support]
    return f


class Spectrum(NamedTuple):
    """The eigenpairs of S = 11' + c A with eigenvalues above tau/2, for n points.

    The r `values` are in descending order. `support`, shape (s, r), holds the rows of the
    eigenvectors at the s support points, and `others`, shape (r,), the common row of all other
    points. `complete` is True if all eigenvalues above (1 + EIGENVALUE_SLACK) tau/2 are known.
    """

    values: Array
    support: Array
    others: Array
    n: int
    complete: bool

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
        verify: bool = True,
    ) -> Spectrum:
        """Compute the spectrum of S, with c, tau and n as at the top of the module.

        between(rows, columns) returns kernel values between points given by their indices.
        `support` and `beta`, shape (s,), are the indices of the support points and their
        coefficients. `guess` is the expected number of eigenvalues. If `verify`, a Cholesky
        factorisation checks that no eigenvalue above (1 + EIGENVALUE_SLACK) tau/2 is missing.
        """
        compress, level = partial(_compress, between, support, beta, c, n), 0.5 * tau
        pairs = eigenpairs_above(compress(), level, guess)
        if verify and not pairs.complete:
            limit = (1.0 + EIGENVALUE_SLACK) * level
            if not none_above(compress(), limit, pairs.values, pairs.vectors):
                pairs = eigenpairs_above(compress(), level, guess=n)
        others = pairs.vectors[-1] / np.sqrt(max(n - len(support), 1))
        return cls(pairs.values, pairs.vectors[:-1], others, n, pairs.complete or verify)


def _compress(
    between: Callable[[Indices, Indices], Array], support: Indices, beta: Array, c: float, n: int
) -> Array:
    """Return S = 11' + c A in a basis of its range, shape (s + 1, s + 1).

    The basis consists of unit vectors for the s support points, with coefficients `beta`, and the
    normalised vector of ones over the other n - s points, where the rows of S are ones.
    """
    s = len(support)
    core = np.empty((s + 1, s + 1))
    for rows in row_blocks(s, s, BLOCK_ENTRIES):
        inner = core[rows, :s]
        inner[:] = between(support[rows], support)
        inner *= (c * beta[rows])[:, None]
        inner *= beta
        inner += 1.0
    core[s, :s] = core[:s, s] = np.sqrt(n - s)
    core[s, s] = n - s
    return core


@dataclass(frozen=True)
class QuarticForm:
    """F = 11' + c A."""

    c: float
    rank: ClassVar[None] = None

    def weights(self, beta: Array) -> Array:
        """Return an empty array, shape (s, 0)."""
        return np.empty((len(beta), 0))

    def profile(self, _b: Array, products: Array) -> Array:
        """Return the empty products, as this form needs no profiles."""
        return products

    def change(self, learned: Array, _left: Array, _right: Array) -> Array:
        """Return c a(x, y)."""
        learned *= self.c
        return learned

    def change_of_each(self, learned: Array, _profile: Array) -> Array:
        """Return c a(x, x)."""
        return self.c * learned


@dataclass(frozen=True)
class CentredForm:
    """F = 11' + c P A P, for `n` training points; `mean` is the mean entry of A."""

    c: float
    n: int
    mean: float
    rank: ClassVar[None] = None

    def weights(self, beta: Array) -> Array:
        """Return beta."""
        return beta[:, None]

    def profile(self, b: Array, products: Array) -> Array:
        """Compute m(x), the mean of a(x, x_i) over the training points."""
        return b[:, None] * products / self.n

    def change(self, learned: Array, left: Array, right: Array) -> Array:
        """Return c (a(x, y) - m(x) - m(y) + mean)."""
        learned -= left - self.mean  # (m, 1) and (1, k), in place
        learned -= right.T
        learned *= self.c
        return learned

    def change_of_each(self, learned: Array, profile: Array) -> Array:
        """Return c (a(x, x) - 2 m(x) + mean)."""
        return self.c * (learned - 2.0 * profile[:, 0] + self.mean)


@dataclass(frozen=True, eq=False)
class ThresholdForm:
    """F = (11' + c A - (tau/2) I)_+, from the spectrum of 11' + c A."""

    c: float
    tau: float
    spectrum: Spectrum

    @property
    def rank(self) -> int:
        """The rank of F."""
        return len(self.spectrum.values)

    def weights(self, beta: Array) -> Array:
        """Return diag(beta) U, shape (s, r)."""
        return np.asarray(beta[:, None] * self.spectrum.support)

    def profile(self, b: Array, products: Array) -> Array:
        """Compute p(x), with F(x, y) = p(x)'p(y), from 1'U + c b(x) k(x, X) diag(beta) U."""
        values = self.spectrum.values
        rows = (self.c * b)[:, None] * products
        rows += self.spectrum.sums  # in place, as this is the largest array for a large r
        rows *= np.sqrt(values - 0.5 * self.tau) / values
        return np.asarray(rows)

    def change(self, _learned: Array, left: Array, right: Array) -> Array:
        """Return p(x)'p(y) - 1."""
        return left @ right.T - 1.0

    def change_of_each(self, _learned: Array, profile: Array) -> Array:
        """Return p(x)'p(x) - 1."""
        return np.asarray((profile**2).sum(axis=1) - 1.0)


Form: TypeAlias = QuarticForm | CentredForm | ThresholdForm
"""A closed form of F, for given beta, c and tau.

`weights` returns W, shape (s, q), from beta at the s support points. `profile` returns the profiles
of m points, shape (m, q), from b(x), shape (m,), and the products k(x, X) W, shape (m, q).
`change` returns F - 1 between points, shape (m, k), from their profiles and from a(x, y), which it
overwrites. `change_of_each` returns F(x, x) - 1, shape (m,), from the profiles and a(x, x). `rank`
is the rank of F, or None.
"""
