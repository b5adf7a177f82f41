"""Rows divided into compact parts of bounded size by k-means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from sklearn.cluster import kmeans_plusplus

from pliant.core.linalg import nearest_rows
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import (
    Constraint,
    automatic,
    check_integer,
    check_job_count,
    check_points,
    check_random_state,
    check_real,
    integer,
    one_of,
    optional,
    plain,
)

DIVISION: Mapping[str, Constraint] = {
    "partition": optional(one_of(("kmeans",))),
    "n_parts": automatic(integer(least=1)),
    "n_jobs": check_job_count,
}
"""Constraints on the parameters of estimators that learn in parts."""

AUTO_SIZE = 4000
"""Mean number of rows of a part for ``n_parts="auto"``."""

SAMPLE = 20_000
"""Least number of rows on which k-means runs; all rows are assigned afterwards."""

SAMPLE_PER_PART = 200
"""Number of rows on which k-means runs, for each part, if that is more."""

ROUNDS = 50
"""Times that parts that are too large are divided by k-means before they are cut in order."""

SLACK = 1.3
"""Factor by which a part that is too large is divided into more pieces than equal sizes need."""

STEPS = 30
"""Maximum number of steps of k-means; later steps move few rows."""

EXCHANGES = 10
"""Maximum number of rounds in which large parts are divided and small ones dissolved."""


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


def divided(points: Array, n_parts: int | str, random_state: Any) -> Partition:
    """Return the parts that an estimator asks for by ``n_parts`` and ``random_state``.

    "auto" makes parts of similar sizes, of about `AUTO_SIZE` rows and none of more than twice as
    many; a number makes as many parts by plain k-means, as in the DANK paper.
    """
    rng = check_random_state(random_state)
    if n_parts == "auto":
        return kmeans_partition(points, largest=2 * AUTO_SIZE, random_state=rng)
    return kmeans_partition(points, int(n_parts), spread=np.inf, random_state=rng)


def kmeans_partition(
    X: npt.ArrayLike,
    n_parts: int | Literal["auto"] = "auto",
    *,
    largest: int | None = None,
    spread: float = 2.0,
    random_state: int | RandomState | None = None,
) -> Partition:
    """Divide the rows of X into compact parts by k-means, in bounded memory.

    k-means runs on a sample of the rows; then each row goes to its nearest centre. The time
    to solve a part grows faster than the square of its rows, so that a fit waits for the largest
    part; `spread` bounds its size, and parts become less compact.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows.
    n_parts : int or "auto"
        From 1 to n; "auto" makes one for each 4000 rows.
    largest : int, optional
        Largest number of rows of a part; larger parts are divided further, so that there may be
        more than `n_parts`.
    spread : float, default=2.0
        At least 1. Parts of the sample with more than `spread` times the mean number of rows are
        divided while the smallest are dissolved, as far as that helps; inf for plain k-means.
    random_state : int, RandomState or None
        The seed of the sample and of the starts. The same seed gives the same parts.

    Returns
    -------
    Partition
        With `n_parts` parts, or more if `largest` needs more. The label of a row is that of its
        nearest centre, except among equal rows that had to be divided.

    Raises
    ------
    TypeError, ValueError
        If X is not a dense array of finite numbers with at least one row, or a parameter is out of
        range.
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
    """Return the requested number of parts."""
    if isinstance(n_parts, str):
        if n_parts != "auto":
            raise ValueError(f"expected n_parts an integer or 'auto', got {n_parts!r}")
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
    """Divide parts until they are enough and small enough; return labels and centres.

    Centres cannot separate rows that are all equal; these are left to `_cut`.
    """
    labels, centres = _occupied(points, centres)
    for _ in range(ROUNDS):
        pieces = _pieces(np.bincount(labels), wanted, most)
        divided = [part for part in np.flatnonzero(pieces > 1) if _differ(points, labels == part)]
        if not divided:
            break
        pieces_of = [
            kmeans(_sample(points[labels == part], SAMPLE, rng), pieces[part], rng)
            for part in divided
        ]
        labels, centres = _occupied(
            points, np.vstack([np.delete(centres, divided, axis=0), *pieces_of])
        )
    return labels, centres


