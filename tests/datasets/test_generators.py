"""Synthetic problems: shapes, ranges, seeds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from benchmarks.problems import make_speed_problem
from pliant.datasets import make_clowns, make_sandwich, make_terrain
from pliant.datasets.generators import terrain_elevation


def test_speed_problem_is_the_documented_one():
    X, y = make_speed_problem(150)
    raw, label = make_classification(
        150, 14, n_informative=8, n_clusters_per_class=6, flip_y=0.05, random_state=0
    )
    spread = raw.max(axis=0) - raw.min(axis=0)
    np.testing.assert_allclose(X, (raw - raw.min(axis=0)) / spread, atol=1e-12)
    assert np.array_equal(y, 2.0 * label - 1)


def test_clowns_are_an_arch_over_a_cloud():
    X, y = make_clowns(400, random_state=0)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1, atol=1e-12)
    arch, cloud = X[y == 1], X[y == -1]
    assert len(arch) == len(cloud) == 400
    middle = np.abs(arch[:, 0]) < 0.3
    assert arch[middle, 1].mean() > cloud[:, 1].mean() + 1.5
    assert np.polyfit(arch[:, 0], arch[:, 1], 2)[0] < -0.5
    assert SVC(kernel="linear").fit(X, y).score(X, y) < 0.85
    assert SVC(kernel="rbf").fit(X, y).score(X, y) > 0.93


def test_terrain_is_a_canyon_between_two_plateaus():
    up = np.linspace(0.4, 1.0, 300)
    north = terrain_elevation(np.column_stack([np.full(300, 0.2), up]))
    south = terrain_elevation(np.column_stack([np.full(300, 0.2), 0.8 - up]))
    assert north[0] == south[0] == 800
    assert np.all(np.diff(north) >= 0)
    assert north[-1] > 2400 > 2100 >= south.max() > 2000
    across = terrain_elevation(np.column_stack([up, np.full(300, 0.9)]))
    assert across.min() == pytest.approx(900, abs=1)
    assert up[across.argmin()] == pytest.approx(0.65, abs=0.03)


def test_terrain_has_cliffs_and_no_jumps():
    X = np.random.default_rng(0).uniform(-0.2, 1.2, (5000, 2))
    for step in (1e-3, 1e-6):
        north = X + np.array([0, step])
        rise = np.abs(terrain_elevation(north) - terrain_elevation(X)) / step
        assert rise.max() == pytest.approx(550 / 0.02)  # the north rim: 1850 m to 2400 m
        assert np.median(rise) < 2000


def test_a_turned_terrain_is_the_same_terrain():
    X = np.random.default_rng(1).uniform(size=(50, 2))
    quarter = np.column_stack([1 - X[:, 1], X[:, 0]])
    np.testing.assert_allclose(terrain_elevation(quarter, 90), terrain_elevation(X), atol=1e-8)
    np.testing.assert_allclose(terrain_elevation(X, 360), terrain_elevation(X), atol=1e-8)


def test_terrain_samples_are_elevations_with_noise():
    X, y = make_terrain(400, angle=20, random_state=0)
    assert X.shape == (400, 2)
    assert 0 <= X.min() < 0.01 < 0.99 < X.max() <= 1
    np.testing.assert_array_equal(y, terrain_elevation(X, 20))
    X_again, noisy = make_terrain(400, angle=20, noise=30, random_state=0)
    np.testing.assert_array_equal(X_again, X)
    assert np.std(noisy - y) == pytest.approx(30, rel=0.1)


def test_the_sandwich_has_class_minus_one_inside():
    X, y = make_sandwich(4000, random_state=0)
    assert np.abs(X[y < 0, 1]).mean() < 0.5 < 1.1 < np.abs(X[y > 0, 1]).mean()
    assert X[y > 0].mean(axis=0) == pytest.approx([0, 0], abs=0.1)
    assert X[y > 0].std(axis=0) == pytest.approx(np.hypot([0.7, 0.5], [8**0.5 / 3**0.5, 1.2]), 0.03)


def test_the_best_rule_for_the_sandwich_is_as_good_as_stated():
    X, y = make_sandwich(40_000, random_state=1)

    def normal(t, mean, deviation):
        return np.exp(-0.5 * ((t - mean) / deviation) ** 2) / deviation / np.sqrt(2 * np.pi)

    along = sum(normal(X[:, 0], centre, 0.7) for centre in (-2, 0, 2)) / 3
    across = sum(normal(X[:, 1], centre, 0.5) for centre in (-1.2, 1.2)) / 2
    bread = along * across
    filling = (np.abs(X[:, 0]) <= 3) / 6 * normal(X[:, 1], 0, 0.5)
    assert np.mean((bread > filling) == (y > 0)) == pytest.approx(0.847, abs=0.004)


@pytest.mark.parametrize("make", [make_sandwich, make_speed_problem, make_clowns, make_terrain])
def test_seeds_make_problems(make):
    first, again, other = (make(30, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])


def test_parameters_out_of_range():
    with pytest.raises(ValueError, match="expected n_samples >= 1, an integer, got 0"):
        make_terrain(0)
    with pytest.raises(ValueError, match="noise >= 0, a finite number, got"):
        make_terrain(noise=np.nan)
