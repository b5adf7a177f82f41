"""From a table in a file to a sample to compare methods on.

Nothing is learned here from the rows: a missing number stays NaN, a text becomes the number of its
category or hashed words, and what stands for either is decided inside each fold.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pliant.comparison.folds import without_rare_classes
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.core.typing import Indices
from pliant.tables import TableFormat, TableSchema
from pliant.tables._dates import DateOrder, moments, orders_of
from pliant.tables._names import row_name
from pliant.tables._schema import read_with_schema
from pliant.tables._values import advice, kind_of, numbers, refuse_missing, shown

if TYPE_CHECKING:
    import pandas as pd

OTHER_ROWS = "leave these rows out"


def read_sample(
    path: str | os.PathLike[str],
    target: str,
    *,
    task: str | None = None,
    missing: str = "impute",
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    categorical: Sequence[str] = (),
    date_order: str | None = None,
    form: TableFormat | None = None,
    group: str | None = None,
    time: str | None = None,
    most_rows: int | None = None,
) -> Sample:
    """Read a table of n rows into a sample; see `read_sample_with_schema`."""
    return read_sample_with_schema(
        path,
        target,
        task=task,
        missing=missing,
        drop=drop,
        keep=keep,
        categorical=categorical,
        date_order=date_order,
        form=form,
        group=group,
        time=time,
        most_rows=most_rows,
    )[0]


def read_sample_with_schema(
    path: str | os.PathLike[str],
    target: str,
    *,
    task: str | None = None,
    missing: str = "impute",
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    categorical: Sequence[str] = (),
    date_order: str | None = None,
    form: TableFormat | None = None,
    group: str | None = None,
    time: str | None = None,
    most_rows: int | None = None,
    folds: int | None = None,
) -> tuple[Sample, TableSchema]:
    """Read a table of n rows into a sample, with the schema that says what its columns mean.

    Parameters
    ----------
    path : path-like
        CSV or Parquet, as for `pliant.tables.read_table`.
    target : str
        The column to learn.
    task : {"classification", "regression"}, optional
        By default guessed from the target, as `pliant.tables.TableSchema.fit` does.
    missing : {"impute", "error"}, default="impute"
        Whether missing features are filled in, in each fold by itself, or refused. A missing
        target, group or time is always refused.
    drop, keep, categorical, date_order
        As for `pliant.tables.TableSchema.fit`.
    form : TableFormat, optional
        How a CSV file is written; what it leaves open is detected.
    group : str, optional
        The column of which rows with the same value stay together; no feature.
    time : str, optional
        The column by which rows are put in order: numbers or dates; no feature.
    most_rows : int, optional
        Refuse a table with more rows.
    folds : int, optional
        Leave out the rows of classes that are too rare for them.

    Returns
    -------
    Sample, TableSchema
        Numeric features as they are, boolean ones as 0 and 1, dates as calendar features, texts
        as the numbers of their categories in alphabetical order or as hashed words; NaN where one
        is missing.

    Raises
    ------
    TableError
        If the file cannot be read, or a column is absent or cannot be used.
    """
    _check_roles(target, group, time)
    form = form or TableFormat()
    form = form if group is None else replace(form, texts=(*form.texts, group))
    frame, schema = read_with_schema(
        path,
        target,
        stop=None if most_rows is None else most_rows + 1,
        form=form,
        aside=[name for name in (group, time) if name is not None],
        task=task,
        missing=missing,
        drop=drop,
        keep=keep,
        categorical=categorical,
        date_order=date_order,
    )
    if most_rows is not None and len(frame) > most_rows:
        raise TableError(
            f"the table has more than {most_rows} rows, the most that are taken: take a sample, or "
            "another method (see pliant methods)"
        )
    sample = _sample(
        frame,
        schema,
        groups=None if group is None else frame[group],
        time=None if time is None else frame[time],
        name=table_name(path),
        date_order=date_order,
    )
    form = schema.form or form
    sample = replace(sample, notes=(*described_format(form), *sample.notes))
    return sample if folds is None else without_rare_classes(sample, folds), schema


def sample_from_frame(
    frame: pd.DataFrame, target: str, *, groups: Any = None, time: Any = None, **choices: Any
) -> tuple[Sample, TableSchema]:
    """Return a data frame of n rows as a sample, with the schema that says what its columns mean.

    Parameters
    ----------
    frame : pandas.DataFrame
        The features and the target.
    target
        As in `read_sample`.
    groups, time : pandas.Series, optional
        With n values: rows with the same one stay together; rows are put in this order.
    choices
        As for `pliant.tables.TableSchema.fit`.

    Raises
    ------
    TableError
        If a column is absent or cannot be used.
    """
    schema = TableSchema.fit(frame, target, **choices)
    return _sample(frame, schema, groups=groups, time=time), schema


def _sample(
    frame: pd.DataFrame,
    schema: TableSchema,
    *,
    groups: pd.Series | None,
    time: pd.Series | None,
    name: str = "table",
    date_order: Any = None,
) -> Sample:
    """Return a data frame as a sample."""
    assert schema.target is not None
    target = schema.target.name
    order = slice(None) if time is None else _order(time, date_order)
    try:
        return Sample(
            schema.features(frame)[order],
            schema.target_values(frame)[order],
            schema.target.task,
            schema.feature_names,
            schema.categories,
            groups=None if groups is None else _groups(groups)[order],
            ordered=time is not None,
            name=name,
            target=target,
            texts=schema.texts,
            notes=tuple(schema.remarks()),
        )
    except ValueError as error:
        raise TableError(f"column {quoted(target)}: {error}") from None


def described_format(form: TableFormat) -> list[str]:
    """Return what is unusual about the format of a file, in a line or none."""
    return [f"read with {form.described}"] if form.described else []


def table_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without its folder and its endings, such as ``.csv.gz``."""
    name = Path(path).name
    unpacked = name[:-3] if name.lower().endswith(".gz") else name
    return Path(unpacked).stem


