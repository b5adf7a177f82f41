"""A lazy table for tests on a Dask cluster: a partition can kill a process."""

import os
import signal
import time

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="needs Dask")

ROWS, LENGTH = 1600, 200
"""Rows of the table, and of a partition."""


def table(folder=None, kill_at=None, slow=0.0, victim=None):
    """A lazy table; its `kill_at`-th partition kills a process, by default its worker."""
    return da.map_blocks(
        partition,
        chunks=((LENGTH,) * (ROWS // LENGTH), (4,)),
        dtype=float,
        meta=np.empty((0, 0)),
        folder=None if folder is None else str(folder),
        kill_at=kill_at,
        slow=slow,
        victim=victim,
    )


def partition(folder, kill_at, slow, victim, block_info=None):
    k = block_info[None]["chunk-location"][0]
    if folder is not None:
        open(os.path.join(folder, f"{k}-{time.monotonic_ns()}"), "x").close()
        if len(os.listdir(folder)) == kill_at:
            os.kill(victim or os.getpid(), signal.SIGKILL)
    time.sleep(slow)
    rng = np.random.default_rng(k)
    X = rng.uniform(-1, 1, size=(LENGTH, 3))
    return np.column_stack([X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=LENGTH)])
