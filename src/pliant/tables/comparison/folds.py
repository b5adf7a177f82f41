"""Outer folds, shared by all methods, and inner folds of a search.

The outer folds of repeat r use ``StratifiedKFold``, ``KFold``, ``StratifiedGroupKFold`` or
``GroupKFold``, shuffled with ``random_state = seed + r``. They are stratified for classification,
and grouped if there are groups. Time-ordered rows use ``TimeSeriesSplit`` and one repeat. Inner
folds are of the same type, with ``random_state = cell_seed``.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn import model_selection as splitters

from pliant.core.text import count, listed, quoted
from pliant.core.typing import Indices
from pliant.tables.comparison.protocol import Cell, Protocol
from pliant.tables.comparison.sample import Sample

Split: TypeAlias = tuple[Indices, Indices]
"""Row numbers for training and test."""

RARE = 0.1
"""Class share below which methods are ranked by the log loss and the result includes a warning."""


def settled(protocol: Protocol, sample: Sample) -> Protocol:
    """Adapt a protocol to a sample: one repeat for ordered rows, log loss for a rare class."""
    if sample.ordered:
        protocol = replace(protocol, repeats=1)
    if protocol.metric is None and sample.task == "classification":
        counts = np.unique(sample.y, return_counts=True)[1]
        if counts.min() < RARE * len(sample.y):
            protocol = replace(protocol, metric="log_loss")
    return protocol


def without_rare_classes(sample: Sample, folds: int) -> Sample:
    """Drop classes too rare for the folds, with a note, unless fewer than two would remain."""
    if sample.task == "regression" or sample.ordered:
        return sample
    sizes, least = _class_sizes(sample.y, sample.groups), _least_size(folds)
    rare = [label for label, size in sizes.items() if size < least]
    if not rare or len(sizes) - len(rare) < 2:
        return sample
    rows = np.flatnonzero(~np.isin(sample.y, rare))
    names = listed([quoted(label) for label in rare])
    note = (
        f"{count(len(sample.y) - len(rows), 'row')} of class {names} left out: too few for "
        f"{folds} folds"
    )
    y, groups = _target_of(sample, rows)
    return replace(sample, X=sample.X[rows], y=y, groups=groups, notes=(*sample.notes, note))


def outer_split(sample: Sample, protocol: Protocol, repeat: int, fold: int) -> Split:
    """Return the sorted training and test rows of an outer fold."""
    every = np.arange(len(sample.y))
    return _splits(sample, every, protocol.folds, protocol.seed + repeat)[fold]


def inner_splits(sample: Sample, rows: Indices, n_folds: int, seed: int) -> list[Split]:
    """Return inner folds as positions in `rows`; drop folds with a single training class."""
    y = sample.y[rows]
    splits = _splits(sample, rows, n_folds, seed)
    return [(learn, test) for learn, test in splits if len(np.unique(y[learn])) > 1]


def inner_count(sample: Sample, rows: Indices, protocol: Protocol) -> int:
    """Return the number of inner folds: the protocol's, limited by the smallest class."""
    wanted = protocol.inner_folds or (5 if len(rows) < 1000 else 3)
    known = rows[sample.labelled(sample.y[rows])]
    y, groups = _target_of(sample, known)
    return min(wanted, most_folds(y, sample.task, groups))


def cell_seed(protocol: Protocol, cell: Cell) -> int:
    """Return the random seed of a cell: 31 bits of the SHA-256 of ``"seed/method/repeat/fold"``."""
    text = f"{protocol.seed}/{cell.method}/{cell.repeat}/{cell.fold}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFFFFFF


def check_folds(sample: Sample, protocol: Protocol) -> None:
    """Raise ValueError unless the training rows of each outer fold allow two inner folds."""
    what = "rows" if sample.groups is None else "groups"
    if sample.task == "classification" and not sample.ordered:
        sizes, least = _class_sizes(sample.y, sample.groups), _least_size(protocol.folds)
        rarest = min(sizes, key=lambda label: sizes[label])
        if sizes[rarest] < least:
            raise ValueError(
                f"expected at least {least} {what} of each class for {protocol.folds} folds, got "
                f"{sizes[rarest]} of class {quoted(rarest)}: drop this class or use fewer folds"
            )
    most = most_folds(sample.y, sample.task, sample.groups)
    if not sample.ordered and protocol.folds > most:
        raise ValueError(
            f"expected at most {most} folds for these {what}, got {protocol.folds}: use fewer "
            f"folds or more {what}"
        )
    for repeat, fold in protocol.places():
        train, test = outer_split(sample, protocol, repeat, fold)
        y, groups = _target_of(sample, train)
        if not len(test) or most_folds(y, sample.task, groups) < 2:
            raise ValueError(
                f"expected more {what}: fold {fold + 1} of {protocol.folds} has {len(train)} "
                f"training rows and {len(test)} test rows, too few in total or in a class"
            )


def most_folds(y: npt.NDArray[Any], task: str, groups: npt.NDArray[Any] | None = None) -> int:
    """Return the maximum fold count: smallest class size, number of groups, or half the rows."""
    if task == "regression":
        return len(np.unique(groups)) if groups is not None else len(y) // 2
    sizes = _class_sizes(y, groups)
    return min(sizes.values()) if len(sizes) > 1 else 0


def _least_size(folds: int) -> int:
    """Return the minimum class size, in rows or groups, that leaves >= 2 in each training set."""
    return 4 if folds == 2 else folds


def _class_sizes(y: npt.NDArray[Any], groups: npt.NDArray[Any] | None) -> dict[Any, int]:
    labels, counts = np.unique(y, return_counts=True)
    if groups is not None:
        counts = np.array([len(np.unique(groups[y == label])) for label in labels])
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _target_of(sample: Sample, rows: Indices) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    return sample.y[rows], None if sample.groups is None else sample.groups[rows]


def _splits(sample: Sample, rows: Indices, n_folds: int, seed: int) -> list[Split]:
    """Return the folds of `rows`, as positions in `rows`."""
    y, groups = _target_of(sample, rows)
    if sample.ordered:
        return list(splitters.TimeSeriesSplit(n_folds).split(y))
    classes = sample.task == "classification"
    kind: Any = splitters.StratifiedKFold if classes else splitters.KFold
    if groups is not None:
        kind = splitters.StratifiedGroupKFold if classes else splitters.GroupKFold
    folds = kind(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(y)), y, groups))
