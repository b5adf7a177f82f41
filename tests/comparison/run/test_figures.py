"""Each model gets the pictures that it has, small, described with numbers, and never an error."""

import base64
import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from pliant import (
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    LABRBFClassifier,
    LABRBFRegressor,
    LearnedKernelClassifier,
    MKLClassifier,
    MKLRegressor,
    SCGLogDetLearner,
    TKLClassifier,
    TKLRegressor,
)
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.run import figures as module
from pliant.comparison.run.cells import perform
from pliant.comparison.run.figures import figures, planned
from pliant.comparison.run.model_view import MOST_ROWS, ModelView
from pliant.comparison.sample import Sample
from pliant.plots import GramDisplay
from pliant.registry import get_method
from pliant.tables import ColumnEncoder

NAMES = ["age", "dose $", "<script>"]
GRAM, ALONE = "Gram matrix before and after learning", "Gram matrix"
ADAPTIVE, BOUNDARY = "Adaptive matrix", "Decision boundary"
TESSELLATED, CONVERGENCE = "Tessellated kernel", "Convergence"
ON_LEARNED = "Convergence of the estimator on the learned kernel"
WEIGHTS = "Weights of kernels"
LOCAL = ["Bandwidths", "Relevance of features"]
INTERVALS = "Prediction intervals of 90 % for the test rows of the second fold"
LAB = {"n_support": 8, "n_members": 2, "max_iter": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(60, 3))
    return X, X[:, 0] + np.sin(2 * X[:, 1])


def fitted(machine, X, y, *steps):
    return Pipeline([*steps, ("scaler", StandardScaler()), ("machine", machine)]).fit(X, y)


def drawn(model, X, y, names=NAMES, *test, which=slice(None)):
    """Return what can be drawn, or which of it; trouble is an error here."""
    return [plan() for plan in [*planned(ModelView.of(model, X, y, names, *test))][which]]


def opened(picture):
    return Image.open(io.BytesIO(base64.b64decode(picture["png"], validate=True)))


def test_captions_say_where_there_is_nothing_to_see(data):
    X, target = data
    y = np.where(target > 0, "yes", "no")
    stiff = drawn(fitted(KNPLClassifier(eta_scale=1e6), X, y), X, y, which=slice(2))
    assert [each["title"] for each in stiff] == [
        f"{GRAM}: the kernel is hardly adapted",
        f"{ADAPTIVE}: hardly adapted, there is nothing to see",
    ]


CLASSIFIERS = [
    (DANKClassifier(C=10.0), [GRAM, ADAPTIVE, CONVERGENCE]),
    (KNPLClassifier(C=10.0), [GRAM, ADAPTIVE, CONVERGENCE]),
    (TKLClassifier(C=10.0), [ALONE, TESSELLATED, CONVERGENCE]),
    (LABRBFClassifier(**LAB), [*LOCAL]),
    (MKLClassifier(C=10.0), [ALONE, WEIGHTS, CONVERGENCE]),
    (LearnedKernelClassifier(SCGLogDetLearner(strength=10.0)), [GRAM]),
    (get_method("scg-ldk").learner("classification")(), [GRAM, ON_LEARNED]),
    (get_method("osk").learner("classification")(), [ALONE, ON_LEARNED]),
    (SVC(), []),
]