def _occupied(points: Array, centres: Array) -> tuple[Indices, Array]:
    """Return the label of each row, and the centres that have a row."""
    used, labels = np.unique(nearest_rows(points, centres), return_inverse=True)
    return labels.astype(np.intp), centres[used]


def _pieces(sizes: Indices, wanted: int, most: int) -> Indices:
    """Return the number of pieces into which to divide each part; 1 leaves it as it is."""
    pieces = np.where(sizes > most, np.ceil(SLACK * sizes / most), 1).astype(np.intp)
    missing = max(0, wanted - int(pieces.sum()))
    pieces[np.argsort(-sizes, kind="stable")[:missing]] += 1
    return np.minimum(pieces, sizes)


def _differ(points: Array, rows: Mask) -> bool:
    """Return whether not all of the rows are equal."""
    chosen = points[rows]
    return bool((chosen != chosen[0]).any())


def _cut(labels: Indices, centres: Array, wanted: int, most: int) -> tuple[Indices, Array]:
    """Halve the largest part until parts are enough and small enough."""
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


def kmeans(X: Array, n_centres: int, rng: RandomState) -> Array:
    """Return the centres of k-means on all rows of X, shape (n_centres, d).

    These are Lloyd's steps from a k-means++ start, which `rng` draws; X has at least `n_centres`
    rows. A centre that loses all its rows stays where it is.
    """
    origin = X.mean(axis=0)
    rows = X - origin
    scale = float(np.abs(rows).max()) or 1.0
    rows /= scale
    centres = kmeans_plusplus(rows, n_centres, random_state=rng)[0]
    labels = nearest_rows(rows, centres)
    for _ in range(STEPS):
        centres = means(rows, labels, centres)
        before, labels = labels, nearest_rows(rows, centres)
        if np.array_equal(before, labels):
            break
    return centres * scale + origin


def means(X: Array, labels: Indices, centres: Array) -> Array:
    """Return the mean of the rows of each label; the old centre where a label has no row."""
    sizes = np.bincount(labels, minlength=len(centres))
    sums = np.column_stack([np.bincount(labels, x, minlength=len(centres)) for x in X.T])
    return np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)


def even_centres(X: Array, n_centres: int, spread: float, rng: RandomState) -> Array:
    """Return centres of k-means, exchanged until no part has more than `spread` times the mean.

    In each round every part that is too large is divided by k-means with two centres, and as many
    of the smallest parts are dissolved. The centres with the smallest largest part are returned,
    shape (n_centres, d), so that a bound that cannot be met does no harm. X has at least
    `n_centres` rows; `spread` is at least 1, and inf for plain k-means; `rng` draws the starts.
    """
    centres = best = kmeans(X, n_centres, rng)
    limit, lowest = spread * len(X) / n_centres, np.inf
    for _ in range(EXCHANGES):
        labels = nearest_rows(X, centres)
        sizes = np.bincount(labels, minlength=n_centres)
        if sizes.max() < lowest:
            best, lowest = centres, sizes.max()
        large = exchanged(sizes, limit)
        if not len(large):
            break
        centres = exchange(X, labels, centres, large, rng)
    return best


def exchanged(sizes: Indices, limit: float) -> Indices:
    """Return the parts above the limit, at most half of all parts, largest first."""
    order = np.argsort(-sizes, kind="stable")[: len(sizes) // 2]
    return order[sizes[order] > limit]


def exchange(X: Array, labels: Indices, centres: Array, large: Indices, rng: RandomState) -> Array:
    """Return as many centres, with two for each part in `large` and none for the smallest."""
    sizes = np.bincount(labels, minlength=len(centres))
    gone = np.argsort(sizes, kind="stable")[: len(large)]
    halves = [kmeans(X[labels == part], 2, rng) for part in large]
    return np.vstack([np.delete(centres, np.concatenate([large, gone]), axis=0), *halves])
