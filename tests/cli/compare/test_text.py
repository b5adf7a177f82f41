"""What ``pliant compare`` prints: fits a terminal, says why, and cannot drive it."""

import re
from pathlib import Path

import pytest

from pliant.cli.compare.plan import Plan, duration, method_names
from pliant.cli.compare.text import all_as_data, all_as_text, ending
from pliant.cli.table_options import TableOptions
from pliant.comparison import BASELINES
from tests.comparison.report.report_cases import HOSTILE, METHODS, result

PLAN = Plan((Path("t.csv"),), "kind")


def test_the_leaderboard():
    lines = all_as_text([result()]).splitlines()
    assert lines[:3] == [
        "iris-like: classification of 'kind', 500 rows, 13 features, 3 classes",
        "Tested on 5 folds, drawn 2 times.",
        "Ranked on the 7 folds of 10 that all ranked methods have.",
    ]
    head = lines[4].split("  ")
    assert [word.strip() for word in head if word.strip()] == [
        "method", "accuracy ± error", "better by", "p", "one fit", "folds",
    ]  # fmt: skip
    rows = {line[:19].strip(): line[19:].split() for line in lines[6:17]}
    assert set(rows) == {each.title for each in METHODS} | {"-- below the line:"}
    assert list(rows).index("-- below the line:") == 8
    assert rows["TKL"][-3:] == ["7", "of", "10"]
    assert rows["Gaussian process"][-1] == "skipped"
    assert rows["SCG-LDK"][-1] == "failed"
    assert "500" in rows["DANK"]  # median of the seconds of a fit, in milliseconds


def test_it_fits_a_terminal():
    for task in ("classification", "regression"):
        assert max(map(len, all_as_text([result(task)] * 3).splitlines())) < 80


def test_lower_is_better_is_said():
    found = result("regression")
    protocol = type(found.protocol)(metric="rmse")
    text = all_as_text([result("regression", protocol=protocol)])
    assert "RMSE ± error, lower is better" in text


def test_large_numbers_fit_too():
    found = result("regression", protocol=type(result().protocol)(metric="rmse"))
    for record in found.records:
        record["scores"] = {name: 1e12 * value for name, value in record["scores"].items()}
    text = all_as_text([found])
    assert re.search(r"Random forest +\d\.\de\d+ ± \d\.\de\d+ +[-+]\d\.\de\+1[0-3] ", text)


def test_reasons_are_given_once():
    methods = [each for each in METHODS if each.status == "done"]
    late = [
        type(each)(each.name, each.title, each.kind, "", "cut", "0 of 10 folds: too late")
        for each in METHODS[2:4]
    ]
    text = all_as_text([result(methods=(*methods, *late))])
    assert "TKL, SCG-LDK: 0 of 10 folds: too late" in text


@pytest.mark.parametrize("text", HOSTILE)
def test_what_comes_from_outside_is_printable(text):
    found = result(name=text, error=f"ValueError: {text}\nand more")
    found.sample["target"] = text
    plan = Plan(
        (Path(text.replace("\x00", "").replace("/", "")),), text, table=TableOptions(drop=(text,))
    )
    shown = all_as_text([found, found]) + ending(plan, [found])
    assert shown.replace("\n", "").isprintable()


def test_a_command_to_copy_runs_nothing_else():
    plan = Plan((Path("t.csv"),), "$(rm -rf x)`;", table=TableOptions(drop=("a b",)), group="g'h")
    (line,) = [line for line in ending(plan, [result()]).splitlines() if " fit " in line]
    assert "--target '$(rm -rf x)`;'" in line
    assert """--drop 'a b' --drop 'g'"'"'h'""" in line
    assert "--method dank --param C=8.0 --param gamma=1.0 --drop" in line
    assert plan.command.startswith("pliant compare t.csv --target '$(rm -rf x)`;' --drop 'a b'")


def test_files_are_listed():
    plan = Plan((Path("t.csv"),), "kind", report=Path("r.html"), json=Path("-"))
    lines = ending(plan, [result()]).splitlines()
    assert lines[0].split() == ["r.html", "the", "report:", "open", "it", "in", "a", "browser"]
    assert lines[1].startswith("t.compare.jsonl")
    assert lines[2] == ""


def test_over_several_tables():
    found = [result(name=name, seed=seed) for seed, name in enumerate("abc")]
    text = " ".join(all_as_text(found).split("\n\n\n")[3].split())
    assert text.startswith("Over 3 tables method average rank won, tied, lost p ")
    assert re.search(r"Gaussian SVM \d\.\d\d the reference", text)
    assert "(Nemenyi)" in text
    assert "Left out, without a rank on some table: scg-ldk and gp." in text
    data = all_as_data(found)["across"]
    assert data["tables"] == ("a", "b", "c")
    assert min(data["ranks"].values()) >= 1
    assert set(data["left_out"]) == {"scg-ldk", "gp"}


def test_tables_that_cannot_be_ranked_say_so():
    methods = [METHODS[-1]]
    found = [result(methods=methods), result(methods=methods)]
    assert "Over 2 tables: no ranks, expected 2 methods" in all_as_text(found)
    assert "expected 2 methods" in all_as_data(found)["across"]["reason"]


TIMES = {
    "90s": 90,
    "10m": 600,
    "1h": 3600,
    "1h30m": 5400,
    " 1.5H ": 5400,
    "none": None,
    "None": None,
}


@pytest.mark.parametrize("text", TIMES)
def test_times(text):
    assert duration(text) == TIMES[text]


@pytest.mark.parametrize(
    "text", ["", "10", "0s", "-5m", "m", "1..5m", "5m1h", "infs", "1e5s", "٣m"]
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="expected --budget TIME, such as 90s, 10m or 1h, or none"):
        duration(text)


def test_names_of_methods():
    assert method_names(None) is None
    assert method_names("dank, svm") == ("dank", "svm")
    with pytest.raises(ValueError, match="did you mean 'dank'"):
        method_names("dummy,danq")
    with pytest.raises(ValueError, match="each method once in --methods, got svm twice"):
        method_names("svm,dank,svm")


def test_plain_methods_are_listed_after_those_that_learn_a_kernel(pliant):
    learned, plain = pliant("methods").out.split("\n\nPlain methods, to compare with:\n\n")
    assert learned.startswith("dank ")
    assert {name for name in BASELINES if re.search(f"^{name} ", plain, re.MULTILINE)} == {
        *BASELINES
    }
    assert max(map(len, plain.splitlines())) < 80
