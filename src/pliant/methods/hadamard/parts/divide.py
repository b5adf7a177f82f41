"""Rows divided into compact parts of bounded size by k-means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from sklearn.utils import check_random_state

from pliant.core.linalg import nearest_rows
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_integer, check_points, check_real, plain
from pliant.methods.hadamard.parts.kmeans import even_centres, kmeans

__all__ = ["AUTO_SIZE", "Partition", "kmeans_partition"]

AUTO_SIZE = 4000
"""Rows of a part, on average, where ``n_parts="auto"``."""

SAMPLE = 20_000
"""Rows on which k-means runs, at least; all rows are placed afterwards."""

SAMPLE_PER_PART = 200
"""Rows on which k-means runs, for each part."""

ROUNDS = 50
"""How often parts that are too large are divided by k-means before they are cut by order."""

SLACK = 1.3
"""Pieces of a part that is too large, for each that would do if all were of one size."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows divided into parts, none of them empty.

    Attributes
    ----------
    labels : array of shape (n,)
        The part of each row, from 0 to v - 1.
    centres : array of shape (v, d)
        One centre for each part.

    Raises
    ------
    ValueError
        If a label is not from 0 to v - 1, or a part is empty.
    """

    labels: Indices
    centres: Array

    def __post_init__(self) -> None:
        v = len(self.centres)
        if not np.array_equal(np.unique(self.labels), np.arange(v)):
            raise ValueError(f"expected labels from 0 to {v - 1}, each at least once")

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def sizes(self) -> Indices:
        """Rows in each part, shape (v,)."""
        return np.bincount(self.labels, minlength=len(self)).astype(np.intp)

    def members(self, part: int) -> Indices:
        """Return the rows of a part, rising."""
        return np.flatnonzero(self.labels == part)

    def place(self, X: npt.ArrayLike) -> Indices:
        """Return the part of each row of X: that of the nearest centre, the first of equals."""
        return nearest_rows(check_points(X, n_features=self.centres.shape[1]), self.centres)


def kmeans_partition(
    X: npt.ArrayLike,
    n_parts: int | Literal["auto"] = "auto",
    *,
    largest: int | None = None,
    spread: float = 2.0,
    random_state: int | RandomState | None = None,
) -> Partition:
    """Divide the rows of X into compact parts by k-means, in bounded memory.

    k-means runs on a sample of the rows; then each row goes to its nearest centre. Solving a
    part takes time in proportion to more than the square of its rows, so the largest part is
    what a fit waits for, and `spread` bounds it, at the price of less compact parts.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows.
    n_parts : int or "auto"
        From 1 to n; "auto" makes one for each 4000 rows.
    largest : int, optional
        The most rows that a part may have; parts beyond it are divided further, so that there
        may be more than `n_parts`.
    spread : float, default=2.0
        At least 1. Parts of the sample with more than so many times the mean are divided while
        the smallest are dissolved, as far as that helps; inf leaves k-means alone.
    random_state : int, RandomState or None
        The seed of the sample and of the starts. The same seed gives the same parts.

    Returns
    -------
    Partition
        Of at least `n_parts` parts, exactly so many unless `largest` asks for more. A row's
        label is its nearest centre's, except among equal rows that had to be cut apart.

    Raises
    ------
    TypeError, ValueError
        If X is not a dense table of finite numbers with a row, or a parameter is out of range.
    """
    points = check_points(X)
    if not len(points):
        raise ValueError("expected at least 1 row to divide, got 0")
    most = len(points) if largest is None else check_integer("largest", largest, least=1)
    check_real("spread", spread, least=1.0, infinite=True)
    wanted = max(_wanted(n_parts, len(points)), math.ceil(len(points) / most))
    rng = check_random_state(random_state)
    sample = _sample(points, max(SAMPLE, SAMPLE_PER_PART * wanted), rng)
    centres = even_centres(sample, wanted, spread, rng)
    labels, centres = _divided(points, centres, wanted, most, rng)
    return Partition(*_cut(labels, centres, wanted, most))


def _wanted(n_parts: object, n: int) -> int:
    """Return the number of parts that are asked for."""
    if isinstance(n_parts, str):
        if n_parts != "auto":
            raise ValueError(f"expected n_parts a whole number or 'auto', got {n_parts!r}")
        return math.ceil(n / AUTO_SIZE)
    number = check_integer("n_parts", n_parts, least=1)
    if number > n:
        raise ValueError(f"expected n_parts <= {n}, the number of rows, got {plain(n_parts)!r}")
    return number


def _sample(points: Array, size: int, rng: RandomState) -> Array:
    """Return `size` rows in their order, or all if there are no more."""
    if size >= len(points):
        return points
    return points[np.sort(rng.choice(len(points), size, replace=False))]


def _divided(
    points: Array, centres: Array, wanted: int, most: int, rng: RandomState
) -> tuple[Indices, Array]:
    """Return labels and centres once parts are divided until they are enough and small enough.

    Rows that are all equal cannot be told apart by centres; they are left to `_cut`.
    """
    labels, centres = _occupied(points, centres)
    for _ in range(ROUNDS):
        pieces = _pieces(np.bincount(labels), wanted, most)
        divided = [part for part in np.flatnonzero(pieces > 1) if _differ(points, labels == part)]
        if not divided:
            break
        found = [
            kmeans(_sample(points[labels == part], SAMPLE, rng), pieces[part], rng)
            for part in divided
        ]
        labels, centres = _occupied(
            points, np.vstack([np.delete(centres, divided, axis=0), *found])
        )
    return labels, centres


def _occupied(points: Array, centres: Array) -> tuple[Indices, Array]:
    """Return the label of each row, and the centres that have a row."""
    used, labels = np.unique(nearest_rows(points, centres), return_inverse=True)
    return labels.astype(np.intp), centres[used]


def _pieces(sizes: Indices, wanted: int, most: int) -> Indices:
    """Return into how many pieces each part is to be divided; 1 leaves it as it is."""
    pieces = np.where(sizes > most, np.ceil(SLACK * sizes / most), 1).astype(np.intp)
    missing = max(0, wanted - int(pieces.sum()))
    pieces[np.argsort(-sizes, kind="stable")[:missing]] += 1
    return np.minimum(pieces, sizes)


def _differ(points: Array, rows: Mask) -> bool:
    """Return whether not all of the rows are equal."""
    chosen = points[rows]
    return bool((chosen != chosen[0]).any())


def _cut(labels: Indices, centres: Array, wanted: int, most: int) -> tuple[Indices, Array]:
    """Return labels and centres once the largest part is halved until all is as asked for."""
    sizes = np.bincount(labels).tolist()
    origin = list(range(len(sizes)))
    while len(sizes) < wanted or max(sizes) > most:
        part = sizes.index(max(sizes))
        rows = np.flatnonzero(labels == part)[(sizes[part] + 1) // 2 :]
        labels[rows] = len(sizes)
        origin.append(origin[part])
        sizes[part] -= len(rows)
        sizes.append(len(rows))
    return labels, centres[origin]
