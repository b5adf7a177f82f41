"""The saddle point problem and its solvers: optima, certificates, limits, callbacks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import GeneralizedPolynomial, GKLClassifier, TessellatedKernel, TKLClassifier
from pliant.core.progress import Progress, Status
from pliant.methods.svm import smo
from pliant.methods.svm.problem import SVMProblem
from pliant.methods.tkl.problem import SaddleProblem
from pliant.methods.tkl.solvers import interior, low_rank, search
from tests.papers.tessellated_cases import C1, CASES, R1, R3
from tests.reference.naive_tessellated import gram, quadratic, random_shape, tessellated_tensor
from tests.reference.tessellated_sdp import (
    best_shape,
    by_shape_matrix,
    by_weights,
    classification,
    regression,
    svm,
)

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
both_degrees = pytest.mark.parametrize("degree", [0, 1])
ROUNDING = 4e-8  # relative error of the reference values, which have eight decimals


def learning(kernel, X, margin, **options):
    """Return the problem with the SVM of a reference margin."""
    if margin.epsilon or not np.isin(margin.p, [-1, 1]).all():
        problem = machine(X, margin.p, margin.upper, margin.epsilon)
    else:
        problem = machine(X, margin.p, margin.upper - margin.lower)
    return SaddleProblem(kernel, problem, **options)


def machine(X, target, C, epsilon=None):
    """Return an SVM with a C for each point."""
    return SVMProblem(X, np.arange(len(X)), target, C, 1.0, epsilon)


def problem_of(case, degree=1, rows=slice(None), margin=None, **options):
    kernel = TessellatedKernel(-case.delta, 1 + case.delta, degree)
    m = case.margin if margin is None else margin
    picked = type(m)(m.p[rows], m.lower[rows], m.upper[rows], m.epsilon)
    return learning(kernel, case.X[rows], picked, **options)


def feasible(case, r):
    """Return a random w in the box with 1'w = 0."""
    w = r.uniform(case.margin.lower, case.margin.upper)
    side = w > 0 if w.sum() > 0 else w < 0
    w[side] *= 1 - w.sum() / w[side].sum()
    return w


def primal(K, margin, w, intercept):
    """Compute 1/2 w'Kw + sum_i loss_i for the decision function Kw + b."""
    residual = margin.p - K @ w - intercept
    above = np.maximum(residual - margin.epsilon, 0)
    below = np.maximum(-residual - margin.epsilon, 0)
    return w @ K @ w / 2 + margin.upper @ above - margin.lower @ below


def assert_bounds(result, optimum, rounding=ROUNDING):
    """Check that lower <= optimum <= upper at every check, and that the bounds are monotone."""
    uppers, lowers = result.objectives, result.objectives - result.gaps
    assert (uppers >= optimum * (1 - rounding)).all()
    assert (lowers <= optimum * (1 + rounding)).all()
    assert (np.diff(uppers) <= 0).all()
    assert (np.diff(lowers) >= -1e-12 * abs(optimum)).all()
    assert result.value == uppers[-1]
    assert result.gap == pytest.approx(result.gaps[-1], abs=1e-12)


# The problem: SVMs, the best P, bounds


@every_case
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_size_gram_and_quadratic_form_agree_with_the_twin(case, degree):
    problem, G = problem_of(case, degree), case.tensor(degree, "x")
    r = np.random.default_rng(0)
    assert problem.size == len(G)
    P, factor = random_shape(r, len(G), 2)
    K, w = problem.gram(factor), feasible(case, r)
    np.testing.assert_allclose(K, gram(G, P), rtol=0, atol=1e-12 * np.abs(K).max())
    D = problem.oracle(w, 0.0).matrix
    np.testing.assert_allclose(D, quadratic(G, w), rtol=0, atol=1e-12 * np.abs(D).max())
    scaled = problem.scaled(factor[:, :1])
    assert np.trace(scaled @ scaled.T) == pytest.approx(problem.size, rel=1e-14)


