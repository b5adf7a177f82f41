"""Print results, progress and notes; check and write output files."""

from __future__ import annotations

import glob
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from pliant.core.exceptions import TableError
from pliant.core.files import plain_data, replacing
from pliant.core.text import printable, quoted, remove_controls

STDOUT = Path("-")
"""The file name that stands for stdout."""

SPELLED = re.compile(
    r"(?P<verb>set )?(?P<call>TableFormat\()?"
    r"\b(?P<name>sep|decimal|thousands|encoding|na_values|header|texts|drop|keep|categorical"
    r"|missing|date_order|group|time|resume|skip|task)"
    r"=(?P<value>\.\.\.|False|\d+|'[^']*'|\[(?:\.\.\.|'.*?')\])(?(call)\))"
)
"""Parameters as messages of the library name them: ``drop=[...]``, ``TableFormat(decimal='.')``."""

RENAMED = {"texts": "categorical"}
"""Names of options that differ from the parameter."""


def with_options(text: str) -> str:
    """Return a message of the library with options in place of parameters."""
    return SPELLED.sub(_option_for, text)


def _option_for(match: re.Match[str]) -> str:
    verb, name, value = match["verb"], match["name"], match["value"]
    if (name, value) == ("resume", "False"):
        return "drop --resume"
    if (name, value) == ("header", "False"):
        option = "--no-header"
    else:
        option = f"--{RENAMED.get(name, name).replace('_', '-')}"
        shown = value[1:-1] if value[0] in "['" and value != "' '" else value
        if value[0] == "[":
            shown = shown.replace("', '", f"' {option} '")
        option += "" if shown == "..." else f" {shown}"
    return f"add {option}" if verb else option


def print_status(text: str) -> None:
    """Print a line to stderr, with options for parameters and without control characters."""
    print(remove_controls(with_options(text)), file=sys.stderr, flush=True)


def print_result(text: str) -> None:
    """Print a result to stdout without control characters."""
    print(remove_controls(text), flush=True)


@contextmanager
def diagnostics() -> Iterator[None]:
    """Print messages of the logger "pliant" and each distinct warning as one line on stderr."""
    logger, notes = logging.getLogger("pliant"), _Notes()
    logger.addHandler(notes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _warning_printer()
            yield
    finally:
        logger.removeHandler(notes)


class _Notes(logging.Handler):
    """Handler that prints log records as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        print_status(f"Note: {printable(record.getMessage(), 300)}")


def _warning_printer() -> Callable[..., None]:
    """Return a `showwarning` that prints each text once, and only one ConvergenceWarning."""
    shown: set[str] = set()

    def print_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
        from pliant.core.estimators import ConvergenceWarning

        text = printable(" ".join(str(message).split()), 600)
        key = category.__name__ if issubclass(category, ConvergenceWarning) else text
        if key not in shown:
            shown.add(key)
            print_status(f"Warning: {text}")

    return print_warning


class _TrialEnded(Exception):
    """Raised to end a trial write without changing a file."""


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path] = ()) -> None:
    """Raise TableError if an output cannot be written, or is also an input or another output.

    An input may be a folder or a pattern of files. Outputs that are None or `STDOUT` are skipped.
    """
    from pliant.tables.reading.read import is_pattern

    given = [*inputs]
    patterns = [path for path in given if is_pattern(path)]
    found = chain(*(glob.iglob(str(path), recursive=True) for path in patterns))
    taken = {os.path.realpath(path) for path in (*map(str, given), *found)}
    folders = {path for path in taken if os.path.isdir(path)}
    for path in outputs:
        if path is None or path == STDOUT:
            continue
        with suppress(_TrialEnded), replacing(path, TableError):
            raise _TrialEnded
        if os.path.realpath(path) in taken:
            raise TableError(f"{quoted(path, 200)} is already in use: choose another name")
        if (folder := os.path.dirname(os.path.realpath(path))) in folders:
            raise TableError(
                f"{quoted(path, 200)} would become part of the table {quoted(folder, 200)}: "
                "choose another folder"
            )
        for pattern in patterns:
            if Path(os.path.realpath(path)).match(os.path.realpath(pattern)):
                raise TableError(
                    f"{quoted(path, 200)} would become part of the table {quoted(pattern, 200)}: "
                    "choose another name"
                )
        taken.add(os.path.realpath(path))


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON to a file or to stdout; NaN and infinity become null."""
    text = json.dumps(plain_data(value), indent=2, allow_nan=False)
    if path == STDOUT:
        print(text)
        return
    with replacing(path, TableError) as draft:
        draft.write_text(f"{text}\n", encoding="utf-8")
