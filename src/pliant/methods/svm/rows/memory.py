"""The memory for computed rows, and the choice of those to keep.

Each row has a score: each use adds one, and with every call the scores of all rows fall by half.
The rows of the highest scores are kept. So rows that are used in every call stay, even where one
call needs more rows than fit. If the most recent rows were kept, each would be dropped before its
next use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.typing import Array, Indices, Mask


class RowMemory:
    """Some rows of an n x n matrix, and one square part of it, in one piece of memory.

    The memory has room for `entries` numbers. `rows`, shape (k, n), are the slots for rows: the
    start of the memory, as far as no square part has been placed.
    """

    def __init__(self, n: int, entries: int, dtype: np.dtype[Any]) -> None:
        self._memory: Array = np.empty(entries, dtype)
        slots = min(entries // max(n, 1), n)
        self.rows: Array = self._memory[: slots * n].reshape(slots, n)
        self._slots: Indices = np.full(n, -1)
        self._score = np.zeros(n)
        self._wanted: Mask = np.zeros(n, dtype=bool)

    def find(self, numbers: Indices) -> tuple[Indices, Indices, Indices]:
        """Return which of the rows are kept, their slots, and which are not kept."""
        slots = self._slots[numbers]
        kept = np.flatnonzero(slots >= 0)
        return kept, slots[kept], np.flatnonzero(slots < 0)

    def make_room(self, used: Indices) -> None:
        """Count a use of the rows `used`; of them and the kept rows, drop all but the best."""
        self._score *= 0.5
        self._score[used] += 1.0
        known = np.union1d(np.flatnonzero(self._slots >= 0), used)
        order = np.lexsort((self._slots[known] < 0, -self._score[known]))
        self._wanted[:] = False
        self._wanted[known[order[: len(self.rows)]]] = True
        self._slots[~self._wanted] = -1

    def keep(self, numbers: Indices, rows: Array) -> None:
        """Keep those of the computed rows for which room was made."""
        wanted = np.flatnonzero(self._wanted[numbers])
        taken = self._slots[self._slots >= 0]
        free = np.setdiff1d(np.arange(len(self.rows)), taken)[: wanted.size]
        for slot, row in zip(free, wanted, strict=True):  # without a copy of all rows together
            self.rows[slot] = rows[row]
        self._slots[numbers[wanted]] = free

    def square(self, size: int) -> Array:
        """Return the end of the memory as a square; rows kept there are dropped for good."""
        start = self._memory.size - size**2
        self.rows = self.rows[: start // max(len(self._slots), 1)]
        self._slots[self._slots >= len(self.rows)] = -1
        return self._memory[start:].reshape(size, size)
