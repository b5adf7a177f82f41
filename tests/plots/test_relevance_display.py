"""Bars show feature_relevance_, the heat map support_relevance_, in documented order."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from pliant import LABRBFRegressor
from pliant.plots import RelevanceDisplay, _common

NAMES = ["idle", "strong", "weak"]


def regressor():
    return LABRBFRegressor(n_support=12, n_members=2, max_iter=10, random_state=0)


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).uniform(-1, 1, size=(120, 3))
    return X, np.sin(3 * X[:, 1]) + 0.3 * X[:, 2]


@pytest.fixture(scope="module")
def fitted(data):
    return regressor().fit(*data)


def test_bars_are_the_relevance_the_largest_first(fitted):
    display = RelevanceDisplay.from_estimator(fitted, feature_names=NAMES)
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, np.sort(fitted.feature_relevance_)[::-1])
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == ["strong", "weak", "idle"]
    assert display.ax_.yaxis_inverted()
    assert display.image_ is None
    assert display.ax_.get_title() == "Relevance"


def test_the_heat_map_has_a_row_for_each_support_point_in_groups(fitted):
    display = RelevanceDisplay.from_estimator(fitted, kind="support", feature_names=NAMES)
    cells = np.asarray(display.image_.get_array())
    shares = fitted.support_relevance_[:, display.order]
    assert cells.shape == shares.shape
    np.testing.assert_array_equal(np.sort(cells, axis=0), np.sort(shares, axis=0))
    largest = cells.argmax(axis=1)
    assert (np.diff(largest) >= 0).all()
    for group in np.unique(largest):
        assert (np.diff(cells[largest == group].max(axis=1)) <= 0).all()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["strong", "weak", "idle"]
    assert display.ax_.get_ylabel() == f"{len(shares)} support points"
    assert display.image_.get_clim() == (0.0, 1.0)
    assert display.bars_ is None


def test_few_features_and_few_points_of_many(fitted, monkeypatch):
    monkeypatch.setattr(_common, "MAX_POINTS", 5)
    bars = RelevanceDisplay.from_estimator(fitted, most_features=2)
    assert len(bars.bars_) == 2
    assert bars.ax_.get_title() == "Relevance, 2 of 3 features"
    points = RelevanceDisplay.from_estimator(fitted, kind="support", most_features=1)
    assert points.image_.get_array().shape == (5, 1)
    assert points.ax_.get_ylabel() == f"5 of {len(fitted.support_)} support points"


def test_names_come_from_the_table_a_pipeline_or_the_user(data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    assert RelevanceDisplay.from_estimator(regressor().fit(frame, y)).feature_names == NAMES
    pipeline = make_pipeline(MinMaxScaler(), regressor()).fit(frame, y)
    numbers = RelevanceDisplay.from_estimator(pipeline)
    assert numbers.feature_names == ["feature 0", "feature 1", "feature 2"]
    assert RelevanceDisplay.from_estimator(pipeline, feature_names=NAMES).feature_names == NAMES


def test_error_bars_are_the_spread_over_the_members(fitted, data):
    display = RelevanceDisplay.from_estimator(fitted)
    (segments,) = (bars.get_segments() for bars in display.bars_.errorbar[2])
    ends = np.array(segments)[:, :, 0]
    relevance = fitted.feature_relevance_[display.order]
    np.testing.assert_allclose(ends.mean(axis=1), relevance)
    spread = fitted.feature_relevance_spread_[display.order]
    np.testing.assert_allclose(np.diff(ends, axis=1)[:, 0], 2 * spread)
    alone = LABRBFRegressor(n_support=12, n_members=1, max_iter=5, dense=False, random_state=0)
    alone.fit(*data)
    assert RelevanceDisplay.from_estimator(alone).bars_.errorbar is None


def test_correlated_features_have_an_asterisk_and_a_note(data):
    X, y = data
    model = regressor().fit(np.column_stack([X, 2 * X[:, 1]]), y)
    display = RelevanceDisplay.from_estimator(model, feature_names=[*NAMES, "twin"])
    labels = {text.get_text() for text in display.ax_.get_yticklabels()}
    assert labels == {"strong *", "twin *", "weak", "idle"}
    assert display.ax_.get_xlabel().endswith("\n* correlated with another feature")
