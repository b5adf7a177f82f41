"""``pliant predict``: columns by name, rows in chunks, atomic output."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from pliant import TableFeatures
from pliant.exceptions import TableError
from pliant.persistence import load, save
from pliant.tables import read_table
from pliant.tables.cli.predict import TablePredictor
from tests.cli.conftest import patients, write


def expected(model, table, method="predict"):
    return getattr(load(model), method)(read_table(table))


@pytest.mark.parametrize("target", ["sick", "grade", "amount"])
def test_predictions_on_stdout(pliant, folder, models, target):
    done = pliant("predict", models[target], "patients.csv")
    assert done.code == 0
    assert done.err == ""
    frame = pd.read_csv(io.StringIO(done.out))
    assert list(frame) == ["prediction"]
    values = expected(models[target], "patients.csv")
    if target == "amount":
        np.testing.assert_allclose(frame.prediction, values, rtol=1e-14)
    else:
        assert frame.prediction.tolist() == values.tolist()


def test_a_folder_of_files_is_one_table(pliant, folder, models):
    """Fitting on a folder and predicting on a pattern give the results of one file."""
    Path("parts").mkdir()
    frame = pd.read_csv("patients.csv")
    for k in range(3):
        frame.iloc[20 * k : 20 * k + 20].to_csv(f"parts/{k}.csv", index=False)
    common = ("--target", "sick", "--method", "linear", "--cv", "0", "--out")
    assert pliant("fit", "patients.csv", *common, "one.pliant").code == 0
    assert pliant("fit", "parts", *common, "parts.pliant").code == 0
    found = {}
    for model, table in (("one", "patients.csv"), ("parts", "parts/*.csv")):
        out = f"{model}.csv.gz"
        assert pliant("predict", f"{model}.pliant", table, "--proba", "--out", out).code == 0
        found[model] = pd.read_csv(out)
    pd.testing.assert_frame_equal(found["one"], found["parts"])
    assert len(found["one"]) == 60

    refused = pliant("predict", "one.pliant", "parts", "--out", "parts/p.csv")
    assert refused.code == 2
    assert "would become part of the table" in refused.err
    assert not Path("parts/p.csv").exists()


def saved(path, frame, **choices):
    """Save a linear pipeline from Python, and return its predictor."""
    features = TableFeatures(**choices)
    save(make_pipeline(features, Ridge()).fit(frame.drop(columns="y"), frame["y"]), path)
    return TablePredictor(path)


def test_a_prediction_that_is_not_finite_is_refused_with_its_row(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": np.arange(30) / 7})
    predictor = saved(tmp_path / "m.pliant", frame.assign(y=frame["a"]))
    predictor(frame)
    monkeypatch.setattr(
        type(predictor._model), "predict", lambda _, X: np.where(np.arange(len(X)) == 2, np.inf, 0)
    )
    with pytest.raises(TableError, match="the prediction of row 33 is not finite, got inf: its"):
        predictor(frame)


def test_decision_values(pliant, folder, models):
    done = pliant("predict", models["sick"], "patients.csv", "--decision")
    frame = pd.read_csv(io.StringIO(done.out))
    assert list(frame) == ["prediction", "decision"]
    values = expected(models["sick"], "patients.csv", "decision_function")
    np.testing.assert_allclose(frame.decision, values, rtol=1e-12)
    done = pliant("predict", models["grade"], "patients.csv", "--decision")
    frame = pd.read_csv(io.StringIO(done.out))
    assert list(frame) == ["prediction", "decision high", "decision low", "decision mid"]
    highest = frame.iloc[:, 1:].idxmax(axis=1).str.removeprefix("decision ")
    assert highest.tolist() == frame.prediction.tolist()


@pytest.mark.parametrize("more", [[], ["--param", "calibration=0.3"]])
def test_intervals_are_in_the_units_of_the_target(pliant, folder, more):
    words = ["--method", "lab-rbf", "--param", "max_iter=5", "--cv", 0, "--out", "m.pliant", *more]
    drop = ["--drop", "sick", "--drop", "grade"]
    assert pliant("fit", "patients.csv", "--target", "amount", *words, *drop).code == 0
    done = pliant("predict", "m.pliant", "patients.csv", "--interval", "0.8")
    frame = pd.read_csv(io.StringIO(done.out))
    assert list(frame) == ["prediction", "low", "high"]
    assert (frame.low < frame.high).all()
    amount = pd.read_csv("patients.csv").amount
    assert ((frame.low <= amount) & (amount <= frame.high)).mean() > 0.5
    assert frame.prediction.between(frame.low, frame.high).mean() > 0.9


def test_columns_are_found_by_name(pliant, folder, models):
    frame = pd.read_csv("patients.csv")
    frame.assign(new=1)[["new", "colour", "dose", "age"]].to_csv("other.csv", index=False)
    same = [pliant("predict", models["sick"], name).out for name in ("patients.csv", "other.csv")]
    assert same[0] == same[1]


def test_integers_of_parquet_beside_gaps_are_copied_as_they_are(pliant, folder, models):
    frame = pd.read_csv("patients.csv").head(3)[["age", "dose", "colour"]]
    frame["key"] = pd.array([2**53 + 1, None, 7], "Int64")
    frame.to_parquet("t.parquet")
    done = pliant("predict", models["sick"], "t.parquet", "--columns", "key")
    assert done.code == 0, done.err
    keys = [line.split(",")[0] for line in done.out.splitlines()]
    assert keys == ["key", "9007199254740993", "", "7"]


def test_chunks_give_what_the_whole_gives(models, tmp_path):
    frame = pd.read_csv(models["sick"].with_name("patients.csv"))
    whole = TablePredictor(models["sick"], decision=True)(frame)
    predictor = TablePredictor(models["sick"], decision=True)
    parts = [predictor(frame.iloc[low : low + 7]) for low in range(0, 60, 7)]
    joined = pd.concat(parts, ignore_index=True)
    assert joined.prediction.tolist() == whole.prediction.tolist()
    np.testing.assert_allclose(joined.decision, whole.decision, rtol=1e-12)
    assert predictor.n_rows == 60


def test_an_interrupted_file_is_not_there(pliant, folder, models, monkeypatch):
    long = Path("patients.csv").read_text(encoding="utf-8").splitlines()
    Path("long.csv").write_text("\n".join(long[:1] + long[1:] * 400), encoding="utf-8")
    calls = []

    def interrupted(self, frame, text=None, predict=TablePredictor.__call__):
        calls.append(len(frame))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return predict(self, frame, text)

    monkeypatch.setattr(TablePredictor, "__call__", interrupted)
    done = pliant("predict", models["sick"], "long.csv", "--out", "p.csv")
    assert done.code == 130
    assert done.err.endswith("interrupted\n")
    assert len(calls) == 2
    assert max(calls) == 10_000
    assert sorted(p.name for p in folder.iterdir()) == ["long.csv", "patients.csv"]


def test_an_interval_of_classes_is_refused_with_the_remedy(refused, models):
    line = refused("predict", models["sick"], "patients.csv", "--interval", 0.9)
    assert line == (
        "--interval needs a regression model of lab-rbf or a blend, got a classification model "
        "(pliant fit --task regression fits a target of numbers)"
    )


def test_unknown_categories_are_counted_over_all_chunks(pliant, models, folder):
    lines = patients()
    new = [line.replace(",red,", ",teal,") for line in lines[1:]]
    write("t.csv", lines[0], *new * 200)
    rows = 200 * sum(",teal," in line for line in new)
    done = pliant("predict", models["sick"], "t.csv", "--out", "p.csv")
    assert done.code == 0
    expected = f"such as 'teal', in {rows} rows: they are encoded as an unknown category"
    assert done.err.splitlines()[-1].endswith(expected)
    assert done.err.count("teal") == 1
