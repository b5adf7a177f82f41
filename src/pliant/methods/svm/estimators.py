"""Base classes of support vector machine (SVM) estimators, and paths over C.

`BaseSVM.fit` sets up one SVM problem per function, builds the base kernel, solves the problems and
stores the results. A family of methods implements `_build_kernel` and `_solve`.
"""

from __future__ import annotations

import inspect
import re
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.estimators import ClassifierMixin, NestedSettings, RegressorMixin
from pliant.core.progress import CallbackSupport, FitProgress, Progress, with_callbacks
from pliant.core.state import reads, trains
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Callback, Indices
from pliant.core.validation import (
    Constraint,
    check_finite,
    check_flag,
    check_integer,
    check_parameters,
    check_points,
    check_row_numbers,
    check_targets,
    check_varies,
    check_weights,
    class_codes,
    class_factors,
    moderate_number,
    plain,
    positive_rows,
    real_number,
    stack_level,
    validate_data,
)
from pliant.kernels.base import Kernel
from pliant.methods.summary import Convergence, FunctionSummary, Summary
from pliant.methods.svm.dual import MarginDual, Rows, svc_dual, svr_dual

Kind = TypeVar("Kind", bound=type[Any])
Base = TypeVar("Base")
"""Type of a family's base kernel, with its Gram matrix if that is computed once."""

REMEDY = "lower C, or scale the features and y"
"""Advice in the error for nonfinite fitted attributes."""


@dataclass(frozen=True, eq=False)
class SVMProblem:
    """The SVM problem of one real function, for any kernel.

    `points`, shape (m, d), are the training points of positive weight, or their row numbers, shape
    (m, 1), for kernel="precomputed"; `members` holds their row numbers in the training data.
    `target` holds labels -1.0 and +1.0, or real targets t with y = centre + scale * t. `weights`
    multiply C. `epsilon` is half the width of the regression tube, or None for classification.
    """

    points: Array
    members: Indices
    target: Array
    weights: Array
    C: float
    epsilon: float | None = None
    centre: float = 0.0
    scale: float = 1.0

    def subset(self, chosen: Indices) -> SVMProblem:
        """Return the problem restricted to the positions `chosen`."""
        return replace(
            self, points=self.points[chosen], members=self.members[chosen],
            target=self.target[chosen], weights=self.weights[chosen],
        )  # fmt: skip

    def dual(self, rows: Rows, psd: bool = True) -> MarginDual:
        """Return the dual problem for the Gram matrix of the points."""
        bounds = self.C * self.weights
        # classification: 0 <= y_i beta_i <= C w_i; regression: |beta_i| <= C w_i
        if self.epsilon is None:
            return svc_dual(rows, self.target, bounds, psd=psd)
        return svr_dual(rows, self.target, bounds, self.epsilon, psd=psd)


class WarmStart(NamedTuple):
    """The solution for another C, and the ratio of the current C to that C."""

    beta: Array
    growth: float = 1.0


@dataclass(frozen=True, eq=False)
class LearnedFunction:
    """A learned function, in the units of its problem.

    `beta` holds the coefficients of all m points, and `intercept` is b, or one number per part.
    `history` holds objective and gap at each solver check; `attributes` holds further fitted
    attributes by name. `warning` reports a gap above ``tol``, and is empty otherwise.
    `path_start`, shape (m,), is the warm start for another C; `beta` by default.
    """

    kernel: Kernel
    beta: Array
    intercept: float | Array
    objective: float
    gap: float
    n_iter: int
    history: list[Progress]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    warning: str = ""
    path_start: Array | None = None


