"""Claims of the DANK paper (JMLR 2020) about its problem and algorithm."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.papers.hadamard_cases import (
    DANK_OPTIMA,
    cases,
    classification_data,
    gaussian_gram,
)
from tests.reference.dank_algorithm1 import (
    adaptation,
    gamma_matrix,
    gradient,
    lipschitz_of_equation_17,
    lipschitz_of_theorem_4,
    nesterov,
    printed_projection,
    projected_gradient,
)
from tests.reference.naive_hadamard import classification, project_alpha, solve

ROUNDING = 1e-10


def largest_eigenvalue(M):
    return np.linalg.eigvalsh((M + M.T) / 2)[-1]


def bound_of_lemma_1(case):
    n = len(case.y)
    return n - case.tau / 2 + n * case.C**2 * largest_eigenvalue(case.K) / (4 * case.eta)


def adaptations(case):
    return [adaptation(case.K, case.y, a, case.eta, case.tau) for a in (case.alpha, case.other)]


def gradient_change(case):
    """Return |grad h(alpha_1) - grad h(alpha_2)| and |alpha_1 - alpha_2|."""
    first, second = (
        gradient(case.K, case.y, a, F)
        for a, F in zip((case.alpha, case.other), adaptations(case), strict=True)
    )
    return np.linalg.norm(first - second), np.linalg.norm(case.alpha - case.other)


def rounding(case):
    """Return a tolerance for the cancellation in the difference of two gradients."""
    return ROUNDING * (1 + len(case.y) * case.C * np.abs(case.K).max() * bound_of_lemma_1(case))


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_lemma_1_bounds_the_eigenvalues_of_f(case):
    for F in adaptations(case):
        assert largest_eigenvalue(F) <= bound_of_lemma_1(case) * (1 + ROUNDING) + ROUNDING


def test_lemma_1_needs_a_tau_that_leaves_something_of_f():
    """For tau > 2n the bound can be negative: the "nonempty" set is empty, and F is 0."""
    X, y = classification_data()
    K, C, eta, tau = gaussian_gram(X, 0.5), 1.0, 1e6, 50.0
    assert 24 - tau / 2 + 24 * C**2 * largest_eigenvalue(K) / (4 * eta) < 0
    np.testing.assert_allclose(adaptation(K, y, project_alpha(y + 1, y, C), eta, tau), 0)


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_lemma_3_bounds_the_change_of_f(case):
    F, other = adaptations(case)
    lengths = np.linalg.norm(case.alpha) + np.linalg.norm(case.other)
    distance = np.linalg.norm(case.alpha - case.other)
    bound = np.linalg.norm(case.K) * lengths / (4 * case.eta) * distance
    assert np.linalg.norm(F - other) <= bound + ROUNDING * (1 + np.linalg.norm(F))


def test_the_equality_in_the_proof_of_lemma_3_is_an_inequality():
    """diag(a + b) K diag(a - b) is not D_a K D_a - D_b K D_b, but its symmetric half is."""
    X, y = classification_data(n=6)
    K, r = gaussian_gram(X, 0.5), np.random.default_rng(0)
    a, b = (project_alpha(r.uniform(0, 1, 6), y, 1.0) for _ in range(2))
    difference = gamma_matrix(K, y, a, 0.25) - gamma_matrix(K, y, b, 0.25)
    product = np.diag((a + b) * y) @ K @ np.diag((a - b) * y)
    np.testing.assert_allclose(difference, (product + product.T) / 2, atol=1e-14)
    assert np.linalg.norm(difference) < 0.99 * np.linalg.norm(product)


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_theorem_4_bounds_the_change_of_the_gradient(case):
    change, distance = gradient_change(case)
    L = lipschitz_of_theorem_4(case.K, case.C, case.eta)
    assert change <= L * distance + rounding(case)


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_a_smaller_constant_than_that_of_theorem_4_holds(case):
    """L = lambda_max(K) (1 + 3 kappa C^2/(4 eta)): no factor n, so backtracking pays."""
    change, distance = gradient_change(case)
    kappa = np.abs(case.K).max()
    L = largest_eigenvalue(case.K) * (1 + 3 * kappa * case.C**2 / (4 * case.eta))
    assert lipschitz_of_theorem_4(case.K, case.C, case.eta) >= L * (1 - ROUNDING)
    assert change <= L * distance + rounding(case)


@settings(max_examples=60, deadline=None)
@given(case=cases(gaussian=True))
def test_the_constant_of_equation_17_holds_for_kernels_with_a_unit_diagonal(case):
    change, distance = gradient_change(case)
    L = lipschitz_of_equation_17(case.K, case.C, case.eta, case.tau)
    assert change <= L * distance + rounding(case)


def test_the_constant_of_equation_17_fails_for_other_kernels():
    X, y = classification_data()
    K, C, eta = 100 * gaussian_gram(X, 0.5), 1.0, 1e9
    L = lipschitz_of_equation_17(K, C, eta, 0.01)
    a, b = np.zeros(24), project_alpha(np.ones(24), y, C)
    slopes = [gradient(K, y, v, adaptation(K, y, v, eta, 0.01)) for v in (a, b)]
    assert np.linalg.norm(slopes[0] - slopes[1]) > 2 * L * np.linalg.norm(a - b)


@pytest.mark.parametrize(("s", "C", "eta", "tau", "optimum"), DANK_OPTIMA)
def test_algorithm_1_reaches_the_optimum_with_the_sign_corrected(s, C, eta, tau, optimum):
    X, y = classification_data()
    run = nesterov(gaussian_gram(X, s), y, C, eta, tau)
    assert 0 <= optimum - run.values[-1] + 1e-7 <= 1e-4
    assert len(run.values) == len(run.seconds) + 1 == len(run.moves) + 1
    assert (np.diff(run.seconds) > 0).all()


def test_the_monotone_variant_of_line_6_never_decreases_and_reaches_the_optimum():
    X, y = classification_data()
    s, C, eta, tau, optimum = DANK_OPTIMA[1]
    run = nesterov(gaussian_gram(X, s), y, C, eta, tau, eps=0.0, monotone=True)
    assert (np.diff(run.thetas) >= 0).all()
    assert (np.diff(run.values) < 0).any()  # h(alpha(t)) itself decreases at times
    assert run.thetas[-1] == pytest.approx(optimum, abs=1e-4)


@pytest.mark.parametrize(("s", "C", "eta", "tau", "optimum"), DANK_OPTIMA)
def test_algorithm_1_fails_with_the_sign_as_printed(s, C, eta, tau, optimum):
    X, y = classification_data()
    run = nesterov(gaussian_gram(X, s), y, C, eta, tau, max_iter=200, sign=-1.0)
    assert max(run.values) < optimum - 2


def test_the_printed_stopping_rule_can_stop_at_the_start():
    """The first move is at most |grad h(0)|/L = sqrt(n)/L, for any distance of the optimum."""
    X, y = classification_data()
    K, C, eta, tau = gaussian_gram(X, 0.5), 32.0, 1.0, 0.01
    stopped = nesterov(K, y, C, eta, tau)
    assert len(stopped.seconds) == 1
    _, optimum, _ = solve(classification(K, y, C, eta, tau), tol=1e-3)
    assert optimum - stopped.values[-1] > 1


def test_the_plain_gradient_method_of_figure_4_climbs_slower_than_the_accelerated_one():
    X, y = classification_data()
    K, (_, C, eta, tau, optimum) = gaussian_gram(X, 0.5), DANK_OPTIMA[1]
    plain = projected_gradient(K, y, C, eta, tau, max_iter=600)
    assert (np.diff(plain.values) > 0).all()
    fast = nesterov(K, y, C, eta, tau, max_iter=600)
    assert optimum - fast.values[-1] < (optimum - plain.values[-1]) / 10


def test_clipping_and_subtracting_once_can_leave_the_box():
    y = np.array([1.0, 1.0, -1.0])
    once = printed_projection(np.array([0.0, 1.0, 0.0]), y, C=1.0)
    np.testing.assert_allclose(once, [-1 / 3, 2 / 3, 1 / 3])
    assert once.min() < 0


def test_clipping_and_subtracting_in_turn_ends_at_another_point_than_the_nearest():
    v, y = np.array([3.0, -1.0]), np.array([1.0, -1.0])
    np.testing.assert_allclose(printed_projection(v, y, C=1.0, rounds=100), [0.5, 0.5])
    np.testing.assert_allclose(project_alpha(v, y, 1.0), [1.0, 1.0])
