"""``pliant compare``: a real run on a hostile table, and what is done with results."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pliant.comparison import ComparisonResult
from pliant.comparison.cells import perform
from pliant.registry import METHODS as REGISTERED
from tests.cli.conftest import captured, patients, write
from tests.comparison.report.report_cases import METHODS, result

NAMES = ("<script>alert(1)</script>", "=cmd()\x1b[2J", "colour", "sick")
METHOD_NAMES = ("dummy", "linear", "dank")
FEW = {"C": (1.0, 10.0)}
"""What is searched: few fits are enough here."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One comparison, and where its files are."""
    place = tmp_path_factory.mktemp("compare")
    lines = [line.split(",")[:4] for line in patients()[1:]]
    for number, cells in enumerate(lines):
        cells[0] = "" if number % 9 == 0 else cells[0]
        cells[2] = "<img src=x onerror=alert(2)>" if number % 5 == 0 else cells[2]
    write(place / "t.csv", ",".join(NAMES), *map(",".join, lines))
    files = {name: place / name for name in ("report.html", "r.json", "cells.jsonl")}
    words = ["compare", place / "t.csv", "--target", "sick", "--methods", ",".join(METHOD_NAMES)]
    words += ["--folds", 2, "--repeats", 1, "--budget", "none", "--jobs", 1]
    words += ["--cache", files["cells.jsonl"]]
    written = ["--report", files["report.html"], "--json", files["r.json"]]
    with pytest.MonkeyPatch.context() as patch:  # in this process, which is quicker
        patch.setattr(
            "pliant.comparison.race.perform_apart", lambda *cell: perform(*cell[:4])
        )
        patch.setattr("pliant.cli.compare.running.warm_up", lambda n: None)
        patch.setitem(REGISTERED, "dank", replace(REGISTERED["dank"], grid=FEW))
        yield words, captured(*words, *written), files


def test_a_comparison_is_told(run):
    _, done, files = run
    assert done.code == 0, done.err
    assert (done.out + done.err).replace("\n", "").isprintable()
    told = done.out.splitlines()
    assert told[0] == "t: classification of 'sick', 60 rows, 3 features, 2 classes"
    assert told[1] == "Tested on 2 folds."
    assert [line.split()[0] for line in told[5:8]] != []
    assert {line.split()[0] for line in told[5:8]} == {"DANK", "Linear", "Dummy"}
    assert all(line.endswith("2 of 2") for line in told[5:8])
    assert "\nUse " in done.out
    fit = r"  pliant fit .*--method (dank|linear) --tune --out model.pliant"
    assert any(re.match(fit, line) for line in told), done.out
    assert done.err.splitlines() == [
        f"Note: finished cells are kept in '{files['cells.jsonl']}'; --resume goes on from there",
        "Comparing on t: 6 cells",
    ]


def test_its_data_are_those_of_the_result(run):
    words, _, files = run
    data = json.loads(files["r.json"].read_text("utf-8"))
    found = ComparisonResult.from_dict(data)
    assert [each.name for each in found.methods] == list(METHOD_NAMES)
    assert [each.status for each in found.methods] == ["done"] * 3
    assert len(found.records) == 6
    assert found.sample["feature_names"] == list(NAMES[:3])
    assert found.sample["missing"] > 0
    assert found.command.startswith(f"pliant compare {words[1]} --target sick --methods dummy,")
    assert "--budget none --folds 2 --repeats 1 --seed 0" in found.command


