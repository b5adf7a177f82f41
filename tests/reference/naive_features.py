"""Aligned random features by loops and bisection."""

import numpy as np


def columns(y):
    """Columns of -1 and 1, or of 0 and 1 for more classes, or the real target; centred."""
    if np.issubdtype(np.asarray(y).dtype, np.floating) and any(v % 1 for v in y):
        each = [list(y)]
    else:
        classes = sorted(set(y))
        each = [[float(v == c) for v in y] for c in classes[1 if len(classes) == 2 else 0 :]]
    return [[v - sum(column) / len(column) for v in column] for column in each]


def scores(X, y, W, b):
    """s_i, up to a common factor."""
    total = []
    for i in range(len(b)):
        features = [np.cos(sum(w * v for w, v in zip(W[:, i], x, strict=True)) + b[i]) for x in X]
        sums = [sum(v * f for v, f in zip(c, features, strict=True)) for c in columns(y)]
        total.append(sum(value**2 for value in sums))
    return np.array(total)


def project(point):
    """The nearest point of the simplex, by bisection on the shift."""
    low, high = min(point) - 1.0, max(point)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if sum(max(0.0, v - middle) for v in point) > 1.0:
            low = middle
        else:
            high = middle
    return np.array([max(0.0, v - high) for v in point])


def weights(s, rho):
    """The q of Sinha and Duchi: the projection of 1/N + s/lam, lam by bisection."""
    n = len(s)
    low, high = 1e-9, 1e9
    for _ in range(60):
        middle = np.sqrt(low * high)
        q = project([1 / n + v / middle for v in s])
        if n * sum(v * v for v in q) - 1.0 > rho:
            low = middle
        else:
            high = middle
    return project([1 / n + v / high for v in s])
