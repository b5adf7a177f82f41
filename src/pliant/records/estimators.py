"""Fitted parts of other libraries as estimators that predict and are not fitted again.

`pliant.save` converts every foreign part of a model to one of these classes: an estimator of
scikit-learn's interface around a function of arrays. They have the attributes and the predictions
of the original, whose class and parameters they name.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.estimators import BaseEstimator, ClassifierMixin, RegressorMixin, available_if
from pliant.core.form import FEATURES, Labels, Object, SavedForm, Size
from pliant.core.parameters import one_of
from pliant.core.typing import Array, Mask
from pliant.core.validation import prediction_rows
from pliant.records.functions import (
    ClassShares,
    Constant,
    KernelExpansion,
    LinearFunction,
    PairExpansion,
)
from pliant.records.transforms import Affine, Imputation, MeanTargets, OneHot, Projection
from pliant.records.trees import TreeEnsemble

FUNCTIONS = (TreeEnsemble, LinearFunction, KernelExpansion, PairExpansion, ClassShares, Constant)
TRANSFORMS = (Affine, Imputation, OneHot, MeanTargets, Projection)


PLAIN = (str, int, float, bool, type(None))
"""Types of the settings of an original."""


def _check_origin(name: str, value: Any) -> None:
    """Raise ValueError unless a value is a short text."""
    if type(value) is not str or len(value) > 200:
        raise ValueError(f"expected {name} to be a name, got {value!r:.80}")


def _check_settings(name: str, value: Any) -> None:
    """Raise ValueError unless a value is a dict of plain values by name."""
    items = value.items() if type(value) is dict else [(None, None)]
    if not all(type(key) is str and type(each) in PLAIN for key, each in items):
        raise ValueError(f"expected {name} to be a dict of plain values")


class Record(BaseEstimator):
    """Base class of fitted estimators that were converted to arrays.

    Attributes
    ----------
    origin : str
        The class of the original estimator.
    settings : dict
        Its parameters of plain types.
    """

    _form: ClassVar[SavedForm] = {
        "origin": _check_origin,
        "settings": _check_settings,
        "n_features_in_": FEATURES,
    }

    origin: str
    settings: dict[str, Any]
    _estimator_type: ClassVar[str | None] = None

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is made by pliant.save only")

    @classmethod
    def of(cls, original: Any, **parts: Any) -> Any:
        """Return the record of a fitted estimator, with the given attributes."""
        record = object.__new__(cls)
        record.origin = type(original).__name__
        record.settings = plain_settings(original)
        names = getattr(original, "feature_names_in_", None)
        known = {"n_features_in_": getattr(original, "n_features_in_", None)}
        known["feature_names_in_"] = names
        vars(record).update({name: part for name, part in known.items() if part is not None})
        vars(record).update(parts)
        return record

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return no names, as a record has no parameters of its own."""
        return []

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the original estimator."""
        return dict(self.settings)

    def set_params(self, **params: Any) -> Any:
        """Raise TypeError, as the parameters have had their effect."""
        if params:
            raise TypeError(self._refusal)
        return self

    def fit(self, *_: Any, **__: Any) -> Any:
        """Raise TypeError: the file does not contain the estimator that could be fitted."""
        raise TypeError(self._refusal)

    def __sklearn_clone__(self) -> Any:
        raise TypeError(self._refusal)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """Return the tags, with missing values if the record has a function that takes them."""
        tags = super().__sklearn_tags__()
        function = getattr(self, "function", None)
        tags.input_tags.allow_nan = function is not None and function.takes_missing
        return tags

    @property
    def _refusal(self) -> str:
        return (
            f"this {self.origin} was loaded from a file: it predicts, but cannot be fitted again; "
            "save the original with joblib to fit it again"
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the name of the original, such as ``<saved SVC>``."""
        return f"<saved {self.origin}>"[:N_CHAR_MAX]


def plain_settings(original: Any) -> dict[str, Any]:
    """Return the parameters of an estimator whose values are plain."""
    parameters = original.get_params(deep=False) if hasattr(original, "get_params") else {}
    return {name: value for name, value in parameters.items() if type(value) in PLAIN}


