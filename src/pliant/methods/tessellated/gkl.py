"""Generalised kernel learning: any family of kernels that is linear in a PSD matrix."""

from __future__ import annotations

from typing import Any

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.methods.svm.estimators import SVMClassifier, SVMRegressor
from pliant.methods.tessellated.generalized_kernel import GeneralizedKernel
from pliant.methods.tessellated.machine import GeneralizedMachine
from pliant.methods.tessellated.quadrature_kernel import GeneralizedPolynomial

__all__ = ["GKLClassifier", "GKLRegressor"]


class _GKL(GeneralizedMachine):
    """The family is a kernel of the user's."""

    kernel: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.kernel is not None and not isinstance(self.kernel, GeneralizedKernel):
            raise ValueError(
                f"expected a GeneralizedKernel, such as GeneralizedPolynomial() or "
                f"QuadratureKernel(...), got {self.kernel!r}"
            )

    def _family(self, X: Array) -> Kernel:
        kernel = GeneralizedPolynomial() if self.kernel is None else self.kernel
        return kernel.with_factor(None)


class GKLClassifier(_GKL, SVMClassifier):
    r"""Classification with a kernel that is learned from a family of the user's choice.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq 0, \, \mathrm{tr} P = n_P} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0}
        \; 1'\alpha - \tfrac12 \beta' K_P \beta, \qquad \beta = \alpha \circ y,
        \qquad k_P(x, y) = \int N(z, x)' P N(z, y) \, dz,

    problem (7) of [1]_ for any basis N (its Lemma 5). `TKLClassifier` is the case of tessellated
    kernels, with the scaling of features that they need; here features are taken as they are:
    bring them to [0, 1] first, such as by `sklearn.preprocessing.MinMaxScaler`.

    Parameters
    ----------
    kernel : GeneralizedKernel, optional
        The family: a `pliant.kernels.QuadratureKernel` (any N, by its values on quadrature
        nodes), `GeneralizedPolynomial` or `TessellatedKernel`. Its own P is not read. None is
        GeneralizedPolynomial().
    C, solver, tol, max_iter, prox, subsample, cache_mb, dtype, class_weight, random_state
        As in `TKLClassifier`.

    Attributes
    ----------
    kernel_ : GeneralizedKernel
        The learned kernel.
    shape_matrix_, shape_factor_, rank_, support_, support_vectors_, dual_coef_, intercept_
        As in `TKLClassifier`, and so are all others, but for ``lower_`` and ``upper_``.

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

    def __init__(
        self,
        kernel: GeneralizedKernel | None = None,
        *,
        C: float = 1.0,
        solver: str = "lowrank",
        tol: float = 1e-3,
        max_iter: int = 500,
        prox: float | str = "auto",
        subsample: int | None = None,
        cache_mb: float = 2000.0,
        dtype: str = "float64",
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.prox = prox
        self.subsample = subsample
        self.cache_mb = cache_mb
        self.dtype = dtype
        self.class_weight = class_weight
        self.random_state = random_state


class GKLRegressor(_GKL, SVMRegressor):
    r"""Epsilon-regression with a kernel that is learned from a family of the user's choice.

    Solves the saddle point of `GKLClassifier` with the objective
    y'beta - epsilon \|beta\|_1 - beta' K_P beta / 2, for abs(beta_i) <= C and 1'beta = 0.

    Parameters
    ----------
    kernel, C, solver, tol, max_iter, prox, subsample, cache_mb, dtype, random_state
        As in `GKLClassifier`.
    epsilon : float, default=0.1
        >= 0: errors up to this size are free, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y. Predictions are in the units of y.

    Attributes
    ----------
    kernel_, shape_matrix_, shape_factor_, rank_
        As in `GKLClassifier`, and so are all others; ``dual_coef_`` and ``intercept_`` are in the
        units of y, ``objective_`` and its bounds in units of the scaled target.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).
    """

    def __init__(
        self,
        kernel: GeneralizedKernel | None = None,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        solver: str = "lowrank",
        tol: float = 1e-3,
        max_iter: int = 500,
        prox: float | str = "auto",
        subsample: int | None = None,
        scale_target: bool = True,
        cache_mb: float = 2000.0,
        dtype: str = "float64",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.prox = prox
        self.subsample = subsample
        self.scale_target = scale_target
        self.cache_mb = cache_mb
        self.dtype = dtype
        self.random_state = random_state
