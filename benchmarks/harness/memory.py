"""Read and reset the peak memory of this process."""

from __future__ import annotations

import ctypes
import gc
import re
import sys
from contextlib import suppress
from pathlib import Path


def peak_memory() -> int | None:
    """Return the largest resident set size so far, in bytes, or None if unavailable."""
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
    """Release free memory, and reset the peak on Linux.

    On other systems the peak covers the whole process, so a call shows only memory beyond earlier
    peaks.
    """
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
