"""Slow references for the tessellated and polynomial kernels, entry by entry.

    k_P(x, y) = Int_Y N(z, x)' P N(z, y) dz = sum_ij P_ij G_ij(x, y),  Y = [lower, upper]
    G_ij(x, y) = Int_Y N_i(z, x) N_j(z, y) dz

Tessellated: N = [Z I(z >= x), Z (1 - I(z >= x))], Z the monomials of x (basis "x") or of x and z
("xz") up to a degree. Polynomial: N = Z, the monomials of x and z. Every G is computed twice, by
the closed formulas of the paper's Corollary 12, corrected, and by quadrature from N alone. A
tessellated kernel moves points outside the box to its nearest point. This module does not use the
library.
"""

import itertools

import numpy as np


def as_box(lower, upper, n_features):
    """Return the two corners, each of shape (n_features,)."""
    return tuple(np.broadcast_to(np.asarray(v, dtype=float), n_features) for v in (lower, upper))


def exponents(n_features, degree, basis):
    """Return delta and gamma of the monomials x^delta z^gamma, one row each, in graded order."""
    variables = range(n_features if basis == "x" else 2 * n_features)
    rows = [
        [chosen.count(v) for v in range(2 * n_features)]
        for total in range(degree + 1)
        for chosen in itertools.combinations_with_replacement(variables, total)
    ]
    return np.split(np.array(rows, dtype=int).reshape(len(rows), -1), 2, axis=1)


def power(points, exponent):
    """Return the monomial points^exponent of each row, shape (m,)."""
    return np.prod(points**exponent, axis=-1)


def integral(low, high, zeta):
    """Return Int_[l, u] z^(zeta - 1) dz = prod_f (u_f^zeta_f - l_f^zeta_f)/zeta_f."""
    return np.prod((high**zeta - low**zeta) / zeta, axis=-1)


def tessellated_tensor(X, Y, lower, upper, degree, basis, normalized=False):
    """Return all G_ij(x_k, y_l) of the tessellated kernel, shape (n_P, n_P, m, l)."""
    a, b = as_box(lower, upper, X.shape[1])
    X, Y = np.clip(X, a, b), np.clip(Y, a, b)
    delta, gamma = exponents(X.shape[1], degree, basis)
    largest = np.maximum(X[:, None, :], Y[None, :, :])
    q = len(delta)
    G = np.empty((2 * q, 2 * q, len(X), len(Y)))
    for i, j in itertools.product(range(q), repeat=2):
        zeta = gamma[i] + gamma[j] + 1
        c = np.outer(power(X, delta[i]), power(Y, delta[j]))
        both = integral(largest, b, zeta)
        from_x, from_y = integral(X, b, zeta)[:, None], integral(Y, b, zeta)[None, :]
        G[i, j] = c * both
        G[i, q + j] = c * (from_x - both)
        G[q + i, j] = c * (from_y - both)
        G[q + i, q + j] = c * (integral(a, b, zeta) - from_x - from_y + both)
    return G / np.prod(b - a) if normalized else G


def polynomial_tensor(X, Y, lower, upper, degree, normalized=False):
    """Return all G_ij(x_k, y_l) of the generalised polynomial kernel, shape (n_P, n_P, m, l)."""
    a, b = as_box(lower, upper, X.shape[1])
    delta, gamma = exponents(X.shape[1], degree, "xz")
    G = np.empty((len(delta), len(delta), len(X), len(Y)))
    for i, j in itertools.product(range(len(delta)), repeat=2):
        c = np.outer(power(X, delta[i]), power(Y, delta[j]))
        G[i, j] = c * integral(a, b, gamma[i] + gamma[j] + 1)
    return G / np.prod(b - a) if normalized else G


def monomial_values(nodes, x, degree, basis):
    """Return Z(z, x) at the nodes z of shape (p, n) and one point x, shape (p, q)."""
    delta, gamma = exponents(len(x), degree, basis)
    return np.stack(
        [power(x, d) * power(nodes, g) for d, g in zip(delta, gamma, strict=True)], axis=1
    )


def monomials_of_x(X, degree):
    """Return the monomials of each row of X, shape (m, C(n + degree, degree))."""
    delta, _ = exponents(X.shape[1], degree, "x")
    return np.stack([power(X, d) for d in delta], axis=1)


def tessellated_values(nodes, x, degree, basis):
    """Return N(z, x) of the tessellated kernel at the nodes, shape (p, n_P)."""
    Z = monomial_values(nodes, x, degree, basis)
    inside = np.all(nodes >= x, axis=1)[:, None]
    return np.hstack([Z * inside, Z * (1 - inside)])


def cells_rule(edges, order):
    """Return nodes (p, n) and weights (p,) of a Gauss-Legendre rule in every cell.

    `edges` has the borders of the smooth pieces of the integrand for each feature.
    """
    base, base_weights = np.polynomial.legendre.leggauss(order)
    nodes, weights = [], []
    for borders in edges:
        borders = np.unique(borders)
        half, middle = np.diff(borders) / 2, (borders[1:] + borders[:-1]) / 2
        nodes.append((middle[:, None] + half[:, None] * base).ravel())
        weights.append((half[:, None] * base_weights).ravel())
    grid, products = np.meshgrid(*nodes, indexing="ij"), np.meshgrid(*weights, indexing="ij")
    return (
        np.stack([g.ravel() for g in grid], axis=1),
        np.prod([p.ravel() for p in products], axis=0),
    )


def quadrature_tensor(X, Y, lower, upper, values, normalized=False, order=8):
    """Return all G_ij(x_k, y_l) by quadrature, in cells split at x and y; values(z, x) is N.

    The points must lie in the box.
    """
    a, b = as_box(lower, upper, X.shape[1])
    rows = []
    for x in X:
        for y in Y:
            nodes, weights = cells_rule(np.stack([a, x, y, b], axis=1), order)
            rows.append(values(nodes, x).T @ (weights[:, None] * values(nodes, y)))
    G = np.moveaxis(np.reshape(rows, (len(X), len(Y), *rows[0].shape)), (0, 1), (2, 3))
    return G / np.prod(b - a) if normalized else G


def gram(G, P):
    """Return K_P, shape (m, l)."""
    return np.einsum("ijkl,ij->kl", G, P)


def quadratic(G, w):
    """Return D(w)_ij = sum_kl w_k w_l G_ij(x_k, x_l), shape (n_P, n_P)."""
    return np.einsum("ijkl,k,l->ij", G, w, w)


def integrals(G, U):
    """Return U'(G(x_k, x_l) + G(x_l, x_k))U/2, shape (m, m, r, r)."""
    symmetric = 0.5 * (G + G.transpose(0, 1, 3, 2))
    return np.einsum("ijkl,ia,jb->klab", symmetric, U, U)


def random_shape(r, n, rank=None, trace=None):
    """Return a random PSD matrix of a given rank and trace (default n), and its factor."""
    factor = r.standard_normal((n, n if rank is None else rank))
    factor *= np.sqrt((n if trace is None else trace) / (factor**2).sum())
    return factor @ factor.T, factor
