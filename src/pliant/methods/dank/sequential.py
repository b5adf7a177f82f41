"""Maximisation by a sequence of models, each of which is solved completely.

The problem is to maximise a concave h. At a point x_k it offers a model m_k: a simpler problem,
concave, with the same feasible set and the same gradient at x_k. Its maximiser x gives an ascent
direction x - x_k of h, for the model rises along it. The full step is taken unless h has its
maximum well before the end; then the secant rule searches for it. The curvature of the model is
scaled by a share in [0, 1], estimated from the last step (as a spectral gradient method estimates
one number for its step length). Share 1 is the cautious model: where it lies below h, its maximiser
gains without any search, so that the iterates rise to the optimum (the minorise-maximise, or
concave-convex, principle).

An SVM dual whose kernel matrix adapts a little is so close to its model that with the defaults of
the estimators three to ten models suffice, each started where the last one ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array
from pliant.methods.dank.problem import AdaptedDual, Point
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate

COARSEST = 0.1
"""Largest relative gap to which a model is solved."""

MODEL_SHARE = 0.1
"""A model is solved to this share of the present relative gap, or of `tol` if that is larger."""

ENOUGH = 0.1
"""After a step that gains less than this share of what its model predicted, share is 1 again."""

SEARCHES = 6
"""Points on the way to the model's maximiser that are tried for the maximum of h."""

OVERSHOOT = 0.3
"""At the end of a step h may fall this share as steeply as it rose at its beginning."""

SHORTEST = 0.05
"""The secant rule shortens a step to this share at most."""

ROUNDING = 1e-12
"""Relative changes of h below this may be noise."""

PATIENCE = 4
"""Models in a row without progress, each solved more finely: then the run has stalled."""

LONG_PATIENCE = 50
"""Models in a row without a better value or gap: then the run has stalled, too."""

LONGEST_PATIENCE = 200
"""Models in a row that together gain less than `PROGRESS`: then the run has stalled, too."""

PROGRESS = 0.05
"""Share of the smallest gap so far, by which the value has to rise or the gap to fall.

At a slower pace, many thousands of models would be left to solve.
"""


def solve(
    problem: AdaptedDual,
    start: Array,
    *,
    tol: float = 1e-4,
    max_iter: int = -1,
    callback: Callable[[Progress], Any] | None = None,
) -> Result[Certificate]:
    """Maximise a concave function to a certified gap by a sequence of models.

    Parameters
    ----------
    problem : AdaptedDual
    start : array of shape (n,)
        Feasible.
    tol : float
        Stop when gap <= tol (1 + abs(value)). Where the problem has no certificate, stop when
        the same sum, a measure of stationarity, is as small.
    max_iter : int
        Two-coordinate steps at most, in all; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` whenever `smo.solve` reports; returning True stops.

    Returns
    -------
    Result
        `n_iter` counts the two-coordinate steps; `history` has one entry a model.
    """
    run = _Run(problem, start, max_iter, callback)
    while True:
        certificate, status = run.check(tol)
        if status is not None:
            break
        run.improve(tol)
    return Result(
        x=run.point.beta,
        value=certificate.value,
        gap=certificate.gap,
        n_iter=run.n_iter,
        status=status,
        history=run.history,
        certificate=certificate,
    )


