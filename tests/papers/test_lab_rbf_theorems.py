"""Theorems 1 and 3 and Corollary 2 of the LAB-RBF paper, with explicit feature maps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge

from pliant import AsymmetricKernelRidge
from pliant.kernels import Gaussian, Kernel, Laplacian, Linear, Matern

seeds = st.integers(0, 10**6)
ridges = st.sampled_from([1e-2, 0.3, 1.0, 25.0])


class LocalGaussian(Kernel):
    """Return exp(-|theta_i o (t - c_i)|^2) with a bandwidth vector for each centre."""

    symmetric = False
    psd = False

    def __init__(self, centres, bandwidths):
        self.centres = centres
        self.bandwidths = bandwidths

    def _gram(self, X, Y):
        if not np.array_equal(Y, self.centres):
            raise ValueError("bandwidths belong to the support points")
        return np.exp(-((self.bandwidths * (X[:, None] - Y)) ** 2).sum(axis=2))


def objective(w, v, phi, psi, y, alpha):
    """Return equation (4), term by term."""
    first, second = phi.T @ w, psi.T @ v
    return (
        alpha * w @ v
        + 0.5 * np.sum((first - y) ** 2)
        + 0.5 * np.sum((second - y) ** 2)
        - 0.5 * np.sum((second - first) ** 2)
    )


def gradients(w, v, phi, psi, y, alpha):
    """Return the derivatives of equation (4) with respect to w and v."""
    first, second = phi.T @ w, psi.T @ v
    return (
        alpha * v + phi @ (first - y) + phi @ (second - first),
        alpha * w + psi @ (second - y) - psi @ (second - first),
    )


def maps(seed, kind, n=8):
    """Return feature maps phi and psi of n points, one column per point."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        n_features = int(rng.integers(2, 15))
        return rng.normal(size=(2, n_features, n))
    X, bandwidths = rng.uniform(-1, 1, size=(n, 2)), rng.uniform(0.3, 4.0, size=(n, 2))
    return LocalGaussian(X, bandwidths)(X, X.copy()).T, np.eye(n)  # phi = K', psi = I


def stationary_point(phi, psi, y, alpha):
    model = AsymmetricKernelRidge("precomputed", alpha).fit(phi.T @ psi, y)
    return psi @ model.dual_coef_, phi @ model.second_dual_coef_


def size_of_terms(w, v, phi, psi, y, alpha):
    """Return the largest term of the gradients, the scale of their rounding errors."""
    norm = np.linalg.norm
    widest = max(norm(phi), norm(psi))
    return alpha * (norm(w) + norm(v)) + widest * (norm(phi.T @ w) + norm(psi.T @ v) + norm(y))


@settings(deadline=None)
@given(seed=seeds, kind=st.sampled_from(["random", "local"]), alpha=ridges)
def test_theorem_1_the_gradients_vanish(seed, kind, alpha):
    phi, psi = maps(seed, kind)
    y = np.random.default_rng(seed + 1).normal(size=8)
    w, v = stationary_point(phi, psi, y, alpha)
    parts = gradients(w, v, phi, psi, y, alpha)
    assert max(map(np.linalg.norm, parts)) <= 1e-12 * size_of_terms(w, v, phi, psi, y, alpha)


def differences(w, v, phi, psi, y, alpha, step):
    """Central differences of the quadratic (4) are exact for any step."""
    point = np.concatenate([w, v])
    moves = step * np.eye(len(point))
    values = [
        [objective(*np.split(point + sign * move, 2), phi, psi, y, alpha) for sign in (1, -1)]
        for move in moves
    ]
    return np.array([(up - down) / (2 * step) for up, down in values])


