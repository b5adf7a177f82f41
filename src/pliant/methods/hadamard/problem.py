"""The problem of DANK and KNPL: a margin dual whose kernel matrix is adapted entry by entry.

    max_beta h(beta),   h(beta) = gain(beta) + min_F -1/2 beta'(F o K) beta + eta penalty(F)

over PSD matrices F, with o the entrywise product and gain and constraints those of a `MarginDual`
(Liu et al. 2020, problem (4) and section 5; Liu et al. 2018, problem (4)). F is eliminated in
closed form by one of three rules (see `pliant.methods.hadamard.adaptive` for F itself). With
c = 1/(4 eta), A_ij = beta_i K_ij beta_j, P = I - 11'/n, l the eigenvalues of 11' + cA,
s = (l - tau/2)_+ and h0 = h(0),

    quartic      h - h0 = gain - 1/2 beta'K beta - (c/4) |A|^2                 h0 = 0
    threshold    h - h0 = gain + eta (n^2 - sum s^2) - h0     h0 = eta (tau n - tau^2/4)
    centred      h - h0 = gain - 1/2 beta'K beta - (c/4) |P A P|^2             h0 = 0

(the last without the constant eta n^2). The quartic rule is a `MarginDual` itself, for
two-coordinate ascent. The others are an `AdaptedDual`: the quartic rule plus a smooth function,
which is linear in a model that two-coordinate ascent can solve. For the threshold rule that
function, eta times a sum of Huber functions of l, is convex, so that the model lies below h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_real
from pliant.methods.hadamard.adaptive import Spectrum, blocks
from pliant.methods.svm.dual import Certificate, MarginDual
from pliant.methods.svm.rows import Rows

__all__ = [
    "AdaptedDual",
    "CentredRule",
    "Point",
    "Rule",
    "ThresholdRule",
    "adapted_dual",
    "automatic_eta",
]


def automatic_eta(beta: Array) -> float:
    """Return the paper's scale of eta, |alpha|^2 of the plain SVM; inf where that is zero.

    With it and K_ii = 1, trace(F - 11') = 1/4 for DANK with tau = 0.
    """
    size = float(beta @ beta)
    return size if size > 0 else np.inf


class Point(NamedTuple):
    """A beta and what the problem knows of it.

    Attributes
    ----------
    beta : array of shape (n,)
    value : float
        h(beta) - h0.
    f : array of shape (n,)
        (F o K) beta, with F the inner minimiser.
    fields : pair of arrays of shape (n,)
        K beta and (K o K) beta^2.
    rank : int
        Number of eigenvalues that F needs; 0 where there is no such number.
    certain : bool
        Whether it is certain that none of them is missing.
    """

    beta: Array
    value: float
    f: Array
    fields: tuple[Array, Array]
    rank: int = 0
    certain: bool = True


class Inner(NamedTuple):
    """The inner minimum less h0, the negative f of its gradient; rank and certain of `Point`."""

    value: float
    f: Array
    rank: int = 0
    certain: bool = True


class Rule(Protocol):
    """How F is chosen for a given beta."""

    @property
    def c(self) -> float:
        """1/(4 eta)."""

    def constant(self, n: int) -> float:
        """Return h0 for n points."""

    def inner(
        self, rows: Rows, beta: Array, fields: tuple[Array, Array], rank: int, certain: bool
    ) -> Inner:
        """Return the inner minimum at `beta`."""


@dataclass(frozen=True)
class CentredRule:
    """The rule of KNPL: penalty |F|^2, and the rows of F sum to n."""

    c: float

    def constant(self, n: int) -> float:
        """Return zero."""
        return 0.0

    def inner(
        self, rows: Rows, beta: Array, fields: tuple[Array, Array], rank: int, certain: bool
    ) -> Inner:
        """Return the inner minimum, from three sums over the Gram matrix: O(n^2).

        A1 = beta o u with u = K beta, and |PAP|^2 = |A|^2 - (2/n) |A1|^2 + (1'A1)^2/n^2.
        """
        u, v = fields
        n = len(beta)
        mean = beta * u / n
        total = mean.sum() / n
        size = (beta**2) @ v - 2.0 * n * (mean @ mean) + (n * total) ** 2
        change = beta * v - mean * u - rows.matvec(mean * beta) + total * u
        return Inner(float(-0.5 * beta @ u - 0.25 * self.c * size), u + self.c * change)


@dataclass(frozen=True)
class ThresholdRule:
    """The rule of DANK with tau > 0: penalty |F - 11'|^2 + tau trace(F)."""

    c: float
    tau: float

    def constant(self, n: int) -> float:
        """Return h0 = eta (tau n - tau^2/4)."""
        return (self.tau * n - 0.25 * self.tau**2) / (4.0 * self.c)

    def inner(
        self, rows: Rows, beta: Array, fields: tuple[Array, Array], rank: int, certain: bool
    ) -> Inner:
        """Return the inner minimum, from the few eigenvalues of 11' + cA above tau/2.

        The largest is n + e with a small e, which is computed by itself: with h0 taken off, the
        terms of size eta n^2 cancel on paper, not in floating point.
        """
        support, n = np.flatnonzero(beta), len(beta)
        spectrum = Spectrum.of(
            rows.part,
            support,
            beta[support],
            self.c,
            self.tau,
            n,
            guess=max(rank, 4),
            certain=certain,
        )
        if not spectrum.values.size:  # possible only where K is not positive semi-definite
            return Inner((n - 0.5 * self.tau) ** 2 / (4.0 * self.c), np.zeros(n))
        leading = np.zeros(n)
        leading[support] = beta[support] * spectrum.support[:, 0]
        image = self.c * (beta * rows.matvec(leading))[support]
        excess = spectrum.excess(image)
        root = 0.5 / np.sqrt(self.c)  # of eta; squares would overflow without it
        kept = root * (spectrum.values[1:] - 0.5 * self.tau)
        loss = root * excess * (root * (2.0 * n + excess - self.tau)) + kept @ kept
        f = _product(rows, beta, support, spectrum, self.tau)
        return Inner(-float(loss), f, len(spectrum.values), spectrum.complete)


def _product(rows: Rows, beta: Array, support: Indices, spectrum: Spectrum, tau: float) -> Array:
    """Return (F o K) beta for F = U diag(s) U', shape (n,), from blocks of F.

    All points without a coefficient share one row of F.
    """
    scale, vectors = spectrum.values - 0.5 * tau, spectrum.support
    shared = np.zeros(len(beta))
    shared[support] = beta[support] * (vectors @ (scale * spectrum.others))
    f = rows.matvec(shared)
    for part in blocks(len(support), len(support)):
        adapted = (vectors[part] * scale) @ vectors.T
        adapted *= rows.part(support[part], support)
        f[support[part]] = adapted @ beta[support]
    return f


@dataclass(frozen=True, eq=False)
class AdaptedDual:
    """The problem of the module's first lines, for a rule that couples all coordinates.

    Parameters
    ----------
    plain : MarginDual
        The dual of the plain SVM: gain, constraints and K.
    rule : Rule
        How F is chosen.
    """

    plain: MarginDual
    rule: Rule

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
        """Return what the problem knows of a feasible `beta`.

        Parameters
        ----------
        beta : array of shape (n,)
        like : Point, optional
            A point nearby, which shortens the search for eigenvalues.
        certain : bool
            Whether to make sure that no eigenvalue is missed; the last point asks for it.
        """
        if like is not None and like.beta is beta and like.certain:
            return like
        fields = self.quartic.fields(beta)
        rank = 0 if like is None else like.rank
        inner = self.rule.inner(self.plain.rows, beta, fields, rank, certain)
        value = self.plain.gain(beta) + inner.value
        return Point(beta, value, inner.f, fields, inner.rank, inner.certain)

    def certificate(self, point: Point) -> Certificate:
        """Return the tightest bound on the optimum that a point gives; values less h0."""
        return self.plain.bound(point.beta, point.value, point.f)

    def model(self, point: Point, share: float) -> MarginDual:
        """Return a margin dual that has the gradient of h at `point`.

        Its quartic term has `share` times the weight of the quartic rule. For the threshold rule
        and share = 1 it differs from h at the point by a constant, and lies below elsewhere.
        """
        quartic = share * self.rule.c
        u, v = point.fields
        shift = u + quartic * point.beta * v - point.f
        return replace(self.plain, linear=self.plain.linear + shift, quartic=quartic)

    def promise(self, at: Point, old: Point, new: Point) -> float:
        """Return the gain from `old` to `new`, with the other part of h linear as at `at`.

        As that part is concave, this is at least the true gain of h for `at` = `old`, and at most
        for `at` = `new`, and no large numbers cancel in it.
        """
        step = new.beta - old.beta
        tube = np.abs(new.beta) - np.abs(old.beta)
        return float((self.plain.linear - at.f) @ step - (self.plain.epsilon * tube).sum())

    def share(self, old: Point, new: Point) -> float:
        """Return the share of the quartic term's curvature that h has between two points."""
        step = new.beta - old.beta
        plain = step @ (new.fields[0] - old.fields[0])
        quartic = self.rule.c * (step @ (new.beta * new.fields[1] - old.beta * old.fields[1]))
        found = step @ (new.f - old.f) - plain
        return float(np.clip(found / quartic, 0.0, 1.0)) if quartic > 0.0 else 1.0


def adapted_dual(
    plain: MarginDual, eta: float, *, tau: float = 0.0, centred: bool = False
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
    return AdaptedDual(plain, CentredRule(c) if centred else ThresholdRule(c, tau))
