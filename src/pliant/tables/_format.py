"""Describe how a CSV file is written; open files and detect separator and encoding."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, BinaryIO, Literal, TypeAlias, cast

from pliant.core.exceptions import TableError
from pliant.core.text import printable, quoted
from pliant.tables._names import from_plain
from pliant.tables._values import number

PathLike: TypeAlias = str | os.PathLike[str]
NumberKind: TypeAlias = Literal["integer", "number"]

SEPARATORS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
THOUSANDS = (",", ".", "'", "\u2019", " ", "\u00a0", "\u202f")
"""Marks between groups of three digits; of spaces, the usual one and two that do not break."""

NAMES = {"\t": "tab", " ": "space", "\u00a0": "space", "\u202f": "space"}
MARKS = {"tab": "\t", "\\t": "\t", "space": " "}

PREFIX = 1 << 18
"""Bytes that the separator is detected on, in at most `RECORDS` records."""

RECORDS = 1_000
BLOCK = 1 << 20

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

NUMERAL = re.compile(r"[-+]?[\d.,'’ \u00a0\u202f]*\d[\d.,]*(?:[eE][-+]?\d+)?")
"""A cell that may be a number in any notation."""

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"

FOREIGN = {
    PARQUET: "is a Parquet file: give it a name that ends in .parquet",
    b"PK\x03\x04": "is an Excel workbook or a zip archive: save the table as CSV, or unpack it",
}
"""First bytes of files that are no CSV, and what to do with them."""


@dataclass(frozen=True)
class TableFormat:
    """How a CSV file is written; None stands for what is to be detected.

    Parameters
    ----------
    sep : str, optional
        One character; ``tab`` stands for a tab.
    decimal : {".", ","}, optional
        The decimal mark.
    thousands : str, optional
        The mark between groups of three digits; an empty text for none.
    encoding : str, optional
        Such as ``utf-8``, ``utf-16`` or ``cp1252``.
    na_values : sequence of str, default=()
        Cells that stand for a missing value beside empty ones.
    texts : sequence of str, default=()
        Columns that are read exactly as they are written.
    numbers : mapping of str to {"integer", "number"}, optional
        The columns that are read as numbers; the others are texts.
    words : mapping of str to tuple of str
        Words of a column of numbers that stand for a missing value.
    notes : tuple of str, default=()
        Doubts about how numbers were understood, and counts of words among them.
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    na_values: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    numbers: Mapping[str, NumberKind] | None = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("sep", "thousands"):
            mark = getattr(self, name)
            object.__setattr__(self, name, MARKS.get(mark, mark))
        for name in ("na_values", "texts", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "words", {k: tuple(v) for k, v in self.words.items()})
        _check(self)

    @cached_property
    def missing_numbers(self) -> frozenset[float]:
        """The numbers among `na_values`, which stand for a missing value however written."""
        return frozenset(value for value in map(number, self.na_values) if value == value)

    @property
    def described(self) -> str:
        """What is unusual about a format, such as ``decimal comma``; an empty text for nothing."""
        words = []
        if self.sep not in (None, ","):
            words.append(f"separator {NAMES.get(self.sep, quoted(self.sep))}")
        if self.decimal == ",":
            words.append("decimal comma")
        if self.thousands:
            words.append(f"thousands {NAMES.get(self.thousands, quoted(self.thousands))}")
        if self.encoding not in (None, "utf-8", "utf-8-sig"):
            words.append(f"encoding {self.encoding}")
        return ", ".join(words)

    def to_dict(self) -> dict[str, Any]:
        """Return the format as plain data."""
        state = asdict(self)
        plain = {name: list(state[name]) for name in ("na_values", "texts", "notes")}
        return {**state, **plain, "words": {k: list(v) for k, v in self.words.items()}}

    @classmethod
    def from_dict(cls, state: object) -> TableFormat:
        """Make a format from plain data, refusing what `to_dict` could not have returned."""
        form: TableFormat = from_plain(cls, state, "format of a table")
        return form


