"""Progress of a comparison as lines on stderr, one for each fold that all methods have finished."""

from __future__ import annotations

import sys

from pliant.comparison.contenders import BASELINES
from pliant.comparison.metrics import Metric
from pliant.comparison.protocol import Protocol
from pliant.comparison.race import Moment
from pliant.comparison.record import Entry
from pliant.comparison.standings import standings
from pliant.comparison.text import fixed, seconds
from pliant.core.text import count, harmless
from pliant.registry import METHODS

NAMED = 4
"""Methods of a line."""


class Lines:
    """Writes a line when a further fold is finished by all methods; `title` stands before each."""

    def __init__(self, metric: Metric, protocol: Protocol, title: str = "") -> None:
        self._metric, self._protocol = metric, protocol
        self._title = f"{title}: " if title else ""
        self._shown = -1

    def __call__(self, moment: Moment) -> None:
        """Take note of a moment."""
        if self._shown < 0:
            self._shown = 0
            fits = count(len(moment.records) + moment.left, "fit")
            self._print(f"{fits} at most on {count(self._protocol.folds, 'fold')}")
        waiting = {cell.place for cell in moment.running}
        folds = {(r["repeat"], r["fold"]) for r in moment.records if r["status"] == "done"}
        if len(folds - waiting) <= self._shown:
            return
        self._shown = len(folds - waiting)
        titles = {name: method.title for name, method in (METHODS | BASELINES).items()}
        names = dict.fromkeys(record["method"] for record in moment.records)
        entries = [Entry(name, titles.get(name, name), "", "", "done") for name in names]
        places = standings(entries, moment.records, self._metric, self._protocol)
        best = [f"{s.method.title} {fixed(s.mean, 3)}" for s in places if s.mean is not None]
        told = f"{self._metric.title} {', '.join(best[:NAMED])}" if best else "no score yet"
        left = "" if moment.seconds_left is None else f", {seconds(moment.seconds_left)} left"
        self._print(f"{count(self._shown, 'fold')} after {seconds(moment.seconds)}{left}: {told}")

    def _print(self, text: str) -> None:
        line = harmless(f"{self._title}{text}".replace("−", "-"))  # for ASCII terminals
        print(line, file=sys.stderr, flush=True)
