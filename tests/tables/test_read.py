"""Tables are read exactly, whole or in chunks; each defect is one clear error."""

import gzip
import re
import tempfile
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from pliant.exceptions import TableError
from pliant.tables import TableFormat, TableSchema, detect_format, iter_table, read_table
from pliant.tables.reading.schema import read_with_schema

FRAME = pd.DataFrame(
    {
        "number": [1.5, -2.0, 3e30],
        "count": [1, 2, 3],
        "flag": [True, False, True],
        "word": list("abc"),
    }
)


def put(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.csv.gz", "t.parquet", "t.pq"])
def test_every_kind_of_file_gives_the_same_frame(tmp_path, name):
    path = tmp_path / name
    if name.lower().endswith(("csv", "gz")):
        FRAME.to_csv(path, index=False, compression="infer")
    else:
        FRAME.to_parquet(path)
    frame = read_table(path)
    text = name.lower().endswith(("csv", "gz"))
    expected = FRAME.astype({"flag": str}) if text else FRAME
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    assert [frame[name].dtype.kind for name in ("number", "count")] == ["f", "i"]


@pytest.mark.parametrize(
    "text",
    ["\ufeffa,b\n1,x\n", "a,b\r\n1,x\r\n", "\n\na,b\n\n1,x\n\n", '"a","b"\n"1","x"', "a,b\n1,x"],
    ids=["mark", "crlf", "blank lines", "quotes", "no end"],
)
def test_layouts_of_the_same_table(tmp_path, text):
    assert read_table(put(tmp_path, text)).to_dict("list") == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_threads_of_arrow_call_no_python(tmp_path, name, monkeypatch):
    opened, original = [], arrow_csv.open_csv

    def open_csv(file, *options):
        opened.append(file)
        return original(file, *options)

    monkeypatch.setattr(arrow_csv, "open_csv", open_csv)
    text = b"a,b\n1,2\n3,4,5\n"
    with pytest.raises(TableError, match="line 3: expected 2 cells as in the header, got 3"):
        read_table(put(tmp_path, gzip.compress(text) if name.endswith("gz") else text, name))
    assert [type(file) in (pa.OSFile, pa.CompressedInputStream) for file in opened] == [True]


def rows(n, sep=",", mark="."):
    lines = [[f"{k}{mark}25", f"{k % 7}{mark}5", "good" if k % 3 else "bad"] for k in range(n)]
    return "".join(sep.join(line) + "\n" for line in lines)


NAMES = "a,b,y\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("text", "n", "note"),
    [
        (3 * (NAMES + rows(16)), 48, "2 rows equal to the header"),
        (2 * (" a ,b,y\n" + rows(8)), 16, "1 row equal to the header"),
        (
            "\ufeff".join([*3 * [NAMES + rows(8)], '"a",b,y\n' + rows(8)]),
            32,
            "3 rows equal to the header",
        ),
        (NAMES + "m,kg,-\n" + rows(9), 9, "1 row below the header, with 'm', 'kg' for numbers"),
        (
            2 * (NAMES + "m,%,\n" + rows(9)),
            18,
            "2 rows below the header, with 'm', '%' for numbers",
        ),
        (
            NAMES + "m,%,\n,Avg,\n" + rows(9),
            9,
            "2 rows below the header, with 'm', '%' for numbers",
        ),
    ],
    ids=["joined", "blanks", "byte order marks", "units", "joined units", "two rows of units"],
)
def test_headers_and_units_are_no_data(tmp_path, recwarn, text, n, note, encoding):
    path = put(tmp_path, text.encode(encoding))
    frame = read_table(path)
    assert [*frame] == ["a", "b", "y"]
    assert [len(frame), *map(str, frame.dtypes.iloc[:2])] == [n, "float64", "float64"]
    assert {*frame["y"]} == {"good", "bad"}
    assert f"left out: {note}" in frame.attrs["format"]["notes"]
    form = detect_format(path)
    assert list(form.notes) == frame.attrs["format"]["notes"]
    pd.testing.assert_frame_equal(pd.concat(iter_table(path, 5, form)), frame)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (NAMES + "?,NA,good\n" + rows(9), 10),
        (NAMES + "unknown,1,good\n" + rows(9), 10),
        (NAMES + "u,v,good\n" + rows(4), 5),
        (NAMES + rows(6) + "m,kg,-\n" + rows(4), 11),
    ],
    ids=["gaps", "a number", "few rows", "later"],
)
def test_other_rows_are_data(tmp_path, text, kept):
    assert len(read_table(put(tmp_path, text))) == kept


