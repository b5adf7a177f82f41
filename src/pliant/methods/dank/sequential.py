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
the estimators three to ten models suffice, each started at the solution of the previous one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array
from pliant.methods.dank.problem import AdaptedDual, DualPoint
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate

PATIENCE, LONG_PATIENCE, LONGEST_PATIENCE = 4, 50, 200
"""Models in a row after which the solver has stalled: without progress, each solved more finely;
without a better value or gap; and with too little `PROGRESS` together."""

PROGRESS = 0.05
"""Smallest gain in value or gap of `LONGEST_PATIENCE` models, a share of the smallest gap so far.
At a slower pace, many thousands of models would be left to solve."""


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
        Maximum number of two-coordinate steps, in all; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` whenever `smo.solve` reports; returning True stops.

    Returns
    -------
    Result
        `n_iter` counts the two-coordinate steps; `history` has one entry a model.
    """
    state = SequentialState(problem, start, tol, max_iter, callback)
    while True:
        certificate, status = state.certify()
        if status is not None:
            break
        state.improve()
    return Result(
        x=state.point.beta,
        value=certificate.value,
        gap=certificate.gap,
        n_iter=state.n_iter,
        status=status,
        history=state.history,
        certificate=certificate,
    )


class SequentialState:
    """The point, the share of the next model, the counters and the history of the solver."""

    def __init__(
        self,
        problem: AdaptedDual,
        start: Array,
        tol: float,
        max_iter: int,
        callback: Callable[[Progress], Any] | None,
    ) -> None:
        self.problem = problem
        self.tol = tol
        self.limit = max_iter if max_iter >= 0 else int(np.iinfo(np.int64).max)
        self.callback = callback
        self.point = problem.at(start)
        self.share = 1.0
        self.relative_gap = np.inf
        self.best_value, self.least_gap = -np.inf, np.inf
        self.mark = (-np.inf, np.inf)  # both at the last model with enough `PROGRESS`
        self.stuck = self.idle = self.slow = 0  # models in a row, against the three patiences
        self.n_iter = 0
        self.stopped = False
        self.history: list[Progress] = []

    def certify(self) -> tuple[Certificate, Status | None]:
        """Return the certificate of the present point, and a status if the solver stops there."""
        certificate, status = self._certificate()
        if status is not None:  # verify at the last point that no eigenvalue is missing
            self.point = self.problem.at(self.point.beta, self.point, certain=True)
            certificate, status = self._certificate()
        self._record(certificate)
        return certificate, status

    def _certificate(self) -> tuple[Certificate, Status | None]:
        """Return the certificate, and a status if the point or the counters end the run."""
        certificate = self.problem.certificate(self.point)
        self.relative_gap = certificate.slope / (1.0 + abs(certificate.value))
        if self.relative_gap <= self.tol:
            certified = not np.isnan(certificate.gap)
            return certificate, Status.CONVERGED if certified else Status.UNCERTIFIED
        if self.stopped:
            return certificate, Status.STOPPED
        if self.n_iter >= self.limit:
            return certificate, Status.MAX_ITER
        stalled = self.stuck >= PATIENCE or self.idle >= LONG_PATIENCE
        stalled |= self.slow >= LONGEST_PATIENCE
        return certificate, Status.STALLED if stalled else None

    def _record(self, certificate: Certificate) -> None:
        """Extend the history; count the models without any progress, and with little."""
        value, gap = certificate.value, certificate.slope
        self.idle = 0 if value > self.best_value or gap < self.least_gap else self.idle + 1
        self.best_value, self.least_gap = max(self.best_value, value), min(self.least_gap, gap)
        # Is the pace fast enough? Many slow models in a row gain too little together.
        last_value, last_gap = self.mark
        progress = self.best_value - last_value > PROGRESS * self.least_gap
        if progress or self.least_gap < (1.0 - PROGRESS) * last_gap:
            self.mark, self.slow = (self.best_value, self.least_gap), 0
        else:
            self.slow += 1
        self.history.append(Progress(self.n_iter, value, certificate.gap))

    def improve(self) -> None:
        """Go to the maximiser of the model, or to the maximum of h on the way there."""
        old = self.point
        # A tenth of the present gap is enough, or of `tol`; a hundredth of it after each failure.
        precision = min(0.1, 0.1 * max(self.tol, self.relative_gap))
        result = smo.solve(
            self.problem.model(old, self.share),
            old.beta,
            tol=float(precision * 0.01**self.stuck),
            max_iter=self.limit - self.n_iter,
            callback=self._asks_to_stop,
        )
        self.n_iter += result.n_iter
        new = self._maximum_between(old, self.problem.at(result.x, old))
        if not self._is_better(new, old):
            self.stuck += 1
            self.share = 1.0
            return
        self.stuck = 0
        # After a step with less than a tenth of the predicted gain, the model is cautious again.
        predicted = min(1.0, 1.0 + self.share) * (result.value - result.history[0].objective)
        kept = new.value - old.value >= 0.1 * predicted
        self.share = self.problem.share(old, new) if kept else 1.0
        self.point = new

    def _maximum_between(self, old: DualPoint, end: DualPoint) -> DualPoint:
        """Return `end`, or a point on the way from `old` if h has its maximum before `end`.

        With s(t) = h(old + t (new - old)), concave, the secant of s' through s'(0) = rise and
        s'(1) = final has its root at t = rise / (rise - final). At most six points are tried. The
        search ends where h falls at the end of the step by at most .3 of the slope at its start.
        """
        new, gain = end, self.problem.predicted_gain
        for _ in range(6):
            rise, final = gain(old, old, new), gain(new, old, new)
            if rise <= 0.0 or final >= -0.3 * rise or self._asks_to_stop():
                break
            t = np.clip(rise / (rise - final), 0.05, 1.0)
            new = self.problem.at(old.beta + t * (new.beta - old.beta), old)
        return new

    def _is_better(self, new: DualPoint, old: DualPoint) -> bool:
        """Return True if h is larger, or, where rounding hides that, if the gap is smaller.

        The slopes at both ends show gains that are too small for the values.
        """
        gain, noise = new.value - old.value, 1e-12 * (1.0 + abs(old.value))
        if np.array_equal(new.beta, old.beta) or gain < -noise:
            return False
        slopes = self.problem.predicted_gain(old, old, new)
        slopes += self.problem.predicted_gain(new, old, new)
        # The mean of both slopes is the trapezoidal rule for the gain.
        if gain > noise or slopes > 0.0:
            return True
        return self.problem.certificate(new).slope < self.problem.certificate(old).slope

    def _asks_to_stop(self, progress: Progress | None = None) -> bool:
        """Report the steps, with those of the model; return True if the callback asks to stop."""
        if self.callback is not None and not self.stopped:
            more = 0 if progress is None else progress.n_iter
            total = self.history[-1]._replace(n_iter=self.n_iter + more)
            self.stopped = self.callback(total) is True
        return self.stopped