def _check_step_limit(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is an integer >= 1, or -1 for no limit."""
    if check_integer(name, value, least=-1) == 0:
        raise ValueError(f"expected {name} >= 1, or -1 for no limit, got 0")


def expansion(
    kernel: Kernel, X: Array, vectors: Array, coefficients: Array, intercept: float | Array = 0.0
) -> Array:
    """Return kernel(X, vectors) @ coefficients + intercept, computed in blocks of rows of X.

    The shape is (m,), or (m, k) for coefficients of shape (n, k). Raise ValueError if a value is
    not finite.
    """
    values: Array = in_blocks(
        X, len(vectors), lambda some: kernel(some, vectors) @ coefficients + intercept
    )
    return values


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


class BaseSVM(CallbackSupport, NestedSettings, Generic[Base]):
    """Base class of estimators that learn a kernel and solve an SVM dual with it.

    A subclass implements `_build_kernel` and `_solve`, and provides `_details` for `summary`.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "C": moderate_number(),
        "tol": real_number(above=0),
        "max_iter": _check_step_limit,
        "verbose": check_flag,
    }

    _drawings: ClassVar[frozenset[str]] = frozenset({"gram"})
    """Plots for one function, besides the convergence plot."""

    _finite: ClassVar[tuple[str, ...]]
    """Fitted attributes of one function that must be finite."""

    _step_unit: ClassVar[str]
    """Unit of the steps between two checks of the solver, for the convergence plot."""

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

    @blas_limited
    @trains
    @with_callbacks
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn the kernel and its coefficients.

        Raise ValueError if a parameter is invalid, y has a single class, or the target is constant.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, dense and finite; for kernel="precomputed", the Gram matrix of
            shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Class labels of any type, or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C, each >= 0. Samples of weight zero are ignored.
        """
        check_parameters(self)
        points, used, problems = self._state_problems(X, y, sample_weight)
        progress = FitProgress(self, X, y)
        base = self._build_kernel(points, used)
        solutions = self._solve(problems, base, [None] * len(problems), progress)
        self._store(problems, solutions)
        progress.end()
        return self

    @abstractmethod
    def _state_problems(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None
    ) -> tuple[Array, Indices, list[SVMProblem]]:
        """Return the rows of X of positive weight, their numbers, and the SVM problems.

        For kernel="precomputed", all rows of the Gram matrix are returned.
        """

    @abstractmethod
    def _build_kernel(self, X: Array, used: Indices) -> Base:
        """Build the base kernel for what `_state_problems` returns."""

    @abstractmethod
    def _solve(
        self,
        problems: Sequence[SVMProblem],
        base: Base,
        starts: Sequence[WarmStart | None],
        callback: Callback,
    ) -> list[LearnedFunction]:
        """Learn one function per problem."""

    def _store(self, problems: Sequence[SVMProblem], solutions: Sequence[LearnedFunction]) -> None:
        """Set the fitted attributes, in the units of y; warn about gaps larger than ``tol``."""
        fitted: list[Any] = [self] if len(problems) == 1 else []
        reports = []
        if len(problems) > 1:  # one estimator per pair of classes
            for pair in combinations(self.classes_, 2):
                each = clone(self)
                each.classes_ = np.array(pair, dtype=self.classes_.dtype)
                for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
                    setattr(each, name, getattr(self, name))
                fitted.append(each)
        for each, problem, solution in zip(fitted, problems, solutions, strict=True):
            support = np.flatnonzero(solution.beta)
            each.kernel_ = solution.kernel
            each.support_ = problem.members[support]
            each.support_vectors_ = problem.points[support]
            # y = centre + scale * target
            each.dual_coef_ = problem.scale * solution.beta[support]
            each.intercept_ = problem.centre + problem.scale * solution.intercept
            each.objective_, each.dual_gap_ = solution.objective, solution.gap
            each.n_iter_ = solution.n_iter
            # Each row of the history is (n_iter, objective, gap).
            columns = np.array(solution.history, dtype=np.float64).T.copy()
            _, each.objective_history_, each.gap_history_ = columns
            each.__dict__.update(solution.attributes)
            check_finite(each, ("dual_coef_", "intercept_", *each._finite), REMEDY)
            if solution.warning:
                reports.append(solution.warning)
        if len(problems) > 1:
            self.n_iter_ = np.array([each.n_iter_ for each in fitted])
            self.estimators_ = fitted
        if reports:
            text = reports[0]
            if len(problems) > 1:
                text = (
                    f"{len(reports)} of {len(problems)} class pairs did not converge; first: {text}"
                )
            warnings.warn(text, ConvergenceWarning, stacklevel=stack_level())

    @reads
    def summary(self) -> Summary:
        """Return a summary with one function or, for more than two classes, one per pair.

        The details of a function are ``eta`` and ``parts`` (DANK and KNPL), or ``rank``, the rank
        of P (TKL and GKL). For TKL and GKL, ``n_iter`` is the number of SVMs solved.
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
                convergence=each._convergence(),
            )
            for each, classes in zip(members, pairs, strict=True)
        )
        drawings = self._drawings
        if all(np.isfinite(each._convergence().gaps).all() for each in members):
            drawings |= {"convergence"}
        return Summary(
            functions=functions,
            kernel=None if several else self.kernel_,
            base_kernel=getattr(members[0].kernel_, "base", None),
            n_support=len(np.unique(np.concatenate([each.support_ for each in members]))),
            drawings=drawings,
        )

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

    def _convergence(self) -> Convergence:
        """Return the gaps of one function at each solver check, for `summary`."""
        gaps, objectives = self.gap_history_, np.abs(self.objective_history_)
        relative = np.divide(gaps, objectives, out=np.zeros_like(gaps), where=gaps != 0)
        return Convergence(
            np.arange(1.0, len(gaps) + 1), relative, float(self.tol),
            unit=self._step_unit, scale="|objective|",
        )  # fmt: skip

    @property
    def _precomputed(self) -> bool:
        kernel = vars(self).get("kernel")
        return isinstance(kernel, str) and kernel == "precomputed"

    def _expand(self, X: Array) -> Array:
        """Return kernel_(X, support_vectors_) @ dual_coef_ + intercept_, shape (m,)."""
        if len(self.support_) == 0:
            return np.full(len(X), self.intercept_)
        vectors, coefficients = self.support_vectors_, self.dual_coef_
        return expansion(self.kernel_, X, vectors, coefficients, self.intercept_)

    def _checked_input(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def __sklearn_is_fitted__(self) -> bool:
        return "kernel_" in vars(self) or "estimators_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def __getattr__(self, name: str) -> Any:
        fitted = self.__dict__.get("estimators_")
        learned = name.endswith("_") and not name.endswith("__")
        if learned and fitted and hasattr(fitted[0], name):
            raise AttributeError(
                f"{type(self).__name__} has one function per pair of classes: "
                f"use estimators_[k].{name}"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes loaded from a file are inconsistent."""
        members = getattr(self, "estimators_", [self])
        n_classes = len(getattr(self, "classes_", (0, 1)))
        if len(members) != n_classes * (n_classes - 1) // 2:
            raise ValueError(
                f"expected one estimator per pair of {n_classes} classes, got {len(members)}"
            )
        for fitted in members:
            vectors = check_points(fitted.support_vectors_, "support_vectors_")
            shape = np.shape(fitted.dual_coef_)
            if shape != (len(vectors),) or len(fitted.support_) != len(vectors):
                raise ValueError(f"expected {len(vectors)} coefficients, got shape {shape}")
            check_row_numbers("support_", fitted.support_)
            if not isinstance(fitted.kernel_, Kernel):
                raise ValueError(f"expected a kernel, got {type(fitted.kernel_).__name__}")
            fitted.kernel_._check_pair(vectors, vectors)
            check_finite(fitted, ("dual_coef_", "intercept_", *fitted._finite), REMEDY)


@dataclass(kw_only=True, eq=False, repr=False)
class SVMClassifier(ClassifierMixin, BaseSVM[Base]):
    """Base class of classifiers; multiclass problems use one-vs-one voting.

    With more than two classes, ``estimators_`` holds a fitted binary classifier for each pair
    (0, 1), (0, 2), ..., (1, 2), ...
    """

    class_weight: dict[Any, float] | Literal["balanced"] | None = None
    classes_: npt.NDArray[Any] = field(init=False)

    @reads
    @blas_limited
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For kernel="precomputed", kernel values of shape (n_samples, n_training_samples).

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
            For kernel="precomputed", kernel values of shape (n_samples, n_training_samples).
        """
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _state_problems(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None
    ) -> tuple[Array, Indices, list[SVMProblem]]:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        used, weights, points, y = positive_rows(check_weights(sample_weight, X), X, y)
        self.classes_, codes = class_codes(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[0])!r}"
            )
        # C_i = C w_i c(y_i), with sample weights w and class weights c
        weights = weights * class_factors(self.class_weight, self.classes_, y)[codes]
        if self._precomputed:
            points = as_points(used)
        problems = []
        for low, high in combinations(range(len(self.classes_)), 2):
            # label +1 for the second class, which f > 0 predicts
            pair = np.flatnonzero((codes == low) | (codes == high))
            signs = np.where(codes[pair] == high, 1.0, -1.0)
            problems.append(
                SVMProblem(points[pair], used[pair], signs, weights[pair], float(self.C))
            )
        return X if self._precomputed else points, used, problems