@pytest.mark.parametrize(
    ("before", "skip"),
    [
        ("# a comment\n", 1),
        ("# two comments\n# and a blank line\n\n", 2),
        ("sep=;\n", 1),
        ("Logger: X\nSerial;12\nSite;Nord\nStart;1.5.2024\n", 4),
    ],
    ids=["comment", "comments", "sep", "logger"],
)
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_lines_before_the_header(tmp_path, before, skip, sep):
    before, mark = before.replace(";", sep), "," if sep == ";" else "."
    path = put(tmp_path, before + sep.join("aby") + "\n" + rows(9, sep, mark))
    with pytest.raises(TableError, match=rf"later lines have 3 cells: TableFormat\(skip={skip}\)"):
        read_table(path)
    frame = read_table(path, form=TableFormat(skip=skip))
    assert frame.to_dict() == read_table(put(tmp_path, NAMES + rows(9), "plain.csv")).to_dict()


def test_a_first_line_of_one_cell_above_data(tmp_path):
    path = put(tmp_path, "|1x3 Cross validator\n" + rows(30))
    with pytest.raises(TableError, match=r"expected 1 cell as in the header, got 3; .*skip=1\) "):
        read_table(path)
    frame = read_table(path, form=TableFormat(skip=1, header=False))
    assert (frame.shape, list(frame)) == ((30, 3), ["column 1", "column 2", "column 3"])
    with pytest.raises(TableError, match="is empty below line 99"):
        read_table(path, form=TableFormat(skip=99))
    with pytest.raises(ValueError, match="expected skip >= 0, an integer, got -1"):
        TableFormat(skip=-1)


def test_a_header_without_a_name_for_row_names_is_no_line_to_skip(tmp_path):
    with pytest.raises(TableError, match=r"expected 3 cells as in the header, got 4$"):
        read_table(put(tmp_path, "a,b,y\n1,2,3,4\n2,3,4,5\n3,4,5,6\n"))


def test_runs_of_blanks_are_one_separator(tmp_path):
    path = put(tmp_path, "  a   b    y \n" + rows(9, "   "))
    with pytest.raises(TableError, match=r"got runs of blanks: set TableFormat\(sep=' '\)"):
        read_table(path)
    plain = read_table(put(tmp_path, NAMES + rows(9), "plain.csv"))
    assert read_table(path, form=TableFormat(sep="space")).to_dict() == plain.to_dict()
    quoted = put(tmp_path, 'a  "a name"\n1   "x  y"\n\n 2\t z \n')
    frame = read_table(quoted, form=TableFormat(sep=" "))
    assert frame.to_dict("list") == {"a": [1, 2], "a name": ["x  y", "z"]}
    with pytest.raises(TableError, match="line 3: expected 2 cells as in the header, got 3"):
        read_table(put(tmp_path, "a b\n1 2\n1 2 3\n"), form=TableFormat(sep=" "))


def test_one_column_of_words_or_decimal_commas_is_one_column(tmp_path):
    assert read_table(put(tmp_path, "full name\nEva Meier\nJo Bell\n")).shape == (2, 1)
    assert read_table(put(tmp_path, "x\n1,5\n2,5\n3,5\n"))["x"].tolist() == [1.5, 2.5, 3.5]


def test_cells_may_hold_delimiters_quotes_and_lines(tmp_path):
    frame = read_table(put(tmp_path, 'a,b\n"x,""y""\nz",1\n'))
    assert frame["a"][0] == 'x,"y"\nz'


