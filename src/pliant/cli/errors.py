"""The exit code of an error, and its message in one line."""

from __future__ import annotations

import typer

from pliant.cli.exit_codes import ExitCode
from pliant.comparison.text import shortage
from pliant.core.text import printable, quoted

USAGE_ERROR = typer.BadParameter.__base__ or typer.BadParameter
"""The error of the parser: click's class, or that of its copy in newer versions of typer."""

WRONG_INPUT = (USAGE_ERROR, ValueError, TypeError)
"""Wrong options and wrong data; the errors of tables and of model files are ValueErrors."""


def exit_code(error: Exception) -> int:
    """Return 2 for wrong usage or data, 1 for the rest."""
    return ExitCode.MISUSED if isinstance(error, WRONG_INPUT) else ExitCode.FAILED


def one_line(error: Exception) -> str:
    """Return the message of an error as one line without control characters."""
    text = printable(" ".join(_message(error).split()), limit=600)
    if isinstance(error, MemoryError):
        return shortage(error)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return (
            "not enough memory for another thread: add --param n_jobs=1 or --jobs 1, or allow more "
            "memory or processes (ulimit -v, ulimit -u)"
        )
    if isinstance(error, (*WRONG_INPUT, OSError, ImportError)):
        return text or type(error).__name__
    return f"unexpected {type(error).__name__}: {text} (PLIANT_TRACEBACK=1 shows where)"


def _message(error: Exception) -> str:
    """Return the message: usage errors point to --help, errors of the system drop their number."""
    if isinstance(error, USAGE_ERROR):
        context, text = getattr(error, "ctx", None), getattr(error, "format_message", error.__str__)
        where = f" (see {context.command_path} --help)" if context else ""
        return f"{text().rstrip('.')}{where}"
    if isinstance(error, OSError) and error.strerror:
        return ": ".join([*([quoted(error.filename)] if error.filename else []), error.strerror])
    return str(error)
