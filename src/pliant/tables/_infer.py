"""Infer the numeric columns and the decimal mark of a CSV file from all of its cells.

Each chunk adds its cells to the evidence of every column, so all chunks and all files of a folder
count. Ambiguous cells are never guessed silently: they raise an error that names the option for
each reading.
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
from pliant.tables._cells import MISSING, parse_float
from pliant.tables._names import collect, from_plain, listed, require, to_plain

if TYPE_CHECKING:
    import pyarrow as pa

NumberKind: TypeAlias = Literal["integer", "number"]

DECIMALS = (".", ",")
THOUSANDS = (",", ".", "'", "\u2019", " ", "\u00a0", "\u202f")
"""Thousands separators; the last three are a space, a no-break and a narrow no-break space."""

MAX_WORDS = 3
"""Maximum number of distinct words read as missing values in a numeric column."""


def _number_patterns() -> dict[str, str]:
    """Return the pattern of each number notation, in matching order."""
    first, mark = r"-?[1-9]\d{0,2}", "'’ \u00a0\u202f"
    return {
        # a plus sign, a leading zero, more than 15 digits, an IP address or a date
        "code": r"\+\.?\d.*|-?0\d.*|-?\d{16,}|\d{1,3}(?:\.\d{1,3}){3}|\d+[-/:]\d.*",
        "integer": r"-?\d+",
        "infinite": r"[-+]?(?i:inf(?:inity)?)",
        "power": r"-?\d+[eE][-+]?\d+",
        # the next two are ambiguous
        "either_point": first + r"\.\d{3}",
        "either_comma": first + r",\d{3}",
        "point": r"-?(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?",
        "comma": r"-?(?:\d+,\d*|,\d+)(?:[eE][-+]?\d+)?",
        "grouped_point": rf"{first}(?P<a>[,{mark}])\d{{3}}(?:(?P=a)\d{{3}})*\.\d+",
        "grouped_comma": rf"{first}(?P<b>[.{mark}])\d{{3}}(?:(?P=b)\d{{3}})*,\d+",
        "commas": first + r"(?:,\d{3}){2,}",
        "points": first + r"(?:\.\d{3}){2,}",
        "spaced": rf"{first}(?P<c>[{mark}])\d{{3}}(?:(?P=c)\d{{3}})*",
        "list": r"\d+(?:\.\d+){2,}|\d+(?:,\d+){2,}",
    }


NOTATIONS = _number_patterns()
NOTATION = re.compile(
    "|".join(f"(?P<{name}>{pattern})" for name, pattern in NOTATIONS.items()), re.ASCII
)
PROOFS = {
    ".": ("point", "grouped_point", "commas"),
    ",": ("comma", "grouped_comma", "points"),
}
GROUPED_INTEGERS = ("commas", "points", "spaced")
TEXT_NOTATIONS = ("code", "list")
"""Number notations: all of them, those that prove a decimal mark, integers with several thousands
separators, and those that make a column text."""


def _common_patterns() -> dict[str, str]:
    """Return patterns of the most common cells, which Arrow counts without Python."""
    point = r"^-?(?:0?\.\d+|[1-9]\d*\.(?:\d{0,2}|\d{4,})|[1-9]\d{3,}\.\d+)(?:[eE][-+]?\d+)?$"
    return {
        "point": point,
        "integer": r"^-?(?:0|[1-9]\d{0,14})$",
        "comma": point.replace(r"\.", ","),
        "either_point": f"^{NOTATIONS['either_point']}$",
        "either_comma": f"^{NOTATIONS['either_comma']}$",
    }


@dataclass(frozen=True)
class TableFormat:
    """Format of a CSV file; options that are None are detected.

    Parameters
    ----------
    sep : str, optional
        One character, or ``tab``.
    decimal : {".", ","}, optional
        The decimal mark.
    thousands : str, optional
        The thousands separator; an empty string if there is none.
    encoding : str, optional
        For example ``utf-8``, ``utf-16`` or ``cp1252``.
    na_values : sequence of str, default=()
        Cell values that are missing values, in addition to empty cells.
    header : bool, optional
        True if the first line holds the column names, False to name the columns ``column 1`` and
        so on. None is True with a warning if the first line looks like data.
    texts : sequence of str, default=()
        Columns to read as text, exactly as written.
    numbers : mapping of str to {"integer", "number"}, optional
        Numeric columns; all others are text.
    words : mapping of str to tuple of str
        Words that are missing values, by numeric column.
    notes : tuple of str, default=()
        Remarks on how numbers were read, and counts of words read as missing values.
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    na_values: tuple[str, ...] = ()
    header: bool | None = None
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
        self._check()

    def _check(self) -> None:
        """Raise ValueError for an invalid option."""
        if self.sep is not None and (len(self.sep) != 1 or self.sep in '"\r\n'):
            raise ValueError(f"expected a one-character separator (--sep), got {quoted(self.sep)}")
        if self.decimal not in (None, *DECIMALS):
            raise ValueError(f"expected --decimal . or --decimal , got {quoted(self.decimal)}")
        if self.thousands not in (None, "", *THOUSANDS):
            raise ValueError(
                "expected --thousands to be one of , . ' or a space, or an empty string for none, "
                f"got {quoted(self.thousands)}"
            )
        if self.thousands and self.thousands == self.decimal:
            raise ValueError(
                f"expected different --decimal and --thousands, got {quoted(self.decimal)} for both"
            )
        if self.encoding is not None:
            try:
                "a,b".encode(self.encoding)
            except (LookupError, ValueError):
                raise ValueError(
                    "expected an encoding (--encoding) such as utf-8, utf-16 or cp1252, "
                    f"got {quoted(self.encoding)}"
                ) from None

    @cached_property
    def missing_numbers(self) -> frozenset[float]:
        """Numbers in `na_values`, which are missing values in any notation."""
        return frozenset(value for value in map(parse_float, self.na_values) if value == value)

    @property
    def described(self) -> str:
        """Description of the non-default options, such as ``decimal comma``; may be empty."""
        names = {"\t": "tab", " ": "space", "\u00a0": "space", "\u202f": "space"}
        words = []
        if self.sep not in (None, ","):
            words.append(f"separator {names.get(self.sep, quoted(self.sep))}")
        if self.decimal == ",":
            words.append("decimal comma")
        if self.thousands:
            words.append(f"thousands {names.get(self.thousands, quoted(self.thousands))}")
        if self.encoding not in (None, "utf-8", "utf-8-sig"):
            words.append(f"encoding {self.encoding}")
        if self.header is False:
            words.append("columns named by position")
        return ", ".join(words)

    def to_dict(self) -> dict[str, Any]:
        """Return the format as data that JSON can represent."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, state: object) -> TableFormat:
        """Create a format from the output of `to_dict`; raise TableError for any other data."""
        form: TableFormat = from_plain(cls, state, "format of a table")
        return form


@dataclass
class ColumnEvidence:
    """Number notations and words found in the cells of one column."""

    name: str
    missing: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, int]] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    usual: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    more_words: int = 0

    def add(self, cells: pa.Array, row: int) -> None:
        """Add the cells of a chunk that starts at the 0-based row `row`."""
        import pyarrow.compute as pc

        others = cells.drop_null()
        self.missing += len(cells) - len(others)
        for notation, pattern in _common_patterns().items():
            found = pc.match_substring_regex(others, pattern)
            if times := pc.sum(found).as_py():
                first = others[pc.index(found, True).as_py()].as_py()
                self._add_number(notation, first, times, cells, row)
                others = others.filter(pc.invert(found))
        counts = pc.value_counts(others)
        for text, times in zip(*(part.to_pylist() for part in counts.flatten()), strict=True):
            self._add_text(text, times, cells, row)

    def _add_text(self, text: str, times: int, cells: pa.Array, row: int) -> None:
        """Add a cell value that occurs `times` times."""
        plain = text.strip()
        if not plain:
            self.missing += times
        elif plain in MISSING:
            self.usual[plain] += times
        elif (match := NOTATION.fullmatch(plain)) is not None:
            notation = next(name for name in NOTATIONS if match[name] is not None)
            self._add_number(notation, text, times, cells, row)
        elif plain in self.words or len(self.words) < 50:  # enough for messages
            self.words[plain] += times
            self._store_example(f"word {plain}", text, cells, row)
        else:
            self.more_words += times

    def _add_number(self, notation: str, text: str, times: int, cells: pa.Array, row: int) -> None:
        """Add a number that occurs `times` times in one notation."""
        self.counts[notation] += times
        if notation.startswith(("grouped", "either")) or notation in GROUPED_INTEGERS:
            self.marks |= set(text.strip()) & set(THOUSANDS)
        if notation in GROUPED_INTEGERS:
            self.lengths.add(len(text.strip().lstrip("-")))
        self._store_example(notation, text, cells, row)

    def _store_example(self, what: str, text: str, cells: pa.Array, row: int) -> None:
        """Store the first cell of each notation or word, with its 1-based row."""
        if what not in self.examples:
            import pyarrow.compute as pc

            self.examples[what] = (text, row + pc.index(cells, text).as_py() + 1)

    @property
    def may_be_numbers(self) -> bool:
        """True if most cells are numbers in some notation and no cell makes the column text."""
        numbers, words = self.counts.total(), self.words.total() + self.more_words
        return numbers > words and not sum(self.counts[notation] for notation in TEXT_NOTATIONS)

    def example(self, *notations: str) -> str:
        """Quote the column name and the first cell in one of the notations."""
        text = next(
            self.examples[notation][0] for notation in notations if notation in self.examples
        )
        return f"{quoted(self.name)} (as in {quoted(text)})"

    def reason_for_text(self, form: TableFormat) -> str | None:
        """Return the reason to read the column as text, or None if it is numeric."""
        decimal = str(form.decimal)
        if codes := [notation for notation in TEXT_NOTATIONS if self.counts[notation]]:
            return f"{quoted(self.examples[codes[0]][0])} is not a plain number"
        common = {"integer", "infinite", "power", "either_point", "either_comma", "spaced"}
        foreign = [s for s in self.counts if s not in common and s not in PROOFS[decimal]]
        if foreign:
            text = self.examples[foreign[0]][0]
            return f"{quoted(text)} is not a number with the decimal mark {quoted(decimal)}"
        if form.thousands is not None and self.marks - {decimal, form.thousands}:
            return f"its thousands separator is not {quoted(form.thousands)}"
        long = (
            self.counts.total() == sum(self.counts[s] for s in GROUPED_INTEGERS)
            and len(self.lengths) == 1
        )
        text = next((self.examples[s][0] for s in GROUPED_INTEGERS if s in self.examples), "")
        if form.thousands is None and long and len(re.findall(r"\d+", text)) > 2:
            return f"{quoted(text)} may be a phone number (--thousands reads it as a number)"
        return None


def gather_evidence(
    tables: Iterable[pa.Table], form: TableFormat, wanted: Iterable[str] | None = None
) -> list[ColumnEvidence]:
    """Collect the evidence of each column over all chunks, except for declared text columns."""
    result: dict[str, ColumnEvidence] = {}
    row, chosen = 0, None if wanted is None else set(wanted)
    for table in tables:
        for name in table.column_names:
            if name not in form.texts and (chosen is None or name in chosen):
                cells = table.column(name).combine_chunks()
                result.setdefault(name, ColumnEvidence(name)).add(cells, row)
        row += table.num_rows
    return list(result.values())


def infer_format(
    columns: Sequence[ColumnEvidence], form: TableFormat, usual: TableFormat | None = None
) -> TableFormat:
    """Infer the decimal mark and the numeric columns; check them against `usual` if given."""
    kept = usual is not None and usual.numbers is not None
    candidates = [each for each in columns if each.may_be_numbers]
    form = replace(form, decimal=form.decimal or _infer_decimal(candidates, form, usual))
    notes, numbers, words = list[str](), dict[str, NumberKind](), dict[str, tuple[str, ...]]()
    marks = set[str]()

    def decide(column: ColumnEvidence) -> None:
        why = column.reason_for_text(form)
        if not kept and (why is not None or not column.may_be_numbers):
            if why is not None and column.may_be_numbers:
                notes.append(f"column {quoted(column.name)} is read as text: {why}")
            return
        known = () if usual is None else usual.words.get(column.name, ())
        if kept and (why is not None or column.words.keys() - {*known}):
            raise _number_error(column, why, known)
        if not kept and (len(column.words) > MAX_WORDS or column.more_words):
            raise _word_error(column)
        for word, times in [*column.usual.items(), *column.words.items()]:
            cells = count(times, "cell")
            notes.append(f"column {quoted(column.name)}: {cells} {quoted(word)} read as missing")
        whole = set(column.counts) == {"integer"} and not column.missing
        whole = whole and not column.usual and not column.words and not form.missing_numbers
        numbers[column.name] = "integer" if whole else "number"
        words[column.name] = (*known, *(word for word in column.words if word not in known))
        marks.update(column.marks - {str(form.decimal)})

    collect(columns, decide)
    words = {name: those for name, those in words.items() if those}
    thousands = form.thousands if form.thousands is not None else (min(marks) if marks else "")
    return replace(form, thousands=thousands, numbers=numbers, words=words, notes=tuple(notes))


def _infer_decimal(
    columns: Sequence[ColumnEvidence], form: TableFormat, usual: TableFormat | None
) -> str:
    """Return the decimal mark that the cells of all columns prove.

    In a comma-separated file, a column of cells such as ``"1,2"`` proves nothing.
    """
    if form.thousands in DECIMALS:
        return "," if form.thousands == "." else "."
    proofs = {
        mark: [each for each in columns if any(each.counts[notation] for notation in PROOFS[mark])]
        for mark in DECIMALS
    }
    point, comma = (
        ", ".join(each.example(*PROOFS[mark]) for each in proofs[mark][:3]) for mark in DECIMALS
    )
    before = None if usual is None else usual.decimal
    result = "." if point else "," if comma else None
    if point and comma and form.sep != ",":
        raise TableError(
            f"expected one decimal mark, got a point in column {point} and a comma in {comma}: add "
            "--decimal . or --decimal , (or mark text columns with --categorical)"
        )
    certain = before == "," or any(each.counts["grouped_comma"] for each in proofs[","])
    if result == "," and form.sep == "," and not certain:
        raise TableError(
            f"column {comma} may hold decimal commas or lists, since the file is comma-separated: "
            "add --decimal , or --decimal . (which makes the column text)"
        )
    unsure = [each for each in columns if each.counts["either_point"] + each.counts["either_comma"]]
    if result is None and unsure:
        result = _decimal_of_unsure(unsure, form, usual)
    if result is not None and before is not None and result != before:
        notations = (*PROOFS[result], "either_point", "either_comma")
        column = (proofs[result] or unsure)[0].example(*notations)
        raise TableError(
            f"the model was fitted to numbers with the decimal mark {quoted(before)}, but "
            f"column {column} has {quoted(result)}: add --decimal {result} or --decimal {before}"
        )
    return result or before or "."


def _decimal_of_unsure(
    columns: Sequence[ColumnEvidence], form: TableFormat, usual: TableFormat | None
) -> str | None:
    """Return the decimal mark of a file with only ambiguous cells such as ``1,250``."""
    if usual is not None and usual.decimal is not None and usual.sep in (None, form.sep):
        return usual.decimal
    commas = not any(each.counts["either_point"] for each in columns)
    if commas and form.sep in (",", ";"):
        return "," if form.sep == ";" else "."
    shown = [each.example("either_point", "either_comma") for each in columns]
    raise TableError(
        f"cells of column {', '.join(shown[:10])} are ambiguous, with a decimal mark or a "
        "thousands separator: add --decimal . or --decimal , (or --categorical for text)"
    )


def _number_error(column: ColumnEvidence, why: str | None, known: Sequence[str]) -> TableError:
    """Return the error for a new cell that is not a number, in a numeric column."""
    name = quoted(column.name)
    if why is not None:
        text = f"column {name}: expected numbers as in training, but {why}"
        return TableError(f"{text}: correct it, or read it as missing (--na-values)")
    word = next(word for word in column.words if word not in known)
    row = column.examples[f"word {word}"][1]
    return TableError(
        f"column {name}: expected a number in row {row}, got {quoted(word)}: correct it or read "
        f"it as missing (--na-values {quoted(word)})"
    )


def _word_error(column: ColumnEvidence) -> TableError:
    """Return the error for too many words in a numeric column."""
    words = list(column.words)
    row = column.examples[f"word {words[0]}"][1]
    return TableError(
        f"column {quoted(column.name)} holds numbers, but also {listed(words, 10)}, the first in "
        f"row {row}: read them as missing (--na-values, once for each), treat the column as "
        f"categories (--categorical {quoted(column.name)}), or leave it out (--drop)"
    )


def convert(table: pa.Table, form: TableFormat) -> pa.Table:
    """Parse the numeric columns of a chunk of text; missing values become null."""
    columns, kinds = [], form.numbers or {}
    for name in table.column_names:
        cells = table.column(name).combine_chunks()
        if name in kinds:
            cells = _parse_numbers(cells, form, form.words.get(name, ()))
        cells = blank_missing(cells, form, ["", *form.na_values])
        whole = kinds.get(name) == "integer" and not cells.null_count
        columns.append(cells.cast("int64") if whole else cells)
    return require("pyarrow").table(columns, table.column_names)


def blank_missing(
    cells: pa.Array | pa.ChunkedArray, form: TableFormat, words: Sequence[str]
) -> pa.Array | pa.ChunkedArray:
    """Replace missing values by null: the given words, and the format's missing numbers."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    types = pa.types
    plain = cells.cast(cells.type.value_type) if types.is_dictionary(cells.type) else cells
    if types.is_string(plain.type) or types.is_large_string(plain.type):
        gone = pc.is_in(pc.utf8_trim_whitespace(plain), value_set=pa.array(words, plain.type))
    elif form.missing_numbers and any(
        is_kind(plain.type) for is_kind in (types.is_integer, types.is_floating, types.is_decimal)
    ):
        numbers = pa.array(sorted(form.missing_numbers), pa.float64())
        gone = pc.is_in(pc.cast(plain, pa.float64(), safe=False), value_set=numbers)
    else:
        return cells
    return pc.if_else(gone, None, cells) if pc.any(gone).as_py() else cells


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
