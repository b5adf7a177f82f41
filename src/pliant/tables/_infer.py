"""Infer the numeric columns and the decimal mark of a CSV file from all its cells.

Every chunk of every file adds to the evidence for each column. Ambiguous cells are never guessed
silently: the error names the option for each reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pliant.core.exceptions import TableError
from pliant.core.text import count, quoted
from pliant.core.validation import check_choice, check_integer
from pliant.tables._columns import MISSING, parse_float
from pliant.tables._names import collect, from_json, listed, require, to_json

if TYPE_CHECKING:
    import pyarrow as pa

NumberKind: TypeAlias = Literal["integer", "number"]

DECIMALS = (".", ",")
THOUSANDS = (",", ".", "'", "\u2019", " ", "\u00a0", "\u202f")
"""Thousands separators; the last three are a space, a no-break and a narrow no-break space."""


GROUP, MARKS = r"-?[1-9]\d{0,2}", "'’ \u00a0\u202f"
NOTATIONS = {
    # a plus sign, a leading zero, more than 15 digits or a date
    "code": r"\+\.?\d.*|-?0\d.*|-?\d{16,}|\d+[-/:]\d.*",
    # an IP address that may be a number; others are lists
    "address": r"(?!0)(?:(?:25[0-5]|2[0-4]\d|[01]?\d?\d)(?:\.(?=\d{3})|$)){4}",
    "integer": r"-?\d+",
    "infinite": r"[-+]?(?i:inf(?:inity)?)",
    "power": r"-?\d+[eE][-+]?\d+",
    # the next two are ambiguous
    "either_point": GROUP + r"\.\d{3}",
    "either_comma": GROUP + r",\d{3}",
    "point": r"-?(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?",
    "comma": r"-?(?:\d+,\d*|,\d+)(?:[eE][-+]?\d+)?",
    "grouped_point": rf"{GROUP}(?P<a>[,{MARKS}])\d{{3}}(?:(?P=a)\d{{3}})*\.\d+",
    "grouped_comma": rf"{GROUP}(?P<b>[.{MARKS}])\d{{3}}(?:(?P=b)\d{{3}})*,\d+",
    "commas": GROUP + r"(?:,\d{3}){2,}",
    "points": GROUP + r"(?:\.\d{3}){2,}",
    "spaced": rf"{GROUP}(?P<c>[{MARKS}])\d{{3}}(?:(?P=c)\d{{3}})*",
    "list": r"\d+(?:\.\d+){2,}|\d+(?:,\d+){2,}",
}
"""Pattern of each number notation, in matching order."""

NOTATION = re.compile("|".join(f"(?P<{name}>{part})" for name, part in NOTATIONS.items()), re.ASCII)
PROOFS = {".": ("point", "grouped_point", "commas"), ",": ("comma", "grouped_comma", "points")}
AMBIGUOUS = ("either_point", "either_comma")
GROUPED_INTEGERS = ("commas", "points", "spaced", "address")
TEXT_NOTATIONS = ("code", "list")
"""In order: notations that prove each decimal mark, ambiguous notations, integers with unambiguous
thousands separators, and notations that make a column text."""

POINT = r"^-?(?:0?\.\d+|[1-9]\d*\.(?:\d{0,2}|\d{4,})|[1-9]\d{3,}\.\d+)(?:[eE][-+]?\d+)?$"
COMMON = {
    "point": POINT,
    "integer": r"^-?(?:0|[1-9]\d{0,14})$",
    "comma": POINT.replace(r"\.", ","),
    **{name: f"^{NOTATIONS[name]}$" for name in AMBIGUOUS},
}
"""Patterns of the most common notations, which Arrow counts without Python loops."""


@dataclass(frozen=True)
class TableFormat:
    """Format of a CSV file; options that are None are detected.

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
    numbers : mapping of str to {"integer", "number"}, optional
        Numeric columns; all others are text.
    words : mapping of str to tuple of str
        Words read as missing values, by numeric column.
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


