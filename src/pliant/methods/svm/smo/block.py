"""The problem of `pliant.methods.svm.smo` on some of its coordinates, the others held fixed."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from pliant.core.result import Certified
from pliant.core.typing import Array, Indices, Mask
from pliant.methods.svm.rows import Pause, Rows
from pliant.methods.svm.smo.steps import ascend, tolls

__all__ = ["Block", "CertifiedIntercept", "TwoCoordinateProblem"]


class CertifiedIntercept(Certified, Protocol):
    """What the solver reads besides."""

    @property
    def intercept(self) -> float:
        """The b that makes the gap smallest."""


Proof_co = TypeVar("Proof_co", bound=CertifiedIntercept, covariant=True)


class TwoCoordinateProblem(Protocol[Proof_co]):
    """What a problem must offer to the solver; `pliant.methods.svm.smo` tells the letters."""

    @property
    def rows(self) -> Rows:
        """The rows of K."""

    @property
    def linear(self) -> Array:
        """The vector p."""

    @property
    def lower(self) -> Array:
        """The lower bounds, <= 0."""

    @property
    def upper(self) -> Array:
        """The upper bounds, >= 0."""

    @property
    def epsilon(self) -> Array | float:
        """The weight of the 1-norm, one for all coordinates or one for each."""

    @property
    def quartic(self) -> float:
        """The weight c of the quartic term."""

    @property
    def psd(self) -> bool:
        """Whether gaps are certified."""

    def fields(self, beta: Array) -> tuple[Array, Array]:
        """Return u = K beta and v = (K o K) beta^2."""

    def certificate(self, beta: Array, fields: tuple[Array, Array]) -> Proof_co:
        """Return a proof of the gap at `beta`."""


class Block:
    """The problem on some coordinates (all, if not told), the others held fixed."""

    def __init__(
        self,
        problem: TwoCoordinateProblem[Any],
        beta: Array,
        fields: tuple[Array, Array],
        indices: Indices | None = None,
        pause: Pause | None = None,
    ) -> None:
        self.indices = np.arange(beta.size) if indices is None else indices
        self._rows, self._pause = problem.rows, pause
        self.diagonal = problem.rows.diagonal()[self.indices]
        self.linear, self.lower, self.upper = (
            vector[self.indices] for vector in (problem.linear, problem.lower, problem.upper)
        )
        self.epsilon = np.broadcast_to(problem.epsilon, beta.shape)[self.indices]
        self.c = problem.quartic
        self.beta = beta[self.indices]
        u, self.v = (field[self.indices] for field in fields)
        self.g = self.linear - u - self.c * self.beta * self.v

    @cached_property
    def gram(self) -> Array:
        """The square part of K; it is made only when steps are taken."""
        return self._rows.square(self.indices, self._pause)

    @property
    def violation(self) -> float:
        """The largest rate of gain of any pair of coordinates; <= 0 at the optimum."""
        rise, fall = self.rates()
        return float(rise.max() - fall.min())

    def rates(self) -> tuple[Array, Array]:
        """Return the rates of gain upwards and of loss downwards of each coordinate."""
        up, down = tolls(self.beta, self.lower, self.upper, self.epsilon)
        return self.g - up, self.g - down

    @property
    def free(self) -> Mask:
        """Which coordinates are neither zero nor at a bound."""
        return (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0.0)

    def fields(self) -> tuple[Array, Array]:
        """Return u and v at the present point."""
        return self.linear - self.g - self.c * self.beta * self.v, self.v

    def active(self, intercept: float, room: int) -> Indices | None:
        """Return up to `room` coordinates to step on next, None if that would leave out too much.

        These are the coordinates in some violating pair; if there are too many, the worst
        violators of the optimality conditions at `intercept`, and the free coordinates. None as
        well if no pair violates them.
        """
        rise, fall = self.rates()
        pairs = np.flatnonzero((rise > fall.min()) | (fall < rise.max()))
        if pairs.size == 0:
            return None
        if pairs.size <= room:
            return pairs
        violation = np.maximum(rise - intercept, intercept - fall)  # >= 0 for free coordinates
        if (violation >= 0.0).sum() > room:
            return None
        return np.sort(np.argsort(-violation, kind="stable")[:room])

    def ascend(self, goal: float, steps: int) -> int:
        """Take up to `steps` steps, until the violation is <= `goal`; return their number."""
        return ascend(
            self.gram, self.diagonal, self.lower, self.upper, self.epsilon, self.c,
            self.beta, self.g, self.v, goal, steps,
        )  # fmt: skip
