"""GKL: a support vector machine with a kernel learned from any generalised family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pliant.core.kernels.base import Kernel
from pliant.core.text import one_line
from pliant.core.typing import Array
from pliant.core.validation import Constraint, optional
from pliant.methods.svm.estimators import SVMClassifier, SVMRegressor
from pliant.methods.tessellated.base import BaseGKL
from pliant.methods.tessellated.generalized_kernel import GeneralizedKernel
from pliant.methods.tessellated.quadrature_kernel import GeneralizedPolynomial


def _check_family(_name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a kernel whose P can be learned."""
    if not isinstance(value, GeneralizedKernel):
        raise ValueError(
            f"expected a GeneralizedKernel, such as GeneralizedPolynomial() or "
            f"QuadratureKernel(...), got {one_line(value)}"
        )


def _kernel_of(estimator: Any, X: Array) -> Kernel:
    """Return a copy of the user's kernel without its P."""
    kernel = GeneralizedPolynomial() if estimator.kernel is None else estimator.kernel
    return kernel.with_factor(None)


class GKLClassifier(BaseGKL, SVMClassifier):
    r"""Classification with a kernel that is learned from a family of the user's choice.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq f I, \, \mathrm{tr} P = n_P} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0}
        \; 1'\alpha - \tfrac12 \beta' K_P \beta, \qquad \beta = \alpha \circ y, \\
        \qquad k_P(x, y) = \int N(z, x)' P N(z, y) \, dz,

    problem (7) of [1]_ with f = ``floor``, for any basis N (its Lemma 5). `TKLClassifier` is
    the case of tessellated kernels, with the scaling of features that they need. Here features are
    not scaled: bring them to [0, 1] first, for example by `sklearn.preprocessing.MinMaxScaler`.

    Parameters
    ----------
    kernel : GeneralizedKernel, optional
        The family: a `pliant.kernels.QuadratureKernel` (any N, by its values on quadrature
        nodes), `GeneralizedPolynomial` or `TessellatedKernel`. Its own P is ignored. None is
        GeneralizedPolynomial().
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by class and sample weights. Values up to 1e5 are worth
        trying.
    floor : float, default=0.0
        Least eigenvalue of P, 0 <= floor < 1, where the mean of the eigenvalues is 1. Without a
        floor P has a low rank.
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
        Draws the samples of ``subsample``, and those of the start of "lowrank" for more than 2000
        samples.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    kernel_ : GeneralizedKernel
        The learned kernel.
    shape_matrix_ : array of shape (n_P, n_P)
        P, of trace n_P.
    shape_factor_ : array of shape (n_P, rank_)
        F, with orthogonal columns, P = F F'.
    rank_ : int
        The rank of P, usually small; n_P with a ``floor``.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        These samples.
    dual_coef_ : array of shape (n_support,)
        Their coefficients beta = alpha y.
    intercept_ : float
        The b of f(x) = kernel_(x, support_vectors_) @ dual_coef_ + intercept_.
    objective_ : float
        The primal objective of the support vector machine at P, an upper bound of the optimum.
    lower_bound_ : float
        A lower bound of the optimum over all P.
    dual_gap_ : float
        Their difference.
    objective_history_, gap_history_ : arrays
        Upper bound and gap after each support vector machine on all samples.
    n_svm_solves_, n_iter_ : int
        Number of support vector machines solved, on whichever samples, where each step of an
        interior-point method counts as one; an array with one number per pair for more than two
        classes.
    estimators_ : list of GKLClassifier
        Only with more than two classes: one estimator per pair, in place of the attributes above
        from ``kernel_`` on.
    n_features_in_ : int
        Number of features seen during fit.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import GKLClassifier
    >>> from pliant.kernels import GeneralizedPolynomial
    >>> X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> GKLClassifier(GeneralizedPolynomial(degree=2), C=10).fit(X, y).score(X, y) > 0.9
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseGKL._constraints,
        "kernel": optional(_check_family),
    }
    _kernel_to_learn = _kernel_of

    def __init__(
        self,
        kernel: GeneralizedKernel | None = None,
        *,
        C: float = 1.0,
        floor: float = 0.0,
        solver: str = "lowrank",
        tol: float = 1e-3,
        max_iter: int = 500,
        prox: float | str = "auto",
        subsample: int | None = None,
        cache_mb: float = 2000.0,
        dtype: str = "float64",
        class_weight: Any = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.floor = floor
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.prox = prox
        self.subsample = subsample
        self.cache_mb = cache_mb
        self.dtype = dtype
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose


class GKLRegressor(BaseGKL, SVMRegressor):
    r"""Epsilon-regression with a kernel that is learned from a family of the user's choice.

    Solves the saddle point of `GKLClassifier` with the objective
    y'beta - epsilon \|beta\|_1 - beta' K_P beta / 2, for abs(beta_i) <= C and 1'beta = 0.

    Parameters
    ----------
    kernel : GeneralizedKernel, optional
        The family: a `pliant.kernels.QuadratureKernel` (any N, by its values on quadrature
        nodes), `GeneralizedPolynomial` or `TessellatedKernel`. Its own P is ignored. None is
        GeneralizedPolynomial().
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by sample weights. Values up to 1e5 are worth
        trying.
    floor : float, default=0.0
        Least eigenvalue of P, 0 <= floor < 1, where the mean of the eigenvalues is 1. Without a
        floor P has a low rank.
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
    cache_mb : float, default=2000
        Memory for a Gram matrix, > 0, in units of 2^20 bytes. If it needs more, its rows are
        computed on demand, and P is learned on 2000 samples as with ``subsample``.
    dtype : {"float64", "float32"}, default="float64"
        Precision of Gram matrices. float32 halves the memory. The bounds are those of the
        unrounded kernel in any case; where rounding leaves the gap open (large C, many samples),
        a warning reports it.
    random_state : int, RandomState or None, default=None
        Draws the samples of ``subsample``, and those of the start of "lowrank" for more than 2000
        samples.
    epsilon : float, default=0.1
        Errors up to this size are not penalised, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon mean the same for every unit of
        y. Predictions are in the units of y.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    kernel_ : GeneralizedKernel
        The learned kernel.
    shape_matrix_ : array of shape (n_P, n_P)
        P, of trace n_P.
    shape_factor_ : array of shape (n_P, rank_)
        F, with orthogonal columns, P = F F'.
    rank_ : int
        The rank of P, usually small; n_P with a ``floor``.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        These samples.
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction.
    intercept_ : float
        In the units of y.
    objective_ : float
        The primal objective of the support vector machine at P, an upper bound of the optimum,
        in units of the scaled target.
    lower_bound_ : float
        A lower bound of the optimum over all P, in the same units.
    dual_gap_ : float
        Their difference.
    objective_history_, gap_history_ : arrays
        Upper bound and gap after each support vector machine on all samples.
    n_svm_solves_, n_iter_ : int
        Number of support vector machines solved, on whichever samples.
    n_features_in_ : int
        Number of features seen during fit.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseGKL._constraints,
        **SVMRegressor._constraints,
        "kernel": optional(_check_family),
    }
    _kernel_to_learn = _kernel_of

    def __init__(
        self,
        kernel: GeneralizedKernel | None = None,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        floor: float = 0.0,
        solver: str = "lowrank",
        tol: float = 1e-3,
        max_iter: int = 500,
        prox: float | str = "auto",
        subsample: int | None = None,
        scale_target: bool = True,
        cache_mb: float = 2000.0,
        dtype: str = "float64",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.floor = floor
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.prox = prox
        self.subsample = subsample
        self.scale_target = scale_target
        self.cache_mb = cache_mb
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose
