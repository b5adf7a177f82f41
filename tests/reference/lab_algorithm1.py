"""Algorithm 1 of the LAB-RBF paper as printed, except the sign of its line 8.

    f(t) = K(t, C) a,  a = (K(C, C) + alpha I)^{-1} y_C,  K(t, c) = exp(-|theta_c o (t - c)|^2)

The paper's lambda is called alpha here. theta is learned itself, without bounds, to minimise the
error of f on all rows that are not in C (Eq. 9): by Adam, and at the end by stochastic gradient
descent (Appendix D). The paper gives neither the first nor the added number of points, here half
of `n_support` and a tenth, nor theta of an added point, here the initial one.
"""

import numpy as np
from scipy.linalg import lu_factor, lu_solve


def kernel(X, C, theta):
    """Return exp(-|theta_j o (x_i - c_j)|^2), shape (n, m)."""
    W = theta**2
    squares = X**2 @ W.T - 2 * X @ (W * C).T + (W * C * C).sum(axis=1)
    return np.exp(-np.maximum(squares, 0))


class LocalInterpolant:
    """A model with `n_support` points at most; `steps` of each descent on batches of rows.

    `theta` and `rate` are the initial bandwidth and the learning rate; points are added until
    the largest squared error is at most `tol`. `sizes_` has the number of points of each round.
    """

    def __init__(self, n_support, *, alpha, theta, rate, batch, steps, tol, seed):
        self.n_support, self.alpha, self.theta, self.rate = n_support, alpha, theta, rate
        self.batch, self.steps, self.tol, self.seed = batch, steps, tol, seed

    def fit(self, X, y):
        rng, most = np.random.default_rng(self.seed), min(self.n_support, len(X) - 1)
        self.support_ = rng.permutation(len(X))[: (most + 1) // 2]
        self.theta_, self.sizes_ = np.full((len(self.support_), X.shape[1]), float(self.theta)), []
        some = -(-(most - len(self.support_)) // 5)
        while True:
            self._descend(X, y, rng, adam=True)
            self.sizes_.append(len(self.support_))
            others = np.setdiff1d(np.arange(len(X)), self.support_)
            errors = (self.predict(X[others]) - y[others]) ** 2
            if errors.max() <= self.tol or len(self.support_) >= most:
                break
            new = others[np.argsort(-errors)[: min(some, most - len(self.support_))]]
            self.support_ = np.concatenate([self.support_, new])
            self.theta_ = np.vstack([self.theta_, np.full((len(new), X.shape[1]), self.theta)])
        self._descend(X, y, rng, adam=False)
        return self

    def predict(self, X):
        return kernel(X, self.centres_, self.theta_) @ self.dual_coef_

    def _descend(self, X, y, rng, *, adam):
        others = np.setdiff1d(np.arange(len(X)), self.support_)
        self.centres_, targets = X[self.support_], y[self.support_]
        mean, square = np.zeros_like(self.theta_), np.zeros_like(self.theta_)
        for t in range(1, self.steps + 1):
            rows = rng.choice(others, min(self.batch, len(others)), replace=False)
            step = self.gradient(X[rows], y[rows], targets)
            if adam:
                mean, square = 0.9 * mean + 0.1 * step, 0.999 * square + 0.001 * step**2
                step = mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
            self.theta_ -= self.rate * step
        gram = kernel(self.centres_, self.centres_, self.theta_)
        self.dual_coef_ = np.linalg.solve(gram + self.alpha * np.eye(len(gram)), targets)

    def gradient(self, X, y, targets):
        """Return the derivative of the mean squared error of some rows by theta."""
        C, theta = self.centres_, self.theta_
        K, gram = kernel(X, C, theta), kernel(C, C, theta)
        factor = lu_factor(gram + self.alpha * np.eye(len(C)), check_finite=False)
        a = lu_solve(factor, targets, check_finite=False)
        residual = 2 / len(y) * (K @ a - y)
        adjoint = lu_solve(factor, K.T @ residual, trans=1, check_finite=False)
        # dL/dK = residual a', dL/dK_cc = -adjoint a', dK/dtheta = -2 theta (x - c)^2 K
        slopes = np.vstack([residual[:, None] * K, -adjoint[:, None] * gram]) * a
        points = np.vstack([X, C])
        squares = slopes.T @ points**2 - 2 * C * (slopes.T @ points)
        return -2 * theta * (squares + C**2 * slopes.sum(axis=0)[:, None])
