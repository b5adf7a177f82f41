"""Exit codes of the commands."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of failed commands; success is 0."""

    FAILED = 1  # problem with files, packages or memory
    MISUSED = 2  # invalid usage or data
    INTERRUPTED = 130  # Ctrl-C
    READER_GONE = 141  # broken pipe on stdout
    TERMINATED = 143  # SIGTERM
