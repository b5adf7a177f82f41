"""Dask collections: arrays and data frames whose rows lie in partitions, perhaps on a cluster.

`Rows` holds the samples of a collection, which never come together in one process. A sample of
them is drawn (`Rows.groups`, `Rows.draw`, `Rows.take`), a function of each partition is summed over
a tree (`Rows.each`, `reduced`). Dask is imported where it is used, and through its public
interfaces: whatever scheduler it has, threads, processes or a cluster, runs the tasks.
"""

from __future__ import annotations

import sys
from asyncio import CancelledError as Abandoned
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils.random import sample_without_replacement

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_labels, check_targets, is_collection

R = TypeVar("R")

BRANCHES = 8
"""Number of results that one task of a reduction adds up."""

LEAST_OF_CLASS = 10
"""Number of rows of each class, where there are as many, that a sample has at least."""


def load(module: str = "dask", users: str = "Dask collections") -> Any:
    """Import Dask or a module of it, or say what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{users} need {module} ({error}): pip install 'pliant[dask]'") from error


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of tasks, from Dask's scheduler.

    A scheduler that is lost, or workers that die again and again, are one clear error.
    """
    try:
        return list(load().compute(*tasks))
    except Exception as error:
        if type(error).__name__ == "KilledWorker":  # its class needs dask.distributed
            raise RuntimeError(
                "expected workers that live until they have computed a partition, but "
                f"{error.allowed_failures + 1} died at one: where they had more than their "  # type: ignore[attr-defined]
                "memory limit, make partitions smaller (rechunk, repartition), or the limit larger"
            ) from error
        if not isinstance(error, CancelledError | Abandoned | OSError):
            raise
        if isinstance(error, OSError) and not _is_lost(error):
            raise  # of a partition: a file that is not there, for example
        raise RuntimeError(
            "expected a Dask scheduler that answers until all tasks are done, but it was lost: got "
            f"{type(error).__name__}: {error}; connect a new dask.distributed.Client, and call "
            "the method once more"
        ) from error


def _is_lost(error: OSError) -> bool:
    """Return whether an error is that of a connection between processes of Dask."""
    comm = sys.modules.get("distributed.comm")
    return comm is not None and isinstance(error, comm.CommClosedError)


def reduced(tasks: list[Any], combine: Callable[[list[R]], R]) -> R:
    """Return the results of all tasks, combined `BRANCHES` at a time over a tree."""
    combined = load("dask.delayed").delayed(combine, pure=False)
    while len(tasks) > 1:
        tasks = [combined(tasks[low : low + BRANCHES]) for low in range(0, len(tasks), BRANCHES)]
    return cast(R, compute(tasks)[0])


class Block(NamedTuple):
    """The rows of one partition.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of n targets or labels, or None
    weights : array of shape (n,), float64, or None
    """

    X: Array
    y: Any
    weights: Array | None

    @property
    def counted(self) -> Indices:
        """The places of the rows of positive weight."""
        return np.arange(len(self.X)) if self.weights is None else np.flatnonzero(self.weights)

    def rows(self, places: Indices) -> Block:
        """Return some of the rows."""
        y, weights = (None if part is None else part[places] for part in (self.y, self.weights))
        return Block(self.X[places], y, weights)


class Group(NamedTuple):
    """Rows that a sample is drawn from: their label (None for all), their number by partition."""

    label: Any
    counts: Indices


