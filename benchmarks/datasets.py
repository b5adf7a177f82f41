"""Data sets from a folder of ``NAME.csv.gz`` files.

Each file is comma separated with one header row, features first and a last column called
``target``; all cells are numbers or empty. A ``MANIFEST.json`` beside them, if there is one, lists
an object per file with its ``name``, and may give its ``task``, ``sha256`` and ``notes``.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.exceptions import TableError
from pliant.core.typing import Array

FOLDER_VARIABLE = "PLIANT_DATA"
_SUFFIX = ".csv.gz"

Task: TypeAlias = Literal["binary", "multiclass", "regression"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table ready for learning."""

    name: str
    X: Array
    """Shape (n, d). The features, unscaled; a missing value is NaN."""
    y: npt.NDArray[Any]
    """Shape (n,). Integers for classification (-1 and +1 for two classes, as a rule), real
    numbers in the set's own units for regression."""
    feature_names: tuple[str, ...]
    task: Task
    """One of "binary", "multiclass" and "regression"."""
    notes: str = ""
    """What to know before the set is used; may be empty."""


def list_local(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """List the names of the sets in a folder (see `load_local`)."""
    return sorted(p.name.removesuffix(_SUFFIX) for p in _folder(folder).glob(f"*{_SUFFIX}"))


def load_local(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the set `name` from ``folder/name.csv.gz``.

    By default, the folder is the one that the environment variable PLIANT_DATA names. The task is
    the manifest's; without one, two different targets mean "binary", up to twenty different
    integers "multiclass", anything else "regression". It is a TableError if there is no such folder
    or set, if the file isn't the one that the manifest describes, or if it is not a table of
    numbers with a last column called ``target``.
    """
    root = _folder(folder)
    if name not in (known := list_local(root)):
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"close matches: {', '.join(close)}" if close else "list_local() names them all"
        raise TableError(f"expected the name of a set in the data folder, got {name!r} ({hint})")
    entry = _manifest(root).get(name, {})
    content = (root / f"{name}{_SUFFIX}").read_bytes()
    _check_sum(name, content, entry.get("sha256"))
    header, table = _read(name, content)
    y = table[:, -1]
    task = _task(name, y, entry.get("task"))
    labels = y if task == "regression" else y.astype(np.int64)
    return Dataset(name, table[:, :-1], labels, header[:-1], task, entry.get("notes") or "")


def _folder(folder: str | os.PathLike[str] | None) -> Path:
    chosen = os.environ.get(FOLDER_VARIABLE) if folder is None else folder
    if not chosen:
        raise TableError(
            f"expected a folder with NAME{_SUFFIX} files: pass folder=... or set {FOLDER_VARIABLE}"
        )
    if not (path := Path(chosen)).is_dir():
        raise TableError(f"expected an existing data folder, got {str(chosen)!r}")
    return path


def _manifest(root: Path) -> dict[str, dict[str, Any]]:
    """Read what the folder says of its sets, by name."""
    path = root / "MANIFEST.json"
    if not path.exists():
        return {}
    try:
        return {entry["name"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, TypeError, KeyError) as error:
        raise TableError(
            f"expected MANIFEST.json to be a list of objects with a name: {error}"
        ) from error


def _check_sum(name: str, content: bytes, expected: str | None) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if expected is not None and digest != expected:
        raise TableError(f"{name}{_SUFFIX}: expected sha256 {expected}, got {digest}")


def _read(name: str, content: bytes) -> tuple[tuple[str, ...], Array]:
    """Unpack a table of numbers with its header."""
    file = f"{name}{_SUFFIX}"
    try:
        first, *lines = gzip.decompress(content).decode("utf-8").splitlines() or [""]
        header = tuple(next(csv.reader([first]), []))
        table = _numbers(lines)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise TableError(f"{file}: expected a gzipped table of numbers: {error}") from error
    if header[-1:] != ("target",):
        raise TableError(f"{file}: expected a last column 'target', got {header[-1:]}")
    if len(lines) == 0 or table.shape != (len(lines), len(header)):
        raise TableError(
            f"{file}: expected rows of {len(header)} cells, got a table of shape {table.shape}"
        )
    if not np.isfinite(table[:, -1]).all():
        raise TableError(f"{file}: expected a number as each target, got nan or inf")
    return header, table


def _numbers(lines: list[str]) -> Array:
    """Parse comma-separated numbers; an empty cell is NaN."""
    if not lines:
        return np.empty((0, 0))
    return np.loadtxt(lines, delimiter=",", ndmin=2, converters=_number, comments=None)


def _number(cell: str) -> float:
    return float(cell) if cell.strip() else np.nan


def _task(name: str, y: Array, stated: str | None) -> Task:
    """Take the stated task, or guess it from the targets."""
    if stated is not None:
        if stated not in get_args(Task):
            raise TableError(f"{name}: expected a task of {get_args(Task)}, got {stated!r}")
        return cast(Task, stated)
    values = np.unique(y)
    if len(values) == 2:
        return "binary"
    return (
        "multiclass" if len(values) <= 20 and np.all(values == np.round(values)) else "regression"
    )
