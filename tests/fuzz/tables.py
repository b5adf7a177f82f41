"""Random tables, written as CSV and as Parquet, read whole, in chunks and into a memory map.

The rules: what was written is what is read; both formats, and all ways of reading, end in the same
numbers or in the same words; what fails is a `TableError` of one line that names the place; and a
model that was learned from one of them predicts the same for new rows in each.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
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
from pliant.tables import (
    TableFormat,
    TableSchema,
    detect_format,
    iter_table,
    map_table,
    read_table,
    write_predictions,
)
from tests.fuzz import table_faults
from tests.fuzz.table_grammar import (
    KINDS,
    Field,
    drawn_dialect,
    drawn_field,
    drawn_fields,
    write_csv,
    write_parquet,
)

BAD_NUMBERS = ["inf", "-Infinity", "1e999", "1e200", "12345678901234567890123", "-1e-400"]
BAD_TEXTS = ["oops", "nan x", "1,2,3", "=1+1", "1_000", "\x1b[31m"]
"""Texts that may stand in a column of numbers, few of which can be learned from."""


@dataclass
class Outcome:
    """What a reading ended in: numbers, or words."""

    words: str | None
    schema: TableSchema | None = None
    X: Any = None
    y: Any = None
    warned: tuple[str, ...] = ()

    def difference(self, other: Outcome, notes: bool = True) -> str | None:
        """Return how two differ."""
        if self.words != other.words:
            return f"{self.words!r} and {other.words!r}"
        if self.words is not None:
            return None
        assert self.schema is not None
        assert other.schema is not None
        for name, mine, its in (
            ("features", self.schema.feature_names, other.schema.feature_names),
            ("categories", self.schema.categories, other.schema.categories),
            ("left out", self.schema.left_out, other.schema.left_out),
            ("target", self.schema.target, other.schema.target),
            ("warnings", self.warned, other.warned),
            *([("notes", self.schema.notes, other.schema.notes)] if notes else []),
        ):
            if mine != its:
                return f"{name}: {mine!r} and {its!r}"
        if not np.array_equal(self.X, other.X, equal_nan=True):
            at = np.argwhere(~((self.X == other.X) | (np.isnan(self.X) & np.isnan(other.X))))[0]
            cell = f"{self.X[tuple(at)]!r} and {other.X[tuple(at)]!r}"
            return f"features {self.schema.feature_names[at[1]]!r}: {cell}"
        if self.y is not None and not np.array_equal(self.y, other.y):
            return f"targets: {self.y[:5]!r} and {other.y[:5]!r}"
        return None


def attempt(action: Callable[[], Outcome]) -> Outcome:
    """Return what an action ends in; other errors than `TableError` are raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = action()
        except TableError as error:
            outcome = Outcome(str(error))
    outcome.warned = tuple(dict.fromkeys(str(each.message) for each in caught))
    return outcome


def whole(path: Path, form: TableFormat | None, choices: dict[str, Any]) -> Outcome:
    frame = read_table(path, form=form)
    schema = TableSchema.fit(frame, "y", **choices)
    return Outcome(None, schema, schema.features(frame), schema.target_values(frame))


def mapped(path: Path, form: TableFormat | None, choices: dict[str, Any], rows: int) -> Outcome:
    return Outcome(None, *map_table(path, "y", form=form, chunk_rows=rows, **choices))


def applied(path: Path, form: TableFormat | None, schema: TableSchema, rows: int | None) -> Outcome:
    """The features of new rows, read whole or in chunks, as prediction reads them."""
    reported = set[str]()
    form = detect_format(path, form, schema.form)
    frames = [read_table(path, form=form)] if rows is None else iter_table(path, rows, form)
    return Outcome(None, schema, np.concatenate([schema.features(f, reported) for f in frames]))


