"""Locks between processes, which the system releases when a process ends, however it ends."""

from __future__ import annotations

import os
import socket
import sys
import time
import weakref
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pliant.core.text import printable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCKED_BYTE = 1 << 30
"""The byte that is locked on Windows, far beyond the content, which stays readable."""

PAUSE = 0.02
"""Seconds between two attempts to take a lock that somebody else has."""

_HELD: weakref.WeakSet[FileLock] = weakref.WeakSet()


class FileLock:
    """A lock that one holder has at a time, among all processes that name the same file.

    The file has one line that says who holds the lock. It is a file of its own: one that is
    replaced cannot be locked itself.

    Parameters
    ----------
    path : path-like
        The file of the lock, made if it does not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._file: int | None = None

    def acquire(self, wait: float = 0.0) -> bool:
        """Take the lock, and return whether that succeeded within `wait` seconds.

        On a file system without locks it always succeeds. Raises OSError if the file cannot be
        made.
        """
        ends = time.monotonic() + wait
        while not self._attempt():
            if time.monotonic() >= ends:
                return False
            time.sleep(PAUSE)
        _HELD.add(self)
        return True

    def release(self, *, remove: bool = False) -> None:
        """Release the lock if it is held; `remove` removes its file as well."""
        if self._file is None:
            return
        if remove and sys.platform != "win32":
            with suppress(OSError):  # while it is locked, so that nobody takes a removed file
                self._path.unlink()
        self._close()
        if remove and sys.platform == "win32":
            with suppress(OSError):  # Windows refuses while somebody has the file open
                self._path.unlink()

    def __del__(self) -> None:
        self._close()

    def holder(self) -> str:
        """Return who holds the lock, such as "process 4711 on host, since ...", as far as known."""
        with suppress(OSError), self._path.open("rb") as file:
            text = printable(file.read(400).decode("utf-8", errors="replace"), 160)
            if text:
                return text
        return "another process"

    def _attempt(self) -> bool:
        """Try to take the lock once."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        file = os.open(self._path, flags, 0o666)
        try:
            taken = _take(file) and self._is_current(file)
            if taken:
                self._file, file = file, -1
                with suppress(OSError):  # a full disk: the lock holds without the line
                    os.ftruncate(self._file, 0)
                    os.write(self._file, f"{_me()}\n".encode())
            return taken
        finally:
            if file >= 0:
                os.close(file)

    def _is_current(self, file: int) -> bool:
        """Return whether the name still belongs to the open file: a holder removes it at last."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        file, self._file = getattr(self, "_file", None), None
        if file is not None:
            os.close(file)


def _take(file: int) -> bool:
    """Lock an open file; return False if somebody else has it, True where locks are unknown."""
    try:
        if sys.platform == "win32":
            os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _me() -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {os.getpid()} on {socket.gethostname()}, since {now}"


def _leave_to_parent() -> None:
    """Close the locks in a forked process: they belong to its parent."""
    for lock in list(_HELD):
        lock._close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
