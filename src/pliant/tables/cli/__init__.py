"""Command-line interface: ``pliant fit``, ``predict``, ``info``, ``compare`` and others.

Each command has a module that parses its arguments and delegates. Results go to stdout; progress,
notes, warnings and errors go to stderr, with one line per error.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

from pliant.core import process
from pliant.tables.cli.exit_codes import ExitCode
from pliant.tables.cli.postponed import STATISTICS, postpone
from pliant.tables.cli.quick import is_quick

__all__ = ["main"]


class _Terminated(BaseException):
    """Raised by SIGTERM."""


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : list of str, optional
        The arguments after ``pliant``. By default, the arguments of this process, with handlers for
        SIGINT and SIGTERM.

    Returns
    -------
    int
        The exit code: 0 for success, 2 for invalid usage or data, 130 after Ctrl-C, 141 after a
        broken pipe, 143 after SIGTERM, 1 for other errors.
    """
    if argv is not None or threading.current_thread() is not threading.main_thread():
        return _run(sys.argv[1:] if argv is None else argv)
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not if ignored
    if interruptible:
        signal.signal(signal.SIGINT, _exit_at_once)
    sys.unraisablehook = _repeat_interrupt
    try:
        process.BARE = is_quick(sys.argv[1:])
        if not process.BARE:
            postpone("scipy.stats", STATISTICS)
        gc.disable()  # imports create almost no garbage, and collecting it takes 0.7 s
        _import_command(sys.argv[1:])
        gc.freeze()
        gc.enable()
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, _terminate)
        return _run(sys.argv[1:])
    except _Terminated:
        print("terminated", file=sys.stderr)
        return ExitCode.TERMINATED
    finally:
        gc.freeze()  # the process ends, and collecting takes 0.1 s once more
        sys.unraisablehook = sys.__unraisablehook__
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):  # cleanup is done
                signal.signal(number, signal.SIG_DFL)


def _run(argv: list[str]) -> int:
    try:
        from importlib.util import find_spec

        if find_spec("typer") is None:
            message = "the command line needs typer: pip install 'pliant[cli]'"
            print(f"Error: {message}", file=sys.stderr)
            return ExitCode.FAILED
        if error := _import_command(argv):
            print(f"Error: cannot import pliant: {error}", file=sys.stderr)
            return ExitCode.FAILED
        from pliant.core.threads import one_blas_thread
        from pliant.tables.cli.app import run

        with one_blas_thread():
            return run(argv)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED


def _import_command(argv: list[str]) -> str:
    """Import the modules of a command; return the message of an import error, or ""."""
    try:
        from pliant.tables.cli.app import import_command

        import_command(argv)
    except (ImportError, MemoryError, OSError) as error:
        first: BaseException = error
        while earlier := first.__cause__ or first.__context__:
            first = earlier
        return " ".join(str(first).split())[:300] or type(first).__name__
    return ""


def _exit_at_once(*_: object) -> None:
    """Exit at once: during imports, KeyboardInterrupt may be masked by other exceptions."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(ExitCode.INTERRUPTED)


def _terminate(*_: object) -> None:
    signal.signal(signal.SIGTERM, lambda *_: None)  # `timeout` sends two, the second during cleanup
    raise _Terminated


def _repeat_interrupt(ignored: sys.UnraisableHookArgs) -> None:
    """Repeat an interrupt that Python ignores, as in a callback while numba loads a loop."""
    number = {KeyboardInterrupt: signal.SIGINT, _Terminated: signal.SIGTERM}.get(ignored.exc_type)
    if number is None:
        sys.__unraisablehook__(ignored)
        return
    if number == signal.SIGTERM:
        signal.signal(signal.SIGTERM, _terminate)
    threading.Timer(0.1, os.kill, [os.getpid(), number]).start()
