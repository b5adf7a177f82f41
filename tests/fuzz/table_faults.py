"""Files with a fault: each ends in one clear line, the same however it is read, or is read."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from pliant.core.exceptions import TableError
from pliant.tables import TableSchema, detect_format, iter_table, read_table
from tests.fuzz.table_grammar import (
    Dialect,
    Field,
    csv_bytes,
    drawn_dialect,
    drawn_fields,
    write_parquet,
)

RAW = re.compile(
    r"codec|Errno|Error -|CRC check|parquet magic|pyarrow|Arrow|dtype|ufunc|object at 0x|Traceback"
    r"|NaTType|numpy|invalid literal|unhashable|datetime\.|out of bounds|Decimal\("
)
"""Words that come from below."""


def raw(words: str | None) -> str | None:
    """Return what is wrong with the words of an error or a warning."""
    if words is not None and " as Parquet: " in words:  # the reason is that of Arrow
        return None
    if words is not None and (not words.isprintable() or RAW.search(words)):
        return f"raw words: {words}"
    return None


def case(rng: np.random.Generator, folder: Path) -> str | None:
    """Damage a file, and read it."""
    damage = FAULTS[rng.integers(len(FAULTS))]
    path = damage(rng, folder)
    ended = {}
    for how, read in READERS.items():
        try:
            read(path)
            ended[how] = None
        except TableError as error:
            ended[how] = str(error)
    if len(set(ended.values())) > 1:
        return f"fault {damage.__name__}: {ended}"
    words = ended["chunks"]
    if words is not None:
        return raw(words)
    return _meant(path)


def _meant(path: Path) -> str | None:
    """What can be read can be understood, or is refused in one line."""
    frame = read_table(path)
    try:
        TableSchema.fit(frame, list(frame)[-1])
    except TableError as error:
        return raw(str(error))
    return None


def _chunked(path: Path) -> None:
    form = detect_format(path)
    for frame in iter_table(path, 3, form):
        assert len(frame) <= 3


READERS: dict[str, Callable[[Path], object]] = {"whole": read_table, "chunks": _chunked}


def _plain(rng: np.random.Generator) -> tuple[list[Field], Dialect]:
    """A table whose format can be detected."""
    many = int(rng.integers(2, 30))
    columns = [
        Field("measure", "float", (rng.normal(size=many).round(2) + 0.25).tolist(), pa.float64()),
        *drawn_fields(rng, many, False, False),
    ]
    dialect = drawn_dialect(rng, False, False)
    dialect.encoding, dialect.ending, dialect.quoting = "utf-8", "\n", 0
    return columns, dialect


def _put(folder: Path, data: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def gzip_damaged(rng: np.random.Generator, folder: Path) -> Path:
    data = bytearray(gzip.compress(csv_bytes(*_plain(rng)), 1))
    for at in rng.integers(10, len(data) - 4, 3):
        data[at] ^= int(rng.integers(1, 255))
    return _put(folder, bytes(data), "t.csv.gz")


def any_bytes(rng: np.random.Generator, folder: Path) -> Path:
    data = bytearray(csv_bytes(*_plain(rng)))
    for at in rng.integers(0, len(data), int(rng.integers(1, 6))):
        data[at] = int(rng.integers(0, 256))
    return _put(folder, bytes(data))


def any_characters(rng: np.random.Generator, folder: Path) -> Path:
    text = "".join(rng.choice(list('ab,;"\n\r\t1.é\ufeff\x85|- '), int(rng.integers(1, 200))))
    return _put(folder, text.encode(str(rng.choice(["utf-8", "utf-16", "utf-8-sig"]))))


def parquet_damaged(rng: np.random.Generator, folder: Path) -> Path:
    data = bytearray(_parquet(rng, folder).read_bytes())
    for at in rng.integers(4, len(data) - 4, int(rng.integers(1, 5))):
        data[at] ^= int(rng.integers(1, 256))
    return _put(folder, bytes(data), "u.parquet")


def _parquet(rng: np.random.Generator, folder: Path) -> Path:
    columns, _ = _plain(rng)
    return write_parquet(folder / "t.parquet", columns)


UNUSUAL: dict[str, tuple[pa.DataType, list[Any]]] = {
    "list": (pa.list_(pa.int64()), [[1], [], None, [2, 3]]),
    "struct": (pa.struct([("a", pa.int64())]), [{"a": 1}, None, {"a": 2}, {"a": None}]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [], None, [("b", 2)]]),
    "time": (pa.time64("us"), [time(1), time(2, 3), None, time(4)]),
    "duration": (pa.duration("s"), [timedelta(1), None, timedelta(2), timedelta(3)]),
    "binary": (pa.binary(), [b"a", None, b"\xff", b""]),
    "fixed binary": (pa.binary(2), [b"ab", None, b"\xff\0", b"cd"]),
    "decimal": (pa.decimal128(38, 9), [Decimal("1.5"), None, Decimal("1e20"), Decimal(0)]),
    "wide decimal": (pa.decimal256(70, 0), [Decimal(10) ** 60, None, Decimal(1), Decimal(2)]),
    "uint64": (pa.uint64(), [2**64 - 1, None, 0, 2**63]),
    "int64": (pa.int64(), [2**63 - 1, -(2**63), 0, 1]),
    "bool": (pa.bool_(), [True, None, False, True]),
    "null": (pa.null(), [None] * 4),
    "float16": (pa.float16(), [np.float16(1.5), None, np.float16("inf"), np.float16(0)]),
    "infinite": (pa.float64(), [np.inf, 1.0, np.nan, -np.inf]),
    "huge": (pa.float64(), [1e308, -1e308, 5e-324, 1.0]),
    "date": (pa.date32(), [date(1, 1, 1), None, date(9999, 12, 31), date(1969, 12, 31)]),
    "date64": (pa.date64(), [date(1, 1, 1), None, date(9999, 12, 31), date(1969, 12, 31)]),
    "far dates": (pa.timestamp("s"), [datetime(1, 1, 1), None, datetime(9999, 12, 31), None]),
    "farther dates": (pa.timestamp("s"), [10**13, None, -(10**13), 0]),
    "zones": (pa.timestamp("us", "Europe/Berlin"), [datetime(2024, 3, 31, k) for k in range(4)]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", None, "a"]),
    "numbers in a dictionary": (pa.dictionary(pa.int8(), pa.float64()), [1.5, 2.5, None, 1.5]),
    "dates in a dictionary": (pa.dictionary(pa.int8(), pa.date32()), [date(2024, 1, 1), None] * 2),
    "large": (pa.large_string(), ["a", "b" * 9999, None, "\0"]),
    "view": (pa.string_view(), ["a", "b", None, ""]),
    "surrogate": (pa.string(), ["a\ue000", "\U0010ffff", None, "\ufffe"]),
    "interval": (pa.month_day_nano_interval(), [(1, 2, 3), None, (0, 0, 1), (1, 1, 1)]),
}
"""Types of Parquet that CSV has not, and values that are at their limits."""


def unusual(rng: np.random.Generator, folder: Path) -> Path:
    rows = int(rng.integers(4, 30))
    arrays, names = [], []
    for name in rng.permutation(list(UNUSUAL))[: int(rng.integers(1, 3))]:
        kind, values = UNUSUAL[str(name)]
        cells = [values[k] for k in rng.integers(0, len(values), rows)]
        if pa.types.is_dictionary(kind):
            arrays.append(pa.array(cells, kind.value_type).dictionary_encode())
        else:
            arrays.append(pa.array(cells, kind))
        names.append(str(name))
    arrays.append(pa.array(rng.normal(size=rows)))
    table = pa.table(arrays, [*names, "y"])
    try:
        parquet.write_table(table, folder / "t.parquet", row_group_size=int(rng.integers(1, rows)))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return any_characters(rng, folder)
    return folder / "t.parquet"


FAULTS = (gzip_damaged, any_bytes, any_characters, parquet_damaged, unusual, unusual)
