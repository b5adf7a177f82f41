"""TKL: tessellated kernel learning (Talitckii, Colbert and Peet, 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pliant.core.kernels.base import Kernel, Rescaled
from pliant.core.typing import Array
from pliant.core.validation import Constraint, check_flag, check_vector, one_of
from pliant.methods.svm.estimators import SVMClassifier, SVMRegressor
from pliant.methods.svm.parts import DIVISION
from pliant.methods.tessellated.base import BaseGKL, unscaled
from pliant.methods.tessellated.tessellated_kernel import BASES, TessellatedKernel, check_degree

KERNEL_CONSTRAINTS: Mapping[str, Constraint] = {
    "degree": check_degree,
    "basis": one_of(BASES),
    "scale": check_flag,
    "normalize_measure": check_flag,
}
"""Parameters of the kernel; ``delta`` is checked in `_margins`, with the number of features."""


def _kernel_of(estimator: Any, X: Array) -> Kernel:
    """Return the tessellated kernel to learn, on a box around X, with the scaling of features."""
    below, above = _margins(estimator.delta, X.shape[1])
    degree, normalized = int(estimator.degree), bool(estimator.normalize_measure)
    kernel = TessellatedKernel(-below, 1.0 + above, degree, estimator.basis, normalized)
    if estimator.scale:
        return Rescaled(kernel, X.min(axis=0), _widths(X))
    outside = (kernel.lower > X) | (kernel.upper < X)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(
            f"expected features in the box [0 - delta, 1 + delta], got {X[row, column]:g} in "
            f"column {column}; scale=True brings them there"
        )
    return kernel


def _margins(delta: Any, n_features: int) -> tuple[Array, Array]:
    """Return how far the box reaches below 0 and above 1, for each feature."""
    pair = delta if isinstance(delta, tuple) else (delta, delta)
    if len(pair) != 2:
        raise ValueError(
            f"expected a tuple delta to be a pair (below, above), got {delta!r}; give one number "
            "per feature as a list or an array"
        )
    if isinstance(delta, bool | np.bool_ | None):
        raise ValueError(f"expected delta to be a number, a pair or a list, got {delta!r}")
    below, above = (check_vector("delta", part, n_features) for part in pair)
    if min(below.min(), above.min()) < 0:
        raise ValueError(f"expected delta >= 0, got {delta!r}")
    return below, above


def _widths(X: Array) -> Array:
    """Return the range of each feature; 1 for a constant one."""
    with np.errstate(over="ignore"):
        widths = X.max(axis=0) - X.min(axis=0)
    if not np.isfinite(widths).all():
        column = int(np.argmin(np.isfinite(widths)))
        raise ValueError(
            f"expected features of finite range, got {X[:, column].min():g} to "
            f"{X[:, column].max():g} in column {column}"
        )
    return np.where(widths > 0.0, widths, 1.0)


def _corner(name: str) -> property:
    """Return a property for the ``lower`` or ``upper`` corner of the box of the learned kernel."""

    def corner(estimator: BaseGKL) -> Array:
        first = estimator.estimators_[0] if "estimators_" in vars(estimator) else estimator
        return np.asarray(getattr(unscaled(first.kernel_), name))

    return property(
        corner, doc=f"The {name} corner of the box, shape (n_features,), on the scaled features."
    )


class TKLClassifier(BaseGKL, SVMClassifier):
    r"""Classification with a learned tessellated kernel.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq f I, \, \mathrm{tr} P = n_P} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0}
        \; 1'\alpha - \tfrac12 \beta' K_P \beta, \qquad \beta = \alpha \circ y,

    problem (7) of [1]_ with f = ``floor``, 0 there, over the kernels

    .. math::

        k_P(x, y) = \int_{[a, b]} N(z, x)' P N(z, y) \, dz, \qquad
        N(z, x) = [Z \, I(z \ge x); \; Z \, (1 - I(z \ge x))]

    with Z the monomials up to a degree (eq. 13 and 14). These kernels are dense among all kernels;
    each point cuts the box in two along every feature.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by class and sample weights. Values up to 1e5 are worth
        trying.
    degree : int, default=1
        Degree of the monomials, 0 to 12. Their number grows fast: n_P is at most 10 000.
    basis : {"x", "xz"}, default="x"
        Monomials of x alone, n_P = 2 C(n_features + degree, degree), or of x and z as in the text
        of [1]_, n_P = 2 C(2 n_features + degree, degree), which is slower and no more accurate.
    delta : float, array-like of shape (n_features,), or tuple of two such, default=0.5
        How far the box reaches beyond [0, 1], >= 0. A tuple is always a pair (below, above); a
        list or an array has one number per feature.
    floor : float, default=0.0
        Least eigenvalue of P, 0 <= floor < 1, where the mean of the eigenvalues is 1. With any
        floor > 0 the kernel is universal (Theorem 15 of [1]_); without, P has a low rank.
    solver : {"lowrank", "frank-wolfe", "apd", "hybrid"}, default="lowrank"
        "lowrank" is by far the fastest; the others are algorithms 2, 4 and 6 of [1]_. Classes of
        up to 64 samples are solved by an interior-point method with "lowrank" and ``prox="auto"``.
    tol : float, default=1e-3
        Certified gap at which a fit stops, relative to the objective, > 0.
    max_iter : int, default=500
        Largest number of support vector machines to solve on one set of samples (a start or a
        subsample is a set of its own); -1 for no limit. If the gap is still larger than ``tol``,
        a ConvergenceWarning reports it; the model is usable, and ``dual_gap_`` bounds what is
        missing.
    prox : float or "auto", default="auto"
        Size of the proximal term of "lowrank", >= 0, as a share of the objective; 0 for none. The
        term is necessary where K_P has a low rank (many features, small C).
    subsample : int, optional
        Learn P on this number of random samples, >= 2, with C increased so that they represent
        all; then solve one support vector machine on all samples, and certify its gap on all.
    partition : {"kmeans"}, optional
        Divide the samples into parts by k-means on the scaled features. P is learned on
        ``subsample`` samples, 2000 by default, and a support vector machine with the learned
        kernel is solved on each part, with an intercept of its own; a point is predicted by the
        part of the nearest centre. ``objective_``, ``lower_bound_`` and ``dual_gap_`` are then
        sums over the parts for the P that was learned. The time grows about linearly with the
        number of samples.
    n_parts : int or "auto", default="auto"
        Number of parts, for each pair of classes; "auto" makes parts of about 4000 samples, none of
        more than 8000.
    n_jobs : int, optional
        Number of parts that are solved at once, in threads or on the backend of
        `joblib.parallel_config`. Each may take ``cache_mb``. Callbacks are called after each part.
    scale : bool, default=True
        Scale the features to [0, 1] first (a constant one to 0). If False, they must lie in
        [0 - delta, 1 + delta].
    normalize_measure : bool, default=True
        Integrate over the box with a measure of 1. False is the scaling of [1]_; its optimum for
        C is 1/V times the normalised one for C V, where V is the volume of the box.
    cache_mb : float, default=2000
        Memory for a Gram matrix, > 0, in units of 2^20 bytes. If it needs more, its rows are
        computed on demand, and P is learned on 2000 samples as with ``subsample``.
    dtype : {"float64", "float32"}, default="float64"
        Precision of Gram matrices. float32 halves the memory. The bounds are those of the
        unrounded kernel in any case; where rounding leaves the gap open (large C, many samples),
        a warning reports it.
    class_weight : dict or "balanced", optional
        Factors of C, each > 0.
    random_state : int, RandomState or None, default=None
        Draws the samples of ``subsample``, those of the start of "lowrank" for more than 2000
        samples, and the first centres of k-means.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernel_ : Rescaled or TessellatedKernel
        The learned kernel, a function of two sets of points in the user's units. Points outside
        the box are moved to its nearest point.
    shape_matrix_ : array of shape (n_P, n_P)
        P, of trace n_P.
    shape_factor_ : array of shape (n_P, rank_)
        F, with orthogonal columns, P = F F'.
    rank_ : int
        The rank of P, usually small; n_P with a ``floor``.
    lower_, upper_ : arrays of shape (n_features,)
        The corners a and b of the box, on the scaled features.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        These samples.
    dual_coef_ : array of shape (n_support,)
        Their coefficients beta = alpha y.
    intercept_ : float
        The b of f(x) = kernel_(x, support_vectors_) @ dual_coef_ + intercept_; with ``partition``
        an array of shape (n_parts,), and the sum is over the support points of the part of x.
    objective_ : float
        The primal objective of the support vector machine at P, an upper bound of the optimum.
    lower_bound_ : float
        A lower bound of the optimum over all P.
    dual_gap_ : float
        Their difference.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training sample of positive weight, and the centres, on
        the scaled features.
    support_parts_ : array of shape (n_support,)
        With ``partition``: the part of each support point.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap and the processor time of each part.
    objective_history_, gap_history_ : arrays
        Upper bound and gap after each support vector machine on all samples.
    n_svm_solves_, n_iter_ : int
        Number of support vector machines solved, on whichever samples, where each step of an
        interior-point method counts as one; an array with one number per pair for more than two
        classes.
    estimators_ : list of TKLClassifier
        Only with more than two classes: one estimator per pair, in place of the attributes above
        from ``kernel_`` on (except the box).
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    For m samples of d features, one support vector machine costs O(m^2 (d + rank)) for its Gram
    matrix and between m^2 and m^3 for its coefficients; 5 to 50 of them are solved, each from the
    solution of the last. D(w) costs O(m^2 (d + n_P)), its largest eigenvalue O(n_P^3). The memory
    is 8 m^2 bytes and the part of them that two-coordinate ascent copies, up to 1.2 m^2 more
    ("frank-wolfe" and "hybrid" keep three Gram matrices), and for basis "xz" m d n_P/2 numbers.
    For more than about 15 features the product of one factor per feature becomes so small that
    k_P is nearly linear.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from pliant import TKLClassifier
    >>> X, y = make_circles(100, noise=0.1, factor=0.3, random_state=0)
    >>> model = TKLClassifier(C=10).fit(X, y)
    >>> bool(model.dual_gap_ <= 1e-3 * model.objective_)
    True
    >>> model.score(X, y)
    1.0
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseGKL._constraints,
        **KERNEL_CONSTRAINTS,
        **DIVISION,
    }
    _drawings = BaseGKL._drawings | {"tessellation"}

    lower_ = _corner("lower")
    upper_ = _corner("upper")
    _kernel_to_learn = _kernel_of

    def __init__(
        self,
        C: float = 1.0,
        *,
        degree: int = 1,
        basis: str = "x",
        delta: Any = 0.5,
        floor: float = 0.0,
        solver: str = "lowrank",
        tol: float = 1e-3,
        max_iter: int = 500,
        prox: float | str = "auto",
        subsample: int | None = None,
        partition: str | None = None,
        n_parts: int | str = "auto",
        n_jobs: int | None = None,
        scale: bool = True,
        normalize_measure: bool = True,
        cache_mb: float = 2000.0,
        dtype: str = "float64",
        class_weight: Any = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.degree = degree
        self.basis = basis
        self.delta = delta
        self.floor = floor
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.prox = prox
        self.subsample = subsample
        self.partition = partition
        self.n_parts = n_parts
        self.n_jobs = n_jobs
        self.scale = scale
        self.normalize_measure = normalize_measure
        self.cache_mb = cache_mb
        self.dtype = dtype
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose


class TKLRegressor(BaseGKL, SVMRegressor):
    r"""Epsilon-regression with a learned tessellated kernel.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq f I, \, \mathrm{tr} P = n_P} \; \max_{|\beta_i| \le C, \, 1'\beta = 0}
        \; y'\beta - \varepsilon \|\beta\|_1 - \tfrac12 \beta' K_P \beta,

    problem (7) of [1]_ with f = ``floor`` (and the constraints of regression, where the text has
    those of classification), over the kernels of `TKLClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by sample weights. Values up to 1e5 are worth
        trying.
    degree : int, default=1
        Degree of the monomials, 0 to 12. Their number grows fast: n_P is at most 10 000.
    basis : {"x", "xz"}, default="x"
        Monomials of x alone, n_P = 2 C(n_features + degree, degree), or of x and z as in the text
        of [1]_, n_P = 2 C(2 n_features + degree, degree), which is slower and no more accurate.
    delta : float, array-like of shape (n_features,), or tuple of two such, default=0.5
        How far the box reaches beyond [0, 1], >= 0. A tuple is always a pair (below, above); a
        list or an array has one number per feature.
    floor : float, default=0.0
        Least eigenvalue of P, 0 <= floor < 1, where the mean of the eigenvalues is 1. With any
        floor > 0 the kernel is universal (Theorem 15 of [1]_); without, P has a low rank.
    solver : {"lowrank", "frank-wolfe", "apd", "hybrid"}, default="lowrank"
        "lowrank" is by far the fastest; the others are algorithms 2, 4 and 6 of [1]_.
    tol : float, default=1e-3
        Certified gap at which a fit stops, relative to the objective, > 0.
    max_iter : int, default=500
        Largest number of support vector machines to solve on one set of samples (a start or a
        subsample is a set of its own); -1 for no limit. If the gap is still larger than ``tol``,
        a ConvergenceWarning reports it; the model is usable, and ``dual_gap_`` bounds what is
        missing.
    prox : float or "auto", default="auto"
        Size of the proximal term of "lowrank", >= 0, as a share of the objective; 0 for none. The
        term is necessary where K_P has a low rank (many features, small C).
    subsample : int, optional
        Learn P on this number of random samples, >= 2, with C increased so that they represent
        all; then solve one support vector machine on all samples, and certify its gap on all.
    partition : {"kmeans"}, optional
        Divide the samples into parts by k-means on the scaled features. P is learned on
        ``subsample`` samples, 2000 by default, and a support vector machine with the learned
        kernel is solved on each part, with an intercept of its own; a point is predicted by the
        part of the nearest centre. ``objective_``, ``lower_bound_`` and ``dual_gap_`` are then
        sums over the parts for the P that was learned. The time grows about linearly with the
        number of samples.
    n_parts : int or "auto", default="auto"
        Number of parts; "auto" makes parts of about 4000 samples, none of
        more than 8000.
    n_jobs : int, optional
        Number of parts that are solved at once, in threads or on the backend of
        `joblib.parallel_config`. Each may take ``cache_mb``. Callbacks are called after each part.
    scale : bool, default=True
        Scale the features to [0, 1] first (a constant one to 0). If False, they must lie in
        [0 - delta, 1 + delta].
    normalize_measure : bool, default=True
        Integrate over the box with a measure of 1. False is the scaling of [1]_; its optimum for
        C is 1/V times the normalised one for C V, where V is the volume of the box.
    cache_mb : float, default=2000
        Memory for a Gram matrix, > 0, in units of 2^20 bytes. If it needs more, its rows are
        computed on demand, and P is learned on 2000 samples as with ``subsample``.
    dtype : {"float64", "float32"}, default="float64"
        Precision of Gram matrices. float32 halves the memory. The bounds are those of the
        unrounded kernel in any case; where rounding leaves the gap open (large C, many samples),
        a warning reports it.
    random_state : int, RandomState or None, default=None
        Draws the samples of ``subsample``, those of the start of "lowrank" for more than 2000
        samples, and the first centres of k-means.
    epsilon : float, default=0.1
        Errors up to this size are not penalised, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon mean the same for every unit of
        y. Predictions are in the units of y.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    kernel_ : Rescaled or TessellatedKernel
        The learned kernel, a function of two sets of points in the user's units. Points outside
        the box are moved to its nearest point.
    shape_matrix_ : array of shape (n_P, n_P)
        P, of trace n_P.
    shape_factor_ : array of shape (n_P, rank_)
        F, with orthogonal columns, P = F F'.
    rank_ : int
        The rank of P, usually small; n_P with a ``floor``.
    lower_, upper_ : arrays of shape (n_features,)
        The corners a and b of the box, on the scaled features.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        These samples.
    n_svm_solves_, n_iter_ : int
        Number of support vector machines solved, on whichever samples.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training sample of positive weight, and the centres, on
        the scaled features.
    support_parts_ : array of shape (n_support,)
        With ``partition``: the part of each support point.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap and the processor time of each part.
    objective_history_, gap_history_ : arrays
        Upper bound and gap after each support vector machine on all samples.
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction.
    intercept_ : float
        In the units of y; with ``partition`` an array of shape (n_parts,), and a prediction sums
        over the support points of the part of x.
    objective_ : float
        The primal objective of the support vector machine at P, an upper bound of the optimum,
        in units of the scaled target.
    lower_bound_ : float
        A lower bound of the optimum over all P, in the same units.
    dual_gap_ : float
        Their difference.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import TKLRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.abs(X[:, 0] - 0.4)
    >>> round(TKLRegressor(C=100, epsilon=0.01).fit(X, y).score(X, y), 2)
    1.0
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseGKL._constraints,
        **SVMRegressor._constraints,
        **KERNEL_CONSTRAINTS,
        **DIVISION,
    }
    _drawings = BaseGKL._drawings | {"tessellation"}

    lower_ = _corner("lower")
    upper_ = _corner("upper")
    _kernel_to_learn = _kernel_of

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        degree: int = 1,
        basis: str = "x",
        delta: Any = 0.5,
        floor: float = 0.0,
        solver: str = "lowrank",
        tol: float = 1e-3,
        max_iter: int = 500,
        prox: float | str = "auto",
        subsample: int | None = None,
        partition: str | None = None,
        n_parts: int | str = "auto",
        n_jobs: int | None = None,
        scale: bool = True,
        scale_target: bool = True,
        normalize_measure: bool = True,
        cache_mb: float = 2000.0,
        dtype: str = "float64",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.degree = degree
        self.basis = basis
        self.delta = delta
        self.floor = floor
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.prox = prox
        self.subsample = subsample
        self.partition = partition
        self.n_parts = n_parts
        self.n_jobs = n_jobs
        self.scale = scale
        self.scale_target = scale_target
        self.normalize_measure = normalize_measure
        self.cache_mb = cache_mb
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose
