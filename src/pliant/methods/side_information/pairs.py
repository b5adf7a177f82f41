"""Pairs and triplets of row indices: checked, sorted, converted, and drawn at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils.random import sample_without_replacement

from pliant.core.typing import Array, Indices, Mask


def check_pairs(name: str, pairs: npt.ArrayLike | None, n_samples: int) -> Indices:
    """Return pairs with i < j, sorted and without repetitions, shape (n_pairs, 2).

    Raises ValueError for a wrong shape, numbers that are not integers, an index out of range, or a
    pair of equal indices.
    """
    array = np.sort(check_tuples(name, pairs, n_samples), axis=1)
    numbers = np.unique(array[:, 0] * n_samples + array[:, 1])
    return np.column_stack(np.divmod(numbers, n_samples))


def check_tuples(
    name: str, tuples: npt.ArrayLike | None, n_samples: int, *, triplets: bool = False
) -> Indices:
    """Return pairs, shape (n_pairs, 2), or triplets, (n_triplets, 3), as they are.

    Raises ValueError for a wrong shape, numbers that are not integers, an index out of range, or
    equal indices in one of them.
    """
    width, kind = (3, "triplet") if triplets else (2, "pair")
    if tuples is None or np.size(tuples) == 0:
        return np.empty((0, width), dtype=np.intp)
    array = np.asarray(tuples)
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"expected {name} of shape (n_{kind}s, {width}), got {array.shape}")
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"expected {name} to hold integer row indices, got an array of {array.dtype}"
        )
    outside: Mask = np.asarray(((array < 0) | (array >= n_samples)).any(axis=1))
    if outside.any():
        raise ValueError(
            f"expected row indices from 0 to {n_samples - 1}, as there are {n_samples} points, "
            f"got {_first(name, array, outside)}. Row indices become invalid when rows are sliced, "
            "as in cross-validation; partial labels do not"
        )
    array = array.astype(np.intp)
    in_order = np.sort(array, axis=1)
    equal = np.asarray((in_order[:, 1:] == in_order[:, :-1]).any(axis=1))
    if equal.any():
        number = "three" if triplets else "two"
        raise ValueError(f"expected {number} points in a {kind}, got {_first(name, array, equal)}")
    return array


def _first(name: str, array: Indices, wrong: Mask) -> str:
    """Return the first wrong pair or triplet, as text."""
    place = int(np.argmax(wrong))
    return f"{name}[{place}] = {tuple(array[place].tolist())}"


def pairs_of_triplets(triplets: Indices, n_samples: int) -> tuple[Indices, Array]:
    """Return the pairs that triplets (a, b, c) vote for, sorted, and their signs.

    Each triplet is a vote for (a, b) as similar and for (a, c) as dissimilar; the majority decides,
    and a pair with as many votes for either is left out.
    """
    first, near, far = triplets.T
    ends = np.sort([np.concatenate([first, first]), np.concatenate([near, far])], axis=0)
    numbers, places = np.unique(ends[0] * n_samples + ends[1], return_inverse=True)
    votes = np.bincount(places.reshape(-1), weights=np.repeat([1.0, -1.0], len(triplets)))
    decided = votes != 0.0
    return np.column_stack(np.divmod(numbers[decided], n_samples)), np.sign(votes[decided])


def merge_pairs(similar: Indices, dissimilar: Indices, n_samples: int) -> tuple[Indices, Array]:
    """Return all pairs, sorted, and their signs; similar and dissimilar must not share any."""
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


def sample_pairs(n: int, max_pairs: int, rng: np.random.RandomState) -> Indices:
    """Return at most `max_pairs` of the pairs i < j of n points, drawn without replacement."""
    total = n * (n - 1) // 2
    if total <= max_pairs:
        return np.column_stack(np.triu_indices(n, 1))
    numbers = sample_without_replacement(total, max_pairs, random_state=rng)
    return _pairs_of_ranks(np.sort(numbers).astype(np.intp))


def _pairs_of_ranks(ranks: Indices) -> Indices:
    """Return the pairs i < j whose rank j (j - 1)/2 + i is given."""
    # j is the larger root of j (j - 1) = 2 rank, corrected by one where rounding is wrong
    j = ((1.0 + np.sqrt(1.0 + 8.0 * ranks)) / 2.0).astype(np.intp)
    j -= j * (j - 1) // 2 > ranks
    j += (j + 1) * j // 2 <= ranks
    return np.column_stack([ranks - j * (j - 1) // 2, j])
