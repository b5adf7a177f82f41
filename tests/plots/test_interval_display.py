"""Intervals are vertical lines at their targets; those that miss them differ in colour."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from pliant import LABRBFRegressor
from pliant.plots import IntervalDisplay
from pliant.tables import BlendRegressor

QUICK = {"n_support": 8, "n_members": 3, "max_iter": 5, "random_state": 0}


def points(n, seed):
    return np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))


def waves(X):
    return np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * np.sin(50 * X[:, 0] * X[:, 1])


X, X_NEW = points(120, 0), points(90, 1)
Y, Y_NEW = waves(X), waves(X_NEW)


@pytest.fixture(scope="module")
def regressor():
    return LABRBFRegressor(**QUICK).fit(X, Y)


def segments(lines):
    """Return the ends of vertical lines as rows (x, low, high)."""
    return np.array([[a[0], a[1], b[1]] for a, b in lines.get_segments()])


def test_lines_are_the_intervals_at_the_targets(regressor):
    display = IntervalDisplay.from_estimator(regressor, X_NEW, Y_NEW, coverage=0.5)
    low, high = regressor.predict_interval(X_NEW, 0.5).T
    inside = (low <= Y_NEW) & (high >= Y_NEW)
    assert 0 < inside.sum() < len(inside)
    np.testing.assert_array_equal(display.inside, inside)
    assert display.mean_width == pytest.approx(np.mean(high - low))
    for lines, which in zip(display.lines_, (inside, ~inside), strict=True):
        expected = np.column_stack([Y_NEW, low, high])[which]
        np.testing.assert_allclose(segments(lines), expected[np.argsort(expected[:, 0])])
    x, predicted = display.points_.get_data()
    order = np.argsort(Y_NEW)
    np.testing.assert_array_equal(x, Y_NEW[order])
    np.testing.assert_array_equal(predicted, regressor.predict(X_NEW)[order])
    np.testing.assert_array_equal(*display.diagonal_.get_data())
    title = f"50 % intervals: {inside.mean():.0%} of 90 targets inside"
    assert display.ax_.get_title() == title
    assert display.ax_.get_xlabel() == "measured target"


def test_the_intervals_of_a_blend_are_drawn():
    blend = BlendRegressor([("ridge", Ridge()), ("trees", DecisionTreeRegressor(max_depth=4))])
    blend.fit(X, Y)
    display = IntervalDisplay.from_estimator(blend, X_NEW, Y_NEW)
    np.testing.assert_array_equal(display.intervals, blend.predict_interval(X_NEW))
    np.testing.assert_array_equal(display.predicted, blend.predict(X_NEW))


def test_of_many_samples_some_are_drawn_and_all_are_counted(monkeypatch):
    y = np.arange(1000.0)[::-1]
    ends = np.column_stack([y - 1, y + np.where(y < 300, -0.5, 2.0)])
    monkeypatch.setattr("pliant.plots.lab_rbf.MAX_INTERVALS", 11)
    display = IntervalDisplay(y, y, ends).plot()
    assert display.inside.sum() == 700
    assert display.mean_width == pytest.approx(0.3 * 0.5 + 0.7 * 3.0)
    np.testing.assert_array_equal(
        display.points_.get_xdata(), [0, 99, 199, 299, 399, 499, 599, 699, 799, 899, 999]
    )
    assert [len(lines.get_segments()) for lines in display.lines_] == [7, 4]
    assert display.ax_.get_xlabel() == "measured target, 11 of 1000 drawn"
    assert "70% of 1000 targets" in display.ax_.get_title()
