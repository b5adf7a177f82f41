"""``pliant fit`` with the baselines, and without a method."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from pliant import LABRBFClassifier
from pliant.persistence import load
from pliant.tables.comparison.baselines import BASELINES
from pliant.tables.comparison.folds import outer_split
from pliant.tables.comparison.protocol import Protocol
from pliant.tables.comparison.sample import Sample

pytestmark = pytest.mark.usefixtures("folder")

DROPS = {
    "sick": ("--drop", "grade", "--drop", "amount"),
    "amount": ("--drop", "grade", "--drop", "sick"),
}


def fit(pliant, target, *words):
    done = pliant("fit", "patients.csv", "--target", target, *DROPS[target], *words)
    assert done.code == 0, done.err
    return done.out


def test_without_a_method_it_is_lab_rbf(pliant):
    words = ("--json", "r.json", "--out", "m.pliant", "--cv", 0, "--param", "max_iter=2")
    assert fit(pliant, "sick", *words).startswith("lab-rbf: classification of 'sick'")
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["method"] == "lab-rbf"
    assert isinstance(load("m.pliant")[-1], LABRBFClassifier)


@pytest.mark.parametrize(
    ("method", "target", "words"),
    [
        ("boosting", "sick", ("--param", "max_iter=5", "--param", "min_samples_leaf=4")),
        ("forest", "amount", ("--param", "n_estimators=5")),
        ("linear", "sick", ("--param", "C=0.1")),
        ("linear", "amount", ()),
        ("svm", "amount", ("--param", "C=4")),
        ("kernel-ridge", "amount", ()),
        ("gp", "sick", ("--param", "max_iter_predict=50")),
        ("dummy", "sick", ()),
    ],
)
def test_a_baseline_is_fitted_saved_shown_and_predicts(pliant, method, target, words):
    more = ("--cv", 3, "--out", "m.pliant", "--json", "r.json")
    out = fit(pliant, target, "--method", method, *words, *more)
    assert out.startswith(f"{method}: ")
    assert "Next: pliant predict m.pliant" in out.replace("\n", " ")
    result = json.loads(Path("r.json").read_text(encoding="utf-8"))
    (score,) = [
        result["cross_validation"]["scores"][k]
        for k in ("accuracy", "R2")
        if k in result["cross_validation"]["scores"]
    ]
    assert score["mean"] > (0.8 if method != "dummy" else 0.4)
    for name, value in (word.split("=") for word in words[1::2]):
        assert result["parameters"][name] == float(value)
    shown = " ".join(pliant("info", "m.pliant").out.split())
    assert f"method {method}: {BASELINES[method].summary}" in shown
    done = pliant("predict", "m.pliant", "patients.csv")
    assert done.code == 0, done.err
    predicted = pd.read_csv(io.StringIO(done.out)).prediction
    truth = pd.read_csv("patients.csv")[target]
    if target == "sick":
        assert (predicted == truth).mean() > (0.8 if method != "dummy" else 0.4)
    else:
        assert np.corrcoef(predicted, truth)[0, 1] > 0.9


def test_scores_are_those_of_a_plain_pipeline(pliant):
    """Features and target are standardised for the SVM, but not for boosting."""
    fit(pliant, "amount", "--method", "svm", "--cv", 3, "--json", "r.json")
    frame = pd.read_csv("patients.csv")
    X = np.column_stack([frame.age, frame.dose, frame.colour == "blue", frame.colour == "red"])
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()
    )
    folds = KFold(3, shuffle=True, random_state=0)
    expected = cross_val_score(model, X.astype(float), frame.amount, cv=folds)
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))["cross_validation"]["scores"]
    np.testing.assert_allclose(found["R2"]["folds"], expected, rtol=1e-9)
    fit(pliant, "sick", "--method", "boosting", "--cv", 2, "--json", "r.json")
    sample = Sample(X.astype(float), frame.sick.to_numpy(str), "classification")
    train, test = outer_split(sample, Protocol(folds=2, repeats=1), 0, 0)
    model = HistGradientBoostingClassifier(random_state=0).fit(sample.X[train], sample.y[train])
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))["cross_validation"]["scores"]
    assert found["accuracy"]["folds"][0] == model.score(sample.X[test], sample.y[test])
