"""The result of a comparison, as text, an HTML page, and plain data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pliant.tables.comparison.outcome import Outcome, row_of
from pliant.tables.comparison.page import write_report
from pliant.tables.comparison.protocol import Entry, Protocol
from pliant.tables.comparison.sentences import as_html, as_text, sentence

PLAIN = ("sample", "truth", "seconds", "budget", "spent", "interrupted", "environment", "command")
"""Attributes of a result that are plain data."""


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult(Outcome):
    """Scores of methods on shared folds, and their blend.

    Parameters
    ----------
    sample : dict
        Facts about the table: name, target, task, rows, columns, features, feature_names, classes,
        counts, categorical, missing, groups, ordered, notes. ``missing`` holds the number of
        ``cells`` and ``columns`` with missing values, and the ``largest`` share in a column.
    truth : dict
        Targets of the rows with stored predictions, by row number as a string.
    protocol : Protocol
    methods : tuple of Entry
        All requested methods, in order.
    records : tuple of Record
        Finished cells, ordered by method and fold; see `pliant.tables.comparison.protocol.Record`.
    seconds, spent : float
        Elapsed time, and the part of it before the comparison.
    budget : float or None
    interrupted : bool
    environment : dict
        Package versions, number of cores, and the key of the comparison.
    command : str or None
        Command line that repeats the comparison.
    source : Source or None
        The table and the methods, for fitting models; None for a result from data or a pickle.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the data for a pickle, without the table and the functions that make models."""
        return {**vars(self), "source": None}

    def __copy__(self) -> ComparisonResult:
        """Return a copy that fits models too."""
        return replace(self)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def sentence(self) -> str:
        """Return the recommended model, its expected score, and warnings, in words."""
        return sentence(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the result as one HTML file without external resources.

        Raises
        ------
        TableError
            If the file cannot be written.
        """
        write_report([self], path)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            **{name: getattr(self, name) for name in PLAIN},
            "protocol": self.protocol.to_dict(),
            "best": self.best,
            "expected": asdict(self.expected),
            "weights": self.weights,
            "sentence": self.sentence(),
            "methods": [asdict(entry) for entry in self.methods],
            "leaderboard": [row_of(each) for each in self.standings()],
            "records": list(self.records),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> ComparisonResult:
        """Build a result from the output of `to_dict`.

        Raises
        ------
        ValueError
            If a key is missing.
        """
        if absent := {*PLAIN, "protocol", "methods", "records"} - set(state):
            raise ValueError(f"expected the data of a comparison, {sorted(absent)[0]!r} is missing")
        return cls(
            **{name: state[name] for name in PLAIN},
            protocol=Protocol.from_dict(state["protocol"]),
            methods=tuple(Entry(**entry) for entry in state["methods"]),
            records=tuple(state["records"]),
        )
