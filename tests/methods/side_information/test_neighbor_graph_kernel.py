"""The regularised Laplacian kernel of a neighbour graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

from pliant.kernels import NeighborGraphKernel
from pliant.persistence import load_model, save_model

seeds = st.integers(0, 2**32 - 1)


def points(n=40, d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def adjacency(X, k):
    """The twin: 1 if one of two points is among the k nearest of the other."""
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    near = np.zeros(distances.shape)
    for i, order in enumerate(np.argsort(distances, axis=1, kind="stable")):
        near[i, order[:k]] = 1
    return np.maximum(near, near.T)


def by_definition(X, k, epsilon, drop_constant=True):
    """The twin of the kernel matrix: all eigenvectors of the random walk's Laplacian."""
    A = adjacency(X, k)
    D = A.sum(axis=1)
    values, vectors = np.linalg.eigh(np.eye(len(X)) - A / np.sqrt(np.outer(D, D)))
    u = vectors / np.sqrt(D)[:, None]
    first = int(drop_constant)
    K = (u[:, first:] / (epsilon + values[first:])) @ u[:, first:].T
    return K / np.diagonal(K).mean()


@given(seed=seeds, k=st.integers(1, 8), epsilon=st.floats(1e-4, 10.0))
@settings(max_examples=40, deadline=None)
def test_it_is_the_formula(seed, k, epsilon):
    X = points(25, seed=seed)
    kernel = NeighborGraphKernel.from_points(X, k, epsilon=epsilon)
    connected = bool((kernel.eigenvalues > 0).all())
    K = by_definition(X, k, epsilon, drop_constant=connected)
    np.testing.assert_allclose(kernel(X), K, atol=1e-8 * np.abs(K).max())
    assert kernel.diag(X).mean() == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.eigvalsh(kernel(X))[0] >= -1e-10 * np.abs(K).max()


def test_its_functions_are_those_of_the_random_walk():
    X = points()
    kernel = NeighborGraphKernel.from_points(X, 5)
    A = adjacency(X, 5)
    u = kernel.eigenfunctions(X)
    walk = (A / A.sum(axis=1)[:, None]) @ u
    np.testing.assert_allclose(walk, u * (1 - np.asarray(kernel.eigenvalues)), atol=1e-12)


def test_a_new_point_gets_the_mean_of_those_that_it_would_be_linked_to():
    X, new = points(), points(6, seed=1)
    kernel = NeighborGraphKernel.from_points(X, 5)
    radii = np.sort(cdist(X, X), axis=1)[:, 5]
    u = kernel.eigenfunctions(X)
    similarity = 1.0 - np.asarray(kernel.eigenvalues)
    kept = similarity >= 0.1
    for x, found in zip(new, kernel.eigenfunctions(new), strict=True):
        distances = np.linalg.norm(X - x, axis=1)
        linked = (distances < radii) | (distances <= np.sort(distances)[4])
        expected = np.where(kept, u[linked].mean(axis=0) / np.where(kept, similarity, 1.0), 0.0)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_new_point_near_a_fit_point_is_like_it():
    X, _ = make_moons(200, noise=0.03, random_state=0)
    kernel = NeighborGraphKernel.from_points(X)
    K, near = kernel(X), kernel(X + 1e-9, X)
    correlation = np.corrcoef(K.ravel(), near.ravel())[0, 1]
    assert correlation > 0.95


def test_points_on_one_curve_are_near_however_far():
    """Two moons: the ends of one moon are nearer than the other moon's middle."""
    X, y = make_moons(300, noise=0.02, random_state=0)
    K = NeighborGraphKernel.from_points(X)(X)
    same = y[:, None] == y
    assert K[same].mean() > 10 * abs(K[~same].mean())


def test_points_that_hang_apart_keep_their_component():
    X = np.concatenate([points(20), points(20, seed=1) + 100.0])
    kernel = NeighborGraphKernel.from_points(X, 4)
    assert np.count_nonzero(np.asarray(kernel.eigenvalues) == 0) == 2
    K = kernel(X)
    np.testing.assert_allclose(K[:20, 20:], 0.0, atol=1e-12)
    new = kernel(points(3, seed=2) + 100.0, X)
    np.testing.assert_allclose(new[:, :20], 0.0, atol=1e-12)


