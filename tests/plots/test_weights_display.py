"""Bars show weights_ in descending order, lines weights over C; a note counts the others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import C_path, MKLClassifier, MKLRegressor
from pliant.kernels import Gaussian, Linear, On
from pliant.plots import WeightsDisplay
from pliant.plots._common import COLORS, class_label

NAMES = ["idle", "strong", "weak"]
r = np.random.default_rng(0)
X = r.normal(size=(60, 3))
F = np.sin(2 * X[:, 1]) + 0.4 * X[:, 2]
THIRDS = np.digitize(F, [-0.5, 0.5])


@pytest.fixture(scope="module")
def fitted():
    return MKLClassifier(C=10.0).fit(X, F > 0)


@pytest.fixture(scope="module")
def of_pairs():
    return MKLClassifier(C=10.0, shared_weights=False).fit(X, THIRDS)


def widths(display):
    return np.array([bar.get_width() for bar in display.bars_])


def labels(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def test_bars_are_the_weights_the_largest_first(fitted):
    display = WeightsDisplay.from_estimator(fitted)
    positive = fitted.weights_[fitted.weights_ > 0]
    assert 1 < len(positive) < 15
    np.testing.assert_array_equal(widths(display), np.sort(positive)[::-1])
    best = fitted.kernel_names_[int(fitted.weights_.argmax())]
    assert labels(display)[0] == best
    assert display.ax_.yaxis_inverted()
    assert display.ax_.get_xlim()[0] == 0
    none = len(fitted.kernels_) - len(positive)
    note = f"weight\n{none} more kernels with at most 0.0% of the weight"
    assert display.ax_.get_xlabel() == note
    assert display.lines_ == []


def test_a_path_has_a_line_for_each_kernel(monkeypatch):
    monkeypatch.setattr("pliant.plots.weights.COLORS", COLORS[:3])
    Cs = [10.0, 0.1, 1.0]
    models = C_path(MKLRegressor(), X, F, Cs)
    display = WeightsDisplay.from_path(models)
    weights = np.array([model.weights_ for model in models])
    np.testing.assert_array_equal(display.weights, weights)
    shown = np.argsort(-weights.max(axis=0), kind="stable")[:3]
    for line, m in zip(display.lines_, shown, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [0.1, 1.0, 10.0])
        np.testing.assert_array_equal(line.get_ydata(), weights[[1, 2, 0], m])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == [models[0].kernel_names_[m] for m in shown]
    assert display.ax_.get_xscale() == "log"
    note = display.ax_.get_xlabel().splitlines()
    most = (weights.sum(axis=1) - weights[:, shown].sum(axis=1)).max()
    assert note[1] == f"49 more kernels with at most {most:.1%} of the weight"
    assert display.bars_ is None


def test_names_come_from_the_table_the_user_or_the_place():
    frame = pd.DataFrame(X, columns=NAMES)
    kernels = [On(Gaussian(0.5), [1]), On(Linear(), [0, 2])]
    model = MKLRegressor(kernels, norm=2.0).fit(frame, F)
    assert WeightsDisplay.from_estimator(model).kernel_names == model.kernel_names_
    assert model.kernel_names_ == ["Gaussian(gamma=0.5) of strong", "Linear of idle and weak"]
    plain = make_pipeline(StandardScaler(), MKLRegressor(kernels)).fit(frame, F)
    numbers = WeightsDisplay.from_estimator(plain).kernel_names
    assert numbers == ["Gaussian(gamma=0.5) of feature 1", "Linear of features 0 and 2"]
    named = WeightsDisplay.from_estimator(plain, feature_names=["a", "b", "c"]).kernel_names
    assert named == ["Gaussian(gamma=0.5) of b", "Linear of a and c"]
    own = WeightsDisplay.from_estimator(plain, kernel_names=["x", "y"]).kernel_names
    assert own == ["x", "y"]


def test_weights_of_zero_have_no_share():
    display = WeightsDisplay(np.zeros(30)).plot()
    assert "nan" not in display.ax_.get_xlabel()


@pytest.mark.parametrize(
    ("label", "name"),
    [(20240101, "class 20240101"), (2.5, "class 2.5"), (True, "True"), ("a", "a")],
)
def test_names_of_classes(label, name):
    assert class_label(label) == name
