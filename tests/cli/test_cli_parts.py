"""The parts of the command line: parameters, outputs, progress, folds, text."""

import json
import logging
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pliant import TableError
from pliant.cli.console import diagnostics, progress
from pliant.cli.fit.training import check_folds
from pliant.cli.outputs import STDOUT, check_outputs, write_json
from pliant.cli.parameters import check_names, parse_parameters
from pliant.cli.report import facts, gap_text, word
from pliant.comparison.run.folds import most_folds
from pliant.tables._names import listed

VALUES = [
    ("10", 10),
    ("1e-3", 1e-3),
    (" 2.5 ", 2.5),
    ("true", True),
    ("True", True),
    ("false", False),
    ("null", None),
    ("None", None),
    ("auto", "auto"),
    ('"10"', "10"),
    ("laplacian", "laplacian"),
    ('{"a": 2}', {"a": 2}),
    ("{0: 1, 1: 5}", {0: 1, 1: 5}),
    ("a=b", "a=b"),
    ("__import__('os')", "__import__('os')"),
    ("[" * 100_000, "[" * 100_000),
    ("9" * 5000, "9" * 5000),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=lambda v: str(v)[:20])
def test_values(text, value):
    (parsed,) = parse_parameters([f"p={text}"]).values()
    assert parsed == value
    assert type(parsed) is type(value)


@given(st.one_of(st.integers(-(2**63), 2**63), st.floats(allow_nan=False), st.booleans()))
def test_what_json_writes_is_read_back(value):
    assert parse_parameters([f"a={json.dumps(value)}"]) == {"a": value}


@given(st.lists(st.text()))
def test_any_words_give_parameters_or_one_line(words):
    names = [name.strip() for name, equals, _ in (w.partition("=") for w in words) if equals]
    if len(names) == len(words) and all(names) and len(set(names)) == len(names):
        assert list(parse_parameters(words)) == names
        return
    with pytest.raises(ValueError, match=r"--param") as told:
        parse_parameters(words)
    assert str(told.value).isprintable()


def test_all_unknown_names_are_told():
    check_names(["C"], ["C", "gamma"], "dank")
    with pytest.raises(ValueError, match=r"no parameters 'c', 'zz'; did you mean 'cc'\?"):
        check_names(["c", "zz"], ["cc", "gamma"], "dank")


def test_outputs_are_rehearsed_without_a_trace(tmp_path):
    old = tmp_path / "old.csv"
    old.write_text("kept", encoding="utf-8")
    check_outputs([None, STDOUT, tmp_path / "new.csv", old])
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert old.read_text(encoding="utf-8") == "kept"
    with pytest.raises(TableError, match="in use"):
        check_outputs([tmp_path / "." / "old.csv"], inputs=[old])


def test_json_has_no_nan_and_no_numpy(tmp_path, capsys):
    value = {"a": math.nan, "b": [np.float64(1.5), np.int64(2)], "c": (np.inf, "é"), 3: np.bool_(1)}
    plain = {"a": None, "b": [1.5, 2], "c": [None, "é"], "3": True}
    write_json(tmp_path / "r.json", value)
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == plain
    write_json(STDOUT, value)
    assert json.loads(capsys.readouterr().out) == plain


def test_where_there_is_no_terminal_progress_is_one_line(capsys):
    with progress("Working", 3) as tick:
        assert capsys.readouterr().err == ""
        tick(1)
        tick(2)
    assert capsys.readouterr().err == "Working\n"


def test_a_terminal_gets_a_bar_that_goes_away(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress("Working", 3) as tick:
        tick(3)
    shown = capsys.readouterr().err
    assert "Working" in shown
    assert "3/3" in shown
    assert shown.endswith("\x1b[2K")  # the line is cleared


def test_notes_and_warnings_are_lines(capsys):
    logger = logging.getLogger("pliant")
    with diagnostics():
        logger.warning("compiling %s", "loops\x1b[1m")
        for text in ("a\nb", "a\nb", "c"):
            warnings.warn(text, UserWarning, stacklevel=1)
        for steps in (1, 2):
            warnings.warn(f"stopped after {steps}", ConvergenceWarning, stacklevel=1)
        warnings.warn("of no use to a user", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err.splitlines() == [
        "Note: compiling loops[1m",
        "Warning: a b",
        "Warning: c",
        "Warning: stopped after 1",
    ]
    assert not any(type(handler).__name__ == "_Notes" for handler in logger.handlers)


def test_how_many_folds_there_can_be():
    assert most_folds(np.array(["a", "a", "a", "b", "b"]), "classification") == 2
    assert most_folds(np.arange(9.0), "regression") == 4
    check_folds(np.arange(10.0), "regression", 5)
    with pytest.raises(ValueError, match="--cv 5 needs 2 rows a fold, there are 9"):
        check_folds(np.arange(9.0), "regression", 5)


@given(st.lists(st.tuples(st.text("ab", min_size=1), st.text("xyz ,")), min_size=1))
def test_facts_fit_a_terminal(pairs):
    lines = facts(pairs).splitlines()
    longest = max(len(name) for name, _ in pairs)
    assert max(map(len, lines)) < 80 or longest > 55
    heads = [line.split(" ")[0] for line in lines if line[0] != " "]
    assert heads == [name for name, _ in pairs]


def test_small_words():
    assert gap_text(math.nan) == "not known"
    assert gap_text(1.234e-5) == "<= 1.2e-05"
    assert listed("abcd", 2) == "'a', 'b' and 2 more"
    assert listed("ab") == "'a', 'b'"
    assert word(Path("a b.csv")) == '"a b.csv"'
    assert word("a\x1bb.csv") == "ab.csv"
