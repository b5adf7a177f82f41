"""Pages of models within a budget and of the regret of a blend, from made-up scores."""

import json

import numpy as np
import pytest

from benchmarks import budget_worker, budgets, regret
from pliant.tables.comparison.protocol import Protocol
from pliant.tables.comparison.result import ComparisonResult
from tests.comparison.comparison_cases import entry, record


def line(study, contestant, score, *, table="one", seed=100, budget=60, metric="R2", **facts):
    key = {"study": study, "table": table, "seed": seed, "budget": budget}
    return key | {"contestant": contestant, "scores": {metric: score}} | facts


def rows_of(text, first):
    """Return the cells of the rows of a Markdown page that begin with a word."""
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines()]
    return [row for row in cells if row and row[0] == first]


def test_a_minute_counts_tables_by_their_means():
    """Ahead on the first table (R2), behind on the second (log loss, lower is better)."""
    lines = [
        line("idle", who, score + shift, table=table, seed=seed, metric=metric)
        for table, metric, scores in (
            ("one", "R2", {"pliant": 0.8, "autogluon-good": 0.7, "autogluon-best": 0.75}),
            ("two", "log loss", {"pliant": 0.5, "autogluon-good": 0.6, "autogluon-best": 0.4}),
        )
        for who, score in scores.items()
        for seed, shift in ((100, 0.0), (101, 0.02))
    ]
    lines = [each | {"seconds": {"fit": 30.0 + each["seed"]}} for each in lines]
    alone = [
        line("idle", "fit", each["scores"]["R2"] - 0.01, seed=each["seed"])
        | {"seconds": {"fit": 1.0}}
        for each in lines
        if each["contestant"] == "pliant" and "R2" in each["scores"]
    ]
    with_fit = "\n".join(budgets.idle_section(lines + alone, budgets.frame_of(lines + alone)))
    assert "Compared with no budget, 1 gains and 0 losses are larger than .005." in with_fit
    assert rows_of(with_fit, "AutoGluon good")[0][4] == "1, 0, 0"
    text = "\n".join(budgets.idle_section(lines, budgets.frame_of(lines)))
    assert "2 tables, 2 splits" in text
    assert "ahead of the best preset of AutoGluon on 1 tables" in text
    assert rows_of(text, "AutoGluon good")[0][2:] == [
        "2, 0, 0",
        "4, 0, 0",
        "",
        "130.500",
        "131.000",
    ]
    assert ["R2", "AutoGluon best", "1", "2.000", "1, 0, 0"] in rows_of(text, "R2")
    assert ["log loss", "AutoGluon best", "1", "1.000", "0, 0, 1"] in rows_of(text, "log loss")
    assert rows_of(text, "AutoGluon best")[0][2:4] == ["1, 0, 1", "2, 0, 2"]
    assert float(rows_of(text, "pliant")[0][1]) == 1.5
    assert "0.810" in rows_of(text, "one")[0]


def test_a_busy_computer_is_compared_with_no_budget():
    lines = [line("busy", "fit", 0.8, seed=s, budget=0.0) for s in (100, 101)]
    lines += [
        line("busy", "pliant", 0.81, seed=100, budget=5.0),
        line("busy", "pliant", 0.77, seed=101, budget=5.0),
        {"study": "busy", "table": "two", "seed": 100, "budget": 5.0, "contestant": "pliant",
         "error": "ValueError: no model"},
    ]  # fmt: skip
    text = budgets.page(lines, {"notes": "", "machine": None} | budgets.provenance())
    _, score, tables, mean, near, far, largest, where, errors = rows_of(text, "5")[0]
    assert (score, tables, mean) == ("R2", "1", "0.010")
    assert (near, far, largest, where, errors) == ("1, 0", "1", "0.030", "one, 101", "1")
    assert "ValueError: no model" in text


