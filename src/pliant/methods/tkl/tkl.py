"""TKL: tessellated kernel learning (Talitckii, Colbert and Peet, 2024)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy.typing as npt

from pliant.core import process
from pliant.core.docstrings import documented_as
from pliant.core.parameters import Constraint, check_flag, check_parameters, optional
from pliant.core.progress import Deadline, FitProgress, with_callbacks
from pliant.core.state import reads, trains
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.kernels.base import Kernel
from pliant.methods.svm.machine import SVMClassifier, SVMRegressor
from pliant.methods.svm.parts import KMeansPartition, as_partition, partition_settings
from pliant.methods.tkl.generalized_kernel import build_tessellated, check_degree
from pliant.methods.tkl.machine import BaseGKL, box_corner

if not process.BARE:  # what a fit needs
    from pliant.methods.tkl.fit import fit_options, learn_kernel
    from pliant.methods.tkl.parts import learn_in_parts


class GKLFit(BaseGKL):
    """The fit of TKL and GKL, with the kernels of a family."""

    @abstractmethod
    def _family(self, X: Array) -> Kernel:
        """Return the family for the training points, as a kernel without P."""

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
        X : array-like of shape (n_samples, n_features)
            The training data, dense and finite.
        y : array-like of shape (n_samples,)
            Class labels of any type; real targets for regression.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C, each >= 0. Samples of weight zero are ignored.
        """
        check_parameters(self)
        options = fit_options(self)
        data = self._training_data(X, y, sample_weight)
        progress = FitProgress(self, X, y)
        stop = Deadline(progress, self.max_seconds)  # stops all problems
        family = self._family(data.X)
        learn = learn_kernel if options.partition is None else learn_in_parts
        functions = [learn(problem, family, options, stop) for problem in data.problems]
        self._store(data, functions)
        progress.end()
        return self


class TessellatedFit(GKLFit):
    """The family of TKL, and its box."""

    _settings: ClassVar = {"partition": partition_settings}
    _drawings = BaseGKL._drawings | {"tessellation"}

    degree: int
    delta: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike]
    scale: bool

    def _family(self, X: Array) -> Kernel:
        return build_tessellated(X, int(self.degree), self.delta, self.scale)

    @property
    @reads
    def lower_(self) -> Array:
        """The lower corner of the box, shape (n_features,), in scaled features."""
        return box_corner(self, "lower")

    @property
    @reads
    def upper_(self) -> Array:
        """The upper corner of the box, shape (n_features,), in scaled features."""
        return box_corner(self, "upper")


def _check_partition(name: str, value: Any) -> None:
    """Raise ValueError for partition settings that only DANK and KNPL support."""
    settings = as_partition(name, value)
    if settings.refine:
        raise ValueError(f"expected {name} with refine=False for TKL, got {settings!r}")


