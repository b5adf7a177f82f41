"""Formulas of peer methods, tested against slow references and other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier

from papers.contestants.embeddings import edges_of, linked, smooth_functions, unfold, unfolded
from tests.reference import unfolding_sdp

RNG = np.random.default_rng(0)


def clouds(n=24, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.standard_normal((n, 3)) + 4.0 * np.eye(3)[y], y


@pytest.mark.parametrize(("count", "penalty"), [(5, 1.0), (5, 100.0), (11, 1.0)])
def test_unfolding_solves_its_semidefinite_program(count, penalty):
    X, y = clouds(12)
    distances = euclidean_distances(X)
    graph = linked(distances, 3)
    V, _ = smooth_functions(graph, distances, 3, count)
    V /= np.sqrt((V**2).mean(axis=0))
    edges, squares = edges_of(graph, distances)
    assert squares.mean() == pytest.approx(1.0)
    B = unfold(V, y, edges, squares, penalty)
    K = V @ B @ B.T @ V.T
    other, optimum = unfolding_sdp.unfold(V, y, edges, squares, penalty)
    H, L = np.eye(12) - 1 / 12, np.equal.outer(y, y)
    i, j = edges.T
    errors = K.diagonal()[i] + K.diagonal()[j] - 2 * K[i, j] - squares
    value = np.trace(K @ H @ L @ H) / 12**2 - penalty * np.mean(errors**2)
    assert value == pytest.approx(optimum, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(H @ K @ H, H @ other @ H, atol=0.02 * np.abs(other).max())


def test_unfolded_points_lie_with_their_class_on_a_connected_graph():
    line = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.5]])
    links = np.argwhere(np.triu(linked(euclidean_distances(line), 1))).tolist()
    assert links == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    (X, y), (new, truth) = clouds(60), clouds(30, seed=1)
    Z, Z_new = unfolded(X, y, new, neighbours=5, penalty=1.0, n_functions=5)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)
    assert KNeighborsClassifier(5).fit(Z, y).score(Z_new, truth) > 0.9
