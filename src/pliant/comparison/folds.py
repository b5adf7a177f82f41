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

RARE = 0.1
"""Share of the rows of a class below which ranks are by the log loss and the result warns."""


def settled(protocol: Protocol, sample: Sample) -> Protocol:
    """Return the protocol with one repeat for ordered rows, and the log loss for a rare class."""
    if sample.ordered:
        protocol = replace(protocol, repeats=1)
    if protocol.metric is None and sample.task == "classification":
        counts = np.unique(sample.y, return_counts=True)[1]
        if counts.min() < RARE * len(sample.y):
            protocol = replace(protocol, metric="log_loss")
    return protocol


def without_rare_classes(sample: Sample, folds: int) -> Sample:
    """Return a sample without the rows of classes too rare for the folds, with a note.

    The sample is returned as it is if fewer than two classes would remain.
    """
    if sample.task == "regression" or sample.ordered:
        return sample
    sizes, least = _class_sizes(sample.y, sample.groups), _least_size(folds)
    rare = [label for label, size in sizes.items() if size < least]
    if not rare or len(sizes) - len(rare) < 2:
        return sample
    rows = np.flatnonzero(~np.isin(sample.y, rare))
    names = listed([quoted(label) for label in rare])
    note = (
        f"{count(len(sample.y) - len(rows), 'row')} of class {names} left out: fewer than the "
        f"{folds} folds need"
    )
    y, groups = _target_of(sample, rows)
    return replace(sample, X=sample.X[rows], y=y, groups=groups, notes=(*sample.notes, note))


def outer_split(sample: Sample, protocol: Protocol, repeat: int, fold: int) -> Split:
    """Return the training rows and the test rows of an outer fold, ascending."""
    every = np.arange(len(sample.y))
    return _splits(sample, every, protocol.folds, protocol.seed + repeat)[fold]


def inner_splits(sample: Sample, rows: Indices, n_folds: int, seed: int) -> list[Split]:
    """Return the folds of a search among `rows`, as positions in `rows`.

    Folds with training rows of one class, as the first in the order of time may be, are left out.
    """
    y = sample.y[rows]
    splits = _splits(sample, rows, n_folds, seed)
    return [(learn, test) for learn, test in splits if len(np.unique(y[learn])) > 1]


def inner_count(sample: Sample, rows: Indices, protocol: Protocol) -> int:
    """Return the number of folds of a search: that of the protocol, or the largest possible one."""
    wanted = protocol.inner_folds or (5 if len(rows) < 1000 else 3)
    known = rows[sample.labelled(sample.y[rows])]
    y, groups = _target_of(sample, known)
    return min(wanted, most_folds(y, sample.task, groups))


def cell_seed(protocol: Protocol, cell: Cell) -> int:
    """Return the seed of all draws of a cell: 31 bits of a hash of the seed and the cell's names.

    The first four bytes, most significant first, of SHA-256 of ``"seed/method/repeat/fold"``,
    without the first bit.
    """
    text = f"{protocol.seed}/{cell.method}/{cell.repeat}/{cell.fold}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFFFFFF


def check_folds(sample: Sample, protocol: Protocol) -> None:
    """Raise ValueError unless the training rows of every outer fold make two inner folds."""
    what = "rows" if sample.groups is None else "groups"
    if sample.task == "classification" and not sample.ordered:
        sizes, least = _class_sizes(sample.y, sample.groups), _least_size(protocol.folds)
        rarest = min(sizes, key=lambda label: sizes[label])
        if sizes[rarest] < least:
            raise ValueError(
                f"expected at least {least} {what} of each class for {protocol.folds} folds, got "
                f"{sizes[rarest]} of class {quoted(rarest)}: leave them out, or lower folds"
            )
    most = most_folds(sample.y, sample.task, sample.groups)
    if not sample.ordered and protocol.folds > most:
        raise ValueError(f"expected folds <= {most} for so few {what}, got {protocol.folds}")
    for repeat, fold in protocol.places():
        train, test = outer_split(sample, protocol, repeat, fold)
        y, groups = _target_of(sample, train)
        if not len(test) or most_folds(y, sample.task, groups) < 2:
            raise ValueError(
                f"expected more {what}: fold {fold + 1} of {protocol.folds} has {len(train)} rows "
                f"to learn from and {len(test)} to test on, too few of one class or at all"
            )


def most_folds(y: npt.NDArray[Any], task: str, groups: npt.NDArray[Any] | None = None) -> int:
    """Return the largest number of folds: each needs a row, or a group, of each class.

    A fold of a regression needs two rows, or a group.
    """
    if task == "regression":
        return len(np.unique(groups)) if groups is not None else len(y) // 2
    sizes = _class_sizes(y, groups)
    return min(sizes.values()) if len(sizes) > 1 else 0


def _least_size(folds: int) -> int:
    """Return the least size of a class, in rows or groups: each training part has two of them."""
    return 4 if folds == 2 else folds


def _class_sizes(y: npt.NDArray[Any], groups: npt.NDArray[Any] | None) -> dict[Any, int]:
    """Return the number of rows, or of groups, of each class."""
    labels, counts = np.unique(y, return_counts=True)
    if groups is not None:
        counts = np.array([len(np.unique(groups[y == label])) for label in labels])
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _target_of(sample: Sample, rows: Indices) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return the target and the groups of some rows."""
    return sample.y[rows], None if sample.groups is None else sample.groups[rows]


def _splits(sample: Sample, rows: Indices, n_folds: int, seed: int) -> list[Split]:
    """Return folds of some rows, as positions among them."""
    y, groups = _target_of(sample, rows)
    if sample.ordered:
        return list(TimeSeriesSplit(n_folds).split(y))
    classes = sample.task == "classification"
    kind: Any = StratifiedKFold if classes else KFold
    if groups is not None:
        kind = StratifiedGroupKFold if classes else GroupKFold
    folds = kind(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(y)), y, groups))
