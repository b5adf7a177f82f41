"""Checks of parameters and data; each error quotes the value and the expectation."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse
import sklearn.utils
import sklearn.utils.validation
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from pliant.core.text import close_names, one_line
from pliant.core.typing import Array, Indices, Mask

WRAPPERS = ("pliant.", "sklearn.", "joblib.")
"""Packages whose frames stand between a user's call and a warning."""


LARGEST_INTEGER = 2**53
"""Up to here, an integer is a float without rounding, and counts do not overflow."""


def check_real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    infinite: bool = False,
) -> float:
    """Return `value` as a float, or say what was expected of it.

    Parameters
    ----------
    name : str
        The parameter's name, for the message.
    value : object
        What the user gave.
    above, least : float, optional
        An open or a closed lower bound.
    infinite : bool
        Whether inf is allowed.
    """
    bound = f" > {above:g}" if above is not None else f" >= {least:g}" if least is not None else ""
    number = _as_float(value)
    fits = (
        not math.isnan(number)
        and (infinite or math.isfinite(number))
        and (above is None or number > above)
        and (least is None or number >= least)
    )
    if not fits:
        raise ValueError(
            f"expected {name}{bound}, a {'' if infinite else 'finite '}number, got "
            f"{one_line(plain(value))}"
        )
    return number


