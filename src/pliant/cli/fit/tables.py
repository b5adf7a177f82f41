"""The table of a fit: what its columns mean, and its rows as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pliant.comparison.reading import described_format
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.core.typing import Array, Mask
from pliant.registry import Method
from pliant.tables import TableFormat, TableSchema
from pliant.tables._schema import Task, read_with_schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FitTable:
    """A table with its schema, which has a target.

    `X` has the features as the schema reads them, before anything is learned from them.
    """

    schema: TableSchema
    X: Array
    y: npt.NDArray[Any]

    @classmethod
    def read(
        cls,
        path: Path,
        target: str,
        method: Method,
        form: TableFormat | None = None,
        **choices: Any,
    ) -> FitTable:
        """Read a table that a method can take; choices are those of `TableSchema.fit`."""
        frame, schema = read_with_schema(
            path, target, stop=method.max_rows + 1, form=form, **choices
        )
        if len(frame) > method.max_rows:
            raise TableError(
                f"the table has more than {method.max_rows} rows, the most that {method.name} "
                "takes: take a sample, or another method (see pliant methods)"
            )
        return cls.of(frame, schema)

    @classmethod
    def of(cls, frame: pd.DataFrame, schema: TableSchema) -> FitTable:
        """Return a data frame as numbers."""
        return cls(schema, schema.features(frame), schema.target_values(frame))

    @property
    def notes(self) -> list[str]:
        """What the user should know about how the table was read."""
        form = self.schema.form
        return [*(described_format(form) if form is not None else []), *self.schema.remarks()]

    @property
    def task(self) -> Task:
        """Classification or regression."""
        assert self.schema.target is not None
        return self.schema.target.task

    def sample(self, unlabeled: Any = None) -> Sample:
        """Return the table as a sample, to cross-validate and to tune on."""
        return Sample(
            self.X,
            self.y,
            self.task,
            self.schema.feature_names,
            self.schema.categories,
            unlabeled=unlabeled,
            texts=self.schema.texts,
        )

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
            "left_out": {column.name: column.reason for column in self.schema.left_out},
        }
