"""Train and test rows: random halves, held-out shares.

Every split is a pair of index arrays ``(train, test)`` in ascending order, which together contain
every row once. A draw depends only on the seed and the number of the repeat, so the third of
five repeats equals the third of fifty. Rows are given by an array of labels or by their number;
`stratify` needs labels and gives each side every class in proportion, to within one row.
Invalid arguments, and a side without rows, raise a ValueError.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np

from pliant.core.typing import Indices

Split: TypeAlias = tuple[Indices, Indices]
"""Row numbers for training and for testing."""


def random_halves(
    y: Sequence[Any] | int, repeats: int = 10, *, stratify: bool = False, random_state: int = 0
) -> Iterator[Split]:
    """Split the rows into random halves; of an odd number, training gets the extra row."""
    return _draw(y, _n_rows(y) // 2, repeats, stratify, random_state)


def holdout(
    y: Sequence[Any] | int,
    repeats: int = 1,
    *,
    test_size: float = 0.2,
    stratify: bool = False,
    random_state: int = 0,
) -> Iterator[Split]:
    """Hold out rows for testing, in `repeats` independent draws.

    `test_size` is a share in (0, 1), rounded to an integer number of rows, or that number itself.
    """
    return _draw(y, _n_test(_n_rows(y), test_size), repeats, stratify, random_state)


def _draw(
    y: Sequence[Any] | int, n_test: int, repeats: int, stratify: bool, seed: int
) -> Iterator[Split]:
    """Check the arguments immediately; draw the splits lazily."""
    n = _n_rows(y)
    if n < 2:
        raise ValueError(f"expected at least 2 rows to split, got {n}")
    _require_count("repeats", repeats, at_least=1)
    _require_count("random_state", seed, at_least=0)
    labels = _classes(y) if stratify else np.zeros(n, dtype=np.intp)
    return (_split(labels, n_test, np.random.default_rng([seed, k])) for k in range(repeats))


def _split(labels: Indices, n_test: int, rng: np.random.Generator) -> Split:
    """Take every (n / n_test)-th row of the rows in random order within their classes."""
    n = len(labels)
    order = rng.permutation(n)
    order = order[np.argsort(labels[order], kind="stable")]
    steps = (np.arange(n + 1) * n_test + rng.integers(n)) // n
    is_test = np.diff(steps) > 0
    return np.sort(order[~is_test]), np.sort(order[is_test])


def _n_rows(y: Sized | int) -> int:
    return int(y) if isinstance(y, int | np.integer) else len(y)


def _n_test(n: int, test_size: float) -> int:
    n_test = int(test_size) if isinstance(test_size, int | np.integer) else round(test_size * n)
    if not 0 < n_test < n:
        raise ValueError(
            f"expected test_size to leave rows on both sides of {n} rows, got {test_size!r}"
        )
    return n_test


def _classes(y: Sequence[Any] | int) -> Indices:
    """Number the classes of a label array."""
    if isinstance(y, int | np.integer):
        raise ValueError(f"expected an array of labels to stratify by, got the number {y}")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"expected labels of shape (n,), got shape {labels.shape}")
    return np.unique(labels, return_inverse=True)[1]


def _require_count(name: str, value: object, at_least: int) -> None:
    if not isinstance(value, int | np.integer) or value < at_least:
        raise ValueError(f"expected {name} to be an integer >= {at_least}, got {value!r}")
