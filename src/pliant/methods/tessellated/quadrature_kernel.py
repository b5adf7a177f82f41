"""Generalised kernels of finite rank: any basis on quadrature nodes, and polynomials."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_points, check_vector
from pliant.methods.tessellated.generalized_kernel import (
    Box,
    GeneralizedKernel,
    MonomialBasis,
    Side,
    check_shape_size,
    monomial_basis,
)


class _FiniteRank(GeneralizedKernel):
    """k(x, y) = phi(x)'phi(y), where the features phi are linear in F."""

    finite_rank = True

    def _tile(self, left: Side, right: Side) -> Array:
        return np.asarray(left[0] @ right[0].T)


class QuadratureKernel(_FiniteRank):
    """k_P(x, y) = sum_q weights_q N(z_q, x)' P N(z_q, y): any basis N, by its values on nodes.

    This is Lemma 5 of Talitckii, Colbert and Peet with a quadrature rule in place of the integral.
    Where the rule is exact (Gauss-Legendre nodes and a polynomial N), so is the kernel.

    Parameters
    ----------
    function : callable
        N: (nodes of shape (n_nodes, p), points of shape (n_samples, n_features)) -> values of
        shape (n_nodes, n_samples, n_P).
    nodes : array-like of shape (n_nodes, p)
        The nodes z_q.
    weights : array-like of shape (n_nodes,)
        Weights of the rule, >= 0.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F'; None is P = I.

    Notes
    -----
    The cost is O(n_nodes n_P) for a point and O(n_samples^2 n_nodes r) for a Gram matrix. A kernel
    with a user-defined function cannot be saved to a file.
    """

    def __init__(self, function: Any, nodes: Any, weights: Any, factor: Any = None) -> None:
        self.function = function
        self.nodes = nodes
        self.weights = weights
        self.factor = factor

    def shape_size(self, n_features: int) -> int:
        """Return n_P: the number of values of the function for one node and one point, zero."""
        with np.errstate(all="ignore"):  # the function need not be finite at zero
            return self.shape_size_on(np.zeros((1, n_features)))

    def shape_size_on(self, X: Array) -> int:
        """Return n_P: the number of values of the function for one node and one row of X."""
        return self._called(check_points(self.nodes, "nodes"), X[:1]).shape[2]

    def _called(self, nodes: Array, X: Array) -> Array:
        """Return N(z_q, x), shape (n_nodes, n_samples, n_P)."""
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
        """Return sqrt(weights_q) N(z_q, x), shape (n_nodes, n_samples, n_P)."""
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
        # one row of n_nodes r features per point: their inner product sums over nodes and columns
        return (np.moveaxis(features, 1, 0).reshape(len(X), -1),)

    def _quadratic(self, X: Array, weights: Array) -> Array:
        # D(w) = sum_q s_q s_q' with s_q = sqrt(weights_q) sum_k w_k N(z_q, x_k)
        summed = np.einsum("k,qki->qi", weights, self._values(X))
        return np.asarray(summed.T @ summed)


class GeneralizedPolynomial(_FiniteRank):
    """k_P(x, y) = Int_[a, b] Z(x, z)' P Z(y, z) dz, Z the monomials of x and z up to a degree.

    A polynomial kernel whose coefficients are learned, of at most twice that degree. (With
    monomials of x alone there would be nothing to learn: the optimum is that of P = n_P I.)

    Parameters
    ----------
    lower, upper : float or array-like of shape (n_features,)
        The box [a, b] of z; x may lie anywhere.
    degree : int
        Degree of the monomials, >= 0.
    normalize_measure : bool
        Divide by the volume of the box.
    factor : array-like of shape (n_P, r), optional
        F, with P = F F' and n_P = C(2 n_features + degree, degree); None is P = I.
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
        """Return n_P = C(2 n_features + degree, degree)."""
        degree = check_integer("degree", self.degree, least=0)
        return comb(2 * n_features + degree, degree)

    def _basis(self, n_features: int) -> MonomialBasis:
        check_shape_size(self.shape_size(n_features), n_features)
        return monomial_basis(n_features, self.degree, True)

    def _means(self, basis: MonomialBasis) -> Array:
        """Return G_ij(x, y) / (x^delta_i y^delta_j), shape (n_P, n_P)."""
        box = Box(self.lower, self.upper, basis.n_features, bool(self.normalize_measure))
        means = box.measure * basis.means(box.lower, box.upper)[0]
        return np.asarray(means[basis.sum_of])

    def _side(self, X: Array) -> Side:
        basis = self._basis(X.shape[1])
        form = np.zeros((len(basis.in_x),) * 2)
        with np.errstate(over="ignore", invalid="ignore"):
            weighted = self.shape_matrix(X.shape[1]) * self._means(basis)
            np.add.at(form, (basis.x_part[:, None], basis.x_part), weighted)
        if not np.isfinite(form).all():
            raise ValueError(
                f"expected finite integrals of the monomials up to degree {self.degree} over the "
                f"box, got inf or NaN from lower = {self.lower!r:.100} to upper = "
                f"{self.upper!r:.100}; use a smaller box"
            )
        # k(x, y) = Z(x)' form Z(y), Z the monomials of x alone; a factor of `form` gives features
        values, vectors = np.linalg.eigh(form)
        return (basis.monomials(X) @ (vectors * np.sqrt(np.maximum(values, 0.0))),)

    def _quadratic(self, X: Array, weights: Array) -> Array:
        basis = self._basis(X.shape[1])
        total = (weights @ basis.monomials(X))[basis.x_part]  # sum_k w_k x_k^delta_i
        return np.outer(total, total) * self._means(basis)
