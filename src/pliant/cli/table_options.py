"""The options that say how a table is read, the same for ``fit``, ``compare`` and ``predict``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

import typer

from pliant.tables import TableFormat

Missing: TypeAlias = Annotated[
    str, typer.Option(metavar="impute|error", help="Fill in missing features, or refuse them.")
]
Drop: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; repeatable.")
]
Keep: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Keep a column that looks like an id; repeatable."),
]
Categorical: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Take numbers such as codes as categories; repeatable."),
]
DateOrder: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="dmy|mdy|ymd", help="Default: decided by the dates of a column."),
]
Sep: TypeAlias = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="Between cells; default: detected.")
]
Decimal: TypeAlias = Annotated[
    str | None, typer.Option(metavar=".|,", help="The decimal mark; default: detected.")
]
Thousands: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="CHARACTER", help="Between groups of digits; default: detected."),
]
Encoding: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Such as utf-8 or cp1252; default: detected.")
]
NaValues: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD", help="A cell that stands for a missing value; repeatable."),
]
NoHeader: TypeAlias = Annotated[
    bool,
    typer.Option("--no-header", help="The first line is data; columns are 'column 1' and so on."),
]


def table_format(
    sep: str | None,
    decimal: str | None,
    thousands: str | None,
    encoding: str | None,
    na_values: list[str] | None,
    no_header: bool,
) -> TableFormat:
    """Return what the options say of a file; the rest is detected."""
    header = False if no_header else None
    return TableFormat(sep, decimal, thousands, encoding, tuple(na_values or ()), header)


@dataclass(frozen=True)
class TableOptions:
    """How a table is read and understood; see `pliant.tables.TableSchema.fit`."""

    missing: str = "impute"
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    date_order: str | None = None
    form: TableFormat = field(default_factory=TableFormat)

    @classmethod
    def of(
        cls,
        missing: str,
        drop: list[str] | None,
        keep: list[str] | None,
        categorical: list[str] | None,
        date_order: str | None,
        form: TableFormat,
    ) -> TableOptions:
        """Return options as typer gives them."""
        return cls(
            missing,
            tuple(drop or ()),
            tuple(keep or ()),
            tuple(categorical or ()),
            date_order,
            form,
        )

    @property
    def choices(self) -> dict[str, Any]:
        """The options by name, as `pliant.comparison.read_sample` takes them."""
        names = ("missing", "drop", "keep", "categorical", "date_order", "form")
        return {name: getattr(self, name) for name in names}

    @property
    def words(self) -> list[str]:
        """The words of a command that has these options."""
        repeated = {
            "--drop": self.drop,
            "--keep": self.keep,
            "--categorical": self.categorical,
            "--na-values": self.form.na_values,
        }
        single = {
            "--missing": None if self.missing == "impute" else self.missing,
            "--date-order": self.date_order,
            "--sep": self.form.sep,
            "--decimal": self.form.decimal,
            "--thousands": self.form.thousands,
            "--encoding": self.form.encoding,
        }
        words = [word for flag, values in repeated.items() for v in values for word in (flag, v)]
        given = [(flag, value) for flag, value in single.items() if value is not None]
        words += ["--no-header"] if self.form.header is False else []
        return [*words, *(word for pair in given for word in pair)]
