"""KNPL: the kernel with a nonlinear pairwise layer (Liu et al., AAAI 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pliant.core.validation import Constraint
from pliant.methods.hadamard.estimators import ADAPTATION, BaseHadamard
from pliant.methods.svm.estimators import SVMClassifier, SVMRegressor


class KNPLClassifier(BaseHadamard, SVMClassifier):
    r"""Classification with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\alpha \min_{F \succeq 0,\, F1 = n1}\; 1'\alpha
        - \tfrac12 \beta'(F \circ K)\beta + \eta \left(\|F\|_F^2 - n^2\right), \\
        \qquad 0 \le \alpha_i \le C, \; y'\alpha = 0, \; \beta = \alpha \circ y,

    problem (4) of [1]_, less its constant (the paper writes G and gamma for F and eta). F is
    eliminated in closed form, F = 11' + P A P/(4 eta) with A_ij = beta_i K_ij beta_j and
    P = I - 11'/n; what remains is solved by a short sequence of SVM duals with one quartic term.
    The paper's alternation between F and alpha does not converge.

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
    eta_scale : float, default=1.0
        Factor of eta, > 0.
    extension : {"smooth", "nearest", "reciprocal", "none"}, default="smooth"
        How the adaptation extends to new points; see `pliant.kernels.HadamardKernel`.
    n_neighbors : int, default=5
        Number of neighbours of a new point for "smooth", >= 1.
    max_iter : int, default=-1
        Maximum number of two-coordinate steps, for the plain SVM, for KNPL and for each part
        separately; -1 for no limit. Unscaled features, or a linear or polynomial kernel, with C
        of 1000 and more take most. Newton steps, which take turns in long runs, do not count.
    class_weight : dict or "balanced", optional
        Factors of C, each > 0.
    eta : float or "auto", default="auto"
        Weight of the penalty that keeps F near 11', > 0; the smaller, the more the kernel adapts.
        "auto" is \|alpha\|^2 of the plain SVM, the scale that DANK uses; inf gives the plain
        SVM.
    tol : float, default=1e-4
        Certified gap, > 0, relative to 1 + abs(objective).
    max_seconds : float, optional
        Time limit, > 0. After it the fit keeps the best solution so far and warns of the
        remaining gap; parts that were not begun predict the intercept.
    cache_mb : float, default=2000
        Memory for the Gram matrix, > 0, in units of 2^20 bytes. If the matrix does not fit, its
        rows are computed on demand, again for each dual of the sequence.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of the Gram matrix; sums are float64. "auto" is float64 for matrices kept whole,
        and float32 for rows on demand if all k(x, x) are equal and the kernel is not flat.
    partition : {"kmeans"}, optional
        Divide the samples into parts by k-means and solve a problem of KNPL on each, without b and
        y'alpha = 0: the rows of its F sum to the number of its samples. The parts together solve
        the problem whose kernel is zero between parts, over these F; ``objective_`` and
        ``dual_gap_`` belong to it. The time grows about linearly with n. Needs points with
        coordinates.
    n_parts : int or "auto", default="auto"
        Number of parts, for each pair of classes; "auto" makes parts of about 4000 samples,
        none of more than 8000.
    prediction : {"part", "whole"}, default="part"
        Predict by the part of the nearest centre, or by all parts, with F = 1 between them: slower,
        and worse wherever parts overlap.
    n_jobs : int, optional
        Number of parts that are solved at once, in threads or on the backend of
        `joblib.parallel_config`. Each worker may take ``cache_mb``. Callbacks are called after
        each part.
    random_state : int, RandomState or None, default=None
        Seed of the first centres of k-means. Without parts nothing is random.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    support_ : array of shape (n_support,)
        Row numbers of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        Those samples; for kernel="precomputed" their row numbers, shape (n_support, 1).
    dual_coef_ : array of shape (n_support,)
        Their beta = alpha y.
    intercept_ : float
        The b of f(x).
    dual_gap_ : float
        The optimum is at most objective_ + dual_gap_; nan if the Gram matrix is not PSD.
    n_features_in_ : int
        Number of features seen during fit.
    eta_ : float
        The eta that was used; inf if no coefficient is needed.
    adaptation_ : AdaptiveMatrix
        F on the training points.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training point of positive weight, and the centres.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap of each part, and the processor time of its last solution.
    n_iter_ : int
        Two-coordinate steps, of the plain SVM ("auto") and of KNPL together; with more than two
        classes an array, one number per pair.
    estimators_ : list of KNPLClassifier
        Only with more than two classes: a fitted classifier for each pair, in place of the
        attributes above from ``kernel_`` on.
    kernel_ : HadamardKernel
        The learned kernel, a function of two sets of points; a `pliant.kernels.PartitionedKernel`
        with parts, whose ``intercept_`` is 0.
    objective_ : float
        The dual objective, a lower bound of the optimum.
    objective_constant_ : float
        The part of objective_ that no coefficient changes: 0.
    objective_history_, gap_history_, step_history_ : arrays of shape (n_checks,)
        Objective and gap at each check of the solver, and the two-coordinate steps before it (of
        KNPL alone, where "auto" solves a plain SVM first). One entry for each dual of the
        sequence.

    Notes
    -----
    Time and memory: O(n^2) for the Gram matrix; two-coordinate steps cost O(n) each and their
    number grows between n and n^2. ``kernel_`` keeps the training points. A sample of weight 2 is
    not two samples (the quartic term). There are no probabilities: wrap the estimator in
    `sklearn.calibration.CalibratedClassifierCV` for them.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Nonlinear Pairwise Layer and Its Training
       for Kernel Learning. AAAI Conference on Artificial Intelligence (2018).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import KNPLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNPLClassifier(C=10).fit(X[50:], y[50:])
    >>> bool(model.dual_gap_ <= 1e-4 * (1 + model.objective_))
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {**SVMClassifier._constraints, **ADAPTATION}
    _centred = True

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        gamma: float | str = "scale",
        C: float = 1.0,
        eta: float | str = "auto",
        eta_scale: float = 1.0,
        extension: str = "smooth",
        n_neighbors: int = 5,
        tol: float = 1e-4,
        max_iter: int = -1,
        max_seconds: float | None = None,
        cache_mb: float = 2000.0,
        dtype: str = "auto",
        partition: str | None = None,
        n_parts: int | str = "auto",
        prediction: str = "part",
        n_jobs: int | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.eta = eta
        self.eta_scale = eta_scale
        self.extension = extension
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.cache_mb = cache_mb
        self.dtype = dtype
        self.partition = partition
        self.n_parts = n_parts
        self.prediction = prediction
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose


