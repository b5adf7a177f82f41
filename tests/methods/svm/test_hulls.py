"""The smallest enclosing ball and the closest points of two hulls, against a conic solver."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from pliant.kernels import Gaussian, Linear
from pliant.methods.svm.hulls import closest_hulls, smallest_ball
from tests.reference import conic

RNG = np.random.default_rng


def root_of(gram):
    """A with A'A = gram, to state convex problems for a conic solver."""
    values, vectors = np.linalg.eigh(gram)
    return (vectors * np.sqrt(np.maximum(values, 0.0))).T


def cvxpy_ball(gram):
    A = root_of(gram)
    centre, radius2 = cp.Variable(len(A)), cp.Variable()
    fits = [cp.sum_squares(A[:, i] - centre) <= radius2 for i in range(len(A))]
    problem = cp.Problem(cp.Minimize(radius2), fits)
    conic.solve(problem, (1e-11, 1e-10, 1e-9, 1e-8))
    return radius2.value


def cvxpy_hulls(gram, signs, lam):
    A = root_of(gram) * signs
    g = cp.Variable(len(A), nonneg=True)
    problem = cp.Problem(
        cp.Minimize((1 - lam) * cp.sum_squares(A @ g) + lam * cp.sum_squares(g)),
        [cp.sum(g[signs > 0]) == 1, cp.sum(g[signs < 0]) == 1],
    )
    conic.solve(problem, (1e-11, 1e-10, 1e-9, 1e-8))
    return problem.value


def case(seed, n=25):
    """Points, labels that a rough kernel separates, and three Gram matrices."""
    r = RNG(seed)
    X = r.standard_normal((n, 3))
    signs = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * r.standard_normal(n) > 0.4, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    moved = X + 2.0 * signs[:, None]
    return signs, {"rough": Gaussian(2.0)(X), "smooth": Gaussian(0.1)(X), "linear": Linear()(moved)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", ["rough", "smooth", "linear"])
def test_the_ball_is_that_of_a_conic_solver(seed, kernel):
    gram = case(seed)[1][kernel]
    ball = smallest_ball(gram)
    np.testing.assert_allclose(ball.radius2, cvxpy_ball(gram), rtol=1e-6)
    assert 0.0 <= ball.gap <= 1e-9 * ball.radius2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lam", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("kernel", ["rough", "smooth", "linear"])
def test_the_hulls_are_those_of_a_conic_solver(seed, lam, kernel):
    signs, grams = case(seed)
    hulls = closest_hulls(grams[kernel], signs, lam)
    expected = cvxpy_hulls(grams[kernel], signs, lam)
    np.testing.assert_allclose(hulls.value, expected, rtol=1e-6, atol=1e-8)
    assert 0.0 <= hulls.gap <= max(1e-9 * hulls.value, 1e-13)


def test_the_problem_of_easymkl_has_its_reference_values():
    r = RNG(0)
    X = r.uniform(size=(24, 3))
    y = np.sign(np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + 0.3 * r.standard_normal(24) - 0.3)
    grams = [Gaussian(gamma)(X) for gamma in (0.1, 0.5, 2.0, 8.0, 32.0)]
    expected = {
        0.1: (0.5014218668, [0.01222825, 0.05662485, 0.15588698, 0.26507869, 0.51018124]),
        0.5: (0.4314458283, [0.02002435, 0.08848997, 0.22391407, 0.30194766, 0.36562395]),
    }
    for lam, (value, weights) in expected.items():
        hulls = closest_hulls(sum(grams), y, lam)
        b = y * hulls.weights
        parts = np.array([b @ gram @ b for gram in grams])
        np.testing.assert_allclose(hulls.value, value, atol=1e-10)
        np.testing.assert_allclose(parts / parts.sum(), weights, atol=1e-8)


def test_the_gap_and_the_value_are_those_of_the_weights():
    signs, grams = case(3)
    K = grams["smooth"]
    for rounds in (1, 2, 1000):
        ball = smallest_ball(K, max_rounds=rounds)
        g = ball.weights
        distances = K.diagonal() - 2 * K @ g + g @ K @ g
        np.testing.assert_allclose(ball.radius2, K.diagonal() @ g - g @ K @ g, rtol=1e-10)
        np.testing.assert_allclose(ball.radius2 + ball.gap, distances.max(), rtol=1e-10)
        hulls = closest_hulls(K, signs, 0.2, max_rounds=rounds)
        g = hulls.weights
        value = 0.8 * (signs * g) @ K @ (signs * g) + 0.2 * g @ g
        np.testing.assert_allclose(hulls.value, value, rtol=1e-10)
        best = closest_hulls(K, signs, 0.2).value
        assert hulls.value - hulls.gap <= best * (1 + 1e-12) <= hulls.value * (1 + 2e-12)
        for part in (ball.weights.sum(), g[signs > 0].sum(), g[signs < 0].sum()):
            np.testing.assert_allclose(part, 1.0, rtol=1e-14)
        assert min(ball.weights.min(), g.min()) >= 0.0


def test_the_distance_is_twice_the_margin_of_a_machine_without_slack():
    signs, grams = case(4, n=60)
    machine = SVC(kernel="precomputed", C=1e9, tol=1e-9).fit(grams["rough"], signs)
    b = machine.dual_coef_[0]
    support = np.ix_(machine.support_, machine.support_)
    width = 2.0 / np.sqrt(b @ grams["rough"][support] @ b)
    hulls = closest_hulls(grams["rough"], signs)
    np.testing.assert_allclose(np.sqrt(hulls.value), width, rtol=1e-6)


@pytest.mark.parametrize("n", [300, 700])
def test_more_points_and_flat_kernels_are_solved_to_the_last_digits(n):
    signs, grams = case(5, n=n)
    for gram in grams.values():
        ball = smallest_ball(gram)
        assert ball.gap <= 1e-9 * ball.radius2
        for lam in (0.1, 0.5):
            hulls = closest_hulls(gram, signs, lam)
            assert hulls.gap <= 1e-9 * hulls.value


def test_hulls_that_meet_have_no_certified_distance():
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    hulls = closest_hulls(Linear()(X), np.array([1.0, 1.0, -1.0, -1.0]))
    assert hulls.value <= 1e-14
    assert hulls.gap == hulls.value
    X = RNG(0).standard_normal((200, 3))
    hulls = closest_hulls(Linear()(X), np.where(RNG(1).random(200) > 0.5, 1.0, -1.0))
    assert hulls.value <= 1e-13
    assert hulls.gap == hulls.value


def test_points_without_extent_and_single_points():
    for n in (1, 5):
        ball = smallest_ball(np.full((n, n), 0.3))
        assert ball.radius2 <= 1e-15
        np.testing.assert_allclose(ball.weights.sum(), 1.0)
    gram = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert smallest_ball(gram).radius2 == pytest.approx(0.5, rel=1e-12)
    hulls = closest_hulls(gram, np.array([1.0, -1.0]))
    assert hulls.value == pytest.approx(2.0, rel=1e-12)
    assert hulls.weights.tolist() == [1.0, 1.0]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-6, 1e6), st.floats(0.0, 100.0))
