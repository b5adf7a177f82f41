"""Arrays of known types and shapes in npz files, read with care: anybody may have written them.

`numpy.load` would follow links, wait for pipes, and allocate what a header claims.
"""

from __future__ import annotations

import io
import math
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.files import replacing
from pliant.core.text import printable, quoted

Layout: TypeAlias = Mapping[str, tuple[str, tuple[int | None, ...]]]
"""The types that each array may have, such as ``<f8`` or ``<f8 <i8``, and its shape.

Arrays are written in the first type. One length may be None, for any.
"""

OVERHEAD = 1024
"""Bytes that an array may take in the file beyond its values."""

OPEN_BYTES = 1 << 28
"""Largest size of an array of unknown length."""

HEADER_BYTES = 128
"""Bytes before the values."""

PLAIN_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
PLAIN_OPEN |= getattr(os, "O_BINARY", 0)
"""Flags that follow no links and do not wait for the other end of a pipe."""


class Damaged(ValueError):
    """A file does not have the expected content."""


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays as an npz file, atomically: a temporary file is renamed when complete.

    Raises OSError if the file cannot be written, or a link stands in its place.
    """
    if path.is_symlink():
        raise OSError(f"cannot write {quoted(path, 200)}: a symbolic link stands there")
    with replacing(path) as draft, zipfile.ZipFile(draft, "w") as archive:
        for name, values in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as file:
                np.lib.format.write_array(file, values, allow_pickle=False)


def read_arrays(path: Path, layout: Layout) -> dict[str, npt.NDArray[Any]] | None:
    """Return the arrays of an npz file, or None if there is no such file.

    A file of the wrong size is not read, compressed members are not unpacked, and an array must
    begin with exactly the header of its type and shape. So a hostile file costs no more than a good
    one. Any other content raises Damaged.
    """
    data = read_bytes(path, sum(_most_bytes(*kind) + OVERHEAD for kind in layout.values()))
    if data is None:
        return None
    members = _members(data, list(layout))
    return {name: _array(name, members[name], *kind) for name, kind in layout.items()}


def read_bytes(path: Path, limit: int) -> bytes | None:
    """Return the content of a file of at most `limit` bytes, or None if there is no file.

    Raises Damaged if it is larger, a link, a folder or a device, or may not be read.
    """
    try:
        with os.fdopen(os.open(path, PLAIN_OPEN), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Damaged("it is not a regular file")
            if status.st_size > limit:
                raise Damaged(f"expected at most {limit} bytes, got {status.st_size}")
            return file.read(limit)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Damaged(error.strerror or printable(error)) from None


def _members(data: bytes, names: list[str]) -> dict[str, bytes]:
    """Return the members of a zip archive that has just these, uncompressed."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if sorted(entry.filename for entry in entries) != sorted(f"{n}.npy" for n in names):
                raise Damaged(f"expected the arrays {', '.join(names)}")
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise Damaged("expected the arrays to be uncompressed")
            return {name: archive.read(f"{name}.npy") for name in names}
    except Damaged:
        raise
    except Exception as error:  # zipfile raises many kinds of errors
        raise Damaged(f"expected a whole npz file: {printable(error)}") from None


def _array(
    name: str, content: bytes, types: str, shape: tuple[int | None, ...]
) -> npt.NDArray[Any]:
    """Return an array if it is of one of the types and of that shape."""
    for dtype in types.split():
        item = np.dtype(dtype).itemsize * math.prod(n for n in shape if n is not None)
        free = (len(content) - HEADER_BYTES) // item if item else 0
        whole = tuple(free if n is None else n for n in shape)
        header = _header(dtype, whole)
        values = content[len(header) :]
        if (
            content.startswith(header)
            and len(values) == math.prod(whole) * np.dtype(dtype).itemsize
        ):
            return np.frombuffer(values, dtype).reshape(whole).copy()
    raise Damaged(f"expected array {name} of type {types} and shape {shape}")


def _most_bytes(types: str, shape: tuple[int | None, ...]) -> int:
    if None in shape:
        return OPEN_BYTES
    return np.dtype(types.split()[0]).itemsize * math.prod(n for n in shape if n is not None)


def _header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the bytes before the values in NumPy's format 1.0."""
    header = io.BytesIO()
    description = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, description)
    return header.getvalue()