@dataclass
class ColumnEvidence:
    """Number notations and words found in the cells of one column."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, int]] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    words: Counter[str] = field(default_factory=Counter)

    def add(self, cells: pa.Array, row: int) -> None:
        """Add the cells of a chunk that starts at the 0-based row `row`."""
        import pyarrow.compute as pc

        others = cells.drop_null()
        self.counts["empty"] += len(cells) - len(others)
        for notation, pattern in COMMON.items():
            found = pc.match_substring_regex(others, pattern)
            if times := pc.sum(found).as_py():
                first = others[pc.index(found, True).as_py()].as_py()
                self._add_text(first, times, notation, cells, row)
                others = others.filter(pc.invert(found))
        counts = pc.value_counts(others)
        for text, times in zip(*(part.to_pylist() for part in counts.flatten()), strict=True):
            word = text.strip()
            match = NOTATION.fullmatch(word)
            notation = str(match.lastgroup) if match else "word" if word else "empty"
            if notation == "word" and (word in self.words or len(self.words) < 50):  # for messages
                self.words[word] += times
            self._add_text(text, times, "missing" if word in MISSING else notation, cells, row)

    def _add_text(self, text: str, times: int, notation: str, cells: pa.Array, row: int) -> None:
        """Count a text under its notation; store the first example of each notation and word."""
        import pyarrow.compute as pc

        word = text.strip()
        self.counts[notation] += times
        if notation.startswith(("grouped", "either")) or notation in GROUPED_INTEGERS:
            self.marks |= set(word) & set(THOUSANDS)
        if notation in GROUPED_INTEGERS:
            self.lengths.add(len(word.lstrip("-")))
        key = f"word {word}" if word in self.words else notation
        if key not in self.examples:
            self.examples[key] = (text, row + pc.index(cells, text).as_py() + 1)

    @property
    def may_be_numeric(self) -> bool:
        """True if numbers outnumber words and no cell makes the column text."""
        numbers = sum(self.counts[name] for name in NOTATIONS)
        return numbers > self.counts["word"] and not any(map(self.counts.get, TEXT_NOTATIONS))

    def example(self, *notations: str) -> str:
        """Quote the column name and an example of the first notation found."""
        text = next(self.examples[name][0] for name in notations if name in self.examples)
        return f"{quoted(self.name)} (as in {quoted(text)})"

    def reason_for_text(self, form: TableFormat) -> str | None:
        """Return the reason to read the column as text, or None if it is numeric."""
        found, decimal = [name for name in self.counts if name in NOTATIONS], str(form.decimal)
        common = {"integer", "infinite", "power", "spaced", *AMBIGUOUS, *PROOFS[decimal]}
        common |= {"address"} if decimal == "," else set()
        for name in TEXT_NOTATIONS:
            if name in found:
                return f"{quoted(self.examples[name][0])} is not a plain number"
        grouped = form.thousands == "." or {"points", "grouped_comma"} & {*found}
        if "address" in found and not grouped:
            text = self.examples["address"][0]
            return f"{quoted(text)} may be an IP address (thousands=... reads it as a number)"
        if foreign := [name for name in found if name not in common]:
            text = self.examples[foreign[0]][0]
            return f"{quoted(text)} is not a number with the decimal mark {quoted(decimal)}"
        if form.thousands is not None and self.marks - {decimal, form.thousands}:
            return f"its thousands separator is not {quoted(form.thousands)}"
        if form.thousands is None and len(self.lengths) == 1 and {*found} <= {*GROUPED_INTEGERS}:
            text = next(self.examples[name][0] for name in GROUPED_INTEGERS if name in found)
            if len(re.findall(r"\d+", text)) > 2:
                may_be = "may be a phone number (thousands=... reads it as a number)"
                return f"{quoted(text)} {may_be}"
        return None


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
                result.setdefault(name, ColumnEvidence(name)).add(cells, row)
        row += table.num_rows
    return list(result.values())


def infer_format(
    columns: Sequence[ColumnEvidence], form: TableFormat, usual: TableFormat | None = None
) -> TableFormat:
    """Infer the decimal mark and the numeric columns; check them against `usual` if given."""
    fixed = usual is not None and usual.numbers is not None
    candidates = [column for column in columns if column.may_be_numeric]
    form = replace(form, decimal=form.decimal or _infer_decimal(candidates, form, usual))
    notes, numbers, words = list[str](), dict[str, NumberKind](), dict[str, tuple[str, ...]]()
    marks = set[str]()

    def decide(column: ColumnEvidence) -> None:
        name, reason = quoted(column.name), column.reason_for_text(form)
        known = () if usual is None else usual.words.get(column.name, ())
        others = [word for word in column.words if word not in MISSING]
        new = [word for word in others if word not in known]
        if not fixed and (reason is not None or not column.may_be_numeric):
            if column.may_be_numeric:
                notes.append(f"column {name} is read as text: {reason}")
            return
        if reason is not None:
            raise TableError(
                f"column {name}: expected numbers as in training, but {reason}: correct it, or "
                "read it as missing (na_values=[...])"
            )
        if fixed and new:
            raise TableError(
                f"column {name}: expected a number in row {column.examples[f'word {new[0]}'][1]}, "
                f"got {quoted(new[0])}: correct it or read it as missing "
                f"(na_values=[{quoted(new[0])}])"
            )
        if not fixed and len(others) > 3:  # up to three words are missing values
            row = column.examples[f"word {others[0]}"][1]
            raise TableError(
                f"column {name} holds numbers, but also {listed(others, 10)}, the first in row "
                f"{row}: read them as missing (na_values=[...]), treat the column as categories "
                f"(categorical=[{name}]), or leave it out (drop=[...])"
            )
        for word in sorted(column.words, key=others.__contains__):
            cells = count(column.words[word], "cell")
            notes.append(f"column {name}: {cells} {quoted(word)} read as missing")
        whole = {each for each, times in column.counts.items() if times} == {"integer"}
        numbers[column.name] = "integer" if whole and not form.missing_numbers else "number"
        if known or new:
            words[column.name] = (*known, *new)
        marks.update(column.marks - {str(form.decimal)})

    collect(columns, decide)
    thousands = form.thousands if form.thousands is not None else min(marks, default="")
    return replace(form, thousands=thousands, numbers=numbers, words=words, notes=tuple(notes))


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
            f"expected one decimal mark, got a point in column {point} and a comma in {comma}: set "
            "TableFormat(decimal='.') or TableFormat(decimal=',') (or mark text columns with "
            "texts=[...])"
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
                "separator: set TableFormat(decimal='.') or TableFormat(decimal=',') (or "
                "texts=[...] for text)"
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


def convert(table: pa.Table, form: TableFormat) -> pa.Table:
    """Parse the numeric columns of a chunk of text; missing values become null."""
    columns, kinds = [], form.numbers or {}
    for name in table.column_names:
        cells = table.column(name).combine_chunks()
        if name in kinds:
            cells = _parse_numbers(cells, form, form.words.get(name, ()))
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


def _parse_numbers(cells: pa.Array, form: TableFormat, words: Sequence[str]) -> pa.Array:
    """Parse text cells as numbers; missing values become null."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    if form.decimal == "." or not pc.any(pc.match_substring(cells, ".")).as_py():
        with suppress(pa.ArrowInvalid):
            points = cells if form.decimal == "." else pc.replace_substring(cells, ",", ".")
            values = pc.cast(points, pa.float64())
            if pc.all(pc.is_finite(values)).as_py() is not False:
                return values
    cells = pc.utf8_trim_whitespace(cells)
    missing = pa.array(["", *MISSING, *words, *form.na_values], pa.string())
    cells = pc.if_else(pc.is_in(cells, value_set=missing), None, cells)
    others = "".join(mark for mark in THOUSANDS if mark != form.decimal)
    cells = pc.replace_substring_regex(cells, f"[{re.escape(others)}]", "")
    try:
        return pc.cast(pc.replace_substring(cells, str(form.decimal), "."), pa.float64())
    except pa.ArrowInvalid:
        raise TableError("the file changed while it was read: expected the same cells") from None