def _as_float(value: Any) -> float:
    """Return `value` as a float; nan for what is no number, or one too large for a float."""
    if not isinstance(value, Real) or _is_boolean(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _is_boolean(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def check_integer(name: str, value: Any, *, least: int) -> int:
    """Return `value` as an int from `least` to `LARGEST_INTEGER`, or say what was expected."""
    if not isinstance(value, Integral) or _is_boolean(value) or value < least:
        raise ValueError(f"expected {name} >= {least}, an integer, got {one_line(plain(value))}")
    if int(value) > LARGEST_INTEGER:
        raise ValueError(f"expected {name} <= {LARGEST_INTEGER}, got {one_line(plain(value))}")
    return int(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is among `choices`, or say which there are."""
    if isinstance(value, str) and value in choices:
        return value
    close = close_names(str(value), choices)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"expected {name} in {sorted(choices)}, got {one_line(plain(value))}{hint}")


def check_flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False, or say so."""
    if not _is_boolean(value):
        raise ValueError(f"expected {name} True or False, got {one_line(plain(value))}")
    return bool(value)


Constraint: TypeAlias = Callable[[str, Any], object]
"""What a parameter must be; tables of them stand beside the signature of an estimator.

Called with the name and the value, it raises an error that quotes the value and the expectation,
unless the value fits.
"""


def check_job_count(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is None, or an integer other than 0."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if value is not None and not (whole and value):
        raise ValueError(f"expected {name} None or an integer other than 0, got {one_line(value)}")


def check_share(name: str, value: Any) -> float:
    """Return `value` as a float in (0, 1), or say what was expected of it."""
    number = check_real(name, value, above=0)
    if number >= 1:
        raise ValueError(f"expected {name} < 1, got {number:g}")
    return number


def real_number(
    *, above: float | None = None, least: float | None = None, infinite: bool = False
) -> Constraint:
    """Ask for a number: finite unless `infinite`, above an open or from a closed lower bound on."""
    return partial(check_real, above=above, least=least, infinite=infinite)


def integer(*, least: int) -> Constraint:
    """Ask for an integer of at least `least`."""
    return partial(check_integer, least=least)


def one_of(words: Collection[str]) -> Constraint:
    """Ask for one of several words."""
    return partial(check_choice, choices=words)


def optional(constraint: Constraint) -> Constraint:
    """Ask for None, or what another constraint asks for."""
    return lambda name, value: None if value is None else constraint(name, value)


def automatic(constraint: Constraint, *, named: bool = False) -> Constraint:
    """Ask for the word "auto", or what another constraint asks for.

    Other text is an error that lists the words, unless `named`: then errors speak of
    ``name = 'auto' or`` the other constraint.
    """

    def check(name: str, value: Any) -> object:
        if isinstance(value, str) and (value == "auto" or not named):
            return check_choice(name, value, ("auto",))
        return constraint(f"{name} = 'auto' or" if named else name, value)

    return check


def check_parameters(estimator: Any) -> None:
    """Raise for the first parameter that is out of range, or does not go with another.

    The constraints are the table `_constraints` of the estimator, in its order; what goes together
    is checked by its method `_check_combinations`, if it has one.
    """
    for name, constraint in estimator._constraints.items():
        constraint(name, getattr(estimator, name))
    if hasattr(estimator, "_check_combinations"):
        estimator._check_combinations()


def check_points(X: npt.ArrayLike, name: str = "X", n_features: int | None = None) -> Array:
    """Return points as a finite float64 array of shape (n, d).

    Raises
    ------
    TypeError
        For sparse input.
    ValueError
        For text, a wrong number of dimensions or features, NaN or infinity.
    """
    if scipy.sparse.issparse(X):
        raise TypeError(
            f"expected {name} to be a dense array, got a sparse one; use {name}.toarray()"
        )
    points = _as_numbers(X, name)
    if points.ndim != 2:
        raise ValueError(f"expected {name} of shape (n_samples, n_features), got {points.shape}")
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(f"expected {name} with {n_features} features, got {points.shape[1]}")
    if not np.isfinite(points).all():
        row, column = np.argwhere(~np.isfinite(points))[0]
        raise ValueError(
            f"expected finite numbers, got {points[row, column]} in {name} at row {row}, "
            f"column {column}"
        )
    return points


def _as_numbers(values: npt.ArrayLike, name: str) -> Array:
    """Return `values` as a float64 array of any shape, if they are real numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"got an array of {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"expected {name} to hold numbers: {error}") from None


def validate_data(estimator: BaseEstimator, *data: Any, **options: Any) -> Any:
    """Return what scikit-learn's ``validate_data`` returns, for numbers of any size.

    Sums that overflow while it looks for NaN give no warnings, and an integer that is too large for
    a float gives a ValueError. An object that is no number gives a TypeError, as in scikit-learn.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return sklearn.utils.validation.validate_data(estimator, *data, **options)
    except OverflowError as error:
        raise ValueError(f"expected numbers in the range of floats: {error}") from None
    except TypeError as error:
        if not str(error).startswith("float() argument"):  # else of Python, not of scikit-learn
            raise
        raise TypeError(f"expected X and y to hold numbers: {error}") from None


def is_collection(X: object) -> bool:
    """Return whether X is a Dask collection: an array, a data frame, or another one."""
    return hasattr(X, "__dask_graph__")


def check_random_state(seed: Any) -> np.random.RandomState:
    """Return scikit-learn's ``check_random_state``, or say which seeds there are."""
    try:
        return sklearn.utils.check_random_state(seed)
    except (ValueError, TypeError):
        raise ValueError(
            "expected random_state None, a RandomState, or an integer from 0 to 2**32 - 1, got "
            f"{one_line(plain(seed))}"
        ) from None


def class_codes(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Indices]:
    """Return the classes in y, sorted, and the number of the class of each sample.

    Raises
    ------
    ValueError
        If y holds real numbers, or labels that cannot be sorted.
    """
    try:
        with np.errstate(invalid="ignore"):
            check_classification_targets(y)
        return np.unique(y, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"expected labels of one type in y: {error}") from None


def plain(value: object) -> object:
    """Return a NumPy scalar as Python's, so that messages show 1.0 and not np.float64(1.0)."""
    return value.item() if isinstance(value, np.generic) else value


TILE = 128
"""Rows and columns of a matrix that are compared at once."""


def check_gram(gram: Array, *, tol: float = 1e-8) -> Array:
    """Return a precomputed Gram matrix if it is square and symmetric to `tol`, relative."""
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"expected a square Gram matrix of shape (n, n), got {gram.shape}")
    limit = tol * max(float(gram.max()), -float(gram.min()))
    for low in range(0, len(gram), TILE):  # in tiles, which the processor's cache holds
        for left in range(low, len(gram), TILE):
            rows, columns = slice(low, low + TILE), slice(left, left + TILE)
            with np.errstate(over="ignore"):  # then it is not symmetric
                skew = np.abs(gram[rows, columns] - gram[columns, rows].T)
            if skew.max() > limit:
                i, j = np.unravel_index(int(np.argmax(skew)), skew.shape)
                i, j = low + i, left + j
                raise ValueError(
                    f"expected a symmetric Gram matrix, got {gram[i, j]:.6g} at "
                    f"({i}, {j}) but {gram[j, i]:.6g} at ({j}, {i})"
                )
    return gram


def check_vector(name: str, values: npt.ArrayLike, length: int) -> Array:
    """Return `length` finite numbers, float64; one number stands for `length` equal ones."""
    vector = _as_numbers(values, name)
    if vector.ndim == 0:
        vector = np.full(length, float(vector))
    if vector.shape != (length,):
        raise ValueError(f"expected {name} of shape ({length},), got {vector.shape}")
    if not np.isfinite(vector).all():
        place = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"expected finite numbers in {name}, got {vector[place]} at {place}")
    return vector


def check_row_numbers(name: str, values: npt.ArrayLike) -> None:
    """Raise ValueError unless `values` is a vector of integers >= 0."""
    numbers = np.asarray(values)
    whole = numbers.dtype.kind in "iu" or not numbers.size
    if numbers.ndim != 1 or not whole or (numbers.size and numbers.min() < 0):
        raise ValueError(f"expected {name} to hold row numbers >= 0, got {values!r:.80}")


def check_targets(y: npt.ArrayLike) -> Array:
    """Return real targets, float64, of any shape, or say what was expected."""
    if scipy.sparse.issparse(y):
        raise TypeError("expected y to be a dense array, got a sparse one; use y.toarray()")
    return _as_numbers(y, "y")


def has_fractions(values: npt.NDArray[Any]) -> bool:
    """Whether an array holds float values that are not all integers; without NaN and infinity."""
    real = values.dtype.kind == "f" and bool(np.isfinite(values).all())
    return real and bool((values % 1 != 0).any())


def check_labels(y: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return class labels as a vector of one type without missing values."""
    values = np.asarray(y)
    if values.dtype.kind in "US" and not isinstance(y, np.ndarray):
        values = np.asarray(y, dtype=object)  # NumPy turns a list of text and numbers into text
    if values.ndim != 1 or not len(values):
        raise ValueError(f"expected y of shape (n_samples,), n_samples >= 1, got {values.shape}")
    if values.dtype.kind == "O":
        values = _of_one_type(values)
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            place = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"expected finite labels, got {values[place]} in y at {place}")
        if (values % 1 != 0).any():
            place = int(np.argmax(values % 1 != 0))
            raise ValueError(
                f"expected class labels, got the real number {values[place]} in y at {place}"
            )
    return values


def _of_one_type(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an object array as text if it holds text, else as the numbers that it holds."""
    texts = sum(isinstance(value, str) for value in values)
    if 0 < texts < len(values):
        odd = next(value for value in values if not isinstance(value, str))
        raise ValueError(f"expected labels of one type, got text and {plain(odd)!r}")
    if texts:
        return values.astype(str)
    odd = [value for value in values if not isinstance(value, Real | np.bool_)]
    if odd:
        raise ValueError(f"expected y to hold class labels, got {plain(odd[0])!r}")
    return np.array(values.tolist())


def where_equal(values: npt.NDArray[Any], value: Any) -> Mask:
    """Return where `values` equal `value`; nowhere for None, or for text against numbers."""
    if value is None:
        return np.zeros(len(values), dtype=bool)
    return np.array([entry == value for entry in values.tolist()], dtype=bool)


def check_finite(owner: object, names: Iterable[str], advice: str = "") -> None:
    """Raise ValueError unless these attributes hold finite numbers; `advice` ends the message."""
    for name in names:
        values = np.asarray(getattr(owner, name), dtype=np.float64)
        if not np.isfinite(values).all():
            odd = values[~np.isfinite(values)][0]
            raise ValueError(
                f"expected finite numbers in {name}, got {odd}{advice and ': ' + advice}"
            )


def check_weights(sample_weight: npt.ArrayLike | None, X: Array) -> Array:
    """Return one finite weight >= 0 per row of X, float64; ones if none are given."""
    if sample_weight is None:
        return np.ones(len(X))
    weights = _as_numbers(sample_weight, "sample_weight")
    if weights.shape != (len(X),):
        raise ValueError(f"expected sample_weight of shape ({len(X)},), got {weights.shape}")
    if not np.isfinite(weights).all():
        row = int(np.argmin(np.isfinite(weights)))
        raise ValueError(f"expected finite sample_weight, got {weights[row]} at row {row}")
    if (weights < 0).any():
        raise ValueError(f"expected sample_weight >= 0, got {weights.min():g}")
    if not (weights > 0).any():
        raise ValueError("expected some sample_weight > 0, got only zeros")
    return weights


UNLIKE = 1000.0
"""Ratio of the scales of two features above which a kernel of one width misses the smaller one: it
contributes a millionth of squared distances and a thousandth of absolute ones, less than the
default `tol` and the noise of any target resolve. Scales of 1 to 100, as those of raw pixels or of
amounts in one unit, are common and harmless; a wrong unit (metres beside millimetres) starts at
1000."""

ROUNDING = 1e-12
"""A feature whose range is this share of its largest value is constant but for rounding."""


def unlike_features(X: Array) -> tuple[int, int, float] | None:
    """Return two columns of X, shape (n, d), of very unlike scale; None if there are none.

    They are the number of the larger, of the smaller, and the ratio of their standard deviations.
    Both the standard deviations and the ranges differ by more than `UNLIKE`: rare indicators
    (one-hot columns) and pixels near the edge of images vary little, but in the units of the
    others. Constant features do not count. Takes a few passes over X.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        lowest, highest = X.min(axis=0), X.max(axis=0)
        widths, spreads = highest - lowest, X.std(axis=0)
        varying = widths > ROUNDING * np.maximum(np.abs(lowest), np.abs(highest))
        large = int(np.argmax(np.where(varying, spreads, -1.0)))
        unlike = varying & (widths[large] > UNLIKE * widths) & (spreads[large] > UNLIKE * spreads)
    if not unlike.any():
        return None
    small = int(np.argmin(np.where(unlike, spreads, np.inf)))
    with np.errstate(over="ignore", divide="ignore"):
        ratio = float(spreads[large] / spreads[small])
    return large, small, min(ratio, sys.float_info.max)


def stack_level() -> int:
    """Return the `stacklevel` with which a warning points at the caller of pliant.

    That is the nearest frame outside pliant, scikit-learn and joblib, which wrap methods and call
    them in pipelines, searches and caches.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(WRAPPERS):
        level, frame = level + 1, frame.f_back
    return level


@contextmanager
def fresh(estimator: BaseEstimator) -> Iterator[None]:
    """Drop the fitted attributes of an estimator; again, if what is done then does not end well.

    So a fit that fails, or is broken off, leaves an estimator that is not fitted.
    """
    forget(estimator)
    try:
        yield
    except BaseException:
        forget(estimator)
        raise


def forget(estimator: BaseEstimator) -> None:
    """Drop the fitted attributes of an estimator."""
    for name in [name for name in vars(estimator) if name.endswith("_") and name[0] != "_"]:
        delattr(estimator, name)
