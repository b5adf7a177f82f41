"""Lemmas 9 and 18 and Theorems 10, 16 and 17 of the TKL paper: its two algorithms and their rates.

L(w, P) = w'K_P w/2 - gain(w) is minimised over w and maximised over P, with trace P = n_P and
P >= floor I; the paper has floor 0. D(w) is the Gram matrix of v(w) = sum_k w_k N(., x_k), and
|v|^2 = trace D(w) = w'K_I w.

Theorem 10, corrected. Let w and v belong to P, and u to Q = P + step (S - P). The concavity of the
gain and the optimality of w give OPT_A(Q) - OPT_A(P) + step/2 <S - P, D(w)> <= -<Q(u - v), u - v>/2
- step <(S - P)v, u - v> <= step^2/2 <(S - P)v, Q^-1 (S - P)v>. With |S - P| <= n_P (1 - floor) and
Q >= floor I, the proof of Jaggi (2013) yields OPT_A(P_k) - OPT_P <=
2 R^2 (n_P (1 - floor))^2/(floor (k + 2)), R the largest |v| so far.

Theorems 16 and 17, corrected. Let L(., P) have the modulus mu of convexity for all P, and let
sigma_0 tau_0 L_P^2 <= 1 with L_P the Lipschitz constant of D(w)/2. For all w and P

    sum_{k<K} sigma_k (L(w_{k+1}, P) - L(w, P_{k+1})) + gamma_K/2 |w - w_K|^2
        <= gamma_0/2 |w - w_0|^2 + |P - P_0|^2/2:

add the three-point inequalities of both steps, weighted by sigma_k; theta_k sigma_k = sigma_{k-1},
gamma_{k+1} = gamma_k (1 + mu tau_k) and sigma_k tau_k = sigma_0 tau_0. As gamma_K >=
gamma_0 (1 + cK)^2, c = sqrt(1 + mu tau_0) - 1, and sigma_K = sigma_0 sqrt(gamma_K/gamma_0), the
duality gap of the averages with weights sigma_k falls as 1/K^2, or as 1/K if mu = 0.
"""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVR

from tests.papers.tessellated_cases import R1
from tests.reference.naive_tessellated import gram, quadratic, random_shape, tessellated_tensor
from tests.reference.tessellated_sdp import (
    best_shape,
    by_shape_matrix,
    by_weights,
    classification,
    regression,
    svm,
)

C = 0.3
MARGINS = {
    "classes": classification(np.array([1.0, -1, 1, -1, 1, -1]), C),
    "targets": regression(np.array([1.0, -0.5, 0.3, -1.2, 0.1, 0.8]), C, 0.1),
}
every_margin = pytest.mark.parametrize("margin", MARGINS.values(), ids=MARGINS)


def random_family(m=6, n_p=3, values=30):
    """Return G of a bounded N with random values at some points z."""
    A = np.random.default_rng(0).standard_normal((m, n_p, values)) / np.sqrt(values)
    return np.einsum("kir,ljr->ijkl", A, A)


def floored(P, floor):
    """Return a P of trace n_P with the same eigenvectors and P >= floor I."""
    return floor * np.eye(len(P)) + (1 - floor) * P


# Lemma 9


@every_margin
@pytest.mark.parametrize("seed", range(3))
def test_lemma_9_the_gradient_of_opt_a_is_minus_half_of_d(margin, seed):
    """Therefore OPT_P(arg OPT_A(P)) minimises the gradient over the feasible set."""
    r, G = np.random.default_rng(seed), random_family()
    P = floored(random_shape(r, 3, 1)[0], 0.1)
    D = quadratic(G, svm(gram(G, P), margin)[1])
    for _ in range(3):
        move = 1e-3 * (random_shape(r, 3)[0] - P)
        up, down = (svm(gram(G, P + sign * move), margin)[0] for sign in (1, -1))
        assert (up - down) / 2 == pytest.approx(-(D * move).sum() / 2, rel=1e-3, abs=1e-8)
    vertex = best_shape(D, 0.0)[1]
    assert all((D * (vertex - random_shape(r, 3, rank)[0])).sum() >= 0 for rank in (1, 2, 3) * 20)


def test_lemma_9_does_not_need_the_strict_concavity_of_its_proof():
    """With each point twice, OPT_A has many solutions w, and all of them have the same D."""
    once = random_family()
    G, y = np.tile(once, (1, 1, 2, 2)), MARGINS["classes"].p
    value, w = svm(gram(once, np.eye(3)), classification(y, 2.0))
    D = quadratic(once, w)
    for split in (0.5, 0.6):
        half = np.r_[split * w, (1 - split) * w]
        assert np.abs(half).max() < 2
        np.testing.assert_allclose(quadratic(G, half), D, rtol=1e-12)
    found, other = svm(gram(G, np.eye(3)), classification(np.tile(y, 2), 2.0))
    assert found == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(quadratic(G, other), D, atol=1e-4)


