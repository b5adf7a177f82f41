"""DANK: the data-adaptive non-parametric kernel (Liu et al., JMLR 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pliant.core.validation import Constraint, automatic, real_number
from pliant.methods.dank.estimators import ADAPTATION, BaseGram, BaseHadamard
from pliant.methods.svm.estimators import SVMClassifier, SVMRegressor, documented_as
from pliant.methods.svm.parts import KMeansPartition

DANK: Mapping[str, Constraint] = {**ADAPTATION, "tau": automatic(real_number(least=0))}
"""Constraints on the parameters of DANK, besides the constraints of every SVM."""


@dataclass(kw_only=True, eq=False, repr=False)
class DANKClassifier(BaseHadamard, SVMClassifier[BaseGram]):
    r"""Classification with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\alpha \min_{F \succeq 0}\; 1'\alpha - \tfrac12 \beta'(F \circ K)\beta
        + \eta \left(\|F - 11'\|_F^2 + \tau \, \mathrm{tr} F\right), \\
        \qquad 0 \le \alpha_i \le C, \; y'\alpha = 0, \; \beta = \alpha \circ y,

    problem (4) of [1]_. F is eliminated in closed form, F = (11' + A/(4 eta) - (tau/2) I)_+ with
    A_ij = beta_i K_ij beta_j. For tau = 0 this leaves an SVM dual with one quartic term, solved by
    two-coordinate ascent in about the time of an SVM. For tau > 0 a short sequence of such duals
    solves the problem, and F has few eigenvectors.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        The base kernel: "gaussian", "laplacian", "matern12", "matern32", "matern52",
        "polynomial", "linear", "tl1", "sigmoid"; a pliant kernel; a function of two matrices; or
        "precomputed". Its Gram matrix of the training points must be positive semi-definite;
        that of "tl1", "sigmoid" and other kernels that may be indefinite is tested.
    gamma : float or {"scale", "auto"}, default="scale"
        > 0, for kernels by name; "scale" is 1/(d var(X)), "auto" is 1/d.
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by class and sample weights.
    eta : float or "auto", default="auto"
        Weight of the penalty that keeps F near 11', > 0; the smaller, the more the kernel adapts.
        "auto" is \|alpha\|^2 of the plain SVM, as in the DANK paper; inf gives the plain SVM.
    eta_scale : float, default=1.0
        Factor of eta, > 0.
    tau : float or "auto", default="auto"
        Weight of the trace of F relative to eta, >= 0 and < 2n. The larger it is, the lower the
        rank of F and the faster the fit (a tiny tau keeps all eigenvalues, O(n^3)). "auto" is
        the paper's 0.01 where the Gram matrix is kept whole, and 0, the paper's large-scale form,
        where it is not or there are parts. With eta="auto" and k(x, x) = 1 the rank is at most
        about 1 + 1/(2 tau eta_scale). F is almost constant from tau = 1/(2 eta_scale) on; fits
        are slow just below that value.
    extension : {"smooth", "nearest", "reciprocal", "none"}, default="smooth"
        The rule for new points; see `pliant.kernels.HadamardKernel`.
    tol : float, default=1e-4
        Certified gap, > 0, relative to 1 + abs(objective less its constant).
    max_iter : int, default=-1
        Maximum number of two-coordinate steps, for the plain SVM, the adapted one and each part
        separately; -1 for no limit. Unscaled features, or a linear or polynomial kernel, with C
        of 1000 and more take most. Newton steps, which take turns in long runs, do not count.
    max_seconds : float, optional
        Time limit, > 0. After it the fit keeps the best solution so far and warns of the
        remaining gap: a plain SVM (eta_ = inf) if eta="auto" is not known yet; parts that were
        not begun predict the intercept. The sum over the support points of a warm start is not
        interrupted.
    cache_mb : float, default=2000
        Memory for Gram matrices, > 0, in units of 2^20 bytes. Up to 4000 samples, and where F
        couples all of them (tau > 0, KNPL), the matrix is kept whole if it fits (in float64:
        16 000 samples in 2000 MB); else its rows are computed on demand, and kept as far as there
        is room. Such rows are float32 where all k(x, x) are equal, the kernel is not flat and
        ``tol`` is at least 1e-5; the certificate is that of the rounded matrix.
    partition : KMeansPartition, dict of its settings or {"kmeans"}, optional
        Divide the samples into parts by k-means and solve problem (19) of the paper on each,
        without b and y'alpha = 0, so that a part may hold a single class. The parts together
        solve the problem whose kernel is zero between parts (Lemma 5); ``objective_`` and
        ``dual_gap_`` belong to it. The time grows about linearly with n. Needs tau = 0 and points
        with coordinates. "kmeans" are the defaults of `KMeansPartition`.
    class_weight : dict or "balanced", optional
        Factors of C, each > 0.
    verbose : bool, default=False
        Print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernel_ : HadamardKernel
        The learned kernel, a function of two sets of points; a `pliant.kernels.PartitionedKernel`
        with parts that are not refined, whose ``intercept_`` is 0.
    support_ : array of shape (n_support,)
        Row numbers of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        Those samples; for kernel="precomputed" their row numbers, shape (n_support, 1).
    dual_coef_ : array of shape (n_support,)
        Their beta = alpha y.
    intercept_ : float
        The b of f(x).
    objective_ : float
        The dual objective, a lower bound of the optimum, with its constant.
    dual_gap_ : float
        The optimum is at most objective_ + dual_gap_; nan if the Gram matrix is not PSD.
    objective_constant_ : float
        The part of objective_ that no coefficient changes, eta_ (tau n - tau^2/4); 0 where eta_
        is inf.
    eta_ : float
        The eta that was used; inf if no coefficient is needed.
    adaptation_ : AdaptiveMatrix
        F on the training points.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training point of positive weight, and the centres.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap of each part, and the processor time of its last solution.
    n_iter_ : int
        Two-coordinate steps, of the plain SVM ("auto") and the adapted one together; with more
        than two classes an array, one number per pair.
    objective_history_, gap_history_, step_history_ : arrays of shape (n_checks,)
        Objective, less its constant, and gap at each check of the solver, and the two-coordinate
        steps before it (of the adapted SVM alone, where "auto" solves a plain one first). For
        tau > 0 and KNPL, one entry for each dual of the sequence.
    estimators_ : list of DANKClassifier
        Only with more than two classes: a fitted classifier for each pair, in place of the
        attributes above from ``kernel_`` on.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    Time and memory: O(n^2) for a Gram matrix that is kept whole; two-coordinate steps cost O(n)
    each and their number grows between n and n^2. Rows on demand take O(n n_support) time and
    bounded memory. tau > 0 adds a few eigenvectors of an n_support x n_support
    matrix, O(n_support^2) each, and one Cholesky factorisation of it, O(n_support^3), which makes
    sure that none is missing. ``kernel_`` keeps the training points. A sample of weight 2 is
    not two samples (the quartic term). There are no probabilities: wrap the estimator in
    `sklearn.calibration.CalibratedClassifierCV` for them.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Learning Data-adaptive Non-parametric
       Kernels. Journal of Machine Learning Research 21 (2020).
    .. [2] C.-J. Hsieh, S. Si, I. Dhillon. A Divide-and-Conquer Solver for Kernel Support Vector
       Machines. ICML (2014). (Refinement by way of the parts' support points.)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import DANKClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DANKClassifier(C=10).fit(X[50:], y[50:])
    >>> bool(model.dual_gap_ <= 1e-4 * (1 + model.objective_))
    True
    """

    kernel: Any = field(default="gaussian", kw_only=False)
    gamma: float | Literal["scale", "auto"] = "scale"
    C: float = 1.0
    eta: float | Literal["auto"] = "auto"
    eta_scale: float = 1.0
    tau: float | Literal["auto"] = "auto"
    extension: Literal["smooth", "nearest", "reciprocal", "none"] = "smooth"
    tol: float = 1e-4
    max_iter: int = -1
    max_seconds: float | None = None
    cache_mb: float = 2000.0
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None = None
    class_weight: Any = None
    verbose: bool = False

    _constraints: ClassVar[Mapping[str, Constraint]] = {**SVMClassifier._constraints, **DANK}


@documented_as(DANKClassifier, without=("classes_", "estimators_"))
@dataclass(kw_only=True, eq=False, repr=False)
class DANKRegressor(BaseHadamard, SVMRegressor[BaseGram]):
    r"""Epsilon-regression with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\beta \min_{F \succeq 0}\; y'\beta - \varepsilon \|\beta\|_1
        - \tfrac12 \beta'(F \circ K)\beta
        + \eta \left(\|F - 11'\|_F^2 + \tau \, \mathrm{tr} F\right), \\
        \qquad |\beta_i| \le C, \; 1'\beta = 0,

    section 5 of [1]_ (with the constraint 1'beta = 0, where the paper misprints y'). F is
    eliminated in closed form, as in `DANKClassifier`, which has the other parameters as well.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by sample weights.
    partition : KMeansPartition, dict of its settings or {"kmeans"}, optional
        Divide the samples into parts by k-means and solve problem (19) of the paper on each,
        with the mean of y for b and without 1'beta = 0. The parts together solve the problem
        whose kernel is zero between parts (Lemma 5); ``objective_`` and ``dual_gap_`` belong to
        it. The time grows about linearly with n. Needs tau = 0 and points with coordinates.
        "kmeans" are the defaults of `KMeansPartition`.
    epsilon : float, default=0.1
        Errors up to this size cost nothing, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon mean the same for every unit of
        y. Predictions are in the units of y.

    Attributes
    ----------
    kernel_ : HadamardKernel
        The learned kernel, a function of two sets of points; a `pliant.kernels.PartitionedKernel`
        with parts that are not refined, whose ``intercept_`` is the mean of y.
    n_iter_ : int
        Two-coordinate steps, of the plain SVM ("auto") and the adapted one together.
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction. Divided by std(y), they are the beta of the objective.
    intercept_ : float
        In the units of y.
    objective_ : float
        The dual objective, a lower bound of the optimum, with its constant, in units of the scaled
        target.
    dual_gap_ : float
        The optimum is at most objective_ + dual_gap_, in the same units; nan if the Gram matrix is
        not PSD.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Learning Data-adaptive Non-parametric
       Kernels. Journal of Machine Learning Research 21 (2020).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import DANKRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = DANKRegressor(C=100, epsilon=0.01).fit(X, np.sin(6 * X[:, 0]))
    >>> round(model.score(X, np.sin(6 * X[:, 0])), 2)
    1.0
    """

    kernel: Any = field(default="gaussian", kw_only=False)
    gamma: float | Literal["scale", "auto"] = "scale"
    C: float = 1.0
    epsilon: float = 0.1
    eta: float | Literal["auto"] = "auto"
    eta_scale: float = 1.0
    tau: float | Literal["auto"] = "auto"
    extension: Literal["smooth", "nearest", "reciprocal", "none"] = "smooth"
    scale_target: bool = True
    tol: float = 1e-4
    max_iter: int = -1
    max_seconds: float | None = None
    cache_mb: float = 2000.0
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None = None
    verbose: bool = False

    _constraints: ClassVar[Mapping[str, Constraint]] = {**SVMRegressor._constraints, **DANK}