def test_the_curve_has_a_row_for_each_budget_and_says_where_no_model_was():
    alone, blend = {"contents": {"lab-rbf": 1.0}}, {"contents": {"lab-rbf": 0.6, "svm": 0.4}}
    lines = [line("curve", "pliant", 0.7, budget=5.0, **alone)]
    lines += [line("curve", "pliant", 0.8, budget=b, **blend) for b in (60.0, 180.0)]
    lines += [line("idle", "fit", 0.75, budget=0.0), line("curve", "flaml", 0.6, budget=60.0)]
    lines[-1]["seconds"] = {"fit": 70.0}
    failed = {"study": "curve", "table": "one", "seed": 100, "contestant": "flaml", "error": "none"}
    lines += [failed | {"budget": 5.0}]
    text = "\n".join(budgets.curve_section(lines, budgets.frame_of(lines)))
    assert rows_of(text, "5")[0] == ["5", "R2", "0.700", "no model"]
    assert rows_of(text, "180")[0] == ["180", "R2", "0.800", "not measured"]
    assert rows_of(text, "60")[0] == ["60", "R2", "0.800", "0.600"]
    assert rows_of(text, "none")[0][:3] == ["none", "R2", "0.750"]
    assert ["60", "FLAML", "1", "–", "1, 0, 0", "70.000", "70.000"] in rows_of(text, "60")
    assert [row[3] for row in rows_of(text, "5") if row[1] == "pliant"] == ["1"]
    assert [row[3] for row in rows_of(text, "60") if row[1] == "pliant"] == ["0"]
    assert rows_of(text, "pliant")[0][1:] == ["-0.100", "0.000", "0.000"]


def test_the_worker_measures_pliant(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    table = [f"{a},{b},{a + b}" for a, b in X]
    (tmp_path / "train.csv").write_text("\n".join(["a,b,target", *table]))
    (tmp_path / "test.csv").write_text("a,b\n0.5,0.5\n0.1,-0.2\n")
    task = {"contestant": "fit", "budget": 0.0, "seed": 0, "cores": 64, "task": "regression",
            "texts": []}  # fmt: skip
    (tmp_path / "task.json").write_text(json.dumps(task))
    budget_worker.main(tmp_path)
    found = json.loads((tmp_path / "result.json").read_text())
    assert found.get("error") is None
    np.testing.assert_allclose(found["values"], [1.0, -0.1], atol=0.3)
    assert found["contents"] == {"LABRBFRegressor": 1.0}
    assert found["bytes"] > 0
    assert found["seconds"]["fit"] > 0


SCORES = {
    "lab-rbf": {"R2": 0.7, "log loss": 0.5},
    "svm": {"R2": 0.8, "log loss": 0.4},
    "with svm": {"R2": 0.85, "log loss": 0.3},
    "blend": {"R2": 0.79, "log loss": 0.44},
}


def test_regret_is_the_lead_of_the_best_member():
    assert regret.regret(SCORES, "R2") == ("svm", pytest.approx(0.01))
    assert regret.regret(SCORES, "log loss") == ("svm", pytest.approx(0.1))
    one = {"task": "regression", "scores": SCORES}
    assert regret.gain(one, "svm") == pytest.approx(0.5)  # of a squared error of .3
    assert regret.gain(one | {"task": "classification"}, "svm") == pytest.approx(0.4)


def test_the_area_of_a_curve_over_the_logarithm_of_time():
    """From 5 s to 11 s only LAB-RBF, with twice the final loss; from 11 s to 23 s one more."""
    losses = {1: 2.0, 2: 1.5, 3: 1.0}
    area = regret.curve_area("ab", {"lab-rbf": 1.0, "a": 1.0, "b": 2.0}, lambda n: losses[len(n)])
    expected = (np.log(11 / 5) * 1.0 + np.log(23 / 11) * 0.5) / np.log(23 / 5)
    assert area == pytest.approx(expected)


def test_the_blend_of_one_good_member_has_its_score():
    """Errors of the second member are large, so that the blend is the first on rows not drawn."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    errors = {"lab-rbf": 0.1, "svm": 30.0}
    records = []
    for name, size in errors.items():
        values = y + size * rng.normal(size=60)
        for fold in range(3):
            rows = np.arange(fold, 60, 3)
            kept = {"rows": rows.tolist(), "values": values[rows].tolist()}
            records.append(record(name, 0, fold, {"r2": 0.5}, kept=kept))
    result = ComparisonResult(
        sample={"task": "regression", "classes": None, "ordered": False, "rows": 60},
        truth={str(row): value for row, value in enumerate(y.tolist())},
        protocol=Protocol(folds=3, repeats=1),
        methods=tuple(map(entry, errors)),
        records=tuple(records),
        seconds=1.0,
        budget=None,
        interrupted=False,
        environment={},
    )
    found = regret.drawn_scores(result, draws=3)
    assert found["blend"]["R2"] == found["with svm"]["R2"] == found["lab-rbf"]["R2"] > 0.9
