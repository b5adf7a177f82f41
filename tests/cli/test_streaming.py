"""``pliant fit`` with LAB-RBF on a table of many rows."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from pliant import LABRBFClassifier, LABRBFRegressor, TableFeatures
from pliant.persistence import load
from pliant.tables import TableSchema, iter_table, read_table
from pliant.tables.registry import METHODS

SMALL = {"n_support": 8, "n_members": 2, "max_iter": 4, "dense": False}
WORDS = [word for name, value in SMALL.items() for word in ("--param", f"{name}={value}")]
ROWS = 11_000  # more than one chunk


def houses(n, seed=0):
    """Return features on different scales, with a town in late rows, and two targets."""
    r = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": r.lognormal(3, 1, n).round(3), "age": r.normal(40, 10, n)})
    frame["town"] = np.where(np.arange(n) < n - 50, r.choice(["A", "B"], n), "C")
    frame["price"] = np.log(frame["size"]) + (frame["town"] == "A") * np.sin(frame["age"] / 9)
    frame["dear"] = np.where(frame["price"] > 3, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write a table as CSV and as Parquet to a folder."""
    place = tmp_path_factory.mktemp("houses")
    houses(ROWS).to_csv(place / "t.csv", index=False)
    read_table(place / "t.csv").to_parquet(place / "t.parquet", row_group_size=4000)
    return place


@pytest.fixture
def table(folder, written):
    """Return the file names of a table as CSV and as Parquet."""
    shutil.copytree(written, folder, dirs_exist_ok=True)
    return {"csv": "t.csv", "parquet": "t.parquet"}


@pytest.mark.parametrize(("kind", "target"), [("csv", "price"), ("parquet", "dear")])
def test_the_model_is_that_of_the_whole_table(pliant, table, kind, target):
    other = "dear" if target == "price" else "price"
    words = ("--target", target, "--drop", other, "--method", "lab-rbf", "--cv", 0, *WORDS)
    done = pliant("fit", table[kind], *words, "--out", "m.pliant", "--seed", 3)
    assert done.code == 0, done.err
    loaded, frame = load("m.pliant"), read_table(table[kind])
    schema = TableSchema.fit(frame, target, drop=[other])
    learned = loaded[0].schema_
    assert replace(learned, form=None) == replace(schema, form=None)
    learner = LABRBFRegressor if target == "price" else LABRBFClassifier
    X, y = frame.drop(columns=[target, other]), schema.target_values(frame)
    twin = make_pipeline(TableFeatures(), learner(**SMALL, random_state=3)).fit(X, y)
    np.testing.assert_array_equal(loaded.predict(frame[-99:]), twin.predict(frame[-99:]))
    assert [name for name, _ in loaded.steps] == ["table", "columns", "machine"]
    assert pliant("predict", "m.pliant", table[kind], "--out", "p.csv").code == 0
    predicted = pd.read_csv("p.csv")["prediction"]
    expected = np.concatenate([twin.predict(f) for f in iter_table(table[kind])])
    if target == "price":
        np.testing.assert_allclose(predicted, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(predicted.astype(str), expected)


def test_the_report_and_the_facts(pliant, folder, table):
    words = ("--target", "price", "--drop", "dear", "--method", "lab-rbf", *WORDS)
    done = pliant("fit", "t.csv", *words, "--cv", 2, "--out", "m.pliant", "--json", "r.json")
    assert done.code == 0, done.err
    assert done.out.startswith(
        "lab-rbf: regression of 'price', 11000 rows, 3 columns (5 features)\n"
    )
    assert "certified gap" not in done.out
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))
    (function,) = found["fit"]["functions"]
    assert list(function["relevance"]) == ["size", "age", "town=A", "town=B", "town=C"]
    assert sum(function["relevance"].values()) == pytest.approx(1.0)
    assert function["relevance_spread"].keys() == function["relevance"].keys()
    assert function["members"] <= 2
    assert found["cross_validation"]["scores"]["R2"]["mean"] > 0.5
    largest = max(function["relevance"], key=function["relevance"].get)
    spread = function["relevance_spread"][largest]
    share = f"{function['relevance'][largest]:.0%}" + (f" ± {spread:.0%}" if spread else "")
    shown = pliant("info", "m.pliant").out
    for text in (done.out, shown):
        assert f"most relevant   '{largest}' {share}, " in text
        assert f"held-out score  {function['held_out_score']:.4g} (R2 on rows" in text
        assert max(map(len, text.splitlines())) < 80


def test_too_many_rows(refused, table, monkeypatch):
    method = replace(METHODS["lab-rbf"], max_rows=10_500)
    monkeypatch.setitem(METHODS, "lab-rbf", method)
    line = refused("fit", "t.csv", "--target", "price", "--method", "lab-rbf")
    assert line.startswith("expected at most 10500 rows, the table has more: ")
