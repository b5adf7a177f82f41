"""An estimator with all of its settings as text, for the key of its cells in a journal.

The text is the same in every process for the same settings. ``repr`` leaves out the middle of long
ones, and a pickle depends on which strings are one object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import joblib
import numpy as np

ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""The part of a ``repr`` that differs in each process."""


def described(value: Any) -> str:
    """Return a value as text that shows all of it.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> described(Ridge(alpha=2.0)) == described(Ridge(alpha=2.5))
    False
    >>> described({"b": [1, None], "a": 0.5})
    "{'a': 0.5, 'b': [1, None]}"
    """
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "get_params"):
        settings = sorted(value.get_params(deep=False).items())
        inside = ", ".join(f"{name}={described(part)}" for name, part in settings)
        return f"{described(type(value))}({inside})"
    if isinstance(value, Mapping):
        pairs = sorted((described(key), described(part)) for key, part in value.items())
        return f"{{{', '.join(f'{key}: {part}' for key, part in pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(described, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(described, value)))}}}"
    if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
        return f"{type(value).__name__} {joblib.hash(value)}"
    text = repr(value)
    return f"{type(value).__name__} {joblib.hash(value)}" if ADDRESS.search(text) else text