class Sample(NamedTuple):
    """Rows drawn from a collection, in its order; their numbers, and what the other rows gave."""

    rows: Block
    numbers: Indices
    rest: list[Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a Dask collection.

    Attributes
    ----------
    X : dask array of shape (n, d)
        In chunks of whole rows, of known lengths.
    y, weights : dask array with chunks of the same rows, or None
    columns : list of str or None
        The names of the columns, of a data frame.
    labelled : bool
        Whether y holds labels of classes; else real targets.
    """

    X: Any
    y: Any
    weights: Any
    columns: list[str] | None
    labelled: bool

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, *, labelled: bool) -> Rows:
        """Return the rows of a collection; lengths of partitions are computed where unknown.

        y and the weights may be arrays in memory as well, and lie in other partitions than X.
        """
        columns = list(X.columns) if is_frame(X) else None
        if columns is not None and not all(isinstance(name, str) for name in columns):
            columns = None
        weights = _values("sample_weight", sample_weight, "float64")
        given = [points_of("X", X), _values("y", y, "object" if labelled else "float64"), weights]
        points, y, weights = _of_known_lengths(given)
        n = int(points.shape[0])
        for name, values in (("y", y), ("sample_weight", weights)):
            if values is not None and values.shape[0] != n:
                raise ValueError(
                    f"expected as many rows in {name} as in X, {n}, got {values.shape[0]}"
                )
        if n < 2:
            raise ValueError(f"expected at least 2 rows in X, got {n}")
        y, weights = (
            None if values is None else values.rechunk({0: points.chunks[0]})
            for values in (y, weights)
        )
        return cls(points, y, weights, columns, labelled)

    def __len__(self) -> int:
        """Return the number of rows, n."""
        return int(self.X.shape[0])

    @property
    def offsets(self) -> Indices:
        """The number of the first row of each partition, and n."""
        return np.array([0, *accumulate(self.X.chunks[0])], dtype=np.intp)

    def each(
        self, function: Callable[..., R], *shared: Any, apart: Sequence[Any] = ()
    ) -> list[Any]:
        """Return a task for each partition: function(block, *shared, its item of `apart`).

        `shared` are sent to the workers once. Rows are checked first, and an error names them.
        """
        delayed = load("dask.delayed").delayed
        run, shared = delayed(_on_block, pure=False), tuple(map(sent, shared))
        parts = [_tasks(part, len(self.X.chunks[0])) for part in (self.X, self.y, self.weights)]
        kind, firsts = "float32" if self.X.dtype == np.float32 else "float64", self.offsets.tolist()
        tasks = []
        for k, (X, y, weights) in enumerate(zip(*parts, strict=True)):
            place = k, firsts[k], kind, self.labelled
            own = tuple(apart[k : k + 1])
            tasks.append(run(function, place, X, y, weights, *shared, *own))
        return tasks

    def groups(self) -> list[Group]:
        """Return the rows of positive weight, in groups of one label each if they have labels.

        One pass over the rows, unless neither labels nor weights have to be counted.
        """
        if not self.labelled and self.weights is None:
            return [Group(None, np.array(self.X.chunks[0], dtype=np.intp))]
        counts = compute(self.each(_counted, self.labelled))
        if not any(sum(part.values()) for part in counts):
            raise ValueError("expected some rows of positive weight, got none")
        labels = _sorted_labels(counts) if self.labelled else [None]
        return [
            Group(label, np.array([part.get(label, 0) for part in counts], dtype=np.intp))
            for label in labels
        ]

    def draw(
        self, groups: list[Group], size: int, rng: np.random.RandomState
    ) -> list[dict[Any, Indices]]:
        """Draw about `size` rows, the same share of each group; return which, by partition.

        A row is given by its place among the rows of its group in that partition. All rows are
        taken, and nothing is drawn, where there are no more. The result depends on the rows, their
        order and `rng` alone, and not on how they are divided among partitions and workers.
        """
        total = sum(int(group.counts.sum()) for group in groups)
        least = LEAST_OF_CLASS if len(groups) > 1 else 1
        places: list[dict[Any, Indices]] = [{} for _ in self.X.chunks[0]]
        for label, counts in groups:
            n, ends = int(counts.sum()), np.cumsum(counts)
            drawn = np.arange(n)
            if total > size:
                count = min(n, max(least, size * n // total))
                drawn = np.sort(sample_without_replacement(n, count, random_state=rng))
            parts = np.split(drawn, np.searchsorted(drawn, ends[:-1]))
            for k, part in enumerate(parts):
                places[k][label] = part - (ends[k] - counts[k])
        return places

    def take(
        self,
        places: list[dict[Any, Indices]],
        also: Indices,
        rest: Callable[[Block], Any],
    ) -> Sample:
        """Return the drawn rows and those with the numbers `also`, and `rest` of all others.

        `rest` is called with the other rows of positive weight of each partition. One pass.
        """
        low, high = self.offsets[:-1], self.offsets[1:]
        own = [also[(a <= also) & (also < b)] - a for a, b in zip(low, high, strict=True)]
        apart = list(zip(places, own, strict=True))
        parts = compute(self.each(_taken, rest, apart=apart))
        numbers = [first + part[0] for first, part in zip(low, parts, strict=True)]
        blocks = [part[1] for part in parts]
        joined: Any = [
            None if part[0] is None else np.concatenate(part) for part in zip(*blocks, strict=True)
        ]
        return Sample(Block(*joined), np.concatenate(numbers), [part[2] for part in parts])


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame of Dask, or a column of one.

    A `Delayed` has every attribute that one asks for, but its values are no numbers.
    """
    return isinstance(getattr(X, "npartitions", None), int) and hasattr(X, "to_dask_array")


def _is_array(X: Any) -> bool:
    """Return whether X is an array of Dask."""
    return isinstance(getattr(X, "chunks", None), tuple)


def points_of(name: str, X: Any) -> Any:
    """Return a collection of points as an array of numbers in chunks of whole rows."""
    if is_frame(X) and X.ndim == 2:
        odd = [(c, t) for c, t in X.dtypes.items() if getattr(t, "kind", "O") not in "biuf"]
        if odd:
            raise ValueError(
                f"expected columns of numbers in {name}, got dtype {odd[0][1]} in {odd[0][0]!r}"
            )
        single = all(str(t) == "float32" for t in X.dtypes)
        X = X.astype("float32" if single else "float64").to_dask_array()
    elif not _is_array(X):
        raise TypeError(
            f"expected {name} as a dask.array or a dask.dataframe, got {type(X).__name__}"
        )
    if X.ndim != 2 or not np.isfinite(X.shape[1]):
        raise ValueError(f"expected {name} of shape (n_samples, n_features), got {X.shape}")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"expected {name} to hold numbers, got dtype {X.dtype}")
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def _values(name: str, values: Any, kind: str) -> Any:
    """Return targets, labels or weights as a dask array; None if there are none.

    Columns of data frames of a type that NumPy does not have become of another `kind`.
    """
    if values is None:
        return None
    if not is_collection(values):
        values = load("dask.array").from_array(np.asarray(values), chunks=-1)
    elif is_frame(values):
        types = list(values.dtypes) if values.ndim == 2 else [values.dtype]
        ours = all(isinstance(each, np.dtype) for each in types)
        values = (values if ours else values.astype(kind)).to_dask_array()
    elif not _is_array(values):
        raise TypeError(
            f"expected {name} as a dask.array or of a dask.dataframe, got {type(values).__name__}"
        )
    if values.ndim == 0 or values.ndim > 2:
        raise ValueError(f"expected {name} of 1 or 2 dimensions, got shape {values.shape}")
    return values.rechunk({1: -1}) if values.ndim == 2 else values


