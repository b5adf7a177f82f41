"""The folder of a checkpoint, which belongs to the run with the fingerprint in its manifest.

A fingerprint distinguishes one run from another: it has hashes of its data, its parameters and
pliant's version. A folder is made, or recognised by its manifest; one of another run is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant._version import __version__
from pliant.core.files import replacing
from pliant.core.text import printable, quoted
from pliant.core.validation import plain
from pliant.methods.svm.parts.npz import Damaged, read_bytes

MANIFEST = "manifest.json"
FORMAT = "pliant checkpoint 2"
MAX_MANIFEST_BYTES = 1 << 20

BLOCK_BYTES = 1 << 24
HASH = "sha256:"


def open_folder(folder: Path, fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """Make the folder of a run, or check that the same run made it; return its manifest's values.

    Raises ValueError if it belongs to a run with another fingerprint, or has other files, and
    OSError if it cannot be made or written to.
    """
    _make(folder)
    made_with = _manifest(folder)
    if made_with is None:
        _check_empty(folder)
        made_with = dict(fingerprint)
        content = {"format": FORMAT, "made_with": made_with}
        with replacing(folder / MANIFEST) as draft:
            draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
        return made_with
    changed = _difference(made_with, fingerprint)
    if changed is not None:
        raise ValueError(
            f"the run in checkpoint {quoted(folder, 200)} was made with {changed}; "
            "choose another folder or delete it"
        )
    return made_with


def _make(folder: Path) -> None:
    """Make the folder if it does not exist; raise an error with the reason if it is unusable."""
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
    except (ValueError, RecursionError) as error:  # Damaged, and errors of JSON
        raise ValueError(
            f"the manifest of checkpoint {quoted(folder, 200)} cannot be read "
            f"({printable(error)}); choose another folder or delete it"
        ) from None
    return made_with


def _check_empty(folder: Path) -> None:
    """Raise ValueError if the folder has files that are not hidden."""
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    if names:
        raise ValueError(
            f"expected checkpoint a new or empty folder, or one of an earlier run, got "
            f"{quoted(folder, 200)} with {quoted(names[0])} in it"
        )


def fingerprint(
    X: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what distinguishes this run from others, as JSON values.

    Parameters
    ----------
    X, target, weights : array-like
        The data, of which hashes are kept, so that any other bit, type or shape counts as other
        data. None for no weights.
    parameters : mapping of str to JSON values
        Everything else that the results depend on. NumPy scalars are allowed; arrays are hashed.

    Returns
    -------
    dict
        With the keys pliant (the version), X, target, weights and those of `parameters`.

    Raises
    ------
    TypeError
        If an array holds objects, or JSON cannot represent a parameter.
    """
    data = {"pliant": __version__, "X": _digest(X), "target": _digest(target)}
    data["weights"] = "none" if weights is None else _digest(weights)
    whole = json.dumps({**data, **parameters}, default=_as_json)
    loaded: dict[str, Any] = json.loads(whole)
    return loaded


def _as_json(value: object) -> object:
    """Return a JSON value for an array or a NumPy scalar."""
    if isinstance(value, np.ndarray):
        return _digest(value)
    if isinstance(value, np.generic):
        return plain(value)
    raise TypeError(f"expected parameters that JSON can hold, got {printable(type(value))}")


def _digest(values: npt.ArrayLike) -> str:
    """Return the SHA-256 of an array's type, shape and bytes; 64 hexadecimal digits."""
    array = np.atleast_1d(np.asarray(values))
    if array.dtype.hasobject:
        raise TypeError(f"expected an array of numbers or of text, got one of {array.dtype}")
    state = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
    step = max(1, BLOCK_BYTES * len(array) // max(1, array.nbytes))
    for low in range(0, len(array), step):
        state.update(array[low : low + step].tobytes())
    return HASH + state.hexdigest()


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """Return the first difference in words, such as "C = 1.0, now C = 2.0"; None if there is none.

    Numbers in the two fingerprints are equal whatever their type; nan equals itself.
    """
    for name in [*new, *old]:
        before, now = (_text(values, name) for values in (old, new))
        if before != now and old.get(name) != new.get(name):
            if HASH in before + now:
                return f"another {name}"
            return (
                f"{printable(name)} = {printable(before)}, now {printable(name)} = {printable(now)}"
            )
    return None


def _text(values: Mapping[str, Any], name: str) -> str:
    return json.dumps(values[name], sort_keys=True) if name in values else "not given"
