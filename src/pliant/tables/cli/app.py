"""Build the application from its commands, run it, and map each error to an exit code."""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
from collections.abc import Container, Sequence
from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command

from pliant._version import __version__
from pliant.core.exceptions import ModelFileError
from pliant.core.text import printable, quoted
from pliant.tables.cli.exit_codes import ExitCode
from pliant.tables.cli.outputs import diagnostics, print_status
from pliant.tables.comparison.text import shortage

COMMANDS = {
    "fit": "Learn a model from a table.",
    "predict": "Predict the target for each row of a table, in row order.",
    "info": "Show the method, columns, parameters and scores of a saved model.",
    "compare": "Race methods on one or more tables, and blend the best of them.",
    "methods": "List the methods with their tasks, limits, tuning grids and references.",
    "demo": "Compare LAB-RBF with a tuned SVM, boosting and a forest, and write a report.",
}
"""First help sentence of each command; the command's module has the same name."""

USAGE_ERROR = typer.BadParameter.__base__ or typer.BadParameter
"""Base class of usage errors: from click, or from its copy in newer versions of typer."""

WRONG_INPUT = (USAGE_ERROR, ValueError, TypeError)
"""Errors caused by invalid options or data; TableError is a ValueError."""


def application(argv: Container[str] = COMMANDS) -> typer.Typer:
    """Return the application; commands that are not in `argv` are listed, but not imported."""
    app = typer.Typer(
        name="pliant",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, summary in COMMANDS.items():
        if name in argv:
            app.command(name)(getattr(import_module(f"pliant.tables.cli.{name}"), name))
        else:
            app.command(name, help=summary)(_placeholder)
    app.callback()(pliant)
    return app


def _placeholder() -> None:
    """Do nothing; placeholder for a command that is only listed."""


def import_command(argv: Sequence[str]) -> None:
    """Import the modules of the commands named in a command line."""
    for name in COMMANDS:
        if name in argv:
            import_module(f"pliant.tables.cli.{name}")


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
    """Run one command and return its exit code; see `pliant.tables.cli.main`."""
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
    """Parse and run a command; let usage errors propagate."""
    command, code = get_command(application(argv)), 0
    line = shlex.join(["pliant", *argv])
    try:
        with command.make_context("pliant", argv, obj=line) as context:
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


def exit_code(error: Exception) -> int:
    """Return 2 for invalid usage or data, and 1 for other errors.

    An error number in the chain of errors means that the system could not read or write a file; a
    file that is no model counts as such.
    """
    if isinstance(error, ModelFileError):
        return ExitCode.FAILED
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, OSError) and reason.errno is not None:
            return ExitCode.FAILED
        reason = reason.__cause__ or reason.__context__
    return ExitCode.MISUSED if isinstance(error, WRONG_INPUT) else ExitCode.FAILED


def format_error(error: Exception) -> str:
    """Return the message of an error as one line without control characters."""
    text = printable(" ".join(_message(error).split()), limit=600)
    if isinstance(error, MemoryError):
        return shortage(error)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return (
            "cannot start another thread: add --param n_jobs=1 or --jobs 1, or raise the limits on "
            "memory and processes (ulimit -v, ulimit -u)"
        )
    if isinstance(error, (*WRONG_INPUT, OSError, ImportError)):
        return text or type(error).__name__
    return f"unexpected {type(error).__name__}: {text} (set PLIANT_TRACEBACK=1 for a traceback)"


def _message(error: Exception) -> str:
    """Return the message; usage errors refer to --help, and OS errors omit the error number."""
    if isinstance(error, USAGE_ERROR):
        context, text = getattr(error, "ctx", None), getattr(error, "format_message", error.__str__)
        where = f" (see {context.command_path} --help)" if context else ""
        return f"{text().rstrip('.')}{where}"
    if isinstance(error, OSError) and error.strerror:
        return ": ".join([*([quoted(error.filename)] if error.filename else []), error.strerror])
    return str(error)
