"""The measurements of a study, and the paired differences between two contestants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.accuracy.standing import Gain
from papers.document import Document
from papers.local.study import MEASURED
from pliant.comparison import corrected_t_test, paired_t_test
from pliant.core.typing import Array

__all__ = ["Results"]


class Results:
    """What a document says of its sets and contestants.

    Parameters
    ----------
    document : dict
        As `papers.document.document` makes it, with ``protocol.contestants``.
    """

    def __init__(self, document: Document) -> None:
        self.sets: list[str] = document["sets"]
        self.repeats: int = document["repeats"]
        self.contestants: list[Mapping[str, Any]] = document["protocol"]["contestants"]
        self._found = {(r["set"], r["contestant"]): r for r in document["results"]}

    @property
    def titles(self) -> dict[str, str]:
        """The contestants' titles by name; the first is compared with the others."""
        return {each["name"]: each["title"] for each in self.contestants}

    def has(self, name: str, contestant: str) -> bool:
        """Return whether the contestant was measured on the set."""
        return (name, contestant) in self._found

    def group(self, name: str, contestant: str) -> Mapping[str, Any]:
        """Return the document's entry."""
        return self._found[name, contestant]

    def values(self, name: str, contestant: str, part: str = "test") -> Array:
        """Return a number of all repeats."""
        return np.array(self._found[name, contestant]["variants"][MEASURED][part], float)

    def mean(self, name: str, contestant: str, part: str = "test") -> float:
        """Return its mean over the repeats."""
        return float(self.values(name, contestant, part).mean())

    def gain(self, name: str, first: str, second: str, part: str = "test") -> Gain:
        """Compare two contestants on the splits that both were measured on.

        Positive is better: a higher ``test``, a lower ``log_loss``.
        """
        sign = -1.0 if part == "log_loss" else 1.0
        pairs = self._pairs(name, first, second, part)
        a, b = sign * pairs
        if len(a) < 2 or np.ptp(a - b) < 1e-12:
            return _constant(float(np.mean(a - b)), len(a))
        sizes = {key: self._found[name, first][key] for key in ("n_train", "n_test")}
        t, corrected = paired_t_test(a, b), corrected_t_test(a, b, **sizes)
        return Gain(
            t.mean_difference, t.standard_error, corrected.standard_error,
            t.p_value, corrected.p_value, (t.wins, t.ties, t.losses),
        )  # fmt: skip

    def _pairs(self, name: str, first: str, second: str, part: str) -> Array:
        """Return the values of both on their common repeats, (2, r)."""
        columns = [
            dict(zip(self._found[name, each]["repeat"], self.values(name, each, part), strict=True))
            for each in (first, second)
        ]
        common = sorted(set(columns[0]) & set(columns[1]))
        return np.array([[column[repeat] for repeat in common] for column in columns])


def _constant(mean: float, repeats: int) -> Gain:
    """Return a gain that is the same on every split; of one split the error is not known."""
    side = 0 if abs(mean) < 1e-12 else int(np.sign(mean))
    splits = (repeats * (side == 1), repeats * (side == 0), repeats * (side == -1))
    error = 0.0 if repeats > 1 else np.inf
    return Gain(mean, error, error, None, None, splits)
