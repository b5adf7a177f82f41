"""The journal: a file with the results of finished fits, to resume an interrupted comparison.

The file consists of JSON lines. The first line contains the format version and the key, a hash of
the table, the protocol and the package versions. Each further line is one record. A file with a
different key is refused. An incomplete last line, left by a killed process, is ignored.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import re
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib

from pliant._version import __version__
from pliant.core.exceptions import TableError
from pliant.core.files import open_regular, plain_data, replacing
from pliant.core.text import printable, quoted
from pliant.tables.comparison.protocol import Cell, Protocol, Record, cell_of
from pliant.tables.comparison.sample import Sample
from pliant.tables.registry import Method

FORMAT = "pliant comparison 1"
"""Format name in the first line of a file."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
"""Packages whose versions can affect scores."""


def package_versions() -> dict[str, str]:
    """Return the versions of pliant, Python and the packages that affect results."""
    packages = {package: version(package) for package in PACKAGES}
    return {"pliant": __version__, "python": platform.python_version(), **packages}


def key_of(sample: Sample, protocol: Protocol) -> str:
    """Hash the sample, the protocol and the package versions."""
    given = protocol.to_dict() | {"metric": _hash(protocol.metric)}
    versions = [__version__, *(version(package) for package in PACKAGES)]
    return _hash([FORMAT, sample.fingerprint(), given, versions])


def method_key(method: Method, task: str) -> str:
    """Return a hash of a method's grid, its estimator with all settings, and its package."""
    try:
        learner = method.make_estimator(task, seed=0, n_rows=0)
    except (ValueError, ImportError):
        learner = None
    package = version(method.package) if method.package and learner is not None else ""
    return _hash([method.name, learner, method.grid, method.many, method.rough, package])


def _hash(value: Any) -> str:
    """Hash a value, or its repr if it cannot be pickled; the hash is stable across processes."""
    try:
        return str(joblib.hash(value))
    except (pickle.PicklingError, AttributeError, TypeError):  # e.g. a lambda
        return str(joblib.hash(re.sub(r" at 0x[0-9a-f]+", "", repr(value))))


class Journal:
    """The records of a comparison in memory and, given a path, in a file.

    With `resume`, records are loaded from the file. Otherwise an existing file is renamed to
    ``NAME.old`` and a new one is started. Raises TableError if the file has a different key or
    format, or cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str] | None, key: str, *, resume: bool) -> None:
        self._path = None if path is None else Path(path)
        self._records: dict[tuple[str, Cell], Record] = {}
        if self._path is None:
            return
        self._records = read_journal(self._path, key, resume=resume)
        if not resume and self._path.exists() and self._path.stat().st_size > 0:
            old = self._path.with_name(f"{self._path.name}.old")
            try:
                self._path.replace(old)
            except OSError as error:
                raise TableError(f"cannot write {quoted(old, 200)}: {_reason(error)}") from None
        lines = [_line(key, record) for (key, _), record in self._records.items()]
        header = json.dumps({"format": FORMAT, "key": key}) + "\n"
        with replacing(self._path, TableError) as draft:
            draft.write_text("".join([header, *lines]), encoding="utf-8", newline="\n")

    def find(self, method_key: str, cell: Cell) -> Record | None:
        """Return the record of a cell, or None."""
        return self._records.get((method_key, cell))

    def add(self, method_key: str, record: Record) -> None:
        """Add a record; if the file cannot be written, warn and stop writing."""
        self._records[method_key, cell_of(record)] = record
        if self._path is None:
            return
        try:
            with self._path.open("ab") as file:
                file.write(_line(method_key, record).encode())
        except OSError as error:
            text = f"can no longer write {quoted(self._path, 200)}: {_reason(error)}"
            warnings.warn(text, UserWarning, stacklevel=2)
            self._path = None


def _line(method_key: str, record: Record) -> str:
    content = {"method_key": method_key, "record": plain_data(record)}
    return json.dumps(content, allow_nan=False) + "\n"


def _reason(error: OSError) -> str:
    return error.strerror or printable(error)


def read_journal(path: Path, key: str, *, resume: bool) -> dict[tuple[str, Cell], Record]:
    """Read the records of a journal or, without `resume`, only check its first line."""
    try:
        if not path.exists():
            return {}
        with open_regular(path) as file:
            first, lines = file.readline(), file.readlines() if resume else []
    except OSError as error:
        raise TableError(f"cannot read {quoted(path, 200)}: {_reason(error)}") from None
    if not first:
        return {}
    header = _parsed(first)
    if not str(header.get("format")).startswith("pliant comparison "):
        raise TableError(
            f"{quoted(path, 200)} is not a comparison file (expected {FORMAT!r} in its first "
            "line): choose another name"
        )
    if resume and header != {"format": FORMAT, "key": key}:
        raise TableError(
            f"{quoted(path, 200)} belongs to another table, other options or other versions: "
            "choose another file, or set resume=False to start again"
        )
    records: dict[tuple[str, Cell], Record] = {}
    complete = (line for line in lines if line.endswith(b"\n"))
    for number, entry in enumerate(map(_parsed, complete), start=2):
        try:
            record: Record = entry["record"]
            records[str(entry["method_key"]), cell_of(record)] = record
            if record["status"] not in ("done", "error") or type(record["scores"]) is not dict:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise TableError(
                f"{quoted(path, 200)}, line {number}: expected the result of a fit; set "
                "resume=False to start again"
            ) from None
    return records


def _parsed(line: bytes) -> dict[str, Any]:
    """Parse a line as a JSON object; return {} if it is invalid."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}
