"""What the estimators of DANK and KNPL share: support vector machines with an adapted kernel."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pliant.core.exceptions import FeatureScaleWarning, NonPSDWarning
from pliant.core.linalg import negative_eigenvalue
from pliant.core.progress import Deadline
from pliant.core.text import one_line
from pliant.core.typing import Array, Callback, Mask
from pliant.core.validation import (
    Constraint,
    automatic,
    check_gram,
    check_real,
    integer,
    one_of,
    optional,
    real_number,
    stack_level,
    unlike_features,
)
from pliant.kernels.base import FunctionKernel, Kernel, made_of
from pliant.kernels.extension import GramNeighbors
from pliant.kernels.standard import (
    TL1,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    as_kernel,
)
from pliant.methods.dank.kernel import EXTENSIONS, AdaptiveMatrix, PartitionedKernel
from pliant.methods.dank.parts import solve_in_parts
from pliant.methods.dank.whole import PRECISIONS, SAMPLE, Solution, gram_rows, solve_whole
from pliant.methods.summary import Convergence
from pliant.methods.svm.estimators import BaseSVM, Task, WarmStart, expansion, finite_gram
from pliant.methods.svm.parts import DIVISION
from pliant.methods.svm.rows import DenseRows, Rows

DENSE_ROWS = 4000
"""Largest number of samples whose Gram matrix is always kept whole, if it fits; of more, the
solver reads too few rows to make all of them worth computing."""

ONE_WIDTH = (Gaussian, Laplacian, Linear, Matern, Polynomial, TL1)
"""Kernels that treat all features alike, unless their gamma has a number for each."""

AUTOMATIC_TAU = 0.01
"""The paper's tau, for Gram matrices that are kept whole."""


ADAPTATION: Mapping[str, Constraint] = {
    "eta": automatic(real_number(above=0, infinite=True)),
    "eta_scale": real_number(above=0),
    "extension": one_of(EXTENSIONS),
    "n_neighbors": integer(least=1),
    "cache_mb": real_number(above=0),
    "dtype": one_of(PRECISIONS),
    "max_seconds": optional(real_number(above=0)),
    **DIVISION,
    "prediction": one_of(("part", "whole")),
}
"""Constraints on the parameters that DANK and KNPL share."""


