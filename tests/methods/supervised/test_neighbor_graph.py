"""Neighbour graphs, their eigenvectors, and spectral kernels."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from pliant.core.form import check_loaded
from pliant.methods import NeighborGraphKernel, SpectralKernel
from pliant.methods.supervised import neighbor_graph
from pliant.methods.supervised.neighbor_graph import NeighborGraph, link_points
from tests.reference import naive_spectral as naive

seeds = st.integers(0, 2**32 - 1)


def draw_points(n=40, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def draw_clusters(*sizes, seed=0):
    """Draw well-separated clusters, with shuffled rows."""
    rng = np.random.default_rng(seed)
    X = [rng.standard_normal((n, 2)) + 1000.0 * i for i, n in enumerate(sizes)]
    return rng.permutation(np.concatenate(X))


def laplacian(graph):
    return np.eye(len(graph.degrees)) - graph.similarity.toarray()


@pytest.mark.parametrize("k", [1, 2, 5, 19])
@pytest.mark.parametrize("block", [1, 57, 10**6])
def test_graph_matches_its_definition(k, block, monkeypatch):
    monkeypatch.setattr(neighbor_graph, "MAX_DISTANCES", block)
    X = draw_points(20)
    graph, A = NeighborGraph(X, k), naive.adjacency(X, k)
    assert scipy.sparse.issparse(graph.weights)
    np.testing.assert_array_equal(graph.weights.toarray(), A)
    np.testing.assert_array_equal(graph.degrees, A.sum(axis=1))
    np.testing.assert_allclose(laplacian(graph), naive.laplacian(A), atol=1e-15)
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    np.testing.assert_allclose(graph.radii, np.sort(distance, axis=1)[:, k], rtol=1e-14)


@pytest.mark.parametrize("sizes", [(30,), (8, 20, 6), (4, 4, 4, 4)])
def test_null_space_has_one_vector_per_component(sizes):
    graph = NeighborGraph(draw_clusters(*sizes), 3)
    null = graph.null_vectors(len(sizes))
    assert graph.n_components == len(sizes)
    np.testing.assert_allclose(null.T @ null, np.eye(len(sizes)), atol=1e-14)
    np.testing.assert_allclose(laplacian(graph) @ null, 0.0, atol=1e-14)
    assert (np.diff((null > 0).sum(axis=0)) <= 0).all()
    np.testing.assert_array_equal(np.ptp(graph.components[null[:, 0] > 0]), 0)


def check_eigenvectors(graph, r, drop_null):
    found, L = graph.smoothest(r, drop_null=drop_null), laplacian(graph)
    kept = len(L) - graph.n_components * drop_null
    size = min(r, kept)
    all_values = np.linalg.eigvalsh(L)
    expected = np.concatenate([np.zeros(graph.n_components), all_values[graph.n_components :]])
    first = graph.n_components * drop_null
    np.testing.assert_allclose(found.values, expected[first : first + size], atol=1e-12)
    assert found.values.min() >= 0.0
    assert found.n_null == (0 if drop_null else min(r, graph.n_components))
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(L @ found.vectors, found.vectors * found.values, atol=1e-10)


@pytest.mark.parametrize("drop_null", [False, True])
@pytest.mark.parametrize("r", [1, 3, 4, 10, 29, 1000])
@pytest.mark.parametrize("sizes", [(30,), (8, 16, 6), (6, 6, 6, 6, 6)])
def test_eigenvectors_of_the_laplacian(sizes, r, drop_null):
    check_eigenvectors(NeighborGraph(draw_clusters(*sizes), 3), r, drop_null)


@pytest.mark.parametrize("drop_null", [False, True])
def test_lanczos_iterations(drop_null, monkeypatch):
    monkeypatch.setattr(neighbor_graph, "MAX_DENSE_POINTS", 20)
    graph = NeighborGraph(draw_clusters(150, 90), 5)
    check_eigenvectors(graph, 9, drop_null)


def test_lapack_after_failed_lanczos_iterations(monkeypatch):
    def fails(*args, **kwargs):
        raise neighbor_graph.ArpackError(-1)

    monkeypatch.setattr(neighbor_graph, "MAX_DENSE_POINTS", 20)
    monkeypatch.setattr(neighbor_graph, "eigsh", fails)
    check_eigenvectors(NeighborGraph(draw_points(120), 5), 6, True)


def test_equal_components_have_all_multiple_eigenvalues():
    """Lanczos iterations on the whole graph miss some of the six-fold eigenvalues."""
    X = np.unique(np.round(draw_points(600, 4), 3), axis=0)
    graph = NeighborGraph(np.concatenate([X + 1024.0 * i for i in range(6)]), 5)
    alone = NeighborGraph(X, 5).smoothest(3, drop_null=True)
    found = graph.smoothest(18, drop_null=True)
    np.testing.assert_allclose(found.values, np.repeat(alone.values, 6), atol=1e-12)


@given(seed=seeds, k=st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_links_of_a_new_point(seed, k):
    """A new point has the same links as in a graph that contains it."""
    X, x = draw_points(15, seed=seed), draw_points(1, seed=seed + 1)
    graph = NeighborGraph(X, k)
    linked = link_points(x, X, graph.radii, k)
    whole = naive.adjacency(np.concatenate([X, x]), k)
    np.testing.assert_array_equal(linked[0], whole[-1, :-1] > 0)


X = np.random.default_rng(0).standard_normal((25, 3))

NEW = np.random.default_rng(1).standard_normal((8, 3))

K_NEAREST = 4


def kernel_on(points=X, r=10, drop_null=False, seed=0):
    graph = NeighborGraph(points, K_NEAREST)
    found = graph.smoothest(r, drop_null=drop_null)
    spectrum = np.random.default_rng(seed).random(len(found.values))
    return SpectralKernel(
        points, found.vectors, found.values, spectrum, K_NEAREST, graph.radii, graph.degrees
    )


def test_spectral_kernel_at_its_points():
    kernel = kernel_on()
    expected = (kernel.vectors * kernel.spectrum) @ kernel.vectors.T
    np.testing.assert_allclose(kernel(X), expected, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(expected), atol=1e-14)
    np.testing.assert_array_equal(kernel.eigenfunctions(X), kernel.vectors)


def test_only_equal_points_are_points_of_the_graph():
    kernel = kernel_on(np.where(np.abs(X) < 0.2, 0.0, X))
    points = kernel.points
    np.testing.assert_array_equal(kernel.eigenfunctions(points * 1.0), kernel.vectors)
    minus = np.where(points == 0.0, -0.0, points)
    np.testing.assert_array_equal(kernel.eigenfunctions(minus), kernel.vectors)
    moved = np.nextafter(points, np.inf)
    assert np.abs(kernel.eigenfunctions(moved) - kernel.vectors).max() > 1e-3


def test_nystroem_extension_matches_its_definition():
    kernel = kernel_on(r=6)
    kept = 1.0 - kernel.eigenvalues >= 0.1
    assert kept.sum() >= 4
    for x, values in zip(NEW, kernel.eigenfunctions(NEW), strict=True):
        for v, eigenvalue, value in zip(
            kernel.vectors.T[kept], kernel.eigenvalues[kept], values[kept], strict=True
        ):
            twin = naive.value_at(x, X, K_NEAREST, v, eigenvalue)
            assert value == pytest.approx(twin, abs=1e-13)


def test_oscillating_eigenvectors_are_zero_at_new_points():
    kernel = kernel_on(r=25)
    dropped = 1.0 - kernel.eigenvalues < 0.1
    assert dropped.any()
    values = kernel.eigenfunctions(NEW)
    np.testing.assert_array_equal(values[:, dropped], 0.0)
    assert (np.abs(values[:, ~dropped]).max(axis=0) > 0).all()
    assert np.isfinite(values).all()


def by_definition(X, k, epsilon, drop_constant=True):
    """Compute the kernel matrix from all eigenvectors of the random walk's Laplacian."""
    A = naive.adjacency(X, k)
    D = A.sum(axis=1)
    values, vectors = np.linalg.eigh(np.eye(len(X)) - A / np.sqrt(np.outer(D, D)))
    u = vectors / np.sqrt(D)[:, None]
    first = int(drop_constant)
    K = (u[:, first:] / (epsilon + values[first:])) @ u[:, first:].T
    return K / np.diagonal(K).mean()


