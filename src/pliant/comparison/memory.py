"""The peak memory of this process, which can be reset, and the size of an object."""

from __future__ import annotations

import ctypes
import gc
import math
import pickle
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pliant.comparison.text import bytes_of
from pliant.core.text import printable


def peak_memory() -> int | None:
    """Return the largest resident size so far, in bytes; None where the system does not tell."""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        if found := re.search(r"^VmHWM:\s*(\d+)", status, re.MULTILINE):
            return int(found[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def reset_peak_memory() -> None:
    """Release free memory and reset the peak on Linux.

    Elsewhere the peak is that of the whole process, so a call shows only what exceeds an earlier
    one.
    """
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def pickled_size(value: Any) -> int:
    """Return the bytes of an object's pickle, without a copy of its arrays."""
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return len(rest) + sum(array.raw().nbytes for array in arrays)


def shortage(error: MemoryError) -> str:
    """Return one sentence with the bytes that were refused, and what to change.

    An error without a number of bytes (only NumPy's has one) gets the peak of the process.
    """
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is not None and dtype is not None:
        size = math.prod(shape) * np.dtype(dtype).itemsize
        needed = f"{size} bytes ({bytes_of(size)}) for an array of shape {printable(shape)}"
    else:
        text = printable(" ".join(str(error).split()), 200).rstrip(".")
        peak = peak_memory()
        held = "" if peak is None else f"more than {peak} bytes ({bytes_of(peak)})"
        needed = " - ".join(part for part in (held, text) if part) or "more than there is"
    return (
        f"not enough memory: {needed}; take fewer rows, a smaller cache (cache_mb) or lab-rbf, "
        "whose memory grows with the rows and not with their square, or allow more memory"
    )
