"""Data sets from a folder of ``NAME.csv.gz`` files.

Each file is comma-separated with one header row, the features and a last column called
``target``; all cells are numbers or empty. An optional ``MANIFEST.json`` in the folder lists
an object per file with its ``name``, and optionally its ``task`` and ``sha256``.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from pliant.core.exceptions import TableError
from pliant.core.text import suggest
from pliant.core.typing import Array

FOLDER_VARIABLE = "PLIANT_DATA"
_SUFFIX = ".csv.gz"

Task: TypeAlias = Literal["binary", "multiclass", "regression"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table ready for learning.

    X, shape (n, d), are the unscaled features; a missing value is NaN. y, shape (n,), are integers
    for classification (usually -1 and +1 for two classes), real numbers for regression.
    """

    name: str
    X: Array
    y: npt.NDArray[Any]
    task: Task


def list_local(folder: str | os.PathLike[str] | None = None) -> list[str]:
    """List the names of the sets in a folder (see `load_local`)."""
    return sorted(p.name.removesuffix(_SUFFIX) for p in _folder(folder).glob(f"*{_SUFFIX}"))


def load_local(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load the set `name` from ``folder/name.csv.gz``.

    The default folder is the value of the environment variable PLIANT_DATA. The task comes from
    the manifest; without one, two distinct targets mean "binary", up to twenty distinct
    integers "multiclass", and anything else "regression". A missing folder or set, a file that
    differs from its description in the manifest, and anything other than a table of
    numbers with a last column called ``target`` raise a TableError.
    """
    root = _folder(folder)
    if name not in (known := list_local(root)):
        raise TableError(
            f"expected the name of a data set in the folder, got {name!r}; {suggest(name, known)}"
        )
    entry = _manifest(root).get(name, {})
    file, content = f"{name}{_SUFFIX}", (root / f"{name}{_SUFFIX}").read_bytes()
    digest, expected = hashlib.sha256(content).hexdigest(), entry.get("sha256")
    if expected is not None and digest != expected:
        raise TableError(f"{file}: expected sha256 {expected}, got {digest}")
    try:
        table = pd.read_csv(io.BytesIO(content), compression="gzip", dtype=np.float64)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise TableError(f"{file}: expected a gzipped table of numbers: {error}") from error
    if list(table.columns[-1:]) != ["target"]:
        raise TableError(f"{file}: expected a last column 'target', got {[*table.columns[-1:]]}")
    y = table.pop("target").to_numpy()
    if not len(y) or not np.isfinite(y).all():
        raise TableError(f"{file}: expected a number as each target, got nan, inf or no row")
    task = _task(name, y, entry.get("task"))
    labels = y if task == "regression" else y.astype(np.int64)
    return Dataset(name, table.to_numpy(), labels, task)


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
    """Return the entries of the folder's manifest, by name."""
    path = root / "MANIFEST.json"
    if not path.exists():
        return {}
    try:
        return {entry["name"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, TypeError, KeyError) as error:
        raise TableError(
            f"expected MANIFEST.json to be a list of objects with a name: {error}"
        ) from error


def _task(name: str, y: Array, stated: Any) -> Task:
    """Return the stated task, or the task inferred from the targets."""
    if stated is not None:
        if stated not in get_args(Task):
            raise TableError(f"{name}: expected a task of {get_args(Task)}, got {stated!r}")
        return stated
    values = np.unique(y)
    if len(values) == 2:
        return "binary"
    few = len(values) <= 20 and np.all(values == np.round(values))
    return "multiclass" if few else "regression"
