"""A prediction when a model is loaded: a file that loads predicts.

A few rows that fit go through the whole model: zeros, and numbers of either sign. Where a column
holds categories or texts, the first known one stands there.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, LabelEncoder, OneHotEncoder, OrdinalEncoder
from sklearn.utils.validation import check_is_fitted

from pliant.core.kernels.base import Kernel, Normalized, made_of, parameters
from pliant.core.kernels.on import On
from pliant.core.kernels.precomputed import Precomputed
from pliant.persistence._objects import objects_in

NUMBERS = (0.0, 1.0, -1.0, 10.0, -10.0)
"""What stands in the columns of numbers, a row of each."""

METHODS = ("predict", "decision_function", "predict_proba", "transform", "predict_interval")
"""What is asked of an estimator; an interval may be infinite, as after few calibration rows."""

INNER = ("regressor_", "estimator")
"""Attributes that hold the estimator that rows are handed on to."""

PARTIAL = (Normalized, Precomputed)
"""Kernels that have values for some points only."""

UNKNOWN = "unknown categories"
"""What encoders say of a category that they do not know: which they do, the file need not show."""

MOST_STORED = 16
"""Points that a model keeps of which it predicts for."""

STORED = ("centres", "points", "landmarks")
"""Parameters that hold points of a kernel."""


def check_predictions(model: Any) -> None:
    """Raise ValueError unless a model predicts finite numbers for rows that fit.

    The last step of a pipeline takes points that it keeps, too: where it predicts for these,
    numbers other than zero may be out of its reach. Where a kernel has values for some rows only,
    the model has to take one of them.
    """
    sequential = parallel_config("sequential")  # processes take seconds to start
    with sequential, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(model, Kernel):
            _check_kernel(model)
        elif _is_part(model):
            got = type(model).__name__
            raise ValueError(f"expected an estimator or a kernel as the model, got {got}")
        elif any(hasattr(type(model), name) for name in METHODS):
            _check_estimator(model)


def _is_part(model: Any) -> bool:
    """Return whether an object only ever stands inside of a model, such as a calibrator."""
    predicts = any(hasattr(type(model), name) for name in METHODS)
    ours = type(model).__module__.startswith("pliant.")
    return type(model).__name__.startswith("_") or not (predicts or ours)


def _check_estimator(model: Any) -> None:
    try:
        check_is_fitted(model)
    except NotFittedError:
        if any(_has_learned(part) for part in objects_in(model)):
            raise
        return  # an estimator that is saved before it is fitted
    last = _last(model)
    stored = _stored_rows(last)
    rows = rows_that_fit(model)
    try:
        _check_methods(model, rows)
    except ValueError:  # columns of 1e-100 each may have a model for which 1 is beyond all floats
        if stored is None or not isinstance(rows, np.ndarray) or rows.dtype == object:
            raise
        _check_methods(model, rows[:1])
    if stored is not None:
        _check_methods(last, stored)


def _has_learned(part: object) -> bool:
    return isinstance(part, BaseEstimator) and any(name.endswith("_") for name in vars(part))


def _check_methods(model: Any, rows: Any) -> None:
    for name in METHODS:
        if hasattr(model, name):
            _check_method(model, name, rows)


def _last(model: Any) -> Any:
    """Return the estimator at the end of pipelines and of those that hold another one."""
    if isinstance(model, Pipeline):
        return _last(model.steps[-1][1])
    inner = _held(model)
    return model if inner is None else _last(inner)


def _stored_rows(model: Any) -> npt.NDArray[Any] | None:
    """Return some of the training points that an estimator keeps, if they are its rows."""
    points: Any = getattr(model, "__dict__", {}).get("support_vectors_")
    if points is None or np.ndim(points) != 2 or not len(points):
        return None
    if np.shape(points)[1] != getattr(model, "n_features_in_", -1):
        return None
    chosen = np.linspace(0, len(points) - 1, min(len(points), MOST_STORED)).astype(np.intp)
    return np.asarray(points)[chosen]


def _check_method(model: Any, name: str, rows: Any) -> None:
    if name == "predict_interval" and getattr(model, "error_model_", model) is None:
        return  # no samples were held out: there are no intervals
    try:
        _check_values(name, getattr(model, name)(rows), len(rows))
        return
    except ValueError as error:
        refused = error
    if UNKNOWN in str(refused):
        return
    if not any(isinstance(part, PARTIAL) for part in objects_in(model)):
        raise ValueError(f"{name} fails: {refused}") from None
    taken = False
    for place in range(len(rows)):
        row = rows.iloc[place : place + 1] if hasattr(rows, "iloc") else rows[place : place + 1]
        try:
            values = getattr(model, name)(row)
        except ValueError:
            continue
        _check_values(name, values, 1)
        taken = True
    if not taken:
        raise ValueError(f"{name} fails: {refused}") from None


def _check_values(name: str, values: Any, n_rows: int) -> None:
    """Raise ValueError unless there is a prediction for each row, of finite numbers."""
    if np.shape(values)[:1] != (n_rows,):
        got = np.shape(values)
        raise ValueError(f"expected {name} to return {n_rows} rows, got the shape {got}")
    _check_finite(name, values)


def _check_finite(name: str, values: Any) -> None:
    """Raise ValueError unless all numbers are finite."""
    parts = values if isinstance(values, list | tuple) else [values]
    for part in parts:
        array = np.asarray(part.toarray() if hasattr(part, "toarray") else part)
        bad = np.isnan if name == "predict_interval" else _infinite
        if array.dtype.kind in "fc" and bad(array).any():
            raise ValueError(f"{name} is not finite for rows of zeros and small numbers")


def _infinite(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return ~np.isfinite(values)


def rows_that_fit(model: Any) -> Any:
    """Return a few rows of the kind that an estimator was fitted on: an array or a data frame."""
    first = _first(model)
    if hasattr(first, "example_rows"):
        return first.example_rows(len(NUMBERS))
    if isinstance(first, LabelBinarizer | LabelEncoder):
        return first.classes_
    if isinstance(first, IsotonicRegression):
        return first.X_thresholds_  # it may have no value beyond them
    width = int(getattr(first, "n_features_in_", 1))
    cells = _cells(first, width)
    rows: list[list[object]] = [
        [number if cell is None else cell for cell in cells] for number in NUMBERS
    ]
    names = getattr(first, "feature_names_in_", None)
    if isinstance(first, ColumnTransformer) and names is not None:
        import pandas as pd

        return pd.DataFrame(rows, columns=list(names))
    numeric = all(cell is None for cell in cells)
    return np.array(rows, dtype=np.float64 if numeric else object)


def _first(model: Any) -> Any:
    """Return the step of a model that reads the columns."""
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
        return _first(steps[0]) if steps else model
    inner = _held(model)
    return model if inner is None else _first(inner)


def _held(model: Any) -> Any:
    """Return the fitted estimator that rows are handed on to, None if there is none."""
    calibrated = vars(model).get("calibrated_classifiers_")
    if calibrated:
        return calibrated[0].estimator
    return next(
        (vars(model)[name] for name in INNER if hasattr(vars(model).get(name), "fit")), None
    )


def _cells(first: Any, width: int) -> list[object]:
    """Return for each column the text or category that can stand there, None for any number."""
    cells: list[object] = [None] * width
    if isinstance(first, Pipeline):
        first = _first(first)
    if isinstance(first, OneHotEncoder | OrdinalEncoder):
        for place, known in enumerate(first.categories_[:width]):
            cells[place] = known[0] if len(known) else None
    elif isinstance(first, SimpleImputer):
        for place, value in enumerate(np.asarray(first.statistics_).ravel()[:width].tolist()):
            cells[place] = value if isinstance(value, str) else None
    elif isinstance(first, ColumnTransformer):
        for name, part, _ in first.transformers_:
            places = np.asarray(first._transformer_to_input_indices.get(name, []), dtype=np.intp)
            if isinstance(part, str):
                continue
            for place, cell in zip(places, _cells(part, len(places)), strict=True):
                cells[place] = cell if cells[place] is None else cells[place]
    return cells


def _check_kernel(kernel: Kernel) -> None:
    """Raise ValueError unless a kernel has finite values between some points."""
    if _has_names(kernel):
        return  # columns by name have no meaning before a fit
    rows, others = points_that_fit(kernel)
    try:
        _check_finite("the kernel", kernel(rows, others))
    except ValueError as error:
        if "to normalise a kernel" not in str(error):  # there is no value where k(x, x) = 0
            raise
    for part in objects_in(kernel):
        for name in getattr(type(part), "_cached", ()):
            vars(part).pop(name, None)


def points_that_fit(kernel: Kernel) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return two sets of points for a kernel; the second one are its own, if it keeps some."""
    if made_of(kernel, Precomputed):
        return np.zeros((1, 1)), np.zeros((1, 1))
    width = max(_widths(kernel), default=1)
    rows = np.repeat(np.array([0.5, 1.0, -1.0])[:, None], width, axis=1)
    stored = _stored(kernel)
    return rows, rows.copy() if stored is None else stored


