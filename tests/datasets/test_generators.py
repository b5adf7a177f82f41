"""Generated problems: shapes, ranges, seeds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from pliant.datasets import make_clowns, make_speed_problem


def test_speed_problem_is_the_documented_one():
    X, y = make_speed_problem(150)
    raw, label = make_classification(
        150, 14, n_informative=8, n_clusters_per_class=6, flip_y=0.05, random_state=0
    )
    spread = raw.max(axis=0) - raw.min(axis=0)
    np.testing.assert_allclose(X, (raw - raw.min(axis=0)) / spread, atol=1e-12)
    assert np.array_equal(y, 2.0 * label - 1)


def test_speed_problem_fills_the_unit_box():
    X, y = make_speed_problem(200, random_state=3)
    np.testing.assert_allclose(X.min(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.max(axis=0), 1, atol=1e-12)
    assert set(y) == {-1.0, 1.0}


def test_seeds_make_problems():
    for make in (make_speed_problem, make_clowns):
        first, again, other = make(50, 1), make(50, 1), make(50, 2)
        assert np.array_equal(first[0], again[0])
        assert not np.array_equal(first[0], other[0])


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


def test_empty_problems_are_refused():
    with pytest.raises(ValueError, match="n >= 2, got 1"):
        make_speed_problem(1)
    with pytest.raises(ValueError, match="n_per_class >= 1, got 0"):
        make_clowns(0)