# Theorem 10


def frank_wolfe(G, margin, floor, steps):
    """Yield OPT_A(P_k) and |v|^2 of Algorithm 2 with the vertices of the set with a floor."""
    P = np.eye(len(G))
    for _ in range(steps):
        value, w = svm(gram(G, P), margin)
        yield value, np.trace(quadratic(G, w))
        change = floored(best_shape(quadratic(G, w), 0.0)[1], floor) - P
        low, high = 0.0, 1.0
        for _ in range(10):
            step = (low + high) / 2
            w = svm(gram(G, P + step * change), margin)[1]
            falls = (quadratic(G, w) * change).sum() > 0
            low, high = (step, high) if falls else (low, step)
        P = P + low * change


def curvature_constant(squared_radius, n_p, floor):
    """Return c, so that h(P + step (S - P)) - h(P) <= step <S - P, grad h(P)> + step^2 c/2."""
    return squared_radius * (n_p * (1 - floor)) ** 2 / floor


def rate_of_frank_wolfe(c, k):
    """Return the bound on h(P_k) less the minimum, k > 0."""
    return 2 * c / (k + 2)


def curvature(G, margin, P, S, step):
    """Return both sides of the inequality for OPT_A between P and P + step (S - P)."""
    (value, w), Q = svm(gram(G, P), margin), P + step * (S - P)
    slope = -((S - P) * quadratic(G, w)).sum() / 2
    bound = step**2 / 2 * np.trace((S - P) @ np.linalg.solve(Q, (S - P) @ quadratic(G, w)))
    return svm(gram(G, Q), margin)[0] - value - step * slope, bound


def test_the_curvature_of_opt_a_is_bounded_and_the_bound_attained():
    """It is attained if w is free and all v are combinations of the N(., x_k)."""
    r = np.random.default_rng(0)
    free = regression(r.standard_normal(7), 1e3, 0.0)
    for _ in range(20):
        step, (P, S) = r.choice([0.03, 0.5, 1]), (floored(random_shape(r, 3)[0], 0.1) for _ in "PS")
        for margin in MARGINS.values():
            found, bound = curvature(random_family(), margin, P, S, step)
            assert -1e-9 <= found <= bound + 1e-9
        found, bound = curvature(random_family(7, 3, 2), free, P, S, step)
        assert found == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize("floor", [0.1, 0.5, 0.9])
def test_the_curvature_attains_the_constant_of_theorem_10(floor):
    """If N has one component, and P changes from the largest to the smallest share of it."""
    g = np.array([1.0, -0.5, 0.3, -0.8])
    G, free = np.zeros((3, 3, 4, 4)), regression(g - g.mean(), 1e3, 0.0)
    G[0, 0] = np.outer(g, g)
    P, S = (floored(3 * np.diag(unit), floor) for unit in np.eye(3)[:2])
    squared_radius = np.trace(quadratic(G, svm(gram(G, P), free)[1]))
    c = curvature_constant(squared_radius, 3, floor)
    assert curvature(G, free, P, S, 1)[0] == pytest.approx(c / 2, rel=1e-5)


@every_margin
def test_theorem_10_corrected_the_rate_of_frank_wolfe(margin):
    """The bound is far from attained, as R, |S - P| and Q take their extremes at one P only.

    Each of its two parts is: c in the test above, and the recursion in the next one.
    """
    G, floor, steps = random_family(), 0.9, np.arange(20)
    values, squares = np.transpose(list(frank_wolfe(G, margin, floor, 20)))
    losses = values - by_weights(G, margin, floor)[0]
    bound = rate_of_frank_wolfe(curvature_constant(np.maximum.accumulate(squares), 3, floor), steps)
    assert (losses[1:] <= bound[1:] + 1e-7).all()
    assert losses[0] > bound[-1] > losses[-1]


def test_the_recursion_of_theorem_10_attains_its_rate():
    """If each step lowers h to min_s (1 - s) h + s^2 c/2, then h_k <= 2 c/(k + 2), and no less."""
    c, h, shares = 3.0, 1e6, []
    for k in range(1, 1000):
        s = min(1, h / c)
        h = (1 - s) * h + s**2 * c / 2
        shares.append(h / rate_of_frank_wolfe(c, k))
    assert max(shares) <= 1
    assert shares[-1] > 0.98


