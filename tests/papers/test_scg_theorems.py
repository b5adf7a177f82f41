"""Claims of the SCG paper (Information Sciences 2016): Eqs. 10 and 11, Theorems 1 and 2.

Both theorems replace a penalty by a bound. Theorem 1: max <K, T'> - tr K over a convex set C, and
max <K, T'> over the K of C with tr K <= tau. Theorem 2: min D_ld(K, K0) + gamma tr(KS), and
min D_ld(K, K0) with tr(KS) <= tau.
"""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.methods.supervised.information import SideInformation
from pliant.methods.supervised.scg_problem import SCGLogDet
from tests.reference import conic
from tests.reference import naive_supervision as naive

TIGHT = (1e-10, 1e-9)
LABELS = [0, 0, 1, 1, 2, -1]
SIMILAR, DISSIMILAR = [(0, 1), (2, 3)], [(0, 2), (4, 5)]
TARGETS = {
    "labels": naive.target_of_labels(LABELS),
    "pairs": naive.target_of_pairs(6, SIMILAR, DISSIMILAR),
}
INFORMATION = {
    "labels": SideInformation.from_labels(LABELS),
    "pairs": SideInformation.from_pairs(6, SIMILAR, DISSIMILAR),
}
every_source = pytest.mark.parametrize("source", TARGETS)
seeds = st.integers(0, 10**6)


def normalised_target(T):
    """Return T' of Eq. 12; S = I - T'."""
    return np.eye(len(T)) - naive.laplacian(T)


def psd(seed, n=6):
    factor = np.random.default_rng(seed).standard_normal((n, n))
    return factor @ factor.T / n


def score(K, T):
    """Return <K, T'> - tr K, the objective of Eq. 15: minus the loss."""
    return np.sum(K * normalised_target(T)) - np.trace(K)


# convex sets


def ball(K, T):
    """Return the ball |K - K0| <= 1 around a PSD matrix."""
    return [cp.norm(K - psd(1), "fro") <= 1.0]


def distances(K, T):
    """Return bounds as in LDK: squared distances of dissimilar pairs >= 1, similar ones <= .2."""
    bounds = []
    for i, j in zip(*np.nonzero(np.triu(T, 1)), strict=True):
        squared = K[i, i] + K[j, j] - 2 * K[i, j]
        bounds.append(squared <= 0.2 if T[i, j] > 0 else squared >= 1.0)
    return bounds


SETS = [ball, distances]
every_set = pytest.mark.parametrize("convex_set", SETS)


def penalised(T, convex_set):
    """Return a solution of Eq. 15."""
    K = cp.Variable(T.shape, PSD=True)
    cost = cp.trace(K) - cp.trace(K @ normalised_target(T))
    conic.solve(cp.Problem(cp.Minimize(cost), convex_set(K, T)), TIGHT)
    return K.value


def bounded(T, convex_set, tau):
    """Return a solution of Eq. 16."""
    K = cp.Variable(T.shape, PSD=True)
    gain = cp.trace(K @ normalised_target(T))
    bounds = [*convex_set(K, T), cp.trace(K) <= tau]
    conic.solve(cp.Problem(cp.Maximize(gain), bounds), TIGHT)
    return K.value


# Eq. 10 and 11


@every_source
@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_equation_11_splits_the_loss_into_trace_and_target(source, seed):
    T, K = TARGETS[source], psd(seed)
    loss = np.sum(K * naive.laplacian(T))
    assert loss == pytest.approx(-score(K, T), abs=1e-12)
    assert loss == pytest.approx(naive.loss_over_edges(K, T), abs=1e-12)


# Theorem 1


@every_source
@every_set
def test_theorem_1_both_forms_have_the_same_solutions(source, convex_set):
    """Both steps of the proof hold, with tau the trace of a solution of the penalty form."""
    T = TARGETS[source]
    K = penalised(T, convex_set)
    other = bounded(T, convex_set, np.trace(K))
    gain, best = (np.sum(each * normalised_target(T)) for each in (K, other))
    assert gain == pytest.approx(best, abs=1e-6)
    assert score(other, T) == pytest.approx(score(K, T), abs=1e-6)


