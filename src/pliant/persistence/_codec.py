"""Convert a model to JSON data and bytes of arrays, and back.

A model becomes a list of parts: objects, containers and arrays. A part is a JSON list of the number
of its kind and its values, each a plain value or a reference ``[k]`` to the earlier part k. Hence
no part contains itself, and shared parts are stored once. The last part is the model.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pliant.core.estimators import BaseEstimator
from pliant.core.exceptions import ModelFileError
from pliant.core.sparse import as_csr, is_sparse
from pliant.core.text import printable, quoted
from pliant.core.typing import Array
from pliant.core.validation import LARGEST
from pliant.records import to_record
from pliant.records.convert import converts

MAX_PARTS = 500_000
"""Maximum number of parts in a file."""

MAX_NESTED = 10 * MAX_PARTS
"""Maximum number of parts, and of plain values in lists, counting a shared part at each use."""

MAX_ROW_BYTES = 100_000_000
"""Maximum number of bytes in arrays restored from rows that are stored once."""

MAX_WIDTH = 100_000_000
"""Maximum number of columns of a sparse array; an inner product takes memory for each."""

U4 = np.dtype("<u4")
"""Type of row numbers."""


def is_search(value: Any) -> bool:
    """Return True for a search of scikit-learn; without its module, there is none."""
    module = sys.modules.get("sklearn.model_selection._search")
    return module is not None and isinstance(value, module.BaseSearchCV)


def type_name(kind: Any) -> str:
    """Return the full name of a type or function."""
    return f"{kind.__module__}.{kind.__qualname__}"


def encode(model: object, trusted: frozenset[str]) -> Encoder:
    """Encode a model; rows that sparse arrays repeat, as in pairs of classes, are stored once."""
    encoder = Encoder(trusted)
    encoder.encode(model)
    if tables := shared_rows(encoder.sparse):
        encoder = Encoder(trusted, tables)
        encoder.encode(model)
    return encoder


class SparseRows(NamedTuple):
    """The distinct rows of several sparse arrays, and the number of each by its bytes."""

    rows: Any
    places: dict[bytes, int]

    def numbers_of(self, rows: Any) -> Array:
        """Return the number of each row of an array."""
        return np.array([self.places[key] for key in row_bytes(rows)], U4)


def row_bytes(rows: Any) -> Iterator[bytes]:
    """Yield the bytes of each row of a CSR array."""
    ends = rows.indptr.tolist()
    for start, end in pairwise(ends):
        yield rows.indices[start:end].tobytes() + rows.data[start:end].tobytes()


def shared_rows(arrays: list[Any]) -> dict[int, SparseRows]:
    """Return the distinct rows of arrays of a width, if they are at most half of all rows."""
    if not arrays:
        return {}
    from scipy.sparse import vstack

    tables = dict[int, SparseRows]()
    for width in {rows.shape[1] for rows in arrays}:
        some = [rows for rows in arrays if rows.shape[1] == width]
        keys = [key for rows in some for key in row_bytes(rows)]
        n_bytes = sum(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes for rows in some)
        if 2 * len(set(keys)) <= len(keys) and n_bytes <= MAX_ROW_BYTES:
            first = {key: place for place, key in reversed([*enumerate(keys)])}
            places = {key: number for number, key in enumerate(first)}
            stacked = vstack(some, format="csr")
            tables[width] = SparseRows(as_csr(stacked[[*first.values()]]), places)
    return tables


class Encoder:
    """Collects the parts of a model.

    Parameters
    ----------
    trusted : frozenset of str
        The full names of the types of objects; other types raise ModelFileError.
    tables : dict of int to SparseRows, optional
        The distinct rows of sparse arrays by their number of columns; see `shared_rows`.

    Attributes
    ----------
    sparse : list
        The sparse arrays whose rows are in no table.
    kinds, parts : list
        JSON data: the kinds, each with what its parts share, and the parts.
    data : bytearray
        The bytes of all arrays.
    """

    def __init__(
        self, trusted: frozenset[str], tables: Mapping[int, SparseRows] | None = None
    ) -> None:
        self.trusted, self.tables = trusted, tables or {}
        self.sparse: list[Any] = []
        self.kinds: list[list[Any]] = []
        self.parts: list[list[Any]] = []
        self.data = bytearray()
        self._numbers: dict[str, int] = {}  # of the kinds
        self._known: dict[int, tuple[Any, Any]] = {}  # values with their references, by id
        self._arrays: dict[int, list[tuple[list[Any], Array]]] = {}  # parts by kind

    def encode(self, model: object) -> None:
        """Encode a model, then store its arrays."""
        self._encode(model, "model")
        for number, pieces in self._arrays.items():
            self._store(self.kinds[number], pieces)

    def _encode(self, value: Any, where: str) -> Any:
        """Return a plain value, or the reference to its part."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if id(value) not in self._known:
            # with the value, so that its id stays unique
            self._known[id(value)] = value, self._encode_part(value, where)
        return self._known[id(value)][1]

    def _encode_part(self, value: Any, where: str) -> Any:
        """Add a part for a value, after the parts in it, and return its reference."""
        kind = type(value)
        if is_search(value):  # the best estimator stands for the search
            return self._encode(getattr(value, "best_estimator_", value.estimator), where)
        if kind in (list, tuple):
            items = [self._encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return self._add([kind.__name__], *items)
        if kind is dict:
            pairs = [(key, f"{where}.{key}", item) for key, item in value.items()]
            items = [self._encode(each, place) for k, place, v in pairs for each in (k, v)]
            return self._add([kind.__name__], *items)
        if kind is slice:
            ends = (value.start, value.stop, value.step)
            return self._add(["slice"], *(self._encode(end, where) for end in ends))
        if kind is np.ndarray and value.dtype.kind == "O":
            items = self._encode(value.ravel().tolist(), where)
            return self._add(["objects"], items, *value.shape)
        if kind is np.ndarray or isinstance(value, np.generic):
            return self._encode_array(value)
        if is_sparse(value):
            rows = as_csr(value, where)
            table = self.tables.get(rows.shape[1])
            if table is not None and value is not table.rows:
                numbers = self._encode_array(table.numbers_of(rows))
                return self._add(["rows"], self._encode(table.rows, where), numbers)
            self.sparse.append(rows)
            parts = (self._encode(part, where) for part in (rows.data, rows.indices, rows.indptr))
            return self._add(["csr"], *parts, _checked_width(rows.shape[1]))
        if converts(kind):
            return self._encode(self._converted(value, where), where)
        if type_name(kind) not in self.trusted:
            function = callable(value) and hasattr(value, "__qualname__")
            what = f"the function {quoted(type_name(value))}" if function else None
            raise ModelFileError(
                f"{quoted(where)} is {what or f'a {quoted(type_name(kind))}'}; a model file may "
                "contain only plain values, arrays, and the estimators and kernels on a closed list"
            )
        state = _stored_state(value)
        items = [self._encode(part, f"{where}.{name}") for name, part in state.items()]
        return self._add([type_name(kind), list(state)], *items)

    def _converted(self, value: Any, where: str) -> Any:
        """Return the record of an estimator of another library."""
        try:
            return to_record(value)
        except ValueError as error:
            raise ModelFileError(f"{quoted(where)}: {printable(error)}") from None

    def _encode_array(self, value: Any) -> Any:
        """Add a part for an array or a scalar, and store its rows later."""
        if isinstance(value, np.generic):
            return self._add(["scalar"], self._encode_array(np.atleast_1d(value)))
        if value.ndim == 0:
            return self._add(["point"], self._encode_array(np.atleast_1d(value)))
        if value.flags.fnc:
            return self._add(["transposed"], self._encode_array(value.T))
        descr = np.lib.format.dtype_to_descr(check_dtype(value.dtype))
        reference = self._add(["array", descr, value.shape[1:], None], None, len(value))
        part = self.parts[reference[0]]
        self._arrays.setdefault(part[0], []).append((part, value))
        return reference

    def _add(self, kind: list[Any], *values: Any) -> list[int]:
        """Add a part and return its reference."""
        number = self._numbers.setdefault(repr(kind), len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        self.parts.append([number, *values])
        return [len(self.parts) - 1]

    def _store(self, kind: list[Any], pieces: list[tuple[list[Any], Array]]) -> None:
        """Store arrays of rows of the same type; repeated rows, as in pairs of classes, once."""
        contents, numbers = [rows.tobytes() for _, rows in pieces], dict[bytes, int]()
        first = pieces[0][1]
        step = first.itemsize * math.prod(first.shape[1:])
        if len(pieces) > 1 and first.ndim > 1 and 0 < sum(map(len, contents)) <= MAX_ROW_BYTES:
            texts = [[text[i : i + step] for i in range(0, len(text), step)] for text in contents]
            places = [[numbers.setdefault(row, len(numbers)) for row in each] for each in texts]
            if 2 * len(numbers) <= sum(map(len, places)):
                kind[3] = [len(self.data), len(numbers)]
                self.data += b"".join(numbers)
                contents = [np.array(each, U4).tobytes() for each in places]
        for (part, _), content in zip(pieces, contents, strict=True):
            part[1] = len(self.data)
            self.data += content


class Decoder:
    """Builds the parts of a model.

    Parameters
    ----------
    kinds : list
        The kinds of the parts. All names are compared with `trusted` here, so that nothing is
        built if one is unknown.
    data : bytes
        The bytes of the arrays.
    trusted : frozenset of str
        The full names of the types of objects.
    """

    def __init__(self, kinds: list[list[Any]], data: bytes, trusted: frozenset[str]) -> None:
        self.data, self.free_bytes, self.free_row_bytes = data, len(data), MAX_ROW_BYTES
        known = {*MAKERS, "array", "objects", "rows", *trusted}
        if unknown := [name for name, *_ in kinds if name not in known]:
            raise ModelFileError(f"the file names {quoted(unknown[0])}, which is not on the list")
        self.makers = [self._maker(*kind) for kind in kinds]
        self.are_lists = [name in ("list", "tuple") for name, *_ in kinds]

    def decode(self, parts: list[list[Any]]) -> Any:
        """Build all parts and return the last, the model."""
        if len(parts) > MAX_PARTS:
            raise ModelFileError(f"expected at most {MAX_PARTS} parts, got {len(parts)}")
        built, sizes = list[Any](), list[int]()
        for number, *values in parts:
            plain = int(self.are_lists[number])  # NumPy may make an array of the whole list
            counts = (sizes[value[0]] if type(value) is list else plain for value in values)
            sizes.append(1 + sum(counts))
            if sizes[-1] > MAX_NESTED:
                raise ModelFileError(f"expected at most {MAX_NESTED} nested objects")
            arguments = (built[value[0]] if type(value) is list else value for value in values)
            built.append(self.makers[number](*arguments))
        return built[-1]

    def _maker(self, name: str, *shared: Any) -> Callable[..., Any]:
        """Return a function that makes a part of a kind from its values."""
        if name == "array":
            return self._array_maker(*shared)
        if name in ("objects", "rows"):
            return self._make_objects if name == "objects" else self._make_rows
        if name in MAKERS:
            return MAKERS[name]
        module, _, attribute = name.rpartition(".")
        kind, (names,) = getattr(importlib.import_module(module), attribute), shared
        return lambda *values: _make_object(kind, dict(zip(names, values, strict=True)))

    def _make_objects(self, items: list[Any], *shape: int) -> Array:
        """Return an array of objects, with the items of a list."""
        self.free_row_bytes -= 8 * len(items)
        if self.free_row_bytes < 0:
            raise ModelFileError(f"expected at most {MAX_ROW_BYTES} bytes of arrays of objects")
        return np.fromiter(items, object, len(items)).reshape(shape)

    def _make_rows(self, table: Any, numbers: Any) -> Any:
        """Return a sparse array of rows of another one."""
        known = is_sparse(table) and isinstance(numbers, np.ndarray)
        if not known or numbers.dtype != U4 or numbers.ndim != 1:
            raise ModelFileError("expected the numbers of rows of a sparse array")
        if len(numbers) and numbers.max() >= table.shape[0]:
            raise ModelFileError(f"expected numbers of {table.shape[0]} rows of a sparse array")
        entries = int(np.diff(table.indptr)[numbers].sum(dtype=np.int64))
        self.free_row_bytes -= 16 * entries + 8 * len(numbers)  # at most
        if self.free_row_bytes < 0:
            raise ModelFileError(f"expected at most {MAX_ROW_BYTES} bytes of repeated rows")
        return table[numbers]

    def _array_maker(
        self, descr: Any, tail: list[int], table: list[int] | None
    ) -> Callable[[int, int], Array]:
        """Return a function that makes arrays of rows of shape `tail`.

        If given, a table holds the distinct rows, and the arrays are stored as row numbers.
        """
        dtype = check_dtype(np.lib.format.descr_to_dtype(descr))
        known = None if table is None else self._view(dtype, tail, *table)

        def make(start: int, n: int) -> Array:
            if known is None:
                rows = self._view(dtype, tail, start, n)
                self.free_bytes -= rows.nbytes
                if self.free_bytes < 0:
                    raise ModelFileError(f"expected arrays of {len(self.data)} bytes, got more")
                return rows.copy()
            rows = self._view(U4, [], start, n)
            self.free_row_bytes -= n * math.prod(tail) * dtype.itemsize
            if self.free_row_bytes < 0:
                raise ModelFileError(f"expected at most {MAX_ROW_BYTES} bytes of repeated rows")
            return known[rows]

        return make

    def _view(self, dtype: np.dtype[Any], tail: list[int], start: int, n: int) -> Array:
        """Return n rows of shape `tail` that start at a byte of the data, without a copy."""
        sizes = (n, start, *tail)
        if not all(type(size) is int and 0 <= size <= len(self.data) + MAX_PARTS for size in sizes):
            raise ModelFileError(f"expected sizes of an array, got {quoted(sizes)}")
        rows = np.frombuffer(self.data, dtype, n * math.prod(tail), start)
        return rows.reshape(n, *tail)


def check_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of an array's entries; raise ModelFileError unless they are plain values."""
    fields = [dtype[name] for name in dtype.names] if dtype.names else [dtype]
    if not {each.kind for each in fields} <= set("biufSU"):
        raise ModelFileError(f"expected an array of plain values, got the type {quoted(dtype)}")
    return dtype


def _stored_state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object to store.

    They omit random states set by ``fit``.
    """
    kind: Any = type(value)
    state = kind.__getstate__(value) or {}
    if not isinstance(value, BaseEstimator):
        return dict(state)
    parameters, random = value.get_params(deep=False), np.random.RandomState | np.random.Generator
    return {
        name: part
        for name, part in state.items()
        if name in parameters or not isinstance(part, random)
    }


def _make_object(kind: Any, state: dict[str, Any]) -> Any:
    """Return an object with the given attributes."""
    result = object.__new__(kind)
    if hasattr(kind, "__setstate__"):
        kind.__setstate__(result, state)
    else:
        vars(result).update(state)
    return result


def _checked_width(width: Any) -> int:
    """Return a number of columns; raise ModelFileError if it is not from 0 to `MAX_WIDTH`."""
    if type(width) is not int or not 0 <= width <= MAX_WIDTH:
        raise ModelFileError(f"expected from 0 to {MAX_WIDTH} columns, got {quoted(width)}")
    return width


def _make_csr(data: Any, indices: Any, indptr: Any, width: Any) -> Any:
    """Return a sparse array; raise ModelFileError unless its parts are those of `as_csr`.

    They are nonzero entries, float64; their columns, which ascend in each row; and the place of
    each row's first entry, followed by the number of entries.
    """
    import scipy.sparse

    parts, width = (data, indices, indptr), _checked_width(width)
    if not all(type(part) is np.ndarray and part.ndim == 1 for part in parts):
        raise ModelFileError("expected a sparse array of three vectors")
    kinds = [part.dtype for part in parts]
    if kinds[0] != np.float64 or kinds[1] != kinds[2] or kinds[1] not in (np.int32, np.int64):
        raise ModelFileError(f"expected the types of a sparse array, got {quoted(kinds)}")
    n = len(data)
    if not len(indptr) or indptr[0] != 0 or indptr[-1] != n or len(indices) != n:
        raise ModelFileError(f"expected rows of {n} entries in a sparse array, got others")
    if (indptr[1:] < indptr[:-1]).any():
        raise ModelFileError("expected ascending places of rows in a sparse array")
    if n and not (indices.min() >= 0 and indices.max() < width):
        raise ModelFileError(f"expected columns from 0 to {width - 1} in a sparse array")
    first = np.zeros(n + 1, dtype=bool)
    first[indptr] = True  # the first entries of rows, which may follow a larger column
    if not (first[1:n] | (indices[1:] > indices[:-1])).all():
        raise ModelFileError("expected ascending columns in each row of a sparse array")
    if not ((np.abs(data) <= LARGEST) & (data != 0.0)).all():
        raise ModelFileError("expected finite entries of at most 1e100 in a sparse array, and no 0")
    return scipy.sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))


def _transposed(array: Any) -> Array:
    """Return the transpose of an array; raise ModelFileError for lists, which NumPy would copy."""
    if not isinstance(array, np.ndarray):
        raise ModelFileError(f"expected an array to transpose, got a {type(array).__name__}")
    return array.T


def _make_dict(*items: Any) -> dict[Any, Any]:
    """Return a dict of alternating keys and values."""
    return dict(zip(items[::2], items[1::2], strict=True))


MAKERS: dict[str, Callable[..., Any]] = {
    "list": lambda *items: list(items),
    "tuple": lambda *items: items,
    "dict": _make_dict,
    "slice": slice,
    "csr": _make_csr,
    "scalar": lambda array: array[0],
    "point": lambda array: array.reshape(()),
    "transposed": _transposed,
}
"""Functions that make a part from its values; `Decoder` makes arrays, and objects of classes."""
