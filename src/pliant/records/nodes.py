"""Number the inner nodes and the leaves of trees, for `TreeEnsemble`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array
from pliant.records.trees import TreeEnsemble


class Nodes(NamedTuple):
    """The nodes of one tree, its root first; left is -1 for a leaf.

    `values`, of shape (n_nodes, n_values), are those of the leaves; entries of inner nodes have no
    meaning.
    """

    feature: npt.NDArray[Any]
    threshold: Array
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    missing_left: npt.NDArray[np.bool_]
    values: Array


def tree_ensemble(
    trees: Sequence[Nodes],
    outputs: Sequence[int],
    start: Any,
    *,
    n_features: int,
    divisor: float = 1.0,
    single: bool = False,
    narrow: bool = False,
    takes_missing: bool = True,
    offset: Array | None = None,
) -> TreeEnsemble:
    """Return the ensemble of trees, where inner nodes and leaves have numbers of their own."""
    n_nodes, n_leaves, roots, parts = 0, 0, list[Any](), list[Nodes]()
    for tree in trees:
        inner = tree.left >= 0
        # c >= 0 is inner node c, c < 0 is leaf ~c
        number = np.where(
            inner, n_nodes + np.cumsum(inner) - 1, ~(n_leaves + np.cumsum(~inner) - 1)
        )
        roots.append(number[0])
        parts.append(
            Nodes(
                feature=tree.feature[inner],
                threshold=tree.threshold[inner],
                left=number[tree.left[inner]],
                right=number[tree.right[inner]],
                missing_left=tree.missing_left[inner],
                values=tree.values[~inner],
            )
        )
        n_nodes, n_leaves = n_nodes + int(inner.sum()), n_leaves + int((~inner).sum())
    joined = Nodes(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    return TreeEnsemble(
        roots=i4(roots),
        outputs=i4(outputs),
        feature=i4(joined.feature),
        left=i4(joined.left),
        right=i4(joined.right),
        threshold=f8(joined.threshold),
        missing_left=np.array(joined.missing_left, dtype=np.bool_),
        leaves=f8(joined.values),
        start=f8(start),
        divisor=float(divisor),
        offset=None if offset is None else f8(offset),
        single=single,
        narrow=narrow,
        takes_missing=takes_missing,
        n_features=int(n_features),
    )


def f8(values: Any) -> Array:
    """Return a C-contiguous float64 array that shares no memory with others."""
    return np.array(values, dtype=np.float64, order="C")


def i4(values: Any) -> npt.NDArray[np.int32]:
    """Return a C-contiguous int32 array that shares no memory with others."""
    return np.array(values, dtype=np.int32, order="C")


def refuse(original: Any, what: str) -> Any:
    """Raise ValueError for a setting without a record."""
    raise ValueError(f"{what} of {type(original).__name__} has no form in a model file")
