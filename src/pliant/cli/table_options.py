"""The options that several commands share, most of them on how a table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self, TypeAlias

import typer

from pliant.cli.parameters import whole
from pliant.core.text import listed, quoted
from pliant.tables import TableFormat

Target: TypeAlias = Annotated[
    list[str], typer.Option(metavar="COLUMN", help="The column to learn.", show_default=False)
]
Task: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="classification|regression", help="Default: guessed from the target."),
]
Seed: TypeAlias = Annotated[
    int, typer.Option(parser=whole(0, 2**32 - 1), metavar="N", help="Decides all draws.")
]
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


def only(targets: Sequence[str]) -> str:
    """Return the target; refuse several."""
    if len(targets) > 1:
        named = listed([quoted(name) for name in targets])
        raise ValueError(f"expected one --target, got {named}: learn one at a time")
    return targets[0]


def table_format(given: Mapping[str, Any]) -> TableFormat:
    """Return the format of a file from the options of a command; the rest is detected."""
    marks = {name: given[name] for name in ("sep", "decimal", "thousands", "encoding")}
    header = False if given["no_header"] else None
    return TableFormat(**marks, na_values=tuple(given["na_values"] or ()), header=header)


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
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the options of a command, by name."""
        drop, keep, categorical = (
            tuple(given[name] or ()) for name in ("drop", "keep", "categorical")
        )
        form = table_format(given)
        return cls(given["missing"], drop, keep, categorical, given["date_order"], form)

    @property
    def choices(self) -> dict[str, Any]:
        """The options by name, as `pliant.comparison.read_sample` takes them."""
        return dict(vars(self))

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
