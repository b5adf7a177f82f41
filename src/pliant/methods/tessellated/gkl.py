"""GKL: a support vector machine with a kernel learned from any generalised family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pliant.core.kernels.base import Kernel
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
            f"QuadratureKernel(...), got {value!r}"
        )


def _kernel_of(estimator: Any, X: Array) -> Kernel:
    """Return a copy of the user's kernel without its P."""
    kernel = GeneralizedPolynomial() if estimator.kernel is None else estimator.kernel
    return kernel.with_factor(None)


class GKLClassifier(BaseGKL, SVMClassifier):
    r"""Classification with a kernel that is learned from a family of the user's choice.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq 0, \, \mathrm{tr} P = n_P} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0}
        \; 1'\alpha - \tfrac12 \beta' K_P \beta, \qquad \beta = \alpha \circ y,
        \qquad k_P(x, y) = \int N(z, x)' P N(z, y) \, dz,

    problem (7) of [1]_ for any basis N (its Lemma 5). `TKLClassifier` is the case of tessellated
    kernels, with the scaling of features that they need. Here features are not scaled: bring them
    to [0, 1] first, for example by `sklearn.preprocessing.MinMaxScaler`.

    Parameters
    ----------
    kernel : GeneralizedKernel, optional
        The family: a `pliant.kernels.QuadratureKernel` (any N, by its values on quadrature
        nodes), `GeneralizedPolynomial` or `TessellatedKernel`. Its own P is ignored. None is
        GeneralizedPolynomial().
    C, solver, tol, max_iter, prox, subsample, cache_mb, dtype, class_weight, random_state
        As in `TKLClassifier`.

    Attributes
    ----------
    kernel_ : GeneralizedKernel
        The learned kernel.
    shape_matrix_, shape_factor_, rank_, support_, support_vectors_, dual_coef_, intercept_
        As in `TKLClassifier`, like all other attributes except ``lower_`` and ``upper_``.

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


class GKLRegressor(BaseGKL, SVMRegressor):
    r"""Epsilon-regression with a kernel that is learned from a family of the user's choice.

    Solves the saddle point of `GKLClassifier` with the objective
    y'beta - epsilon \|beta\|_1 - beta' K_P beta / 2, for abs(beta_i) <= C and 1'beta = 0.

    Parameters
    ----------
    kernel, C, solver, tol, max_iter, prox, subsample, cache_mb, dtype, random_state
        As in `GKLClassifier`.
    epsilon, scale_target
        As in `TKLRegressor`.

    Attributes
    ----------
    kernel_, shape_matrix_, shape_factor_, rank_
        As in `GKLClassifier`, like all other attributes; ``dual_coef_`` and ``intercept_`` are in
        the units of y, ``objective_`` and its bounds in units of the scaled target.
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
