"""Which folds the methods are compared on, and at which stage each of them is.

Ranks, tests and the recommendation rest on folds that all ranked methods have finished. A method
that would hold their number down is left below the line instead, if without it there are at least
twice as many, and half of the methods remain. So a run that ends between two folds loses none of
its methods, and one slow method does not leave the others with few folds.

A method is ranked by one stage on all of these folds: with searched settings if these have as many
folds as its default settings, otherwise with default settings. Which of both has the better scores
plays no part: that would be a choice by test rows. Results on a sample of the training rows are
compared with each other only, and as long as fewer than half of the methods have two folds with
all training rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import TypeAlias

from pliant.comparison.protocol import DEFAULT, SAMPLED, SEARCHED, Place, Stage
from pliant.comparison.record import Entry, Record, stage_of

Cells: TypeAlias = dict[Place, Record]
"""Records of one method by repeat and fold, ascending."""

GAIN = 2
"""How many times as many folds leave a method out."""

ENOUGH = 2
"""Folds with all training rows from which on a sample of them no longer counts."""


def finished(methods: Iterable[Entry], records: Iterable[Record]) -> dict[str, dict[Stage, Cells]]:
    """Return the records of finished cells by method, stage and place, places ascending."""
    cells: dict[str, dict[Stage, Cells]] = {entry.name: {} for entry in methods}
    done = [each for each in records if each["status"] == "done" and each["method"] in cells]
    for record in sorted(done, key=lambda each: (each["repeat"], each["fold"])):
        mine = cells[record["method"]].setdefault(stage_of(record), {})
        mine[record["repeat"], record["fold"]] = record
    return cells


def last_stage(stages: Mapping[Stage, Cells]) -> Stage | None:
    """Return the stage that a method is ranked by, of those with all training rows.

    None where it has neither.
    """
    defaults, searched = (len(stages.get(stage, ())) for stage in (DEFAULT, SEARCHED))
    if not defaults and not searched:
        return None
    return SEARCHED if searched >= defaults else DEFAULT


def common_folds(places: Mapping[str, Set[Place]]) -> tuple[frozenset[Place], frozenset[str]]:
    """Return the folds to compare methods on, and the methods that have all of them.

    Parameters
    ----------
    places : mapping of str to set of Place
        The folds that each method has a score of.

    Examples
    --------
    >>> quick, slow = {(0, 0), (0, 1), (0, 2)}, {(0, 0)}
    >>> folds, methods = common_folds({"svm": quick, "lab-rbf": quick, "tkl": slow})
    >>> sorted(folds), sorted(methods)
    ([(0, 0), (0, 1), (0, 2)], ['lab-rbf', 'svm'])
    """
    have = {name: frozenset(mine) for name, mine in places.items() if mine}
    common = _shared(have.values())
    kept = have
    for least in sorted({len(mine) for mine in have.values()}):
        fewer = {name: mine for name, mine in have.items() if len(mine) >= least}
        shared = _shared(fewer.values())
        if 2 * len(fewer) >= len(have) and len(shared) >= max(1, GAIN * len(common)):
            common, kept = shared, fewer
    return common, frozenset(kept) if common else frozenset()


def chosen_stages(
    cells: Mapping[str, Mapping[Stage, Cells]], places: Mapping[str, Mapping[Stage, Set[Place]]]
) -> tuple[dict[str, Stage], frozenset[Place], frozenset[str]]:
    """Return the stage of each method, the common folds, and the methods that have them.

    Parameters
    ----------
    cells : mapping of str to mapping of Stage to Cells
        As `finished` returns them.
    places : mapping of str to mapping of Stage to set of Place
        The folds of these cells that have a score.
    """
    full = {name: stage for name, stages in cells.items() if (stage := last_stage(stages))}
    samples: dict[str, Stage] = {
        name: SAMPLED for name, stages in cells.items() if stages.get(SAMPLED)
    }
    whole = common_folds({name: places[name].get(stage, set()) for name, stage in full.items()})
    part = common_folds({name: places[name].get(SAMPLED, set()) for name in samples})
    enough = len(whole[0]) >= min(ENOUGH, len(part[0])) and 2 * len(whole[1]) >= len(part[1])
    if enough or not part[1]:
        return {**samples, **full}, *whole
    return {**full, **samples}, *part


def _shared(sets: Iterable[frozenset[Place]]) -> frozenset[Place]:
    each = list(sets)
    return frozenset.intersection(*each) if each else frozenset()
