"""Store lists of similar objects attribute by attribute, in few arrays.

A multiclass model has one estimator per pair of classes. A list of n such objects becomes a
`Stack`: a template whose attributes are stacks of n values, and so on. Arrays are concatenated, and
repeated rows, such as the training points that several pairs share, are stored once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from pliant.core.typing import Array, Indices

MAX_VALUES = 1_500_000
MAX_ROW_BYTES = 100_000_000
"""Maximum number of values in the stacks of a file, which take up to 270 bytes each, and of bytes
in arrays restored from rows."""


@dataclass(eq=False)
class Stack:
    """A list of values in a model file.

    Parameters
    ----------
    size : int
        The number of values, n.
    groups : array of shape (n,) or None
        The group of each value; None if there is one group.
    parts : list of tuple
        The form and the content of each group, with m values:

        - "same" and the value that all share;
        - "numbers" and an array of m Python numbers;
        - "arrays", their concatenated entries or distinct rows, the row numbers or None, and their
          shapes, of shape (m, ndim);
        - "list" or "tuple", the m lengths, and a stack of all items;
        - "object", an empty dict or object, and a dict with a stack of m values for each key or
          attribute; a value that is not a stack is the same for all.
    """

    size: int
    groups: Indices | None
    parts: list[tuple[Any, ...]]

    def _check_loaded(self) -> None:
        """Raise ValueError, as `Unstacker` has replaced all stacks at valid places."""
        raise ValueError("expected stacks only in place of lists")


class _Replacement:
    """Converts parts of a model, and replaces them in place."""

    def __init__(self) -> None:
        self.results: dict[int, tuple[Any, Any]] = {}  # each part with its result, by id

    def convert(self, part: Any) -> Any:
        """Return the result for a part, or the part itself to replace the parts inside it."""
        return part

    def replace(self, part: Any) -> Any:
        """Return the result for a part; parts that the model contains twice stay shared."""
        if id(part) in self.results:
            return self.results[id(part)][1]
        result, state = self.convert(part), getattr(part, "__dict__", None)
        if isinstance(part, dict):
            state = part
        if type(result) is list is type(part):
            result[:] = map(self.replace, part)
        elif type(result) is tuple:
            result = tuple(map(self.replace, part))
        elif result is part and isinstance(state, dict):
            state.update({name: self.replace(value) for name, value in state.items()})
        self.results[id(part)] = part, result
        return result


class Stacker(_Replacement):
    """Replaces lists of similar objects by stacks."""

    def __init__(self, model: object) -> None:
        super().__init__()
        self.uses = Counter(id(part) for each in iter_objects(model) for part in iter_parts(each))
        # With the values, so that their ids stay unique.
        self.stacks: dict[tuple[int, ...], tuple[list[Any], Stack]] = {}
        self.free_bytes = MAX_ROW_BYTES

    def convert(self, part: Any) -> Any:
        """Return a stack for a list of two or more objects, and other parts unchanged."""
        stacked = type(part) is list and len(part) > 1 and all(map(_holds_objects, part))
        return self.stack(part) if stacked else part

    def stack(self, values: list[Any]) -> Stack:
        """Return a stack of values; columns of the same objects share one."""
        ids = tuple(map(id, values))
        if ids in self.stacks:
            return self.stacks[ids][1]
        distinct, members = len(set(ids)) == len(ids), dict[Hashable, list[int]]()
        for place, value in enumerate(values):
            members.setdefault(self._group(value, distinct), []).append(place)
        groups = np.empty(len(values), dtype=np.intp)
        for number, places in enumerate(members.values()):
            groups[places] = number
        parts = [self._part([values[place] for place in each]) for each in members.values()]
        result = Stack(len(values), groups if len(parts) > 1 else None, parts)
        self.stacks[ids] = values, result
        return result

    def _group(self, value: Any, distinct: bool) -> Hashable:
        """Return a key of the values that are stored together; `distinct` if no value repeats."""
        kind: Any = type(value)
        if value is None or kind in (bool, str):
            return kind, value
        if kind is float or (kind is int and abs(value) < 2**63):
            return kind
        if self.uses[id(value)] > 1 and not (distinct and kind is np.ndarray):
            return id(value)
        if isinstance(value, np.generic) or (kind is np.ndarray and value.ndim):
            plain = dtype_kinds(value.dtype) <= set("biufSU") and not value.flags.fnc
            return (kind, value.dtype, value.ndim) if plain else id(value)
        if kind in (list, tuple):
            return kind
        state = state_of(value)
        return id(value) if state is None else (kind, *((type(name), name) for name in state))

    def _part(self, values: list[Any]) -> tuple[Any, ...]:
        """Return the form and the content of a group of values."""
        first, kind = values[0], type(values[0])
        if kind in (int, float) and len(set(map(repr, values))) > 1:
            return "numbers", np.array(values)
        if len(values) == 1 or first is values[-1] or kind in (int, float, str):
            return "same", self.replace(first)
        if isinstance(first, np.ndarray | np.generic):
            return "arrays", *self._concatenate(values)
        if kind in (list, tuple):
            lengths = np.array([len(value) for value in values])
            return kind.__name__, lengths, self.stack([item for value in values for item in value])
        states = [state_of(value) for value in values]
        columns = {name: self._column([state[name] for state in states]) for name in states[0]}
        return "object", {} if kind is dict else object.__new__(kind), columns

    def _column(self, values: list[Any]) -> Any:
        """Return a stack of values, or the value that all share unless it is itself a stack."""
        column = self.stack(values)
        form, content = column.parts[0][:2]
        alone = column.groups is None and form == "same" and type(content) is not Stack
        return content if alone else column

    def _concatenate(self, arrays: list[Any]) -> tuple[Any, Any, Any]:
        """Return the entries or the distinct rows of arrays, the row numbers, and the shapes."""
        shapes = np.array([array.shape for array in arrays], dtype=np.int64)
        entries = np.concatenate([np.ravel(array) for array in arrays])
        step = entries.itemsize * int(shapes[0, -1]) if shapes.shape[1] == 2 else 0
        if not entries.size * step or np.ptp(shapes[:, 1]) or entries.nbytes > self.free_bytes:
            return entries, None, shapes
        content, numbers = entries.tobytes(), dict[bytes, int]()
        places = range(0, len(content), step)
        rows = [numbers.setdefault(content[i : i + step], len(numbers)) for i in places]
        if 2 * len(numbers) > len(rows):
            return entries, None, shapes
        self.free_bytes -= entries.nbytes
        distinct = np.frombuffer(b"".join(numbers), entries.dtype).reshape(len(numbers), -1)
        return distinct, np.array(rows, dtype=np.uint32), shapes


class Unstacker(_Replacement):
    """Replaces the stacks of a model from a file by lists.

    Inconsistent stacks, more than `MAX_VALUES` values and more than `MAX_ROW_BYTES` bytes raise an
    error.
    """

    def __init__(self) -> None:
        super().__init__()
        self.free_values, self.free_bytes = MAX_VALUES, MAX_ROW_BYTES

    def convert(self, part: Any) -> Any:
        """Return the list of a stack, and other parts unchanged."""
        return self.unstack(part) if type(part) is Stack else part

    def unstack(self, stack: Stack) -> list[Any]:
        """Return the values of a stack."""
        size, groups, parts = stack.size, stack.groups, stack.parts
        if type(size) is not int or not 0 <= size <= self.free_values:
            raise ValueError(f"expected at most {MAX_VALUES} values in stacks, got {size!r:.80}")
        if not size:
            return []
        if groups is None:
            groups = np.zeros(size, np.intp)
        check_indices(groups, (size,), len(parts))
        order, counts = np.argsort(groups, kind="stable"), np.bincount(groups, None, len(parts))
        if not counts.all():
            raise ValueError("expected at least one value in each group of a stack")
        values = [None] * size
        for places, part in zip(np.split(order, np.cumsum(counts)[:-1]), parts, strict=True):
            for place, value in zip(places, self._members(len(places), *part), strict=True):
                values[place] = value
        return values

    def _members(self, n: int, form: str, *content: Any) -> list[Any]:
        """Return the n values of a group."""
        self.free_values -= n
        if self.free_values < 0:
            raise ValueError(f"expected at most {MAX_VALUES} values in stacks")
        match form, content:
            case "same", [value]:
                return [self.replace(value)] * n
            case "numbers", [np.ndarray() as numbers] if numbers.dtype.kind in "if":
                return list(numbers.tolist())
            case "arrays", [np.ndarray() as entries, rows, np.ndarray() as shapes]:
                entries = entries if rows is None else self._repeat(entries, rows)
                check_indices(shapes, (n, shapes.shape[-1]), 2**31)
                ends = np.cumsum(shapes.prod(axis=1))
                pieces = np.split(entries.reshape(-1), ends[:-1])
                return [each.reshape(shape)[()] for each, shape in zip(pieces, shapes, strict=True)]
            case (("list" | "tuple"), [lengths, Stack() as stack]):
                items = iter(self.replace(stack))
                ends = np.cumsum(check_indices(lengths, (n,), stack.size + 1))
                if ends[-1] == stack.size:
                    kind = list if form == "list" else tuple
                    return [kind(islice(items, int(length))) for length in lengths]
            case "object", [empty, dict() as columns] if state_of(empty) is not None:
                states: list[dict[Any, Any]] = [{} for _ in range(n)]
                for name, value in columns.items():
                    stacked = type(value) is Stack
                    column = self.replace(value) if stacked else self._members(n, "same", value)
                    for state, own in zip(states, column, strict=True):
                        state[name] = own
                return [_build(type(empty), state) for state in states]
        raise ValueError(f"expected a stack of {n} values of a known form, got {form!r:.80}")

    def _repeat(self, rows: Array, numbers: Any) -> Array:
        """Return the rows of the given numbers."""
        self.free_bytes -= rows[:1].nbytes * np.size(numbers)
        if self.free_bytes < 0:
            raise ValueError(f"expected at most {MAX_ROW_BYTES} bytes in repeated rows")
        return rows[check_indices(numbers, (np.size(numbers),), len(rows))]


def check_indices(indices: Any, shape: tuple[int, ...], limit: int) -> Indices:
    """Return an array of integers from 0 to limit - 1; raise ValueError if it is not."""
    whole = isinstance(indices, np.ndarray) and indices.dtype.kind in "iu"
    if not whole or indices.shape != shape or ((indices < 0) | (indices >= limit)).any():
        raise ValueError(f"expected integers of shape {shape} from 0 to {limit - 1}")
    return np.asarray(indices)


def state_of(value: Any) -> Any:
    """Return a dict, or the attributes of an object that consists of them; else None."""
    kind: Any = type(value)
    if kind is dict:
        return dict(value)
    if kind.__new__ is not object.__new__ or kind.__reduce__ is not object.__reduce__:
        return None
    state = kind.__getstate__(value) or {}
    return state if isinstance(state, dict) else None


def _build(kind: Any, state: dict[Any, Any]) -> Any:
    """Return a dict, or an object with the given attributes."""
    if kind is dict:
        return state
    result = object.__new__(kind)
    if hasattr(kind, "__setstate__"):
        kind.__setstate__(result, state)
    else:
        vars(result).update(state)
    return result


def _holds_objects(item: Any) -> bool:
    """Return True for an object that consists of its attributes, or a list of such objects."""
    if type(item) is list:
        return item != [] and all(map(_holds_objects, item))
    return not isinstance(item, dict) and state_of(item) is not None


def iter_parts(value: Any) -> Iterable[Any]:
    """Return the attributes and the items of an object."""
    parts = list(getattr(value, "__dict__", {}).values())
    if isinstance(value, dict | list | tuple):
        parts += value.values() if isinstance(value, dict) else value
    elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
        parts += value.ravel().tolist()
    return parts


def iter_objects(value: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yield a value and each object inside it once, inner objects first."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    for part in iter_parts(value):
        yield from iter_objects(part, seen)
    yield value


def dtype_kinds(dtype: np.dtype[Any]) -> set[str]:
    """Return the kinds of an array's entries, or of the fields of each entry."""
    return {dtype[name].kind for name in dtype.names} if dtype.names else {dtype.kind}
