"""Forests and boosted trees as plain arrays, which is how model files keep them.

scikit-learn's trees are objects of compiled code, which trusts the indices in them: a forged file
could make it read beyond its arrays. The classes here hold the same trees in NumPy arrays, and walk
down them with NumPy, which checks every index. They predict the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.core.exceptions import ModelFileError
from pliant.core.public import set_public_module
from pliant.core.typing import Array, Indices

__all__ = ["SavedTreesClassifier", "SavedTreesRegressor"]

FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
BOOSTED = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

PLAIN_LOSSES = ("squared_error", "absolute_error", "log_loss")
"""Losses of boosting whose sum of trees is the prediction, or its log-odds."""


class _SavedTrees(BaseEstimator):
    """Trees in arrays: ``feature_`` is -1 at a leaf, children have larger numbers than parents.

    Parameters
    ----------
    source : str
        The class that learned the trees.
    mean : bool
        Whether the prediction is the mean over trees, of features in single precision as in a
        forest; else their sum from ``offset_`` on, as in boosting.
    """

    def __init__(self, source: str = "", mean: bool = True) -> None:
        self.source = source
        self.mean = mean

    def fit(self, X: object, y: object = None) -> Self:
        """Refuse to learn: these trees come from a model file."""
        raise TypeError(f"trees from a model file cannot be fitted: use {self.source or 'another'}")

    def _hold(self, trees: Sequence[dict[str, Array]], outputs: Indices, offset: Array) -> Self:
        """Put trees behind each other; tree t adds to the output outputs[t]."""
        sizes = [len(tree["feature"]) for tree in trees]
        self.roots_ = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)
        self.outputs_ = np.asarray(outputs, dtype=np.int64)
        self.offset_ = np.asarray(offset, dtype=np.float64)
        leaf = np.concatenate([tree["leaf"] for tree in trees]).astype(bool)
        start = np.repeat(self.roots_, sizes)
        joined = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
        here = np.arange(len(leaf))
        self.left_ = np.where(leaf, here, joined["left"].astype(np.int64) + start)
        self.right_ = np.where(leaf, here, joined["right"].astype(np.int64) + start)
        self.feature_ = np.where(leaf, -1, joined["feature"]).astype(np.int64)
        self.threshold_ = np.ascontiguousarray(joined["threshold"], dtype=np.float64)
        self.missing_left_ = joined["missing_left"].astype(bool)
        self.value_ = np.ascontiguousarray(joined["value"], dtype=np.float64)
        return self

    def _totals(self, X: npt.ArrayLike) -> Array:
        """Return the mean or the sum of the trees, shape (n_samples, n_outputs)."""
        check_is_fitted(self, "roots_")
        rows = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        if self.mean:
            rows = rows.astype(np.float32)
        totals = np.zeros((len(rows), len(self.offset_)))
        if not self.mean:
            totals += self.offset_
        for root, output in zip(self.roots_.tolist(), self.outputs_.tolist(), strict=True):
            values = self.value_[self._leaves(rows, root)]
            if self.mean:
                totals += values
            else:
                totals[:, output] += values[:, 0]
        return totals / len(self.roots_) if self.mean else totals

    def _leaves(self, X: Array, root: int) -> Indices:
        """Return the leaf of each row in one tree; each step goes to a larger number, or stays."""
        at = np.full(len(X), root)
        going = np.arange(len(X))
        while len(going := going[self.feature_[at[going]] >= 0]):
            node = at[going]
            cells = X[going, self.feature_[node]]
            left = np.where(
                np.isnan(cells), self.missing_left_[node], cells <= self.threshold_[node]
            )
            at[going] = np.where(left, self.left_[node], self.right_[node])
        return at

    def _check_loaded(self) -> None:
        """Raise ValueError for arrays that are no trees; called for a model from a file."""
        n_nodes = len(self.feature_)
        indices = (self.roots_, self.outputs_, self.feature_, self.left_, self.right_)
        if any(part.dtype != np.int64 or part.ndim != 1 for part in indices):
            raise ValueError("expected numbers of nodes and features as int64")
        arrays = {"left_": self.left_, "right_": self.right_, "threshold_": self.threshold_}
        arrays |= {"missing_left_": self.missing_left_, "value_": self.value_}
        for name, part in arrays.items():
            if len(part) != n_nodes or part.ndim != (2 if name == "value_" else 1):
                raise ValueError(f"expected {name} of {n_nodes} nodes, got shape {part.shape}")
        numbers = (self.threshold_, self.value_, self.offset_)
        if any(part.dtype != np.float64 for part in numbers) or self.missing_left_.dtype != bool:
            raise ValueError("expected thresholds, values and the offset as float64")
        width = self.value_.shape[1]
        outputs = len(self.offset_)
        if self.offset_.ndim != 1 or width != (outputs if self.mean else 1):
            raise ValueError(f"expected values for {outputs} outputs, got {width}")
        _check_range("roots_", self.roots_, 0, n_nodes)
        _check_range("outputs_", self.outputs_, 0, outputs)
        _check_range("feature_", self.feature_, -1, self.n_features_in_)
        if len(self.roots_) != len(self.outputs_) or not len(self.roots_):
            raise ValueError(f"expected as many roots as outputs, got {len(self.roots_)}")
        inner = np.flatnonzero(self.feature_ >= 0)
        for child in (self.left_[inner], self.right_[inner]):
            _check_range("children", child, 0, n_nodes)
            if (child <= inner).any():
                raise ValueError("expected children with larger numbers than their parents")


class SavedTreesRegressor(RegressorMixin, _SavedTrees):
    """A forest or boosted trees for regression, as a model file keeps them.

    `load_model` returns it in place of scikit-learn's estimator; it makes the same predictions.

    Parameters
    ----------
    source : str
        The class that learned the trees, such as "RandomForestRegressor".
    mean : bool, default=True
        Whether predictions are means over trees, as in a forest, or sums, as in boosting.

    Attributes
    ----------
    n_features_in_ : int
    roots_ : array of shape (n_trees,)
        The first node of each tree.
    outputs_ : array of shape (n_trees,)
        The output that a tree of boosting adds to.
    offset_ : array of shape (n_outputs,)
        The prediction of boosting before its first tree.
    feature_, left_, right_ : array of shape (n_nodes,)
        The feature that a node splits, -1 for a leaf, and the nodes below it.
    threshold_ : array of shape (n_nodes,)
        Rows with at most this value go to the left.
    missing_left_ : array of bool of shape (n_nodes,)
        Whether rows with a missing value go to the left.
    value_ : array of shape (n_nodes, n_outputs)
        The prediction at a leaf.
    """

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return predictions, shape (n_samples,)."""
        return self._totals(X)[:, 0]


