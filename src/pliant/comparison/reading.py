"""From a table in a file to a sample to compare methods on.

Nothing is learned here from the rows: a missing number stays NaN, a text becomes the number of its
category, and what stands for either is decided inside each fold.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from pliant.core.files import quoted
from pliant.core.typing import Array, Indices
from pliant.tables import Column, TableSchema, read_table
from pliant.tables._names import check_present
from pliant.tables._values import refuse_missing, row_name, texts

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
    group: str | None = None,
    time: str | None = None,
    most_rows: int | None = None,
) -> Sample:
    """Read a table of n rows into a sample.

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
    drop : sequence of str, default=()
        Columns to leave out.
    group : str, optional
        The column of which rows with the same value stay together; no feature.
    time : str, optional
        The column by which rows are put in order: numbers, or dates as in ISO 8601; no feature.
    most_rows : int, optional
        Refuse a table with more rows.

    Returns
    -------
    Sample
        Numeric features as they are, boolean ones as 0 and 1, texts as the numbers of their
        categories in alphabetical order; NaN where one is missing.

    Raises
    ------
    TableError
        If the file cannot be read, or a column is absent or cannot be used.
    """
    _check_roles(target, group, time)
    frame = _whole(path, most_rows)
    aside = [name for name in (group, time) if name is not None]
    check_present([target, *drop, *aside], list(frame.columns))
    sample, _ = sample_from_frame(
        frame,
        target,
        task=task,
        missing=missing,
        drop=[*drop, *aside],
        groups=None if group is None else frame[group],
        time=None if time is None else frame[time],
        name=table_name(path),
    )
    return sample


def sample_from_frame(
    frame: pd.DataFrame,
    target: str,
    *,
    task: str | None = None,
    missing: str = "impute",
    drop: Sequence[str] = (),
    groups: pd.Series | None = None,
    time: pd.Series | None = None,
    name: str = "table",
) -> tuple[Sample, TableSchema]:
    """Return a data frame of n rows as a sample, with the schema that says what its columns mean.

    Parameters
    ----------
    frame : pandas.DataFrame
        The features and the target.
    target, task, missing, drop
        As in `read_sample`.
    groups, time : pandas.Series, optional
        With n values: rows with the same one stay together; rows are put in this order.
    name : str
        Of the table.

    Raises
    ------
    TableError
        If a column is absent or cannot be used.
    """
    choices: Any = {"task": task, "missing": missing}  # checked there
    schema = TableSchema.fit(frame, target, **choices, drop=drop)
    assert schema.target is not None
    order = slice(None) if time is None else _order(time)
    try:
        sample = Sample(
            coded(frame, schema.columns, order),
            schema.target_values(frame)[order],
            schema.target.task,
            tuple(column.name for column in schema.columns),
            categories_of(schema),
            groups=None if groups is None else _groups(groups)[order],
            ordered=time is not None,
            name=name,
            target=target,
        )
    except ValueError as error:
        raise TableError(f"column {quoted(target)}: {error}") from None
    return sample, schema


def table_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without its folder and its endings, such as ``.csv.gz``."""
    name = Path(path).name
    unpacked = name[:-3] if name.lower().endswith(".gz") else name
    return Path(unpacked).stem


def categories_of(schema: TableSchema) -> dict[int, tuple[str, ...]]:
    """Return the categories of each categorical feature, by its column."""
    return {j: each.categories for j, each in enumerate(schema.columns) if each.categories}


def _check_roles(target: str, group: str | None, time: str | None) -> None:
    """Raise TableError if a column is to be two things at once."""
    if group is not None and time is not None:
        raise TableError("expected groups (--group) or an order of time (--time), got both")
    for role, name in (("group", group), ("time", time)):
        if name == target:
            raise TableError(f"column {quoted(target)} is the target: it cannot be --{role} too")


def _whole(path: str | os.PathLike[str], most_rows: int | None) -> pd.DataFrame:
    """Return a table that is short enough."""
    frame = read_table(path, stop=None if most_rows is None else most_rows + 1)
    if most_rows is not None and len(frame) > most_rows:
        raise TableError(f"the table has more than {most_rows} rows: take a sample")
    return frame


def coded(
    frame: pd.DataFrame, columns: Sequence[Column], order: Indices | slice = slice(None)
) -> Array:
    """Return the features of a table: categories as their numbers, NaN where one is missing."""
    X = np.empty((len(frame), len(columns)))
    for j, column in enumerate(columns):
        X[:, j] = _numbers(column, frame[column.name])[order]
    return X


def _numbers(column: Column, cells: pd.Series) -> Array:
    """Return the cells of a column as numbers, NaN where one is missing."""
    if column.kind != "categorical":
        return replace(column, fill=np.nan).encode(cells, set())[:, 0]
    import pandas as pd

    codes = pd.Index(column.categories, dtype=object).get_indexer(pd.Index(texts(cells)))
    return np.where(codes < 0, np.nan, codes)


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


def _order(cells: pd.Series) -> Indices:
    """Return the order of rows in time; rows of one moment keep theirs.

    Raises
    ------
    TableError
        If a cell is missing, or is neither a number nor a date.
    """
    import pandas as pd

    refuse_missing(cells, OTHER_ROWS)
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells):
        return _rising(cells)
    moments = pd.to_datetime(cells, format="ISO8601", utc=True, errors="coerce")
    unread = moments.isna().to_numpy()
    if unread.any():
        at = int(unread.argmax())
        raise TableError(
            f"column {quoted(cells.name)}: expected a number or a date such as 2024-01-31 in "
            f"{row_name(cells.index, at)}, got {quoted(cells.iloc[at])}"
        )
    return _rising(moments)


def _rising(cells: pd.Series) -> Indices:
    return np.asarray(cells.argsort(kind="stable"), dtype=np.intp)
