"""What is known of pairs of points: from partial labels, or said outright."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, check_integer, plain
from pliant.methods.side_information.information.graph import LabelGraph, PairGraph, SupervisedGraph
from pliant.methods.side_information.information.pairs import check_pairs, pair_signs, spread_pairs

__all__ = ["GRAPHS", "SideInformation", "check_information", "label_vector", "where_equal"]

GRAPHS = ("complete", "labeled")
"""Over which points a supervised graph extends: all, or those that something is known of."""


@dataclass(frozen=True, eq=False)
class SideInformation:
    """Which pairs of n points are similar (T_ij = +1), which are not (-1), all others unknown (0).

    Made by `from_labels` or `from_pairs`.

    Attributes
    ----------
    n_samples : int
        n.
    labels : array of shape (n,) or None
        For labels: the number of the class, -1 where it is unknown. T_ii = 1 on labelled points.
    classes : array of shape (p,) or None
        For labels: the classes, sorted.
    pairs : array of shape (m, 2)
        Pairs i < j that something is known of. With labels these are all pairs of labelled
        points, listed when asked for.
    signs : array of shape (m,)
        +1.0 for a similar pair, -1.0 for a dissimilar one.

    Examples
    --------
    >>> from pliant import SideInformation
    >>> SideInformation.from_labels(["a", "a", "b", "?"], unlabeled="?").target()
    array([[ 1.,  1., -1.,  0.],
           [ 1.,  1., -1.,  0.],
           [-1., -1.,  1.,  0.],
           [ 0.,  0.,  0.,  0.]])
    >>> SideInformation.from_pairs(3, similar=[(0, 1)], dissimilar=[(1, 2)]).target()
    array([[ 0.,  1.,  0.],
           [ 1.,  0., -1.],
           [ 0., -1.,  0.]])
    """

    n_samples: int
    labels: Indices | None = None
    classes: npt.NDArray[Any] | None = None
    _pairs: Indices | None = None
    _signs: Array | None = None

    @classmethod
    def from_labels(cls, y: npt.ArrayLike, unlabeled: Any = None) -> Self:
        """Take points of one class as similar, points of two classes as dissimilar.

        Parameters
        ----------
        y : array-like of shape (n,)
            Classes: numbers or text.
        unlabeled : object, optional
            The value in `y` of points whose class is unknown. None: -1, unless `y` holds -1 and
            +1 only: those may be two classes, so it must be said. A value that does not occur
            says that all points are labelled.

        Raises
        ------
        ValueError
            If no point is labelled, all labels are of one class, or `y` holds -1 and +1 only and
            `unlabeled` is not given.
        """
        values = label_vector(y)
        known = ~where_equal(values, _unlabeled_value(values, unlabeled))
        if not known.any():
            raise ValueError(f"expected some labelled points, got {plain(values[0])!r} for all")
        classes, codes = np.unique(values[known], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"expected labels of at least two classes, got only one class: "
                f"{plain(classes[0])!r} for all {known.sum()} labelled points"
            )
        labels = np.full(len(values), -1)
        labels[known] = codes
        return cls(len(values), labels, classes)

    @classmethod
    def from_pairs(
        cls,
        n_samples: int,
        similar: npt.ArrayLike | None = None,
        dissimilar: npt.ArrayLike | None = None,
    ) -> Self:
        """Take pairs of row numbers; the order within a pair and repeated pairs do not matter.

        Parameters
        ----------
        n_samples : int
            Number of points, >= 2.
        similar, dissimilar : array-like of shape (m, 2), optional
            Row numbers, 0 to n_samples - 1.

        Raises
        ------
        ValueError
            For no pairs at all, a row number out of range, i = j, or a pair in both sets.
        """
        n = check_integer("n_samples", n_samples, least=2)
        pairs, signs = pair_signs(
            check_pairs("similar", similar, n), check_pairs("dissimilar", dissimilar, n), n
        )
        return cls(n, _pairs=pairs, _signs=signs)

    @cached_property
    def pairs(self) -> Indices:
        """The pairs i < j that something is known of, shape (m, 2)."""
        if self._pairs is not None:
            return self._pairs
        first, second = np.triu_indices(len(self.known), 1)
        return np.column_stack([self.known[first], self.known[second]])

    @cached_property
    def signs(self) -> Array:
        """+1.0 for each similar pair, -1.0 for each dissimilar one, shape (m,)."""
        return self.pair_signs(self.pairs)

    def pair_signs(self, pairs: Indices) -> Array:
        """Return the signs of some labelled pairs; for given pairs: of all of them."""
        if self._signs is not None:
            return self._signs
        assert self.labels is not None
        return np.where(self.labels[pairs[:, 0]] == self.labels[pairs[:, 1]], 1.0, -1.0)

    @cached_property
    def known(self) -> Indices:
        """The row numbers of the points that something is known of, rising."""
        if self.labels is not None:
            return np.flatnonzero(self.labels >= 0)
        return np.unique(self.pairs)

    def target(self) -> Array:
        """Return T, shape (n, n)."""
        if self.labels is not None:
            same = np.where(self.labels[:, None] == self.labels, 1.0, -1.0)
            known = self.labels >= 0
            return np.where(known[:, None] & known, same, 0.0)
        target = np.zeros((self.n_samples, self.n_samples))
        i, j = self.pairs.T
        target[i, j] = target[j, i] = self.signs
        return target

    def graph(self, kind: str = "labeled", beta: float = 1.0) -> SupervisedGraph:
        """Return the supervised complete graph, with weights W = exp(beta T) entry by entry.

        Parameters
        ----------
        kind : {"labeled", "complete"}
            Over the known points, or over all points.
        beta : float
            In (0, 100]; 1 in the paper.
        """
        everywhere = check_choice("graph", kind, GRAPHS) == "complete"
        members = np.arange(self.n_samples) if everywhere else self.known
        if self.labels is not None:
            return LabelGraph(members, self.labels[members], beta)
        places = np.searchsorted(members, self.pairs)
        return PairGraph(members, places, self.signs, beta)

    def sample_pairs(self, max_pairs: int, rng: np.random.RandomState) -> tuple[Indices, Array]:
        """Return at most `max_pairs` known pairs, drawn at random without repetition, and signs.

        With labels the pairs need not be listed: memory O(max_pairs).
        """
        check_integer("max_pairs", max_pairs, least=1)
        if self.labels is not None:
            a = len(self.known)
            pairs = self.known[spread_pairs(a, max_pairs, rng)]
            return pairs, self.pair_signs(pairs)
        if len(self.pairs) <= max_pairs:
            return self.pairs, self.signs
        chosen = np.sort(rng.choice(len(self.pairs), max_pairs, replace=False))
        return self.pairs[chosen], self.signs[chosen]

    def hide(self, rows: Indices | Mask) -> SideInformation:
        """Return what is left when the labels of some rows, or all pairs with them, are hidden.

        Raises
        ------
        ValueError
            If too little is left.
        """
        hidden = np.zeros(self.n_samples, dtype=bool)
        hidden[rows] = True
        if self.labels is None:
            return self._hide_pairs(np.asarray(hidden[self.pairs].any(axis=1)))
        assert self.classes is not None
        labels = np.where(hidden, -1, self.labels)
        left = SideInformation.from_labels(labels, unlabeled=-1)
        return replace(left, classes=self.classes[left.classes])

    def _hide_pairs(self, hidden: Mask) -> SideInformation:
        left = ~hidden
        if not left.any():
            raise ValueError("expected some pairs without a hidden point, got none")
        return SideInformation(self.n_samples, _pairs=self.pairs[left], _signs=self.signs[left])


def check_information(information: object) -> SideInformation:
    """Return side information, or say how it is made."""
    if not isinstance(information, SideInformation):
        raise TypeError(
            f"expected a SideInformation, got {type(information).__name__}: make one by "
            "SideInformation.from_labels or .from_pairs"
        )
    return information


def label_vector(y: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return labels as a vector of one type without missing values."""
    values = np.asarray(y)
    if values.dtype.kind in "US" and not isinstance(y, np.ndarray):
        values = np.asarray(y, dtype=object)  # a list of text and numbers became text
    if values.ndim != 1 or not len(values):
        raise ValueError(f"expected y of shape (n_samples,), n_samples >= 1, got {values.shape}")
    if values.dtype.kind == "O":
        values = _of_one_type(values)
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            place = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"expected finite labels, got {values[place]} in y at {place}")
        if (values % 1 != 0).any():
            place = int(np.argmax(values % 1 != 0))
            raise ValueError(
                f"expected class labels, got the real number {values[place]} in y at {place}"
            )
    return values


