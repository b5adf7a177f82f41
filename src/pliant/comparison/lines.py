"""Progress of a comparison as lines on stderr: one after each fold, and at most one a second."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pliant.comparison.contenders import BASELINES
from pliant.comparison.metrics import Metric
from pliant.comparison.protocol import Protocol
from pliant.comparison.race import Moment
from pliant.comparison.record import Entry
from pliant.comparison.standings import Standing, standings
from pliant.comparison.text import fixed, seconds
from pliant.core.text import count, harmless
from pliant.registry import METHODS

NAMED = 4
"""Methods of a line."""


class Lines:
    """Writes a line when a further fold is finished by all methods.

    Parameters
    ----------
    metric, protocol : Metric and Protocol
    title : str
        Stands before each line.
    """

    def __init__(self, metric: Metric, protocol: Protocol, title: str = "") -> None:
        self._metric, self._protocol = metric, protocol
        self._title = f"{title}: " if title else ""
        self._shown = 0
        self._begun = False

    def __call__(self, moment: Moment) -> None:
        """Take note of a moment."""
        if not self._begun:
            self._begun = True
            cells = count(len(moment.records) + moment.left, "fit")
            self._print(f"{cells} at most on {count(self._protocol.folds, 'fold')}")
        waiting = {cell.place for cell in moment.running}
        folds = {(r["repeat"], r["fold"]) for r in moment.records if r["status"] == "done"}
        if len(folds - waiting) <= self._shown:
            return
        self._shown = len(folds - waiting)
        names = dict.fromkeys(record["method"] for record in moment.records)
        titles = {name: method.title for name, method in (METHODS | BASELINES).items()}
        entries = [Entry(name, titles.get(name, name), "", "", "done") for name in names]
        places = standings(entries, moment.records, self._metric, self._protocol)
        left = "" if moment.seconds_left is None else f", {seconds(moment.seconds_left)} left"
        told = best_line(places, self._metric)
        self._print(f"{count(self._shown, 'fold')} after {seconds(moment.seconds)}{left}: {told}")

    def _print(self, text: str) -> None:
        line = harmless(f"{self._title}{text}".replace("−", "-"))  # for ASCII terminals
        print(line, file=sys.stderr, flush=True)


def best_line(places: Sequence[Standing], metric: Metric) -> str:
    """Return the best methods with their scores in one line."""
    known = [each for each in places if each.mean is not None]
    shown = [f"{each.method.title} {fixed(each.mean, 3)}" for each in known[:NAMED]]
    return f"{metric.title} {', '.join(shown)}" if shown else "no score yet"
