"""Ambiguous cells raise an error that names the option; they are never guessed."""

import io
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.exceptions import TableError
from pliant.tables import TableFormat, TableSchema, detect_format, iter_table, read_table
from pliant.tables.reading.schema import read_with_schema

BOTH_FLAGS = r"set TableFormat\(decimal='[.,]'\) or TableFormat\(decimal='[.,]'\)"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def put(text, name="t.csv", encoding="utf-8"):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(text.encode(encoding))
    return Path(name)


def table(header, rows, sep=","):
    return "\n".join([header, *(sep.join(map(str, row)) for row in rows), ""])


def read(text, **form):
    return read_table(put(text), form=TableFormat(**form))


def notes(frame):
    return frame.attrs["format"]["notes"]


# The decimal mark


def test_a_late_cell_is_read_as_the_others_prove():
    cells = [*["0,5"] * 1000, "1.250"]
    assert read(table("a;b", [(c, 1) for c in cells], ";"))["a"].tolist()[-2:] == [0.5, 1250]
    put(table("a;b", [("0,5", 1)] * 3, ";"), "folder/1.csv")
    put(table("a;b", [("1.250", 1)] * 3, ";"), "folder/2.csv")
    assert read_table("folder")["a"].tolist() == [0.5] * 3 + [1250] * 3
    assert pd.concat(iter_table("folder", 2))["a"].tolist() == [0.5] * 3 + [1250] * 3
    put(table("a;b", [("1.5", 1)], ";"), "folder/3.csv")
    with pytest.raises(
        TableError, match=r"a point in column 'a' \(as in '1.5'\) and a comma in 'a'"
    ):
        read_table("folder")


@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_groups_of_three_digits_alone_prove_nothing(sep):
    rows = [(1, "950"), (2, "1.050"), (3, "12.000")]
    with pytest.raises(TableError, match=rf"column 'price' \(as in '1.050'\).*{BOTH_FLAGS}"):
        read(table(f"n{sep}price", rows, sep))
    for decimal, expected in ((",", [950, 1050, 12000]), (".", [950, 1.05, 12])):
        frame = read(table(f"n{sep}price", rows, sep), decimal=decimal)
        assert frame["price"].tolist() == expected
    another = [(*row, 0.5) for row in rows]
    assert read(table(f"n{sep}price{sep}x", another, sep))["price"].tolist() == [950, 1.05, 12]
    text = read_table(put(table(f"n{sep}price", rows, sep)), form=TableFormat(texts=("price",)))
    assert text["price"].tolist() == ["950", "1.050", "12.000"]


def test_the_separator_decides_on_commas():
    assert read("a;b\n2,500;1\n")["a"].tolist() == [2.5]
    assert read('a,b\n"2,500",1\n')["a"].tolist() == [2500]
    with pytest.raises(TableError, match=BOTH_FLAGS):
        read("a\tb\n2,500\t1\n")


@pytest.mark.parametrize("cell", ["10.100.200.101", "1.2.3", "555 123 456", "+49 151", "030/12"])
def test_addresses_versions_and_phone_numbers_are_texts(cell):
    frame = read(table("a;x", [(cell, "0,5"), (cell, "1,5")], ";"))
    assert frame["a"].tolist() == [cell] * 2
    assert frame["x"].tolist() == [0.5, 1.5]


def test_addresses_that_may_be_numbers_are_noted():
    cells = ["100.200.150.250", "1.234.101.200"]
    text = table("a;b", [(cell, 1) for cell in cells], ";")
    assert read(text)["a"].tolist() == cells
    assert "'100.200.150.250' may be an IP address (thousands=... reads it" in notes(read(text))[0]
    assert read(text, thousands=".")["a"].tolist() == [100200150250, 1234101200]


def test_quoted_answers_do_not_turn_a_file_to_decimal_commas():
    rows = [('"1,2"', 0.5), ('"1,3"', 1.5), ("2", 2.25)]
    frame = read(table("answer,x", rows))
    assert frame["x"].tolist() == [0.5, 1.5, 2.25]
    assert frame["answer"].tolist() == ["1,2", "1,3", "2"]
    assert "'1,2' is not a number with the decimal mark '.'" in notes(frame)[0]
    with pytest.raises(
        TableError, match=r"'answer' \(as in '1,2'\) may hold .* or lists.*decimal="
    ):
        read(table("answer,x", [(answer, 5) for answer, _ in rows]))
    assert read('a,b\n"1.234,5",1\n')["a"].tolist() == [1234.5]


