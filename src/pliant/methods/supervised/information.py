"""Side information on pairs of points, and the supervised complete graph.

Every pair of points is an edge of the graph. Its weight depends on T_ij, which is +1 for similar
points, -1 for dissimilar points and 0 for unknown pairs:

    W = exp(beta T) entrywise,  D = diag(W 1),  S = I - D^{-1/2} W D^{-1/2}

(Pan, Chen, Chen, Xu, section 3, with beta = 1). S is positive semi-definite, and S D^{1/2} 1 = 0.
(n, n) arrays are formed only on request. With labels, W_ij depends only on the classes of i and j;
with pairs, W is 11' plus a sparse matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pliant.core.linalg import scale_rows
from pliant.core.parameters import check_choice, check_integer, check_real, plain
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    check_gram,
    check_labels,
    check_points,
    where_equal,
)

GraphKind: TypeAlias = Literal["complete", "labeled"]
"""The points of a supervised graph: all points, or the points with side information."""

GRAPHS: tuple[GraphKind, ...] = get_args(GraphKind)


def check_exponent(name: str, value: Any) -> float:
    """Return the exponent beta of the weights exp(beta T); raise ValueError if not in (0, 100]."""
    beta = check_real(name, value, above=0)
    # for larger beta, the weights 1 and exp(-beta) are negligible next to exp(beta)
    if beta > 100.0:
        raise ValueError(f"expected {name} <= 100, as weights are exp(beta), got {value}")
    return beta


@dataclass(frozen=True, eq=False)
class SideInformation:
    """Similar (T_ij = +1) and dissimilar (T_ij = -1) pairs of n points; other pairs are unknown.

    Created by `from_labels` or `from_pairs`.

    Attributes
    ----------
    n_samples : int
        Number of points, n.
    labels, classes : array of shape (n_samples,) or None, array of shape (n_classes,) or None
        With labels, the class index of each point (-1 if unknown), and the sorted classes.
        T_ii = 1 for labelled points.
    pairs : array of shape (n_pairs, 2)
        The known pairs, i < j. With labels, these are all pairs of labelled points.
    signs : array of shape (n_pairs,)
        +1.0 for similar pairs, -1.0 for dissimilar pairs.

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
        """Treat points of the same class as similar, and points of different classes as dissimilar.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Class labels, numbers or strings.
        unlabeled : object, optional
            The value in `y` that marks an unknown class. None means -1, but a value is required if
            `y` contains only -1 and +1, which may be two classes.

        Raises
        ------
        ValueError
            If no point is labelled, if there is only one class, or if `y` contains only -1 and +1
            and `unlabeled` is None.
        """
        values = check_labels(y)
        known = ~where_equal(values, _resolve_unlabeled(values, unlabeled))
        if not known.any():
            raise ValueError(f"expected labelled points, got {plain(values[0])!r} for all points")
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
        """Build the side information from pairs, ignoring their order and repetitions.

        Parameters
        ----------
        n_samples : int
            Number of points, >= 2.
        similar, dissimilar : array-like of shape (n_pairs, 2), optional
            Row indices, 0 to n_samples - 1.

        Raises
        ------
        ValueError
            If there are no pairs, an index is out of range, a pair consists of equal indices, or a
            pair is both similar and dissimilar.
        """
        n = check_integer("n_samples", n_samples, least=2)
        alike, unlike = check_pairs("similar", similar, n), check_pairs("dissimilar", dissimilar, n)
        pairs = np.concatenate([alike, unlike])
        # the number i n + j identifies the pair (i, j)
        numbers, order = np.unique(pairs[:, 0] * n + pairs[:, 1], return_index=True)
        if not len(pairs):
            raise ValueError("expected similar or dissimilar pairs, got none")
        if len(numbers) < len(pairs):
            both = set(map(tuple, alike.tolist())) & set(map(tuple, unlike.tolist()))
            raise ValueError(
                f"expected each pair to be either similar or dissimilar, got {min(both)} as both"
            )
        return cls(n, _pairs=pairs[order], _signs=np.where(order < len(alike), 1.0, -1.0))

    @cached_property
    def pairs(self) -> Indices:
        """The known pairs i < j, shape (n_pairs, 2)."""
        if self._pairs is not None:
            return self._pairs
        first, second = np.triu_indices(len(self.known), 1)
        return np.column_stack([self.known[first], self.known[second]])

    @cached_property
    def signs(self) -> Array:
        """+1.0 for similar pairs, -1.0 for dissimilar pairs."""
        return self._signs_from_labels(self.pairs) if self._signs is None else self._signs

    def _signs_from_labels(self, pairs: Indices) -> Array:
        """Return the signs of pairs of labelled points."""
        assert self.labels is not None
        return np.where(self.labels[pairs[:, 0]] == self.labels[pairs[:, 1]], 1.0, -1.0)

    @cached_property
    def known(self) -> Indices:
        """Sorted row indices of the points with a label or in a pair."""
        if self.labels is not None:
            return np.flatnonzero(self.labels >= 0)
        return np.unique(self.pairs)

    def target(self) -> Array:
        """Return T, shape (n_samples, n_samples)."""
        if self.labels is not None:
            same = np.where(self.labels[:, None] == self.labels, 1.0, -1.0)
            known = self.labels >= 0
            return np.where(known[:, None] & known, same, 0.0)
        target = np.zeros((self.n_samples, self.n_samples))
        i, j = self.pairs.T
        target[i, j] = target[j, i] = self.signs
        return target

    def graph(self, kind: GraphKind = "labeled", beta: float = 1.0) -> SupervisedGraph:
        """Return the supervised complete graph, with entrywise weights W = exp(beta T).

        It contains all points ("complete"), or the points with side information ("labeled").
        """
        complete = check_choice("graph", kind, GRAPHS) == "complete"
        members = np.arange(self.n_samples) if complete else self.known
        if self.labels is not None:
            return LabelGraph(members, self.labels[members], beta)
        positions = np.searchsorted(members, self.pairs)
        return PairGraph(members, positions, self.signs, beta)

    def sample_pairs(self, max_pairs: int, rng: np.random.RandomState) -> tuple[Indices, Array]:
        """Draw at most `max_pairs` known pairs without replacement; return pairs and signs.

        With labels, the known pairs are not enumerated: memory is O(max_pairs).
        """
        from sklearn.utils.random import sample_without_replacement

        check_integer("max_pairs", max_pairs, least=1)
        n_pairs = len(self.known) * (len(self.known) - 1) // 2 if self.labels is not None else 0
        if n_pairs > max_pairs:
            ranks = np.sort(sample_without_replacement(n_pairs, max_pairs, random_state=rng))
            pairs = self.known[_pairs_of_ranks(ranks.astype(np.intp))]
            return pairs, self._signs_from_labels(pairs)
        if len(self.pairs) <= max_pairs:
            return self.pairs, self.signs
        chosen = np.sort(rng.choice(len(self.pairs), max_pairs, replace=False))
        return self.pairs[chosen], self.signs[chosen]


