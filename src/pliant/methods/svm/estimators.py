"""The common ground of the support vector machines: data, tasks, classes, prediction.

An estimator of a family states its problem and runs its solver in `_learn`; the rest of ``fit``,
``predict`` and ``decision_function`` is here.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.core.blocks import in_blocks
from pliant.core.exceptions import NonPSDWarning
from pliant.core.kernels.base import FunctionKernel, Kernel
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.kernels.standard import as_kernel
from pliant.core.linalg import negative_eigenvalue
from pliant.core.progress import CallbackSupport, FitProgress, with_callbacks
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import (
    Constraint,
    Flag,
    RealNumber,
    check_gram,
    check_integer,
    check_parameters,
    check_points,
    check_weights,
    forget,
    plain,
    stack_level,
)
from pliant.methods.svm.dual import MarginDual, svc_dual, svr_dual
from pliant.methods.svm.rows import DenseRows, Rows

__all__ = [
    "BaseSVM",
    "SVMClassifier",
    "SVMRegressor",
    "StepLimit",
    "Task",
    "WarmStart",
    "finite_gram",
]


@dataclass(frozen=True, eq=False)
class Task:
    """One real-valued function to learn.

    Attributes
    ----------
    kernel : Kernel
        The base kernel.
    points : array of shape (n, d)
        The training points that take part, in the user's units.
    members : array of shape (n,)
        Their row numbers in the training data.
    target : array of shape (n,)
        -1.0 and +1.0, or real numbers.
    weights : array of shape (n,)
        Sample weights, > 0.
    all_rows : DenseRows or None
        The Gram matrix of all training points; None where it is not kept whole, or the kernel has
        yet to be learned.
    psd : bool
        Whether it is positive semi-definite.
    centre, scale : float
        The target in the user's units is centre + scale * target.
    name : str
        What tells it from the other tasks of a fit, such as "0-2"; empty where there is one.
    """

    kernel: Kernel
    points: Array
    members: Indices
    target: Array
    weights: Array
    all_rows: DenseRows | None
    psd: bool
    centre: float = 0.0
    scale: float = 1.0
    name: str = ""

    @property
    def rows(self) -> DenseRows:
        """The Gram matrix of the points; made when asked for, unless all take part.

        Only where that of all training points is kept.
        """
        assert self.all_rows is not None
        if len(self.members) == len(self.all_rows):
            return self.all_rows
        return DenseRows(self.all_rows.square(self.members))


def finite_gram(kernel: Kernel, points: Array) -> Array:
    """Return the kernel values between points, shape (m, m), if they are finite."""
    gram = kernel.gram if isinstance(kernel, Precomputed) else kernel(points)
    if not np.isfinite(gram.sum()):
        raise ValueError(
            f"expected finite kernel values, got inf or NaN from {kernel!r}; scale the features"
        )
    return gram


class WarmStart(NamedTuple):
    """The solution of the same problem for another C, and how much larger C is now."""

    beta: Array
    growth: float = 1.0


class StepLimit(NamedTuple):
    """A number of steps >= 1, or -1 for no limit."""

    def check(self, name: str, value: Any) -> object:
        """Raise ValueError unless `value` is such a number."""
        if check_integer(name, value, least=-1) == 0:
            raise ValueError(f"expected {name} >= 1, or -1 for no limit, got 0")
        return value


class BaseSVM(CallbackSupport, BaseEstimator):
    """A learned kernel with coefficients that solve the dual of a support vector machine.

    A subclass states the problem and runs the solver in `_learn`, which leaves ``kernel_``,
    ``dual_coef_``, ``intercept_``, ``support_`` and ``support_vectors_``.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "C": RealNumber(above=0),
        "tol": RealNumber(above=0),
        "max_iter": StepLimit(),
    }

    kernel: Any
    gamma: float | str
    C: float
    tol: float
    max_iter: int
    n_iter_: Any

    def _check_parameters(self) -> None:
        """Raise for the first parameter that is out of range or does not go with another."""
        check_parameters(self, self._constraints)
        self._check_combinations()

    def _check_combinations(self) -> None:
        """Raise for parameters that do not go together."""

    @abstractmethod
    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        """Return a function from a Gram matrix to the dual of the plain SVM of this task."""

    def _upper_bounds(self, task: Task) -> Array:
        """Return C times the weight of each sample, shape (n,)."""
        with np.errstate(over="ignore"):
            bounds = self.C * task.weights
        if not np.isfinite(bounds).all():
            raise ValueError(
                f"expected C times the weights to be finite, got C = {self.C:g} and a weight of "
                f"{task.weights.max():g}"
            )
        return bounds

    @abstractmethod
    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        """Check the data; return the functions to learn."""

    @abstractmethod
    def _learn(self, task: Task, start: WarmStart | None, callback: Callable[..., Any]) -> Array:
        """Learn one function; set the fitted attributes; return what a path may start from."""

    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn the kernel and its coefficients.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for kernel="precomputed"
            The training points. Dense, finite.
        y : array-like of shape (n,)
            Class labels of any type, or real targets.
        sample_weight : array-like of shape (n,), optional
            Each >= 0; multiplies C. Rows of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or data that cannot be learned from.
        """
        forget(self)
        self._check_parameters()
        tasks = self._prepare(X, y, sample_weight)
        progress = FitProgress(self, X, y)
        self._complete(tasks, [None] * len(tasks), progress)
        progress.end()
        return self

    def _complete(
        self,
        tasks: list[Task],
        starts: Sequence[WarmStart | None],
        callback: Callable[..., Any],
    ) -> list[Array]:
        """Learn the only function, in place."""
        return [self._learn(tasks[0], starts[0], callback)]

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a fit came to its end."""
        return "kernel_" in vars(self) or "estimators_" in vars(self)

    @property
    def _precomputed(self) -> bool:
        kernel = vars(self).get("kernel")
        return isinstance(kernel, str) and kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that a precomputed Gram is sliced on both sides."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def _common(self, X: Array, used: Mask) -> tuple[Kernel, DenseRows | None, bool]:
        """Return what all tasks share: the kernel, its Gram matrix, and whether that is PSD.

        Rows that are not `used` have a weight of zero.
        """
        kernel = self._base_kernel(X)
        gram, psd = self._gram(kernel, X)
        return kernel, DenseRows(gram), psd

    def _base_kernel(self, X: Array) -> Kernel:
        """Return the kernel to start from; refuse what has no margin dual."""
        kernel = as_kernel(self.kernel, X, self.gamma)
        for needed, name in (
            (kernel.symmetric, "symmetric"),
            (kernel.psd, "positive semi-definite"),
        ):
            if not needed:
                raise ValueError(
                    f"expected a {name} kernel, which {type(self).__name__} needs for a convex "
                    f"problem, got {kernel!r}"
                )
        return kernel

    def _points(self, X: Array, members: Indices) -> Array:
        """Return the points of some rows; a precomputed kernel knows them by number."""
        return members[:, None].astype(np.float64) if self._precomputed else X[members]

    def _gram(self, kernel: Kernel, X: Array) -> tuple[Array, bool]:
        """Return the training Gram matrix, and whether it is positive semi-definite."""
        gram = finite_gram(kernel, X)
        if not isinstance(kernel, Precomputed | FunctionKernel):
            return gram, True
        smallest = negative_eigenvalue(check_gram(gram))
        if smallest is not None:
            warnings.warn(
                f"the kernel matrix is not positive semi-definite: its smallest eigenvalue is "
                f"{smallest:.3g}; the problem is not convex and dual_gap_ will be nan",
                NonPSDWarning,
                stacklevel=stack_level(),
            )
        return gram, smallest is None

    def _expand(self, X: Array) -> Array:
        """Return kernel_(X, support_vectors_) @ dual_coef_ + intercept_, in blocks of rows."""
        return in_blocks(X, len(self.support_vectors_), self._expand_block)

    def _expand_block(self, X: Array) -> Array:
        if len(self.support_) == 0:
            return np.full(len(X), self.intercept_)
        return np.asarray(
            self.kernel_(X, self.support_vectors_) @ self.dual_coef_ + self.intercept_
        )

    def _checked_input(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def __getattr__(self, name: str) -> Any:
        """Explain why a machine of many classes has no single kernel."""
        if name in _OF_ONE_FUNCTION and "estimators_" in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} learned one machine per pair of classes: "
                f"use estimators_[k].{name}"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        machines = getattr(self, "estimators_", [self])
        classes = len(getattr(self, "classes_", (0, 1)))
        if len(machines) != classes * (classes - 1) // 2:
            raise ValueError(f"expected a machine per pair of {classes} classes")
        for machine in machines:
            vectors = check_points(machine.support_vectors_, "support_vectors_")
            coefficients = np.asarray(machine.dual_coef_)
            if coefficients.shape != (len(vectors),) or len(machine.support_) != len(vectors):
                raise ValueError(
                    f"expected {len(vectors)} coefficients, got shape {coefficients.shape}"
                )
            if not np.isfinite([*coefficients, machine.intercept_]).all():
                raise ValueError("expected finite coefficients")
            if not isinstance(machine.kernel_, Kernel):
                raise ValueError(f"expected a kernel, got {type(machine.kernel_).__name__}")


