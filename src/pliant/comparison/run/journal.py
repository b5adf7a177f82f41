"""The journal: finished cells in a file of JSON lines, to continue an interrupted comparison.

The first line names the key: a hash of the table, the protocol, and the versions of the packages.
A file of another key is refused. A last line that was cut off while it was written is dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pliant._version import __version__
from pliant.comparison.protocol import DEFAULT, SAMPLED, SEARCHED, Cell, Protocol
from pliant.comparison.record import Record, cell_of
from pliant.comparison.run.described import described
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from pliant.core.files import plain_data, printable, quoted, replacing
from pliant.registry import Method

FORMAT = "pliant comparison 2"
"""The first line of a file names it; before 2, cells had no stages."""

FAMILY = "pliant comparison "
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def key_of(sample: Sample, protocol: Protocol) -> str:
    """Return a hash of everything but the method that decides the score of a cell."""
    versions = [__version__, *(version(package) for package in PACKAGES)]
    plain = json.dumps([FORMAT, sample.fingerprint(), protocol.to_dict(), versions], sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:32]


def method_key(method: Method, task: str) -> str:
    """Return a hash of a method: all settings of its estimator, and its grid."""
    try:
        learner = described(method.machine(task, seed=0, n_rows=0))
    except (ValueError, ImportError):
        learner = ""
    plain = repr((method.name, learner, sorted(method.grid.items()), method.many, method.rough))
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


class Journal:
    """The records of one comparison, here and in a file.

    Parameters
    ----------
    path : path-like or None
        The file; None keeps records here only.
    key : str
        As `key_of` returns it.
    resume : bool
        Whether to go on with what the file holds. Else a file of an earlier comparison is kept
        beside as ``NAME.old``, and a new one begins.

    Raises
    ------
    TableError
        If the file is of another key, holds anything else, or cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str] | None, key: str, *, resume: bool) -> None:
        self.key = key
        self._path = None if path is None else Path(path)
        self._records: dict[tuple[str, Cell], Record] = {}
        if self._path is None:
            return
        exists = self._path.exists() and self._path.stat().st_size > 0
        if exists and resume:
            self._load(self._path)
        elif exists:
            read_entries(self._path)  # refuse a file that nobody wants to lose
            self._path.replace(self._path.with_name(self._path.name + ".old"))
        self._rewrite(self._path)

    def find(self, method_key: str, cell: Cell) -> Record | None:
        """Return the record of a cell, or None if it is not here."""
        return self._records.get((method_key, cell))

    def add(self, method_key: str, record: Record) -> None:
        """Keep a record, here and in the file.

        Warns
        -----
        UserWarning
            If the file cannot be written any more; records are kept here alone from then on.
        """
        self._records[method_key, cell_of(record)] = record
        if self._path is None:
            return
        try:
            with self._path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(_line({"method_key": method_key, "record": record}))
        except OSError as error:
            name, reason = quoted(self._path, 200), error.strerror or printable(error)
            warnings.warn(f"cannot write {name} any more: {reason}", UserWarning, stacklevel=2)
            self._path = None

    def _load(self, path: Path) -> None:
        header, *lines = read_entries(path)
        if header["format"] != FORMAT:
            raise TableError(
                f"{quoted(path, 200)} is of an earlier version of pliant (expected {FORMAT!r}, got "
                f"{quoted(header['format'])}): leave --resume out to start again"
            )
        if header.get("key") != self.key:
            raise TableError(
                f"{quoted(path, 200)} is of another table, other options or other versions: choose "
                "another file, or leave --resume out to start again"
            )
        for number, entry in enumerate(lines, start=2):
            record: Any = entry.get("record")
            if not _is_record(record) or not isinstance(entry.get("method_key"), str):
                raise TableError(f"{quoted(path, 200)}, line {number}: expected a finished cell")
            self._records[entry["method_key"], cell_of(record)] = record

    def _rewrite(self, path: Path) -> None:
        """Write the header and what is known, so that the file ends with a whole line."""
        header: dict[str, Any] = {"format": FORMAT, "key": self.key}
        entries = [{"method_key": key, "record": r} for (key, _), r in self._records.items()]
        with replacing(path, TableError) as draft, draft.open("w", encoding="utf-8") as file:
            file.writelines(map(_line, [header, *entries]))


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(plain_data(entry), allow_nan=False) + "\n"


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file, the header first; refuse a file of anything else."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"cannot read {quoted(path, 200)}: {quoted(error)}") from None
    whole, _, _ = text.rpartition("\n")
    entries = []
    for number, line in enumerate(whole.split("\n"), start=1):
        try:
            entry = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            raise TableError(f"{quoted(path, 200)}, line {number}: expected JSON of a cell")
        entries.append(entry)
    if not str(entries[0].get("format")).startswith(FAMILY):
        raise TableError(
            f"{quoted(path, 200)} is no file of a comparison (expected {FORMAT!r} in its first "
            "line): choose another name"
        )
    return entries


def _is_record(record: Any) -> bool:
    """Return whether this can be the record of a cell."""
    if not isinstance(record, dict) or record.get("status") not in ("done", "error"):
        return False
    if record.get("stage", SEARCHED) not in (SAMPLED, DEFAULT, SEARCHED):
        return False
    place = (record.get("repeat"), record.get("fold"))
    if not isinstance(record.get("method"), str) or not all(_is_count(part, 0) for part in place):
        return False
    if not _are_numbers(record.get("scores")):
        return False
    return record["status"] == "error" or _is_measured(record)


def _is_measured(record: dict[str, Any]) -> bool:
    """Return whether the parts that everything else relies on are there."""
    rows = record.get("rows")
    whole = isinstance(rows, dict) and all(_is_count(rows.get(k), 1) for k in ("train", "test"))
    return whole and bool(record["scores"]) and _are_numbers(record.get("seconds"))


def _is_count(value: Any, least: int) -> bool:
    return type(value) is int and value >= least


def _are_numbers(values: Any) -> bool:
    """Return whether these are numbers by name; None stands for one that is not defined."""
    if not isinstance(values, dict):
        return False
    return all(type(v) in (int, float, type(None)) for v in values.values())


def _refuse_constant(text: str) -> None:
    raise ValueError(f"expected a finite number, got {text}")