@dataclass(kw_only=True, eq=False, repr=False)
class SVMRegressor(RegressorMixin, BaseSVM[Base]):
    """Base class of epsilon-regression estimators; ``scale_target`` standardises the target."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "epsilon": real_number(least=0),
        "scale_target": check_flag,
    }

    epsilon: float = 0.1
    scale_target: bool = True

    @reads
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predicted targets, in the units of y, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For kernel="precomputed", kernel values of shape (n_samples, n_training_samples).
        """
        return self._expand(self._checked_input(X))

    def _state_problems(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None
    ) -> tuple[Array, Indices, list[SVMProblem]]:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = check_targets(y)
        used, weights, points, y = positive_rows(check_weights(sample_weight, X), X, y)
        # y = m + s t with mean(t) = 0, and std(t) = 1 if `scale_target`. Centring changes only the
        # intercept, and removes large offsets from the sums.
        centre, spread = float(y.mean()), float(y.std())
        check_varies("y", y, spread, 1e-12 * abs(centre))
        scale = spread if self.scale_target else 1.0
        problem = SVMProblem(
            as_points(used) if self._precomputed else points.copy(), used, (y - centre) / scale,
            weights, float(self.C), float(self.epsilon), centre, scale,
        )  # fmt: skip
        return X if self._precomputed else points, used, [problem]


