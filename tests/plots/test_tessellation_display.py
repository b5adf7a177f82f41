"""The surface shows the learned kernel, and the lines the edges of its tessellation."""

import numpy as np
import pytest

from pliant import TKLClassifier, TKLRegressor
from pliant.plots import TessellationDisplay


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).uniform([0, 0, -5], [1, 10, 5], size=(60, 3))
    return X, np.where(X[:, 1] > 4 + X[:, 2] / 5, 1, -1)


@pytest.fixture(scope="module")
def fitted(data):
    return TKLClassifier(C=10.0).fit(*data)


def test_the_grid_holds_the_kernel_around_the_point(fitted, data):
    X, _ = data
    z = np.array([0.3, 2.0, 1.0])
    display = TessellationDisplay.from_estimator(
        fitted, X, features=(2, 0), point=z, grid_resolution=11
    )
    x = [display.vertical[7], z[1], display.horizontal[3]]
    assert display.values[7, 3] == pytest.approx(fitted.kernel_([x], z[None])[0, 0], rel=1e-12)
    assert display.horizontal[[0, -1]].tolist() == [X[:, 2].min(), X[:, 2].max()]
    assert display.vertical[[0, -1]].tolist() == [X[:, 0].min(), X[:, 0].max()]
    assert display.point == (1.0, 0.3)
    assert display.point_.get_xydata().tolist() == [[1.0, 0.3]]
    assert display.edges_[0].get_xdata() == [1.0, 1.0]
    assert display.edges_[1].get_ydata() == [0.3, 0.3]
    assert display.ax_.get_xlabel() == "feature 2"
    assert display.ax_.get_ylabel() == "feature 0"


def test_the_kernel_has_its_kinks_on_the_edges_alone(fitted, data):
    X, _ = data
    display = TessellationDisplay.from_estimator(fitted, X, features=(1, 2), grid_resolution=200)
    bends = np.abs(np.diff(display.values, n=3, axis=1)).max(axis=0)
    kink = display.horizontal[1:-2][bends > 1e-6]
    step = display.horizontal[1] - display.horizontal[0]
    assert kink.size
    assert np.abs(kink - display.point[0]).max() <= 2 * step


def test_the_point_is_the_median_and_the_plane_that_of_most_change(fitted, data):
    X, _ = data
    display = TessellationDisplay.from_estimator(fitted, X, grid_resolution=3)
    z = np.median(X, axis=0)
    changes = []
    for f in range(3):
        line = np.repeat(z[None], 21, axis=0)
        line[:, f] = np.linspace(X[:, f].min(), X[:, f].max(), 21)
        changes.append(np.ptp(fitted.kernel_(line, z[None])))
    first, second = sorted(np.argsort(changes)[1:])
    assert display.names == (f"feature {first}", f"feature {second}")
    assert display.point == (z[first], z[second])


def test_one_feature_is_drawn_against_itself(data):
    X, _ = data
    model = TKLRegressor(C=10.0).fit(X[:, :1], X[:, 0] ** 2)
    display = TessellationDisplay.from_estimator(model, X[:, :1], grid_resolution=9)
    x, z = [[display.horizontal[2]]], [[display.vertical[5]]]
    assert display.values[5, 2] == pytest.approx(model.kernel_(x, z)[0, 0])
    assert display.point is None
    assert display.point_ is None
    (edge,) = display.edges_
    assert edge.get_slope() == 1.0
    assert display.ax_.get_xlabel() == "feature 0 of x"
    assert display.ax_.get_ylabel() == "feature 0 of z"
