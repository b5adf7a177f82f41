"""Who wins: the paired differences between two contestants, set by set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from papers.accuracy.study import TUNED
from papers.scores import Scores, Way

__all__ = ["Gain", "Standing", "gain", "standings", "way"]


def way(name: str) -> Way:
    """Return a contestant as `Scores` knows it."""
    return Way(name, TUNED)


@dataclass(frozen=True)
class Gain:
    """How much better one contestant is than another on one set, over the same splits.

    Attributes
    ----------
    mean : float
        In per cent of the test rows, or as a mean squared error; positive is better.
    error : float
        The standard error of that mean, the splits taken as independent.
    corrected_error : float
        The same, made larger for training rows that the splits share (Nadeau and Bengio).
    p_value, corrected_p : float or None
        Of the two t tests; None where the differences do not vary.
    splits : tuple of int
        On how many splits the first is better, equal, worse.
    """

    mean: float
    error: float
    corrected_error: float
    p_value: float | None
    corrected_p: float | None
    splits: tuple[int, int, int]

    def side(self, within: float) -> int:
        """Return 1 or -1 if the mean is further than `within` from zero, else 0."""
        return 0 if abs(self.mean) <= within + 1e-12 else int(np.sign(self.mean))

    @property
    def verdict(self) -> int:
        """The side by the rule of the study: a tie lies within one standard error."""
        return self.side(self.error)


def gain(scores: Scores, name: str, first: str, second: str) -> Gain:
    """Compare two contestants on a set."""
    tests = scores.tests(name, way(first), way(second))
    if tests is None:
        return _constant(scores, name, first, second)
    t, corrected = tests.t, tests.corrected
    return Gain(
        t.mean_difference, t.standard_error, corrected.standard_error,
        t.p_value, corrected.p_value, (t.wins, t.ties, t.losses),
    )  # fmt: skip


def _constant(scores: Scores, name: str, first: str, second: str) -> Gain:
    """Return a gain that is the same on every split."""
    mean = scores.gain(name, way(first), way(second))
    found = Gain(mean, 0.0, 0.0, None, None, (0, 0, 0))
    repeats = len(scores.values(name, way(first)))
    wins, ties, losses = (repeats * (found.verdict == side) for side in (1, 0, -1))
    return replace(found, splits=(wins, ties, losses))


@dataclass(frozen=True)
class Standing:
    """On how many sets the first contestant wins, ties and loses."""

    wins: int
    ties: int
    losses: int

    @classmethod
    def of(cls, sides: Sequence[int]) -> Standing:
        """Count sides 1, 0 and -1."""
        return cls(sides.count(1), sides.count(0), sides.count(-1))

    def __str__(self) -> str:
        """Return ``wins–ties–losses``."""
        return f"{self.wins}–{self.ties}–{self.losses}"


def standings(gains: Sequence[Gain]) -> dict[str, Standing]:
    """Count by the rule, by the corrected standard error, and by the mean alone."""
    return {
        "rule": Standing.of([gain.verdict for gain in gains]),
        "corrected": Standing.of([gain.side(gain.corrected_error) for gain in gains]),
        "mean": Standing.of([gain.side(0.0) for gain in gains]),
    }
