"""Slow references for the LAB-RBF kernel and objectives, from their definitions.

    k(t, c_i) = h(D_i), D_i = sum_f W_if (t_f - c_if)^2, W = exp(s), F = [K, X] or K

* ridge: the least squares of the stacked rows [F; sqrt(alpha) I] and [Y; 0]
* evidence: minus twice the logarithm of the marginal likelihood of Y ~ N(0, sigma^2 (I + FF'/lam)),
  with the best sigma, per row and output, minus the constant 1
* interpolation: K times the solution of (K_cc + alpha I) c = Y_c

Weights multiply squared residuals: rows of F and Y are multiplied by their roots. Gradients are
central differences, also of an expansion sum_i c_i k(u, c_i) + u'v + b. This module does not use
the library.
"""

import math
from typing import NamedTuple

import numpy as np


def gaussian(D):
    return math.exp(-D)


def laplacian(D):
    return math.exp(-math.sqrt(D))


def matern32(D):
    s = math.sqrt(3 * D)
    return (1 + s) * math.exp(-s)


def matern52(D):
    r = math.sqrt(5 * D)
    return (1 + r + r * r / 3) * math.exp(-r)


PROFILES = {
    "gaussian": gaussian,
    "laplacian": laplacian,
    "matern32": matern32,
    "matern52": matern52,
}


def kernel(X, centres, W, profile):
    """Return k of each row of X and each centre, one pair at a time, shape (n, m)."""
    h = PROFILES[profile]
    return np.array(
        [
            [
                h(sum(w * (a - b) ** 2 for w, a, b in zip(weights, x, c, strict=True)))
                for c, weights in zip(centres, W, strict=True)
            ]
            for x in X
        ]
    )


def features(X, centres, s, profile, linear):
    """Return F, shape (n, m) or (n, m + d)."""
    K = kernel(X, centres, np.exp(s), profile)
    return np.hstack([K, X]) if linear else K


def rooted(weights, *parts):
    """Return each part with rows multiplied by the roots of their weights."""
    if weights is None:
        return parts
    roots = [math.sqrt(w) for w in weights]
    return tuple(np.array([r * row for r, row in zip(roots, p, strict=True)]) for p in parts)


def ridge_coefficients(F, Y, alpha):
    """Return the a that minimises |F a - Y|^2 + alpha |a|^2, by least squares."""
    p = F.shape[1]
    rows = np.vstack([F, math.sqrt(alpha) * np.eye(p)])
    return np.linalg.lstsq(rows, np.vstack([Y, np.zeros((p, Y.shape[1]))]), rcond=None)[0]


def ridge(F, Y, alpha, scale):
    """Return (|F a - Y|^2 + alpha |a|^2) / (n v)."""
    a = ridge_coefficients(F, Y, alpha)
    return (np.sum((F @ a - Y) ** 2) + alpha * np.sum(a**2)) / (len(Y) * scale)


def evidence(F, Y, lam, scale):
    """Return -2 log p(Y) / (n q) - log(2 pi) - log v - 1 at the best sigma."""
    n, q = Y.shape
    covariance = np.eye(n) + F @ F.T / lam
    sigma_squared = np.sum(Y * np.linalg.solve(covariance, Y)) / (n * q)
    return math.log(sigma_squared / scale) + np.linalg.slogdet(covariance)[1] / n


def interpolation_coefficients(centres, Yc, s, alpha, profile):
    """Return the c of (K_cc + alpha I) c = Y_c."""
    K = kernel(centres, centres, np.exp(s), profile)
    return np.linalg.solve(K + alpha * np.eye(len(centres)), Yc)


def interpolation(K, Y, c, scale):
    """Return |K c - Y|^2 / (n v)."""
    return np.sum((K @ c - Y) ** 2) / (len(Y) * scale)


def spread(s):
    """Return the mean of (s_ij - mean_i s_ij)^2."""
    m, d = s.shape
    means = [sum(s[i, j] for i in range(m)) / m for j in range(d)]
    return sum((s[i, j] - means[j]) ** 2 for i in range(m) for j in range(d)) / (m * d)


def differences(function, x, step=1e-3):
    """Return the gradient of a function of an array by fourth-order central differences."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        values = {}
        for times in (-2, -1, 1, 2):
            moved = x.copy()
            moved[place] += times * step
            values[times] = function(moved)
        near, far = values[1] - values[-1], values[2] - values[-2]
        gradient[place] = (8 * near - far) / (12 * step)
    return gradient


class Expansion(NamedTuple):
    """One output of one member, on the mapped features u: W, c, v as above.

    With a matrix A, the distances are D_i = |A'(u - c_i)|^2, and W has no effect.
    """

    centres: np.ndarray
    W: np.ndarray
    c: np.ndarray
    v: np.ndarray
    b: float
    profile: str
    A: np.ndarray | None = None


def support_terms(expansion, u):
    """Return distance, kernel value and term of each support point at one mapped point."""
    h, terms = PROFILES[expansion.profile], []
    for centre, weights, c in zip(expansion.centres, expansion.W, expansion.c, strict=True):
        if expansion.A is None:
            D = sum(w * (a - b) ** 2 for w, a, b in zip(weights, u, centre, strict=True))
        else:
            D = float(np.sum((expansion.A.T @ (u - centre)) ** 2))
        terms.append((math.sqrt(D), h(D), c * h(D)))
    return terms


def parts(expansion, u):
    """Return kernel part, linear part and constant at one mapped point."""
    kernel_part = sum(term for _, _, term in support_terms(expansion, u))
    return kernel_part, sum(a * v for a, v in zip(u, expansion.v, strict=True)), expansion.b


def changes(expand, points, order):
    """Return the mean squared change of f by permuting each feature, over the variance of f."""
    f, ratios = expand(points), []
    for j in range(points.shape[1]):
        permuted = points.copy()
        permuted[:, j] = points[order, j]
        squares = (expand(permuted) - f) ** 2
        ratios.append(np.mean([s.mean() / g.var() for s, g in zip(squares.T, f.T, strict=True)]))
    return np.array(ratios)


def effects(expansions, weights, points, deviations):
    """Return sum_k w_k df_k/du_kj sd_kj of each feature j at a mapped point of each member."""
    total = np.zeros(len(points[0]))
    for expansion, weight, u, sd in zip(expansions, weights, points, deviations, strict=True):
        slopes = differences(lambda at, e=expansion: sum(parts(e, at)), u, step=2e-4)
        total += weight * slopes * sd
    return total
