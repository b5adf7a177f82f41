"""The compiled loop of large batches; imported only for them, as numba takes half a second."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.loops import compiled


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
                u = np.uint32(node)  # unsigned: without a test for negative indices
                x = rows[i, np.uint32(feature[u])]
                goes_left = x <= threshold[u] or (x != x and missing_left[u])
                node = left[u] if goes_left else right[u]
            leaf = np.uint32(~node)
            if width == 1:
                totals[i, output] += leaves[leaf, 0]
            elif width == 2:  # without the overhead of a loop
                totals[i, 0] += leaves[leaf, 0]
                totals[i, 1] += leaves[leaf, 1]
            else:
                for k in range(width):
                    totals[i, k] += leaves[leaf, k]
