"""LDK: a kernel learned from bounds on the distances of known pairs (Davis et al.)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from pliant.core.progress import CallbackSupport, FitProgress, Result, Status, with_callbacks
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    Constraint,
    check_flag,
    check_random_state,
    fresh,
    integer,
    optional,
    real_number,
    stack_level,
)
from pliant.methods.summary import Convergence, Summary
from pliant.methods.supervised.bregman import (
    BoundsCertificate,
    DistanceBounds,
    apart,
    solve,
    squared_distances,
)
from pliant.methods.supervised.learner import (
    Gamma,
    KernelLearner,
    KernelLike,
    LearnedGram,
    LogDetKernel,
    PSDPart,
)


class LogDetLearner(CallbackSupport, KernelLearner):
    r"""Learn the kernel nearest to a given one that bounds distances of known pairs (LDK).

    Solves, to a certified gap,

    .. math::

        \min_{K, \xi} \; D_{ld}(K, K_0) + \nu \sum_k d_{IS}(\xi_k, b_k), \qquad
        \|\phi(x_i) - \phi(x_j)\|^2 \le \xi_k \text{ (similar)}, \;
        \ge \xi_k \text{ (dissimilar)},

    problem (3.2) of [1]_ for kernels, with the distances in the feature space of K. The bound
    :math:`b_k` is u for similar pairs and l for dissimilar ones: the 5th and the 95th percentile of
    the squared distances of the pairs in :math:`K_0`. The divergences are
    :math:`d_{IS}(\xi, b) = \xi/b - \log(\xi/b) - 1` and
    :math:`D_{ld}(K, K_0) = \mathrm{tr}(K K_0^{-1}) - \log\det(K K_0^{-1}) - n`. The learned kernel
    is a function of any two points,

    .. math:: k(x, x') = k_0(x, x') + k_0(x, X_A) \, Q \, k_0(X_A, x'),

    with the points :math:`X_A` that are in a pair; the kernel at all others follows. No matrix
    that may be singular is inverted.

    Parameters
    ----------
    kernel, gamma
        The base kernel k0 and its coefficient, as in `SCGLogDetLearner`.
    slack : float, default=1.0
        > 0: the penalty parameter nu of the slack. With inf the bounds are hard, and can contradict
        each other: of three points, two similar pairs and a dissimilar one are impossible if
        l > 4 u.
    max_pairs : int, optional
        Maximum number of pairs, by default 5000, drawn at random from the known pairs. None means
        all: labels of a points make a (a - 1)/2 pairs.
    tol : float, default=1e-3
        > 0: the certified gap at which the solver stops, relative to 1 + abs(objective).
    max_iter : int, default=200
        Maximum number of sweeps over the pairs. Without convergence by then a ConvergenceWarning
        is issued; the kernel is usable, and ``dual_gap_`` bounds its distance from the optimum.
    unlabeled : object, optional
        The value in y of points of unknown class. None means -1, unless y holds -1 and +1 only.
    random_state : int, RandomState or None, default=None
        Seed of the drawn pairs and of their order in each sweep.
    verbose : bool, default=False
        If True, print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    kernel_ : LogDetKernel
        The learned kernel.
    support_vectors_ : array of shape (n_samples, n_features)
        The fit points; their row indices if the kernel is precomputed.
    members_ : array of shape (a,)
        The row indices of the points in a pair.
    pairs_, signs_ : arrays of shape (n_pairs, 2) and (n_pairs,)
        The pairs with a bound, as row indices, and +1.0 for similar, -1.0 for dissimilar ones.
    duals_ : array of shape (n_pairs,)
        The multipliers lam >= 0 of the bounds; 0 for bounds that are not active.
    n_skipped_ : int
        Number of pairs left out. Their points are equal for k0, up to rounding: the squared
        distance is at most 1e-10 (k0(x, x) + k0(x', x')). No K near K0 can separate them.
    similar_bound_, dissimilar_bound_ : float
        u and l.
    objective_ : float
        Objective of K with the best slack for it, an upper bound of the optimum. With hard bounds
        it is D_ld(K, K0), an upper bound only if K satisfies the bounds.
    lower_bound_ : float
        A lower bound of the optimum, the dual value. It grows without limit if hard bounds
        contradict each other.
    dual_gap_ : float
        Their difference; nan if K violates a hard bound.
    max_violation_ : float
        The largest violation of a bound by K, as a fraction of the bound.
    n_iter_ : int
        Number of sweeps over the pairs.
    objective_history_, gap_history_ : arrays of shape (n_iter_ + 1,)
        Objective and gap at the start and after each sweep.
    classes_ : array of shape (n_classes,) or None
        The classes, sorted; None for pairs.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    The solver uses cyclic Bregman projections. For a points in m pairs a sweep costs at most
    O(m a^2) and memory is O(a^2), whatever the number n of all points; a new point costs O(n a).
    This grows fast with the number of labels: `SCGLogDetLearner` uses all pairs, in closed form.

    If all pairs have the same distance, they satisfy the bounds, and K = K0.

    References
    ----------
    .. [1] P. Jain, B. Kulis, J. V. Davis, I. S. Dhillon. Metric and Kernel Learning Using a Linear
       Transformation. JMLR 13, 2012.
    .. [2] B. Kulis, M. Sustik, I. Dhillon. Low-Rank Kernel Learning with Bregman Matrix
       Divergences. JMLR 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import LogDetLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1  # unknown
    >>> learner = LogDetLearner(max_pairs=1000, random_state=0).fit(X, y)
    >>> bool(learner.dual_gap_ <= 1e-3 * (1 + learner.objective_))
    True
    >>> learner.kernel_(X[:3], X[50:52]).shape
    (3, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "slack": real_number(above=0, infinite=True),
        "max_pairs": optional(integer(least=1)),
        "tol": real_number(above=0),
        "max_iter": integer(least=1),
        "verbose": check_flag,
    }

    kernel_: LogDetKernel
    members_: Indices
    pairs_: Indices
    signs_: Array
    duals_: Array
    n_skipped_: int
    similar_bound_: float
    dissimilar_bound_: float
    objective_: float
    lower_bound_: float
    dual_gap_: float
    max_violation_: float
    n_iter_: int
    objective_history_: Array
    gap_history_: Array

    def __init__(
        self,
        kernel: KernelLike = "gaussian",
        gamma: Gamma = "scale",
        slack: float = 1.0,
        max_pairs: int | None = 5000,
        tol: float = 1e-3,
        max_iter: int = 200,
        unlabeled: object = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.slack = slack
        self.max_pairs = max_pairs
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def _fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None, similar: Any = None, dissimilar: Any = None
    ) -> LearnedGram:
        progress = FitProgress(self, X, y)
        with fresh(self):
            points, information = self._validate(X, y, similar, dissimilar)
            rng = check_random_state(self.random_state)
            kernel = self._base_kernel(points)
            if self.max_pairs is None:
                pairs, signs = information.pairs, information.signs
            else:
                pairs, signs = information.sample_pairs(int(self.max_pairs), rng)
            # the problem holds the points in a pair only; `places` are the pairs among these
            self.members_, places = np.unique(pairs, return_inverse=True)
            members = self.support_vectors_[self.members_]
            part = PSDPart.of(kernel, members)
            problem = self._state_problem(part.gram, places.reshape(-1, 2), signs)
            result = solve(
                problem, rng=rng, tol=self.tol, max_iter=self.max_iter, callback=progress
            )
            # K at all other points follows from Q on the points in a pair
            self.kernel_ = LogDetKernel(kernel, members, part.extend(problem.matrix(result.x)))
            self.pairs_, self.signs_ = self.members_[problem.pairs], problem.signs
            self.n_skipped_ = len(pairs) - len(problem.pairs)
            self._store(result)
        progress.end()
        learned, support = self.kernel_, self.support_vectors_
        return lambda rows: learned(support[rows])

    def _state_problem(self, gram: Array, pairs: Indices, signs: Array) -> DistanceBounds:
        """State the problem of the pairs that k0 separates; store the bounds u and l."""
        used = apart(gram, pairs)
        if not used.any():
            raise ValueError(
                f"expected pairs of points that the kernel separates, got {len(used)} pairs at "
                "a squared kernel distance of zero, up to rounding"
            )
        pairs, signs = pairs[used], signs[used]
        # u and l: percentiles of the squared distances in K0
        low, high = np.percentile(squared_distances(gram, pairs), (5.0, 95.0))
        self.similar_bound_, self.dissimilar_bound_ = float(low), float(high)
        bounds = np.where(signs > 0, self.similar_bound_, self.dissimilar_bound_)
        return DistanceBounds(gram, pairs, signs, bounds, float(self.slack))

    def _store(self, result: Result[BoundsCertificate]) -> None:
        """Store the results of the solver; warn unless it converged."""
        proof = result.certificate
        assert proof is not None
        self.duals_ = result.x
        self.objective_ = proof.value
        self.lower_bound_ = proof.lower_bound
        self.dual_gap_ = proof.gap
        self.max_violation_ = proof.max_violation
        self.n_iter_ = result.n_iter
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps
        if result.status in (Status.MAX_ITER, Status.STALLED):
            asked = self.tol * (1.0 + abs(self.objective_))
            warnings.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} sweeps with a gap of "
                f"{self.dual_gap_:.3g} and bounds violated by up to {self.max_violation_:.3g} of "
                f"their value, where a gap of {asked:.3g} was asked for; raise max_iter or tol, or "
                "lower slack, as hard bounds may contradict each other",
                ConvergenceWarning,
                stacklevel=stack_level(),
            )

    def _results(self) -> dict[str, Any]:
        return {
            "objective": float(self.objective_),
            "kernel_gap": float(self.dual_gap_),
            "pairs": len(self.pairs_),
            "bounds": [self.similar_bound_, self.dissimilar_bound_],
        }

    def summary(self) -> Summary:
        """Return the summary of a learner, with the convergence of the solver.

        Sweeps with a violated hard bound have no gap: then the convergence is left out.
        """
        summary = super().summary()
        if not np.isfinite(self.gap_history_).all():
            return summary
        # relative gaps, as the solver compares them with tol
        gaps = self.gap_history_ / (1.0 + np.abs(self.objective_history_))
        steps = np.arange(float(len(gaps)))
        return replace(
            summary,
            convergence=Convergence(steps, gaps, self.tol, "sweeps over the pairs"),
            drawings=summary.drawings | {"convergence"},
        )
