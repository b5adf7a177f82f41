"""The cells of the page: scores, errors, times and what was chosen, as text."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

import numpy.typing as npt

from papers.accuracy.printed import PRINTED_AS, printed_cells
from papers.accuracy.standing import Gain, way
from papers.document import Document
from papers.rendering import mark, p_text
from papers.scores import Scores
from pliant.comparison import Score
from pliant.comparison.rendering import Cell

__all__ = [
    "NONE",
    "decimals",
    "gain_cells",
    "paper",
    "score_text",
    "several",
    "spread",
    "titles_of",
]

NONE = "–"
"""Where the paper has no number."""

VERDICTS = {1: "win", 0: "tie", -1: "loss"}


def titles_of(study: Document) -> dict[str, str]:
    """Return the contestants' titles by name; the first is compared with the others."""
    return {each["name"]: each["title"] for each in study["protocol"]["contestants"]}


def paper(name: str, contestant: str, what: str = "") -> str:
    """Return what the paper prints on a set for the method that a contestant stands beside."""
    return printed_cells().get(name, {}).get(f"{PRINTED_AS.get(contestant)}{what}", NONE)


def decimals(scores: Scores, name: str, contestant: str) -> int:
    """Return the decimals of a set's scores: two for per cent, for errors three digits or more."""
    if name in scores.sets("classification"):
        return 2
    error = float(scores.values(name, way(contestant)).mean())
    return max(2, 2 - floor(log10(error))) if error > 0 else 2


def score_text(scores: Scores, name: str, contestant: str, digits: int, side: int = 0) -> str:
    """Return mean ± standard deviation over the splits, with a mark."""
    return spread(scores.values(name, way(contestant)), digits) + mark(side)


def spread(values: npt.ArrayLike, digits: int) -> str:
    """Return mean ± standard deviation; the mean alone of one value."""
    score = Score.of(values)
    deviation = "" if score.std is None else f"±{score.std:.{digits}f}"
    return f"{score.mean:.{digits}f}{deviation}"


def gain_cells(gain: Gain, digits: int) -> dict[str, Cell]:
    """Return a row of paired differences."""
    return {
        "gain": f"{round(gain.mean, digits) + 0.0:+.{digits}f}",
        "error": f"{gain.error:.{digits}f}",
        "corrected": f"{gain.corrected_error:.{digits}f}",
        "p": p_text(gain.p_value),
        "corrected p": p_text(gain.corrected_p),
        "splits": "–".join(map(str, gain.splits)),
        "verdict": VERDICTS[gain.verdict],
    }


def several(values: Sequence[float]) -> str:
    """Return the values of all splits in order, such as ``1, 1, 10, 1, 100``."""
    return ", ".join(f"{value:g}" for value in values)