@every_case
def test_the_dual_agrees_with_the_svm(case):
    problem, G = problem_of(case), case.tensor(1, "x")
    dual = problem.dual(problem.gram(np.eye(problem.size)))
    w = feasible(case, np.random.default_rng(0))
    assert dual.gain(w) == pytest.approx(case.margin.gain(w), rel=1e-12)
    expected = case.margin.gain(w) - np.trace(quadratic(G, w)) / 2
    assert dual.value(w) == pytest.approx(expected, rel=1e-10)
    optimum = svm(gram(G, np.eye(len(G))), case.margin)[0]
    assert smo.solve(dual, tol=1e-9).value == pytest.approx(optimum, rel=1e-7)


@every_case
def test_the_oracle_gives_the_best_p(case):
    problem, G = problem_of(case), case.tensor(1, "x")
    w = feasible(case, np.random.default_rng(0))
    oracle = problem.oracle(w, case.margin.gain(w), 3)
    assert oracle.vectors.shape == (problem.size, 3)
    np.testing.assert_allclose(oracle.values, np.linalg.eigvalsh(oracle.matrix)[:-4:-1])
    v, P = oracle.vectors[:, 0], best_shape(quadratic(G, w), 0.0)[1]
    np.testing.assert_allclose(problem.size * np.outer(v, v), P, atol=1e-6 * problem.size)
    few = problem_of(case, 0)
    assert few.oracle(w, 0.0, 5).vectors.shape == (2, 2)
    nothing = few.oracle(np.zeros(len(w)), 0.0)
    assert nothing.lower == 0
    assert not nothing.matrix.any()


@every_case
@pytest.mark.parametrize("share", [1e-3, 0.03, 0.3, 1.0])
def test_the_oracle_gives_the_best_bound_over_multiples_of_w(case, share):
    """It is the maximum of kappa(tw) - n_P/2 lambda_max(D(tw)) over 0 <= t <= 1."""
    problem, G = problem_of(case), case.tensor(1, "x")
    towards = case.by_weights(1, "x")[1]
    for w in (share * towards, share * feasible(case, np.random.default_rng(0))):
        gain, D = case.margin.gain(w), quadratic(G, w)
        steps = np.linspace(0, 1, 1001)
        bounds = [best_shape(t**2 * D, t * gain)[0] for t in steps]
        lower = problem.oracle(w, gain).lower
        cost = len(D) * np.linalg.eigvalsh(D)[-1]
        assert max(bounds) - 1e-12 * cost <= lower <= max(bounds) + 1e-6 * cost


@pytest.mark.parametrize("case", [C1, R1], ids=lambda case: case.name)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 6))
def test_every_w_bounds_every_p_from_below(case, seed, rank):
    """Weak duality: kappa(w) - n_P/2 lambda_max(D(w)) <= optimum <= OPT_A(P)."""
    problem, r = problem_of(case), np.random.default_rng(seed)
    w = feasible(case, r) * r.uniform()
    lower = problem.oracle(w, case.margin.gain(w)).lower
    factor = random_shape(r, problem.size, min(rank, problem.size))[1]
    run = smo.solve(problem.dual(problem.gram(factor)), tol=1e-3, max_iter=2000)
    optimum = case.optimum(1, "x")
    assert lower <= optimum * (1 + 1e-8)
    assert optimum <= (run.value + run.gap) * (1 + 1e-8)


# The search on factors of low rank


@every_case
@both_degrees
def test_the_reference_optima(case, degree):
    result = low_rank.solve(problem_of(case, degree), tol=3e-7)
    optimum = case.optimum(degree, "x")
    assert result.status is Status.CONVERGED
    assert result.gap <= 3e-7 * result.value
    assert result.value == pytest.approx(optimum, rel=1e-6)
    assert_bounds(result, optimum)
    assert np.linalg.norm(result.x) ** 2 == pytest.approx(len(result.x), rel=1e-12)
    few = low_rank.solve(problem_of(case, degree))
    assert few.gap <= 1e-3 * few.value
    assert few.n_iter <= 40


