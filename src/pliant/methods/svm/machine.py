"""What support vector machines (SVMs) share: storing what they learned, and predicting with it.

The ``fit`` of each family states the `TrainingData`, learns one `LearnedFunction` per problem and
stores both. `SVMClassifier` and `SVMRegressor` have the first step and the last.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import (
    ClassifierMixin,
    ConvergenceWarning,
    NestedSettings,
    RegressorMixin,
    check_is_fitted,
    clone,
)
from pliant.core.form import FINITE, Object, Part, SavedForm, indices, shown
from pliant.core.parameters import (
    Constraint,
    check_flag,
    moderate_number,
    real_number,
    step_limit,
)
from pliant.core.progress import CallbackSupport
from pliant.core.state import reads, snapshot
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_finite, stack_level, validate_data
from pliant.kernels.base import Kernel, KernelOn
from pliant.methods.summary import FunctionSummary, Summary
from pliant.methods.svm.problem import (
    LearnedFunction,
    SVMProblem,
    TrainingData,
    classification_data,
    expansion,
    regression_data,
    takes_gram_matrix,
)

REMEDY = "lower C, or scale the features and y"
"""Advice in the error for nonfinite fitted attributes."""


def votes(decisions: Sequence[Array], n_classes: int) -> Array:
    """Return one-vs-one votes plus scaled sums of decision values, shape (m, n_classes).

    `decisions` holds the values of the pairs (0, 1), (0, 2), ..., (1, 2), ..., each of shape (m,)
    and positive for the second class. The scaled sums, in (-1/3, 1/3), break ties.
    """
    # votes + S / (3 (|S| + 1)), with S the signed sum of the decision values of a class
    counts, sums = np.zeros((2, len(decisions[0]), n_classes))
    for (low, high), f in zip(combinations(range(n_classes), 2), decisions, strict=True):
        counts[:, low] += f <= 0
        counts[:, high] += f > 0
        sums[:, low] -= f
        sums[:, high] += f
    return np.asarray(counts + sums / (3.0 * (np.abs(sums) + 1.0)))


class BaseSVM(CallbackSupport, NestedSettings):
    """A support vector machine with a learned kernel, as it is after its fit.

    A subclass provides ``fit`` and the abstract methods.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "C": moderate_number(),
        "tol": real_number(above=0),
        "max_iter": step_limit,
        "verbose": check_flag,
    }

    _form: ClassVar[SavedForm] = {
        "kernel_": KernelOn("support_vectors_"),
        "support_": indices("support"),
        "support_vectors_": Part("f8", ("support", "coordinates"), sparse=True),
        "dual_coef_": Part("f8", ("support",), low=-FINITE, high=FINITE),
        "intercept_": real_number(),
        "objective_history_, gap_history_": shown("checks"),
        "part_labels_": indices("samples", below="parts", optional=True),
        "part_centres_": Part("f8", ("parts", "coordinates"), optional=True),
        "part_gaps_, part_seconds_": shown("parts", optional=True),
    }
    """The form of one function."""

    _form_of_pairs: ClassVar[SavedForm] = {
        "estimators_": Object(CallbackSupport, axis="pairs", sizes={"n_features_in_": "features"}),
        "n_iter_": indices("pairs"),
    }
    """The form of a classifier with one function per pair of classes."""

    _drawings: ClassVar[frozenset[str]] = frozenset()
    """Plots for one function."""

    _finite: ClassVar[tuple[str, ...]]
    """Fitted attributes of one function that must be finite."""

    C: float
    tol: float
    max_iter: int
    verbose: bool

    kernel_: Kernel
    support_: Indices
    support_vectors_: Array
    dual_coef_: Array
    intercept_: float | Array
    objective_: float
    dual_gap_: float
    n_iter_: int | Indices
    objective_history_: Array
    gap_history_: Array
    estimators_: list[Self]

    @reads
    def summary(self) -> Summary:
        """Return a summary with one function or, for more than two classes, one per pair.

        The details of a function are ``eta`` (DANK and KNPL) or ``rank``, the rank of P (TKL and
        GKL), and ``parts``, the number of parts of a fit with ``partition``. For TKL and GKL,
        ``n_iter`` is the number of SVMs solved.
        """
        check_is_fitted(self)
        members = getattr(self, "estimators_", [self])
        several = members[0] is not self
        pairs = combinations(self.classes_.tolist(), 2) if several else [None]
        functions = tuple(
            FunctionSummary(
                estimator=each,
                n_support=len(each.support_),
                n_iter=int(each.n_iter_),
                objective=float(each.objective_),
                gap=float(each.dual_gap_),
                relative_gap=float(each.relative_gap_),
                classes=classes,
                details=each._details(),
            )
            for each, classes in zip(members, pairs, strict=True)
        )
        return Summary(
            functions=functions,
            kernel=None if several else self.kernel_,
            base_kernel=getattr(members[0].kernel_, "base", None),
            n_support=len(np.unique(np.concatenate([each.support_ for each in members]))),
            drawings=self._drawings,
        )

    @abstractmethod
    def _training_data(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> TrainingData:
        """Check the training data, and state the problems; set ``n_features_in_``."""

    @abstractmethod
    def _store(self, data: TrainingData, functions: Sequence[LearnedFunction]) -> None:
        """Set the fitted attributes, in the units of y."""

    @abstractmethod
    def _details(self) -> Mapping[str, Any]:
        """Return details of one function for `summary`, such as ``eta`` or ``rank``."""

    @property
    def upper_bound_(self) -> float:
        """Upper bound on the optimum: a problem that is minimised has it at the solution."""
        return float(self.objective_)

    @property
    @reads
    def relative_gap_(self) -> float:
        """The gap relative to the objective, as for ``tol``."""
        return float(self.dual_gap_ / abs(self.objective_)) if self.dual_gap_ else 0.0

    def _expand(self, X: Array) -> Array:
        """Return kernel_(X, support_vectors_) @ dual_coef_ + intercept_, shape (m,)."""
        if len(self.support_) == 0:
            return np.full(X.shape[0], self.intercept_)
        vectors, coefficients = self.support_vectors_, self.dual_coef_
        return expansion(self.kernel_, X, vectors, coefficients, self.intercept_)

    def _checked_input(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        points: Array = validate_data(self, X, reset=False, dtype=np.float64)
        return points

    def __sklearn_is_fitted__(self) -> bool:
        return "kernel_" in vars(self) or "estimators_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = takes_gram_matrix(self)
        tags.input_tags.sparse = self._takes_sparse()
        return tags

    def _takes_sparse(self) -> bool:
        """Return True if X may be sparse."""
        return False

    def __getattr__(self, name: str) -> Any:
        fitted = self.__dict__.get("estimators_")
        learned = name.endswith("_") and not name.endswith("__")
        if learned and fitted and hasattr(fitted[0], name):
            raise AttributeError(
                f"{type(self).__name__} has one function per pair of classes: "
                f"use estimators_[k].{name}"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _table(self) -> str:
        """The name of the form that the fitted attributes have."""
        return "_form_of_pairs" if "estimators_" in vars(self) else "_form"

    def _check_loaded(self) -> None:
        members, k = getattr(self, "estimators_", [self]), len(getattr(self, "classes_", (0, 1)))
        n_pairs = k * (k - 1) // 2
        if len(members) != n_pairs or {type(each) for each in members} != {type(self)}:
            raise ValueError(f"expected {n_pairs} estimators of this class, got {len(members)}")
        for fitted in members:
            check_finite(fitted, fitted._finite, REMEDY)


def _store_function(each: BaseSVM, problem: SVMProblem, function: LearnedFunction) -> None:
    """Set the fitted attributes of one function, in the units of y."""
    support = np.flatnonzero(function.beta)
    each.kernel_ = function.kernel
    each.support_ = problem.members[support]
    each.support_vectors_ = problem.points[support]
    # y = centre + scale * target
    each.dual_coef_ = problem.scale * function.beta[support]
    each.intercept_ = problem.centre + problem.scale * function.intercept
    each.objective_, each.dual_gap_ = function.objective, function.gap
    each.n_iter_ = function.n_iter
    # Each row of the history is (n_iter, objective, gap).
    columns = np.array(function.history, dtype=np.float64).T.copy()
    _, each.objective_history_, each.gap_history_ = columns
    vars(each).update(function.attributes)
    check_finite(each, ("dual_coef_", "intercept_", *each._finite), REMEDY)


def _warn_of_gaps(functions: Sequence[LearnedFunction]) -> None:
    """Warn about gaps larger than ``tol``."""
    reports = [each.warning for each in functions if each.warning]
    if not reports:
        return
    text = reports[0]
    if len(functions) > 1:
        text = f"{len(reports)} of {len(functions)} class pairs did not converge; first: {text}"
    warnings.warn(text, ConvergenceWarning, stacklevel=stack_level())


@dataclass(kw_only=True, eq=False, repr=False)
class SVMClassifier(ClassifierMixin, BaseSVM):
    """Base class of classifiers; multiclass problems use one-vs-one voting.

    With more than two classes, ``estimators_`` holds a fitted binary classifier for each pair
    (0, 1), (0, 2), ..., (1, 2), ...
    """

    class_weight: dict[Any, float] | Literal["balanced"] | None = None
    classes_: npt.NDArray[Any] = field(init=False)

    def _training_data(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> TrainingData:
        return classification_data(self, X, y, sample_weight)

    def _store(self, data: TrainingData, functions: Sequence[LearnedFunction]) -> None:
        """Set the fitted attributes; with more than two classes, fit one estimator per pair."""
        assert data.classes is not None
        self.classes_ = data.classes
        if len(functions) == 1:
            _store_function(self, data.problems[0], functions[0])
        else:
            unfitted = clone(self)
            pairs: list[Any] = [
                self._of_pair(unfitted, pair) for pair in combinations(data.classes, 2)
            ]
            for each, problem, function in zip(pairs, data.problems, functions, strict=True):
                _store_function(each, problem, function)
            self.n_iter_ = np.array([each.n_iter_ for each in pairs])
            self.estimators_ = pairs
        _warn_of_gaps(functions)

    def _of_pair(self, unfitted: Self, pair: tuple[Any, Any]) -> Self:
        """Return a copy of an unfitted clone for two of the classes; the pairs share parameters."""
        each: Self = snapshot(unfitted)
        each.classes_ = np.array(pair, dtype=self.classes_.dtype)
        for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
            setattr(each, name, getattr(self, name))
        return each

    @reads
    @blas_limited
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; also a sparse matrix if ``fit`` takes one. For kernel="precomputed" of DANK and
            KNPL, kernel values of shape (n_samples, n_training_samples).

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            Two classes: f(x) = sum_j beta_j k(x, x_j) + b, positive for ``classes_[1]``.
            Multiclass: one-vs-one votes plus sums of decision values, scaled to (-1/3, 1/3).
        """
        points = self._checked_input(X)
        if "estimators_" not in vars(self):
            return self._expand(points)
        return votes(self._pair_decisions(points), len(self.classes_))

    def _pair_decisions(self, points: Array) -> Sequence[Array]:
        """Return the decision values of each pair of classes."""
        return [each._expand(points) for each in self.estimators_]

    @reads
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the predicted classes, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; also a sparse matrix if ``fit`` takes one. For kernel="precomputed" of DANK and
            KNPL, kernel values of shape (n_samples, n_training_samples).
        """
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[codes])


@dataclass(kw_only=True, eq=False, repr=False)
class SVMRegressor(RegressorMixin, BaseSVM):
    """Base class of epsilon-regression estimators; ``scale_target`` standardises the target."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "epsilon": real_number(least=0),
        "scale_target": check_flag,
    }

    epsilon: float = 0.1
    scale_target: bool = True

    def _training_data(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> TrainingData:
        return regression_data(self, X, y, sample_weight)

    def _store(self, data: TrainingData, functions: Sequence[LearnedFunction]) -> None:
        """Set the fitted attributes, in the units of y."""
        _store_function(self, data.problems[0], functions[0])
        _warn_of_gaps(functions)

    @reads
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predicted targets, in the units of y, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; also a sparse matrix if ``fit`` takes one. For kernel="precomputed" of DANK and
            KNPL, kernel values of shape (n_samples, n_training_samples).
        """
        return self._expand(self._checked_input(X))
