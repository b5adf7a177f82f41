"""Four solvers of one saddle point: reference optima, certificates, limits, callbacks."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.progress import Progress, Status
from pliant.kernels import GeneralizedPolynomial, TessellatedKernel
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual, svr_dual
from pliant.methods.tessellated.problem import KernelLearning
from pliant.methods.tessellated.solvers import frank_wolfe, hybrid, low_rank, primal_dual
from tests.papers.tessellated_cases import BASES, C1, CASES, R1, R3
from tests.reference.naive_tessellated import gram, polynomial_tensor, quadratic, tessellated_tensor
from tests.reference.tessellated_sdp import by_weights, classification, regression, svm

SOLVERS = {
    "low-rank": low_rank.solve,
    "frank-wolfe": frank_wolfe.solve,
    "primal-dual": primal_dual.solve,
    "hybrid": hybrid.solve,
}
REACH = {"low-rank": 1e-5, "frank-wolfe": 0.05, "primal-dual": 1.0, "hybrid": 0.05}
"""The relative gap that each can be trusted to close on a small problem."""

every_solver = pytest.mark.parametrize("name", SOLVERS)
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_basis = pytest.mark.parametrize(("degree", "basis"), BASES)
ROUNDING = 1e-8  # of the reference values


def learning(kernel, X, margin):
    """The problem with the SVM of a reference margin."""
    if margin.epsilon or not np.isin(margin.p, [-1, 1]).all():
        dual = partial(svr_dual, target=margin.p, C=margin.upper, epsilon=margin.epsilon)
    else:
        dual = partial(svc_dual, signs=margin.p, C=margin.upper - margin.lower)
    return KernelLearning(kernel, X, dual)


def problem_of(case, degree=1, basis="x", rows=slice(None), measure=False, margin=None):
    kernel = TessellatedKernel(-case.delta, 1 + case.delta, degree, basis, measure)
    m = case.margin if margin is None else margin
    picked = type(m)(m.p[rows], m.lower[rows], m.upper[rows], m.epsilon)
    return learning(kernel, case.X[rows], picked)


def primal(K, margin, w, intercept):
    """1/2 w'Kw + sum_i loss_i at the decision function Kw + b."""
    residual = margin.p - K @ w - intercept
    above = np.maximum(residual - margin.epsilon, 0)
    below = np.maximum(-residual - margin.epsilon, 0)
    return w @ K @ w / 2 + margin.upper @ above - margin.lower @ below


def assert_bounds(result, optimum, rounding=ROUNDING):
    """lower <= optimum <= upper at every check, and both only get better."""
    uppers, lowers = result.objectives, result.objectives - result.gaps
    assert (uppers >= optimum * (1 - rounding)).all()
    assert (lowers <= optimum * (1 + rounding)).all()
    assert (np.diff(uppers) <= 0).all()
    assert (np.diff(lowers) >= -1e-12 * abs(optimum)).all()
    assert result.value == uppers[-1]
    assert result.gap == pytest.approx(result.gaps[-1], abs=1e-12)


# The reference optima


@every_case
@every_basis
def test_low_rank_reaches_the_reference_optimum(case, degree, basis):
    result = low_rank.solve(problem_of(case, degree, basis), tol=3e-7)
    optimum = case.optimum(degree, basis)
    assert result.status is Status.CONVERGED
    assert result.gap <= 3e-7 * result.value
    assert result.value == pytest.approx(optimum, rel=1e-6)
    assert_bounds(result, optimum, rounding=4e-8)  # they have nine digits after the point
    assert np.linalg.norm(result.x) ** 2 == pytest.approx(len(result.x), rel=1e-12)


@every_case
@every_basis
def test_low_rank_needs_few_svms(case, degree, basis):
    result = low_rank.solve(problem_of(case, degree, basis))
    assert result.status is Status.CONVERGED
    assert result.gap <= 1e-3 * result.value
    assert result.n_iter <= 40


@pytest.mark.parametrize("basis", ["x", "xz"])
def test_low_rank_finds_the_rank_of_r3(basis):
    result = low_rank.solve(problem_of(R3, 1, basis), tol=1e-6)
    values = np.linalg.svd(result.x, compute_uv=False) ** 2
    assert values[1] > 0.4 * values[0]
    assert (values[2:] < 1e-3 * values[0]).all()


