"""Explicit features from landmarks: what they are, and the Nystroem approximation as one case."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.svm import SVC, LinearSVC

from pliant.kernels import Gaussian, LandmarkKernel, Laplacian, Linear, Polynomial, Precomputed

BASES = [Gaussian(0.3), Laplacian(0.5), Linear(), Polynomial(3, 0.5, 1.0)]
every_base = pytest.mark.parametrize("base", BASES, ids=str)


def points(n, seed=0, d=2):
    return np.random.default_rng(seed).standard_normal((n, d))


def case(base=None, m=6, r=4):
    base, landmarks = base or Gaussian(0.3), points(m)
    projection = np.random.default_rng(5).standard_normal((m, r))
    return landmarks, projection, LandmarkKernel(base, landmarks, projection)


@every_base
def test_its_features_are_linear_in_the_values_at_the_landmarks(base):
    landmarks, M, kernel = case(base)
    X, Y = points(5, 1), points(5, 2)
    F = kernel.features(X)
    for i, x in enumerate(X):
        expected = sum(base(x[None], landmarks[[p]])[0, 0] * M[p] for p in range(6))
        np.testing.assert_allclose(F[i], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(kernel(X, Y), F @ kernel.features(Y).T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), (F**2).sum(axis=1), rtol=0, atol=1e-12)


@every_base
def test_with_an_inverse_root_it_is_the_nystroem_approximation(base):
    """Exact at the landmarks; K0(X, P) K0(P, P)^+ K0(P, Y) elsewhere, and not above the base."""
    landmarks, X = points(6), points(7, 1)
    values, vectors = np.linalg.eigh(base(landmarks))
    kept = values > 1e-12 * values[-1]
    kernel = LandmarkKernel(base, landmarks, vectors[:, kept] / np.sqrt(values[kept]))
    np.testing.assert_allclose(kernel(landmarks), base(landmarks), rtol=0, atol=1e-9)
    np.testing.assert_allclose(kernel(X, landmarks), base(X, landmarks), rtol=0, atol=1e-9)
    residual = base(X) - kernel(X)
    assert np.linalg.eigvalsh(residual)[0] > -1e-9


@every_base
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 7))
@settings(max_examples=15, deadline=None)
def test_it_is_psd_and_of_the_rank_of_its_projection(base, seed, rank):
    _, _, kernel = case(base, r=rank)
    gram = kernel(points(9, seed))
    values = np.linalg.eigvalsh(0.5 * (gram + gram.T))
    assert kernel.psd
    assert values[0] > -1e-12 * max(1.0, values[-1])
    assert np.abs(values[: max(0, 9 - rank)]).max(initial=0.0) < 1e-12 * max(1.0, values[-1])


def test_a_linear_machine_on_its_features_is_a_kernel_machine():
    _, _, kernel = case()
    X = points(40, 1)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    by_kernel = SVC(C=1.0, kernel=kernel, tol=1e-8).fit(X, y)
    by_features = SVC(C=1.0, kernel="linear", tol=1e-8).fit(kernel.features(X), y)
    new = points(10, 2)
    np.testing.assert_allclose(
        by_kernel.decision_function(new),
        by_features.decision_function(kernel.features(new)),
        atol=1e-6,
    )
    assert LinearSVC().fit(kernel.features(X), y).score(kernel.features(X), y) > 0.5


def test_a_precomputed_base_goes_by_row_numbers():
    landmarks, M, kernel = case()
    X = np.concatenate([landmarks, points(3, 1)])
    rows = np.arange(9.0)[:, None]
    numbered = LandmarkKernel(Precomputed(Gaussian(0.3)(X)), rows[:6], M)
    np.testing.assert_allclose(numbered(rows), kernel(X), rtol=0, atol=1e-13)
    np.testing.assert_allclose(numbered.features(rows), kernel.features(X), rtol=0, atol=1e-13)


def test_rotated_features_are_the_same_kernel():
    landmarks, M, kernel = case()
    rotation, _ = np.linalg.qr(points(4, 3, 4))
    rotated = LandmarkKernel(Gaussian(0.3), landmarks, M @ rotation)
    np.testing.assert_allclose(rotated(points(5, 1)), kernel(points(5, 1)), rtol=0, atol=1e-13)


def test_no_points_have_no_features():
    assert case()[2].features(np.empty((0, 2))).shape == (0, 4)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("projection", np.eye(5), "expected a projection for 6 landmarks, got 5 rows"),
        ("projection", np.ones(6), "expected projection of shape (n_samples, n_features)"),
        ("projection", np.full((6, 2), np.nan), "expected finite numbers, got nan in projection"),
        ("landmarks", np.ones(6), "expected landmarks of shape (n_samples, n_features), got (6,)"),
        ("landmarks", np.full((6, 2), np.inf), "expected finite numbers, got inf in landmarks"),
        ("base", "gaussian", "expected base to be a kernel, got str"),
    ],
)
def test_parameters_of_a_file_that_do_not_belong_together_are_refused(name, value, said):
    kernel = clone(case()[2])
    kernel._check_loaded()
    with pytest.raises(ValueError, match=re.escape(said)):
        kernel.set_params(**{name: value})._check_loaded()


def test_points_of_another_width_are_refused():
    _, _, kernel = case()
    for function in (kernel, kernel.diag, kernel.features):
        with pytest.raises(ValueError, match=r"expected .* 2 features, as .*, got 5"):
            function(np.zeros((3, 5)))


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([1.0, 2.0], "expected X of shape (n_samples, n_features)"),
        ([[np.nan, 0.0]], "got nan in X"),
    ],
)
def test_features_check_their_points(X, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        case()[2].features(X)
