"""A kernel learned from bounds on the distances of known pairs (Davis et al.)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from pliant.core.progress import CallbackSupport, FitProgress, Result, Status, with_callbacks
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_integer, check_real, stack_level
from pliant.methods.side_information import bregman
from pliant.methods.side_information.base_gram import PSDPart, base_kernel
from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.ldk_problem import (
    BoundsCertificate,
    DistanceBounds,
    apart,
    pair_distances,
    percentile_bounds,
)
from pliant.methods.side_information.learner import KernelLearner, MatrixOf
from pliant.methods.side_information.logdet_kernel import LogDetKernel

__all__ = ["LogDetLearner"]


class LogDetLearner(CallbackSupport, KernelLearner):
    r"""Learn the kernel nearest to a given one in which known pairs keep bounds (LDK).

    Solves, to a certified gap,

    .. math::

        \min_{K, \xi} \; D_{ld}(K, K_0) + \nu \sum_k d_{IS}(\xi_k, b_k), \qquad
        \|\phi(x_i) - \phi(x_j)\|^2 \le \xi_k \text{ (similar)}, \;
        \ge \xi_k \text{ (dissimilar)},

    problem (3.2) of [1]_ for kernels, where the distances are those of K, :math:`b_k` is the
    bound u on similar pairs or l on dissimilar ones, :math:`d_{IS}(\xi, b) = \xi/b - \log(\xi/b)
    - 1` and :math:`D_{ld}(K, K_0) = \mathrm{tr}(K K_0^{-1}) - \log\det(K K_0^{-1}) - n`. The
    learned kernel is a function of any two points,

    .. math:: k(x, x') = k_0(x, x') + k_0(x, X_A) \, Q \, k_0(X_A, x'),

    with the points :math:`X_A` that are in a pair; all others move along. Nothing is inverted
    that may be singular.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        k0, symmetric and PSD: a name in ``pliant.kernels.KERNEL_NAMES``, a kernel object, a
        function of two matrices, "precomputed", or "graph": the
        `pliant.kernels.NeighborGraphKernel` of the fit points.
    gamma : float or {"scale", "auto"}, default="scale"
        Of kernels by name: "scale" is 1/(d var(X)), "auto" 1/d, for d features.
    similar_bound, dissimilar_bound : float, optional
        > 0: u and l, bounds on squared kernel distances. None: by `percentiles`. They may
        overlap, u >= l; then they ask for little.
    slack : float, optional
        > 0: the price nu of breaking a bound, default 1. None or inf: the bounds are hard. Hard
        bounds can contradict one another: of three points, two similar pairs and a dissimilar
        one are impossible if l > 4 u.
    percentiles : pair of floats, default=(5, 95)
        Of the squared distances, in k0, of the pairs: the bounds that are not given.
    max_pairs : int, optional
        At most so many pairs, by default 5000, drawn at random if more are known. None: all;
        labels of a points make a (a - 1)/2 pairs.
    tol : float, default=1e-3
        > 0: the certified gap, relative to 1 + abs(objective).
    max_iter : int, default=200
        Sweeps over the pairs, at most. A gap left open is a ConvergenceWarning; the kernel is
        usable, and ``dual_gap_`` tells how good it is.
    unlabeled : object, optional
        The value in y of points of unknown class. None: -1, unless y holds -1 and +1 only.
    random_state : int, RandomState or None, default=None
        Draws the pairs, and the order of each sweep.

    Attributes
    ----------
    kernel_ : LogDetKernel
        The learned kernel.
    support_vectors_ : array of shape (n, d)
        The fit points; their row numbers if the kernel is precomputed.
    members_ : array of shape (a,)
        The row numbers of the points in a pair.
    pairs_, signs_ : arrays of shape (m, 2) and (m,)
        The pairs with a bound, as row numbers, and +1.0 for similar, -1.0 for dissimilar ones.
    duals_ : array of shape (m,)
        The multipliers lam >= 0 of the bounds; 0 for pairs that keep theirs anyway.
    n_skipped_ : int
        Pairs left out because their points are equal for k0, up to rounding: a squared distance
        of at most 1e-10 of k0(x, x) + k0(x', x'). No K near K0 can tell them apart.
    similar_bound_, dissimilar_bound_ : float
        u and l.
    objective_ : float
        Of K with the slack that is best for it; an upper bound of the optimum. With hard bounds,
        D_ld(K, K0), which is one only if K keeps the bounds.
    lower_bound_ : float
        A lower bound of the optimum, the dual value. It grows without end if hard bounds
        contradict one another.
    dual_gap_ : float
        Their difference; nan if the bounds are hard and K breaks one.
    max_violation_ : float
        The largest amount by which K breaks a bound, as a share of the bound.
    n_iter_ : int
        Sweeps over the pairs.
    objective_history_, gap_history_ : arrays of shape (n_iter_ + 1,)
        Objective and gap at the start and after each sweep.
    classes_ : array of shape (p,) or None
        Of labels.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    Cyclic Bregman projections: for a points in m pairs a sweep costs O(m a^2) at most, memory is
    O(a^2), whatever the number n of all points; a new point costs O(n a). That grows fast with the
    number of labels: `SCGLogDetLearner` uses all pairs, in closed form.

    Points all at the same distance keep the bounds that percentiles give, and K = K0.

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

    def __init__(
        self,
        kernel: Any = "gaussian",
        gamma: float | str = "scale",
        similar_bound: float | None = None,
        dissimilar_bound: float | None = None,
        slack: float | None = 1.0,
        percentiles: tuple[float, float] = (5.0, 95.0),
        max_pairs: int | None = 5000,
        tol: float = 1e-3,
        max_iter: int = 200,
        unlabeled: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.similar_bound = similar_bound
        self.dissimilar_bound = dissimilar_bound
        self.slack = slack
        self.percentiles = percentiles
        self.max_pairs = max_pairs
        self.tol = tol
        self.max_iter = max_iter
        self.unlabeled = unlabeled
        self.random_state = random_state

    def _check_parameters(self) -> None:
        for name in ("similar_bound", "dissimilar_bound"):
            if getattr(self, name) is not None:
                check_real(name, getattr(self, name), above=0)
        if self.slack is not None:
            check_real("slack", self.slack, above=0, infinite=True)
        _check_percentiles(self.percentiles)
        if self.max_pairs is not None:
            check_integer("max_pairs", self.max_pairs, least=1)
        check_real("tol", self.tol, above=0)
        check_integer("max_iter", self.max_iter, least=1)

    @with_callbacks
    def _fit(self, X: Any, y: Any, similar: Any, dissimilar: Any) -> MatrixOf:
        self._progress = FitProgress(self, X, y)
        try:
            gram = super()._fit(X, y, similar, dissimilar)
            self._progress.end()
        finally:
            del self._progress
        return gram

    def _learn(self, points: Array, information: SideInformation) -> MatrixOf:
        rng = check_random_state(self.random_state)
        base = base_kernel(self.kernel, points, self.gamma)
        pairs, signs = self._draw(information, rng)
        active, places = np.unique(pairs, return_inverse=True)
        members = self.support_vectors_[active]
        part = PSDPart.of(base, members)
        problem = self._problem(part.gram, places.reshape(-1, 2), signs)
        result = bregman.solve(
            problem, rng=rng, tol=self.tol, max_iter=self.max_iter, callback=self._progress
        )
        self.kernel_ = LogDetKernel(base, members, part.extend(problem.matrix(result.x)))
        self.members_ = active
        self.pairs_, self.signs_ = active[problem.pairs], problem.signs
        self.classes_ = information.classes
        self._store(result)
        return lambda rows: self.kernel_(self.support_vectors_[rows])

    def _draw(
        self, information: SideInformation, rng: np.random.RandomState
    ) -> tuple[Indices, Array]:
        """Return the pairs to use, and their signs."""
        if self.max_pairs is None:
            return information.pairs, information.signs
        return information.sample_pairs(int(self.max_pairs), rng)

    def _problem(self, gram: Array, pairs: Indices, signs: Array) -> DistanceBounds:
        """Return the problem of the pairs that k0 tells apart; set the bounds."""
        used = apart(gram, pairs)
        self.n_skipped_ = int(len(used) - used.sum())
        if not used.any():
            raise ValueError(
                f"expected pairs of points that the kernel tells apart, got {len(used)} pairs at "
                "a squared kernel distance of zero, up to rounding"
            )
        pairs, signs = pairs[used], signs[used]
        low, high = percentile_bounds(pair_distances(gram, pairs), self.percentiles)
        self.similar_bound_ = float(low if self.similar_bound is None else self.similar_bound)
        self.dissimilar_bound_ = float(
            high if self.dissimilar_bound is None else self.dissimilar_bound
        )
        bounds = np.where(signs > 0, self.similar_bound_, self.dissimilar_bound_)
        slack = math.inf if self.slack is None else float(self.slack)
        return DistanceBounds(gram, pairs, signs, bounds, slack)

    def _members(self) -> Indices:
        return self.members_

    def _store(self, result: Result[BoundsCertificate]) -> None:
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
            warnings.warn(self._open(result.status), ConvergenceWarning, stacklevel=stack_level())

    def _open(self, status: Status) -> str:
        """Return what is not as asked for, and what to do about it."""
        hard = math.isnan(self.dual_gap_)
        state = f"a gap of {self.dual_gap_:.3g}"
        advice = "raise tol, or lower slack"
        if hard:
            state = f"bounds broken by up to {self.max_violation_:.3g} of their value"
            advice = "set slack, as hard bounds may contradict one another"
        if status is Status.MAX_ITER:
            advice = f"raise max_iter, or {advice}"
        asked = self.tol * (1.0 + abs(self.objective_))
        return (
            f"{type(self).__name__} stopped after {self.n_iter_} sweeps with {state}, where a gap "
            f"of {asked:.3g} was asked for; {advice}"
        )


def _check_percentiles(percentiles: Any) -> None:
    """Raise unless 0 <= low < high <= 100."""
    wanted = f"expected percentiles (low, high) with 0 <= low < high <= 100, got {percentiles!r}"
    if not isinstance(percentiles, tuple | list) or len(percentiles) != 2:
        raise ValueError(wanted)
    low, high = (check_real("percentiles", value) for value in percentiles)
    if not 0.0 <= low < high <= 100.0:
        raise ValueError(wanted)
