"""The exit codes of commands, as a shell reports them."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of commands that fail; 0 is success."""

    FAILED = 1  # trouble with files, packages or memory
    MISUSED = 2  # wrong usage or data
    INTERRUPTED = 130  # Ctrl-C
    READER_GONE = 141  # the reader of stdout closed the pipe
    TERMINATED = 143  # SIGTERM
