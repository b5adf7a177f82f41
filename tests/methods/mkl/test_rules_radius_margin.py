"""The ratio of radius and margin: a conic solver, the certificate, hostile kernels."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.kernels import Gaussian
from pliant.methods.mkl.grams import Grams
from pliant.methods.mkl.radius_margin import FINE, IMPATIENCE, radius_margin
from pliant.methods.svm.hulls import closest_hulls, smallest_ball
from tests.reference import conic
from tests.reference import naive_kernel_weights as naive
from tests.reference.mkl_conic import svc_data


def smooth(seed):
    """Gaussians, for which the ratio has a gradient."""
    X, y = svc_data(seed)
    return naive.gaussians(X), y


def kinked(seed):
    """Kernels of rank one, and a quadratic one: the ratio has kinks."""
    r = np.random.default_rng(seed)
    X = r.standard_normal((30, 4))
    f = X[:, 0] + X[:, 1] - 0.5 * X[:, 2]
    X, y = X[np.abs(f) > 0.6], np.sign(f[np.abs(f) > 0.6])
    return [*(np.outer(x, x) for x in X.T), (1 + X @ X.T) ** 2], y


def conic_optimum(kernels, y):
    """min_d R^2/margin^2, and the weights, from one conic program.

    With h = t g the lower bounds r_m(a) >= t^2 s_m(g) are convex; the largest t^2 is the smallest
    R^2 / (4 margin^2), and d are the multipliers.
    """
    n = len(y)
    h, a = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    t = cp.Variable()
    bounds = []
    for K in kernels:
        L = naive.root_of(K)
        spent = cp.sum_squares(L @ a) + cp.sum_squares((L * y) @ h)
        bounds.append(spent <= K.diagonal() @ a)
    sums = [cp.sum(a) == 1, cp.sum(h[y > 0]) == t, cp.sum(h[y < 0]) == t]
    conic.solve(cp.Problem(cp.Maximize(t), [*sums, *bounds]))
    d = np.array([float(np.sum(bound.dual_value)) for bound in bounds])
    return 4.0 * float(t.value) ** 2, d / d.sum()


def ratio(kernels, y, d):
    K = sum(weight * each for weight, each in zip(d, kernels, strict=True))
    distance2 = closest_hulls(K, y).value
    return 4.0 * smallest_ball(K).radius2 / distance2 if distance2 > 0.0 else np.inf


@pytest.mark.parametrize("data", [smooth, kinked])
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_a_conic_solver(data, seed):
    kernels, y = data(seed)
    found = radius_margin(Grams.of_arrays(kernels), y, tol=1e-6)
    value, weights = conic_optimum(kernels, y)
    assert found.value == pytest.approx(value, rel=2e-6)
    assert found.value - found.gap <= value * (1 + 1e-6)
    assert found.gap <= 1e-6 * found.value
    np.testing.assert_allclose(found.weights, weights, rtol=0, atol=5e-3)
    assert ratio(kernels, y, found.weights) == pytest.approx(found.value, rel=1e-7)


def test_more_accuracy_than_floats_have_ends_soon():
    kernels, y = smooth(0)
    calls = []
    found = radius_margin(Grams.of_arrays(kernels), y, tol=1e-15, callback=calls.append)
    fine = sum(call.gap <= FINE * call.objective for call in calls)
    assert found.gap <= FINE * found.value
    assert fine <= 5 * IMPATIENCE


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_no_weights_are_below_the_bound(seed):
    kernels, y = kinked(seed)
    found = radius_margin(Grams.of_arrays(kernels), y, tol=1e-3)
    r = np.random.default_rng(seed)
    for d in [*r.dirichlet(np.ones(5), 10), *r.dirichlet(np.full(5, 0.1), 10), *np.eye(5)[4:]]:
        assert ratio(kernels, y, d) >= (found.value - found.gap) * (1 - 1e-8)
    assert found.gap <= 1e-3 * found.value


def test_permuted_scaled_and_equal_kernels():
    kernels, y = smooth(5)
    found = radius_margin(Grams.of_arrays(kernels), y, tol=1e-7)
    order = [3, 0, 4, 2, 1]
    permuted = radius_margin(Grams.of_arrays([kernels[m] for m in order]), y, tol=1e-7)
    assert permuted.value == pytest.approx(found.value, rel=1e-7)
    np.testing.assert_allclose(permuted.weights, found.weights[order], rtol=0, atol=1e-3)

    scales = np.array([1e-6, 1.0, 30.0, 1e4, 1e8])
    scaled = radius_margin(
        Grams.of_arrays([c * K for c, K in zip(scales, kernels, strict=True)]), y, tol=1e-7
    )
    assert scaled.value == pytest.approx(found.value, rel=1e-7)
    part = scaled.weights * scales
    np.testing.assert_allclose(part / part.sum(), found.weights, rtol=0, atol=1e-3)

    twice = radius_margin(Grams.of_arrays([*kernels, kernels[-1]]), y, tol=1e-7)
    assert twice.value == pytest.approx(found.value, rel=1e-7)
    assert twice.weights[-1] == pytest.approx(twice.weights[-2], abs=1e-9)
    assert twice.weights[-2:].sum() == pytest.approx(found.weights[-1], abs=1e-3)


def test_samples_of_sign_zero_are_left_out():
    kernels, y = smooth(6)
    y[::4] = 0.0
    rows = np.flatnonzero(y)
    found = radius_margin(Grams.of_arrays(kernels), y)
    own = radius_margin(Grams.of_arrays([K[np.ix_(rows, rows)] for K in kernels]), y[rows])
    assert found.value == pytest.approx(own.value, rel=1e-9)
    np.testing.assert_allclose(found.weights, own.weights, rtol=0, atol=1e-6)


def test_constant_and_zero_kernels_have_no_weight():
    kernels, y = smooth(7)
    found = radius_margin(Grams.of_arrays(kernels), y)
    constant = [np.full((24, 24), 0.3), np.zeros((24, 24))]
    more = radius_margin(Grams.of_arrays([*constant, *kernels]), y)
    assert more.weights[:2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(more.weights[2:], found.weights, rtol=0, atol=1e-9)


def test_one_kernel():
    kernels, y = smooth(8)
    steps = []
    found = radius_margin(Grams.of_arrays(kernels[3:4]), y, callback=steps.append)
    assert found.weights.tolist() == [1.0]
    assert found.value == pytest.approx(ratio(kernels[3:4], y, [1.0]), rel=1e-8)
    assert found.gap <= 1e-4 * found.value
    assert len(steps) <= 5


def test_two_points():
    kernels = [np.array([[1.0, c], [c, 1.0]]) for c in (0.1, 0.9)]
    found = radius_margin(Grams.of_arrays(kernels), np.array([1.0, -1.0]))
    assert found.value == pytest.approx(1.0, rel=1e-9)  # the ball has the two points as a diameter


def test_float32_is_certified_to_fewer_digits():
    X, y = svc_data(9)
    kernels = [Gaussian(gamma) for gamma in (0.1, 0.5, 2.0, 8.0, 32.0)]
    exact = radius_margin(Grams(kernels, X, 10.0), y)
    halves = radius_margin(Grams(kernels, X, 5 * 5.0 * 24**2 / 2**20), y)
    assert halves.value == pytest.approx(exact.value, rel=2e-4)


def test_a_limit_and_a_callback_end_the_run_with_a_larger_gap():
    kernels, y = smooth(10)
    grams = Grams.of_arrays(kernels)
    best = radius_margin(grams, y, tol=1e-6).value
    steps = []
    limited = radius_margin(grams, y, tol=1e-9, max_iter=3, callback=steps.append)
    assert [step.n_iter for step in steps] == [1, 2, 3]
    assert limited.gap > 1e-9 * limited.value
    assert limited.value - limited.gap <= best <= limited.value
    stopped = radius_margin(grams, y, tol=1e-9, callback=lambda step: step.n_iter == 2)
    assert stopped.value - stopped.gap <= best <= stopped.value
    assert stopped.weights.sum() == pytest.approx(1.0)


def test_equal_points_with_different_labels_are_refused():
    X, y = svc_data(11)
    X[17], y[17] = X[4], -y[4]
    with pytest.raises(ValueError, match=r"samples 4 and 17 are equal for all kernels.*'easy'"):
        radius_margin(Grams.of_arrays(naive.gaussians(X)), y)


def test_classes_that_no_kernel_separates_are_refused():
    X, y = svc_data(12)
    kernels = [np.outer(x, x) for x in X.T]
    with pytest.raises(ValueError, match="the convex hulls of the classes meet; choose weights"):
        radius_margin(Grams.of_arrays(kernels), y)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_only_constant_kernels_are_refused(value):
    y = np.array([1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match="samples 0 and 2 are equal"):
        radius_margin(Grams.of_arrays([np.full((3, 3), value)]), y)
