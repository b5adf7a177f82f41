"""Random tables: written as CSV and Parquet, read whole and in chunks, and used for fits.

The cells that are read equal those written. Reading whole and in chunks gives the same cells or
the same error, a `TableError` of one line. A model fitted to a table predicts the same values for
its rows, read whole or in chunks. A quarter of the cases damage a file, and a quarter also run
``pliant fit`` and ``pliant predict``, which succeed or print an error of one line.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from pliant import TableFeatures
from pliant.core.exceptions import TableError
from pliant.persistence import save
from pliant.tables import TableFormat, detect_format, iter_table, read_table
from pliant.tables.cli import main as pliant
from pliant.tables.cli.predict import TablePredictor
from pliant.tables.reading.schema import read_with_schema
from pliant.tables.reading.write import write_predictions

WORDS = ["good", "bad", "Fast", "slow", "red", "old", "cheap", "quiet", "naïve", "Straße"]
ODD_WORDS = [
    *("=1+1", "+x", "@sum", "-abc", "a,b", "a;b", 'q"q', "x\ny", " lead", "trail ", "0x10"),
    *("1_000", "1d5", "O'Brien", "<b>", "\u202eabc", "a\tb", "a|b", "none at all", "#"),
    *("漢字", "x" * 300, "nein", "\x1b[31m", "b\x85c", "a\u2028b", "1e5x", "--x", "…", "'"),
]
NAMES = ["size", "rooms", "town", "Größe", "price EUR", "x1", "note", "day", "flag", "zip", "id"]
ODD_NAMES = [
    *("=1+1", "a,b", "a;b", 'q"q', "x\ny", " lead", "n" * 400, "漢字", "\x1b[31mred", "1", "2024"),
    *("\u202eabc", "a\tb", "customer_id", "prediction", "low", "nan", "None", "a|b", "__class__"),
    *("key", "A", "a", "row (hash 3)", "day (year)", "index", "'", "-", "b\x85c", "a\u2028b"),
]
BAD_CELLS = ["inf", "-Infinity", "1e999", "1e200", "12345678901234567890123", "-1e-400", "007"]
BAD_CELLS += ["oops", "nan x", "1,2,3", "=1+1", "1_000", "\x1b[31m", "1,5", "1.250"]
DATE_FORMS = ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y", "%m/%d/%Y"]
DATE_FORMS += ["%Y/%m/%d", "%d %b %Y", "%d.%m.%Y %H:%M", "%B %d, %Y"]
NA_WORDS = ["", "", "NA", "n/a", "NaN", "null", "None", "?", "-", "N/A", " ", "."]
KINDS = ("float", "integer", "decimal", "few", "text", "date", "bool", "id", "constant", "empty")
NUMBERS = ("float", "integer", "decimal", "constant")

RAW = re.compile(
    r"codec|Errno|Error -|CRC check|pyarrow|Arrow|dtype|ufunc|object at 0x|Traceback"
    r"|NaTType|numpy|invalid literal|unhashable|datetime\.|out of bounds|Decimal\("
)
"""Words of low-level errors, which must not reach the user."""


@dataclass
class Field:
    """A column with its name and values; missing values are None.

    `form` is the date format, and `arrow` the type in Parquet; None means text.
    """

    name: str
    kind: str
    values: list[Any]
    arrow: pa.DataType | None
    form: str = ""

    def text(self, value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return f"{value:{self.form}}" if isinstance(value, datetime) else str(value)

    def array(self) -> pa.Array:
        """Return the values as an Arrow array."""
        if self.arrow is None:
            return pa.array([v and self.text(v) for v in self.values], pa.string())
        return pa.array(self.values, self.arrow)


def drawn_values(rng: np.random.Generator, kind: str, rows: int, words: list[str]) -> Field:
    """Draw a column of a kind without missing values and without a name."""
    arrow: Any = pa.string()
    match kind:
        case "float":
            scale = 10.0 ** float(rng.integers(-3, 6))
            values = ((rng.normal(size=rows) * scale).round(4) + 0.0).tolist()  # + 0.0 removes -0.0
            arrow = pa.float64()
        case "integer":
            low, high = [(0, 9), (-50, 2000), (10_000, 99_999), (0, 10**15)][rng.integers(4)]
            values, arrow = rng.integers(low, high, rows).tolist(), pa.int64()
        case "decimal":
            values = [Decimal(int(k)).scaleb(-3) for k in rng.integers(-99_999, 99_999, rows)]
            arrow = pa.decimal128(12, 3)
        case "few":
            some = rng.permutation(words)[: int(rng.integers(1, 6))].tolist()
            values = [some[k] for k in rng.integers(0, len(some), rows)]
        case "text":
            values = [f"good {' '.join(rng.choice(words, k))}" for k in rng.integers(1, 8, rows)]
        case "date":
            form = str(rng.choice(DATE_FORMS))
            start = datetime(int(rng.choice([1900, 1969, 1999, 2023])), 1, 1)
            days = [start + timedelta(days=float(k)) for k in rng.uniform(0, 5000, rows)]
            values = [datetime.strptime(f"{day:{form}}", form) for day in days]
            arrow = pa.timestamp("us") if form[1] == "Y" and rng.random() < 0.5 else None
            return Field("", kind, values, arrow, form)
        case "bool":
            values, arrow = (rng.random(rows) < 0.5).tolist(), pa.bool_()
        case "id":
            values = [f"A-{k:06}" for k in rng.permutation(rows)]
        case "constant":
            value, arrow = [(5, pa.int64()), (0.5, pa.float64()), ("same", pa.string())][
                rng.integers(3)
            ]
            values = [value] * rows
        case _:
            values, arrow = [None] * rows, [pa.float64(), pa.string(), pa.null()][rng.integers(3)]
    return Field("", kind, values, arrow)


def drawn_target(rng: np.random.Generator, rows: int) -> Field:
    """Draw real targets, or classes as strings, integers or booleans."""
    match int(rng.integers(4)):
        case 0:
            return Field("y", "float", rng.normal(size=rows).round(2).tolist(), pa.float64())
        case 1:
            words = np.array(["yes", "no", "may be"])[rng.integers(0, 3, rows)]
            return Field("y", "few", words.tolist(), pa.string())
        case 2:
            return Field("y", "bool", (rng.random(rows) < 0.5).tolist(), pa.bool_())
    top = int(rng.choice([2, 1000]))
    return Field("y", "integer", rng.integers(0, top, rows).tolist(), pa.int64())


class Table:
    """A random table and its file format."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.rows = rng, int(rng.choice([2, 5, 21, 30, 60, 220]))
        odd = bool(rng.random() < 0.4)
        words = [*WORDS, *(ODD_WORDS if odd else [])]
        self.columns = []
        for name in rng.permutation([*NAMES, *(ODD_NAMES if odd else [])])[: rng.integers(1, 7)]:
            column = drawn_values(rng, str(rng.choice(KINDS)), self.rows, words)
            column.name = str(name)
            if column.kind not in ("constant", "empty"):
                gone = rng.random(self.rows) < rng.choice([0, 0, 0.1, 0.6])
                column.values = [None if g else v for v, g in zip(column.values, gone, strict=True)]
            self.columns.append(column)
        self.columns.append(drawn_target(rng, self.rows))
        marks = [(".", ""), (".", ""), (",", ""), (",", "."), (".", ",")]
        self.decimal, self.thousands = marks[rng.integers(5)]
        encodings = ["utf-8", "utf-8", "utf-8-sig", "utf-16"]
        self.form = TableFormat(
            str(rng.choice([",", ";", "\t", "|"])), self.decimal, self.thousands,
            str(rng.choice(encodings)),
        )  # fmt: skip
        self.missing = [str(word) for word in rng.choice(NA_WORDS, 3)]
        self.chunk = int(rng.integers(1 + self.rows // 4, self.rows + 2))

    def cell(self, column: Field, row: int) -> str:
        """Return the text of a cell in the CSV file."""
        value = column.values[row]
        if value is None:  # words mark missing values in numeric columns only
            few = sum(each is None for each in column.values) < len(column.values) / 2
            return self.missing[row % 3] if column.kind in NUMBERS and few else ""
        text = column.text(value)
        if column.kind not in NUMBERS or isinstance(value, str):
            return text
        head, dot, tail = text.partition(".")
        if self.thousands and len(head.lstrip("-")) > 3 and head.lstrip("-").isdecimal():
            head = f"{int(head):,}".replace(",", self.thousands)
        return head + (self.decimal if dot else "") + tail

    def csv(self, changed: tuple[int, int, str] | None = None) -> bytes:
        """Return the CSV file, with an optional change of one cell: column, row and text."""
        file = io.StringIO()
        quoting = int(self.rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        writer = csv.writer(
            file, delimiter=self.form.sep, quoting=quoting,
            lineterminator=str(self.rng.choice(["\n", "\r\n"])),
        )  # fmt: skip
        writer.writerow([column.name for column in self.columns])
        for row in range(self.rows):
            cells = [self.cell(column, row) for column in self.columns]
            if changed and changed[1] == row:
                cells[changed[0]] = changed[2]
            writer.writerow(cells)
        return file.getvalue().encode(self.form.encoding)

    def parquet(self, path: Path) -> Path:
        table = pa.table([c.array() for c in self.columns], [c.name for c in self.columns])
        parquet.write_table(table, path, row_group_size=int(self.rng.integers(1, self.rows + 1)))
        return path


def case(seed: int, folder: Path) -> str | None:
    """Write a table, read it in all ways, and predict its rows, or read a damaged file."""
    rng = np.random.default_rng(seed)
    table = Table(rng)
    if rng.random() < 0.25:
        path = damaged(table, folder)
        frame = read(path, table)
        wrong = isinstance(frame, str) and frame.startswith("wrong: ")
        return frame if wrong else check_commands(table, path, folder) if seed % 4 == 0 else None
    path = folder / str(rng.choice(["t.csv", "t.csv.gz"]))
    data = table.csv()
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)
    for each in (path, table.parquet(folder / "t.parquet")):
        wrong = check_cells(table, each) or check_predictions(table, each, folder)
        wrong = wrong or (check_commands(table, each, folder) if seed % 4 == 0 else None)
        if wrong:
            return f"{each.suffix}: {wrong}"
    return None


def damaged(table: Table, folder: Path) -> Path:
    """Write a file with an unusual cell, changed bytes, or a missing end."""
    rng = table.rng
    place = int(rng.integers(len(table.columns))), int(rng.integers(table.rows))
    sort = int(rng.integers(4))
    name = ("t.csv", "t.csv", "t.csv.gz", "t.parquet")[sort]
    if name == "t.parquet":
        data = bytearray(table.parquet(folder / name).read_bytes())
    else:
        changed = (*place, str(rng.choice(BAD_CELLS))) if sort == 0 else None
        data = bytearray(table.csv(changed))
        data = bytearray(gzip.compress(data, 1)) if name == "t.csv.gz" else data
    if sort and rng.random() < 0.3:
        del data[int(rng.integers(len(data))) :]
    elif sort:
        for at in rng.integers(0, len(data), int(rng.integers(1, 6))):
            data[at] = int(rng.integers(0, 256))
    (folder / name).write_bytes(data)
    return folder / name


def attempt(action: Callable[[], Any]) -> Any:
    """Return the result of an action, or the message of its `TableError`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return action()
        except TableError as error:
            words = str(error)
    if " as Parquet: " not in words and (not words.isprintable() or RAW.search(words)):
        return f"wrong: raw words: {words}"
    return words


def known(words: str) -> str:
    """Return an error without the reason of a damaged Parquet file, which depends on the chunks."""
    return words.partition(" as Parquet: ")[0]


def read(path: Path, table: Table) -> Any:
    """Return the table, the message of an error, or "wrong: " and a reason."""
    whole = attempt(lambda: read_table(path, form=table.form))
    chunks = attempt(lambda: pd.concat(iter_table(path, table.chunk, table.form)))
    if isinstance(whole, str) or isinstance(chunks, str):
        same = isinstance(whole, str) and isinstance(chunks, str) and known(whole) == known(chunks)
        raw = next((e for e in (whole, chunks) if str(e).startswith("wrong: ")), None)
        return raw or (whole if same else f"wrong: whole {whole!s:.300}, in chunks {chunks!s:.300}")
    meant = attempt(lambda: read_with_schema(path, list(whole)[-1], form=table.form))
    return meant if isinstance(meant, str) and meant.startswith("wrong: ") else whole


def check_cells(table: Table, path: Path) -> str | None:
    """Compare the cells that are read with those written."""
    frame = read(path, table)
    if isinstance(frame, str):
        return None if "decimal=" in frame else f"cells: {frame}"
    if list(frame) != [c.name for c in table.columns] or len(frame) != table.rows:
        return f"shape: {list(frame)!r}, {len(frame)} rows"
    for column in table.columns:
        for row, cell in enumerate(frame[column.name]):
            if not same_cell(column, row, cell):
                return f"cells: {column.name!r}: {cell!r} for {column.values[row]!r}"
    return None


def check_predictions(table: Table, path: Path, folder: Path) -> str | None:
    """Compare predictions of a saved model for the whole table and for chunks."""
    found = attempt(lambda: read_with_schema(path, "y", form=table.form))
    if isinstance(found, str):
        return None
    frame, schema = found
    y = schema.target_values(frame)
    amounts = schema.target.task == "regression"
    if not amounts and len(set(y.tolist())) < 2:
        return None
    learner = Ridge() if amounts else LogisticRegression(max_iter=5)
    model = make_pipeline(TableFeatures(schema=schema), learner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame, y)
        save(model, folder / "m.pliant")
        predictor = TablePredictor(folder / "m.pliant")
        form = attempt(lambda: detect_format(path, table.form, predictor.reading))
        if isinstance(form, str):
            return f"its own table: {form}"
        out = folder / "out.csv"
        write_predictions(out, map(predictor, iter_table(path, table.chunk, form)))
        expected = model.predict(frame)
    written = pd.read_csv(out, dtype=str, keep_default_na=False)["prediction"]
    if amounts:
        same = np.allclose(written.astype(float), expected, rtol=1e-9, atol=1e-9)
    else:
        same = written.map(plain).tolist() == [plain(label) for label in expected]
    return None if same else f"predictions: {written.tolist()!r} and {expected!r}"


def check_commands(table: Table, path: Path, folder: Path) -> str | None:
    """Fit and predict on the command line; each command succeeds or prints an error of one line."""
    form, model, out = table.form, folder / "c.pliant", folder / "c.csv"
    marks = [f"--sep={form.sep}", f"--decimal={form.decimal}", f"--encoding={form.encoding}"]
    given = [] if path.suffix == ".parquet" else [*marks, f"--thousands={form.thousands}"]
    for words in (
        ["fit", path, "--target=y", "--method=linear", "--cv=0", "--out", model],
        ["predict", model, path, "--out", out],
    ):
        said = io.StringIO()
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(said):
            warnings.simplefilter("ignore")
            code = pliant([*map(str, words), *given])
        errors = re.findall(r"^Error: .*", said.getvalue(), re.MULTILINE)
        text = " ".join(errors).partition(" as Parquet: ")[0]
        clear = not text.startswith("Error: unexpected") and not RAW.search(text)
        if bool(code) != (len(errors) == 1) or not clear:
            return f"wrong: {words[0]} ended with {code}: {said.getvalue()[:300]!r}"
        if code:
            return None
    written = len(pd.read_csv(out, dtype=str, keep_default_na=False))
    read = len(read_table(path, form=form))
    return None if written == read else f"wrong: {written} predictions of {read} rows"


def plain(label: Any) -> str:
    """Return a label without control characters and the quote before a formula."""
    return "".join(c for c in str(label) if c.isprintable()).removeprefix("'")


def same_cell(column: Field, row: int, cell: Any) -> bool:
    """Return True if a cell equals the written value."""
    value = column.values[row]
    if value is None or pd.isna(cell):
        return value is None and bool(pd.isna(cell))
    if isinstance(value, bool):
        return str(cell).lower() == str(value).lower()
    if isinstance(value, datetime):
        return cell == column.text(value) or pd.Timestamp(cell) == pd.Timestamp(value)
    if isinstance(value, str) and isinstance(cell, str):
        return value == cell
    return math.isclose(float(value), float(cell), rel_tol=1e-15)
