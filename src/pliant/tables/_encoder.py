"""The first step of a pipeline: fill in missing values, make categories and texts numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_integer, where_equal
from pliant.tables._temporary import temporary_map

MOST_ONE_HOT = 30
"""The most categories that get a column each, unless another number is given."""

FEWEST_GAPS = 0.05
"""The least share of missing values of a feature that gets a column for them."""

LEAST_T = 3.0
"""The t statistic of the difference of mean targets from which on gaps mean something."""

FOLDS = 5
"""Folds in which a row's category is encoded by the targets of the other rows."""

BLOCK_NUMBERS = 250_000
"""Numbers of a memory map that are in memory at a time."""


class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Fill in missing values, and encode categories and texts.

    Missing numbers become the median and missing categories the most frequent one. Where 5 % or
    more are missing, and these rows have another mean target than the others (Welch's t > 3), a
    column of zeros and ones marks them. A feature of few categories becomes one column for each
    that occurs (0 or 1), one of many categories the mean target of each, shrunk towards the overall
    mean by empirical Bayes as in scikit-learn's ``TargetEncoder`` [1]_; training rows are encoded
    by the means of other rows, in five folds. Hashed words of a text become their projections on
    the first singular vectors. All of it is learned from the rows of ``fit`` alone, so in a
    pipeline each fold learns its own.

    Parameters
    ----------
    categories : mapping of int to sequence of str or int, default=None
        The categories of each categorical feature, by its column, which has their numbers from 0;
        any other number is an unknown category. How many there are is enough.
    texts : sequence of (int, int), default=()
        The first column and the one after the last of each text.
    task : {"classification", "regression"}, default="regression"
        Whether the target is a number, or a class; then a category is encoded by the share of each
        class among its rows (of one class, if there are two).
    most_one_hot : int, default=30
        >= 0: the most categories that get a column each.
    n_components : int, default=32
        >= 1: the columns that a text becomes, at most.
    random_state : int, default=0
        Draws the folds for features of many categories.
    unlabeled : optional
        The value of the target where the class is unknown; such rows have no part in means.

    Attributes
    ----------
    n_features_in_ : int
    fills_ : array of shape (n_features_in_,)
        What takes the place of a missing value.
    gaps_ : array of shape (n_gaps,)
        The features whose missing values are marked; of several with the same gaps, the first.
    one_hot_ : array of shape (n_one_hot, 2)
        The feature and the category of each column of zeros and ones.
    means_ : list of arrays of shape (n_categories + 1, n_means)
        The mean target of each category of the features with many, and of all rows.
    components_ : list of arrays of shape (width, n_components)
        The singular vectors of each text.

    References
    ----------
    .. [1] D. Micci-Barreca, "A preprocessing scheme for high-cardinality categorical attributes in
       classification and prediction problems", SIGKDD Explorations 3(1), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.tables import ColumnEncoder
    >>> X = np.array([[1.0, 0], [np.nan, 1], [3, 0]])
    >>> ColumnEncoder({1: ("blue", "red")}).fit_transform(X, [1.0, 2.0, 3.0])
    array([[1., 1., 0.],
           [2., 0., 1.],
           [3., 1., 0.]])
    """

    def __init__(
        self,
        categories: Mapping[int, Sequence[str] | int] | None = None,
        texts: Sequence[tuple[int, int]] = (),
        *,
        task: Literal["classification", "regression"] = "regression",
        most_one_hot: int = MOST_ONE_HOT,
        n_components: int = 32,
        random_state: int = 0,
        unlabeled: Any = None,
    ) -> None:
        self.categories = categories
        self.texts = texts
        self.task = task
        self.most_one_hot = most_one_hot
        self.n_components = n_components
        self.random_state = random_state
        self.unlabeled = unlabeled

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what to fill in and how to encode.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            NaN where a value is missing. A memory map is read column by column.
        y : array of shape (n_samples,), optional
            The target; needed where a feature has many categories.

        Raises
        ------
        ValueError
            If a parameter or a shape is wrong.
        """
        X = self._checked(X, reset=True)
        self._check_parameters()
        self.fills_ = np.array([self._fill(j, np.array(X[:, j])) for j in range(X.shape[1])])
        self.gaps_ = self._gaps(X, y)
        self.one_hot_ = self._one_hot(X)
        self.means_ = []
        if self._many:
            targets, known = self._targets(X, y)
            self.means_ = [
                _means(codes[known], len(self._texts[j]), targets[known])
                for j, codes in self._codes(X)
            ]
        self.components_ = [self._singular_vectors(X, *span) for span in self.texts]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the rows encoded as `transform` does but for features of many categories.

        Their columns are means over other rows, so that the next step of a pipeline does not learn
        from a row's own target.
        """
        features = self.fit(X, y).transform(X)
        if not self._many:
            return features
        X = self._checked(X, reset=False)
        targets, known = self._targets(X, y)
        rng = np.random.default_rng(self.random_state)
        folds = rng.permutation(len(targets)) % FOLDS
        start = len(self._numbers) + len(self.one_hot_)
        for j, codes in self._codes(X):
            for fold in range(FOLDS):
                others, own = known & (folds != fold), folds == fold
                if others.any():
                    means = _means(codes[others], len(self._texts[j]), targets[others])
                    features[own, start : start + means.shape[1]] = means[codes[own]]
            start += targets.shape[1]
        return features

    def transform(self, X: Any) -> Array:
        """Return rows as numbers, shape (n_samples, n_features_out).

        First features of numbers, then categories, means, projections and marks. A memory map gives
        another one, or itself where there is nothing to do.
        """
        check_is_fitted(self, "fills_")
        X = self._checked(X, reset=False)
        if not isinstance(X, np.memmap):
            return self._encoded(X)
        plain = not self._texts and not self.texts and not self.gaps_.size
        if plain and not any(np.isnan(block).any() for block in _blocks(X)):
            return X
        return temporary_map(self._encoded(block) for block in _blocks(X))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns, such as ``colour=red``, shape (n_features_out,)."""
        check_is_fitted(self, "fills_")
        if input_features is None:
            input_features = [f"x{j}" for j in range(self.n_features_in_)]
        names = [str(name) for name in input_features]
        if len(names) != self.n_features_in_:
            raise ValueError(f"expected {self.n_features_in_} names, got {len(names)}")
        ones = [f"{names[j]}={self._texts[j][code]}" for j, code in self.one_hot_.tolist()]
        means = [
            f"{names[j]} (mean target{f' {k}' if table.shape[1] > 1 else ''})"
            for j, table in zip(self._many, self.means_, strict=True)
            for k in range(table.shape[1])
        ]
        topics = [
            f"{names[start].partition(' (hash ')[0]} (text {k})"
            for (start, _), vectors in zip(self.texts, self.components_, strict=True)
            for k in range(vectors.shape[1])
        ]
        plain = [names[j] for j in self._numbers]
        marks = [f"{names[j]} (missing)" for j in self.gaps_]
        return np.array([*plain, *ones, *means, *topics, *marks], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Return tags: missing values are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = bool(self._many)
        return tags

    @property
    def _texts(self) -> dict[int, Sequence[object]]:
        given = dict(self.categories or {}).items()
        return {j: range(each) if isinstance(each, int) else each for j, each in given}

    @property
    def _many(self) -> list[int]:
        """The features of many categories."""
        return sorted(j for j, texts in self._texts.items() if len(texts) > self.most_one_hot)

    @property
    def _numbers(self) -> list[int]:
        """The features that stay numbers."""
        words = {j for start, stop in self.texts for j in range(start, stop)}
        return [j for j in range(self.n_features_in_) if j not in words and j not in self._texts]

    def _checked(self, X: Any, reset: bool) -> Array:
        """Return X as float64; a memory map stays one."""
        if isinstance(X, np.memmap):  # scikit-learn's check would read it whole
            if reset:
                self.n_features_in_ = X.shape[-1]
            if X.shape == (len(X), self.n_features_in_):
                return X
        checked: Array = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
        )
        return checked

    def _check_parameters(self) -> None:
        check_choice("task", self.task, ("classification", "regression"))
        check_integer("most_one_hot", self.most_one_hot, least=0)
        check_integer("n_components", self.n_components, least=1)
        for j in self._texts:
            if j not in range(self.n_features_in_):
                raise ValueError(
                    f"expected categories of features below {self.n_features_in_}, got {j!r}"
                )
        for start, stop in self.texts:
            if not 0 <= start < stop <= self.n_features_in_:
                raise ValueError(
                    f"expected texts in columns up to {self.n_features_in_}, got {start, stop}"
                )

    def _fill(self, j: int, values: Array) -> float:
        """Return the median of numbers, or the most frequent category; 0 where there is neither."""
        gone = np.isnan(values)
        there = values[~gone] if gone.any() else values
        if j not in self._texts:
            return float(np.median(there, overwrite_input=True)) if there.size else 0.0
        codes = _as_codes(there, len(self._texts[j]))
        return float(np.bincount(codes).argmax()) if there.size else 0.0

    def _gaps(self, X: Array, y: Any) -> Indices:
        """Return the features whose gaps mean something, one of those with the same gaps."""
        patterns: dict[bytes, int] = {}
        for j in range(X.shape[1] if y is not None else 0):
            gone = np.isnan(X[:, j])
            if FEWEST_GAPS <= gone.mean() < 1:
                patterns.setdefault(np.packbits(gone).tobytes(), j)
        if not patterns:
            return np.array([], dtype=np.intp)
        targets, known = self._targets(X, y)
        telling = [j for j in patterns.values() if _differ(targets[known], np.isnan(X[known, j]))]
        return np.array(telling, dtype=np.intp)

    def _one_hot(self, X: Array) -> Indices:
        """Return the pairs of a feature of few categories and one that occurs."""
        pairs = [
            (j, code)
            for j, texts in sorted(self._texts.items())
            if j not in self._many
            for code in np.unique(self._filled(X, j)).tolist()
            if code < len(texts)
        ]
        return np.array(pairs, dtype=np.intp).reshape(-1, 2)

    def _filled(self, X: Array, j: int) -> Indices:
        """Return the codes of a categorical feature without gaps, unknown ones as the last."""
        column = np.array(X[:, j])
        column[np.isnan(column)] = self.fills_[j]
        return _as_codes(column, len(self._texts[j]))

    def _codes(self, X: Array) -> Iterator[tuple[int, Indices]]:
        """Yield each feature of many categories with its codes."""
        for j in self._many:
            yield j, self._filled(X, j)

    def _targets(self, X: Array, y: Any) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Return targets as columns of numbers, and which rows have one."""
        if y is None:
            raise ValueError("expected a target y, since a feature has many categories, got None")
        labels = np.asarray(y)
        if labels.shape != (len(X),):
            raise ValueError(f"expected y of shape ({len(X)},), got {labels.shape}")
        known = ~where_equal(labels, self.unlabeled)
        if self.task == "regression":
            return labels.astype(np.float64)[:, None], known
        classes = np.unique(labels[known])
        counted = classes[1:] if len(classes) == 2 else classes
        return (labels[:, None] == counted).astype(np.float64), known

    def _singular_vectors(self, X: Array, start: int, stop: int) -> Array:
        """Return the right singular vectors of a text, the largest entry of each positive."""
        gram = sum(words.T @ words for words in (block[:, start:stop] for block in _blocks(X)))
        _, vectors = np.linalg.eigh(np.asarray(gram))
        kept: Array = vectors[:, ::-1][:, : min(self.n_components, stop - start)]
        largest = np.abs(kept).argmax(axis=0)
        return kept * np.sign(kept[largest, np.arange(kept.shape[1])])

    def _encoded(self, X: Array) -> Array:
        """Return rows in memory as numbers."""
        filled = np.where(np.isnan(X), self.fills_, X)
        ones = filled[:, self.one_hot_[:, 0]] == self.one_hot_[:, 1]
        means = [
            table[codes] for (_, codes), table in zip(self._codes(X), self.means_, strict=True)
        ]
        topics = [
            filled[:, slice(*span)] @ vectors
            for span, vectors in zip(self.texts, self.components_, strict=True)
        ]
        parts = [filled[:, self._numbers], ones, *means, *topics, np.isnan(X[:, self.gaps_])]
        encoded = np.empty((len(X), sum(part.shape[1] for part in parts)))
        return np.concatenate(parts, axis=1, out=encoded)  # rows in one piece, whatever the parts

    def _check_loaded(self) -> None:
        """Raise ValueError if a file holds arrays that do not fit each other."""
        self._check_parameters()
        shapes = [self.fills_.shape == (self.n_features_in_,)]
        shapes.append(self.one_hot_.ndim == 2 and self.one_hot_.shape[1] == 2)
        shapes.append(self.one_hot_.dtype.kind == "i" and self.fills_.dtype == np.float64)
        shapes.append(self.gaps_.ndim == 1 and self.gaps_.dtype.kind == "i")
        shapes.append(set(self.gaps_.ravel().tolist()) <= set(range(self.n_features_in_)))
        if not all(shapes):
            raise ValueError(
                "expected what fills each feature, features whose gaps are marked, and pairs of a "
                "feature and a category"
            )
        few = {j: len(texts) for j, texts in self._texts.items() if j not in self._many}
        if any(not 0 <= code < few.get(j, 0) for j, code in self.one_hot_.tolist()):
            raise ValueError("expected categories that the features have")
        rows = [len(self._texts[j]) + 1 for j in self._many]
        widths = [stop - start for start, stop in self.texts]
        for tables, lengths in ((self.means_, rows), (self.components_, widths)):
            if [len(table) for table in tables] != lengths or any(
                table.ndim != 2 or table.dtype != np.float64 for table in tables
            ):
                raise ValueError("expected one table of float64 for each feature of many values")


ColumnEncoder.__module__ = "pliant.tables"


def encoder_of(
    categories: Mapping[int, Sequence[str]], texts: Sequence[tuple[int, int]], **options: Any
) -> ColumnEncoder:
    """Return an encoder, not fitted, that knows the names of categories where these get a column.

    So a model file does not hold thousands of names twice.
    """
    most = options.get("most_one_hot", MOST_ONE_HOT)
    named = {j: tuple(each) if len(each) <= most else len(each) for j, each in categories.items()}
    return ColumnEncoder(named, tuple(texts), **options)


def _as_codes(values: Array, n_categories: int) -> Indices:
    """Return the numbers of categories, `n_categories` for what is none of them."""
    inside = (values >= 0) & (values < n_categories)
    return np.where(inside, values, n_categories).astype(np.intp)


def _means(codes: Indices, n_categories: int, targets: Array) -> Array:
    """Return the shrunk mean of targets for each category, and as last row the overall mean.

    With the variance s2 of all targets, and v that within a category of m rows, its mean has the
    weight m s2 / (m s2 + v) and the overall mean the rest: the posterior mean of a normal prior.

    Parameters
    ----------
    codes : array of shape (n,)
        `n_categories` stands for an unknown category.
    targets : array of shape (n, k)

    Returns
    -------
    array of shape (n_categories + 1, k)
    """
    overall, variance = targets.mean(axis=0), targets.var(axis=0)
    size = n_categories + 1
    counts = np.bincount(codes, minlength=size)[:, None]
    sums = np.column_stack([np.bincount(codes, t, size) for t in targets.T])
    means = np.divide(sums, counts, out=np.tile(overall, (size, 1)), where=counts > 0)
    errors = np.column_stack(
        [np.bincount(codes, t, size) for t in ((targets - means[codes]) ** 2).T]
    )
    within = np.divide(errors, counts, out=np.zeros_like(errors), where=counts > 0)
    scale = counts * variance + within
    weights = np.divide(counts * variance, scale, out=np.zeros_like(scale), where=scale > 0)
    shrunk: Array = weights * means + (1 - weights) * overall
    shrunk[n_categories] = overall
    return shrunk


def _differ(targets: Array, mask: npt.NDArray[np.bool_]) -> bool:
    """Return whether the means of some target differ between two groups, by Welch's t."""
    if min(mask.sum(), (~mask).sum()) < 2:
        return False
    first, second = targets[mask], targets[~mask]
    errors = first.var(axis=0, ddof=1) / len(first) + second.var(axis=0, ddof=1) / len(second)
    return bool(
        (np.abs(first.mean(axis=0) - second.mean(axis=0)) > LEAST_T * np.sqrt(errors)).any()
    )


def _blocks(X: Array) -> Iterator[Array]:
    """Yield the rows of an array in blocks that fit into memory."""
    step = max(1, BLOCK_NUMBERS // X.shape[1])
    for start in range(0, len(X), step):
        yield np.asarray(X[start : start + step])
