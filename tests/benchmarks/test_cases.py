"""Benchmarks run on tiny problems, and pages match their stored results."""

from __future__ import annotations

import json
import re
import textwrap
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from benchmarks import budgets, intervals, mkl, regret, relevance, tables
from benchmarks.__main__ import RESULTS
from benchmarks.harness.report import to_markdown
from benchmarks.lines import extend, provenance, read
from benchmarks.registry import BENCHMARKS
from tests.benchmarks.computed import computed

SMALL = {
    "collections": {"rows": 400, "features": 4, "processes": False, "test_rows": 100,
                    "options": {"n_support": 20, "n_members": 2, "max_iter": 2}},
    "local-large": {"rows": 100},
    "parts": {"rows": 300},
    "scale": {"most": 200},
    "scale-growth": {"sizes": []},
    "sketched": {"rows": 300, "centres": 20},
    "sketched-large": {"rows": 300, "centres": 20},
    "supervised-large": {"rows": 150, "sample": 50, "components": 2},
    "tessellated-gaps": {"rows": 40},
}  # fmt: skip
"""Parameters of a small problem, in addition to those of the first, unmeasured call."""

CASES = [
    (name, contestant.name)
    for name, benchmark in BENCHMARKS.items()
    for contestant in benchmark.cases(False)[0].contestants
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "contestant"), CASES)
def test_a_contestant_solves_a_small_problem(name, contestant):
    case = BENCHMARKS[name].cases(False)[0]
    (chosen,) = (each for each in case.contestants if each.name == contestant)
    params = {**case.params, **(case.warm_up or {}), **SMALL.get(name, {})}
    if name == "collections":
        pytest.importorskip("distributed")
    facts = computed(chosen, params)
    assert isinstance(facts, dict)
    numbers = [value for value in facts.values() if isinstance(value, float)]
    assert np.isfinite(numbers).all()
    json.dumps(facts, default=float)


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_cases_with_data_have_contestants_and_baselines(name):
    cases = BENCHMARKS[name].cases(True)
    assert len({case.name for case in cases}) == len(cases) > 0


KEPT = sorted(path.stem for path in RESULTS.glob("*.json"))
OWN_PAGES = {
    "budgets", "tables", "tables-small", "intervals", "regret", "relevance", "mkl-accuracy",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in KEPT if name not in OWN_PAGES])
def test_a_kept_page_is_what_its_results_give(name):
    report = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    assert to_markdown(report) == (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert name in BENCHMARKS or "no longer measured" in report["notes"]


@pytest.mark.parametrize(
    ("name", "main"),
    [
        ("budgets", budgets.main),
        ("intervals", intervals.main),
        ("mkl-accuracy", mkl.main),
        ("regret", regret.main),
    ],
)
def test_a_kept_page_of_many_tables_is_what_its_results_give(name, main, tmp_path):
    kept = RESULTS / f"{name}.json"
    (tmp_path / kept.name).write_bytes(kept.read_bytes())
    main(["page", str(tmp_path / "no lines"), "--out", str(tmp_path)])
    for suffix in (".json", ".md"):
        new, old = (folder / f"{name}{suffix}" for folder in (tmp_path, RESULTS))
        assert new.read_text(encoding="utf-8") == old.read_text(encoding="utf-8")
    if (RESULTS / f"{name}.png").exists():
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


@pytest.mark.parametrize("section", ["fresh", "small"])
def test_the_kept_page_of_a_section_is_what_its_cells_give(section, tmp_path):
    name = tables.SECTIONS[section]["name"]
    page = tables.write_page(section, tmp_path / "no lines", tmp_path)
    for suffix in (".json", ".md"):
        kept = RESULTS / f"{name}{suffix}"
        assert page.with_suffix(suffix).read_text("utf-8") == kept.read_text("utf-8")


def test_the_kept_page_of_relevance_is_what_its_results_give():
    report = json.loads((RESULTS / "relevance.json").read_text(encoding="utf-8"))
    assert relevance.to_markdown(report) == (RESULTS / "relevance.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", KEPT)
def test_kept_results_name_their_command(name):
    """The programs of some benchmarks are gone."""
    kept = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    gone = name not in BENCHMARKS and name not in OWN_PAGES
    assert gone or kept["command"].startswith("python -m benchmarks")
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert gone or f"Command: `{kept['command']}`." in page


def test_kept_results_are_small():
    assert sum(path.stat().st_size for path in RESULTS.iterdir()) < 1_200_000


@pytest.fixture
def iris(monkeypatch):
    """Replace the tables of the data folder by one small classification table."""
    X, y = load_iris(return_X_y=True)
    for module in (tables, intervals):
        monkeypatch.setattr(module, "load", lambda section, name, folder: (X, y))


@pytest.mark.parametrize("label", ["lab_rbf", "svm", "random_forest", "gaussian_process"])
def test_a_fit_on_a_table_counts_right_classes(label):
    line = tables.measure("small", label, "iris_flowers", 100, 0, None)
    assert (line["trained"], line["tested"]) == (105, 45)
    assert 38 < line["score"] <= 45
    assert 0 < line["log_loss"] < 0.7


def test_the_method_of_the_documentation_runs_by_name(tmp_path, monkeypatch, capsys):
    """docs/how_to_compare.rst: ten lines of another folder are a contestant."""
    page = (RESULTS.parents[1] / "docs" / "how_to_compare.rst").read_text("utf-8")
    block = page.partition(":caption: mine.py\n")[2].partition("\nStart the")[0]
    assert len(textwrap.dedent(block).strip().splitlines()) <= 10
    (tmp_path / "mine.py").write_text(textwrap.dedent(block))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    lines = tmp_path / "lines.jsonl"
    words = ["--lines", str(lines), "--contestants", "mine:neighbours", "--tables", "iris_flowers"]
    tables.main(["small", *words])
    assert len(read(lines)) == 25
    assert (tmp_path / "benchmarks" / "output" / "tables-small.md").exists()
    tables.main(["small", *words])
    assert "25 of 25 results are in" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"expected one of .*, or module:function, got 'mine'"):
        tables.factory("mine")


