"""What tells one run from another: hashes of its data, its parameters, pliant's version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant._version import __version__
from pliant.core.files import printable
from pliant.core.validation import plain

__all__ = ["difference", "fingerprint"]

BLOCK_BYTES = 1 << 24
HASH = "sha256:"


def fingerprint(
    X: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    parameters: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what tells this run from others, as JSON values.

    Parameters
    ----------
    X, target, weights : array-like
        The data, of which hashes are kept: any other bit, type or shape is other data. None for
        no weights.
    parameters : mapping of str to JSON values
        What else the results depend on. NumPy's numbers will do; arrays are hashed.

    Returns
    -------
    dict
        With the keys pliant (the version), X, target, weights and those of `parameters`.

    Raises
    ------
    TypeError
        If an array holds objects, or a parameter is nothing that JSON can hold.
    """
    data = {"pliant": __version__, "X": digest(X), "target": digest(target)}
    data["weights"] = "none" if weights is None else digest(weights)
    whole = json.dumps({**data, **parameters}, default=_as_json)
    loaded: dict[str, Any] = json.loads(whole)
    return loaded


def _as_json(value: object) -> object:
    """Return what stands for a value that JSON does not know."""
    if isinstance(value, np.ndarray):
        return digest(value)
    if isinstance(value, np.generic):
        return plain(value)
    raise TypeError(f"expected parameters that JSON can hold, got {printable(type(value))}")


def digest(values: npt.ArrayLike) -> str:
    """Return the SHA-256 of an array's type, shape and bytes; 64 hexadecimal digits."""
    array = np.atleast_1d(np.asarray(values))
    if array.dtype.hasobject:
        raise TypeError(f"expected an array of numbers or of text, got one of {array.dtype}")
    state = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
    step = max(1, BLOCK_BYTES * len(array) // max(1, array.nbytes))
    for low in range(0, len(array), step):
        state.update(array[low : low + step].tobytes())
    return HASH + state.hexdigest()


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """Return the first difference in words, such as "C = 1.0, now C = 2.0"; None if there is none.

    Parameters
    ----------
    old, new : mapping of str to JSON values
        Two fingerprints. Numbers are equal whatever their type; nan equals itself.
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