def _of_one_type(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an object array as text if it holds text, else as the numbers that it holds."""
    texts = sum(isinstance(value, str) for value in values)
    if 0 < texts < len(values):
        odd = next(value for value in values if not isinstance(value, str))
        raise ValueError(f"expected labels of one type, got text and {plain(odd)!r}")
    if texts:
        return values.astype(str)
    odd = [value for value in values if not isinstance(value, Real | np.bool_)]
    if odd:
        raise ValueError(f"expected y to hold class labels, got {plain(odd[0])!r}")
    return np.array(values.tolist())


def _unlabeled_value(values: npt.NDArray[Any], unlabeled: Any) -> Any:
    """Return the value that marks an unknown class."""
    if np.ndim(unlabeled):
        raise ValueError(f"expected unlabeled to be one value, got {unlabeled!r}")
    if unlabeled is not None:
        return unlabeled
    if values.dtype.kind in "iuf" and set(np.unique(values).tolist()) == {-1, 1}:
        raise ValueError(
            "expected `unlabeled` to be given, since y holds -1 and +1 only: unlabeled=-1 if -1 "
            "marks points without a label, or unlabeled=0 (a value that y does not hold) if both "
            "are classes"
        )
    return -1


def where_equal(values: npt.NDArray[Any], value: Any) -> Mask:
    """Return where `values` equal `value`; nowhere for None, or for text against numbers."""
    if value is None:
        return np.zeros(len(values), dtype=bool)
    return np.array([entry == value for entry in values.tolist()], dtype=bool)
