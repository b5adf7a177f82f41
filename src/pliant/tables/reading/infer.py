"""Infer the numeric columns and the decimal mark of a table from all its cells of text.

Every chunk of every CSV file, and every text column of a data frame, adds to the evidence for each
column. Ambiguous cells are never guessed silently: the error names the option for each reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.parameters import check_choice, check_integer
from pliant.core.text import count, quoted
from pliant.core.typing import Array
from pliant.tables.reading.columns import MISSING, parse_float
from pliant.tables.reading.names import collect, from_json, in_quotes, require, row_name, to_json
from pliant.tables.reading.numerals import (
    DECIMALS,
    FACTORS,
    NOTATIONS,
    TEXT_NOTATIONS,
    THOUSANDS,
    clean,
    read_numeral,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NumberKind: TypeAlias = Literal["integer", "number", "code"]
"""Kind of a numeric column; "code" allows integers with a plus sign or a leading zero."""

PROOFS = {".": ("point", "grouped_point", "commas"), ",": ("comma", "grouped_comma", "points")}
AMBIGUOUS = ("either_point", "either_comma")
GROUPED_INTEGERS = ("commas", "points", "spaced", "address")
"""In order: notations that prove each decimal mark, ambiguous notations, and integers with
unambiguous thousands separators."""

MIN_SHARE = 0.9
"""Minimum share of numbers for which the few other cells are an error, not a column of text."""

POINT = r"^-?(?:0?\.\d+|[1-9]\d*\.(?:\d{0,2}|\d{4,})|[1-9]\d{3,}\.\d+)(?:[eE][-+]?\d+)?$"
COMMON = {
    "point": POINT,
    "integer": r"^-?(?:0|[1-9]\d{0,14})$",
    "comma": POINT.replace(r"\.", ","),
    **{name: f"^{NOTATIONS[name]}$" for name in AMBIGUOUS},
}
"""Patterns of the most common notations, which Arrow counts without Python loops."""

DISTINCT = re.compile(r"^\W*[^\W\d]|[^\W\d]\^?-?\d|\.\d+\.\d+\.")
ONES = dict.fromkeys(b"23456789", "1")
"""Texts in which each digit matters: words, powers of units, addresses; others look alike if they
differ in digits from 1 to 9."""


@dataclass(frozen=True)
class TableFormat:
    """Format of a CSV file; options that are None are detected.

    For Parquet and LIBSVM files, `sep`, `encoding`, `header` and `skip` are refused.

    Parameters
    ----------
    sep : str, optional
        One character, ``tab``, or ``space`` for any run of blanks.
    decimal : {".", ","}, optional
        The decimal mark.
    thousands : str, optional
        The thousands separator; an empty string if there is none.
    encoding : str, optional
        For example ``utf-8``, ``utf-16`` or ``cp1252``.
    na_values : sequence of str, default=()
        Cell values to read as missing, in addition to empty cells.
    header : bool, optional
        True if the first line holds the column names, False to name the columns ``column 1`` and
        so on. None means True, with a warning if the first line looks like data.
    skip : int, default=0
        Number of lines before the header, >= 0.
    texts : sequence of str, default=()
        Columns to read as text, exactly as written.
    numbers : mapping of str to {"integer", "number", "code"}, optional
        Numeric columns; all others are text. Those with "code" also hold integers with a plus sign,
        a leading zero or more than 15 digits.
    words : mapping of str to tuple of str
        Words read as missing values, by numeric column.
    units : mapping of str to str
        The currency, percent sign or unit of the numbers, by numeric column.
    limits : mapping of str to str
        The first cell that is a limit, such as ``<0.3``, by numeric column.
    notes : tuple of str, default=()
        Remarks on how numbers were read, and counts of words read as missing values.
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    na_values: tuple[str, ...] = ()
    header: bool | None = None
    skip: int = 0
    texts: tuple[str, ...] = ()
    numbers: Mapping[str, NumberKind] | None = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = {"tab": "\t", "\\t": "\t", "space": " "}
        for name in ("sep", "thousands"):
            mark = getattr(self, name)
            object.__setattr__(self, name, names.get(mark, mark))
        for name in ("na_values", "texts", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "words", {k: tuple(v) for k, v in self.words.items()})
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n'):
            raise ValueError(f"expected a one-character sep=..., got {quoted(self.sep)}")
        check_integer("skip", self.skip, least=0)
        check_choice("decimal", "." if self.decimal is None else self.decimal, DECIMALS)
        check_choice("thousands", self.thousands or " ", THOUSANDS)
        if self.thousands and self.thousands == self.decimal:
            got = quoted(self.decimal)
            raise ValueError(
                f"expected different decimal=... and thousands=..., got {got} for both"
            )
        try:
            "a,b".encode("utf-8" if self.encoding is None else self.encoding)
        except (LookupError, ValueError):
            raise ValueError(
                "expected an encoding (encoding=...) such as utf-8, utf-16 or cp1252, "
                f"got {quoted(self.encoding)}"
            ) from None

    @cached_property
    def missing_numbers(self) -> frozenset[float]:
        """Numbers in `na_values`; any notation of them counts as missing."""
        return frozenset(value for value in map(parse_float, self.na_values) if value == value)

    @property
    def described(self) -> str:
        """Description of the non-default options, such as ``decimal comma``; may be empty."""
        names = {"\t": "tab", " ": "space", "\u00a0": "space", "\u202f": "space"}
        sep, thousands = (names.get(m or "", quoted(m)) for m in (self.sep, self.thousands))
        options = [
            (self.sep not in (None, ","), f"separator {sep}"),
            (self.decimal == ",", "decimal comma"),
            (bool(self.thousands), f"thousands {thousands}"),
            (self.encoding not in (None, "utf-8", "utf-8-sig"), f"encoding {self.encoding}"),
            (self.header is False, "columns named by position"),
            (self.skip > 0, f"{count(self.skip, 'line')} skipped"),
        ]
        return ", ".join(text for unusual, text in options if unusual)

    def to_dict(self) -> dict[str, Any]:
        """Return the format as JSON data."""
        return to_json(self)

    @classmethod
    def from_dict(cls, state: object) -> TableFormat:
        """Create a format from the output of `to_dict`; raise TableError for any other data."""
        form: TableFormat = from_json(cls, state, "format of a table")
        return form