@every_case
def test_the_certificate_holds(case):
    result = low_rank.solve(problem_of(case), tol=1e-3)
    proof, margin = result.certificate, case.margin
    K = gram(case.tensor(1, "x"), result.x @ result.x.T)
    assert proof.upper == result.value == proof.value
    assert proof.upper == pytest.approx(primal(K, margin, proof.w, proof.intercept), rel=1e-9)
    assert proof.lower == pytest.approx(result.value - result.gap, rel=1e-12)
    assert abs(proof.w.sum()) < 1e-9 * np.abs(proof.w).sum()
    assert (proof.w >= margin.lower).all()
    assert (proof.w <= margin.upper).all()
    assert svm(K, margin)[0] <= proof.upper * (1 + ROUNDING)
    optimum = case.by_weights(1, "x")[0]
    assert_bounds(low_rank.solve(problem_of(case), tol=1e-5, max_iter=60), optimum, 2e-7)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 3),
    degree=st.integers(0, 2),
    C=st.floats(-1, 2).map(lambda e: 10.0**e),
    epsilon=st.sampled_from([None, 0.0, 0.1]),
)
def test_low_rank_agrees_with_the_semidefinite_program(seed, n, degree, C, epsilon):
    r = np.random.default_rng(seed)
    X = r.random((12, n))
    target = np.sin(5 * X[:, 0]) - X[:, -1] + 0.2 * r.standard_normal(12)
    signs = np.where(target > np.median(target), 1.0, -1.0)
    margin = classification(signs, C) if epsilon is None else regression(target, C, epsilon)
    G = tessellated_tensor(X, X, -0.4, 1.4, degree, "x", normalized=True)
    optimum, _ = by_weights(G, margin)
    result = low_rank.solve(learning(TessellatedKernel(-0.4, 1.4, degree), X, margin), tol=1e-5)
    assert result.status is Status.CONVERGED
    assert result.value == pytest.approx(optimum, rel=1.2e-5)
    assert_bounds(result, optimum, rounding=1e-6)


@pytest.mark.parametrize("prox", [0.01, 3.0])
def test_the_proximal_term_does_not_change_the_optimum(prox, monkeypatch):
    monkeypatch.setattr(low_rank, "PROX", prox)
    for case in (C1, R3):
        result = low_rank.solve(problem_of(case), tol=1e-4, max_iter=300)
        assert_bounds(result, case.optimum(1, "x"))
        assert result.value == pytest.approx(case.optimum(1, "x"), rel=1e-3)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 13])
def test_no_more_svms_than_allowed(limit, monkeypatch):
    calls = []
    monkeypatch.setattr(
        search.smo, "solve", lambda *a, solve=smo.solve, **o: calls.append(1) or solve(*a, **o)
    )
    result = low_rank.solve(problem_of(R3), tol=1e-12, max_iter=limit)
    assert result.status is Status.MAX_ITER
    assert len(calls) == result.n_iter == len(result.history) == limit
    assert_bounds(result, R3.optimum(1, "x"))


@pytest.mark.parametrize("stop", [1, 2, 5, 8])
def test_a_callback_stops_the_search(stop):
    seen = []

    def callback(progress):
        seen.append(progress)
        return len(seen) == stop

    result = low_rank.solve(problem_of(R3), tol=1e-12, callback=callback)
    assert result.status is Status.STOPPED
    assert len(seen) == stop
    assert all(isinstance(progress, Progress) for progress in seen)
    assert_bounds(result, R3.optimum(1, "x"))
    other = low_rank.solve(problem_of(C1), tol=0.5, callback=lambda p: 1)  # 1 is not True
    assert other.status is Status.CONVERGED


