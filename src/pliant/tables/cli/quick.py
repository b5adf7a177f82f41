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
    return 0 < len(tables) < len(files) and sum(map(os.path.getsize, tables)) <= MOST_BYTES