class SVMClassifier(ClassifierMixin, BaseSVM):
    """Classification: two classes by one function, more by one function for each pair.

    With more than two classes, ``estimators_`` holds one fitted classifier of two classes for each
    pair (0, 1), (0, 2), ..., (1, 2), ...; they vote.
    """

    class_weight: Any

    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        return partial(svc_dual, signs=task.target, C=self._upper_bounds(task), psd=task.psd)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = check_weights(sample_weight, X)
        seen = np.unique(codes[weights > 0])
        if len(seen) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[seen[0]])!r}"
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
            name = f"{low}-{high}" if len(self.classes_) > 2 else ""
            tasks.append(
                Task(kernel, points, members, signs, weights[members], rows, psd, name=name)
            )
        return tasks

    def _class_factors(self, y: Array) -> Array:
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
        self,
        tasks: list[Task],
        starts: Sequence[WarmStart | None],
        callback: Callable[..., Any],
    ) -> list[Array]:
        if len(tasks) == 1:
            return super()._complete(tasks, starts, callback)
        machines, solutions = [], []
        pairs = combinations(self.classes_, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            for task, start, pair in zip(tasks, starts, pairs, strict=True):
                machine = clone(self)
                machine.classes_ = np.array(pair, dtype=self.classes_.dtype)
                for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
                    setattr(machine, name, getattr(self, name))
                solutions.append(machine._learn(task, start, callback))
                machines.append(machine)
        _warn_once(caught, len(tasks))
        self.n_iter_ = np.array([machine.n_iter_ for machine in machines])
        self.estimators_ = machines
        return solutions

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return how decidedly each point belongs to a class.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for kernel="precomputed"

        Returns
        -------
        array of shape (m,), or (m, n_classes) for more than two classes
            Two classes: f(x) = sum_j beta_j k(x, x_j) + b, positive for ``classes_[1]``. More:
            the votes of the pairs, plus their summed decisions squeezed into (-1/3, 1/3).
        """
        points = self._checked_input(X)
        if "estimators_" not in vars(self):
            return self._expand(points)
        return self._votes(np.column_stack([m._expand(points) for m in self.estimators_]))

    def _votes(self, decisions: Array) -> Array:
        votes = np.zeros((len(decisions), len(self.classes_)))
        sums = np.zeros_like(votes)
        for (low, high), f in zip(
            combinations(range(len(self.classes_)), 2), decisions.T, strict=True
        ):
            votes[:, low] += f <= 0
            votes[:, high] += f > 0
            sums[:, low] -= f
            sums[:, high] += f
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of each point, shape (m,).

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for kernel="precomputed"
        """
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[codes])


