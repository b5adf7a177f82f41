"""What a column holds: looked at chunk by chunk, so that all chunks give what the whole gives."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.text import listed, quoted
from pliant.core.typing import Array
from pliant.tables._column import Column, Missing
from pliant.tables._dates import PARTS, DateOrder, calendar, moment, moments, orders_of
from pliant.tables._problems import ColumnError
from pliant.tables._texts import TEXT_WIDTH, TextCounts
from pliant.tables._values import READERS, Gaps, Kind, kind_of, plain_text, whole

if TYPE_CHECKING:
    import pandas as pd

FEW = 20
"""So few rows do not show what was meant: ids and constants are not looked for in them."""

MAX_DISTINCT = 0.9
"""Texts of which a larger part than this differ are ids or free text, no categories."""

MOSTLY = 0.9
"""A text column of which a larger part are numbers, or dates, has errors in the others."""

MANY_NUMBERS = 1_000
"""Different numbers of a text file that are counted in case that they turn out to be text."""

FEW_CATEGORIES = 30
"""Texts among numbers are categories, with a warning, up to this number of different ones."""

WORDS = 3.0
"""Free text has at least this number of words in a cell, on average."""

TEXT_DISTINCT = 0.3
"""A larger part of free texts than this differ."""

ADVICE = (
    "fill them in, leave the rows out, or have them imputed "
    "(--missing impute, in Python missing='impute')"
)

ID_NAME = re.compile(
    r"(?:.*[\W_])?(?:id|ids|uuid|guid|key|index|idx|row|rowid|rownum|nr|no|lfd|pk)(?:[\W_].*)?",
    re.IGNORECASE,
)
UNNAMED = re.compile(r"Unnamed: \d+(?:\.\d+)?")
"""A column of row numbers that was written without a name, as pandas does, is called so."""

CAMEL_ID = re.compile(r".*[a-z](?:Id|ID|Key|Nr|No)")
CODE_NAME = re.compile(
    r"(?:.*[\W_])?(?:zip|zipcode|plz|postcode|postal|code|cd)(?:[\W_].*)?|.*[a-z](?:Code|Zip)",
    re.IGNORECASE,
)

CODES = (3, 50)
"""Integers of at least three digits, and of at most 50 values, that recur may be codes."""


@dataclass(frozen=True)
class Choices:
    """What the user asks of the columns of a table; see `TableSchema.fit`."""

    missing: Missing = "impute"
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    date_order: DateOrder | None = None

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            got = quoted(self.missing)
            raise ValueError(f"expected missing 'impute' or 'error' (--missing), got {got}")
        if self.date_order not in (None, *get_args(DateOrder)):
            got = quoted(self.date_order)
            raise ValueError(f"expected date_order 'ymd', 'dmy' or 'mdy' (--date-order), got {got}")


@dataclass(frozen=True)
class LeftOut:
    """A column from which nothing is learned, and why."""

    name: str
    reason: Literal["id", "constant", "empty"]


@dataclass
class _Numbers:
    """The numbers of a column, as far as it was read."""

    named_id: bool
    rows: int = 0
    low: float = np.inf
    high: float = -np.inf
    whole: bool = True
    rising: bool = True
    falling: bool = True
    last: float | None = None
    values: set[float] = field(default_factory=set)
    ids: list[Array] = field(default_factory=list)

    def add(self, numbers: Array) -> None:
        """Look at the numbers of the next chunk, NaN where one is missing."""
        self.rows += len(numbers)
        there = numbers[~np.isnan(numbers)]
        if not there.size:
            return
        self.low, self.high = min(self.low, there.min()), max(self.high, there.max())
        self.whole = self.whole and bool(whole(there).all())
        steps = np.diff(there, prepend=[] if self.last is None else [self.last])
        self.rising = self.rising and bool((steps > 0).all())
        self.falling = self.falling and bool((steps < 0).all())
        self.last = float(there[-1])
        if len(self.values) <= CODES[1]:
            self.values.update(np.unique(there).tolist()[: CODES[1] + 1])
        if self.named_id and self.whole:
            self.ids.append(there)

    @property
    def are_ids(self) -> bool:
        """Whether these are integers without a meaning: numbered rows, or ids by their name."""
        if not self.whole or self.rows <= FEW:
            return False
        counted = self.high - self.low + 1 == self.rows
        if self.rising or self.falling:
            return self.named_id or (counted and self.low in (0, 1))
        return self.named_id and np.unique(np.concatenate(self.ids)).size == self.rows

    @property
    def are_codes(self) -> bool:
        """Whether these are integers that may be codes: few values with the same many digits."""
        few = CODES[0] <= len(self.values) <= CODES[1] and self.rows >= FEW * 10
        if not self.whole or not few or self.low < 100:
            return False
        digits = {len(str(int(value))) for value in self.values}
        return len(digits) == 1 and self.high - self.low >= 10 * len(self.values)


@dataclass
class ColumnProfile:
    """What was seen of a column; `column` says what it is."""

    name: str
    choices: Choices
    counts_all: bool = False
    rows: int = 0
    kinds: set[Kind] = field(default_factory=set)
    declared: bool = False
    gaps: Gaps = field(default_factory=Gaps)
    counts: TextCounts = field(default_factory=TextCounts)
    skipped: bool = False
    dates: list[Array] = field(default_factory=list)
    problem: TableError | None = None
    wrong_number: TableError | None = None

    def __post_init__(self) -> None:
        names = (ID_NAME, CAMEL_ID, UNNAMED)
        self.numbers = _Numbers(any(name.fullmatch(self.name) for name in names))
        self.counts_all = self.counts_all or self.name in self.choices.categorical

    def add(self, cells: pd.Series, typed: pd.Series) -> None:
        """Look at a chunk: as it stands in the file, and with the type that it seems to have."""
        self.rows += len(cells)
        self.gaps.add(cells)
        if self.problem is None:
            try:
                self._add(cells, typed)
            except TableError as error:
                self.problem = ColumnError(str(error), ["--drop", self.name])

    def _add(self, cells: pd.Series, typed: pd.Series) -> None:
        import pandas as pd

        kind = kind_of(typed)
        if typed.notna().any():
            self.kinds.add(kind)
        self.declared = self.declared or isinstance(cells.dtype, pd.CategoricalDtype)
        if self._has_texts(cells, kind):
            self.counts.add(cells)
        if kind in READERS and not self.counts_all and self.wrong_number is None:
            try:
                self.numbers.add(READERS[kind](typed))
            except TableError as error:  # if later cells turn out to be texts, it does not matter
                self.wrong_number = ColumnError(str(error), ["--drop", self.name])
        if kind == "date":
            parts = calendar(moments(typed, None))
            if typed.notna().any():
                self.dates.append(np.stack([np.nanmin(parts, axis=0), np.nanmax(parts, axis=0)]))

    def _has_texts(self, cells: pd.Series, kind: Kind) -> bool:
        """Whether texts are to be counted; many numbers may still turn out to be texts."""
        import pandas as pd

        if self.counts_all or kind == "categorical":
            return True
        if kind == "date" or pd.api.types.is_numeric_dtype(cells):
            return False
        self.skipped = self.skipped or len(self.counts.counts) > MANY_NUMBERS
        return not self.skipped

    @property
    def kind(self) -> Kind:
        """The kind of the cells; chunks that do not agree are text."""
        if self.name in self.choices.categorical:
            return "categorical"
        return next(iter(self.kinds)) if len(self.kinds) == 1 else "categorical"

    @property
    def incomplete(self) -> bool:
        """Whether texts were not counted, which turned out to be no numbers later."""
        return self.skipped and self.kind == "categorical" and not self.counts_all

    def column(self) -> Column | LeftOut:
        """Return what the column is.

        Raises
        ------
        TableError
            If it holds lists or other foreign values, infinite values, numbers or dates with
            errors among them, or missing values that are not to be imputed.
        """
        if self.problem is not None:
            raise self.problem
        if not self.kinds:
            return LeftOut(self.name, "empty")
        if self.choices.missing == "error":
            self.gaps.refuse(self.name, ADVICE, ["--missing", "impute"])
        column = self._column()
        return LeftOut(self.name, column) if isinstance(column, str) else column

    def _column(self) -> Column | Literal["id", "constant"]:
        kind, kept = self.kind, self.name in self.choices.keep
        if kind in READERS and self.wrong_number is not None:
            raise self.wrong_number
        if kind == "date":
            ends = np.stack(self.dates)
            return self._of_dates(ends[:, 0].min(axis=0), ends[:, 1].max(axis=0), None)
        if kind == "categorical":
            return self._of_texts(kept)
        whole_column = not kept and not self.gaps.count
        if whole_column and self.rows > FEW and self.numbers.low == self.numbers.high:
            return "constant"
        if whole_column and kind == "numeric" and self.numbers.are_ids:
            return "id"
        return Column(self.name, kind)

    def _of_texts(self, kept: bool) -> Column | Literal["id", "constant"]:
        """Return what a column of text is: dates, free text, categories or ids."""
        if self.kinds <= READERS.keys() and len(self.kinds) == 1:
            self.counts = self.counts.merged(plain_text)
        counts, distinct = self.counts, len(self.counts.counts)
        categories = Column(self.name, "categorical", tuple(sorted(counts.counts)))
        if self.name in self.choices.categorical or self.declared:
            return categories
        if (dates := self._dates()) is not None:
            return dates
        unlike = distinct > max(FEW, MAX_DISTINCT * counts.present) or counts.overflow
        self._check_numbers(distinct, unlike)
        if distinct == 1 and self.rows > FEW and not kept and not self.gaps.count:
            return "constant"
        wordy = (distinct > FEW and distinct > TEXT_DISTINCT * counts.present) or counts.overflow
        if (wordy and counts.words_a_cell >= WORDS) or (unlike and kept):
            return Column(self.name, "text", width=TEXT_WIDTH)
        return "id" if unlike else categories

    def _dates(self) -> Column | Literal["constant"] | None:
        """Return a date column if most texts are dates; refuse what is none among them."""
        texts = list(self.counts.counts)
        if not _is_date(texts[0]) and not any(map(_is_date, texts[1:FEW])):
            return None
        orders, strange = orders_of(texts)
        if not orders or len(strange) >= (1 - MOSTLY) * len(texts):
            return None
        if strange:
            raise self._strange(strange, self.counts.place(strange[0]), "dates")
        order = self.choices.date_order or self._order(orders, texts)
        days = np.array([moment(text, order) for text in texts])
        if np.isnan(days).any():
            text = texts[int(np.isnan(days).argmax())]
            raise ColumnError(
                f"column {quoted(self.name)} holds dates with day and month in several orders, "
                f"as in {quoted(text)} in {self.counts.place(text)}: leave it out (--drop)",
                ["--drop", self.name],
            )
        parts = calendar(days)
        return self._of_dates(parts.min(axis=0), parts.max(axis=0), order)

    def _order(self, orders: Sequence[DateOrder], texts: Sequence[str]) -> DateOrder:
        """Return the order of day and month; a text with slashes has the month first if unsure."""
        if len(orders) == 1 or "ymd" in orders:
            return orders[0]
        return "mdy" if "/" in texts[0] else "dmy"

    def _of_dates(
        self, low: Array, high: Array, order: DateOrder | None
    ) -> Column | Literal["constant"]:
        """Return a date column with the parts that vary."""
        varying = tuple(part for part, a, b in zip(PARTS, low, high, strict=True) if a < b)
        if not varying and self.name not in self.choices.keep:
            return "constant"
        return Column(
            self.name, "date", parts=varying or ("days",), order=order, origin=float(low[0])
        )

    def _check_numbers(self, distinct: int, unlike: bool) -> None:
        """Refuse many numbers with texts among them; warn where few are categories."""
        counts = self.counts
        if counts.present <= FEW or counts.like_numbers <= MOSTLY * counts.present:
            return
        if not counts.strange:
            return
        text, place = counts.first_strange
        if distinct <= FEW_CATEGORIES and not unlike:
            warnings.warn(
                f"column {quoted(self.name)} is taken as {distinct} categories: most of its cells "
                f"look like numbers, but {quoted(text)} in {place} is none",
                stacklevel=2,
            )
            return
        raise self._strange(list(counts.strange), place, "numbers")

    def _strange(self, strange: Sequence[str], place: str, what: str) -> ColumnError:
        """Return the error for some texts among numbers or dates."""
        fix = [word for text in strange for word in ("--na-values", text)]
        several = len(strange) > 3 or not all(text.isprintable() for text in strange)
        fix = ["--drop", self.name] if several else fix
        shown = listed([quoted(text) for text in strange[:3]])
        advice = "" if several else f"read {shown} as missing (--na-values) or "
        return ColumnError(
            f"column {quoted(self.name)} holds {what}, but {quoted(strange[0])} in {place} is none"
            f": correct it, {advice}leave the column out (--drop)",
            fix,
        )

    def note(self, column: Column | LeftOut) -> str | None:
        """Return a remark on how the column was understood, if there is doubt."""
        if not isinstance(column, Column):
            return None
        if column.kind == "date" and column.order is not None and not self.choices.date_order:
            orders, _ = orders_of(self.counts.counts)
            if len(orders) > 1 and "ymd" not in orders:
                first = "month" if column.order == "mdy" else "day"
                other = "dmy" if column.order == "mdy" else "mdy"
                return (
                    f"dates in {quoted(self.name)} may have day or month first: "
                    f"the {first} is taken as first (--date-order {other} for the other)"
                )
        codes = self.numbers.are_codes or CODE_NAME.fullmatch(self.name)
        if column.kind == "numeric" and self.numbers.whole and codes:
            return (
                f"integers in {quoted(self.name)} look like codes and are taken as numbers "
                f"(--categorical {quoted(self.name)} for categories)"
            )
        return None


def _is_date(text: str) -> bool:
    return not all(np.isnan(moment(text, order)) for order in get_args(DateOrder))
