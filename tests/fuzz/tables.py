"""Random tables, written as CSV and as Parquet, read whole, in chunks and into a memory map.

The rules: what was written is what is read; all ways of reading end in the same numbers or in the
same words; what fails is a `TableError` of one line; and a model that was learned from a table
predicts the same for its rows, read whole or in chunks.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from pliant.cli.predict import TablePredictor
from pliant.comparison.reading import read_sample
from pliant.core.exceptions import TableError
from pliant.persistence import save_model
from pliant.tables import detect_format, iter_table, read_table, write_predictions
from pliant.tables._schema import read_with_schema
from tests.fuzz import table_faults
from tests.fuzz.table_grammar import (
    Field,
    drawn_dialect,
    drawn_fields,
    write_csv,
    write_parquet,
)

BAD_CELLS = ["inf", "-Infinity", "1e999", "1e200", "12345678901234567890123", "-1e-400", "007"]
BAD_CELLS += ["oops", "nan x", "1,2,3", "=1+1", "1_000", "\x1b[31m", "1,5", "1.250"]
"""Cells that may stand in a column, few of which are numbers."""


def attempt(action: Callable[[], Any]) -> Any:
    """Return the result of an action, or the words of its `TableError`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return action()
        except TableError as error:
            return str(error)


def case(seed: int, folder: Path) -> str | None:
    """Write a table, read it in all ways, and predict its rows."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.25:
        return table_faults.case(rng, folder)
    drawn = Table(rng)
    paths = drawn.write(folder)
    for path in paths:
        wrong = drawn.check_cells(path) or drawn.check_meaning(path, folder)
        if wrong:
            return f"{path.suffix}: {wrong}"
    return None


class Table:
    """A drawn table, how it is written and what is asked of it."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.rows = int(rng.choice([2, 5, 21, 30, 60, 220]))
        western, odd = bool(rng.random() < 0.2), bool(rng.random() < 0.4)
        self.columns = drawn_fields(rng, self.rows, odd, western)
        self.clean = bool(rng.random() < 0.7)
        if not self.clean:
            at, row = int(rng.integers(len(self.columns))), int(rng.integers(self.rows))
            self.columns[at] = self.columns[at].changed(row, str(rng.choice(BAD_CELLS)))
        sure = not odd and self.clean
        self.dialect = drawn_dialect(rng, western, sure)
        self.form = None if sure and rng.random() < 0.7 else self.dialect.format
        if self.form is None and (self.dialect.decimal == "," or self.dialect.thousands):
            values = [k / 4 + 1000.25 for k in range(self.rows)]  # a column that shows the marks
            self.columns.insert(0, Field("measure", "float", values, pa.float64()))
            self.form = self.dialect.format if self.dialect.sep == "," else None
        if self.form is None and western:
            words = ["für" if k % 2 else "daß" for k in range(self.rows)]
            self.columns.insert(0, Field("Maß", "few", words, pa.string()))
        self.chunk = int(rng.integers(1 + self.rows // 4, self.rows + 2))
        self.groups = int(rng.integers(1 + self.rows // 9, self.rows + 1))
        names = [column.name for column in self.columns[:-1]]

        def some() -> list[str]:
            return [name for name in names if rng.random() < 0.2] if rng.random() < 0.3 else []

        missing = "error" if rng.random() < 0.2 else "impute"
        self.choices = {"missing": missing, "keep": some(), "categorical": some(), "drop": some()}

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write both files."""
        name = "t.csv.gz" if self.dialect.packed else "t.csv"
        return (
            write_csv(folder / name, self.columns, self.dialect),
            write_parquet(folder / "t.parquet", self.columns, self.groups),
        )

    def check_cells(self, path: Path) -> str | None:
        """What was written is what is read, whole and in chunks."""
        for read in (
            lambda: read_table(path, form=self.form),
            lambda: pd.concat(iter_table(path, self.chunk, self.form)),
        ):
            frame = attempt(read)
            if isinstance(frame, str):
                return table_faults.raw(frame) or (
                    f"cells: {frame}" if self.clean and "--decimal" not in frame else None
                )
            if list(frame) != [c.name for c in self.columns] or len(frame) != self.rows:
                return f"shape: {list(frame)!r}, {len(frame)} rows"
            for column in self.columns if self.clean else ():
                for row, cell in enumerate(frame[column.name]):
                    if not same_cell(column, row, cell):
                        return f"cells: {column.name!r}: {cell!r} for {column.values[row]!r}"
        return None

    def check_meaning(self, path: Path, folder: Path) -> str | None:
        """The table and new rows end in the same numbers, or are refused in one line."""
        options = {"form": self.form, **self.choices}
        whole = attempt(lambda: read_with_schema(path, "y", **options))
        if isinstance(whole, str):
            return table_faults.raw(whole)
        frame, schema = whole
        X, y = schema.features(frame), schema.target_values(frame)
        sample = attempt(lambda: read_sample(path, "y", **options))
        if isinstance(sample, str):
            return table_faults.raw(sample)
        if not np.array_equal(sample.X, X, equal_nan=True):
            return "numbers of the sample"
        return self._check_predictions(path, folder, schema, X, y)

    def _check_predictions(
        self, path: Path, folder: Path, schema: Any, X: Any, y: Any
    ) -> str | None:
        """A saved model predicts the same for the whole and for chunks."""
        amounts = schema.target.task == "regression"
        if not amounts and len(set(y.tolist())) < 2:
            return None
        learner = Ridge() if amounts else LogisticRegression(max_iter=5)
        model = make_pipeline(schema.encoder(), learner)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
            save_model(model, folder / "m.pliant", schema=schema.to_dict())
            predictor = TablePredictor(folder / "m.pliant")
            form = attempt(lambda: detect_format(path, self.form, predictor.reading))
            if isinstance(form, str):
                return f"its own table: {form}"
            out = folder / "out.csv"
            write_predictions(out, map(predictor, iter_table(path, self.chunk, form)))
            expected = model.predict(X)
        written = pd.read_csv(out, dtype=str, keep_default_na=False)["prediction"]
        if amounts:
            same = np.allclose(written.astype(float), expected, rtol=1e-9, atol=1e-9)
        else:
            same = written.map(plain).tolist() == [plain(label) for label in expected]
        return None if same else f"predictions: {written.tolist()!r} and {expected!r}"


def plain(label: Any) -> str:
    """A label without control characters, and without the quote before a formula."""
    return "".join(c for c in str(label) if c.isprintable()).removeprefix("'")


def same_cell(column: Field, row: int, cell: Any) -> bool:
    """Whether a cell that was read is the value that was written."""
    value = column.values[row]
    if value is None or pd.isna(cell):
        return value is None and bool(pd.isna(cell))
    if isinstance(value, bool):
        return str(cell).lower() == str(value).lower()
    if isinstance(value, datetime):
        return cell == column.text(value) or pd.Timestamp(cell) == pd.Timestamp(value)
    if isinstance(value, str) and isinstance(cell, str):
        return value == cell
    return _number(value) == _number(cell) or math.isinf(_number(value))


def _number(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        return math.nan