def test_equal_points_count_once():
    X = points(30)
    twice = np.concatenate([X, X[:10], -0.0 * X[:1] + X[:1]])
    one, two = NeighborGraphKernel.from_points(X), NeighborGraphKernel.from_points(twice)
    np.testing.assert_allclose(two(X), one(X), atol=1e-12)
    K = two(twice)
    np.testing.assert_allclose(K[30:40], K[:10], atol=1e-14)


@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_the_order_and_the_scale_of_the_points_do_not_matter(seed):
    X = points(30, seed=seed)
    order = np.random.default_rng(seed).permutation(30)
    K = NeighborGraphKernel.from_points(X, 5)(X)
    turned = NeighborGraphKernel.from_points(X[order], 5)(X[order])
    np.testing.assert_allclose(turned, K[np.ix_(order, order)], atol=1e-9 * np.abs(K).max())
    for scale in (2.0**-40, 2.0**40):
        scaled = NeighborGraphKernel.from_points(scale * X, 5)(scale * X)
        np.testing.assert_allclose(scaled, K, atol=1e-9 * np.abs(K).max())


def test_a_few_functions_of_many():
    X, _ = make_moons(700, noise=0.05, random_state=0)
    kernel = NeighborGraphKernel.from_points(X, 8, 20)
    assert np.shape(kernel.vectors) == (700, 20)
    assert (np.diff(kernel.eigenvalues) >= -1e-10).all()
    assert (np.diff(kernel.spectrum) <= 1e-10).all()
    again = NeighborGraphKernel.from_points(X, 8, 20)
    assert again(X).tobytes() == kernel(X).tobytes()


def test_a_small_epsilon_counts_smooth_functions_more():
    X = points()
    sharp, flat = (NeighborGraphKernel.from_points(X, epsilon=e).spectrum for e in (1e-3, 1e3))
    assert sharp[0] / sharp[-1] > 5
    assert flat[0] / flat[-1] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("n", [6, 7])
def test_as_few_points_as_may_be(n):
    X = points(n)
    kernel = NeighborGraphKernel.from_points(X)
    assert kernel.diag(X).mean() == pytest.approx(1.0, abs=1e-12)
    assert np.isfinite(kernel(points(3, seed=1), X)).all()


def test_two_points():
    kernel = NeighborGraphKernel.from_points([[0.0], [1.0]], n_neighbors=1)
    np.testing.assert_allclose(kernel([[0.0], [1.0]]), [[1.0, -1.0], [-1.0, 1.0]], atol=1e-12)


@pytest.mark.parametrize(
    ("given_points", "parameters", "error", "message"),
    [
        (points(5), {}, ValueError, "more than n_neighbors = 5 distinct points, got 5"),
        (np.ones((50, 2)), {}, ValueError, "distinct points, got 1"),
        (points(), {"n_neighbors": 0}, ValueError, "n_neighbors >= 1"),
        (points(), {"n_neighbors": 2.5}, ValueError, "integer"),
        (points(), {"n_components": 0}, ValueError, "n_components >= 1"),
        (points(), {"epsilon": 0.0}, ValueError, "epsilon > 0"),
        (points(), {"epsilon": np.inf}, ValueError, "epsilon > 0"),
        (np.full((9, 2), np.nan), {}, ValueError, "finite numbers, got nan"),
        (points()[:, 0], {}, ValueError, "shape"),
        (1e200 * points(), {}, ValueError, "finite distances"),
    ],
)
def test_bad_input(given_points, parameters, error, message):
    with pytest.raises(error, match=message):
        NeighborGraphKernel.from_points(given_points, **parameters)


def test_new_points_of_another_width():
    kernel = NeighborGraphKernel.from_points(points())
    with pytest.raises(ValueError, match="2 features, got 3"):
        kernel(points(4, 3))


def test_it_survives_a_model_file(tmp_path):
    X = points()
    kernel = NeighborGraphKernel.from_points(X)
    save_model(kernel, tmp_path / "k.skops")
    loaded = load_model(tmp_path / "k.skops").model
    new = points(5, seed=1)
    assert loaded(new, X).tobytes() == kernel(new, X).tobytes()
