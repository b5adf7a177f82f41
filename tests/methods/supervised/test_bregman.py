"""Bregman projections compared with definitions, generic solvers and 60-digit arithmetic."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.progress import Status
from pliant.methods.supervised import bregman
from pliant.methods.supervised.bregman import DistanceBounds, separated_pairs, squared_distances
from tests.reference import naive_logdet as naive

EPS = np.finfo(float).eps


def gaussian(points, gamma):
    return np.exp(-gamma * ((points[:, None] - points) ** 2).sum(-1))


def problem_of(gram, rng, slack=1.0, spread=(20, 60)):
    """Draw random signs for all pairs that the Gram matrix separates."""
    pairs = np.column_stack(np.triu_indices(len(gram), 1))
    pairs = pairs[separated_pairs(gram, pairs)]
    signs = rng.choice([-1.0, 1.0], len(pairs))
    low, high = np.percentile(squared_distances(gram, pairs), spread)
    return DistanceBounds(gram, pairs, signs, np.where(signs > 0, low, high), slack)


def draw_duals(problem, rng, size=0.5):
    """Draw random duals for which K exists: the duals of dissimilar pairs are small."""
    p = squared_distances(problem.gram, problem.pairs)
    duals = rng.random(len(p)) * size / (p * len(p))
    limit = problem.slack / problem.bounds if np.isfinite(problem.slack) else np.inf
    return np.minimum(duals, np.where(problem.signs > 0, 0.9 * limit, np.inf))


def in_sixty_digits(gram, laplacian):
    """Compute (I + K0 L)^{-1} K0 for float64 matrices in 60-digit arithmetic."""
    with mpmath.workdps(60):
        K0, L = mpmath.matrix(gram.tolist()), mpmath.matrix(laplacian.tolist())
        K = (mpmath.eye(len(gram)) + K0 * L) ** -1 * K0
        return np.array(K.tolist(), dtype=float)


@pytest.fixture(params=[0.2, 1.0, 30.0, np.inf])
def example(request):
    rng = np.random.default_rng(3)
    problem = problem_of(gaussian(rng.normal(size=(9, 3)), 0.4), rng, request.param)
    return problem, draw_duals(problem, rng)


# The definitions


def test_K_and_Q_match_the_formulas_with_inverses(example):
    problem, duals = example
    K, log_det = problem.learned(duals)
    inverse = np.linalg.inv(problem.gram)
    expected = np.linalg.inv(inverse + problem.laplacian(duals))
    np.testing.assert_allclose(K, expected, atol=1e-11)
    assert log_det == pytest.approx(-np.linalg.slogdet(K @ inverse)[1], abs=1e-11)
    Q = problem.matrix(duals)
    np.testing.assert_allclose(Q, inverse @ (expected - problem.gram) @ inverse, atol=1e-9)
    np.testing.assert_array_equal(Q, Q.T)


def test_objective_dual_and_gap_match_their_definitions(example):
    problem, duals = example
    terms = problem.pairs, problem.signs, problem.bounds, problem.slack
    found = certify(problem, duals)
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


def test_satisfied_hard_bounds_have_a_gap():
    gram = np.eye(3)
    problem = DistanceBounds(gram, np.array([[0, 1]]), np.ones(1), np.array([1.5]), np.inf)
    found = certify(problem, np.array([0.5]))  # p = 2/(1 + 0.5 * 2) = 1
    assert squared_distances(found.gram, problem.pairs) == pytest.approx(1.0)
    assert found.max_violation == 0.0
    assert found.gap == pytest.approx(0.5 * (1.5 - 1.0))
    assert found.value == pytest.approx(naive.divergence(found.gram, gram))


def test_infeasible_duals_raise():
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
def test_weak_duality(case):
    problem, rng = case
    one, two = (certify(problem, draw_duals(problem, rng, size)) for size in (0.9, 0.2))
    rounding = 1e-9 * (1.0 + abs(one.value) + abs(two.value))
    assert max(one.lower_bound, two.lower_bound) <= min(one.value, two.value) + rounding
    for each in (one, two):
        assert each.gap >= -rounding
        assert each.gap == pytest.approx(each.value - each.lower_bound, abs=rounding)


# Singular Gram matrices


def test_duplicate_points_in_sixty_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 3))
    X[5:8] = X[:3]
    problem = problem_of(gaussian(X, 0.3), rng)
    assert len(problem.pairs) == 16 * 15 // 2 - 3
    duals = draw_duals(problem, rng)
    exact = in_sixty_digits(problem.gram, problem.laplacian(duals))
    K0, Q = problem.gram, problem.matrix(duals)
    np.testing.assert_allclose(problem.learned(duals)[0], exact, atol=1e-12)
    np.testing.assert_allclose(K0 + K0 @ Q @ K0, exact, atol=1e-12)
    np.testing.assert_allclose(problem.learned(duals)[0][5:8], exact[:3], atol=1e-12)


@pytest.mark.parametrize(("features", "gamma"), [(1, 0.5), (2, 0.1), (3, 1e-3)])
def test_ill_conditioned_gram_in_sixty_digits(features, gamma):
    rng = np.random.default_rng(1)
    problem = problem_of(gaussian(rng.normal(size=(40, features)), gamma), rng)
    assert np.linalg.cond(problem.gram) > 1e16
    duals = draw_duals(problem, rng)
    exact = in_sixty_digits(problem.gram, problem.laplacian(duals))
    K0, Q = problem.gram, problem.matrix(duals)
    np.testing.assert_allclose(problem.learned(duals)[0], exact, atol=1e-10)
    rounding = 4 * EPS * np.abs(K0) @ np.abs(Q) @ np.abs(K0)
    assert np.all(np.abs(K0 + K0 @ Q @ K0 - exact) <= 1e-10 + rounding)


def certify(problem, duals):
    return problem.certificate(duals, *problem.learned(duals))


def labelled(n=7, features=3, gamma=0.3, seed=0, slack=1.0, count=None, spread=(20, 60)):
    """State a problem for pairs of two classes, with bounds from percentiles."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, features)), rng.permutation(np.arange(n) % 2)
    gram = gaussian(X, gamma)
    pairs = rng.permutation(np.column_stack(np.triu_indices(n, 1)))[:count]
    pairs = pairs[separated_pairs(gram, pairs)]
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1.0, -1.0)
    low, high = np.percentile(squared_distances(gram, pairs), spread)
    return DistanceBounds(gram, pairs, signs, np.where(signs > 0, low, high), slack)