def _warn_once(caught: list[warnings.WarningMessage], count: int) -> None:
    """Make one warning of the many that `count` machines gave about gaps left open."""
    opened = [w.message for w in caught if issubclass(w.category, ConvergenceWarning)]
    for other in caught:
        if not issubclass(other.category, ConvergenceWarning):
            warnings.warn(other.message, stacklevel=stack_level())
    if opened:
        told = f"{len(opened)} of {count} pairs of classes; the first: {opened[0]}"
        warnings.warn(told, ConvergenceWarning, stacklevel=stack_level())


class SVMRegressor(RegressorMixin, BaseSVM):
    """Epsilon-regression: one real function, of a scaled target if asked for."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseSVM._constraints,
        "epsilon": RealNumber(least=0),
        "scale_target": Flag(),
    }

    epsilon: float
    scale_target: bool

    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        bounds, epsilon = self._upper_bounds(task), float(self.epsilon)
        return partial(svr_dual, target=task.target, C=bounds, epsilon=epsilon, psd=task.psd)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        weights = check_weights(sample_weight, X)
        members = np.flatnonzero(weights > 0)
        target, centre, scale = self._scaled(y[members])
        kernel, rows, psd = self._common(X, weights > 0)
        points = self._points(X, members)
        return [Task(kernel, points, members, target, weights[members], rows, psd, centre, scale)]

    def _scaled(self, y: Array) -> tuple[Array, float, float]:
        """Return target, centre and scale such that y = centre + scale * target.

        Centring changes the intercept only, and keeps large offsets out of the sums.
        """
        size = math.ldexp(0.5, math.frexp(float(np.abs(y).max()))[1])
        unit = y / size  # in (-2, 2), to the last bit: squares neither overflow nor vanish
        centre, spread = float(unit.mean()), float(unit.std())
        if spread <= 1e-12 * abs(centre):
            raise ValueError(
                f"expected a target that varies, got y = {size * centre:g} in all {len(y)} rows"
            )
        scale = size * spread if self.scale_target else 1.0
        return (unit - centre) / (scale / size), size * centre, scale

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predicted target of each point, shape (m,), in the units of y.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for kernel="precomputed"
        """
        return self._expand(self._checked_input(X))


_OF_ONE_FUNCTION = frozenset(
    {"kernel_", "dual_coef_", "intercept_", "support_", "support_vectors_", "dual_gap_",
     "objective_", "objective_constant_", "objective_history_", "gap_history_", "step_history_",
     "eta_", "adaptation_", "shape_matrix_", "shape_factor_", "rank_", "lower_bound_",
     "relative_gap_", "part_labels_", "part_centres_", "part_gaps_", "part_seconds_"}
)  # fmt: skip
