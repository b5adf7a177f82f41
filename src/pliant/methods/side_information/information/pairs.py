"""Pairs of row numbers: checked, put in order, drawn at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils.random import sample_without_replacement

from pliant.core.typing import Array, Indices

__all__ = ["check_pairs", "pair_signs", "spread_pairs"]


def check_pairs(name: str, pairs: npt.ArrayLike | None, n_samples: int) -> Indices:
    """Return pairs with i < j, shape (m, 2), without repetitions, rising.

    Raises
    ------
    ValueError
        For a wrong shape, numbers that are not whole, a row number out of range, or i = j.
    """
    if pairs is None or np.size(pairs) == 0:
        return np.empty((0, 2), dtype=np.intp)
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"expected {name} of shape (n_pairs, 2), got {array.shape}")
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"expected {name} to hold whole row numbers, got an array of {array.dtype}"
        )
    _check_range(name, array, n_samples)
    array = np.sort(array.astype(np.intp), axis=1)
    equal = array[:, 0] == array[:, 1]
    if equal.any():
        place = int(np.argmax(equal))
        raise ValueError(
            f"expected two points in a pair, got {name}[{place}] = {_pair(array[place])}"
        )
    numbers = np.unique(array[:, 0] * n_samples + array[:, 1])
    return np.column_stack(np.divmod(numbers, n_samples))


def _check_range(name: str, array: Indices, n_samples: int) -> None:
    outside = ((array < 0) | (array >= n_samples)).any(axis=1)
    if outside.any():
        place = int(np.argmax(outside))
        raise ValueError(
            f"expected row numbers from 0 to {n_samples - 1}, as there are {n_samples} points, "
            f"got {name}[{place}] = {_pair(array[place])}. Row numbers do not survive the "
            "slicing of rows, as in cross-validation; partial labels do"
        )


def _pair(row: Indices) -> tuple[int, int]:
    return int(row[0]), int(row[1])


def pair_signs(similar: Indices, dissimilar: Indices, n_samples: int) -> tuple[Indices, Array]:
    """Return all pairs, rising, and their signs; similar and dissimilar must not share any."""
    alike, unlike = (pairs[:, 0] * n_samples + pairs[:, 1] for pairs in (similar, dissimilar))
    both = np.intersect1d(alike, unlike)
    if len(both):
        pair = divmod(int(both[0]), n_samples)
        raise ValueError(f"expected a pair to be similar or dissimilar, got {pair} as both")
    if not len(alike) + len(unlike):
        raise ValueError("expected some similar or dissimilar pairs, got none")
    pairs = np.concatenate([similar, dissimilar])
    signs = np.repeat([1.0, -1.0], [len(similar), len(dissimilar)])
    order = np.argsort(np.concatenate([alike, unlike]))
    return pairs[order], signs[order]


def spread_pairs(n: int, max_pairs: int, rng: np.random.RandomState) -> Indices:
    """Return at most `max_pairs` of the pairs i < j of n points, drawn without repetition."""
    total = n * (n - 1) // 2
    if total <= max_pairs:
        return np.column_stack(np.triu_indices(n, 1))
    numbers = sample_without_replacement(total, max_pairs, random_state=rng)
    return _unrank(np.sort(numbers).astype(np.intp))


def _unrank(numbers: Indices) -> Indices:
    """Return the pairs i < j that are numbered j (j - 1)/2 + i."""
    j = ((1.0 + np.sqrt(1.0 + 8.0 * numbers)) / 2.0).astype(np.intp)
    j -= j * (j - 1) // 2 > numbers
    j += (j + 1) * j // 2 <= numbers
    return np.column_stack([numbers - j * (j - 1) // 2, j])
