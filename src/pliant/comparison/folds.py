"""Outer folds, which all methods share, and the inner folds of a search.

The outer folds of repeat r are drawn by ``StratifiedKFold``, ``KFold``, ``StratifiedGroupKFold`` or
``GroupKFold`` with shuffling and ``random_state = seed + r``: stratified for classification, by
groups where there are groups. Rows in the order of time are cut by ``TimeSeriesSplit`` instead,
once. Inner folds are of the same kind, drawn with ``random_state = cell_seed``.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.sample import Sample
from pliant.core.text import quoted
from pliant.core.typing import Indices

Split: TypeAlias = tuple[Indices, Indices]
"""Row numbers for training and for testing."""

FEW_ROWS = 1000
"""With fewer training rows the search takes five folds, else three."""


def settled(protocol: Protocol, sample: Sample) -> Protocol:
    """Return the protocol with one repeat if the rows are in the order of time."""
    return replace(protocol, repeats=1) if sample.ordered else protocol


def outer_split(sample: Sample, protocol: Protocol, repeat: int, fold: int) -> Split:
    """Return the rows to learn from and the rows to test on, ascending."""
    splits = _splits(
        sample.y, sample.task, sample.groups, sample.ordered, protocol.folds, protocol.seed + repeat
    )
    return splits[fold]


def inner_splits(sample: Sample, rows: Indices, n_folds: int, seed: int) -> list[Split]:
    """Return the folds of a search among `rows`, as positions in `rows`.

    Those with one class to learn from, as the first in the order of time may have, are left out.
    """
    groups = None if sample.groups is None else sample.groups[rows]
    y = sample.y[rows]
    splits = _splits(y, sample.task, groups, sample.ordered, n_folds, seed)
    return [(learn, test) for learn, test in splits if len(np.unique(y[learn])) > 1]


def inner_count(sample: Sample, rows: Indices, protocol: Protocol) -> int:
    """Return how many folds a search among `rows` takes: those asked for, or as many as can be."""
    wanted = protocol.inner_folds or (5 if len(rows) < FEW_ROWS else 3)
    groups = None if sample.groups is None else sample.groups[rows]
    known = sample.labelled(sample.y[rows])
    groups = groups if groups is None else groups[known]
    return min(wanted, most_folds(sample.y[rows][known], sample.task, groups))


def cell_seed(protocol: Protocol, cell: Cell) -> int:
    """Return the seed of all draws of a cell: 31 bits of a hash of the seed and the cell's names.

    The first four bytes, most significant first, of SHA-256 of ``"seed/method/repeat/fold"``,
    without the first bit.
    """
    text = f"{protocol.seed}/{cell.method}/{cell.repeat}/{cell.fold}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFFFFFF


def check_folds(sample: Sample, protocol: Protocol) -> None:
    """Raise ValueError unless every outer fold leaves two inner folds to learn from."""
    what = "rows" if sample.groups is None else "groups"
    if sample.task == "classification" and not sample.ordered:
        name, count = _rarest_class(sample.y, sample.groups)
        if count < protocol.folds or count - -(-count // protocol.folds) < 2:
            least = protocol.folds + (2 if protocol.folds == 2 else 0)
            raise ValueError(
                f"expected at least {least} {what} of each class for {protocol.folds} folds, got "
                f"{count} of class {quoted(name)}: leave them out, or lower folds"
            )
    most = most_folds(sample.y, sample.task, sample.groups)
    if not sample.ordered and protocol.folds > most:
        raise ValueError(f"expected folds <= {most} for so few {what}, got {protocol.folds}")
    for repeat, fold in protocol.places():
        train, test = outer_split(sample, protocol, repeat, fold)
        groups = None if sample.groups is None else sample.groups[train]
        if not len(test) or most_folds(sample.y[train], sample.task, groups) < 2:
            raise ValueError(
                f"expected more {what}: fold {fold + 1} of {protocol.folds} has {len(train)} rows "
                f"to learn from and {len(test)} to test on, too few of one class or at all"
            )


def _rarest_class(y: npt.NDArray[Any], groups: npt.NDArray[Any] | None) -> tuple[Any, int]:
    """Return the class of the fewest rows, or groups, and how many it has."""
    labels, counts = np.unique(y, return_counts=True)
    if groups is not None:
        counts = np.array([len(np.unique(groups[y == label])) for label in labels])
    return labels[counts.argmin()], int(counts.min())


def _splits(
    y: npt.NDArray[Any],
    task: str,
    groups: npt.NDArray[Any] | None,
    ordered: bool,
    n_folds: int,
    seed: int,
) -> list[Split]:
    if ordered:
        return list(TimeSeriesSplit(n_folds).split(y))
    classes = task == "classification"
    if groups is None:
        kind: Any = StratifiedKFold if classes else KFold
    else:
        kind = StratifiedGroupKFold if classes else GroupKFold
    folds = kind(n_folds, shuffle=True, random_state=seed)
    return [(train, test) for train, test in folds.split(np.zeros(len(y)), y, groups)]


def most_folds(y: npt.NDArray[Any], task: str, groups: npt.NDArray[Any] | None = None) -> int:
    """Return the largest number of folds: each needs a row, or a group, of each class.

    A fold of a regression needs two rows, or a group.
    """
    if task == "regression":
        return len(np.unique(groups)) if groups is not None else len(y) // 2
    return _rarest_class(y, groups)[1] if len(np.unique(y)) > 1 else 0
