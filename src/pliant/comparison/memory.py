"""The peak memory of this process, which can be reset, and the size of an object."""

from __future__ import annotations

import ctypes
import gc
import math
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pliant.comparison.text import bytes_of
from pliant.core.text import printable

ADVICE = (
    "take fewer rows, a smaller cache (cache_mb) or lab-rbf, whose memory grows with the rows and "
    "not with their square, or allow more memory"
)

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def peak_memory() -> int | None:
    """Return the largest resident size so far, in bytes; None where it is not known."""
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def reset_peak_memory() -> None:
    """Release free memory and reset the peak, where that is possible.

    Elsewhere (outside Linux) the peak is that of the whole process, so a call shows only what
    exceeds an earlier peak.
    """
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        _CLEAR.write_text("5", encoding="ascii")


class _Counter:
    """A file that counts the bytes written to it and keeps none."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, data: Any) -> int:
        written = memoryview(data).nbytes
        self.size += written
        return written


def pickled_size(value: Any) -> int:
    """Return the bytes of an object's pickle, without making one in memory."""
    counter = _Counter()
    pickle.Pickler(counter, protocol=5).dump(value)
    return counter.size


def shortage(error: MemoryError) -> str:
    """Return one sentence: how many bytes could not be had, and what to change.

    Where the error does not say how many (only NumPy's does), it is more than the process has had.
    """
    return f"not enough memory: {_needed(error)}; {ADVICE}"


def _needed(error: MemoryError) -> str:
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is not None and dtype is not None:  # NumPy's error
        size = math.prod(shape) * np.dtype(dtype).itemsize
        return f"{size} bytes ({bytes_of(size)}) for an array of shape {printable(shape)}"
    text = printable(" ".join(str(error).split()), 200).rstrip(".")
    peak = peak_memory()
    held = "" if peak is None else f"more than {peak} bytes ({bytes_of(peak)})"
    return " - ".join(part for part in (held, text) if part) or "more than there is"
