"""A table in several files: those of a folder, or those that a pattern matches."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pliant.core.exceptions import TableError
from pliant.core.text import quoted
from pliant.tables._names import listed

if TYPE_CHECKING:
    import pandas as pd

PathLike: TypeAlias = str | os.PathLike[str]

MARKS = ("*", "?", "[")
"""A name with one of these is a pattern, unless there is a file of this name."""

ASIDE = (".", "_")
"""What the names of files begin with that are no part of a table, such as ``_SUCCESS``."""


def files_of(path: PathLike, endings: Collection[str]) -> Sequence[PathLike]:
    """Return the files that a name stands for: itself, or those of a folder or of a pattern.

    Files are in the order of their names. Those whose names begin with a dot or an underscore are
    left aside.

    Parameters
    ----------
    path : path-like
        A file, a folder, or a pattern such as ``sales/2024-*.parquet``; ``**`` stands for any
        number of folders.
    endings : collection of str
        How the names of tables end.

    Raises
    ------
    TableError
        If a folder holds no table, or something else as well, or if nothing matches a pattern.
    """
    text = os.fspath(path)
    if "\0" in text:
        return (path,)
    if os.path.isdir(text):
        return _of_folder(Path(text), tuple(endings))
    if os.path.lexists(text) or not any(mark in text for mark in MARKS):
        return (path,)
    matches = sorted(filter(_is_part, map(Path, glob.iglob(text, recursive=True))))
    if not matches:
        raise TableError(f"{quoted(path, 200)}: expected a file that the pattern matches, got none")
    return matches


def _of_folder(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Return the files of a folder, each of which has to be a table."""
    name = quoted(folder, 200)
    try:
        inside = sorted(each for each in folder.iterdir() if not each.name.startswith(ASIDE))
    except OSError as error:
        raise TableError(f"cannot read the folder {name}: {error.strerror}") from None
    if not inside:
        raise TableError(f"the folder {name} is empty: expected tables, {', '.join(endings)}")
    others = [each for each in inside if not _is_table(each, endings)]
    if others:
        raise TableError(
            f"the folder {name} holds {listed([each.name for each in others], 3)}: expected files "
            f"that end in {', '.join(endings)} only; name the tables by a pattern, such as "
            f"{quoted(folder / '*.csv', 200)}"
        )
    return inside


def _is_part(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(ASIDE)


def _is_table(path: Path, endings: tuple[str, ...]) -> bool:
    return path.is_file() and path.name.lower().endswith(endings)


def check_columns(
    names: Sequence[str], path: PathLike, expected: Sequence[str], first: PathLike
) -> None:
    """Raise TableError unless a file has the columns of the first one, in whatever order."""
    if set(names) == set(expected):
        return
    absent = [name for name in expected if name not in set(names)]
    extra = [name for name in names if name not in set(expected)]
    differences = [f"lacks {listed(absent, 3)}"] if absent else []
    differences += [f"has {listed(extra, 3)} besides"] if extra else []
    raise TableError(
        f"expected all files to have the columns of {quoted(first, 200)}: {quoted(path, 200)} "
        f"{' and '.join(differences)}"
    )


def joined(parts: Iterable[tuple[PathLike, Iterator[pd.DataFrame]]]) -> Iterator[pd.DataFrame]:
    """Yield the frames of all files, columns in the order of the first one, rows counted on."""
    import pandas as pd

    start = 0
    columns: list[str] = []
    first: PathLike = ""
    for path, frames in parts:
        for frame in frames:
            names = list(map(str, frame))
            if not columns:
                columns, first = names, path
            check_columns(names, path, columns, first)
            ordered = frame if names == columns else frame[columns]
            yield ordered.set_axis(pd.RangeIndex(start, start + len(frame)), axis=0)
            start += len(frame)