def _of_known_lengths(arrays: list[Any]) -> list[Any]:
    """Return dask arrays with the lengths of their chunks, computed where they are not known."""
    unknown = [a for a in arrays if a is not None and np.isnan(a.shape[0])]
    measure = load("dask.delayed").delayed(len, pure=False)
    tasks = [measure(part) for a in unknown for part in _tasks(a, len(a.chunks[0]))]
    lengths = iter(compute(tasks) if tasks else [])
    known = []
    for a in arrays:
        if a is not None and np.isnan(a.shape[0]):
            first = tuple(int(next(lengths)) for _ in a.chunks[0])
            a = load("dask.array").Array(a.dask, a.name, (first, *a.chunks[1:]), dtype=a.dtype)
        known.append(a)
    return known


def _tasks(array: Any, count: int) -> list[Any]:
    """Return the chunks of an array as tasks; `count` times None for no array."""
    if array is None:
        return [None] * count
    return list(array.to_delayed(optimize_graph=False).ravel())


def sent(value: Any) -> Any:
    """Return a task that stands for a value, so that each worker receives it once."""
    return load("dask.delayed").delayed(value, pure=False, traverse=False)


def _on_block(
    function: Callable[..., R],
    place: tuple[int, int, str, bool],
    X: Any,
    y: Any,
    weights: Any,
    *arguments: Any,
) -> R:
    """Check the rows of a partition and return the function of them; errors name the partition."""
    k, first, kind, labelled = place
    X = np.asarray(X)
    where = f"partition {k} (rows {first} to {first + len(X) - 1})"
    try:
        block = _checked(X, y, weights, first, kind, labelled)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from None
    return function(block, *arguments)


