"""Multiple kernel learning: support vector machines that learn their kernel weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import compress
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant.core.progress import Deadline, Result, Status
from pliant.core.state import reads
from pliant.core.text import one_line
from pliant.core.typing import Array, Callback, Indices
from pliant.core.validation import (
    Constraint,
    check_flag,
    check_job_count,
    check_kernel_values,
    one_of,
    optional,
    real_number,
    stack_level,
)
from pliant.kernels.base import (
    FunctionKernel,
    Kernel,
    Normalized,
    On,
    Rescaled,
    Scaled,
    WeightedSum,
    made_of,
    short_name,
    short_names,
)
from pliant.kernels.standard import Gaussian, Polynomial, Precomputed, as_kernel
from pliant.methods.mkl import newton
from pliant.methods.mkl.newton import Grams, WeightLearning, check_psd
from pliant.methods.mkl.rules import CLASS_RULES, RULES
from pliant.methods.summary import KernelWeights, Summary
from pliant.methods.svm.estimators import (
    BaseSVM,
    LearnedFunction,
    SVMClassifier,
    SVMProblem,
    SVMRegressor,
    WarmStart,
    documented_as,
    expansion,
)

START_SAMPLES = 500
"""Number of samples used to initialise the weights if not all Gram matrices are kept."""

WIDTHS = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)
"""Bandwidths of the default Gaussians on standardised features. These bandwidths and the degrees of
the default polynomials are those of the experiments of Rakotomamonjy et al. (2008)."""

MAX_DEFAULT_KERNELS = 1000
"""Maximum number of default kernels; above it, kernels of single features are omitted."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Kernels, and their Gram matrices on `samples`, the training samples with positive weight."""

    kernels: list[Kernel]
    grams: Grams
    samples: Indices


