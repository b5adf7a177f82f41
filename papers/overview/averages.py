"""Each method over all sets of a table: the paper's mean, ours, and the baseline's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from papers.overview.agreement import QUANTITIES, Agreement
from papers.overview.estimate import Estimate

__all__ = ["Average", "averages"]

AVERAGED = ("accuracy", "R2", "1 - R2")
"""What has the same unit on all sets, and is about rows that were not learned from."""


@dataclass(frozen=True)
class Average:
    """A method over the sets of a table that were measured.

    Attributes
    ----------
    place, quantity, method : str
    sets : int
    printed, measured, baseline : str
        Means; a dash where some set has no number.
    baseline_name : str
    """

    place: str
    quantity: str
    method: str
    sets: int
    printed: str
    measured: str
    baseline: str
    baseline_name: str


def averages(cells: Sequence[Agreement]) -> list[Average]:
    """Return an average for each method of each table that was measured."""
    found: dict[tuple[str, str, str], list[Agreement]] = {}
    for cell in cells:
        if cell.measured is not None and cell.quantity in AVERAGED:
            found.setdefault((cell.place, cell.quantity, cell.method), []).append(cell)
    return [_average(*key, group) for key, group in found.items()]


def _average(place: str, quantity: str, method: str, group: list[Agreement]) -> Average:
    form = QUANTITIES[quantity].form
    return Average(
        place, quantity, method, len(group),
        _mean([cell.printed for cell in group], form),
        _mean([cell.measured for cell in group], form),
        _mean([cell.baseline for cell in group], form),
        group[0].baseline_name,
    )  # fmt: skip


def _mean(estimates: Sequence[Estimate | None], form: str) -> str:
    known = [each.mean for each in estimates if each is not None]
    return format(np.mean(known), form) if len(known) == len(estimates) else "–"
