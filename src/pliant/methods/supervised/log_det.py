"""LDK: learning a kernel from bounds on the distances of known pairs (Davis et al.)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import ConvergenceWarning
from pliant.core.form import SavedForm, indices, shown
from pliant.core.parameters import (
    Constraint,
    check_flag,
    check_random_state,
    integer,
    moderate_number,
    optional,
    real_number,
)
from pliant.core.progress import CallbackSupport, FitProgress, Result, Status, with_callbacks
from pliant.core.state import reads
from pliant.core.typing import Array, Indices
from pliant.core.validation import stack_level
from pliant.kernels.standard import Gamma, KernelLike
from pliant.methods.supervised.bregman import (
    BoundsCertificate,
    DistanceBounds,
    separated_pairs,
    solve,
    squared_distances,
)
from pliant.methods.supervised.learner import KernelLearner, LearnedGram, LogDetKernel, PSDPart


@dataclass(eq=False, repr=False)
class LogDetLearner(CallbackSupport, KernelLearner):
    r"""Learn the kernel nearest to a base kernel under bounds on distances of known pairs (LDK).

    Solves, to a certified gap,

    .. math::

        \min_{K, \xi} \; D_{ld}(K, K_0) + \nu \sum_k d_{IS}(\xi_k, b_k), \qquad
        \|\phi(x_i) - \phi(x_j)\|^2 \le \xi_k \text{ (similar)}, \;
        \ge \xi_k \text{ (dissimilar)},

    problem (3.2) of [1]_ for kernels, with the distances in the feature space of K. The bound
    :math:`b_k` is u for similar pairs and l for dissimilar pairs, the 5th and 95th percentiles of
    the pairs' squared distances in :math:`K_0`. The divergences are
    :math:`d_{IS}(\xi, b) = \xi/b - \log(\xi/b) - 1` and
    :math:`D_{ld}(K, K_0) = \mathrm{tr}(K K_0^{-1}) - \log\det(K K_0^{-1}) - n`. The learned kernel
    is defined for any two points,

    .. math:: k(x, x') = k_0(x, x') + k_0(x, X_A) \, Q \, k_0(X_A, x'),

    where :math:`X_A` are the points in the pairs. No potentially singular matrix is inverted.

    Parameters
    ----------
    kernel, gamma
        The base kernel k0 and its coefficient, as in `SCGLogDetLearner`.
    slack : float, default=1.0
        Penalty parameter nu of the slack, 1e-12 to 1e12. If inf, the bounds are hard and may be
        infeasible: three points cannot form two similar pairs and a dissimilar pair if l > 4 u.
    max_pairs : int or None, default=5000
        Maximum number of pairs, drawn at random from the known pairs. None means all; m labelled
        points give m (m - 1)/2 pairs.
    tol : float, default=1e-3
        Certified gap at which the solver stops, relative to 1 + abs(objective), > 0.
    max_iter : int, default=200
        Maximum number of sweeps over the pairs. If the solver has not converged, it issues a
        ConvergenceWarning; ``dual_gap_`` then bounds the distance from the optimum.
    unlabeled : object, optional
        The value in y that marks an unknown class. None means -1, but a value is required if y
        contains only -1 and +1.
    random_state : int, RandomState or None, default=None
        Random seed for drawing pairs, and for their order in each sweep.
    verbose : bool, default=False
        If True, print the progress of the fit to standard error every two seconds.

    Attributes
    ----------
    kernel_ : LogDetKernel
        The learned kernel.
    support_vectors_ : array of shape (n_samples, n_features)
        The training points, or their row indices if the kernel is precomputed.
    members_ : array of shape (a,)
        Row indices of the points in the pairs.
    pairs_, signs_ : arrays of shape (n_pairs, 2) and (n_pairs,)
        The bounded pairs, as row indices, and their signs, +1.0 for similar and -1.0 for
        dissimilar pairs.
    duals_ : array of shape (n_pairs,)
        Multipliers lam >= 0 of the bounds; 0 for inactive bounds.
    n_skipped_ : int
        Number of omitted pairs, whose points k0 does not separate: their squared distance is within
        rounding error, at most 1e-10 (k0(x, x) + k0(x', x')).
    similar_bound_, dissimilar_bound_ : float
        The bounds u and l.
    objective_ : float
        The objective at the solution: D_ld(K, K0) with the optimal slack, or alone for hard bounds.
    lower_bound_, upper_bound_ : float
        Bounds on the optimum. The lower one is the dual objective, which diverges if hard bounds
        are infeasible. The upper one is `objective_`, as the objective is minimised; it is nan if K
        violates a hard bound.
    dual_gap_ : float
        Difference between `upper_bound_` and `lower_bound_`.
    max_violation_ : float
        The largest violation of a bound by K, relative to the bound.
    n_iter_ : int
        Number of sweeps over the pairs.
    objective_history_, gap_history_ : arrays of shape (n_iter_ + 1,)
        Initial objective and gap, and their values after each sweep.
    classes_ : array of shape (n_classes,) or None
        The sorted classes; None for pairs.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    The solver uses cyclic Bregman projections. For m pairs of a = ``len(members_)`` points, a sweep
    costs at most O(m a^2) and memory is O(a^2), independent of the number n of training points.
    Transforming a new point costs O(n a). `SCGLogDetLearner` uses all pairs in closed form, at a
    lower cost for many labels.

    If all pairs have the same distance, they satisfy the bounds, and K = K0.

    References
    ----------
    .. [1] P. Jain, B. Kulis, J. V. Davis, I. S. Dhillon. Metric and Kernel Learning Using a Linear
       Transformation. JMLR 13, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import LogDetLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1  # unknown
    >>> learner = LogDetLearner(max_pairs=1000, random_state=0).fit(X, y)
    >>> bool(learner.dual_gap_ <= 1e-3 * (1 + learner.objective_))
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "slack": moderate_number(infinite=True),
        "max_pairs": optional(integer(least=1)),
        "tol": real_number(above=0),
        "max_iter": integer(least=1),
        "verbose": check_flag,
    }

    _form: ClassVar[SavedForm] = {
        "pairs_": indices("pairs", 2, below="points"),
        "signs_, duals_": shown("pairs"),
        "objective_history_, gap_history_": shown("checks"),
    }

    kernel: KernelLike = "gaussian"
    gamma: Gamma = "scale"
    slack: float = 1.0
    max_pairs: int | None = 5000
    tol: float = 1e-3
    max_iter: int = 200
    unlabeled: object = None
    random_state: Any = None
    verbose: bool = False
    members_: Indices = field(init=False)
    pairs_: Indices = field(init=False)
    signs_: Array = field(init=False)
    similar_bound_: float = field(init=False)
    dissimilar_bound_: float = field(init=False)

    @with_callbacks
    def _fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None, similar: Any = None, dissimilar: Any = None
    ) -> LearnedGram:
        progress = FitProgress(self, X, y)
        points, information = self._validate(X, y, similar, dissimilar)
        rng = check_random_state(self.random_state)
        kernel = self._base_kernel(points)
        if self.max_pairs is None:
            pairs, signs = information.pairs, information.signs
        else:
            pairs, signs = information.sample_pairs(int(self.max_pairs), rng)
        # the problem contains only the points in pairs; `positions` indexes them
        self.members_, positions = np.unique(pairs, return_inverse=True)
        members = self.support_vectors_[self.members_]
        part = PSDPart.of(kernel, members)
        problem = self._build_problem(part.gram, positions.reshape(-1, 2), signs)
        result = solve(problem, rng=rng, tol=self.tol, max_iter=self.max_iter, callback=progress)
        # Q on the points in the pairs determines the kernel at all other points
        self.kernel_ = LogDetKernel(kernel, members, part.extend(problem.matrix(result.x)))
        self.pairs_, self.signs_ = self.members_[problem.pairs], problem.signs
        self.n_skipped_: int = len(pairs) - len(problem.pairs)
        self._store(result)
        progress.end()
        learned, support = self.kernel_, self.support_vectors_
        return lambda rows: learned(support[rows])

    def _build_problem(self, gram: Array, pairs: Indices, signs: Array) -> DistanceBounds:
        """Build the problem for the pairs separated by k0; store the bounds u and l."""
        used = separated_pairs(gram, pairs)
        if not used.any():
            raise ValueError(
                "expected pairs of points with a positive kernel distance, got only pairs with a "
                f"squared distance of zero up to rounding ({len(used)} pairs)"
            )
        pairs, signs = pairs[used], signs[used]
        # u and l are percentiles of the squared distances in K0
        low, high = np.percentile(squared_distances(gram, pairs), (5.0, 95.0))
        self.similar_bound_, self.dissimilar_bound_ = float(low), float(high)
        bounds = np.where(signs > 0, self.similar_bound_, self.dissimilar_bound_)
        return DistanceBounds(
            gram=gram, pairs=pairs, signs=signs, bounds=bounds, slack=float(self.slack)
        )

    def _store(self, result: Result[BoundsCertificate]) -> None:
        """Store the results of the solver, and warn unless it converged."""
        proof = result.certificate
        assert proof is not None
        self.duals_: Array = result.x
        self.objective_: float = proof.value
        self.lower_bound_: float = proof.lower_bound
        self.dual_gap_: float = proof.gap
        self.max_violation_: float = proof.max_violation
        self.n_iter_: int = result.n_iter
        self.objective_history_: Array = result.objectives
        self.gap_history_: Array = result.gaps
        if result.status in (Status.MAX_ITER, Status.STALLED):
            goal = self.tol * (1.0 + abs(self.objective_))
            warnings.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} sweeps with a gap of "
                f"{self.dual_gap_:.3g} (expected at most {goal:.3g}) and relative bound violations "
                f"of up to {self.max_violation_:.3g}; raise max_iter or tol, or lower slack, as "
                "hard bounds may be infeasible",
                ConvergenceWarning,
                stacklevel=stack_level(),
            )

    @property
    @reads
    def upper_bound_(self) -> float:
        """Upper bound on the optimum; nan if K violates a hard bound."""
        return self.objective_ if np.isfinite(self.dual_gap_) else np.nan

    def _results(self) -> dict[str, Any]:
        return {
            "objective": float(self.objective_),
            "kernel_gap": float(self.dual_gap_),
            "pairs": len(self.pairs_),
            "bounds": [self.similar_bound_, self.dissimilar_bound_],
        }
