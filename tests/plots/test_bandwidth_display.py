"""The heat map shows bandwidths for features on [-1, 1], grouped by member and feature."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import LogNorm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.plots import BandwidthDisplay, _common

NAMES = ["idle", "strong", "constant"]


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).uniform([-100, -1, 3], [100, 1, 3], size=(120, 3))
    return X, np.sin(3 * X[:, 1])


@pytest.fixture(scope="module")
def fitted(data):
    return LABRBFRegressor(n_support=12, n_members=2, max_iter=10, random_state=0).fit(*data)


def on_one_scale(member, X):
    half = (X.max(axis=0) - X.min(axis=0)) / 2
    return member.kernel_.bandwidths * half


def test_all_local_members_that_predict_are_drawn_on_one_scale(fitted, data):
    X, _ = data
    assert len(fitted.members_) > 2  # the others are dense, with the same bandwidths in all points
    display = BandwidthDisplay.from_estimator(fitted, feature_names=NAMES)
    expected = [on_one_scale(member, X) for member in fitted.members_[:2]]
    np.testing.assert_allclose(display.bandwidths, np.vstack(expected), rtol=1e-9)
    cells = np.asarray(display.image_.get_array())
    low, high = display.image_.get_clim()
    assert high == display.bandwidths.max()
    assert low == pytest.approx(1e-3 * high)  # the constant feature has no bandwidth
    for k, theta in enumerate(expected):  # grouped by member, each row once
        block = cells[12 * k : 12 * (k + 1)]
        drawn = np.maximum(theta[:, display.order], low)
        np.testing.assert_allclose(np.sort(block, axis=0), np.sort(drawn, axis=0))
    assert isinstance(display.image_.norm, LogNorm)
    assert display.ax_.get_xticklabels()[0].get_text() == "strong"
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["0", "1"]
    assert display.ax_.get_ylabel() == "24 support points\nby member"


def test_support_points_with_like_bandwidths_are_neighbours():
    narrow, wide = np.array([5.0, 0.1]), np.array([0.1, 5.0])
    theta = np.where(np.arange(40)[:, None] % 2, narrow, wide)
    cells = np.asarray(BandwidthDisplay(theta).plot().image_.get_array())
    assert np.count_nonzero(np.diff(cells[:, 0])) == 1


def test_few_features_and_few_points_of_many(fitted, monkeypatch):
    monkeypatch.setattr(_common, "MAX_POINTS", 5)
    display = BandwidthDisplay.from_estimator(fitted, most_features=2)
    assert display.image_.get_array().shape == (5, 2)
    assert display.ax_.get_ylabel() == "5 of 24 support points\nby member"
    assert display.ax_.get_title() == "Bandwidths, 2 of 3 features"


def test_names_frames_pipelines_axes_and_style(data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    model = LABRBFClassifier(n_support=10, n_members=1, max_iter=5, random_state=0)
    display = BandwidthDisplay.from_estimator(model.fit(frame, y > 0))
    assert display.feature_names == NAMES
    _, ax = pyplot.subplots()
    pipeline = make_pipeline(MinMaxScaler(), model).fit(frame, y > 0)
    inside = BandwidthDisplay.from_estimator(pipeline, ax=ax, cmap="magma")
    assert inside.ax_ is ax
    assert inside.image_.get_cmap().name == "magma"
    assert inside.feature_names[0] == "feature 0"
