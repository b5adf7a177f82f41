"""The naive references agree with the definition and each other.

The library agrees with them and with semidefinite programs (`tests/methods/dank`).
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pliant.methods.svm.dual import project_box_hyperplane
from tests.papers.hadamard_cases import (
    DANK_OPTIMA,
    KNPL_OPTIMA,
    Case,
    cases,
    classification_data,
    gaussian_gram,
    regression_data,
)
from tests.reference import dank_algorithm1
from tests.reference.naive_hadamard import (
    centred,
    classification,
    copied,
    proximal_point,
    regression,
    soft,
    solve,
)


def problem_of(case, rule):
    tau = case.tau if rule == "dank" else 0.0
    return classification(case.K, case.y, case.C, case.eta, tau, rule)


def random_adaptation(r, n, rule):
    """Return a feasible F of the rule."""
    B = r.standard_normal((n, n)) / n
    return 1 + centred(B @ B.T) if rule == "knpl" else np.ones((n, n)) * r.uniform() + B @ B.T


@pytest.mark.parametrize(
    ("rule", "s", "C", "eta", "tau", "optimum"),
    [("dank", *row) for row in DANK_OPTIMA] + [("knpl", *r[:3], 0.0, r[3]) for r in KNPL_OPTIMA],
)
def test_the_reference_optima(rule, s, C, eta, tau, optimum):
    X, y = classification_data()
    problem = classification(gaussian_gram(X, s), y, C, eta, tau, rule)
    _, value, gap = solve(problem)
    assert value == pytest.approx(optimum, rel=1e-8)
    assert 0 <= gap <= 1e-8 * (1 + value)
    assert problem.value(np.zeros(24)) == pytest.approx(eta * (tau * 24 - tau**2 / 4))


def test_regression_reaches_the_reference_optimum():
    X, y = regression_data()
    _, value, _ = solve(regression(gaussian_gram(X, 0.3), y, 4.0, 0.05, eta=5.0, tau=0.05))
    assert value == pytest.approx(9.29309818, rel=1e-8)


@pytest.mark.parametrize("rule", ["dank", "knpl"])
@settings(max_examples=30, deadline=None)
@given(case=cases())
def test_no_feasible_f_gives_less_than_the_closed_form(rule, case):
    problem, r = problem_of(case, rule), np.random.default_rng(0)
    beta = case.y * case.alpha
    F = problem.adaptation(beta)
    lowest = problem.saddle(beta, F)
    rounding = 1e-9 * (1 + abs(problem.penalty(F)) + abs(lowest))
    for _ in range(5):
        other = random_adaptation(r, len(beta), rule)
        nearby = F + 1e-3 * (other - F)
        assert problem.saddle(beta, other) >= lowest - rounding
        assert problem.saddle(beta, nearby) >= lowest - rounding


def small_C():
    """Return a case that attains the gap: for small C the objective is linear."""
    y, C = np.array([1.0, 1.0, -1.0, -1.0]), 1e-6
    return Case(gaussian_gram(np.eye(4), 0.5), y, C, 1.0, 0.0, np.zeros(4), np.full(4, C))


@example(case=small_C(), rule="dank")
@example(case=small_C(), rule="knpl")
@settings(max_examples=40, deadline=None)
@given(case=cases(), rule=st.sampled_from(["dank", "knpl"]))
def test_the_gap_bounds_every_other_value(case, rule):
    problem = problem_of(case, rule)
    alpha, other = case.y * case.alpha, case.y * case.other
    rounding = 1e-9 * (1 + abs(problem.value(alpha)) + abs(problem.value(other)))
    assert problem.gap(alpha) >= problem.value(other) - problem.value(alpha) - rounding


@pytest.mark.parametrize("rule", ["dank", "knpl"])
def test_the_gap_is_the_loss_where_the_objective_is_linear(rule):
    """For small C all optimal coefficients of equal classes are at C."""
    y, C = np.array([1.0, 1.0, -1.0, -1.0]), 1e-6
    problem = classification(gaussian_gram(np.eye(4), 0.5), y, C, eta=1.0, rule=rule)
    loss = problem.value(C * y) - problem.value(np.zeros(4))
    assert loss == pytest.approx(4 * C, rel=1e-4)
    assert problem.gap(np.zeros(4)) == pytest.approx(loss, rel=1e-4)


@settings(max_examples=40, deadline=None)
@given(case=cases())
def test_the_eigenvalue_and_the_singular_value_form_of_f_agree(case):
    arguments = case.K, case.y, case.alpha, case.eta, case.tau
    F = problem_of(case, "dank").adaptation(case.y * case.alpha)
    other = dank_algorithm1.adaptation(*arguments)
    np.testing.assert_allclose(F, other, atol=1e-10 * (1 + np.abs(F).max() + case.tau))
    value = dank_algorithm1.objective(case.K, case.y, case.alpha, other, case.eta, case.tau)
    expected = problem_of(case, "dank").value(case.y * case.alpha)
    scale = 1 + abs(expected) + case.eta * (other**2).sum() + case.eta * len(F) * case.tau
    assert value == pytest.approx(expected, abs=1e-9 * scale)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), spread=st.floats(0.01, 100))
def test_bisection_and_sorting_project_onto_the_same_point(seed, n, spread):
    r = np.random.default_rng(seed)
    v, lower, upper = spread * r.standard_normal(n), -r.uniform(0, 2, n), r.uniform(0, 2, n)
    exact = project_box_hyperplane(v, lower, upper)
    np.testing.assert_allclose(proximal_point(v, lower, upper), exact, atol=1e-12 * (1 + spread))


def test_the_proximal_point_is_the_lowest_of_random_feasible_points():
    r = np.random.default_rng(0)
    v, bound = r.standard_normal(8), np.full(8, 0.7)

    def energy(x):
        return ((x - v) ** 2).sum() / 2 + 0.3 * np.abs(x).sum()

    best = proximal_point(v, -bound, bound, 0.3)
    assert best.sum() == pytest.approx(0, abs=1e-12)
    for scale in np.repeat([1.0, 0.1, 0.001], 100):
        other = project_box_hyperplane(best + scale * r.standard_normal(8), -bound, bound)
        assert energy(other) >= energy(best) - 1e-12
    np.testing.assert_allclose(soft(np.array([-1.0, 0.1, 1.0]), 0.3), [-0.7, 0.0, 0.7])


def test_copied_columns_are_those_of_the_neighbours():
    F = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(copied(F, [2, 0], [1, 1, 2]), [[7, 7, 8], [1, 1, 2]])
