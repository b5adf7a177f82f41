"""Cross-validation for pairs of row indices, which a division of the rows would break."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from pliant.core.public import set_public_module
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, check_integer, check_random_state
from pliant.methods.side_information.information import SideInformation, check_information

DIVIDED = ("points", "pairs")


class PairFold(NamedTuple):
    """A training part with its pairs, and the held-out pairs.

    Attributes
    ----------
    train : array of shape (n_train,)
        Row indices of the training points.
    similar, dissimilar : arrays of shape (n_similar, 2) and (n_dissimilar, 2)
        The pairs of training points, as indices into the training part: ``X[train]`` goes with
        them to the ``fit`` of a learner.
    test_pairs : array of shape (n_test, 2)
        The held-out pairs, as row indices of all points.
    test_signs : array of shape (n_test,)
        +1.0 for a similar pair, -1.0 for a dissimilar one.
    """

    train: Indices
    similar: Indices
    dissimilar: Indices
    test_pairs: Indices
    test_signs: Array


@dataclass(frozen=True)
class PairKFold:
    """Divide points or pairs into k folds, and give each training part the pairs inside it.

    Row indices of pairs become invalid when a splitter of rows slices the data. Here, with
    ``divide="points"``, the points that are in a pair are divided into folds: a pair whose two
    points are in the training part stays there, with new indices; every other pair is held out. So
    a held-out pair has a point, or two, that the learner has not seen. Points in no pair are always
    in the training part. With ``divide="pairs"`` all points are in each training part, and a fold
    of the pairs is held out, both kinds in proportion: this measures what a learner infers about
    points that it has seen, from other pairs of them.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, >= 2.
    divide : {"points", "pairs"}, default="points"
        What is divided.
    random_state : int, RandomState or None, default=None
        Seed of the division.

    Examples
    --------
    >>> from pliant import PairKFold, SideInformation
    >>> known = SideInformation.from_pairs(4, similar=[(0, 1), (2, 3)], dissimilar=[(1, 2)])
    >>> fold = next(PairKFold(2, divide="pairs", random_state=0).split(known))
    >>> len(fold.train), len(fold.similar) + len(fold.dissimilar), len(fold.test_pairs)
    (4, 1, 2)
    """

    n_splits: int = 5
    divide: str = "points"
    random_state: Any = None

    def split(self, information: SideInformation) -> Iterator[PairFold]:
        """Yield each fold.

        Parameters
        ----------
        information : SideInformation
            Pairs, or triplets converted to pairs.

        Raises
        ------
        ValueError
            If the side information consists of labels, or if there are fewer points or pairs than
            folds, or a training part or its complement has no pair.
        """
        n_splits = check_integer("n_splits", self.n_splits, least=2)
        check_choice("divide", self.divide, DIVIDED)
        if check_information(information).labels is not None:
            raise ValueError(
                "expected pairs or triplets, got labels: a splitter of rows, such as "
                "StratifiedKFold, divides them"
            )
        rng = check_random_state(self.random_state)
        by_points = self.divide == "points"
        items = information.known if by_points else information.signs
        if len(items) < n_splits:
            raise ValueError(
                f"expected n_splits <= {len(items)}, the number of {self.divide}"
                f"{' in a pair' if by_points else ''}, got {n_splits}"
            )
        folds = (
            _shuffled(len(items), n_splits, rng)
            if by_points
            else _stratified(information.signs, rng)
        )
        for k in range(n_splits):
            held = folds % n_splits == k
            fold = _by_points(information, held) if by_points else _by_pairs(information, held)
            if not len(fold.test_pairs) or not len(fold.similar) + len(fold.dissimilar):
                raise ValueError(
                    f"expected pairs in the training part and in fold {k + 1} of {n_splits}, got "
                    f"{len(fold.test_pairs)} held-out pairs of {len(information.signs)}: lower "
                    "n_splits"
                )
            yield fold

    def get_n_splits(self) -> int:
        """Return the number of folds."""
        return int(self.n_splits)


def _shuffled(n: int, n_splits: int, rng: RandomState) -> Indices:
    """Return the fold of each of n items, in random order."""
    folds = np.empty(n, dtype=np.intp)
    folds[rng.permutation(n)] = np.arange(n) % n_splits
    return folds


def _stratified(signs: Array, rng: RandomState) -> Indices:
    """Return a rank of each pair: those of one sign first, each kind in random order."""
    order = rng.permutation(len(signs))
    ranks = np.empty(len(signs), dtype=np.intp)
    ranks[order[np.argsort(signs[order], kind="stable")]] = np.arange(len(signs))
    return ranks


def _by_points(information: SideInformation, held: Mask) -> PairFold:
    """Return the fold without some of the points that are in a pair."""
    kept = np.ones(information.n_samples, dtype=bool)
    kept[information.known[held]] = False
    inside = kept[information.pairs].all(axis=1)
    train = np.flatnonzero(kept)
    return _fold(information, train, np.asarray(inside))


def _by_pairs(information: SideInformation, held: Mask) -> PairFold:
    """Return the fold without some of the pairs."""
    return _fold(information, np.arange(information.n_samples), ~held)


def _fold(information: SideInformation, train: Indices, inside: Mask) -> PairFold:
    """Return the fold of a training part in which some of the pairs are."""
    pairs, signs = information.pairs, information.signs
    places = np.searchsorted(train, pairs[inside])
    similar, dissimilar = (places[signs[inside] == sign] for sign in (1.0, -1.0))
    return PairFold(train, similar, dissimilar, pairs[~inside], signs[~inside])


set_public_module({**globals(), "__name__": "pliant"}, ["PairKFold"])
