"""Parsing of parameters and writing of outputs."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.exceptions import TableError
from pliant.tables.cli.options import parse_parameters
from pliant.tables.cli.outputs import STDOUT, check_outputs, with_options, write_json

VALUES = [
    ("10", 10),
    ("1e-3", 1e-3),
    ("true", True),
    ("None", None),
    ("auto", "auto"),
    ('"10"', "10"),
    ("laplacian", "laplacian"),
    ('{"a": 2}', {"a": 2}),
    ("{0: 1, 1: 5}", {0: 1, 1: 5}),
    ("__import__('os')", "__import__('os')"),
    ("[" * 100_000, "[" * 100_000),
    ("9" * 5000, "9" * 5000),
]


@pytest.mark.parametrize(
    ("of_library", "of_command"),
    [
        ("leave it out (drop=[...])", "leave it out (--drop)"),
        ("(keep=['a', 'b, c'] restores them)", "(--keep 'a' --keep 'b, c' restores them)"),
        ("set TableFormat(sep=' ')", "add --sep ' '"),
        ("TableFormat(skip=2) leaves out", "--skip 2 leaves out"),
        ("classes (task='regression' for", "classes (--task regression for"),
        ("as missing (na_values=['a b])'])", "as missing (--na-values 'a b])')"),
        ("set missing='impute'", "add --missing impute"),
        (
            "set TableFormat(decimal=',') or TableFormat(decimal='.')",
            "add --decimal , or --decimal .",
        ),
        ("(or texts=[...] for text)", "(or --categorical for text)"),
        ("set TableFormat(header=False)", "add --no-header"),
        ("set resume=False to start again", "drop --resume to start again"),
        ("expected groups (group=...) or", "expected groups (--group) or"),
        ("C=10 and eta=... stay", "C=10 and eta=... stay"),
    ],
)
def test_messages_of_the_library_name_options(of_library, of_command):
    assert with_options(of_library) == of_command


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


def test_outputs_are_rehearsed_without_a_trace(tmp_path):
    old = tmp_path / "old.csv"
    old.write_text("kept", encoding="utf-8")
    check_outputs([None, STDOUT, tmp_path / "new.csv", old])
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert old.read_text(encoding="utf-8") == "kept"
    with pytest.raises(TableError, match="in use"):
        check_outputs([tmp_path / "." / "old.csv"], inputs=[old])


def test_an_output_is_no_file_of_a_pattern(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("parts/more").mkdir(parents=True)
    Path("parts/more/a.csv").write_text("kept", encoding="utf-8")
    for name in ("parts/more/a.csv", tmp_path / "parts" / "more" / "a.csv"):
        with pytest.raises(TableError, match=r"a\.csv' is already in use"):
            check_outputs([Path(name)], inputs=[Path("parts/**/*.csv")])
    with pytest.raises(TableError, match=r"part of the table 'parts/\*/\?\.csv': choose an"):
        check_outputs([Path("parts/more/b.csv")], inputs=[Path("parts/*/?.csv")])
    for name in ("b.csv", "parts/b.csv", "parts/more/new.csv", "parts/more/b.csv.gz"):
        check_outputs([Path(name)], inputs=[Path("parts/*/?.csv")])
    assert Path("parts/more/a.csv").read_text(encoding="utf-8") == "kept"
    Path("odd[1].csv").write_text("", encoding="utf-8")  # an existing file is not a pattern
    check_outputs([Path("odd1.csv")], inputs=[Path("odd[1].csv")])


def test_json_has_no_nan_and_no_numpy(tmp_path, capsys):
    value = {"a": math.nan, "b": [np.float64(1.5), np.int64(2)], "c": (np.inf, "é"), 3: np.bool_(1)}
    plain = {"a": None, "b": [1.5, 2], "c": [None, "é"], "3": True}
    write_json(tmp_path / "r.json", value)
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == plain
    write_json(STDOUT, value)
    assert json.loads(capsys.readouterr().out) == plain