def test_two_marks_in_one_file_are_an_error_unless_one_is_named():
    text = table("a;version", [("0,5", "1.5"), ("2,5", "2.0")], ";")
    with pytest.raises(TableError, match=rf"'version' \(as in '1.5'\).*'0,5'.*{BOTH_FLAGS}"):
        read(text)
    assert read(text, decimal=",")["version"].tolist() == ["1.5", "2.0"]
    assert read(text, texts=("version",))["a"].tolist() == [0.5, 2.5]


@pytest.mark.parametrize(
    ("cells", "expected", "mark"),
    [
        (["1 234", "5"], [1234, 5], " "),
        (["1'234,5", "1"], [1234.5, 1], "'"),
        (["1.234.567", "5"], [1234567, 5], "."),
        (["300.400.500.600", "1.234.101.200", "5"], [300400500600, 1234101200, 5], "."),
        (["1.234.567,5", "100.200.150.250"], [1234567.5, 100200150250], "."),
        (["1\u202f234,5", "7,25"], [1234.5, 7.25], "\u202f"),
    ],
)
def test_marks_between_thousands(cells, expected, mark):
    frame = read(table("a;b", [(c, 1) for c in cells], ";"))
    assert frame["a"].tolist() == expected
    assert frame.attrs["format"]["thousands"] == mark


def test_thousands_that_are_given():
    rows = [("555 123 456", 1), ("555 123 457", 2)]
    assert read(table("a;b", rows, ";"), thousands=" ")["a"].tolist() == [555123456, 555123457]
    assert read(table("a;b", rows, ";"), thousands="")["a"].tolist() == [a for a, _ in rows]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=2, max_size=20),
    st.sampled_from([(",", "."), (",", " "), (",", "'"), (",", ""), (".", "'"), (".", "")]),
    st.integers(1, 5),
)
def test_numbers_survive_any_notation(numbers, marks, chunk_rows):
    decimal, thousands = marks
    names = str.maketrans({",": thousands, ".": decimal})
    cells = [f"{number:,}".translate(names) for number in [*numbers, "0"][:-1]]
    path = put(table("a;y", [*((c, 1) for c in cells), (f"0{decimal}25", 2)], ";"))
    expected = [*map(float, numbers), 0.25]
    assert read_table(path)["a"].tolist() == expected
    assert pd.concat(iter_table(path, chunk_rows))["a"].tolist() == expected


# New files for a model


@pytest.fixture
def models(pliant):
    """Save two models, for decimal commas and for decimal points."""
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 9, (60, 2)).round(3)
    rows = [(*row, round(row.sum(), 3)) for row in X]
    put(table("a,b,y", rows), "point.csv")
    put(table("a,b,y", rows).replace(",", ";").replace(".", ","), "comma.csv")
    for name in ("point", "comma"):
        words = ("--target", "y", "--method", "linear", "--cv", 0, "--out", f"{name}.pliant")
        done = pliant("fit", f"{name}.csv", *words)
        assert done.code == 0, done.err
    return pliant


def predictions(done):
    assert done.code == 0, done.err
    return pd.read_csv(io.StringIO(done.out))["prediction"].to_numpy()


def test_a_new_file_never_changes_the_convention_silently(models):
    cases = {
        "comma": ("a,b\n2.500,3.250\n", ("--decimal", ".")),
        "point": ("a;b\n2,500;3,250\n", ("--decimal", ",")),
    }
    for model, (text, flag) in cases.items():
        put(text, "new.csv")
        refused = models("predict", f"{model}.pliant", "new.csv")
        assert refused.code == 2
        assert "--decimal ." in refused.err
        assert "--decimal ," in refused.err
        right = predictions(models("predict", f"{model}.pliant", "new.csv", *flag))
        np.testing.assert_allclose(right, 5.75, atol=0.2)
    put("a,b\n2.5,3.25\n", "new.csv")
    refused = models("predict", "comma.pliant", "new.csv")
    assert "fitted to numbers with the decimal mark ','" in refused.err
    assert "column 'a' (as in '2.5') has '.'" in refused.err
    put("a;b\n2,500;3,250\n", "new.csv")
    done = models("predict", "comma.pliant", "new.csv")
    np.testing.assert_allclose(predictions(done), 5.75, atol=0.2)


def test_columns_keep_their_roles_in_new_files(models):
    for cells, message in (
        ("2.5,oops", "column 'b': expected a number in row 1, got 'oops'"),
        ("2.5,007", "'b': expected numbers as in training, but '007' is not a plain number"),
        ('2.5,"3,25"', "'3,25' is not a number with the decimal mark '.'"),
    ):
        put(f"a,b\n{cells}\n", "new.csv")
        refused = models("predict", "point.pliant", "new.csv")
        assert refused.code == 2
        assert message in refused.err
        assert "--na-values" in refused.err
    put("a,b\n2.5,NA\n", "new.csv")
    done = models("predict", "point.pliant", "new.csv")
    assert done.code == 0
    assert "Note: column 'b': 1 cell 'NA' read as missing" in done.err


