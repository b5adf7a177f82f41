"""Slow references for the kernels: formulas for one pair of points at a time.

A point is a 1-D array, a kernel a function of two points. This module does not use the library.
"""

import math

import numpy as np


def gram_by_loops(kernel, X, Y):
    """Return the matrix of kernel(x, y), entry by entry."""
    return np.array([[kernel(x, y) for y in Y] for x in X])


def one_norm(x, y):
    return sum(abs(a - b) for a, b in zip(x, y, strict=True))


def two_norm(x, y):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def gaussian(gamma):
    return lambda x, y: math.exp(-gamma * two_norm(x, y) ** 2)


def laplacian(gamma):
    return lambda x, y: math.exp(-gamma * one_norm(x, y))


def matern(nu, gamma):
    def kernel(x, y):
        r = math.sqrt(4 * nu * gamma) * two_norm(x, y)
        polynomial = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r**2 / 3}[nu]
        return polynomial * math.exp(-r)

    return kernel


def tl1(rho):
    return lambda x, y: max(rho - one_norm(x, y), 0.0)


def gaussian_of_each(gammas):
    return lambda x, y: math.exp(
        -sum(g * (a - b) ** 2 for g, a, b in zip(gammas, x, y, strict=True))
    )


def laplacian_of_each(gammas):
    return lambda x, y: math.exp(-sum(g * abs(a - b) for g, a, b in zip(gammas, x, y, strict=True)))


def matern_of_each(nu, gammas):
    def kernel(x, y):
        squared = sum(g * (a - b) ** 2 for g, a, b in zip(gammas, x, y, strict=True))
        return matern(nu, 1.0)([0.0], [math.sqrt(squared)])

    return kernel


def on(kernel, columns):
    """Return a kernel of the columns in a list of positions."""
    return lambda x, y: kernel([x[j] for j in columns], [y[j] for j in columns])


def weighted_sum(kernels, weights):
    return lambda x, y: sum(w * kernel(x, y) for kernel, w in zip(kernels, weights, strict=True))


def polynomial(degree, gamma, coef0):
    return lambda x, y: (gamma * sum(a * b for a, b in zip(x, y, strict=True)) + coef0) ** degree


def normalized(kernel):
    return lambda x, y: kernel(x, y) / math.sqrt(kernel(x, x) * kernel(y, y))


def by_distance(x, points):
    """Return the row numbers of `points` by distance to x; ties in row order."""
    return sorted(range(len(points)), key=lambda i: (two_norm(x, points[i]), i))


def nearest(x, points):
    """Return the row number of the nearest point."""
    return by_distance(x, points)[0]


def reciprocal(x, points):
    """Return the row number i that maximises 1/(r s); ties go to the nearer one.

    points[i] is the s-th nearest to x; r - 1 points, other than itself, are nearer to it than x.
    """
    best, highest = -1, -1.0
    for s, i in enumerate(by_distance(x, points), start=1):
        others = [p for j, p in enumerate(points) if j != i]
        r = 1 + sum(two_norm(points[i], p) < two_norm(points[i], x) for p in others)
        if 1 / (r * s) > highest:
            best, highest = i, 1 / (r * s)
    return best


def smooth(x, points, values, k):
    """Return the inverse-distance mean over the k nearest; at a training point, its value.

    Equal training points have the mean of their values.
    """
    pooled = [
        np.mean([v for q, v in zip(points, values, strict=True) if (q == p).all()]) for p in points
    ]
    total = weight_of_all = 0.0
    for i in by_distance(x, points)[:k]:
        if two_norm(x, points[i]) == 0:
            return pooled[i]
        weight = 1 / two_norm(x, points[i])
        total, weight_of_all = total + weight * pooled[i], weight_of_all + weight
    return total / weight_of_all


def hadamard(kernel, points, beta, eta, rule, k=5):
    """Return k(x, y) F(x, y), with F(x, y) by one of the four rules."""

    def taken(x):
        """Return the point that replaces x, and its coefficient."""
        if rule == "smooth":
            return x, smooth(x, points, beta, k)
        i = {"nearest": nearest, "reciprocal": reciprocal}[rule](x, points)
        return points[i], beta[i]

    def learned(x, y):
        if rule == "none":
            return kernel(x, y)
        (x_, b_x), (y_, b_y) = taken(x), taken(y)
        return kernel(x, y) * (1 + b_x * kernel(x_, y_) * b_y / (4 * eta))

    return learned


def reciprocal_matrix_of_a_batch(X_new, X_train):
    """Return M of equation (11): M[i, j] = 1/(r s) if X_new[j] is the r-th nearest of the new
    points to X_train[i], and X_train[i] is the s-th nearest of the training points to X_new[j].
    """
    M = np.zeros((len(X_train), len(X_new)))
    for i, x in enumerate(X_train):
        for j, x_new in enumerate(X_new):
            r = 1 + by_distance(x, X_new).index(j)
            s = 1 + by_distance(x_new, X_train).index(i)
            M[i, j] = 1 / (r * s)
    return M
