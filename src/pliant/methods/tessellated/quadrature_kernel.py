"""Generalised kernels of finite rank: any basis on quadrature nodes, and polynomials."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_points, check_vector
from pliant.methods.tessellated.generalized_kernel import GeneralizedKernel, Side
from pliant.methods.tessellated.monomials import MonomialBasis, monomial_basis
from pliant.methods.tessellated.tessellated_kernel import Box

__all__ = ["GeneralizedPolynomial", "QuadratureKernel"]


class _FiniteRank(GeneralizedKernel):
    """k(x, y) = phi(x)'phi(y), with features that are linear in F."""

    def _tile(self, left: Side, right: Side) -> Array:
        return np.asarray(left[0] @ right[0].T)


class QuadratureKernel(_FiniteRank):
    """k_P(x, y) = sum_q weights_q N(z_q, x)' P N(z_q, y): any basis N, by its values on nodes.

    Lemma 5 of the paper, with the integral replaced by a quadrature rule; where that is exact
    (Gauss-Legendre nodes and a polynomial N), so is the kernel.

    Parameters
    ----------
    function : callable
        N: (nodes of shape (q, p), points of shape (m, d)) -> values of shape (q, m, n_P).
    nodes : array-like of shape (q, p)
        z_q.
    weights : array-like of shape (q,)
        Of the rule, >= 0.
    factor : array-like of shape (n_P, r), optional
        F, P = F F'; None is P = I.

    Notes
    -----
    O(q n_P) a point and O(m^2 q r) a Gram matrix. A kernel with a function of the user's cannot
    be saved to a file.
    """

    def __init__(self, function: Any, nodes: Any, weights: Any, factor: Any = None) -> None:
        self.function = function
        self.nodes = nodes
        self.weights = weights
        self.factor = factor

    def shape_size(self, n_features: int) -> int:
        """Return n_P: how many values the function has at a node and a point (at zero)."""
        with np.errstate(all="ignore"):  # what it is at zero does not matter
            return self._called(check_points(self.nodes, "nodes"), np.zeros((1, n_features))).shape[
                2
            ]

    def shape_size_on(self, X: Array) -> int:
        """Return n_P: how many values the function has at a node and a row of X."""
        return self._called(check_points(self.nodes, "nodes"), X[:1]).shape[2]

    def _called(self, nodes: Array, X: Array) -> Array:
        """Return N(z_q, x), shape (q, m, n_P)."""
        wanted = f"({len(nodes)}, {len(X)}, n_P)"
        try:
            values = np.asarray(self.function(nodes, X))
            if values.dtype.kind not in "biuf":
                raise TypeError(f"an array of {values.dtype}")
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"expected a function of nodes and points that returns numbers of shape {wanted}, "
                f"got {type(error).__name__}: {error}"
            ) from error
        if values.ndim != 3 or values.shape[:2] != (len(nodes), len(X)) or values.shape[2] < 1:
            raise ValueError(
                f"expected the function to return shape {wanted}, n_P >= 1, got {values.shape}"
            )
        return values.astype(np.float64, copy=False)

    def _values(self, X: Array) -> Array:
        """Return sqrt(weights_q) N(z_q, x), shape (q, m, n_P)."""
        nodes = check_points(self.nodes, "nodes")
        weights = check_vector("weights", self.weights, len(nodes))
        if (weights < 0).any():
            raise ValueError(f"expected weights >= 0, got {weights.min():g}")
        values = self._called(nodes, X)
        if not np.isfinite(values).all():
            raise ValueError("expected the function to return finite numbers, got NaN or inf")
        return values * np.sqrt(weights)[:, None, None]

    def _side(self, X: Array) -> Side:
        features = self._values(X)
        if self.factor is not None:
            factor = check_points(self.factor, "factor")
            if len(factor) != features.shape[2]:
                raise ValueError(
                    f"expected a factor of shape ({features.shape[2]}, r), got {factor.shape}"
                )
            features = features @ factor
        return (np.moveaxis(features, 1, 0).reshape(len(X), -1),)

    def _quadratic(self, X: Array, weights: Array) -> Array:
        summed = np.einsum("k,qki->qi", weights, self._values(X))
        return np.asarray(summed.T @ summed)


class GeneralizedPolynomial(_FiniteRank):
    """k_P(x, y) = Int_[a, b] Z(x, z)' P Z(y, z) dz, Z the monomials of x and z up to a degree.

    A polynomial kernel of degree 2d at most whose coefficients are learned. (With monomials of x
    alone there would be nothing to learn: by symmetry every P does no better than its trace.)

    Parameters
    ----------
    lower, upper : float or array-like of shape (n,)
        The box [a, b] of z; x may lie anywhere.
    degree : int
        Of the monomials, >= 0.
    normalize_measure : bool
        Divide by the volume of the box.
    factor : array-like of shape (n_P, r), optional
        F, P = F F', n_P = C(2n + d, d); None is P = I.
    """

    def __init__(
        self,
        lower: Any = 0.0,
        upper: Any = 1.0,
        degree: int = 1,
        normalize_measure: bool = True,
        factor: Any = None,
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.degree = degree
        self.normalize_measure = normalize_measure
        self.factor = factor

    def shape_size(self, n_features: int) -> int:
        """Return n_P = C(2n + d, d)."""
        degree = check_integer("degree", self.degree, least=0)
        return comb(2 * n_features + degree, degree)

    def _basis(self, n_features: int) -> MonomialBasis:
        return monomial_basis(n_features, check_integer("degree", self.degree, least=0), True)

    def _means(self, basis: MonomialBasis) -> Array:
        """Return G_ij / (x^delta_i y^delta_j), shape (n_P, n_P)."""
        box = Box(self.lower, self.upper, basis.n_features, bool(self.normalize_measure))
        means = box.measure * basis.means(box.lower, box.upper)[0]
        return np.asarray(means[basis.sum_of])

    def _side(self, X: Array) -> Side:
        basis = self._basis(X.shape[1])
        form = np.zeros((len(basis.in_x),) * 2)
        weighted = self.shape_matrix(X.shape[1]) * self._means(basis)
        np.add.at(form, (basis.x_part[:, None], basis.x_part), weighted)
        values, vectors = np.linalg.eigh(form)
        return (basis.monomials(X) @ (vectors * np.sqrt(np.maximum(values, 0.0))),)

    def _quadratic(self, X: Array, weights: Array) -> Array:
        basis = self._basis(X.shape[1])
        total = (weights @ basis.monomials(X))[basis.x_part]
        return np.outer(total, total) * self._means(basis)
