r"""Ensembles of decision trees as flat arrays.

Output k of a row x is (start_k + sum_t v_tk(x)) / divisor + offset_k, summed in the order of the
trees, where v_t(x) is the value of the leaf that x reaches in tree t. A row goes left at a node if
its feature is at most the threshold; a missing value goes where the node sends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pliant.core.form import FEATURES, Object, Part, SavedForm
from pliant.core.typing import Array

Numbers = npt.NDArray[np.int32]

COMPILED = 500_000
"""Number of walks, rows times trees, from which a compiled loop is worth its import."""

BLOCK = 4096
"""Rows per block: their features and outputs stay in the cache while all trees pass."""


def _check_divisor(name: str, value: Any) -> None:
    """Raise ValueError unless a value is a float of at least 1."""
    if type(value) is not float or not 1.0 <= value <= 1e9:
        raise ValueError(f"expected {name} from 1.0 to 1e9, got {value!r:.80}")


@dataclass(eq=False)
class TreeEnsemble:
    """Sum or mean of decision trees.

    Only inner nodes have an entry in the arrays of nodes. A root or child c >= 0 is node c; c < 0
    is leaf ~c. Children have larger numbers than their parents, so every walk ends.

    Attributes
    ----------
    roots : int32 array of shape (n_trees,)
    outputs : int32 array of shape (n_trees,)
        The output of each tree. With several values per leaf, a tree adds to all outputs.
    feature, left, right : int32 arrays of shape (n_nodes,)
    threshold : array of shape (n_nodes,)
        Infinite where only missing values go right.
    missing_left : bool array of shape (n_nodes,)
    leaves : array of shape (n_leaves, 1) or (n_leaves, n_outputs)
        The values of the leaves.
    start : array of shape (n_outputs,)
        The first summand.
    divisor : float
        The number of trees for a mean, 1 for a sum.
    offset : array of shape (n_outputs,) or None
        The last summand; None leaves it out.
    single : bool
        True if rows are rounded to float32 before comparisons.
    narrow : bool
        True if sums are rounded to float32 after each tree.
    takes_missing : bool
        True if the original takes missing values.
    n_features : int
    """

    _form: ClassVar[SavedForm] = {
        "roots": Part("i4", ("trees",)),
        "outputs": Part("i4", ("trees",), low=0, below="outputs"),
        "feature": Part("i4", ("nodes",), low=0, below="features"),
        "left, right": Part("i4", ("nodes",)),
        "threshold": Part("f8", ("nodes",), low=-np.inf, high=np.inf),
        "missing_left": Part("b1", ("nodes",)),
        "leaves": Part("f8", ("leaves", "values")),
        "start": Part("f8", ("outputs",), least=1),
        "divisor": _check_divisor,
        "offset": Part("f8", ("outputs",), optional=True),
        "single, narrow, takes_missing": Object(bool),
        "n_features": FEATURES,
    }

    roots: Numbers
    outputs: Numbers
    feature: Numbers
    left: Numbers
    right: Numbers
    threshold: Array
    missing_left: npt.NDArray[np.bool_]
    leaves: Array
    start: Array
    divisor: float
    offset: Array | None
    single: bool
    narrow: bool
    takes_missing: bool
    n_features: int

    def __call__(self, X: Array) -> Array:
        """Return the outputs of float64 rows, shape (n_samples, n_outputs)."""
        if X.shape[1] != self.n_features:  # the compiled loop relies on the width
            raise ValueError(f"expected rows of {self.n_features} features, got {X.shape[1]}")
        rows = X
        if self.single:
            with np.errstate(over="ignore"):
                rows = X.astype(np.float32)
            if np.isinf(rows).any():
                raise ValueError("expected features in the range of float32, got a larger one")
        add = _add_compiled if len(X) * len(self.roots) >= COMPILED else _add_by_level
        totals = np.tile(self.start, (len(X), 1))
        totals = totals.astype(np.float32) if self.narrow else totals
        for low in range(0, len(X), BLOCK):
            add(self, np.ascontiguousarray(rows[low : low + BLOCK]), totals[low : low + BLOCK])
        if self.divisor != 1.0:
            totals /= self.divisor
        totals = totals.astype(np.float64, copy=False)
        if self.offset is not None:
            totals += self.offset
        # as scikit-learn's boosting by histograms, so that sums over the columns are the same
        return totals if self.single else np.asfortranarray(totals)

    def _check_loaded(self) -> None:
        """Raise ValueError unless every walk stays within the arrays and ends at a leaf."""
        n_nodes, (n_leaves, n_values) = len(self.feature), self.leaves.shape
        if n_values not in (1, len(self.start)):
            raise ValueError(f"expected leaves for {len(self.start)} outputs")
        if self.narrow and max(np.abs(a).max(initial=0) for a in (self.leaves, self.start)) > 1e30:
            raise ValueError("expected leaves in the range of float32")
        parents = np.arange(n_nodes, dtype=np.int32)
        for child, above in ((self.left, parents), (self.right, parents), (self.roots, -1)):
            inner = (child > above) & (child < n_nodes)
            if not (inner | ((child < 0) & (~child < n_leaves))).all():
                raise ValueError(f"expected children after their parents, among {n_nodes} nodes")


def _add_by_level(trees: TreeEnsemble, rows: Array, totals: Array) -> None:
    """Add the values of all trees: all rows go down all trees together, level by level."""
    n_trees = len(trees.roots)
    place = np.tile(trees.roots, len(rows))  # row by row
    walking = np.flatnonzero(place >= 0)
    while len(walking):
        node = place[walking]
        x = rows[walking // n_trees, trees.feature[node]]
        goes_left = x <= trees.threshold[node]
        if (missing := np.isnan(x)).any():
            goes_left[missing] = trees.missing_left[node[missing]]
        child = np.where(goes_left, trees.left[node], trees.right[node])
        place[walking] = child
        walking = walking[child >= 0]
    leaf = ~place.reshape(len(rows), n_trees)
    for t, output in enumerate(trees.outputs.tolist()):
        # a sum of two float32 numbers in float64, rounded to float32, is their rounded sum
        if trees.leaves.shape[1] == 1:
            totals[:, output] += trees.leaves[leaf[:, t], 0]
        else:
            totals += trees.leaves[leaf[:, t]]


def _add_compiled(trees: TreeEnsemble, rows: Array, totals: Array) -> None:
    """Add the values of all trees with a compiled loop, in the same order."""
    from pliant.records._loops import add_trees

    parts: tuple[Any, ...] = (trees.roots, trees.outputs, trees.feature, trees.threshold)
    parts += (trees.left, trees.right, trees.missing_left, trees.leaves)
    add_trees(rows, totals, *parts)
