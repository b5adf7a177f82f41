"""Multiple kernel learning: support vector machines that learn the weights of their kernels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.progress import Deadline, Result, Status
from pliant.core.typing import Array, Callback, Indices, Mask
from pliant.core.validation import (
    Constraint,
    check_flag,
    check_job_count,
    one_of,
    optional,
    real_number,
    stack_level,
)
from pliant.kernels.base import Kernel
from pliant.kernels.weighted_sum import WeightedSum, short_names
from pliant.methods.mkl import newton
from pliant.methods.mkl.candidates import candidate_kernels, normalized_kernels
from pliant.methods.mkl.newton import Grams, WeightLearning
from pliant.methods.mkl.rules import CLASSIFICATION_RULES, RULES
from pliant.methods.summary import Convergence, KernelWeights, Summary
from pliant.methods.svm.estimators import (
    BaseSVM,
    SVMClassifier,
    SVMRegressor,
    Task,
    WarmStart,
    documented_as,
    expansion,
)

START_SAMPLES, START_TOL, MOST_STARTING = 500, 0.03, 30
"""Where not all Gram matrices are kept, weights are learned on this number of samples first, to
this relative gap and with this number of steps at most: steps on all samples cost minutes."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Kernels and their Gram matrices on the training samples of positive weight, `samples`."""

    kernels: list[Kernel]
    grams: Grams
    samples: Indices


