"""The exit codes of commands, as a shell reports them."""

from __future__ import annotations

FAILED, MISUSED = 1, 2
"""Trouble with files, packages or memory; wrong usage or data."""

INTERRUPTED = 130
"""Ctrl-C."""

READER_GONE = 141
"""The reader of stdout went away: a program that writes into a closed pipe."""

TERMINATED = 143
"""SIGTERM."""