@pytest.mark.parametrize("start", [np.eye(6), np.ones((6, 1)), np.arange(12.0).reshape(6, 2) - 5])
@every_solver
def test_every_start_leads_to_the_same_optimum(name, start):
    result = SOLVERS[name](problem_of(C1), start, tol=REACH[name], max_iter=200)
    assert_bounds(result, C1.optimum(1, "x"))
    assert result.status is Status.CONVERGED
    assert result.gap <= REACH[name] * result.value


# The certificate


@every_case
@every_basis
@every_solver
def test_the_optimum_is_between_the_bounds_at_every_check(name, case, degree, basis):
    """Of the semidefinite program, whatever the solver and however far it has come."""
    optimum = case.by_weights(degree, basis)[0]
    result = SOLVERS[name](problem_of(case, degree, basis), tol=1e-5, max_iter=60)
    assert_bounds(result, optimum, rounding=2e-7)
    assert len(result.history) == result.n_iter <= 60


@pytest.mark.parametrize("case", [C1, R1], ids=lambda case: case.name)
@every_solver
def test_the_certificate_holds(name, case):
    result = SOLVERS[name](problem_of(case, 1, "xz"), tol=1e-3, max_iter=40)
    proof, margin = result.certificate, case.margin
    K = gram(case.tensor(1, "xz"), result.x @ result.x.T)
    assert proof.upper == result.value == proof.value
    assert proof.upper == pytest.approx(primal(K, margin, proof.w, proof.intercept), rel=1e-9)
    assert proof.lower == pytest.approx(result.value - result.gap, rel=1e-12)
    assert abs(proof.w.sum()) < 1e-9 * np.abs(proof.w).sum()
    assert (proof.w >= margin.lower).all()
    assert (proof.w <= margin.upper).all()
    assert np.trace(result.x @ result.x.T) == pytest.approx(len(result.x), rel=1e-10)
    assert svm(K, margin)[0] <= proof.upper * (1 + ROUNDING)


@pytest.mark.parametrize("case", [C1, R1], ids=lambda case: case.name)
@every_solver
def test_every_solver_gets_somewhere(name, case):
    """All are better than P = I by far; the default gets to 1e-3."""
    problem = problem_of(case)
    result = SOLVERS[name](problem, tol=1e-3, max_iter=100)
    optimum = case.optimum(1, "x")
    at_identity = svm(gram(case.tensor(1, "x"), np.eye(problem.size)), case.margin)[0]
    assert result.value - optimum < 0.25 * (at_identity - optimum)
    if name == "low-rank":
        assert result.status is Status.CONVERGED


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 3),
    family=st.sampled_from([*BASES, (2, "x")]),
    C=st.floats(-1, 2).map(lambda e: 10.0**e),
    epsilon=st.sampled_from([None, 0.0, 0.1]),
    measure=st.booleans(),
)
def test_low_rank_agrees_with_the_semidefinite_program(seed, n, family, C, epsilon, measure):
    r = np.random.default_rng(seed)
    X = r.random((12, n))
    target = np.sin(5 * X[:, 0]) - X[:, -1] + 0.2 * r.standard_normal(12)
    signs = np.where(target > np.median(target), 1.0, -1.0)
    margin = classification(signs, C) if epsilon is None else regression(target, C, epsilon)
    G = tessellated_tensor(X, X, -0.4, 1.4, *family, measure)
    problem = learning(TessellatedKernel(-0.4, 1.4, *family, measure), X, margin)
    optimum, _ = by_weights(G, margin)
    result = low_rank.solve(problem, tol=1e-5)
    assert result.status is Status.CONVERGED
    assert result.value == pytest.approx(optimum, rel=1.2e-5)
    assert_bounds(result, optimum, rounding=1e-6)