def _check_roles(target: str, group: str | None, time: str | None) -> None:
    """Raise TableError if a column is to be two things at once."""
    if group is not None and time is not None:
        raise TableError("expected groups (--group) or an order of time (--time), got both")
    for role, name in (("group", group), ("time", time)):
        if name == target:
            raise TableError(f"column {quoted(target)} is the target: it cannot be --{role} too")


def _groups(cells: pd.Series) -> npt.NDArray[np.intp]:
    """Return the number of each row's group, in the order in which groups appear."""
    import pandas as pd

    refuse_missing(cells, OTHER_ROWS)
    try:
        codes, _ = pd.factorize(cells)
    except TypeError:
        raise TableError(
            f"column {quoted(cells.name)} cannot name groups: expected numbers, dates or text"
        ) from None
    return codes


def _order(cells: pd.Series, date_order: DateOrder | None) -> Indices:
    """Return the order of rows in time; rows of one moment keep theirs.

    Raises
    ------
    TableError
        If a cell is missing, or is neither a number nor a date, or dates have day and month in an
        order that the values do not show.
    """
    import pandas as pd

    refuse_missing(cells, OTHER_ROWS)
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells):
        return _rising(cells)
    if kind_of(cells) == "numeric":
        return _rising(pd.Series(numbers(cells)))
    if pd.api.types.is_datetime64_any_dtype(cells):
        return _rising(cells)
    texts = list(dict.fromkeys(map(str, cells)))
    orders, strange = orders_of(texts)
    if strange or not orders:
        at = int((cells.astype(str) == (strange or texts)[0]).to_numpy().argmax())
        raise TableError(
            f"column {quoted(cells.name)}: expected a number or a date such as 2024-01-31 in "
            f"{row_name(cells.index, at)}, got {shown(cells.iloc[at])}{advice(cells.iloc[at])}"
        )
    if date_order is None and len(orders) == 2:
        raise TableError(
            f"dates in {quoted(cells.name)} may have day or month first: "
            "add --date-order dmy or --date-order mdy"
        )
    if "ymd" in orders:
        stamps = pd.to_datetime(cells, format="ISO8601", utc=True, errors="coerce")
        if stamps.notna().all():  # of two time zones, the moments count
            return _rising(stamps)
    return _rising(pd.Series(moments(cells.astype(str), date_order or orders[0])))


def _rising(cells: pd.Series) -> Indices:
    return np.asarray(cells.argsort(kind="stable"), dtype=np.intp)
