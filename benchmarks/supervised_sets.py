"""The points and labels on which learning from side information is measured."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from benchmarks.harness.spec import Params
from benchmarks.problems import two_classes
from pliant import SideInformation
from pliant.core.typing import Array, Indices

UNKNOWN = -1

ADULT = {"adult_a1a": 1605, "adult_a2a": 2265}
"""Rows of the sets, in order."""

ADULT_FEATURES = 123
"""Of which 14, one of each group, are 1."""


class Labelled(NamedTuple):
    """Points, shape (n, d), and their classes 0, 1, ..., shape (n,)."""

    X: Array
    y: Indices


def adult(params: Params) -> Labelled:
    """Return ``rows`` random rows of the smallest adult set with at least that number of rows.

    Without a data folder (``data``): generated ones of the same kind, 14 of 123 features 1.
    """
    rows, seed = params["rows"], params["seed"]
    if params["data"]:
        name = next(name for name, size in ADULT.items() if size >= rows)
        X, y = two_classes({"problem": name, "rows": rows, "seed": seed})
        return Labelled(X, (y > 0).astype(np.intp))
    rng = np.random.default_rng(seed)
    edges = np.linspace(0, ADULT_FEATURES, 15).astype(int)
    groups = [rng.integers(low, high, rows) for low, high in pairwise(edges)]
    X = np.zeros((rows, ADULT_FEATURES))
    np.put_along_axis(X, np.column_stack(groups), 1.0, axis=1)
    score = X @ rng.standard_normal(ADULT_FEATURES)
    return Labelled(X, (score > np.quantile(score, 0.75)).astype(np.intp))


def generated(rows: int, seed: int, features: int = 20, classes: int = 10) -> Labelled:
    """Return points of normal classes, three clusters each, that overlap somewhat."""
    rng = np.random.default_rng(seed)
    centres = 1.5 * np.random.default_rng(0).standard_normal((3 * classes, features))
    cluster = rng.integers(3 * classes, size=rows)
    return Labelled(centres[cluster] + rng.standard_normal((rows, features)), cluster % classes)


def some_known(y: Indices, count: int, seed: int) -> SideInformation:
    """Return the labels of `count` random points."""
    hidden = np.random.default_rng(seed).permutation(len(y))[count:]
    known = y.copy()
    known[hidden] = UNKNOWN
    return SideInformation.from_labels(known, UNKNOWN)
