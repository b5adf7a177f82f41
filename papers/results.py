"""What a document of measurements holds: numbers, paired differences, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from papers.study import MEASURED
from pliant.comparison import PairedTest, Score, corrected_t_test, wilcoxon_test
from pliant.core.typing import Array

LEVEL = 0.05
"""The probability of calling a difference real when there is none, for one test."""


class Way(NamedTuple):
    """A contestant with one of its variants."""

    contestant: str
    variant: str = MEASURED


def way(who: str | Way) -> Way:
    """Return a contestant, or one with its variant, as a `Way`."""
    return Way(who) if isinstance(who, str) else who


def paired_t_test(first: npt.ArrayLike, second: npt.ArrayLike) -> PairedTest:
    """Test whether scores on the same splits differ, by Student's paired t test.

    Splits of one table share rows, so this test finds too many differences; `corrected_t_test`
    makes up for it.
    """
    outcome = corrected_t_test(first, second, n_train=inf, n_test=1)
    return replace(outcome, name="paired t test")


@dataclass(frozen=True)
class Gain:
    """How much better one contestant is than another on one set, over the same splits."""

    mean: float
    """Positive is better."""
    error: float
    """The standard error of that mean, the splits taken as independent."""
    corrected_error: float
    """The same, made larger for training rows that the splits share (Nadeau and Bengio)."""
    p_value: float | None
    corrected_p: float | None
    splits: tuple[int, int, int]
    """On how many splits the first is better, equal, worse."""
    wilcoxon_p: float | None = None
    """Of the two t tests and of Wilcoxon's; None where the differences do not vary."""

    def side(self, within: float) -> int:
        """Return 1 or -1 if the mean is further than `within` from zero, else 0."""
        return 0 if abs(self.mean) <= within + 1e-12 else int(np.sign(self.mean))

    @property
    def verdict(self) -> int:
        """The side by the rule of the studies: a tie lies within one standard error."""
        return self.side(self.error)

    @property
    def significant(self) -> int:
        """The side, 0 where the paired t test finds no significant difference."""
        return 0 if self.p_value is None or self.p_value >= LEVEL else int(np.sign(self.mean))


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


@dataclass(frozen=True)
class Overall:
    """A way to choose, over several sets."""

    mean: float
    gain: float
    """The mean of the scores, and how much better that is than the plain model's."""
    rank: float
    """Mean over the sets of the rank among the ways compared; 1 is the best."""
    better: int
    worse: int
    """Sets on which the paired t test finds a significant difference from the plain model."""
    p_value: float | None
    """Wilcoxon's test over the sets; None for fewer than two sets."""


