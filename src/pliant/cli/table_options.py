"""Options shared by several commands, mostly for reading a table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from pliant.cli.parameters import int_parser
from pliant.core.text import listed, quoted
from pliant.tables import TableFormat

Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None


def option(metavar: str, text: str, **more: Any) -> Any:
    """Return a typer option with the metavar and the text of its help."""
    return typer.Option(metavar=metavar, help=text, **more)


def flag(name: str, text: str) -> Any:
    """Return a typer option without a value."""
    return typer.Option(name, help=text)


Target: TypeAlias = Annotated[
    list[str], option("COLUMN", "The column to predict.", show_default=False)
]
Seed: TypeAlias = Annotated[int, option("N", "Random seed.", parser=int_parser(0, 2**32 - 1))]
Json: TypeAlias = Annotated[Path | None, option("FILE|-", "Write the full result; - is stdout.")]


def single_target(targets: Sequence[str]) -> str:
    """Return the target, or raise ValueError if there are several."""
    if len(targets) > 1:
        named = listed([quoted(name) for name in targets])
        raise ValueError(f"expected one --target, got {named}: learn one at a time")
    return targets[0]


@dataclass(frozen=True)
class TableOptions:
    """Options for reading a table and inferring columns; see `pliant.tables.TableSchema.fit`."""

    task: str | None = None
    missing: str = "impute"
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    date_order: str | None = None
    form: TableFormat = field(default_factory=TableFormat)

    @property
    def choices(self) -> dict[str, Any]:
        """The options as keyword arguments of `pliant.comparison.read_sample`."""
        return dict(vars(self))

    @property
    def words(self) -> list[str]:
        """The command-line arguments for these options, except the task."""
        form = self.form
        repeated = {
            "--drop": self.drop,
            "--keep": self.keep,
            "--categorical": self.categorical,
            "--na-values": form.na_values,
        }
        single = {
            "--missing": None if self.missing == "impute" else self.missing,
            "--date-order": self.date_order,
            "--sep": form.sep,
            "--decimal": form.decimal,
            "--thousands": form.thousands,
            "--encoding": form.encoding,
        }
        words = [word for name, values in repeated.items() for v in values for word in (name, v)]
        words += ["--no-header"] if form.header is False else []
        return words + [word for name, v in single.items() if v is not None for word in (name, v)]


def _table_format(
    *,
    sep: Annotated[Text, option("CHARACTER", "Cell separator; default: detected.")] = None,
    decimal: Annotated[Text, option(".|,", "Decimal mark; default: detected.")] = None,
    thousands: Annotated[
        Text, option("CHARACTER", "Thousands separator; default: detected.")
    ] = None,
    encoding: Annotated[Text, option("NAME", "Such as utf-8 or cp1252; default: detected.")] = None,
    na_values: Annotated[
        Texts, option("WORD", "A cell that marks a missing value; repeatable.")
    ] = None,
    no_header: Annotated[
        bool, flag("--no-header", "The first line is data; columns are 'column 1', ...")
    ] = False,
) -> TableFormat:
    """Return the format of a file from options; omitted properties are detected."""
    header = False if no_header else None
    return TableFormat(sep, decimal, thousands, encoding, tuple(na_values or ()), header)


def _table_options(
    *,
    task: Annotated[
        Text, option("classification|regression", "Default: inferred from the target.")
    ] = None,
    missing: Annotated[
        str, option("impute|error", "Impute missing features, or raise an error.")
    ] = "impute",
    drop: Annotated[Texts, option("COLUMN", "Drop a column; repeatable.")] = None,
    keep: Annotated[
        Texts, option("COLUMN", "Keep a column that looks like an id; repeatable.")
    ] = None,
    categorical: Annotated[
        Texts, option("COLUMN", "Treat a column of numbers as categories; repeatable.")
    ] = None,
    date_order: Annotated[
        Text, option("dmy|mdy|ymd", "Default: inferred from the dates of a column.")
    ] = None,
    form: TableFormat,
) -> TableOptions:
    """Return the options for reading a table."""
    left, kept, codes = (tuple(names or ()) for names in (drop, keep, categorical))
    return TableOptions(task, missing, left, kept, codes, date_order, form)


def with_table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the `TableOptions` and `TableFormat` parameters of a command by options.

    The options become keyword-only parameters of its signature, which typer inspects.
    """
    signature = inspect.signature(function, eval_str=True)
    makers: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    parameters = []
    for name, parameter in signature.parameters.items():
        maker = MAKERS.get(parameter.annotation)
        if maker is None:
            parameters.append(parameter)
            continue
        own = inspect.signature(maker, eval_str=True).parameters.values()
        makers[name] = maker, [each.name for each in own]
        parameters += own

    def run(**given: Any) -> Any:
        for name, (maker, options) in makers.items():
            given[name] = maker(**{option: given.pop(option) for option in options})
        return function(**given)

    update_wrapper(run, function)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


MAKERS: dict[Any, Callable[..., Any]] = {TableFormat: _table_format}
MAKERS[TableOptions] = with_table_options(_table_options)
"""Functions that make a parameter of each type from options."""
