"""The command line: ``pliant fit``, ``predict``, ``info``, ``compare``, ``methods`` and ``demo``.

Each command has a file of its own that parses and delegates. Results go to stdout; progress,
notes, warnings and errors go to stderr, each error as one line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from pliant.cli.exit_codes import FAILED, INTERRUPTED

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after ``pliant``; by default those of this process.

    Returns
    -------
    int
        The exit code: 0, 2 for wrong usage or data, 130 after Ctrl-C, 141 when the reader of
        stdout went away, 1 for the rest.
    """
    missing = [package for package in ("typer", "rich") if find_spec(package) is None]
    if missing:
        needed = " and ".join(missing)
        hint = "pip install 'pliant[cli]'"
        print(f"Error: the command line needs {needed}: {hint}", file=sys.stderr)
        return FAILED
    try:
        from pliant.cli.app import run
        from pliant.core.threads import one_blas_thread

        with one_blas_thread():
            return run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
