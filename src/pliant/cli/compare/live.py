"""What ``pliant compare`` shows while it runs: ranks so far, what runs, and the time left.

In a terminal this is a table that is kept up to date; elsewhere, a line at the first leaderboard
and then one a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pliant.cli.console import tell
from pliant.comparison.metrics import Metric
from pliant.comparison.protocol import DEFAULT, SAMPLED, Cell, Protocol
from pliant.comparison.record import BASELINE, LEARNED, Entry, Record
from pliant.comparison.run.baselines import BASELINES, named
from pliant.comparison.run.running import Moment, Watch
from pliant.comparison.stats.standings import Standing, standings
from pliant.comparison.text import decimals, fixed, seconds
from pliant.core.text import count

if TYPE_CHECKING:
    from rich.console import RenderableType

FIRST_SHARE = 0.1
"""The share of the budget after which the first leaderboard is shown at the latest."""

EVERY = 60.0
"""Seconds between two lines where there is no terminal."""

MOST = 12
"""Methods of a table that is kept up to date."""

NAMED = 5
"""Methods of a line."""

STEPS = {DEFAULT: "default settings", SAMPLED: "a sample of the rows"}


@contextmanager
def live(title: str, metric: Metric, protocol: Protocol, *, quiet: bool) -> Iterator[Watch]:
    """Show a comparison while a block runs; the block gets what is called at each moment.

    Parameters
    ----------
    title : str
        What is compared.
    metric, protocol : Metric and Protocol
        Of the ranks.
    quiet : bool
        Whether only the title is shown.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if quiet or not console.is_interactive:
        yield _Lines(title, metric, protocol, quiet=quiet)
        return
    with Live(console=console, transient=True, auto_refresh=False) as screen:
        yield _Screen(title, metric, protocol, screen)


class _Ranks:
    """The ranks so far; they are computed again when a cell was finished."""

    def __init__(self, metric: Metric, protocol: Protocol) -> None:
        self._metric, self._protocol = metric, protocol
        self._known: tuple[int, list[Standing]] = (-1, [])

    def __call__(self, records: tuple[Record, ...]) -> list[Standing]:
        """Return the methods with a score, the best first."""
        if len(records) != self._known[0]:
            names = dict.fromkeys(record["method"] for record in records)
            places = standings([_entry(n) for n in names], records, self._metric, self._protocol)
            self._known = len(records), [each for each in places if each.mean is not None]
        return self._known[1]


class _Lines:
    """Writes lines on stderr."""

    def __init__(self, title: str, metric: Metric, protocol: Protocol, *, quiet: bool) -> None:
        self._title, self._metric, self._quiet = title, metric, quiet
        self._ranks = _Ranks(metric, protocol)
        self._next: float | None = None

    def __call__(self, moment: Moment) -> None:
        """Take note of a moment."""
        if not moment.left and self._next is None:
            return  # all cells were there
        if self._next is None:
            tell(f"{self._title}: {count(len(moment.records) + moment.left, 'cell')}")
            self._next = 0.0
        if _is_due(moment) and moment.seconds >= self._next and not self._quiet:
            line = _line(self._ranks(moment.records), self._metric)
            tell(f"After {seconds(moment.seconds)}: {line}")
            self._next = moment.seconds + EVERY


class _Screen:
    """Keeps a table up to date."""

    def __init__(self, title: str, metric: Metric, protocol: Protocol, screen: Any) -> None:
        self._title, self._metric, self._screen = title, metric, screen
        self._ranks = _Ranks(metric, protocol)
        self._answered = False

    def __call__(self, moment: Moment) -> None:
        """Take note of a moment."""
        ranks = self._ranks(moment.records)
        if _is_due(moment) and not self._answered:
            text = f"After {seconds(moment.seconds)}: {_line(ranks, self._metric)}"
            self._screen.console.print(text, markup=False, highlight=False)
            self._answered = True
        self._screen.update(self._table(moment, ranks), refresh=True)

    def _table(self, moment: Moment, ranks: list[Standing]) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        left = "" if moment.seconds_left is None else f", {seconds(moment.seconds_left)} left"
        cells = f"{len(moment.records)} cells done, {moment.left} to do{left}"
        table = Table(box=None, pad_edge=False)
        for name in ("", "method", self._metric.title, "folds"):
            table.add_column(name, justify="left" if name == "method" else "right")
        digits = _digits(ranks)
        for each in ranks[:MOST]:
            rank = "-" if each.rank is None else str(each.rank)
            table.add_row(rank, Text(each.method.title), fixed(each.mean, digits), str(each.folds))
        running = ", ".join(map(_doing, moment.running)) or "nothing"
        return Group(Text(f"{self._title}: {cells}"), table, Text(f"running: {running}"))


def _is_due(moment: Moment) -> bool:
    """Return whether to show a leaderboard: every method has an answer, or a tenth is over."""
    if moment.seconds_left is None or not moment.records:
        return False
    budget = moment.seconds + moment.seconds_left
    return moment.answered or moment.seconds >= FIRST_SHARE * budget


def _line(ranks: list[Standing], metric: Metric) -> str:
    """Return the best methods in one line."""
    ranked = [each for each in ranks if each.rank is not None] or ranks
    digits = _digits(ranked)
    shown = [f"{each.method.title} {fixed(each.mean, digits)}" for each in ranked[:NAMED]]
    more = f" and {len(ranked) - NAMED} more" if len(ranked) > NAMED else ""
    sampled = f", {STEPS[SAMPLED]}" if ranked[0].stage == SAMPLED else ""
    where = f"{metric.title} on {count(ranked[0].folds, 'fold')}{sampled}"
    return f"{where}: {', '.join(shown)}{more}".replace("−", "-")


def _digits(ranks: list[Standing]) -> int:
    return decimals((each.mean for each in ranks), (each.error for each in ranks))


def _doing(cell: Cell) -> str:
    """Return what runs, in words."""
    how = STEPS.get(cell.stage, "searched settings")
    return f"{named(cell.method).title} ({how}, fold {cell.repeat + 1}.{cell.fold + 1})"


def _entry(name: str) -> Entry:
    method = named(name)
    kind = BASELINE if name in BASELINES else LEARNED
    return Entry(name, method.title, kind, method.summary, "done")
