"""Blends: weighted means of several models, with weights learned from held-out predictions.

Given held-out predictions p_1, ..., p_k, the weights minimise over w >= 0, sum(w) = 1

    mean_i loss(y_i, sum_j w_j p_ij) + SHRINKAGE L / n |w - u|^2

with the squared error or the log loss. L_j is the loss of model j alone, L = min_j L_j, and u_j is
proportional to (L / L_j)^4 for the three best models and 0 for the others. A model that is good on
other tables (in a comparison, LAB-RBF) gets the share `TRUST` of u, and these models the rest.
Weights below `LEAST` become 0. For regression, the predictions of each model are clipped to the
range of the training targets (in a comparison, of the other folds), extended by an eighth at both
ends: on a single new row, a linear model may be far outside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    check_is_fitted,
    clone,
    is_classifier,
)
from pliant.core.exceptions import set_public_module
from pliant.core.form import Labels, Object, Part, SavedForm, Size
from pliant.core.parameters import check_share
from pliant.core.state import reads, updates
from pliant.core.typing import Array
from pliant.core.validation import prediction_rows

SHRINKAGE, BEST, POWER, TRUST, LEAST = 100.0, 3, 4, 0.5, 0.1
"""Strength of the penalty in rows, number of best models in u, exponent in u, share of u for the
trusted model, and minimum weight. A model with less weight is not worth its prediction time."""

SMALLEST = 1e-4
"""Lower bound on probabilities in the log loss."""

Loss: TypeAlias = Callable[[Any, Array], tuple[float, Array]]
"""Maps targets and predictions to the loss and its gradient with respect to the predictions."""


def squared_loss(y: Array, values: Array) -> tuple[float, Array]:
    """Return the mean squared error of predictions of shape (n,) and its gradient."""
    error = values - y
    return float(np.mean(error**2)), 2 * error / len(y)


def log_loss(codes: npt.NDArray[np.intp], values: Array) -> tuple[float, Array]:
    """Return the log loss of (n, k) probabilities, given true class codes, and its gradient."""
    rows = np.arange(len(codes))
    true = np.maximum(values[rows, codes], SMALLEST)
    gradient = np.zeros_like(values)
    gradient[rows, codes] = -1 / (len(codes) * true)
    return float(-np.mean(np.log(true))), gradient


def blend_weights(
    predictions: Sequence[Array],
    y: npt.NDArray[Any],
    *,
    classes: Any = None,
    trusted: int | None = None,
) -> Array:
    """Learn the weights of models, which sum to 1, from their held-out predictions.

    Predictions are numbers of shape (n,), or probabilities of shape (n, n_classes) for the sorted
    `classes`. `trusted` is the position of the model known to be good on other tables, if any.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> blend_weights([y + [1, -1, 1, -1], y + [-1, 1, -1, 1.0]], y)
    array([0.5, 0.5])
    """
    from scipy.optimize import minimize

    stacked = np.stack([np.asarray(each, dtype=np.float64) for each in predictions])
    loss: Loss = squared_loss
    target: Any = np.asarray(y)
    if classes is not None:
        loss, target = log_loss, np.searchsorted(classes, y)
        stacked = np.clip(stacked, SMALLEST, 1.0)
    alone = np.array([loss(target, each)[0] for each in stacked])
    best_first = np.argsort(alone, kind="stable")
    pulled, best = np.zeros(len(stacked)), np.zeros(len(stacked))
    best[best_first[0]] = 1.0
    strength = SHRINKAGE / len(target)
    # L, kept above the rounding error of the largest loss
    unit = max(alone.min(), 1e-12 * alone.max(), np.finfo(np.float64).tiny)
    near = best_first[:BEST]
    pulled[near] = (unit / np.maximum(alone[near], unit)) ** POWER
    pulled /= pulled.sum()
    if trusted is not None:
        pulled *= 1 - TRUST
        pulled[trusted] += TRUST

    def objective(w: Array) -> tuple[float, Array]:
        """Return the objective divided by L, and its gradient."""
        value, by_values = loss(target, np.tensordot(w, stacked, 1))
        gradient = np.tensordot(stacked, by_values, by_values.ndim) / unit
        away = w - pulled
        return value / unit + strength * float(away @ away), gradient + 2 * strength * away

    found: Any = minimize(  # type: ignore[call-overload]
        objective,
        best,  # from equal weights, the first step is too long if the losses differ widely
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(stacked),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"maxiter": 200, "ftol": 1e-9},
    )
    known = [w for w in (found.x, pulled, best) if np.isfinite(w).all()]
    w = min(known, key=lambda w: objective(w)[0])
    w = np.where(w < min(LEAST, w.max()), 0.0, w)
    return np.asarray(w / w.sum())


def extended_range(y: npt.NDArray[Any]) -> Array:
    """Return the range of targets, extended by an eighth at both ends, shape (2,)."""
    low, high = float(y.min()), float(y.max())
    margin = high / 8 - low / 8
    return np.array([low - margin, high + margin])


def _members(method: str, shared: str = "") -> Object:
    """Declare the members of a blend: named estimators with a method."""
    sizes = {"n_features_in_": "features"}
    return Object(BaseEstimator, sizes, "members", named=True, method=method, shared=shared)


class _Blend(BaseEstimator):
    """Weighted mean of estimators; base class of both blends."""

    _form: ClassVar[SavedForm] = {
        "estimators": Object(BaseEstimator, axis="estimators", named=True),
        "members_": _members("predict"),
        "weights_": Part("f8", ("members",), low=0.0, high=1.0, total=1.0),
        "feature_importances_": Part("f8", ("features",), low=0.0),
        "n_features_in_": Size("features"),
    }

    def __init__(self, estimators: Sequence[tuple[str, Any]], cv: Any = 5) -> None:
        self.estimators = estimators
        self.cv = cv

    @classmethod
    def of(
        cls,
        members: Sequence[tuple[str, Any]],
        weights: npt.ArrayLike,
        held_out: tuple[Array, npt.NDArray[Any]],
        X: Array,
        y: npt.NDArray[Any],
    ) -> Self:
        """Build a blend from members fitted on X and y, and held-out (predictions, targets)."""
        blend = cls([(name, clone(member)) for name, member in members])
        blend.members_, blend.weights_ = list(members), np.asarray(weights, dtype=np.float64)
        blend.n_features_in_ = X.shape[1]
        blend._store(*held_out, y)
        blend.feature_importances_ = blend._importances(X, y)
        return blend

    @updates
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights from out-of-fold predictions, then fit the members on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            May contain NaN if all members accept it.
        y : array-like of shape (n_samples,)
        """
        from sklearn.model_selection import check_cv, cross_val_predict
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import validate_data

        if not self.estimators:
            raise ValueError("expected at least one pair ('name', estimator), got none")
        classifier = is_classifier(self)
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", y_numeric=not classifier)
        if classifier:
            check_classification_targets(y)
        classes = np.unique(y) if classifier else None
        method = "predict_proba" if classifier else "predict"
        cv = check_cv(self.cv, y, classifier=classifier)
        held_out = [
            cross_val_predict(clone(each), X, y, cv=cv, method=method)
            for _, each in self.estimators
        ]
        if not classifier:
            held_out = [values.clip(*extended_range(y)) for values in held_out]
        self.weights_: Array = blend_weights(held_out, y, classes=classes)
        self.members_: list[tuple[str, Any]] = [
            (name, clone(each).fit(X, y)) for name, each in self.estimators
        ]
        self._store(np.tensordot(self.weights_, np.stack(held_out), 1), y, y)
        self.feature_importances_: Array = self._importances(X, y)
        return self

    def _store(self, held_out: Array, target: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
        """Store the classes, or the target range and the sorted errors of held-out predictions."""
        if is_classifier(self):
            self.classes_: npt.NDArray[Any] = np.unique(target)
        else:
            self.target_range_: Array = extended_range(y)
            self.errors_: Array = np.sort(np.asarray(target, dtype=np.float64) - held_out)

    def _importances(self, X: Array, y: npt.NDArray[Any]) -> Array:
        """Return each feature's share of the total increase in loss under permutation.

        More than 1000 features are permuted in 1000 groups of neighbours, which share equally.
        """
        n_features = X.shape[1]
        rows = min(len(X), max(20, 20_000 // n_features))  # bounds the time
        chosen = np.linspace(0, len(X) - 1, rows).astype(np.intp)
        points, target = X[chosen], y[chosen]
        order = np.random.default_rng(0).permutation(rows)
        loss: Loss = squared_loss
        method = "predict"
        if is_classifier(self):
            loss, method = log_loss, "predict_proba"
            target = np.searchsorted(self.classes_, target)
        base = loss(target, self._mean(points, method))[0]
        added = np.zeros(n_features)
        groups = np.array_split(np.arange(n_features), min(n_features, 1000))
        at_a_time = max(1, 1_000_000 // points.size)  # copies of the points in one prediction
        for start in range(0, len(groups), at_a_time):
            some = groups[start : start + at_a_time]
            copies = np.stack([points] * len(some))
            for copy, group in zip(copies, some, strict=True):
                copy[:, group] = points[np.ix_(order, group)]
            means = self._mean(copies.reshape(-1, n_features), method)
            for values, group in zip(np.split(means, len(some)), some, strict=True):
                added[group] = max(loss(target, values)[0] - base, 0.0) / len(group)
        total = float(added.sum())
        return added / total if total > 0 else np.full(n_features, 1 / n_features)

    def _mean(self, X: npt.ArrayLike, method: str) -> Array:
        check_is_fitted(self, "members_")
        rows = prediction_rows(self, X, dtype=np.float64, allow_nan=True)
        limits = (0.0, 1.0) if is_classifier(self) else self.target_range_
        parts = [(w, member) for w, (_, member) in zip(self.weights_, self.members_, strict=True)]
        values = (w * getattr(member, method)(rows).clip(*limits) for w, member in parts if w > 0)
        return np.asarray(sum(values))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = all(
            get_tags(e).input_tags.allow_nan for _, e in self.estimators
        )
        return tags


class BlendRegressor(RegressorMixin, _Blend):
    """Weighted mean of regressors, with weights learned from out-of-fold predictions.

    The weights minimise mean_i (y_i - sum_j w_j p_ij)^2 over w >= 0, sum(w) = 1, plus a shrinkage
    penalty towards the best three members; p_ij is member j's prediction for the held-out sample i.

    Parameters
    ----------
    estimators : sequence of (str, estimator)
    cv : int or splitter, default=5
        Cross-validation for the out-of-fold predictions.

    Attributes
    ----------
    members_ : list of (str, estimator)
        The estimators, fitted on all samples.
    weights_ : array of shape (n_members,)
    feature_importances_ : array of shape (n_features,)
        Each feature's share of the total increase in squared error under permutation.
    errors_ : array of shape (n_samples,)
        Sorted held-out errors: y minus the blend's prediction.
    target_range_ : array of shape (2,)
        Range of the training targets, extended by an eighth at both ends; predictions of members
        are clipped to it.
    n_features_in_ : int

    See Also
    --------
    sklearn.ensemble.StackingRegressor : Combines the predictions with a fitted final estimator.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> from pliant.tables import BlendRegressor
    >>> X, y = make_friedman1(n_samples=200, noise=1.0, random_state=0)
    >>> members = [("linear", Ridge()), ("trees", ExtraTreesRegressor(random_state=0))]
    >>> blend = BlendRegressor(members).fit(X, y)
    >>> bool(blend.weights_[1] > blend.weights_[0])
    True
    """

    _form: ClassVar[SavedForm] = {
        "target_range_": Part("f8", (2,), order=np.less_equal),
        "errors_": Part("f8", ("errors",), order=np.less_equal),
    }

    @reads
    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predictions, shape (n_samples,)."""
        return self._mean(X, "predict")

    @reads
    def predict_interval(self, X: npt.ArrayLike, coverage: float = 0.9) -> Array:
        """Return prediction intervals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability, in (0, 1), that an interval contains the target.

        Returns
        -------
        array of shape (n_samples, 2)
            Lower and upper ends: the prediction plus quantiles of the held-out errors, so all
            intervals have the same width. Ends are infinite if there are too few errors.

        Notes
        -----
        The errors come from models fitted on fewer samples, so they are slightly too large.
        Coverage is not guaranteed, because the weights were learned from the same samples.
        """
        check_share("coverage", coverage)
        return self.predict(X)[:, None] + self.error_range(coverage)

    def error_range(self, coverage: float) -> Array:
        """Return the quantiles of the held-out errors with this coverage, shape (2,)."""
        tail, n = (1.0 - coverage) / 2.0, len(self.errors_)
        rank = int(np.ceil((n + 1) * (1.0 - tail)))  # of the upper end, as in conformal prediction
        low, high = (-np.inf, np.inf) if rank > n else self.errors_[[n - rank, rank - 1]]
        return np.array([low, high])

    def _check_loaded(self) -> None:
        if wrong := [name for name, member in self.members_ if hasattr(member, "classes_")]:
            raise ValueError(f"expected regressors as members, got the classifier {wrong[0]!r:.40}")


class BlendClassifier(ClassifierMixin, _Blend):
    """Weighted mean of class probabilities, with weights learned from out-of-fold predictions.

    The weights minimise the log loss of sum_j w_j p_ij over w >= 0, sum(w) = 1, plus a shrinkage
    penalty towards the best three members; p_ij are member j's probabilities for held-out sample i.

    Parameters
    ----------
    estimators : sequence of (str, estimator)
        Classifiers with ``predict_proba``.
    cv : int or splitter, default=5
        Cross-validation for the out-of-fold predictions.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    members_ : list of (str, estimator)
        The estimators, fitted on all samples.
    weights_ : array of shape (n_members,)
    feature_importances_ : array of shape (n_features,)
        Each feature's share of the total increase in log loss under permutation.
    n_features_in_ : int

    See Also
    --------
    sklearn.ensemble.VotingClassifier : Averages probabilities with user-defined weights.
    """

    _form: ClassVar[SavedForm] = {
        "classes_": Labels("classes"),
        "members_": _members("predict_proba", shared="classes_"),
    }

    @reads
    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return class probabilities, shape (n_samples, n_classes)."""
        values = self._mean(X, "predict_proba")
        return np.asarray(values / values.sum(axis=1, keepdims=True))

    @reads
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the most probable classes, shape (n_samples,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])


set_public_module({**globals(), "__name__": "pliant.tables"}, ["BlendClassifier", "BlendRegressor"])
