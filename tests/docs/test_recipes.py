"""Recipes for other tools in the documentation run as shown."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

import pliant
from pliant import DANKClassifier, LABRBFRegressor

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


def run(page, tool, names, **replaced):
    """Run the block of a page that imports a tool first; return its variables."""
    blocks = [re.sub("^   ", "", each, flags=re.M) for each in BLOCK.findall(page_text(page))]
    (block,) = (each for each in blocks if re.match(rf"(?:import|from) {tool}\b", each))
    for shown, used in {"shap.plots.bar(values)": "", **replaced}.items():
        block = block.replace(shown, used)
    exec(block, names)
    return names


def page_text(page):
    return (DOCS / page).read_text("utf-8")


def test_every_recipe_runs():
    """The blocks without prompts on the page for users of other libraries are their code."""
    text = Path(__file__).read_text("utf-8")
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.rst")}
    pages -= {page for page in pages if re.match("_build|auto_examples|generated", page)}
    for page in pages - {"coming_from.rst"}:
        for block in BLOCK.findall(page_text(page)):
            tool = re.match(r"\s+(?:import|from) ([\w.]+)", block)[1]
            assert f'"{page}", "{tool}"' in text


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


def test_a_table_of_files_is_fitted_and_its_predictions_are_written_beside_the_ids(
    names, monkeypatch
):
    pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("dask.distributed")
    monkeypatch.setattr(distributed, "Client", lambda address: None)  # use this process
    frame = pd.DataFrame(names["X_new"], columns=list("abcde")).assign(price=names["y_new"])
    frame.insert(0, "id", [f"row {k}" for k in range(len(frame))])
    Path("table").mkdir()
    for k in range(2):
        frame[k::2].to_parquet(f"table/{k}.parquet", index=False)
    found = run("cluster.rst", "dask.dataframe", {})
    written = pd.read_parquet("predictions").set_index("id")["prediction"]
    expected = found["model"].predict(frame[list("abcde")])
    np.testing.assert_allclose(written.loc[frame["id"]], expected, rtol=1e-9)


def test_parts_are_solved_on_a_cluster(names):
    distributed = pytest.importorskip("dask.distributed")
    X, y, model = names["X_new"], names["y_new"] > 14, DANKClassifier()
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        found = {"DANKClassifier": lambda **options: model.set_params(**options)}
        found |= {"X": X, "y": y, "made": cluster}
        run("methods/scale.rst", "joblib", found, **{"LocalCluster(n_workers=2)": "made"})
    expected = DANKClassifier(partition="kmeans").fit(X, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)


def test_a_table_is_read_validated_saved_and_predicted(names):
    frame = pd.DataFrame(names["X_new"], columns=list("abcde")).assign(price=names["y_new"])
    frame["zip"] = np.where(frame["a"] > 0.5, "04109", "10115")
    frame.to_csv("orders.csv", index=False)
    frame.drop(columns="price").to_csv("new.csv", index=False)
    quick = "LABRBFRegressor(n_members=1, max_iter=3)"
    found = run("tables.rst", "pliant", {}, **{"LABRBFRegressor())\n": f"{quick})\n"})
    predicted = pliant.load("model.pliant").predict(pd.read_csv("new.csv", dtype={"zip": str}))
    np.testing.assert_allclose(predicted, found["model"].predict(found["frame"]), rtol=1e-9)