def _widths(kernel: Kernel) -> list[int]:
    """Return numbers of features that a kernel and its parts need."""
    if isinstance(kernel, On):
        return [_width_of_columns(kernel.columns)]
    widths = []
    for value in parameters(kernel).values():
        for part in value if isinstance(value, list | tuple) else [value]:
            if isinstance(part, Kernel):
                widths += _widths(part)
    for name in STORED:
        if np.ndim(points := getattr(kernel, name, 0)) == 2:
            widths.append(np.shape(points)[1])
    for name in ("gamma", "offset", "width", "lower", "upper"):
        if np.ndim(vector := vars(kernel).get(name, 0)) == 1:
            widths.append(len(vector))
    if np.ndim(factor := vars(kernel).get("factor", 0)) == 2:
        widths.append(_width_of_factor(kernel, len(factor)))
    warp: Any = vars(kernel).get("warp")
    if hasattr(warp, "slopes"):
        widths.append(len(np.atleast_1d(warp.slopes)))
    return widths


def _width_of_factor(kernel: Any, rows: int) -> int:
    """Return the number of features for which P has `rows` rows, 1 if there is none."""
    width = 1
    while kernel.shape_size(width) < rows and width < rows:
        width += 1
    return width if kernel.shape_size(width) == rows else 1


def _width_of_columns(columns: Any) -> int:
    """Return the smallest number of features that has all columns."""
    if isinstance(columns, slice):
        ends = [abs(end) + 1 for end in (columns.start, columns.stop) if end is not None]
        return max(ends, default=1)
    items = np.atleast_1d(np.asarray(columns))
    if items.dtype == bool:
        return len(items)
    return int(max(items.max() + 1, -items.min()))


def _has_names(kernel: Kernel) -> bool:
    if isinstance(kernel, On) and isinstance(_some(kernel.columns), str):
        return True
    parts: list[object] = []
    for value in parameters(kernel).values():
        parts += value if isinstance(value, list | tuple) else [value]
    return any(_has_names(part) for part in parts if isinstance(part, Kernel))


def _some(columns: Any) -> object:
    """Return one of several columns."""
    many = isinstance(columns, Sequence | np.ndarray) and not isinstance(columns, str)
    return columns[0] if many and len(columns) else columns


def _stored(kernel: Kernel) -> npt.NDArray[Any] | None:
    for name in STORED:
        if np.ndim(points := getattr(kernel, name, 0)) == 2:
            return np.asarray(points)
    return None
