"""Check output files before a command starts, and write JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pliant.core.exceptions import TableError
from pliant.core.files import plain_data, replacing
from pliant.core.text import quoted

STDOUT = Path("-")
"""The file name that stands for stdout."""


class _TrialEnded(Exception):
    """Raised to end a trial write without changing a file."""


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path] = ()) -> None:
    """Raise TableError if an output cannot be written, or is also an input or another output.

    Outputs that are None or `STDOUT` are skipped.
    """
    taken = {os.path.realpath(path) for path in inputs}
    folders = {path for path in taken if os.path.isdir(path)}
    for path in outputs:
        if path is None or path == STDOUT:
            continue
        with suppress(_TrialEnded), replacing(path, TableError):
            raise _TrialEnded
        if os.path.realpath(path) in taken:
            raise TableError(f"{quoted(path, 200)} is already in use: choose another name")
        if (folder := os.path.dirname(os.path.realpath(path))) in folders:
            raise TableError(
                f"{quoted(path, 200)} would become part of the table {quoted(folder, 200)}: "
                "choose another folder"
            )
        taken.add(os.path.realpath(path))


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON to a file or to stdout; NaN and infinity become null."""
    text = json.dumps(plain_data(value), indent=2, allow_nan=False)
    if path == STDOUT:
        print(text)
        return
    with replacing(path, TableError) as draft:
        draft.write_text(f"{text}\n", encoding="utf-8")
