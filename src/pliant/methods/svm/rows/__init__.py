"""A Gram matrix, seen as rows.

Solvers ask for small square parts and for sums of weighted rows; they never see the kernel that
made them. `DenseRows` holds the whole matrix; `CachedRows` computes rows on demand and keeps those
that are used most.
"""

from typing import TypeAlias

from pliant.methods.svm.rows.cached import CachedRows
from pliant.methods.svm.rows.dense import DenseRows, Pause

Rows: TypeAlias = DenseRows | CachedRows

__all__ = ["CachedRows", "DenseRows", "Pause", "Rows"]
