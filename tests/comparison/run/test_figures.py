"""Each model gets the pictures that it has, small, described with numbers, and never an error."""

import base64
import io
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from pliant import (
    DANKClassifier,
    KNPLClassifier,
    LABRBFClassifier,
    LABRBFRegressor,
    LearnedKernelClassifier,
    MKLClassifier,
    SCGLogDetLearner,
    TKLClassifier,
)
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison import figures as module
from pliant.comparison.cells import perform
from pliant.comparison.figures import figures, planned
from pliant.comparison.model_view import MOST_ROWS, ModelView
from pliant.comparison.sample import Sample
from pliant.registry import get_method

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
