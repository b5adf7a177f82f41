"""TKL: tessellated kernel learning (Talitckii, Colbert and Peet, 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pliant.core.typing import Array
from pliant.core.validation import Constraint, check_flag, check_vector
from pliant.kernels.base import Kernel, Rescaled
from pliant.methods.svm.estimators import SVMClassifier, SVMRegressor, documented_as
from pliant.methods.svm.parts import DIVISION
from pliant.methods.tkl.base import BaseGKL, unscaled
from pliant.methods.tkl.generalized_kernel import TessellatedKernel, check_degree

KERNEL: Mapping[str, Constraint] = {"degree": check_degree, "scale": check_flag}
"""Parameters of the kernel; ``delta`` is checked in `_margins`, with the number of features."""


def _kernel_of(estimator: Any, X: Array) -> Kernel:
    """Return the tessellated kernel to learn, on a box around X, with the scaling of features."""
    below, above = _margins(estimator.delta, X.shape[1])
    kernel = TessellatedKernel(-below, 1.0 + above, int(estimator.degree))
    if estimator.scale:
        widths = X.max(axis=0) - X.min(axis=0)
        return Rescaled(kernel, X.min(axis=0), np.where(widths > 0.0, widths, 1.0))
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
    if isinstance(delta, bool | np.bool_ | complex | None):
        raise ValueError(f"expected delta to be a number, a pair or a list, got {delta!r}")
    below, above = (check_vector("delta", part, n_features) for part in pair)
    if min(below.min(), above.min()) < 0:
        raise ValueError(f"expected delta >= 0, got {delta!r}")
    return below, above


def _corner(name: str) -> property:
    """Return a property for the ``lower`` or ``upper`` corner of the box of the learned kernel."""

    def corner(estimator: BaseGKL) -> Array:
        first = estimator.estimators_[0] if "estimators_" in vars(estimator) else estimator
        return np.asarray(getattr(unscaled(first.kernel_), name))

    return property(
        corner, doc=f"The {name} corner of the box, shape (n_features,), on the scaled features."
    )


@dataclass(kw_only=True, eq=False, repr=False)
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

    with Z the monomials of x up to a degree (eq. 13 and 14), over a box of measure 1. These kernels
    are dense among all kernels; each point cuts the box in two along every feature. `GKLClassifier`
    takes monomials of x and z too, which were no more accurate.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, > 0. Multiplied by class and sample weights. Values up to 1e5 are worth
        trying.
    degree : int, default=1
        Degree of the monomials of x, 0 to 12. n_P = 2 C(n_features + degree, degree) grows fast,
        and is at most 10 000.
    delta : float, array-like of shape (n_features,), or tuple of two such, default=0.5
        How far the box reaches beyond [0, 1], >= 0. A tuple is always a pair (below, above); a list
        or an array has one number per feature.
    scale : bool, default=True
        Scale the features to [0, 1] first (a constant one to 0). If False, they must lie in
        [0 - delta, 1 + delta].
    class_weight : dict or "balanced", optional
        Factors of C, each > 0.
    floor : float, default=0.0
        Least eigenvalue of P, 0 <= floor < 1, where the mean of the eigenvalues is 1. With any
        floor > 0 the kernel of TKL is universal (Theorem 15 of [1]_); without, P has a low rank.
    tol : float, default=1e-3
        Certified gap at which a fit stops, relative to the objective, > 0.
    max_iter : int, default=500
        Largest number of support vector machines to solve on one set of samples (those of a start
        are a set of their own); -1 for no limit. If the gap is still larger than ``tol``, a
        ConvergenceWarning reports it; the model is usable, and ``dual_gap_`` bounds what is
        missing.
    cache_mb : float, default=2000
        Memory for a Gram matrix, > 0, in units of 2^20 bytes. If it needs more, its rows are
        computed on demand, and P is learned on 2000 random samples, with C increased so that they
        represent all; then a support vector machine is solved on all samples, and its gap certified
        on all.
    random_state : int, RandomState or None, default=None
        Draws the samples on which P, or a start, is learned where there are more than 2000, and the
        first centres of k-means.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.
    partition : {"kmeans"}, optional
        Divide the samples into parts by k-means on the scaled features. P is learned on 2000
        samples, and a support vector machine with the learned kernel is solved on each part, with
        an intercept of its own; a point is predicted by the part of the nearest centre.
        ``objective_``, ``lower_bound_`` and ``dual_gap_`` are then sums over the parts for the P
        that was learned. The time grows about linearly with the number of samples.
    n_parts : int or "auto", default="auto"
        Number of parts, for each pair of classes; "auto" makes parts of about 4000 samples, none of
        more than 8000.
    n_jobs : int, optional
        Number of parts that are solved at once, in threads or on the backend of
        `joblib.parallel_config`. Each may take ``cache_mb``. Callbacks are called after each part.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernel_ : Rescaled or TessellatedKernel
        The learned kernel, a function of two sets of points in the user's units. Points outside
        the box are moved to its nearest point.
    dual_coef_ : array of shape (n_support,)
        Their coefficients beta = alpha y.
    intercept_ : float
        The b of f(x) = kernel_(x, support_vectors_) @ dual_coef_ + intercept_; with ``partition``
        an array of shape (n_parts,), and the sum is over the support points of the part of x.
    estimators_ : list of TKLClassifier
        Only with more than two classes: one estimator per pair, in place of the attributes above
        from ``kernel_`` on (except the box).
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
    objective_ : float
        The primal objective of the support vector machine at P, an upper bound of the optimum; for
        regression in units of the scaled target, as the two that follow.
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
    n_features_in_ : int
        Number of features seen during fit.
    lower_, upper_ : arrays of shape (n_features,)
        The corners a and b of the box, on the scaled features.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training sample of positive weight, and the centres, on
        the scaled features.
    support_parts_ : array of shape (n_support,)
        With ``partition``: the part of each support point.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap and the processor time of each part.

    Notes
    -----
    For m samples of d features, one support vector machine costs O(m^2 (d + rank)) for its Gram
    matrix and between m^2 and m^3 for its coefficients; 5 to 50 of them are solved, each from the
    solution of the last. D(w) costs O(m^2 (d + n_P)), its largest eigenvalue O(n_P^3). The memory
    is 8 m^2 bytes and the part of them that two-coordinate ascent copies, up to 1.2 m^2 more. Two
    classes of up to 64 samples are solved by an interior-point method. For more than about 15
    features the product of one factor per feature becomes so small that k_P is nearly linear.

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

    C: float = field(default=1.0, kw_only=False)
    degree: int = 1
    delta: Any = 0.5
    partition: str | None = None
    n_parts: int | str = "auto"
    n_jobs: int | None = None
    scale: bool = True
    class_weight: Any = None

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseGKL._constraints,
        **KERNEL,
        **DIVISION,
    }
    _drawings = BaseGKL._drawings | {"tessellation"}
    _kernel_to_learn = _kernel_of
    lower_ = _corner("lower")
    upper_ = _corner("upper")


@documented_as(TKLClassifier, without=("classes_", "estimators_"))
@dataclass(kw_only=True, eq=False, repr=False)
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
    epsilon : float, default=0.1
        Errors up to this size are not penalised, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon mean the same for every unit of
        y. Predictions are in the units of y.

    Attributes
    ----------
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction.
    intercept_ : float
        In the units of y; with ``partition`` an array of shape (n_parts,), and a prediction sums
        over the support points of the part of x.

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

    C: float = field(default=1.0, kw_only=False)
    degree: int = 1
    delta: Any = 0.5
    partition: str | None = None
    n_parts: int | str = "auto"
    n_jobs: int | None = None
    scale: bool = True
    epsilon: float = 0.1
    scale_target: bool = True

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseGKL._constraints,
        **SVMRegressor._constraints,
        **KERNEL,
        **DIVISION,
    }
    _drawings = BaseGKL._drawings | {"tessellation"}
    _kernel_to_learn = _kernel_of
    lower_ = _corner("lower")
    upper_ = _corner("upper")