def _rows(record: Any, X: Any, *, takes_missing: bool) -> Array:
    """Return checked float64 rows."""
    return prediction_rows(record, X, dtype=np.float64, allow_nan=takes_missing, least=0)


def _check_outputs(record: Any, n_outputs: int | None = None) -> None:
    """Raise ValueError unless the function of a record has finite outputs of its width."""
    function: Any = record.function
    values = function(getattr(function, "known_row", np.zeros((1, function.n_features))))
    expected = values.shape[1] if n_outputs is None else n_outputs
    if values.shape != (1, expected) or not np.isfinite(values).all():
        raise ValueError(f"expected {expected} finite outputs, got {values!r:.80}")


def _finite(values: Array) -> Array:
    """Return outputs; raise ValueError unless they are finite."""
    if not np.isfinite(values).all():
        raise ValueError("expected finite outputs, got inf or NaN: the features are too large")
    return values


class SavedRegressor(RegressorMixin, Record):
    """A fitted regressor as a function of arrays: predictions are link(f(x)).

    Attributes
    ----------
    function : TreeEnsemble, LinearFunction, KernelExpansion or Constant
    link : {"identity", "exp"}
    single : bool
        True if predictions have shape (n_samples,).
    """

    LINKS: ClassVar[tuple[str, ...]] = ("identity", "exp")

    _form: ClassVar[SavedForm] = {
        "function": Object(FUNCTIONS, sizes={"n_features": "features"}),
        "link": one_of(LINKS),
        "single": Object(bool),
    }

    function: Any
    link: str
    single: bool

    def predict(self, X: Any) -> Array:
        """Return the predictions, shape (n_samples,) or (n_samples, n_outputs)."""
        values = self.function(_rows(self, X, takes_missing=self.function.takes_missing))
        if self.link == "exp":
            with np.errstate(over="ignore"):
                values = np.exp(values)
        return _finite(values[:, 0] if self.single else values)

    def _check_loaded(self) -> None:
        _check_outputs(self, 1 if self.single else None)


def _has_probabilities(record: Any) -> bool:
    return record.head in ("logistic", "odds", "softmax", "shares", "ratios")


def _has_decisions(record: Any) -> bool:
    return record.head != "shares"


