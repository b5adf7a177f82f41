"""Numbers as instruments, banks and colleagues write them, in CSV files and data frames.

A column of numbers has marks in one cell, in some or in all: units, currencies, signs, limits,
durations. It is read as the numbers that were written, or refused in one sentence, or left as text
with a remark that quotes it; a later table in chunks is read like the whole one.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from pliant import TableFeatures
from pliant.core.exceptions import TableError
from pliant.tables import TableSchema, detect_format, iter_table
from pliant.tables.reading.schema import read_with_schema

Writer = Callable[[float, str], str]


def comma(text: str, mark: str) -> str:
    return text.translate(str.maketrans(",.", ".,")) if mark == "," else text


def plain(value: float, mark: str, form: str = "{}") -> str:
    return comma(form.format(value), mark)


MARKS: dict[str, Writer] = {
    "unit": lambda v, m: f"{plain(v, m)} ug/L",
    "glued unit": lambda v, m: f"{plain(v, m)}°C",
    "percent": lambda v, m: f"{plain(v, m)} %",
    "euro": lambda v, m: plain(v, m, "{:,.2f}") + " €",
    "dollar": lambda v, m: plain(v, m, "${:,.2f}").replace("$-", "-$"),
    "code of a currency": lambda v, m: f"USD {plain(v, m)}",
    "plus": lambda v, m: plain(v, m, "{:+}"),
    "zeros": lambda v, m: plain(v, m, "{:09.2f}"),
    "exponent": lambda v, m: plain(v, m, "{:+.12E}"),
    "Fortran": lambda v, m: plain(v, m, "{:.12E}").replace("E", "D"),
    "minus": lambda v, m: plain(v, m).replace("-", "\u2212"),
    "dash": lambda v, m: plain(v, m).replace("-", "\u2013"),
    "sign behind": lambda v, m: plain(abs(v), m) + "-" * (v < 0),
    "brackets": lambda v, m: f"({plain(-v, m)})" if v < 0 else plain(v, m),
    "invisible": lambda v, m: f"\u200b{plain(v, m)}\ufeff",
    "spaces": lambda v, m: f" {plain(v, m)}\u00a0",
    "limit": lambda v, m: f"<{plain(2 * abs(v), m)}",
    "India": lambda v, m: india(v) if m == "." else plain(v, m),
    "duration": lambda v, m: f"{abs(int(v))}:{abs(int(v)) % 60:02}",
    "version": lambda v, m: f"1.{abs(int(v))}.3",
    "letter": lambda v, m: f"{abs(int(v))}a",
    "other units": lambda v, m: f"{plain(v, m)} {['kg', 'g', 'mg'][int(abs(v)) % 3]}",
    "word": lambda v, m: f"{plain(v, m)} or so",
    "long": lambda v, m: f"{int(abs(v)) + 1}{'0' * 16}",
    "id": lambda v, m: f"{int(abs(v)):05}",
}
"""How a number is written, with its decimal mark."""

VALUES: dict[str, Callable[[float], float]] = {
    "limit": abs,
    "long": lambda v: (int(abs(v)) + 1) * 1e16,
    "id": lambda v: float(int(abs(v))),
}
"""The number that a mark stands for, if it is not the one written."""


SILENT = "silent: the column is no number, and nothing is said"


def india(value: float) -> str:
    """Return a number with groups as in 5,36,396.25."""
    head, _, tail = f"{abs(value):.2f}".partition(".")
    front, last = head[:-3], head[-3:]
    groups = [front[max(0, k - 2) : k] for k in range(len(front), 0, -2)][::-1]
    return "-" * (value < 0) + ",".join([*groups, last]) + f".{tail}"


def case(seed: int, folder: Path) -> str | None:
    """Write a column with marks, read it from a file or a frame, and compare."""
    rng = np.random.default_rng(seed)
    rows, name = int(rng.choice([12, 30, 60])), str(rng.choice([*MARKS]))
    top = float(rng.choice([9, 900, 9_000_000]))
    values = np.round(rng.uniform(-top, top, rows), 2)
    if rng.random() < 0.2:
        values = np.floor(values)
    marked = np.arange(rows) < [1, rows // 8, rows // 2, rows][rng.integers(4)]
    rng.shuffle(marked)
    decimal, meant = str(rng.choice([".", ","])), VALUES.get(name, float)
    pairs = [*zip(map(float, values), marked, strict=True)]
    cells = [(MARKS[name] if mark else plain)(value, decimal) for value, mark in pairs]
    truth = np.array([meant(value) if mark else value for value, mark in pairs])
    other = [plain(value, decimal) for value in rng.uniform(1, 9, rows).round(4)]
    columns = {"a": cells, "b": other, "y": cells[::-1] if seed % 5 == 0 else other}
    if seed % 3 == 2:
        found = check_frame({"a": cells, "b": other}, truth, rng)
    else:
        path = folder / "t.csv"
        path.write_bytes(written(columns, decimal, rng))
        found = check_file(path, truth)
    few = name == "duration" and len({*cells}) <= 20  # as ranges such as 40-49
    text = (name in ("letter", "word") and 2 * marked.sum() >= rows) or few
    return None if found == SILENT and text else found


def written(columns: dict[str, list[str]], decimal: str, rng: np.random.Generator) -> bytes:
    """Return a CSV file in a random dialect."""
    file, sep = io.StringIO(), str(rng.choice([";", "\t", "|", ","]))
    quoting = csv.QUOTE_ALL if rng.random() < 0.3 else csv.QUOTE_MINIMAL
    writer = csv.writer(file, delimiter=sep, quoting=quoting, lineterminator="\n")
    writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    encoding = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    try:
        return file.getvalue().encode(encoding)
    except UnicodeEncodeError:
        return file.getvalue().encode()


def check_file(path: Path, truth: np.ndarray) -> str | None:
    """Compare the column of a file, read whole and in chunks as a later table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frame, schema = read_with_schema(path, "y", task="regression")
        except TableError as error:
            return unclear(str(error))
        form = detect_format(path, usual=schema.reading)
        chunks = np.concatenate([schema.features(part) for part in iter_table(path, 7, form)])
    features = schema.features(frame)
    if not np.array_equal(chunks, features, equal_nan=True):
        return "chunks: other features than the whole table"
    return verdict(schema, features, truth, schema.remarks())


