"""Benchmarks run on tiny problems, and pages match their stored results."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks import blend, intervals, mkl, relevance, tables
from benchmarks.__main__ import RESULTS
from benchmarks.harness.report import to_markdown
from benchmarks.lines import extend, read
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
OWN_PAGES = {"blend", "tables", "intervals", "relevance", "mkl-accuracy"}


@pytest.mark.parametrize("name", [name for name in KEPT if name not in OWN_PAGES])
def test_a_kept_page_is_what_its_results_give(name):
    report = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    assert to_markdown(report) == (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert name in BENCHMARKS or "no longer measured" in report["notes"]


@pytest.mark.parametrize(
    ("name", "main"),
    [
        *[("tables", tables.main), ("intervals", intervals.main), ("mkl-accuracy", mkl.main)],
        ("blend", blend.main),
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


def test_the_kept_page_of_relevance_is_what_its_results_give():
    report = json.loads((RESULTS / "relevance.json").read_text(encoding="utf-8"))
    assert relevance.to_markdown(report) == (RESULTS / "relevance.md").read_text(encoding="utf-8")


def test_kept_results_are_small():
    assert sum(path.stat().st_size for path in RESULTS.iterdir()) < 1_000_000


@pytest.fixture
def iris(monkeypatch):
    """Replace the tables of the data folder by one small classification table."""
    X, y = load_iris(return_X_y=True)
    for module in (tables, intervals):
        monkeypatch.setattr(module, "load", lambda name, folder: (X, y))
    monkeypatch.setitem(tables.TASKS, "iris", "classification")


@pytest.mark.parametrize("label", ["lab_rbf", "svm", "forest"])
def test_a_fit_on_a_table_has_accuracy_and_log_loss(label, iris, tmp_path):
    line = tables.measure(label, "iris", 100, tmp_path)
    assert line["score"] > 0.85
    assert 0 < line["log_loss"] < 0.5


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
