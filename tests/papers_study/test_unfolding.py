"""Coloured maximum variance unfolding: its semidefinite program, and its embedding."""

import json

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier

from papers.contestants.unfolding import (
    ColouredUnfolding,
    edges_of,
    linked,
    smooth_functions,
    unfold,
)
from tests.papers_study.test_scg import HALVES, sample_of
from tests.reference import unfolding_sdp


def clouds(n=24, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.standard_normal((n, 3)) + 4.0 * np.eye(3)[y], y


@pytest.mark.parametrize(("count", "penalty"), [(5, 1.0), (5, 100.0), (11, 1.0)])
def test_it_solves_its_semidefinite_program(count, penalty):
    X, y = clouds(12)
    distances = euclidean_distances(X)
    graph = linked(distances, 3)
    V, _ = smooth_functions(graph, distances, 3, count)
    edges, squares = edges_of(graph, distances)
    B = unfold(V, y, edges, squares, penalty)
    K = V @ B @ B.T @ V.T
    other, optimum = unfolding_sdp.unfold(V, y, edges, squares, penalty)
    H, L = np.eye(12) - 1 / 12, np.equal.outer(y, y)
    i, j = edges.T
    errors = K.diagonal()[i] + K.diagonal()[j] - 2 * K[i, j] - squares
    value = np.trace(K @ H @ L @ H) / 12**2 - penalty * np.mean(errors**2)
    assert value == pytest.approx(optimum, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(H @ K @ H, H @ other @ H, atol=0.02 * np.abs(other).max())


def test_a_large_penalty_keeps_distances_and_a_small_one_spreads_the_classes():
    X, y = clouds()
    distances = euclidean_distances(X)
    graph = linked(distances, 4)
    edges, squares = edges_of(graph, distances)
    V = np.eye(24)  # all functions of the points
    kept, spread = [], []
    for penalty in (0.01, 1.0, 100.0):
        Z = V @ unfold(V, y, edges, squares, penalty)
        lengths = ((Z[edges[:, 0]] - Z[edges[:, 1]]) ** 2).sum(axis=1)
        kept.append(np.mean((lengths - squares) ** 2))
        means = np.array([Z[y == c].mean(axis=0) for c in range(3)])
        spread.append(((means - means.mean(axis=0)) ** 2).sum())
    assert kept[0] > kept[1] > kept[2]
    assert spread[0] > spread[1] > spread[2]
    assert kept[2] < 1e-3


def test_the_graph_is_connected_and_has_the_neighbours():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.5]])
    graph = linked(euclidean_distances(X), 1)
    assert {(i, j) for i, j in np.argwhere(np.triu(graph))} == {
        (0, 1), (1, 2), (2, 3), (3, 4), (4, 5)
    }  # fmt: skip
    _, squares = edges_of(graph, euclidean_distances(X))
    assert squares.mean() == pytest.approx(1.0)


def test_new_points_lie_with_their_class():
    (X, y), (new, truth) = clouds(60), clouds(30, seed=1)
    setting = [{"neighbours": 5, "penalty": 1.0}]
    ((Z, Z_new),) = ColouredUnfolding(n_functions=5).coordinates(X, y, new, setting, 2)
    assert Z.shape == (60, 2)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)
    assert KNeighborsClassifier(5).fit(Z, y).score(Z_new, truth) > 0.9


def test_it_is_measured_as_the_other_embeddings_are():
    sample = sample_of(labelled=90, test=40)
    contestant = ColouredUnfolding(neighbours=(5,), penalties=(1.0, 10.0), n_functions=12)
    found = contestant.measure(sample, HALVES, 0, None)
    assert list(found) == ["2-D", "9-D"]
    assert found["9-D"]["test"] > 1 / 11
    assert found["2-D"]["penalty"] in (1.0, 10.0)
    json.dumps(found)
    assert contestant.words()
