"""The heat map shows F - 1 between support points in the documented order."""

import numpy as np
import pytest
import scipy.sparse
from matplotlib import pyplot

from pliant import DANKClassifier, DANKRegressor
from pliant.plots import AdaptationDisplay, _common


def test_it_draws_f_minus_one_by_class_and_coefficient(model, clowns):
    X, y = clowns
    display = AdaptationDisplay.from_estimator(model, X, y)
    support = model.support_
    order = support[np.lexsort((np.abs(model.dual_coef_), y[support] == 1))]
    expected = model.adaptation_.toarray()[np.ix_(order, order)] - 1
    np.testing.assert_allclose(display.image_.get_array(), expected)
    np.testing.assert_array_equal(display.y, np.sort(y[support]))
    assert f"all {len(support)} support points" in display.ax_.get_title()


def test_sparse_points_and_points_without_weight(clowns):
    X, y = clowns
    rows = scipy.sparse.csr_array(X)
    model = DANKClassifier(C=10.0).fit(rows, y)
    display = AdaptationDisplay.from_estimator(model, rows, y)
    np.testing.assert_array_equal(display.y, np.sort(y[model.support_]))
    weights = np.arange(len(y)) % 3 > 0
    model = DANKClassifier(C=10.0).fit(X, y, sample_weight=weights)
    display = AdaptationDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.y, np.sort(y[model.support_]))


def test_colours_diverge_from_zero(model, clowns):
    image = AdaptationDisplay.from_estimator(model, *clowns).image_
    low, high = image.get_clim()
    assert low == -high == -np.abs(image.get_array()).max()
    np.testing.assert_allclose(image.cmap(image.norm(0.0))[:3], 0.97, atol=0.02)  # white


def test_where_there_is_nothing_to_see_it_says_so_in_pale_colours(clowns):
    X, y = clowns
    stiff = DANKClassifier(C=10.0, eta_scale=1e6, tau=0.0).fit(X, y)
    display = AdaptationDisplay.from_estimator(stiff, X, y)
    largest = np.abs(display.change).max()
    assert 0 < largest < 1e-3
    assert display.hardly_adapted
    assert display.ax_.get_title().endswith(f"\nhardly adapted: |F − 1| ≤ {largest:.1g}")
    assert display.image_.get_clim() == (-1e-3, 1e-3)
    at_limit = AdaptationDisplay(np.array([[0.0, 1e-3], [-1e-3, 0.0]]), np.arange(2), 2, "class")
    assert at_limit.hardly_adapted
    beyond = AdaptationDisplay(
        np.array([[0.0, 2e-3], [2e-3, 0.0]]), np.arange(2), 2, "class"
    ).plot()
    assert not beyond.hardly_adapted
    assert "hardly" not in beyond.ax_.get_title()


def test_many_points_are_thinned_evenly_and_the_title_says_so(model, clowns, monkeypatch):
    monkeypatch.setattr(_common, "MAX_POINTS", 7)
    display = AdaptationDisplay.from_estimator(model, *clowns)
    assert display.change.shape == (7, 7)
    assert f"7 of {len(model.support_)} support points" in display.ax_.get_title()
    monkeypatch.undo()
    whole = AdaptationDisplay.from_estimator(model, *clowns).change
    assert display.change[0, 0] == whole[0, 0]
    assert display.change[-1, -1] == whole[-1, -1]


def test_axes_and_text_labels(clowns):
    X, y = clowns
    names = np.where(y > 0, "arch", "cloud")
    _, ax = pyplot.subplots()
    model = DANKClassifier().fit(X, names)
    display = AdaptationDisplay.from_estimator(model, X, names, ax=ax)
    assert display.ax_ is ax
    assert [text.get_text() for text in ax.get_xticklabels()] == ["arch", "cloud"]


def test_a_regressor_is_drawn_by_target(clowns):
    X, _ = clowns
    model = DANKRegressor(C=10.0, epsilon=0.3).fit(X[:, :1], X[:, 1])
    display = AdaptationDisplay.from_estimator(model, X[:, :1], X[:, 1])
    support = model.support_[np.argsort(X[model.support_, 1])]
    expected = model.adaptation_.toarray()[np.ix_(support, support)] - 1
    np.testing.assert_allclose(display.image_.get_array(), expected, atol=1e-12)
    ends = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert ends[0] == f"{X[support[0], 1]:.3g}"
    assert ends[-1] == f"{X[support[-1], 1]:.3g}"
    assert display.ax_.get_xlabel() == "target"


def test_the_labels_of_the_support_points_are_enough(model, clowns):
    X, y = clowns
    display = AdaptationDisplay.from_support(model, y[model.support_])
    whole = AdaptationDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.change, whole.change)
    assert not hasattr(display, "ax_")
    with pytest.raises(ValueError, match=r"expected y of shape \(\d+,\), .* got \(2,\)"):
        AdaptationDisplay.from_support(model, y[:2])
