"""The benchmark of intervals and probabilities: scores, runs and the page, on small numbers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.intervals import running
from benchmarks.intervals.methods import INTERVALS, PROBABILITIES, TITLES
from benchmarks.intervals.page import document, to_markdown, write
from benchmarks.intervals.running import LEVELS, Cell, cells, measure, rounded, run_all
from benchmarks.intervals.scores import BINS, interval_scores, probability_scores


def test_interval_scores_by_hand():
    y = np.array([0.0, 1.0, 5.0, -3.0])
    ends = np.array([[-1.0, 1.0], [2.0, 0.0], [0.0, 4.0], [-1.0, 1.0]])  # one pair crosses
    scores = interval_scores(y, ends, 0.8, unit=2.0)
    assert scores["coverage"] == 0.5
    assert scores["width"] == pytest.approx((2 + 2 + 4 + 2) / 4 / 2)
    assert scores["score"] == pytest.approx((2 + 2 + (4 + 10 * 1) + (2 + 10 * 2)) / 4 / 2)


def test_the_interval_score_is_lowest_at_the_quantiles():
    y = np.random.default_rng(0).normal(size=20_000)

    def score(half):
        return interval_scores(y, np.tile([-half, half], (len(y), 1)), 0.9, 1.0)["score"]

    right = norm.ppf(0.95)
    assert score(right) < min(score(0.9 * right), score(1.1 * right))


def test_infinite_intervals_have_a_coverage_only():
    ends = np.array([[-np.inf, 1.0], [0.0, 1.0]])
    scores = interval_scores(np.array([-9.0, 2.0]), ends, 0.9, 1.0)
    assert scores == {"coverage": 0.5, "width": None, "score": None}


def test_probability_scores_by_hand():
    y, classes = np.array(["a", "b", "b", "a"]), np.array(["a", "b"])
    shares = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [1.0, 0.0]])
    scores = probability_scores(y, shares, classes)
    assert scores["accuracy"] == 0.75
    expected = -np.mean(np.log([0.9, 0.1, 0.7, 1.0]))
    assert scores["log_loss"] == pytest.approx(expected, abs=1e-6)
    # Bins of .9 (one of two correct), .7 and 1; the last one is also that of .95.
    wrong = (2 * abs(0.9 - 0.5) + abs(0.7 - 1.0)) / 4
    assert scores["calibration_error"] == pytest.approx(wrong, abs=1e-6)
    bins = np.array(scores["bins"])
    assert bins.shape == (BINS, 3)
    np.testing.assert_allclose(bins.sum(axis=0), [1.0, 3.5 / 4, 0.75], atol=1e-6)


def test_right_probabilities_are_calibrated_and_sharpened_ones_are_not():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=50_000)
    y = (rng.uniform(size=len(p)) < p).astype(int)
    odds = (p / (1 - p)) ** 3
    right, sharp = (
        probability_scores(y, np.column_stack([1 - q, q]), np.array([0, 1]))
        for q in (p, odds / (1 + odds))
    )
    assert right["calibration_error"] < 0.01 < 0.1 < sharp["calibration_error"]
    assert right["log_loss"] < sharp["log_loss"]
    assert right["accuracy"] == sharp["accuracy"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two tables of 90 rows, and the list that names them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    targets = {"smooth": X[:, 0] + 0.1 * rng.normal(size=90), "halves": np.sign(X[:, 0])}
    for name, y in targets.items():
        lines = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
        text = "\n".join(["a,b,target", *lines]) + "\n"
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    named = {"regression": {"choice": ["smooth"]}, "classification": {"report": ["halves"]}}
    monkeypatch.setattr(running, "TABLES", named)
    task = {"smooth": "regression", "halves": "classification"}
    monkeypatch.setattr(running, "task_of", task.__getitem__)
    monkeypatch.setattr("benchmarks.tables.running.task_of", task.__getitem__)
    return tmp_path


@pytest.mark.parametrize("method", ["lab_rbf_calibrated", "gaussian_process", "quantile_boosting"])
def test_a_method_has_coverage_width_and_score_at_each_level(folder, method):
    line = measure(Cell(method, "smooth", 100), folder)
    assert (line["method"], line["table"], line["seed"]) == (method, "smooth", 100)
    assert (line["rows"], line["test_rows"]) == (62, 28)
    assert line["seconds"] >= 0
    assert all(0.0 <= each <= 1.0 for each in line["coverage"])
    finite = [w for w in line["width"] if w is not None]
    assert len(finite) >= 2
    assert finite == sorted(finite)
    assert all(s is None or s >= w for w, s in zip(line["width"], line["score"], strict=True))


def test_few_calibration_rows_make_infinite_intervals(folder):
    line = measure(Cell("lab_rbf_calibrated", "smooth", 100), folder)
    assert line["width"][LEVELS.index(0.95)] is None  # it takes 39 of them
    assert line["coverage"][LEVELS.index(0.95)] == 1.0


def test_classifiers_have_log_loss_and_calibration(folder):
    line = measure(Cell("logistic", "halves", 100), folder)
    assert 0.8 < line["accuracy"] <= 1.0
    assert 0.0 < line["log_loss"] < 0.5
    assert 0.0 < line["calibration_error"] < 0.5
    assert sum(share for share, _, _ in line["bins"]) == pytest.approx(1.0, abs=1e-3)


def test_lines_are_added_once(folder):
    path, logged = folder / "lines.jsonl", []
    chosen = [Cell("logistic", "halves", 100), Cell("quantile_boosting", "smooth", 100)]
    run_all(iter(chosen[:1]), path, folder, logged.append)
    first = path.read_text(encoding="utf-8")
    run_all(iter(chosen), path, folder, logged.append)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] + "\n" == first
    assert [json.loads(line)["method"] for line in lines] == ["logistic", "quantile_boosting"]
    assert len(logged) == 2


def test_the_cells_have_the_methods_of_each_task(folder):
    chosen = list(cells(["lab_rbf", "logistic", "gaussian_process"], [], folder))
    assert {(c.method, c.table) for c in chosen} == {
        ("lab_rbf", "smooth"), ("gaussian_process", "smooth"), ("lab_rbf", "halves"),
        ("logistic", "halves"),
    }  # fmt: skip
    assert {c.seed for c in chosen if c.table == "smooth"} == {100, 101, 102}
    assert {c.seed for c in chosen if c.table == "halves"} == {100}
    assert [c.table for c in cells(["lab_rbf"], ["halves"], folder)] == ["halves"]


def test_every_method_has_a_title():
    assert set(TITLES) == {*INTERVALS, *PROBABILITIES}


def test_numbers_are_rounded_to_five_digits():
    assert rounded({"a": [0.1234567, None], "b": 3, "c": "x"}) == {
        "a": [0.12346, None], "b": 3, "c": "x",
    }  # fmt: skip


def interval_line(method, table, seed, coverage, width, test_rows=100):
    return {
        "method": method, "table": table, "seed": seed, "rows": 200, "test_rows": test_rows,
        "seconds": 1.0, "coverage": coverage, "width": width, "score": width,
    }  # fmt: skip


def probability_line(method, table, loss):
    bins = [[0.0, 0.0, 0.0]] * (BINS - 1) + [[1.0, 0.97, 0.9]]
    return {
        "method": method, "table": table, "seed": 100, "rows": 200, "test_rows": 100,
        "seconds": 1.0, "accuracy": 0.9, "log_loss": loss, "calibration_error": 0.07, "bins": bins,
    }  # fmt: skip


LINES = [
    interval_line("conformal_svr", "one", 100, [0.5, 0.8, 0.9, 0.9], [2.0, 4.0, 6.0, 8.0]),
    interval_line("conformal_svr", "one", 101, [0.5, 0.8, 0.9, 0.9], [2.0, 4.0, 6.0, 8.0]),
    interval_line("conformal_svr", "two", 100, [0.5, 0.8, 0.9, 0.9], [2.0, 4.0, 6.0, 8.0]),
    interval_line("lab_rbf", "one", 100, [0.50, 0.80, 0.90, 0.95], [1.0, 2.0, 3.0, 4.0]),
    interval_line("lab_rbf", "one", 101, [0.54, 0.82, 0.70, 0.95], [1.0, 2.0, 3.0, 4.0]),
    interval_line("lab_rbf", "two", 100, [0.50, 0.80, 0.90, 0.50], [9.0, 9.0, 9.0, 9.0]),
    interval_line("quantile_boosting", "one", 100, [0.5, 0.8, 0.9, 0.9], [2.0, 4.0, 6.0, 8.0]),
    interval_line("quantile_boosting", "one", 101, [0.5, 0.8, 0.9, 0.9], [2.0, 4.0, 6.0, 8.0]),
    interval_line("quantile_boosting", "two", 100, [0.5, 0.8, 0.9, 0.9], [2.0, 4.0, 6.0, None]),
    probability_line("lab_rbf", "halves", 0.25),
    probability_line("forest", "halves", 0.5),
]


def test_the_summary_averages_splits_and_then_tables():
    lab, boosting, _ = document(LINES)["summary"]["intervals"]
    assert (lab["method"], lab["tables"], lab["splits"], lab["finite"]) == ("lab_rbf", 2, 3, 1)
    assert lab["coverage"] == pytest.approx([0.51, 0.805, 0.85, 0.725])
    # Three standard errors of 100 rows are .09 at 90 % and .065 at 95 %.
    assert lab["within"] == [2, 2, 1, 1]
    assert lab["splits_within"] == [3, 3, 2, 2]
    assert lab["width"] == [1.0, 2.0, 3.0, 4.0]  # table two has an infinite interval
    assert boosting["width"] == [2.0, 4.0, 6.0, 8.0]
    forest = document(LINES)["summary"]["probabilities"][1]
    assert (forest["method"], forest["log_loss"]) == ("forest", 0.5)


def test_rows_to_calibrate_with_widen_the_standard_error():
    # 40 of 200 rows: at 90 %, three standard errors are .09 without and .168 with them.
    coverage, width = [0.5, 0.8, 0.78, 0.95], [1.0, 2.0, 3.0, 4.0]
    line = interval_line("lab_rbf_calibrated", "one", 100, coverage, width)
    (row,) = document([line])["summary"]["intervals"]
    assert row["within"] == [1, 1, 0, 1]
    assert row["within_calibrating"] == [1, 1, 1, 1]
    assert document(LINES)["summary"]["intervals"][0]["within_calibrating"] is None


def test_the_last_line_of_a_fit_counts():
    again = {**LINES[5], "coverage": [0.0, 0.0, 0.0, 0.0]}
    found = document([*LINES, again])
    assert len(found["intervals"]) == 9
    lab = found["summary"]["intervals"][0]
    assert lab["coverage"] == pytest.approx([0.26, 0.405, 0.4, 0.475])


def test_splits_without_all_methods_are_left_out():
    alone = interval_line("lab_rbf", "one", 102, [0.0] * 4, [1.0] * 4)
    found = document([*LINES, alone, probability_line("forest", "other", 9.0)])
    assert found["summary"] == document(LINES)["summary"]
    assert found["intervals"] == document(LINES)["intervals"]


def test_json_page_and_pictures_are_written(tmp_path):
    found = document(LINES)
    paths = write(found, tmp_path)
    assert [path.name for path in paths] == [
        "intervals.json", "intervals.md", "intervals.png", "calibration.png",
    ]  # fmt: skip
    again = json.loads(paths[0].read_text(encoding="utf-8"))
    assert again["intervals"] == found["intervals"]
    page = Path(paths[1]).read_text(encoding="utf-8")
    assert page == to_markdown(again)
    assert "| LAB-RBF           | 51.0 | 80.5 | 85.0 | 72.5 |" in page
    assert "80.0 \\*" in page  # coverage of table one at 90 %
    assert "0.500 (0.070)" in page
    for name in ("intervals.png", "calibration.png"):
        assert f"]({name})" in page
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