def test_theorem_10_as_printed_is_false():
    """A whole step leads to a singular P, where OPT_A has several solutions and no gradient.

    N is constant in z. From P = I the step to S = diag(2, 0) is the best. There the solutions that
    an interior-point method and libsvm return give directions along which OPT_A increases, so both
    stay at 17.
    """
    N = np.array([[1.0, -0.5], [0, 0.225], [0, 0.4], [0, 0], [0, 0], [0, 0]])
    p = np.array([2.0, 0, 4, 0, 0, 0])
    G, margin = np.einsum("ki,lj->ijkl", N, N), regression(p, 4.0, 0.0)

    def opt_a(P):
        return svm(gram(G, P), margin)[0]

    w = svm(gram(G, np.eye(2)), margin)[1]
    first = np.diag([2.0, 0.0])
    np.testing.assert_allclose(best_shape(quadratic(G, w), 0.0)[1], first, atol=1e-3)
    steps = np.r_[0, 1e-3, np.linspace(0.1, 0.9, 9), 0.999, 1]
    assert (np.diff([opt_a((1 - t) * np.eye(2) + t * first) for t in steps]) < 0).all()
    assert opt_a(first) == pytest.approx(17)
    libsvm = SVR(kernel="precomputed", C=4.0, epsilon=0.0, tol=1e-6).fit(gram(G, first), p)
    by_libsvm = np.zeros(6)
    by_libsvm[libsvm.support_] = libsvm.dual_coef_[0]
    for w in (svm(gram(G, first), margin)[1], by_libsvm):
        assert margin.gain(w) - w @ gram(G, first) @ w / 2 == pytest.approx(17, abs=1e-4)
        second = best_shape(quadratic(G, w), 0.0)[1]
        assert (np.diff([opt_a((1 - t) * first + t * second) for t in steps]) > 1e-5).all()
    assert by_weights(G, margin)[0] == pytest.approx(16.968, rel=1e-6)


# Lemma 18


def project(A, floor=0.0, printed=False):
    """Return the P >= floor I of trace n_P nearest to A, by Algorithm 5.

    As printed, the bisection starts at the smallest eigenvalue, moves to the wrong half, and ends
    when the trace is too small by any amount.
    """
    values, vectors = np.linalg.eigh(A)
    n = len(A)
    low, high = values[0] - (0 if printed else n), values[-1]
    for _ in range(100):
        middle = (low + high) / 2
        shifted = np.maximum(values - middle, floor)
        excess = shifted.sum() - n
        if printed and excess <= 1e-9:
            break
        low, high = (middle, high) if (excess >= 0) != printed else (low, middle)
    return vectors @ np.diag(shifted) @ vectors.T