def test_types_are_those_of_the_whole_column(tmp_path):
    text = "i,f,b,w,m,e\n1,1,true,1,NA,\n 2,2.5,False,x,3,NA\n"
    frame = read_table(put(tmp_path, text))
    assert frame["i"].tolist() == [1, 2]
    assert frame["f"].tolist() == [1.0, 2.5]
    assert frame["b"].tolist() == ["true", "False"]
    assert frame["w"].tolist() == ["1", "x"]
    np.testing.assert_array_equal(frame["m"], [np.nan, 3])
    assert frame["e"].dropna().tolist() == ["NA"]


@pytest.mark.parametrize("text", ["1_000", "0x10", "1,5,2", "１", "1d5"])
def test_what_only_looks_like_a_number_is_text(tmp_path, text):
    assert read_table(put(tmp_path, f'a,b\n"{text}",1\n'))["a"].tolist() == [text]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_chunks_make_up_the_table(tmp_path, name, rows):
    path = tmp_path / name
    FRAME.to_parquet(path) if name == "t.parquet" else FRAME.to_csv(path, index=False)
    chunks = list(iter_table(path, rows))
    assert [len(chunk) for chunk in chunks[:-1]] == [rows] * (len(chunks) - 1)
    whole = pd.concat(chunks)
    assert whole.index.tolist() == [0, 1, 2]
    assert whole.astype(str).to_numpy().tolist() == FRAME.astype(str).to_numpy().tolist()


