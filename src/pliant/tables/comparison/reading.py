"""Convert table files and data frames to samples for comparing methods.

No statistics are learned from the rows: missing numbers stay NaN, and text becomes category codes
or hashed words. Imputation and encoding are fitted on the training rows of each fold.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import sklearn.pipeline

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.core.validation import check_collected
from pliant.records import Pipeline
from pliant.tables.comparison.folds import without_rare_classes
from pliant.tables.comparison.sample import Sample, check_column
from pliant.tables.reading.columns import (
    DateOrder,
    find_orders,
    infer_kind,
    read_dates,
    read_numbers,
    refuse,
    refuse_missing,
)
from pliant.tables.reading.encoder import TableFeatures, as_frame
from pliant.tables.reading.infer import TableFormat, described_format
from pliant.tables.reading.schema import TableSchema, read_with_schema

if TYPE_CHECKING:
    import pandas as pd

LEAVE_OUT = "leave these rows out"


def read_sample(
    path: str | os.PathLike[str],
    target: str,
    *,
    form: TableFormat | None = None,
    group: str | None = None,
    time: str | None = None,
    most_rows: int | None = None,
    folds: int | None = None,
    **choices: Any,
) -> Sample:
    """Read a table into a sample.

    Numbers are unchanged; booleans become 0 and 1, dates become calendar features, and text becomes
    hashed words or category codes in alphabetical order. Missing values are NaN.

    Parameters
    ----------
    path : path-like
        CSV, Parquet or LIBSVM file, as for `pliant.tables.read_table`.
    target : str
        Name of the target column.
    form : TableFormat, optional
        Format of a CSV file; unspecified parts are detected.
    group : str, optional
        Column of group labels, not a feature; rows of a group stay in the same fold.
    time : str, optional
        Column of numbers or dates by which rows are sorted; not a feature.
    most_rows : int, optional
        Maximum number of rows; a longer table raises an error.
    folds : int, optional
        Drop the rows of classes too rare for this number of folds.
    task : {"classification", "regression"}, optional
        Inferred from the target by default, as in `pliant.tables.TableSchema.fit`.
    missing : {"impute", "error"}, default="impute"
        Impute missing values from each fold's training rows, or raise an error. A missing
        target, group or time always raises an error.
    drop, keep, categorical, date_order
        As for `pliant.tables.TableSchema.fit`.

    Raises
    ------
    TableError
        If the file cannot be read, or a column is absent or invalid.
    """
    if group is not None and time is not None:
        raise TableError("expected groups (group=...) or a time order (time=...), got both")
    aside = {role: name for role, name in (("group", group), ("time", time)) if name is not None}
    for role, name in aside.items():
        if name == target:
            raise TableError(f"column {quoted(target)} is the target and cannot be {role}=... too")
    form = form or TableFormat()
    form = form if group is None else replace(form, texts=(*form.texts, group))
    frame, schema = read_with_schema(
        path, target, most_rows=most_rows, form=form, aside=[*aside.values()], **choices
    )
    columns: dict[str, Any] = {role: frame[name] for role, name in aside.items()}
    sample = _sample(frame, schema, **columns, date_order=choices.get("date_order"))
    notes = (*described_format(schema.form or form), *sample.notes)
    sample = replace(sample, name=table_name(path), notes=notes)
    return sample if folds is None else without_rare_classes(sample, folds)


def sample_of(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    feature_names: Sequence[str] | None = None,
    groups: Any = None,
    time: Any = None,
) -> Sample:
    """Convert arrays or a data frame to a sample; see `compare`."""
    frame = as_frame(X)
    if frame is None:
        return Sample.of(X, y, task=task, feature_names=feature_names, groups=groups, time=time)
    if feature_names is not None:
        frame = frame.set_axis([str(name) for name in feature_names], axis=1)
    if groups is not None and time is not None:
        raise ValueError("expected groups or a time order, got both")
    target = _series("y", y, len(frame))
    name = str(target.name)
    if name in frame.columns and target.equals(frame[name].rename(name)):
        raise ValueError(f"expected X without the target, got y as column {quoted(name)} of X")
    while name in frame.columns:
        name = f"{name} (target)"
    frame = frame.assign(**{name: target})
    schema = TableSchema.fit(frame, name, task=task)  # type: ignore[arg-type]
    for warning in schema.warnings():
        warnings.warn(warning, UserWarning, stacklevel=3)
    group = None if groups is None else _series("groups", groups, len(frame))
    times = None if time is None else _series("time", time, len(frame))
    return _sample(frame, schema, group=group, time=times, labels=target.tolist())


def _series(role: str, values: Any, n: int) -> pd.Series:
    import pandas as pd

    if hasattr(values, "to_pandas"):
        values = values.to_pandas()
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    check_collected(role, values)
    column = values if isinstance(values, pd.Series) else np.asarray(values)
    check_column(role, column.shape, n)
    series = pd.Series(column)
    return series.reset_index(drop=True).rename(role if series.name is None else str(series.name))


def _sample(
    frame: pd.DataFrame,
    schema: TableSchema,
    *,
    group: pd.Series | None = None,
    time: pd.Series | None = None,
    date_order: DateOrder | None = None,
    labels: list[Any] | None = None,
) -> Sample:
    """Return the sample of a table; class labels that a user gave keep their spaces."""
    assert schema.target is not None
    target = schema.target
    order: Any = slice(None)
    if time is not None:
        order = _times(time, date_order).argsort(kind="stable").to_numpy(np.intp)
    try:
        y = schema.target_values(frame)
        if labels is not None and y.dtype.kind == "U" and all(isinstance(v, str) for v in labels):
            y = np.array(labels)
        return Sample(
            schema.features(frame)[order],
            y[order],
            target.task,
            schema.feature_names,
            schema.categories,
            groups=None if group is None else _numbered(group)[order],
            ordered=time is not None,
            target=target.name,
            texts=schema.texts,
            notes=tuple(schema.remarks()),
            schema=schema,
        )
    except ValueError as error:
        raise TableError(f"column {quoted(target.name)}: {error}") from None


def table_name(path: str | os.PathLike[str]) -> str:
    """Return a file name without its directory, and without extensions such as ``.csv.gz``."""
    name = Path(path).name
    unpacked = name[:-3] if name.lower().endswith(".gz") else name
    return Path(unpacked).stem


def _numbered(cells: pd.Series) -> npt.NDArray[np.intp]:
    import pandas as pd

    refuse_missing(cells, LEAVE_OUT)
    try:
        return pd.factorize(cells)[0]
    except TypeError:
        raise TableError(
            f"column {quoted(cells.name)}: expected numbers, dates or text as group labels"
        ) from None


def _times(cells: pd.Series, date_order: DateOrder | None) -> pd.Series:
    """Convert numbers or dates to sortable values; raise TableError for other values."""
    import pandas as pd

    refuse_missing(cells, LEAVE_OUT)
    types = pd.api.types
    numeric = types.is_numeric_dtype(cells) and not types.is_bool_dtype(cells)
    if numeric or types.is_datetime64_any_dtype(cells):
        return cells
    if infer_kind(cells) == "numeric":
        return pd.Series(read_numbers(cells))
    texts = list(dict.fromkeys(map(str, cells)))
    orders, strange = find_orders(texts)
    if strange or not orders:
        wrong = (cells.astype(str) == (strange or texts)[0]).to_numpy()
        refuse(cells, wrong, "a number or a date such as 2024-01-31")
    if date_order is None and len(orders) == 2:
        raise TableError(
            f"dates in {quoted(cells.name)} may have day or month first: "
            "set date_order='dmy' or date_order='mdy', or convert them with pandas.to_datetime"
        )
    if "ymd" in orders:
        stamps = pd.to_datetime(cells, format="ISO8601", utc=True, errors="coerce")
        if stamps.notna().all():  # may mix time zones
            return stamps
    return pd.Series(read_dates(cells.astype(str), date_order or orders[0]))


def from_frames(model: Any, schema: TableSchema) -> Pipeline:
    """Prepend the features of a table to an estimator fitted to them."""
    first = TableFeatures(encode=False, schema=schema)
    first.schema_ = schema
    first.feature_names_in_ = np.array([each.name for each in schema.columns], dtype=object)
    first.n_features_in_ = len(schema.columns)
    steps = model.steps if isinstance(model, sklearn.pipeline.Pipeline) else [("model", model)]
    return Pipeline([("table", first), *steps])
