"""The updates of Bayesian multiple kernel learning, one number after another."""

import numpy as np
from scipy.stats import truncnorm

FAR = 36.0
"""Standard deviations beyond which a normal has no mass."""


class NaiveBEMKL:
    """Coordinate ascent for Gram matrices (M, n, n) and targets or signs (L, n).

    `priors` holds (shape, rate) of lambda, gamma and omega, and for a regression of upsilon and
    epsilon; a classification has `sigma_g` and `margin`.
    """

    def __init__(self, grams, target, priors, sigma_g=0.1, margin=1.0):
        self.K, self.y, self.priors = grams, target, priors
        self.M, self.n, self.L = len(grams), target.shape[1], len(target)
        self.signs = len(priors) == 3
        self.margin = margin
        M, n, L = self.M, self.n, self.L
        share = 1 / np.sqrt(M)
        start = (margin + 0.5) * target if self.signs else target
        self.lam = [[(1.0, 1.0)] * n for _ in range(L)]
        self.a, self.a_cov = np.zeros((L, n)), [np.eye(n) for _ in range(L)]
        self.G = [[[share * start[k, i] for i in range(n)] for _ in range(M)] for k in range(L)]
        self.G = np.array(self.G)
        self.G_cov = np.eye(M)
        self.gam, self.om = [(1.0, 1.0)] * L, [(1.0, 1.0)] * M
        self.b, self.e = np.zeros(L), np.full(M, share)
        self.be_cov = np.eye(L + M) / M
        self.ups = (sigma_g**-2, 1.0) if self.signs else (1.0, 1.0)
        self.eps = (1.0, 1.0)
        self.centre = np.zeros((L, n))

    def sweep(self):
        self.update_a()
        self.update_G()
        self.update_be()
        if self.signs:
            for k in range(self.L):
                for i in range(self.n):
                    self.centre[k, i] = self.b[k] + sum(
                        self.e[m] * self.G[k, m, i] for m in range(self.M)
                    )
        self.update_precisions()

    def f(self):
        """Mean and variance of each f."""
        mean, variance = np.array(self.y, dtype=float), np.zeros_like(self.y, dtype=float)
        if self.signs:
            for k in range(self.L):
                for i in range(self.n):
                    c = self.centre[k, i]
                    low, high = self.margin - c, FAR
                    if self.y[k, i] < 0:
                        low, high = -FAR, -self.margin - c
                    law = truncnorm(low, high, loc=c)
                    mean[k, i], variance[k, i] = law.mean(), law.var()
        return mean, variance

    def update_a(self):
        u = self.ups[0] / self.ups[1]
        for k in range(self.L):
            precision, pull = np.zeros((self.n, self.n)), np.zeros(self.n)
            for i in range(self.n):
                precision[i, i] = self.lam[k][i][0] / self.lam[k][i][1]
            for m in range(self.M):
                for i in range(self.n):  # g_mi ~ N(k_i'a, 1/u)
                    precision += u * np.outer(self.K[m][i], self.K[m][i])
                    pull += u * self.G[k, m, i] * self.K[m][i]
            self.a_cov[k] = np.linalg.inv(precision)
            self.a[k] = self.a_cov[k] @ pull

    def ee(self, m, j):
        return self.e[m] * self.e[j] + self.be_cov[self.L + m, self.L + j]

    def eb(self, k, m):
        return self.e[m] * self.b[k] + self.be_cov[k, self.L + m]

    def update_G(self):
        u, eps = self.ups[0] / self.ups[1], self.eps[0] / self.eps[1]
        f, _ = self.f()
        E = np.array([[self.ee(m, j) for j in range(self.M)] for m in range(self.M)])
        self.G_cov = np.linalg.inv(u * np.eye(self.M) + eps * E)
        for k in range(self.L):
            for i in range(self.n):
                pull = [
                    u * self.K[m][i] @ self.a[k] + eps * (self.e[m] * f[k, i] - self.eb(k, m))
                    for m in range(self.M)
                ]
                self.G[k, :, i] = self.G_cov @ pull

    def update_be(self):
        eps = self.eps[0] / self.eps[1]
        f, _ = self.f()
        precision, pull = np.zeros((self.L + self.M,) * 2), np.zeros(self.L + self.M)
        for k in range(self.L):
            precision[k, k] += self.gam[k][0] / self.gam[k][1]
        for m in range(self.M):
            precision[self.L + m, self.L + m] += self.om[m][0] / self.om[m][1]
        for k in range(self.L):
            for i in range(self.n):
                row = np.zeros(self.L + self.M)
                row[k] = 1
                row[self.L :] = self.G[k, :, i]
                square = np.outer(row, row)
                square[self.L :, self.L :] += self.G_cov
                precision += eps * square
                pull += eps * f[k, i] * row
        self.be_cov = np.linalg.inv(precision)
        be = self.be_cov @ pull
        self.b, self.e = be[: self.L], be[self.L :]

    def update_precisions(self):
        shape, rate = self.priors[0]
        for k in range(self.L):
            self.lam[k] = [
                (shape + 0.5, rate + 0.5 * (self.a[k, i] ** 2 + self.a_cov[k][i, i]))
                for i in range(self.n)
            ]
        shape, rate = self.priors[1]
        self.gam = [
            (shape + 0.5, rate + 0.5 * (self.b[k] ** 2 + self.be_cov[k, k])) for k in range(self.L)
        ]
        shape, rate = self.priors[2]
        self.om = [(shape + 0.5, rate + 0.5 * self.ee(m, m)) for m in range(self.M)]
        if not self.signs:
            (s, r), (t, q) = self.priors[3:]
            self.ups = (s + 0.5 * self.L * self.M * self.n, r + 0.5 * self.latent_squares())
            self.eps = (t + 0.5 * self.L * self.n, q + 0.5 * self.output_squares())

    def latent_squares(self):
        """Sum of E(g_mi - k_i'a)^2."""
        total = 0.0
        for k in range(self.L):
            for m in range(self.M):
                for i in range(self.n):
                    row = self.K[m][i]
                    total += (self.G[k, m, i] - row @ self.a[k]) ** 2
                    total += self.G_cov[m, m] + row @ self.a_cov[k] @ row
        return total

    def output_squares(self):
        """Sum of E(f_i - e'g_i - b)^2, multiplied out."""
        f, variance = self.f()
        total = 0.0
        for k in range(self.L):
            for i in range(self.n):
                total += f[k, i] ** 2 + variance[k, i]
                total += self.b[k] ** 2 + self.be_cov[k, k] - 2 * f[k, i] * self.b[k]
                for m in range(self.M):
                    g = self.G[k, m, i]
                    total += -2 * f[k, i] * self.e[m] * g + 2 * self.eb(k, m) * g
                    for j in range(self.M):
                        gg = g * self.G[k, j, i] + self.G_cov[m, j]
                        total += self.ee(m, j) * gg
        return total
