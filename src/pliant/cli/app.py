"""The commands put together, and run so that whatever happens ends in an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Container, Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command

from pliant._version import __version__
from pliant.cli.console import diagnostics, tell
from pliant.cli.errors import exit_code, one_line
from pliant.cli.exit_codes import READER_GONE

DISK = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))
"""Errors of a disk that is full or broken."""

COMMANDS = {
    "fit": ("pliant.cli.fit", "Learn a model from a table."),
    "predict": (
        "pliant.cli.predict",
        "Predict the target for each row of a table, in the order of its rows.",
    ),
    "info": (
        "pliant.cli.info",
        "Show what a model learned from which columns, and how good it is.",
    ),
    "compare": (
        "pliant.cli.compare",
        "Race methods on one table or several, and blend the best of them.",
    ),
    "methods": (
        "pliant.cli.methods",
        "List the methods, with their tasks, limits, tuning grids and papers.",
    ),
    "demo": (
        "pliant.cli.demo",
        "Compare LAB-RBF with a tuned SVM, boosting and a forest; write a report to open.",
    ),
}
"""The module of each command, and the first sentence of its help."""


def application(wanted: Container[str] = COMMANDS) -> typer.Typer:
    """Return the commands put together; those that are not wanted are listed and cannot run.

    Importing what a command needs takes seconds.
    """
    app = typer.Typer(
        name="pliant",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, (module, summary) in COMMANDS.items():
        if name in wanted:
            app.command(name)(getattr(import_module(module), name))
        else:
            app.command(name, help=summary)(_listed)
    app.callback()(pliant)
    return app


def _listed() -> None:
    """Stand for a command that is not run."""


def import_command(argv: Sequence[str]) -> None:
    """Import what the command of a command line needs."""
    for name in named(argv):
        import_module(COMMANDS[name][0])


def named(argv: Sequence[str]) -> list[str]:
    """Return the commands that a command line may be about: all that are among its words."""
    return [name for name in COMMANDS if name in argv]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"pliant {__version__}")
        raise typer.Exit()


def pliant(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Learn kernels from tables: exact, certified, fast.

    Start with:  pliant demo
    """


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; see `pliant.cli.main`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack a sign such as "±"
    with diagnostics():
        try:
            return _invoke(list(argv) or ["--help"])
        except BrokenPipeError:
            _drop_stdout()
            return READER_GONE
        except Exception as error:
            if os.environ.get("PLIANT_TRACEBACK"):
                raise
            if isinstance(error, OSError) and error.errno in DISK and _stdout_fails(error):
                error.filename = "stdout"
                _drop_stdout()
            tell(f"Error: {one_line(error)}")
            return exit_code(error)


def _invoke(argv: list[str]) -> int:
    """Parse and run; the parser's own errors come out as exceptions."""
    command, code = get_command(application(named(argv))), 0
    try:
        with command.make_context("pliant", argv) as context:
            command.invoke(context)
    except typer.Exit as stop:
        code = stop.exit_code
    if sys.stdout is not None:  # closed from the start
        sys.stdout.flush()
    return code


def _stdout_fails(error: OSError) -> bool:
    """Return whether an error that names no file is of stdout, which then takes no line either."""
    if error.filename is not None or len(error.args) < 2:
        return False
    try:
        print(flush=True)
    except OSError:
        return True
    return False


def _drop_stdout() -> None:
    """Let what is still buffered go nowhere, so that nothing complains when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
