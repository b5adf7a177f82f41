"""How a CSV file is written: separator, decimal mark, encoding, words for a missing value.

What is not given is detected, on the first lines alone but for the encoding, so that a file that
is read in chunks has the format that it has when it is read at once.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.tables._files import opened
from pliant.tables._values import number

MISSING = frozenset(
    {
        *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "na", "n.a.", "NaN", "nan", "NAN"),
        *("NULL", "null", "Null", "None", "?", "-", "--", ".", "\\N", "#NULL!", "#DIV/0!"),
    }
)
"""Cells that stand for a missing value in every file."""

SEPARATORS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
THOUSANDS = (",", ".", "'", "\u2019", " ", "\u00a0", "\u202f")
"""Marks between groups of three digits; of spaces, the usual one and two that do not break."""

NAMES = {"\t": "tab", " ": "space", "\u00a0": "space", "\u202f": "space"}
MARKS = {"tab": "\t", "\\t": "\t", "space": " "}

PREFIX = 1 << 18
"""Bytes that separator and marks are detected on."""

RECORDS = 1_000
"""Records that separator and marks are detected on, at most."""

BLOCK = 1 << 20

MOSTLY = 0.9
"""The share of cells from which on a column holds numbers."""

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

NO_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
"""Encodings that Python has, but tables are not written in."""

SURE = {
    decimal: re.compile(
        rf"[-+]?(?:0{mark}\d+|\d*{mark}(?:\d{{1,2}}|\d{{4,}})|\d{{4,}}{mark}\d+"
        rf"|\d{{1,3}}(?:[{other}'’ \u00a0\u202f]\d{{3}})+{mark}\d+)(?:[eE][-+]?\d+)?"
    )
    for decimal, mark, other in ((".", r"\.", ","), (",", ",", r"\."))
}
"""Numbers with one decimal mark that cannot be read with the other one."""

NUMERAL = re.compile(r"[-+]?[\d.,'’ \u00a0\u202f]*\d[\d.,]*(?:[eE][-+]?\d+)?")
"""What may be a number in any notation."""


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
        Cells that stand for a missing value beside the usual words.
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    na_values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("sep", "thousands"):
            mark = getattr(self, name)
            object.__setattr__(self, name, MARKS.get(mark, mark))
        object.__setattr__(self, "na_values", tuple(self.na_values))
        _check(self)

    def is_missing(self, cell: str) -> bool:
        """Whether a cell stands for a missing value."""
        word = cell.strip()
        return word in MISSING or word in self.na_values

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
        return {**asdict(self), "na_values": list(self.na_values)}

    @classmethod
    def from_dict(cls, state: object) -> TableFormat:
        """Make a format from plain data, refusing what `to_dict` could not have returned."""
        if not isinstance(state, Mapping) or set(state) != set(cls.__dataclass_fields__):
            raise TableError(f"expected a format with {', '.join(cls.__dataclass_fields__)}")
        words = state["na_values"]
        marks = [state[name] for name in ("sep", "decimal", "thousands", "encoding")]
        texts = [*(words if isinstance(words, list | tuple) else [None]), *filter(None, marks)]
        if not all(isinstance(text, str) for text in texts):
            raise TableError(f"expected texts in the format of a table, got {quoted(state)}")
        try:
            return cls(**{str(name): value for name, value in state.items()})
        except ValueError as error:
            raise TableError(str(error)) from None


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
            codec = codecs.lookup(form.encoding)
            known = codec._is_text_encoding and codec.name not in NO_FILES
        except (LookupError, ValueError):
            known = False
        if not known:
            raise ValueError(
                "expected an encoding (--encoding) such as utf-8, utf-16 or cp1252, "
                f"got {quoted(form.encoding)}"
            )


def detected(
    path: str | os.PathLike[str], given: TableFormat, usual: TableFormat | None = None
) -> TableFormat:
    """Return the format of a CSV file, complete.

    Parameters
    ----------
    path : path-like
    given : TableFormat
        What is known already.
    usual : TableFormat, optional
        The format of an earlier file of the same source. It has the words for a missing value,
        and the decimal mark where the file itself does not show it.

    Raises
    ------
    OSError
        If the file cannot be opened.
    TableError
        If it is damaged or of another kind.
    """
    usual = usual or TableFormat()
    form = replace(given, na_values=(*usual.na_values, *given.na_values))
    if form.encoding is None:
        form = replace(form, encoding=_encoding(path))
    lines = _first_lines(path, str(form.encoding))
    if form.sep is None:
        form = replace(form, sep=_separator(lines))
    columns = list(_number_columns(_records(lines, str(form.sep))[1:], form))
    if form.decimal is None:
        form = replace(form, decimal=_decimal(columns, form, usual.decimal))
    if form.thousands is None:
        form = replace(form, thousands=_thousands(columns, str(form.decimal)))
    return form


def canonical(form: TableFormat) -> Any:
    """Return a function that writes a number of a format as Python does, and leaves other cells.

    None if that changes nothing.
    """
    decimal, thousands = str(form.decimal), form.thousands
    if decimal == "." and not thousands:
        return None
    mark, group = re.escape(decimal), re.escape(thousands or "")
    whole = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)" if thousands else r"\d+"
    number = re.compile(rf"\s*[-+]?(?:{whole}(?:{mark}\d*)?|{mark}\d+)(?:[eE][-+]?\d+)?\s*")

    def written(cell: str) -> str:
        if number.fullmatch(cell) is None:
            return cell
        plain = cell.replace(thousands, "") if thousands else cell
        return plain.replace(decimal, ".")

    return written


def _encoding(path: str | os.PathLike[str]) -> str:
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
    if multibyte or b"\0" in block:
        return False
    try:
        block.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return True


def _first_lines(path: str | os.PathLike[str], encoding: str) -> list[str]:
    """Return the first lines of a file; the last one is left out if it is cut."""
    with opened(path) as file:
        data = file.read(PREFIX)
        cut = bool(file.read(1))
    text = data.decode(encoding, errors="replace")
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)  # as the reader of the whole file splits it
    return lines[:-1] if cut and len(lines) > 1 else lines


def _records(lines: Sequence[str], sep: str) -> list[list[str]]:
    """Return the first records with a cell, as far as they can be read."""
    reader = csv.reader(iter(lines), delimiter=sep)
    records: list[list[str]] = []
    with suppress(csv.Error):  # the reader of the whole file says what is wrong, and where
        records.extend(islice((row for row in reader if row), RECORDS))
    return records


def _separator(lines: Sequence[str]) -> str:
    """Return the separator that gives most records as many cells as the header, two at least.

    Among equals it is the one whose cells look most like numbers: ``1,5;2,5`` are two, not three.
    """
    ranks: list[tuple[float, float, str]] = []
    for sep in SEPARATORS:
        records = _records(lines, sep)
        width = len(records[0]) if records else 0
        if width < 2:
            continue
        rows = records[1:] or records
        fitting = sum(len(row) == width for row in rows) / len(rows)
        cells = [cell for row in rows for cell in row]
        alike = sum(NUMERAL.fullmatch(cell.strip()) is not None for cell in cells)
        ranks.append((fitting, alike / max(1, len(cells)), sep))
    if not ranks:  # a single column: what no cell holds, such as no comma among 1,5 and 2,5
        lone = (sep for sep in SEPARATORS if all(len(row) == 1 for row in _records(lines, sep)))
        return next(lone, ",")
    return max(ranks, key=lambda rank: (*rank[:2], -SEPARATORS.index(rank[2])))[2]


def _number_columns(rows: Sequence[Sequence[str]], form: TableFormat) -> Iterator[list[str]]:
    """Yield the cells of each column that holds numbers in some notation."""
    width = max(map(len, rows), default=0)
    for j in range(width):
        column = [row[j].strip() for row in rows if j < len(row)]
        cells = [cell for cell in column if not form.is_missing(cell)]
        alike = sum(NUMERAL.fullmatch(cell) is not None for cell in cells)
        if cells and alike >= MOSTLY * len(cells):
            yield cells


def _decimal(columns: Sequence[Sequence[str]], form: TableFormat, usual: str | None) -> str:
    """Return the decimal mark that most columns show.

    Columns that show neither, such as one of ``1,250``, go by `usual`, and then by the separator.
    """
    if form.thousands in DECIMALS:
        return "," if form.thousands == "." else "."
    votes = {mark: sum(_any(SURE[mark], column) for column in columns) for mark in DECIMALS}
    if any(votes.values()):  # among equals the comma, since numbers with a point are read as well
        return max(reversed(DECIMALS), key=votes.__getitem__)
    groups = {mark: _any_of(rf"[-+]?\d{{1,3}}(?:\{mark}\d{{3}}){{2,}}", columns) for mark in ",."}
    if groups["."] != groups[","]:
        return "," if groups["."] else "."
    if usual is not None:
        return usual
    unsure = _any_of(r"[-+]?\d{1,3},\d{3}", columns)
    return "," if unsure and form.sep != "," else "."


def _thousands(columns: Sequence[Sequence[str]], decimal: str) -> str:
    """Return the mark between groups of digits, an empty text for none."""
    end = rf"(?:\{decimal}\d+)?"
    for mark in THOUSANDS:
        number = rf"[-+]?[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+{end}"
        if mark == decimal or (mark in SURE and any(_any(SURE[mark], each) for each in columns)):
            continue
        if _any_of(number, columns):
            return mark
    return ""


def _any(pattern: re.Pattern[str], cells: Sequence[str]) -> bool:
    return any(pattern.fullmatch(cell) for cell in cells)


def _any_of(pattern: str, columns: Sequence[Sequence[str]]) -> bool:
    compiled = re.compile(pattern)
    return any(_any(compiled, cells) for cells in columns)
