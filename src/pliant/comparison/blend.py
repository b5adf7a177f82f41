"""Blends: the weighted mean of several models, weights learned from predictions for held-out rows.

The weights minimise the mean squared error, or the log loss, of the blend of held-out predictions
p_1, ..., p_k over w >= 0, sum(w) = 1:

    mean_i loss(y_i, sum_j w_j p_ij) + SHRINKAGE L / n |w - u|^2,

where L is the least loss L_j of a single model, and u_j is in proportion to (L / L_j)^4 for the
three best models and 0 for the others. Weights below `LEAST` become 0.

The score of the blend of a race on a fold has weights from the other folds of the same repeat (in
the order of time: from earlier ones, so that the first fold has no score), so it is as honest as
the score of a method. The weights of the blend itself are learned from all folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.comparison.metrics import Metric, Predictions, metrics_of
from pliant.comparison.protocol import DUMMY, Place, Record
from pliant.comparison.standings import Cells, Standing, scores_of
from pliant.core.typing import Array
from pliant.core.validation import check_share

SHRINKAGE, BEST, POWER, LEAST = 30.0, 3, 4, 0.05
"""Strength of the pull in rows, models that it pulls to, the power of their losses, least weight.

On 24 tables of 150 to 1000 rows, a pull of 10 and 100 rows was no better, nor was one to all
models. A model with a smaller weight than the least costs more time than it gains."""

SMALLEST = 1e-4
"""Least probability in the log loss."""

Loss: TypeAlias = Callable[[Any, Array], tuple[float, Array]]
"""From targets and predictions to the loss and its gradient by the predictions."""


def squared_loss(y: Array, values: Array) -> tuple[float, Array]:
    """Return the mean squared error of values of shape (n,), and its gradient by them."""
    error = values - y
    return float(np.mean(error**2)), 2 * error / len(y)


def log_loss(codes: npt.NDArray[np.intp], values: Array) -> tuple[float, Array]:
    """Return the log loss of probabilities of shape (n, k), and its gradient by them.

    `codes` are the numbers of the true classes.
    """
    rows = np.arange(len(codes))
    true = np.maximum(values[rows, codes], SMALLEST)
    gradient = np.zeros_like(values)
    gradient[rows, codes] = -1 / (len(codes) * true)
    return float(-np.mean(np.log(true))), gradient


def blend_weights(
    predictions: Sequence[Array], y: npt.NDArray[Any], *, classes: Any = None
) -> Array:
    """Return the weights of models, of sum 1, from their predictions for held-out rows.

    Predictions are numbers of shape (n,), or probabilities of shape (n, n_classes) with the sorted
    `classes`.

    Examples
    --------
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> blend_weights([y + [1, -1, 1, -1], y + [-1, 1, -1, 1.0]], y)
    array([0.5, 0.5])
    """
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
    # L, but not below the rounding errors of the largest loss
    unit = max(alone.min(), 1e-12 * alone.max(), np.finfo(np.float64).tiny)
    near = best_first[:BEST]
    pulled[near] = (unit / np.maximum(alone[near], unit)) ** POWER
    pulled /= pulled.sum()

    def objective(w: Array) -> tuple[float, Array]:
        """Return the objective divided by L, and its gradient."""
        value, by_values = loss(target, np.tensordot(w, stacked, 1))
        gradient = np.tensordot(stacked, by_values, by_values.ndim) / unit
        away = w - pulled
        return value / unit + strength * float(away @ away), gradient + 2 * strength * away

    found: Any = minimize(  # type: ignore[call-overload]
        objective,
        best,  # from the mean of models of very unequal losses, the first step is far too long
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(stacked),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"maxiter": 200, "ftol": 1e-9},
    )
    known = [w for w in (found.x, pulled, best) if np.isfinite(w).all()]
    w = min(known, key=lambda w: objective(w)[0])
    w = np.where(w < LEAST, 0.0, w)
    return np.asarray(w / w.sum())


@dataclass(frozen=True, eq=False)
class BlendOutcome:
    """The weights of a blend, and its predictions for held-out rows.

    Weights are by the name of the method, the largest first, of sum 1. Scores are by repeat and
    fold and by metric, with weights from the other folds; there are none with one fold. `values`
    are the predictions, or probabilities of shape (n, n_classes), of the n `rows`, ascending, with
    targets `y`; they are means over repeats.
    """

    weights: dict[str, float]
    scores: dict[Place, dict[str, float | None]]
    rows: npt.NDArray[np.intp]
    y: npt.NDArray[Any]
    values: Array
    classes: npt.NDArray[Any] | None


def learn_blend(
    standings: Sequence[Standing],
    cells: Mapping[str, Cells],
    truth: Mapping[int, Any],
    classes: Sequence[Any] | None,
    metric: Metric,
    *,
    ordered: bool = False,
) -> BlendOutcome | None:
    """Learn the blend of the ranked methods; None without a method with kept predictions.

    Standings are the best first. `truth` has the target of each row with a kept prediction. Sorted
    `classes` are None for regression. If rows are `ordered` in time, so are folds.
    """
    ranked = [s.method for s in standings if s.rank is not None]
    scored = [set(scores_of(cells[method.name], metric.name)) for method in ranked]
    common = sorted(set.intersection(*scored)) if scored else []
    members = [method.name for method in ranked if method.blends and method.name != DUMMY]
    names = [name for name in members if all(cells[name][p].get("kept") for p in common)]
    if not names:
        return None
    labels = None if classes is None else np.array(classes)
    values = {p: np.stack([_kept(cells[name][p], "values") for name in names]) for p in common}
    rows = {p: _kept(cells[names[0]][p], "rows").astype(np.intp) for p in common}
    y = {p: np.array([truth[int(row)] for row in rows[p]]) for p in common}

    def weights_from(places: Sequence[Place]) -> Array:
        stacked = list(np.concatenate([values[p] for p in places], axis=1))
        return blend_weights(stacked, np.concatenate([y[p] for p in places]), classes=labels)

    task = "regression" if classes is None else "classification"
    metrics = {each.name: each for each in (*metrics_of(task), metric)}
    scores, held_out = {}, {}
    for place in common:
        others = [p for p in common if p[0] == place[0] and p != place]
        others = [p for p in others if p < place] if ordered else others
        weights = weights_from(others or [place])
        held_out[place] = np.tensordot(weights, values[place], 1)
        if others:
            predictions = _predictions(held_out[place], labels)
            scores[place] = {n: m.finite(y[place], predictions) for n, m in metrics.items()}
    final = dict(zip(names, weights_from(common).tolist(), strict=True))
    kept, targets, means = _over_repeats(rows, y, held_out)
    largest_first = sorted(final.items(), key=lambda pair: -pair[1])
    chosen = {name: weight for name, weight in largest_first if weight > 0}
    return BlendOutcome(chosen, scores, kept, targets, means, labels)


def _kept(record: Record, part: Literal["rows", "values"]) -> Array:
    """Return the row numbers, or the predictions, of a cell."""
    kept = record["kept"]
    assert kept is not None
    return np.asarray(kept[part], dtype=np.float64)


def _predictions(values: Array, classes: npt.NDArray[Any] | None) -> Predictions:
    """Return blended numbers, or probabilities scaled to the sum 1, as predictions."""
    if classes is None:
        return Predictions(values)
    probability = values / values.sum(axis=1, keepdims=True)
    return Predictions(classes[probability.argmax(axis=1)], None, probability, classes)


def _over_repeats(
    rows: Mapping[Place, npt.NDArray[np.intp]],
    y: Mapping[Place, npt.NDArray[Any]],
    values: Mapping[Place, Array],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any], Array]:
    """Return the rows, their targets, and the means of their predictions over repeats."""
    every = np.concatenate([rows[p] for p in rows])
    kept, first, place = np.unique(every, return_index=True, return_inverse=True)
    targets = np.concatenate([y[p] for p in rows])[first]
    stacked = np.concatenate([values[p] for p in rows])
    sums = np.zeros((len(kept), *stacked.shape[1:]))
    np.add.at(sums, place, stacked)
    times = np.bincount(place).reshape(-1, *[1] * (stacked.ndim - 1))
    return kept, targets, sums / times


class _Blend(BaseEstimator):
    """Weighted mean of estimators; the base of both blends."""

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
        """Return a blend of fitted models, whose training samples are X and y.

        `held_out` has blended predictions for held-out samples, of shape (n,) or (n, n_classes),
        and their targets.
        """
        blend = cls([(name, clone(member)) for name, member in members])
        blend.members_, blend.weights_ = list(members), np.asarray(weights, dtype=np.float64)
        blend.n_features_in_ = X.shape[1]
        blend._store(*held_out)
        blend.feature_importances_ = blend._importances(X, y)
        return blend

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights from predictions for held-out folds, then fit members on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN where members take it.
        y : array-like of shape (n_samples,)
        """
        if not self.estimators:
            raise ValueError("expected at least one pair ('name', estimator), got none")
        classifier = is_classifier(self)
        X, y = validate_data(self, X, y, ensure_all_finite="allow-nan", y_numeric=not classifier)
        if classifier:
            check_classification_targets(y)
        classes = np.unique(y) if classifier else None
        held_out = [
            cross_val_predict(
                clone(each),
                X,
                y,
                cv=check_cv(self.cv, y, classifier=classifier),
                method="predict_proba" if classifier else "predict",
            )
            for _, each in self.estimators
        ]
        self.weights_ = blend_weights(held_out, y, classes=classes)
        self.members_ = [(name, clone(each).fit(X, y)) for name, each in self.estimators]
        self._store(np.tensordot(self.weights_, np.stack(held_out), 1), y)
        self.feature_importances_ = self._importances(X, y)
        return self

    def _store(self, held_out: Array, y: npt.NDArray[Any]) -> None:
        """Store the classes, or the errors of held-out predictions for intervals."""
        if is_classifier(self):
            self.classes_ = np.unique(y)
        else:
            self.errors_ = np.sort(np.asarray(y, dtype=np.float64) - held_out)

    def _importances(self, X: Array, y: npt.NDArray[Any]) -> Array:
        """Return the share of each feature in the loss added by permutations of features.

        Rows are spread evenly over those of X; each feature is permuted once, by one order.
        """
        n_features = X.shape[1]
        rows = min(len(X), max(20, 20_000 // n_features))  # bounded time
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
        for j in range(n_features):
            permuted = points.copy()
            permuted[:, j] = points[order, j]
            added[j] = max(loss(target, self._mean(permuted, method))[0] - base, 0.0)
        total = float(added.sum())
        return added / total if total > 0 else np.full(n_features, 1 / n_features)

    def _mean(self, X: npt.ArrayLike, method: str) -> Array:
        """Return the weighted mean of the predictions of members."""
        check_is_fitted(self, "members_")
        X = validate_data(self, X, reset=False, ensure_all_finite="allow-nan")
        parts = zip(self.weights_, self.members_, strict=True)
        return np.asarray(sum(w * getattr(member, method)(X) for w, (_, member) in parts if w > 0))

    def _check_loaded(self) -> None:
        """Raise ValueError if the weights of a file do not fit the members."""
        w = self.weights_
        if w.shape != (len(self.members_),) or not (w >= 0).all() or abs(w.sum() - 1) > 1e-6:
            raise ValueError(f"expected {len(self.members_)} weights >= 0 of sum 1, got {w!r:.80}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = all(
            get_tags(e).input_tags.allow_nan for _, e in self.estimators
        )
        return tags


class BlendRegressor(RegressorMixin, _Blend):
    """Weighted mean of regressors with the weights that fit held-out predictions best.

    The weights minimise mean_i (y_i - sum_j w_j p_ij)^2 over w >= 0, sum(w) = 1, with a slight pull
    towards the best three; p_ij is the prediction of member j for the held-out sample i.

    Parameters
    ----------
    estimators : sequence of (str, estimator)
    cv : int or splitter, default=5
        Folds of the predictions that the weights are learned from.

    Attributes
    ----------
    members_ : list of (str, estimator)
        The estimators, fitted on all samples.
    weights_ : array of shape (n_members,)
    feature_importances_ : array of shape (n_features,)
        Shares in the squared error that permuting each feature adds on training samples.
    errors_ : array of shape (n_samples,)
        Sorted errors y - prediction of the blend for held-out samples.
    n_features_in_ : int

    See Also
    --------
    sklearn.ensemble.StackingRegressor : Any estimator on top of the predictions.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.ensemble import ExtraTreesRegressor
    >>> X, y = make_friedman1(n_samples=200, noise=1.0, random_state=0)
    >>> members = [("linear", Ridge()), ("trees", ExtraTreesRegressor(random_state=0))]
    >>> blend = BlendRegressor(members).fit(X, y)
    >>> bool(blend.weights_[1] > blend.weights_[0])
    True
    """

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the prediction for each sample, shape (n_samples,)."""
        return self._mean(X, "predict")

    def predict_interval(self, X: npt.ArrayLike, coverage: float = 0.9) -> Array:
        """Return an interval for each sample that holds its target with a given probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Probability, in (0, 1).

        Returns
        -------
        array of shape (n_samples, 2)
            The lower and the upper end: the prediction plus quantiles of held-out errors, so all
            intervals have one width. An end is infinite where there are too few errors.

        Notes
        -----
        The errors are of models that learned from the other folds, so they are honest, and
        slightly large for a model that learned from all samples. No coverage is guaranteed:
        the weights were learned from the same samples.
        """
        check_share("coverage", coverage)
        tail, n = (1.0 - coverage) / 2.0, len(self.errors_)
        place = int(np.ceil((n + 1) * (1.0 - tail)))  # the rank of the upper end, as in conformal
        low, high = (-np.inf, np.inf) if place > n else self.errors_[[n - place, place - 1]]
        return self.predict(X)[:, None] + np.array([low, high])


class BlendClassifier(ClassifierMixin, _Blend):
    """Weighted mean of the probabilities of classifiers, weights from held-out predictions.

    The weights minimise the log loss of sum_j w_j p_ij over w >= 0, sum(w) = 1, with a slight pull
    towards the best three; p_ij are the probabilities of member j for the held-out sample i.

    Parameters
    ----------
    estimators : sequence of (str, estimator)
        With ``predict_proba``.
    cv : int or splitter, default=5
        Folds of the predictions that the weights are learned from.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    members_ : list of (str, estimator)
        The estimators, fitted on all samples.
    weights_ : array of shape (n_members,)
    feature_importances_ : array of shape (n_features,)
        Shares in the log loss that permuting each feature adds on training samples.
    n_features_in_ : int

    See Also
    --------
    sklearn.ensemble.VotingClassifier : Weights that the user chooses.
    """

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class, shape (n_samples, n_classes)."""
        values = self._mean(X, "predict_proba")
        return np.asarray(values / values.sum(axis=1, keepdims=True))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the most probable class of each sample, shape (n_samples,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[most_probable]
        return labels


for _kind in (BlendRegressor, BlendClassifier):
    _kind.__module__ = "pliant.comparison"