def _checked(
    X: npt.NDArray[Any], y: Any, weights: Any, first: int, kind: str, labelled: bool
) -> Block:
    """Return rows whose values are what they should be, `first` the number of their first one."""
    if X.dtype.kind not in "biuf":
        raise ValueError(f"expected numbers in X, got dtype {X.dtype}")
    X = X.astype(kind, copy=False)
    _check_finite("X", X, first)
    if y is not None:
        y = np.asarray(y)
        if len(y) != len(X):
            raise ValueError(f"expected as many rows in y as in X, {len(X)}, got {len(y)}")
        if labelled:
            y = check_labels(y.ravel()) if len(y) else y.ravel()
        else:
            y = check_targets(y)
            _check_finite("y", y, first)
    if weights is not None:
        weights = check_targets(weights).reshape(-1)
        _check_finite("sample_weight", weights, first)
        if (weights < 0).any():
            raise ValueError(f"expected sample_weight >= 0, got {weights.min():g}")
    return Block(X, y, weights)


def _check_finite(name: str, values: npt.NDArray[Any], first: int) -> None:
    """Raise ValueError for the first row with NaN or infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    finite = np.isfinite(values.reshape(len(values), -1))
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        value = values.reshape(len(values), -1)[row, column]
        where = f"row {first + row}" + (f", column {column}" if values.ndim > 1 else "")
        raise ValueError(f"expected finite numbers in {name}, got {value} in {where}")


def _counted(block: Block, labelled: bool) -> dict[Any, int]:
    """Return the number of rows of positive weight with each label; None stands for any label."""
    places = block.counted
    if not labelled:
        return {None: len(places)}
    labels, counts = np.unique(block.y[places], return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _sorted_labels(counts: list[dict[Any, int]]) -> list[Any]:
    """Return the labels of all partitions, sorted, or say that they are of unlike types."""
    known = {label for part in counts for label in part}
    texts = [label for label in known if isinstance(label, str)]
    if 0 < len(texts) < len(known):
        number = next(label for label in known if not isinstance(label, str))
        raise ValueError(
            f"expected labels of one type in all partitions of y, got {texts[0]!r} and {number!r}"
        )
    return sorted(known)


def _taken(
    block: Block, rest: Callable[[Block], R], apart: tuple[dict[Any, Indices], Indices]
) -> tuple[Indices, Block, R]:
    """Return the places of drawn rows, these rows, and the function of the others."""
    drawn, also = apart
    counted, chosen = block.counted, np.zeros(len(block.X), dtype=bool)
    chosen[also] = True
    for label, ranks in drawn.items():
        own = counted if label is None else counted[block.y[counted] == label]
        chosen[own[ranks]] = True
    places = np.flatnonzero(chosen)
    return places, block.rows(places), rest(block.rows(counted[~chosen[counted]]))