def test_the_memory_for_reading_does_not_grow_with_the_file(tmp_path, monkeypatch):
    """Arrow reads 32 blocks ahead, besides those that are split into cells."""
    block, pool, held = 1 << 14, pa.default_memory_pool(), []
    monkeypatch.setattr("pliant.tables.reading.read.BLOCK", block)
    path = put(tmp_path, "a,b\n" + "0.123456789,-1.23456789\n" * (200 * block // 24))
    before = pool.bytes_allocated()
    for frame in iter_table(path, form=TableFormat(sep=",", encoding="utf-8", numbers={})):
        held.append(pool.bytes_allocated() - before)
        assert len(frame) <= block // 24 + 1
    assert len(held) >= 200
    assert max(held) < 50 * block


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_chunk_of_long_rows_has_fewer(tmp_path, monkeypatch, name):
    monkeypatch.setattr("pliant.tables.reading.read.MAX_CELLS", 9)
    frame = pd.DataFrame({"a": range(10), "b": 0})
    path = tmp_path / name
    frame.to_csv(path, index=False) if name == "t.csv" else frame.to_parquet(path)
    assert [len(chunk) for chunk in iter_table(path, 100)] == [5, 5]
    assert read_table(path)["a"].tolist() == list(range(10))


def test_a_record_longer_than_a_block_is_refused(tmp_path):
    path = put(tmp_path, 'a,b\n1,"' + "x\n" * (1 << 20) + '"\n')
    with pytest.raises(TableError, match="line 2: expected cells separated"):
        read_table(path)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_reading_stops_when_asked(tmp_path, name, monkeypatch):
    monkeypatch.setattr("pliant.tables.reading.read.MAX_CELLS", 9)
    frame = pd.DataFrame({"a": [1.5, *range(99)], "b": "w"})
    path = tmp_path / name
    frame.to_csv(path, index=False) if name == "t.csv" else frame.to_parquet(path, row_group_size=9)
    assert 20 <= len(read_table(path, stop=20)) < 30
    whole = read_table(path, stop=101)
    pd.testing.assert_frame_equal(whole, read_table(path))
    assert isinstance(whole.index, pd.RangeIndex)


PACKED = gzip.compress(b"a,b\n" + b"1,2\n" * 9999)

BAD = {
    "empty": ("t.csv", b"", "is empty"),
    "blank": ("t.csv", b"\n\n\n", "is empty"),
    "mark only": ("t.csv", b"\xef\xbb\xbf", "is empty"),
    "header only": ("t.csv", b"a,b\n", "has a header but no rows"),
    "short row": ("t.csv", b"a,b\n1,2\n3\n", "line 3: expected 2 cells as in the header, got 1"),
    "long row": ("t.csv", b"a,b\n1,2,3\n", "line 2: expected 2 cells as in the header, got 3"),
    "long after a quote": ("t.csv", b'a,b\n"1\n1",2\n1,2,3\n', "line 4: expected 2 cells"),
    "open quote": ("t.csv", b'a,b\n1,"2\n', "quoted as in CSV, got: unexpected end"),
    "damaged utf-8": ("t.csv", "a,b\n1,é\n".encode() + b"\xe9", "line 3: expected UTF-8.* 0xe9"),
    "no text": (
        "t.csv",
        b"a,b\n1,\x81\n",
        "line 2: expected CP1252, got the byte 0x81 .*encoding=",
    ),
    "cut utf-16": ("t.csv", "a,b\n1,2\n".encode("utf-16")[:-1], "line 2: expected UTF-16"),
    "picture": ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0", "line 1: expected"),
    "NUL": ("t.csv", b"a,b\n1,2\n1,\0\n", "line 3: expected text, got binary data"),
    "one endless line": ("t.csv", b"a," * (1 << 23) + b"a,", "line 1: expected at most 1048576"),
    "returns alone": ("t.csv", b"a,b\r1,2\r", "line 1: .* got: new-line character"),
    "twice the same name": ("t.csv", b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
    "no names": ("t.csv", b",\n0,1\n", "expected a header with column names"),
    "controls": ("t.csv", b"a\x1b[1m,a\x1b[1m\n1,2\n", r"more than one column named 'a\[1m'"),
    "cut": ("t.csv.gz", PACKED[:-12], "is a truncated or damaged gzip"),
    "damaged": ("t.csv.gz", PACKED[:30] + b"zzzz" + PACKED[34:], "is a truncated or damaged gzip"),
    "workbook": ("t.csv", b"PK\x03\x04\0", "line 1: expected text, got binary data"),
    "quotes lines apart": ("t.csv", b'a,y\n1,"b\n2,c\n3,"d\n4,e\n', "line 2: expected cells sep"),
    "unclosed quote": ("t.csv", b'a,b\n"1,2\n3,4\n', "line 2: expected cells separated"),
    "wide without a mark": ("t.csv", "a,b\n1,2\n".encode("utf-16-le"), "encoding='utf-16-le'"),
    "empty parquet": ("t.parquet", b"", "as Parquet: "),
    "text as parquet": ("t.parquet", b"a,b\n1,2\n", "as Parquet: "),
    "damaged parquet": ("t.parquet", b"PAR1" + b"x" * 99 + b"PAR1", "as Parquet: "),
    "other extension": ("t.xlsx", b"PK", r"expected a file name ending in .csv, "),
    "no extension": ("t", b"a\n1\n", "expected a file name ending"),
}


@pytest.mark.parametrize(("name", "content", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_one_clear_error(tmp_path, name, content, message):
    path = put(tmp_path, content, name)
    for read in (read_table, lambda path: list(iter_table(path, 1000))):
        with pytest.raises(TableError, match=message) as caught:
            read(path)
        text = str(caught.value)
        assert text.isprintable()
        assert name in text
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("kind", ["text", "list", "time", "date"])
def test_values_of_parquet_that_python_cannot_represent(tmp_path, kind):
    texts = pa.array([b"a", b"\xff\xfe"]).view(pa.string())
    numbers = pa.array([0, 10**8], pa.int32())
    cells = {
        "text": texts,
        "list": pa.ListArray.from_arrays(pa.array([0, 1, 2]), texts),
        "time": numbers.view(pa.time32("ms")),
        "date": numbers.view(pa.date32()),  # in the year 275760
    }
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"y": [1, 2], "a": cells[kind]}), path)
    expected = "expected dates and times" if kind == "date" else "cannot read .* as Parquet: "
    for read in (read_table, lambda path: list(iter_table(path, 1))):
        with pytest.raises(TableError, match=expected) as caught:
            read(path)
        assert str(caught.value).isprintable()


def test_a_parquet_file_without_some_of_its_rows(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1.5, 2.5]}), path)
    data = path.read_bytes()
    (at,) = [k for k in range(len(data) - 3) if data[k : k + 4] == b"\x16\x04\x19\x1c"]
    path.write_bytes(data[: at + 1] + b"\x06" + data[at + 2 :])  # num_rows of the footer is 3
    for read in (read_table, lambda path: list(iter_table(path, 1))):
        with pytest.raises(TableError, match=r"as Parquet: expected 3 rows, 1 are missing"):
            read(path)


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none/none.csv"])
def test_a_missing_file(tmp_path, name):
    with pytest.raises(TableError, match=r"cannot read '.*none.*No such file"):
        read_table(tmp_path / name)


