"""The compiled loop of large batches; imported only for them, as numba takes half a second."""

from __future__ import annotations

from typing import Any

from pliant.core.jit import compiled


@compiled
def add_trees(
    rows: Any, totals: Any, roots: Any, outputs: Any, feature: Any, threshold: Any,
    left: Any, right: Any, missing_left: Any, leaves: Any,
) -> None:  # fmt: skip
    """Add to totals[i] the values of the leaves of row i, tree after tree."""
    width = leaves.shape[1]
    for t in range(len(roots)):
        root, output = roots[t], outputs[t]
        for i in range(len(rows)):
            node = root
            while node >= 0:
                x = rows[i, feature[node]]
                if x <= threshold[node] or (x != x and missing_left[node]):
                    node = left[node]
                else:
                    node = right[node]
            if width == 1:
                totals[i, output] += leaves[~node, 0]
            else:
                for k in range(width):
                    totals[i, k] += leaves[~node, k]