@pytest.mark.parametrize(("machine", "titles"), CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_classifiers_show_what_they_have_learned(machine, titles, data):
    X, y = data
    labels = np.where(y > 0, "high", "low")
    pictures = drawn(fitted(machine, X, labels), X, labels)
    assert [picture["title"] for picture in pictures] == titles
    for picture in pictures:
        assert len(picture["png"]) < 80_000
        assert opened(picture).format == "PNG"
        assert min(opened(picture).size) > 300


REGRESSORS = [
    (DANKRegressor(), [GRAM, ADAPTIVE, CONVERGENCE]),
    (TKLRegressor(), [ALONE, TESSELLATED, CONVERGENCE]),
    (LABRBFRegressor(**LAB), LOCAL),
    (MKLRegressor(), [ALONE, WEIGHTS, CONVERGENCE]),
    (Ridge(), []),
]


@pytest.mark.parametrize(("machine", "titles"), REGRESSORS, ids=lambda each: type(each).__name__)
def test_regressors_inside_a_scaled_target(machine, titles, data):
    X, y = data
    inner = Pipeline([("scaler", StandardScaler()), ("machine", machine)])
    model = TransformedTargetRegressor(inner, transformer=StandardScaler()).fit(X, 100 * y)
    assert [picture["title"] for picture in drawn(model, X, 100 * y)] == titles


def test_the_text_of_a_gram_matrix_has_its_numbers(data):
    X, y = data
    model = fitted(DANKClassifier(C=10.0), X, y > 0)
    alt = drawn(model, X, y > 0, which=slice(1))[0]["alt"]
    (before, after) = GramDisplay.from_estimator(model, X, y > 0).similarities
    assert alt.startswith("Centred Gram matrix of 60 of 60 training points, ordered by class")
    assert f"{after[0]:.2g} of one class, {after[1]:.2g} otherwise" in alt
    assert f"base kernel: {before[0]:.2g} of one class" in alt


def test_other_texts_have_their_numbers(data):
    X, y = data
    model = fitted(TKLClassifier(C=10.0), X, y > 0)
    pictures = drawn(model, X, y > 0, which=slice(2, None))
    (convergence,) = (picture["alt"] for picture in pictures)
    machine = model[-1]
    gaps = machine.gap_history_ / machine.objective_history_
    assert f"from {gaps[0]:.2g} down to {gaps[-1]:.2g}, where 0.001 was asked" in convergence
    local = LABRBFRegressor(**LAB).fit(X, y)
    alt = drawn(Pipeline([("machine", local)]), X, y)[1]["alt"]
    top = int(np.argmax(local.feature_relevance_))
    share, spread = local.feature_relevance_[top], local.feature_relevance_spread_[top]
    assert f"change: {NAMES[top]} {share:.0%} ± {spread:.0%}" in alt


def test_weights_are_named_by_the_columns(data):
    X, y = data
    model = fitted(MKLClassifier(C=10.0), X, y > 0)
    pictures = drawn(model, X, y > 0, which=slice(1, 2))
    (alt,) = (p["alt"] for p in pictures if p["title"] == WEIGHTS)
    weights, names = model[-1].weights_, model[-1].kernel_names_
    best = int(weights.argmax())
    name = names[best]
    for number, column in enumerate(NAMES):
        name = name.replace(f"feature {number}", column)
    assert alt.startswith(f"Weights of kernels, the largest first: {name} {weights[best]:.2g}, ")
    positive = np.count_nonzero(weights)
    assert alt.endswith(f"; {positive} of {len(weights)} kernels have weight")


def test_intervals_are_those_of_test_rows_in_the_units_of_the_target(data):
    X, y = data
    model = Pipeline([("machine", LABRBFRegressor(**LAB))]).fit(X, 1000 * y)
    X_test = np.random.default_rng(1).normal(size=(250, 3))
    y_test = 1000 * (X_test[:, 0] + np.sin(2 * X_test[:, 1]))
    *others, picture = drawn(model, X, 1000 * y, NAMES, X_test, y_test)
    assert [each["title"] for each in others] == LOCAL
    low, high = model[-1].predict_interval(X_test, 0.9).T
    held = int(((low <= y_test) & (y_test <= high)).sum())
    assert 0 < held < 250
    facts = (
        f"they hold {held} of 250 measured targets ({held / 250:.0%}), mean width "
        f"{np.mean(high - low):.0f} in the units of the target"
    )
    assert picture["title"] == f"{INTERVALS}, which the model did not learn from: {facts}"
    assert picture["alt"].endswith(f"of 200 of 250 test rows: {facts}")
    assert opened(picture).format == "PNG"
    assert len(picture["png"]) < 80_000


def test_without_held_out_rows_there_are_no_intervals(data):
    X, y = data
    options = {**LAB, "validation_fraction": 0.0, "alpha": 0.1, "shrinkage": 0.0}
    for machine, shown in ((LABRBFRegressor(**LAB), 1), (LABRBFRegressor(**options), 0)):
        model = fitted(machine, X[:50], y[:50])
        pictures = drawn(model, X[:50], y[:50], NAMES, X[50:], y[50:])
        assert len(pictures) == len(LOCAL) + shown


def test_a_scaled_target_has_no_intervals_in_its_own_units(data):
    X, y = data
    inner = Pipeline([("scaler", StandardScaler()), ("machine", LABRBFRegressor(**LAB))])
    model = TransformedTargetRegressor(inner, transformer=StandardScaler()).fit(X, 100 * y)
    assert [each["title"] for each in drawn(model, X, y, NAMES, X, y)] == LOCAL


def test_a_comparison_draws_the_test_rows_of_its_second_fold_in_every_run(data):
    X, y = data
    sample = Sample(X, y, "regression", tuple(NAMES))
    protocol = Protocol(folds=3, repeats=1, candidates=2)
    method = replace(get_method("lab-rbf"), given={"n_support": 8, "n_members": 2, "max_iter": 3})
    first, again = (perform(sample, protocol, method, Cell("lab-rbf", 0, 1)) for _ in range(2))
    assert first["pictures"] == again["pictures"]
    (title,) = (p["title"] for p in first["pictures"] if p["title"].startswith(INTERVALS))
    assert "of 20 measured targets" in title
    other = perform(sample, protocol, method, Cell("lab-rbf", 0, 0))
    assert (other["pictures"], other["curve"]) == ([], [])


def test_of_many_classes_the_first_pair_is_shown():
    iris = load_iris()
    names = iris.target_names[iris.target]
    model = fitted(DANKClassifier(), iris.data, names)
    pictures = drawn(model, iris.data, names, iris.feature_names)
    note = "(setosa against versicolor, the first of 3 pairs)"
    assert [p["title"] for p in pictures] == [
        f"{title} {note}" for title in (GRAM, ADAPTIVE, CONVERGENCE)
    ]
    assert all(p["alt"].endswith(note) for p in pictures)
    assert "of 100 training points" in pictures[0]["alt"]
    whole = fitted(LearnedKernelClassifier(), iris.data, names)  # has one kernel for all classes
    (gram,) = drawn(whole, iris.data, names, iris.feature_names)
    assert gram["title"] == GRAM
    assert "of 150 training points" in gram["alt"]


@pytest.mark.parametrize("machine", [SVC(), RandomForestClassifier(10), DANKClassifier()])
def test_two_features_have_a_boundary_in_their_own_units(machine, data):
    X, y = data
    X = 1000 * X[:, :2]
    pictures = drawn(fitted(machine, X, y > 0), X, y > 0, ["age", "dose"])
    (boundary,) = (picture for picture in pictures if picture["title"] == BOUNDARY)
    assert boundary["alt"].startswith("Decision boundary over age and dose, with")


def test_missing_values_and_categories_are_seen_as_the_machine_sees_them(data):
    X, y = data
    X = X.copy()
    X[:5, 0], X[:, 2] = np.nan, np.arange(60) % 3
    parts = [("numbers", SimpleImputer(), [0, 1]), ("texts", OneHotEncoder(), [2])]
    model = fitted(TKLClassifier(), X, y > 0, ("columns", ColumnTransformer(parts)))
    view = ModelView.of(model, X, y > 0, ["age", "dose", "colour"])
    assert view.names == ["age", "dose", "colour_0.0", "colour_1.0", "colour_2.0"]
    assert np.isfinite(view.points).all()
    assert len([plan() for plan in planned(view)]) == 3
    encoder = ColumnEncoder({2: ("low", "mid", "high")})
    view = ModelView.of(fitted(SVC(), X, y > 0, ("columns", encoder)), X, y > 0, view.own_names)
    assert view.names == [
        *("age", "dose", "age (missing)", "colour=low", "colour=mid", "colour=high")
    ]


def test_a_step_that_tells_no_names(data):
    X, y = data
    half = FunctionTransformer(lambda points: points[:, :2])
    view = ModelView.of(fitted(SVC(), X, y > 0, ("half", half)), X, y > 0, NAMES)
    assert view.names == ["feature 0", "feature 1"]


@pytest.mark.parametrize("task", ["classes", "target"])
def test_few_rows_are_taken_of_many_and_only_they_are_transformed(task):
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 2))
    y = random.choice(["a", "b", "c"], 5000, p=[0.7, 0.29, 0.01]) if task == "classes" else X[:, 0]
    seen = []
    step = FunctionTransformer(lambda points: seen.append(len(points)) or points)
    machine = SVC() if task == "classes" else Ridge()
    model = fitted(machine, X, y, ("step", step))
    seen.clear()
    view = ModelView.of(model, X, y, ["age", "dose"])
    assert seen == [len(view.y)]
    assert MOST_ROWS - 4 <= len(view.y) <= MOST_ROWS
    assert view.n == 5000
    if task == "classes":
        assert [round(np.mean(view.y == label), 1) for label in "abc"] == [0.7, 0.3, 0.0]
        assert "c" in view.y
    else:
        assert {y.min(), y.max()} <= set(view.y)
        assert np.median(view.y) == pytest.approx(np.median(y), abs=0.05)