def test_a_method_tells_what_it_gets_and_needs(tmp_path, monkeypatch):
    (tmp_path / "bad.py").write_text(
        "from sklearn.linear_model import Ridge\n\n\n"
        "def ridge(classification, seed):\n    return Ridge()\n\n\n"
        "ridge.one_seed = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    keys = list(tables.cells("small", ["bad:ridge"], ["iris_flowers"], None))
    assert [key["seed"] for key in keys] == [0] * 5
    with pytest.raises(
        TypeError, match="expected predict_proba for classification, got Ridge"
    ) as e:
        extend(tmp_path / "lines", keys, lambda **key: tables.measure(
            "small", key["label"], key["table"], key["split"], key["seed"], None))  # fmt: skip
    assert e.value.__notes__ == ["in the measurement of bad:ridge, iris_flowers, 100, 0"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["small", "--tables", "iris, irisch"], "--tables: expected some of diabetes, .*'iris'"),
        (["small", "--contestants", "absent:x"], "expected module:function to import, got 'absent"),
        (["fresh"], "expected --data DIR or the variable PLIANT_DATA"),
        (
            ["fresh", "--data", "nowhere"],
            "expected a folder with fresh/MANIFEST.json, got 'nowhere'",
        ),
        (["older", "--data", "nowhere"], "expected a table 'airfoil' in 'nowhere'"),
    ],
)
def test_wrong_words_of_the_comparison_are_named(words, message, capsys, monkeypatch):
    monkeypatch.delenv("PLIANT_DATA", raising=False)
    with pytest.raises(SystemExit):
        tables.main(words)
    assert re.search(message, capsys.readouterr().err)


def test_a_method_without_a_rank_is_named():
    cells = [*cells_of([[80], [60], [70]], "lab_rbf"), *cells_of([[70], [65], [60]], "svm")]
    for cell in cells:
        cell["table"] = ["iris_flowers", "breast_cancer", "wine_cultivars"][int(cell["table"][-1])]
    rows = pd.DataFrame([*cells, cells[0] | {"label": "mine"}], columns=tables.FIELDS)
    page = tables.to_markdown("small", rows, {"machine": None} | provenance())
    assert "2 methods are ranked, on 3 tables. mine is not ranked: it was measured on 1 of" in page


def cells_of(counts, label, tested=100, losses=None):
    """Return cells of a table for each list of counts, with one split for each count."""
    return [
        {"label": label, "table": f"table {i}", "split": 100 + k, "seed": 0, "trained": 50 + i,
         "tested": tested, "score": count, "log_loss": 1 - count / tested, "fit_s": 1.0}
        for i, row in enumerate(counts)
        for k, count in enumerate(row)
    ]  # fmt: skip


def test_ties_are_ties_of_counts():
    """1/3 + 2/3 + 0 and 3 times 1/3 differ as floating-point means, and 83 + 17 is 50 + 50."""
    ours, others = [[1, 2, 0], [83, 17, 0]], [[1, 1, 1], [50, 50, 0]]
    rows = pd.DataFrame(
        [*cells_of(ours, "lab_rbf", tested=3 * 97), *cells_of(others, "svm", tested=3 * 97)],
        columns=tables.FIELDS,
    )
    names = ["table 0", "table 1"]
    one, two = tables.standings(rows, "classification", names)
    assert (one["mean rank"], two["mean rank"]) == (1.5, 1.5)
    assert {one["LAB-RBF better, equal, worse"], two["LAB-RBF better, equal, worse"]} == {
        None, "0, 2, 0"
    }  # fmt: skip


