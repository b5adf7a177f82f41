"""Multiple kernel learning: support vector machines that learn their kernel weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.docstrings import documented_as
from pliant.core.parameters import Constraint, check_parameters, one_of
from pliant.core.progress import Deadline, FitProgress, with_callbacks
from pliant.core.sparse import stack_rows
from pliant.core.state import trains
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.methods.mkl.machine import BaseMKL
from pliant.methods.mkl.rules import CLASS_RULES, RULES
from pliant.methods.svm.machine import SVMClassifier, SVMRegressor
from pliant.methods.svm.problem import LearnedFunction, TrainingData, expansion

if not process.BARE:  # what a fit needs
    from pliant.methods.mkl.fit import fit_options, learn_weights, learned_functions, training_grams

SHARED = (
    *("kernel_", "kernels_", "weights_", "lower_bound_", "objective_", "dual_gap_"),
    *("objective_history_", "gap_history_"),
)
"""Fitted attributes that the pairs of classes share."""


class MKLFit(BaseMKL):
    """The fit of MKL."""

    @blas_limited
    @trains
    @with_callbacks
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Learn the kernel and its coefficients.

        Raise ValueError if a parameter is invalid, or y has a single class or value.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training data, finite; row numbers of shape (n_samples, 1) for kernels given as
            Gram matrices.
        y : array-like of shape (n_samples,)
            Class labels of any type; real targets for regression.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C, each >= 0. Samples of weight zero are ignored.
        """
        check_parameters(self)
        options = fit_options(self)
        data = self._training_data(X, y, sample_weight)
        progress = FitProgress(self, X, y)
        candidates = training_grams(data, options)
        deadline = Deadline(progress, self.max_seconds)
        result = learn_weights(data.problems, candidates, options, deadline)
        self._store(data, learned_functions(result, candidates))
        progress.end()
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class MKLClassifier(SVMClassifier, MKLFit):
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

    def _store(self, data: TrainingData, functions: Sequence[LearnedFunction]) -> None:
        super()._store(data, functions)
        if len(functions) > 1:  # the pairs share the weights, and bounds on the mean objective
            for name in SHARED:
                setattr(self, name, getattr(self.estimators_[0], name))

    def _pair_decisions(self, points: Array) -> Sequence[Array]:
        # The pairs share a kernel, so F = K(X, V) B is computed once, with the union V of the
        # support vectors and one column of B per pair.
        pairs = self.estimators_
        support = np.concatenate([each.support_ for each in pairs])
        samples, first = np.unique(support, return_index=True)
        vectors = stack_rows([each.support_vectors_ for each in pairs])[first]
        coefficients = np.zeros((len(samples), len(pairs)))
        for column, each in zip(coefficients.T, pairs, strict=True):
            column[np.searchsorted(samples, each.support_)] = each.dual_coef_
        values = expansion(self.kernel_, points, vectors, coefficients)
        return [f + each.intercept_ for f, each in zip(values.T, pairs, strict=True)]


@documented_as(MKLClassifier, without=("classes_", "estimators_"))
@dataclass(kw_only=True, eq=False, repr=False)
class MKLRegressor(SVMRegressor, MKLFit):
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