@dataclass(eq=False, repr=False)
class BaseMKL(BaseSVM[Candidates]):
    """A support vector machine with a weighted sum of kernels."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "norm": real_number(least=1),
        "normalize": check_flag,
        "cache_mb": real_number(above=0),
        "max_seconds": optional(real_number(above=0)),
        "n_jobs": check_job_count,
    }
    _drawings = frozenset({"gram", "weights"})
    _step_unit = "weight vectors"
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
                f"expected norm=1 with weights={self.weights!r}, as only 'simple' supports other "
                f"norms, got {self.norm!r}"
            )

    def _build_kernel(self, X: Array, used: Indices) -> Candidates:
        if isinstance(self.kernels, str) and self.kernels == "auto":
            kernels = default_kernels(X)
        else:
            names = getattr(self, "feature_names_in_", None)
            kernels = candidate_kernels(self.kernels, X, names)
        kernels = normalized_kernels(kernels, X, bool(self.normalize))
        grams = Grams(kernels, X, float(self.cache_mb), self.n_jobs)
        return Candidates(kernels, grams, used)

    def _solve(
        self,
        problems: Sequence[SVMProblem],
        kernel: Candidates,
        starts: Sequence[WarmStart | None],
        callback: Callback,
    ) -> list[LearnedFunction]:
        """Learn the shared kernel weights, and one function per problem."""
        deadline = Deadline(callback, self.max_seconds)
        learning = self._build_learning(kernel, problems)
        tol, max_iter = float(self.tol), int(self.max_iter)
        if self.weights == "simple":
            start = None if kernel.grams.whole else self._start(kernel, problems, deadline)
            result = newton.solve(learning, start, tol=tol, max_iter=max_iter, callback=deadline)
        else:
            weights = (RULES | CLASS_RULES)[self.weights](learning, problems)
            result = newton.solve_at(learning, weights, tol=tol, callback=deadline)
        if result.gap > self.tol * abs(result.value):
            self._warn_of_gap(result, late=deadline.expired)
        proof = result.certificate
        assert proof is not None
        # K = sum_m d_m K_m over the kernels with positive weight
        learned = WeightedSum(list(compress(kernel.kernels, result.x)), result.x[result.x != 0.0])
        attributes = {
            "kernels_": kernel.kernels,
            "weights_": result.x,
            "lower_bound_": float(proof.lower),
        }
        if len(problems) > 1:  # the pairs share the weights and the bounds on the mean objective
            self.__dict__.update(
                attributes, kernel_=learned, objective_=float(result.value),
                dual_gap_=float(result.gap), objective_history_=result.objectives,
                gap_history_=result.gaps,
            )  # fmt: skip
        solutions = []
        for b, intercept in zip(proof.solutions, proof.intercepts, strict=True):
            solution = LearnedFunction(
                learned, b, intercept, float(result.value), float(result.gap),
                len(result.history), result.history, attributes,
            )  # fmt: skip
            solutions.append(solution)
        return solutions

    def _build_learning(
        self, candidates: Candidates, problems: Sequence[SVMProblem]
    ) -> WeightLearning:
        """Build the problem for the shared weights."""
        places, duals = [], []
        for problem in problems:
            # rows of the SVM's points in the Gram matrices
            places.append(np.searchsorted(candidates.samples, problem.members))
            duals.append(problem.dual)
        return WeightLearning(candidates.grams, places, duals, float(self.norm))

    def _start(
        self, candidates: Candidates, problems: Sequence[SVMProblem], callback: Callback
    ) -> Array | None:
        """Learn weights on a stratified sample; return None if there are too few samples."""
        n = len(candidates.samples)
        if n < 2 * START_SAMPLES:
            return None
        step = n / START_SAMPLES
        parts = []
        for problem in problems:
            order = np.argsort(problem.target, kind="stable")  # sorted by class or target
            chosen = np.sort(order[np.arange(0.0, len(order), step).astype(np.intp)])
            part = problem.subset(chosen)
            # C n/k for k of n samples keeps the balance between losses and norm
            parts.append(replace(part, weights=part.weights * step))
        if any(len(np.unique(np.sign(part.target))) < 2 for part in parts):
            return None
        members = np.unique(np.concatenate([part.members for part in parts]))
        points = candidates.grams.points[np.searchsorted(candidates.samples, members)]
        grams = Grams(candidates.kernels, points, float(self.cache_mb), self.n_jobs)
        learning = self._build_learning(Candidates(candidates.kernels, grams, members), parts)
        # a coarse solution is sufficient
        return newton.solve(learning, tol=0.03, max_iter=30, callback=callback).x

    @property
    def kernel_names_(self) -> list[str]:
        """Short names of the kernels."""
        return short_names(self.kernels_, getattr(self, "feature_names_in_", None))

    @reads
    def summary(self) -> Summary:
        """Return a summary of the fitted estimator.

        Returns
        -------
        Summary
            Holds the ``weights`` and one function, or one per pair for more than two classes.
            The detail ``kernels`` is the number of kernels with positive weight, and
            ``mean_objective`` marks objectives and gaps that are means over pairs. The convergence
            has one entry per weight vector evaluated.
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

    def _warn_of_gap(self, result: Result[newton.WeightCertificate], *, late: bool) -> None:
        """Warn about a gap larger than ``tol``, unless a callback stopped the fit."""
        if result.status is Status.STOPPED and not late:
            return
        advice = result.status.value
        if result.certificate is not None and result.certificate.exhausted:
            advice = "SVMs reached their step limit; raise tol or lower C"
        if late:
            advice = f"the time limit max_seconds = {self.max_seconds} was reached"
        warnings.warn(
            f"{type(self).__name__} stopped after {len(result.history)} weight vectors with a "
            f"relative gap of {result.gap / abs(result.value):.3g}, above tol = {self.tol:g}: "
            f"{advice}",
            ConvergenceWarning,
            stacklevel=stack_level(),
        )

    def _check_loaded(self) -> None:
        super()._check_loaded()
        kernels = self.kernels_
        if not isinstance(kernels, list) or not all(isinstance(each, Kernel) for each in kernels):
            raise ValueError("expected kernels_ to be a list of kernels")
        for fitted in [self, *getattr(self, "estimators_", [])]:
            weights, kernel = np.asarray(fitted.weights_), fitted.kernel_
            if weights.shape != (len(kernels),):
                raise ValueError(f"expected weights_ to have one weight per kernel, {len(kernels)}")
            summed = kernel.weights if isinstance(kernel, WeightedSum) else np.empty(0)
            if not np.array_equal(summed, weights[weights != 0.0]):
                raise ValueError("expected kernel_ to be the sum with the weights in weights_")
        for fitted in getattr(self, "estimators_", [self]):
            fitted.kernel_(fitted.support_vectors_[:1])


