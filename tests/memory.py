"""The memory that a block of a test takes."""

import tracemalloc
from contextlib import contextmanager
from types import SimpleNamespace


@contextmanager
def peak_memory():
    """Yield an object with the ``peak`` of allocated bytes, of all threads, after the block."""
    used = SimpleNamespace()
    tracemalloc.start()
    try:
        yield used
        used.peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
