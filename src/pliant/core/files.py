"""Atomic writing and safe opening of files, and conversion of values to plain data."""

from __future__ import annotations

import errno
import math
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from pliant.core.text import printable, quoted


def plain_data(value: Any) -> Any:
    """Convert a value to JSON types; NaN and infinity become None."""
    if isinstance(value, dict):
        return {str(name): plain_data(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(part) for part in value]
    if hasattr(value, "tolist"):
        return plain_data(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read bytes; raise OSError for a pipe, which would block, or a folder."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return open(path, "rb")


@contextmanager
def replacing(path: str | os.PathLike[str], error: type[Exception] = OSError) -> Iterator[Path]:
    """Write a file atomically: yield a temporary file that is renamed to ``path`` at the end.

    The temporary file has the target's folder and suffix, and is removed if the block raises.
    Permissions are kept. Raise `error` with a one-line message if ``path`` cannot be written.
    """
    try:
        target = _resolve_target(path)
        draft = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
        draft.touch(exist_ok=False)
        try:
            yield draft
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
    except OSError as reason:
        text = reason.strerror or printable(reason)
        raise error(f"cannot write {quoted(path, 200)}: {text}") from None


def _resolve_target(path: str | os.PathLike[str]) -> Path:
    """Return ``path`` with links resolved; raise OSError if it cannot be a regular file."""
    if "\0" in os.fspath(path):
        raise OSError("the name contains a NUL character")
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise OSError(errno.ENOENT, f"missing folder {quoted(target.parent, 200)}")
    try:
        mode = target.stat().st_mode  # unlike `exists`, it raises an error for names too long
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(mode):
        raise OSError("it exists and is not a regular file")
    if not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, "it is write-protected")
    return target
