"""Format and check column and row names, collect errors, and convert dataclasses to JSON."""

from __future__ import annotations

import dataclasses
import importlib
import json
import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pliant.core.exceptions import TableError
from pliant.core.text import close_names, quoted

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
Item = TypeVar("Item")


def require(package: str) -> Any:
    """Import an optional package; if it is missing, raise an ImportError that names the extra."""
    for name in ("pandas", package):  # Arrow's error is unclear if pandas is missing
        try:
            module = importlib.import_module(name)
        except ImportError:
            raise ImportError(f"reading tables needs {name}: pip install 'pliant[cli]'") from None
    return module


def in_quotes(names: Iterable[object], most: int = 10, longest: int = 80) -> str:
    """Return the first `most` names in quotes, each cut to `longest` characters."""
    quotes = [quoted(name, longest) for name in names]
    more = len(quotes) - most
    return ", ".join(quotes[:most]) + (f" and {more} more" if more > 0 else "")


def check_unique(names: Iterable[str], table: str, hint: str = "") -> None:
    """Raise TableError if two columns of ``table`` share a name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(f"{table} has more than one column named {in_quotes(twice)}{hint}")


def name_blanks(header: Iterable[str]) -> list[str]:
    """Replace blank column names by ``Unnamed: 0`` and so on, as pandas does."""
    return [name if name.strip() else f"Unnamed: {k}" for k, name in enumerate(header)]


def check_present(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Raise TableError that lists all wanted columns missing from ``names``."""
    known = set(names)
    if absent := [name for name in wanted if name not in known]:
        close = close_names(absent[0], names) if len(absent) == 1 else []
        hint = f"did you mean {in_quotes(close)}?" if close else f"it has {in_quotes(names)}"
        noun = "column" if len(absent) == 1 else f"{len(absent)} columns"
        raise TableError(f"the table lacks the {noun} {in_quotes(absent)}; {hint}")


def row_name(index: pd.Index[Any], position: int) -> str:
    """Describe a row by its 1-based number or its label."""
    import pandas as pd

    if index.name == "row":  # 1-based row numbers of a file
        return f"row {index[position]}"
    if isinstance(index, pd.RangeIndex):
        return f"row {int(index[position]) + 1}"
    return f"the row labelled {quoted(index[position])}"


def collect(items: Iterable[Item], action: Callable[[Item], T]) -> list[T]:
    """Apply an action to all items; raise all failures as one TableError."""
    results, errors = list[T](), list[TableError]()
    for item in items:
        try:
            results.append(action(item))
        except TableError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        shown = [f"({k}) {error}" for k, error in enumerate(errors[:10], start=1)]
        shown += [f"and {len(errors) - 10} more"] if len(errors) > 10 else []
        raise TableError(f"{len(errors)} problems: {'; '.join(shown)}")
    return results


def to_json(value: Any) -> Any:
    """Convert a dataclass to JSON data."""
    return json.loads(json.dumps(dataclasses.asdict(value)))


def from_json(kind: Any, value: Any, what: str) -> Any:
    """Convert JSON data to a value of type `kind`; error messages name `what`."""
    origin, args = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and isinstance(value, Mapping):
        hints = get_type_hints(kind, kind.__init__.__globals__)  # __module__ may be public
        if set(value) == set(hints):
            fields = {k: from_json(hints[k], value[k], f"{what}, {k}") for k in hints}
            try:
                return kind(**fields)
            except ValueError as error:
                raise TableError(f"{what}: {error}") from None
    elif origin in (types.UnionType, Union):
        inner = next((arg for arg in args if arg is not type(None)), None)
        return None if value is None else from_json(inner, value, what)
    elif origin is Literal and isinstance(value, str) and value in args:
        return value
    elif origin is tuple and isinstance(value, list | tuple):
        return tuple(from_json(args[0], each, what) for each in value)
    elif origin is Mapping and isinstance(value, Mapping) and all(type(k) is str for k in value):
        return {key: from_json(args[1], each, what) for key, each in value.items()}
    elif kind is float and type(value) in (int, float) and abs(value) < 1e9:  # finite, not bool
        return float(value)
    elif kind in (str, int, bool) and type(value) is kind:
        return value
    raise TableError(f"{what}: expected {getattr(kind, '__name__', kind)}, got {quoted(value)}")