def check_information(information: SideInformation, n: int) -> None:
    """Raise an error unless `information` is a `SideInformation` on n points."""
    if not isinstance(information, SideInformation):
        raise TypeError(
            f"expected a SideInformation, got {type(information).__name__}: create it with "
            "SideInformation.from_labels or SideInformation.from_pairs"
        )
    if information.n_samples != n:
        raise ValueError(
            f"expected side information on {n} points, as in the Gram matrix, got "
            f"{information.n_samples} points"
        )


def check_pairs(name: str, pairs: npt.ArrayLike | None, n_samples: int) -> Indices:
    """Return the distinct pairs, sorted, with i < j, shape (n_pairs, 2).

    Raises ValueError for a wrong shape, non-integers, an index out of range, or a pair of equal
    indices.
    """
    if pairs is None or np.size(pairs) == 0:
        return np.empty((0, 2), dtype=np.intp)
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"expected {name} of shape (n_pairs, 2), got {array.shape}")
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"expected {name} to hold integer row indices, got an array of {array.dtype}"
        )
    inside = ((array >= 0) & (array < n_samples)).all(axis=1)
    invalid = np.flatnonzero(~inside | (array[:, 0] == array[:, 1]))
    if len(invalid):
        raise ValueError(
            f"expected pairs of different row indices from 0 to {n_samples - 1} (pass partial "
            "labels if rows are sliced, as in cross-validation), got "
            f"{name}[{invalid[0]}] = {tuple(array[invalid[0]].tolist())}"
        )
    # the number i n + j identifies the pair (i, j)
    array = np.sort(array.astype(np.intp), axis=1)
    numbers = np.unique(array[:, 0] * n_samples + array[:, 1])
    return np.column_stack(np.divmod(numbers, n_samples))


