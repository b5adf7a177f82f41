"""What goes to stderr: progress, notes and warnings; stdout belongs to the result."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeAlias

from sklearn.exceptions import ConvergenceWarning

from pliant.core.files import printable

Tick: TypeAlias = Callable[[int], None]
"""Called with the number of steps that were just done."""


def tell(text: str) -> None:
    """Print one line on stderr."""
    print(text, file=sys.stderr, flush=True)


def learning(rows: int, fits: int) -> str:
    """Return what progress is about while models are fitted."""
    return f"Learning from {rows} rows: {fits} fit{'' if fits == 1 else 's'}"


@contextmanager
def diagnostics() -> Iterator[None]:
    """Show the notes of the logger "pliant" and each different warning as one line on stderr."""
    logger, notes = logging.getLogger("pliant"), _Notes()
    logger.addHandler(notes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _Warnings().show
            yield
    finally:
        logger.removeHandler(notes)


class _Notes(logging.Handler):
    """Writes log records as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        tell(f"Note: {printable(record.getMessage(), 300)}")


class _Warnings:
    """Writes warnings, each once; of those about convergence only the first."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def show(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Stand in for `warnings.showwarning`."""
        text = printable(" ".join(str(message).split()), 600)
        key = category.__name__ if issubclass(category, ConvergenceWarning) else text
        if key not in self._shown:
            self._shown.add(key)
            tell(f"Warning: {text}")


class _Line:
    """Writes once what is being done."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self, steps: int) -> None:
        """Take note of some steps."""
        if self._text:
            tell(self._text)
        self._text = ""


@contextmanager
def progress(text: str, total: int | None = None) -> Iterator[Tick]:
    """Show a progress bar while a block runs; where stderr is no terminal, one line.

    That line comes with the first step, so that an error at the start is printed alone.

    Parameters
    ----------
    text : str
        What is being done.
    total : int, optional
        How many steps it takes; None if nobody knows.

    Yields
    ------
    callable
        To be called with the number of steps done since the last call.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_interactive:
        yield _Line(text)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps: bar.advance(task, steps)
