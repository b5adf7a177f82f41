"""Checkpoints of learning in parts: what a run stores in a folder for the next one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.methods.svm.estimators import finite_gram
from pliant.methods.svm.parts.folder import fingerprint
from pliant.methods.svm.parts.store import Store
from pliant.methods.svm.task import Task

SAVE_SECONDS = 30.0
"""Least time between two stored states of a refinement."""

FITTED = (
    "C", "epsilon", "eta", "eta_scale", "tol", "max_iter", "partition", "n_parts", "dtype",
    "random_state",
)  # fmt: skip
"""The parameters that a solution depends on, beside data and kernel."""

SAMPLE = 16
"""Points on which the kernel values for the fingerprint are computed."""


def open_store(estimator: Any, task: Task) -> Store | None:
    """Return the store for the results of a task, or None if there is no checkpoint.

    Raises ValueError if the folder belongs to another run.
    """
    if estimator.checkpoint is None:
        return None
    parameters = {name: _plain(getattr(estimator, name, None)) for name in FITTED}
    parameters["method"] = "KNPL" if estimator._centred else "DANK"
    parameters |= _identity(task.kernel, task.points)
    return Store(
        Path(estimator.checkpoint) / task.name,
        fingerprint(task.points, task.target, task.weights, parameters),
        limit=float(estimator.C * np.max(task.weights, initial=0.0)),
    )


def _plain(value: Any) -> Any:
    """Return a parameter as a JSON value; None for other objects."""
    if isinstance(value, bool | int | float | str | np.integer | np.floating):
        return value.item() if isinstance(value, np.generic) else value
    return None


def _identity(kernel: Kernel, points: Array) -> dict[str, Any]:
    """Return what distinguishes a kernel: its name, its parameters and some of its values."""
    some = np.unique(np.linspace(0, len(points) - 1, min(len(points), SAMPLE)).astype(np.intp))
    values = finite_gram(kernel, points[some])
    values = np.round(values / (np.abs(values).max() or 1.0), 6) + 0.0  # equal on any processor
    parameters = {
        f"kernel__{key}": _plain(value) for key, value in kernel.get_params(False).items()
    }
    return parameters | {"kernel": type(kernel).__name__, "kernel_values": values}


class Keeper:
    """Stores the coefficients of a run at intervals, and when it ends, for whatever reason."""

    def __init__(self, store: Store | None, name: str) -> None:
        self.store, self.name, self.last = store, name, time.monotonic()
        self.beta: Array | None = None

    def __call__(self, beta: Array) -> None:
        """Store `beta` if the last one was stored more than SAVE_SECONDS ago."""
        self.beta = beta
        if time.monotonic() - self.last >= SAVE_SECONDS:
            self._save()

    def _save(self) -> None:
        if self.store is not None and self.beta is not None:
            self.store.save_state(self.name, beta=self.beta)
        self.last = time.monotonic()

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        self._save()