@dataclass(kw_only=True, eq=False, repr=False)
class MKLClassifier(SVMClassifier[Candidates], BaseMKL):
    r"""Classification with a learned weighted sum of kernels.

    ``weights="simple"`` solves, to a certified gap,

    .. math::

        \min_{d \ge 0, \, \|d\|_p \le 1} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0} \;
        1'\alpha - \tfrac12 \sum_m d_m \, \beta' K_m \beta, \qquad \beta = \alpha \circ y,

    the problem of [1]_ for p = 1, where most weights are zero, and of [2]_ for p > 1. The other
    values are rules, which set the weights before the support vector machine (SVM) is solved.

    Parameters
    ----------
    kernels : "auto" or list of str, Kernel or callable, default="auto"
        The kernels. "auto" stands for Gaussians of ten bandwidths and polynomials of degrees 1 to
        3, on all standardised features and on each feature (only on all features if there would
        be more than 1000 kernels). `pliant.kernels` lists the names. ``On(kernel, columns)`` is a
        kernel on some features, and a callable is a function of two matrices. For Gram matrices,
        pass ``Precomputed(gram)`` for each, and row numbers of shape (n_samples, 1) as X.
    weights : str, default="simple"
        The rule for the weights. "simple": minimise the SVM objective above, with
        p = ``norm``. "uniform": equal weights, hard to beat if most kernels are useful. "align":
        proportional to the alignment of each kernel with the labels [3]_. "alignf": the weights of
        the sum best aligned with the labels [3]_. "easy", for classification only: EasyMKL [4]_,
        proportional to each kernel's part of the margin for the sum of all kernels.
    norm : float, default=1.0
        The p of "simple", >= 1. With p > 1 all kernels have positive weight.
    C : float, default=1.0
        Penalty parameter, 1e-12 to 1e12, multiplied by class and sample weights. Choose it by
        cross-validation.
    normalize : bool, default=True
        Scale kernels to k(x, x) = 1, and Gram matrices to a mean diagonal of 1: weights of kernels
        on different scales are not comparable. ``fit`` and predictions raise an error if a kernel
        has k(x, x) = 0 for a sample.
    tol : float, default=1e-3
        Certified gap at which a fit stops, relative to the objective, > 0.
    max_iter : int, default=100
        Maximum number of steps of "simple"; -1 for no limit. If the gap is still larger
        than ``tol``, a ConvergenceWarning reports it.
    max_seconds : float, optional
        Time limit, > 0, after which the fit stops with the best weights found.
    cache_mb : float, default=2000
        Memory for the Gram matrices, > 0, in units of 2^20 bytes. They are kept in float64, or in
        float32 if only that fits. Otherwise some are kept, and the others are recomputed at each
        step. The memory must hold at least one matrix in float64.
    class_weight : dict or "balanced", optional
        Multiplier of C for each class, from 1e-12 to 1e12.
    n_jobs : int, optional
        Number of threads that compute Gram matrices; None for one, -1 for all cores.
    verbose : bool, default=False
        Print the progress of the fit to standard error every two seconds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels.
    kernels_ : list of Kernel
        The normalised kernels.
    kernel_names_ : list of str
        Short names of the kernels, such as "Gaussian(gamma=0.5) of petal length".
    weights_ : array of shape (n_kernels,)
        Weights d of the kernels. All pairs of classes share the weights; "simple" minimises the
        mean objective of the pairs.
    kernel_ : WeightedSum
        The learned kernel, a function of two sets of points.
    support_ : array of shape (n_support,)
        Indices of the support vectors, the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        The support vectors.
    dual_coef_ : array of shape (n_support,)
        Coefficients beta = alpha y of the support vectors.
    intercept_ : float
        Constant of f(x) = ``kernel_(x, support_vectors_) @ dual_coef_ + intercept_``.
    objective_ : float
        The objective at the solution: the primal objective of the SVM (the mean over pairs of
        classes).
    lower_bound_, upper_bound_ : float
        Bounds on the optimum. The upper one is `objective_`, as the objective is minimised. For
        "simple", the optimum is over all weights; for other rules, the weights are fixed at
        `weights_`.
    dual_gap_ : float
        Difference between `upper_bound_` and `lower_bound_`.
    objective_history_, gap_history_ : arrays of shape (n_iter_,)
        Upper bound and gap at the initial weights, and after each step.
    n_iter_ : int
        Number of weight vectors evaluated (steps + 1). With more than two classes, an
        array with one number per pair.
    estimators_ : list of MKLClassifier
        Only with more than two classes: one estimator per pair, instead of ``support_``,
        ``support_vectors_``, ``dual_coef_`` and ``intercept_``.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    For M kernels on n samples, the Gram matrices take 8 M n^2 bytes, or 4 M n^2 in float32, up to
    ``cache_mb``. Each step costs an SVM fit, O(M n n_support) for the bounds, and O(k^2 n_support)
    for k kernels with positive weight; 5 to 15 steps are typical. For norms below 1.5 the
    solver takes Newton steps; for larger norms it uses the closed form of [2]_.

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
        "weights": one_of(("simple", *RULES, *CLASS_RULES)),
    }

    def _pair_decisions(self, points: Array) -> Sequence[Array]:
        # The pairs share a kernel, so F = K(X, V) B is computed once, with the union V of the
        # support vectors and one column of B per pair.
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
class MKLRegressor(SVMRegressor[Candidates], BaseMKL):
    r"""Epsilon-regression with a learned weighted sum of kernels.

    ``weights="simple"`` solves, to a certified gap,

    .. math::

        \min_{d \ge 0, \, \|d\|_p \le 1} \; \max_{|\beta_i| \le C, \, 1'\beta = 0} \;
        y'\beta - \varepsilon \|\beta\|_1 - \tfrac12 \sum_m d_m \, \beta' K_m \beta,

    the problem of [1]_ for p = 1, where most weights are zero, and of [2]_ for p > 1. The other
    values are rules, which set the weights before the SVM is solved, as for `MKLClassifier`.

    Parameters
    ----------
    weights : str, default="simple"
        The rule for the weights. "simple": minimise the SVM objective above, with
        p = ``norm``. "uniform": equal weights, hard to beat if most kernels are useful. "align":
        proportional to the alignment of each kernel with the target [3]_. "alignf": the weights of
        the sum best aligned with the target [3]_.
    C : float, default=1.0
        Penalty parameter, 1e-12 to 1e12, multiplied by sample weights. Choose it by
        cross-validation.
    epsilon : float, default=0.1
        Maximum error without a penalty, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon do not depend on the units of y.
        Predictions are in the units of y.

    Attributes
    ----------
    weights_ : array of shape (n_kernels,)
        Weights d of the kernels.
    n_iter_ : int
        Number of weight vectors evaluated (steps + 1).
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: the prediction is
        ``kernel_(X, support_vectors_) @ dual_coef_ + intercept_``.
    intercept_ : float
        Intercept in the units of y.
    objective_ : float
        The objective at the solution: the primal objective of the SVM. It is in units of the scaled
        target, as are the bounds and the gap.

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

    _constraints: ClassVar[Mapping[str, Constraint]] = {"weights": one_of(("simple", *RULES))}


def default_kernels(X: Array) -> list[Kernel]:
    """Return Gaussians and polynomials on all standardised features, and on each that varies."""
    # exp(-|z - z'|^2 / (2 w^2)) with z = (x - mean)/std: gamma = 1/(2 w^2)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    varies = spread > 1e-12 * np.abs(X).max(axis=0)
    spread = np.where(varies, spread, 1.0)
    families: list[Kernel] = [Gaussian(gamma=0.5 / width**2) for width in WIDTHS]
    families += [Polynomial(degree=degree) for degree in (1, 2, 3)]
    kernels: list[Kernel] = [Rescaled(each, centre, spread) for each in families]
    columns = np.flatnonzero(varies)
    if X.shape[1] == 1 or len(families) * (1 + len(columns)) > MAX_DEFAULT_KERNELS:
        return kernels
    for j in columns:
        kernels += [On(Rescaled(each, centre[[j]], spread[[j]]), [int(j)]) for each in families]
    return kernels


def candidate_kernels(
    kernels: Any, X: Array, feature_names: Sequence[str] | None = None
) -> list[Kernel]:
    """Build the kernels from the list ``kernels`` for training points X.

    `feature_names` are the column names that `On` may refer to.
    """
    if isinstance(kernels, str | Kernel) or not isinstance(kernels, Iterable):
        raise TypeError(f"expected kernels='auto' or a list of kernels, got {kernels!r}")
    kernels = list(kernels)
    if not kernels:
        raise ValueError("expected at least one kernel, got an empty list")
    resolved = []
    for m, each in enumerate(kernels):
        if isinstance(each, str) and each == "precomputed":
            raise ValueError(
                f"expected kernels of points, got 'precomputed' as kernels[{m}]; for Gram "
                "matrices, pass pliant.kernels.Precomputed(gram) for each, and X as a column of "
                "row numbers"
            )
        try:
            kernel = as_kernel(each, X, feature_names=feature_names)
        except (ValueError, TypeError) as error:
            raise type(error)(f"kernels[{m}]: {error}") from None
        if not (kernel.symmetric and kernel.psd):
            raise ValueError(
                f"expected symmetric positive semi-definite kernels, got {one_line(kernel)} as "
                f"kernels[{m}]"
            )
        resolved.append(kernel)
    return resolved


def normalized_kernels(kernels: Sequence[Kernel], X: Array, normalize: bool) -> list[Kernel]:
    """Check user-defined kernels, and scale all kernels if `normalize`.

    Kernels of points are scaled to k(x, x) = 1. Gram matrices are scaled to a mean diagonal of 1
    on the training points, since k(x, x) of new points is unknown.
    """
    scaled = []
    for m, kernel in enumerate(kernels):
        if made_of(kernel, Precomputed, FunctionKernel):
            try:
                gram = kernel(X)
            except ValueError as error:
                raise ValueError(f"kernel {m}: {error}") from None
            check_psd(gram, m, kernel)
        if not normalize:
            scaled.append(kernel)
            continue
        diagonal = check_kernel_values(kernel._diagonal(X), kernel)
        if made_of(kernel, Precomputed):
            mean = float(diagonal.mean())
            if mean <= 0.0:
                raise ValueError(f"expected a positive trace, got 0 for Gram matrix {m}")
            scaled.append(Scaled(kernel, 1.0 / mean))
        elif (diagonal == 1.0).all():
            scaled.append(kernel)
        elif (diagonal > 0.0).all():
            scaled.append(Normalized(kernel))
        else:
            row = int(np.argmin(diagonal))
            raise ValueError(
                f"expected k(x, x) > 0 to normalise kernels, got {diagonal[row]:g} for kernel {m}, "
                f"{short_name(kernel)}, at row {row}; standardise the features, add a constant to "
                "the kernel, or set normalize=False"
            )
    return scaled
