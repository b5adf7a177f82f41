"""DANK: the data-adaptive non-parametric kernel (Liu et al., JMLR 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy.typing as npt

from pliant.core import process
from pliant.core.docstrings import documented_as
from pliant.core.parameters import (
    Constraint,
    automatic,
    check_parameters,
    real_number,
)
from pliant.core.progress import Deadline, FitProgress, with_callbacks
from pliant.core.state import trains
from pliant.core.threads import blas_limited
from pliant.methods.dank.machine import BaseHadamard
from pliant.methods.svm.machine import SVMClassifier, SVMRegressor

if not process.BARE:  # what a fit needs
    from pliant.methods.dank.fit import adapt, fit_options
    from pliant.methods.dank.gram import training_gram
    from pliant.methods.dank.parts import adapt_in_parts


class HadamardFit(BaseHadamard):
    """The fit of DANK and KNPL."""

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
            The training data, finite; for kernel="precomputed", the Gram matrix of shape
            (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Class labels of any type; real targets for regression.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C, each >= 0. Samples of weight zero are ignored.
        """
        check_parameters(self)
        options = fit_options(self)
        data = self._training_data(X, y, sample_weight)
        progress = FitProgress(self, X, y)
        base = training_gram(data, options)
        deadline = Deadline(progress, self.max_seconds)
        learn = adapt if self.partition is None else adapt_in_parts
        functions = [learn(problem, base, options, deadline) for problem in data.problems]
        self._store(data, functions)
        progress.end()
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class DANKClassifier(SVMClassifier, HadamardFit):
    r"""Classification with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\alpha \min_{F \succeq 0}\; 1'\alpha - \tfrac12 \beta'(F \circ K)\beta
        + \eta \left(\|F - 11'\|_F^2 + \tau \, \mathrm{tr} F\right), \\
        \qquad 0 \le \alpha_i \le C, \; y'\alpha = 0, \; \beta = \alpha \circ y,

    problem (4) of [1]_. F is eliminated in closed form, F = (11' + A/(4 eta) - (tau/2) I)_+ with
    A_ij = beta_i K_ij beta_j. For tau = 0, the result is an SVM dual with one quartic term, which
    two-coordinate ascent solves in about the time of a plain SVM. For tau > 0, the fit solves a
    short sequence of such duals, and F has few eigenvectors.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        The base kernel: "gaussian", "laplacian", "matern12", "matern32", "matern52",
        "polynomial", "linear", "tl1", "sigmoid"; a pliant kernel; a function of two matrices; or
        "precomputed". Its Gram matrix on the training points must be positive semi-definite; the
        fit tests this for "tl1", "sigmoid" and other kernels that can be indefinite.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of the named kernels, 1e-12 to 1e12; "scale" is 1/(d var(X)), "auto" is 1/d.
    C : float, default=1.0
        Penalty parameter, from 1e-12 to 1e12. Multiplied by class and sample weights.
    eta : float or "auto", default="auto"
        Weight of the penalty on F - 11', 1e-12 to 1e12; a smaller eta lets the kernel adapt more.
        "auto" is \|alpha\|^2 of the plain SVM, as in the DANK paper; inf gives the plain SVM.
    eta_scale : float, default=1.0
        Factor of eta, from 1e-12 to 1e12.
    tau : float or "auto", default="auto"
        Weight of the trace of F relative to eta, >= 0 and < 2n. A larger tau lowers the rank of F
        and the fit time (with a tiny tau, F keeps all eigenvalues, at a cost of O(n^3)). "auto" is
        the paper's 0.01 if the full Gram matrix is stored. Otherwise, for example with
        ``partition``, it is 0, the paper's large-scale form. With eta="auto" and k(x, x) = 1, the
        rank of F is at most about 1 + 1/(2 tau eta_scale). F is almost constant for
        tau >= 1/(2 eta_scale); fits are slow just below that value.
    extension : {"smooth", "nearest", "reciprocal", "none"}, default="smooth"
        The extension of F to new points. "smooth" averages beta over the nearest training points,
        "nearest" and "reciprocal" replace a new point by a training point, and "none" is F = 1.
    tol : float, default=1e-4
        Certified gap, > 0, relative to 1 + abs(objective without its constant).
    max_iter : int, default=-1
        Maximum number of two-coordinate steps, separately for the plain SVM, the adapted SVM and
        each part; -1 for no limit. Fits to unscaled features, or with a linear or polynomial kernel
        and C >= 1000, need the most steps. Newton steps, used in long fits, are not counted.
    max_seconds : float, optional
        Time limit, > 0. When it is reached, the fit returns the best solution so far and warns
        about the remaining gap. The solution is a plain SVM (eta_ = inf) if eta="auto" is not yet
        computed. Parts not started have zero coefficients and predict the intercept. The initial
        product K beta of a warm start is not interrupted.
    cache_mb : float, default=2000
        Memory for Gram matrices, > 0, in units of 2^20 bytes. The full matrix is stored if it fits
        (2000 MB hold 16 000 samples in float64), and if there are at most 4000 samples or F couples
        all samples (tau > 0, KNPL). Otherwise rows are computed on demand and cached within this
        memory. These rows are float32 if all k(x, x) are equal, k is not nearly constant and
        ``tol`` >= 1e-5; the certificate then refers to the rounded matrix.
    partition : KMeansPartition, dict of its settings or {"kmeans"}, optional
        Divide the samples into parts by k-means and solve problem (19) of the paper on each,
        without b and y'alpha = 0. A part can contain a single class. Together, the parts solve the
        problem for a kernel that is 0 between parts (Lemma 5); ``objective_`` and ``dual_gap_``
        refer to this problem. The time grows about linearly with n. Requires tau = 0 and points
        with coordinates. "kmeans" uses the defaults of `KMeansPartition`.
    class_weight : dict or "balanced", optional
        Factors of C, each from 1e-12 to 1e12.
    verbose : bool, default=False
        Print the progress of the fit to standard error every two seconds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernel_ : HadamardKernel
        The learned kernel, a function of two sets of points. With unrefined parts, it is a
        `PartitionedKernel`, which is 0 between parts, and ``intercept_`` is 0.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        The support vectors; for kernel="precomputed" their row numbers, shape (n_support, 1).
    dual_coef_ : array of shape (n_support,)
        Coefficients beta = alpha y of the support vectors.
    intercept_ : float
        The intercept b of f(x).
    objective_ : float
        The objective at the solution: the dual objective at beta, with its constant.
    lower_bound_, upper_bound_ : float
        Bounds on the optimum. The lower one is `objective_`, as the objective is maximised; the
        upper one is nan if the Gram matrix is not PSD.
    dual_gap_ : float
        Difference between `upper_bound_` and `lower_bound_`.
    objective_constant_ : float
        The constant term of objective_, eta_ (tau n - tau^2/4); 0 if eta_ is inf.
    eta_ : float
        The eta used in the fit; inf if all coefficients are 0.
    adaptation_ : AdaptiveMatrix
        F on the training points.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training point of positive weight, and the centres.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap of each part, and the CPU time of its last optimisation.
    n_iter_ : int
        Total number of two-coordinate steps of the adapted SVM and, for eta="auto", the plain SVM;
        with more than two classes, an array with one number per pair.
    objective_history_, gap_history_, step_history_ : arrays of shape (n_checks,)
        Objective without its constant, gap, and number of two-coordinate steps at each check of the
        solver. The steps of the plain SVM for eta="auto" are not included. For tau > 0 and KNPL,
        there is one entry for each dual in the sequence.
    estimators_ : list of DANKClassifier
        Only with more than two classes: a fitted classifier for each pair. ``kernel_`` and the
        attributes listed after it then belong to these classifiers.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    A stored Gram matrix takes O(n^2) time and memory. Two-coordinate steps cost O(n) each; their
    number is between O(n) and O(n^2). Rows on demand take O(n n_support) time and bounded memory.
    With tau > 0, a fit also computes a few eigenvectors of an n_support x n_support matrix, in
    O(n_support^2) each. One Cholesky factorisation, O(n_support^3), verifies that none is missing.
    ``kernel_`` contains the training points. Because of the quartic term, a sample of weight 2 is
    not equivalent to two samples. For probabilities, wrap the estimator in
    `sklearn.calibration.CalibratedClassifierCV`.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Learning Data-adaptive Non-parametric
       Kernels. Journal of Machine Learning Research 21 (2020).
    .. [2] C.-J. Hsieh, S. Si, I. Dhillon. A Divide-and-Conquer Solver for Kernel Support Vector
       Machines. ICML (2014). (Refinement with the parts' support points.)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import DANKClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DANKClassifier(C=10).fit(X[50:], y[50:])
    >>> bool(model.dual_gap_ <= 1e-4 * (1 + model.objective_))
    True
    """

    tau: float | Literal["auto"] = "auto"

    _constraints: ClassVar[Mapping[str, Constraint]] = {"tau": automatic(real_number(least=0))}