def test_blank_column_names_are_filled_as_in_pandas(tmp_path):
    path, names = put(tmp_path, "a, \n1,2\n"), ["a", "Unnamed: 1"]
    assert list(read_table(path)) == names
    assert list(next(iter_table(path))) == names
    pd.DataFrame([[1, 2]], columns=["a", " "]).to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet")) == names


def test_row_numbers_that_pandas_wrote_are_no_feature(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "y": rng.normal(size=60)})
    for rows in (frame, frame.sample(30, random_state=0)):
        rows.to_csv(tmp_path / "t.csv")
        schema = TableSchema.fit(read_table(tmp_path / "t.csv"), "y")
        assert schema.feature_names == ("a",)
        assert [column.name for column in schema.left_out] == ["Unnamed: 0"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_words_for_a_missing_value_hold_in_every_format(tmp_path, name):
    frame = pd.DataFrame({"n": [1, -999, 3], "f": [1.5, -999.0, 2.5], "w": ["a", " none ", "-999"]})
    path = tmp_path / name
    frame.to_csv(path, index=False) if name == "t.csv" else frame.to_parquet(path)
    form = detect_format(path, TableFormat(na_values=("none",)), TableFormat(na_values=("-999",)))
    expected = [[False] * 3, [True] * 3, [False, False, True]]
    for read in (read_table(path, form=form), next(iter_table(path, form=form))):
        assert read.isna().to_numpy().tolist() == expected


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.svm"])
def test_words_for_a_missing_value_hold_in_later_files(tmp_path, name):
    frame = pd.DataFrame({"1": [1.5, -999, 3.5, 4.5], "label": [0.5, 1.5, 2.5, 3.5]})
    path = tmp_path / name
    if name == "t.svm":
        dump_svmlight_file(frame[["1"]], frame["label"], str(path), zero_based=False)
    else:
        frame.to_csv(path, index=False) if name == "t.csv" else frame.to_parquet(path)
    _, schema = read_with_schema(path, "label", form=TableFormat(na_values=("-999",)))
    usual = TableSchema.from_dict(schema.to_dict()).reading
    later = read_table(path, form=detect_format(path, usual=usual))
    assert later["1"].isna().tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("option", "value"), [("sep", ";"), ("encoding", "cp1252"), ("header", False), ("skip", 2)]
)
@pytest.mark.parametrize("name", ["t.parquet", "t.svm"])
def test_options_of_lines_are_refused_for_other_files(tmp_path, name, option, value):
    path, form = tmp_path / name, TableFormat(**{option: value})
    FRAME.to_parquet(path) if name == "t.parquet" else path.write_text("1 1:2 3:4\n")
    expected = re.escape(f"is no CSV file: expected no TableFormat({option}={value!r})")
    with pytest.raises(TableError, match=expected):
        read_table(path, form=form)
    with pytest.raises(TableError, match=expected):
        detect_format(path, form)
    with pytest.raises(TableError, match=expected):
        list(iter_table(path, 7, form))


@pytest.mark.parametrize("package", ["pandas", "pyarrow.parquet"])
def test_a_missing_package_names_its_extra(tmp_path, monkeypatch, package):
    FRAME.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}: pip install 'pliant\[cli\]'"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.filterwarnings("ignore:the first line")
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text('ab,;"\n\r\t1.é\ufeff', max_size=60).map(str.encode))
def test_any_bytes_are_a_table_or_a_table_error(content):
    with tempfile.TemporaryDirectory() as folder, suppress(TableError):
        frame = read_table(put(Path(folder), content))
        assert len(frame) > 0
        assert frame.columns.is_unique


CELL = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8), st.integers(1, 4))
def test_text_survives_a_csv(rows, chunk_rows):
    frame = pd.DataFrame(rows, columns=["a", "b"]).replace(r"^\s*$", "x", regex=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        frame.to_csv(path, index=False, encoding="utf-8", quoting=1)
        plain = TableFormat(sep=",", decimal=".", thousands="", encoding="utf-8", numbers={})
        read = pd.concat(list(iter_table(path, chunk_rows, plain)))
    kept = read.notna().to_numpy()
    assert read.to_numpy()[kept].tolist() == frame.to_numpy()[kept].tolist()


DETECTED = {
    "semicolons": ("a;b\n1,5;x,y\n", "utf-8", "separator ';', decimal comma", ["x,y"]),
    "bars": ("a|b\n1|x\n", "utf-8", "separator '|'", ["x"]),
    "western": ("a,b\n1,Ä\n", "cp1252", "encoding cp1252", ["Ä"]),
    "wide": ("a\tb\n1\tÄ\n", "utf-16", "separator tab, encoding utf-16", ["Ä"]),
    "line ends": ("a;b\n1;x\x0by,z\x85,w\n", "utf-8", "separator ';'", ["x\x0by,z\x85,w"]),
    "one column": ("b\nx\n", "utf-8", "", ["x"]),
}


@pytest.mark.parametrize("name", DETECTED)
def test_formats_are_detected(tmp_path, name):
    text, encoding, described, cells = DETECTED[name]
    path = put(tmp_path, text.encode(encoding))
    assert detect_format(path).described == described
    assert read_table(path)["b"].tolist() == cells
    assert next(iter_table(path))["b"].tolist() == cells


@pytest.mark.parametrize("encoding", ["cp037", "utf-16-be", "utf-32", "gb18030", "shift_jis"])
def test_any_encoding_that_is_given(tmp_path, encoding):
    path = put(tmp_path, "a,b\n1,x\n2,y\n".encode(encoding))
    frame = read_table(path, form=TableFormat(encoding=encoding))
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_late_character_decides_the_encoding(tmp_path, name):
    text = "\n".join(["a,b", *["1,x"] * 400_000, "1,é", ""]).encode("cp1252")
    path = put(tmp_path, gzip.compress(text, 1) if name.endswith("gz") else text, name)
    assert detect_format(path).encoding == "cp1252"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, r"expected a one-character sep=\.\.\., got ';;'"),
        ({"sep": '"'}, "expected a one-character sep="),
        ({"decimal": ";"}, r"expected decimal in \[',', '\.'\], got ';'"),
        ({"thousands": "x"}, "expected thousands in .* got 'x'"),
        ({"thousands": ",", "decimal": ","}, "expected different .*, got ',' for both"),
        ({"encoding": "klingon"}, "expected an encoding .* got 'klingon'"),
        ({"encoding": "base64"}, "expected an encoding .* got 'base64'"),
    ],
)
def test_options_that_no_file_can_have(options, message):
    with pytest.raises(ValueError, match=message):
        TableFormat(**options)


# Several files


PARTS = pd.DataFrame(
    {
        "number": [1.5, -2.0, 3e30, 0.25, np.nan, 7.0, 8.5],
        "count": [1, 2, 3, 4, 5, 6, 7],
        "word": ["a", "b", None, "d", "e", "f", "1"],
        "y": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
    }
)


