"""Parse options: integers, ``--param NAME=VALUE``, and options for reading a table."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import update_wrapper
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from pliant.core.text import listed, quoted, suggest
from pliant.tables.reading.infer import TableFormat


def parse_parameters(words: Sequence[str]) -> dict[str, Any]:
    """Parse parameters such as ``C=10`` or ``kernel=laplacian``.

    A value that is not a literal (``10``, ``1e-3``, ``true``, ``None``, ``{"a": 2}``) is text.
    """
    parameters: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"expected --param NAME=VALUE, such as C=10, got {quoted(word)}")
        if name.strip() in parameters:
            raise ValueError(f"--param {quoted(name.strip())} is given twice")
        parameters[name.strip()] = _value(value.strip())
    return parameters


def _value(text: str) -> Any:
    """Parse a JSON or Python literal; return other text unchanged."""
    parsers: tuple[Callable[[str], Any], ...] = (json.loads, ast.literal_eval)
    for parse in parsers:
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return parse(text)
    return text


def check_names(given: Collection[str], known: Collection[str], method: str) -> None:
    """Raise ValueError if names are not parameters of a method."""
    if unknown := [name for name in given if name not in known]:
        raise ValueError(
            f"{method} has no parameter {quoted(unknown[0])}; {suggest(unknown[0], known)}"
        )


Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None


def option(metavar: str, text: str, **more: Any) -> Any:
    """Return a typer option with a metavar and a help text."""
    return typer.Option(metavar=metavar, help=text, **more)


def flag(name: str, text: str) -> Any:
    """Return a typer option without a value."""
    return typer.Option(name, help=text)


Target: TypeAlias = Annotated[
    list[str], option("COLUMN", "The column to predict.", show_default=False)
]
Seed: TypeAlias = Annotated[int, option("N", "Random seed.", min=0, max=2**32 - 1)]
Json: TypeAlias = Annotated[Path | None, option("FILE|-", "Write the full result; - is stdout.")]


def single_target(targets: Sequence[str]) -> str:
    """Return the target, or raise ValueError if there are several."""
    if len(targets) > 1:
        named = listed([quoted(name) for name in targets])
        raise ValueError(f"expected one --target, got {named}: fit one model per target")
    return targets[0]


@dataclass(frozen=True)
class TableOptions:
    """Options for reading a table and inferring columns; see `read_sample`."""

    task: str | None = None
    missing: str = "impute"
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    date_order: str | None = None
    form: TableFormat = field(default_factory=TableFormat)


def _table_format(
    *,
    sep: Annotated[
        Text, option("CHARACTER", "Cell separator, ' ' for blanks; default: detected.")
    ] = None,
    decimal: Annotated[Text, option(".|,", "Decimal mark; default: detected.")] = None,
    thousands: Annotated[Text, option("CHARACTER", "Thousands mark; default: detected.")] = None,
    encoding: Annotated[Text, option("NAME", "Such as utf-8 or cp1252; default: detected.")] = None,
    na_values: Annotated[Texts, option("WORD", "Read WORD as missing; repeatable.")] = None,
    no_header: Annotated[
        bool, flag("--no-header", "The first line is data; columns are 'column 1', ...")
    ] = False,
    skip: Annotated[int, option("N", "Leave out N lines before the header.", min=0)] = 0,
) -> TableFormat:
    """Return the file format that the options set; omitted properties are detected."""
    header = False if no_header else None
    return TableFormat(sep, decimal, thousands, encoding, tuple(na_values or ()), header, skip)


def _table_options(
    *,
    task: Annotated[Text, option("classification|regression", "Default: from the target.")] = None,
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
    date_order: Annotated[Text, option("dmy|mdy|ymd", "Default: inferred from the dates.")] = None,
    form: TableFormat,
) -> TableOptions:
    """Return the options for reading a table."""
    left, kept, codes = (tuple(names or ()) for names in (drop, keep, categorical))
    return TableOptions(task, missing, left, kept, codes, date_order, form)


def with_table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the `TableOptions` and `TableFormat` parameters of a command by options.

    The options become keyword-only parameters in the command's signature, read by typer.
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
"""Functions that build each type of parameter from options."""
