"""Seeded random samples for support vector machines."""

import numpy as np


def classification(seed, n=40, d=3):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, d))
    y = np.where(np.sin(6 * X[:, 0]) + X[:, 1] + 0.4 * r.standard_normal(n) > 0.8, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def regression(seed, n=40, d=2):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, d))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * r.standard_normal(n)