class _Run:
    """One run: the point, the share of the next model, and the history."""

    def __init__(
        self,
        problem: AdaptedDual,
        start: Array,
        max_iter: int,
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.problem = problem
        self.limit = max_iter if max_iter >= 0 else int(np.iinfo(np.int64).max)
        self.callback = callback
        self.point = problem.at(start)
        self.share = 1.0
        self.relative_gap = np.inf
        self.least = np.inf
        self.best = -np.inf
        self.mark = (-np.inf, np.inf)
        self.idle = 0
        self.slow = 0
        self.stuck = 0
        self.n_iter = 0
        self.stopped = False
        self.history: list[Progress] = []

    def check(self, tol: float) -> tuple[Certificate, Status | None]:
        """Certify the present point; return the reason if the run is over, else None."""
        certificate = self._certify()
        status = self._status(tol)
        if status is not None:  # verify the last point
            self.point = self.problem.at(self.point.beta, self.point, certain=True)
            certificate = self._certify()
            status = self._status(tol)
        self._record(certificate)
        return certificate, status

    def improve(self, tol: float) -> None:
        """Go to the maximiser of the model, or part of the way."""
        old = self.point
        model = self.problem.model(old, self.share)
        result = smo.solve(
            model,
            old.beta,
            tol=self._precision(tol),
            max_iter=self.limit - self.n_iter,
            callback=self._report,
        )
        self.n_iter += result.n_iter
        new = self._best_between(old, self.problem.at(result.x, old))
        if new is old:
            self.stuck += 1
            self.share = 1.0
            return
        self.stuck = 0
        predicted = min(1.0, 1.0 + self.share) * (result.value - result.history[0].objective)
        kept = new.value - old.value >= ENOUGH * predicted
        self.share = self.problem.share(old, new) if kept else 1.0
        self.point = new

    def _certify(self) -> Certificate:
        certificate = self.problem.certificate(self.point)
        self.relative_gap = certificate.slope / (1.0 + abs(certificate.value))
        return certificate

    def _record(self, certificate: Certificate) -> None:
        """Add to the history; count the models without any progress, and with little."""
        better = certificate.value > self.best or certificate.slope < self.least
        self.idle = 0 if better else self.idle + 1
        self.best = max(self.best, certificate.value)
        self.least = min(self.least, certificate.slope)
        value, gap = self.mark
        if self.best - value > PROGRESS * self.least or self.least < (1.0 - PROGRESS) * gap:
            self.mark, self.slow = (self.best, self.least), 0
        else:
            self.slow += 1
        self.history.append(Progress(self.n_iter, certificate.value, certificate.gap))

    def _status(self, tol: float) -> Status | None:
        if self.relative_gap <= tol:
            return Status.CONVERGED if self.problem.psd else Status.UNCERTIFIED
        if self.stopped:
            return Status.STOPPED
        if self.n_iter >= self.limit:
            return Status.MAX_ITER
        stalled = self.stuck >= PATIENCE or self.idle >= LONG_PATIENCE
        stalled |= self.slow >= LONGEST_PATIENCE
        return Status.STALLED if stalled else None

    def _precision(self, tol: float) -> float:
        """Return the relative gap for the next model; smaller after each that failed."""
        wanted = MODEL_SHARE * max(tol, self.relative_gap)
        return float(min(COARSEST, wanted) * 0.01**self.stuck)

    def _best_between(self, old: Point, end: Point) -> Point:
        """Return `end`, or a point on the way there if h has its maximum before it; else `old`.

        Along the way h is a concave function, of which the slopes at both ends are known: the
        secant rule finds its maximum.
        """
        new = end
        for _ in range(SEARCHES):
            rise, final = (self.problem.predicted_gain(at, old, new) for at in (old, new))
            if rise <= 0.0 or final >= -OVERSHOOT * rise or self._report_steps(0):
                break
            share = np.clip(rise / (rise - final), SHORTEST, 1.0)
            new = self.problem.at(old.beta + share * (new.beta - old.beta), old)
        return new if self._is_better(new, old) else old

    def _is_better(self, new: Point, old: Point) -> bool:
        """Whether h is larger, by its values or slopes, or else, by rounding, the gap smaller.

        The mean of the slopes at both ends shows gains that are too small for the values.
        """
        gain, noise = new.value - old.value, ROUNDING * (1.0 + abs(old.value))
        if np.array_equal(new.beta, old.beta) or gain < -noise:
            return False
        slopes = sum(self.problem.predicted_gain(at, old, new) for at in (old, new))
        if gain > noise or slopes > 0.0:
            return True
        before, after = (self.problem.certificate(point).slope for point in (old, new))
        return after < before

    def _report(self, progress: Progress) -> bool:
        return self._report_steps(progress.n_iter)

    def _report_steps(self, more: int) -> bool:
        """Report `more` steps than were counted; return whether the callback asks to stop."""
        if self.callback is not None and not self.stopped:
            total = self.history[-1]._replace(n_iter=self.n_iter + more)
            self.stopped = self.callback(total) is True
        return self.stopped