class SavedClassifier(ClassifierMixin, Record):
    """A fitted classifier as a function of arrays, and a head that turns its values into classes.

    Attributes
    ----------
    function : TreeEnsemble, LinearFunction, KernelExpansion, PairExpansion, ClassShares, Constant
    head : str
        "scores": the largest value, or the sign of one value for two classes. "logistic": also
        probabilities 1 / (1 + exp(-f)). "odds": as "logistic", but f = 0 elects the second class.
        "softmax": exp(f_k) / sum_l exp(f_l). "ratios": logistic functions of all classes, divided
        by their sum. "shares": the values are probabilities. "votes": each pair of classes has a
        vote; decision values are votes plus confidences. "pairs": as "votes", but decision values
        are those of the pairs.
    classes_ : array of shape (n_classes,)
    """

    _form: ClassVar[SavedForm] = {
        "function": Object(FUNCTIONS, sizes={"n_features": "features"}),
        "head": one_of(
            ("scores", "logistic", "odds", "softmax", "ratios", "shares", "votes", "pairs")
        ),
        "classes_": Labels("classes"),
    }

    function: Any
    head: str
    classes_: npt.NDArray[Any]

    def _values(self, X: Any) -> Array:
        """Return the values of the function."""
        rows = _rows(self, X, takes_missing=self.function.takes_missing)
        return _finite(self.function(rows))

    @available_if(_has_decisions)
    def decision_function(self, X: Any) -> Array:
        """Return the decision values, shape (n_samples,) or (n_samples, n_classes)."""
        return self._decisions(self._values(X))

    def _decisions(self, values: Array) -> Array:
        if values.shape[1] == 1:
            return values[:, 0]
        return votes(values, len(self.classes_)) if self.head == "votes" else values

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities, shape (n_samples, n_classes)."""
        return self._probabilities(self._values(X))

    def _probabilities(self, values: Array) -> Array:
        from scipy.special import expit

        if self.head == "shares":
            return values
        if self.head == "softmax":
            return softmax(values)
        p = np.asarray(expit(values))
        if self.head in ("logistic", "odds"):
            return np.hstack([1 - p, p])
        totals = p.sum(axis=1, keepdims=True)
        equal = np.full_like(p, 1 / p.shape[1])
        return np.divide(p, totals, out=equal, where=totals > 0)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted classes, shape (n_samples,)."""
        k = len(self.classes_)
        if isinstance(self.function, ClassShares) and k == 2:
            # the sign is exact, while the probability at 0 is .499999995: see `COEFS`
            means = self.function.functions[0].mean(_rows(self, X, takes_missing=False))
            return np.asarray(self.classes_[(means[:, 0] > 0).astype(np.intp)])
        values = self._values(X)
        if self.head in ("votes", "pairs") and k > 2:
            places = won(values, k).argmax(axis=1)
        elif self.head in ("votes", "pairs", "odds"):  # libsvm's values have the other sign
            places = (values[:, 0] >= 0).astype(np.intp)
        elif self.head in ("shares", "softmax") or values.shape[1] > 1:
            places = values.argmax(axis=1)
        else:
            places = (values[:, 0] > 0).astype(np.intp)
        return np.asarray(self.classes_[places])

    def _check_loaded(self) -> None:
        k = len(self.classes_)
        widths = {"logistic": 1, "odds": 1, "scores": 1 if k == 2 else k}
        pairs = dict.fromkeys(("votes", "pairs"), k * (k - 1) // 2)
        if self.head in ("logistic", "odds") and k != 2:
            raise ValueError(f"expected two classes for a logistic function, got {k}")
        _check_outputs(self, {**widths, **pairs}.get(self.head, k))
        if self.head == "shares":
            check_shares(self.function)


def check_shares(function: Any) -> None:
    """Raise ValueError unless the values of a function are probabilities of sum 1."""
    if isinstance(function, ClassShares):
        return  # divided by their sum
    if isinstance(function, Constant):
        shares = function.value[None]
    elif isinstance(function, TreeEnsemble):
        shares = function.leaves
        mean = function.divisor == len(function.roots) and not function.start.any()
        if not mean or shares.shape[1] != len(function.start):
            raise ValueError("expected the mean of trees with probabilities")
    else:
        raise ValueError("expected trees, a constant or Gaussian processes for probabilities")
    if (shares < 0).any() or (np.abs(shares.sum(axis=1) - 1) > 1e-6).any():
        raise ValueError("expected probabilities >= 0 with sum 1")


def softmax(values: Array) -> Array:
    """Return exp(f_k) / sum_l exp(f_l), in the operations of scikit-learn."""
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def won(values: Array, k: int) -> Array:
    """Return the number of pairs that each of k classes wins; f_ab > 0 elects a < b."""
    return _elected(values > 0, k)


def _elected(first: Mask, k: int) -> Array:
    """Return the number of pairs that each of k classes wins, given where the first class wins."""
    low, high = np.triu_indices(k, 1)
    result = np.zeros((len(first), k))
    for pair, (a, b) in enumerate(zip(low, high, strict=True)):
        result[:, a] += first[:, pair]
        result[:, b] += ~first[:, pair]
    return result


def votes(values: Array, k: int) -> Array:
    """Return the votes plus confidences in (-1/3, 1/3), as scikit-learn's "ovr" decisions."""
    low, high = np.triu_indices(k, 1)
    sums = np.zeros((len(values), k))
    for pair, (a, b) in enumerate(zip(low, high, strict=True)):
        sums[:, a] += values[:, pair]
        sums[:, b] -= values[:, pair]
    elected = _elected(values >= 0, k)  # 0 counts for the first class here, unlike in `won`
    return np.asarray(elected + sums / (3 * (np.abs(sums) + 1)))


class SavedTransformer(Record):
    """A fitted transformer as a function of arrays.

    Attributes
    ----------
    function : Affine, Imputation, OneHot, MeanTargets or Projection
    """

    _form: ClassVar[SavedForm] = {"function": Object(TRANSFORMS, sizes={"n_features": "features"})}

    function: Any

    def transform(self, X: Any) -> Array:
        """Return the transformed rows."""
        Z = np.asarray(self.function(_rows(self, X, takes_missing=self.function.takes_missing)))
        if np.isinf(Z).any():
            raise ValueError("expected finite outputs, got inf: the features are too large")
        return Z

    @available_if(lambda self: isinstance(self.function, Affine))
    def inverse_transform(self, X: Any) -> Array:
        """Return the rows before scaling."""
        return np.asarray(self.function.inverse(np.asarray(X, dtype=np.float64)))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the outputs."""
        from sklearn.utils.validation import _check_feature_names_in

        names = [str(name) for name in _check_feature_names_in(self, input_features)]
        return np.array(self.function.names(names), dtype=object)

    def _check_loaded(self) -> None:
        _check_outputs(self)


class SavedTarget(RegressorMixin, Record):
    """A regressor on a scaled target: predictions are scaled back.

    Attributes
    ----------
    regressor_ : estimator
    transformer_ : SavedTransformer
        The scaling of the target.
    single : bool
        True if predictions have shape (n_samples,).
    """

    _form: ClassVar[SavedForm] = {
        "regressor_": Object(BaseEstimator, sizes={"n_features_in_": "features"}, method="predict"),
        "transformer_": Object(
            SavedTransformer, sizes={"n_features_in_": 1}, method="inverse_transform"
        ),
        "single": Object(bool),
    }

    regressor_: Any
    transformer_: Any
    single: bool

    def predict(self, X: Any) -> Array:
        """Return the predictions, shape (n_samples,) or (n_samples, n_outputs)."""
        scaled = np.asarray(self.regressor_.predict(X), dtype=np.float64)
        columns = scaled[:, None] if scaled.ndim == 1 else scaled
        result = self.transformer_.inverse_transform(columns)
        return _finite(result[:, 0] if self.single else result)


class SavedCalibration(ClassifierMixin, Record):
    """A classifier with calibrated probabilities, the mean over one or several fitted classifiers.

    With decision values or probabilities f of the classifier, the probability of class k before
    normalisation is 1 / (1 + exp(a_k f_k + b_k)), or a piecewise linear function of f_k. For two
    classes, f and the probability are those of the second.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    members_ : list of estimators
    responses_ : list of {"decision_function", "predict_proba"}
        Per member, the method that returned f when the curves were fitted.
    curves_ : list of lists
        Per member and class, an array of shape (2,) with a_k and b_k, or an array of shape (2, n)
        with ascending values of f_k and their probabilities.
    """

    RESPONSES: ClassVar[tuple[str, ...]] = ("decision_function", "predict_proba")

    _form: ClassVar[SavedForm] = {
        "classes_": Labels("classes", least=2),
        "members_": Object(
            BaseEstimator,
            axis="members",
            sizes={"n_features_in_": "features"},
            shared="classes_",
        ),
        "responses_": Object(str, axis="members"),
        "curves_": Object(list, axis="members"),
    }

    classes_: npt.NDArray[Any]
    members_: list[Any]
    responses_: list[str]
    curves_: list[list[Array]]

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities, shape (n_samples, n_classes)."""
        total = np.zeros((len(X), len(self.classes_)))
        parts = zip(self.members_, self.responses_, self.curves_, strict=True)
        for member, response, curves in parts:
            total += self._of_member(member, response, curves, X)
        return _finite(total / len(self.members_))

    def _of_member(self, member: Any, response: str, curves: Sequence[Array], X: Any) -> Array:
        """Return the probabilities by one member."""
        from scipy.special import expit

        values = np.asarray(getattr(member, response)(X), dtype=np.float64)
        if response == "predict_proba" and values.shape[1] == 2:
            values = values[:, 1]
        values = values.reshape(len(values), -1)
        parts = [
            expit(-(curve[0] * f + curve[1])) if curve.ndim == 1 else np.interp(f, *curve)
            for f, curve in zip(values.T, curves, strict=True)
        ]
        p = np.column_stack(parts)
        if p.shape[1] == 1:
            return np.hstack([1.0 - p, p])
        totals = p.sum(axis=1, keepdims=True)
        equal = np.full_like(p, 1 / p.shape[1])
        return np.divide(p, totals, out=equal, where=totals != 0)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable classes, shape (n_samples,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_loaded(self) -> None:
        n_curves = 1 if len(self.classes_) == 2 else len(self.classes_)
        parts = zip(self.members_, self.responses_, self.curves_, strict=True)
        for member, response, curves in parts:
            if response not in self.RESPONSES or not hasattr(member, response):
                raise ValueError(f"expected members with {response!r:.80}, got {member!r:.80}")
            if len(curves) != n_curves:
                raise ValueError(f"expected {n_curves} curves per member, got {len(curves)}")
            for curve in curves:
                _check_curve(curve)


def _check_curve(curve: Any) -> None:
    """Raise ValueError unless a curve has two finite numbers, or ascending points in [0, 1]."""
    known = isinstance(curve, np.ndarray) and curve.dtype == np.float64
    if not known or curve.shape[0] != 2 or curve.ndim > 2 or not np.isfinite(curve).all():
        raise ValueError(f"expected a curve of finite numbers, got {curve!r:.80}")
    if curve.ndim == 1:
        if np.abs(curve).max() > 1e100:
            raise ValueError(f"expected a curve with moderate numbers, got {curve!r:.80}")
        return
    places, shares = curve
    if not len(places) or (np.diff(places) <= 0).any() or shares.min() < 0 or shares.max() > 1:
        raise ValueError("expected a curve of ascending values and probabilities")


class Unfitted(Record):
    """The name and the parameters of an estimator of another library that is not fitted.

    Attributes
    ----------
    allow_nan : bool
        True if the original takes missing values.
    """

    _form: ClassVar[SavedForm] = {
        "n_features_in_": Size("features", optional=True),
        "allow_nan": Object(bool),
    }

    allow_nan: bool

    def __sklearn_is_fitted__(self) -> bool:
        return False

    def __sklearn_tags__(self) -> Any:
        """Return the tags, with missing values as the original."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allow_nan
        return tags


Steps: Any = import_module("pliant.core.bare" if process.BARE else "sklearn.pipeline").Pipeline
"""The base class of pipelines."""


class Pipeline(Steps):
    """scikit-learn's pipeline, with the prediction intervals of its last step.

    This is the class of a pipeline that `pliant.load` returns. Its steps, slices and predictions
    are those of scikit-learn's class.

    Parameters
    ----------
    steps : list of (str, estimator)
    """

    _form: ClassVar[SavedForm] = {"steps": Object(BaseEstimator, axis="steps", named=True)}

    @available_if(lambda self: hasattr(self[-1], "predict_interval"))
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Return prediction intervals.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_columns)
        coverage : float, default=0.9
            Probability, in (0, 1), that an interval contains the target.

        Returns
        -------
        array of shape (n_samples, 2)
            Lower and upper ends, with the coverage guarantee of the last step.
        """
        for _, step in self.steps[:-1]:
            X = step.transform(X)
        return np.asarray(self[-1].predict_interval(X, coverage))

    def _check_loaded(self) -> None:
        before = [step for _, step in self.steps[:-1] if not isinstance(step, Unfitted)]
        if any(not hasattr(step, "transform") for step in before):
            raise ValueError("expected transformers before the last step")
        if vars(self) != {**PIPELINE, "steps": self.steps}:
            raise ValueError(f"expected {PIPELINE} and steps in a pipeline")
        self._validate_names([name for name, _ in self.steps])


def last_step(model: Any) -> Any:
    """Return the last step of a fitted, possibly nested pipeline, or the model if it is none."""
    inside = getattr(model, "regressor_", model)
    return last_step(inside[-1]) if isinstance(inside, Steps) else inside


PIPELINE: dict[str, Any] = {"transform_input": None, "memory": None, "verbose": False}
"""Parameters of a loaded pipeline, besides its steps."""
