"""Stationary and inner product kernels against loops and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern as GaussianProcessMatern
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from pliant.kernels import TL1, Gaussian, Laplacian, Linear, Matern, Polynomial, Sigmoid
from tests.reference import naive_kernels as naive

X = np.random.default_rng(0).uniform(-1, 1, size=(8, 4))
Y = np.random.default_rng(1).uniform(-1, 1, size=(5, 4))

PAIRS = [
    (Gaussian(0.8), naive.gaussian(0.8)),
    (Laplacian(0.8), naive.laplacian(0.8)),
    (Matern(0.5, 0.8), naive.matern(0.5, 0.8)),
    (Matern(1.5, 0.8), naive.matern(1.5, 0.8)),
    (Matern(2.5, 0.8), naive.matern(2.5, 0.8)),
    (TL1(2.5), naive.tl1(2.5)),
]
GAMMAS = [0.3, 0.0, 2.0, 0.7]
OF_EACH = [
    (Gaussian(GAMMAS), naive.gaussian_of_each(GAMMAS)),
    (Laplacian(GAMMAS), naive.laplacian_of_each(GAMMAS)),
    (Matern(0.5, GAMMAS), naive.matern_of_each(0.5, GAMMAS)),
    (Matern(1.5, GAMMAS), naive.matern_of_each(1.5, GAMMAS)),
    (Matern(2.5, GAMMAS), naive.matern_of_each(2.5, GAMMAS)),
]
with_gamma_of_each = pytest.mark.parametrize(
    ("kernel", "twin"), OF_EACH, ids=lambda k: repr(k)[:15]
)
every_pair = pytest.mark.parametrize(("kernel", "twin"), PAIRS, ids=lambda k: repr(k)[:15])


@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0])
def test_values_agree_with_scikit_learn(gamma):
    np.testing.assert_allclose(Gaussian(gamma)(X, Y), rbf_kernel(X, Y, gamma=gamma), rtol=1e-12)
    peer = laplacian_kernel(X, Y, gamma=gamma)
    np.testing.assert_allclose(Laplacian(gamma)(X, Y), peer, rtol=1e-12)
    for nu in (0.5, 1.5, 2.5):
        of_length = GaussianProcessMatern(length_scale=1 / np.sqrt(2 * gamma), nu=nu)
        np.testing.assert_allclose(Matern(nu, gamma)(X, Y), of_length(X, Y), rtol=1e-12)


@every_pair
@given(
    x=st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    y=st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
)
@settings(max_examples=50, deadline=None)
def test_values_lie_between_zero_and_the_value_at_distance_zero(kernel, twin, x, y):
    value = kernel([x], [y])[0, 0]
    assert 0.0 <= value <= twin(x, x)
    assert value == pytest.approx(twin(x, y), abs=1e-9)


@every_pair
def test_the_diagonal_of_one_set_of_points_is_exact(kernel, twin):
    points = 1e3 * X + 1e6
    np.testing.assert_array_equal(np.diagonal(kernel(points)), kernel.diag(points))
    np.testing.assert_array_equal(kernel.diag(points), [twin(x, x) for x in points])


def test_the_truncated_kernel_is_not_psd_and_says_so():
    assert not TL1().psd
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=float)
    points = np.concatenate([corners, corners.mean(axis=0, keepdims=True)])
    assert np.linalg.eigvalsh(TL1(0.7 * 3)(points))[0] < -1e-3


@pytest.mark.parametrize("far", [1e6, 1e10, 1e100])
def test_one_point_far_out_does_not_spoil_the_others(far):
    X = np.random.default_rng(0).standard_normal((50, 3))
    near = Gaussian(1.0)(X)
    X[0, 0] = far
    gram = Gaussian(1.0)(X)
    np.testing.assert_allclose(gram[1:, 1:], near[1:, 1:], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(gram[0], np.eye(50)[0])
    assert np.linalg.eigvalsh(gram)[0] > -1e-8


@with_gamma_of_each
def test_each_feature_may_have_its_own_gamma(kernel, twin):
    np.testing.assert_allclose(kernel(X, Y), naive.gram_by_loops(twin, X, Y), rtol=1e-12)
    np.testing.assert_allclose(kernel(X), naive.gram_by_loops(twin, X, X), rtol=1e-12)
    np.testing.assert_array_equal(kernel.diag(X), np.ones(len(X)))


@with_gamma_of_each
@given(
    gammas=st.lists(st.floats(1e-6, 1e6), min_size=4, max_size=4),
    seed=st.integers(0, 99),
)
@settings(max_examples=50, deadline=None)
def test_a_gamma_of_each_feature_is_a_scale_of_each_feature(kernel, twin, gammas, seed):
    one = clone(kernel).set_params(gamma=1.0)
    factors = np.sqrt(gammas) if not isinstance(kernel, Laplacian) else np.array(gammas)
    points = np.random.default_rng(seed).standard_normal((5, 4)) / factors
    expected = one(points * factors)
    each = clone(kernel).set_params(gamma=gammas)
    np.testing.assert_allclose(each(points), expected, rtol=0, atol=1e-12)


def test_a_gaussian_with_gammas_is_made_ready_for_many_calls():
    kernel, rows = Gaussian(GAMMAS), np.array([3, 1])
    between = kernel.prepared(X)
    np.testing.assert_allclose(between(rows, slice(None)), kernel(X[rows], X), rtol=1e-13)
    assert kernel.prepared(1e9 * X) is None


@with_gamma_of_each
def test_gammas_must_fit_the_features(kernel, twin):
    name = type(kernel).__name__
    for bad, expected in (
        ([1.0, 2.0], rf"expected {name}\(gamma=\.\.\.\) of shape \(4,\), got \(2,\)"),
        ([1.0, -2.0, 1.0, 1.0], r">= 0, got -2\.0 for feature 1"),
        ([0.0] * 4, r"> 0 for at least one feature, got all zeros"),
        ([1.0, np.nan, 1.0, 1.0], r"expected finite numbers in .*, got nan at index 1"),
        (["1", "2", "3", "4"], rf"expected {name}\(gamma=\.\.\.\) to hold numbers"),
    ):
        with pytest.raises(ValueError, match=expected):
            clone(kernel).set_params(gamma=bad)(X, Y)


# Kernels of the inner product


def test_linear_is_the_inner_product():
    np.testing.assert_allclose(Linear()(X, Y), linear_kernel(X, Y), rtol=1e-14)
    np.testing.assert_allclose(Linear().diag(X), (X**2).sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 7])
@pytest.mark.parametrize(("gamma", "coef0"), [(0.1, 0.0), (3.0, 0.5)])
def test_polynomial_agrees_with_scikit_learn(degree, gamma, coef0):
    gram = Polynomial(degree, gamma, coef0)(X, Y)
    peer = polynomial_kernel(X, Y, degree=degree, gamma=gamma, coef0=coef0)
    np.testing.assert_allclose(gram, peer, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("coef0", [-1.0, 0.0, 0.5])
def test_the_sigmoid_agrees_with_scikit_learn(coef0):
    kernel = Sigmoid(0.3, coef0)
    np.testing.assert_allclose(kernel(X, Y), sigmoid_kernel(X, Y, 0.3, coef0), rtol=1e-13)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (Polynomial(2.5), r"expected Polynomial\(degree=\.\.\.\) >= 1, an integer, got 2\.5"),
        (Polynomial(2, 1.0, -1e-9), r"expected Polynomial\(coef0=\.\.\.\) >= 0, .* got -1e-09"),
    ],
)
def test_hyper_parameters_of_a_polynomial_are_checked(kernel, said):
    with pytest.raises(ValueError, match=said):
        kernel(X)