@pytest.mark.parametrize("kind", ["random", "local"])
@pytest.mark.parametrize("alpha", [0.1, 2.0])
def test_theorem_1_by_differences_of_the_objective(kind, alpha):
    phi, psi = maps(7, kind)
    y = np.random.default_rng(8).normal(size=8)
    w, v = stationary_point(phi, psi, y, alpha)
    size = size_of_terms(w, v, phi, psi, y, alpha)
    assert np.abs(differences(w, v, phi, psi, y, alpha, 0.1)).max() <= 1e-12 * size
    away = differences(w + 0.1, v, phi, psi, y, alpha, 0.1)
    np.testing.assert_allclose(
        away, np.concatenate(gradients(w + 0.1, v, phi, psi, y, alpha)), atol=1e-11 * size
    )
    assert np.abs(away).max() > 1e-3 * size


def test_the_stationary_point_is_no_minimum():
    phi, psi = maps(3, "random")
    y = np.random.default_rng(4).normal(size=8)
    w, v = stationary_point(phi, psi, y, 0.5)
    here = objective(w, v, phi, psi, y, 0.5)
    mixed = 0.5 * np.eye(len(w)) + phi @ psi.T  # the Hessian is [[0, mixed], [mixed', 0]]
    left, _, right = np.linalg.svd(mixed)
    u, z = left[:, 0], right[0]
    assert objective(w + u, v + z, phi, psi, y, 0.5) > here
    assert objective(w + u, v - z, phi, psi, y, 0.5) < here


@settings(deadline=None)
@given(seed=seeds, kind=st.sampled_from(["random", "local"]), alpha=ridges)
def test_theorem_3_each_multiplier_is_the_residual_of_the_other(seed, kind, alpha):
    phi, psi = maps(seed, kind)
    K, y = phi.T @ psi, np.random.default_rng(seed + 1).normal(size=8)
    model = AsymmetricKernelRidge("precomputed", alpha).fit(K, y)
    tolerance = 1e-14 * model.condition_ * np.linalg.norm(y)
    beta = alpha * np.linalg.solve(K + alpha * np.eye(8), y)
    a = alpha * np.linalg.solve(K.T + alpha * np.eye(8), y)
    w, v = psi @ beta / alpha, phi @ a / alpha
    scale = 1 + np.linalg.norm(K, 2) / alpha
    for e in (model.residuals_, model.second_multipliers_, y - model.predict(K), y - phi.T @ w):
        np.testing.assert_allclose(e, beta, rtol=0, atol=tolerance * scale)
    for r in (model.second_residuals_, model.multipliers_, y - model.predict_second(K.T)):
        np.testing.assert_allclose(r, a, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(y - psi.T @ v, a, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(0.5), Matern(2.5, 0.6), Linear()])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_corollary_2_a_symmetric_kernel_is_kernel_ridge(kernel, alpha):
    rng = np.random.default_rng(0)
    X, y, new = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)), rng.normal(size=(15, 3))
    ours = AsymmetricKernelRidge(kernel, alpha).fit(X, y)
    theirs = KernelRidge(alpha=alpha, kernel="precomputed").fit(kernel(X), y)
    expected = theirs.predict(kernel(new, X))
    np.testing.assert_allclose(ours.predict(new), expected, atol=1e-10)
    np.testing.assert_allclose(ours.predict_second(new), expected, atol=1e-10)
    np.testing.assert_allclose(ours.dual_coef_, ours.second_dual_coef_, rtol=1e-10, atol=1e-10)


@settings(deadline=None)
@given(seed=seeds, alpha=ridges)
def test_equal_rows_get_coefficients_that_differ_by_their_targets(seed, alpha):
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-1, 1, size=(9, 2)), rng.normal(size=9)
    i, j = rng.choice(9, size=2, replace=False)
    X[i] = X[j]
    bandwidths = rng.uniform(0.3, 3.0, size=X.shape)  # different bandwidths for i and j
    model = AsymmetricKernelRidge(LocalGaussian(X, bandwidths), alpha).fit(X, y)
    c = model.dual_coef_
    atol = 1e-13 * (np.abs(y).max() + np.abs(c).sum() * (1 + alpha)) / alpha
    assert c[i] - c[j] == pytest.approx((y[i] - y[j]) / alpha, rel=0, abs=atol)
