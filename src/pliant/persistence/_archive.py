"""The outside of a model file: a zip archive of bounded size, and the arrays in it."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from pliant.core.exceptions import ModelFileError
from pliant.core.text import printable, quoted

MAX_BYTES = 1 << 30
"""The largest model file; all of it is held in memory."""

MAX_SCHEMA_BYTES = 20_000_000
"""The largest description of the objects in it; their arrays stand beside it. Objects that are
described take about eight times the bytes of their description."""

DENSE_BYTES = 3_000_000
"""JSON from which on it must not be denser than a description of objects."""

STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
"""The texts in JSON, in which brackets and commas mean nothing."""

MAX_MEMBERS = 100_000

MAX_HEADER_BYTES = 1 << 16
"""More than the header of an array takes."""

MEMBER = re.compile(r"schema\.json|[0-9a-f-]{1,40}\.(npy|npz|bin)")
"""Names that skops gives; of these, only arrays (npy) can be on the closed list."""


@contextmanager
def opened(data: bytes) -> Iterator[zipfile.ZipFile]:
    """Open the archive in `data`, if `save_model` could have written its directory.

    A model file is stored without compression. So a member cannot unpack to more than it takes
    in the file, and what the file declares can be compared with what is there.
    """
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"expected at most {MAX_BYTES} bytes, got more")
    if data.startswith(b"\x80"):
        raise ModelFileError("this is a pickle, which is never loaded since it can run any code")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_directory(archive.infolist(), len(data))
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ModelFileError(f"expected a whole zip archive: {printable(error)}") from None


def schema_of(archive: zipfile.ZipFile) -> bytes:
    """Return the description of the objects in a file."""
    data = archive.read("schema.json")
    check_density(data)
    return data


def check_density(data: bytes) -> None:
    """Raise ModelFileError if the values in JSON would take much more memory than the JSON.

    An empty list takes 60 bytes and is written in 2; a dictionary takes 200, a number 40.
    """
    if len(data) < DENSE_BYTES:
        return
    plain = STRINGS.sub(b"", data)
    needed = 200 * plain.count(b"{") + 70 * plain.count(b"[") + 40 * plain.count(b",")
    if needed > 8 * len(data):
        raise ModelFileError(f"{len(data)} bytes of JSON hold too many small values")


def check_directory(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Raise ModelFileError if this cannot be the directory of a model file of `size` bytes."""
    names = {entry.filename for entry in entries}
    if len(entries) > MAX_MEMBERS:
        raise ModelFileError(f"expected at most {MAX_MEMBERS} arrays, got {len(entries) - 1}")
    if len(names) < len(entries) or "schema.json" not in names:
        raise ModelFileError("expected a zip archive with one schema.json and no name twice")
    for entry in entries:
        if MEMBER.fullmatch(entry.filename) is None:
            raise ModelFileError(f"unexpected member {quoted(entry.filename)}")
        stored = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1
        if not stored or entry.file_size != entry.compress_size:
            raise ModelFileError(f"member {quoted(entry.filename)} is compressed or encrypted")
        if entry.filename == "schema.json" and entry.file_size > MAX_SCHEMA_BYTES:
            raise ModelFileError(f"expected at most {MAX_SCHEMA_BYTES} bytes of schema.json")
    declared = sum(entry.file_size for entry in entries)
    if declared > size:
        raise ModelFileError(f"{declared} bytes are declared in a file of {size}")


def check_array(archive: zipfile.ZipFile, file: object, type_name: str) -> None:
    """Raise ModelFileError if a member is not a plain array that fills it to the last byte.

    The array is in NumPy's format 1.0; unless its type is ``numpy.ndarray``, it is a scalar. Only
    the header is read here.
    """
    if not isinstance(file, str) or not file.endswith(".npy") or file not in archive.NameToInfo:
        raise ModelFileError(f"array {quoted(file)} is missing")
    with archive.open(file) as member:
        stream = io.BytesIO(member.read(MAX_HEADER_BYTES))
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ModelFileError(f"array {quoted(file)} is in an unknown format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in "biufSU" or (shape and type_name != "numpy.ndarray"):
        raise ModelFileError(f"array {quoted(file)} has type {quoted(dtype)} and shape {shape}")
    rest = archive.getinfo(file).file_size - stream.tell()
    size = math.prod(shape) * dtype.itemsize
    if dtype.itemsize == 0 or min(shape, default=0) < 0 or size != rest:
        raise ModelFileError(f"array {quoted(file)} of shape {shape} does not fit its {rest} bytes")
