"""Distance bounds: K, Q, objective, dual and gap against their definitions, and in 60 digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.methods.side_information.ldk_problem import (
    DistanceBounds,
    apart,
    pair_distances,
    percentile_bounds,
)
from tests.reference import naive_logdet as naive

EPS = np.finfo(float).eps


def gaussian(points, gamma):
    return np.exp(-gamma * ((points[:, None] - points) ** 2).sum(-1))


def problem_of(gram, rng, slack=1.0, spread=(20, 60)):
    """Random signs for all pairs that the Gram matrix tells apart."""
    pairs = np.column_stack(np.triu_indices(len(gram), 1))
    pairs = pairs[apart(gram, pairs)]
    signs = rng.choice([-1.0, 1.0], len(pairs))
    low, high = percentile_bounds(pair_distances(gram, pairs), spread)
    return DistanceBounds(gram, pairs, signs, np.where(signs > 0, low, high), slack)


def inside(problem, rng, size=0.5):
    """Random duals for which K exists: those of dissimilar pairs are small."""
    p = pair_distances(problem.gram, problem.pairs)
    duals = rng.random(len(p)) * size / (p * len(p))
    limit = problem.slack / problem.bounds if np.isfinite(problem.slack) else np.inf
    return np.minimum(duals, np.where(problem.signs > 0, 0.9 * limit, np.inf))


def certificate(problem, duals):
    return problem.certificate(duals, *problem.learned(duals))


def in_sixty_digits(gram, laplacian):
    """(I + K0 L)^{-1} K0 of the given float64 numbers."""
    with mpmath.workdps(60):
        K0, L = mpmath.matrix(gram.tolist()), mpmath.matrix(laplacian.tolist())
        K = (mpmath.eye(len(gram)) + K0 * L) ** -1 * K0
        return np.array(K.tolist(), dtype=float)


@pytest.fixture(params=[0.2, 1.0, 30.0, np.inf])
def example(request):
    rng = np.random.default_rng(3)
    problem = problem_of(gaussian(rng.normal(size=(9, 3)), 0.4), rng, request.param)
    return problem, inside(problem, rng)


# The definitions


def test_the_laplacian_is_the_sum_of_signed_differences(example):
    problem, duals = example
    V = naive.differences(problem.pairs, len(problem.gram))
    expected = V.T @ np.diag(problem.signs * duals) @ V
    np.testing.assert_allclose(problem.laplacian(duals), expected, atol=1e-14)


def test_a_pair_that_occurs_twice_counts_twice():
    problem = DistanceBounds(
        np.eye(3), np.array([[0, 1], [1, 0], [1, 2]]), np.ones(3), np.ones(3), 1.0
    )
    expected = [[3.0, -3.0, 0.0], [-3.0, 7.0, -4.0], [0.0, -4.0, 4.0]]
    np.testing.assert_array_equal(problem.laplacian(np.array([1.0, 2.0, 4.0])), expected)


def test_the_factor_is_one_of_the_gram_matrix(example):
    problem, _ = example
    np.testing.assert_allclose(problem.factor.T @ problem.factor, problem.gram, atol=1e-14)


def test_k_and_q_are_what_the_paper_writes_with_inverses(example):
    problem, duals = example
    K, log_det = problem.learned(duals)
    inverse = np.linalg.inv(problem.gram)
    expected = np.linalg.inv(inverse + problem.laplacian(duals))
    np.testing.assert_allclose(K, expected, atol=1e-11)
    assert log_det == pytest.approx(-np.linalg.slogdet(K @ inverse)[1], abs=1e-11)
    Q = problem.matrix(duals)
    np.testing.assert_allclose(Q, inverse @ (expected - problem.gram) @ inverse, atol=1e-9)
    np.testing.assert_array_equal(Q, Q.T)


def test_q_gives_k_back(example):
    problem, duals = example
    K0, Q = problem.gram, problem.matrix(duals)
    np.testing.assert_allclose(K0 + K0 @ Q @ K0, problem.learned(duals)[0], atol=1e-12)


def test_objective_dual_and_gap_agree_with_their_definitions(example):
    problem, duals = example
    terms = problem.pairs, problem.signs, problem.bounds, problem.slack
    found = certificate(problem, duals)
    assert found.lower_bound == pytest.approx(naive.dual(duals, problem.gram, *terms), abs=1e-11)
    p = naive.distances(found.gram, problem.pairs)
    violation = max(0.0, np.max(problem.signs * (p - problem.bounds) / problem.bounds))
    assert found.max_violation == pytest.approx(violation, abs=1e-12)
    if np.isinf(problem.slack):
        assert found.value == pytest.approx(naive.divergence(found.gram, problem.gram), abs=1e-11)
        assert violation > 0
        assert np.isnan(found.gap)
    else:
        expected = naive.objective(found.gram, problem.gram, *terms)
        assert found.value == pytest.approx(expected, abs=1e-11)
        assert found.gap == pytest.approx(found.value - found.lower_bound, abs=1e-11)


def test_hard_bounds_that_are_kept_have_a_gap():
    gram = np.eye(3)
    problem = DistanceBounds(gram, np.array([[0, 1]]), np.ones(1), np.array([1.5]), np.inf)
    found = certificate(problem, np.array([0.5]))  # p = 2/(1 + 0.5 * 2) = 1
    assert pair_distances(found.gram, problem.pairs) == pytest.approx(1.0)
    assert found.max_violation == 0.0
    assert found.gap == pytest.approx(0.5 * (1.5 - 1.0))
    assert found.value == pytest.approx(naive.divergence(found.gram, gram))


def test_duals_without_a_kernel_are_refused():
    problem = DistanceBounds(np.eye(2), np.array([[0, 1]]), -np.ones(1), np.array([3.0]), 1.0)
    assert problem.learned(np.array([0.49]))[0][0, 0] == pytest.approx(25.5)
    with pytest.raises(np.linalg.LinAlgError):
        problem.learned(np.array([0.51]))


# Weak duality


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, features = draw(st.integers(3, 9)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, features))
    if draw(st.booleans()):
        X[-1] = X[0]
    kinds = {
        "gaussian": gaussian(X, 10.0 ** draw(st.integers(-3, 1))),
        "linear": X @ X.T,
    }
    gram = kinds[draw(st.sampled_from(sorted(kinds)))] * 10.0 ** draw(st.integers(-12, 12))
    return problem_of(0.5 * (gram + gram.T), rng, 10.0 ** draw(st.integers(-2, 3))), rng


@settings(max_examples=150, deadline=None)
@given(cases())
def test_no_dual_value_is_above_any_objective(case):
    problem, rng = case
    one, two = (certificate(problem, inside(problem, rng, size)) for size in (0.9, 0.2))
    rounding = 1e-9 * (1.0 + abs(one.value) + abs(two.value))
    assert max(one.lower_bound, two.lower_bound) <= min(one.value, two.value) + rounding
    for each in (one, two):
        assert each.gap >= -rounding
        assert each.gap == pytest.approx(each.value - each.lower_bound, abs=rounding)


@settings(max_examples=50, deadline=None)
@given(cases(), st.integers(-100, 100))
def test_a_multiple_of_the_kernel_with_a_multiple_of_the_bounds_is_the_same_problem(case, power):
    problem, rng = case
    duals, c = inside(problem, rng), 2.0**power
    scaled = DistanceBounds(
        c * problem.gram, problem.pairs, problem.signs, c * problem.bounds, problem.slack
    )
    one, two = certificate(problem, duals), certificate(scaled, duals / c)
    assert two.value == pytest.approx(one.value, rel=1e-9, abs=1e-9)
    assert two.gap == pytest.approx(one.gap, rel=1e-7, abs=1e-9 * (1 + abs(one.value)))
    np.testing.assert_allclose(two.gram, c * one.gram, rtol=1e-8, atol=1e-9 * c * one.gram.max())


# Singular Gram matrices


def test_duplicate_points_in_sixty_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 3))
    X[5:8] = X[:3]
    problem = problem_of(gaussian(X, 0.3), rng)
    assert len(problem.pairs) == 16 * 15 // 2 - 3
    duals = inside(problem, rng)
    exact = in_sixty_digits(problem.gram, problem.laplacian(duals))
    K0, Q = problem.gram, problem.matrix(duals)
    np.testing.assert_allclose(problem.learned(duals)[0], exact, atol=1e-12)
    np.testing.assert_allclose(K0 + K0 @ Q @ K0, exact, atol=1e-12)
    np.testing.assert_allclose(problem.learned(duals)[0][5:8], exact[:3], atol=1e-12)


@pytest.mark.parametrize(("features", "gamma"), [(1, 0.5), (2, 0.1), (3, 1e-3)])
def test_a_condition_number_of_1e16_in_sixty_digits(features, gamma):
    rng = np.random.default_rng(1)
    problem = problem_of(gaussian(rng.normal(size=(40, features)), gamma), rng)
    assert np.linalg.cond(problem.gram) > 1e16
    duals = inside(problem, rng)
    exact = in_sixty_digits(problem.gram, problem.laplacian(duals))
    K0, Q = problem.gram, problem.matrix(duals)
    np.testing.assert_allclose(problem.learned(duals)[0], exact, atol=1e-10)
    rounding = 4 * EPS * np.abs(K0) @ np.abs(Q) @ np.abs(K0)  # of the sum K0 Q K0
    assert np.all(np.abs(K0 + K0 @ Q @ K0 - exact) <= 1e-10 + rounding)


# Bounds


def test_equal_points_are_told_from_near_ones():
    X = np.array([[0.0], [0.0], [1e-7], [1e-3], [1.0]])
    pairs = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    np.testing.assert_array_equal(apart(gaussian(X, 1.0), pairs), [False, False, True, True])
    np.testing.assert_array_equal(apart(1e-200 * gaussian(X, 1.0), pairs), [0, 0, 1, 1])


def test_percentiles_of_the_distances_are_bounds():
    distances = np.arange(101.0)
    assert percentile_bounds(distances, (5, 95)) == (5.0, 95.0)
    assert percentile_bounds(np.full(4, 2.0), (5, 95)) == (2.0, 2.0)


def test_distances_far_below_their_bound_have_a_finite_objective():
    problem = DistanceBounds(
        1e-40 * np.eye(3), np.array([[0, 1], [1, 2]]), np.array([1.0, -1.0]), np.array([1.0, 1.0])
    )
    proof = problem.certificate(np.zeros(2), problem.gram, 0.0)
    assert proof.value == pytest.approx(np.log(1.0 / 2e-40) - 1.0, rel=1e-12)
