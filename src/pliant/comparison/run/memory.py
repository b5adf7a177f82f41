"""The peak memory of this process, which can be reset, and the size of an object."""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

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