class Results:
    """The measurements in a document of `papers.runner`, accuracies in per cent by default."""

    def __init__(self, document: Mapping[str, Any], percent: bool = True) -> None:
        self.document = document
        self.percent = percent
        self.sets: list[str] = document["sets"]
        self.repeats: int = document["repeats"]
        self.held: Mapping[str, Any] = document["protocol"]
        self._groups = {(r["set"], r["contestant"]): r for r in document["results"]}
        measured = {who for _, who in self._groups}
        self.all_titles = {each["name"]: each["title"] for each in self.held["contestants"]}
        self.titles = {who: t for who, t in self.all_titles.items() if who in measured}

    def has(self, name: str, who: str | Way) -> bool:
        """Return whether a contestant was measured on a set."""
        return (name, way(who).contestant) in self._groups

    def group(self, name: str, who: str | Way) -> Mapping[str, Any]:
        """Return the document's entry for a set and a contestant."""
        return self._groups[name, way(who).contestant]

    def groups(self, name: str) -> list[Mapping[str, Any]]:
        """Return all entries for a set, in the order of the contestants."""
        return [self.group(name, who) for who in self.titles if self.has(name, who)]

    def task(self, name: str) -> str:
        """Return the task of a set."""
        return str(next(r["task"] for (each, _), r in self._groups.items() if each == name))

    def sets_of(self, task: str) -> list[str]:
        """Return the measured sets of a task."""
        tasks = {name: group["task"] for (name, _), group in self._groups.items()}
        return [name for name in self.sets if tasks.get(name) == task]

    def entries(self, name: str, who: str | Way, key: str) -> list[Any]:
        """Return an entry of all repeats, such as what was chosen."""
        contestant, variant = way(who)
        return list(self._groups[name, contestant]["variants"][variant][key])

    def numbers(self, name: str, who: str | Way, key: str) -> Array:
        """Return numbers of all repeats, such as seconds."""
        return np.array(self.entries(name, who, key), dtype=np.float64)

    def values(self, name: str, who: str | Way, part: str = "test") -> Array:
        """Return the scores of all repeats on some rows: accuracies, R2, or errors."""
        values = self.numbers(name, who, part)
        classes = self.percent and part != "log_loss" and self.task(name) == "classification"
        return 100.0 * values if classes else values

    def mean(self, name: str, who: str | Way, part: str = "test") -> float:
        """Return the mean score over the repeats."""
        return float(self.values(name, who, part).mean())

    def score(self, name: str, who: str | Way, part: str = "test", mark: str = "") -> Score:
        """Return mean and standard deviation over the repeats."""
        return Score.of(self.values(name, who, part), mark)

    def overall_mean(self, who: str | Way, part: str = "test") -> float:
        """Return the mean over all sets."""
        return float(np.mean([self.mean(name, who, part) for name in self.sets]))

    def shared(self, name: str, ways: Sequence[str | Way], part: str = "test") -> Array:
        """Return the scores on the repeats that all contestants share, (contestants, r)."""
        columns = [
            dict(zip(self.group(name, who)["repeat"], self.values(name, who, part), strict=True))
            for who in ways
        ]
        common = sorted(set.intersection(*map(set, columns)))
        return np.array([[column[repeat] for repeat in common] for column in columns])

    def means(self, ways: Sequence[str | Way], part: str = "test") -> Array:
        """Return mean scores over the shared repeats, (number of sets, of contestants)."""
        return np.array([self.shared(name, ways, part).mean(axis=1) for name in self.sets])

    def gain(
        self, name: str, first: str | Way, second: str | Way, part: str = "test", sign: float = 1.0
    ) -> Gain:
        """Compare two contestants on the splits that both were measured on.

        `sign` is -1 where less is better.
        """
        a, b = sign * self.shared(name, [first, second], part)
        if len(a) < 2 or np.ptp(a - b) < 1e-9:
            return _constant(float(np.mean(a - b)), len(a))
        sizes = {key: self.group(name, first)[key] for key in ("n_train", "n_test")}
        t, corrected = paired_t_test(a, b), corrected_t_test(a, b, **sizes)
        return Gain(
            t.mean_difference, t.standard_error, corrected.standard_error,
            t.p_value, corrected.p_value, (t.wins, t.ties, t.losses), wilcoxon_test(a, b).p_value,
        )  # fmt: skip

    def compared(
        self,
        first: str | Way,
        second: str | Way,
        part: str = "test",
        signs: Mapping[str, float] | None = None,
    ) -> dict[str, Gain]:
        """Compare two contestants on every set that both were measured on."""
        return {
            name: self.gain(name, first, second, part, (signs or {}).get(name, 1.0))
            for name in self.sets
            if self.has(name, first) and self.has(name, second)
        }

    def ranks(self, ways: Sequence[Way], sets: Sequence[str], signs: Mapping[str, float]) -> Array:
        """Return the rank of the mean score of each way on each set, 1 the best, (ways, sets)."""
        columns = [
            rankdata([-np.round(signs[name] * self.mean(name, who), 9) for who in ways])
            for name in sets
        ]
        return np.stack(columns, axis=1)

    def overall(
        self, ways: Sequence[Way], sets: Sequence[str], plain: Way, signs: Mapping[str, float]
    ) -> Iterator[Overall]:
        """Compare ways to choose over sets of one task with the plain model."""
        ranks = self.ranks(ways, sets, signs)
        for k, who in enumerate(ways):
            gains = [self.gain(name, who, plain, sign=signs[name]) for name in sets]
            sides = [gain.significant for gain in gains]
            means = [self.mean(name, who) for name in sets]
            other = [self.mean(name, plain) for name in sets]
            yield Overall(
                mean=float(np.mean(means)),
                gain=float(np.mean([gain.mean for gain in gains])),
                rank=float(ranks[k].mean()),
                better=sides.count(1),
                worse=sides.count(-1),
                p_value=wilcoxon_test(means, other).p_value if len(sets) > 1 else None,
            )


def _constant(mean: float, repeats: int) -> Gain:
    """Return a gain that is the same on every split; of one split the error is not known."""
    side = 0 if abs(mean) < 1e-12 else int(np.sign(mean))
    wins, ties, losses = (repeats * (side == each) for each in (1, 0, -1))
    error = 0.0 if repeats > 1 else inf
    return Gain(mean, error, error, None, None, (wins, ties, losses))
