"""Maximisation of a concave function h by a sequence of models.

The model m_k of h at a point x_k is a simpler concave function with the same feasible set and the
same gradient at x_k. Its maximiser x defines an ascent direction x - x_k of h. The solver takes the
full step unless h has its maximum on the segment well before x; then the secant method finds it.

A share in (-1, 1], estimated from the last step like the step length in spectral gradient methods,
scales the curvature of the model. With share 1, the model is conservative: if it is below h, its
maximiser increases h without a line search, as in the minorise-maximise (concave-convex) procedure.
With the estimators' defaults, an adapted SVM dual is so close to its model that three to ten models
suffice, each started at the solution of the previous one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.core.progress import Progress, Result, Status
from pliant.core.typing import Array, Callback
from pliant.methods.dank.problem import DualPoint, HadamardDual
from pliant.methods.svm import smo
from pliant.methods.svm.dual import Certificate

PATIENCE = 4
"""Number of consecutive rejected models, each solved more accurately, before the solver stalls."""

PROGRESS = 0.05
"""The solver stops if 200 models improve neither the value nor the gap by this fraction of the
smallest gap so far: it would take many thousands of models to converge."""


def solve(
    problem: HadamardDual,
    start: Array,
    *,
    tol: float = 1e-4,
    max_iter: int = -1,
    callback: Callback | None = None,
) -> Result[Certificate]:
    """Maximise a concave function to a certified gap by a sequence of models.

    Parameters
    ----------
    problem : HadamardDual
        The problem, with a rule that couples all coordinates.
    start : array of shape (n,)
        A feasible point.
    tol : float
        Stop when gap <= tol (1 + abs(value)). Without a certificate, the sum that defines the gap
        only measures stationarity.
    max_iter : int
        Maximum total number of two-coordinate steps; -1 for no limit.
    callback : callable, optional
        Called with a `Progress` whenever `smo.solve` reports; returning True stops the solver.

    Returns
    -------
    Result
        `n_iter` counts the two-coordinate steps; `history` has one entry per model.
    """
    limit = max_iter if max_iter >= 0 else int(np.iinfo(np.int64).max)
    state = SequentialState(
        problem=problem, point=problem.at(start), tol=tol, limit=limit, callback=callback
    )
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


@dataclass
class SequentialState:
    """State of the solver: the point, the next model's share, counters and history."""

    problem: HadamardDual
    point: DualPoint
    tol: float
    limit: int
    callback: Callback | None
    share: float = 1.0
    relative_gap: float = np.inf
    best_value: float = -np.inf
    least_gap: float = np.inf
    reference: tuple[float, float] = (-np.inf, np.inf)  # value and gap at the last `PROGRESS`
    rejected: int = 0  # this and the next two: numbers of consecutive models
    idle: int = 0
    slow: int = 0
    n_iter: int = 0
    stopped: bool = False
    history: list[Progress] = field(default_factory=list)

    def certify(self) -> tuple[Certificate, Status | None]:
        """Return the certificate of the current point, and a status if the solver stops."""
        certificate, status = self._check_point()
        if status is not None:  # check that no eigenvalue is missing
            self.point = self.problem.at(self.point.beta, self.point, verify=True)
            certificate, status = self._check_point()
        self._record(certificate)
        return certificate, status

    def _check_point(self) -> tuple[Certificate, Status | None]:
        """Return the certificate, and a status if the gap or a limit ends the iteration."""
        certificate = self.problem.certificate(self.point)
        self.relative_gap = certificate.linearized_gap / (1.0 + abs(certificate.value))
        if self.relative_gap <= self.tol:
            certified = not np.isnan(certificate.gap)
            return certificate, Status.CONVERGED if certified else Status.UNCERTIFIED
        if self.stopped:
            return certificate, Status.STOPPED
        if self.n_iter >= self.limit:
            return certificate, Status.MAX_ITER
        # stalled also after 50 models without a better value or gap, or 200 without `PROGRESS`
        stalled = self.rejected >= PATIENCE or self.idle >= 50 or self.slow >= 200
        return certificate, Status.STALLED if stalled else None

    def _record(self, certificate: Certificate) -> None:
        """Append to the history and update the counters of idle and slow models."""
        value, gap = certificate.value, certificate.linearized_gap
        self.idle = 0 if value > self.best_value or gap < self.least_gap else self.idle + 1
        self.best_value, self.least_gap = max(self.best_value, value), min(self.least_gap, gap)
        last_value, last_gap = self.reference
        progress = self.best_value - last_value > PROGRESS * self.least_gap
        if progress or self.least_gap < (1.0 - PROGRESS) * last_gap:
            self.reference, self.slow = (self.best_value, self.least_gap), 0
        else:
            self.slow += 1
        self.history.append(Progress(self.n_iter, value, certificate.gap))

    def improve(self) -> None:
        """Move to the maximiser of the model, or to the maximum of h along that step."""
        old = self.point
        # Solve to a tenth of max(gap, tol), divided by 100 after each rejection.
        precision = min(0.1, 0.1 * max(self.tol, self.relative_gap))
        result = smo.solve(
            self.problem.model(old, self.share),
            old.beta,
            tol=float(precision * 0.01**self.rejected),
            max_iter=self.limit - self.n_iter,
            callback=self._should_stop,
        )
        self.n_iter += result.n_iter
        new = self._search_line(old, self.problem.at(result.x, old))
        if not self._is_better(new, old):
            self.rejected += 1
            self.share = 1.0
            return
        self.rejected = 0
        # After a step with less than a tenth of the predicted gain, use the conservative model.
        predicted = min(1.0, 1.0 + self.share) * (result.value - result.history[0].objective)
        reliable = new.value - old.value >= 0.1 * predicted
        self.share = self.problem.share(old, new) if reliable else 1.0
        self.point = new

    def _search_line(self, old: DualPoint, end: DualPoint) -> DualPoint:
        """Return `end`, or a point between `old` and `end` if h has its maximum before `end`.

        For the concave s(t) = h(old + t (new - old)), the secant of s' through s'(0) = rise and
        s'(1) = final has its root at t = rise / (rise - final). At most six points are tried. The
        search stops once the slope at the end of the step is at least -.3 times the initial slope.
        """
        new, gain = end, self.problem.predicted_gain
        for _ in range(6):
            rise, final = gain(old, old, new), gain(new, old, new)
            if rise <= 0.0 or final >= -0.3 * rise or self._should_stop():
                break
            t = np.clip(rise / (rise - final), 0.05, 1.0)
            new = self.problem.at(old.beta + t * (new.beta - old.beta), old)
        return new

    def _is_better(self, new: DualPoint, old: DualPoint) -> bool:
        """Return True if h increases, or if the gap decreases and rounding hides the change in h.

        The slopes at both ends detect gains that are too small to change the values.
        """
        gain, noise = new.value - old.value, 1e-12 * (1.0 + abs(old.value))
        if np.array_equal(new.beta, old.beta) or gain < -noise:
            return False
        slopes = self.problem.predicted_gain(old, old, new)
        slopes += self.problem.predicted_gain(new, old, new)
        # By the trapezoidal rule, the gain is about half the sum of the slopes.
        if gain > noise or slopes > 0.0:
            return True
        after, before = self.problem.certificate(new), self.problem.certificate(old)
        return after.linearized_gap < before.linearized_gap

    def _should_stop(self, progress: Progress | None = None) -> bool:
        """Report the total number of steps; return True if the callback stops the solver."""
        if self.callback is not None and not self.stopped:
            steps = 0 if progress is None else progress.n_iter
            total = self.history[-1]._replace(n_iter=self.n_iter + steps)
            self.stopped = self.callback(total) is True
        return self.stopped
