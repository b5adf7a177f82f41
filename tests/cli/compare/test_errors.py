"""What ``pliant compare`` refuses: one clear line, before any work, and nothing left behind."""

from pathlib import Path

import pytest

from tests.cli.conftest import patients, write

pytestmark = pytest.mark.usefixtures("folder")

COMPARE = ("compare", "patients.csv", "--target", "sick")

OPTIONS = {
    ("--methods", "dank,svmm"): "unknown method 'svmm'; did you mean 'svm'?",
    ("--methods", "dank,dank"): "expected each method once in --methods, got dank twice",
    ("--budget", "10"): "expected --budget TIME, such as 90s, 10m or 1h, or none, got '10'",
    ("--folds", "1"): "'--folds': expected an integer from 2 to 100, got '1'",
    ("--folds", "31"): "31",
    ("--metric", "acuracy"): "unknown metric 'acuracy'; did you mean 'accuracy'",
    ("--time", "colour"): "expected a number or a date such as 2024-01-31 in row 1, got",
    ("--time", "age", "--group", "grade"): "expected --group or --time, got both",
    ("--fit-best",): "expected --fit-best and --out FILE together: --out takes the model",
    ("--out", "m.pliant"): "expected --fit-best and --out FILE together: --out takes the model",
    ("--fit-best", "--out", "patients.csv"): "'patients.csv' is in use by this command",
    ("--report", "-"): "expected the name of a file, got '-': only --json can go to stdout",
    ("--report", "patients.csv"): "'patients.csv' is in use by this command",
    ("--json", "r", "--report", "r"): "'r' is in use by this command: choose another name",
    ("--cache", "patients.csv"): "'patients.csv' is in use by this command",
    ("--json", "patients.compare.jsonl"): "'patients.compare.jsonl' is in use by this command",
    ("patients.csv",): "expected each table once, got 'patients.csv' twice",
}


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_options(refused, words):
    assert OPTIONS[words] in refused(*COMPARE, *words)


TABLES = {
    "empty column": (
        ["a,b,y", *(f"{k},,{'pq'[k % 2]}" for k in range(60))],
        "no feature column is left: 'a' (a value of its own in nearly every row), 'b' (no value at",
    ),
    "one class": (["a,y", "1,p", "2,p", "3,p"], "column 'y': expected a target that varies"),
    "few": (["a,y", "1,p", "2,q", "3,p"], "class 'q'"),
    "rare": (["a,y", *(f"{k},{'pq'[k % 2]}" for k in range(60)), "1,rare"], "class 'rare'"),
    "names": (["a,y", *(f"{k},name {k}" for k in range(60))], "expected classes that recur"),
    "hostile": (["\x1b[31m<script>,y", "x\x1b]0;,p", "y,", "z,q"], "column 'y' has a missing"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(refused, name):
    lines, said = TABLES[name]
    write("t.csv", *lines)
    assert said in refused("compare", "t.csv", "--target", "y")


def test_a_cache_is_of_one_table(refused):
    write("other.csv", *patients())
    line = refused("compare", "patients.csv", "other.csv", "--target", "sick", "--cache", "c")
    assert line == "--cache names the file of one table: leave it out for several"


@pytest.mark.parametrize("words", [(), ("--resume",)], ids=["anew", "resumed"])
def test_a_file_that_is_no_cache_is_kept(refused, words):
    Path("c.jsonl").write_text("my thesis\n", encoding="utf-8")
    line = refused(*COMPARE, "--cache", "c.jsonl", *words)
    assert "'c.jsonl', line 1: expected JSON of a cell" in line
    assert Path("c.jsonl").read_text("utf-8") == "my thesis\n"