def solve(problem, seed=0, **options):
    return bregman.solve(problem, rng=np.random.RandomState(seed), **options)


def terms_of(problem):
    return problem.gram, problem.pairs, problem.signs, problem.bounds, problem.slack


# The optimum


@pytest.mark.parametrize("slack", [0.1, 1.0, 30.0, np.inf])
@pytest.mark.parametrize("seed", range(2))
def test_optimum_matches_generic_solver(slack, seed):
    problem = labelled(seed=seed, slack=slack, count=10)
    result = solve(problem, tol=1e-10, max_iter=5000)
    assert result.status is Status.CONVERGED
    K, value = naive.by_cvxpy(*terms_of(problem))
    assert result.value == pytest.approx(value, abs=2e-7 * (1 + value))
    np.testing.assert_allclose(result.certificate.gram, K, atol=3e-4)
    # the kernel of the generic solver is not better, by the generic objective
    if np.isfinite(slack):
        assert result.value <= naive.objective(K, *terms_of(problem)) + 1e-10 * (1 + value)


@pytest.mark.parametrize("waiting", [1, 3, 64])
@pytest.mark.parametrize("slack", [2.0, np.inf])
def test_sweep_matches_successive_projections(monkeypatch, waiting, slack):
    monkeypatch.setattr(bregman, "MAX_PENDING", waiting)
    problem = labelled(n=9, slack=slack)
    found = solve(problem, seed=3, max_iter=1, tol=1e-12)
    order = np.random.RandomState(3).permutation(len(problem.pairs))
    K, duals = naive.projections(
        problem.gram, problem.pairs[order], problem.signs[order], problem.bounds[order], slack, 1
    )
    assert found.n_iter == 1
    assert np.count_nonzero(duals) > 10
    np.testing.assert_allclose(found.x[order], duals, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.certificate.gram, K, atol=1e-11)


# Certificates


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 12),
    features=st.integers(1, 4),
    power=st.integers(-4, 1),
    slack=st.sampled_from([0.01, 1.0, 100.0, np.inf]),
    sweeps=st.integers(1, 12),
)
def test_bounds_hold_after_any_number_of_sweeps(seed, n, features, power, slack, sweeps):
    problem = labelled(n, features, 10.0**power, seed, slack)
    result, best = solve(problem, max_iter=sweeps), solve(problem, seed=1, max_iter=200)
    proof, rounding = result.certificate, 1e-8 * (1.0 + abs(result.value))
    assert proof.lower_bound <= best.certificate.value + rounding or np.isnan(best.gap)
    assert (result.x >= 0).all()
    assert np.linalg.eigvalsh(proof.gram).min() >= -1e-12 * proof.gram.max()
    if not np.isnan(result.gap):
        assert result.gap >= -rounding
        assert result.gap == pytest.approx(proof.value - proof.lower_bound, abs=rounding)
        assert best.certificate.lower_bound <= proof.value + rounding


