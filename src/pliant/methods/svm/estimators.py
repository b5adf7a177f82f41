"""Common ground of the estimators with a support vector machine: data, classes, paths over C.

A family of methods states its problem and runs its solver in `_learn`. The rest of ``fit``,
``predict`` and ``decision_function`` is here.
"""

from __future__ import annotations

import inspect
import re
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.progress import CallbackSupport, FitProgress, with_callbacks
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Callback, Indices, Mask
from pliant.core.validation import (
    Constraint,
    check_finite,
    check_flag,
    check_integer,
    check_parameters,
    check_points,
    check_row_numbers,
    check_targets,
    check_weights,
    class_codes,
    fresh,
    plain,
    real_number,
    stack_level,
    validate_data,
)
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Precomputed
from pliant.methods.summary import Convergence, FunctionSummary, Summary
from pliant.methods.svm.dual import MarginDual, svc_dual, svr_dual
from pliant.methods.svm.rows import DenseRows, Rows

Kind = TypeVar("Kind", bound=type[Any])


@dataclass(frozen=True, eq=False)
class Task:
    """One real-valued function to learn.

    It is learned from the `points` of positive weight, in the user's units, shape (n_samples,
    n_features), whose row numbers in the training data are `members`, and from their `weights`. The
    `target` holds -1.0 and +1.0, or real numbers: centre + scale * target in the user's units.

    `kernel` is the base kernel, and `psd` is whether its Gram matrix is positive semi-definite.
    `all_rows` is the Gram matrix of all training points, or what stands for it where a family
    learns from several; None where it is not kept whole, or the kernel has yet to be learned.
    """

    kernel: Kernel
    points: Array
    members: Indices
    target: Array
    weights: Array
    all_rows: Any
    psd: bool
    centre: float = 0.0
    scale: float = 1.0

    def subset(self, chosen: Indices) -> Task:
        """Return the task on some of its points, given by their positions in `points`."""
        return replace(
            self, points=self.points[chosen], members=self.members[chosen],
            target=self.target[chosen], weights=self.weights[chosen],
        )  # fmt: skip


class WarmStart(NamedTuple):
    """The solution of the same problem for another C, and how much larger C is now."""

    beta: Array
    growth: float = 1.0


