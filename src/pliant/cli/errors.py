"""Map an error to its exit code and a message of one line."""

from __future__ import annotations

import typer

from pliant.cli.exit_codes import ExitCode
from pliant.comparison.text import shortage
from pliant.core.text import printable, quoted

USAGE_ERROR = typer.BadParameter.__base__ or typer.BadParameter
"""Base class of usage errors: from click, or from its copy in newer versions of typer."""

WRONG_INPUT = (USAGE_ERROR, ValueError, TypeError)
"""Errors caused by invalid options or data; TableError and ModelFileError are ValueErrors."""


def exit_code(error: Exception) -> int:
    """Return 2 for invalid usage or data, and 1 for other errors."""
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
