"""Fit callbacks, deadlines and solver results.

Callbacks need scikit-learn 1.9 (``set_callbacks``); with older versions, fits run without them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from pliant.core import process
from pliant.core.typing import Array

__all__ = ["CallbackSupport"]  # scikit-learn's mixin, or the replacement below

F = TypeVar("F", bound=Callable[..., Any])

HAS_CALLBACKS = not process.BARE and find_spec("sklearn.callback") is not None

if TYPE_CHECKING:

    class CallbackSupport:
        """scikit-learn's mixin, with type annotations."""

        verbose: bool

        def set_callbacks(self, *callbacks: Any) -> Self: ...  # noqa: D102
        def _init_callback_context(self, *, max_subtasks: int | None) -> Any: ...

    def with_callbacks(method: F) -> F:
        """Decorate a ``fit`` so that its callbacks are torn down when it returns or raises."""
        return method
elif HAS_CALLBACKS:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
else:

    class CallbackSupport:
        """Replacement for scikit-learn's mixin before version 1.9."""

    def with_callbacks(method: F) -> F:
        """Return the method unchanged; scikit-learn has no callbacks before version 1.9."""
        return method


EVERY = 2.0  # seconds between the lines printed by a fit with ``verbose=True``


class FitProgress:
    """Report the start, the steps and the end of a fit to the callbacks of the estimator.

    Solvers stop if a call returns True. With ``verbose=True``, it prints a line every two seconds.
    """

    def __init__(self, estimator: CallbackSupport, X: Any, y: Any) -> None:
        self._name = type(estimator).__name__ if estimator.verbose else None
        self._start = self._printed = time.monotonic()
        self._call_arguments = {"estimator": estimator, "X": X, "y": y}
        self._context = None
        self.has_callbacks: bool = False
        if HAS_CALLBACKS:
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(**self._call_arguments)
            # Reporting a slice of work takes about 30 us, so skip it without callbacks.
            self.has_callbacks = bool(getattr(self._context, "_callbacks", True))

    def __call__(self, step: object = None) -> bool:
        """Report one slice of work; return True to stop the solver."""
        if self._name is not None and time.monotonic() >= self._printed + EVERY:
            self._printed = time.monotonic()
            facts = "running"
            if isinstance(step, Progress):
                known = (("objective", step.objective), ("gap", step.gap))
                values = [f", {name} {v:.6g}" for name, v in known if np.isfinite(v)]
                facts = f"step {step.n_iter}{''.join(values)}"
            self._print(facts)
        if self._context is None or not self.has_callbacks:
            return False
        slice_of_work = self._context.subcontext(task_name="steps")
        slice_of_work.call_on_fit_task_begin(**self._call_arguments)
        return bool(slice_of_work.call_on_fit_task_end(**self._call_arguments))

    def end(self) -> None:
        """Report the end of the fit."""
        if self._name is not None:
            self._print("done")
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._call_arguments)

    def _print(self, facts: str) -> None:
        seconds = time.monotonic() - self._start
        print(f"{self._name}: {seconds:.1f} s, {facts}", file=sys.stderr, flush=True)


class Deadline:
    """Callback that stops a solver after `seconds`, if given, or when `callback` returns True."""

    def __init__(self, callback: Callable[..., object], seconds: float | None) -> None:
        self._callback = callback
        self.ends: float | None = None if seconds is None else time.monotonic() + seconds
        self.expired: bool = False
        self.stopped: bool = False

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the end, for another process, whose clock may differ; None without one."""
        return None if self.ends is None else self.ends - time.monotonic()

    @property
    def is_over(self) -> bool:
        """True after the time limit or a stop; calls no callback, so any thread may ask."""
        return self.stopped or is_over(self.ends)

    def first(self, share: float) -> Deadline:
        """Return a deadline after the given share of the time left; it can also stop this one."""
        left = self.seconds_left
        return Deadline(self, None if left is None else share * left)

    def __call__(self, step: object = None) -> bool:
        """Return True to stop the solver; after the first True, always return True."""
        self.expired = self.expired or is_over(self.ends)
        self.stopped = self.stopped or self.expired or self._callback(step) is True
        return self.stopped


def is_over(ends: float | None) -> bool:
    """Return True if the ``time.monotonic`` value `ends` has passed; False if it is None."""
    return ends is not None and time.monotonic() >= ends


Proof = TypeVar("Proof")


class Status(Enum):
    """Reason why a solver stopped; the value is a message to the user, often with advice."""

    CONVERGED = "the requested accuracy is certified"
    UNCERTIFIED = "stationary, but the kernel is not positive semi-definite: no certificate exists"
    MAX_ITER = "the iteration limit was reached; raise max_iter, scale the features, or lower C"
    STALLED = "no step makes progress in floating point; raise tol, lower C, or scale the features"
    SETTLED = "no step lowers the objective noticeably; as it is not convex, no certificate exists"
    IDLE = "the bounds did not improve for many iterations; raise tol, select features, or lower C"
    STOPPED = "a callback stopped the solver"


class Progress(NamedTuple):
    """Number of iterations, and objective and gap at the last check (nan before the first)."""

    n_iter: int
    objective: float
    gap: float


@dataclass(frozen=True)
class Result(Generic[Proof]):
    """Result of a solver: the solution `x`, the objective `value`, and the progress at each check.

    `gap` bounds the distance of `value` from the optimum, as proved by `certificate`; it is nan
    without a certificate. Each solver defines the unit of `n_iter`.
    """

    x: Array
    value: float
    gap: float
    n_iter: int
    status: Status
    history: list[Progress] = field(default_factory=list)
    certificate: Proof | None = None

    @property
    def objectives(self) -> Array:
        """The objective at each check."""
        return np.array(self.history, dtype=np.float64).reshape(-1, 3)[:, 1].copy()

    @property
    def gaps(self) -> Array:
        """The certified gap at each check."""
        return np.array(self.history, dtype=np.float64).reshape(-1, 3)[:, 2].copy()
