"""Recipes for other tools in the documentation run as shown."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

from pliant import LABRBFRegressor

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", re.MULTILINE)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def names(tmp_path, monkeypatch):
    """Return the variables that the recipes use, in an empty current folder."""
    monkeypatch.chdir(tmp_path)
    X, y = make_friedman1(300, n_features=5, noise=1.0, random_state=0)
    parts = {"train": slice(100), "calibration": slice(100, 199), "new": slice(199, 300)}
    names = {f"X_{part}": X[rows] for part, rows in parts.items()}
    names |= {f"y_{part}": y[rows] for part, rows in parts.items()}
    model = LABRBFRegressor(n_members=1, random_state=0)
    return {**names, "model": model.fit(names["X_train"], names["y_train"])}


def run(page, tool, names):
    """Run the block of a page that imports a tool; return its variables."""
    blocks = BLOCK.findall((DOCS / page).read_text("utf-8"))
    (block,) = (each for each in blocks if re.search(rf"^   (?:import|from) {tool}\b", each, re.M))
    exec(re.sub("^   ", "", block.replace("shap.plots.bar(values)", ""), flags=re.M), names)
    return names


def test_shap_values_sum_to_the_prediction(names):
    pytest.importorskip("shap")
    values = run("production.rst", "shap", names)["values"]
    total = values.values.sum(axis=1) + values.base_values
    np.testing.assert_allclose(total, names["model"].predict(names["X_new"][:20]), atol=1e-10)


def test_intervals_of_mapie_have_the_conformal_width(names):
    pytest.importorskip("mapie")
    found = run("production.rst", "mapie.regression", names)
    errors = abs(found["y_calibration"] - found["model"].predict(found["X_calibration"]))
    width = 2 * np.sort(errors)[89]  # the 90th of 99 errors: .9 (n + 1)
    np.testing.assert_allclose(found["high"] - found["low"], width, rtol=1e-10)


def test_skrub_encodes_texts_and_gaps(names):
    pytest.importorskip("skrub")
    frame = pd.DataFrame(names["X_train"]).rename(columns=str)
    frame["0"] = np.where(frame["0"] > 0.5, "high", "low")
    frame.loc[::7, "3"] = np.nan
    found = run("tables.rst", "skrub", {"frame": frame, "y": names["y_train"]})
    assert found["model"].score(frame, names["y_train"]) > 0.6


def test_an_artifact_of_mlflow_predicts_the_same(names):
    pytest.importorskip("mlflow")
    again = run("production.rst", "mlflow", names)["again"]
    np.testing.assert_array_equal(
        again.predict(names["X_new"]), names["model"].predict(names["X_new"])
    )
