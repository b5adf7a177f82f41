"""Decide whether ``pliant predict`` needs scikit-learn and numba, before they are imported."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence

MOST_BYTES = 500_000
"""Largest table whose predictions take less time than importing scikit-learn and numba."""


def is_quick(words: Sequence[str]) -> bool:
    """Return True for predictions of a small table by a saved model.

    All files that the command line names, except the model, are small.
    """
    if list(words[:1]) != ["predict"]:
        return False
    files = [word for word in words[1:] if os.path.isfile(word)]
    tables = [name for name in files if not zipfile.is_zipfile(name)]
    return 0 < len(tables) < len(files) and sum(map(_text_bytes, tables)) <= MOST_BYTES


def _text_bytes(name: str) -> int:
    """Return about the size of a table as text; a packed one takes up to a tenth."""
    plain = name.lower().endswith((".csv", ".tsv"))
    return os.path.getsize(name) * (1 if plain else 10)
