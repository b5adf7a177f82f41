"""The neighbour graph, its eigenvectors and null space, and its links to new points."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.methods.side_information import neighbor_graph
from pliant.methods.side_information.neighbor_graph import NeighborGraph, links
from tests.reference import naive_spectral as naive

seeds = st.integers(0, 2**32 - 1)


def cloud(n, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def clusters(*sizes, seed=0):
    """Groups of points that are far from each other, their rows mixed."""
    rng = np.random.default_rng(seed)
    X = [rng.standard_normal((n, 2)) + 1000.0 * i for i, n in enumerate(sizes)]
    return rng.permutation(np.concatenate(X))


def laplacian(graph):
    return np.eye(len(graph.degrees)) - graph.similarity.toarray()


@pytest.mark.parametrize("k", [1, 2, 5, 19])
@pytest.mark.parametrize("block", [1, 57, 10**6])
def test_the_graph_is_that_of_its_definition(k, block, monkeypatch):
    monkeypatch.setattr(neighbor_graph, "BLOCK", block)
    X = cloud(20)
    graph, A = NeighborGraph(X, k), naive.adjacency(X, k)
    assert scipy.sparse.issparse(graph.weights)
    np.testing.assert_array_equal(graph.weights.toarray(), A)
    np.testing.assert_array_equal(graph.degrees, A.sum(axis=1))
    np.testing.assert_allclose(laplacian(graph), naive.laplacian(A), atol=1e-15)
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    np.testing.assert_allclose(graph.radii, np.sort(distance, axis=1)[:, k], rtol=1e-14)


def test_of_equally_near_points_the_first_are_neighbours():
    """On a grid: every point has exactly k nearest ones."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    expected = np.zeros((5, 5))
    for i, j in [(0, 1), (1, 2), (2, 3), (3, 4)]:
        expected[i, j] = expected[j, i] = 1.0
    np.testing.assert_array_equal(NeighborGraph(X, 1).weights.toarray(), expected)


def test_distances_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"expected finite distances .* got inf; scale"):
        NeighborGraph(np.array([[0.0], [1e200], [-1e200]]), 2)


@pytest.mark.parametrize("sizes", [(30,), (8, 20, 6), (4, 4, 4, 4)])
def test_the_null_space_is_one_vector_per_component_the_largest_first(sizes):
    graph = NeighborGraph(clusters(*sizes), 3)
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
    every = np.linalg.eigvalsh(L)
    expected = np.concatenate([np.zeros(graph.n_components), every[graph.n_components :]])
    first = graph.n_components * drop_null
    np.testing.assert_allclose(found.values, expected[first : first + size], atol=1e-12)
    assert found.values.min() >= 0.0
    assert found.n_null == (0 if drop_null else min(r, graph.n_components))
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(L @ found.vectors, found.vectors * found.values, atol=1e-10)


@pytest.mark.parametrize("drop_null", [False, True])
@pytest.mark.parametrize("r", [1, 3, 4, 10, 29, 1000])
@pytest.mark.parametrize("sizes", [(30,), (8, 16, 6), (6, 6, 6, 6, 6)])
def test_eigenvectors_are_those_of_the_laplacian(sizes, r, drop_null):
    check_eigenvectors(NeighborGraph(clusters(*sizes), 3), r, drop_null)


@pytest.mark.parametrize("drop_null", [False, True])
def test_components_of_two_points_have_an_eigenvector_each(drop_null):
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    found = NeighborGraph(X, 1).smoothest(9, drop_null=drop_null)
    np.testing.assert_allclose(found.values, [2.0, 2.0] if drop_null else [0, 0, 2, 2], atol=1e-14)


@pytest.mark.parametrize("drop_null", [False, True])
def test_lanczos_iterations_give_the_same(drop_null, monkeypatch):
    monkeypatch.setattr(neighbor_graph, "SMALL", 20)
    graph = NeighborGraph(clusters(150, 90), 5)
    check_eigenvectors(graph, 9, drop_null)


def test_iterations_that_do_not_settle_give_way_to_lapack(monkeypatch):
    def fails(*args, **kwargs):
        raise neighbor_graph.ArpackError(-1)

    monkeypatch.setattr(neighbor_graph, "SMALL", 20)
    monkeypatch.setattr(neighbor_graph, "eigsh", fails)
    check_eigenvectors(NeighborGraph(cloud(120), 5), 6, True)


def test_components_that_look_alike_have_all_their_equal_eigenvalues():
    """Over all of them at once, Lanczos iterations miss some of the six of each."""
    X = np.unique(np.round(cloud(600, 4), 3), axis=0)
    graph = NeighborGraph(np.concatenate([X + 1024.0 * i for i in range(6)]), 5)
    alone = NeighborGraph(X, 5).smoothest(3, drop_null=True)
    found = graph.smoothest(18, drop_null=True)
    np.testing.assert_allclose(found.values, np.repeat(alone.values, 6), atol=1e-12)


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_rows_does_not_matter(seed):
    X, rng = clusters(9, 14, seed=seed), np.random.default_rng(seed)
    order = rng.permutation(len(X))
    one = NeighborGraph(X, 3).smoothest(8, drop_null=False)
    two = NeighborGraph(X[order], 3).smoothest(8, drop_null=False)
    np.testing.assert_allclose(two.values, one.values, atol=1e-12)
    for cut in range(2, 8):
        if one.values[cut] - one.values[cut - 1] > 1e-3:
            space = one.vectors[order, :cut] @ one.vectors[order, :cut].T
            np.testing.assert_allclose(
                two.vectors[:, :cut] @ two.vectors[:, :cut].T, space, atol=1e-10
            )


@given(seed=seeds, k=st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_a_new_point_is_linked_as_the_graph_would_link_it(seed, k):
    """That is: to its neighbours in a graph that it belongs to, when no other is pushed out."""
    X, x = cloud(15, seed=seed), cloud(1, seed=seed + 1)
    graph = NeighborGraph(X, k)
    linked = links(x, X, graph.radii, k)
    whole = naive.adjacency(np.concatenate([X, x]), k)
    np.testing.assert_array_equal(linked[0], whole[-1, :-1] > 0)


def test_a_far_point_is_linked_to_its_nearest_ones_only():
    X = cloud(30)
    linked = links(np.full((1, 3), 1e6), X, NeighborGraph(X, 4).radii, 4)
    assert linked.sum() == 4
