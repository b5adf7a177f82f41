"""Dask collections: arrays and data frames with rows in partitions, possibly on a cluster.

`DaskRows` keeps the points in their partitions, and a copy of targets and weights in memory.
`by_partition` applies a method of a fitted estimator to each partition. Dask is imported on demand.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import BaseEstimator, check_is_fitted
from pliant.core.sparse import is_sparse
from pliant.core.text import one_line
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    check_labels,
    check_numbers,
    check_targets,
    check_weights,
    in_memory,
    is_collection,
    refuse_masked,
)

R = TypeVar("R")
Method = TypeVar("Method", bound=Callable[..., Any])

BRANCHES = 8
"""Number of results combined by one task of a reduction."""

MIN_CLASS_ROWS = 10
"""Minimum number of rows of each class in a sample; smaller classes are included completely."""


def load(module: str = "dask") -> Any:
    """Import Dask or one of its dependencies; the error names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        need = f"Dask collections need {module} ({error})"
        raise ImportError(f"{need}: pip install 'pliant[dask]'") from error


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Run tasks on Dask's scheduler and return their results."""
    return list(load().compute(*tasks))


def reduce_tree(tasks: list[Any], combine: Callable[[list[R]], R]) -> R:
    """Combine the results of all tasks in a tree, `BRANCHES` at a time."""
    combined = load("dask.delayed").delayed(combine, pure=False)
    while len(tasks) > 1:
        tasks = [combined(tasks[low : low + BRANCHES]) for low in range(0, len(tasks), BRANCHES)]
    return cast(R, compute(tasks)[0])


class DaskBlock(NamedTuple):
    """Rows in memory: X of shape (n, d), n targets or labels, n weights or None.

    In a pass that does not use the targets, `y` has length 0.
    """

    X: Array
    y: npt.NDArray[Any]
    weights: Array | None

    @property
    def weighted_rows(self) -> Indices:
        """The positions of the rows with positive weight."""
        return np.arange(len(self.X)) if self.weights is None else np.flatnonzero(self.weights)

    def rows(self, places: Indices) -> DaskBlock:
        """Return the rows at `places` as a block."""
        weights = None if self.weights is None else self.weights[places]
        return DaskBlock(self.X[places], self.y[places] if len(self.y) else self.y, weights)


class DaskSample(NamedTuple):
    """Sampled rows, their row numbers, and a result per partition for the remaining rows."""

    rows: DaskBlock
    numbers: Indices
    rest: list[Any]


