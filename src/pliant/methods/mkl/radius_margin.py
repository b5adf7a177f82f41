r"""Kernel weights by the ratio of radius and margin, without slack.

    minimise  R^2(d) / margin^2(d)   over d >= 0,  sum d = 1

R(d) is the radius of the smallest ball around the points in the feature space of
K(d) = sum_m d_m K_m. The margin, of the support vector machine without slack, is half the distance
of the convex hulls of the two classes. With weights a >= 0, sum 1, of points, and
g >= 0, sum 1 in each class,

    R^2(d)      = max_a  sum_m d_m r_m(a),   r_m(a) = sum_i a_i k_m(x_i, x_i) - a'K_m a
    4 margin^2  = min_g  sum_m d_m s_m(g),   s_m(g) = g'Y K_m Y g.

So R^2 is convex in d, margin^2 concave, and both are homogeneous: the problem is the convex one to
maximise margin^2 subject to R^2 <= 1, rescaled, and every stationary point is the global optimum.
Each (a, g) that was met gives a lower bound, since for every d

    R^2(d) / (4 margin^2(d))  >=  d'r(a) / d's(g)  >=  min_m r_m(a) / s_m(g),

and so does each mean of several r over a mean of several s; the best means are the dual variables
of a linear program. That bound is the certificate.

GRAM has the same objective (Lauriola, Polato and Aiolli 2017), as in the code of MKLpy, which
follows its gradient; here it is solved globally. The methods of Do et al. 2009 ("R-MKL") and
Gai et al. 2010 minimise R^2 |w|^2 + C sum_i slack_i^q, as Liu et al. 2013 report; with slack, the
homogeneity is lost, and that problem is not solved here. The papers' texts were not available:
their details are unverified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize

from pliant.core.progress import Progress
from pliant.core.typing import Array, Indices
from pliant.methods.mkl.grams import Grams
from pliant.methods.mkl.weighting import Weighting, normalised
from pliant.methods.svm.hulls import Ball, Hulls, closest_hulls, smallest_ball

MAX_ITER = 1000
"""Evaluations at most: each solves two quadratic programs and reads all kernels twice."""

PATIENCE, PROGRESS = 100, 0.9
"""A run ends when the gap is not below this share of what it was that number of evaluations ago."""

FINE, IMPATIENCE = 1e-7, 20
"""Below this relative gap, that number of evaluations without progress ends a run: rounding errors
of the two quadratic programs let gaps come down to about 1e-8."""

MEMORY = 30
"""Steps that L-BFGS remembers."""

CHECK_AFTER, CHECK_GROWTH = 5, 1.15
"""Evaluations before the first linear program, and the growth of that number between two."""

CONSTANT = 1e-10
"""A kernel whose points have a smaller variance than this share of their size is left out: rounding
would leave fewer than six digits of its r and s. (With float32, a thousand roundings instead.)"""

TINY = float(np.finfo(np.float64).tiny)
"""In place of a margin of zero, whose logarithm would not be a number."""

ROUNDING = float(np.finfo(np.float32).eps)
"""Of kernels that are kept in float32."""

REMEDY = (
    "choose weights that allow errors, such as weights='easy' or 'simple', or add kernels that "
    "separate the classes, such as narrow Gaussians"
)


class _Done(Exception):
    """The certificate is good enough, or the run has to end."""


class Evaluation(NamedTuple):
    """The ratio at one d.

    Attributes
    ----------
    log_ratio : float
        log(R^2 / (4 margin^2)).
    slope : array of shape (M,)
        Its gradient.
    """

    log_ratio: float
    slope: Array


def radius_margin(
    grams: Grams,
    signs: Array,
    *,
    tol: float = 1e-4,
    max_iter: int = MAX_ITER,
    callback: Callable[[Progress], Any] | None = None,
    rows: Indices | None = None,
) -> Weighting:
    """Return the weights of the smallest ratio of radius and margin, without slack.

    Parameters
    ----------
    grams : Grams
    signs : array of shape (n,)
        -1.0 and +1.0, and 0.0 for samples that are left out, such as those of other classes.
    tol : float
        Stop when the gap is at most `tol` times the ratio.
    max_iter : int
        Evaluations of the ratio at most.
    callback : callable, optional
        Called with a `Progress` after each evaluation; returning True ends the run.
    rows : array of shape (n,), optional
        The numbers of samples for messages; 0, 1, ... if not given.

    Returns
    -------
    Weighting
        The value is R^2 / margin^2, with its certified gap, which is larger than asked for where a
        limit came first. A kernel's weight times the kernel does not depend on its scale.

    Raises
    ------
    ValueError
        If no sum of the kernels separates the two classes.
    """
    run = _Run(grams, signs, tol, max_iter, callback, rows)
    try:
        run.descend()
        run.cut()
    except _Done:
        pass
    weights = normalised(run.best * run.scales, "no kernel has a margin")
    return Weighting(weights, 4.0 * run.ratio, 4.0 * (run.ratio - run.lower))


class _Run:
    """Evaluations so far, the best d, and the lower bound; d is in units of `scales`.

    Kernels are divided by the variance of their points, so that it does not matter how they are
    scaled.
    """

    def __init__(
        self,
        grams: Grams,
        signs: Array,
        tol: float,
        max_iter: int,
        callback: Callable[[Progress], Any] | None,
        rows: Indices | None,
    ) -> None:
        self.grams, self.tol, self.limit, self.callback = grams, tol, max_iter, callback
        self.places = np.flatnonzero(signs)
        self.signs = signs[self.places]
        self.diagonals, self.scales = self._sizes()
        self.ball: Ball | None = None
        self.hulls: Hulls | None = None
        self.radii: list[Array] = []
        self.margins: list[Array] = []
        self.ratio, self.lower, self.next_check = np.inf, 0.0, float(CHECK_AFTER)
        used = self.scales > 0.0
        self.best: Array = used / max(1.0, float(used.sum()))
        self.progress = (0, np.inf)
        self._check_separable(self.places if rows is None else rows[self.places])

    def _sizes(self) -> tuple[Array, Array]:
        """Return all diagonals, shape (M, n), and 1/variance of each kernel, 0 for constants."""
        count, n = len(self.grams), len(self.places)
        diagonals, scales = np.empty((count, n)), np.zeros(count)
        least = 1e3 * ROUNDING if self.grams.dtype == np.float32 else CONSTANT
        for m in range(count):
            gram = np.asarray(self.grams[m][np.ix_(self.places, self.places)], dtype=np.float64)
            diagonals[m] = gram.diagonal()
            variance = float(diagonals[m].mean() - gram.mean())
            if variance > least * float(diagonals[m].max()):
                scales[m] = 1.0 / variance
        return diagonals, scales

    def gram(self, d: Array) -> Array:
        """Return K(d) on the samples that are used."""
        return self.grams.combined(d * self.scales)[np.ix_(self.places, self.places)]

    def _check_separable(self, rows: Indices) -> None:
        """Raise ValueError unless the mean of the scaled kernels separates the classes.

        margin^2 is concave and homogeneous, so if any sum of the kernels does, this one does.
        """
        gram = self.gram(self.best)
        hulls = closest_hulls(gram, self.signs)
        if hulls.value - hulls.gap > 0.0:
            return
        raise ValueError(
            "expected kernels with a sum that separates the classes, as weights='radius-margin' "
            f"has no slack, but {_meeting(gram, self.signs, rows)}; {REMEDY}"
        )

    def evaluate(self, d: Array) -> Evaluation:
        """Return the ratio at d, sum 1; remember its cuts; raise `_Done` if the run is over."""
        gram = self.gram(d)
        before = (self.ball, self.hulls)
        self.ball = ball = smallest_ball(gram, start=before[0] and before[0].weights)
        self.hulls = hulls = closest_hulls(gram, self.signs, start=before[1] and before[1].weights)
        pair = np.zeros((self.grams.n, 2))
        pair[self.places, 0] = ball.weights
        pair[self.places, 1] = self.signs * hulls.weights
        quadratics = self.grams.quadratics(pair) * self.scales[:, None]
        r = np.maximum(0.0, self.scales * (self.diagonals @ ball.weights) - quadratics[:, 0])
        s = np.maximum(0.0, quadratics[:, 1])
        self.radii.append(r)
        self.margins.append(s)
        margin = hulls.value - hulls.gap
        ratio = (ball.radius2 + ball.gap) / margin if margin > 0.0 else np.inf
        if ratio < self.ratio:
            self.ratio, self.best = ratio, d
        R2, M2 = float(d @ r), max(float(d @ s), TINY)
        self._after_evaluation()
        return Evaluation(float(np.log(R2 / M2)), r / R2 - s / M2)

    def _after_evaluation(self) -> None:
        count = len(self.radii)
        if count >= self.next_check or count >= self.limit:
            self.next_check = CHECK_GROWTH * count
            self.bound()
        self._report()

    def _report(self) -> None:
        """Call the callback; raise `_Done` if the run is over."""
        count = len(self.radii)
        progress = Progress(count, 4.0 * self.ratio, 4.0 * (self.ratio - self.lower))
        asked = self.callback is not None and self.callback(progress) is True
        if asked:
            self.bound()
        gap = self.ratio - self.lower
        if gap < PROGRESS * self.progress[1]:
            self.progress = (count, gap)
        patience = IMPATIENCE if gap <= FINE * self.ratio else PATIENCE
        stuck = count - self.progress[0] >= patience
        if asked or stuck or count >= self.limit or gap <= self.tol * self.ratio:
            raise _Done

    def bound(self) -> Array:
        """Raise the lower bound by the cuts so far; return the best d of their linear program.

            maximise t  subject to  r_i'd <= 1,  s_i'd >= t for all i,  d >= 0

        Its dual variables are rescaled to means, whose bound holds however accurate they are.
        """
        used = np.flatnonzero(self.scales)
        radii, margins = np.array(self.radii)[:, used], np.array(self.margins)[:, used]
        count = len(radii)
        unit = float(margins.max())
        columns = np.vstack([np.zeros((count, 1)), np.ones((count, 1))])
        program = linprog(
            np.append(np.zeros(len(used)), -1.0),
            A_ub=np.hstack([np.vstack([radii, -margins / unit]), columns]),
            b_ub=np.repeat([1.0, 0.0], count),
            method="highs",
        )
        if program.x is None:
            return self.best
        means = np.maximum(-program.ineqlin.marginals, 0.0)
        r, s = means[:count] @ radii, means[count:] @ margins
        totals = means[:count].sum(), means[count:].sum()
        if min(totals) > 0.0 and s.max() > 0.0:
            held = s > 0.0
            self.lower = max(self.lower, float((r[held] / s[held]).min() * totals[1] / totals[0]))
        d = np.zeros(len(self.scales))
        d[used] = program.x[:-1]
        return d

    def descend(self) -> None:
        """Follow the slope of the logarithm by L-BFGS, with d = u o u/|u|^2."""

        free = np.flatnonzero(self.scales)

        def log_ratio(u: Array) -> tuple[float, Array]:
            size = float(u @ u)
            d = np.zeros(len(self.scales))
            d[free] = u * u / size
            here = self.evaluate(d)
            return here.log_ratio, 2.0 * u * here.slope[free] / size

        start: Any = np.sqrt(self.best[free])
        options: Any = {"maxiter": self.limit, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
        minimize(log_ratio, start, jac=True, method="L-BFGS-B", options=options)

    def cut(self) -> None:
        """Go to the best d of the linear program, halfway, again and again, until it is certified.

        This ends where the slope jumps, and L-BFGS stops too early.
        """
        while True:
            d = self.bound()
            self._report()
            total = float(d.sum())
            self.evaluate(0.5 * self.best + 0.5 * d / total if total > 0.0 else self.best)


def _meeting(gram: Array, signs: Array, rows: Indices) -> str:
    """Return why two classes are not separable: two equal points, or hulls that meet."""
    diagonal = gram.diagonal()
    first, second = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
    distances = diagonal[first][:, None] + diagonal[second] - 2.0 * gram[np.ix_(first, second)]
    i, j = np.unravel_index(np.argmin(distances), distances.shape)
    if distances[i, j] <= 1e-12 * float(diagonal.max()):
        low, high = sorted([rows[first[i]], rows[second[j]]])
        return f"samples {low} and {high} are equal for all kernels, with different labels"
    return "the convex hulls of the classes meet"