def test_scale_shift_and_order(seed, scale, shift):
    signs, grams = case(seed, n=15)
    gram, order = grams["rough"], RNG(seed).permutation(15)
    changed = (scale * (gram + shift))[np.ix_(order, order)]
    before, after = smallest_ball(gram), smallest_ball(changed)
    np.testing.assert_allclose(after.radius2, scale * before.radius2, rtol=1e-8)
    before, after = closest_hulls(gram, signs), closest_hulls(changed, signs[order])
    np.testing.assert_allclose(after.value, scale * before.value, rtol=1e-7)


def test_a_start_is_used():
    signs, grams = case(6, n=80)
    for kernel in ("rough", "smooth"):
        ball = smallest_ball(grams[kernel])
        again = smallest_ball(grams[kernel], start=ball.weights, max_rounds=1)
        assert again.gap <= 2e-9 * again.radius2
        hulls = closest_hulls(grams[kernel], signs, 0.1)
        again = closest_hulls(grams[kernel], signs, 0.1, start=hulls.weights, max_rounds=1)
        assert again.gap <= 2e-9 * again.value
        zeros = closest_hulls(grams[kernel], signs, 0.1, start=np.zeros(80))
        np.testing.assert_allclose(zeros.value, hulls.value, rtol=1e-8)


def test_the_matrix_is_not_changed():
    signs, grams = case(7)
    gram = grams["rough"].copy()
    smallest_ball(gram)
    closest_hulls(gram, signs, 0.3)
    np.testing.assert_array_equal(gram, grams["rough"])
