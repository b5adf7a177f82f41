"""Validate data; each error states the expectation and the value."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.estimators import BaseEstimator
from pliant.core.exceptions import SampleWeightWarning
from pliant.core.parameters import MODERATE, plain
from pliant.core.sparse import as_csr, column_ends, column_spreads, is_sparse
from pliant.core.text import one_line
from pliant.core.typing import Array, Indices, Mask

LARGEST = 1e100
"""Maximum absolute value of features, targets and weights; the product of three is finite."""

LARGEST_KERNEL_VALUE = 1e75
"""Maximum absolute kernel value; sums of its fourth powers, the scale of eta, are finite."""

LIGHTEST = 1e-9
"""Share of the largest sample weight below which a positive weight counts as zero."""

UNLIKE = 1000.0
"""Ratio of two feature scales above which a kernel with one bandwidth ignores the feature with the
smaller scale, which contributes a millionth of the squared distances. Ratios up to 100 are common
and harmless; mismatched units (metres and millimetres) give at least 1000."""

HOPELESS = 1e8
"""Ratio of two feature scales above which squared distances lose the smaller scale by rounding."""


def check_points(
    X: npt.ArrayLike, name: str = "X", n_features: int | None = None, *, sparse: bool = False
) -> Array:
    """Return points as a float64 array of shape (n, d), with absolute values up to `LARGEST`.

    With `sparse`, a sparse matrix is returned as a CSR array; it is refused otherwise.
    """
    points: Any = as_csr(X, name) if sparse and is_sparse(X) else _as_numbers(X, name)
    if points.ndim != 2:
        raise ValueError(f"expected {name} of shape (n_samples, n_features), got {points.shape}")
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(f"expected {name} with {n_features} features, got {points.shape[1]}")
    if is_sparse(points):
        check_sparse_numbers(points, name)
    else:
        check_numbers(points, name)
    return points


def check_numbers(values: npt.NDArray[Any], name: str, first_row: int = 0) -> None:
    """Raise ValueError, with the position, if a number is not finite or exceeds `LARGEST`."""
    if not values.size:
        return
    if float(values.max()) <= LARGEST and float(values.min()) >= -LARGEST:  # False for NaN
        return
    place = np.argwhere(~(np.abs(values, dtype=np.float64) <= LARGEST))[0].tolist()
    value = values[tuple(place)]
    where = f"{name} at row {first_row + place[0]}" if place else name
    where += f", column {place[1]}" if len(place) > 1 else ""
    if not np.isfinite(value):
        raise ValueError(f"expected finite numbers, got {value} in {where}")
    nouns = {"X": "features", "y": "targets", "sample_weight": "weights"}
    raise ValueError(
        f"expected {nouns.get(name, 'numbers')} of at most 1e100 in absolute value, got "
        f"{value:.3g} in {where}"
    )


def check_sparse_numbers(points: Any, name: str) -> None:
    """Call `check_numbers` for the first row of a CSR array with a number that it refuses."""
    if not points.nnz or (points.data.max() <= LARGEST and points.data.min() >= -LARGEST):
        return
    place = int(np.argmin(np.abs(points.data) <= LARGEST))  # False also for NaN
    row = int(np.searchsorted(points.indptr, place, side="right")) - 1
    check_numbers(points[[row]].toarray(), name, first_row=row)


def _as_numbers(values: npt.ArrayLike, name: str) -> Array:
    """Convert real numbers to a dense float64 array of the same shape."""
    refuse_masked(name, values)
    if is_sparse(values):
        raise TypeError(
            f"expected {name} to be a dense array, got a sparse one; use {name}.toarray()"
        )
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"got an array of {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"expected {name} to hold numbers: {error}") from None


def validate_data(estimator: BaseEstimator, *data: Any, **options: Any) -> Any:
    """Call scikit-learn's ``validate_data``; reject absolute values above `LARGEST`.

    Sparse rows become a CSR array if the estimator's tag says that it takes them, and raise
    TypeError otherwise.
    """
    if len(data) == 1 and options.keys() == {"reset", "dtype"} and not options["reset"]:
        dtype = options["dtype"]
        if process.BARE or _are_checked(estimator, *data, dtype, allow_nan=False, least=1):
            rows = prediction_rows(estimator, *data, dtype=dtype)
            check_numbers(rows, "X")
            return rows
    from sklearn.utils.validation import validate_data

    data = tuple(in_memory("X or y", each) if is_collection(each) else each for each in data)
    advice = (
        "pliant.TableFeatures encodes text, dates and missing values, as in "
        f"make_pipeline(TableFeatures(), {type(estimator).__name__}())"
    )
    check_collected("X", data[0])
    _check_columns(data[0], "" if options.get("dtype", "numeric") is None else advice)
    data = (data[0], *map(_without_missing, data[1:]))
    options |= sparse_options(estimator, data[0])
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # the test for NaN computes a sum
            checked = validate_data(estimator, *data, **options)
    except OverflowError as error:
        raise ValueError(f"expected numbers that fit in float64: {error}") from None
    except (TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        if reason.startswith("float() argument"):
            raise TypeError(f"expected X and y to hold numbers: {error}") from None
        if reason.startswith("Found array with dim 3"):
            raise ValueError(
                f"{reason}: make each sample one row; for several Gram matrices, use MKLClassifier "
                "or MKLRegressor with kernels=[Precomputed(gram), ...] and row numbers as X"
            ) from None
        texts = reason.startswith("could not convert") and np.asarray(data[0]).dtype.kind in "OUS"
        dates = "could not be promoted" in reason
        if not (texts or dates or reason.startswith("Input X contains NaN")):
            raise  # keep scikit-learn's errors
        raise ValueError(f"{reason}: {advice}") from None
    parts = list(checked) if isinstance(checked, tuple) else [checked]
    if is_sparse(parts[0]):
        parts[0] = as_csr(parts[0])
        check_sparse_numbers(parts[0], "X")
    for name, part in zip(("X", "y"), parts, strict=False):
        if isinstance(part, np.ndarray) and part.dtype == np.float64:
            check_numbers(part, name)
    return tuple(parts) if isinstance(checked, tuple) else parts[0]


def _has_sparse_columns(X: Any) -> bool:
    """Return True for a data frame of pandas with sparse columns alone."""
    kinds = list(getattr(X, "dtypes", ()))
    return bool(kinds) and all(type(kind).__name__ == "SparseDtype" for kind in kinds)


def sparse_options(estimator: BaseEstimator, X: Any) -> dict[str, Any]:
    """Return the options of ``validate_data`` for sparse rows, and none for others.

    Raise TypeError, with the remedy, unless the estimator's tag says that it takes sparse rows.
    """
    if not (is_sparse(X) or _has_sparse_columns(X)):
        return {}
    from sklearn.utils import get_tags

    tags = get_tags(estimator).input_tags
    if tags.sparse:
        return {"accept_sparse": "csr", "dtype": np.float64}
    what, remedy = "rows", "sklearn.decomposition.TruncatedSVD first"
    if tags.pairwise:
        what, remedy = "kernel values", "X.toarray()"
    raise TypeError(
        f"expected dense {what} for {one_line(estimator, 200)}, got a sparse matrix of shape "
        f"{tuple(X.shape)}: use {remedy}"
    )


def prediction_rows(
    estimator: Any, X: Any, *, dtype: Any, allow_nan: bool = False, least: int = 1
) -> npt.NDArray[Any]:
    """Return the rows of a prediction as scikit-learn's ``validate_data`` returns them.

    Rows that it would return as they are need no scikit-learn.
    """
    if _are_checked(estimator, X, dtype, allow_nan, least):
        return np.asarray(X)
    if process.BARE:
        n, what = estimator.n_features_in_, "numbers or NaN" if allow_nan else "finite numbers"
        raise ValueError(f"expected rows of {n} {what}, got {one_line(X)}")
    from sklearn.utils.validation import validate_data

    finite: Any = "allow-nan" if allow_nan else True
    options: dict[str, Any] = {"ensure_all_finite": finite, "ensure_min_samples": least}
    return np.asarray(validate_data(estimator, X, reset=False, dtype=dtype, **options))


def _are_checked(estimator: Any, X: Any, dtype: Any, allow_nan: bool, least: int) -> bool:
    """Return True for an array of numbers in the form of the training rows, without names."""
    known, dtypes = vars(estimator), dtype if isinstance(dtype, tuple) else (dtype,)
    return (
        type(X) is np.ndarray
        and X.dtype in dtypes
        and X.ndim == 2
        and X.shape[1] == known.get("n_features_in_")
        and X.shape[1] > 0
        and len(X) >= least
        and "feature_names_in_" not in known
        and bool((~np.isinf(X) if allow_nan else np.isfinite(X)).all())
    )


def check_collected(name: str, values: Any) -> None:
    """Raise TypeError for a LazyFrame of polars, and ValueError for masked entries."""
    if type(values).__name__ == "LazyFrame":
        raise TypeError(f"expected {name} in memory, got a LazyFrame: call collect() first")
    refuse_masked(name, values)


def refuse_masked(name: str, values: Any) -> None:
    """Raise ValueError for masked entries: NumPy converts them to the values behind the mask."""
    if not (isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values)):
        return
    places = np.argwhere(np.ma.getmaskarray(values))
    where = ", ".join(f"{axis} {k}" for axis, k in zip(("row", "column"), places[0], strict=False))
    raise ValueError(
        f"expected {name} without masked entries, got {len(places)} of {values.size} masked, the "
        f"first at {where}: fill them in, as in {name}.filled(value), or leave out their rows"
    )


def _check_columns(X: Any, advice: str) -> None:
    """Raise ValueError for equal column names, and for dates and durations if `advice` is given.

    NumPy converts a column of dates, without other columns, to numbers; NaT becomes -9.2e18.
    """
    names = getattr(X, "columns", None)
    if names is None:
        if getattr(getattr(X, "dtype", None), "kind", "") in {"m", "M"}:
            _refuse_dates(str(X.dtype), advice)
        return
    names = list(names)
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"expected distinct column names, got more than one column {name!r}")
    for name, kind in zip(names, getattr(X, "dtypes", ()), strict=False):
        if str(kind).lower().startswith(("date", "time", "duration", "period")):
            _refuse_dates(f"{kind} in column {name!r}", advice)


def _refuse_dates(got: str, advice: str) -> None:
    """Raise ValueError if `advice` is given; `TableFeatures` takes dates, but no durations."""
    if got.lower().startswith(("timedelta", "duration")):
        advice = advice and "convert durations to numbers, such as .dt.total_seconds()"
    if advice:
        raise ValueError(f"expected X to hold numbers, got {got}: {advice}")


def _without_missing(y: Any) -> Any:
    """Return targets, with nullable integers and booleans of pandas as a NumPy array.

    Raise ValueError, with the row, for a missing value of pandas; scikit-learn reports NaN.
    """
    check_collected("y", y)
    if "pandas" not in sys.modules or y is None or isinstance(y, str):
        return y
    dtype = getattr(y, "dtype", None)
    if hasattr(y, "isna") and dtype is not None and not isinstance(dtype, np.dtype):
        missing = np.asarray(y.isna())
    else:
        missing = np.zeros(0, dtype=bool)
        with suppress(TypeError, ValueError):  # scikit-learn reports ragged lists
            values = np.asarray(y)
            if values.dtype.kind == "O" and values.size:
                rows = values.reshape(len(values), -1).tolist()
                missing = np.array([any(type(v).__name__ == "NAType" for v in row) for row in rows])
        dtype = None
    if missing.any():
        raise ValueError(f"expected y without missing values, got <NA> at row {missing.argmax()}")
    integral = getattr(dtype, "kind", "") in {"b", "i", "u"}
    numpy_dtype = getattr(dtype, "numpy_dtype", None) if integral else None
    return y if numpy_dtype is None else y.to_numpy(dtype=numpy_dtype)


def is_collection(X: object) -> bool:
    """Return True for a Dask collection of any kind."""
    return hasattr(X, "__dask_graph__")


def in_memory(name: str, values: Any) -> npt.NDArray[Any]:
    """Return values, possibly of a Dask collection, as a NumPy array."""
    try:
        values = values.compute() if is_collection(values) else values
        array = np.asarray(values)
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"expected {name} as an array: {one_line(error)}") from error
    refuse_masked(name, values)
    return array


def class_codes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Indices]:
    """Return the sorted classes in y, and the class index of each sample."""
    from sklearn.utils.multiclass import check_classification_targets

    try:
        check_classification_targets(y)
        return np.unique(y, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"expected labels of one type in y: {error}") from None


def class_factors(
    class_weight: Mapping[Any, float] | str | None, classes: npt.NDArray[Any], y: npt.ArrayLike
) -> Array:
    """Return the weight of each class; raise ValueError unless all are from 1e-12 to 1e12."""
    from sklearn.utils.class_weight import compute_class_weight

    try:
        factors = compute_class_weight(class_weight, classes=classes, y=y)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"expected class_weight to be None, 'balanced' or a dict of class weights, got "
            f"{class_weight!r}: {error}"
        ) from None
    if not ((factors >= MODERATE[0]) & (factors <= MODERATE[1])).all():
        raise ValueError(f"expected class weights from 1e-12 to 1e12, got {class_weight!r}")
    return np.asarray(factors, dtype=np.float64)


def check_gram(gram: Array) -> Array:
    """Return a square matrix that is symmetric up to rounding errors, made exactly symmetric.

    Rounding errors are at most 1e-6 times the largest absolute entry, as in numbers printed with
    six digits, or 1e-5 if the matrix was computed in float32. See `symmetrised`.
    """
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"expected a square Gram matrix of shape (n, n), got {gram.shape}")
    worst, i, j = _largest_asymmetry(gram)
    if worst > 0.0:
        largest = max(float(gram.max()), -float(gram.min()))
        if worst > 1e-6 * largest and not (worst <= 1e-5 * largest and _is_single(gram)):
            raise ValueError(
                f"expected a symmetric Gram matrix, got {gram[i, j]:.6g} at ({i}, {j}) but "
                f"{gram[j, i]:.6g} at ({j}, {i}), a difference of {worst:.3g}; if it is due to "
                "rounding, pass (K + K.T) / 2"
            )
        gram = _symmetric_part(gram)
    return gram


def symmetrised(gram: Array) -> Array:
    """Return a symmetric matrix itself, and another one as its mean with its transpose."""
    return _symmetric_part(gram) if _largest_asymmetry(gram)[0] else gram


def _symmetric_part(gram: Array) -> Array:
    """Compute the mean of a matrix and its transpose."""
    half = 0.5 * gram
    return np.asarray(half + half.T)


def _largest_asymmetry(gram: Array) -> tuple[float, int, int]:
    """Find the largest difference between an entry and its mirror image, and its position."""
    worst, i, j = 0.0, 0, 0
    for low in range(0, len(gram), 128):  # compare tiles that fit in the CPU cache
        rows = slice(low, low + 128)
        skew = np.abs(gram[rows, low:] - gram[low:, rows].T)
        largest = float(skew.max())
        if largest > worst:
            worst = largest
            i, j = (low + np.argwhere(skew == largest)[0]).tolist()
    return worst, i, j


def _is_single(values: Array) -> bool:
    """Return True if all numbers have at most float32 precision, and some are not integers."""
    if values.dtype == np.float32:
        return True
    with np.errstate(over="ignore"):
        return bool((values.astype(np.float32) == values).all()) and has_fractions(values)


def check_kernel_values(
    values: npt.NDArray[Any], kernel: object, noun: str = "kernel values"
) -> npt.NDArray[Any]:
    """Return kernel values; raise ValueError if one is NaN or beyond `LARGEST_KERNEL_VALUE`."""
    largest = float(max(values.max(), -values.min()))
    if not largest <= LARGEST_KERNEL_VALUE:  # False for NaN
        raise ValueError(
            f"expected {noun} of at most 1e75 in absolute value, got {largest:.3g} from "
            f"{one_line(kernel)}; scale the features, or the kernel"
        )
    return values


def check_vector(name: str, values: npt.ArrayLike, length: int) -> Array:
    """Return `values` as `length` finite float64 numbers; a scalar is repeated."""
    vector = _as_numbers(values, name)
    if vector.ndim == 0:
        vector = np.full(length, float(vector))
    if vector.shape != (length,):
        raise ValueError(f"expected {name} of shape ({length},), got {vector.shape}")
    if not np.isfinite(vector).all():
        place = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"expected finite numbers in {name}, got {vector[place]} at index {place}")
    return vector


def check_targets(y: npt.ArrayLike, name: str = "y") -> Array:
    """Return real targets of any shape as float64, with absolute values up to `LARGEST`."""
    targets = _as_numbers(y, name)
    check_numbers(targets, name)
    return targets


def check_varies(name: str, targets: Array, spread: float, least: float) -> None:
    """Raise ValueError unless the `spread` of targets is above `least`."""
    if spread > least:
        return
    low, high, n = plain(targets.min()), plain(targets.max()), len(targets)
    if low == high:
        raise ValueError(f"expected a target that varies, got {name} = {low} in all {n} rows")
    raise ValueError(
        f"expected a target that varies, got {name} from {low} to {high} in {n} rows, a spread of "
        f"{spread:.3g}, not above {least:.3g}: subtract a constant from it, or change its unit"
    )


def has_fractions(values: npt.NDArray[Any]) -> bool:
    """Return True if all values are finite floats and some are not integers."""
    finite = values.dtype.kind == "f" and np.isfinite(values).all()
    return bool(finite and (values % 1 != 0).any())


def check_labels(y: npt.ArrayLike, name: str = "y") -> npt.NDArray[Any]:
    """Return class labels as a vector of one dtype without missing values; errors say `name`.

    Labels of shape (n_samples, 1) become a vector, with scikit-learn's DataConversionWarning.
    """
    refuse_masked(name, y)
    values = np.asarray(y)
    if values.dtype.kind in "US" and not isinstance(y, np.ndarray):
        values = np.asarray(y, dtype=object)  # NumPy converts a mix of text and numbers to text
    if values.ndim == 2 and values.shape[1] == 1:
        from sklearn.utils import column_or_1d

        values = column_or_1d(values, warn=True)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"expected {name} of shape (n_samples,), n_samples >= 1, got {values.shape}"
        )
    if values.dtype.kind == "O":
        values = convert_labels(values, name)
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            wrong = values % 1 != 0  # also True for nan and inf
        if wrong.any():
            place = int(np.argmax(wrong))
            raise ValueError(f"expected class labels, got {values[place]} in {name} at row {place}")
    return values


def convert_labels(values: npt.NDArray[Any], name: str = "y") -> npt.NDArray[Any]:
    """Convert labels in an object array to an array of strings or of numbers."""
    others = [value for value in values if not isinstance(value, str)]
    if not others:
        return values.astype(str)
    if len(others) < len(values):
        raise ValueError(f"expected labels of one type, got text and {plain(others[0])!r}")
    if invalid := [value for value in others if not isinstance(value, Real | np.bool_)]:
        got = one_line(plain(invalid[0]))
        raise ValueError(f"expected {name} to hold class labels, got {got}: convert them to text")
    return np.array(values.tolist())


def where_equal(values: npt.NDArray[Any], value: Any) -> Mask:
    """Return a mask of the entries equal to `value` (any type); all False for None."""
    if value is None:
        return np.zeros(len(values), dtype=bool)
    return np.array([entry == value for entry in values.tolist()], dtype=bool)


def check_finite(owner: object, names: Iterable[str], advice: str = "") -> None:
    """Check that the attributes `names` are finite; `advice` is appended to the message."""
    for name in names:
        values = np.asarray(getattr(owner, name), dtype=np.float64)
        if not np.isfinite(values).all():
            invalid = values[~np.isfinite(values)][0]
            raise ValueError(
                f"expected finite numbers in {name}, got {invalid}{advice and ': ' + advice}"
            )


def check_weights(sample_weight: npt.ArrayLike | None, X: Array) -> Array:
    """Return a float64 weight in [0, `LARGEST`] for each row of X; None means equal weights.

    Positive weights below `LIGHTEST` times the largest become zero, with a SampleWeightWarning.
    """
    if sample_weight is None:
        return np.ones(X.shape[0])
    weights = _as_numbers(sample_weight, "sample_weight")
    if weights.shape != X.shape[:1]:
        raise ValueError(f"expected sample_weight of shape ({X.shape[0]},), got {weights.shape}")
    check_numbers(weights, "sample_weight")
    if (weights < 0).any():
        raise ValueError(f"expected sample_weight >= 0, got {weights.min():g}")
    largest = float(weights.max())
    if largest < 1.0 / LARGEST:
        got = f"at most {largest:g}" if largest else "only zeros"
        raise ValueError(f"expected some sample_weight of at least 1e-100, got {got}")
    light = (weights > 0) & (weights < LIGHTEST * largest)
    if light.any():
        warnings.warn(
            f"{light.sum()} positive sample weights are below 1e-9 times the largest, "
            f"{largest:.3g}, and count as zero",
            SampleWeightWarning,
            stacklevel=stack_level(),
        )
        weights = np.where(light, 0.0, weights)
    return weights


def positive_rows(weights: Array, *arrays: Any) -> tuple[Any, ...]:
    """Return the numbers of the rows of positive weight, their weights, and these rows of `arrays`.

    Without weights of zero, the arrays are returned without a copy.
    """
    rows = np.flatnonzero(weights)
    if len(rows) == len(weights):
        return rows, weights, *arrays
    return rows, weights[rows], *(each[rows] for each in arrays)


def unlike_features(X: Array) -> tuple[int, int, float] | None:
    """Find a large-scale and a small-scale column of X; return their indices and scale ratio.

    Return None unless the ratios of standard deviations and of ranges both exceed `UNLIKE`. The
    condition on the ranges exempts rare indicators.
    """
    (lowest, highest), spreads = column_ends(X), column_spreads(X)
    widths = highest - lowest
    # A column with a range below 1e-12 of its largest value is constant up to rounding errors.
    varying = widths > 1e-12 * np.maximum(np.abs(lowest), np.abs(highest))
    large = int(np.argmax(np.where(varying, spreads, -1.0)))
    unlike = varying & (widths[large] > UNLIKE * widths) & (spreads[large] > UNLIKE * spreads)
    if not unlike.any():
        return None
    small = int(np.argmin(np.where(unlike, spreads, np.inf)))
    return large, small, float(spreads[large] / spreads[small])


def stack_level() -> int:
    """Return the `stacklevel` of the nearest frame outside pliant and its wrappers."""
    wrappers = ("pliant.", "sklearn.", "joblib.", "contextlib")  # contextlib: `blas_limited`
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(wrappers):
        level, frame = level + 1, frame.f_back
    return level
