"""The kernel with bandwidths per centre: its twin, its fixed second argument, its corners."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pliant import AsymmetricKernelRidge, DANKClassifier
from pliant.kernels import Gaussian, Matern
from pliant.methods.lab_rbf import kernel as lab_rbf_kernel
from pliant.methods.lab_rbf.kernel import PROFILES, LocalRBFKernel, Warp
from tests.reference import naive_local as naive

profiles = st.sampled_from(sorted(PROFILES))


def points(n=6, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, size=(n, d)), rng.uniform(0.05, 3.0, size=(n, d))


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), profile=profiles, n=st.integers(1, 7), offset=st.floats(-50, 50))
def test_it_is_its_slow_twin(seed, profile, n, offset):
    centres, bandwidths = points(n, seed=seed)
    X = points(5, seed=seed + 1)[0]
    kernel = LocalRBFKernel(centres + offset, bandwidths, profile)
    values = kernel(X + offset, centres + offset)
    expected = naive.kernel(X, centres, bandwidths**2, profile)
    assert values.shape == (5, n)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_among_the_centres(profile):
    centres, bandwidths = points()
    kernel = LocalRBFKernel(centres, bandwidths, profile)
    square = kernel(centres, centres.copy())
    np.testing.assert_allclose(
        square, naive.kernel(centres, centres, bandwidths**2, profile), rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(kernel.diag(centres), square.diagonal(), rtol=0, atol=1e-10)
    assert not np.allclose(square, square.T)
    np.testing.assert_array_equal(kernel(centres, centres.copy()), square)


@pytest.mark.parametrize("width", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_centre_is_at_no_distance_from_itself(profile, offset, width):
    centres = points(20)[0] + offset
    kernel = LocalRBFKernel(centres, np.full(centres.shape, width), profile)
    np.testing.assert_allclose(kernel(centres, centres.copy()).diagonal(), 1.0, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("profile", "equal"),
    [
        ("gaussian", Gaussian(0.49)),
        ("laplacian", Matern(0.5, 0.245)),
        ("matern52", Matern(2.5, 0.245)),
    ],
)
def test_equal_bandwidths_are_a_kernel_of_one_width(profile, equal):
    centres, X = points(8)[0], points(5, seed=1)[0]
    kernel = LocalRBFKernel(centres, np.full(centres.shape, 0.7), profile)
    np.testing.assert_allclose(kernel(X, centres), equal(X, centres), rtol=0, atol=1e-12)


def test_a_bandwidth_of_zero_leaves_a_feature_out():
    centres, bandwidths = points()
    X = points(5, seed=1)[0]
    bandwidths[:, 1] = 0.0
    kernel = LocalRBFKernel(centres, bandwidths)
    without = LocalRBFKernel(centres[:, [0, 2]], bandwidths[:, [0, 2]])
    moved = X + np.array([0.0, 1e3, 0.0])
    expected = without(X[:, [0, 2]], centres[:, [0, 2]])
    np.testing.assert_allclose(kernel(X, centres), expected, atol=1e-14)
    np.testing.assert_allclose(kernel(moved, centres), expected, atol=1e-14)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), profile=profiles, reach=st.sampled_from([1.0, 1e3, 1e8, 1e150]))
def test_values_lie_between_zero_and_one(seed, profile, reach):
    centres, bandwidths = points(seed=seed)
    X = reach * points(9, seed=seed + 1)[0]
    values = LocalRBFKernel(centres, bandwidths, profile)(X, centres)
    assert (values >= 0).all()
    assert (values <= 1.0 + 1e-15).all()
    assert reach < 1e3 or (values < 1e-3).all()


OTHERS = {
    "other points": lambda C: C + 0.1,
    "fewer": lambda C: C[:3],
    "another order": lambda C: C[::-1],
    "rounded": lambda C: np.nextafter(C, 9.0),
}


@pytest.mark.parametrize("change", OTHERS)
def test_its_second_argument_is_fixed(change):
    centres, bandwidths = points()
    kernel = LocalRBFKernel(centres, bandwidths)
    other = OTHERS[change](centres)
    message = (
        "bandwidths belong to the support points; use kernel_(X, model.support_vectors_)"
        f", or k(X, k.centres): expected those 6 points as Y, got {len(other)} others"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        kernel(centres, other)
    with pytest.raises(ValueError, match="bandwidths belong to the support points"):
        kernel(other)
    with pytest.raises(ValueError, match="bandwidths belong to the support points"):
        kernel.diag(other)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 4)), "expected Y with 4 features, as X, got 3"),
        (np.full((2, 3), np.nan), "expected finite numbers"),
        (np.zeros(3), "n_samples, n_features"),
    ],
)
def test_bad_points(X, message):
    centres, bandwidths = points()
    with pytest.raises(ValueError, match=message):
        LocalRBFKernel(centres, bandwidths)(X, centres)


def test_no_points_have_no_values():
    centres, bandwidths = points()
    assert LocalRBFKernel(centres, bandwidths)(np.empty((0, 3)), centres).shape == (0, 6)


def test_an_unknown_profile():
    centres, bandwidths = points()
    with pytest.raises(ValueError, match=r"expected profile in .*did you mean 'gaussian'"):
        LocalRBFKernel(centres, bandwidths, "gausian")(centres, centres.copy())


def test_a_warp_is_applied_to_both_sides():
    centres, bandwidths = points(12)
    X = points(5, seed=1)[0]
    X[:, 0], centres[:, 0] = np.exp(3 * X[:, 0]), np.exp(3 * centres[:, 0])
    warp = Warp.learn(centres, "log")
    kernel = LocalRBFKernel(centres, bandwidths, "laplacian", warp)
    inner = LocalRBFKernel(warp(centres), bandwidths, "laplacian")
    np.testing.assert_allclose(
        kernel(X, centres), inner(warp(X), warp(centres)), rtol=0, atol=1e-14
    )


def test_it_is_an_object_of_scikit_learn():
    centres, bandwidths = points()
    kernel = LocalRBFKernel(centres, bandwidths, "matern52")
    X = points(5, seed=1)[0]
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        np.testing.assert_array_equal(copy(X, centres), kernel(X, centres))
    assert not kernel.symmetric
    assert not kernel.psd
    assert set(kernel.get_params()) >= {"centres", "bandwidths", "profile", "warp"}


def test_machines_that_need_a_symmetric_kernel_refuse_it():
    centres, bandwidths = points(20)
    with pytest.raises(ValueError, match="expected a symmetric kernel"):
        DANKClassifier(kernel=LocalRBFKernel(centres, bandwidths)).fit(centres, [0, 1] * 10)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_asymmetric_kernel_ridge_takes_it(profile):
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bandwidths", np.ones((5, 3))),
        ("bandwidths", np.full((6, 3), -1.0)),
        ("bandwidths", np.full((6, 3), np.inf)),
        ("centres", np.full((6, 3), np.nan)),
        ("centres", "x"),
        ("profile", "sinc"),
        ("profile", 3),
        ("warp", Warp(*np.zeros((5, 2)))),
    ],
)
def test_parameters_from_a_file_are_checked(name, value):
    kernel = LocalRBFKernel(*points())
    setattr(kernel, name, value)
    with pytest.raises(ValueError, match="expected"):
        kernel._check_loaded()
    LocalRBFKernel(*points())._check_loaded()


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("scale", ["raw", "log"])
def test_a_product_with_coefficients_takes_a_few_rows_at_a_time(monkeypatch, profile, scale):
    centres, bandwidths = (np.exp(part) for part in points(9))
    X = np.exp(points(50, seed=1)[0])
    X[7] = centres[3]
    warp = None if scale == "raw" else Warp.learn(X, scale)
    kernel = LocalRBFKernel(centres, bandwidths, profile, warp)
    coefficients = np.random.default_rng(2).normal(size=(9, 2))
    expected = kernel(X, centres) @ coefficients
    for cached in (1, 20, 10**6):
        monkeypatch.setattr(lab_rbf_kernel, "CACHED", cached)
        product = kernel.times(X, coefficients)
        np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12)


def test_points_and_centres_at_the_end_of_the_range_of_floats():
    centres = np.array([[1.7e308, 0.0], [1.6e308, 1.0], [1.5e308, -1.0]])
    kernel = LocalRBFKernel(centres, np.array([[1e-308, 0.0]] * 3))
    values = kernel(np.array([[-1.7e308, 1e300], [1.7e308, -1.7e308]]), centres)
    assert np.isfinite(values).all()
    assert values[1, 0] == 1.0