@documented_as(DANKClassifier, without=("classes_", "estimators_"))
@dataclass(kw_only=True, eq=False, repr=False)
class DANKRegressor(SVMRegressor, HadamardFit):
    r"""Epsilon-regression with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\beta \min_{F \succeq 0}\; y'\beta - \varepsilon \|\beta\|_1
        - \tfrac12 \beta'(F \circ K)\beta
        + \eta \left(\|F - 11'\|_F^2 + \tau \, \mathrm{tr} F\right), \\
        \qquad |\beta_i| \le C, \; 1'\beta = 0,

    section 5 of [1]_ (with 1'beta = 0, where the paper misprints y' for 1'). F is eliminated in
    closed form, as in `DANKClassifier`, which also documents the other parameters.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, from 1e-12 to 1e12. Multiplied by sample weights.
    partition : KMeansPartition, dict of its settings or {"kmeans"}, optional
        Divide the samples into parts by k-means and solve problem (19) of the paper on each,
        with b = mean(y) and without 1'beta = 0. Together, the parts solve the problem for a kernel
        that is 0 between parts (Lemma 5); ``objective_`` and ``dual_gap_`` refer to this problem.
        The time grows about linearly with n. Requires tau = 0 and points with coordinates. "kmeans"
        uses the defaults of `KMeansPartition`.
    epsilon : float, default=0.1
        Errors up to this size are not penalised, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Fit (y - mean)/std instead of y, so that C and epsilon do not depend on the unit of y.
        Predictions are in the units of y.

    Attributes
    ----------
    kernel_ : HadamardKernel
        The learned kernel, a function of two sets of points. With unrefined parts, it is a
        `PartitionedKernel`, which is 0 between parts, and ``intercept_`` is the mean of y.
    n_iter_ : int
        Total number of two-coordinate steps of the adapted SVM and, for eta="auto", the plain SVM.
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction. Divided by std(y), they are the beta of the objective.
    intercept_ : float
        The intercept, in the units of y.
    objective_ : float
        The objective at the solution: the dual objective at beta, with its constant. It is in units
        of the scaled target, as are the bounds and the gap.

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

    tau: float | Literal["auto"] = "auto"

    _constraints = DANKClassifier._constraints
