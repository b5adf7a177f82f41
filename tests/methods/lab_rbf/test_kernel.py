"""LocalRBFKernel and Warp, compared to slow twins and formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import AsymmetricKernelRidge, LABRBFRegressor
from pliant.methods.lab_rbf import kernel as lab_rbf_kernel
from pliant.methods.lab_rbf.kernel import PROFILES, WARPS, LocalRBFKernel, Warp
from tests.reference import naive_local as naive

profiles = st.sampled_from(sorted(PROFILES))


def points(n=6, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, size=(n, d)), rng.uniform(0.05, 3.0, size=(n, d))


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), profile=profiles, n=st.integers(1, 7), offset=st.floats(-50, 50))
def test_kernel_matches_the_slow_twin(seed, profile, n, offset):
    centres, bandwidths = points(n, seed=seed)
    X = points(5, seed=seed + 1)[0]
    kernel = LocalRBFKernel(centres + offset, bandwidths, profile)
    values = kernel(X + offset, centres + offset)
    expected = naive.kernel(X, centres, bandwidths**2, profile)
    assert values.shape == (5, n)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("width", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_diagonal_is_one(profile, offset, width):
    centres = points(20)[0] + offset
    kernel = LocalRBFKernel(centres, np.full(centres.shape, width), profile)
    for diagonal in (kernel(centres, centres.copy()).diagonal(), kernel.diag(centres)):
        np.testing.assert_allclose(diagonal, 1.0, rtol=0, atol=1e-10)


def test_bandwidth_of_zero_ignores_a_feature():
    centres, bandwidths = points()
    X = points(5, seed=1)[0]
    bandwidths[:, 1] = 0.0
    kernel = LocalRBFKernel(centres, bandwidths)
    without = LocalRBFKernel(centres[:, [0, 2]], bandwidths[:, [0, 2]])
    moved = X + np.array([0.0, 1e3, 0.0])
    expected = without(X[:, [0, 2]], centres[:, [0, 2]])
    np.testing.assert_allclose(kernel(X, centres), expected, atol=1e-14)
    np.testing.assert_allclose(kernel(moved, centres), expected, atol=1e-14)


def test_second_argument_must_be_the_centres():
    centres, bandwidths = points()
    kernel, message = LocalRBFKernel(centres, bandwidths), "bandwidths belong to the support points"
    for other in (centres + 0.1, centres[:3], centres[::-1], np.nextafter(centres, 9.0)):
        with pytest.raises(ValueError, match=rf"{message}.* as Y, got {len(other)} other points"):
            kernel(centres, other)
        for call in (kernel, kernel.diag):
            with pytest.raises(ValueError, match=message):
                call(other)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_asymmetric_kernel_ridge(profile):
    centres, bandwidths = points(20)
    X, y = points(7, seed=1)[0], np.sin(centres[:, 0])
    model = AsymmetricKernelRidge(LocalRBFKernel(centres, bandwidths, profile), 0.3)
    model.fit(centres, y)
    K = naive.kernel(centres, centres, bandwidths**2, profile)
    c = np.linalg.solve(K + 0.3 * np.eye(20), y)
    expected = naive.kernel(X, centres, bandwidths**2, profile) @ c
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="bandwidths belong to the support points"):
        model.predict_second(X)


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("scale", ["raw", "log"])
def test_product_with_coefficients_in_blocks(monkeypatch, profile, scale):
    centres, bandwidths = (np.exp(part) for part in points(9))
    X = np.exp(points(50, seed=1)[0])
    X[7] = centres[3]
    warp = None if scale == "raw" else Warp.learn(X, scale)
    kernel = LocalRBFKernel(centres, bandwidths, profile, warp)
    coefficients = np.random.default_rng(2).normal(size=(9, 2))
    expected = kernel(X, centres) @ coefficients
    for cached in (1, 20, 10**6):
        monkeypatch.setattr(lab_rbf_kernel, "BLOCK_VALUES", cached)
        product = kernel.times(X, coefficients)
        np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12)


# Warp


RNG = np.random.default_rng(0)
SKEWED = np.exp(2 * RNG.normal(size=(200, 3)))
EVEN = RNG.uniform(-5, 3, size=(200, 3))
kinds = st.sampled_from(WARPS)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), kind=kinds, n=st.integers(2, 30), reach=st.floats(1e-3, 1e6))
def test_training_points_span_minus_one_to_one(seed, kind, n, reach):
    rng = np.random.default_rng(seed)
    X = reach * np.exp(2 * rng.normal(size=(n, 3))) * rng.choice([-1, 1], size=3)
    u = Warp.learn(X, kind)(X)
    np.testing.assert_allclose(u.min(axis=0), -1, atol=1e-9)
    np.testing.assert_allclose(u.max(axis=0), 1, atol=1e-9)


@pytest.mark.parametrize("kind", WARPS)
def test_symmetric_features_are_not_transformed(kind):
    warp = Warp.learn(EVEN, kind)
    assert warp.affine
    low, high = EVEN.min(axis=0), EVEN.max(axis=0)
    expected = 2 * (EVEN - low) / (high - low) - 1
    np.testing.assert_allclose(warp(EVEN), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["log", "asinh"])
def test_skewed_features_are_transformed(kind):
    X = np.column_stack([SKEWED[:, 0], EVEN[:, 0]])
    warp = Warp.learn(X, kind)
    np.testing.assert_array_equal(warp.kinds, [WARPS.index(kind), 0])
    assert not warp.affine
    u = warp(X)[:, 0]
    raw = Warp.learn(X)(X)[:, 0]
    skewness = [abs((((z - z.mean()) / z.std()) ** 3).mean()) for z in (u, raw)]
    assert skewness[0] < 0.5 * skewness[1]


@pytest.mark.parametrize(
    "x",
    [
        np.append(SKEWED[:, 0], -1e-9),  # a negative value
        -SKEWED[:, 0],
        100.0 - SKEWED[:, 0].clip(0, 99),  # skewed to the left
        np.repeat([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 50.0], 10),  # two values
    ],
)
def test_features_without_log_transform(x):
    assert Warp.learn(x[:, None], "log").affine


@pytest.mark.parametrize("kind", WARPS)
def test_constant_features_are_ignored(kind):
    X = np.column_stack([np.full(200, 7.0), SKEWED[:, 0], np.full(200, -1e12)])
    warp = Warp.learn(X, kind)
    np.testing.assert_array_equal(warp.slopes[[0, 2]], 0.0)
    np.testing.assert_array_equal(warp(X + 5.0)[:, [0, 2]], 0.0)
    assert warp.slopes[1] > 0


@pytest.mark.parametrize("kind", WARPS)
def test_range_over_several_blocks(kind):
    X = np.tile(SKEWED, (400, 1))  # more than one block
    X[-1] = SKEWED.max() * 2
    u = Warp.learn(X, kind)(X)
    assert u.max() == pytest.approx(1.0, abs=1e-9)
    assert u.argmax() // 3 == len(X) - 1


def test_no_symmetric_kernel_of_constant_features():
    model = LABRBFRegressor(n_members=1, max_iter=3, dense=False).fit(
        np.ones((20, 2)), np.arange(20)
    )
    with pytest.raises(ValueError, match="expected features that vary"):
        model.symmetric_kernel_  # noqa: B018


def test_symmetric_kernel_of_members_with_different_profiles():
    X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    options = {"n_support": 8, "max_iter": 3, "dense": False, "transforms": None, "random_state": 0}
    model, other = (
        LABRBFRegressor(**options, n_members=1, profile=profile).fit(X, X[:, 0])
        for profile in ("gaussian", "matern32")
    )
    model.members_, model.weights_ = model.members_ + other.members_, np.array([0.5, 0.5])
    assert [member.kernel_.profile for member in model.members_] == ["gaussian", "matern32"]
    K = model.symmetric_kernel_(X, X)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
