"""Value, gradient and certificate of the dual problems, checked against their definitions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import approx_fprime

from pliant.kernels import Gaussian
from pliant.methods.svm import smo
from pliant.methods.svm.dual import (
    best_intercept,
    best_multiple,
    better_start,
    project_box_hyperplane,
    svc_dual,
    svr_dual,
    without_intercept,
)
from pliant.methods.svm.rows import CachedRows, DenseRows
from tests.reference.naive_box import box_by_cone, box_classification, box_regression

N = 12
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
GRAM = Gaussian(1.5)(X)
SIGNS = np.where(X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(N) > 0, 1.0, -1.0)
TARGET = np.sin(3 * X[:, 0]) + X[:, 1]
PRICES = np.random.default_rng(2).uniform(0.5, 2, size=N)

PROBLEMS = {
    "svc": svc_dual(DenseRows(GRAM), SIGNS, 3.0),
    "svc, quartic": svc_dual(DenseRows(GRAM), SIGNS, 3.0).with_quartic(0.7),
    "svc, a price each": svc_dual(DenseRows(GRAM), SIGNS, PRICES).with_quartic(0.1),
    "svr": svr_dual(DenseRows(GRAM), TARGET, 3.0, 0.2),
    "svr, quartic": svr_dual(DenseRows(GRAM), TARGET, PRICES, 0.2).with_quartic(0.7),
    "svr, no tube": svr_dual(DenseRows(GRAM), TARGET, 2.0, 0.0).with_quartic(0.1),
    "svr, a tube each": replace(
        svr_dual(DenseRows(GRAM), TARGET, 2.0, 0.0).with_quartic(0.1),
        epsilon=np.random.default_rng(3).uniform(0, 0.4, size=N),
    ),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def feasible(problem, seed):
    """Return a feasible point, perhaps with many coordinates at their bounds."""
    r = np.random.default_rng(seed)
    wild = r.choice([0.3, 3.0, 30.0]) * r.standard_normal(N)
    return project_box_hyperplane(wild, problem.lower, problem.upper)


def value_by_loops(problem, beta):
    """Return h(beta), summed term by term."""
    K, c = problem.rows.gram, problem.quartic
    epsilon = np.broadcast_to(problem.epsilon, N)
    total = 0.0
    for i in range(N):
        total += problem.linear[i] * beta[i] - epsilon[i] * abs(beta[i])
        for j in range(N):
            total -= 0.5 * beta[i] * K[i, j] * beta[j]
            total -= 0.25 * c * beta[i] ** 2 * K[i, j] ** 2 * beta[j] ** 2
    return total


def loss_by_loops(residual, lower, upper, epsilon, b):
    """Return sum_i loss_i(residual_i - b)."""
    epsilons = np.broadcast_to(epsilon, residual.shape)
    return math.fsum(
        high * max(r - b - e, 0.0) - low * max(-(r - b) - e, 0.0)
        for r, low, high, e in zip(residual, lower, upper, epsilons, strict=True)
    )


@every_problem
@pytest.mark.parametrize("seed", range(4))
def test_the_value_is_that_of_the_formula(problem, seed):
    beta = feasible(problem, seed)
    assert problem.value(beta) == pytest.approx(value_by_loops(problem, beta), rel=1e-12)
    assert problem.value(beta, problem.fields(beta)) == problem.value(beta)
    assert problem.value(np.zeros(N)) == 0.0


@every_problem
@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_agrees_with_finite_differences(problem, seed):
    beta = feasible(problem, seed)

    def smooth_part(b):
        return problem.value(b) + (problem.epsilon * np.abs(b)).sum()

    certificate = problem.certificate(beta)
    gradient = problem.linear - (certificate.decision - certificate.intercept)
    expected = approx_fprime(beta, smooth_part, 1e-7)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


@every_problem
@given(one=st.integers(0, 10**6), other=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_certificate_bounds_every_feasible_value(problem, one, other):
    beta = feasible(problem, one)
    certificate = problem.certificate(beta)
    assert certificate.value == problem.value(beta)
    assert certificate.gap >= -1e-12 * (1 + abs(certificate.value))
    bound = certificate.value + certificate.gap
    assert problem.value(feasible(problem, other)) <= bound + 1e-12 * (1 + abs(bound))


@every_problem
def test_the_gap_is_attained_where_h_is_linear(problem):
    """For small C."""
    small = replace(problem, lower=1e-6 * problem.lower, upper=1e-6 * problem.upper)
    best = smo.solve(small, tol=1e-13)
    assert small.certificate(np.zeros(N)).gap == pytest.approx(best.value, rel=1e-4)


@every_problem
def test_the_gap_closes_at_the_optimum_and_nowhere_far_from_it(problem):
    best = smo.solve(problem, tol=1e-10)
    certificate = problem.certificate(best.x)
    assert 0 <= certificate.gap + 1e-12 <= 1e-9 * (1 + certificate.value)
    for seed in range(5):
        beta = feasible(problem, seed)
        certificate = problem.certificate(beta)
        assert certificate.value + certificate.gap >= best.value - 1e-9
        assert certificate.gap >= best.value - problem.value(beta) - 1e-9


@every_problem
@pytest.mark.parametrize("growth", [0.5, 1.0, 1.2, 3.0])
def test_a_better_start_is_the_best_of_the_feasible_ones(problem, growth):
    grown = replace(problem, lower=growth * problem.lower, upper=growth * problem.upper)
    for seed in range(4):
        beta = feasible(problem, seed)
        starts = [growth * beta, np.zeros_like(beta)]
        if ((grown.lower <= beta) & (beta <= grown.upper)).all():
            starts.append(beta)
        start = better_start(grown, beta, growth)
        assert any(np.array_equal(start, candidate) for candidate in starts)
        best = max(grown.value(candidate) for candidate in starts)
        assert grown.value(start) == pytest.approx(best, rel=1e-12, abs=1e-12)


def in_the_box(problem, seed):
    """Return a point of the box with any sum, perhaps with many coordinates at their bounds."""
    r = np.random.default_rng(seed)
    wild = r.choice([0.3, 3.0, 30.0]) * r.standard_normal(N)
    return np.clip(wild, problem.lower, problem.upper)


def on_both_kinds_of_rows(problem):
    """Return the problem without its constraint, with dense rows and with rows on demand."""
    on_demand = CachedRows(Gaussian(1.5), X, 1e-3)
    return [without_intercept(problem), without_intercept(replace(problem, rows=on_demand))]


@every_problem
@pytest.mark.parametrize("seed", range(3))
def test_without_the_constraint_one_more_coordinate_takes_up_the_sum_at_no_price(problem, seed):
    beta = in_the_box(problem, seed)
    u, v = problem.fields(beta)
    f = u + problem.quartic * beta * v
    loss = loss_by_loops(problem.linear - f, problem.lower, problem.upper, problem.epsilon, 0.0)
    gap = beta @ f + loss - problem.gain(beta)
    for box in on_both_kinds_of_rows(problem):
        longer = np.append(beta, -beta.sum())
        assert (box.lower <= longer).all()
        assert (longer <= box.upper).all()
        assert box.value(longer) == pytest.approx(problem.value(beta), rel=1e-13, abs=1e-13)
        certificate = box.certificate(longer)
        assert certificate.intercept == 0.0
        assert certificate.gap == pytest.approx(gap, rel=1e-12, abs=1e-11)
        np.testing.assert_allclose(certificate.decision[:-1], f, atol=1e-12)
        assert certificate.decision[-1] == 0.0


@pytest.mark.parametrize("eta", [0.2, 5.0, np.inf])
@pytest.mark.parametrize("C", [0.5, 20.0])
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_without_the_constraint_the_optimum_is_that_of_the_box(kind, C, eta):
    if kind == "svc":
        problem, naive = (
            svc_dual(DenseRows(GRAM), SIGNS, C),
            box_classification(GRAM, SIGNS, C, eta),
        )
    else:
        problem = svr_dual(DenseRows(GRAM), TARGET, C, 0.1)
        naive = box_regression(GRAM, TARGET, C, 0.1, eta)
    optimum, beta = box_by_cone(naive)
    for box in on_both_kinds_of_rows(problem.with_quartic(1 / (4 * eta))):
        result = smo.solve(box, tol=1e-10)
        assert result.value == pytest.approx(optimum, rel=1e-6)
        assert result.certificate.intercept == 0.0
        np.testing.assert_allclose(result.certificate.decision[:-1], naive.fields(beta), atol=1e-3)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_without_the_constraint_one_class_may_be_learned_from(sign):
    box = without_intercept(svc_dual(DenseRows(GRAM), np.full(N, sign), 1.5))
    result = smo.solve(box, tol=1e-9)
    assert result.value == pytest.approx(
        box_by_cone(box_classification(GRAM, np.full(N, sign), 1.5, np.inf))[0]
    )
    assert (sign * result.x[:-1] >= 0).all()
    assert (sign * result.certificate.decision[:-1]).min() > 0


@every_problem
@pytest.mark.parametrize("seed", range(6))
def test_the_best_multiple_is_the_best_on_its_ray(problem, seed):
    beta = in_the_box(problem, seed)
    best, (u, v) = best_multiple(problem, beta)
    ray = np.linspace(0.0, 1.0, 2001)
    values = np.array([problem.value(t * beta) for t in ray])
    assert problem.value(best) >= values.max() - 1e-12 * (1 + np.abs(values).max())
    assert problem.value(best) == pytest.approx(values.max(), abs=1e-5 * np.ptp(values))
    t = (best @ beta) / (beta @ beta)
    assert 0.0 <= t <= 1.0
    np.testing.assert_allclose(best, t * beta, atol=1e-14 * np.abs(beta).max())
    np.testing.assert_allclose(u, problem.fields(best)[0], atol=1e-12 * (1 + np.abs(u).max()))
    np.testing.assert_allclose(v, problem.fields(best)[1], atol=1e-12 * (1 + np.abs(v).max()))


@st.composite
def residuals(draw):
    """Draw residuals and bounds with ties and zeros, and a tube with coinciding breakpoints."""
    n = draw(st.integers(1, 9))
    residual = draw(arrays(float, n, elements=st.integers(-6, 6).map(lambda r: r / 2)))
    prices = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0])
    upper = draw(arrays(float, n, elements=prices))
    lower = -draw(arrays(float, n, elements=prices))
    return residual, lower, upper, np.full(n, draw(st.sampled_from([0.0, 0.5, 0.25])))


@given(case=residuals())
@settings(max_examples=300, deadline=None)
def test_the_intercept_is_the_middle_of_the_best_break_points(case):
    residual, lower, upper, epsilon = case
    above, below = (residual - epsilon)[upper > 0], (residual + epsilon)[lower < 0]
    breaks = np.unique(np.concatenate([above, below]))
    if breaks.size == 0:
        assert best_intercept(*case) == 0.0
        return
    losses = np.array([loss_by_loops(residual, lower, upper, epsilon, b) for b in breaks])
    best = breaks[losses <= losses.min() + 1e-12]
    assert best_intercept(*case) == pytest.approx(0.5 * (best[0] + best[-1]), abs=1e-12)
