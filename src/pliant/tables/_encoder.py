"""Impute missing values and encode categories and text, as the first step of a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.decomposition import TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.core.estimators import BaseEstimator, TransformerMixin
from pliant.core.typing import Array
from pliant.core.validation import check_choice, check_integer


class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Impute missing values and encode categories and text.

    Missing numbers are replaced by the median, with an indicator column. Features with few
    categories are one-hot encoded, with missing values replaced by the most frequent category.
    With many categories, each is encoded by its mean target, shrunk towards the overall mean [1]_
    and cross-fitted in five folds on training rows. Hashed words are projected onto the first
    singular vectors. scikit-learn's transformers learn all parameters from the rows passed to
    ``fit``, so each fold of a cross-validated pipeline learns its own.

    Parameters
    ----------
    categories : mapping of int to sequence of str or int, default=None
        The categories of each categorical feature, or their number, by column. The column holds
        codes from 0; any other number is an unknown category.
    texts : sequence of (int, int), default=()
        The (start, stop) column range of each text feature.
    task : {"classification", "regression"}, default="regression"
        For regression, a category is encoded by the mean target of its rows; for classification,
        by the share of each class (of one class if there are only two).
    most_one_hot : int, default=30
        Maximum number of categories, >= 0, for one-hot encoding.
    n_components : int, default=32
        Maximum number of output columns, >= 1, per text feature.
    random_state : int, default=0
        Seed of the folds for features with many categories.

    Attributes
    ----------
    n_features_in_ : int
    parts_ : list of (str, transformer, list of int)
        The name, fitted scikit-learn transformer and input columns of each part.

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
    array([[1., 0., 1., 0.],
           [2., 1., 0., 1.],
           [3., 0., 1., 0.]])
    """

    def __init__(
        self,
        categories: Mapping[int, Sequence[str] | int] | None = None,
        texts: Sequence[tuple[int, int]] = (),
        *,
        task: Literal["classification", "regression"] = "regression",
        most_one_hot: int = 30,
        n_components: int = 32,
        random_state: int = 0,
    ) -> None:
        self.categories = categories
        self.texts = texts
        self.task = task
        self.most_one_hot = most_one_hot
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the imputed values and the encodings.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Features; missing values are NaN.
        y : array of shape (n_samples,), optional
            Target; required if a feature has many categories.

        Raises
        ------
        ValueError
            If a parameter or a shape is invalid.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the rows encoded as in `transform`, except for the mean targets.

        The mean targets of a row come from the other folds, so that the next step of a pipeline
        does not learn from the row's own target.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if y is None and self._high_cardinality:
            raise ValueError("expected a target y for features with many categories, got None")
        parts, encoded = self._parts(), [np.empty((len(X), 0))]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            for _, part, columns in parts:
                encoded.append(part.fit_transform(X[:, columns], y))
        self.parts_ = parts
        return np.concatenate(encoded, axis=1)

    def transform(self, X: Any) -> Array:
        """Return the encoded rows, shape (n_samples, n_features_out).

        The columns are numeric features, one-hot categories, mean targets and text projections.
        """
        check_is_fitted(self, "parts_")
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        parts = [part.transform(X[:, columns]) for _, part, columns in self.parts_]
        return np.concatenate([np.empty((len(X), 0)), *parts], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the output column names, such as ``colour=red``, shape (n_features_out,)."""
        check_is_fitted(self, "parts_")
        width, result = self.n_features_in_, list[str]()
        given = [f"x{j}" for j in range(width)] if input_features is None else input_features
        names = [str(name) for name in given]
        if len(names) != width:
            raise ValueError(f"expected {width} names, got {len(names)}")
        for role, part, columns in self.parts_:
            if role == "numbers":
                result += [names[j] for j in columns]
                result += [f"{names[columns[k]]} (missing)" for k in part.indicator_.features_]
            elif role == "one-hot":
                for j, codes in zip(columns, part[-1].categories_, strict=True):
                    words = dict(enumerate(self._texts[j]))
                    result += [f"{names[j]}={words.get(code, '(unknown)')}" for code in codes]
            elif role == "means":
                multiclass = part.target_type_ == "multiclass"
                classes = [f" {each}" for each in part.classes_] if multiclass else [""]
                result += [f"{names[j]} (mean target{c})" for j in columns for c in classes]
            else:
                topic = names[columns[0]].partition(" (hash ")[0]
                result += [f"{topic} (text {k})" for k in range(len(part.components_))]
        return np.array(result, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Return the tags, which allow missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = bool(self._high_cardinality)
        return tags

    @property
    def _texts(self) -> dict[int, Sequence[object]]:
        """Categories by column, or a range if only their number is known."""
        pairs = dict(self.categories or {}).items()
        return {j: range(each) if isinstance(each, int) else each for j, each in pairs}

    @property
    def _high_cardinality(self) -> list[int]:
        """Features with more than `most_one_hot` categories."""
        return sorted(j for j, texts in self._texts.items() if len(texts) > self.most_one_hot)

    def _parts(self) -> list[tuple[str, Any, list[int]]]:
        """Return the unfitted transformers."""
        check_choice("task", self.task, ("classification", "regression"))
        check_integer("most_one_hot", self.most_one_hot, least=0)
        check_integer("n_components", self.n_components, least=1)
        width = self.n_features_in_
        if wrong := [j for j in self._texts if j not in range(width)]:
            raise ValueError(f"expected categories for columns < {width}, got {wrong[0]!r}")
        if spans := [span for span in self.texts if not 0 <= span[0] < span[1] <= width]:
            raise ValueError(f"expected texts in columns up to {width}, got {spans[0]}")
        words = {j for start, stop in self.texts for j in range(start, stop)}
        many, seed = self._high_cardinality, self.random_state
        numbers = [j for j in range(width) if j not in words and j not in self._texts]
        few = sorted(self._texts.keys() - {*many})
        median = SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=True)
        frequent = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
        one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        kind = "continuous" if self.task == "regression" else "auto"
        parts: list[tuple[str, Any, list[int]]] = [
            ("numbers", median, numbers),
            ("one-hot", make_pipeline(frequent, one_hot), few),
            ("means", TargetEncoder(target_type=kind, **self._folds()), many),
        ]
        for k, (start, stop) in enumerate(self.texts):
            vectors = TruncatedSVD(min(self.n_components, stop - start), random_state=seed)
            parts.append((f"text {k}", vectors, list(range(start, stop))))
        return [part for part in parts if part[2]]

    def _folds(self) -> dict[str, Any]:
        """Return the fold options for `TargetEncoder`, which depend on scikit-learn's version."""
        if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
            return {"random_state": self.random_state}
        kind = KFold if self.task == "regression" else StratifiedKFold
        return {"cv": kind(5, shuffle=True, random_state=self.random_state)}

    def _check_loaded(self) -> None:
        """Raise ValueError if the transformers loaded from a file do not match the parameters."""
        expected = [(name, type(part), columns) for name, part, columns in self._parts()]
        if expected != [(name, type(part), [*columns]) for name, part, columns in self.parts_]:
            raise ValueError("expected transformers that match the parameters")
        row = np.full((1, self.n_features_in_), np.nan)
        for start, stop in self.texts:
            row[:, start:stop] = 0.0
        try:
            self.transform(row)
            for name, part, _ in self.parts_:
                if name == "means":
                    times = len(part.classes_) if part.target_type_ == "multiclass" else 1
                    lengths = [len(each) for each in part.categories_ for _ in range(times)]
                    if lengths != [len(each) for each in part.encodings_]:
                        raise ValueError("expected a mean for each category")
        except Exception as error:
            raise ValueError(f"the transformers do not match the features: {error}") from None


ColumnEncoder.__module__ = "pliant.tables"


def make_encoder(
    categories: Mapping[int, Sequence[str]], texts: Sequence[tuple[int, int]], **options: Any
) -> ColumnEncoder:
    """Return an unfitted encoder that stores category names only for one-hot encoded features."""
    encoder = ColumnEncoder(categories, tuple(texts), **options)
    most = encoder.most_one_hot
    named = {j: tuple(each) if len(each) <= most else len(each) for j, each in categories.items()}
    return encoder.set_params(categories=named)