@dataclass(kw_only=True, eq=False, repr=False)
class TKLClassifier(SVMClassifier, TessellatedFit):
    r"""Classification with a learned tessellated kernel.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq f I, \, \mathrm{tr} P = n_P} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0}
        \; 1'\alpha - \tfrac12 \beta' K_P \beta, \qquad \beta = \alpha \circ y,

    problem (7) of [1]_ (where f = 0) with f = ``floor``, over the kernels

    .. math::

        k_P(x, y) = \int_{[a, b]} N(z, x)' P N(z, y) \, dz, \qquad
        N(z, x) = [Z \, I(z \ge x); \; Z \, (1 - I(z \ge x))]

    with Z the monomials of x up to a degree (eq. 13 and 14), over a box of measure 1. These kernels
    are dense among all kernels; each point divides the box in two along every feature.
    `GKLClassifier` also allows monomials of x and z, with which fits were no more accurate.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, 1e-12 to 1e12. Multiplied by class and sample weights. Values up to 1e5
        can be useful.
    degree : int, default=1
        Degree of the monomials of x, 0 to 12. n_P = 2 C(n_features + degree, degree) grows fast
        with the degree and is limited to 10 000.
    delta : float, array-like of shape (n_features,), or tuple of two of these, default=0.5
        Margin of the box around [0, 1], >= 0. A tuple is always a pair (below, above); a list
        or an array has one number per feature.
    scale : bool, default=True
        Scale the features to [0, 1], constant features to 0. If False, the features must be in
        [0 - delta, 1 + delta].
    class_weight : dict or "balanced", optional
        Factors of C, each from 1e-12 to 1e12.
    floor : float, default=0.0
        Lower bound on the eigenvalues of P, 0 <= floor < 1; their mean is 1. With a floor > 0
        and delta > 0, the kernel of TKL is universal (Theorem 15 of [1]_). With 0, P has a low
        rank.
    tol : float, default=1e-3
        Certified gap at which a fit stops, relative to the objective, > 0.
    max_iter : int, default=500
        Maximum number of support vector machines to solve, separately for a warm start on a subset
        and for all samples; -1 for no limit. If the gap is then above ``tol``, a ConvergenceWarning
        reports it. The model is usable, and ``dual_gap_`` bounds its distance from the optimum.
    max_seconds : float, optional
        Time limit, > 0. When it is reached, the fit returns the best solution so far and warns
        about the remaining gap. Parts not started have zero coefficients.
    cache_mb : float, default=2000
        Memory for a Gram matrix, > 0, in units of 2^20 bytes. If the full matrix does not fit, P is
        learned on 2000 random samples, with C increased to account for all samples. The fit then
        certifies the gap by support vector machines on all samples, which compute rows on demand.
    random_state : int, RandomState or None, default=None
        Seed for drawing the samples on which P is learned or warm-started, if there are over 2000.
    verbose : bool, default=False
        Print the progress of the fit to standard error every two seconds.
    partition : KMeansPartition, dict of its settings or {"kmeans"}, optional
        Divide the samples into parts by k-means on the scaled features. P is learned on up to 2000
        samples. Each part has a support vector machine with the learned kernel and a separate
        intercept. Predictions use the part of the nearest centre. ``objective_``, ``lower_bound_``
        and ``dual_gap_`` are sums over the parts for the learned P. The time grows about linearly
        with the number of samples. "kmeans" uses the defaults of `KMeansPartition`; its setting
        ``refine`` is for DANK.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernel_ : Rescaled or TessellatedKernel
        The learned kernel, a function of two sets of points in the user's units. Points outside
        the box are moved to its nearest point.
    dual_coef_ : array of shape (n_support,)
        Coefficients beta = alpha y of the support vectors.
    intercept_ : float
        The intercept b of f(x) = kernel_(x, support_vectors_) @ dual_coef_ + intercept_. With
        ``partition``, an array of shape (n_parts,); f(x) sums over the support points of x's part.
    estimators_ : list of TKLClassifier
        Only with more than two classes: one estimator per pair. ``kernel_`` and the attributes
        listed after it (except the box) then belong to these estimators.
    shape_matrix_ : array of shape (n_P, n_P)
        P, of trace n_P.
    shape_factor_ : array of shape (n_P, rank_)
        F with orthogonal columns, where P = F F'.
    rank_ : int
        The rank of P, usually small; n_P with a ``floor``.
    support_ : array of shape (n_support,)
        Indices of the training samples with beta != 0.
    support_vectors_ : array of shape (n_support, n_features)
        The support vectors.
    objective_ : float
        The objective at the solution: the primal objective of the support vector machine at P. For
        regression, it is in units of the scaled target, as are the bounds and the gap.
    lower_bound_, upper_bound_ : float
        Bounds on the optimum over all P. The upper one is `objective_`, as the objective is
        minimised.
    dual_gap_ : float
        Difference between `upper_bound_` and `lower_bound_`.
    objective_history_, gap_history_ : arrays
        Upper bound and gap after each support vector machine on all samples.
    n_iter_ : int
        Total number of support vector machines solved, including those on subsets. Each step of an
        interior-point method counts as one. With more than two classes, an array with one number
        per pair.
    n_features_in_ : int
        Number of features seen during fit.
    lower_, upper_ : arrays of shape (n_features,)
        The corners a and b of the box, in scaled features.
    part_labels_, part_centres_ : arrays of shape (n_samples,) and (n_parts, n_features)
        With ``partition``: the part of each training sample of positive weight, and the centres, in
        scaled features.
    support_parts_ : array of shape (n_support,)
        With ``partition``: the part of each support point.
    part_gaps_, part_seconds_ : arrays of shape (n_parts,)
        With ``partition``: the gap and the CPU time of each part.

    Notes
    -----
    For m samples of d features, one support vector machine costs O(m^2 (d + rank)) for its Gram
    matrix and between m^2 and m^3 for its coefficients. A fit solves 5 to 50 of them, each
    warm-started from the previous one. The gradient in P costs O(m^2 (d + n_P)), and its extreme
    eigenvalue O(n_P^3). A Gram matrix takes 8 m^2 bytes; two-coordinate ascent copies up to 1.2 m^2
    bytes of it. Two-class problems of up to 64 samples use an interior-point method. With more than
    about 15 features, the product of one factor per feature is so small that k_P is nearly linear.

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
    delta: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] = 0.5
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None = None
    scale: bool = True

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "degree": check_degree,
        "scale": check_flag,
        "partition": optional(_check_partition),  # `build_tessellated` checks ``delta``
    }


@documented_as(TKLClassifier, without=("classes_", "estimators_"))
@dataclass(kw_only=True, eq=False, repr=False)
class TKLRegressor(SVMRegressor, TessellatedFit):
    r"""Epsilon-regression with a learned tessellated kernel.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq f I, \, \mathrm{tr} P = n_P} \; \max_{|\beta_i| \le C, \, 1'\beta = 0}
        \; y'\beta - \varepsilon \|\beta\|_1 - \tfrac12 \beta' K_P \beta,

    problem (7) of [1]_ with f = ``floor``, over the kernels of `TKLClassifier`. The paper prints
    the classification constraints instead.

    Parameters
    ----------
    C : float, default=1.0
        Penalty parameter, 1e-12 to 1e12. Multiplied by sample weights. Values up to 1e5 can be
        useful.
    epsilon : float, default=0.1
        Errors up to this size are not penalised, >= 0, in units of the scaled target.
    scale_target : bool, default=True
        Fit (y - mean)/std instead of y, so that C and epsilon do not depend on the unit of y.
        Predictions are in the units of y.

    Attributes
    ----------
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction.
    intercept_ : float
        The intercept, in the units of y. With ``partition``, it is an array of shape (n_parts,),
        and a prediction sums over the support points of x's part.

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
    delta: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] = 0.5
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None = None
    scale: bool = True

    _constraints = TKLClassifier._constraints