@both_degrees
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_two_points_have_a_closed_form_solution(C, degree):
    """w = (a, -a): max_a difference a - n_P/2 a^2 lambda_max(D(1, -1)), 0 <= a <= C."""
    X = np.array([[0.2, 0.9], [0.6, 0.3]])
    G = tessellated_tensor(X, X, -0.5, 1.5, degree, "x", normalized=True)
    labels, targets = classification([1.0, -1.0], C), regression([0.9, 0.1], C, 0.1)
    curvature = len(G) * np.linalg.eigvalsh(quadratic(G, np.array([1.0, -1.0])))[-1]
    for margin, difference in ((labels, 2.0), (targets, 0.6)):
        problem = learning(TessellatedKernel(-0.5, 1.5, degree), X, margin)
        result = low_rank.solve(problem, tol=1e-5)
        a = min(C, difference / curvature)
        optimum = difference * a - curvature * a**2 / 2
        assert_bounds(result, optimum)
        assert result.value == pytest.approx(optimum, rel=1.1e-5)
        best = problem.oracle(np.array([1.0, -1.0]), 0.0).vectors
        given_p = search.solve_given(problem, best)
        assert given_p.status is Status.CONVERGED
        assert given_p.n_iter == 1
        assert_bounds(given_p, optimum)


@pytest.mark.parametrize("C", [1e-3, 1e4])
@every_case
def test_extreme_penalties(case, C):
    margin = case.margin
    other = classification(case.y, C) if not margin.epsilon else regression(case.y, C, 0.1)
    optimum, _ = by_weights(case.tensor(1, "x"), other)
    result = low_rank.solve(problem_of(case, margin=other), tol=1e-3)
    assert_bounds(result, optimum, rounding=1e-5)
    assert result.status is Status.CONVERGED


# P >= floor I

X16, G16 = C1.X[:16], C1.tensor(1, "x")[..., :16, :16]
MARGINS = {
    "classes": classification(C1.y[:16], 12.8),
    "regression": regression(R1.y[:16], 12.8, 0.1),
}


@pytest.mark.parametrize("floor", [0.05, 0.5])
@pytest.mark.parametrize("name", MARGINS)
def test_the_optimum_with_a_floor_agrees_with_both_semidefinite_programs(name, floor):
    """The programs are the dual without P, and the primal with the constraint on P."""
    margin = MARGINS[name]
    optimum, _ = by_weights(G16, margin, floor)
    primal_value, P = by_shape_matrix(G16, margin, floor)
    assert optimum == pytest.approx(primal_value, rel=1e-5)
    assert np.linalg.eigvalsh(P)[0] >= floor - 1e-5
    assert optimum > by_weights(G16, margin)[0]
    problem = learning(TessellatedKernel(-0.3, 1.3), X16, margin, floor=floor)
    result = low_rank.solve(problem, tol=1e-4)
    assert result.gap <= 1e-4 * result.value
    assert_bounds(result, optimum, rounding=1e-6)


@pytest.mark.parametrize("multiple", [1.0, 0.1])
def test_every_w_bounds_every_p_with_a_floor_from_below(multiple):
    """kappa(w) - (floor tr D + (1 - floor) n_P lambda_max(D))/2 is the value at the best P."""
    margin, floor, n_p = MARGINS["regression"], 0.3, len(G16)
    optimum, w = by_weights(G16, margin, floor)
    w = multiple * w
    D = quadratic(G16, w)
    values, vectors = np.linalg.eigh(D)
    best = floor * np.eye(n_p) + (1 - floor) * n_p * np.outer(vectors[:, -1], vectors[:, -1])
    cost = floor * np.trace(D) + (1 - floor) * n_p * values[-1]
    assert np.vdot(D, best) == pytest.approx(cost)
    gain = margin.gain(w)
    problem = learning(TessellatedKernel(-0.3, 1.3), X16, margin, floor=floor)
    oracle = problem.oracle(w, gain)
    share = min(1.0, gain / cost)
    assert oracle.lower == pytest.approx(share * gain - share**2 * cost / 2, rel=1e-9)
    assert multiple < 1 or oracle.lower == pytest.approx(optimum, rel=1e-6)
    np.testing.assert_allclose(oracle.matrix, (1 - floor) * D, atol=1e-10 * np.abs(D).max())
    assert oracle.lower <= svm(gram(G16, best), margin)[0] * (1 + 1e-6)


