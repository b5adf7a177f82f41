"""What the measurements of a table say: scores, and paired tests against the plain machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from papers.document import Document
from pliant.comparison import (
    PairedTest,
    Score,
    corrected_t_test,
    paired_t_test,
    wilcoxon_test,
)
from pliant.core.typing import Array

__all__ = ["LEVEL", "PLAIN", "Overall", "Scores", "Tests", "Way"]

LEVEL = 0.05
"""The probability of calling a difference real when there is none, for one test."""


class Way(NamedTuple):
    """A contestant with one of its ways to choose."""

    contestant: str
    variant: str


PLAIN = Way("svm", "fixed/none")
"""What all others are tested against."""


@dataclass(frozen=True)
class Tests:
    """Paired tests over the repeats of one set; the sign of a difference is that of a gain."""

    t: PairedTest
    corrected: PairedTest
    wilcoxon: PairedTest


@dataclass(frozen=True)
class Overall:
    """A way to choose, over several sets.

    Attributes
    ----------
    mean : float
        The mean of the test scores: accuracies in per cent, or 1 - R2.
    gain : float
        How much better that is than the plain machine's.
    rank : float
        Mean over the sets of the rank among the ways compared; 1 is the best.
    better, worse : int
        Sets on which the paired t test calls the difference from the plain machine real.
    p_value : float or None
        Wilcoxon's test over the sets; None for fewer than two sets.
    """

    mean: float
    gain: float
    rank: float
    better: int
    worse: int
    p_value: float | None


class Scores:
    """The scores in a document."""

    def __init__(self, study: Document) -> None:
        self._results = {(r["set"], r["contestant"]): r for r in study["results"]}

    def result(self, name: str, contestant: str) -> dict[str, Any]:
        """Return what the document holds of a contestant on a set."""
        return self._results[name, contestant]

    def sets(self, task: str | None = None) -> list[str]:
        """Return the sets of a task (of any, if none is told)."""
        return list(dict.fromkeys(
            r["set"] for r in self._results.values() if task in (None, r["task"])
        ))  # fmt: skip

    def values(self, name: str, way: Way, part: str = "test") -> Array:
        """Return the scores of all repeats: accuracies in per cent, or 1 - R2."""
        result = self._results[name, way.contestant]
        scores = np.array(result["variants"][way.variant][part], dtype=np.float64)
        return 100.0 * scores if result["task"] == "classification" else scores

    def score(self, name: str, way: Way, part: str = "test", mark: str = "") -> Score:
        """Return mean and standard deviation over the repeats."""
        return Score.of(self.values(name, way, part), mark)

    def sign(self, name: str) -> float:
        """Return 1 where a high score is good, -1 where a low one is."""
        task = next(r["task"] for r in self._results.values() if r["set"] == name)
        return 1.0 if task == "classification" else -1.0

    def gain(self, name: str, way: Way, other: Way = PLAIN) -> float:
        """Return how much better one way is than another on average."""
        difference = self.values(name, way).mean() - self.values(name, other).mean()
        return float(self.sign(name) * difference)

    def tests(self, name: str, way: Way, other: Way = PLAIN) -> Tests | None:
        """Test one way against another; None where the differences do not vary."""
        result, sign = self._results[name, way.contestant], self.sign(name)
        first, second = sign * self.values(name, way), sign * self.values(name, other)
        if len(first) < 2 or np.ptp(first - second) < 1e-9:
            return None
        sizes = {"n_train": result["n_train"], "n_test": result["n_test"]}
        return Tests(
            paired_t_test(first, second),
            corrected_t_test(first, second, **sizes),
            wilcoxon_test(first, second),
        )

    def side(self, name: str, way: Way, other: Way = PLAIN) -> int:
        """Return 1, -1 or 0: better or worse beyond chance by the paired t test, or neither."""
        tests = self.tests(name, way, other)
        return 0 if tests is None else tests.t.favours(LEVEL)

    def overall(self, ways: Sequence[Way], sets: Sequence[str]) -> list[Overall]:
        """Compare ways to choose over sets of one task."""
        ranks = self.ranks(ways, sets)
        return [self._over(sets, way, ranks[k]) for k, way in enumerate(ways)]

    def _over(self, sets: Sequence[str], way: Way, ranks: Array) -> Overall:
        means = [float(self.values(name, way).mean()) for name in sets]
        plain = [float(self.values(name, PLAIN).mean()) for name in sets]
        sides = [self.side(name, way) for name in sets]
        return Overall(
            mean=float(np.mean(means)),
            gain=float(np.mean([self.gain(name, way) for name in sets])),
            rank=float(ranks.mean()),
            better=sides.count(1),
            worse=sides.count(-1),
            p_value=wilcoxon_test(means, plain).p_value if len(sets) > 1 else None,
        )

    def ranks(self, ways: Sequence[Way], sets: Sequence[str]) -> Array:
        """Return the rank of the mean score of each way on each set, 1 the best, (ways, sets)."""
        columns = [
            rankdata(
                [-np.round(self.sign(name) * self.values(name, way).mean(), 9) for way in ways]
            )
            for name in sets
        ]
        return np.stack(columns, axis=1)