class SavedTreesClassifier(ClassifierMixin, _SavedTrees):
    """A forest or boosted trees for classification, as a model file keeps them.

    `load_model` returns it in place of scikit-learn's estimator; it makes the same predictions.

    Parameters
    ----------
    source : str
        The class that learned the trees, such as "RandomForestClassifier".
    mean : bool, default=True
        Whether probabilities are means over trees, as in a forest; else trees add up to log-odds,
        as in boosting.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    roots_ : array of shape (n_trees,)
        The first node of each tree.
    outputs_ : array of shape (n_trees,)
        The output that a tree of boosting adds to.
    offset_ : array of shape (n_outputs,)
        The log-odds of boosting before its first tree.
    feature_, left_, right_ : array of shape (n_nodes,)
        The feature that a node splits, -1 for a leaf, and the nodes below it.
    threshold_ : array of shape (n_nodes,)
        Rows with at most this value go to the left.
    missing_left_ : array of bool of shape (n_nodes,)
        Whether rows with a missing value go to the left.
    value_ : array of shape (n_nodes, n_outputs)
        The probabilities at a leaf of a forest, or what a leaf of boosting adds.
    """

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probabilities of the classes, shape (n_samples, n_classes)."""
        totals = self._totals(X)
        if self.mean:
            return totals
        if totals.shape[1] == 1:
            second = expit(totals[:, 0])
            return np.column_stack([1 - second, second])
        return np.asarray(softmax(totals, axis=1))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return labels, shape (n_samples,)."""
        labels: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    def _check_loaded(self) -> None:
        super()._check_loaded()
        classes, outputs = len(self.classes_), len(self.offset_)
        if self.classes_.ndim != 1 or outputs != (1 if not self.mean and classes == 2 else classes):
            raise ValueError(f"expected trees for {classes} classes, got {outputs} outputs")


set_public_module({**globals(), "__name__": "pliant.persistence"}, __all__)


def saved_trees(model: Any) -> _SavedTrees:
    """Return a fitted forest or boosted trees of scikit-learn as plain arrays.

    Raises
    ------
    ModelFileError
        For several targets, categorical splits, or a loss that is not supported.
    """
    is_forest = isinstance(model, FORESTS)
    kind = SavedTreesClassifier if hasattr(model, "classes_") else SavedTreesRegressor
    saved = kind(type(model).__name__, mean=is_forest)
    saved.n_features_in_ = model.n_features_in_
    if kind is SavedTreesClassifier:
        saved.classes_ = model.classes_
    return _of_forest(saved, model) if is_forest else _of_boosting(saved, model)


def _of_forest(saved: _SavedTrees, model: Any) -> _SavedTrees:
    if model.n_outputs_ != 1:
        raise ModelFileError(f"a forest for {model.n_outputs_} targets has no place in a file")
    trees = []
    for member in model.estimators_:
        tree = member.tree_
        trees.append(
            {
                "feature": tree.feature,
                "left": tree.children_left,
                "right": tree.children_right,
                "leaf": tree.children_left < 0,
                "threshold": tree.threshold,
                "missing_left": tree.missing_go_to_left,
                "value": tree.value[:, 0, :],
            }
        )
    return saved._hold(trees, np.zeros(len(trees), np.int64), np.zeros(trees[0]["value"].shape[1]))


def _of_boosting(saved: _SavedTrees, model: Any) -> _SavedTrees:
    if model.loss not in PLAIN_LOSSES or model.is_categorical_ is not None:
        raise ModelFileError(
            f"boosting with loss={model.loss!r} or categorical features has no place in a file"
        )
    trees, outputs = [], []
    for iteration in model._predictors:
        for output, predictor in enumerate(iteration):
            nodes = predictor.nodes
            trees.append(
                {
                    "feature": nodes["feature_idx"],
                    "left": nodes["left"],
                    "right": nodes["right"],
                    "leaf": nodes["is_leaf"],
                    "threshold": nodes["num_threshold"],
                    "missing_left": nodes["missing_go_to_left"],
                    "value": nodes["value"][:, None],
                }
            )
            outputs.append(output)
    return saved._hold(trees, np.array(outputs), model._baseline_prediction.ravel())


def _check_range(name: str, values: Indices, least: int, end: int) -> None:
    """Raise ValueError unless least <= values < end."""
    if len(values) and not (values.min() >= least and values.max() < end):
        raise ValueError(f"expected {name} from {least} to {end - 1}")
