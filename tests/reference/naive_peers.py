"""Slow references for the peer methods of the papers."""

from __future__ import annotations

import numpy as np


def batch_reciprocal(new, train):
    """Return the training point with the largest 1/(r s) for each new point."""
    best = []
    for x in new:
        products = []
        for t in train:
            r = 1 + sum(np.linalg.norm(t - z) < np.linalg.norm(t - x) for z in new)
            s = 1 + sum(np.linalg.norm(x - z) < np.linalg.norm(x - t) for z in train)
            products.append(r * s)
        best.append(int(np.argmin(products)))
    return best