def test_low_rank_learns_a_polynomial():
    kernel = GeneralizedPolynomial(-0.3, 1.3, 2, normalize_measure=False)
    result = low_rank.solve(learning(kernel, C1.X, C1.margin), tol=1e-5)
    optimum, _ = by_weights(polynomial_tensor(C1.X, C1.X, -0.3, 1.3, 2), C1.margin)
    assert result.status is Status.CONVERGED
    assert result.value == pytest.approx(optimum, rel=1.1e-5)


# What must not matter


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("basis", ["x", "xz"])
@every_case
def test_the_order_of_the_rows_does_not_matter(case, basis, seed):
    rows = np.random.default_rng(seed).permutation(len(case.y))
    result = low_rank.solve(problem_of(case, 1, basis, rows), tol=1e-5)
    assert result.value == pytest.approx(case.optimum(1, basis), rel=1.1e-5)
    assert_bounds(result, case.optimum(1, basis), rounding=4e-8)


def test_the_same_call_gives_the_same_bytes():
    first, second = (low_rank.solve(problem_of(R3, 1, "xz")) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    assert first.history == second.history


@pytest.mark.parametrize("C", [0.5, 5.0, 50.0])
def test_normalising_the_measure_is_another_c(C):
    volume = 1.6**2
    normal = problem_of(C1, measure=True, margin=classification(C1.y, C))
    paper = problem_of(C1, margin=classification(C1.y, C / volume))
    values = [low_rank.solve(problem, tol=1e-6).value for problem in (normal, paper)]
    assert values[0] == pytest.approx(volume * values[1], rel=2e-6)


@pytest.mark.parametrize("prox", [0.0, 0.01, 0.3, 3.0])
def test_the_proximal_term_does_not_change_the_optimum(prox):
    for case in (C1, R3):
        result = low_rank.solve(problem_of(case), prox=prox, tol=1e-4, max_iter=300)
        assert_bounds(result, case.optimum(1, "x"))
        assert result.value == pytest.approx(case.optimum(1, "x"), rel=1e-3)


def test_single_precision_gives_the_optimum_to_its_accuracy():
    problem = problem_of(C1, 1, "xz")
    single = KernelLearning(problem.kernel, problem.points, problem.margin, np.float32)
    result = low_rank.solve(single, tol=1e-3)
    assert result.status is Status.CONVERGED
    assert result.value == pytest.approx(C1.optimum(1, "xz"), rel=1.1e-3)


# Limits, callbacks, special cases


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 8, 13])
@every_solver
def test_no_more_svms_than_allowed(name, limit):
    calls = []

    def inner(dual, start, **options):
        calls.append(1)
        return smo.solve(dual, start, **options)

    result = SOLVERS[name](problem_of(R3, 1, "xz"), inner=inner, tol=1e-12, max_iter=limit)
    assert result.status is Status.MAX_ITER
    assert len(calls) == result.n_iter == len(result.history) == limit
    assert_bounds(result, R3.optimum(1, "xz"))


@pytest.mark.parametrize("stop", [1, 2, 3, 5, 6, 8])
@every_solver
def test_a_callback_stops_the_search(name, stop):
    seen = []

    def callback(progress):
        seen.append(progress)
        return len(seen) == stop

    result = SOLVERS[name](problem_of(R3, 1, "xz"), tol=1e-12, callback=callback)
    assert result.status is Status.STOPPED
    assert len(seen) == stop
    assert all(isinstance(progress, Progress) for progress in seen)
    assert_bounds(result, R3.optimum(1, "xz"))


@every_solver
def test_a_callback_that_returns_something_else_than_true_stops_nothing(name):
    seen = []
    result = SOLVERS[name](problem_of(C1), tol=0.5, callback=lambda p: seen.append(p) or 1)
    assert result.status is Status.CONVERGED
    assert seen


@every_solver
def test_a_tube_that_covers_all_targets_needs_no_p(name):
    problem = problem_of(R1, margin=regression(R1.y, 5.0, 10.0))
    result = SOLVERS[name](problem)
    assert result.status is Status.CONVERGED
    assert result.value == result.gap == 0
    assert result.n_iter == 1
    np.testing.assert_array_equal(result.certificate.w, 0)
    np.testing.assert_allclose(result.x @ result.x.T, np.eye(problem.size), atol=1e-12)


