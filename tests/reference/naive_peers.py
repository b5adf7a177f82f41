"""Slow, obvious twins of the methods that the papers compare with."""

from __future__ import annotations

import numpy as np


def closed_form_weights(grams, y):
    """M^{-1} a / |M^{-1} a| of the centred Gram matrices, every product written out."""
    n = len(y)
    H = np.eye(n) - np.ones((n, n)) / n
    centred = [H @ K @ H for K in grams]
    M = [[(A * B).sum() for B in centred] for A in centred]
    a = [(A * np.outer(y, y)).sum() for A in centred]
    d = np.linalg.solve(M, a)
    return d / np.linalg.norm(d)


def scatters(points, classes):
    """The traces of the scatter between classes (over their means) and within them."""
    between = within = 0.0
    mean = points.mean(axis=0)
    for kind in set(classes):
        own = points[classes == kind]
        between += len(own) * ((own.mean(axis=0) - mean) ** 2).sum()
        within += ((own - own.mean(axis=0)) ** 2).sum()
    return between, within


def label_matrix(classes):
    """T: 1 for a pair of one class, -1 for a pair of two, 0 where one is unknown (negative)."""
    n = len(classes)
    T = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if classes[i] >= 0 and classes[j] >= 0:
                T[i, j] = 1.0 if classes[i] == classes[j] else -1.0
    return T


def local_metric_matrix(g, u, strength):
    """The metric at one point, from the eigenvalues of (g u' + u g')/2 and their vectors."""
    values, vectors = np.linalg.eigh((np.outer(g, u) + np.outer(u, g)) / 2.0)
    size = np.linalg.norm(g) * np.linalg.norm(u)
    A = np.eye(len(g)) + strength * (vectors * np.abs(values) / size) @ vectors.T
    return A / np.linalg.det(A) ** (1.0 / len(g))


def weighted_mean(x, rows, targets, metric, gamma):
    """Nadaraya and Watson's estimate at one point, row by row."""
    kernel = [np.exp(-gamma * (x - row) @ metric @ (x - row)) for row in rows]
    return sum(k * y for k, y in zip(kernel, targets, strict=True)) / sum(kernel)


def batch_reciprocal(new, train):
    """For each new point, the training point of the largest 1/(r s); ranks counted one by one."""
    best = []
    for x in new:
        products = []
        for t in train:
            r = 1 + sum(np.linalg.norm(t - z) < np.linalg.norm(t - x) for z in new)
            s = 1 + sum(np.linalg.norm(x - z) < np.linalg.norm(x - t) for z in train)
            products.append(r * s)
        best.append(int(np.argmin(products)))
    return best
