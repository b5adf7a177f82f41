"""Which tau and which rule for new points win on average: the table that chooses defaults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.averages import EXPLAINED, TASKS, averages
from papers.contestants import CONTESTANTS
from papers.rendering import words
from papers.scores import Scores, Way
from papers.tuning import CHOSEN, FIXED, TUNED, variant
from pliant.methods.hadamard.kernel import EXTENSIONS

__all__ = ["defaults_sections"]

METHODS = {
    "DANK": tuple(name for name in CONTESTANTS if name.startswith("dank")),
    "KNPL": ("knpl",),
}


def defaults_sections(scores: Scores) -> list[str]:
    """Return a table for each method and each way to set eta, with what it says in words."""
    parts = ["## Averages over the sets\n", EXPLAINED]
    for method, contestants in METHODS.items():
        for eta in (FIXED, TUNED):
            ways = [
                Way(contestant, variant(eta, rule))
                for contestant in contestants
                for rule in (*EXTENSIONS, CHOSEN)
            ]
            parts += [f"### {method}, eta {eta}\n", averages(ways, scores), _first(ways, scores)]
    return parts


def _first(ways: Sequence[Way], scores: Scores) -> str:
    """Name the ways with a rule of their own that come first by each average."""
    ways = [way for way in ways if not way.variant.endswith(CHOSEN)]
    ranks = scores.ranks(ways, scores.sets()).mean(axis=1)
    said = [f"best mean rank over all sets: {words(ways[int(ranks.argmin())])}"]
    for task, score in TASKS.items():
        if names := scores.sets(task):
            gains = [np.mean([scores.gain(name, way) for name in names]) for way in ways]
            said.append(f"best mean {score}: {words(ways[int(np.argmax(gains))])}")
    return f"Among themselves, without *chosen*: {'; '.join(said)}.\n"
