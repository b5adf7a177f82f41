"""The table of a fit: what its columns mean, and its rows as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pliant.comparison.reading import categories_of, coded
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from pliant.core.files import quoted
from pliant.core.typing import Array, Mask
from pliant.registry import Method
from pliant.tables import TableSchema, map_table, read_table
from pliant.tables._target import Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table with its schema, which has a target.

    `X` has the features as the schema encodes them, as a memory map for a method that takes one,
    and `codes` those before anything is learned from them; see `pliant.comparison.reading.coded`.
    """

    schema: TableSchema
    X: Array
    y: npt.NDArray[Any]
    codes: Array | None = None

    @classmethod
    def read(cls, path: Path, target: str, method: Method, **choices: Any) -> FitTable:
        """Read a table that a method can take; choices are those of `TableSchema.fit`."""
        if method.streams:
            return cls(*map_table(path, target, most_rows=method.max_rows, **choices))
        frame = read_table(path, stop=method.max_rows + 1)
        if len(frame) > method.max_rows:
            raise TableError(
                f"the table has more than {method.max_rows} rows, the most that {method.name} "
                "takes: take a sample, or another method (see pliant methods)"
            )
        return cls.of(frame, TableSchema.fit(frame, target, **choices))

    @classmethod
    def of(cls, frame: pd.DataFrame, schema: TableSchema) -> FitTable:
        """Return a data frame as numbers."""
        codes = coded(frame, schema.columns)
        return cls(schema, schema.features(frame), schema.target_values(frame), codes)

    @property
    def task(self) -> Task:
        """Classification or regression."""
        assert self.schema.target is not None
        return self.schema.target.task

    def encoded(self, unlabeled: Any = None) -> Sample:
        """Return the features as the schema encodes them, to cross-validate fixed settings on."""
        return Sample(self.X, self.y, self.task, unlabeled=unlabeled)

    def raw(self, unlabeled: Any = None) -> Sample:
        """Return the features before anything is learned from them, to tune on.

        A memory map stays as its schema encodes it.
        """
        if self.codes is None:
            return self.encoded(unlabeled)
        categories = categories_of(self.schema)
        return Sample(self.codes, self.y, self.task, categories=categories, unlabeled=unlabeled)

    def check_labels(self, known: Mask, unlabeled: Any) -> None:
        """Raise TableError unless the known part of the target varies.

        If some class is unknown, the value that stands for it must occur.
        """
        assert self.schema.target is not None
        target = quoted(self.schema.target.name)
        if unlabeled is not None and known.all():
            raise TableError(
                f"column {target} holds {quoted(unlabeled)} nowhere: expected some rows with "
                "the value that stands for an unknown class"
            )
        labels = np.unique(self.y[known])
        if len(labels) < 2:
            held = "no known class"
            if len(labels):
                held = f"{quoted(labels[0])} in all {known.sum()} rows"
            raise TableError(f"column {target} holds {held}: expected a target that varies")

    def describe(self, known: Mask | None = None) -> dict[str, Any]:
        """Return the facts of the table as plain data; classes are those of the known rows."""
        assert self.schema.target is not None
        y = self.y if known is None else self.y[known]
        return {
            "target": self.schema.target.name,
            "task": self.task,
            "classes": np.unique(y).tolist() if self.task == "classification" else None,
            "rows": len(self.y),
            "features": self.X.shape[1],
            "columns": {column.name: column.kind for column in self.schema.columns},
        }
