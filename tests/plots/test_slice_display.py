"""Slices are partial dependences; their bands are the spread over the members."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVR

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.methods.lab_rbf import regressor as regressor_module
from pliant.plots import SliceDisplay

NAMES = ["idle", "strong", "weak"]
QUICK = {"n_support": 12, "n_members": 3, "max_iter": 10, "random_state": 0}
WHOLE = {"percentiles": (0.0, 1.0), "grid_resolution": 20}
X = np.random.default_rng(0).uniform(-1, 1, size=(90, 3))
Y = np.sin(3 * X[:, 1]) + 0.3 * X[:, 2]
TARGETS = {
    "regression": Y,
    "logarithm": np.exp(3 * Y),
    "two classes": np.where(Y > 0, "yes", "no"),
    "three classes": np.digitize(Y, [-0.5, 0.5]),
}


@pytest.fixture(scope="module")
def models():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regressor_module, "LEAST_ROWS", 10)
        patch.setattr(regressor_module, "GAIN", np.inf)
        fitted = {
            kind: (LABRBFRegressor if y.dtype.kind == "f" else LABRBFClassifier)(**QUICK).fit(X, y)
            for kind, y in TARGETS.items()
            if kind != "regression"
        }
    fitted["regression"] = LABRBFRegressor(**QUICK).fit(X, Y)
    assert fitted["logarithm"].target_transform_ == "log"
    return fitted


@pytest.mark.parametrize("kind", TARGETS)
def test_the_mean_is_the_partial_dependence(models, kind):
    model = models[kind]
    target = 2 if kind == "three classes" else None
    display = SliceDisplay.from_estimator(model, X, [2, 1], target=target, **WHOLE)
    for each, feature in zip(display.slices, (2, 1), strict=True):
        known = partial_dependence(model, X, [feature], method="brute", kind="both", **WHOLE)
        row = -1 if kind.endswith("classes") else 0
        np.testing.assert_allclose(each.average, known["average"][row], rtol=0, atol=1e-8)
        np.testing.assert_allclose(each.grid, known["grid_values"][0], rtol=1e-12)
        np.testing.assert_allclose(each.lines, known["individual"][row], rtol=0, atol=1e-8)
        assert each.feature == feature


@pytest.mark.parametrize("kind", TARGETS)
def test_the_band_is_the_spread_of_single_members(models, kind):
    model, partial = models[kind], []
    used = model.averaged_.copy()
    each = SliceDisplay.from_estimator(model, X, 1, target=2 if "three" in kind else None, **WHOLE)
    try:
        for k in np.flatnonzero(used):
            model.averaged_ = np.arange(3) == k
            alone = partial_dependence(model, X, [1], method="brute", **WHOLE)
            partial.append(alone["average"][-1])
    finally:
        model.averaged_ = used
    expected = np.std(partial, axis=0, ddof=1)
    assert expected.max() > 1e-3
    np.testing.assert_allclose(each.slices[0].spread, expected, rtol=0, atol=1e-8)


def test_lines_bands_names_and_axes(models):
    display = SliceDisplay.from_estimator(
        models["regression"], X, ["strong", 0], feature_names=NAMES, n_lines=5, color="black"
    )
    assert [ax.get_xlabel() for ax in display.axes_] == ["strong", "idle"]
    assert display.axes_[0].get_ylabel() == "prediction"
    assert display.axes_[1].get_ylabel() == ""
    for drawn, lines, band, each in zip(
        display.averages_, display.lines_, display.bands_, display.slices, strict=True
    ):
        np.testing.assert_array_equal(drawn.get_ydata(), each.average)
        assert drawn.get_color() == "black"
        assert len(lines) == 5
        np.testing.assert_array_equal(lines[-1].get_ydata(), each.lines[-1])
        edge = band.get_paths()[0].vertices[:, 1]
        assert edge.max() == pytest.approx((each.average + each.spread).max())
        assert edge.min() == pytest.approx((each.average - each.spread).min())
    figure = display.axes_[0].figure
    assert list(figure.axes) == list(display.axes_)


def test_given_axes(models):
    _, axes = pyplot.subplots(1, 2)
    display = SliceDisplay.from_estimator(models["regression"], X, [0, 1], ax=axes)
    assert list(display.axes_) == list(axes)
    _, ax = pyplot.subplots()
    assert list(SliceDisplay.from_estimator(models["regression"], X, 0, ax=ax).axes_) == [ax]
    with pytest.raises(ValueError, match="expected an ax for each of 2 features"):
        display.plot(ax)


def test_the_most_relevant_features_come_first_by_default(models):
    display = SliceDisplay.from_estimator(models["regression"], X)
    assert [each.feature for each in display.slices][:2] == [1, 2]
    many = np.random.default_rng(1).normal(size=(40, 6))
    model = LABRBFRegressor(**QUICK).fit(many, many[:, 0])
    assert len(SliceDisplay.from_estimator(model, many).slices) == 4


def test_few_points_few_values_and_one_point(models):
    model = models["regression"]
    (few,) = SliceDisplay.from_estimator(model, X, 1, n_points=7).slices
    assert few.lines.shape == (7, 50)
    low, high = np.quantile(X[:, 1], [0.05, 0.95])
    assert (few.grid[0], few.grid[-1]) == (low, high)
    coarse = np.round(X)
    (steps,) = SliceDisplay.from_estimator(model, coarse, 1).slices
    np.testing.assert_array_equal(steps.grid, [-1, 0, 1])
    (single,) = SliceDisplay.from_estimator(model, X, 1, at=[0.1, 9.0, 0.3]).slices
    points = np.tile([0.1, 0.0, 0.3], (50, 1))
    points[:, 1] = single.grid
    np.testing.assert_allclose(single.average, model.predict(points), rtol=1e-12)
    assert len(single.lines) == 1


def test_one_member_has_no_band():
    model = LABRBFRegressor(**{**QUICK, "n_members": 1}).fit(X, Y)
    display = SliceDisplay.from_estimator(model, X, 1)
    assert np.isnan(display.slices[0].spread).all()
    assert display.bands_ == [None]


def test_frames_and_pipelines():
    frame = pd.DataFrame(X, columns=NAMES)
    model = LABRBFRegressor(**QUICK).fit(frame, Y)
    plain = SliceDisplay.from_estimator(model, frame, "weak")
    assert plain.axes_[0].get_xlabel() == "weak"
    assert plain.slices[0].feature == 2
    pipeline = make_pipeline(MinMaxScaler(), LABRBFRegressor(**QUICK)).fit(X, Y)
    (inner,) = SliceDisplay.from_estimator(pipeline, X, 2, at=X[3]).slices
    np.testing.assert_allclose(inner.grid, plain.slices[0].grid / 2 + 0.5, atol=0.02)
    at = pipeline[0].transform(X[3:4])
    (same,) = SliceDisplay.from_estimator(pipeline[-1], pipeline[0].transform(X), 2, at=at).slices
    np.testing.assert_array_equal(inner.average, same.average)


def test_several_outputs():
    two = np.column_stack([Y, 5 - X[:, 0]])
    model = LABRBFRegressor(**QUICK).fit(X, two)
    display = SliceDisplay.from_estimator(model, X, 0, target=1)
    assert display.axes_[0].get_ylabel() == "prediction of output 1"
    (each,) = display.slices
    points = np.tile(X, (2, 1))
    points[:90, 0], points[90:, 0] = each.grid[0], each.grid[-1]
    low, high = model.predict(points)[:, 1].reshape(2, 90).mean(axis=1)
    np.testing.assert_allclose(each.average[[0, -1]], [low, high], rtol=1e-12)
    with pytest.raises(ValueError, match="expected target from 0 to 1, got None"):
        SliceDisplay.from_estimator(model, X, 0)
    with pytest.raises(ValueError, match="expected target from 0 to 1, got 2"):
        SliceDisplay.from_estimator(model, X, 0, target=2)


def test_classes_are_named(models):
    display = SliceDisplay.from_estimator(models["two classes"], X, 1)
    assert display.axes_[0].get_ylabel() == "probability of yes"
    other = SliceDisplay.from_estimator(models["two classes"], X, 1, target="no")
    sums = display.slices[0].average + other.slices[0].average
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)
    with pytest.raises(ValueError, match=r"expected target in \[0, 1, 2\], got None"):
        SliceDisplay.from_estimator(models["three classes"], X, 1)


WRONG = {
    "name": ({"features": "strogn"}, r"a name in \['feature 0', .*, got 'strogn'"),
    "similar name": (
        {"features": ["strogn"], "feature_names": NAMES},
        r"got 'strogn' \(did you mean 'strong'\?\)",
    ),
    "position": ({"features": 3}, "expected features from 0 to 2, got 3"),
    "negative": ({"features": [-1]}, "expected features >= 0, an integer, got -1"),
    "no feature": ({"features": []}, "expected at least one slice, got none"),
    "names": ({"feature_names": ["a"]}, "expected 3 feature_names, got 1"),
    "points": ({"n_points": 0}, "expected n_points >= 1, an integer, got 0"),
    "lines": ({"n_lines": -1}, "expected n_lines >= 0, an integer, got -1"),
    "resolution": ({"grid_resolution": 1}, "expected grid_resolution >= 2, an integer, got 1"),
    "percentiles": ({"percentiles": (0.9, 0.1)}, r"0 <= low < high <= 1 as percentiles, got \(0.9"),
    "at": ({"at": [1.0, 2.0]}, "expected at with 3 features, got 2"),
    "target": ({"target": 1}, "expected target from 0 to 0, got 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input(models, name):
    options, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        SliceDisplay.from_estimator(models["regression"], X, **options)


def test_wrong_models_and_points(models):
    with pytest.raises(ValueError, match="expected X with 3 features, got 2"):
        SliceDisplay.from_estimator(models["regression"], X[:, :2])
    with pytest.raises(NotFittedError):
        SliceDisplay.from_estimator(LABRBFRegressor(), X)
    with pytest.raises(ValueError, match=r"a model that learns bandwidths, .* got SVR"):
        SliceDisplay.from_estimator(SVR().fit(X, Y), X)
    slices = SliceDisplay.from_estimator(models["regression"], X, 2).slices
    with pytest.raises(ValueError, match=r"expected at least 3 feature_names, got \['a'\]"):
        SliceDisplay(slices, feature_names=["a"])
    assert SliceDisplay(slices).plot().axes_[0].get_xlabel() == "feature 2"
