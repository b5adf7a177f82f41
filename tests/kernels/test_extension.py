"""The extension rules against loops written from their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from pliant.core.threads import blas_limited
from pliant.kernels import Gaussian, Precomputed, extension
from pliant.kernels.extension import (
    CoordinateNeighbors,
    GramNeighbors,
    nearest,
    reciprocal,
)
from tests.reference import naive_kernels as naive


@blas_limited  # as kernels do
def smooth(neighbors, X, values, k):
    return extension.smooth(neighbors, X, neighbors.pool(values), k)


def on_a_grid(n_features):
    """Draw points with many ties and duplicates, and exact distances in floating point."""
    return arrays(
        float,
        st.tuples(st.integers(2, 14), st.just(n_features)),
        elements=st.integers(0, 3).map(float),
    )


ties = given(
    points=on_a_grid(2),
    new=arrays(float, (6, 2), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])),
)


def scattered(seed, n, d):
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, d)), rng.uniform(size=(12, d)), rng.standard_normal(n)


several_sizes = pytest.mark.parametrize(
    ("seed", "n", "d"), [(0, 5, 1), (1, 40, 1), (2, 40, 3), (3, 90, 8), (4, 60, 20), (5, 1, 2)]
)


@several_sizes
def test_nearest_and_reciprocal_agree_with_loops(seed, n, d):
    points, new, _ = scattered(seed, n, d)
    neighbors = CoordinateNeighbors(points)
    np.testing.assert_array_equal(nearest(neighbors, new), [naive.nearest(x, points) for x in new])
    np.testing.assert_array_equal(
        reciprocal(neighbors, new), [naive.reciprocal(x, points) for x in new]
    )


SHORTLISTED = pytest.mark.parametrize("k", [1, 2, 5])


def by_all_distances(points, X, k):
    """Return the k nearest points by definition: ties go to the first, duplicates stand alone."""
    to_all = cdist(X, points)
    indices = to_all.argsort(axis=1, kind="stable")[:, :k]
    distances = np.take_along_axis(to_all, indices, axis=1)
    for row, x in enumerate(X):
        duplicates = np.flatnonzero((points == x).all(axis=1))
        if duplicates.size:
            distances[row], indices[row] = 0.0, duplicates[0]
    return distances, indices


def assert_shortlist_is_right(monkeypatch, points, X, k):
    monkeypatch.setattr(extension, "MANY", 0)
    assert len(points) > 10 * k  # otherwise, there is no shortlist
    distances, indices = CoordinateNeighbors(points).query(X, k)
    expected = by_all_distances(points, X, k)
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_array_equal(distances, expected[0])


@SHORTLISTED
@pytest.mark.parametrize("d", [1, 3, 30, 600])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_a_shortlist_gives_the_nearest_points_to_the_bit(monkeypatch, d, offset, k):
    r = np.random.default_rng(d)
    points, new = r.uniform(size=(300, d)) + offset, r.uniform(size=(40, d)) + offset
    new[:5] = points[[7, 7, 0, 299, 3]]
    new[5:8] = points[10:13] + 1e-9
    assert_shortlist_is_right(monkeypatch, points, new, k)


@SHORTLISTED
@pytest.mark.parametrize("far", [1e4, 1e8, 1e12, 1e99])
def test_a_shortlist_is_not_trusted_where_rounding_hides_the_order(monkeypatch, far, k):
    r = np.random.default_rng(2)
    points = r.uniform(size=(200, 4))
    new = np.concatenate([r.uniform(size=(20, 4)), far * r.standard_normal((20, 4))])
    assert_shortlist_is_right(monkeypatch, points, new, k)
    lonely = np.concatenate([points, [[far, 0.0, 0.0, 0.0]]])
    assert_shortlist_is_right(monkeypatch, lonely, new, k)


@SHORTLISTED
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_with_any_ties_a_shortlist_changes_nothing(k, data):
    values = st.integers(0, 4).map(float) | st.floats(-1e3, 1e3)
    points = data.draw(arrays(float, (60, 2), elements=values))
    new = data.draw(arrays(float, (5, 2), elements=values))
    with pytest.MonkeyPatch.context() as patch:
        assert_shortlist_is_right(patch, points, new, k)


@several_sizes
@pytest.mark.parametrize("k", [1, 2, 5, 100])
def test_smooth_agrees_with_loops(seed, n, d, k):
    points, new, values = scattered(seed, n, d)
    expected = [naive.smooth(x, points, values, k) for x in new]
    np.testing.assert_allclose(
        smooth(CoordinateNeighbors(points), new, values, k), expected, rtol=1e-10, atol=1e-13
    )


@ties
@settings(max_examples=150, deadline=None)
def test_ties_go_to_the_nearer_then_to_the_first_point(points, new):
    neighbors = CoordinateNeighbors(points)
    np.testing.assert_array_equal(nearest(neighbors, new), [naive.nearest(x, points) for x in new])
    np.testing.assert_array_equal(
        reciprocal(neighbors, new), [naive.reciprocal(x, points) for x in new]
    )


@ties
@settings(max_examples=50, deadline=None)
def test_one_point_at_a_time_is_the_same_as_a_batch(points, new):
    neighbors, values = CoordinateNeighbors(points), np.arange(float(len(points)))
    for rule in (nearest, reciprocal, lambda them, X: smooth(them, X, values, 3)):
        alone = np.concatenate([rule(neighbors, new[[i]]) for i in range(len(new))])
        np.testing.assert_array_equal(rule(neighbors, new), alone)


def test_equal_training_points_are_the_first_of_them_or_their_mean():
    points = np.array([[0.0], [1.0], [0.0], [-0.0], [2.0]])
    values = np.array([1.0, 2.0, 3.0, 8.0, 5.0])
    neighbors = CoordinateNeighbors(points)
    for rule in (nearest, reciprocal):
        np.testing.assert_array_equal(rule(neighbors, points), [0, 1, 0, 0, 4])
    np.testing.assert_allclose(smooth(neighbors, points, values, 2), [4, 2, 4, 4, 5])
    signed = CoordinateNeighbors(np.array([[-0.0], [0.0], [1.0]]))
    np.testing.assert_array_equal(nearest(signed, np.array([[0.0], [-0.0]])), [0, 0])
    # a new point also uses the mean of duplicates
    np.testing.assert_allclose(smooth(neighbors, np.array([[0.25]]), values, 4), [3.8])


def test_points_far_outside_are_ranked_at_once(monkeypatch):
    points = np.random.default_rng(0).normal(size=(100, 3))
    new = np.random.default_rng(1).normal(scale=6.0, size=(20, 3))
    whole = extension._reciprocal_from_ranks
    seen = []
    monkeypatch.setattr(
        extension, "_reciprocal_from_ranks", lambda them, X: seen.append(len(X)) or whole(them, X)
    )
    found = reciprocal(CoordinateNeighbors(points), new)
    assert sum(seen) > 10
    np.testing.assert_array_equal(found, [naive.reciprocal(x, points) for x in new])


@pytest.mark.parametrize("seed", range(3))
def test_neighbors_by_a_gaussian_gram_are_those_by_coordinates(seed):
    points, new, _ = scattered(seed, 40, 3)
    base = Gaussian(0.7)
    by_gram = GramNeighbors(Precomputed(base(points)), np.arange(40.0)[:, None])
    by_coordinates = CoordinateNeighbors(points)
    rows = base(new, points)
    for rule in (nearest, reciprocal):
        np.testing.assert_array_equal(rule(by_gram, rows), rule(by_coordinates, new))
        np.testing.assert_array_equal(rule(by_gram, np.arange(40.0)[:, None]), np.arange(40))


def test_distances_by_a_gram_are_those_of_its_feature_space():
    points, new, values = scattered(0, 30, 3)
    inner = points / np.linalg.norm(points, axis=1, keepdims=True)
    new = new / np.linalg.norm(new, axis=1, keepdims=True)
    neighbors = GramNeighbors(Precomputed(inner @ inner.T), np.arange(30.0)[:, None])
    distances, indices = neighbors.query(new @ inner.T, 4)
    expected = [naive.by_distance(x, inner)[:4] for x in new]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(
        distances,
        [[naive.two_norm(x, inner[i]) for i in row] for x, row in zip(new, expected, strict=True)],
    )
    np.testing.assert_allclose(
        smooth(neighbors, new @ inner.T, values, 4),
        [naive.smooth(x, inner, values, 4) for x in new],
        rtol=1e-10,
    )


def test_a_row_number_names_one_of_several_equal_points():
    points = np.array([[0.0], [1.0], [0.0], [0.0]])
    gram, numbers = Gaussian()(points), np.arange(4.0)[:, None]
    neighbors = GramNeighbors(Precomputed(gram), numbers)
    for rule in (nearest, reciprocal):
        np.testing.assert_array_equal(rule(neighbors, numbers), [0, 1, 2, 3])
        np.testing.assert_array_equal(rule(neighbors, gram), [0, 1, 0, 0])


def test_diagonal_entries_of_single_precision_are_equal():
    gram = np.eye(3) + np.diag([0.0, 1e-7, -1e-7])
    neighbors = GramNeighbors(Precomputed(gram), np.arange(3.0)[:, None])
    np.testing.assert_array_equal(nearest(neighbors, np.arange(3.0)[:, None]), [0, 1, 2])


def test_neighbors_by_a_gram_need_equal_diagonal_entries():
    gram = np.diag([1.0, 1.0, 2.0])
    said = "equal diagonal entries, got entries from 1 to 2: .* use extension='none', or normalise"
    with pytest.raises(ValueError, match=said):
        GramNeighbors(Precomputed(gram), np.arange(3.0)[:, None])
