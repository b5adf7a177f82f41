"""What goes to stderr: progress, notes and warnings; stdout belongs to the result."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pliant.core.text import harmless, printable

if TYPE_CHECKING:
    from pliant.comparison.search import Tick


def tell(text: str) -> None:
    """Print one line on stderr."""
    print(harmless(text), file=sys.stderr, flush=True)


def show(text: str) -> None:
    """Print a result on stdout; names in it cannot control the terminal."""
    print(harmless(text), flush=True)


@contextmanager
def diagnostics() -> Iterator[None]:
    """Show the notes of the logger "pliant" and each different warning as one line on stderr."""
    logger, notes = logging.getLogger("pliant"), _Notes()
    logger.addHandler(notes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _each_once()
            yield
    finally:
        logger.removeHandler(notes)


class _Notes(logging.Handler):
    """Writes log records as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        tell(f"Note: {printable(record.getMessage(), 300)}")


def _each_once() -> Callable[..., None]:
    """Return a stand-in for `warnings.showwarning`: each text once, one about convergence."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        from sklearn.exceptions import ConvergenceWarning

        text = printable(" ".join(str(message).split()), 600)
        key = category.__name__ if issubclass(category, ConvergenceWarning) else text
        if key not in shown:
            shown.add(key)
            tell(f"Warning: {text}")

    return show


def _once(text: str) -> Tick:
    """Return a tick that prints a text the first time."""
    waiting = [text]

    def tick(steps: int) -> None:
        if waiting:
            tell(waiting.pop())

    return tick


@contextmanager
def progress(text: str, total: int | None = None) -> Iterator[Tick]:
    """Show a progress bar while a block runs; where stderr is no terminal, one line.

    That line comes with the first step, so that an error at the start is printed alone. The block
    gets a tick; a `total` of None means that nobody knows how many steps there are.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_interactive:
        yield _once(text)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda steps: bar.advance(task, steps)
