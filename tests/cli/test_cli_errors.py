"""Invalid input gives one clear line on stderr and an exit code, and leaves no files."""

import errno
import os
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from pliant import DANKClassifier
from pliant.persistence import load, save
from pliant.records import to_record
from pliant.tables.cli.app import exit_code, format_error
from tests.cli.conftest import patients, write
from tests.persistence.test_hostile_files import members_of, packed

pytestmark = pytest.mark.usefixtures("folder")

DANK = ("--method", "dank")
FIT = ("fit", "patients.csv", "--target", "sick", "--drop", "grade", "--drop", "amount", *DANK)

TABLES = {
    "all": (["a,b,y", "inf,2,p", "1,1e999,q"], "2 problems: (1) column 'a': expected a finite"),
    "inf": (["a,y", "1,p", "2,q", "-inf,p", "4,q"], "expected a finite number in row 3, got -inf"),
    "one class": (
        ["a,y", "1,p", "2,p", "3,p"],
        "column 'y': expected a non-constant target",
    ),
    "empty": ([], "'t.csv' is empty"),
    "no rows": (["a,y"], "'t.csv' has a header but no rows"),
    "ragged": (["a,y", "1,p", "2"], "'t.csv', line 3: expected 2 cells as in the header, got 1"),
    "twice": (["a,a,y", "1,2,p"], "has more than one column named 'a'"),
    "no target": (["a,y", "1,", "2,"], "column 'y' has 2 missing values, the first in row 1"),
    "few": (["a,y", "1,p", "2,q", "3,p", "4,q"], "expected at least 5 rows of each class for 5"),
    "few numbers": (
        ["a,y", "1,.5", "2,2.5", "3,.5", "4,3.5"],
        "expected at most 2 folds for these rows, got 5: use fewer folds or more rows",
    ),
    "control": (["a\x1b[31m,y", "1,p", "inf,q"], "column 'a[31m': expected a finite number in"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(refused, name):
    lines, expected = TABLES[name]
    Path("t.csv").write_text("\n".join(lines), encoding="utf-8")
    assert expected in refused("fit", "t.csv", "--target", "y", *DANK)


@pytest.mark.parametrize(
    "words", [["--no-header"], ["--skip", "2"], ["--sep", ";"], ["--encoding", "cp1252"]]
)
def test_options_of_csv_lines_do_not_fit_other_files(refused, words):
    Path("t.svm").write_text("1 1:2 3:4\n", encoding="utf-8")
    told = refused("fit", "t.svm", "--target", "label", *words)
    assert f"'t.svm' is no CSV file: expected no {' '.join(words)}" in told


def test_a_file_that_is_not_there(refused):
    assert "cannot read 'none.csv'" in refused("fit", "none.csv", "--target", "y", code=1)
    assert "cannot read 'none.pq' as" in refused("compare", "none.pq", "--target", "y", code=1)
    assert "cannot read 'm.pliant': No such file" in refused("info", "m.pliant", code=1)
    assert "expected a file name ending in" in refused("fit", "a.doc", "--target", "y")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    "command", ["fit x.csv --target y", "fit x.pq --target y", "info x.pliant"]
)
def test_a_pipe_is_refused_at_once(refused, command):
    name = command.split()[1]
    os.mkfifo(name)
    assert re.fullmatch(
        f"cannot read '{name}'.*: it is not a regular file", refused(*command.split(), code=1)
    )


def test_a_folder_without_permission(refused, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", denied)
    assert (
        refused(*FIT, "--out", "m.pliant", code=1) == "cannot write 'm.pliant': Permission denied"
    )


PARAMETERS = {
    "C=0": "expected C from 1e-12 to 1e12, got 0",
    "kernel=precomputed": "expected a square Gram matrix of shape (n, n), got (",
    "gama=1": "no parameter 'gama'; did you mean 'gamma'?",
    "C": "expected --param NAME=VALUE, such as C=10, got 'C'",
}


@pytest.mark.parametrize("word", PARAMETERS)
def test_parameters(refused, word):
    assert PARAMETERS[word] in refused(*FIT, "--param", word, "--out", "m.pliant")


OPTIONS = {
    ("--method", "danq"): "unknown method 'danq'; did you mean 'dank'?",
    ("--task", "regression"): "column 'sick': expected a number in row 1, got 'no'",
    ("--missing", "drop"): "expected missing in ['error', 'impute'], got 'drop'",
    ("--param", "C=1", "--param", "C=2"): "--param 'C' is given twice",
    ("--single",): "--single needs --budget: add --budget TIME, or drop --single",
    ("--budget", "5s"): "--budget selects methods and parameters: drop --method",
    ("--target", "grade"): "expected one --target, got 'sick' and 'grade': fit one model per t",
    ("--cv", "1"): "expected folds >= 2, an integer, got 1",
    ("--cv", "31"): "expected at least 31 rows of each class for 31 folds, got 30 of class 'no'",
    ("--cv", "x"): "Invalid value for '--cv': ",
    ("--seed", "-1"): "Invalid value for '--seed': ",
    ("--out", "-"): "expected --out FILE, got '-': a model cannot be written to stdout",
    ("--out", "."): "cannot write '.': it exists and is not a regular file",
    ("--out", "patients.csv"): "'patients.csv' is already in use",
    ("--json", "r", "--out", "r"): "'r' is already in use: choose another name",
}


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_options(refused, words):
    assert OPTIONS[words] in refused(*FIT, *words)


def test_a_budget_needs_folds(refused):
    found = refused("fit", "patients.csv", "--target", "sick", "--budget", "5s", "--cv", "0")
    assert "--budget compares methods by folds: expected --cv K >= 2, got 0" in found


ROWS = {
    "column": (["age,colour", "1,red"], "the table lacks the column 'dose'; it has 'age', 'colou"),
    "text": (["age,dose,colour", "1,2,red", "x,2,red"], "column 'age': expected a number in row 2"),
    "empty": (["age,dose,colour"], "'t.csv' has a header but no rows"),
    "ragged": (["age,dose,colour", "1,2"], "line 2: expected 3 cells as in the header, got 2"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_to_predict(refused, models, name):
    lines, expected = ROWS[name]
    write("t.csv", *lines)
    for out in ((), ("--out", "p.csv")):
        assert expected in refused("predict", models["sick"], "t.csv", *out)


def test_a_fault_in_a_late_row_leaves_no_file(pliant, models, folder):
    lines = patients()
    write("t.csv", lines[0], *lines[1:] * 200, "x,1,red,no,low,1")
    done = pliant("predict", models["sick"], "t.csv", "--out", "p.csv")
    assert done.code == 2
    wrong = "Error: column 'age': expected a number in row 12001, got 'x': correct it or "
    assert done.err.endswith(f"{wrong}read it as missing (--na-values 'x')\n")
    assert sorted(path.name for path in folder.iterdir()) == ["patients.csv", "t.csv"]


def test_predictions_that_cannot_be_written(refused, models):
    predict = ("predict", models["sick"], "patients.csv")
    assert "missing folder" in refused(*predict, "--out", "none/p.csv", code=1)
    assert "expected a name ending in .csv" in refused(*predict, "--out", "p.txt")
    assert "is already in use" in refused(*predict, "--out", "patients.csv")
    assert "is already in use" in refused(*predict, "--out", models["sick"])


def renamed(good):
    """Return a model file that names a function instead of a type."""
    members = members_of(good)
    text = members["model.json"].replace(b"pliant.records.Saved", b"os.Saved")
    return packed({**members, "model.json": text})


FILES = {
    "pickle": (lambda good: pickle.dumps(print), "this is a pickle, which is never loaded"),
    "truncated": (lambda good: good[: len(good) // 2], "expected a complete zip archive"),
    "hostile": (renamed, "cannot load"),
    "foreign": (lambda good: b"PK\x05\x06" + bytes(18), "expected a model saved by this version"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["info", "predict"])
def test_model_files(refused, models, name, command):
    make, expected = FILES[name]
    Path("m.pliant").write_bytes(make(models["sick"].read_bytes()))
    table = ("patients.csv",) if command == "predict" else ()
    line = refused(command, "m.pliant", *table, code=1)
    assert expected in line
    assert "'m.pliant'" in line


def test_a_model_without_its_table(refused):
    model = DANKClassifier().fit([[0.0], [1.0]], [0, 1])
    save(model, "m.pliant")
    assert "without the schema of its table" in refused(
        "predict", "m.pliant", "patients.csv", code=1
    )
    assert "without the schema of its table" in refused("info", "m.pliant", code=1)


def test_a_schema_of_another_model(refused, models):
    model = load(models["sick"])
    schema = model[0].schema_
    model[0].schema_ = replace(schema, columns=schema.columns[1:])
    save(model, "m.pliant")
    line = refused("predict", "m.pliant", "patients.csv", code=1)
    assert "the model in 'm.pliant' is damaged: ValueError: X has 2 features, but" in line


def test_a_model_whose_parts_do_not_fit(refused, models):
    model = load(models["sick"])
    scaler = to_record(StandardScaler().fit(np.eye(2)))  # of another table
    model.steps = [(name, scaler if name == "scaler" else step) for name, step in model.steps]
    save(model, "m.pliant")
    line = refused("predict", "m.pliant", "patients.csv", code=1)
    assert "the model in 'm.pliant' is damaged: ValueError: X has" in line


ODD_NOTES = [
    {"data": {"rows": "many"}, "cross_validation": None, "versions": {}},
    {"data": {"rows": 1}, "cross_validation": {"scores": [1]}, "versions": {}},
]


@pytest.mark.parametrize("notes", ODD_NOTES, ids=str)
def test_odd_notes(refused, models, notes):
    save(load(models["sick"]), "m.pliant", metadata=notes)
    assert refused("info", "m.pliant", code=1) == "cannot read the metadata of 'm.pliant'"


def test_a_model_that_no_file_can_contain_is_refused_before_it_learns(refused, monkeypatch):
    monkeypatch.setattr(DANKClassifier, "fit", lambda *_: pytest.fail("the model learned"))
    write("classes.csv", "a,b,y", *(f"{i % 7},{i % 9},c{i % 250}" for i in range(500)))
    fit = ("fit", "classes.csv", "--target", "y", "--cv", 0, *DANK, "--out", "m.pliant")
    assert "at most 30000 pairs of classes, got 31125 for 250 classes" in refused(*fit, code=1)


def test_labels_that_look_like_formulas_are_quoted_in_predictions(pliant):
    lines = [line.replace(",yes,", ",=cmd(),").replace(",no,", ",+A1,") for line in patients()]
    write("t.csv", *lines)
    assert pliant("fit", "t.csv", "--target", "sick", "--cv", 0, "--out", "m.pliant").code == 0
    done = pliant("predict", "m.pliant", "t.csv", "--decision")
    cells = {line.partition(",")[0] for line in done.out.splitlines()[1:]}
    assert cells == {"'=cmd()", "'+A1"}


def test_an_interrupted_fit_leaves_nothing(pliant, folder, monkeypatch):
    def interrupted(self, X, y, sample_weight=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(DANKClassifier, "fit", interrupted)
    done = pliant(*FIT, "--out", "m.pliant", "--json", "r.json")
    assert done.code == 130
    assert done.err.splitlines() == ["Learning from 60 rows: 6 fits", "interrupted"]
    assert [path.name for path in folder.iterdir()] == ["patients.csv"]


@pytest.mark.parametrize("text", ["", "Unable to allocate 3 TiB"])
def test_missing_memory_is_one_line_with_remedies(text):
    line = format_error(MemoryError(text))
    assert line.startswith(f"not enough memory{f': {text}' if text else ''}; use fewer rows, ")
    assert exit_code(MemoryError(text)) == 1
