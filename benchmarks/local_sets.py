"""Generated problem for benchmarks of LAB-RBF and sketched kernel ridge regression."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.core.typing import Array

NOISE = 0.1
"""Standard deviation of the noise added to the function of `generated`."""

_CHUNK = 100_000
"""Rows generated at once, to limit the memory of a large problem."""


class Part(NamedTuple):
    """Points of shape (n, d) with their targets of shape (n,)."""

    X: Array
    y: Array


def generated(rows: int, features: int, seed: int, *, out: Array | None = None) -> Part:
    """Return uniform points in [-1, 1]^d, and a smooth function of up to eight features with noise.

    f(x) = sin(3 x_1 x_2) + x_3^2 + exp(-4 x_4^2) x_5 + tanh(3 x_6 + 3 x_7)/2 + sin(pi x_8)/3

    A missing feature counts as 0. The standard deviation of f is .9 with all eight features, and
    of the noise `NOISE`. The points are written to `out`, shape (rows, features), for
    example a memory map; by default to a new float64 array.
    """
    X = np.empty((rows, features)) if out is None else out
    y = np.empty(rows)
    random = np.random.default_rng(seed)
    for start in range(0, rows, _CHUNK):
        part = slice(start, min(start + _CHUNK, rows))
        points = random.uniform(-1.0, 1.0, (part.stop - start, features))
        X[part] = points
        y[part] = _function(points) + NOISE * random.standard_normal(len(points))
    return Part(X, y)


def _function(X: Array) -> Array:
    x = [*X[:, :8].T, *(np.zeros(len(X)) for _ in range(8 - X.shape[1]))]
    return np.asarray(
        np.sin(3 * x[0] * x[1])
        + x[2] ** 2
        + np.exp(-4 * x[3] ** 2) * x[4]
        + np.tanh(3 * x[5] + 3 * x[6]) / 2
        + np.sin(np.pi * x[7]) / 3
    )


def r_squared(model: Any, part: Part) -> float:
    """Return the R2 of a fitted model's predictions."""
    errors = model.predict(part.X) - part.y
    return 1.0 - float(np.mean(errors**2) / np.var(part.y))