@every_source
def test_theorem_1_needs_the_right_bound(source):
    """The ball determines the trace: a smaller or larger bound has a different solution."""
    T = TARGETS[source]
    K = penalised(T, ball)
    for factor in (0.95, 1.05):
        other = bounded(T, ball, factor * np.trace(K))
        assert score(other, T) < score(K, T) - 1e-4
        assert np.trace(other) == pytest.approx(factor * np.trace(K), abs=1e-6)


@every_source
def test_theorem_1_is_false_for_all_solutions_at_once(source):
    """The penalty form may have solutions with different traces, and no tau fits all of them.

    On the whole cone of PSD matrices every c z z', z the null vector of S, is a solution: its loss
    is zero. The bound form's only solution is tau z z'. Therefore "if K* is a solution of one of
    the problems, it is one of the other" holds for no tau: proof step (i) sets tau = tr K* for one.
    """
    T = TARGETS[source]
    z = np.sqrt(naive.weights(T).sum(axis=1))
    line = np.outer(z, z) / (z @ z)
    for c in (0.0, 0.5, 1.0, 7.0):
        assert score(c * line, T) == pytest.approx(0.0, abs=1e-14)  # the minimum loss
        only = bounded(T, lambda K, T: [], c) if c else np.zeros_like(line)
        np.testing.assert_allclose(only, c * line, rtol=0, atol=1e-5)


# Theorem 2


def start(seed=3):
    """Return a well-conditioned K0."""
    return psd(seed) + 0.3 * np.eye(6)


def learned(source, gamma, K0):
    return SCGLogDet(K0, INFORMATION[source].graph("complete"), gamma).solve().gram


@every_source
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_theorem_2_both_forms_have_the_same_solution(source, gamma):
    S, K0 = naive.laplacian(TARGETS[source]), start()
    K = learned(source, gamma, K0)
    other = naive.by_cone(K0, S, bound=np.trace(K @ S))
    np.testing.assert_allclose(other, K, rtol=0, atol=1e-4)
    assert naive.divergence(K, K0) == pytest.approx(naive.divergence(other, K0), abs=1e-6)
    least = naive.objective(K, K0, S, gamma)
    assert naive.objective(other, K0, S, gamma) == pytest.approx(least, abs=1e-6)


@every_source
@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_theorem_2_the_bound_is_unique(source, seed):
    """tr(K S) decreases strictly as gamma grows, from tr(K0 S) towards 0."""
    S, K0 = naive.laplacian(TARGETS[source]), start(seed)
    gammas = [1e-3, 0.1, 1.0, 10.0, 1e3, 1e6]
    losses = [np.sum(learned(source, gamma, K0) * S) for gamma in gammas]
    assert np.sum(K0 * S) > losses[0]
    assert (np.diff(losses) < 0).all()
    assert 0 < losses[-1] < 1e-5


@every_source
def test_theorem_2_another_bound_has_another_solution(source):
    S, K0 = naive.laplacian(TARGETS[source]), start()
    K = learned(source, 1.0, K0)
    for factor in (0.8, 1.2):
        other = naive.by_cone(K0, S, bound=factor * np.trace(K @ S))
        assert np.sum(other * S) == pytest.approx(factor * np.trace(K @ S), rel=1e-5)
        assert naive.objective(other, K0, S, 1.0) > naive.objective(K, K0, S, 1.0) + 1e-3


@every_source
def test_theorem_2_fails_without_a_definite_first_kernel(source):
    """K0 = z z' is its own optimum for every gamma, and for every tau >= 0: tau is not unique."""
    T = TARGETS[source]
    z = np.sqrt(naive.weights(T).sum(axis=1))
    K0 = np.outer(z, z) / (z @ z)
    for gamma in (0.1, 1.0, 1e3):
        K, _ = naive.exactly(K0, T, gamma)
        np.testing.assert_allclose(K, K0, rtol=0, atol=1e-14)
        np.testing.assert_allclose(learned(source, gamma, K0), K0, rtol=0, atol=1e-13)


@every_source
def test_the_learned_matrix_is_definite_though_the_laplacian_is_not(source):
    """The paper calls S positive definite; it is singular, and K is definite because K0 is."""
    S = naive.laplacian(TARGETS[source])
    assert abs(np.linalg.eigvalsh(S)[0]) < 1e-14
    assert np.linalg.eigvalsh(learned(source, 1e3, start()))[0] > 1e-6
