"""A kernel learner and a classifier on kernel values, combined into one estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import in_blocks
from pliant.core.estimators import (
    BaseEstimator,
    ClassifierMixin,
    available_if,
    check_is_fitted,
    clone,
)
from pliant.core.form import Labels, Object, Part, SavedForm
from pliant.core.parameters import (
    Constraint,
    check_parameters,
    check_random_state,
    plain,
    real_number,
)
from pliant.core.state import reads, trains
from pliant.core.text import one_line
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.core.validation import (
    check_gram,
    check_labels,
    check_weights,
    positive_rows,
    stack_level,
    validate_data,
    where_equal,
)
from pliant.kernels.base import Kernel, Scaled
from pliant.kernels.standard import Precomputed
from pliant.methods.summary import Summary, summarize
from pliant.methods.supervised.learner import KernelLearner, check_learner, resolve_columns_of
from pliant.methods.supervised.scg import SCGLogDetLearner
from pliant.methods.supervised.scg_choice import unit_scale


def _has(name: str) -> Callable[[Any], bool]:
    """Return a check for `available_if` that the classifier on the kernel has a method."""

    def has(self: Any) -> bool:
        machine = self.machine_ if "machine_" in vars(self) else self._machine()
        return bool(getattr(machine, name))  # raises the classifier's AttributeError

    return has


def _warn_of_minus_one(classes: npt.NDArray[Any]) -> None:
    """Warn if -1, which the learners take for an unknown class, is one, unless +1 is the other."""
    values = set(classes.tolist()) if classes.dtype.kind in "iuf" else set()
    if -1 in values and values != {-1, 1}:
        warnings.warn(
            "-1 in y counts as a class, since unlabeled is None: pass unlabeled=-1 if it marks "
            "samples without a label, or a value that is not in y if it is a class",
            UserWarning,
            stacklevel=stack_level(),
        )


@dataclass(eq=False, repr=False)
class LearnedKernelClassifier(ClassifierMixin, BaseEstimator):
    """Learn a kernel from labels, then a classifier on the kernel, as one estimator.

    Cross-validation thus learns the kernel again in each fold. A kernel learned once from all
    labels would leak the held-out labels.

    The learned kernel is scaled to unit variance of the labelled points in feature space,
    mean_i k(x_i, x_i) - mean_ij k(x_i, x_j) = 1. Without scaling, the effect of the classifier's C
    would depend on the strength of the learner, as a large strength shrinks the kernel.

    Parameters
    ----------
    learner : estimator, optional
        Kernel learner: `SCGLogDetLearner` (the default), `OrderSpectralLearner` or
        `LogDetLearner`.
    machine : estimator, optional
        Classifier on kernel values, by default ``SVC(kernel="precomputed")``.
    unlabeled : object, optional
        The value in y that marks an unknown class. Samples with this value are used to learn the
        kernel, not to fit the classifier. The value is never predicted, so ``score`` counts such
        samples as errors: use a scorer that omits them. None means that all samples are labelled,
        while None of a learner means -1. ``fit`` therefore warns if -1 is one of several integer
        classes, unless they are -1 and +1.
    random_state : int, RandomState or None, default=None
        Random state of the learner; None leaves the learner's own random state unchanged.

    Attributes
    ----------
    learner_, machine_ : estimators
        The fitted learner and classifier.
    kernel_ : Kernel
        The learned kernel multiplied by `scale_`.
    scale_ : float
        Scale factor of the kernel.
    support_vectors_ : array of shape (n_labelled, n_features)
        The labelled points of positive weight; the input of the classifier is
        ``kernel_(X, support_vectors_)``.
    classes_ : array of shape (n_classes,)
        The sorted classes.
    n_features_in_ : int
        Number of features seen during fit.

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

    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    learner: KernelLearner | None = None
    machine: Any = None
    unlabeled: object = None
    random_state: Any = None
    _form: ClassVar[SavedForm] = {
        "learner_": Object(KernelLearner),
        "machine_": Object(BaseEstimator, sizes={"n_features_in_": "labelled"}),
        "scale_": real_number(above=0),
        "support_vectors_": Part("f8", ("labelled", "coordinates"), sparse=True),
        "classes_": Labels("classes"),
    }
    classes_: npt.NDArray[Any] = field(init=False)

    def _machine(self) -> Any:
        """Return the unfitted classifier."""
        if self.machine is not None:
            return self.machine
        from sklearn.svm import SVC

        return SVC(kernel="precomputed")

    @blas_limited
    @trains
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn the kernel from all samples, then fit the classifier on the labelled samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points. For a learner with kernel="precomputed", the kernel matrix of shape
            (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Class labels, or `unlabeled` for unknown classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the classifier. Samples of weight zero are ignored, also those without a
            label; the kernel does not depend on the size of positive weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, or the data are unsuitable.
        TypeError
            If `learner` is not a kernel learner, or `machine` is not a classifier on kernel values.
        """
        from sklearn.utils.multiclass import check_classification_targets

        check_parameters(self)
        check_random_state(self.random_state)
        points, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        if labels.dtype.kind == "O":
            labels = check_labels(labels)
        check_classification_targets(labels)
        weights = check_weights(sample_weight, points)
        known = ~where_equal(labels, self.unlabeled) & (weights > 0)
        self.classes_, known_codes = np.unique(labels[known], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "expected labels of at least two classes, got one class: "
                f"{[plain(value) for value in self.classes_]}"
            )
        if self.unlabeled is None:
            _warn_of_minus_one(self.classes_)
        codes = np.full(len(labels), -1)  # -1 for an unknown class
        codes[known] = known_codes
        machine = self._check_machine()
        self.learner_: KernelLearner = self._prepare_learner(points.shape[1])
        if self.learner_._precomputed and not weights.all():
            # row numbers as points, as new points have kernel values with all samples
            whole, used = points.copy(), np.ix_(weights > 0, weights > 0)
            whole[used] = check_gram(whole[used])
            self.learner_.set_params(kernel=Precomputed(whole))
            points = np.arange(float(len(points)))[:, None]
        _, weights, points, codes, labels = positive_rows(weights, points, codes, labels)
        rows = np.flatnonzero(codes >= 0)
        gram = self.learner_._fit(points, codes)(rows)
        # with unit variance, the effect of C does not depend on the strength
        self.scale_: float = unit_scale(gram)
        gram *= self.scale_
        given = {} if sample_weight is None else {"sample_weight": weights[rows]}
        self.support_vectors_: Array = self.learner_.support_vectors_[rows]
        self.machine_: Any = clone(machine).fit(gram, labels[rows], **given)
        return self

    def _prepare_learner(self, n_features: int) -> KernelLearner:
        """Return a clone of the learner for integer labels, with the given random state."""
        learner = SCGLogDetLearner() if self.learner is None else clone(check_learner(self.learner))
        if learner.unlabeled is not None:
            raise ValueError(
                f"expected unlabeled as a parameter of {type(self).__name__}, got a learner with "
                f"unlabeled={learner.unlabeled!r}"
            )
        if self.random_state is not None and "random_state" in learner.get_params(deep=False):
            learner.set_params(random_state=self.random_state)
        resolve_columns_of(learner, self, n_features)
        return learner.set_params(unlabeled=-1)  # marks an unknown class in the integer labels

    def _check_machine(self) -> Any:
        """Return the machine; raise TypeError unless it is a classifier on kernel values."""
        from sklearn.utils import get_tags

        machine = self._machine()
        if not hasattr(machine, "fit") or isinstance(machine, type):
            raise TypeError(f"expected machine to be an estimator, got {one_line(machine)}")
        # nearest-neighbour classifiers with metric="precomputed" are pairwise, but take distances
        names, tags = machine.get_params(deep=False), get_tags(machine)
        if "metric" in names or not tags.input_tags.pairwise:
            raise TypeError(
                'expected machine to take kernel values, with kernel="precomputed", got '
                f"{one_line(machine)}"
            )
        if tags.estimator_type != "classifier":
            raise TypeError(f"expected machine to be a classifier, got {one_line(machine)}")
        return machine

    @property
    @reads
    def kernel_(self) -> Kernel:
        """The scaled learned kernel."""
        check_is_fitted(self)
        return Scaled(self.learner_.kernel_, self.scale_)

    def _outputs(self, method: str, X: npt.ArrayLike) -> Any:
        """Call a method of the classifier on the kernel values, in blocks of samples."""
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        kernel, outputs = self.kernel_, getattr(self.machine_, method)
        support = self.support_vectors_
        width = support.shape[0]
        return in_blocks(points, width, lambda block: outputs(kernel(block, support)))

    @reads
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> Any:
        """Return the predicted class of each sample, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. For a learner with kernel="precomputed", kernel values between new and
            training points.
        """
        return self._outputs("predict", X)

    @reads
    def summary(self) -> Summary:
        """Return the functions of the classifier, the scaled kernel, and the learner's results.

        The results include ``labelled``, the number of labelled samples of positive weight, and
        ``rows``, that of all samples.
        """
        check_is_fitted(self)
        learner, machine = summarize(self.learner_), summarize(self.machine_)
        n = self.support_vectors_.shape[0]
        return Summary(
            functions=machine.functions,
            kernel=self.kernel_,
            base_kernel=learner.base_kernel,
            learner={"labelled": n, "rows": n, **learner.learner},
            n_support=machine.n_support,
        )

    def __sklearn_tags__(self) -> Any:
        """Declare that X is pairwise if the learner's X is."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        learner = self.learner if isinstance(self.learner, KernelLearner) else SCGLogDetLearner()
        inner = get_tags(learner).input_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = inner.pairwise, inner.sparse
        return tags

    @available_if(_has("decision_function"))
    @reads
    @blas_limited
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the decision values, shape (n_samples,) or (n_samples, n_classes)."""
        return np.asarray(self._outputs("decision_function", X))

    @available_if(_has("predict_proba"))
    @reads
    @blas_limited
    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the class probabilities, shape (n_samples, n_classes)."""
        return np.asarray(self._outputs("predict_proba", X))