@dataclass(frozen=True, eq=False)
class DaskRows:
    """Rows of a Dask collection: X of shape (n, d), chunked by rows with known chunk lengths.

    `y` and `weights` are NumPy arrays of length n, and `lazy_y` and `lazy_weights` the same numbers
    on the workers, or None; `columns` are a data frame's column names.
    """

    X: Any  # a dask.array.Array: unknown to type checkers if Dask is not installed
    y: npt.NDArray[Any]
    weights: Array | None
    columns: list[str] | None
    lazy_y: Any = None
    lazy_weights: Any = None

    @classmethod
    def from_collection(cls, X: Any, y: Any, sample_weight: Any, *, labelled: bool) -> DaskRows:
        """Validate the data; y (class labels if `labelled`) and weights may be in-memory arrays."""
        columns = list(X.columns) if is_frame(X) else []
        points = as_points(X)
        if np.isnan(points.shape[0]):
            d = points.shape[1]
            try:
                points = points.copy().compute_chunk_sizes()
            except AttributeError as error:
                raise ValueError(f"expected partitions of X that are arrays: {error}") from error
            if points.shape[1] != d:  # Dask trusts the first partition
                raise ValueError(f"expected X with {d} columns as declared, got {points.shape[1]}")
        n = int(points.shape[0])
        if n < 2:
            raise ValueError(f"expected at least 2 rows in X, got {n}")
        lazy_y, weights, lazy_weights = None, None, None
        if not labelled:
            y, lazy_y = _kept("y", y)
        y = _in_memory("y", y, n)
        if labelled and y.size != n:
            raise ValueError(f"expected labels y of shape ({n},), got {y.shape}")
        y = check_labels(y.ravel()) if labelled else check_targets(y)
        if sample_weight is not None:
            weights, lazy_weights = _kept("sample_weight", sample_weight)
            weights = _in_memory("sample_weight", weights, n)
            weights = check_weights(weights.reshape(n), weights)
        named = bool(columns) and all(isinstance(name, str) for name in columns)
        names = columns if named else None
        return cls(_check_blocks(points), y, weights, names, lazy_y, lazy_weights)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    def __getitem__(self, numbers: Indices) -> DaskRows:
        """Return the rows with the given sorted numbers."""
        weights = None if self.weights is None else self.weights[numbers]
        X = without_empty_chunks(self.X[numbers])
        return DaskRows(X, self.y[numbers], weights, self.columns)

    @property
    def offsets(self) -> Indices:
        """The row number at which each partition starts, followed by n."""
        return np.array([0, *accumulate(self.X.chunks[0])], dtype=np.intp)

    def map_blocks(
        self,
        function: Callable[..., R],
        *shared: Any,
        items: Sequence[Any] = (),
        with_y: bool = True,
    ) -> list[Any]:
        """Build one task function(block, *shared[, items[k]]) for each partition k."""
        run = load("dask.delayed").delayed(_apply_to_block, pure=False)
        shared = tuple(map(scatter, shared))
        blocks = self.X.to_delayed(optimize_graph=False).ravel()
        targets = self._targets if with_y else [np.empty(0)] * len(blocks)
        return [
            run(function, *block, *shared, *items[k : k + 1])
            for k, block in enumerate(zip(blocks, targets, self._weights, strict=True))
        ]

    @cached_property
    def _targets(self) -> list[Any]:
        return self._divided(self.y, self.lazy_y)

    @cached_property
    def _weights(self) -> list[Any]:
        return self._divided(self.weights, self.lazy_weights)

    def _divided(self, values: npt.NDArray[Any] | None, lazy: Any) -> list[Any]:
        """Return the values of each partition as tasks; values in memory are sent only once."""
        if values is None:
            return [None] * len(self.X.chunks[0])
        if lazy is not None:
            divided = lazy.rechunk({0: self.X.chunks[0]})
            return list(divided.to_delayed(optimize_graph=False).ravel())
        pieces = [values[low:high] for low, high in pairwise(self.offsets.tolist())]
        return list(load().persist(*map(scatter, pieces)))

    def divide(self, numbers: Indices) -> list[Indices]:
        """Return the places of sorted row numbers in each partition."""
        ends = np.searchsorted(numbers, self.offsets)
        return [
            numbers[low:high] - first
            for low, high, first in zip(ends[:-1], ends[1:], self.offsets[:-1], strict=True)
        ]

    def draw(self, size: int, rng: np.random.RandomState, *, labelled: bool) -> Indices:
        """Draw about `size` rows of positive weight, or all if fewer, stratified by class.

        The result does not depend on the partitions.
        """
        from sklearn.utils.random import sample_without_replacement

        counted = np.arange(len(self)) if self.weights is None else np.flatnonzero(self.weights)
        if len(counted) <= size:
            return counted
        groups = [counted]
        if labelled:
            labels = self.y[counted]
            groups = [counted[labels == label] for label in np.unique(labels)]
        least = MIN_CLASS_ROWS if len(groups) > 1 else 1
        chosen = []
        for group in groups:
            count = min(len(group), max(least, size * len(group) // len(counted)))
            chosen.append(group[sample_without_replacement(len(group), count, random_state=rng)])
        return np.sort(np.concatenate(chosen))

    def take(self, numbers: Indices, rest: Callable[[DaskBlock], Any]) -> DaskSample:
        """Return the rows with the sorted `numbers`, and rest(other weighted rows) by partition."""
        places = self.divide(numbers)
        parts = compute(self.map_blocks(_split, rest, items=places, with_y=False))
        X = np.concatenate([part[0] for part in parts])
        weights = None if self.weights is None else self.weights[numbers]
        rows = DaskBlock(X, self.y[numbers], weights)
        return DaskSample(rows, numbers, [part[1] for part in parts])


def is_frame(X: Any) -> bool:
    """Return True for a Dask data frame or series, False for a `Delayed`."""
    return isinstance(getattr(X, "npartitions", None), int) and hasattr(X, "to_dask_array")


def as_points(X: Any) -> Any:
    """Convert a collection of points to a numeric Dask array in chunks of whole rows."""
    frame = is_frame(X) and X.ndim == 2
    if not frame and not isinstance(getattr(X, "chunks", None), tuple):
        raise TypeError(f"expected X to be a Dask array or data frame, got {type(X).__name__}")
    for kind in X.dtypes if frame else (X.dtype,):
        if getattr(kind, "kind", "O") not in "biuf":
            raise ValueError(f"expected X to hold numbers, got dtype {kind}")
    if frame:
        X = X.astype("float64").to_dask_array()
    if X.ndim != 2 or not 0 < X.shape[1] < np.inf:  # False for NaN
        expected = "X of shape (n_samples, n_features), n_features >= 1"
        raise ValueError(f"expected {expected}, got {X.shape}")
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def without_empty_chunks(points: Any) -> Any:
    """Return a Dask array without chunks of no rows."""
    return points.rechunk({0: tuple(length for length in points.chunks[0] if length)})


def _check_blocks(points: Any) -> Any:
    """Check each partition once it is computed, and convert it to float32 or float64."""
    kind = np.float32 if points.dtype == np.float32 else np.float64
    return points.map_blocks(_check_block, dtype=kind, meta=np.empty((0, 0), kind))


def _check_block(X: Any, block_info: dict[Any, Any]) -> Array:
    """Return a partition as numbers; errors name the partition, and its rows if known."""
    place = block_info[None]
    (first, end), shape = place["array-location"][0], place["chunk-shape"]
    known = end == end  # not NaN
    where = f"partition {place['chunk-location'][0]}"
    where += f" (rows {first} to {end - 1})" if known else ""
    try:
        X = in_memory("X", X)
        if X.ndim != 2 or X.shape[1] != shape[1] or (known and len(X) != shape[0]):
            raise ValueError(f"expected X of shape {shape}, got {X.shape}")
        if X.dtype.kind not in "biufO":
            raise ValueError(f"expected X to hold numbers, got dtype {X.dtype}")
        with np.errstate(over="ignore"):  # float64 beyond the declared float32 is refused as inf
            X = X.astype(place["dtype"], copy=False)
        check_numbers(X, "X", first if known else 0)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{where}: {error}") from None
    return X


def _kept(name: str, values: Any) -> tuple[Any, Any]:
    """Compute numbers of a collection on the workers; return them in memory and as a Dask array.

    The workers keep them. Other values are returned as they are, with None.
    """
    if not is_collection(values):
        return values, None
    if not is_frame(values):
        if not isinstance(getattr(values, "chunks", None), tuple):
            return values, None
        values = values.rechunk(dict.fromkeys(range(1, values.ndim), -1))
    delayed, da = load("dask.delayed").delayed, load("dask.array")
    try:
        pieces = np.ravel(values.to_delayed())
        blocks = load().persist(*(delayed(np.asanyarray)(piece) for piece in pieces))
        parts = compute(blocks)
        masked = any(isinstance(part, np.ma.MaskedArray) for part in parts)
        whole = (np.ma if masked else np).concatenate(parts)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"expected {name} as an array: {one_line(error)}") from error
    refuse_masked(name, whole)
    arrays = [
        da.from_delayed(block, part.shape, part.dtype)
        for block, part in zip(blocks, parts, strict=True)
    ]
    return np.asarray(whole), da.concatenate(arrays)


def _in_memory(name: str, values: Any, n: int) -> npt.NDArray[Any]:
    """Return the targets, labels or weights of n rows as a NumPy array."""
    array = in_memory(name, values)
    if array.ndim not in (1, 2) or len(array) != n:
        raise ValueError(f"expected {name} with {n} rows, as in X, got shape {array.shape}")
    return array


def scatter(value: Any) -> Any:
    """Wrap a value in a task that sends it to each worker only once."""
    return load("dask.delayed").delayed(value, pure=False, traverse=False)


def _apply_to_block(function: Callable[..., R], X: Any, y: Any, weights: Any, *arguments: Any) -> R:
    """Apply `function` to the rows of a partition."""
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64).reshape(len(X))
    return function(DaskBlock(X, y, weights), *arguments)