@dataclass(eq=False, repr=False)
class BaseMKL(BaseSVM):
    """A support vector machine with a weighted sum of kernels."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseSVM._constraints,
        "norm": real_number(least=1),
        "normalize": check_flag,
        "cache_mb": real_number(above=0),
        "max_seconds": optional(real_number(above=0)),
        "n_jobs": check_job_count,
    }
    _drawings = frozenset({"gram", "weights"})
    _finite = (
        "weights_", "objective_", "lower_bound_", "dual_gap_", "objective_history_", "gap_history_",
    )  # fmt: skip

    kernels: Any = "auto"
    _: KW_ONLY
    weights: str = "simple"
    norm: float = 1.0
    C: float = 1.0
    normalize: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    max_seconds: float | None = None
    cache_mb: float = 2000.0
    n_jobs: int | None = None
    verbose: bool = False

    def _check_combinations(self) -> None:
        if self.norm != 1.0 and self.weights != "simple":
            raise ValueError(
                f"expected norm=1 with weights={self.weights!r}, as only 'simple' has another, got "
                f"{self.norm!r}"
            )

    def _common(self, X: Array, used: Mask) -> tuple[Kernel, Any, bool]:
        points = X[used]
        names = getattr(self, "feature_names_in_", None)
        given = candidate_kernels(self.kernels, points, names)
        kernels = normalized_kernels(given, points, bool(self.normalize))
        grams = Grams(kernels, points, float(self.cache_mb), self.n_jobs)
        equal = WeightedSum(kernels, np.full(len(kernels), 1.0 / len(kernels)))
        return equal, Candidates(kernels, grams, np.flatnonzero(used)), True

    def _complete(
        self, tasks: list[Task], starts: Sequence[WarmStart | None], callback: Callback
    ) -> list[Array]:
        watch = Deadline(callback, self.max_seconds)
        result = self._learn_weights(tasks, watch)
        self.kernels_ = tasks[0].all_rows.kernels
        self.kernel_names_ = short_names(self.kernels_, getattr(self, "feature_names_in_", None))
        self._warn_if_open(result, late=watch.expired)
        self._set_weights(result)
        if len(tasks) == 1:
            self._set_function(tasks[0], result, 0)
        else:
            fitted = [self._for_pair(pair) for pair in combinations(self.classes_, 2)]
            for t, (task, each) in enumerate(zip(tasks, fitted, strict=True)):
                each.kernels_, each.kernel_names_ = self.kernels_, self.kernel_names_
                each._set_weights(result)
                each._set_function(task, result, t)
            self.estimators_ = fitted
            self.n_iter_ = np.array([each.n_iter_ for each in fitted])
        return list(_proof(result).solutions)

    def _learn_weights(self, tasks: list[Task], callback: Callback) -> Result[newton.Weights]:
        """Return the weights that some functions share, with the functions."""
        candidates: Candidates = tasks[0].all_rows
        problem = self._problem(candidates, tasks)
        tol, max_iter = float(self.tol), int(self.max_iter)
        if self.weights == "simple":
            start = self._start(candidates, tasks, callback)
            return newton.solve(problem, start, tol=tol, max_iter=max_iter, callback=callback)
        weights = RULES[self.weights](problem, tasks, hasattr(self, "classes_"))
        return newton.solve_at(problem, weights, tol=tol, callback=callback)

    def _problem(self, candidates: Candidates, tasks: list[Task]) -> WeightLearning:
        """Return the problem of the weights that some functions share."""
        places = [np.searchsorted(candidates.samples, task.members) for task in tasks]
        margins = [self._margin(task) for task in tasks]
        return WeightLearning(candidates.grams, places, margins, float(self.norm))

    def _start(self, candidates: Candidates, tasks: list[Task], callback: Callback) -> Array | None:
        """Return weights of some samples to start from, where not all Gram matrices are kept.

        The samples are spread evenly over those of each class; None if that makes no sense.
        """
        n = len(candidates.samples)
        if candidates.grams.whole or n < 2 * START_SAMPLES:
            return None
        step = n / START_SAMPLES
        parts = []
        for task in tasks:
            order = np.argsort(task.target, kind="stable")  # classes, or targets, one after another
            chosen = np.sort(order[np.arange(0.0, len(order), step).astype(np.intp)])
            part = task.subset(chosen)
            parts.append(replace(part, weights=part.weights * step))
        if any(len(np.unique(np.sign(part.target))) < 2 for part in parts):
            return None
        members = np.unique(np.concatenate([part.members for part in parts]))
        points = candidates.grams.points[np.searchsorted(candidates.samples, members)]
        grams = Grams(candidates.kernels, points, float(self.cache_mb), self.n_jobs)
        problem = self._problem(Candidates(candidates.kernels, grams, members), parts)
        result = newton.solve(problem, tol=START_TOL, max_iter=MOST_STARTING, callback=callback)
        return result.x

    def _set_weights(self, result: Result[newton.Weights]) -> None:
        """Set the attributes about the weights and the objective."""
        chosen = np.flatnonzero(result.x)
        self.weights_ = result.x
        self.kernel_ = WeightedSum([self.kernels_[m] for m in chosen], result.x[chosen])
        self.objective_ = float(result.value)
        self.lower_bound_ = float(_proof(result).lower)
        self.dual_gap_ = float(result.gap)
        self.n_iter_ = len(result.history)
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps

    def _set_function(self, task: Task, result: Result[newton.Weights], t: int) -> None:
        """Set the coefficients of one function, in the user's units."""
        proof = _proof(result)
        b, intercept = proof.solutions[t], proof.intercepts[t]
        support = np.flatnonzero(b)
        self.support_ = task.members[support]
        self.support_vectors_ = task.points[support]
        self.dual_coef_ = task.scale * b[support]
        self.intercept_ = task.centre + task.scale * intercept

    def _learn(self, task: Task, start: WarmStart | None, callback: Callback) -> Array:
        return self._complete([task], [start], callback)[0]

    @property
    def relative_gap_(self) -> float:
        """dual_gap_ as ``tol`` measures it: relative to the objective."""
        return float(self.dual_gap_ / abs(self.objective_)) if self.dual_gap_ else 0.0

    def summary(self) -> Summary:
        """Return a summary of the fitted estimator.

        Returns
        -------
        Summary
            With ``weights``, and one function for two classes or a regression, one for each pair
            of more classes. The detail ``kernels`` is the number of kernels with weight, and
            ``mean_objective`` marks objectives and gaps that are those of the mean over pairs.
            The convergence counts the weights that were tried.
        """
        summary = super().summary()
        weights = KernelWeights(self.kernels_, self.weights_[None])
        functions = summary.functions
        if len(functions) > 1:
            mean = {"mean_objective": True}
            functions = tuple(replace(f, details={**f.details, **mean}) for f in functions)
        return replace(summary, functions=functions, kernel=self.kernel_, weights=weights)

    def _details(self) -> Mapping[str, Any]:
        return {"kernels": int(np.count_nonzero(self.weights_))}

    def _convergence(self) -> Convergence:
        gaps, objectives = self.gap_history_, np.abs(self.objective_history_)
        relative = np.divide(gaps, objectives, out=np.zeros_like(gaps), where=gaps != 0)
        return Convergence(
            np.arange(1.0, len(gaps) + 1), relative, float(self.tol),
            unit="weights tried", scale="|objective|",
        )  # fmt: skip

    def _warn_if_open(self, result: Result[newton.Weights], *, late: bool) -> None:
        """Warn of a gap that is larger than ``tol``."""
        stopped = result.status is Status.STOPPED and not late
        if result.gap <= self.tol * abs(result.value) or stopped:
            return
        advice = result.status.advice
        if _proof(result).exhausted:
            advice = "SVMs reached their largest number of steps; raise tol, or lower C"
        if late:
            advice = f"max_seconds = {self.max_seconds} came first"
        warnings.warn(
            f"{type(self).__name__} stopped after {len(result.history)} weights with a relative "
            f"gap of {result.gap / abs(result.value):.3g}, where tol = {self.tol:g} was asked for: "
            f"{advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _check_loaded(self) -> None:
        super()._check_loaded()
        kernels, names = self.kernels_, self.kernel_names_
        if not isinstance(kernels, list) or not isinstance(names, list):
            raise ValueError("expected kernels_ and kernel_names_ to be lists")
        texts = all(isinstance(name, str) for name in names) and len(names) == len(kernels)
        if not texts or not all(isinstance(each, Kernel) for each in kernels):
            raise ValueError(f"expected {len(kernels)} kernels and a name for each of them")
        for fitted in [self, *getattr(self, "estimators_", [])]:
            given, kernel = np.asarray(fitted.weights_), fitted.kernel_
            if fitted.kernel_names_ != names or given.shape != (len(kernels),):
                raise ValueError(f"expected a weight for each of {len(kernels)} kernels")
            summed = kernel.weights if isinstance(kernel, WeightedSum) else np.empty(0)
            if not np.array_equal(summed, given[given != 0.0]):
                raise ValueError("expected kernel_ to be the sum with the weights in weights_")
        for fitted in getattr(self, "estimators_", [self]):
            fitted.kernel_(fitted.support_vectors_[:1])


@dataclass(kw_only=True, eq=False, repr=False)
class MKLClassifier(BaseMKL, SVMClassifier):
    r"""Classification with a learned weighted sum of kernels.

    With ``weights="simple"``, solves to a certified gap

    .. math::

        \min_{d \ge 0, \, \|d\|_p \le 1} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0} \;
        1'\alpha - \tfrac12 \sum_m d_m \, \beta' K_m \beta, \qquad \beta = \alpha \circ y,

    the problem of [1]_ for p = 1, where most weights are zero, and of [2]_ for p > 1. The other
    rules find the weights first, and then solve the support vector machine (SVM) with these.

    Parameters
    ----------
    kernels : "auto" or list of str, Kernel or callable, default="auto"
        The kernels. "auto" are Gaussians of ten widths and polynomials of degree 1 to 3, of all
        standardised features and of each one (of all only, where that gives more than 1000
        kernels). Names are those of `pliant.kernels`, ``On(kernel, columns)`` is a kernel of some
        features, and a callable is a function of two matrices. For Gram matrices from elsewhere,
        pass ``Precomputed(gram)`` for each, and row numbers of shape (n_samples, 1) as X.
    weights : str, default="simple"
        How the weights are found. "simple": they minimise the objective of the SVM; ``norm`` is p
        above. "uniform": equal weights, which are hard to beat where most kernels are useful.
        "align": by the alignment of each kernel with the labels or the target [3]_. "alignf": those
        of the sum that is best aligned with these [3]_. "easy", for classes only: EasyMKL, by the
        margin of the sum of all kernels [4]_.
    norm : float, default=1.0
        p >= 1 for "simple". With p > 1 all kernels have weight.
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by class and sample weights. Choose it by
        cross-validation.
    normalize : bool, default=True
        Scale kernels to k(x, x) = 1, and Gram matrices to a mean diagonal of 1: weights of kernels
        on different scales mean nothing. A kernel with k(x, x) = 0 for a sample, also one to
        predict, raises an error.
    tol : float, default=1e-3
        Certified gap at which a fit stops, relative to the objective, > 0.
    max_iter : int, default=100
        Largest number of steps of "simple"; -1 for no limit. If the gap is still larger
        than ``tol``, a ConvergenceWarning reports it.
    max_seconds : float, optional
        Time limit, > 0. After it the fit keeps the best weights so far.
    cache_mb : float, default=2000
        Memory for the Gram matrices, > 0, in units of 2^20 bytes. They are kept in float64, in
        float32 if only that fits, and if neither does, some are kept, and the others computed again
        at each step. One of them in float64 must fit.
    class_weight : dict or "balanced", optional
        Factors of C, each > 0.
    n_jobs : int, optional
        Number of threads that compute Gram matrices; None for one, -1 for all cores.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernels_ : list of Kernel
        The normalised kernels.
    kernel_names_ : list of str
        Short names of these, such as "Gaussian(gamma=0.5) of petal length".
    weights_ : array of shape (n_kernels,)
        Their weights d, the same for all pairs of classes: they minimise the mean objective.
    kernel_ : WeightedSum
        The learned kernel, a function of two sets of points.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        These samples.
    dual_coef_ : array of shape (n_support,)
        Their coefficients beta = alpha y.
    intercept_ : float
        The b of f(x) = kernel_(x, support_vectors_) @ dual_coef_ + intercept_.
    objective_ : float
        The primal objective of the SVM (the mean over pairs of classes), an upper bound of the
        optimum.
    lower_bound_ : float
        A lower bound of the optimum: over all weights for "simple", for these weights otherwise.
    dual_gap_ : float
        Their difference.
    objective_history_, gap_history_ : arrays of shape (n_iter_,)
        Upper bound and gap at the first weights, and after each step.
    n_iter_ : int
        Number of weights whose bounds were computed: 1 and the steps. An array with one number
        per pair for more than two classes.
    estimators_ : list of MKLClassifier
        Only with more than two classes: one estimator per pair, in place of ``support_``,
        ``support_vectors_``, ``dual_coef_`` and ``intercept_``.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    For M kernels of n samples, memory is 8 M n^2 bytes, or half of that, or what ``cache_mb``
    allows. A step costs an SVM, O(M n n_support) for the bounds, and O(k^2 n_support) with k
    kernels of positive weight; five to fifteen steps are usual. They are Newton's for norms below
    1.5, and the closed form of [2]_ for larger ones.

    References
    ----------
    .. [1] A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet. SimpleMKL. Journal of Machine
       Learning Research 9 (2008).
    .. [2] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien. lp-Norm Multiple Kernel Learning. Journal
       of Machine Learning Research 12 (2011).
    .. [3] C. Cortes, M. Mohri, A. Rostamizadeh. Algorithms for Learning Kernels Based on Centered
       Alignment. Journal of Machine Learning Research 13 (2012).
    .. [4] F. Aiolli, M. Donini. EasyMKL: a scalable multiple kernel learning algorithm.
       Neurocomputing 169 (2015).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pliant import MKLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MKLClassifier(["linear", "gaussian"], C=10).fit(X[:200, :5], y[:200])
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseMKL._constraints,
        "weights": one_of(("simple", *RULES)),
    }

    class_weight: Any = None

    def _pair_decisions(self, points: Array) -> Sequence[Array]:
        # The pairs share a kernel: its values with a sample are computed once for all of them.
        pairs = self.estimators_
        support = np.concatenate([each.support_ for each in pairs])
        samples, first = np.unique(support, return_index=True)
        vectors = np.concatenate([each.support_vectors_ for each in pairs])[first]
        coefficients = np.zeros((len(samples), len(pairs)))
        for column, each in zip(coefficients.T, pairs, strict=True):
            column[np.searchsorted(samples, each.support_)] = each.dual_coef_
        values = expansion(self.kernel_, points, vectors, coefficients)
        return [f + each.intercept_ for f, each in zip(values.T, pairs, strict=True)]


@documented_as(MKLClassifier, without=("classes_", "estimators_"))
@dataclass(kw_only=True, eq=False, repr=False)
class MKLRegressor(BaseMKL, SVMRegressor):
    r"""Epsilon-regression with a learned weighted sum of kernels.

    With ``weights="simple"``, solves to a certified gap

    .. math::

        \min_{d \ge 0, \, \|d\|_p \le 1} \; \max_{|\beta_i| \le C, \, 1'\beta = 0} \;
        y'\beta - \varepsilon \|\beta\|_1 - \tfrac12 \sum_m d_m \, \beta' K_m \beta,

    the problem of [1]_ for p = 1, where most weights are zero, and of [2]_ for p > 1. The other
    rules find the weights first, as those of `MKLClassifier` do.

    Parameters
    ----------
    weights : str, default="simple"
        How the weights are found. "simple": they minimise the objective of the SVM; ``norm`` is p
        above. "uniform": equal weights, which are hard to beat where most kernels are useful.
        "align": by the alignment of each kernel with the target [3]_. "alignf": those of the sum
        that is best aligned with it [3]_.
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by sample weights. Choose it by
        cross-validation.
    epsilon : float, default=0.1
        Errors up to this size are not penalised, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon mean the same for every unit of
        y. Predictions are in the units of y.

    Attributes
    ----------
    weights_ : array of shape (n_kernels,)
        Their weights d.
    lower_bound_ : float
        A lower bound of the optimum, in the same units: over all weights for "simple", for these
        weights otherwise.
    dual_gap_ : float
        Their difference.
    n_iter_ : int
        Number of weights whose bounds were computed: 1 and the steps.
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction.
    intercept_ : float
        In the units of y.
    objective_ : float
        The primal objective of the SVM, an upper bound of the optimum, in units of the scaled
        target.

    References
    ----------
    .. [1] A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet. SimpleMKL. Journal of Machine
       Learning Research 9 (2008).
    .. [2] M. Kloft, U. Brefeld, S. Sonnenburg, A. Zien. lp-Norm Multiple Kernel Learning. Journal
       of Machine Learning Research 12 (2011).
    .. [3] C. Cortes, M. Mohri, A. Rostamizadeh. Algorithms for Learning Kernels Based on Centered
       Alignment. Journal of Machine Learning Research 13 (2012).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import MKLRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> round(MKLRegressor(C=100, epsilon=0.01).fit(X, y).score(X, y), 2)
    1.0
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseMKL._constraints,
        **SVMRegressor._constraints,
        "weights": one_of(tuple(w for w in ("simple", *RULES) if w not in CLASSIFICATION_RULES)),
    }

    epsilon: float = 0.1
    scale_target: bool = True


def _proof(result: Result[newton.Weights]) -> newton.Weights:
    assert result.certificate is not None
    return result.certificate
