"""All that is wrong with a table, in one message with the options that settle it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pliant.core.exceptions import TableError
from pliant.core.text import printable

T = TypeVar("T")
Item = TypeVar("Item")

MOST = 10
"""Problems that are described; the options settle all of them."""


class ColumnError(TableError):
    """A column cannot be used as it is.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    fix : sequence of str
        Options of the command line that settle it, such as ``--drop a``.
    parts : sequence of TableError
        The errors of several columns that this is made of.
    """

    def __init__(
        self, message: str, fix: Sequence[str] = (), parts: Sequence[TableError] = ()
    ) -> None:
        super().__init__(message)
        self.fix = tuple(fix)
        self.parts = tuple(parts)


def collected(items: Iterable[Item], action: Callable[[Item], T]) -> list[T]:
    """Return the results of an action for all items, or raise one error for all that fail.

    Raises
    ------
    TableError
        The error of the only item that fails, or all messages with the options that settle them.
    """
    results, errors = list[T](), list[TableError]()
    for item in items:
        try:
            results.append(action(item))
        except TableError as error:
            errors.append(error)
    if errors:
        raise together(errors)
    return results


def together(errors: Sequence[TableError]) -> TableError:
    """Return one error for one or several; those of several columns are taken apart."""
    flat = [each for error in errors for each in getattr(error, "parts", ()) or (error,)]
    if len(flat) == 1:
        return flat[0]
    fixes = dict.fromkeys(e.fix for e in flat if isinstance(e, ColumnError) and e.fix)
    shown = [f"({k}) {error}" for k, error in enumerate(flat[:MOST], start=1)]
    if len(flat) > MOST:
        shown.append(f"and {len(flat) - MOST} more")
    words = [word for fix in fixes for word in fix]
    ending = f"; all at once: {shlex.join(map(printable, words))}" if words else ""
    return ColumnError(f"{len(flat)} problems: {'; '.join(shown)}{ending}", words, flat)
