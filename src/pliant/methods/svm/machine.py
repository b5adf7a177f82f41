"""What all kernel machines share: how data come in, how the parts meet, how they predict."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.core.blocks import in_blocks
from pliant.core.exceptions import NonPSDWarning
from pliant.core.fitted import forget
from pliant.core.kernels.base import FunctionKernel, Kernel
from pliant.core.kernels.named import as_kernel
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.linalg import negative_eigenvalue
from pliant.core.progress import CallbackSupport, FitProgress, with_callbacks
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_gram, check_points, stack_level
from pliant.methods.svm.rows import DenseRows

__all__ = ["KernelMachine", "Task", "finite_gram"]


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


class KernelMachine(CallbackSupport, BaseEstimator):
    """A learned kernel with coefficients.

    A subclass states the problem and runs the solver in `_learn`, which leaves ``kernel_``,
    ``dual_coef_``, ``intercept_``, ``support_`` and ``support_vectors_``.
    """

    kernel: Any
    gamma: float | str
    n_iter_: Any

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise for the first hyper-parameter that is out of range."""

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


_OF_ONE_FUNCTION = frozenset(
    {"kernel_", "dual_coef_", "intercept_", "support_", "support_vectors_", "dual_gap_",
     "objective_", "objective_constant_", "objective_history_", "gap_history_", "step_history_",
     "eta_", "adaptation_", "shape_matrix_", "shape_factor_", "rank_", "lower_bound_",
     "relative_gap_", "part_labels_", "part_centres_", "part_gaps_", "part_seconds_"}
)  # fmt: skip