def test_a_first_row_of_known_words_for_missing_values_is_no_row_of_units(pliant):
    rows = [["unknown", "n. d.", k] if k == 30 else [k / 4, k / 8 + 0.1, k] for k in range(60)]
    put(table("a,b,y", rows))
    words = ("--target", "y", "--method", "linear", "--cv", 0, "--out", "m.pliant")
    assert pliant("fit", "t.csv", *words).code == 0
    path = put(table("a,b", [row[:2] for row in (rows[30], *rows[:9])]), "new.csv")
    assert len(predictions(pliant("predict", "m.pliant", path))) == 10
    form = detect_format(path, usual=TableSchema.fit(read_table("t.csv"), "y").reading)
    for frame in (read_table(path, form=form), pd.concat(iter_table(path, 4, form))):
        assert frame["a"].isna().tolist() == [True, *[False] * 9]
    assert len(read_table(path)) == 9


# Words among numbers


def test_usual_words_and_up_to_three_others_are_missing_and_counted():
    cells = ["unknown" if k % 7 == 0 else k / 4 for k in range(50)]
    path = put(table("a,country,y", [(c, ["NA", "DE"][k % 2], k) for k, c in enumerate(cells)]))
    frame, schema = read_with_schema(path, "y")
    assert frame["a"].isna().sum() == 8
    assert [column.kind for column in schema.columns] == ["numeric", "categorical"]
    assert schema.columns[1].categories == ("DE", "NA")  # Namibia
    assert "column 'a': 8 cells 'unknown' read as missing" in schema.remarks()
    cells[1:5] = ["NA", "?", "n. d.", "NA"]
    frame = read(table("a,y", zip(cells, range(50), strict=True)))
    assert [note.split(": ")[1] for note in notes(frame)] == [
        *("2 cells 'NA' read as missing", "1 cell '?' read as missing"),
        *("8 cells 'unknown' read as missing", "1 cell 'n. d.' read as missing"),
    ]


@pytest.mark.parametrize("word", ["NA", "?", "unknown", "-999", ""])
def test_words_for_a_missing_value_are_no_class_beside_labels_of_numbers(word):
    labels = [word if k % 20 == 7 else f"{k % 2}" for k in range(60)]
    path = put(table("x,y", [(k / 4, label) for k, label in enumerate(labels)]))
    form = TableFormat(na_values=("-999",))
    frame, schema = read_with_schema(path, "y", form=form)
    assert schema.target.task == "classification"
    assert schema.target_values(frame).tolist() == [label for label in labels if label != word]
    assert "left out: 3 rows without 'y'" in schema.notes
    assert frame.index[7] == 9  # row 8 has no target


def test_many_words_among_numbers_are_one_error(pliant):
    cells = [f"word{k}" if k % 7 == 0 else k / 4 for k in range(50)]
    put(table("a,b,y", [(c, c, k) for k, c in enumerate(cells)]), "t.csv")
    with pytest.raises(
        TableError, match=r"2 problems: .*'a' holds numbers, but also 'word0', 'word7'"
    ):
        read_table("t.csv")
    done = pliant("fit", "t.csv", "--target", "y", "--cv", 0)
    assert done.code == 2
    for flag in ("--na-values", "--categorical 'a'", "--categorical 'b'", "--drop"):
        assert flag in done.err
    words = ("--categorical", "a", "--drop", "b", "--method", "linear", "--cv", 0)
    done = pliant("fit", "t.csv", "--target", "y", *words)
    assert done.code == 0, done.err