@pytest.mark.parametrize("floor", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_lemma_18_holds_for_algorithm_5_corrected(seed, floor):
    """P is nearest to A if <A - P, Q - P> <= 0 for all Q; the largest is at a vertex."""
    A = 10.0 ** (seed - 2) * random_shape(np.random.default_rng(seed), 5, 4)[0]
    P = project(A, floor)
    assert np.trace(P) == pytest.approx(5, rel=1e-12)
    assert np.linalg.eigvalsh(P)[0] >= floor - 1e-12
    farthest = floored(best_shape(A - P, 0.0)[1], floor)
    assert ((A - P) * (farthest - P)).sum() <= 1e-9 * (1 + np.abs(A).max())
    assert abs(np.trace(project(A, printed=True)) - 5) > 0.1


# Theorems 16 and 17


def apd(G, margin, tau, sigma, mu, floor, steps):
    """Yield w and P of Algorithm 4 from w = 0 and P = I, with their sigma and the next gamma."""
    w, P = np.zeros(G.shape[2]), np.eye(len(G))
    before, old, gamma = quadratic(G, w) / 2, sigma, sigma / tau
    for _ in range(steps):
        sigma, x = gamma * tau, quadratic(G, w) / 2
        theta = old / sigma
        P = project(P + sigma * ((1 + theta) * x - theta * before), floor)
        w = svm(gram(G, P) + np.eye(len(w)) / tau, replace(margin, p=margin.p + w / tau))[1]
        before, old = x, sigma
        gamma, tau = gamma * (1 + mu * tau), tau / np.sqrt(1 + mu * tau)
        yield w, P, sigma, gamma


def lagrangian(G, margin, w, P):
    return w @ gram(G, P) @ w / 2 - margin.gain(w)


def gap(G, margin, w, P, floor):
    """Return OPT_A(P) - OPT_P(w)."""
    farthest = floored(best_shape(quadratic(G, w), 0.0)[1], floor)
    return svm(gram(G, P), margin)[0] + lagrangian(G, margin, w, farthest)


@every_margin
@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_theorems_16_and_17_corrected_the_rate_of_apd(margin, floor):
    """The gap of the averages is at most (gamma_0 |w - w_0|^2 + |P - P_0|^2)/(2 sum sigma)."""
    G, steps = random_family(), 120
    smallest, largest = np.linalg.eigvalsh(gram(G, np.eye(3)))[[0, -1]]
    mu, L_P, tau = floor * smallest, C * np.sqrt(6) * largest, 1.0 if floor else 0.1
    sigma = 1 / (tau * L_P**2)
    w, P = by_weights(G, margin, floor)[1], by_shape_matrix(G, margin, floor)[1]
    start = (sigma / tau * w @ w + ((P - np.eye(3)) ** 2).sum()) / 2
    farthest = (sigma / tau * 6 * C**2 + 6 * (1 - floor) ** 2) / 2
    total, weights, w_sum, P_sum, shares = 0.0, 0.0, 0.0, 0.0, []
    for k, (w_k, P_k, s, gamma) in enumerate(apd(G, margin, tau, sigma, mu, floor, steps), 1):
        total += s * (lagrangian(G, margin, w_k, P) - lagrangian(G, margin, w, P_k))
        weights, w_sum, P_sum = weights + s, w_sum + s * w_k, P_sum + s * P_k
        shares.append((total + gamma / 2 * (w - w_k) @ (w - w_k)) / start)
        # No point is as far from the start as `farthest`, so this is not attained; `shares` is.
        assert gap(G, margin, w_sum / weights, P_sum / weights, floor) <= farthest / weights
        assert gamma >= sigma / tau * (1 + (np.sqrt(1 + mu * tau) - 1) * k) ** 2 * (1 - 1e-12)
    assert 0.7 < max(shares) <= 1


def test_the_inequality_of_theorem_17_is_attained_in_w():
    """For n_P = 1 and small steps, up to the squares of their lengths."""
    p, mu = np.array([1.0, -0.5, 0.3, -0.8]), 2.0
    p -= p.mean()
    G, margin, w = mu * np.eye(4)[None, None], regression(p, 1e3, 0.0), 30 * p
    tau = sigma = 0.1
    start, total, shares = sigma / tau / 2 * w @ w, 0.0, []
    for w_k, P, s, gamma in apd(G, margin, tau, sigma, mu, 0, 60):
        total += s * (lagrangian(G, margin, w_k, P) - lagrangian(G, margin, w, P))
        shares.append((total + gamma / 2 * (w - w_k) @ (w - w_k)) / start)
    assert 0.999 < min(shares) <= max(shares) <= 1


def test_the_printed_bound_of_theorem_17_holds_far_from_the_optimum():
    """L(alpha_k, P_{k+1}) - L(alpha_{k+1}, P_k) is no duality gap: it vanishes with the steps.

    So it does for other constants in place of (19), as any short steps have this effect.
    """
    G, n_p = R1.tensor(1, "x"), 4
    L = n_p / 2 * (quadratic(G, np.ones(30)) ** 2).sum()  # equation (19)
    L_P = R1.C / n_p * L
    (w, P, *_), (w_next, P_next, *_) = apd(G, R1.margin, 1 / (3 * L), L / (2 * L_P**2), 0, 0, 2)
    found = lagrangian(G, R1.margin, w, P_next) - lagrangian(G, R1.margin, w_next, P)
    assert abs(found) < 1e-5
    assert gap(G, R1.margin, w_next, P_next, 0) > 2.5 * R1.optimum(1, "x")


@pytest.mark.parametrize(("m", "value"), [(10, 3.1203), (20, 2.7667), (40, 2.6124)])
def test_the_constants_of_theorem_17_do_not_satisfy_its_conditions(m, value):
    """The gradient in alpha changes by K_P (alpha - alpha'), so its constant is at least 2 m.

    K_P is 2 everywhere for P = n_P v v', if v adds the constants of both halves of N; so mu can
    only be 0. Equation (19) adds squares of D_ij(e), in which alternating labels cancel.
    """
    X, e = np.linspace(0, 1, m)[:, None], (-1.0) ** np.arange(m)
    G, v = tessellated_tensor(X, X, -0.1, 1.1, 1, "x", normalized=True), np.array([1, 0, 1, 0])
    constant = gram(G, 4 * np.outer(v, v) / 2)
    np.testing.assert_allclose(constant, 2, rtol=1e-13)
    printed = 4 / 2 * (quadratic(G, e) ** 2).sum()
    assert printed == pytest.approx(value, rel=1e-4)
    assert np.linalg.eigvalsh(constant)[-1] == pytest.approx(2 * m, rel=1e-12)
