"""Random tables, and how they are written as CSV and as Parquet.

One drawn column has one list of values. CSV has their texts in some dialect, Parquet the values in
some type of Arrow; what is read of both must be the same.
"""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from pliant.tables import TableFormat

WORDS = ["good", "bad", "Fast", "slow", "red", "old", "cheap", "quiet", "naïve", "Straße"]
ODD_WORDS = [
    *("=1+1", "+x", "@sum", "-abc", "a,b", "a;b", 'q"q', "x\ny", " lead", "trail ", "0x10"),
    *("1_000", "１", "1d5", "O'Brien", "<b>", "\u202eabc", "a\tb", "a|b", "none at all", "#"),
    *("漢字", "x" * 300, "nein", "\x1b[31m", "b\x85c", "a\u2028b", "1e5x", "--x", "…", "'"),
    "x\x0by",
]
NAMES = ["size", "rooms", "town", "Größe", "price EUR", "x1", "note", "day", "flag", "zip", "id"]
ODD_NAMES = [
    *("=1+1", "a,b", "a;b", 'q"q', "x\ny", " lead", "n" * 400, "漢字", "\x1b[31mred", "1", "2024"),
    *("\u202eabc", "a\tb", "customer_id", "prediction", "low", "nan", "None", "a|b", "__class__"),
    *("key", "A", "a", "row (hash 3)", "day (year)", "index", "'", "-", "b\x85c", "a\u2028b"),
]
SEPARATORS = (",", ";", "\t", "|")
DATE_FORMS = ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y", "%m/%d/%Y"]
DATE_FORMS += ["%d-%m-%Y", "%Y/%m/%d", "%d %b %Y", "%d.%m.%Y %H:%M", "%B %d, %Y"]
KINDS = ["float", "float", "integer", "integer", "few", "many", "text", "date", "bool", "id"]
KINDS += ["constant", "empty", "number id", "decimal"]
NA_WORDS = ["", "", "NA", "n/a", "NaN", "null", "None", "?", "-", "N/A", " ", "."]


@dataclass
class Field:
    """A column: its name and its values, None where one is missing.

    `form` is how its dates are written, `arrow` its type in Parquet; None stands for text.
    `written` has numbers that CSV has in a form of their own, by their rows.
    """

    name: str
    kind: str
    values: list[Any]
    arrow: pa.DataType | None
    form: str = "%Y-%m-%d"
    written: dict[int, str] = field(default_factory=dict)

    @property
    def texts(self) -> list[str | None]:
        """The values as plain text, as Python writes numbers."""
        return [
            None if value is None else self.written.get(row) or self.text(value)
            for row, value in enumerate(self.values)
        ]

    def text(self, value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, date):
            return f"{value:{self.form}}"
        return str(value)

    def rows(self, picks: Any) -> Field:
        """Some of the rows, in any order."""
        written = {k: self.written[row] for k, row in enumerate(picks) if row in self.written}
        return replace(self, values=[self.values[row] for row in picks], written=written)

    def changed(self, row: int, value: Any) -> Field:
        """The same column with another value in a row; a text makes all of them texts."""
        if isinstance(value, str) and self.kind in ("float", "integer", "number id"):
            try:
                if "_" in value:
                    raise ValueError(value)
                values = [v if v is None else float(v) for v in self.values]
                values[row] = float(value)
                return replace(self, values=values, arrow=pa.float64(), written={row: value})
            except ValueError:
                pass
        plain = isinstance(value, str) and not isinstance(self.values[row], str)
        values = list(self.texts) if plain else list(self.values)
        values[row] = value
        arrow = pa.string() if plain else self.arrow
        return replace(self, values=values, arrow=arrow, written={})


@dataclass
class Dialect:
    """How a CSV file is written."""

    sep: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    quoting: int = csv.QUOTE_MINIMAL
    ending: str = "\n"
    missing: list[str] = field(default_factory=lambda: [""])
    packed: bool = False
    truths: tuple[str, str] = ("false", "true")

    @property
    def format(self) -> TableFormat:
        return TableFormat(self.sep, self.decimal, self.thousands, self.encoding)

    def cell(self, column: Field, text: str | None, row: int) -> str:
        """The text of a cell, in this dialect."""
        if text is None:  # words for a missing value are known as such among numbers alone
            words = column.kind in ("float", "integer", "number id", "decimal")
            few = sum(value is None for value in column.values) < len(column.values) / 2
            return self.missing[row % len(self.missing)] if words and few else ""
        if text in ("true", "false") and isinstance(column.values[row], bool):
            return self.truths[text == "true"]
        if column.kind in ("float", "integer", "number id", "decimal", "constant"):
            return self.number(text)
        return text

    def number(self, text: str) -> str:
        """A number in this dialect; what is none stays."""
        try:
            float(text)
        except ValueError:
            return text
        head, dot, tail = text.partition(".")
        sign, digits = head[: head.startswith("-")], head.lstrip("-")
        if self.thousands and digits.isdecimal() and "e" not in text:
            head = sign + f"{int(digits):,}".replace(",", self.thousands)
        return head + (self.decimal if dot else "") + tail