# The interior-point method for few samples

FAMILIES = {
    "tessellated": TessellatedKernel(-0.5, 1.5),
    "polynomial": GeneralizedPolynomial(-0.5, 1.5, 2),
}


def small(family="tessellated", m=9, n=2, C=5.0, seed=0, **options):
    rng = np.random.default_rng(seed)
    X, signs = rng.random((m, n)), np.where(np.arange(m) % 3, 1.0, -1.0)
    weights = C * (0.5 + rng.random(m))
    return SaddleProblem(FAMILIES[family], machine(X, signs, weights), **options)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_the_interior_method_agrees_with_the_search(family, seed):
    problem = small(family, C=10.0**seed, seed=seed)
    ours = interior.solve(problem, tol=1e-7)
    theirs = low_rank.solve(problem, tol=1e-4)
    assert ours.status is Status.CONVERGED
    assert 0 <= ours.gap <= 1e-7 * ours.value
    # the bounds of each solver contain the value of the other
    assert ours.value >= theirs.value - theirs.gap - 1e-9 * ours.value
    assert theirs.value >= ours.value - ours.gap - 1e-9 * ours.value
    assert np.vdot(ours.x, ours.x) == pytest.approx(problem.size)
    assert ours.x.shape[1] <= theirs.x.shape[1] + 1


def test_rounding_does_not_decide_where_the_interior_method_stops():
    """Changes of the last digit leave the number of steps alone, up to an accuracy of 1e-7."""
    problem, rng = small(C=100.0, seed=2), np.random.default_rng(0)
    first = interior.solve(problem, tol=1e-7)
    for _ in range(12):
        points = problem.points * (1 + 1e-15 * rng.standard_normal(problem.points.shape))
        result = interior.solve(replace(problem, svm=replace(problem.svm, points=points)), tol=1e-7)
        assert result.status is Status.CONVERGED
        assert result.value == pytest.approx(first.value, rel=1e-7)
        assert abs(result.n_iter - first.n_iter) <= 2


def test_unsuitable_problems_return_none():
    problem = small()
    assert interior.solve(problem) is not None
    others = [
        replace(problem, svm=machine(problem.points, np.arange(9.0), np.ones(9), epsilon=0.0)),
        replace(problem, floor=0.1),
        small(m=interior.MAX_SAMPLES + 1),
        replace(problem, svm=replace(problem.svm, points=np.ones((9, 2)))),  # constant features
    ]
    assert [interior.solve(other) for other in others] == [None] * len(others)


def test_bounds_of_a_stopped_interior_method_are_certified():
    problem = small()
    optimum = interior.solve(problem, tol=1e-8).value
    limited = interior.solve(problem, tol=1e-8, max_iter=3)
    assert limited.n_iter == len(limited.history) == 3
    assert limited.status is Status.MAX_ITER
    stopped = interior.solve(problem, tol=1e-8, callback=lambda progress: progress.n_iter == 2)
    assert stopped.status is Status.STOPPED
    for result in (limited, stopped):
        assert result.value - result.gap <= optimum <= result.value < np.inf


def test_the_search_continues_after_a_stalled_interior_method(monkeypatch):
    monkeypatch.setattr(interior, "MAX_STEPS", 2)
    X = np.random.default_rng(0).standard_normal((20, 2))
    model = TKLClassifier().fit(X, np.arange(20) % 2)
    assert model.dual_gap_ <= 1e-3 * model.objective_
    assert model.n_iter_ > 2


@pytest.mark.parametrize("Model", [TKLClassifier, GKLClassifier])
def test_many_features_and_few_samples_close_the_gap(Model):
    # the low-rank search stops with gaps of 0.1 to 2 per cent on these problems
    X = np.random.default_rng(0).standard_normal((24, 40))
    model = Model().fit(X, np.arange(24) % 2)
    assert 0 <= model.dual_gap_ <= 1e-3 * model.objective_
    assert model.n_iter_ <= 60
    assert model.rank_ <= 5
