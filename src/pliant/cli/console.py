"""Print results to stdout, and progress, notes and warnings to stderr."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pliant.core.text import printable, remove_controls

if TYPE_CHECKING:
    from pliant.comparison.search import Tick


def print_status(text: str) -> None:
    """Print a line to stderr without control characters."""
    print(remove_controls(text), file=sys.stderr, flush=True)


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
    """Return a `warnings.showwarning` that prints each text and one ConvergenceWarning once."""
    shown: set[str] = set()

    def print_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
        from sklearn.exceptions import ConvergenceWarning

        text = printable(" ".join(str(message).split()), 600)
        key = category.__name__ if issubclass(category, ConvergenceWarning) else text
        if key not in shown:
            shown.add(key)
            print_status(f"Warning: {text}")

    return print_warning


@contextmanager
def progress(text: str, total: int | None = None) -> Iterator[Tick]:
    """Show a progress bar on a terminal, or print one line elsewhere, while a block runs.

    The line is printed at the first step, so that an error before it is printed alone. The block
    receives a function to call with the number of new steps; `total` is None if unknown.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_interactive:
        waiting = [text]

        def tell_once(steps: int) -> None:
            if waiting:
                print_status(waiting.pop())

        yield tell_once
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps: bar.advance(task, steps)
