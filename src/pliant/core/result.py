"""What a solver returns, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from pliant.core.typing import Array

__all__ = ["Certified", "Progress", "Result", "Status"]

Proof = TypeVar("Proof")


class Status(Enum):
    """Why a solver stopped; the value is advice for the reader."""

    CONVERGED = "the requested accuracy is certified"
    UNCERTIFIED = "stationary, but the kernel is not positive semi-definite: no certificate exists"
    MAX_ITER = "the iteration limit came first; raise max_iter, or scale the features, or lower C"
    STALLED = (
        "no step makes progress in floating point; raise tol, or lower C, or scale the features"
    )
    SETTLED = "no step lowers the objective noticeably; it is not convex: no certificate exists"
    IDLE = "the bounds got no better for many machines; raise tol, or choose features, or lower C"
    ROUNDED = "float32 hides the rest of the gap; set dtype='float64', or lower C"
    STOPPED = "a callback asked to stop"

    @property
    def advice(self) -> str:
        """Return what the reader can do about it."""
        return self.value


class Certified(Protocol):
    """What every solver reads from a problem's certificate."""

    @property
    def value(self) -> float:
        """The objective."""

    @property
    def gap(self) -> float:
        """The bound on its distance from the optimum; nan if there is none."""


class Progress(NamedTuple):
    """What a callback sees: iterations done, objective and gap when last checked (nan before)."""

    n_iter: int
    objective: float
    gap: float


@dataclass(frozen=True)
class Result(Generic[Proof]):
    """The outcome of a run.

    Attributes
    ----------
    x : array
        The solution.
    value : float
        The objective at `x`.
    gap : float
        A bound on the distance of `value` from the optimum, in units of the objective; nan where
        the problem has no certificate.
    n_iter : int
        Iterations done, in the unit of the solver.
    status : Status
        Why the solver stopped.
    history : list of Progress
        Objective and gap at each check.
    certificate : object or None
        What the problem returned as proof of the gap.
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
        """Return the objective at each check."""
        return np.array([step.objective for step in self.history], dtype=np.float64)

    @property
    def gaps(self) -> Array:
        """Return the certified gap at each check."""
        return np.array([step.gap for step in self.history], dtype=np.float64)
