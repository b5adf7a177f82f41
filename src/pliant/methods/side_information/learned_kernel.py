"""A learner of kernels and a machine that takes kernel values, joined into one estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    ClassifierMixin,
    RegressorMixin,
    is_regressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_integer, fresh, plain
from pliant.methods.side_information.information.information import label_vector, where_equal
from pliant.methods.side_information.learned_machine import LearnedKernelMachine, machine_has

__all__ = ["LearnedKernelClassifier", "LearnedKernelRegressor"]


class LearnedKernelClassifier(ClassifierMixin, LearnedKernelMachine):
    """Learn a kernel from labels, then a classifier on it: as one estimator.

    Cross-validation then learns the kernel again in every fold. Choosing settings with a kernel
    that was learned once from all labels lets the held-out labels in.

    Parameters
    ----------
    learner : estimator, optional
        What learns the kernel: `SCGLogDetLearner` (the default), `OrderSpectralLearner`,
        `LogDetLearner`, or any estimator that has a ``kernel_`` after ``fit(X, y)``.
    machine : estimator, optional
        A classifier that takes kernel values: by default ``SVC(kernel="precomputed")``.
    unlabeled : object, optional
        The value in y of points of unknown class. The kernel is learned with them; the machine is
        fitted without. None: all points are labelled. A score over rows that include them counts
        them as errors, as no prediction is this value: give a search a scorer that leaves them out.
    unit_variance : bool, default=True
        Whether the learned kernel is scaled so that the fit points have the variance 1 in its
        feature space, mean_i k(x_i, x_i) - mean_ij k(x_i, x_j). A strong learner shrinks the
        kernel, and the machine's C would mean something else for each strength.
    random_state : int, RandomState or None, default=None
        Handed to the learner, if given.
    memory : str, object with the interface of joblib.Memory, or None, default=None
        Where to keep fitted learners with their kernel matrices, as a pipeline of scikit-learn
        keeps its transformers: a folder, or a ``joblib.Memory``. Machines on the same rows with
        the same learner then learn the kernel once, and are the same as without; so a search
        over the machine's parameters takes less time. A learner that draws at random needs an
        int as its random state for that; it warns once, when it learns. A pickle or a model file
        of a fitted machine is without its memory.

    Attributes
    ----------
    learner_, machine_ : estimators
        Fitted.
    kernel_ : Kernel
        The learned kernel times `scale_`.
    scale_ : float
        What the kernel is multiplied by.
    support_vectors_ : array of shape (n, d)
        The labelled points: the machine takes ``kernel_(X, support_vectors_)``.
    classes_ : array of shape (p,)
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from pliant import LearnedKernelClassifier, SCGLogDetLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0))
    >>> search = GridSearchCV(model, {"learner__strength": [1.0, 100.0]}).fit(X, y)
    >>> bool(search.best_score_ > 0.95)
    True
    """

    def __init__(
        self,
        learner: Any = None,
        machine: Any = None,
        unlabeled: Any = None,
        unit_variance: bool = True,
        random_state: Any = None,
        memory: Any = None,
    ) -> None:
        self.learner = learner
        self.machine = machine
        self.unlabeled = unlabeled
        self.unit_variance = unit_variance
        self.random_state = random_state
        self.memory = memory

    _predicts = "classifier"

    def _machine(self) -> Any:
        return SVC(kernel="precomputed") if self.machine is None else self.machine

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn the kernel, then fit the machine on the labelled points.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a learner with kernel="precomputed"
        y : array-like of shape (n,)
            Classes, and `unlabeled` where they are unknown.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or data that cannot be learned from.
        TypeError
            If the learner learns no single kernel, or the machine takes no kernel values.
        """
        with fresh(self):
            self._learn_both(X, y)
        return self

    def _learn_both(self, X: npt.ArrayLike, y: npt.ArrayLike) -> None:
        points, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        if labels.dtype.kind == "O":
            labels = label_vector(labels)
        check_classification_targets(labels)
        known = ~where_equal(labels, self.unlabeled)
        self.classes_, found = np.unique(labels[known], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "expected labels of at least two classes, got one class: "
                f"{[plain(value) for value in self.classes_]}"
            )
        codes = np.full(len(labels), -1)
        codes[known] = found
        self._fit(points, codes, known, labels[known])

    @available_if(machine_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the machine's decision values, shape (m,) or (m, p)."""
        return np.asarray(self._ask("decision_function", X))

    @available_if(machine_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the machine's class probabilities, shape (m, p)."""
        return np.asarray(self._ask("predict_proba", X))


class LearnedKernelRegressor(RegressorMixin, LearnedKernelMachine):
    """Learn a kernel, then a regression on it: as one estimator.

    A learner that takes classes gets the targets cut at their quantiles.

    Parameters
    ----------
    learner : estimator, optional
        What learns the kernel: `SCGLogDetLearner` (the default), another learner from labels, or
        a regressor that has a ``kernel_`` after ``fit(X, y)``, such as `TKLRegressor`.
    machine : estimator, optional
        A regressor that takes kernel values: by default
        ``sklearn.kernel_ridge.KernelRidge(kernel="precomputed")``, which has no intercept:
        centre y.
    n_bins : int, default=5
        >= 2: classes that the targets are cut into.
    unit_variance : bool, default=True
        Whether the learned kernel is scaled so that the fit points have the variance 1 in its
        feature space, mean_i k(x_i, x_i) - mean_ij k(x_i, x_j). A strong learner shrinks the
        kernel, and the machine's alpha would mean something else for each strength.
    random_state : int, RandomState or None, default=None
        Handed to the learner, if given.
    memory : str, object with the interface of joblib.Memory, or None, default=None
        As in `LearnedKernelClassifier`.

    Attributes
    ----------
    learner_, machine_ : estimators
        Fitted.
    kernel_ : Kernel
        The learned kernel times `scale_`.
    scale_ : float
        What the kernel is multiplied by.
    support_vectors_ : array of shape (n, d)
        The machine takes ``kernel_(X, support_vectors_)``.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from pliant import LearnedKernelRegressor, SCGLogDetLearner
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LearnedKernelRegressor(SCGLogDetLearner(strength=1.0)).fit(X, y - y.mean()).predict(X).shape
    (442,)
    """

    def __init__(
        self,
        learner: Any = None,
        machine: Any = None,
        n_bins: int = 5,
        unit_variance: bool = True,
        random_state: Any = None,
        memory: Any = None,
    ) -> None:
        self.learner = learner
        self.machine = machine
        self.n_bins = n_bins
        self.unit_variance = unit_variance
        self.random_state = random_state
        self.memory = memory

    _predicts = "regressor"

    def _machine(self) -> Any:
        return KernelRidge(kernel="precomputed") if self.machine is None else self.machine

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn the kernel, then fit the machine.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a learner with kernel="precomputed"
        y : array-like of shape (n,)
            Real targets.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or data that cannot be learned from.
        TypeError
            If the learner learns no single kernel, or the machine takes no kernel values.
        """
        with fresh(self):
            self._learn_both(X, y)
        return self

    def _learn_both(self, X: npt.ArrayLike, y: npt.ArrayLike) -> None:
        bins = check_integer("n_bins", self.n_bins, least=2)
        points, targets = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2
        )
        targets = np.asarray(targets, dtype=np.float64)
        needs_classes = not is_regressor(self._learner())
        codes = _quantile_codes(targets, bins) if needs_classes else targets
        self._fit(points, codes, np.ones(len(points), dtype=bool), targets)


def _quantile_codes(targets: Array, n_bins: int) -> Indices:
    """Return the class of each target, between quantiles."""
    edges = np.unique(np.quantile(targets, np.arange(1, n_bins) / n_bins))
    for side in ("left", "right"):
        codes = np.searchsorted(edges, targets, side=side)
        if len(np.unique(codes)) > 1:
            return np.asarray(codes, dtype=np.intp)
    raise ValueError(
        f"expected targets that vary, to be cut into {n_bins} classes, got {targets[0]:g} for all"
    )
