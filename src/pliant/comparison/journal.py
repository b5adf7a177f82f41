"""The journal: finished cells in a file of JSON lines, to continue an interrupted comparison.

The first line has the version of the format and the key: a hash of the table, the protocol, and
the versions of the packages. A file of another key is refused. Each further line is a cell. A last
line that was cut off while it was written is dropped.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import warnings
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import joblib

from pliant._version import __version__
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.record import Record, cell_of
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from pliant.core.files import plain_data, replacing
from pliant.core.text import printable, quoted
from pliant.registry import Method

FORMAT = "pliant comparison 6"
"""The first line of a file names it."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def key_of(sample: Sample, protocol: Protocol) -> str:
    """Return a hash of everything but the method that decides the score of a cell."""
    given = protocol.to_dict() | {"metric": _hash(protocol.metric)}
    versions = [__version__, *(version(package) for package in PACKAGES)]
    return _hash([FORMAT, sample.fingerprint(), given, versions])


def method_key(method: Method, task: str) -> str:
    """Return a hash of a method: all settings of its estimator, and its grid."""
    try:
        learner = method.machine(task, seed=0, n_rows=0)
    except (ValueError, ImportError):
        learner = None
    return _hash([method.name, learner, method.grid, method.many, method.rough])


def _hash(value: Any) -> str:
    """Return a hash of a value, the same in every process; of the text of what no file can hold."""
    try:
        return str(joblib.hash(value))
    except (pickle.PicklingError, AttributeError, TypeError):  # such as a lambda
        return str(joblib.hash(re.sub(r" at 0x[0-9a-f]+", "", repr(value))))


class Journal:
    """The records of one comparison, here and, if there is a path, in a file.

    To resume is to go on with what the file holds. Else a file of an earlier comparison is kept
    beside as ``NAME.old``, and a new one begins. Raises TableError if the file is of another key,
    holds anything else, or cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str] | None, key: str, *, resume: bool) -> None:
        self.key = key
        self._path = None if path is None else Path(path)
        self._records: dict[tuple[str, Cell], Record] = {}
        if self._path is not None:
            self._records = read_journal(self._path, key, resume=resume)
            self._begin(self._path, keep_old=not resume)

    def find(self, method_key: str, cell: Cell) -> Record | None:
        """Return the record of a cell, or None if it is not here."""
        return self._records.get((method_key, cell))

    def add(self, method_key: str, record: Record) -> None:
        """Keep a record, here and in the file; warn once if the file takes no more."""
        self._records[method_key, cell_of(record)] = record
        if self._path is None:
            return
        try:
            _append(self._path, _line(method_key, record))
        except OSError as error:
            name, reason = quoted(self._path, 200), error.strerror or printable(error)
            warnings.warn(f"cannot write {name} any more: {reason}", UserWarning, stacklevel=2)
            self._path = None

    def _begin(self, path: Path, *, keep_old: bool) -> None:
        """Write the header and what is known, so that the file ends with a whole line."""
        if keep_old and path.exists() and path.stat().st_size > 0:
            old = path.with_name(path.name + ".old")
            try:
                path.replace(old)
            except OSError as error:
                reason = error.strerror or printable(error)
                raise TableError(f"cannot write {quoted(old, 200)}: {reason}") from None
        lines = [_line(key, record) for (key, _), record in self._records.items()]
        header = json.dumps({"format": FORMAT, "key": self.key}) + "\n"
        with replacing(path, TableError) as draft, draft.open("w", encoding="utf-8") as file:
            file.writelines([header, *lines])


def _append(path: Path, line: str) -> None:
    """Add a line to a file, or leave the file as it was."""
    data = line.encode()
    with path.open("r+b", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[file.write(data) :]
        except OSError:
            file.truncate(end)
            raise


def _line(method_key: str, record: Record) -> str:
    """Return the line of a cell."""
    content = {"method_key": method_key, "record": plain_data(record)}
    return json.dumps(content, allow_nan=False) + "\n"


def read_journal(path: Path, key: str, *, resume: bool) -> dict[tuple[str, Cell], Record]:
    """Return the records to go on with; raise TableError for a file that `Journal` refuses.

    Nothing is written. Without `resume`, the first line is enough to refuse a file that nobody
    wants to lose.
    """
    lines = _lines(path, None if resume else 1)
    if not lines:
        return {}
    header = _parsed(lines[0])
    if not str(header.get("format")).startswith("pliant comparison "):
        raise TableError(
            f"{quoted(path, 200)} is no file of a comparison (expected {FORMAT!r} in its first "
            "line): choose another name"
        )
    if not resume:
        return {}
    if header != {"format": FORMAT, "key": key}:
        raise TableError(
            f"{quoted(path, 200)} is of another table, other options or other versions: choose "
            "another file, or leave --resume out to start again"
        )
    records: dict[tuple[str, Cell], Record] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            entry = _parsed(line)
            record: Record = entry["record"]
            records[str(entry["method_key"]), cell_of(record)] = record
            if record["status"] not in ("done", "error") or type(record["scores"]) is not dict:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise TableError(
                f"{quoted(path, 200)}, line {number}: expected a finished cell; leave --resume "
                "out to start again"
            ) from None
    return records


def _lines(path: Path, most: int | None) -> list[bytes]:
    """Return the whole lines of a file, and the first whether it is whole or not."""
    try:
        if not path.exists():
            return []
        if not path.is_file():  # a pipe would wait for its other end
            raise OSError("it is not a regular file")
        with path.open("rb") as file:
            lines = file.readlines() if most is None else [*islice(file, most)]
    except OSError as error:
        reason = error.strerror or printable(error)
        raise TableError(f"cannot read {quoted(path, 200)}: {reason}") from None
    return [*lines[:1], *(line for line in lines[1:] if line.endswith(b"\n"))]


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the object of a line; an empty one for anything else."""
    try:
        entry = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _refuse_constant(text: str) -> None:
    raise ValueError(f"expected a finite number, got {text}")