@given(seed=seeds, k=st.integers(1, 8), epsilon=st.floats(1e-4, 10.0))
@settings(max_examples=40, deadline=None)
def test_neighbor_graph_kernel_matches_its_definition(seed, k, epsilon):
    X = draw_points(25, seed=seed)
    kernel = NeighborGraphKernel.from_points(X, k, epsilon=epsilon)
    connected = bool((kernel.eigenvalues > 0).all())
    K = by_definition(X, k, epsilon, drop_constant=connected)
    np.testing.assert_allclose(kernel(X), K, atol=1e-8 * np.abs(K).max())
    assert kernel.diag(X).mean() == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.eigvalsh(kernel(X))[0] >= -1e-10 * np.abs(K).max()


def test_neighbor_graph_kernel_at_new_points():
    X, new = draw_points(), draw_points(6, seed=1)
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


def test_invalid_points_and_attributes_raise():
    for given_points, parameters, message in [
        (draw_points(5), {}, "more than n_neighbors = 5 distinct points, got 5"),
        (np.ones((50, 2)), {}, "distinct points, got 1"),
        (draw_points(), {"epsilon": 0.0}, "epsilon > 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            NeighborGraphKernel.from_points(given_points, **parameters)
    with pytest.raises(ValueError, match="expected X with 3 features, got 2"):
        kernel_on()(np.zeros((2, 2)))
    for changed, message in [
        ({"vectors": np.ones((24, 10))}, "expected vectors with 25 points, got 24"),
        ({"spectrum": -np.ones(10)}, "expected spectrum >= 0"),
        ({"degrees": np.zeros(25)}, "expected degrees > 0"),
        ({"n_neighbors": 26}, "expected n_neighbors <= 25"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_loaded(kernel_on().set_params(**changed))