def test_ties_of_shares_that_no_binary_number_has():
    """The counts of two splits have one mean, but the rounded shares have not."""
    pairs = [([a, a + 2], [a + 1, a + 1]) for a in range(1, 84)]
    ours, others = zip(*pairs, strict=True)
    rows = pd.DataFrame(
        [*cells_of(ours, "lab_rbf", tested=86), *cells_of(others, "svm", tested=86)],
        columns=tables.FIELDS,
    )
    names = [f"table {i}" for i in range(len(pairs))]
    line = next(
        each for each in tables.standings(rows, "classification", names) if "SVM" in each["method"]
    )
    assert line["LAB-RBF better, equal, worse"] == "0, 83, 0"


def test_a_method_of_some_tables_is_ranked_on_these():
    cells = [*cells_of([[80], [60], [70]], "lab_rbf"), *cells_of([[70], [65], [60]], "svm")]
    cells += cells_of([[90], [50]], "gaussian_process")
    rows, names = pd.DataFrame(cells, columns=tables.FIELDS), ["table 0", "table 1", "table 2"]
    told, text = tables.part_of(rows, "classification", names, "gaussian_process")
    assert told.startswith(
        "On the 2 tables of classification with a Gaussian process (table 0, table 1)"
    )
    ranks = {row.split("|")[1].strip(): row.split("|")[2].strip() for row in text.splitlines()[2:]}
    assert [ranks[who] for who in ("LAB-RBF", "Gaussian process")] == ["2.00", "2.00"]
    assert tables.part_of(rows, "classification", names, "svm") == []


def test_means_are_over_seeds_and_then_splits_that_all_have():
    rows = pd.DataFrame(cells_of([[80, 90, 100]], "lab_rbf"), columns=tables.FIELDS)
    again = rows.iloc[:1].assign(seed=1, score=60)  # 70 in the mean of the first split
    other = pd.DataFrame(cells_of([[85, 75]], "svm"), columns=tables.FIELDS)
    rows = pd.concat([rows, again, other])
    each = tables.by_split(rows, "classification", ["table 0"], "score")
    assert each["lab_rbf"].tolist() == [Fraction(7, 10), Fraction(9, 10)]  # exact, for ties
    other, ours = tables.standings(rows, "classification", ["table 0"])
    assert (ours["accuracy"], other["accuracy"]) == (0.8, 0.8)
    assert ours["sd of the seed"] == pytest.approx(np.std([0.8, 0.6], ddof=1))
    assert (ours["seeds"], other["seeds"]) == ("1–2", "1")


def test_the_first_cells_have_all_splits_and_one_seed():
    names = ["iris_flowers", "diabetes"]
    keys = list(tables.cells("small", ["lab_rbf", "svm"], names, None))
    assert len(keys) == 2 * (25 + 5)
    assert {key["seed"] for key in keys[:20]} == {0}
    assert [key["split"] for key in keys[:20:4]] == [100, 101, 102, 103, 104]


@pytest.mark.filterwarnings("ignore")
def test_relevance_and_intervals_on_a_table(iris, tmp_path):
    facts = relevance.compare("iris", 100, tmp_path)
    assert facts["features"] == 4
    assert -1.0 <= facts["correlation"] <= 1.0
    scores = intervals.measure("logistic", "iris", 100, tmp_path)
    assert 0.0 <= scores["calibration_error"] < 0.3
    assert np.sum(scores["bins"], axis=0)[0] == pytest.approx(1.0)
    ends = np.array([[0.0, 1.0], [3.0, 2.0], [0.0, 1.0]])
    coverage, width, score = intervals.interval_scores(np.array([0.5, 4.0, 1.0]), ends, 0.5, 2.0)
    assert (coverage, width) == (2 / 3, 0.5)
    assert score == pytest.approx((1 + (1 + 4 * 1) + 1) / 3 / 2)


def test_a_fit_that_the_file_has_is_not_measured_again(tmp_path):
    path, calls = tmp_path / "lines.jsonl", []

    def measured(**key):
        calls.append(key)
        return {"score": 1 / 3}

    keys = [{"table": "a", "seed": 1}, {"table": "a", "seed": 2}]
    extend(path, keys[:1], measured)
    extend(path, keys, measured)
    assert calls == keys
    assert [line["score"] for line in read(path)] == [0.333333] * 2
