"""Which cell is run next: a first answer of all methods, more folds, then searches of settings.

Without a budget every method runs its last stage on all folds: searched settings, or the defaults
where there is nothing to search. With a budget cells come in this order:

1. Every method with default settings on the first fold, the reference first. On a large table it
   learns from a sample of the rows.
2. The same on the next two folds, fold by fold. On a large table then the same on all rows.
3. Searches of settings on the first three folds: of the reference first, then of all methods on the
   first fold, the best first; then of the better half of all methods on the other two.
4. Further folds for all, fold by fold: with a search for those of the better half, with default
   settings for the others.

So no method has a further fold while another one that still could has it not. Where the time left
is too short for one of them, no fold after this one begins. A process without work goes on to the
next step while cells of this one are running. The schedule decides which cells are run, and not
what they compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from math import ceil, inf

from pliant.comparison.protocol import DEFAULT, SAMPLED, SEARCHED, Cell, Place, Stage
from pliant.comparison.record import DUMMY, REFERENCE

STAGES: tuple[Stage, ...] = (SAMPLED, DEFAULT, SEARCHED)
"""In the order in which a method goes through them."""

FIRST_FOLDS = 3
"""Folds of every method before settings are searched."""

FOLD_SHARE, SEARCH_SHARE, REFERENCE_SHARE = 1 / 3, 1 / 8, 1 / 2
"""The most of the budget that a cell may take with default settings, with a search, and with the
search of the reference."""

SHORTEST = 20.0
"""Seconds that any cell may take, if the budget has them."""

FEWEST_BETTER = 4
"""Methods whose settings are searched further at least."""

EARLY = (REFERENCE, "lab-rbf", DUMMY, "linear", "boosting", "kernel-ridge", "forest")
LATE = ("mkl-uniform", "mkl")
"""Which methods come first and last while no times are known; the others between them as given."""


@dataclass
class Lane:
    """The cells of one method.

    Parameters
    ----------
    name : str
    searched : bool
        Whether its settings are searched at last.
    done : dict of Stage to dict of Place to float or None
        The score of each finished cell, the higher the better; None for one that failed.
    seconds : dict of Stage to list of float
        The times of finished cells.
    stopped : dict of Stage to str
        Stages that are given up, and why.
    """

    name: str
    searched: bool
    done: dict[Stage, dict[Place, float | None]] = field(default_factory=dict)
    seconds: dict[Stage, list[float]] = field(default_factory=dict)
    stopped: dict[Stage, str] = field(default_factory=dict)

    @property
    def last(self) -> Stage:
        """The stage that a run without a budget has."""
        return SEARCHED if self.searched else DEFAULT

    def places(self, stage: Stage) -> dict[Place, float | None]:
        """Return the finished cells of a stage."""
        return self.done.setdefault(stage, {})

    def expected(self, stage: Stage) -> float:
        """Return the seconds of a cell: the mean of those that ended; 0 where none did."""
        known = self.seconds.get(stage, ())
        return sum(known) / len(known) if known else 0.0

    def first_score(self, place: Place) -> float:
        """Return the score on a fold by the last of its stages that has one."""
        for stage in (SEARCHED, DEFAULT, SAMPLED):
            score = self.places(stage).get(place)
            if score is not None:
                return score
        return -inf


class Schedule:
    """The order of cells.

    Parameters
    ----------
    lanes : sequence of Lane
    places : sequence of Place
        The outer folds, in order.
    budget : float or None
        Seconds for all cells together.
    large : bool
        Whether first answers are learned on a sample of the rows.

    Attributes
    ----------
    running : dict of Cell to float
        The cells that are running, and when they began.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        places: Sequence[Place],
        *,
        budget: float | None,
        large: bool = False,
    ) -> None:
        self.lanes = {lane.name: lane for lane in lanes}
        self.running: dict[Cell, float] = {}
        self._places, self._large, self._budget = tuple(places), large, budget
        self._in_order = sorted(lanes, key=_prior)
        self.first: Stage = SAMPLED if large and budget is not None else DEFAULT

    @property
    def answered(self) -> bool:
        """Whether every method has its first answer, or cannot have one."""
        return not any(self._is_open(cell) or cell in self.running for cell in self._first_cells())

    def left(self) -> int:
        """Return how many cells are still to be run, by what is known so far."""
        waiting = {cell for _, cells in self._steps() for cell in cells if self._is_open(cell)}
        return len(waiting) + len(self.running)

    def take(self, now: float, ends: float | None = None) -> Cell | None:
        """Return the next cell, which is running from now on; None if there is none now."""
        left = inf if ends is None else ends - now
        if left <= 0:
            return None
        waits = False
        for further, cells in self._steps():
            if further and waits:
                break
            for cell in filter(self._is_open, cells):
                if self._is_too_early(cell):
                    waits = True
                elif self.lanes[cell.method].expected(cell.stage) <= left:
                    self.running[cell] = now
                    return cell
                else:
                    waits |= further
        return None

    def limit(self, cell: Cell) -> float | None:
        """Return the most seconds that a cell may take; None: as long as it takes."""
        if self._budget is None:
            return None
        share = FOLD_SHARE
        if cell.stage == SEARCHED:
            share = REFERENCE_SHARE if cell.method == REFERENCE else SEARCH_SHARE
        return max(SHORTEST, share * self._budget)

    def finish(self, cell: Cell, seconds: float, score: float | None) -> None:
        """Take note of a cell that is done, with its score, or failed."""
        self.running.pop(cell, None)
        lane = self.lanes[cell.method]
        lane.places(cell.stage)[cell.place] = score
        lane.seconds.setdefault(cell.stage, []).append(seconds)

    def stop(self, cell: Cell, reason: str) -> None:
        """Give up the stage of a cell that was cut, for a reason."""
        self.running.pop(cell, None)
        self.lanes[cell.method].stopped[cell.stage] = reason

    def _is_too_early(self, cell: Cell) -> bool:
        """Return whether the first cell of a method is to end before this one begins.

        Until then it may be one that is cut, and then this one would be as well.
        """
        if self._budget is None:
            return False
        needed = DEFAULT if cell.stage == SEARCHED else cell.stage
        busy = any((c.method, c.stage) == (cell.method, needed) for c in self.running)
        return busy and not self.lanes[cell.method].seconds.get(needed)

    def _is_open(self, cell: Cell) -> bool:
        lane = self.lanes[cell.method]
        begun = cell in self.running or cell.place in lane.places(cell.stage)
        up_to = STAGES[: STAGES.index(cell.stage) + 1]
        return not begun and not any(stage in lane.stopped for stage in up_to)

    def _steps(self) -> Iterator[tuple[bool, list[Cell]]]:
        """Yield the cells of each step, in order, those that are done among them.

        With each comes whether it is a further fold, which begins only if all methods can have the
        folds before it.
        """
        places, lanes = self._places, self._in_order
        if self._budget is None:
            yield False, [_cell(lane, place, lane.last) for place in places for lane in lanes]
            return
        few = places[:FIRST_FOLDS]
        yield False, self._first_cells()
        yield False, [_cell(lane, place, self.first) for place in few for lane in lanes]
        if self._large:
            yield False, [_cell(lane, place, DEFAULT) for place in few for lane in lanes]
        yield from ((False, cells) for cells in self._searches(few))
        if not self._searching():
            stages = [self._going_on(lane, self._better()) for lane in lanes]
            for place in places:
                yield True, [_cell(*each) for each in zip(lanes, repeat(place), stages)]

    def _first_cells(self) -> list[Cell]:
        return [_cell(lane, self._places[0], self.first) for lane in self._in_order]

    def _searches(self, places: Sequence[Place]) -> Iterator[list[Cell]]:
        """Yield the searches on the first folds."""
        lanes = [lane for lane in self._in_order if lane.searched]
        lanes.sort(key=lambda lane: -_default_score(lane, places))
        yield [_cell(lane, place, SEARCHED) for place in places for lane in lanes if _leads(lane)]
        yield [_cell(lane, places[0], SEARCHED) for lane in lanes]
        better = self._better()
        lanes = [lane for lane in lanes if lane.name in better]
        yield [_cell(lane, place, SEARCHED) for place in places for lane in lanes]

    def _searching(self) -> set[str]:
        """Return the methods whose search on the first fold is running or still to be run."""
        cells = [_cell(each, self._places[0], SEARCHED) for each in self._in_order if each.searched]
        return {cell.method for cell in cells if self._is_open(cell) or cell in self.running}

    def _better(self) -> set[str]:
        """Return the better half of all methods on the first fold, with the reference.

        As long as searches on this fold are missing, only those that are in it however these end.
        """
        missing, place = self._searching(), self._places[0]
        scores = {
            lane.name: inf if lane.name in missing else lane.first_score(place)
            for lane in self._in_order
        }
        ranked = sorted(scores, key=lambda name: -scores[name])
        half = ranked[: max(FEWEST_BETTER, ceil(len(ranked) / 2))]
        return ({*half} - missing) | {REFERENCE}

    def _going_on(self, lane: Lane, better: Iterable[str]) -> Stage:
        """Return the stage of a method on further folds."""
        searched = lane.searched and lane.name in better and SEARCHED not in lane.stopped
        return SEARCHED if searched else DEFAULT


def _prior(lane: Lane) -> int:
    """Return the place of a method while no times are known."""
    if lane.name in EARLY:
        return EARLY.index(lane.name)
    return len(EARLY) + 1 + LATE.index(lane.name) if lane.name in LATE else len(EARLY)


def _cell(lane: Lane, place: Place, stage: Stage) -> Cell:
    return Cell(lane.name, *place, stage)


def _leads(lane: Lane) -> bool:
    return lane.name == REFERENCE


def _default_score(lane: Lane, places: Sequence[Place]) -> float:
    """Return the mean score with default settings; the least of all where there is none."""
    for stage in (DEFAULT, SAMPLED):
        known = [score for p in places if (score := lane.places(stage).get(p)) is not None]
        if known:
            return sum(known) / len(known)
    return -inf
