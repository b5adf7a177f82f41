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
from pliant.core.text import count, listed, quoted
from pliant.core.typing import Indices

Split: TypeAlias = tuple[Indices, Indices]
"""Row numbers for training and for testing."""

FEW_ROWS = 1000
"""With fewer training rows the search takes five folds, else three."""


RARE = 0.1
"""Share of the rows of a class below which methods are ranked by the log loss by default."""


def settled(protocol: Protocol, sample: Sample) -> Protocol:
    """Return the protocol with what the sample decides.

    Rows in the order of time have one repeat, and a rare class asks for the log loss.
    """
    if sample.ordered:
        protocol = replace(protocol, repeats=1)
    if protocol.metric is None and sample.task == "classification":
        counts = np.unique(sample.y, return_counts=True)[1]
        if counts.min() < RARE * len(sample.y):
            protocol = replace(protocol, metric="log_loss")
    return protocol


def without_rare_classes(sample: Sample, folds: int) -> Sample:
    """Return a sample without the rows of classes that are too rare for the folds, with a note.

    It is returned as it is if fewer than two classes would remain.
    """
    if sample.task == "regression" or sample.ordered:
        return sample
    sizes = _class_sizes(sample.y, sample.groups)
    rare = [label for label, size in sizes.items() if _too_rare(size, folds)]
    if not rare or len(sizes) - len(rare) < 2:
        return sample
    rows = np.flatnonzero(~np.isin(sample.y, rare))
    names = listed([quoted(label) for label in rare])
    note = (
        f"{count(len(sample.y) - len(rows), 'row')} of class {names} left out: fewer than the "
        f"{folds} folds need"
    )
    return replace(
        sample,
        X=sample.X[rows],
        y=sample.y[rows],
        groups=None if sample.groups is None else sample.groups[rows],
        notes=(*sample.notes, note),
    )


def _too_rare(size: int, folds: int) -> bool:
    """Return whether a class of some rows, or groups, leaves less than two to learn from."""
    return size < folds or size - -(-size // folds) < 2


def _class_sizes(y: npt.NDArray[Any], groups: npt.NDArray[Any] | None) -> dict[Any, int]:
    """Return the number of rows, or of groups, of each class."""
    labels, counts = np.unique(y, return_counts=True)
    if groups is not None:
        counts = np.array([len(np.unique(groups[y == label])) for label in labels])
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


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
        name, size = _rarest_class(sample.y, sample.groups)
        if _too_rare(size, protocol.folds):
            least = protocol.folds + (2 if protocol.folds == 2 else 0)
            raise ValueError(
                f"expected at least {least} {what} of each class for {protocol.folds} folds, got "
                f"{size} of class {quoted(name)}: leave them out, or lower folds"
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
    sizes = _class_sizes(y, groups)
    rarest = min(sizes, key=lambda label: sizes[label])
    return rarest, sizes[rarest]


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
