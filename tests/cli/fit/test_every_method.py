"""``pliant fit``, ``info`` and ``predict`` with every method there is."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

from pliant.comparison import BASELINES
from pliant.registry import METHODS

KINDS = METHODS | BASELINES
PACKAGES = {name for name in ("xgboost", "lightgbm", "xrfm") if not importlib.util.find_spec(name)}


@pytest.mark.parametrize(("target", "other"), [("grade", "amount"), ("amount", "grade")])
def test_the_report_and_the_notes_of_a_model_can_be_read(target, other, pliant, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(45, 2)), columns=["a", "b"])
    table["amount"] = table["a"] + 0.1 * rng.normal(size=45)
    table["grade"] = np.where(table["a"] < -0.5, "low", np.where(table["a"] < 0.5, "mid", "high"))
    table.to_csv("t.csv", index=False)
    seen = []
    for name, method in KINDS.items():
        kind = method.classifier if target == "grade" else method.regressor
        if kind is None or name in PACKAGES:
            continue
        words = ("--target", target, "--drop", other, "--method", name, "--cv", 0)
        fitted = pliant("fit", "t.csv", *words, "--out", f"{name}.pliant")
        assert (fitted.code, fitted.out.split(":")[0]) == (0, name), fitted.err
        told = pliant("info", f"{name}.pliant")
        assert told.code == 0, told.err
        assert target in told.out
        assert pliant("predict", f"{name}.pliant", "t.csv", "--out", "p.csv").code == 0
        assert len(pd.read_csv("p.csv")) == 45
        certified = "certified gap" in fitted.out
        assert certified == ("certified gap" in told.out)
        seen.append((name, certified))
    assert len(seen) >= 12
    assert ("sketched-ridge", True) in seen
    assert ("dank", True) in seen
    assert ("lab-rbf", False) in seen
