"""Encode data frames as numeric features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import in_blocks
from pliant.core.estimators import BaseEstimator, TransformerMixin, check_is_fitted
from pliant.core.exceptions import TableError, set_public_module
from pliant.core.form import Object, SavedForm
from pliant.core.parameters import (
    Constraint,
    check_choice,
    check_flag,
    check_integer,
    check_parameters,
    integer,
    one_of,
    optional,
)
from pliant.core.state import updates
from pliant.core.text import one_line
from pliant.core.typing import Array
from pliant.core.validation import (
    check_collected,
    prediction_rows,
    sparse_options,
    stack_level,
)
from pliant.records import Imputation, MeanTargets, OneHot, Projection
from pliant.records.convert import imputation, mean_targets, one_hot, projection
from pliant.tables.reading.columns import DateOrder, Missing
from pliant.tables.reading.names import in_quotes, require
from pliant.tables.reading.schema import TableSchema, Task, guess_task

if TYPE_CHECKING:
    import pandas as pd


TEXT_ROWS = 100_000
"""Maximum number of rows, equally spaced, from which the singular vectors of texts are computed.
They need memory for two copies of the hashed words of these rows."""


def _check_names(name: str, value: Any) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"expected {name} to be a list of column names, got {one_line(value)}")


def _check_schema(name: str, value: Any) -> None:
    if not isinstance(value, TableSchema):
        raise TypeError(f"expected {name} to be a TableSchema, got {one_line(value)}")


@dataclass(eq=False, repr=False, kw_only=True)
class TableFeatures(TransformerMixin, BaseEstimator):
    """Encode a data frame with numbers, categories, dates, text and gaps as numeric features.

    ``fit`` infers the kind of each column and learns its encoding, as the commands ``pliant fit``
    and ``pliant compare`` do:

    - Missing numbers become the median, with an indicator feature. Booleans become 0 and 1.
    - Dates become days, year, month, day of the year, weekday and hour, as far as these vary.
    - Texts with few distinct values become one-hot features. With many, a category becomes its mean
      target, shrunk towards the overall mean [1]_ and, for training rows, computed from other rows.
      Missing values are a category of their own. If ``fit`` has seen none in the column, they are
      encoded as an unknown category: zeros, or the overall mean.
    - Free text becomes hashed words and parts of words, projected on the first singular vectors of
      at most 100 000 rows.

    Texts that hold numbers, such as ``12.3 kg``, are numbers. Ids, constant columns and empty
    columns are left out; a warning quotes an id that looks like a number. The columns of an array
    of numbers are all kept. In a pipeline, each fold of a cross-validation learns its own features.

    Parameters
    ----------
    drop, keep, categorical : sequence of str, default=()
        Columns to leave out, to keep even if they look like ids or are constant, and to treat as
        categories.
    date_order : {"ymd", "dmy", "mdy"}, optional
        The order of day and month in dates written as text; by default inferred. With "ymd",
        integers such as 20240131 are dates.
    missing : {"impute", "error"}, default="impute"
        Encode missing values as above, or raise an error.
    task : {"classification", "regression"}, optional
        With many categories, the mean targets are means of y, or shares of the classes. The default
        is classification for text, booleans and a few recurring integers.
    encode : bool, default=True
        False leaves missing values as NaN, categories as codes and text as hashed counts, for
        estimators that handle these.
    most_one_hot : int, default=30
        Maximum number of categories, >= 0, for one-hot features; more require y.
    n_components : int, default=32
        Maximum number of features, >= 1, per column of free text.
    random_state : int, default=0
        Seed of the folds for mean targets, and of the singular vectors.
    schema : TableSchema, optional
        The kinds of the columns; by default inferred by ``fit``.

    Attributes
    ----------
    schema_ : TableSchema
        The columns with their kinds; ``schema_.remarks()`` lists those left out.
    encoder_ : ColumnEncoder
        The learned encoding; absent if `encode` is False.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : array of str of shape (n_features_in_,)
        Their names, if ``fit`` has seen a data frame.

    References
    ----------
    .. [1] D. Micci-Barreca, "A preprocessing scheme for high-cardinality categorical attributes in
       classification and prediction problems", SIGKDD Explorations 3(1), 2001.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from pliant import LABRBFRegressor, TableFeatures
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0] * 9, "colour": ["red", "blue", None] * 9})
    >>> y = [1.0, 2.0, 3.0] * 9
    >>> TableFeatures().fit(frame).get_feature_names_out().tolist()
    ['size', 'size (missing)', 'colour=blue', 'colour=red', 'colour (missing)']
    >>> make_pipeline(TableFeatures(), LABRBFRegressor()).fit(frame, y).predict(frame[:2]).shape
    (2,)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "drop": _check_names,
        "keep": _check_names,
        "categorical": _check_names,
        "date_order": optional(one_of(get_args(DateOrder))),
        "missing": one_of(get_args(Missing)),
        "task": optional(one_of(get_args(Task))),
        "encode": check_flag,
        "most_one_hot": integer(least=0),
        "n_components": integer(least=1),
        "schema": optional(_check_schema),
    }

    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    categorical: Sequence[str] = ()
    date_order: DateOrder | None = None
    missing: Missing = "impute"
    task: Task | None = None
    encode: bool = True
    most_one_hot: int = 30
    n_components: int = 32
    random_state: int = 0
    schema: TableSchema | None = None

    _form: ClassVar[SavedForm] = {
        "feature_names_in_": Object(np.ndarray, optional=True),
        "schema_": Object(TableSchema),
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Infer the kinds of the columns, and learn their encoding.

        Parameters
        ----------
        X : data frame of shape (n_samples, n_columns)
            A pandas data frame, any other with ``to_pandas``, such as one of polars, or an array.
        y : array-like of shape (n_samples,), optional
            Target; required for columns with many categories.

        Raises
        ------
        TableError
            If columns hold unusable values; one message names all of them.
        """
        self.fit_transform(X, y)
        return self

    @updates
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the features of `transform`, but with mean targets from other rows.

        The next step of a pipeline then does not learn from a row's own target.
        """
        check_parameters(self)
        check_collected("y", y)
        frame = self._frame(X, reset=True)
        named = hasattr(self, "feature_names_in_")
        self.schema_ = self.schema or TableSchema.fit(
            frame,
            missing=self.missing,
            drop=self.drop,
            keep=self.keep if named else list(frame.columns),
            categorical=self.categorical,
            date_order=self.date_order,
        )
        for warning in self.schema_.warnings():
            warnings.warn(warning, UserWarning, stacklevel=stack_level())
        features = self.schema_.features(frame)
        if not self.encode:
            return features
        shared = ("most_one_hot", "n_components", "random_state")
        options = {name: getattr(self, name) for name in shared}
        options["task"] = self.task or guess_task(y)
        self.encoder_ = make_encoder(self.schema_.categories, self.schema_.texts, **options)
        return self.encoder_.fit_transform(features, y)

    def transform(self, X: Any) -> Array:
        """Return the features, shape (n_samples, n_features_out).

        Columns of a data frame are found by name, in any order; others are ignored.

        Raises
        ------
        TableError
            If X lacks a column, or a cell does not fit the kind of its column.

        Warns
        -----
        UnknownCategoryWarning
            If a column has a value that ``fit`` has not seen.
        """
        check_is_fitted(self, "schema_")
        features = self.schema_.features(self._frame(X, reset=False))
        return self.encoder_.transform(features) if self.encode else features

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return names such as ``colour=red`` and ``day (weekday)``, shape (n_features_out,)."""
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self, "schema_")
        _check_feature_names_in(self, input_features)
        names = np.array(self.schema_.feature_names, dtype=object)
        return self.encoder_.get_feature_names_out(names) if self.encode else names

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """Return X as a data frame; in ``fit``, store its width and its names."""
        check_collected("X", X)
        frame = as_frame(X)
        if frame is not None and (reset or hasattr(self, "feature_names_in_")):
            if reset:
                self.n_features_in_ = frame.shape[1]
                self.feature_names_in_ = np.array(frame.columns, dtype=object)
            return frame
        if not reset and hasattr(self, "feature_names_in_"):
            columns, got = in_quotes(self.feature_names_in_), type(X).__name__
            raise TableError(f"expected a data frame with the columns {columns}, got {got}")
        from sklearn.utils.validation import validate_data

        options = {"dtype": None, "ensure_all_finite": "allow-nan", "reset": reset}
        options |= sparse_options(self, X)
        cells = validate_data(self, X, ensure_min_samples=1 + reset, **options)
        names = [f"x{j}" for j in range(cells.shape[1])]
        return require("pandas").DataFrame(cells, columns=names)

    def __sklearn_tags__(self) -> Any:
        """Return the tags, which allow categories, text and missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _check_loaded(self) -> None:
        names = self.schema_.feature_names
        if self.encode and self.encoder_.n_features_in_ != len(names):
            raise ValueError(f"expected an encoder of {len(names)} features")


@dataclass(eq=False, repr=False)
class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Impute missing values and encode categories and text; see `TableFeatures`.

    Parameters
    ----------
    categories : mapping of int to sequence of str or int, default=None
        The categories of each categorical feature, or their number, by column. The column holds
        codes from 0; any other number is an unknown category.
    texts : sequence of (int, int), default=()
        The (start, stop) column range of each text feature.
    task, most_one_hot, n_components, random_state
        As in `TableFeatures`.

    Attributes
    ----------
    parts_ : list of (str, function, list of int)
        The name, the learned transform (see `pliant.records`) and the input columns of each part.
    target_classes_ : list
        With several classes, those whose shares are the mean targets, in order; else empty.
    """

    categories: Mapping[int, Sequence[str] | int] | None = None
    texts: Sequence[tuple[int, int]] = ()
    _: KW_ONLY
    task: Task = "regression"
    most_one_hot: int = 30
    n_components: int = 32
    random_state: int = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the medians and the encodings; many categories require the target y."""
        self.fit_transform(X, y)
        return self

    @updates
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, and return the encoded rows, with mean targets from the other folds."""
        from sklearn.utils.validation import validate_data

        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if y is None and self._high_cardinality:
            raise ValueError(
                f"expected a target y for features with more than {self.most_one_hot} categories, "
                "got None: give y, or raise most_one_hot"
            )
        encoded = list[Array]([np.empty((len(X), 0))])
        learned, classes = list[tuple[str, Any, list[int]]](), list[Any]()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            for role, columns in self._parts():
                part = self._transformer(role, len(columns))
                if role.startswith("text") and len(X) > TEXT_ROWS:
                    part.fit(X[:: -(-len(X) // TEXT_ROWS), columns])
                    encoded.append(_transform(X, [projection(part)], [columns]))
                else:
                    encoded.append(part.fit_transform(X[:, columns], y))
                learned.append((role, _learned(role, part), columns))
                if role == "means" and part.target_type_ == "multiclass":
                    classes = part.classes_.tolist()
        self.parts_, self.target_classes_ = learned, classes
        return np.concatenate(encoded, axis=1)

    def transform(self, X: Any) -> Array:
        """Return numbers, one-hot categories, mean targets and text projections, in this order."""
        check_is_fitted(self, "parts_")
        X = prediction_rows(self, X, dtype=np.float64, allow_nan=True)
        _, parts, columns = zip(*self.parts_, strict=True) if self.parts_ else ((), (), ())
        return _transform(X, parts, columns)

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
                result += [f"{names[columns[k]]} (missing)" for k in part.indicators]
            elif role == "one-hot":
                for k, j in enumerate(columns):
                    codes = part.levels.of(k).tolist()
                    words = {code: f"={text}" for code, text in enumerate(self._texts[j])}
                    others = [" (missing)" if np.isnan(code) else "=(unknown)" for code in codes]
                    pairs = zip(codes, others, strict=True)
                    result += [names[j] + words.get(code, other) for code, other in pairs]
            elif role == "means":
                classes = [f" {each}" for each in self.target_classes_] or [""]
                result += [f"{names[j]} (mean target{c})" for j in columns for c in classes]
            else:
                topic = names[columns[0]].partition(" (hash ")[0]
                result += [f"{topic} (text {k})" for k in range(len(part.components))]
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

    def _parts(self) -> list[tuple[str, list[int]]]:
        """Return the name and the columns of each transformer."""
        check_choice("task", self.task, ("classification", "regression"))
        check_integer("most_one_hot", self.most_one_hot, least=0)
        check_integer("n_components", self.n_components, least=1)
        width = self.n_features_in_
        if wrong := [j for j in self._texts if j not in range(width)]:
            raise ValueError(f"expected categories for columns < {width}, got {wrong[0]!r}")
        if spans := [span for span in self.texts if not 0 <= span[0] < span[1] <= width]:
            raise ValueError(f"expected texts in columns up to {width}, got {spans[0]}")
        words = {j for start, stop in self.texts for j in range(start, stop)}
        many = self._high_cardinality
        numbers = [j for j in range(width) if j not in words and j not in self._texts]
        few = sorted(self._texts.keys() - {*many})
        parts = [("numbers", numbers), ("one-hot", few), ("means", many)]
        parts += [(f"text {k}", list(range(*span))) for k, span in enumerate(self.texts)]
        return [part for part in parts if part[1]]

    def _transformer(self, role: str, width: int) -> Any:
        """Return the unfitted transformer of a part with `width` columns."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import OneHotEncoder, TargetEncoder

        if role == "numbers":
            return SimpleImputer(strategy="median", keep_empty_features=True, add_indicator=True)
        if role == "one-hot":
            return OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        if role == "means":
            kind = "continuous" if self.task == "regression" else "auto"
            return TargetEncoder(target_type=kind, **self._folds())
        return TruncatedSVD(min(self.n_components, width), random_state=self.random_state)

    def _folds(self) -> dict[str, Any]:
        """Return the fold options for `TargetEncoder`, which depend on scikit-learn's version."""
        import sklearn
        from sklearn.model_selection import KFold, StratifiedKFold

        if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
            return {"random_state": self.random_state}
        kind = KFold if self.task == "regression" else StratifiedKFold
        return {"cv": kind(5, shuffle=True, random_state=self.random_state)}

    def _check_loaded(self) -> None:
        """Raise ValueError if the transformers loaded from a file do not match the parameters."""
        if self._parts() != [(name, [*columns]) for name, _, columns in self.parts_]:
            raise ValueError("expected transforms that match the parameters")
        for name, part, columns in self.parts_:
            if type(part) is not KINDS.get(name, Projection) or part.n_features != len(columns):
                raise ValueError(f"expected a transform of {len(columns)} features for {name}")
        row = np.full((1, self.n_features_in_), np.nan)
        for start, stop in self.texts:
            row[:, start:stop] = 0.0
        try:
            names, width = self.get_feature_names_out(), self.transform(row).shape[1]
        except Exception as error:
            raise ValueError(f"the transforms do not match the features: {error}") from None
        if len(names) != width:
            raise ValueError(f"expected names of {width} features, got {len(names)}")


KINDS: dict[str, Any] = {"numbers": Imputation, "one-hot": OneHot, "means": MeanTargets}
"""The transforms by the name of the part; all other parts are projections of texts."""


def _learned(role: str, part: Any) -> Any:
    """Convert a fitted transformer of scikit-learn to its record."""
    convert = {"numbers": imputation, "one-hot": one_hot, "means": mean_targets}
    return convert.get(role, projection)(part)


set_public_module({**globals(), "__name__": "pliant.tables"}, ["ColumnEncoder"])
set_public_module({**globals(), "__name__": "pliant"}, ["TableFeatures"])


def _transform(X: Array, parts: Sequence[Any], columns: Sequence[list[int]]) -> Array:
    """Return the outputs of transforms side by side, computed in blocks of rows."""

    def outputs(rows: Array) -> Array:
        pairs = zip(parts, columns, strict=True)
        encoded = [part(rows[:, some]) for part, some in pairs]
        return np.concatenate([np.empty((len(rows), 0)), *encoded], axis=1)

    return np.asarray(in_blocks(X, X.shape[1], outputs))


def as_frame(X: Any) -> pd.DataFrame | None:
    """Convert a data frame to pandas, with string names and a new index; else return None."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not (hasattr(X, "columns") and hasattr(X, "iloc")):
        return None
    frame: pd.DataFrame = X.reset_index(drop=True)
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def make_encoder(
    categories: Mapping[int, Sequence[str]], texts: Sequence[tuple[int, int]], **options: Any
) -> ColumnEncoder:
    """Return an unfitted encoder that stores category names only for one-hot encoded features."""
    encoder = ColumnEncoder(categories, tuple(texts), **options)
    most = encoder.most_one_hot
    named = {j: tuple(each) if len(each) <= most else len(each) for j, each in categories.items()}
    return encoder.set_params(categories=named)
