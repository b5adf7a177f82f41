"""Data, and a slow reference: the normal equations as one dense least-squares problem."""

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 3))
NEW = RNG.uniform(-1, 1, (60, 3))
Y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=400)
BOTH = np.column_stack([Y, 50.0 + 1e3 * X[:, 1] ** 2])
WEIGHTS = RNG.uniform(0.0, 3.0, 400)


def twin(kernel, X, y, centres, alpha, weights=None, intercept=True):
    """Return the prediction function that minimises the objective.

    The least-squares system is [sqrt(S) K; sqrt(alpha) H^(1/2)] a = [sqrt(S) y; 0], with the
    columns and y centred by their weighted means.
    """
    weights = np.ones(len(X)) if weights is None else weights
    K, H = kernel(X, centres), kernel(centres, centres.copy())
    mean = weights @ K / weights.sum() if intercept else np.zeros(len(centres))
    level = weights @ y / weights.sum() if intercept else np.zeros(y.shape[1:])
    values, vectors = np.linalg.eigh(H)
    half = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    root = np.sqrt(weights)
    left = np.vstack([root[:, None] * (K - mean), np.sqrt(alpha) * half])
    right = np.concatenate([(root * (y - level).T).T, np.zeros((len(centres), *y.shape[1:]))])
    a = np.linalg.lstsq(left, right, rcond=1e-13)[0]
    return lambda T: (kernel(T, centres) - mean) @ a + level


def objective(model, X, y, alpha, weights=None):
    """Return the objective of a fitted model, from its definition."""
    weights = np.ones(len(X)) if weights is None else weights
    points, a = model.support_vectors_, model.dual_coef_.reshape(len(model.dual_coef_), -1)
    errors = (y - model.kernel_(X, points) @ model.dual_coef_ - model.intercept_) ** 2
    penalty = np.einsum("it,ij,jt->", a, model.kernel_(points, points.copy()), a)
    return float((weights @ errors).sum() + alpha * penalty)
