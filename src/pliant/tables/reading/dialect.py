"""Detect the dialect of a CSV file from its first lines.

They tell its encoding and separator, whether lines stand before the header, whether the first line
holds names, and which rows hold none of the data.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Any, BinaryIO, TypeAlias, cast

from pliant.core.exceptions import TableError
from pliant.core.files import open_regular
from pliant.core.text import printable, quoted
from pliant.tables.reading.columns import MISSING, find_orders
from pliant.tables.reading.infer import TableFormat
from pliant.tables.reading.names import in_quotes

PathLike: TypeAlias = str | os.PathLike[str]

BLOCK = 1 << 20
"""Bytes per block, and maximum bytes per record; Arrow reads up to 32 blocks ahead."""

NUMERAL = re.compile(r"[-+]?[\d.,'’ \u00a0\u202f]*\d[\d.,]*(?:[eE][-+]?\d+)?")
"""Pattern of a cell that may be a number, in any notation."""


@contextmanager
def open_packed(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file, decompress gzip whatever its name, and convert errors to TableError."""
    name = quoted(path, 200)
    try:
        with open_regular(path) as file:
            packed = file.read(2) == b"\x1f\x8b"
        with cast(BinaryIO, (gzip.open if packed else open)(path, "rb")) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TableError(f"{name} is a truncated or damaged gzip file") from None
    except TableError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or printable(error)
        raise TableError(f"cannot read {name}: {reason}") from None