class BaseHadamard(BaseSVM):
    """A support vector machine whose kernel matrix is adapted entry by entry.

    A subclass has the parameters of `ADAPTATION`, and those of DANK or ``_centred = True``.
    """

    _centred: ClassVar[bool] = False
    """Whether the rows of F sum to n, as for KNPL."""

    _drawings = frozenset({"gram", "adaptation"})
    _finite = ("objective_", "objective_constant_", "objective_history_", "step_history_")

    kernel: Any
    gamma: float | str
    eta: float | str
    eta_scale: float
    extension: str
    n_neighbors: int
    cache_mb: float
    dtype: str
    max_seconds: float | None
    partition: str | None

    # Parameters of DANK only, where _centred is False.
    tau: float | str
    refine: bool

    def _check_combinations(self) -> None:
        if self.partition is not None:
            if not self._centred and self.tau and self.tau != "auto":
                raise ValueError(
                    f"expected tau = 0 or 'auto' with partition={self.partition!r}, as the trace "
                    f"of F couples all rows, got {self.tau!r}"
                )
            return
        if not self._centred and self.refine:
            raise ValueError("expected refine=False without partition='kmeans', got refine=True")

    def _common(self, X: Array, used: Mask) -> tuple[Kernel, DenseRows | None, bool]:
        kernel = self._base_kernel(X)
        self._warn_of_unlike_scales(kernel, X if used.all() else X[used])
        if isinstance(kernel, Precomputed) or self._keeps_whole(len(X), kernel.psd):
            gram, psd = self._checked_gram(kernel, X)
            return kernel, DenseRows(gram, None if self.dtype == "auto" else self.dtype), psd
        if not made_of(kernel, Precomputed, FunctionKernel):
            return kernel, None, True
        some = np.unique(np.linspace(0, len(X) - 1, SAMPLE).astype(np.intp))
        try:
            return kernel, None, self._checked_gram(kernel, X[some])[1]
        except ValueError as error:
            rows = f"tested on {len(some)} rows spread evenly over X"
            raise ValueError(f"{error} ({rows})") from None

    def _checked_gram(self, kernel: Kernel, X: Array) -> tuple[Array, bool]:
        """Return the training Gram matrix, and whether it is positive semi-definite.

        That of a kernel that declares itself indefinite must be. A matrix or a function that a
        user wrote need not: there is a warning, and no certificate.
        """
        gram = finite_gram(kernel, X)
        given = made_of(kernel, Precomputed, FunctionKernel)
        if kernel.psd and not given:
            return gram, True
        if given:
            check_gram(gram)
        if isinstance(kernel, Precomputed) and kernel.proved:
            return gram, True
        smallest = negative_eigenvalue(gram)
        if smallest is not None and not kernel.psd:
            raise ValueError(
                f"expected a Gram matrix without negative eigenvalues, which "
                f"{type(self).__name__} needs for a convex problem and its certificate, got "
                f"{smallest:.3g} from {one_line(kernel)}: choose a positive semi-definite kernel "
                "or other parameters, or give the matrix as kernel='precomputed' for a fit "
                "without a certificate"
            )
        if smallest is not None:
            warnings.warn(
                f"the kernel matrix is not positive semi-definite: its smallest eigenvalue is "
                f"{smallest:.3g}; the problem is not convex and dual_gap_ will be nan",
                NonPSDWarning,
                stacklevel=stack_level(),
            )
        return gram, smallest is None

    def _warn_of_unlike_scales(self, kernel: Kernel, X: Array) -> None:
        """Give a FeatureScaleWarning if one feature dwarfs another in a kernel of one width.

        A user who gives a number for each feature, or a function, has chosen the scales.
        """
        if not isinstance(kernel, ONE_WIDTH) or np.ndim(getattr(kernel, "gamma", 0.0)):
            return
        unlike = unlike_features(X)
        if unlike is None:
            return
        large, small, ratio = unlike
        names = getattr(self, "feature_names_in_", None)
        first, second = (
            f"column {j}" if names is None else f"{names[j]!r}" for j in (large, small)
        )
        kind = type(self).__name__
        warnings.warn(
            f"{kind} got features of very unlike scale: the standard deviation of {first} is "
            f"{ratio:.2g} times that of {second}, which the kernel hardly sees; scale the "
            f"features, as in make_pipeline(StandardScaler(), {kind}())",
            FeatureScaleWarning,
            stacklevel=stack_level(),
        )

    def _base_kernel(self, X: Array) -> Kernel:
        """Return the kernel to start from, if its values may form a Gram matrix."""
        kernel = as_kernel(self.kernel, X, self.gamma, getattr(self, "feature_names_in_", None))
        if not kernel.symmetric:
            raise ValueError(
                f"expected a symmetric kernel, which {type(self).__name__} needs for a convex "
                f"problem, got {one_line(kernel)}"
            )
        return kernel

    def _keeps_whole(self, n: int, psd: bool) -> bool:
        """Whether the Gram matrix of n points is kept: that of an indefinite kernel must be."""
        if not psd:
            self._check_provable(n)
            return True
        fits = self._fits(n)
        if self._centred:  # this rule and tau > 0 couple all samples: rows are read many times
            return fits and self.partition is None
        coupled = bool(self.tau) and self.eta != np.inf
        if coupled and self.tau != "auto" and not fits:
            raise ValueError(
                f"expected tau = 0 or 'auto' for {n} rows, whose Gram matrix takes "
                f"{8.0 * n**2 / 2**20:.0f} MB, more than cache_mb = {self.cache_mb:g}, "
                f"got {self.tau!r}"
            )
        return self.partition is None and fits and (n <= DENSE_ROWS or coupled)

    def _check_provable(self, n: int) -> None:
        """Raise ValueError unless the Gram matrix of an indefinite kernel is looked at as a whole.

        What the fit needs is a matrix without negative eigenvalues; the values of the kernel
        between new points may have any.
        """
        remedy = ""
        if self.partition is not None:
            remedy = f"leave out partition={self.partition!r}"
        elif not self._fits(n):
            remedy = f"give cache_mb of {int(8.0 * n**2 / 2**20) + 1} or more"
        if remedy:
            raise ValueError(
                f"expected a positive semi-definite kernel where the Gram matrix is not kept whole "
                f"and cannot be tested, got {one_line(self.kernel)}: {remedy}, or choose another "
                "kernel"
            )

    def _fits(self, n: int) -> bool:
        return 8.0 * n**2 <= self.cache_mb * 2.0**20

    def _rows(self, task: Task) -> Rows:
        """Return the Gram matrix of a task, whole or by rows on demand."""
        if task.all_rows is None:
            whole = DENSE_ROWS if self._fits(len(task.points)) else 0
            return gram_rows(
                task.kernel, task.points, cache_mb=self.cache_mb, dtype=self.dtype, whole=whole
            )
        if len(task.members) == len(task.all_rows):
            return task.all_rows
        return DenseRows(task.all_rows.square(task.members))

    def _rule(self, task: Task) -> dict[str, Any]:
        """Return the choice of F, as arguments of the problem and of the learned kernel."""
        if self._centred:
            return {"centred": True}
        if self.tau == "auto":
            return {"tau": 0.0 if task.all_rows is None else AUTOMATIC_TAU}
        return {"tau": float(self.tau)}

    def _complete(
        self, tasks: list[Task], starts: Sequence[WarmStart | None], callback: Callback
    ) -> list[Array]:
        return super()._complete(tasks, starts, Deadline(callback, self.max_seconds))

    def _learn(self, task: Task, start: WarmStart | None, callback: Callback) -> Array:
        solution = self._solve(task, start, callback)
        self._store(task, solution)
        return solution.path_start

    def _solve(self, task: Task, start: WarmStart | None, callback: Callback) -> Solution:
        """Learn one function."""
        if self.partition is not None:
            return solve_in_parts(self, task, callback)
        if isinstance(task.kernel, Precomputed) and self.extension != "none":
            GramNeighbors(task.kernel, task.points)  # raises now what prediction would raise
        elif self.extension != "none" and made_of(task.kernel, Precomputed):
            raise ValueError(
                f"expected extension='none', got {self.extension!r}: a kernel that is made of a "
                "Precomputed one takes row numbers, between which there is no distance"
            )
        return solve_whole(self, task, start, callback)

    def _store(self, task: Task, solution: Solution) -> None:
        """Set the fitted attributes, in the user's units."""
        kernel, result = solution.kernel, solution.result
        support = np.flatnonzero(kernel.beta)
        self.kernel_ = kernel
        self.eta_ = kernel.eta
        self.support_ = task.members[support]
        self.support_vectors_ = task.points[support]
        self.dual_coef_ = task.scale * kernel.beta[support]
        self.intercept_ = task.centre + task.scale * solution.intercept
        self.objective_constant_ = solution.constant
        self.objective_ = result.value + solution.constant
        self.dual_gap_ = result.gap
        self.n_iter_ = solution.n_iter
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps
        self.step_history_ = np.array([step.n_iter for step in result.history])
        if solution.partition is not None:
            self.part_labels_ = solution.partition.labels
            self.part_centres_ = solution.partition.centres
            self.part_gaps_ = np.array([part.gap for part in solution.part_results])
            self.part_seconds_ = np.array([part.seconds for part in solution.part_results])

    def _expand(self, X: Array) -> Array:
        kernel = self.kernel_
        if not isinstance(kernel, PartitionedKernel) or kernel.between == "one":
            return super()._expand(X)
        # The kernel is zero between parts: leave these values out.
        values = np.full(len(X), float(self.intercept_))
        place, owners = kernel.place(X), kernel.labels[kernel.support]
        for p in np.unique(place):
            rows, mine = np.flatnonzero(place == p), owners == p
            if mine.any():
                vectors, coefficients = self.support_vectors_[mine], self.dual_coef_[mine]
                values[rows] += expansion(kernel.parts[p], X[rows], vectors, coefficients)
        return values

    @property
    def relative_gap_(self) -> float:
        """dual_gap_ as ``tol`` measures it, in units of 1 + abs(objective - constant)."""
        return float(self.dual_gap_ / (1.0 + abs(self.objective_ - self.objective_constant_)))

    @property
    def adaptation_(self) -> AdaptiveMatrix:
        """F on the training points (those of positive weight), never formed unless asked for."""
        return self.kernel_.adaptation()

    def _details(self) -> Mapping[str, Any]:
        details: dict[str, Any] = {} if self.eta == np.inf else {"eta": self.eta_}
        if isinstance(self.kernel_, PartitionedKernel):
            details["parts"] = len(self.kernel_.centres)
        return details

    def _convergence(self) -> Convergence:
        gaps = self.gap_history_ / (1.0 + np.abs(self.objective_history_))
        return Convergence(self.step_history_, gaps, float(self.tol))

    def _check_loaded(self) -> None:
        super()._check_loaded()
        for fitted in getattr(self, "estimators_", [self]):
            n_support = len(fitted.kernel_.support)
            if n_support != len(fitted.support_vectors_):
                raise ValueError(
                    f"expected {n_support} support points, as in the kernel, got "
                    f"{len(fitted.support_vectors_)}"
                )
            check_real("eta_", fitted.eta_, above=0, infinite=True)
            np.asarray(fitted.gap_history_, dtype=np.float64)  # numbers; nan is allowed
