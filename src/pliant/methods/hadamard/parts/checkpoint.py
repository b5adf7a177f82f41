"""What a run of learning part by part keeps in a folder, so that the next one can go on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.methods.hadamard.parts import Store, fingerprint
from pliant.methods.svm.estimators import Task, finite_gram

__all__ = ["Keeper", "open_store"]

SAVE_SECONDS = 30.0
"""The state of a refinement is kept at most so often."""

FITTED = (
    "C", "epsilon", "eta", "eta_scale", "tol", "max_iter", "partition", "n_parts", "dtype",
    "random_state",
)  # fmt: skip
"""The parameters that a solution depends on, beside data and kernel."""

SAMPLE = 16
"""Points whose kernel values tell one kernel from another."""


def open_store(machine: Any, task: Task) -> Store | None:
    """Return the folder of a machine's results on a task; refuse another run's.

    None where the machine has no checkpoint.
    """
    if machine.checkpoint is None:
        return None
    parameters = {name: _plain(getattr(machine, name, None)) for name in FITTED}
    parameters |= _told(task.kernel, task.points)
    return Store(
        Path(machine.checkpoint) / task.name,
        fingerprint(task.points, task.target, task.weights, parameters),
    )


def _plain(value: Any) -> Any:
    """Return a parameter as JSON has it; None for what it has not."""
    if isinstance(value, bool | int | float | str | np.integer | np.floating):
        return value.item() if isinstance(value, np.generic) else value
    return None


def _told(kernel: Kernel, points: Array) -> dict[str, Any]:
    """Return what tells a kernel from another: its numbers and names, and some of its values."""
    some = np.unique(np.linspace(0, len(points) - 1, min(len(points), SAMPLE)).astype(np.intp))
    values = finite_gram(kernel, points[some])
    values = np.round(values / (np.abs(values).max() or 1.0), 6) + 0.0  # alike on any processor
    told = {f"kernel__{key}": _plain(value) for key, value in kernel.get_params(False).items()}
    return told | {"kernel": type(kernel).__name__, "kernel_values": values}


class Keeper:
    """Keeps the coefficients of a run now and then, and when it ends, however it does."""

    def __init__(self, store: Store | None, name: str) -> None:
        self.store, self.name, self.last = store, name, time.monotonic()
        self.beta: Array | None = None

    def __call__(self, beta: Array) -> None:
        """Take note of `beta`; keep it if the last time is long ago."""
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
