"""How a file is written is detected, the same for the whole and for chunks, or given."""

import gzip

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant import TableError
from pliant.tables import TableFormat, detect_format, iter_table, read_table
from pliant.tables._format import canonical


def put(folder, text, encoding="utf-8", name="t.csv"):
    path = folder / name
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


DETECTED = {
    "plain": ("a,b\n1.5,x\n", "utf-8", "", {"a": [1.5], "b": ["x"]}),
    "one column with commas": ("a\n1,5\n2,25\n", "utf-8", None, {"a": [1.5, 2.25]}),
    "one column": ("a\n1\n2\n", "utf-8", "", {"a": [1, 2]}),
    "semicolons": ("a;b\n1,5;x\n", "utf-8", "separator ';', decimal comma", {"a": [1.5]}),
    "names with commas": (
        "a, EUR;b, kg\n1,5;2,5\n",
        "utf-8",
        "separator ';', decimal comma",
        {"a, EUR": [1.5], "b, kg": [2.5]},
    ),
    "tabs": ("a\tb\n1\t2\n", "utf-8", "separator tab", {"a": [1], "b": [2]}),
    "bars": ("a|b\n1|x,y\n", "utf-8", "separator '|'", {"a": [1], "b": ["x,y"]}),
    "western": ("a,b\n1,é\n", "cp1252", "encoding cp1252", {"b": ["é"]}),
    "wide": ("a,b\n1,ß\n", "utf-16", "encoding utf-16", {"b": ["ß"]}),
    "mark": ("a,b\n1,ß\n", "utf-8-sig", "", {"a": [1], "b": ["ß"]}),
    "thousands": ('a,b\n"1,250",2.5\n"12,000.5",3\n', "utf-8", "thousands ','", {"b": [2.5, 3.0]}),
    "groups alone": ('a,b\n"1,250",2\n', "utf-8", "thousands ','", {"a": [1250]}),
    "points": (
        "a;b\n1.250,5;x\n1.000;y\n",
        "utf-8",
        "separator ';', decimal comma, thousands '.'",
        {"a": [1250.5, 1000.0]},
    ),
    "many groups": ("a;b\n1.250.000;x\n", "utf-8", None, {"a": [1_250_000]}),
    "apostrophes": ("a,b\n1'250.5,x\n", "utf-8", "thousands '''", {"a": [1250.5]}),
    "spaces": ("a;b\n1\u202f250,5;x\n", "utf-8", None, {"a": [1250.5]}),
    "two marks": (
        "a;b\n1,5;0.125\n2,5;1.250\n",
        "utf-8",
        None,
        {"a": [1.5, 2.5], "b": [0.125, 1.25]},
    ),
    "addresses": ("a,b\n192.168.100.200,1.5\n10.0.0.1,2\n", "utf-8", "", {"b": [1.5, 2.0]}),
    "dates": ("a;b\n01.03.2024;1,5\n", "utf-8", None, {"a": ["01.03.2024"], "b": [1.5]}),
    "gaps": ("a;b\n-;1,5\n2,5;n.a.\n", "utf-8", None, {"b": [1.5, None]}),
}


@pytest.mark.parametrize("name", DETECTED)
def test_formats_are_detected(tmp_path, name):
    text, encoding, described, expected = DETECTED[name]
    path = put(tmp_path, text, encoding)
    if described is not None:
        assert detect_format(path).described == described
    frame = read_table(path)
    for column, values in expected.items():
        got = [None if pd.isna(value) else value for value in frame[column]]
        assert got == values
    chunks = pd.concat(list(iter_table(path, 1)))
    assert chunks.isna().to_numpy().tolist() == frame.isna().to_numpy().tolist()


