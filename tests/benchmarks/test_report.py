"""Summaries of measurements as medians, ratios, JSON and Markdown; and the command line."""

from __future__ import annotations

import json

import pytest

from benchmarks import __main__ as command_line
from benchmarks.harness.measuring import Settings
from benchmarks.harness.report import run, to_markdown, write
from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.harness.summary import goal_met, overall, summarise

HERE = "tests.benchmarks.contestants"
BASE = Contestant("base", f"{HERE}:count", paper=2.0)
OTHER = Contestant("other", f"{HERE}:count", baseline="base", goal=1.5)
CASE = Case("case", (BASE, OTHER), {"n": 5})


def benchmark(*contestants, **more):
    cases = [Case("small | sum", contestants or (BASE, OTHER), {"n": 5})]
    return Benchmark("tiny", "Adding up", "Numbers below n.", lambda has_data: cases, **more)


def measurements(**seconds):
    return [
        {"repeat": k, "contestant": name, "seconds": s, "peak_bytes": 10 * k, "result": {"k": k}}
        for name, times in seconds.items()
        for k, s in enumerate(times)
        if s is not None
    ]


def test_summary_has_medians_and_paired_ratios():
    base, other = summarise(CASE, measurements(base=[1, 2, 9], other=[3, 2, 18]), "time ratio")
    assert base["seconds"] == 2
    assert (base["baseline_seconds"], base["ratio_of_medians"], base["median_ratio"]) == (None,) * 3
    assert (other["seconds"], other["baseline_seconds"]) == (3, 2)
    assert (other["ratio_of_medians"], other["median_ratio"]) == (1.5, 2.0)
    assert (other["peak_bytes"], other["result"]) == (10, {"k": 2})


def test_failed_repeats_are_left_out_of_the_ratios():
    failed = {"repeat": 1, "contestant": "other", "error": "ValueError: no"}
    found = [*measurements(base=[1, 2, 4], other=[2, None, 4]), failed]
    _, other = summarise(CASE, found, "time ratio")
    assert (other["median_ratio"], other["failures"], other["error"]) == (1.5, 1, failed["error"])


def test_the_processor_may_be_the_clock():
    found = [
        {**m, "processor_seconds": m["seconds"] / k}
        for m, k in zip(measurements(base=[6], other=[6]), (2, 3), strict=True)
    ]
    failed = {"repeat": 1, "contestant": "other", "error": "ValueError: no"}
    base, other = summarise(CASE, [*found, failed], "time ratio", "processor")
    assert (base["seconds"], other["seconds"]) == (3, 2)
    assert other["clock_seconds"] == 6
    assert other["median_ratio"] == pytest.approx(2 / 3)
    assert summarise(CASE, found, "time ratio")[1]["clock_seconds"] is None


def test_overall_takes_the_median_over_cases():
    summaries = [
        summarise(CASE, measurements(base=[b], other=[1]), "speed-up") for b in (1, 2, 1.6)
    ]
    (row,) = overall(benchmark(quantity="speed-up"), summaries)
    assert (row["contestant"], row["baseline"], row["cases"]) == ("other", "base", 3)
    assert (row["median_ratio"], row["goal"], row["met"]) == (1.6, 1.5, True)


@pytest.mark.parametrize(
    ("value", "goal", "quantity", "met"),
    [
        (1.5, 1.5, "time ratio", True),
        (1.6, 1.5, "time ratio", False),
        (1.6, 1.5, "speed-up", True),
        (1.4, 1.5, "speed-up", False),
        (None, 1.5, "speed-up", None),
        (1.0, None, "time ratio", None),
    ],
)
def test_goals_bound_ratios_above_and_speed_ups_below(value, goal, quantity, met):
    assert goal_met(value, goal, quantity) is met


@pytest.fixture(scope="module")
def report(in_process):
    failing = Contestant("broken", f"{HERE}:unprepared", baseline="base")
    odd = Contestant("odd", f"{HERE}:undefined")
    return run(benchmark(BASE, OTHER, failing, odd), Settings(repeats=2, timeout=120))


def test_the_report_survives_json(report, tmp_path):
    path, page = write(report, tmp_path / "new" / "folder")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert page.read_text(encoding="utf-8") == to_markdown(kept)
    assert [set(case) for case in kept["cases"]] == [{"name", "summary"}]
    assert sorted(p.name for p in path.parent.iterdir()) == ["tiny.json", "tiny.md"]
    odd = report["cases"][0]["summary"][3]
    assert odd["result"] == {"gap": None, "bound": None}


def test_markdown_shows_paper_measured_and_baseline(report):
    lines = to_markdown(report).splitlines()
    assert lines[0] == "# Adding up"
    head, rule, base, other, broken, odd = (line for line in lines if line.startswith("|"))
    titles = [cell.strip() for cell in head.strip("|").split("|")]
    assert titles[:5] == ["problem", "contestant", "paper (s)", "measured (s)", "baseline (s)"]
    assert {"time ratio of medians", "goal", "met", "total", "error"} < set(titles)
    assert "bound" not in titles
    assert base.startswith("| small \\| sum | base")
    assert " 2.000 " in base
    assert " 1.50 " in other
    assert "2 failed: ValueError: expected n &gt; 0, got -1" in broken
    assert len({len(line) for line in (head, rule, base, other, broken, odd)}) == 1
    assert "Medians of 2 measurements" in lines[-1]


@pytest.fixture
def tiny_command(in_process, monkeypatch, tmp_path):
    monkeypatch.setattr(command_line, "BENCHMARKS", {"tiny": benchmark()})
    monkeypatch.setattr(command_line, "RESULTS", tmp_path / "results")
    return lambda *more: command_line.main(["tiny", "--repeats", "1", *more])


def test_the_command_writes_and_keeps(tiny_command, tmp_path, capsys):
    assert tiny_command("--out", str(tmp_path / "out"), "--keep") == 0
    assert (tmp_path / "out" / "tiny.json").read_bytes() == (
        tmp_path / "results" / "tiny.json"
    ).read_bytes()
    shown = capsys.readouterr()
    assert shown.out.startswith("# Adding up\n")
    assert "1/1 | other: " in shown.err


def test_a_run_with_failures_is_not_kept(tiny_command, tmp_path, monkeypatch, capsys):
    broken = benchmark(Contestant("broken", f"{HERE}:unprepared"))
    monkeypatch.setitem(command_line.BENCHMARKS, "tiny", broken)
    assert tiny_command("--out", str(tmp_path / "out"), "--keep") == 1
    assert (tmp_path / "out" / "tiny.json").exists()
    assert not (tmp_path / "results").exists()
    assert "not kept" in capsys.readouterr().err
