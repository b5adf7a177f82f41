"""Evaluate a document of measurements: numbers, paired differences, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.signed_ranks import signed_rank_p
from papers.study import MEASURED, Study
from pliant.core.typing import Array
from pliant.tables.comparison.statistics import corrected_t_test

LEVEL = 0.05
"""Significance level of each test."""


@dataclass(frozen=True)
class Gain:
    """Gain of one contestant over another on one set, over the same splits."""

    mean: float
    """Mean gain; positive is better."""
    error: float
    """Standard error of the mean, for independent splits."""
    corrected_error: float
    """Standard error corrected for training rows shared by the splits (Nadeau and Bengio)."""
    p_value: float | None
    corrected_p: float | None
    splits: tuple[int, int, int]
    """Numbers of splits on which the first is better, equal, worse."""
    wilcoxon_p: float | None = None
    """p-values of the two t tests and Wilcoxon's test; None for constant differences."""

    def side(self, within: float) -> int:
        """Return the sign of the mean, or 0 if it is within `within` of zero."""
        return 0 if abs(self.mean) <= within + 1e-12 else int(np.sign(self.mean))

    @property
    def verdict(self) -> int:
        """The side by the rule of the studies: ties lie within one standard error."""
        return self.side(self.error)

    @property
    def significant(self) -> int:
        """The side, or 0 if the paired t test finds no significant difference."""
        return 0 if self.p_value is None or self.p_value >= LEVEL else int(np.sign(self.mean))


def gain_of(first: Array, second: Array, n_train: int, n_test: int) -> Gain:
    """Compare scores on the same splits by the paired t test, its correction and Wilcoxon's test.

    Splits of one table share rows, so the plain test finds too many differences.
    """
    mean = float(np.mean(first - second))
    if len(first) < 2 or np.ptp(first - second) < 1e-9:  # the error of one split is unknown
        side = 0 if abs(mean) < 1e-12 else int(np.sign(mean))
        error = 0.0 if len(first) > 1 else inf
        better, equal, worse = (len(first) * (side == each) for each in (1, 0, -1))
        return Gain(mean, error, error, None, None, (better, equal, worse))
    plain = corrected_t_test(first, second, share=0.0)
    corrected = corrected_t_test(first, second, share=n_test / n_train)
    return Gain(
        plain.mean_difference, plain.standard_error, corrected.standard_error, plain.p_value,
        corrected.p_value, (plain.wins, plain.ties, plain.losses),
        signed_rank_p(first, second),
    )  # fmt: skip


def standing(sides: Sequence[int]) -> str:
    """Return ``wins–ties–losses``."""
    return "–".join(str(sides.count(each)) for each in (1, 0, -1))


@dataclass(frozen=True)
class Overall:
    """Summary of a variant over several sets."""

    mean: float
    gain: float
    """Mean score, and its gain over the plain model."""
    rank: float
    """Mean rank over the sets among the compared variants; 1 is the best."""
    better: int
    worse: int
    """Numbers of sets with a significant difference from the plain model by the paired t test."""
    p_value: float | None
    """p-value of Wilcoxon's test over the sets; None for fewer than two sets."""


class Results:
    """The measurements in a document; variants have names such as "svm:fixed/none"."""

    def __init__(self, study: Study, document: Mapping[str, Any]) -> None:
        self.study = study
        self.sets: list[str] = document["sets"]
        self.repeats: int = document["repeats"]
        self._groups = {(r["set"], r["contestant"]): r for r in document["results"]}
        measured = {who for _, who in self._groups}
        self.titles = {who: t for who, t in study.titles.items() if who in measured}

    def has(self, name: str, who: str) -> bool:
        """Return True if a contestant was measured on a set."""
        return (name, who.partition(":")[0]) in self._groups

    def group(self, name: str, who: str) -> Mapping[str, Any]:
        """Return the document's entry for a set and a contestant."""
        return self._groups[name, who.partition(":")[0]]

    def groups(self, name: str) -> list[Mapping[str, Any]]:
        """Return all entries for a set, in the order of the contestants."""
        return [self.group(name, who) for who in self.titles if self.has(name, who)]

    def task(self, name: str) -> str:
        return str(next(r["task"] for (each, _), r in self._groups.items() if each == name))

    def sets_of(self, task: str) -> list[str]:
        tasks = {name: group["task"] for (name, _), group in self._groups.items()}
        return [name for name in self.sets if tasks.get(name) == task]

    def found(self, name: str, who: str) -> Mapping[str, list[Any]]:
        """Return all entries, each over the repeats."""
        variant = who.partition(":")[2] or MEASURED
        measured: Mapping[str, list[Any]] = self.group(name, who)["variants"][variant]
        return measured

    def numbers(self, name: str, who: str, key: str) -> Array:
        """Return numbers of all repeats, such as seconds."""
        return np.array(self.found(name, who)[key], dtype=np.float64)

    def sign(self, name: str, part: str = "test") -> float:
        """Return 1 if higher scores are better, else -1."""
        less = self.task(name) == "regression" and self.study.protocol.score != "R2"
        return -1.0 if less or part == "log_loss" else 1.0

    def values(self, name: str, who: str, part: str = "test") -> Array:
        """Return the scores of all repeats on some rows: accuracies, R2, or errors."""
        percent = self.study.percent and self.task(name) == "classification"
        return (100.0 if percent else 1.0) * self.numbers(name, who, part)

    def mean(self, name: str, who: str, part: str = "test") -> float:
        return float(self.values(name, who, part).mean())

    def shared(self, name: str, ways: Sequence[str], part: str = "test") -> Array:
        """Return the scores on the common repeats, shape (contestants, r)."""
        columns = [self.values(name, who, part) for who in ways]
        least = min(map(len, columns))
        return np.array([column[:least] for column in columns])

    def means(self, ways: Sequence[str], part: str = "test") -> Array:
        """Return the mean scores over the common repeats, shape (sets, contestants)."""
        return np.array([self.shared(name, ways, part).mean(axis=1) for name in self.sets])

    def gain(self, name: str, first: str, second: str, part: str = "test") -> Gain:
        """Compare two contestants on their common splits."""
        a, b = self.sign(name, part) * self.shared(name, [first, second], part)
        group = self.group(name, first)
        return gain_of(a, b, group["n_train"], group["n_test"])

    def compared(self, first: str, second: str, part: str = "test") -> dict[str, Gain]:
        """Compare two contestants on every common set."""
        return {
            name: self.gain(name, first, second, part)
            for name in self.sets
            if self.has(name, first) and self.has(name, second)
        }

    def ranks(self, ways: Sequence[str], sets: Sequence[str]) -> Array:
        """Return the rank of each variant's mean score on each set, shape (variants, sets)."""
        columns = [
            rankdata([-np.round(self.sign(name) * self.mean(name, who), 9) for who in ways])
            for name in sets
        ]
        return np.stack(columns, axis=1)

    def overall(self, ways: Sequence[str], sets: Sequence[str], plain: str) -> Iterator[Overall]:
        """Compare variants with the plain model over sets of one task."""
        ranks = self.ranks(ways, sets)
        for k, who in enumerate(ways):
            gains = [self.gain(name, who, plain) for name in sets]
            sides = [gain.significant for gain in gains]
            means = [self.mean(name, who) for name in sets]
            other = [self.mean(name, plain) for name in sets]
            yield Overall(
                mean=float(np.mean(means)),
                gain=float(np.mean([gain.mean for gain in gains])),
                rank=float(ranks[k].mean()),
                better=sides.count(1),
                worse=sides.count(-1),
                p_value=signed_rank_p(means, other) if len(sets) > 1 else None,
            )
