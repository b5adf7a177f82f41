"""``pliant fit`` on valid tables."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import DANKClassifier, DANKRegressor, LABRBFClassifier, LABRBFRegressor
from pliant.persistence import load
from pliant.tables import read_table
from pliant.tables.comparison.cells import ThisProcess
from pliant.tables.comparison.comparing import compare_sample
from pliant.tables.comparison.options import RunOptions
from pliant.tables.comparison.protocol import Protocol
from pliant.tables.comparison.reading import read_sample
from pliant.tables.registry import METHODS
from tests.cli.conftest import write

DANK = ("--method", "dank")
FIT = ("fit", "patients.csv", "--target", "sick", "--drop", "grade", "--drop", "amount", *DANK)


@pytest.fixture
def result(pliant, folder):
    """Return a function that fits with more arguments and returns the JSON result."""

    def run(*words):
        done = pliant(*FIT, "--json", "result.json", *words)
        assert done.code == 0, done.err
        return json.loads(Path("result.json").read_text(encoding="utf-8"))

    return run


def features(frame):
    return np.column_stack([frame.age, frame.dose, frame.colour == "blue", frame.colour == "red"])


def test_the_report(pliant, folder):
    done = pliant(*FIT)
    assert done.code == 0
    assert done.out.startswith(
        "dank: classification of 'sick', 60 rows, 3 columns (4 features), 2 classes\n"
    )
    for expected in (
        "5 folds",
        "accuracy",
        "balanced accuracy",
        "certified gap   <=",
        "--out MODEL",
    ):
        assert expected in done.out
    assert max(map(len, done.out.splitlines())) < 80
    assert done.err == "Learning from 60 rows: 6 fits\n"
    assert [path.name for path in folder.iterdir()] == ["patients.csv"]


def test_the_model_is_what_python_would_learn(result):
    result("--out", "m.pliant", "--param", "C=3", "--param", "gamma=0.5")
    loaded = load("m.pliant")
    frame = pd.read_csv("patients.csv")
    assert loaded[0].schema_.feature_names == ("age", "dose", "colour")
    names = loaded[:-1].get_feature_names_out()
    assert names.tolist() == ["age", "dose", "colour=blue", "colour=red"]
    twin = make_pipeline(StandardScaler(), DANKClassifier(C=3, gamma=0.5))
    twin.fit(features(frame), frame.sick)
    np.testing.assert_array_equal(
        loaded.decision_function(frame),
        twin.decision_function(features(frame)),
    )


def test_the_scores_are_those_of_scikit_learn(result):
    found = result("--cv", 4, "--seed", 7)["cross_validation"]
    frame = pd.read_csv("patients.csv")
    model = make_pipeline(StandardScaler(), DANKClassifier())
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    for name, scorer in (("accuracy", "accuracy"), ("balanced accuracy", "balanced_accuracy")):
        expected = cross_val_score(model, features(frame), frame.sick, cv=folds, scoring=scorer)
        assert found["scores"][name]["folds"] == pytest.approx(expected)
        assert found["scores"][name]["mean"] == pytest.approx(expected.mean())
        assert found["scores"][name]["std"] == pytest.approx(expected.std(ddof=1))
    assert found["folds"] == 4


def test_the_scores_are_those_of_a_comparison(result):
    """Folds and preprocessing, including texts, are the same."""
    found = result("--cv", 2, "--seed", 4, "--param", "gamma=0.25")["cross_validation"]["scores"]
    method = replace(METHODS["dank"], grid={}, given={"gamma": 0.25})
    sample = read_sample("patients.csv", "sick", drop=["grade", "amount"])
    protocol = Protocol(folds=2, repeats=1, seed=4)
    compared = compare_sample(sample, [method], protocol, RunOptions(None, executor=ThisProcess()))
    for title, name in (("accuracy", "accuracy"), ("balanced accuracy", "balanced_accuracy")):
        expected = [record["scores"][name] for record in compared.records]
        assert found[title]["folds"] == expected


def test_a_regression_scales_its_target(pliant, folder):
    """The model does not depend on the unit of the target, and is saved with its scale.

    The units differ by a power of two, so that both fits take the same steps.
    """
    lines = Path("patients.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    for row in cells[1:]:
        row[5] = str(2.0**20 * float(row[5]))
    write("large.csv", *map(",".join, cells))
    scores = []
    for name in ("patients", "large"):
        words = (f"{name}.csv", "--target", "amount", "--drop", "grade", "--param", "gamma=0.25")
        words += ("--cv", 2, "--out", "m.pliant", "--json", "r.json")
        done = pliant("fit", *words, *DANK)
        assert done.code == 0, done.err
        found = json.loads(Path("r.json").read_text(encoding="utf-8"))
        scores.append(found["cross_validation"]["scores"]["R2"]["mean"])
        assert pliant("predict", "m.pliant", f"{name}.csv", "--out", f"{name}-p.csv").code == 0
        assert pliant("info", "m.pliant").code == 0
    assert scores[0] == pytest.approx(scores[1], rel=1e-6)
    small, large = (pd.read_csv(f"{name}-p.csv").prediction for name in ("patients", "large"))
    np.testing.assert_allclose(large, 2.0**20 * small, rtol=1e-6)


def test_regression(pliant, folder):
    words = ("fit", "patients.csv", "--target", "amount", "--drop", "grade", "--json", "r.json")
    done = pliant(*words, *DANK)
    assert done.code == 0
    assert "R2" in done.out
    assert "RMSE" in done.out
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert found["data"]["task"] == "regression"
    assert found["data"]["classes"] is None
    assert found["parameters"].keys() == DANKRegressor().get_params().keys()
    assert found["cross_validation"]["scores"]["R2"]["mean"] > 0.8  # amount is age / 7


def test_missing_categories_are_a_category(pliant, folder):
    text = Path("patients.csv").read_text(encoding="utf-8").replace("red", "", 9)
    Path("gaps.csv").write_text(text, encoding="utf-8")
    words = ("gaps.csv", "--target", "sick", "--out", "m.pliant")
    assert pliant("fit", *words, *DANK).code == 0
    model = load("m.pliant")
    assert model[0].schema_.categories[2] == ("blue", "red")
    frame, encoder = read_table("gaps.csv"), model[:2]
    names = encoder.get_feature_names_out().tolist()
    gaps = encoder.transform(frame)[:, names.index("colour (missing)")]
    np.testing.assert_array_equal(gaps, frame["colour"].isna())
    assert gaps.sum() == 9


def test_a_solver_that_was_stopped_says_so_once(pliant, folder):
    done = pliant(*FIT, "--param", "max_iter=1")
    assert done.code == 0
    warnings = [line for line in done.err.splitlines() if line.startswith("Warning: ")]
    assert len(warnings) == 1
    assert "DANKClassifier stopped after" in warnings[0]


@pytest.mark.parametrize("better", [True, False])
def test_scores_are_compared_with_those_of_a_constant(pliant, folder, better):
    rows = [
        (k * 37 % 101, "yes" if (k * 37 % 101 > 70 if better else k % 4 == 0) else "no")
        for k in range(80)
    ]
    write("t.csv", "a,y", *(f"{a},{y}" for a, y in rows))
    share = np.mean([y == "no" for _, y in rows])
    words = (
        ("--method", "dank", "--json", "r.json")
        if better
        else ("--method", "dummy", "--json", "r.json")
    )
    done = pliant("fit", "t.csv", "--target", "y", *words)
    assert done.code == 0, done.err
    assert f"Always predicting 'no' has accuracy {share:.4g}." in done.out
    assert ("The model is not better than that." in done.out) != better
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert found["data"]["most_frequent"] == {"class": "no", "share": pytest.approx(share)}
    assert "AUC" in found["cross_validation"]["scores"]


def test_a_budget_too_short_for_a_fold_saves_lab_rbf(pliant, folder):
    words = ("fit", "patients.csv", "--target", "sick", "--budget", "0.001s", "--out", "m.pliant")
    done = pliant(*words)
    assert done.code == 0, done.err
    assert "Fitting LAB-RBF on all rows" in done.err
    assert "No time is left for other methods" in " ".join(done.out.split())
    model = load("m.pliant")
    assert isinstance(model[-1], LABRBFClassifier)
    frame = pd.read_csv("patients.csv").drop(columns="sick")
    assert len(model.predict(frame)) == len(frame)


def test_a_table_too_small_for_folds_has_a_model_within_a_budget(pliant, folder):
    Path("few.csv").write_text("a,y\n1,1.5\n2,2.5\n3,1.25\n4,8.5\n5,0.5\n6,3.5\n", "utf-8")
    words = ("fit", "few.csv", "--target", "y", "--budget", "60s", "--out", "m.pliant")
    done = pliant(*words, "--json", "r.json")
    assert done.code == 0, done.err
    assert "LAB-RBF is not compared with other methods: " in " ".join(done.out.split())
    assert isinstance(load("m.pliant")[-1], LABRBFRegressor)
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert (found["best"], found["data"]["rows"]) == ("lab-rbf", 6)
    assert "method lab-rbf: " in " ".join(pliant("info", "m.pliant").out.split())


def test_ctrl_c_within_a_budget_saves_the_best_model_so_far(pliant, folder, here, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.tables.comparison.cells.perform", interrupted)
    words = ("fit", "patients.csv", "--target", "sick", "--budget", "600s", "--out", "m.pliant")
    done = pliant(*words)
    assert done.code == 130
    assert "The comparison was interrupted" in " ".join(done.out.split())
    assert isinstance(load("m.pliant")[-1], LABRBFClassifier)
