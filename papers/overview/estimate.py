"""A number with its spread: as a paper prints it, or over the repeats of a measurement."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

__all__ = ["Estimate", "numbers"]

_NUMBER = re.compile(r"\d*\.?\d+")


@dataclass(frozen=True)
class Estimate:
    """A mean over repeats.

    Attributes
    ----------
    mean : float
    spread : float or None
        Standard deviation over the repeats; None where it is not known.
    repeats : int
        How many splits the mean is taken over.
    text : str
        As it is shown.
    """

    mean: float
    spread: float | None
    repeats: int
    text: str

    @classmethod
    def of(cls, values: npt.ArrayLike, form: str) -> Estimate:
        """Summarise measurements; `form` formats a number, such as ``.1f``."""
        found = np.asarray(values, dtype=float)
        mean = float(found.mean())
        spread = float(found.std(ddof=1)) if len(found) > 1 else None
        shown = format(mean, form) + ("" if spread is None else f"±{format(spread, form)}")
        return cls(mean, spread, len(found), shown)

    @classmethod
    def printed(cls, text: str, repeats: int) -> Estimate | None:
        """Read a cell such as ``81.2±1.4•``; None where there is no number, such as ``N/A``."""
        shown = text.partition("(")[0].strip(" •")
        found = numbers(shown)
        if not found:
            return None
        return cls(found[0], found[1] if len(found) > 1 else None, repeats, shown)

    def error(self, spread: float = 0.0) -> float:
        """Return the standard error of the mean; `spread` stands in for one that is not known."""
        return (spread if self.spread is None else self.spread) / sqrt(self.repeats)

    @property
    def short(self) -> str:
        """The mean alone, as it is shown."""
        return self.text.partition("±")[0]


def numbers(text: str) -> list[float]:
    """Return the numbers in a text."""
    return [float(found) for found in _NUMBER.findall(text)]