def _split(block: DaskBlock, rest: Callable[[DaskBlock], R], places: Indices) -> tuple[Array, R]:
    """Return the points at `places`, and rest(other rows of positive weight)."""
    others = np.setdiff1d(block.weighted_rows, places, assume_unique=True)
    return block.X[places], rest(block.rows(others))


def by_partition(method: Method) -> Method:
    """Extend a method of a fitted estimator to Dask collections; the outputs are lazy arrays."""

    @wraps(method)
    def over_partitions(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        points = _check_blocks(as_points(X))
        point: Any = np.zeros((1, int(points.shape[1])))
        if (known := self.support_vectors_[:1]).shape == point.shape:
            # a kernel may be undefined at the origin
            point = np.asarray(known.toarray() if is_sparse(known) else known, dtype=np.float64)
        if is_frame(X):
            point = load("pandas").DataFrame(point, columns=list(X.columns))
        example = method(self, point, *args, **kwargs)
        stacked = np.stack(example, axis=-1) if isinstance(example, tuple) else example
        model = copy.copy(self)
        vars(model).pop("feature_names_in_", None)  # checked above
        result = points.map_blocks(
            _apply_method,
            scatter(model),
            (method.__name__, args, kwargs),
            stacked[:0],
            dtype=stacked.dtype,
            drop_axis=1,
            new_axis=list(range(1, stacked.ndim)) or None,
            chunks=(points.chunks[0], *((width,) for width in stacked.shape[1:])),
            meta=stacked[:0],
        )
        if not isinstance(example, tuple):
            return result
        return tuple(result[..., k] for k in range(len(example)))

    return cast(Method, over_partitions)


def _apply_method(
    X: Any,
    model: BaseEstimator,
    call: tuple[str, Any, Any],
    nothing: npt.NDArray[Any],
    block_id: tuple[int, ...] = (0,),
) -> npt.NDArray[Any]:
    """Apply a method to the rows of one partition, possibly empty; errors name the partition."""
    if not len(X):
        return nothing
    name, args, kwargs = call
    try:
        result = getattr(model, name)(np.asarray(X), *args, **kwargs)
    except (ValueError, TypeError) as error:
        raise type(error)(f"partition {block_id[0]}: {error}") from None
    return np.stack(result, axis=-1) if isinstance(result, tuple) else np.asarray(result)
