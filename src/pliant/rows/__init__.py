"""A Gram matrix, seen as rows.

Solvers ask for rows, for small square parts, and for sums of weighted rows; they never see the
kernel that made them. `DenseRows` holds the whole matrix, `CachedRows` computes rows when they
are asked for and keeps those that are used most.
"""

from pliant.rows.base import Pause, Rows
from pliant.rows.bordered import BorderedRows
from pliant.rows.cached import CachedRows
from pliant.rows.dense import DenseRows

__all__ = ["BorderedRows", "CachedRows", "DenseRows", "Pause", "Rows"]
