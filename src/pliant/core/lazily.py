"""Methods of fitted estimators on Dask collections: applied to each partition once it is needed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from pliant.core.collections import is_frame, load, points_of, sent
from pliant.core.validation import is_collection, validate_data

Method = TypeVar("Method", bound=Callable[..., Any])


def by_partition(method: Method) -> Method:
    """Let a method of a fitted estimator, which takes points, take Dask collections as well.

    What it returns for a collection is a dask array, or a tuple of them, of known type and shape,
    in the chunks of the collection; nothing is computed before the user asks for it.
    """

    @wraps(method)
    def over_partitions(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *args, **kwargs)
        return _lazily(self, method.__name__, X, args, kwargs)

    return cast(Method, over_partitions)


def _lazily(model: Any, name: str, X: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return the dask array of what a method of a fitted model returns for each partition."""
    check_is_fitted(model)
    points = points_of("X", X)
    _check_features(model, X, int(points.shape[1]))
    model = copy.copy(model)
    vars(model).pop("feature_names_in_", None)  # they have been checked
    several, example = _example(model, name, args, kwargs)
    rows, *widths = points.chunks[0], *((width,) for width in example.shape[1:])
    result = points.map_blocks(
        _applied,
        sent(model),
        name,
        args,
        kwargs,
        example,
        dtype=example.dtype,
        drop_axis=1,
        new_axis=list(range(1, example.ndim)) or None,
        chunks=(rows, *widths),
        meta=example[:0],
    )
    return tuple(result[..., k] for k in range(example.shape[-1])) if several else result


def _example(
    model: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[bool, npt.NDArray[Any]]:
    """Return what a method returns for one point, and whether it is a tuple, stacked here."""
    point = np.zeros((1, model.n_features_in_))
    result = getattr(model, name)(point, *args, **kwargs)
    several = isinstance(result, tuple)
    return several, _stacked(result)


def _stacked(result: Any) -> npt.NDArray[Any]:
    return np.stack(result, axis=-1) if isinstance(result, tuple) else np.asarray(result)


def _applied(
    X: Any,
    model: Any,
    name: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    example: npt.NDArray[Any],
    block_id: tuple[int, ...] = (0,),
) -> npt.NDArray[Any]:
    """Apply a method to the rows of one partition, which may be none; errors name it."""
    if not len(X):
        return np.zeros((0, *example.shape[1:]), dtype=example.dtype)
    try:
        return _stacked(getattr(model, name)(np.asarray(X), *args, **kwargs))
    except (ValueError, TypeError) as error:
        raise type(error)(f"partition {block_id[0]}: {error}") from None


def _check_features(model: Any, X: Any, n_features: int) -> None:
    """Check the number and the names of the features of a collection, as `predict` would."""
    point: Any = np.zeros((1, n_features))
    if is_frame(X):
        point = load("pandas").DataFrame(point, columns=list(X.columns))
    validate_data(model, point, reset=False)
