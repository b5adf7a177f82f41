"""The schema of a table: its features with their kinds, and its target."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.parameters import check_choice
from pliant.core.text import count, quoted
from pliant.core.typing import Array
from pliant.tables.reading.columns import (
    MOST_CATEGORIES,
    TEXT_WIDTH,
    Column,
    ColumnProfile,
    DateOrder,
    LeftOut,
    Missing,
    UnknownCells,
    has_outer_spaces,
    infer_kind,
    is_integer,
    read_booleans,
    read_numbers,
    read_texts,
    refuse,
    refuse_missing,
    warn_of_unknown,
)
from pliant.tables.reading.dialect import PathLike
from pliant.tables.reading.infer import NumberKind, TableFormat, read_frame
from pliant.tables.reading.names import (
    check_present,
    check_unique,
    collect,
    from_json,
    in_quotes,
    to_json,
)
from pliant.tables.reading.read import read_table

if TYPE_CHECKING:
    import pandas as pd

Task: TypeAlias = Literal["classification", "regression"]
TargetKind: TypeAlias = Literal["numeric", "integer", "boolean", "categorical"]

MAX_CLASSES = 20
ROWS_PER_CLASS = 10
MIN_ROWS_PER_CLASS = 2
"""Integers are classes with at most MAX_CLASSES values, each in ROWS_PER_CLASS rows on average.
More classes need MIN_ROWS_PER_CLASS rows each on average, even if the user sets the task."""

NO_TARGET = "leave these rows out: a target cannot be imputed"


@dataclass(frozen=True)
class Target:
    """The target column.

    Parameters
    ----------
    name : str
        The column name.
    task : {"classification", "regression"}
        The learning task.
    kind : {"numeric", "integer", "boolean", "categorical"}
        The type of the values: float64, int64, bool or text; numeric if and only if the task is
        regression.
    """

    name: str
    task: Task
    kind: TargetKind

    def __post_init__(self) -> None:
        if (self.task == "regression") != (self.kind == "numeric"):
            raise ValueError(f"{self.task} cannot have a target of kind {quoted(self.kind)}")

    @classmethod
    def fit(cls, column: pd.Series, task: Task | None = None) -> Target:
        """Infer the kind of a target, and the task unless it is given.

        Text and booleans are classes, as are integers with exactly two values, or with at most
        20 values in at least ten rows each on average. All other targets are regression. Raise
        TableError if a value is missing or invalid for the task, or if classes have too few rows.
        """
        refuse_missing(column, NO_TARGET)
        kind, name, rows = infer_kind(column), quoted(column.name), len(column)
        if kind == "date":
            raise TableError(f"column {name} holds dates, expected numbers, booleans or text")
        labels: TargetKind = "boolean" if kind == "boolean" else "categorical"
        if kind == "numeric":
            values = read_numbers(column)
            task = task or guess_task(values)
            # fractional class labels become text
            labels = "integer" if is_integer(values).all() else "categorical"
        task = task or "classification"
        target = cls(str(column.name), task, "numeric" if task == "regression" else labels)
        distinct = np.unique(target.values(column)).size
        if task == "classification" and distinct > max(MAX_CLASSES, rows / MIN_ROWS_PER_CLASS):
            raise TableError(
                f"column {name} has {distinct} distinct values in {rows} rows, such as "
                f"{quoted(column.iloc[0])}; expected fewer classes"
            )
        return target

    def values(self, column: pd.Series) -> npt.NDArray[Any]:
        """Return the target, shape (n,): float64, int64, bool or text.

        Raise TableError if a value is missing or not of this kind.
        """
        refuse_missing(column, NO_TARGET)
        if self.kind == "categorical":
            return read_texts(column).astype(str)
        if self.kind == "boolean":
            return read_booleans(column).astype(bool)
        values = read_numbers(column)
        if self.kind == "numeric":
            return values
        refuse(column, ~is_integer(values), "an integer below 2**53")
        return values.astype(np.int64)


@dataclass(frozen=True)
class TableSchema:
    """Convert tables to the feature matrix of a model.

    `fit` creates a schema, which finds columns by name, in any order, and ignores others. A schema
    learns nothing that could leak into test scores: `encoder` returns the pipeline step that
    imputes missing values and encodes categories and text.

    Parameters
    ----------
    columns : tuple of Column
        The feature columns, in the order of the feature matrix.
    target : Target or None, default=None
        The target column.
    missing : {"impute", "error"}, default="impute"
        Leave missing features to the encoder, or raise an error.
    left_out : tuple of LeftOut, default=()
        Columns that are not features: ids, constants and empty columns.
    notes : tuple of str, default=()
        Remarks on uncertain column kinds.
    form : TableFormat, optional
        The format of the file.
    """

    columns: tuple[Column, ...]
    target: Target | None = None
    missing: Missing = "impute"
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    form: TableFormat | None = None

    @classmethod
    def fit(
        cls,
        frame: pd.DataFrame,
        target: str | None = None,
        *,
        task: Task | None = None,
        missing: Missing = "impute",
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        categorical: Sequence[str] = (),
        date_order: DateOrder | None = None,
    ) -> TableSchema:
        """Infer the schema of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            A table of at least two rows. Numeric columns stay as they are, booleans become 0 or
            1, and dates become calendar features. Text becomes categories, free text or ids; ids
            are left out. Text that holds numbers is read like that of a CSV file, and other types
            are an error.
        target : str, optional
            The target column; all others are features.
        task : {"classification", "regression"}, optional
            By default, classification for text, booleans, and integers with two values, or with at
            most 20 averaging at least ten rows; otherwise regression.
        missing, drop, keep, categorical, date_order
            As in `pliant.TableFeatures`; a missing target is always an error.

        Raises
        ------
        TableError
            If a column is absent, columns hold unusable values (one message names all of them), or
            there is no feature.
        """
        check_choice("task", task or "regression", get_args(Task))
        check_choice("missing", missing, get_args(Missing))
        check_choice("date_order", date_order or "ymd", get_args(DateOrder))
        frame = _decode(frame)
        names = _feature_columns(frame, target, drop, [*keep, *categorical])
        if len(frame) < 2:
            raise TableError(f"expected a table of at least 2 rows, got {len(frame)}")
        texts = [name for name in names if name not in categorical]
        frame, form, notes = _read_numbers(frame, texts, target, task)

        def infer(name: str) -> Column | LeftOut | Target:
            if name == target:
                notes.extend(_describe_target(frame[name], task))
                return Target.fit(frame[name], task)
            options = (missing, name in keep, name in categorical, date_order, notes)
            return ColumnProfile(name, frame[name], *options).infer()

        found = collect(names if target is None else [*names, target], infer)
        columns = tuple(each for each in found if isinstance(each, Column))
        left_out = tuple(each for each in found if isinstance(each, LeftOut))
        if not columns:
            raise TableError(
                f"no feature column is left: {describe_left_out(left_out)}; expected at least one "
                "in addition to the target (keep=[...] restores a column)"
            )
        spaced = [name for name in (*names, target) if name and has_outer_spaces(frame[name])]
        if spaced:
            notes.append(f"spaces around text in {in_quotes(spaced)} are removed")
        fitted = next((each for each in found if isinstance(each, Target)), None)
        limits = {} if form is None else form.limits
        if fitted is not None and fitted.task == "regression" and fitted.name in limits:
            limit = quoted(limits[fitted.name])
            raise TableError(
                f"column {quoted(target)} holds limits such as {limit}, expected measured values "
                f"as the target: correct them, or leave these rows out (na_values=[{limit}])"
            )
        return cls(columns, fitted, missing, left_out, tuple(notes), form)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, such as ``age`` or ``day (weekday)``, shape (d,)."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def categories(self) -> dict[int, tuple[str, ...]]:
        """The values of each categorical feature, by column of the feature matrix."""
        kind = "categorical"
        return {start: each.categories for start, each in self._offsets() if each.kind == kind}

    @property
    def texts(self) -> tuple[tuple[int, int], ...]:
        """The (start, stop) column range of each text column in the feature matrix."""
        starts = (start for start, column in self._offsets() if column.kind == "text")
        return tuple((start, start + TEXT_WIDTH) for start in starts)

    @property
    def starts(self) -> tuple[int, ...]:
        """The first feature of each column, as a column of the feature matrix."""
        return tuple(start for start, _ in self._offsets())

    def _offsets(self) -> Iterable[tuple[int, Column]]:
        """Pair each column with the index of its first feature."""
        starts = accumulate((len(column.feature_names) for column in self.columns), initial=0)
        return zip(starts, self.columns, strict=False)

    def remarks(self) -> list[str]:
        """Return notes for the user: columns left out, and uncertain inferences."""
        notes = [*self.notes, *(() if self.form is None else self.form.notes)]
        usable = [column.name for column in self.left_out if column.reason != "empty"]
        keep = f"keep=[{', '.join(quoted(name, 80) for name in usable[:10])}]"
        option = f" ({keep} restores {'it' if len(usable) == 1 else 'them'})" if usable else ""
        first = [f"left out: {describe_left_out(self.left_out)}{option}"] if self.left_out else []
        return first + self.warnings() + notes

    def warnings(self) -> list[str]:
        """Return warnings of columns that are left out although their texts look like numbers."""
        return [column.warning for column in self.left_out if column.warning]

    @property
    def reading(self) -> TableFormat:
        """The format for reading later files, so that columns keep their kinds."""
        form = self.form or TableFormat()
        names = [column.name for column in self.columns if column.kind == "numeric"]
        return replace(form, numbers=_later_kinds(form, names))

    def features(
        self,
        frame: pd.DataFrame,
        unknown: dict[str, UnknownCells] | None = None,
        reported: set[str] | None = None,
    ) -> Array:
        """Return the features of a table as float64, shape (n, d).

        Categories are codes from 0 in alphabetical order, and missing values are NaN; see
        `encoder`.

        Parameters
        ----------
        frame : pandas.DataFrame
            A table of n >= 1 rows that has all columns of the schema, in any order.
        unknown : dict, optional
            Filled with the first unknown category of a column and the number of rows with unknown
            ones, by name, instead of the warnings. Chunks of a table share the dictionary.
        reported : set of str, optional
            Columns of which a warning has told how texts are read; this call adds others.

        Raises
        ------
        TableError
            If columns are absent (the message lists all), or a cell does not fit its column's kind.
        MemoryError
            If the features do not fit in memory.

        Warns
        -----
        UnknownCategoryWarning
            If a value is not a known category; it gets the code after the last category.
        UserWarning
            If a text in a numeric column is read as missing or as a limit.
        """
        frame = _decode(frame)
        _check_rows(frame, [column.name for column in self.columns])
        frame = _read_later(frame, self.reading, set() if reported is None else reported)
        found = dict[str, UnknownCells]() if unknown is None else unknown
        advice = "fill them in or leave the rows out; the model was fitted without imputation"

        def encode(column: Column, out: Array) -> None:
            cells = frame[column.name]
            if self.missing == "error":
                refuse_missing(cells, advice, counted=False)
            column.encode(cells, found, out)

        try:
            features = np.empty((len(frame), len(self.feature_names)))
            ends = np.cumsum([len(column.feature_names) for column in self.columns])
            parts = zip(self.columns, np.split(features, ends[:-1], axis=1), strict=True)
            collect(parts, lambda part: encode(*part))
        except MemoryError:
            raise MemoryError(self._shortage(len(frame))) from None
        if unknown is None:
            warn_of_unknown(found)
        return features

    def _shortage(self, n_rows: int) -> str:
        """Describe the size of the features of a table that do not fit in memory."""
        d, texts = len(self.feature_names), [c.name for c in self.columns if c.kind == "text"]
        size = f"{count(n_rows, 'row')} of {d} features, {8 * n_rows * d / 2**30:.3g} GiB"
        advice = "use fewer rows or more memory"
        if texts:
            size += f", of which {TEXT_WIDTH} are the words in each of {in_quotes(texts, 3)}"
            advice += f", or leave out columns of free text (drop=[{quoted(texts[0])}])"
        return f"expected memory for {size}: {advice}"

    def target_values(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        """Return the target of a table, shape (n,): float64, int64, bool or text.

        Raise TableError if the column is absent, or a value is missing or not of the target's kind.
        """
        if self.target is None:
            raise TableError("the schema has no target")
        name, frame = self.target.name, _decode(frame)
        _check_rows(frame, [name])
        if self.target.kind == "numeric":
            form = self.form or TableFormat()
            frame = _read_later(frame, replace(form, numbers=_later_kinds(form, [name])), set())
        return self.target.values(frame[name])

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for model files, where one text takes less space than many."""
        return {"schema": json.dumps(self.to_dict())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(vars(self.from_dict(json.loads(state["schema"]))))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON data."""
        return to_json(self)

    @classmethod
    def from_dict(cls, state: object) -> TableSchema:
        """Create a schema from the output of `to_dict`; raise TableError for any other data."""
        schema: TableSchema = from_json(cls, state, "schema")
        if not schema.columns:
            raise TableError("schema: expected at least one column, got none")
        target = [] if schema.target is None else [schema.target.name]
        check_unique([*(column.name for column in schema.columns), *target], "the schema")
        return schema


TableSchema.__module__ = "pliant.tables"


def guess_task(y: npt.ArrayLike | None) -> Task:
    """Infer the task from a target, as in `TableSchema.fit`; regression without one."""
    values = np.asarray(y)
    values = np.array(values.tolist()) if values.dtype.kind == "O" else values
    if y is None:
        return "regression"
    if values.dtype.kind not in "iuf":
        return "classification"
    distinct = np.unique(values).size
    few = distinct == 2 or distinct <= min(MAX_CLASSES, values.size / ROWS_PER_CLASS)
    return "classification" if few and is_integer(values).all() else "regression"


def _describe_target(column: pd.Series, task: Task | None) -> list[str]:
    """State the task assumed for integers; warn of a value that may mean "missing"."""
    if infer_kind(column) != "numeric" or column.isna().any():
        return []
    values, name = read_numbers(column), quoted(column.name)
    levels, counts = np.unique(values, return_counts=True)
    if (end := _find_sentinel(levels, counts)) is not None:
        others, value = np.delete(levels, end), f"{levels[end]:.15g}"
        warnings.warn(
            f"column {name}: {count(int(counts[end]), 'row')} hold {value}, far outside the other "
            f"values, {others[0]:.6g} to {others[-1]:.6g}: if it means missing, set "
            f"na_values=['{value}']",
            UserWarning,
            stacklevel=4,
        )
    recurring = len(levels) <= max(MAX_CLASSES, len(values) / ROWS_PER_CLASS)
    if task or len(levels) < 3 or not recurring or not is_integer(values).all():
        return []
    used, other, remedy = "numbers", "classes", "classification"
    if guess_task(values) == "classification":
        used, other, remedy = other, used, "regression"
    return [f"the {len(levels)} integers in {name} are {used} (task='{remedy}' for {other})"]


def _find_sentinel(levels: Array, counts: npt.NDArray[np.intp]) -> int | None:
    """Return the position, 0 or -1, of a repeated value far outside the other sorted values."""
    if len(levels) < 4:
        return None
    for end, others in ((0, levels[1:]), (-1, levels[:-1])):
        gap, spread = abs(levels[end] - others[end]), others[-1] - others[0]
        negative = levels[end] in (-99, -200, -999, -9999) and others[0] >= 0
        if counts[end] > 1 and levels[end] and (negative or gap > 3 * spread):
            return end
    return None


def describe_left_out(left_out: Sequence[LeftOut]) -> str:
    """Return the names of the columns left out, grouped by reason."""
    reasons = {
        "id": "a different value in nearly every row",
        "many": f"more than {MOST_CATEGORIES} different values",
        "constant": "the same value in all rows",
        "empty": "no values",
    }
    names = {key: [each.name for each in left_out if each.reason == key] for key in reasons}
    return ", ".join(f"{in_quotes(names[key])} ({reasons[key]})" for key in reasons if names[key])


def _read_numbers(
    frame: pd.DataFrame, names: list[str], target: str | None, task: Task | None
) -> tuple[pd.DataFrame, TableFormat | None, list[str]]:
    """Read the columns of text that hold numbers; return the frame, its format and notes.

    Class labels stay as written, and so does a frame that `read_table` has read from CSV files.
    """
    written = frame.attrs.get("format")
    given = TableFormat.from_dict(written) if written else TableFormat()
    if given.numbers is not None:
        return frame, given, []
    given = TableFormat(decimal=given.decimal, thousands=given.thousands, na_values=given.na_values)
    with_target = [*names, *([target] if target and task != "classification" else [])]
    read, form = read_frame(frame, with_target, given)
    if target in (form.numbers or {}):
        regression = (task or guess_task(read[target])) == "regression"
        if target in form.words or not regression:
            read, form = read_frame(frame, names, replace(given, decimal=form.decimal))
    if form.numbers:
        return read, replace(form, notes=()), [*form.notes]
    gaps = TableFormat(na_values=given.na_values) if given.na_values else None
    return read, gaps, [*form.notes]


def _read_later(frame: pd.DataFrame, usual: TableFormat, reported: set[str]) -> pd.DataFrame:
    """Read texts in the numeric columns of a later table as in the training table."""
    form = TableFormat(decimal=usual.decimal or ".", na_values=usual.na_values)
    frame, form = read_frame(frame, usual.numbers or {}, form, usual)
    known = {note: note.partition(":")[0] for note in form.notes}
    for note, column in known.items():
        if column not in reported:
            warnings.warn(note, UserWarning, stacklevel=3)
    reported.update(known.values())
    return frame


def _later_kinds(form: TableFormat, names: Sequence[str]) -> dict[str, NumberKind]:
    """Return the kinds of numeric columns in later tables, where integers may be numbers."""
    known = form.numbers or {}
    return {name: "code" if known.get(name) == "code" else "number" for name in names}


def _feature_columns(
    frame: pd.DataFrame, target: str | None, drop: Sequence[str], others: Sequence[str]
) -> list[str]:
    """Return all columns but the target and `drop`; raise TableError for invalid names."""
    names: list[Any] = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            kind = type(name).__name__
            raise TableError(f"expected text as column names, got {quoted(name)} ({kind})")
    check_unique(names, "the table")
    required = [*drop, *others, *([] if target is None else [target])]
    check_present(list(dict.fromkeys(required)), names)
    if target in drop:
        raise TableError(f"column {quoted(target)} is the target, expected others in drop=[...]")
    features = [name for name in names if name not in {target, *drop}]
    if not features:
        raise TableError("no feature column is left: expected one in addition to the target")
    return features


def _decode(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with pandas' categories in place of Arrow's dictionaries."""
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    names = [name for name, kind in kinds if str(kind).startswith("dictionary<")]
    return frame.astype(dict.fromkeys(names, "category")) if names else frame


def _check_rows(frame: pd.DataFrame, wanted: list[str]) -> None:
    """Raise TableError if the table has no rows or lacks a wanted column."""
    names, needed = [str(name) for name in frame.columns], set(wanted)
    check_present(wanted, names)
    check_unique((name for name in names if name in needed), "the table")
    if frame.empty:
        raise TableError("expected at least one row, got none")


def read_with_schema(
    path: PathLike,
    target: str,
    *,
    most_rows: int | None = None,
    form: TableFormat | None = None,
    aside: Sequence[str] = (),
    **choices: Any,
) -> tuple[pd.DataFrame, TableSchema]:
    """Read a table and infer its schema; keep class labels and categories as written.

    Raise TableError if the table has more rows than `most_rows`, with or without a target.
    """
    form = form or TableFormat()
    texts = (*form.texts, *choices.get("categorical", ()), *choices.get("drop", ()))
    choices["drop"] = [*choices.get("drop", ()), *aside]
    stop = None if most_rows is None else most_rows + 1
    gaps: npt.NDArray[np.bool_] | None = None
    while True:
        frame = read_table(path, stop, replace(form, texts=tuple(dict.fromkeys(texts))))
        if most_rows is not None and len(frame) > most_rows:
            raise TableError(
                f"expected at most {most_rows} rows, the table has more: use a random sample, or "
                "another method (see pliant methods)"
            )
        if gaps is not None:  # a word among numbers is no label
            frame[target] = frame[target].mask(gaps)
        gaps = frame[target].isna().to_numpy() if target in frame else None
        frame, notes = drop_rows_without_target(frame, target, choices.get("missing", "impute"))
        schema = TableSchema.fit(frame, target, **choices)
        classes = schema.target is not None and schema.target.task == "classification"
        text = frame.attrs["format"]["numbers"] is not None
        if not classes or frame[target].dtype.kind != "f" or not text:
            return frame, replace(schema, notes=(*schema.notes, *notes))
        texts = (*texts, target)  # class labels stay as written


def drop_rows_without_target(
    frame: pd.DataFrame, target: str, missing: Missing
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows with a target, and a note about the other rows.

    Return all rows if missing values are errors or no row has a target.
    """
    parts = target.split(",")
    if target not in frame and len(parts) > 1 and {*parts} <= {*frame}:
        raise TableError(f"expected one target, got {in_quotes(parts)}: fit one model per target")
    if missing == "error" or target not in frame:
        return frame, ()
    known = frame[target].notna().to_numpy()
    if known.all() or not known.any():
        return frame, ()
    frame, rows = frame[known], count(int((~known).sum()), "row")
    frame.index = (frame.index + 1).rename("row")
    return frame, (f"left out: {rows} without {quoted(target)}",)
