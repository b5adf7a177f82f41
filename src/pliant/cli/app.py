"""Build the application from its commands, run it, and map each error to an exit code."""

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
from pliant.cli.console import diagnostics, print_status
from pliant.cli.errors import exit_code, format_error
from pliant.cli.exit_codes import ExitCode

COMMANDS = {
    "fit": "Learn a model from a table.",
    "predict": "Predict the target for each row of a table, in row order.",
    "info": "Show the method, columns, parameters and scores of a saved model.",
    "compare": "Race methods on one or more tables, and blend the best of them.",
    "methods": "List the methods with their tasks, limits, tuning grids and references.",
    "demo": "Compare LAB-RBF with a tuned SVM, boosting and a forest, and write a report.",
}
"""The first sentence of the help of each command; the module has the name of the command."""


def application(wanted: Container[str] = COMMANDS) -> typer.Typer:
    """Return the application; commands that are not `wanted` are only listed in the help.

    Importing a command takes seconds.
    """
    app = typer.Typer(
        name="pliant",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, summary in COMMANDS.items():
        if name in wanted:
            app.command(name)(getattr(import_module(f"pliant.cli.{name}"), name))
        else:
            app.command(name, help=summary)(_placeholder)
    app.callback()(pliant)
    return app


def _placeholder() -> None:
    """Do nothing; placeholder for a command that is only listed."""


def import_command(argv: Sequence[str]) -> None:
    """Import the modules of the commands in a command line."""
    for name in _commands_in(argv):
        import_module(f"pliant.cli.{name}")


def _commands_in(argv: Sequence[str]) -> list[str]:
    """Return the names of commands among the arguments of a command line."""
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
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack characters such as "±"
    with diagnostics():
        try:
            return _invoke(list(argv) or ["--help"])
        except BrokenPipeError:
            _discard_stdout()
            return ExitCode.READER_GONE
        except Exception as error:
            if os.environ.get("PLIANT_TRACEBACK"):
                raise
            if isinstance(error, OSError) and _is_stdout_error(error):
                error.filename = "stdout"
                _discard_stdout()
            print_status(f"Error: {format_error(error)}")
            return exit_code(error)


def _invoke(argv: list[str]) -> int:
    """Parse and run a command; usage errors are raised."""
    command, code = get_command(application(_commands_in(argv))), 0
    try:
        with command.make_context("pliant", argv) as context:
            command.invoke(context)
    except typer.Exit as stop:
        code = stop.exit_code
    if sys.stdout is not None:  # None if it was closed before the start
        sys.stdout.flush()
    return code


def _is_stdout_error(error: OSError) -> bool:
    """Return True if the error names no file and stdout cannot be written, as on a full disk."""
    full = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))
    if error.errno not in full or error.filename is not None or len(error.args) < 2:
        return False
    try:
        print(flush=True)
    except OSError:
        return True
    return False


def _discard_stdout() -> None:
    """Redirect stdout to the null device, so that flushing it at exit raises no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