@pytest.mark.parametrize("word", ["", " ", "-999", "-999.0", "none"])
def test_cells_that_stand_for_a_missing_value(word):
    frame = read(f"a,b\n{word},x\n1,{word}\n", na_values=("-999", "none"))
    assert frame["a"].isna().tolist() == [True, False]
    assert frame["b"].isna().tolist() == [False, word != "-999.0"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_blanks_around_words_for_missing_values_do_not_count(encoding):
    cells = [*np.arange(30) / 4, " 1:23 "]
    path = put(table("a,y", zip(cells, range(31), strict=True)), encoding=encoding)
    form = TableFormat(na_values=("1:23",))
    for frame in (read_table(path, form=form), pd.concat(iter_table(path, 7, form))):
        np.testing.assert_array_equal(frame["a"], [*cells[:-1], np.nan])


def test_words_in_dates_are_missing_and_counted():
    days = ["NA", *(f"{1 + k % 28:02}.03.2024" for k in range(40))]
    schema = TableSchema.fit(read(table("day,y", zip(days, range(41), strict=True))), "y")
    assert schema.columns[0].kind == "date"
    assert "column 'day': 1 cell 'NA' read as missing" in schema.remarks()
    assert np.isnan(schema.features(pd.DataFrame({"day": ["NA"]}))).all()


# Codes


def test_codes_are_no_numbers():
    rng = np.random.default_rng(0)
    columns = {
        "tweet_id": 2**53 + rng.permutation(60),
        "Postleitzahl": [("01067", "20095", "7")[k % 3] for k in range(60)],
        "change": [("+1", "-5")[k % 2] for k in range(60)],
        "y": rng.normal(size=60).round(3),
    }
    frame, schema = read_with_schema(
        put(table(",".join(columns), zip(*columns.values(), strict=True))), "y"
    )
    assert frame["tweet_id"].tolist() == list(map(str, columns["tweet_id"]))
    assert [each.name for each in schema.left_out] == ["tweet_id"]
    kinds = {column.name: column.categories for column in schema.columns}
    assert kinds == {"Postleitzahl": ("01067", "20095", "7"), "change": ("+1", "-5")}
    remarks = " ".join(schema.remarks())
    assert "'tweet_id'" in remarks
    assert "'Postleitzahl' holds text that looks like numbers, such as '01067'" in remarks


def test_categories_are_the_texts_of_the_file():
    rows = [(("007", "7", "1.0", "1")[k % 4], k / 4) for k in range(40)]
    path = put(table("code,y", rows))
    frame, schema = read_with_schema(path, "y", categorical=["code"])
    assert schema.columns[0].categories == ("007", "1", "1.0", "7")
    assert len(np.unique(schema.features(frame)[:, 0])) == 4


@pytest.mark.parametrize(
    "labels",
    [("007", "7"), ("1.0", "2.0"), ("TRUE", "false"), ("+1", "-1"), ("1", "2"), (" a", "b")],
)
@pytest.mark.parametrize("method", ["lab-rbf", "linear"])
def test_class_labels_come_back_exactly_as_written(pliant, labels, method):
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    put(table("x,y", [(f"{v:.3f}", labels[int(v > 0)]) for v in x]))
    words = ("--target", "y", "--method", method, "--cv", 0, "--out", "m.pliant")
    done = pliant("fit", "t.csv", *words, "--json", "r.json")
    assert done.code == 0, done.err
    assert json.loads(Path("r.json").read_text())["data"]["task"] == "classification"
    done = pliant("predict", "m.pliant", "t.csv")
    lines = {line.removeprefix("'") for line in done.out.splitlines()[1:]}
    assert lines == {label.strip() for label in labels}


def test_columns_are_written_through_as_they_are(pliant):
    rng = np.random.default_rng(0)
    rows = [
        (f"+49 151{k}", f"{k:05}", f"{v:.2f}", v > 0) for k, v in enumerate(rng.normal(size=40))
    ]
    put(table("phone,nr,x,y", rows))
    words = ("--target", "y", "--method", "linear", "--cv", 0, "--out", "m.pliant")
    assert pliant("fit", "t.csv", *words).code == 0
    done = pliant("predict", "m.pliant", "t.csv", "--columns", "x")
    frame = pd.read_csv(io.StringIO(done.out), dtype=str)
    assert frame["x"].tolist() == [row[2] for row in rows]
    assert frame["nr"].tolist() == [row[1] for row in rows]
    assert frame["phone"].tolist() == ["'" + row[0] for row in rows]  # a spreadsheet formula


# Any table


CELL = st.sampled_from(
    ["", "NA", "1", "1.5", "1,5", "1.250", "2,500", "007", "+1", "x", "1.2.3", "-", "1e5", " 2 "]
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(CELL, CELL), min_size=2, max_size=12),
    st.sampled_from([",", ";"]),
    st.integers(1, 5),
)
def test_chunks_decide_what_the_whole_decides(rows, sep, chunk_rows):
    lines = [(f'"{a}"', f'"{b}"', k % 2 + 0.5) for k, (a, b) in enumerate(rows)]
    path = put(table(f"a{sep}b{sep}y", lines, sep))
    for decimal in (None, "."):
        form = TableFormat(decimal=decimal)
        try:
            frame, schema = read_with_schema(path, "y", form=form, task="regression")
        except TableError:
            continue
        chunks = pd.concat(iter_table(path, chunk_rows, schema.form))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = read_table(path, form=detect_format(path, form, schema.reading))
        for column in schema.columns:
            pd.testing.assert_series_equal(frame[column.name], chunks[column.name])
            pd.testing.assert_series_equal(frame[column.name], again[column.name])