def described_format(form: TableFormat) -> list[str]:
    """Describe any unusual parts of a file's format, in at most one line."""
    return [f"read with {form.described}"] if form.described else []


class Contradiction(NamedTuple):
    """A reason to read a column as text, an example with its row, and the number of such cells."""

    reason: str
    example: tuple[str, str]
    cells: int


@dataclass
class ColumnEvidence:
    """Number notations, marks and words found in the cells of one column."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)
    separators: set[str] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)

    def add(self, cells: pa.Array, row: int) -> None:
        """Add the cells of a chunk that starts at the 0-based row `row`."""
        import pyarrow.compute as pc

        def name_row(text: str) -> str:
            return f"row {row + pc.index(cells, text).as_py() + 1}"

        others = cells.drop_null()
        self.counts["empty"] += len(cells) - len(others)
        for pattern in COMMON.values():
            found = pc.match_substring_regex(others, pattern)
            if times := pc.sum(found).as_py():
                first = others[pc.index(found, True).as_py()].as_py()
                self.add_text(first, times, name_row)
                others = others.filter(pc.invert(found))
        counts = pc.value_counts(others)
        self.add_texts(zip(*(part.to_pylist() for part in counts.flatten()), strict=True), name_row)

    def add_texts(self, texts: Iterable[tuple[str, int]], name_row: Callable[[str], str]) -> None:
        """Add distinct texts with their counts; one text stands for all that look alike."""
        alike: dict[str, tuple[str, int]] = {}
        for text, times in texts:
            shape = text if DISTINCT.search(text) else text.translate(ONES)
            first, before = alike.get(shape, (text, 0))
            alike[shape] = (first, before + times)
        for first, times in alike.values():
            self.add_text(first, times, name_row)

    def add_text(self, text: str, times: int, name_row: Callable[[str], str]) -> None:
        """Count a text under its notation and marks, or as a word; store the first examples."""
        word, number = clean(text), read_numeral(text)
        notation = number.notation if number else "word" if word else "empty"
        keys = [notation]
        if number:
            marks = {number.mark, *number.limit, *("(" if number.bookish else "")}
            keys += [f"mark {mark}" for mark in marks]
            self.marks.update(dict.fromkeys(marks, times))
            if notation.startswith(("grouped", "either")) or notation in GROUPED_INTEGERS:
                self.separators |= set(number.digits) & set(THOUSANDS)
            if notation in GROUPED_INTEGERS:
                self.lengths.add(len(number.digits.lstrip("+-")))
        elif word:
            notation = "missing" if word in MISSING else "word"
            if text.strip() in self.words or len(self.words) < 50:  # for messages
                self.words[text.strip()] += times
                keys = [f"word {text.strip()}"]
        self.counts[notation] += times
        for key in keys:
            if key not in self.examples:
                self.examples[key] = (text, name_row(text))

    @property
    def units(self) -> list[str]:
        """The currencies, percent signs and units, the most frequent one first."""
        return [mark for mark, _ in self.marks.most_common() if mark not in ("", "<", ">", "(")]

    @property
    def is_measured(self) -> bool:
        """True if a number has a point, a comma, an exponent or groups of digits."""
        exact = ("integer", "code", "infinite", "address", *TEXT_NOTATIONS)
        return any(self.counts[name] for name in NOTATIONS if name not in exact)

    @property
    def is_mostly_numeric(self) -> bool:
        """True if numbers outnumber other cells, and are not nearly all limits."""
        numbers = sum(self.counts[name] for name in NOTATIONS if name not in TEXT_NOTATIONS)
        others = sum(self.counts[name] for name in ("word", *TEXT_NOTATIONS))
        return numbers > others and self.marks["<"] + self.marks[">"] <= MIN_SHARE * numbers

    @property
    def may_be_numeric(self) -> bool:
        """True if numbers outnumber words, none is a code, and nearly all have one unit."""
        codes = [*TEXT_NOTATIONS, *([] if self.is_measured else ["code"])]
        coded = any(map(self.counts.get, codes))
        strange = sum(self.marks[unit] for unit in self.units[1:])
        alike = strange <= (1 - MIN_SHARE) * (self.marks.total() - strange)
        return self.is_mostly_numeric and not coded and alike

    def example(self, *notations: str) -> str:
        """Quote the column name and an example of the first notation found."""
        text = next(self.examples[name][0] for name in notations if name in self.examples)
        return f"{quoted(self.name)} (as in {quoted(text)})"

    def contradiction(self, form: TableFormat, usual: TableFormat | None) -> Contradiction | None:
        """Return the reason to read the column as text, or None if it is numeric.

        With `usual`, only the codes and the unit of the training column are numbers.
        """
        found, decimal = [name for name in self.counts if name in NOTATIONS], str(form.decimal)
        kinds = {} if usual is None else usual.numbers or {}
        coded = self.is_measured if usual is None else kinds.get(self.name) == "code"
        for name in (*TEXT_NOTATIONS, *([] if coded else ["code"])):
            if name in found:
                return self._because("is not a plain number", name)
        grouped = form.thousands == "." or {"points", "grouped_comma"} & {*found}
        if "address" in found and not grouped:
            text = "may be an IP address (thousands=... reads it as a number)"
            return self._because(text, "address")
        common = {"integer", "code", "infinite", "power", "spaced", *AMBIGUOUS, *PROOFS[decimal]}
        common |= {"address"} if decimal == "," else set()
        if foreign := [name for name in found if name not in common]:
            return self._because(
                f"is not a number with the decimal mark {quoted(decimal)}", *foreign
            )
        groups = [name for name in GROUPED_INTEGERS if name in found]
        if form.thousands is not None and self.separators - {decimal, form.thousands}:
            spread = [name for name in found if name.startswith(("grouped", "either"))]
            text = f"has a thousands separator that is not {quoted(form.thousands)}"
            return self._because(text, *groups, *spread)
        alike = len(self.lengths) == 1 and len(groups) == len(found)
        if (
            usual is None
            and form.thousands is None
            and alike
            and not (self.counts["commas"] or self.units)
            and len(re.findall(r"\d+", self.examples[groups[0]][0])) > 2
        ):
            text = "may be a phone number (thousands=... reads it as a number)"
            return self._because(text, *groups)
        return self._unlike_mark(None if usual is None else usual.units.get(self.name, ""))

    def _unlike_mark(self, known: str | None) -> Contradiction | None:
        """Return a contradiction of the marks with the known one, by default the most frequent."""
        known = next(iter(self.units), "") if known is None else known
        if others := [f"mark {unit}" for unit in self.units if unit != known]:
            expected = f"the mark {quoted(known)}" if known else "no mark"
            return self._because(f"differs from numbers with {expected}", *others)
        if known in FACTORS and self.marks[""]:  # 22 % may be 22 or .22
            fewer = min((known, ""), key=lambda mark: self.marks[mark] or np.inf)
            verb = "has" if fewer else "lacks"
            return self._because(f"{verb} the mark {quoted(known)}, unlike others", f"mark {fewer}")
        return None

    def _because(self, text: str, *keys: str) -> Contradiction:
        example = next(self.examples[key] for key in keys if key in self.examples)
        cells = sum(self.counts[key] + self.marks[key.removeprefix("mark ")] for key in keys)
        return Contradiction(f"{quoted(example[0])} {text}", example, cells)


def gather_evidence(
    tables: Iterable[pa.Table], form: TableFormat, wanted: Iterable[str] | None = None
) -> list[ColumnEvidence]:
    """Collect evidence from all chunks for each column, except declared text columns."""
    result: dict[str, ColumnEvidence] = {}
    row, selected = 0, None if wanted is None else set(wanted)
    for table in tables:
        for name in table.column_names:
            if name not in form.texts and (selected is None or name in selected):
                cells = table.column(name).combine_chunks()
                if form.na_values:  # blanks may surround them
                    cells = set_missing(cells, form, form.na_values)
                result.setdefault(name, ColumnEvidence(name)).add(cells, row)
        row += table.num_rows
    return list(result.values())


def infer_format(
    columns: Sequence[ColumnEvidence], form: TableFormat, usual: TableFormat | None = None
) -> TableFormat:
    """Infer the decimal mark and the numeric columns; check them against `usual` if given."""
    fixed = usual if usual is not None and usual.numbers is not None else None
    candidates = [column for column in columns if column.may_be_numeric]
    form = replace(form, decimal=form.decimal or _infer_decimal(candidates, form, usual))
    notes, numbers, words = list[str](), dict[str, NumberKind](), dict[str, tuple[str, ...]]()
    separators, units, limits = set[str](), dict[str, str](), dict[str, str]()

    def decide(column: ColumnEvidence) -> None:
        name, found = column.name, column.contradiction(form, fixed)
        known = () if usual is None else usual.words.get(name, ())
        new = [word for word in column.words if clean(word) not in MISSING and word not in known]
        if fixed is not None:
            _check_usual(column, found, new)
        elif found is not None:
            _check_mixture(column, found, new)
            if column.may_be_numeric or (column.is_mostly_numeric and column.is_measured):
                notes.append(f"column {quoted(name)} is read as text: {found.reason}")
            return
        elif not column.may_be_numeric:
            return
        else:
            _check_mixture(column, None, new)
        notes.extend(_describe_numbers(column, new, fixed))
        whole = {each for each, times in column.counts.items() if times} == {"integer"}
        whole = whole and not (column.units or column.marks["<"] or form.missing_numbers)
        numbers[name] = "integer" if whole else "code" if column.counts["code"] else "number"
        if known or new:
            words[name] = (*known, *new)
        if column.units:
            units[name] = column.units[0]
        for mark in "<>":
            if column.marks[mark]:
                limits.setdefault(name, column.examples[f"mark {mark}"][0])
        separators.update(column.separators - {str(form.decimal)})

    collect(columns, decide)
    thousands = form.thousands if form.thousands is not None else min(separators, default="")
    form = replace(form, thousands=thousands, numbers=numbers, notes=tuple(notes))
    return replace(form, words=words, units=units, limits=limits)


def _check_usual(column: ColumnEvidence, found: Contradiction | None, words: Sequence[str]) -> None:
    """Raise TableError if the cells do not fit a numeric column of the training table."""
    name = quoted(column.name)
    keys = [*TEXT_NOTATIONS, *(f"word {word}" for word in words)]
    for text, row in (column.examples[key] for key in keys if key in column.examples):
        raise TableError(
            f"column {name}: expected a number in {row}, got {quoted(text)}: correct it or read it "
            f"as missing (na_values=[{quoted(text)}])"
        )
    if found is not None:
        raise TableError(
            f"column {name}: expected numbers as in training, but {found.reason}: correct it, or "
            "read it as missing (na_values=[...])"
        )


def _check_mixture(
    column: ColumnEvidence, found: Contradiction | None, words: Sequence[str]
) -> None:
    """Raise TableError if few cells of a column of numbers are no numbers of this column.

    Up to three words without digits are missing values.
    """
    name, cells = quoted(column.name), column.counts.total() - column.counts["empty"]
    if found is not None:
        clear = column.is_mostly_numeric and (column.is_measured or column.units)
        if not clear or found.cells > (1 - MIN_SHARE) * cells:
            return
        (text, row), remedy = found.example, "correct it, read it as missing"
        what = f"{found.reason} (in {row}): {remedy} (na_values=[{quoted(text)}])"
    elif len(words) > 3 or any(re.search(r"\d", word) for word in words):
        row = column.examples[f"word {words[0]}"][1]
        remedy = "read them as missing (na_values=[...])"
        what = f"also {in_quotes(words, 10)}, the first in {row}: {remedy}"
    else:
        return
    raise TableError(
        f"column {name} holds numbers, but {what}, treat the column as categories "
        f"(categorical=[{name}]), or leave it out (drop=[...])"
    )


def _describe_numbers(
    column: ColumnEvidence, words: Sequence[str], usual: TableFormat | None
) -> list[str]:
    """Return notes on cells that are read as missing values or without their marks."""
    readings = {"<": "as half the limit", ">": "as the limit"}
    readings = {} if usual is not None and column.name in usual.limits else readings
    if usual is None:
        readings["("] = "as negative numbers"
        readings |= {unit: f"without {quoted(unit)}" for unit in column.units}
    notes = [
        f"{count(column.words[word], 'cell')} {quoted(word)} read as missing"
        for word in sorted(column.words, key=words.__contains__)
    ] + [
        f"{count(times, 'cell')} such as {quoted(column.examples[f'mark {mark}'][0])} read {how}"
        for mark, how in readings.items()
        if (times := column.marks[mark])
    ]
    return [f"column {quoted(column.name)}: {note}" for note in notes]


def _infer_decimal(
    columns: Sequence[ColumnEvidence], form: TableFormat, usual: TableFormat | None
) -> str:
    """Infer the decimal mark from the cells of all columns.

    In a comma-separated file, cells such as ``"1,2"`` may be lists and prove nothing.
    """
    if form.thousands in DECIMALS:
        return "," if form.thousands == "." else "."
    proofs = {
        mark: [each for each in columns if any(map(each.counts.get, PROOFS[mark]))]
        for mark in DECIMALS
    }
    point, comma = (
        ", ".join(each.example(*PROOFS[mark]) for each in proofs[mark][:3]) for mark in DECIMALS
    )
    before = None if usual is None else usual.decimal
    result = "." if point else "," if comma else None
    if point and comma and form.sep != ",":
        raise TableError(
            f"expected one decimal mark, got a point in column {point} and a comma in {comma}: "
            f"{_choose_decimal(form)}"
        )
    certain = before == "," or any(each.counts["grouped_comma"] for each in proofs[","])
    if result == "," and form.sep == "," and not certain:
        raise TableError(
            f"column {comma} may hold decimal commas or lists, since the file is comma-separated: "
            "set TableFormat(decimal=',') or, to read the column as text, TableFormat(decimal='.')"
        )
    ambiguous = [each for each in columns if any(map(each.counts.get, AMBIGUOUS))]
    if result is None and ambiguous:
        if usual is not None and before is not None and usual.sep in (None, form.sep):
            return before
        points = any(each.counts["either_point"] for each in ambiguous)
        if points or form.sep not in (",", ";"):
            examples = ", ".join(each.example(*AMBIGUOUS) for each in ambiguous[:10])
            raise TableError(
                f"the mark in column {examples} may be a decimal mark or a thousands "
                f"separator: {_choose_decimal(form)}"
            )
        result = "," if form.sep == ";" else "."
    if result is not None and before is not None and result != before:
        column = (proofs[result] or ambiguous)[0].example(*PROOFS[result], *AMBIGUOUS)
        raise TableError(
            f"the model was fitted to numbers with the decimal mark {quoted(before)}, but "
            f"column {column} has {quoted(result)}: set TableFormat(decimal='{result}') or "
            f"TableFormat(decimal='{before}')"
        )
    return result or before or "."


def _choose_decimal(form: TableFormat) -> str:
    """Return the advice for an ambiguous decimal mark; data frames have no separator."""
    if form.sep:
        return "set TableFormat(decimal='.') or TableFormat(decimal=',') (or texts=[...] for text)"
    return "convert the columns to numbers (or categorical=[...] for text)"


def convert(table: pa.Table, form: TableFormat) -> pa.Table:
    """Parse the numeric columns of a chunk of text; missing values become null."""
    columns, kinds = [], form.numbers or {}
    for name in table.column_names:
        cells = table.column(name).combine_chunks()
        if name in kinds:
            cells = _parse_numbers(cells, form, name)
        cells = set_missing(cells, form, ["", *form.na_values])
        whole = kinds.get(name) == "integer" and not cells.null_count
        columns.append(cells.cast("int64") if whole else cells)
    return require("pyarrow").table(columns, table.column_names)


def set_missing(
    cells: pa.Array | pa.ChunkedArray, form: TableFormat, words: Sequence[str]
) -> pa.Array | pa.ChunkedArray:
    """Replace the words in text cells, or the format's missing numbers in others, with null."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    types = pa.types
    values = cells.cast(cells.type.value_type) if types.is_dictionary(cells.type) else cells
    if types.is_string(values.type) or types.is_large_string(values.type):
        gaps = pc.is_in(pc.utf8_trim_whitespace(values), value_set=pa.array(words, values.type))
    elif form.missing_numbers and any(
        is_kind(values.type) for is_kind in (types.is_integer, types.is_floating, types.is_decimal)
    ):
        numbers = pa.array(sorted(form.missing_numbers), pa.float64())
        gaps = pc.is_in(pc.cast(values, pa.float64(), safe=False), value_set=numbers)
    else:
        return cells
    return pc.if_else(gaps, None, cells) if pc.any(gaps).as_py() else cells


