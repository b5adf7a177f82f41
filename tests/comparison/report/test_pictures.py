"""Pictures of the recommended model: importance and relevance of features."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from sklearn.linear_model import LogisticRegression

from pliant import LABRBFRegressor, compare
from pliant.plots import RelevanceDisplay
from pliant.tables.comparison import pictures as module
from pliant.tables.comparison.page import report_html
from pliant.tables.comparison.pictures import pictures_of
from tests.comparison.comparison_cases import run_here

NAMES = ["age", "dose $", "<script>"]
LAB = LABRBFRegressor(n_support=8, n_members=2, max_iter=3, random_state=0)


@pytest.fixture(autouse=True, scope="module")
def here():
    with pytest.MonkeyPatch.context() as patch:
        run_here(patch)
        yield


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(90, 3))
    return X, 3 * X[:, 1] + np.sin(2 * X[:, 0])


@pytest.fixture(scope="module")
def compared(data):
    methods = [("local", LAB), "linear", "dummy"]
    X, y = data
    options = {"folds": 3, "repeats": 1, "n_jobs": 1, "budget": None, "feature_names": NAMES}
    return compare(X, y, methods=methods, **options)


def test_importance_picture(compared):
    found = pictures_of(compared)
    importance = found["importance"][0]
    assert "decrease in R2 on 30 held-out rows" in importance.title
    assert "Most important: 'dose $'" in importance.title
    for picture in [each for section in found.values() for each in section]:
        image = Image.open(io.BytesIO(base64.b64decode(picture.png, validate=True)))
        assert image.format == "PNG"
        assert len(picture.png) < 120_000
        assert 300 < picture.width < 900


def test_importance_of_linear_model():
    """R2 of y = 2 x_0 + x_1 with x_j permuted is 1 - 2 b_j^2 / var(y)."""
    X = np.random.default_rng(0).normal(size=(1500, 3))
    y = X @ np.array([2.0, 1.0, 0.0])
    found = compare(X, y, methods=["linear"], folds=3, repeats=1, n_jobs=1, feature_names=NAMES)
    title = pictures_of(found)["importance"][0].title
    age, dose = re.search("'age' ([0-9.]+), 'dose \\$' ([0-9.]+)", title).groups()
    assert float(age) == pytest.approx(8 / 5, rel=0.15)
    assert float(dose) == pytest.approx(2 / 5, rel=0.15)


def test_relevance_picture(data):
    X, y = data
    found = compare(X, y, methods=[("local", LAB)], folds=3, repeats=1, n_jobs=1)
    pictures = pictures_of(found)["importance"]
    assert [each.title[:10] for each in pictures] == ["Importance", "Relevance "]
    assert "Most relevant: 'feature 1'" in pictures[1].title


LONG = "a name of a feature in many words"


def test_importance_by_log_loss(monkeypatch):
    figures, draw = [], module._canvas

    def seen(*arguments):
        title, canvas = draw(*arguments)
        figures.append(canvas.figure)
        return title, canvas

    monkeypatch.setattr(module, "_canvas", seen)
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "high", "low")
    options = {"metric": "log_loss", "folds": 3, "repeats": 1, "n_jobs": 1}
    names = {"feature_names": [LONG, f"{LONG}, too"]}
    found = compare(X, y, methods=[LogisticRegression()], **options, **names)
    assert "increase in log loss" in pictures_of(found)["importance"][0].title
    for figure in figures:  # no label is cut off
        x, y = figure.get_tightbbox().extents.reshape(2, 2)
        assert min(x) > -0.02  # inches
        assert (y < figure.get_size_inches() + 0.02).all()


@pytest.mark.filterwarnings("ignore:Attempting to set identical")
def test_only_features_that_matter_are_named():
    for values, named in (([0.0, 0.0, -0.1], ""), ([0.0, 0.5, -0.1], "'dose $' 0.500")):
        display = RelevanceDisplay(np.array(values), feature_names=NAMES)
        assert module._draw_features(Figure().subplots(), display) == named


def test_failed_picture_is_left_out(compared, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("no picture")

    monkeypatch.setattr(module, "_importance", fail)
    with pytest.warns(UserWarning, match="a picture is left out: RuntimeError: no picture"):
        page = report_html([compared])
    assert "<h1>" in page
    monkeypatch.setattr(type(compared), "fit_on_first_fold", fail)
    with pytest.warns(UserWarning, match="a picture is left out"):
        assert "importance" not in pictures_of(compared)
