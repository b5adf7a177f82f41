"""The SMO solver against scikit-learn, a generic convex solver and itself."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks.problems import make_speed_problem
from pliant.core.progress import Status
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual, svr_dual
from pliant.methods.svm.rows import DenseRows
from pliant.methods.svm.smo.block import WorkingBlock, active_set
from tests.methods.svm.svm_samples import classification, regression
from tests.reference import conic


def optimum_by_cvxpy(problem):
    """Solve the same problem with a generic solver."""
    K = problem.rows.gram
    beta = cp.Variable(len(problem.rows))
    epsilon = np.broadcast_to(problem.epsilon, problem.linear.shape)
    objective = problem.linear @ beta - epsilon @ cp.abs(beta)
    objective -= 0.5 * cp.quad_form(beta, cp.psd_wrap(K))
    if problem.quartic:
        root = np.linalg.cholesky(K * K + 1e-12 * np.eye(len(K)))
        square = cp.Variable(len(problem.rows), nonneg=True)
        objective -= 0.25 * problem.quartic * cp.sum_squares(root.T @ square)
        constraints = [cp.square(beta) <= square]
    else:
        constraints = []
    constraints += [beta >= problem.lower, beta <= problem.upper, cp.sum(beta) == 0]
    program = cp.Problem(cp.Maximize(objective), constraints)
    conic.solve(program)
    return program.value


@pytest.mark.parametrize("seed", range(10))
def test_svc_dual_agrees_with_scikit_learn(seed):
    X, y = classification(seed, n=60)
    K = rbf_kernel(X, gamma=1.0 + seed)
    C = 10.0 ** (seed % 4 - 1)
    result = smo.solve(svc_dual(DenseRows(K), y, C), tol=1e-10)
    peer = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
    beta = np.zeros(len(y))
    beta[peer.support_] = peer.dual_coef_[0]
    assert result.value == pytest.approx(np.abs(beta).sum() - 0.5 * beta @ K @ beta, rel=1e-6)
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.certificate.decision, peer.decision_function(K), atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("quartic", [0.0, 0.01, 0.5, 20.0])
@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_optimum_agrees_with_a_generic_convex_solver(kind, quartic, seed):
    if kind == "svc":
        X, y = classification(seed, n=25)
        C = np.random.default_rng(seed).uniform(0.5, 5.0, size=25)
        problem = svc_dual(DenseRows(rbf_kernel(X, gamma=3.0)), y, C).with_quartic(quartic)
    else:
        X, y = regression(seed, n=25)
        problem = svr_dual(DenseRows(rbf_kernel(X, gamma=3.0)), y, 4.0, 0.05).with_quartic(quartic)
    result = smo.solve(problem, tol=1e-10)
    assert result.value == pytest.approx(optimum_by_cvxpy(problem), rel=2e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    C=st.floats(1e-3, 1e4),
    quartic=st.sampled_from([0.0, 1e-4, 0.1, 10.0]),
    kind=st.sampled_from(["svc", "svr"]),
    max_iter=st.integers(0, 200),
)
def test_every_point_on_the_way_is_feasible_and_bounded_by_its_gap(
    seed, C, quartic, kind, max_iter
):
    if kind == "svc":
        X, y = classification(seed, n=20)
        problem = svc_dual(DenseRows(rbf_kernel(X)), y, C).with_quartic(quartic)
    else:
        X, y = regression(seed, n=20)
        problem = svr_dual(DenseRows(rbf_kernel(X)), y, C, 0.1).with_quartic(quartic)
    early = smo.solve(problem, max_iter=max_iter, tol=1e-8)
    late = smo.solve(problem, tol=1e-9, max_iter=200_000)
    slack = 1e-8 * (1 + abs(late.value))
    assert abs(early.x.sum()) <= 1e-9 * (1 + np.abs(early.x).sum())
    assert (problem.lower <= early.x).all()
    assert (early.x <= problem.upper).all()
    assert early.gap >= -slack
    assert early.value <= late.value + late.gap + slack
    assert late.value <= early.value + early.gap + slack
    assert np.all(np.diff(early.objectives) >= -slack)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), quartic=st.sampled_from([0.0, 0.1]))
def test_the_optimum_does_not_depend_on_row_order(seed, quartic):
    X, y = classification(seed, n=30)
    order = np.random.default_rng(seed).permutation(30)
    values = [
        smo.solve(
            svc_dual(DenseRows(rbf_kernel(A, gamma=2.0)), b, 3.0).with_quartic(quartic), tol=1e-8
        )
        for A, b in [(X, y), (X[order], y[order])]
    ]
    assert values[0].value == pytest.approx(values[1].value, rel=1e-7)


def large_problem(n=1500, quartic=0.0, dtype=np.float64):
    X, y = classification(3, n=n, d=6)
    return svc_dual(DenseRows(rbf_kernel(X, gamma=3.0).astype(dtype)), y, 8.0).with_quartic(quartic)


@pytest.mark.parametrize("quartic", [0.0, 1e-3])
def test_active_sets_reach_the_optimum_of_all_coordinates(quartic):
    problem = large_problem(quartic=quartic)
    result = smo.solve(problem, tol=1e-9)
    again = problem.certificate(result.x)
    assert again.gap <= 1e-9 * (1 + again.value)
    assert result.gap == again.gap
    block = WorkingBlock(problem, result.x, problem.fields(result.x))
    active = active_set(block, result.certificate.intercept, limit=len(problem.rows))
    assert active is not None
    assert active.size < len(problem.rows)


def test_warm_start_reaches_the_same_optimum_in_fewer_steps():
    X, y = make_speed_problem(1000)
    problem = svc_dual(DenseRows(rbf_kernel(X, gamma=3.0)), y, 8.0)
    cold = smo.solve(problem, tol=1e-6)
    c = 1 / (4 * cold.x @ cold.x)
    warm = smo.solve(problem.with_quartic(c), cold.x, tol=1e-6)
    plain = smo.solve(problem.with_quartic(c), tol=1e-6)
    assert warm.value == pytest.approx(plain.value, rel=2e-6)
    assert warm.n_iter < plain.n_iter


def test_iteration_limit_and_callback_stop_with_a_valid_certificate():
    problem = large_problem()
    short = smo.solve(problem, max_iter=50)
    assert short.status is Status.MAX_ITER
    assert short.n_iter == 50
    assert short.gap > 0
    seen = []
    stopped = smo.solve(problem, callback=lambda step: seen.append(step) or True)
    assert stopped.status is Status.STOPPED
    assert len(seen) == 1
    assert problem.certificate(stopped.x).gap == pytest.approx(stopped.gap)


def test_a_gram_that_is_not_psd_has_no_certificate():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    y = np.array([1.0, -1.0, 1.0])
    result = smo.solve(svc_dual(DenseRows(K), y, 1.0, psd=False))
    assert result.status is Status.UNCERTIFIED
    assert np.isnan(result.gap)


@pytest.mark.parametrize("quartic", [1e-3, 360.0, 1e6])
def test_one_step_finds_a_maximum_far_below_the_bounds(quartic):
    # opposite labels on one point: h = 2t - c t^4, for t up to C
    plain = svc_dual(DenseRows(np.ones((2, 2))), np.array([1.0, -1.0]), 1e13)
    problem = plain.with_quartic(quartic)
    step = (1.0 / (2.0 * quartic)) ** (1.0 / 3.0)
    np.testing.assert_allclose(smo.solve(problem, max_iter=1).x, [step, -step], rtol=1e-9)


def with_an_offset(kernel, n, offset, C, quartic, seed):
    """Return a problem with an offset so large that rounding errors exceed a gap of 1e-10."""
    X, y = regression(seed, n=n)
    K = {"linear": X @ X.T, "square": (1 + X @ X.T) ** 2, "gaussian": rbf_kernel(X, gamma=3.0)}
    return svr_dual(DenseRows(K[kernel]), y + offset, C, 0.01).with_quartic(quartic)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "settings",
    [
        ("gaussian", 200, 1e6, 400.0, 0.0),
        ("gaussian", 12, 1e9, 1.0, 0.0),
        ("square", 200, 1e6, 1.0, 0.0),
        ("square", 12, 1e9, 400.0, 0.01),
        ("linear", 12, 1e9, 400.0, 0.0),
    ],
    ids=str,
)
def test_a_run_ends_where_rounding_hides_the_optimum(settings, seed):
    problem = with_an_offset(*settings, seed)
    result = smo.solve(problem, tol=1e-10, callback=lambda step: step.n_iter > 2_000_000)
    assert result.status in (Status.STALLED, Status.CONVERGED)
    assert result.gap == problem.certificate(result.x).gap


@pytest.mark.parametrize("quartic", [0.0, 1e-3])
def test_the_last_word_is_not_left_to_fields_that_were_summed_step_by_step(quartic):
    problem = large_problem(n=600, quartic=quartic)
    ends = [
        smo.solve(problem, max_iter=299),
        smo.solve(problem, callback=lambda step: True),
        smo.solve(problem, violation=1e-3),
        smo.solve(problem, tol=1e-18),
    ]
    for result in ends:
        certificate = problem.certificate(result.x)
        assert (result.value, result.gap) == (certificate.value, certificate.gap)
        assert result.history[-1].gap == result.gap
