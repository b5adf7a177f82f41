"""Numbers in a temporary file, for tables that are larger than memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable

import numpy as np

from pliant.core.text import printable, quoted
from pliant.core.typing import Array


def temporary_map(blocks: Iterable[Array]) -> Array:
    """Return blocks of rows, one after the other, in a file that vanishes with the array.

    The file lies where Python keeps temporary ones (the variable TMPDIR names another folder) and
    has no name, so that nothing stays behind whatever happens.

    Parameters
    ----------
    blocks : iterable of arrays of shape (n_k, d)
        At least one.

    Returns
    -------
    numpy.memmap of shape (n, d)
        float64.

    Raises
    ------
    OSError
        If the disk is full, or there is no such folder; the message names it.
    """
    try:
        return _mapped(blocks)
    except OSError as error:
        folder = f" in {quoted(tempfile.tempdir, 200)}" if tempfile.tempdir else ""
        reason = error.strerror or printable(error)
        raise OSError(
            f"cannot write a temporary file{folder} ({reason}): set TMPDIR to another folder"
        ) from None


def _mapped(blocks: Iterable[Array]) -> Array:
    n_rows = n_columns = 0
    with tempfile.TemporaryFile() as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=np.float64).data)
            n_rows, n_columns = n_rows + len(block), block.shape[1]
        file.flush()
        return np.memmap(file, np.float64, "r+", shape=(n_rows, n_columns))
