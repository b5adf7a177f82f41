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


def differences(w, v, phi, psi, y, alpha):
    """Return the central differences of (4), exact for any step as (4) is quadratic, and a scale.

    The scale is the largest term of the derivatives.
    """
    point, widest = np.concatenate([w, v]), max(np.linalg.norm(phi), np.linalg.norm(psi))
    step = 1 + np.linalg.norm(point)
    values = [
        [objective(*np.split(point + sign * move, 2), phi, psi, y, alpha) for sign in (1, -1)]
        for move in step * np.eye(len(point))
    ]
    return np.array([(up - down) / (2 * step) for up, down in values]), (alpha + widest**2) * step


@settings(deadline=None)
@given(seed=seeds, kind=st.sampled_from(["random", "local"]), alpha=ridges)
def test_theorem_1_the_derivatives_vanish(seed, kind, alpha):
    phi, psi = maps(seed, kind)
    y = np.random.default_rng(seed + 1).normal(size=8)
    w, v = stationary_point(phi, psi, y, alpha)
    slopes, scale = differences(w, v, phi, psi, y, alpha)
    assert np.abs(slopes).max() <= 1e-12 * scale
    away, scale = differences(w + 1e-3 * scale, v, phi, psi, y, alpha)
    assert np.abs(away).max() > 1e-5 * scale


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
