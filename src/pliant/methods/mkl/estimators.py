"""Multiple kernel learning: support vector machines that learn the weights of their kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pliant.core.typing import Array
from pliant.core.validation import Constraint, check_flag, one_of
from pliant.methods.mkl.base import BaseMKL
from pliant.methods.mkl.rules import CLASSIFICATION_RULES, RULES
from pliant.methods.svm.estimators import SVMClassifier, SVMRegressor
from pliant.methods.svm.expansion import expansion


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
        How the weights are found:

        - "simple": they minimise the objective of the SVM; ``norm`` is p above.
        - "uniform": equal weights, which are hard to beat where most kernels are useful.
        - "performance": by the cross-validated accuracy of an SVM with each kernel alone [3]_.
        - "align": by the alignment of each kernel with the labels [4]_.
        - "alignf": those of the sum that is best aligned with the labels [4]_.
        - "easy": EasyMKL, by the margin of the sum of all kernels [5]_.
        - "radius-margin": they minimise the ratio of the radius of the smallest enclosing ball to
          the margin; the classes must be separable.
    norm : float, default=1.0
        p >= 1 for "simple". With p > 1 all kernels have weight.
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by class and sample weights. Choose it by
        cross-validation.
    center : bool, default=True
        Whether "align" and "alignf" centre the kernels. The SVM does not depend on it.
    normalize : bool, default=True
        Scale kernels to k(x, x) = 1, and Gram matrices to a mean diagonal of 1: weights of kernels
        on different scales mean nothing. A kernel with k(x, x) = 0 for a sample, also one to
        predict, raises an error.
    shared_weights : bool, default=True
        With more than two classes, learn one set of weights for all pairs of classes, which
        minimises the mean of their objectives; else one set for each pair.
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
    random_state : int, RandomState or None, default=None
        Draws the folds of "performance".
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
        Their weights d. With ``shared_weights=False`` and more than two classes, each of
        ``estimators_`` has its own.
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
    .. [3] H. Tanabe, T. B. Ho, C. H. Nguyen, S. Kawasaki. Simple but Effective Methods for
       Combining Kernels in Computational Biology. RIVF (2008).
    .. [4] C. Cortes, M. Mohri, A. Rostamizadeh. Algorithms for Learning Kernels Based on Centered
       Alignment. Journal of Machine Learning Research 13 (2012).
    .. [5] F. Aiolli, M. Donini. EasyMKL: a scalable multiple kernel learning algorithm.
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
        "shared_weights": check_flag,
    }

    def __init__(
        self,
        kernels: Any = "auto",
        *,
        weights: str = "simple",
        norm: float = 1.0,
        C: float = 1.0,
        center: bool = True,
        normalize: bool = True,
        shared_weights: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
        max_seconds: float | None = None,
        cache_mb: float = 2000.0,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernels = kernels
        self.weights = weights
        self.norm = norm
        self.C = C
        self.center = center
        self.normalize = normalize
        self.shared_weights = shared_weights
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.cache_mb = cache_mb
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _pair_decisions(self, points: Array) -> Sequence[Array]:
        if "kernel_" not in vars(self):
            return super()._pair_decisions(points)
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


class MKLRegressor(BaseMKL, SVMRegressor):
    r"""Epsilon-regression with a learned weighted sum of kernels.

    With ``weights="simple"``, solves to a certified gap

    .. math::

        \min_{d \ge 0, \, \|d\|_p \le 1} \; \max_{|\beta_i| \le C, \, 1'\beta = 0} \;
        y'\beta - \varepsilon \|\beta\|_1 - \tfrac12 \sum_m d_m \, \beta' K_m \beta,

    the problem of [1]_ for p = 1, where most weights are zero, and of [2]_ for p > 1.

    Parameters
    ----------
    kernels : "auto" or list of str, Kernel or callable, default="auto"
        The kernels. "auto" are Gaussians of ten widths and polynomials of degree 1 to 3, of all
        standardised features and of each one (of all only, where that gives more than 1000
        kernels). Names are those of `pliant.kernels`, ``On(kernel, columns)`` is a kernel of some
        features, and a callable is a function of two matrices. For Gram matrices from elsewhere,
        pass ``Precomputed(gram)`` for each, and row numbers of shape (n_samples, 1) as X.
    norm : float, default=1.0
        p >= 1 for "simple". With p > 1 all kernels have weight.
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by sample weights. Choose it by
        cross-validation.
    center : bool, default=True
        Whether "align" and "alignf" centre the kernels. The SVM does not depend on it.
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
    n_jobs : int, optional
        Number of threads that compute Gram matrices; None for one, -1 for all cores.
    random_state : int, RandomState or None, default=None
        Draws the folds of "performance".
    weights : {"simple", "uniform", "performance", "align", "alignf"}, default="simple"
        How the weights are found:

        - "simple": they minimise the objective of the SVM; ``norm`` is p above.
        - "uniform": equal weights, which are hard to beat where most kernels are useful.
        - "performance": by the cross-validated R^2 of an SVM with each kernel alone [3]_.
        - "align": by the alignment of each kernel with the target [4]_.
        - "alignf": those of the sum that is best aligned with the target [4]_.
    epsilon : float, default=0.1
        Errors up to this size are not penalised, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon mean the same for every unit of
        y. Predictions are in the units of y.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    kernels_ : list of Kernel
        The normalised kernels.
    kernel_names_ : list of str
        Short names of these, such as "Gaussian(gamma=0.5) of petal length".
    weights_ : array of shape (n_kernels,)
        Their weights d.
    kernel_ : WeightedSum
        The learned kernel, a function of two sets of points.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        These samples.
    lower_bound_ : float
        A lower bound of the optimum, in the same units: over all weights for "simple", for these
        weights otherwise.
    dual_gap_ : float
        Their difference.
    n_iter_ : int
        Number of weights whose bounds were computed: 1 and the steps.
    objective_history_, gap_history_ : arrays of shape (n_iter_,)
        Upper bound and gap at the first weights, and after each step.
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
    .. [3] H. Tanabe, T. B. Ho, C. H. Nguyen, S. Kawasaki. Simple but Effective Methods for
       Combining Kernels in Computational Biology. RIVF (2008).
    .. [4] C. Cortes, M. Mohri, A. Rostamizadeh. Algorithms for Learning Kernels Based on Centered
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
    shared_weights = True

    def __init__(
        self,
        kernels: Any = "auto",
        *,
        weights: str = "simple",
        norm: float = 1.0,
        C: float = 1.0,
        epsilon: float = 0.1,
        center: bool = True,
        normalize: bool = True,
        scale_target: bool = True,
        tol: float = 1e-3,
        max_iter: int = 100,
        max_seconds: float | None = None,
        cache_mb: float = 2000.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernels = kernels
        self.weights = weights
        self.norm = norm
        self.C = C
        self.epsilon = epsilon
        self.center = center
        self.normalize = normalize
        self.scale_target = scale_target
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.cache_mb = cache_mb
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