class KNPLRegressor(BaseHadamard, SVMRegressor):
    r"""Epsilon-regression with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\beta \min_{F \succeq 0,\, F1 = n1}\; y'\beta - \varepsilon \|\beta\|_1
        - \tfrac12 \beta'(F \circ K)\beta + \eta \left(\|F\|_F^2 - n^2\right), \\
        \qquad |\beta_i| \le C, \; 1'\beta = 0,

    the method of [1]_, which is for classification, with the loss of regression. F is eliminated
    in closed form, as in `KNPLClassifier`.

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
        Penalty parameter, > 0. Multiplied by sample weights.
    eta : float or "auto", default="auto"
        Weight of the penalty that keeps F near 11', > 0; the smaller, the more the kernel adapts.
        "auto" is \|alpha\|^2 of the plain SVM, the scale that DANK uses; inf gives the plain
        SVM.
    eta_scale : float, default=1.0
        Factor of eta, > 0.
    extension : {"smooth", "nearest", "reciprocal", "none"}, default="smooth"
        How the adaptation extends to new points; see `pliant.kernels.HadamardKernel`.
    n_neighbors : int, default=5
        Number of neighbours of a new point for "smooth", >= 1.
    tol : float, default=1e-4
        Certified gap, > 0, relative to 1 + abs(objective).
    max_iter : int, default=-1
        Maximum number of two-coordinate steps, for the plain SVM, for KNPL and for each part
        separately; -1 for no limit. Unscaled features, or a linear or polynomial kernel, with C
        of 1000 and more take most. Newton steps, which take turns in long runs, do not count.
    random_state : int, RandomState or None, default=None
        Seed of the first centres of k-means. Without parts nothing is random.
    max_seconds : float, optional
        Time limit, > 0. After it the fit keeps the best solution so far and warns of the
        remaining gap; parts that were not begun predict the intercept.
    cache_mb : float, default=2000
        Memory for the Gram matrix, > 0, in units of 2^20 bytes. If the matrix does not fit, its
        rows are computed on demand, again for each dual of the sequence.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of the Gram matrix; sums are float64. "auto" is float64 for matrices kept whole,
        and float32 for rows on demand if all k(x, x) are equal and the kernel is not flat.
    partition : {"kmeans"}, optional
        Divide the samples into parts by k-means and solve a problem of KNPL on each, without b and
        1'beta = 0, with the mean of y for b: the rows of its F sum to the number of its samples.
        The parts together solve the problem whose kernel is zero between parts, over these F;
        ``objective_`` and ``dual_gap_`` belong to it. The time grows about linearly with n. Needs
        points with coordinates.
    n_parts : int or "auto", default="auto"
        Number of parts; "auto" makes parts of about 4000 samples, none of more than 8000.
    prediction : {"part", "whole"}, default="part"
        Predict by the part of the nearest centre, or by all parts, with F = 1 between them: slower,
        and worse wherever parts overlap.
    n_jobs : int, optional
        Number of parts that are solved at once, in threads or on the backend of
        `joblib.parallel_config`. Each worker may take ``cache_mb``. Callbacks are called after
        each part.
    epsilon : float, default=0.1
        Errors up to this size cost nothing, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon mean the same for every unit of
        y. Predictions are in the units of y.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    kernel_ : HadamardKernel
        The learned kernel, a function of two sets of points; a `pliant.kernels.PartitionedKernel`
        with parts, whose ``intercept_`` is the mean of y.
    support_ : array of shape (n_support,)
        Row numbers of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        Those samples; for kernel="precomputed" their row numbers, shape (n_support, 1).
    eta_ : float
        The eta that was used; inf if no coefficient is needed.
    adaptation_ : AdaptiveMatrix
        F on the training points.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training point of positive weight, and the centres.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap of each part, and the processor time of its last solution.
    n_iter_ : int
        Two-coordinate steps, of the plain SVM ("auto") and of KNPL together.
    objective_history_, gap_history_, step_history_ : arrays of shape (n_checks,)
        Objective and gap at each check of the solver, and the two-coordinate steps before it (of
        KNPL alone, where "auto" solves a plain SVM first). One entry for each dual of the
        sequence.
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction. Divided by std(y), they are the beta of the objective.
    intercept_ : float
        In the units of y.
    objective_ : float
        The dual objective, a lower bound of the optimum, in units of the scaled target.
    dual_gap_ : float
        The optimum is at most objective_ + dual_gap_, in the same units; nan if the Gram matrix is
        not PSD.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Nonlinear Pairwise Layer and Its Training
       for Kernel Learning. AAAI Conference on Artificial Intelligence (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import KNPLRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = KNPLRegressor(C=100, epsilon=0.01).fit(X, np.sin(6 * X[:, 0]))
    >>> round(model.score(X, np.sin(6 * X[:, 0])), 2)
    1.0
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {**SVMRegressor._constraints, **ADAPTATION}
    _centred = True

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        gamma: float | str = "scale",
        C: float = 1.0,
        epsilon: float = 0.1,
        eta: float | str = "auto",
        eta_scale: float = 1.0,
        extension: str = "smooth",
        n_neighbors: int = 5,
        scale_target: bool = True,
        tol: float = 1e-4,
        max_iter: int = -1,
        max_seconds: float | None = None,
        cache_mb: float = 2000.0,
        dtype: str = "auto",
        partition: str | None = None,
        n_parts: int | str = "auto",
        prediction: str = "part",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.epsilon = epsilon
        self.eta = eta
        self.eta_scale = eta_scale
        self.extension = extension
        self.n_neighbors = n_neighbors
        self.scale_target = scale_target
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.cache_mb = cache_mb
        self.dtype = dtype
        self.partition = partition
        self.n_parts = n_parts
        self.prediction = prediction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