def check_frame(
    columns: dict[str, list[str]], truth: np.ndarray, rng: np.random.Generator
) -> str | None:
    """Compare the column of a data frame of pandas, Arrow or, if installed, polars."""
    frame: object = pd.DataFrame(columns)
    match int(rng.integers(3)):
        case 0:
            frame = pa.table(columns)
        case 1:
            try:
                import polars
            except ImportError:
                pass
            else:
                frame = polars.DataFrame(columns)
    encoder = TableFeatures(encode=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            features = encoder.fit_transform(frame)
        except TableError as error:
            return unclear(str(error))
    told = [*map(str, (each.message for each in caught)), *encoder.schema_.notes]
    return verdict(encoder.schema_, features, truth, told)


def unclear(message: str) -> str | None:
    """Return a finding unless an error is one line that quotes a column and a remedy."""
    remedies = ("=", "convert", "expected")
    clear = message.isprintable() and "'" in message and any(each in message for each in remedies)
    return None if clear else f"error: {message}"


def verdict(
    schema: TableSchema, features: np.ndarray, truth: np.ndarray, told: list[str]
) -> str | None:
    """Return a finding if the column is misread, or silently no column of numbers."""
    kinds = {column.name: column.kind for column in schema.columns}
    if kinds.get("a") == "numeric":
        read = features[:, schema.feature_names.index("a")]
        same = np.allclose(read, truth, rtol=1e-12, atol=0)
        return (
            None if same else f"misread: {read[read != truth][:3]} for {truth[read != truth][:3]}"
        )
    return None if any("'a'" in text for text in told) else SILENT