def put_parts(folder, frame, cuts, ending):
    """Write a frame in parts split at the cuts, each with a different column order."""
    folder.mkdir()
    for k, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(frame)], strict=True)):
        part = frame.iloc[start:stop][[*frame.columns[-k:], *frame.columns[:-k]]]
        if ending == "parquet":
            part.to_parquet(folder / f"part-{k}.parquet", index=False)
        else:
            part.to_csv(folder / f"part-{k}.{ending}", index=False, compression="infer")
    return folder


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_parts_are_the_table_that_was_cut(tmp_path, ending):
    """Whole and in chunks, by folder and by pattern."""
    whole = tmp_path / f"whole.{ending}"
    (PARTS.to_parquet if ending == "parquet" else PARTS.to_csv)(whole, index=False)
    folder = put_parts(tmp_path / "parts", PARTS, [2, 2, 6], ending)  # one part has no rows
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden").write_text("")
    expected = read_table(whole)
    for name in (folder, f"{folder}/part-*", str(tmp_path / "p*ts" / f"part-?.{ending}")):
        pd.testing.assert_frame_equal(read_table(name), expected)
        pd.testing.assert_frame_equal(read_table(name, 3).iloc[:3], read_table(whole, 3).iloc[:3])
        chunks, plain = pd.concat(iter_table(name, 2)), pd.concat(iter_table(whole, 2))
        pd.testing.assert_frame_equal(chunks, plain, check_index_type=False)


