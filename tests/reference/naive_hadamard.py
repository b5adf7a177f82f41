"""Slow, dense references for the Hadamard family from its definition, without the library.

    max_beta min_F  p'beta - epsilon |beta|_1 - 1/2 beta'(F o K)beta + penalty(F)
    with lower <= beta <= upper and 1'beta = 0

Rule "dank": penalty eta (|F - 11'|_F^2 + tau tr F) over the PSD matrices. Rule "knpl": penalty
eta (|F|_F^2 - n^2) over the PSD matrices with F1 = n1. A classifier has p = y, epsilon = 0 and
beta_i y_i in [0, C]; a regressor has p = y and beta_i in [-C, C].
"""

from dataclasses import dataclass

import numpy as np

from tests.reference.naive_kernels import reciprocal_matrix_of_a_batch


def soft(v, threshold):
    """Soft-threshold each entry."""
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)


def proximal_point(v, lower, upper, threshold=0.0):
    """Return the minimiser of 1/2 |x - v|^2 + threshold |x|_1 over the box with 1'x = 0."""

    def shifted(t):
        return np.clip(soft(v - t, threshold), lower, upper)

    # The sum of the entries falls with t and is linear between the t at which an entry reaches or
    # leaves a bound or 0; it is zero between two neighbours of these.
    ends = np.concatenate([v - upper, v - lower, v])
    kinks = np.sort(np.concatenate([ends - threshold, ends + threshold]))
    sums = shifted(kinks[:, None]).sum(axis=1)
    return shifted(np.interp(0.0, -sums, kinks))


def project_alpha(v, y, C):
    """Return the nearest alpha to v with 0 <= alpha <= C and y'alpha = 0."""
    return y * proximal_point(y * v, np.minimum(0, C * y), np.maximum(0, C * y))


def weighted_gram(K, beta):
    """Return A = D K D, with D the diagonal matrix of beta."""
    return np.diag(beta) @ K @ np.diag(beta)


def positive_part(M, shift=0.0):
    """Return (M - shift I)_+: subtract the shift from the eigenvalues, and clip them at 0."""
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    return vectors @ np.diag(np.maximum(values - shift, 0)) @ vectors.T


def centred(A):
    """Return P A P, with P = I - 11'/n."""
    P = np.eye(len(A)) - 1 / len(A)
    return P @ A @ P


@dataclass
class NaiveHadamard:
    """The problem for a Gram matrix K of shape (n, n) and labels or targets p of shape (n,)."""

    K: np.ndarray
    p: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    C: float
    eta: float
    tau: float = 0.0
    epsilon: float = 0.0
    rule: str = "dank"
    regression: bool = False

    def adaptation(self, beta):
        """Return F(beta), the inner minimiser."""
        update = weighted_gram(self.K, beta) / (4 * self.eta)
        if self.rule == "knpl":
            return 1 + centred(update)
        return 1 + update if self.tau == 0 else positive_part(1 + update, self.tau / 2)

    def penalty(self, F):
        if self.rule == "knpl":
            return self.eta * ((F**2).sum() - F.size)
        return self.eta * (((F - 1) ** 2).sum() + self.tau * np.trace(F))

    def saddle(self, beta, F):
        """Return the objective at any beta and F."""
        gain = self.p @ beta - self.epsilon * np.abs(beta).sum()
        return gain - beta @ (F * self.K) @ beta / 2 + self.penalty(F)

    def value(self, beta):
        return self.saddle(beta, self.adaptation(beta))

    def fields(self, beta):
        """Return f = (F o K)beta, the decision values without the intercept."""
        return (self.adaptation(beta) * self.K) @ beta

    def slack(self, f):
        if self.regression:
            return np.maximum(0, np.abs(self.p - f) - self.epsilon)
        return np.maximum(0, 1 - self.p * f)

    def intercept(self, f):
        """Return the b with the smallest total slack, among the break points of the residuals."""
        breaks = np.concatenate([self.p - f + self.epsilon, self.p - f - self.epsilon])
        return min(breaks, key=lambda b: self.slack(f + b).sum())

    def gap(self, beta):
        """Return a bound on the distance of value(beta) from the optimum."""
        f = self.fields(beta)
        gain = self.p @ beta - self.epsilon * np.abs(beta).sum()
        return beta @ f + self.C * self.slack(f + self.intercept(f)).sum() - gain

    def proximal(self, v, step):
        return proximal_point(v, self.lower, self.upper, step * self.epsilon)


