"""Open a file that may be packed; what it begins with says so, not its name."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, cast

from pliant.core.exceptions import TableError
from pliant.core.text import printable, quoted

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"

FOREIGN = {
    PARQUET: "is a Parquet file: give it a name that ends in .parquet",
    b"PK\x03\x04": "is an Excel workbook or a zip archive: save the table as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook: save the table as CSV",
    b"BZh": "is packed by bzip2: unpack it, or pack it by gzip",
    b"\xfd7zXZ": "is packed by xz: unpack it, or pack it by gzip",
    b"\x28\xb5\x2f\xfd": "is packed by Zstandard: unpack it, or pack it by gzip",
}
"""What files that are no CSV begin with, and what to do with them."""


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a text file, unpacking it if it begins as gzip does, whatever its name says.

    Raises
    ------
    OSError
        If it cannot be opened.
    TableError
        If it is of a kind that is not read.
    """
    with open(path, "rb") as file:
        packed = file.read(len(GZIP)) == GZIP
    with ExitStack() as stack:
        unpack = gzip.open if packed else open
        content = cast(BinaryIO, stack.enter_context(unpack(path, "rb")))
        start = content.read(max(map(len, FOREIGN)))
        reason = next((text for mark, text in FOREIGN.items() if start.startswith(mark)), None)
        if reason is not None:
            raise TableError(f"{quoted(path, 200)} {reason}")
        content.seek(0)
        stack.pop_all()  # whoever asked for it closes it
    return content


@contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise TableError where a file cannot be opened or unpacked."""
    name = quoted(path, 200)
    try:
        yield
    except EOFError:
        raise TableError(f"{name} is not a whole gzip file: it ends too early") from None
    except (zlib.error, gzip.BadGzipFile):
        raise TableError(f"{name} is not a whole gzip file: its content is damaged") from None
    except OSError as error:
        raise TableError(f"cannot read {name}: {error.strerror or printable(error)}") from None
    except ValueError as error:
        if isinstance(error, TableError) or "\0" not in os.fspath(path):
            raise
        raise TableError(f"cannot read {name}: the name holds a NUL character") from None