def drawn_fields(rng: np.random.Generator, rows: int, odd: bool, western: bool) -> list[Field]:
    """Columns of a table, the last of which is the target ``y``."""
    names = [*NAMES, *(ODD_NAMES if odd else [])]
    count = int(rng.integers(1, 7))
    chosen = [str(name) for name in rng.permutation(names)[:count]]
    if western:
        chosen = [name for name in chosen if _is_western(name)] or ["size"]
    kinds = rng.choice(KINDS, len(chosen))
    columns = [
        drawn_field(rng, name, str(kind), rows, odd, western)
        for name, kind in zip(chosen, kinds, strict=True)
    ]
    goal = str(rng.choice(["float", "class", "integer class", "truth", "integer"]))
    return [*columns, drawn_target(rng, goal, rows)]


def drawn_target(rng: np.random.Generator, goal: str, rows: int) -> Field:
    """The target: amounts, or classes as texts, integers or truth values."""
    if goal == "class":
        words = np.array(["yes", "no", "may be"])[rng.integers(0, 3, rows)]
        return Field("y", "few", words.tolist(), pa.string())
    if goal == "truth":
        return Field("y", "bool", (rng.random(rows) < 0.5).tolist(), pa.bool_())
    if goal == "float":
        return Field("y", "float", rng.normal(size=rows).round(2).tolist(), pa.float64())
    top = 2 if goal == "integer class" else 1000
    return Field("y", "integer", rng.integers(0, top, rows).tolist(), pa.int64())


def drawn_field(
    rng: np.random.Generator, name: str, kind: str, rows: int, odd: bool, western: bool
) -> Field:
    """A column of a kind, perhaps with gaps."""
    column = VALUES[kind](rng, rows, odd, western)
    column.name = name
    share = rng.choice([0, 0, 0.1, 0.6]) if kind not in ("constant", "empty") else 0
    gone = rng.random(rows) < share
    column.values = [None if g else v for v, g in zip(column.values, gone, strict=True)]
    return column