def case(seed: int, folder: Path) -> str | None:
    """Write a table, read it in all ways, and predict new rows."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.25:
        return table_faults.case(rng, folder)
    drawn = Table(rng)
    return (
        drawn.check_cells(folder)
        or drawn.check_meaning(folder)
        or drawn.check_later(folder)
        or drawn.check_sample()
    )


class Table:
    """A drawn table, how it is written and what is asked of it."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.rows = int(rng.choice([1, 2, 5, 21, 30, 60, 220]))
        self.western = bool(rng.random() < 0.2)
        self.odd = bool(rng.random() < 0.4)
        self.columns = drawn_fields(rng, self.rows, self.odd, self.western)
        self.clean = True
        if rng.random() < 0.3:
            self._spoil()
        sure = not self.odd and self.clean
        self.dialect = drawn_dialect(rng, self.western, sure)
        self.form = None
        if not sure or rng.random() < 0.3:
            self.form = self.dialect.format
        elif self.dialect.decimal == "," or self.dialect.thousands:
            values = [k / 4 + 1000.25 * (k % 3 == 0) for k in range(self.rows)]
            self.columns.insert(0, Field("measure", "float", values, None))
            self.columns[0].arrow = pa.float64()
        if sure and self.western:
            words = ["für" if k % 2 else "daß" for k in range(self.rows)]
            self.columns.insert(0, Field("Maß", "few", words, pa.string()))
        self.chunk = int(rng.integers(1 + self.rows // 4, self.rows + 2))
        groups = int(rng.integers(1 + self.rows // 9, self.rows + 1))
        self.groups = groups if rng.random() < 0.5 else None
        self.choices = self._choices()

    def _spoil(self) -> None:
        """Put a text, an infinite or a huge number into a column."""
        at = int(self.rng.integers(len(self.columns)))
        column = self.columns[at]
        row = int(self.rng.integers(self.rows))
        if column.kind in ("float", "integer", "number id", "date", "few", "bool"):
            self.columns[at] = column.changed(row, bad_cell(self.rng, column))
            self.clean = False

    def _choices(self) -> dict[str, Any]:
        """Options of a user."""
        rng, names = self.rng, [column.name for column in self.columns[:-1]]

        def some() -> list[str]:
            return [name for name in names if rng.random() < 0.2] if rng.random() < 0.3 else []

        keep, categorical, drop = some(), some(), some()
        typed = [column for column in self.columns if column.kind == "date" and column.arrow]
        own = {column.name for column in typed if column.form != "%Y-%m-%d"}
        categorical = [name for name in categorical if name not in own]  # texts of their own
        missing = "error" if rng.random() < 0.2 else "impute"
        return {"missing": missing, "keep": keep, "categorical": categorical, "drop": drop}

    def _written(self, folder: Path, stem: str, columns: list[Field]) -> tuple[Path, Path]:
        ending = ".csv.gz" if self.dialect.packed else ".csv"
        return (
            write_csv(folder / f"{stem}{ending}", columns, self.dialect),
            write_parquet(folder / f"{stem}.parquet", columns, self.groups),
        )

    def check_cells(self, folder: Path) -> str | None:
        """What was written is what is read, in each way of reading."""
        self.paths = self._written(folder, "t", self.columns)
        for path in self.paths:
            frames = {
                "whole": read_table(path, form=self.form),
                "chunks": pd.concat(iter_table(path, self.chunk, self.form)),
            }
            for how, frame in frames.items():
                if list(frame) != [column.name for column in self.columns]:
                    return f"names: {path.suffix} {how}: {list(frame)!r}"
                for column in self.columns:
                    cells = frame[column.name].tolist()
                    if len(cells) != self.rows:
                        return f"rows: {path.suffix} {how}: {len(cells)} of {self.rows}"
                    for row, cell in enumerate(cells):
                        if not same_cell(column, row, cell):
                            got = f"{cell!r} for {column.values[row]!r}"
                            return f"cells: {path.suffix} {how} {column.name!r}: {got}"
        return None

    def check_meaning(self, folder: Path) -> str | None:
        """Both formats end in the same numbers or the same words, in each way of reading."""
        ways = {}
        for path in self.paths:
            kind = path.suffix.removeprefix(".")
            ways[f"{kind} whole"] = attempt(lambda p=path: whole(p, self.form, self.choices))
            ways[f"{kind} mapped"] = attempt(
                lambda p=path: mapped(p, self.form, self.choices, self.chunk)
            )
        self.first = next(iter(ways.values()))
        typed = any(c.kind == "date" and c.arrow is not None for c in self.columns)
        for how, outcome in ways.items():
            different = self.first.difference(outcome, notes=not typed)
            if different is not None:
                return f"meaning: {next(iter(ways))}, {how}: {different}"
            for words in (outcome.words, *outcome.warned):
                if wrong := table_faults.raw(words):
                    return wrong
        self.schemas = [
            outcome.schema and replace(outcome.schema, form=detect_format(path, self.form))
            for outcome, path in zip(ways.values(), np.repeat(self.paths, 2), strict=True)
        ]
        if self.first.words is None and np.isinf(self.first.X).any():
            return "infinite features"
        return None

    def check_later(self, folder: Path) -> str | None:
        """A schema of either format gives the same numbers, or words, for new rows in either."""
        if self.first.words is not None:
            return None
        later = self._later()
        paths = self._written(folder, "new", later)
        rows = len(later[0].values)
        chunk = int(self.rng.integers(1, rows + 2))
        self.dialect.missing = ["", "NA"]
        given = self.form and replace(self.form, encoding=None)
        if not self.clean:  # few rows, with a text among them, do not show how they are written
            given = replace(self.dialect.format, encoding=None)
        mine, its = self.schemas[0], self.schemas[2]  # those of chunks are the same
        results = {
            f"{how} {path.suffix} {size}": attempt(
                lambda p=path, s=schema, z=size: applied(p, given, s, z)
            )
            for how, schema, path, size in (
                ("csv", mine, paths[0], chunk),
                ("csv", mine, paths[1], None),
                ("parquet", its, paths[0], None),
                ("parquet", its, paths[1], chunk),
            )
        }
        first = next(iter(results.values()))
        for how, outcome in results.items():
            outcome.schema = first.schema
            if (different := first.difference(outcome)) is not None:
                return f"new rows: {next(iter(results))}, {how}: {different}"
            for words in (outcome.words, *outcome.warned):
                if wrong := table_faults.raw(words):
                    return wrong
        if first.words is None and self.rng.random() < 0.3:
            return self._check_predictions(folder, paths, given, chunk)
        return None

    def check_sample(self) -> str | None:
        """Both formats give the same sample to compare methods on, with groups or an order."""
        columns = [c for c in self.columns if c.kind != "date" or c.arrow is None]
        if self.rng.random() < 0.7 or not columns:
            return None
        role, name = str(self.rng.choice(["group", "time"])), str(self.rng.choice(len(columns)))
        chosen = {role: columns[int(name)].name, "missing": self.choices["missing"]}
        ended = []
        for path in self.paths:
            with warnings.catch_warnings(record=True):
                warnings.simplefilter("always")
                try:
                    sample = read_sample(path, "y", form=self.form, **chosen)
                    groups = None if sample.groups is None else sample.groups.tolist()
                    ended.append(repr((sample.X.tolist(), sample.y.tolist(), groups)))
                except TableError as error:
                    ended.append(str(error))
        if ended[0] != ended[1]:
            return f"sample by {chosen}: {ended[0][:300]} and {ended[1][:300]}"
        return table_faults.raw(ended[0]) if not ended[0].startswith("(") else None

    def _later(self) -> list[Field]:
        """Rows drawn from those of training, with something new in them, or something wrong."""
        rng = self.rng
        rows = int(rng.integers(1, 12))
        picks = rng.integers(0, self.rows, rows)
        later = [column.rows(picks) for column in self.columns]
        if rng.random() < 0.5:
            later = later[:-1] or later
        later = [later[k] for k in rng.permutation(len(later))]
        at, row = int(rng.integers(len(later))), int(rng.integers(rows))
        fault = rng.choice(["none", "none", "new word", "gap", "lacking", "more", "type", "cell"])
        column = later[at]
        if fault == "new word":
            later[at] = column.changed(row, str(rng.choice(["quite new", "12", "-0.5", "true"])))
            self.clean = False
        elif fault == "gap":
            later[at] = column.changed(row, None)
        elif fault == "lacking" and len(later) > 1:
            del later[at]
        elif fault == "more":
            kind = str(rng.choice(KINDS))
            later.append(drawn_field(rng, "one more", kind, rows, False, self.western))
        elif fault == "type":
            kind = str(rng.choice(KINDS))
            if column.kind in ("text", "date") and kind not in ("few", "date"):
                kind = "text"  # numbers and truth values are other texts in each format
            self.clean = False
            later[at] = drawn_field(rng, column.name, kind, rows, False, self.western)
            if kind == "date":  # where dates are not meant, each format has texts of its own
                later[at].arrow = None
        elif fault == "cell" and column.kind not in ("text", "empty", "decimal"):
            self.clean = False
            later[at] = column.changed(row, bad_cell(rng, column))
        return later

    def _check_predictions(
        self, folder: Path, paths: tuple[Path, Path], form: TableFormat | None, chunk: int
    ) -> str | None:
        """A saved model predicts the same for each file, and what it writes can be read."""
        schema, X, y = self.schemas[0], self.first.X, self.first.y
        assert schema is not None
        assert schema.target is not None
        amounts = schema.target.task == "regression"
        if not amounts and len(set(y.tolist())) < 2:
            return None
        if not amounts:
            # scikit-learn's solver needs no more to be the same in each file
            model = make_pipeline(schema.encoder(), LogisticRegression(max_iter=5))
        else:
            model = make_pipeline(schema.encoder(), Ridge())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
            save_model(model, folder / "m.pliant", schema=schema.to_dict())
            written = []
            for path in paths:
                predictor = TablePredictor(folder / "m.pliant")
                out = folder / f"{path.suffix[1:]}-out.csv"
                frames = iter_table(path, chunk, detect_format(path, form, predictor.form))
                write_predictions(out, map(predictor, frames))
                written.append(read_table(out, form=TableFormat(",", ".", "", "utf-8")))
        texts = [frame["prediction"].tolist() for frame in written]
        same = texts[0] == texts[1]
        if amounts and not same:  # sums of products of chunks of other sizes
            same = np.allclose(texts[0], texts[1], rtol=1e-12, atol=1e-12)
        if not same:
            return f"predictions: {texts[0]!r} and {texts[1]!r}"
        return None


def bad_cell(rng: np.random.Generator, column: Field) -> str:
    """A text that may be wrong in a column."""
    numbers = column.kind in ("float", "integer", "number id") and rng.random() < 0.5
    return str(rng.choice(BAD_NUMBERS if numbers else BAD_TEXTS))


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
        return value == cell or _number(value) == _number(cell)
    return _number(value) == _number(cell) or math.isinf(_number(value))


def _number(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        return math.nan