def test_dual_value_is_monotone():
    problem = labelled(n=30)
    results = [solve(problem, max_iter=sweeps, tol=1e-12) for sweeps in range(1, 12)]
    bounds = [result.certificate.lower_bound for result in results]
    assert np.all(np.diff(bounds) >= -1e-10 * abs(bounds[-1]))


# Hard bounds


def test_hard_bounds_are_satisfied_exactly():
    problem = labelled(slack=np.inf, count=10, seed=2)
    result = solve(problem, max_iter=1000)
    p = squared_distances(result.certificate.gram, problem.pairs)
    assert result.status is Status.CONVERGED
    assert np.all(problem.signs * (p - problem.bounds) <= 0)
    assert result.certificate.max_violation == 0.0
    assert 0 <= result.gap <= 1e-3 * (1 + result.value)
    _, value = naive.by_cvxpy(*terms_of(problem))
    assert result.certificate.lower_bound <= value + 1e-7 <= result.value + 2e-7


TRIANGLE = np.array([[0, 1], [1, 2], [0, 2]]), np.array([1.0, 1.0, -1.0])


def triangle(low, high):
    """State a problem with two similar pairs and a dissimilar pair, infeasible if high > 4 low."""
    return DistanceBounds(np.eye(3), *TRIANGLE, np.array([low, low, high]), np.inf)


def test_dual_of_infeasible_hard_bounds_diverges():
    few, many = (solve(triangle(0.1, 0.41), max_iter=count) for count in (50, 500))
    for result in (few, many):
        assert result.status is Status.MAX_ITER
        assert np.isnan(result.gap)
        assert result.certificate.max_violation > 0.001
    assert many.certificate.lower_bound > 1.1 * few.certificate.lower_bound
    possible = solve(triangle(0.1, 0.35), max_iter=5000)
    assert possible.status is Status.CONVERGED
    assert possible.value < many.certificate.lower_bound


# Ill-conditioned and singular


def test_rounding_errors_do_not_accumulate(monkeypatch):
    problem = labelled(n=40, slack=100.0, spread=(5, 95))
    drifts, recompute = [], bregman.ProjectionState._recompute

    def record_drift(run):
        before = run.gram
        recompute(run)
        drifts.append(np.abs(before - run.gram).max() / np.abs(before).max())

    monkeypatch.setattr(bregman.ProjectionState, "_recompute", record_drift)
    result = solve(problem, tol=1e-9, max_iter=300)
    fresh, _ = problem.learned(result.x)
    np.testing.assert_array_equal(result.certificate.gram, fresh)
    assert len(drifts) >= 10
    assert max(drifts) < 1e-8


class Broken(DistanceBounds):
    """Raise LinAlgError once, as if rounding made the duals infeasible."""

    calls = 0

    def learned(self, duals):
        Broken.calls += 1
        if Broken.calls == 2:
            raise np.linalg.LinAlgError
        return super().learned(duals)


def test_infeasible_duals_are_reset():
    problem = Broken(*terms_of(labelled(n=20)))
    Broken.calls = 0
    result = solve(problem, tol=1e-12)
    assert result.status is Status.STALLED
    assert result.n_iter == len(result.history) - 1
    np.testing.assert_array_equal(result.certificate.gram, problem.learned(result.x)[0])
    assert result.gap == pytest.approx(result.value - result.certificate.lower_bound)


# Callbacks


def test_callbacks_report_each_sweep_and_can_stop():
    problem, seen = labelled(n=30), []
    full = solve(problem, tol=1e-9, callback=seen.append)
    assert len(seen) == full.n_iter > 3
    assert [step.n_iter for step in full.history] == list(range(full.n_iter + 1))
    assert full.objectives[-1] == full.value
    assert full.gaps[-1] == full.gap
    stopped = solve(problem, tol=1e-9, callback=lambda step: step.n_iter == 1)
    assert (stopped.status, stopped.n_iter) == (Status.STOPPED, 2)
    assert stopped.gap > full.gap