def _check_step_limit(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a number of steps >= 1, or -1 for no limit."""
    if check_integer(name, value, least=-1) == 0:
        raise ValueError(f"expected {name} >= 1, or -1 for no limit, got 0")


def finite_gram(kernel: Kernel, points: Array) -> Array:
    """Return the kernel values between points, shape (m, m), if they are finite."""
    gram = points
    if not isinstance(kernel, Precomputed):
        gram = kernel(points)
    elif kernel.gram is not points:  # else kernel="precomputed"
        gram = kernel.gram if kernel.names_all(points) else kernel(points)
        gram = np.asarray(gram, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = gram.sum()
    if not np.isfinite(total):
        raise ValueError(
            f"expected finite kernel values with a finite sum, got up to {np.abs(gram).max():.3g} "
            f"from {type(kernel).__name__}; scale the features"
        )
    return gram


def expansion(
    kernel: Kernel, X: Array, vectors: Array, coefficients: Array, intercept: Any = 0.0
) -> Array:
    """Return kernel(X, vectors) @ coefficients + intercept, in blocks of rows of X.

    The shape is (m,), or (m, k) for coefficients of shape (n, k). Raises ValueError where a value
    leaves the range of floats.
    """
    values: Array = in_blocks(
        X, len(vectors), lambda some: kernel(some, vectors) @ coefficients + intercept
    )
    return values


def votes(decisions: Sequence[Array], n_classes: int) -> Array:
    """Return the votes of all pairs of classes, plus their scaled sums of decision values.

    `decisions` holds the values of the pairs (0, 1), (0, 2), ..., (1, 2), ..., each of shape (m,)
    and positive for the second class. The sums, in (-1/3, 1/3), break ties. Shape (m, n_classes).
    """
    counts, sums = np.zeros((2, len(decisions[0]), n_classes))
    for (low, high), f in zip(combinations(range(n_classes), 2), decisions, strict=True):
        counts[:, low] += f <= 0
        counts[:, high] += f > 0
        sums[:, low] -= f
        sums[:, high] += f
    return np.asarray(counts + sums / (3.0 * (np.abs(sums) + 1.0)))


class BaseSVM(CallbackSupport, BaseEstimator):
    """A learned kernel with coefficients that solve the dual of a support vector machine.

    A subclass states the problem and runs the solver in `_learn`, which sets ``kernel_``,
    ``dual_coef_``, ``intercept_``, ``support_``, ``support_vectors_``, ``objective_``,
    ``dual_gap_`` and ``n_iter_``, and has ``relative_gap_``.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "C": real_number(above=0),
        "tol": real_number(above=0),
        "max_iter": _check_step_limit,
        "verbose": check_flag,
    }

    _drawings: ClassVar[frozenset[str]] = frozenset({"gram"})
    """What can be drawn of one function, besides its convergence."""

    _finite: ClassVar[tuple[str, ...]]
    """Fitted attributes of one function that hold finite numbers."""

    C: float
    tol: float
    max_iter: int
    verbose: bool
    n_iter_: Any

    @blas_limited
    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn the kernel and its coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training data, dense and finite; for kernel="precomputed" the Gram matrix, of
            shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Class labels of any type, or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C, each >= 0. Samples of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or data that cannot be learned from.
        """
        with fresh(self), np.errstate(over="ignore", invalid="ignore"):
            check_parameters(self)
            tasks = self._prepare(X, y, sample_weight)
            progress = FitProgress(self, X, y)
            self._complete(tasks, [None] * len(tasks), progress)
            self._check_finite()
            progress.end()
        return self

    def _check_finite(self) -> None:
        """Raise ValueError unless what was learned are finite numbers."""
        for fitted in getattr(self, "estimators_", [self]):
            names = ("dual_coef_", "intercept_", *fitted._finite)
            check_finite(fitted, names, "lower C, or scale the features and y")

    def summary(self) -> Summary:
        """Return a summary of the fitted estimator.

        Returns
        -------
        Summary
            With one function for two classes or a regression, and one for each pair of more
            classes. The details of each are ``eta`` and ``parts`` (DANK and KNPL), or ``rank``,
            the rank of P (TKL and GKL), whose convergence counts support vector machines solved.
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
        """Return facts of one function for `summary`, such as ``eta`` or ``rank``."""

    @abstractmethod
    def _convergence(self) -> Convergence:
        """Return the gaps at each check of the solver of one function, for `summary`."""

    @abstractmethod
    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        """Check the data; return the functions to learn."""

    @abstractmethod
    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        """Return a function from a Gram matrix to the dual of the plain SVM of this task."""

    @abstractmethod
    def _learn(self, task: Task, start: WarmStart | None, callback: Callback) -> Array:
        """Learn one function; set the fitted attributes; return what a path may start from."""

    def _complete(
        self, tasks: list[Task], starts: Sequence[WarmStart | None], callback: Callback
    ) -> list[Array]:
        """Learn the only function, in place; return what a path may start from."""
        return [self._learn(tasks[0], starts[0], callback)]

    @abstractmethod
    def _common(self, X: Array, used: Mask) -> tuple[Kernel, DenseRows | None, bool]:
        """Return what all tasks share: the kernel, its Gram matrix, and whether that is PSD.

        Samples that are not `used` have a weight of zero.
        """

    @property
    def _precomputed(self) -> bool:
        kernel = vars(self).get("kernel")
        return isinstance(kernel, str) and kernel == "precomputed"

    def _points(self, X: Array, members: Indices) -> Array:
        """Return some training points; for a precomputed kernel, their row numbers."""
        return members[:, None].astype(np.float64) if self._precomputed else X[members]

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
        """Whether a fit came to its end."""
        return "kernel_" in vars(self) or "estimators_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Let scikit-learn slice a precomputed Gram matrix on both sides."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def __getattr__(self, name: str) -> Any:
        """Explain why an estimator of more than two classes has no single kernel."""
        fitted = self.__dict__.get("estimators_")
        if fitted and name.endswith("_") and hasattr(fitted[0], name):
            raise AttributeError(
                f"{type(self).__name__} learned one function for each pair of classes: "
                f"use estimators_[k].{name}"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        members = getattr(self, "estimators_", [self])
        n_classes = len(getattr(self, "classes_", (0, 1)))
        if len(members) != n_classes * (n_classes - 1) // 2:
            raise ValueError(f"expected an estimator for each pair of {n_classes} classes")
        for fitted in members:
            vectors = check_points(fitted.support_vectors_, "support_vectors_")
            coefficients = np.asarray(fitted.dual_coef_)
            if coefficients.shape != (len(vectors),) or len(fitted.support_) != len(vectors):
                raise ValueError(
                    f"expected {len(vectors)} coefficients, got shape {coefficients.shape}"
                )
            check_row_numbers("support_", fitted.support_)
            if not np.isfinite(np.append(coefficients, fitted.intercept_)).all():
                raise ValueError("expected finite coefficients")
            if not isinstance(fitted.kernel_, Kernel):
                raise ValueError(f"expected a kernel, got {type(fitted.kernel_).__name__}")
            fitted.kernel_._check_pair(vectors, vectors)
        self._check_finite()


class SVMClassifier(ClassifierMixin, BaseSVM):
    """Classification: one function for two classes, one for each pair of more classes.

    With more than two classes, ``estimators_`` holds a fitted classifier of two classes for each
    pair (0, 1), (0, 2), ..., (1, 2), ...; they vote.
    """

    class_weight: Any

    @blas_limited
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the decision values, from which `predict` chooses the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For kernel="precomputed", kernel values of shape (n_samples, n_training_samples).

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            Two classes: f(x) = sum_j beta_j k(x, x_j) + b, positive for ``classes_[1]``. More:
            the votes of the pairs, plus the sums of their decision values, scaled to
            (-1/3, 1/3).
        """
        points = self._checked_input(X)
        if "estimators_" not in vars(self):
            return self._expand(points)
        return votes(self._pair_decisions(points), len(self.classes_))

    def _pair_decisions(self, points: Array) -> Sequence[Array]:
        """Return the decision values of each pair of classes."""
        return [each._expand(points) for each in self.estimators_]

    @blas_limited
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For kernel="precomputed", kernel values of shape (n_samples, n_training_samples).

        Returns
        -------
        array of shape (n_samples,)
        """
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        return partial(svc_dual, signs=task.target, C=self.C * task.weights, psd=task.psd)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = class_codes(y)
        weights = check_weights(sample_weight, X)
        present = np.unique(codes[weights > 0])
        if len(present) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: "
                f"{plain(self.classes_[present[0]])!r}"
            )
        weights = weights * self._class_factors(y)[codes]
        kernel, rows, psd = self._common(X, weights > 0)
        tasks = []
        for low, high in combinations(range(len(self.classes_)), 2):
            members = np.flatnonzero(((codes == low) | (codes == high)) & (weights > 0))
            signs = np.where(codes[members] == high, 1.0, -1.0)
            if len(np.unique(signs)) < 2:
                raise ValueError(
                    f"expected samples of positive weight in both classes "
                    f"{plain(self.classes_[low])!r} and {plain(self.classes_[high])!r}"
                )
            points = self._points(X, members)
            tasks.append(Task(kernel, points, members, signs, weights[members], rows, psd))
        return tasks

    def _class_factors(self, y: Array) -> Array:
        """Return the factor of C of each class."""
        try:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"expected class_weight None, 'balanced' or a dict of the classes, "
                f"got {self.class_weight!r}: {error}"
            ) from None
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise ValueError(f"expected class weights > 0, got {self.class_weight!r}")
        return np.asarray(factors, dtype=np.float64)

    def _complete(
        self, tasks: list[Task], starts: Sequence[WarmStart | None], callback: Callback
    ) -> list[Array]:
        if len(tasks) == 1:
            return super()._complete(tasks, starts, callback)
        fitted, solutions = [], []
        pairs = combinations(self.classes_, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            for task, start, pair in zip(tasks, starts, pairs, strict=True):
                each = self._for_pair(pair)
                solutions.append(each._learn(task, start, callback))
                fitted.append(each)
        _warn_once(caught, len(tasks))
        self.n_iter_ = np.array([each.n_iter_ for each in fitted])
        self.estimators_ = fitted
        return solutions

    def _for_pair(self, pair: tuple[Any, Any]) -> Self:
        """Return an estimator of two of the classes, still without its function."""
        each = clone(self)
        each.classes_ = np.array(pair, dtype=self.classes_.dtype)
        for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
            setattr(each, name, getattr(self, name))
        return each


def _warn_once(caught: list[warnings.WarningMessage], n_pairs: int) -> None:
    """Give the warnings of all pairs of classes; one for all that are about convergence."""
    convergence = [w.message for w in caught if issubclass(w.category, ConvergenceWarning)]
    for other in caught:
        if not issubclass(other.category, ConvergenceWarning):
            warnings.warn(other.message, stacklevel=stack_level())
    if convergence:
        text = f"{len(convergence)} of {n_pairs} pairs of classes; the first: {convergence[0]}"
        warnings.warn(text, ConvergenceWarning, stacklevel=stack_level())


class SVMRegressor(RegressorMixin, BaseSVM):
    """Epsilon-regression: one real function, of a scaled target if ``scale_target``."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseSVM._constraints,
        "epsilon": real_number(least=0),
        "scale_target": check_flag,
    }

    epsilon: float
    scale_target: bool

    @blas_limited
    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predicted targets, in the units of y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For kernel="precomputed", kernel values of shape (n_samples, n_training_samples).

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._expand(self._checked_input(X))

    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        return partial(
            svr_dual, target=task.target, C=self.C * task.weights, epsilon=float(self.epsilon),
            psd=task.psd,
        )  # fmt: skip

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = check_targets(y)
        weights = check_weights(sample_weight, X)
        members = np.flatnonzero(weights > 0)
        target, centre, scale = scaled_target(y[members], self.scale_target)
        kernel, rows, psd = self._common(X, weights > 0)
        points = self._points(X, members)
        return [Task(kernel, points, members, target, weights[members], rows, psd, centre, scale)]


def scaled_target(y: Array, scale_target: bool) -> tuple[Array, float, float]:
    """Return target, centre and scale such that y = centre + scale * target.

    The target has mean 0, and standard deviation 1 if `scale_target`. Centring changes an
    intercept only, and keeps large offsets out of the sums.
    """
    centre, spread = float(y.mean()), float(y.std())
    if spread <= 1e-12 * abs(centre):
        raise ValueError(f"expected a target that varies, got y = {centre:g} in all {len(y)} rows")
    scale = spread if scale_target else 1.0
    return (y - centre) / scale, centre, scale


@blas_limited
def C_path(
    estimator: BaseSVM,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    Cs: Sequence[float],
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> list[Any]:
    """Fit one estimator for each C, sharing the Gram matrix and starting warm.

    Each estimator equals one that is fitted by itself, to the tolerance of the estimator; together
    they cost less, which is what cross-validation over C needs. (`TKLClassifier` and the like,
    whose Gram matrix depends on C, are fitted one by one; `MKLClassifier` and `MKLRegressor` share
    the Gram matrices, and do not start warm.)

    Parameters
    ----------
    estimator : BaseSVM
        Such as a `DANKClassifier`; it is cloned, not changed.
    X, y, sample_weight : array-like
        What its ``fit`` takes.
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
        raise ValueError("expected at least one C, got none")
    models = [clone(estimator).set_params(C=C) for C in Cs]
    for model in models:
        check_parameters(model)
    tasks = models[0]._prepare(X, y, sample_weight)
    shared = {name: value for name, value in vars(models[0]).items() if name.endswith("_")}
    starts: list[WarmStart | None] = [None] * len(tasks)
    rising = np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable")
    for position, here in enumerate(rising):
        vars(models[here]).update(shared)
        with np.errstate(over="ignore", invalid="ignore"):
            solutions = models[here]._complete(tasks, starts, callback=lambda _: False)
        models[here]._check_finite()
        if position + 1 < len(rising):
            growth = float(Cs[rising[position + 1]]) / float(Cs[here])
            starts = [WarmStart(beta, growth) for beta in solutions]
    return models


def documented_as(other: type[Any], *, without: Sequence[str] = ()) -> Callable[[Kind], Kind]:
    """Complete the docstring of a class by that of a similar one.

    Parameters and attributes that the class does not describe itself are described as `other`
    describes them; of the attributes, those in `without` are not there.
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
    """Return the entries of a section of a docstring by their names."""
    body = re.split(rf"^{section}\n-+\n", doc, flags=re.MULTILINE)[1].split("\n\n")[0]
    return {entry.split(" : ")[0]: entry for entry in re.split(r"\n(?=\S)", body)}