def _pairs_of_ranks(ranks: Indices) -> Indices:
    """Return the pairs i < j with the ranks j (j - 1)/2 + i."""
    # j is the larger root of j (j - 1) = 2 rank, rounded down and corrected for rounding errors
    j = ((1.0 + np.sqrt(1.0 + 8.0 * ranks)) / 2.0).astype(np.intp)
    j -= j * (j - 1) // 2 > ranks
    j += (j + 1) * j // 2 <= ranks
    return np.column_stack([ranks - j * (j - 1) // 2, j])


def _resolve_unlabeled(values: npt.NDArray[Any], unlabeled: Any) -> Any:
    """Return the value that marks an unknown class."""
    if np.ndim(unlabeled):
        raise ValueError(f"expected unlabeled to be a single value, got {unlabeled!r}")
    if unlabeled is not None:
        return unlabeled
    if values.dtype.kind in "iuf" and set(np.unique(values).tolist()) == {-1, 1}:
        raise ValueError(
            "expected `unlabeled` to be given, since y contains only -1 and +1: pass unlabeled=-1 "
            "if -1 marks points without a label, or unlabeled=0 (a value not in y) if both are "
            "classes"
        )
    return -1


class SupervisedGraph(ABC):
    """Base class of supervised complete graphs over a subset of the points, the members.

    `members`, shape (a,), holds row indices, and `degrees` holds D_ii = sum_j W_ij. Methods use q
    coordinates; S is the identity on their complement. By default the members are the
    coordinates: q = a, and S is a dense array.
    """

    members: Indices
    degrees: Array

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members)

    @abstractmethod
    def weights(self, B: Array) -> Array:
        """Return W B for B of shape (a,) or (a, m)."""

    def laplacian(self, B: Array) -> Array:
        """Return S B = B - D^{-1/2} W D^{-1/2} B for B of shape (a,) or (a, m)."""
        scale = 1.0 / np.sqrt(self.degrees)
        return B - scale_rows(scale, self.weights(scale_rows(scale, B)))

    def toarray(self) -> Array:
        """Return S, shape (a, a)."""
        S = self.laplacian(np.eye(len(self)))
        return 0.5 * (S + S.T)

    @cached_property
    def reduced(self) -> Array:
        """S in the q coordinates, shape (q, q)."""
        return self.toarray()

    def coordinates(self, B: Array) -> Array:
        """Return the q coordinates of B, shape (q, m), for B of shape (a, m)."""
        return B

    @cached_property
    def _square_root(self) -> Array:
        """S^{1/2}, from an eigendecomposition, shape (a, a)."""
        values, vectors = np.linalg.eigh(self.reduced)
        values = np.maximum(values, 0.0)
        values[0] = 0.0  # S has a single null vector, as all weights are > 0
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)

    def root(self, B: Array) -> Array:
        """Return S^{1/2} B, which is zero for the null vector of S, for B of shape (a, m)."""
        return np.asarray(self._square_root @ B)