def test_what_is_given_wins(tmp_path):
    path = put(tmp_path, "a;b\n1,250;-9\n2,500;x\n")
    assert read_table(path)["a"].tolist() == [1.25, 2.5]
    form = TableFormat(thousands=",", na_values=("-9",))
    frame = read_table(path, form=form)
    assert frame["a"].tolist() == [1250, 2500]
    assert frame["b"].isna().tolist() == [True, False]
    assert list(read_table(path, form=TableFormat(sep="|"))) == ["a;b"]
    assert read_table(put(tmp_path, "a,b\n1,Ä\n", "cp437"), form=TableFormat(encoding="cp437"))[
        "b"
    ].tolist() == ["Ä"]
    assert TableFormat(sep="tab").sep == "\t"


@pytest.mark.parametrize("encoding", ["cp037", "utf-16-be", "utf-32", "gb18030", "shift_jis"])
def test_any_encoding_that_is_given(tmp_path, encoding):
    path = put(tmp_path, "a,b\n1,x\n2,y\n", encoding)
    frame = read_table(path, form=TableFormat(encoding=encoding))
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_a_number_stands_for_a_missing_value_however_it_is_written(tmp_path):
    path = put(tmp_path, "a;b\n-999,0;x\n-999;y\n1,5;-999\n")
    frame = read_table(path, form=TableFormat(na_values=("-999",)))
    assert frame["a"].isna().tolist() == [True, True, False]
    assert frame["b"].isna().tolist() == [False, False, True]


def test_characters_that_end_a_line_elsewhere_do_not_end_one_here(tmp_path):
    path = put(tmp_path, "a;b\n1;x\x0by,z\x85,w\n2;\u2028,y\n")
    assert detect_format(path).sep == ";"
    assert read_table(path)["b"].tolist() == ["x\x0by,z\x85,w", "\u2028,y"]


def test_an_earlier_file_decides_where_this_one_is_unclear(tmp_path):
    usual = TableFormat(decimal=",", na_values=("none",))
    path = put(tmp_path, "a;b\n1.250;none\n")
    form = detect_format(path, usual=usual)
    assert form.decimal == ","
    assert form.na_values == ("none",)
    assert read_table(path, form=form)["a"].tolist() == [1250]
    clear = put(tmp_path, "a;b\n1.25;none\n")
    assert detect_format(clear, usual=usual).decimal == "."


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_late_character_decides_the_encoding(tmp_path, name):
    lines = ["a,b", *(f"{k},x" for k in range(400_000)), "1,é", ""]
    path = put(tmp_path, "\n".join(lines), "cp1252", name)
    assert detect_format(path).encoding == "cp1252"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, "expected one character as separator .*, got ';;'"),
        ({"sep": '"'}, "expected one character as separator"),
        ({"decimal": ";"}, "expected --decimal . or --decimal , got ';'"),
        ({"thousands": "x"}, "as --thousands, .* got 'x'"),
        ({"thousands": ",", "decimal": ","}, "expected two marks, got ','"),
        ({"encoding": "klingon"}, "expected an encoding .* got 'klingon'"),
        ({"encoding": "unicode_escape"}, "expected an encoding .* got 'unicode_escape'"),
        ({"encoding": "base64"}, "expected an encoding .* got 'base64'"),
    ],
)
def test_options_that_no_file_can_have(options, message):
    with pytest.raises(ValueError, match=message):
        TableFormat(**options)


def test_a_format_is_plain_data():
    form = TableFormat(";", ",", ".", "cp1252", ("x",))
    assert TableFormat.from_dict(form.to_dict()) == form
    with pytest.raises(TableError, match="expected one character"):
        TableFormat.from_dict({**form.to_dict(), "sep": "ab"})


@given(
    st.integers(-(10**12), 10**12),
    st.integers(0, 10**4),
    st.sampled_from([(",", "."), (".", ","), (",", " "), (".", "'"), (",", "")]),
)
def test_numbers_are_written_as_python_reads_them(whole, part, marks):
    decimal, thousands = marks
    plain = f"{whole}.{part}"
    local = f"{whole:,}".replace(",", thousands) + decimal + str(part)
    written = canonical(TableFormat(decimal=decimal, thousands=thousands))
    assert float(written(local)) == float(plain)
    assert written(f"{local} kg") == f"{local} kg"
