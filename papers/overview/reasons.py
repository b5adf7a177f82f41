"""Why numbers differ: what was found out, or that no reason was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from papers.overview.agreement import AGREES, OURS, Agreement
from papers.overview.known import REASONS
from papers.overview.reason import OPEN, Reason

__all__ = ["UNKNOWN", "explained", "fits"]

UNKNOWN = OPEN + "nothing was looked into; the number is of few splits, where it is a quick one."
"""For a cell that no reason fits; no kept result is one."""


def explained(cells: Sequence[Agreement]) -> list[Agreement]:
    """Give each cell the first reason that fits it; a cell of our own needs none."""
    return [replace(cell, explanation=_reason(cell)) for cell in cells]


def _reason(cell: Agreement) -> str:
    if cell.verdict == OURS:
        return ""
    known = next((reason.text for reason in REASONS if fits(reason, cell)), "")
    return known if known or cell.verdict == AGREES else UNKNOWN


def fits(reason: Reason, cell: Agreement) -> bool:
    """Return whether all patterns of a reason match."""
    return all(
        any(fnmatchcase(getattr(cell, name), one) for one in getattr(reason, name).split("|"))
        for name in reason.patterns()
    )
