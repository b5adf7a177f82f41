"""Progress of a fit, through scikit-learn's callbacks where the installed version has them.

scikit-learn 1.9 gave estimators ``set_callbacks``; with an older version fits run silently.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "HAS_CALLBACKS",
    "CallbackSupport",
    "Deadline",
    "FitProgress",
    "is_over",
    "with_callbacks",
]

F = TypeVar("F", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks as _with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False

    class CallbackSupport:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin before version 1.9."""

    def _with_callbacks(method: F) -> F:
        return method


def with_callbacks(method: F) -> F:
    """Make a ``fit`` tear down its callbacks however it ends."""
    decorated: F = _with_callbacks(method)
    return decorated


class FitProgress:
    """Tells the callbacks of an estimator that its fit begins, advances and ends.

    Called as a function after each slice of work, it returns True if a callback asks to stop.

    Parameters
    ----------
    estimator : estimator
        Whose ``fit`` runs, under `with_callbacks`.
    X, y : array-like
        What it is fitted on.
    """

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._told = {"estimator": estimator, "X": X, "y": y}
        self._context = None
        if HAS_CALLBACKS:
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(**self._told)

    def __call__(self, _step: object = None) -> bool:
        """Report one slice of work."""
        if self._context is None:
            return False
        slice_of_work = self._context.subcontext(task_name="steps")
        slice_of_work.call_on_fit_task_begin(**self._told)
        return bool(slice_of_work.call_on_fit_task_end(**self._told))

    def end(self) -> None:
        """Report that the fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._told)


class Deadline:
    """A callback that asks to stop when its time is up, or when another callback asks to.

    Parameters
    ----------
    callback : callable
        The other one.
    seconds : float or None
        From now on; None for no limit.
    """

    def __init__(self, callback: Callable[..., object], seconds: float | None) -> None:
        self._callback = callback
        self.ends = None if seconds is None else time.time() + seconds
        self.expired = False
        self.stopped = False

    def __call__(self, step: object = None) -> bool:
        """Return whether to stop; once True, always True."""
        self.expired = self.expired or is_over(self.ends)
        self.stopped = self.stopped or self.expired or self._callback(step) is True
        return self.stopped


def is_over(ends: float | None) -> bool:
    """Return whether a time, by the clock of the machine, has come; None never does."""
    return ends is not None and time.time() >= ends
