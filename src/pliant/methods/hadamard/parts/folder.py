"""The folder of a checkpoint: made, or recognised by its manifest, or refused."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pliant.core.files import printable, quoted, replacing
from pliant.methods.hadamard.parts.fingerprint import difference
from pliant.methods.hadamard.parts.npz import Damaged, read_bytes

__all__ = ["open_folder"]

MANIFEST = "manifest.json"
FORMAT = "pliant checkpoint 1"
MAX_MANIFEST_BYTES = 1 << 20


def open_folder(folder: Path, fingerprint: Mapping[str, Any]) -> None:
    """Make the folder of a run, or find it made by the same run.

    Raises
    ------
    ValueError
        If it is of a run with another fingerprint, or holds files of something else.
    OSError
        If it cannot be made or written to.
    """
    _make(folder)
    made_with = _manifest(folder)
    if made_with is None:
        _check_empty(folder)
        content = {"format": FORMAT, "made_with": dict(fingerprint)}
        with replacing(folder / MANIFEST) as draft:
            draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
        return
    found = difference(made_with, fingerprint)
    if found is not None:
        raise ValueError(
            f"the run in checkpoint {quoted(folder, 200)} was made with {found}; "
            "choose another folder or delete it"
        )


def _make(folder: Path) -> None:
    """Make the folder if it is not there, or tell why it cannot be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next(path for path in (folder, *folder.parents) if path.exists())
        raise ValueError(
            f"expected checkpoint to be a folder, got the file {quoted(file, 200)}"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or printable(error)
        raise OSError(f"cannot make the folder {quoted(folder, 200)}: {reason}") from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise OSError(f"cannot write in the folder {quoted(folder, 200)}: permission denied")


def _manifest(folder: Path) -> dict[str, Any] | None:
    """Return what the run in the folder was made with, or None if there is no manifest."""
    try:
        data = read_bytes(folder / MANIFEST, MAX_MANIFEST_BYTES)
        if data is None:
            return None
        content = json.loads(data)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise Damaged(f"expected the format {FORMAT!r}")
        made_with = content.get("made_with")
        if not isinstance(made_with, dict):
            raise Damaged("expected what the run was made with")
    except (ValueError, RecursionError) as error:  # Damaged, and whatever JSON stumbles on
        raise ValueError(
            f"the manifest of checkpoint {quoted(folder, 200)} cannot be read "
            f"({printable(error)}); choose another folder or delete it"
        ) from None
    return made_with


def _check_empty(folder: Path) -> None:
    """Raise ValueError if something is in the folder, hidden files aside."""
    found = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    if found:
        raise ValueError(
            f"expected checkpoint a new or empty folder, or one of an earlier run, got "
            f"{quoted(folder, 200)} with {quoted(found[0])} in it"
        )