def marked_encoding(path: PathLike) -> str | None:
    """Return the encoding of the byte order mark, or None."""
    marks = {
        "utf-8-sig": (codecs.BOM_UTF8,),
        "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),  # begins like that of UTF-16
        "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    }
    with open_packed(path) as file:
        start = file.read(4)
    return next((name for name, bytes_ in marks.items() if start.startswith(bytes_)), None)


def detect_encoding(path: PathLike) -> str:
    """Return UTF-8 or cp1252.

    A file with valid non-ASCII characters before the first invalid byte is damaged UTF-8.
    """
    decoder, seen = codecs.getincrementaldecoder("utf-8")(), False
    with open_packed(path) as file:
        while block := file.read(BLOCK):
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                damaged = seen or not block.decode("utf-8", "ignore").isascii()
                return "utf-8" if damaged or b"\0" in block else "cp1252"
            seen = seen or not block.isascii()
    return "utf-8"


def detect_separator(path: PathLike, form: TableFormat) -> str:
    """Return the separator that splits the most records into as many cells as the header (>= 2).

    Ties go to the separator with the largest share of numeric cells: ``1,5;2,5`` has two cells.
    If none fits, lines before the header may be the reason.
    """
    scores, late, unused = dict[str, Any](), dict[str, Any](), list[str]()
    lines = _first_lines(path, form)
    for sep in (",", ";", "\t", "|", " "):
        if sep == " " and (scores or late):
            break
        rows = [row for _, row in _sniff(lines, replace(form, sep=sep))]
        rest = rows[1:] or rows
        cells = [cell for row in rest for cell in row]
        numbers = sum(NUMERAL.fullmatch(cell.strip()) is not None for cell in cells)
        numeric = numbers / max(1, len(cells))
        if rows and len(rows[0]) > 1:
            fitting = sum(len(row) == len(rows[0]) for row in rest) / len(rest)
            scores[sep] = (fitting, numeric)
        elif all(len(row) == 1 for row in rows):
            unused.append(sep)
        if rows and sep != " " and _count_short(rows):
            late[sep] = (numeric, len(rows[-1]))
    blanks = scores.pop(" ", (0.0, 0.0))
    if blanks[0] == 1.0 and blanks[1] >= 0.5:
        raise TableError(
            f"{quoted(path, 200)}: expected cells separated by a comma, semicolon, tab or |, got "
            "runs of blanks: set TableFormat(sep=' ') (TableFormat(sep=',') for one column)"
        )
    best = max(scores, key=scores.__getitem__, default=None)
    if late and (best is None or scores[best][0] < 0.5):
        return max(late, key=late.__getitem__)
    # for a single column, use a separator that no cell holds: not a comma for 1,5 and 2,5
    return best or [*unused, ","][0]


def is_data(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return True if the first line contains data instead of column names.

    Then every cell is a number, a date or a value that occurs at least twice in its column, or at
    least one cell is a decimal number.
    """
    cells = [(cell.strip(), k) for k, cell in enumerate(first) if cell.strip()]
    fraction = any(re.fullmatch(r"-?\d*[.,]\d+", cell) for cell, _ in cells)
    alike = all(
        NUMERAL.fullmatch(cell)
        or find_orders([cell])[0]
        or sum(row[k].strip() == cell for row in rest) > 1
        for cell, k in cells
    )
    return bool(cells) and (fraction or alike)


def rows_without_data(
    header: list[str], rest: Sequence[list[str]], form: TableFormat
) -> dict[str, list[list[str]]]:
    """Return rows to leave out wherever they occur: the header, and rows of units below it.

    In the columns that hold numbers below, rows of units hold words, the first at least two. The
    words of the format mean missing values.
    """
    first, *others = header  # each of several joined files may have a byte order mark
    headers = [[name, *others] for name in (first, f"\ufeff{first}", f'\ufeff"{first}"')]
    result, missing = {"equal to the header": headers}, {"", *MISSING, *form.na_values}
    gaps = [{*missing, *form.words.get(name, ())} for name in header]
    rows = [row for row in ([cell.strip() for cell in each] for each in rest) if row not in headers]
    for n_units in (1, 2):
        units = rows[:n_units]
        data = [row for row in rows[n_units:] if row not in units]
        columns = zip(zip(*data, strict=True), gaps, strict=False)  # none without data
        filled = [[cell for cell in cells if cell not in words] for cells, words in columns]
        numeric = [
            k for k, cells in enumerate(filled) if cells and all(map(NUMERAL.fullmatch, cells))
        ]
        names = [[row[k] for k in numeric if row[k] not in gaps[k]] for row in units]
        numbers = any(map(NUMERAL.fullmatch, chain(*names)))
        if len(data) >= 5 and all(names) and len(names[0]) > 1 and not numbers:
            result[f"below the header, with {in_quotes(names[0], 3)} for numbers"] = units
            break
    return result


def hint_at_skip(path: PathLike, form: TableFormat) -> str:
    """Return the remedy for lines before the header, or ""."""
    records = _sniff(_first_lines(path, form), form)
    if not (short := _count_short([row for _, row in records])):
        return ""
    return (
        f"; all later lines have {len(records[-1][1])} cells: "
        f"TableFormat(skip={records[short - 1][0]}) leaves out the lines before the header"
    )


def split_records(lines: Iterable[str], form: TableFormat, strict: bool = False) -> Any:
    """Return Python's csv reader of lines; runs of blanks are one separator."""
    if form.sep == " ":
        blanks = re.compile(r'("(?:[^"]|"")*")|[ \t]+')
        lines = (blanks.sub(lambda m: m[1] or " ", line.strip(" \t\r\n")) + "\n" for line in lines)
    return csv.reader(lines, delimiter=str(form.sep), strict=strict)


def _first_lines(path: PathLike, form: TableFormat) -> list[str]:
    """Return the complete lines of the first 256 KB."""
    with open_packed(path) as file:
        data = file.read(1 << 18)
        cut = bool(file.read(1))
    text = data.decode(str(form.encoding), errors="replace")
    lines = io.StringIO(text, newline="\n").readlines()
    return lines[:-1] if cut and len(lines) > 1 else lines


def _sniff(lines: Sequence[str], form: TableFormat) -> list[tuple[int, list[str]]]:
    """Return up to 1000 records, each with the number of its last line."""
    reader = split_records(lines[form.skip :], form)
    records: list[tuple[int, list[str]]] = []
    with suppress(csv.Error):  # the full read reports the error with its line
        records.extend(islice(((form.skip + reader.line_num, row) for row in reader if row), 1000))
    return records


def _count_short(rows: Sequence[list[str]]) -> int:
    """Return the number of first rows that have fewer cells than all later ones, or 0.

    A single row above data with one cell more is a header: R writes it so above row names.
    """
    width = len(rows[-1])
    short = next(k for k, row in enumerate(rows) if len(row) == width)
    before, names, data = rows[:short], rows[short], rows[short + 1 :]
    if not data or max(map(len, before), default=0) > width or any(len(r) != width for r in data):
        return 0
    clear = short > 1 or len(rows[0]) < width - 1 or not is_data(names, data)
    return short if clear else 0
