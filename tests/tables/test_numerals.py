"""A number is read the same from every notation, in files, in data frames and in later tables."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant import TableFeatures
from pliant.exceptions import TableError
from pliant.tables import TableFormat, TableSchema, detect_format, iter_table, read_table
from pliant.tables.reading.infer import ColumnEvidence
from pliant.tables.reading.numerals import read_numeral
from pliant.tables.reading.schema import read_with_schema

RNG = np.random.default_rng(0)
N = 60
DRAWN = (100 * RNG.integers(-90, 91, N) + RNG.integers(1, 100, N)) / 100
"""Numbers with two decimals, none of which is an integer."""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("+3.21", 3.21), ("03.21", 3.21), ("-1.5E-03", -0.0015), ("+1.5E-03", 0.0015)),
        *(("1.2D+01", 12.0), ("22.00%", 22.0), ("$6,974.71", 6974.71), ("12.3 kg", 12.3)),
        *(("5,36,396", 536396.0), ("5,36,396.5", 536396.5), ("3.\u200b21", 3.21), ("14.4°C", 14.4)),
        *(("\u22123.50", -3.5), ("\u20133.50", -3.5), ("3.50-", -3.5), ("(3.50)", -3.5)),
        *(("($3.50)", -3.5), ("-$3.50", -3.5), ("$-3.50", -3.5), ("3.50- EUR", -3.5)),
        *(("(3.50) EUR", -3.5), ("(3.50 EUR)", -3.5), ("(3.50)%", -3.5)),
        *(("<0.6", 0.3), ("<= 0.6 ug/L", 0.3), (">20", 20.0), ("7 m2", 7.0), ("5 kg/m3", 5.0)),
        *((" 1'200.50 ", 1200.5), ("1\u202f200.5 kr", 1200.5), ("-.5", -0.5), ("R$ 5", 5.0)),
    ],
)
def test_a_word_that_is_a_number(text, number):
    assert read_numeral(text).value(".") == pytest.approx(number, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "A123",
            "12a",
            "1_000",
            "0x10",
            "1d5",
            "1e5x",
            "\uff11",
            "1.2.3.4 kg",
            "=5",
            "<-5",
            "--5",
        ),
        *("(5", "-(5)", "50+", "5 or 6", "12 Main St", "€ 5 kg", "5'11\"", "", "n/a", "x5", "5)"),
    ],
)
def test_a_word_that_is_no_number(text):
    assert read_numeral(text) is None


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        *(("007", "code"), ("+49", "code"), ("1234567890123456", "code"), ("+49 151", "phone")),
        *(("0151 234", "phone"), ("1:23", "ratio"), ("2024-01-31", "ratio"), ("030/12", "ratio")),
        *(("1.2.3", "list"), ("1,2,3", "list"), ("10.100.200.101", "address")),
    ],
)
def test_a_word_that_is_a_code(text, notation):
    assert read_numeral(text).notation == notation


@given(st.decimals(-(10**9), 10**9, places=3), st.sampled_from(["", " kg", "%", " €", "USD", "°C"]))
def test_every_sign_and_mark_around_any_number(number, mark):
    digits = f"{abs(number):,.3f}"
    minus = ["-{}{}", "\u2212{}{}", "({}{})", "- {}{}"] if number < 0 else ["{}{}", "+{}{}"]
    for form in minus:
        found = read_numeral(form.format(digits, mark))
        assert (found.value("."), found.mark) == (float(number), mark.strip())


def put(cells, name="t.csv", sep=";", **others):
    """Write a column `a`, other columns, and numbers `y`."""
    columns = {"a": cells, **others, "y": [f"{k / 4}".replace(".", ",") for k in range(len(cells))]}
    lines = [sep.join(columns), *map(sep.join, zip(*columns.values(), strict=True))]
    Path(name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    return Path(name)


def both(cells, **options):
    """Read cells with decimal commas from a file and from a frame; return numbers and remarks."""
    frame, schema = read_with_schema(put(cells), "y", **options)
    written = pd.DataFrame({"a": cells, "y": np.arange(len(cells)) / 4})
    twin = TableSchema.fit(written, "y", **options)
    numbers = schema.features(frame)[:, 0]
    np.testing.assert_array_equal(twin.features(written)[:, 0], numbers)
    assert [*schema.remarks()] == [*twin.remarks()]
    return numbers, schema


def comma(value, form="{:.2f}"):
    return form.format(value).replace(".", ",")


WAYS = {
    "unit": lambda value: f"{comma(value)} ug/L",
    "currency": lambda value: f"{comma(value)} €",
    "percent": lambda value: f"{comma(value)} %",
    "minus": lambda value: comma(value).replace("-", "\u2212"),
    "dash": lambda value: comma(value).replace("-", "\u2013"),
    "behind": lambda value: comma(abs(value)) + ("-" if value < 0 else ""),
    "brackets": lambda value: f"({comma(-value)})" if value < 0 else comma(value),
    "plus": lambda value: comma(value, "{:+.2f}"),
    "zeros": lambda value: comma(value, "{:07.2f}"),
    "invisible": lambda value: f"\u200b{comma(value)}\u200b",
    "fortran": lambda value: comma(value, "{:.6E}").replace("E", "D"),
    "scientific": lambda value: comma(value, "{:+.6E}"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_column_and_a_cell_in_every_way(way):
    write = WAYS[way]
    numbers, schema = both([write(value) for value in DRAWN])
    np.testing.assert_allclose(numbers, DRAWN, rtol=1e-15)
    assert (schema.form.units.get("a") is not None) == (way in ("unit", "currency", "percent"))
    if way == "percent":  # 22 % may be 22 or .22
        return
    last = -DRAWN[-1] if DRAWN[-1] > 0 else DRAWN[-1]
    numbers, _ = both([*map(comma, DRAWN[:-1]), write(last)])
    np.testing.assert_allclose(numbers, [*DRAWN[:-1], last], rtol=1e-15)


@pytest.mark.parametrize("cell", ["22,00%", "1:23", "1.2.3", "12a", "5 or 6", "3 kg", "7 $"])
def test_a_few_cells_that_are_no_numbers_of_the_column_are_one_error(cell):
    """Not text, which would leave out a column of numbers like an id, and not missing values."""
    cells = [*map(comma, DRAWN[1:]), cell]
    cells = [f"{each} ug/L" for each in cells[:-1]] + [cell] if cell[-1] in "g$" else cells
    expected = rf"column 'a' holds numbers, but .*'{re.escape(cell)}'.* row 60.*na_values="
    for read in (
        lambda: read_table(put(cells)),
        lambda: TableSchema.fit(pd.DataFrame({"a": cells})),
    ):
        with pytest.raises(TableError, match=expected):
            read()
    frame = read_table(put(cells), form=TableFormat(na_values=(cell,)))
    np.testing.assert_array_equal(frame["a"], [*DRAWN[1:], np.nan])
    assert read_table(put(cells), form=TableFormat(texts=("a",)))["a"].tolist() == cells


def test_integers_with_a_sign_a_zero_or_many_digits_are_numbers_among_decimals_only():
    cells = ["+3", "007", "1234567890123456", *map(comma, DRAWN)]
    numbers, schema = both(cells)
    np.testing.assert_array_equal(numbers[:3], [3, 7, 1234567890123456])
    later = schema.features(pd.DataFrame({"a": ["+3", "007"]}))
    np.testing.assert_array_equal(later[:, 0], [3, 7])
    _, schema = both([comma(value) for value in DRAWN])
    with pytest.raises(TableError, match="expected numbers as in training, but '007' is not a"):
        schema.features(pd.DataFrame({"a": ["007"]}))
    (column,) = TableSchema.fit(pd.DataFrame({"a": ["+3", "7", "-2"] * 9})).columns
    assert column.categories == ("+3", "-2", "7")


def test_limits_are_read_as_half_and_told():
    cells = ["<0,3", "<0,6", "> 90", *map(comma, abs(DRAWN) + 1)]
    numbers, schema = both(cells)
    np.testing.assert_array_equal(numbers[:3], [0.15, 0.3, 90])
    assert schema.remarks() == [
        "column 'a': 2 cells such as '<0,3' read as half the limit",
        "column 'a': 1 cell such as '> 90' read as the limit",
    ]
    assert schema.features(pd.DataFrame({"a": ["<0,5"]})) == 0.25
    _, schema = both([comma(value) for value in DRAWN])
    with pytest.warns(UserWarning, match="column 'a': 1 cell such as '<0,5' read as half the limi"):
        assert schema.features(pd.DataFrame({"a": ["<0,5"]})) == 0.25
    (column,) = TableSchema.fit(pd.DataFrame({"a": ["<=50K", ">50K"] * 9})).columns
    assert column.categories == ("<=50K", ">50K")


@pytest.mark.parametrize("mark", ["k", "K", " M", "‰"])
def test_marks_that_may_multiply_stand_in_all_cells_or_the_column_is_text(mark):
    cells = [comma(value) + mark for value in DRAWN]
    numbers, schema = both(cells)
    np.testing.assert_allclose(numbers, DRAWN, rtol=1e-15)
    with pytest.raises(TableError, match=f"lacks the mark '{mark.strip()}', unlike others"):
        schema.features(pd.DataFrame({"a": ["950"]}))
    cells = [cell if k % 2 else cell.removesuffix(mark) for k, cell in enumerate(cells)]
    frame = read_table(put(cells))
    assert frame["a"].tolist() == cells
    (note,) = frame.attrs["format"]["notes"]
    assert note.startswith("column 'a' is read as text: ")
    assert note.endswith(f"the mark '{mark.strip()}', unlike others")


@pytest.mark.parametrize("write", ["{:.2f} mg/L as N", "{:.2f} ± 0.05", "{0:.1f}-{0:.2f}"])
def test_text_that_begins_with_decimals_is_told(write):
    cells = [write.format(value) for value in abs(DRAWN)]
    schema = TableSchema.fit(pd.DataFrame({"a": cells, "x": DRAWN}), keep=["a"])
    assert f"'a' holds text that looks like numbers, such as '{cells[0]}'" in schema.notes[0]


def test_a_warning_of_numbers_left_out_shows_a_cell_that_is_not_plain():
    cells = [f"{value:.2f}{'%' * (k % 2)}" for k, value in enumerate(np.unique(abs(DRAWN)))]
    schema = TableSchema.fit(pd.DataFrame({"a": cells, "x": np.arange(len(cells)) ** 2}))
    assert f"such as '{cells[1]}': write plain numbers" in schema.warnings()[0]


def test_integers_with_limits_are_numbers():
    cells = ["<1", "<5", ">9", *map(str, range(2, 9))]
    numbers, schema = both(cells)
    np.testing.assert_array_equal(numbers, [0.5, 2.5, 9, *range(2, 9)])
    np.testing.assert_array_equal(schema.features(pd.DataFrame({"a": ["<3", "4"]})), [[1.5], [4]])


@pytest.mark.parametrize("write", ["1,{0:02d},{1:03d}", "1,{1:03d},{1:03d}", "€ 1 {1:03d} {1:03d}"])
def test_groups_of_one_length_with_commas_or_a_unit_are_no_phone_numbers(write):
    cells = [write.format(k, 9 * k) for k in range(1, 31)]
    frame = pd.DataFrame({"a": cells})
    expected = [int(re.sub(r"\D", "", cell)) for cell in cells]
    np.testing.assert_array_equal(TableSchema.fit(frame).features(frame)[:, 0], expected)


def test_a_limit_in_the_target_is_an_error_and_no_shorter_sample():
    frame = pd.DataFrame({"x": DRAWN, "y": [*(f"{value:.2f}" for value in DRAWN[1:]), "<0.6"]})
    frame.to_csv("t.csv", index=False)
    for read in (lambda: read_with_schema(Path("t.csv"), "y"), lambda: TableSchema.fit(frame, "y")):
        with pytest.raises(TableError, match=r"'y' holds limits such as '<0.6', .*na_values="):
            read()


@pytest.mark.parametrize("write", ["{:+.2f}", "{:.2f}", "{:.2f} km", "${:,.2f}", "{:08.2f}"])
def test_a_target_in_text_is_a_regression(write):
    cells = [write.format(value) for value in DRAWN]
    frame = pd.DataFrame({"x": DRAWN, "y": cells})
    frame.to_csv("t.csv", index=False)
    for table, schema in (
        read_with_schema(Path("t.csv"), "y"),
        (frame, TableSchema.fit(frame, "y")),
        (frame, TableSchema.fit(frame, "y", task="regression")),
    ):
        assert schema.target.task == "regression"
        np.testing.assert_array_equal(schema.target_values(table), DRAWN)


@pytest.mark.parametrize("labels", [("5%", "10%"), ("1", "2"), ("+1", "-1"), ("5 kg", "7 kg")])
def test_labels_in_text_stay_as_written(labels):
    frame = pd.DataFrame({"x": DRAWN, "y": [*labels] * (N // 2)})
    frame.to_csv("t.csv", index=False)
    for table, schema in (
        read_with_schema(Path("t.csv"), "y"),
        (frame, TableSchema.fit(frame, "y")),
    ):
        assert [*map(str, schema.target_values(table)[:2])] == [*labels]


# Later tables


@pytest.mark.parametrize("way", ["unit", "currency", "percent", "behind", "plus", "invisible"])
def test_later_tables_are_read_as_the_training_table(way):
    cells = [WAYS[way](value) for value in DRAWN]
    _, schema = both(cells)
    schema = TableSchema.from_dict(schema.to_dict())
    form = detect_format(put(cells[:7]), usual=schema.reading)
    assert form.notes == ()
    frames = [frame.drop(columns="y") for frame in iter_table(Path("t.csv"), 2, form)]
    for frames_ in (frames, [pd.DataFrame({"a": [cell]}) for cell in cells[:7]]):
        found = np.concatenate([schema.features(frame)[:, 0] for frame in frames_])
        np.testing.assert_array_equal(found, DRAWN[:7])


def test_another_mark_than_in_training_is_an_error():
    schemas = {way: both([WAYS[way](value) for value in DRAWN])[1] for way in ("unit", "percent")}
    schemas["bare"] = both([comma(value) for value in DRAWN])[1]
    for way, cell in (("unit", "1,5 mg/L"), ("percent", "1,5"), ("bare", "1,5 €"), ("bare", "5 %")):
        with pytest.raises(TableError, match=f"'a': expected numbers as in training, but '{cell}'"):
            schemas[way].features(pd.DataFrame({"a": [cell]}))
        with pytest.raises(TableError, match=f"'a': expected numbers as in training, but '{cell}'"):
            detect_format(put([cell]), usual=schemas[way].reading)
    assert schemas["unit"].features(pd.DataFrame({"a": ["1,5"]})) == 1.5


# Columns that are left out


@pytest.mark.parametrize(
    "write", ["1:{:05}", "+49 1{:05}", "{:07}", "10.20.30.{}", "{} GB", "{}-{}"]
)
def test_texts_with_digits_are_not_left_out_without_a_warning(write):
    cells = [write.format(k, k) + ("x" if "GB" in write and k % 2 else "") for k in range(40)]
    frame = pd.DataFrame({"price": cells, "x": DRAWN[:40]})
    schema = TableSchema.fit(frame)
    assert [(each.name, each.reason) for each in schema.left_out] == [("price", "id")]
    (note,) = [note for note in schema.remarks() if note.startswith("column 'price'")]
    assert f"left out like an id, but its texts look like numbers, such as '{cells[0]}'" in note
    with pytest.warns(UserWarning, match="column 'price' is left out like an id"):
        TableFeatures().fit(frame)
    assert TableFeatures(drop=["price"]).fit(frame).schema_.remarks() == []


def test_too_many_categories_are_left_out_with_their_number(monkeypatch):
    monkeypatch.setattr("pliant.tables.reading.columns.MOST_CATEGORIES", 30)
    frame = pd.DataFrame({"key": [f"A{k % 31}" for k in range(62)], "x": np.arange(62) / 7})
    schema = TableSchema.fit(frame)
    assert [(each.name, each.reason) for each in schema.left_out] == [("key", "many")]
    assert "left out: 'key' (more than 50000 different values)" in schema.remarks()[0]


def test_ids_with_letters_are_left_out_quietly():
    frame = pd.DataFrame({"key": [f"A{k}" for k in range(40)], "x": DRAWN[:40]})
    (remark,) = TableFeatures().fit(frame).schema_.remarks()
    assert remark.startswith("left out: 'key' (a different value in nearly every row)")


def test_words_in_a_later_frame_are_missing_with_one_warning_for_each():
    frame = pd.DataFrame({"a": ["n/a", "unknown", *map(str, DRAWN[2:])]})
    with pytest.warns(UserWarning, match="column 'a': 1 cell") as caught:
        features = TableFeatures(encode=False).fit_transform(frame)
    assert [str(each.message).split()[4] for each in caught] == ["'n/a'", "'unknown'"]
    np.testing.assert_array_equal(features[:, 0], [np.nan, np.nan, *DRAWN[2:]])
    with pytest.raises(TableError, match="expected a number in row 1, got 'none known'"):
        TableFeatures().fit(frame[2:]).transform(pd.DataFrame({"a": ["none known"]}))


@pytest.mark.parametrize("cells", [["1.250", "3.500"], ["1,5", "2.5"]])
def test_an_ambiguous_frame_is_an_error_with_a_remedy_that_works(cells):
    frame = pd.DataFrame({"a": cells * 15, "b": DRAWN[:30]})
    with pytest.raises(TableError, match=r"'a' .*: convert the columns to numbers .*categorical="):
        TableFeatures().fit(frame)
    assert TableFeatures(categorical=["a"]).fit(frame).schema_.categories == {
        0: tuple(sorted(cells))
    }


def test_text_columns_of_parquet_are_read_in_chunks_like_the_whole(tmp_path):
    frame = pd.DataFrame({"a": [WAYS["currency"](value) for value in DRAWN], "y": DRAWN})
    frame.to_parquet("t.parquet")
    whole, schema = read_with_schema(Path("t.parquet"), "y")
    np.testing.assert_array_equal(schema.features(whole)[:, 0], DRAWN)
    chunks = [schema.features(part)[:, 0] for part in iter_table(Path("t.parquet"), 7)]
    np.testing.assert_array_equal(np.concatenate(chunks), DRAWN)


@pytest.mark.parametrize(
    ("marks", "expected"),
    [({"decimal": ","}, 1250), ({"decimal": "."}, 1.25), ({"thousands": "."}, 1250)],
)
def test_marks_that_are_given_hold_for_text_columns_of_parquet(marks, expected):
    frame = pd.DataFrame({"a": ["1.250", "3.500", "2.125"] * 10, "y": DRAWN[:30]})
    frame.to_parquet("t.parquet")
    with pytest.raises(TableError, match="may be a decimal mark or a thousands separator"):
        read_with_schema(Path("t.parquet"), "y")
    table, schema = read_with_schema(Path("t.parquet"), "y", form=TableFormat(**marks))
    assert schema.features(table)[0, 0] == expected
    assert [note for note in schema.remarks() if "'a'" in note] == []


@given(
    st.lists(st.text("0123459.,<(-+ %kgm2\u22123", min_size=1, max_size=9), min_size=1, max_size=30)
)
def test_texts_that_look_alike_are_the_same_evidence(texts):
    times = Counter(texts)
    one, each = ColumnEvidence("a"), ColumnEvidence("a")
    one.add_texts(times.items(), str)
    for text, number in times.items():
        each.add_text(text, number, str)
    assert (one.counts, one.marks, one.separators) == (each.counts, each.marks, each.separators)
    assert one.lengths == each.lengths