def _parse_numbers(cells: pa.Array, form: TableFormat, name: str) -> pa.Array:
    """Parse text cells as numbers; missing values become null."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    if form.decimal == "." or not pc.any(pc.match_substring(cells, ".")).as_py():
        with suppress(pa.ArrowInvalid):
            points = cells if form.decimal == "." else pc.replace_substring(cells, ",", ".")
            values = pc.cast(points, pa.float64())
            if pc.all(pc.is_finite(values)).as_py() is not False:
                return values
    cells = pc.utf8_trim_whitespace(cells)
    missing = {"", *MISSING, *form.words.get(name, ()), *form.na_values}
    gaps = pc.is_in(cells, value_set=pa.array(sorted(missing), pa.string()))
    cells = pc.if_else(gaps, None, cells)
    others = "".join(mark for mark in THOUSANDS if mark != form.decimal)
    unit = re.escape(form.units.get(name, ""))
    plain = pc.replace_substring_regex(cells, f"^{unit}|{unit}$|[{re.escape(others)}]", "")
    plain = pc.replace_substring(plain, str(form.decimal), ".")
    marked = pc.invert(pc.match_substring_regex(plain, r"^-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$"))
    values = pc.cast(pc.if_else(marked, None, plain), pa.float64())
    texts = cells.filter(marked)
    few = (texts.slice(start, 65_536) for start in range(0, len(texts), 65_536))  # texts of Python
    parts = [_parse_texts(part.to_pylist(), form, name) for part in few]
    found = pa.array(np.concatenate([np.empty(0), *parts]), from_pandas=True)
    return pc.replace_with_mask(values, pc.fill_null(marked, False), found)


def _parse_texts(texts: Iterable[str], form: TableFormat, name: str) -> Array:
    """Return the numbers in texts of a numeric column, NaN for missing values."""
    missing, decimal = {"", *MISSING, *form.words.get(name, ()), *form.na_values}, str(form.decimal)

    def parse(text: str) -> float:
        if text.strip() in missing or clean(text) in missing:
            return np.nan
        if number := read_numeral(text):
            return number.value(decimal)
        raise TableError("the file changed while it was read: expected the same cells")

    return np.array([parse(text) for text in texts], dtype=np.float64)


# Data frames


def read_frame(
    frame: pd.DataFrame, names: Iterable[str], form: TableFormat, usual: TableFormat | None = None
) -> tuple[pd.DataFrame, TableFormat]:
    """Read columns of text in a data frame like those of a file; return the frame and its format.

    Columns of other types, and texts that are no numbers, stay as they are.
    """
    texts = {name: frame[name].factorize() for name in names if _holds_text(frame[name])}
    evidence = [
        _evidence_of(name, frame.index, *parts, form.na_values) for name, parts in texts.items()
    ]
    form, numbers = infer_format(evidence, form, usual), dict[str, Array]()
    for name in form.numbers or {}:
        codes, words = texts[name]
        numbers[name] = np.append(_parse_texts(words, form, name), np.nan)[codes]
    return (frame.assign(**numbers) if numbers else frame), form


def _holds_text(column: pd.Series) -> bool:
    from pandas.api.types import infer_dtype

    return column.dtype.name != "category" and infer_dtype(column, skipna=True) == "string"


def _evidence_of(
    name: str, index: pd.Index[Any], codes: Any, words: Any, skipped: Sequence[str]
) -> ColumnEvidence:
    """Collect evidence from the distinct words of a column and their codes, -1 if missing."""
    known, first, times = np.unique(codes, return_index=True, return_counts=True)
    present, evidence = known >= 0, ColumnEvidence(name)
    rows = dict(zip(words, first[present].tolist(), strict=True))
    counts = dict(zip(words, times[present].tolist(), strict=True))
    texts = ((word, times) for word, times in counts.items() if word.strip() not in skipped)
    evidence.add_texts(texts, lambda word: row_name(index, rows[word]))
    return evidence
