"""GKL: a support vector machine with a kernel learned from any generalised family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pliant.core.docstrings import documented_as
from pliant.core.parameters import Constraint, optional
from pliant.core.text import one_line
from pliant.core.typing import Array
from pliant.kernels.base import Kernel
from pliant.methods.svm.machine import SVMClassifier, SVMRegressor
from pliant.methods.tkl.generalized_kernel import (
    GeneralizedKernel,
    GeneralizedPolynomial,
    check_shape_size,
)
from pliant.methods.tkl.tkl import GKLFit, TKLClassifier, TKLRegressor

TKL_ATTRIBUTES = (
    "lower_, upper_",
    "part_labels_, part_centres_",
    "support_parts_",
    "part_gaps_, part_seconds_",
)
"""Documented attributes that only the TKL estimators have."""


def _check_family(_name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a generalised kernel."""
    if not isinstance(value, GeneralizedKernel):
        raise ValueError(
            f"expected a GeneralizedKernel, such as GeneralizedPolynomial() or "
            f"QuadratureKernel(...), got {one_line(value)}"
        )


class FamilyFit(GKLFit):
    """The family of GKL: the user's kernel without its P."""

    kernel: GeneralizedKernel | None

    def _family(self, X: Array) -> Kernel:
        family = GeneralizedPolynomial() if self.kernel is None else self.kernel
        check_shape_size(family.shape_size(X.shape[1]), X.shape[1])
        return family.with_factor(None)


@documented_as(TKLClassifier, without=TKL_ATTRIBUTES)
@dataclass(kw_only=True, eq=False, repr=False)
class GKLClassifier(SVMClassifier, FamilyFit):
    r"""Classification with a kernel learned from a family of the user's choice.

    Solves, to a certified gap,

    .. math::

        \min_{P \succeq f I, \, \mathrm{tr} P = n_P} \; \max_{0 \le \alpha \le C, \, y'\alpha = 0}
        \; 1'\alpha - \tfrac12 \beta' K_P \beta, \qquad \beta = \alpha \circ y, \\
        \qquad k_P(x, y) = \int N(z, x)' P N(z, y) \, dz,

    problem (7) of [1]_ with f = ``floor``, for any basis N (its Lemma 5). `TKLClassifier` is the
    special case of tessellated kernels, which scales the features. `GKLClassifier` does not: scale
    them to [0, 1] beforehand, for example with `sklearn.preprocessing.MinMaxScaler`.

    Parameters
    ----------
    kernel : GeneralizedKernel, optional
        The family: a `pliant.QuadratureKernel` (any N, given on quadrature nodes),
        `GeneralizedPolynomial` or `TessellatedKernel`. The P of this kernel is ignored. None means
        GeneralizedPolynomial().

    Attributes
    ----------
    kernel_ : GeneralizedKernel
        The learned kernel.
    intercept_ : float
        The intercept b of f(x) = kernel_(x, support_vectors_) @ dual_coef_ + intercept_.
    estimators_ : list of GKLClassifier
        Only with more than two classes: one estimator per pair. ``kernel_`` and the attributes
        listed after it then belong to these estimators.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import GKLClassifier
    >>> from pliant import GeneralizedPolynomial
    >>> X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> GKLClassifier(GeneralizedPolynomial(degree=2), C=10).fit(X, y).score(X, y) > 0.9
    True
    """

    kernel: GeneralizedKernel | None = field(default=None, kw_only=False)

    _constraints: ClassVar[Mapping[str, Constraint]] = {"kernel": optional(_check_family)}


@documented_as(TKLRegressor, without=TKL_ATTRIBUTES)
@dataclass(kw_only=True, eq=False, repr=False)
class GKLRegressor(SVMRegressor, FamilyFit):
    r"""Epsilon-regression with a kernel learned from a family of the user's choice.

    Solves the saddle point problem of `GKLClassifier` with the objective
    y'beta - epsilon \|beta\|_1 - beta' K_P beta / 2, for abs(beta_i) <= C and 1'beta = 0.

    Parameters
    ----------
    kernel : GeneralizedKernel, optional
        The family, as in `GKLClassifier`.

    Attributes
    ----------
    kernel_ : GeneralizedKernel
        The learned kernel.
    intercept_ : float
        The intercept, in the units of y.

    References
    ----------
    .. [1] A. Talitckii, B. Colbert, M. M. Peet. Efficient Convex Algorithms for Universal Kernel
       Learning. arXiv:2304.07472 (2024).
    """

    kernel: GeneralizedKernel | None = field(default=None, kw_only=False)

    _constraints = GKLClassifier._constraints