def test_the_same_model_has_the_same_pictures_and_no_window(data):
    from matplotlib import pyplot

    X, y = data
    model = fitted(LABRBFRegressor(**LAB), X, y)
    before = pyplot.get_fignums()
    assert figures(model, X, y, NAMES) == figures(model, X, y, NAMES)
    assert pyplot.get_fignums() == before


def test_a_picture_that_fails_is_left_out(data, monkeypatch):
    X, y = data
    model = fitted(LABRBFRegressor(**LAB), X, y)
    assert [picture["title"] for picture in figures(model, X, y, NAMES)] == LOCAL

    def fail(*_, **__):
        raise RuntimeError("no picture")

    monkeypatch.setattr(module.BandwidthDisplay, "from_estimator", fail)
    with pytest.warns(UserWarning, match="a picture is left out: RuntimeError: no picture"):
        found = figures(model, X, y, NAMES)
    assert [picture["title"] for picture in found] == LOCAL[1:]
    with pytest.warns(UserWarning, match="a picture is left out"):
        assert figures(SVC(), X, y, NAMES) == []  # no pipeline, not even fitted


def test_without_matplotlib_there_are_none(data, monkeypatch):
    X, y = data
    model = fitted(DANKClassifier(), X, y > 0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert figures(model, X, y > 0, NAMES) == []