def _check(form: TableFormat) -> None:
    """Raise ValueError for an option that no file can have."""
    if form.sep is not None and (len(form.sep) != 1 or form.sep in '"\r\n'):
        raise ValueError(f"expected one character as separator (--sep), got {quoted(form.sep)}")
    if form.decimal not in (None, *DECIMALS):
        raise ValueError(f"expected --decimal . or --decimal , got {quoted(form.decimal)}")
    if form.thousands not in (None, "", *THOUSANDS):
        raise ValueError(
            "expected one of , . ' or a space as --thousands, or an empty text for none, "
            f"got {quoted(form.thousands)}"
        )
    if form.thousands and form.thousands == form.decimal:
        raise ValueError(f"expected two marks, got {quoted(form.decimal)} for decimals and groups")
    if form.encoding is not None:
        try:
            "a,b".encode(form.encoding)
        except (LookupError, ValueError):
            raise ValueError(
                "expected an encoding (--encoding) such as utf-8, utf-16 or cp1252, "
                f"got {quoted(form.encoding)}"
            ) from None


def opened(path: PathLike) -> BinaryIO:
    """Open a text file, unpacking gzip whatever its name says; refuse other kinds of files."""
    with open(path, "rb") as file:
        packed = file.read(len(GZIP)) == GZIP
    with ExitStack() as stack:
        unpack = gzip.open if packed else open
        content = cast(BinaryIO, stack.enter_context(unpack(path, "rb")))
        start = content.read(max(map(len, FOREIGN)))
        reason = next((text for mark, text in FOREIGN.items() if start.startswith(mark)), None)
        if reason is not None:
            raise TableError(f"{quoted(path, 200)} {reason}")
        content.seek(0)
        stack.pop_all()  # the caller closes it
    return content


@contextmanager
def readable(path: PathLike) -> Iterator[None]:
    """Raise TableError where a file cannot be opened or unpacked."""
    name = quoted(path, 200)
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TableError(f"{name} is not a whole gzip file: it is cut or damaged") from None
    except TableError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or printable(error)
        raise TableError(f"cannot read {name}: {reason}") from None


def encoding_of(path: PathLike) -> str:
    """Return the encoding of a file: by its byte order mark, UTF-8, or else cp1252.

    A file with characters of UTF-8 and other bytes is a damaged UTF-8 file.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened(path) as file:
        start = file.read(BLOCK)
        for mark, name in BYTE_ORDER_MARKS.items():
            if start.startswith(mark):
                return name
        block, seen = start, False
        while block:
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return "utf-8" if seen or not _is_western(block) else "cp1252"
            seen = seen or not block.isascii()
            block = file.read(BLOCK)
    return "utf-8"


def _is_western(block: bytes) -> bool:
    """Return whether bytes that are not UTF-8 are text of cp1252."""
    multibyte = any(not c.isascii() for c in block.decode("utf-8", errors="ignore"))
    with suppress(UnicodeDecodeError):
        return not multibyte and b"\0" not in block and bool(block.decode("cp1252"))
    return False


def separator_of(path: PathLike, encoding: str) -> str:
    """Return the separator that gives most records as many cells as the header, two at least.

    Among equals it is the one whose cells look most like numbers: ``1,5;2,5`` are two, not three.
    """
    with opened(path) as file:
        data = file.read(PREFIX)
        cut = bool(file.read(1))
    lines = io.StringIO(data.decode(encoding, errors="replace"), newline="\n").readlines()
    lines = lines[:-1] if cut and len(lines) > 1 else lines
    ranks: list[tuple[float, float, int]] = []
    records = {sep: _records(lines, sep) for sep in SEPARATORS}
    for place, rows in enumerate(records.values()):
        if rows and len(rows[0]) > 1:
            rest = rows[1:] or rows
            fitting = sum(len(row) == len(rows[0]) for row in rest) / len(rest)
            cells = [cell for row in rest for cell in row]
            alike = sum(NUMERAL.fullmatch(cell.strip()) is not None for cell in cells)
            ranks.append((fitting, alike / max(1, len(cells)), -place))
    if ranks:
        return SEPARATORS[-max(ranks)[2]]
    # a single column: no cell holds the separator, such as no comma among 1,5 and 2,5
    return next((sep for sep in SEPARATORS if all(len(row) == 1 for row in records[sep])), ",")


def _records(lines: Sequence[str], sep: str) -> list[list[str]]:
    """Return the first records with a cell, as far as they can be read."""
    records: list[list[str]] = []
    with suppress(csv.Error):  # the reader of the whole file says what is wrong, and where
        reader = csv.reader(iter(lines), delimiter=sep)
        records.extend(islice((row for row in reader if row), RECORDS))
    return records
