"""What a profile measures: everything, or what fits into some minutes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from papers import local
from papers.document import Document
from papers.measure import REPEATS, SETS
from papers.tables import TABLES

__all__ = ["PROFILES", "QUICK_FIGURES", "QUICK_SECONDS", "Part", "full", "quick"]

PROFILES = ("quick", "full")

QUICK_SECONDS = 400.0
"""What the measurements of the quick profile took when the kept results were measured."""

QUICK_REPEATS = 3

QUICK_FIGURES = ("dank-figure-1", "dank-figure-2", "knpl-figure-3", "lab-rbf-figure-1")
"""Figures that are drawn in some seconds."""

OWN = ("defaults", "lab-rbf-defaults", "lab-rbf-classification", "scg-embedding")
"""Studies without a number of a paper: the quick profile leaves them out."""

NEEDS = {"dank-table-5": "dank-table-1"}
"""A study that takes over what was chosen in another one, on the same sets."""

Paid = tuple[str, str, str]
"""A measurement: where it is cached, contestant, set."""


@dataclass(frozen=True)
class Part:
    """A study, or some of its sets.

    Attributes
    ----------
    study : str
    sets : tuple of str
    repeats : int
    """

    study: str
    sets: tuple[str, ...]
    repeats: int


def full() -> list[Part]:
    """Return every study with all sets and repeats."""
    return [Part(name, tuple(sets), REPEATS[name]) for name, sets in SETS.items()]


def quick(
    kept: Mapping[str, Document], seconds: float = QUICK_SECONDS, repeats: int = QUICK_REPEATS
) -> list[Part]:
    """Return what fits into some seconds, by the seconds that the kept documents tell.

    Each study of a paper's table has the set that costs least. Then the cheapest sets follow, of
    whatever study, until the time is spent. Studies that share measurements pay for them once.
    """
    costs = _costs(kept)
    chosen = {study: [name] for study, name in _cheapest(costs).items()}
    paid: dict[Paid, float] = {}
    for study, (name,) in chosen.items():
        paid |= costs[study, name]
    while (best := _next(costs, chosen, paid)) is not None:
        cost, study, name = best
        if repeats * (sum(paid.values()) + cost) > seconds:
            break
        chosen[study].append(name)
        paid |= costs[study, name]
    return [
        Part(study, tuple(name for name in SETS[study] if name in sets), repeats)
        for study, sets in chosen.items()
    ]


def _costs(kept: Mapping[str, Document]) -> dict[tuple[str, str], dict[Paid, float]]:
    """Return the seconds of each measurement of a repeat, by study and set."""
    costs: dict[tuple[str, str], dict[Paid, float]] = {}
    for study in (name for name in SETS if name not in OWN):
        for result in _results(kept, study):
            key = (_cache(study), result["contestant"], result["set"])
            costs.setdefault((study, result["set"]), {})[key] = float(np.mean(result["seconds"]))
    return costs


def _results(kept: Mapping[str, Document], study: str) -> Iterator[Document]:
    """Return the results of a study, and of the one that it needs."""
    if study in kept:
        yield from kept[study]["results"]
        yield from kept.get(NEEDS.get(study, ""), {"results": []})["results"]


def _cache(study: str) -> str:
    """Return a name that is the same for studies that share measurements."""
    if study in TABLES:
        return "tables"
    return "local" if study in local.STUDIES else study


def _cheapest(costs: Mapping[tuple[str, str], Mapping[Paid, float]]) -> dict[str, str]:
    """Return the set of each study that costs least."""
    found: dict[str, str] = {}
    for study, name in sorted(costs, key=lambda key: sum(costs[key].values())):
        found.setdefault(study, name)
    return {study: found[study] for study in SETS if study in found}


def _next(
    costs: Mapping[tuple[str, str], Mapping[Paid, float]],
    chosen: Mapping[str, list[str]],
    paid: Mapping[Paid, float],
) -> tuple[float, str, str] | None:
    """Return the cheapest study and set that are not chosen, and what they add."""
    left = [
        (sum(cost for key, cost in parts.items() if key not in paid), study, name)
        for (study, name), parts in costs.items()
        if name not in chosen[study]
    ]
    return min(left, default=None)