def optimum_of_two(G, difference, C):
    """w = (a, -a): max_a difference a - n_P/2 a^2 lambda_max(D(1, -1)), 0 <= a <= C."""
    curvature = len(G) * np.linalg.eigvalsh(quadratic(G, np.array([1.0, -1.0])))[-1]
    a = min(C, difference / curvature)
    return difference * a - curvature * a**2 / 2


@every_basis
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@every_solver
def test_two_points_have_a_closed_solution(name, C, degree, basis):
    X = np.array([[0.2, 0.9], [0.6, 0.3]])
    G = tessellated_tensor(X, X, -0.5, 1.5, degree, basis)
    kernel = TessellatedKernel(-0.5, 1.5, degree, basis, normalize_measure=False)
    labels, targets = classification([1.0, -1.0], C), regression([0.9, 0.1], C, 0.1)
    for margin, difference in ((labels, 2.0), (targets, 0.6)):
        result = SOLVERS[name](learning(kernel, X, margin), tol=1e-5)
        optimum = optimum_of_two(G, difference, C)
        assert_bounds(result, optimum)
        assert name != "low-rank" or result.value == pytest.approx(optimum, rel=1.1e-5)


@every_solver
def test_a_line_search_on_a_flat_objective(name):
    """Both points are so far from the border that all slopes are those of rounding."""
    X = np.array(
        [
            [0.316, 0.706, 0.114, 0.815, 0.883, 0.095, 0.456],
            [0.500, 0.486, 0.487, 0.586, 0.546, 0.253, 0.404],
        ]
    )
    kernel = TessellatedKernel(-2.0, 3.0, 0, "xz", normalize_measure=False)
    margin = regression([0.0117, 0.004], 1e5, 0.0)
    optimum = optimum_of_two(tessellated_tensor(X, X, -2.0, 3.0, 0, "xz"), 0.0077, 1e5)
    result = SOLVERS[name](learning(kernel, X, margin), tol=1e-3, max_iter=15)
    assert_bounds(result, optimum, rounding=1e-6)


@pytest.mark.parametrize("point", [0.3, 0.5])
@every_solver
def test_equal_points_with_opposite_labels_can_be_learned_nothing_of(name, point):
    """All w feasible have 1'w = 0 at one point, so K_P w = 0 for every P: the optimum is C m.

    D(w) is of the size of rounding at 0.3, on most processors, and zero at 0.5 on all.
    """
    y = np.array([1.0, -1.0, 1.0, -1.0])
    kernel = TessellatedKernel(-0.5, 1.5, 1, "x")
    result = SOLVERS[name](learning(kernel, np.full((4, 2), point), classification(y, 2.0)))
    assert result.status is Status.CONVERGED
    assert result.value == pytest.approx(8.0, rel=1e-6)


def test_where_no_p_changes_the_value_the_same_p_is_solved_again():
    """D(w) = 0 at a first w that is far from optimal, as w = (a, -a) is at one point for all a."""
    margin = classification([1.0, -1.0], 2.0)
    problem = learning(TessellatedKernel(-0.5, 1.5, 1, "x"), np.full((2, 2), 0.5), margin)
    calls = []

    def inner(dual, start, **options):
        calls.append(dual)
        result = smo.solve(dual, start, **options)
        share = 1.0 - 0.5 ** len(calls)
        w = share * result.x
        return replace(result, x=w, certificate=dual.certificate(w))

    result = primal_dual.solve(problem, inner=inner, tol=0.1)
    assert result.status is Status.CONVERGED
    assert result.n_iter == len(calls) == 4
    assert_bounds(result, 4.0)


@pytest.mark.parametrize("C", [1e-3, 1e4])
@every_case
def test_extreme_penalties(case, C):
    margin = case.margin
    other = classification(case.y, C) if not margin.epsilon else regression(case.y, C, 0.1)
    optimum, _ = by_weights(case.tensor(1, "x"), other)
    result = low_rank.solve(problem_of(case, margin=other), tol=1e-3)
    assert_bounds(result, optimum, rounding=1e-5)
    assert result.status is Status.CONVERGED
