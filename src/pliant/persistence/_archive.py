"""The outside of a model file: a zip archive of bounded size, and the arrays in it."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Mapping

import numpy as np

from pliant.core.exceptions import ModelFileError
from pliant.core.files import printable, quoted

MAX_BYTES = 1 << 30
"""The largest model file; all of it is held in memory."""

MAX_SCHEMA_BYTES = 1 << 26
"""The largest description of the objects in it; their arrays stand beside it."""

MAX_MEMBERS = 100_000

MEMBER = re.compile(r"schema\.json|[0-9a-f-]{1,40}\.(npy|npz|bin)")
"""Names that skops gives; of these, only arrays (npy) can be on the closed list."""


def members(data: bytes) -> dict[str, bytes]:
    """Return the members of the archive, by name, if `save_model` could have written them.

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
            return {info.filename: archive.read(info) for info in archive.infolist()}
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ModelFileError(f"expected a whole zip archive: {printable(error)}") from None


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


def check_array(contents: Mapping[str, bytes], file: object, type_name: str) -> None:
    """Raise ModelFileError if a member is not a plain array that fills it to the last byte.

    The array is in NumPy's format 1.0; unless its type is ``numpy.ndarray``, it is a scalar.
    """
    if not isinstance(file, str) or not file.endswith(".npy") or file not in contents:
        raise ModelFileError(f"array {quoted(file)} is missing")
    stream = io.BytesIO(contents[file])
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ModelFileError(f"array {quoted(file)} is in an unknown format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in "biufSU" or (shape and type_name != "numpy.ndarray"):
        raise ModelFileError(f"array {quoted(file)} has type {quoted(dtype)} and shape {shape}")
    rest = len(contents[file]) - stream.tell()
    size = math.prod(shape) * dtype.itemsize
    if dtype.itemsize == 0 or min(shape, default=0) < 0 or size != rest:
        raise ModelFileError(f"array {quoted(file)} of shape {shape} does not fit its {rest} bytes")
