"""Read LIBSVM files as tables: a column ``label``, and a column of numbers for each index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.core.exceptions import TableError
from pliant.core.text import printable, quoted
from pliant.core.typing import Array
from pliant.tables.reading.dialect import PathLike, open_packed
from pliant.tables.reading.names import require

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "label"
"""Name of the column of labels; the other names are the indices of the file."""

MOST_COLUMNS, MOST_CELLS = 20_000, 50_000_000
"""Maximum size of a table; 50 million cells are 400 MB, and pandas needs a few copies."""


def libsvm_tables(
    files: Sequence[PathLike], rows: int | None, cells: int, numbers: Iterable[str]
) -> Iterator[pa.Table]:
    """Yield tables of at most ``rows`` rows, and about ``cells`` cells; one per file by default.

    Absent features are 0. The columns are ``label`` and the indices from 1 to the largest one in
    the files and among the names ``numbers``; 0 is a column only if it occurs.
    """
    pa, loaded = require("pyarrow"), [_load(path) for path in files]
    known = [int(name) for name in numbers if name.isascii() and name.isdecimal()]
    last = max([1, *known, *(X.shape[1] - 1 for X, _ in loaded)])
    check_size(sum(len(labels) for _, labels in loaded) if rows is None else 1, last)
    first = 0 if 0 in known or any((X.indices == 0).any() for X, _ in loaded) else 1
    names = [LABEL, *map(str, range(first, last + 1))]
    for X, labels in loaded:
        X.resize(len(labels), last + 1)
        most = len(labels) if rows is None else min(rows, 1 + cells // len(names))
        for start in range(0, len(labels), most):
            features: Array = X[start : start + most].toarray(order="F").T[first:]
            yield pa.table([labels[start : start + most], *features], names)


def check_size(rows: int, columns: int) -> None:
    """Raise TableError if a table of dense columns would be too large."""
    if columns > MOST_COLUMNS or rows * columns > MOST_CELLS:
        raise TableError(
            f"expected a LIBSVM file of at most {MOST_COLUMNS} columns and {MOST_CELLS} cells, "
            f"zeros included, got {columns} columns and at least {rows} rows: in Python, "
            "sklearn.datasets.load_svmlight_file reads sparse rows, and TruncatedSVD makes few "
            "columns of many"
        )


def _load(path: PathLike) -> tuple[Any, Array]:
    """Return the features of a file as a CSR matrix, with its indices as columns, and the labels.

    scikit-learn reads comments after ``#``, and like LIBSVM it refuses indices out of order. LIBSVM
    takes index 0 as written, so nothing is guessed about where indices start.
    """
    from sklearn.datasets import load_svmlight_file

    name = quoted(path, 200)
    with open_packed(path) as file:
        first: list[bytes] = next(filter(None, map(_words, file)), [])
    if not first:
        raise TableError(f"{name} has no rows")
    if len(first) > 1 and first[1].startswith(b"qid:"):
        raise TableError(
            f"{name}: expected rows without qid:, as no method learns to rank, got "
            f"{quoted(first[1].decode(errors='replace'))} in the first one"
        )
    with open_packed(path) as file:
        try:
            X, labels = load_svmlight_file(file, zero_based=True)
        except (ValueError, OverflowError) as error:
            raise TableError(
                f"{name}: expected rows such as '1 3:0.5 7:2', one number as the label and "
                f"ascending indices, got: {printable(error, 160)}"
            ) from None
    return X, np.asarray(labels)


def _words(line: bytes) -> list[bytes]:
    """Return the words of a line without its comment."""
    return line.partition(b"#")[0].split()