def _floats(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    scale = 10.0 ** float(rng.integers(-3, 6))
    values = (rng.normal(size=rows) * scale).round(int(rng.integers(1, 5))) + 0.0  # no -0.0
    if rng.random() < 0.3:
        return Field("", "float", values.astype(np.float32).astype(float).tolist(), pa.float32())
    return Field("", "float", values.tolist(), pa.float64())


def _integers(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    low, high = [(0, 9), (-50, 2000), (10_000, 99_999), (0, 2), (0, 10**15)][rng.integers(5)]
    types = [pa.int64(), pa.float64()]
    types += [pa.uint64()] * (low >= 0) + [pa.int32()] * (high < 2**31) + [pa.int8()] * (high < 99)
    values = rng.integers(low, high, rows).tolist()
    return Field("", "integer", values, types[rng.integers(len(types))])


def _decimals(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    values = [Decimal(int(k)).scaleb(-3) for k in rng.integers(-99_999, 99_999, rows)]
    return Field("", "decimal", values, pa.decimal128(12, 3))


def _vocabulary(odd: bool, western: bool) -> list[str]:
    words = [*WORDS, *(ODD_WORDS if odd else [])]
    return [word for word in words if not western or _is_western(word)]


def _few(rng: np.random.Generator, rows: int, odd: bool, western: bool) -> Field:
    words = rng.permutation(_vocabulary(odd, western))[: int(rng.integers(1, 6))].tolist()
    if all(word in ("１",) for word in words):
        words.append("word")
    types = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
    values = [words[k] for k in rng.integers(0, len(words), rows)]
    if set(values) == {"１"}:
        values[0] = "good"
    arrow = types[rng.integers(3)] if len(set(values)) > 1 and len(set(values)) < 4 else types[0]
    return Field("", "few", values, arrow)


def _many(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    count = int(rng.choice([5, 40, max(rows // 2, 1), 10 * rows]))
    return Field("", "many", [f"t{k}" for k in rng.integers(0, count, rows)], pa.string())


def _texts(rng: np.random.Generator, rows: int, odd: bool, western: bool) -> Field:
    words = _vocabulary(odd, western)
    lengths = rng.integers(1, 8, rows)
    values = [" ".join(rng.choice(words, k)) for k in lengths]
    values[:1] = [f"good {value}" for value in values[:1]]
    return Field("", "text", values, [pa.string(), pa.large_string()][rng.integers(2)])


def _dates(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    form = str(rng.choice(DATE_FORMS))
    start = datetime(int(rng.choice([1900, 1969, 1999, 2023])), 1, 1)
    span = float(rng.choice([20, 400, 5000]))
    days = [start + timedelta(days=float(k)) for k in rng.uniform(0, span, rows)]
    values = [datetime.strptime(f"{day:{form}}", form) for day in days]
    types = [None]
    if form[1] in "YB" or "%b" in form:  # can be read without knowing the order
        types += [pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("ms")]
        types += [] if "%H" in form else [pa.date32()]
    return Field("", "date", values, types[rng.integers(len(types))], form)


def _truths(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    return Field("", "bool", (rng.random(rows) < 0.5).tolist(), pa.bool_())


def _ids(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    return Field("", "id", [f"A-{k:06}" for k in rng.permutation(rows)], pa.string())


def _number_ids(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    start = int(rng.choice([0, 1, 500]))
    values = np.arange(start, start + rows)[:: int(rng.choice([1, -1]))]
    return Field("", "number id", values.tolist(), pa.int64())


def _constants(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    value, arrow = [
        (5, pa.int64()),
        (0.5, pa.float64()),
        ("same", pa.string()),
        (True, pa.bool_()),
        (datetime(2024, 3, 1), pa.timestamp("us")),
    ][rng.integers(5)]
    return Field("", "constant", [value] * rows, arrow)


def _empties(rng: np.random.Generator, rows: int, *_: bool) -> Field:
    types = [pa.float64(), pa.string(), pa.null(), pa.timestamp("us"), pa.bool_()]
    return Field("", "empty", [None] * rows, types[rng.integers(len(types))])


VALUES = {
    "float": _floats,
    "integer": _integers,
    "decimal": _decimals,
    "few": _few,
    "many": _many,
    "text": _texts,
    "date": _dates,
    "bool": _truths,
    "id": _ids,
    "number id": _number_ids,
    "constant": _constants,
    "empty": _empties,
}


def drawn_dialect(rng: np.random.Generator, western: bool, sure: bool) -> Dialect:
    """A dialect; marks other than Python's only where a column is sure to show them."""
    sep = str(rng.choice(SEPARATORS))
    decimal, thousands = [(".", ""), (".", ""), (",", ""), (",", "."), (".", ","), (",", " ")][
        rng.integers(6) if sure else 0
    ]
    encodings = ["cp1252"] if western else ["utf-8", "utf-8", "utf-8-sig", "utf-16"]
    return Dialect(
        sep,
        decimal,
        thousands,
        str(rng.choice(encodings)),
        int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        str(rng.choice(["\n", "\r\n"])),
        [str(word) for word in rng.choice(NA_WORDS, 3)],
        bool(rng.random() < 0.2),
        [("false", "true"), ("False", "True"), ("FALSE", "TRUE")][rng.integers(3)],
    )


def csv_bytes(columns: list[Field], dialect: Dialect, names: list[str] | None = None) -> bytes:
    """The table as CSV, not packed."""
    file = io.StringIO()
    writer = csv.writer(
        file, delimiter=dialect.sep, quoting=dialect.quoting, lineterminator=dialect.ending
    )
    writer.writerow(names or [column.name for column in columns])
    texts = [
        [dialect.cell(column, text, row) for row, text in enumerate(column.texts)]
        for column in columns
    ]
    writer.writerows(zip(*texts, strict=True))
    return file.getvalue().encode(dialect.encoding)


def write_csv(
    path: Path, columns: list[Field], dialect: Dialect, names: list[str] | None = None
) -> Path:
    data = csv_bytes(columns, dialect, names)
    path.write_bytes(gzip.compress(data, 1) if path.name.endswith(".gz") else data)
    return path


def write_parquet(
    path: Path, columns: list[Field], groups: int | None = None, names: list[str] | None = None
) -> Path:
    table = pa.table([array_of(column) for column in columns], names or [c.name for c in columns])
    parquet.write_table(table, path, row_group_size=groups)
    return path


def array_of(column: Field) -> pa.Array:
    """The values of a column in its type."""
    if column.arrow is None:
        return pa.array(column.texts, pa.string())
    if pa.types.is_date32(column.arrow):
        return pa.array([v and v.date() for v in column.values], column.arrow)
    if pa.types.is_dictionary(column.arrow):
        return pa.array(column.values, pa.string()).dictionary_encode()
    return pa.array(column.values, column.arrow)


def _is_western(text: str) -> bool:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True