class Tags(HTMLParser):
    """Collects tags with their attributes."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_names_of_a_table_are_text_in_the_report(run):
    _, _, files = run
    html = files["report.html"].read_text("utf-8")
    assert "<script>alert(1)" not in html
    assert "\x1b" not in html
    parser = Tags()
    parser.feed(html)
    assert not any("onerror" in attributes for _, attributes in parser.tags)
    policies = [a for tag, a in parser.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1


def test_resuming_runs_nothing_and_gives_the_same(run):
    words, first, files = run
    before = files["cells.jsonl"].read_bytes()
    again = captured(*words, "--resume", "--json", "-")
    assert again.code == 0
    kept = json.loads(files["r.json"].read_text("utf-8"))
    assert json.loads(again.out)["records"] == kept["records"]
    assert files["cells.jsonl"].read_bytes() == before
    assert "Comparing" not in again.err
    text = captured(*words, "--resume").out
    table = text.index("method")
    assert text[: text.index("cells.jsonl") - len(str(files["cells.jsonl"]))]
    assert first.out[:table] == text[:table]
    assert first.out.split("\n\n")[1] == text.split("\n\n")[1]


def test_a_cache_of_other_options_is_refused(run, monkeypatch, tmp_path, refused):
    words, _, files = run
    monkeypatch.chdir(tmp_path)
    before = files["cells.jsonl"].read_bytes()
    assert "is of another table, other options" in refused(*words, "--resume", "--seed", 1)
    assert files["cells.jsonl"].read_bytes() == before


@pytest.fixture
def asked(folder, monkeypatch):
    """What `compare_sample` is asked for, with results made by hand in place of its own."""
    calls = []

    def compare_sample(sample, methods, protocol, **options):
        calls.append((sample, methods, protocol, options))
        task = sample.task
        return result(task, name=sample.name, seed=len(calls), command=options["command"])

    monkeypatch.setattr("pliant.cli.compare.running.compare_sample", compare_sample)
    monkeypatch.setattr("pliant.cli.compare.running.warm_up", lambda n: None)
    return calls


def test_options_reach_the_comparison(pliant, asked):
    write("t.csv", *(f"{line},{k % 7}" for k, line in enumerate(patients())))
    lines = patients()
    write("t.csv", f"{lines[0]},at", *(f"{line},{-k}" for k, line in enumerate(lines[1:])))
    words = "--methods svm,dank --budget 1h30m --folds 3 --repeats 4 --metric auc --seed 7 --jobs 2"
    words += " --time at --drop grade --drop amount --task classification --cache c --resume"
    assert pliant("compare", "t.csv", "--target", "sick", *words.split()).code == 0
    ((sample, methods, protocol, options),) = asked
    assert sample.feature_names == ("age", "dose", "colour")
    assert sample.ordered
    assert sample.y.tolist() == ["yes", "no"] * 30  # the last row first
    assert methods == ("svm", "dank")
    assert (protocol.folds, protocol.repeats, protocol.metric, protocol.seed) == (3, 4, "auc", 7)
    assert 5390 < options["budget"] <= 5400
    assert (options["n_jobs"], options["resume"], options["cache"]) == (2, True, Path("c"))
    told = options["command"].split()
    assert told[:3] == ["pliant", "compare", "t.csv"]
    assert all(word in told for word in ("svm,dank", "1h30m", "auc", "7", "at", "grade", "amount"))


def test_several_tables_share_the_budget(pliant, asked):
    for name in ("a.csv", "b.csv", "sub/a.csv"):
        Path(name).parent.mkdir(exist_ok=True)
        write(name, *patients())
    tables = ("a.csv", "b.csv", "sub/a.csv")
    done = pliant("compare", *tables, "--target", "sick", "--budget", "30s", "--json", "r.json")
    assert done.code == 0
    assert [sample.name for sample, *_ in asked] == ["a", "b", "a-2"]
    budgets = [options["budget"] for *_, options in asked]
    # each call returns at once, so that the next table may have more
    assert budgets[0] == pytest.approx(10, abs=2)
    assert budgets[1] == pytest.approx(15, abs=2)
    assert budgets[2] == pytest.approx(30, abs=4)
    caches = [str(options["cache"]) for *_, options in asked]
    assert caches == ["a.compare.jsonl", "b.compare.jsonl", "a-2.compare.jsonl"]
    assert "\nOver 3 tables\n" in done.out
    assert "average rank" in done.out
    data = json.loads(Path("r.json").read_text("utf-8"))
    assert [each["sample"]["name"] for each in data["tables"]] == ["a", "b", "a-2"]
    ranked = {each.name for each in METHODS if each.status in ("done", "cut")}
    assert set(data["across"]["ranks"]) == ranked


def test_after_ctrl_c_what_is_finished_is_shown_and_written(pliant, asked, monkeypatch):
    write("other.csv", *patients())

    def interrupted(sample, *_, **options):
        return result(name=sample.name, interrupted=True)

    monkeypatch.setattr("pliant.cli.compare.running.compare_sample", interrupted)
    tables = ("patients.csv", "other.csv")
    done = pliant("compare", *tables, "--target", "sick", "--report", "r.html")
    assert done.code == 130
    assert "Over 2 tables" not in done.out
    assert "Interrupted" in done.out
    assert "  the same command and --resume: runs what is missing\n" in done.out
    assert Path("r.html").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_in_a_real_run(folder):
    words = ["compare", "patients.csv", "--target", "sick", "--budget", "none", "--jobs", "1"]
    command = [sys.executable, "-m", "pliant.cli", *words, "--methods", "dummy,gp,tkl"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while "Comparing" not in process.stderr.readline():
            assert process.poll() is None
        while Path("patients.compare.jsonl").read_text("utf-8").count("\n") < 2:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "--resume" in out
    assert Path("patients.compare.jsonl").read_text("utf-8").count("\n") >= 2


def test_the_method_to_use_is_fitted_and_saved(pliant, asked, monkeypatch):
    """As by the command that is proposed without --fit-best."""
    linear = replace(METHODS[-3], name="linear", title="Linear", status="done")
    monkeypatch.setattr(
        "pliant.cli.compare.running.compare_sample",
        lambda sample, *_, **options: result(methods=[linear, METHODS[-1]]),
    )
    words = ["compare", "patients.csv", "--target", "sick", "--seed", 3, "--metric", "auc"]
    done = pliant(*words, "--fit-best", "--out", "best.pliant")
    assert done.code == 0, done.err
    assert "Note: 'best.pliant' has a model by linear, learned from 60 rows" in done.err
    assert "  pliant predict best.pliant patients.csv" in done.out.splitlines()
    assert "pliant fit" not in done.out
    assert pliant("predict", "best.pliant", "patients.csv", "--out", "p.csv").code == 0
    line = next(line for line in pliant(*words).out.splitlines() if "pliant fit" in line)
    assert "--method linear --tune --metric auc --seed 3 --out model.pliant" in line
    assert pliant(*line.split()[1:], "--cv", 0).code == 0
    assert pliant("predict", "model.pliant", "patients.csv", "--out", "q.csv").code == 0
    assert Path("p.csv").read_text("utf-8") == Path("q.csv").read_text("utf-8")