def as_points(numbers: Indices) -> Array:
    """Return row numbers as the points of a precomputed kernel, shape (n, 1)."""
    return numbers.astype(np.float64)[:, None]


@blas_limited
def C_path(
    estimator: BaseSVM[Any],
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    Cs: Sequence[float],
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> list[Any]:
    """Fit one estimator per C, sharing the Gram matrix and using warm starts.

    Each estimator equals the result of ``fit`` with the same C, up to ``tol``. The path costs less
    than separate fits, for example in cross-validation over C. (TKL and GKL share nothing, as
    their Gram matrix depends on C. MKL shares the Gram matrices, but uses no warm starts.)

    Parameters
    ----------
    estimator : BaseSVM
        For example, a `DANKClassifier`; it is cloned, not modified.
    X, y, sample_weight : array-like
        Training data, as for ``fit``.
    Cs : sequence of float
        Each > 0, in any order.

    Returns
    -------
    list of estimators
        Fitted, in the order of `Cs`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from pliant import C_path, DANKClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> models = C_path(DANKClassifier(), scale(X), y, [0.1, 1, 10])
    >>> [model.C for model in models]
    [0.1, 1, 10]
    """
    if len(Cs) == 0:
        raise ValueError("expected at least one value in Cs, got none")
    models = [clone(estimator).set_params(C=C) for C in Cs]
    for model in models:
        check_parameters(model)
    points, used, problems = models[0]._state_problems(X, y, sample_weight)
    base = models[0]._build_kernel(points, used)
    shared = {name: value for name, value in vars(models[0]).items() if name.endswith("_")}
    # In order of increasing C: the solution for C, times C'/C, is feasible for a larger C'.
    starts: list[WarmStart | None] = [None] * len(problems)
    order = np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable")
    for position, index in enumerate(order):
        model, C = models[index], float(Cs[index])
        vars(model).update(shared)
        problems = [replace(problem, C=C) for problem in problems]
        solutions = model._solve(problems, base, starts, lambda _: False)
        model._store(problems, solutions)
        if position + 1 < len(order):
            growth = float(Cs[order[position + 1]]) / C
            starts = [
                WarmStart(each.beta if each.path_start is None else each.path_start, growth)
                for each in solutions
            ]
    return models


def documented_as(other: type[Any], *, without: Sequence[str] = ()) -> Callable[[Kind], Kind]:
    """Complete a class docstring with parameters and attributes described in `other`.

    Attributes named in `without` are omitted.
    """

    def complete(kind: Kind) -> Kind:
        if kind.__doc__ and other.__doc__:
            doc, model = inspect.cleandoc(kind.__doc__), inspect.cleandoc(other.__doc__)
            for section in ("Parameters", "Attributes"):
                own, theirs = _entries(doc, section), _entries(model, section)
                known = {**theirs, **own}
                names = [name for name in known if name not in without]
                if section == "Parameters":
                    names = list(inspect.signature(kind).parameters)
                doc = doc.replace("\n".join(own.values()), "\n".join(known[n] for n in names))
            kind.__doc__ = doc
        return kind

    return complete


def _entries(doc: str, section: str) -> dict[str, str]:
    """Return the entries of a docstring section by name."""
    body = re.split(rf"^{section}\n-+\n", doc, flags=re.MULTILINE)[1].split("\n\n")[0]
    return {entry.split(" : ")[0]: entry for entry in re.split(r"\n(?=\S)", body)}