def test_types_of_parquet_files_are_joined(tmp_path):
    """Integers and floats become floats, empty columns take any type, dictionaries are decoded."""
    parts = [
        pd.DataFrame({"a": [1, 2], "b": [None, None], "c": pd.Categorical(["x", "y"])}),
        pd.DataFrame({"a": [0.5], "b": ["z"], "c": ["w"]}),
    ]
    for k, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{k}.parquet")
    frame = read_table(tmp_path)
    assert frame["a"].tolist() == [1.0, 2.0, 0.5]
    assert frame["c"].tolist() == ["x", "y", "w"]
    assert frame["b"].isna().tolist() == [True, True, False]
    (chunk,) = iter_table(tmp_path / "1.parquet")
    assert chunk["a"].tolist() == [0.5]

    pd.DataFrame({"a": ["text"], "b": ["z"], "c": ["w"]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(TableError, match=r"compatible column types .*double"):
        read_table(tmp_path)


def test_dictionaries_of_all_parquet_files_are_categories_as_those_of_one(tmp_path):
    parts = [["2", "1", None, "2"], ["3", "1"]]
    for k, part in enumerate(parts):
        table = pa.table({"c": pa.array(part).dictionary_encode(), "y": np.arange(len(part)) / 4})
        pq.write_table(table, tmp_path / f"{k}.parquet")
    for name, cells in ((tmp_path, [*parts[0], *parts[1]]), (tmp_path / "0.parquet", parts[0])):
        whole, chunks = read_table(name), list(iter_table(name, 3))
        assert {frame["c"].dtype.name for frame in (whole, *chunks)} == {"category"}
        for found in (whole["c"], pd.concat([chunk["c"].astype(object) for chunk in chunks])):
            assert found.isna().tolist() == [cell is None for cell in cells]
            assert found.dropna().tolist() == [cell for cell in cells if cell is not None]
        assert TableSchema.fit(whole, "y").categories == {0: tuple(sorted({*cells} - {None}))}


@pytest.mark.parametrize("other", [[Decimal("0.25")], np.array([2**64 - 1], np.uint64)])
def test_types_without_a_common_exact_type_become_floats(tmp_path, other):
    for k, values in enumerate((other, [-1, 2**53 + 1])):
        pq.write_table(pa.table({"a": values}), tmp_path / f"{k}.parquet")
    assert read_table(tmp_path)["a"].tolist() == [float(other[0]), -1.0, 2.0**53]


@pytest.mark.parametrize("damaged", [b"\xff", b"{"])
def test_damaged_metadata_of_pandas_are_ignored(tmp_path, damaged):
    table = pa.table({"a": [1, 2]}).replace_schema_metadata({"pandas": damaged})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["a"].tolist() == [1, 2]


@pytest.mark.parametrize("first", ["utf-8", "cp1252", "utf-8-sig"])
@pytest.mark.parametrize("second", ["utf-8-sig", "utf-16"])
def test_each_file_has_its_own_byte_order_mark(tmp_path, first, second):
    for name, encoding in (("0.csv", first), ("1.csv", second)):
        (tmp_path / name).write_text("\u00e9,b\n\u00fc,1\n", encoding=encoding)
    expected = {"\u00e9": ["\u00fc", "\u00fc"], "b": [1, 1]}
    assert read_table(tmp_path).to_dict("list") == expected
    given = TableFormat(encoding=first.removesuffix("-sig"))
    assert read_table(tmp_path, form=given).to_dict("list") == expected


def test_what_is_no_table_of_several_files_is_named(tmp_path):
    def said(name, match):
        for reader in (read_table, lambda path: list(iter_table(path)), detect_format):
            with pytest.raises(TableError, match=match):
                reader(name)

    folder = tmp_path / "f"
    folder.mkdir()
    said(folder, r"f': expected table files, got none")
    said(f"{folder}/*.csv", r"\*\.csv': expected table files, got none")
    (folder / "a.csv").write_text("x,y\n1,2\n")
    (folder / "notes.txt").write_text("")
    said(folder, r"notes\.txt': expected a file name ending in")
    assert read_table(f"{folder}/*.csv")["x"].tolist() == [1]
    (folder / "notes.txt").unlink()
    pd.DataFrame({"x": [1], "y": [2]}).to_parquet(folder / "b.parquet")
    said(folder, r"expected files of one type, got '.*a\.csv' and '.*b\.parquet'")
    (folder / "b.parquet").unlink()
    (folder / "b.csv").write_text("x,z\n1,2\n")
    said(folder, r"columns of '.*a\.csv', got '.*b\.csv': only one of them has 'y', 'z'")
    (folder / "b.csv").write_text("x,y\n1\n")
    said(folder, r"b\.csv', line 2: expected 2 cells")
    (folder / "a.csv").write_text("x,y\n")
    (folder / "b.csv").write_text("x,y\n")
    said(folder, r"a\.csv' has a header but no rows")
    (tmp_path / "odd[1].csv").write_text("x\n1\n")  # an existing file is not a pattern
    assert read_table(tmp_path / "odd[1].csv")["x"].tolist() == [1]


# The first line


@pytest.mark.parametrize(
    "line", ["2020,2021,7", "5.1,x,red", "2024-01-31,3,4.0", "1,31.12.2023,2", "5,-3,yes"]
)
def test_a_first_line_of_data_is_warned_of(tmp_path, line):
    path = put(tmp_path, f"{line}\n1,2,yes\n4,5,yes\n")
    with pytest.warns(UserWarning, match=r"the first line of .* looks like data.*header=False"):
        names = list(read_table(path))
    assert names == line.split(",")
    for header in (True, False):
        assert len(read_table(path, form=TableFormat(header=header))) == 3 - header


def test_columns_without_names_are_named_by_position(tmp_path):
    path = put(tmp_path, "1,1,a\n2,3,b\n")
    with pytest.raises(
        TableError, match=r"more than one column named '1': .* TableFormat\(header=False"
    ):
        read_table(path)
    form = TableFormat(header=False)
    frame = read_table(path, form=form)
    assert frame.to_dict("list") == {"column 1": [1, 2], "column 2": [1, 3], "column 3": ["a", "b"]}
    pd.testing.assert_frame_equal(pd.concat(iter_table(path, 1, form)), frame)
    written = TableFormat.from_dict(frame.attrs["format"])
    assert (written.header, written.described) == (False, "columns named by position")