class LabelGraph(SupervisedGraph):
    """The graph of labels: S = I - U H U', a rank-q update of the identity.

    The q groups are the classes and, if present, the unlabelled points (-1). U has one orthonormal
    column per group, constant on the group, and H_gh = W_gh sqrt(n_g n_h / (D_g D_h)) for groups of
    n_g points. `modes`, shape (q, q), holds the eigenvectors of H. `damping`, shape (q,), holds 1
    minus the eigenvalues in ascending order; the first, for the null vector, is exactly 0.
    """

    def __init__(self, members: Indices, labels: Indices, beta: float = 1.0) -> None:
        self.members = members
        kinds, groups = np.unique(labels, return_inverse=True)
        self.groups: Indices = groups.reshape(-1)
        self.sizes: Array = np.bincount(self.groups).astype(np.float64)
        # T is +1 within a class, -1 between classes, and 0 for unlabelled points
        T = 2.0 * np.eye(len(kinds)) - 1.0
        T[kinds < 0] = 0.0
        T[:, kinds < 0] = 0.0
        self._between = np.exp(check_exponent("beta", beta) * T)
        group_degrees = self._between @ self.sizes
        self.degrees: Array = group_degrees[self.groups]
        scale = np.sqrt(self.sizes / group_degrees)  # H = diag(scale) W diag(scale)
        values, modes = np.linalg.eigh(scale[:, None] * self._between * scale)
        self.damping: Array = np.maximum(1.0 - values[::-1], 0.0)
        self.damping[0] = 0.0  # S D^{1/2} 1 = 0; a large gamma would amplify the rounding error
        self.modes: Array = modes[:, ::-1]

    @cached_property
    def reduced(self) -> Array:
        """S in the basis U V, for the eigenvectors V of H: diag(`damping`), shape (q, q)."""
        return np.diag(self.damping)

    @cached_property
    def _indicator(self) -> scipy.sparse.csr_array:
        """Indicator matrix of the groups, shape (q, a): row g is 1 on group g."""
        shape = (len(self.sizes), len(self))
        return scipy.sparse.csr_array(
            (np.ones(shape[1]), (self.groups, np.arange(shape[1]))), shape
        )

    def weights(self, B: Array) -> Array:
        """Return W B for B of shape (a,) or (a, m), in O((a + q^2) m)."""
        return np.asarray((self._between @ (self._indicator @ B))[self.groups])

    def coordinates(self, B: Array) -> Array:
        """Return V'U'B, the coordinates of B in the basis U V, shape (q, m)."""
        scaled = scale_rows(1.0 / np.sqrt(self.sizes), np.asarray(self._indicator @ B))
        return np.asarray(self.modes.T @ scaled)

    def root(self, B: Array) -> Array:
        """Return S^{1/2} B for B of shape (a, m), in O((a + q^2) m)."""
        # S^{1/2} B = B - U V (I - damping^{1/2}) V'U'B, as S = I outside the q coordinates
        change = self.modes @ scale_rows(1.0 - np.sqrt(self.damping), self.coordinates(B))
        return B - scale_rows(1.0 / np.sqrt(self.sizes), change)[self.groups]


class PairGraph(SupervisedGraph):
    """The graph of pairs: W = 11' plus a sparse matrix.

    `pairs`, shape (m, 2), holds distinct pairs i < j of positions among the members; `signs` holds
    +1.0 or -1.0.
    """

    def __init__(self, members: Indices, pairs: Indices, signs: Array, beta: float = 1.0) -> None:
        self.members = members
        i, j = pairs.T
        # W_ij = exp(beta T_ij) is 1 outside the pairs, so the sparse part is exp(beta T) - 1
        entries = np.expm1(check_exponent("beta", beta) * signs)
        indices = (np.concatenate([i, j]), np.concatenate([j, i]))
        a = len(members)
        self._sparse = scipy.sparse.csr_array((np.tile(entries, 2), indices), shape=(a, a))
        self.degrees: Array = np.asarray(a + self._sparse.sum(axis=1), dtype=np.float64)

    def weights(self, B: Array) -> Array:
        """Return W B for B of shape (a,) or (a, m), in O((a + n_pairs) m)."""
        return np.asarray(self._sparse @ B) + B.sum(axis=0)


def gram_of(gram: npt.ArrayLike, information: SideInformation) -> Array:
    """Return a Gram matrix as an array; raise an error unless it fits the side information."""
    K = check_gram(check_points(gram, "gram"))
    check_information(information, len(K))
    return K