def classification(K, y, C, eta, tau=0.0, rule="dank"):
    """Return the problem of a classifier, with y in {-1, 1}."""
    y = np.asarray(y, dtype=float)
    return NaiveHadamard(K, y, np.minimum(0, C * y), np.maximum(0, C * y), C, eta, tau, rule=rule)


def regression(K, y, C, epsilon, eta, tau=0.0, rule="dank"):
    """Return the problem of a regressor."""
    bound = np.full(len(y), float(C))
    return NaiveHadamard(K, y, -bound, bound, C, eta, tau, epsilon, rule, regression=True)


def solve(problem, tol=1e-8, max_iter=100_000):
    """Return beta, its value and its gap <= tol (1 + |value - value(0)|), by a proximal gradient
    method with Nesterov's momentum, backtracking, and restarts when the value decreases.

    Raises
    ------
    RuntimeError
        If `max_iter` steps do not suffice.
    """
    beta = ahead = np.zeros(len(problem.p))
    constant = value = problem.value(beta)
    momentum, step = 1.0, 1.0
    for _ in range(max_iter):
        if problem.gap(beta) <= tol * (1 + abs(value - constant)):
            return beta, value, problem.gap(beta)
        new, step = proximal_step(problem, ahead, 1.2 * step)
        new_value = problem.value(new)
        if new_value < value and ahead is not beta:
            ahead, momentum = beta, 1.0
            continue
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / grown * (new - beta)
        beta, value, momentum = new, new_value, grown
    raise RuntimeError(f"expected a gap below {tol:g}, got {problem.gap(beta):g}")


def proximal_step(problem, start, step):
    """Take one step from `start`, halved until the slope changes by at most |move|^2/step.

    The rule uses the slopes at both ends, since near the optimum the values agree to the last bit.
    """
    slope = problem.p - problem.fields(start)
    while True:
        new = problem.proximal(start + step * slope, step)
        move = new - start
        if (problem.fields(new) - problem.fields(start)) @ move <= move @ move / step:
            return new, step
        step /= 2


def smooth_dank(K, K_left, K_right, b_left, b_right, beta, eta, tau):
    """Return F(x, x') = S(x, X) U diag(s/l^2) U' S(X, x'), S(X, X) = U diag(l) U', s = l - tau/2.

    Only the l > tau/2 count; S(x, x') = 1 + b(x) k(x, x') b(x')/(4 eta). The rows of K_left
    (K_right) are k(x, X) for the points x (x'), and b_left (b_right) the values of b there.
    """
    values, U = np.linalg.eigh(1 + weighted_gram(K, beta) / (4 * eta))
    weights = np.array([(v - tau / 2) / v**2 if v > tau / 2 else 0 for v in values])
    S_left = 1 + np.diag(b_left) @ K_left @ np.diag(beta) / (4 * eta)
    S_right = 1 + np.diag(b_right) @ K_right @ np.diag(beta) / (4 * eta)
    return S_left @ U @ np.diag(weights) @ U.T @ S_right.T


def smooth_knpl(K, K_left, K_right, K_between, b_left, b_right, beta, eta):
    """Return G(x, x') = 1 + (a(x, x') - mean_i a(x_i, x') - mean_j a(x, x_j) + mean_ij a(x_i, x_j))
    / (4 eta), with a(x, x') = b(x) k(x, x') b(x'); K_between holds the k(x, x').
    """
    between = np.diag(b_left) @ K_between @ np.diag(b_right)
    left = (np.diag(b_left) @ K_left @ np.diag(beta)).mean(axis=1)
    right = (np.diag(b_right) @ K_right @ np.diag(beta)).mean(axis=1)
    centre = weighted_gram(K, beta).mean()
    return 1 + (between - right[None, :] - left[:, None] + centre) / (4 * eta)


def copied(F, left, right):
    """Return F(x, x') = F[i, j], where training points i and j replace x and x'."""
    return np.array([[F[i, j] for j in right] for i in left])


def batch_decisions(F, K_new, X_train, X_new, beta, intercept):
    """Section 2.3 of the DANK paper: column j of F' is the column j* = argmax_i M_ij of F, with M
    of equation (11). F' o K' classifies new points; K_new is K', of shape (n, m).
    """
    M = reciprocal_matrix_of_a_batch(X_new, X_train)
    F_new = np.column_stack([F[:, M[:, j].argmax()] for j in range(len(X_new))])
    return (F_new * K_new).T @ beta + intercept
