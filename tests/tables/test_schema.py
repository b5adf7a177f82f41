"""A schema converts every table to features as it converted the training table."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import TableFeatures
from pliant.exceptions import TableError, UnknownCategoryWarning
from pliant.tables import TableFormat, TableSchema
from pliant.tables.reading.schema import read_with_schema

FRAME = pd.DataFrame(
    {
        "age": [31, 42, 57, 23],
        "colour": ["red", "blue", "red", "green"],
        "member": [True, False, False, True],
        "height": [1.5, 1.75, 1.625, 1.5],
        "label": ["yes", "no", "no", "yes"],
    }
)
SCHEMA = TableSchema.fit(FRAME, "label")


def frame_of(**columns):
    return pd.DataFrame(columns)


def fit(values, **options):
    """Return the schema of one column and a target."""
    return TableSchema.fit(frame_of(a=values, y=[0.5] * len(values)), "y", **options)


def test_features_and_their_names():
    assert SCHEMA.feature_names == ("age", "colour", "member", "height")
    assert SCHEMA.categories == {1: ("blue", "green", "red")}
    expected = [[31, 2, 1, 1.5], [42, 0, 0, 1.75], [57, 2, 0, 1.625], [23, 1, 1, 1.5]]
    features = SCHEMA.features(FRAME)
    np.testing.assert_array_equal(features, expected)
    assert features.dtype == np.float64
    shuffled = FRAME[["height", "member", "age", "colour"]].assign(extra=[[1]] * 4)
    np.testing.assert_array_equal(SCHEMA.features(shuffled), expected)


def test_missing_columns_are_listed_together():
    with pytest.raises(TableError, match=r"lacks the 2 columns 'age', 'member'; it has 'colour'"):
        SCHEMA.features(FRAME.drop(columns=["age", "member"]))


# Types


def test_one_value_in_every_type_has_one_meaning():
    frame = frame_of(n=[1, 2, 3, 4], c=["1", "2", "x", "y"], b=[True, False, True, True])
    schema = TableSchema.fit(frame)
    expected = [[1, 0, 1], [2, 1, 0]]
    for types in (
        {"n": "int64", "c": "int64", "b": "bool"},
        {"n": "float32", "c": "float64", "b": "int64"},
        {"n": "Int64", "c": "Int64", "b": "boolean"},
        {"n": "category", "c": "category", "b": "category"},
        {"n": "string", "c": "string", "b": "string"},
        {"n": "object", "c": "object", "b": "object"},
    ):
        frame = frame_of(n=[1, 2], c=[1, 2], b=[1, 0]).astype(types)
        np.testing.assert_array_equal(schema.features(frame), expected, err_msg=str(types))
    frame = frame_of(n=1, c="1", b=["true", "TRUE", " True ", "1"])
    assert schema.features(frame)[:, 2].tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (pd.to_timedelta([1, 2]), "timedelta64"),
        (pd.interval_range(0, 2), "interval"),
        ([1, "a"], "a mixture of types"),
        ([[1], [2]], "a mixture of types"),
        ([1j, 2j], "complex"),
        ([b"a", b"b"], "bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_types_are_refused_with_the_name(values, found):
    frame = pd.DataFrame({"when": pd.Series(values), "y": [0, 1]})
    with pytest.raises(TableError, match=rf"column 'when' holds .*{found}.*drop="):
        TableSchema.fit(frame, "y")
    assert TableSchema.fit(frame.assign(a=0), "y", drop=["when"]).feature_names == ("a",)
    with pytest.raises(TableError, match=f"column 'age' holds .*{found}"):
        SCHEMA.features(FRAME.head(2).assign(age=frame["when"]))


def test_rows_are_named_by_number_or_by_label():
    schema = fit([1.0, 2.0])
    with pytest.raises(TableError, match="in row 8,"):
        schema.features(pd.DataFrame({"a": ["1", "x"]}, index=pd.RangeIndex(6, 8)))
    with pytest.raises(TableError, match="in the row labelled 'q',"):
        schema.features(pd.DataFrame({"a": ["1", "x"]}, index=["p", "q"]))
    numbered = pd.RangeIndex(6, 8, name="row")  # of a file, without some rows
    with pytest.raises(TableError, match="in row 7,"):
        schema.features(pd.DataFrame({"a": ["1", "x"]}, index=numbered))


def test_rows_are_those_of_the_file_if_others_have_no_target(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,0.5\ninf,1.5\n2,2.5\n3,\n")
    with pytest.raises(TableError, match="'a': expected a finite number in row 2, got inf"):
        read_with_schema(tmp_path / "t.csv", "y")


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ((np.inf, "inf", "1e999", " Infinity"), "a finite number in row 1, got inf: correct it or"),
        ((1e200, "1e200"), r"of at most 1e\+100 in absolute value in row 1, got 1e\+200: correct"),
        ((pd.Timestamp("2024-01-31"), "2024-01-31"), "a number in row 1, got '2024-01-31': corr"),
        (("x", np.str_("x")), r"a number in row 1, got 'x': .* missing \(na_values=\['x'\]\)"),
        (("１", "１ "), "a number in row 1, got '１"),
    ],
)
def test_a_cell_is_shown_in_the_same_words_whatever_its_type(cells, shown):
    schema = fit([1.0, 2.0, 3.0])
    for cell in cells:
        with pytest.raises(TableError, match=shown):
            schema.features(frame_of(a=pd.Series([cell])))


# Missing values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, None, 2.0, None], "'a' has 2 missing values, the first in row 2: .*impute"),
        ([True, None, True, False], "'a' has a missing value in row 2"),
    ],
)
def test_missing_values_are_refused(values, message):
    with pytest.raises(TableError, match=message):
        fit(values, missing="error")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.0, 10.0], [[2.0]]),
        (["x", "y", "y"], [[0.0, 0.0]]),
        ([True, True, False], [[1.0]]),
        ([5, None, 7], [[6.0, 1.0]]),
        (pd.Categorical(["b", None, "b", "a"]), [[0.0, 0.0, 1.0]]),
    ],
)
def test_missing_values_are_left_for_the_encoder(values, expected):
    schema, gap = fit(values), frame_of(a=[None])
    assert np.isnan(schema.features(gap)).tolist() == [[True]]
    features = TableFeatures(schema=schema).fit(frame_of(a=values))
    np.testing.assert_array_equal(features.transform(gap), expected)


def test_columns_without_any_value_are_left_out():
    for missing in ("impute", "error"):
        schema = TableSchema.fit(frame_of(a=[None, None], x=[1.0, 2.0]), missing=missing)
        assert schema.feature_names == ("x",)
        assert schema.remarks() == ["left out: 'a' (no values)"]
    with pytest.raises(TableError, match=r"no feature column is left: 'a' \(no values\)"):
        fit([None, None])


# Categories


def test_unknown_categories_have_a_number_of_their_own_and_are_counted():
    table = frame_of(
        age=[1] * 3, colour=["teal", "red", "mauve"], member=[True] * 3, height=[1] * 3
    )
    message = "'colour' has values that .* such as 'teal', in 2 rows: they are encoded"
    with pytest.warns(UnknownCategoryWarning, match=message) as caught:
        features = SCHEMA.features(table)
    assert len(caught) == 1
    np.testing.assert_array_equal(features[[0, 2], 1], 3)
    unknown = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            np.testing.assert_array_equal(SCHEMA.features(table, unknown), features)
    assert unknown == {"colour": ("teal", 4)}


@pytest.mark.parametrize("values", [["a", "b", "c"], [1, 2, 3]], ids=["texts", "integers"])
def test_dictionaries_of_arrow_are_categories(values):
    frame = pd.DataFrame({"x": np.arange(30) % 7, "s": values * 10, "y": ["u", "v", "w"] * 10})
    plain = frame.astype({"s": "category", "y": "category"})
    arrow = pa.Table.from_pandas(plain).to_pandas(types_mapper=pd.ArrowDtype)
    assert str(arrow.dtypes["s"]).startswith("dictionary<")
    schema = TableSchema.fit(arrow, "y")
    assert schema == TableSchema.fit(plain, "y")
    assert schema.columns[1].categories == tuple(map(str, values))
    np.testing.assert_array_equal(schema.features(arrow), schema.features(plain))
    assert schema.target_values(arrow).tolist() == frame["y"].tolist()
    features = TableFeatures().fit(arrow[["x", "s"]])
    assert features.transform(arrow[["x", "s"]]).shape == (30, 4)


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([*range(11)] * 10, "the 11 integers in 'y' are classes (task='regression' for numbers)"),
        (
            [*range(11)] * 5,
            "the 11 integers in 'y' are numbers (task='classification' for classes)",
        ),
        (
            [*range(28)] * 20,
            "the 28 integers in 'y' are numbers (task='classification' for classes)",
        ),
        ([*range(99)] * 5, None),
        ([0, 1] * 20, None),
        ([0.5, 1, 2] * 20, None),
        (["a", "b", "c"] * 20, None),
    ],
)
def test_the_assumed_task_is_stated(values, note):
    frame = pd.DataFrame({"x": np.arange(len(values)) % 7, "y": values})
    assert TableSchema.fit(frame, "y").notes == (() if note is None else (note,))
    for task in ("classification", "regression") if note else ():
        assert TableSchema.fit(frame, "y", task=task).notes == ()


@pytest.mark.parametrize(
    ("value", "times", "others", "warned"),
    [
        (-200, 3, (2, 1479), True),
        (-999, 2, (0.5, 3), True),
        (999, 2, (0.5, 40), True),
        (-999, 1, (0.5, 3), False),
        (-999, 3, (-1200, 300), False),
        (0, 9, (1000, 1200), False),
        (-3, 5, (0.5, 3), False),
    ],
)
def test_a_repeated_value_far_outside_a_target_is_warned_of(value, times, others, warned, recwarn):
    y = [*np.linspace(*others, 40), *[value] * times]
    TableSchema.fit(pd.DataFrame({"x": np.arange(len(y)) % 7, "y": y}), "y", task="regression")
    found = [str(each.message) for each in recwarn.list]
    low, high = (f"{end:g}" for end in others)
    assert found == warned * [
        f"column 'y': {times} rows hold {value}, far outside the other values, {low} to {high}: if "
        f"it means missing, set na_values=['{value}']"
    ]


def test_the_remedy_names_all_columns_left_out():
    frame = pd.DataFrame({"id": range(30), "one": [1] * 30, "x": np.arange(30) % 7})
    assert TableSchema.fit(frame).remarks()[0].endswith("(keep=['id', 'one'] restores them)")
    assert (
        TableSchema.fit(frame.drop(columns="id"))
        .remarks()[0]
        .endswith("(keep=['one'] restores it)")
    )


@pytest.mark.parametrize(
    ("distinct", "rows", "kind"),
    [
        (900, 1000, "categorical"),
        (901, 1000, None),
        (20, 20, "categorical"),
        (21, 21, None),
    ],
)
def test_texts_of_which_nearly_all_differ_are_ids(distinct, rows, kind):
    frame = frame_of(a=[f"text {i % distinct}" for i in range(rows)], x=np.arange(rows) / 7)
    schema = TableSchema.fit(frame)
    if kind is None:
        assert [(each.name, each.reason) for each in schema.left_out] == [("a", "id")]
        assert TableSchema.fit(frame, keep=["a"]).columns[0].kind == "text"
    else:
        assert schema.columns[0].kind == kind
        assert len(schema.columns[0].categories) == distinct


@pytest.mark.parametrize("cell", ["007", "+49", "+49 151", "1.2.3"])
def test_codes_of_a_frame_that_look_like_numbers_stay_texts_and_are_told(cell):
    (column,), notes = (schema := fit([None, *[cell, "7"] * 15])).columns, schema.notes
    assert column.categories == tuple(sorted([cell, "7"]))
    assert f"'a' holds text that looks like numbers, such as '{cell}'" in notes[0]


@pytest.mark.parametrize(
    ("cell", "number"),
    [("0,5", 0.5), ("1,250.00", 1250.0), ("$7.5", 7.5), ("1e9", 1e9), ("+4.5", 4.5), ("3 kg", 3)],
)
def test_texts_of_a_frame_that_hold_numbers_are_numbers(cell, number):
    values = [None, *[cell, "7"] * 15]
    (column,) = (schema := fit(values)).columns
    assert column.kind == "numeric"
    np.testing.assert_array_equal(schema.features(frame_of(a=values))[:3, 0], [np.nan, number, 7])
    np.testing.assert_array_equal(schema.features(frame_of(a=["7", cell]))[:, 0], [7, number])
    np.testing.assert_array_equal(schema.features(frame_of(a=[7, 8.5]))[:, 0], [7, 8.5])
    with pytest.raises(TableError, match=r"'a': expected a number in row 2, got 'seven'"):
        schema.features(frame_of(a=["7", "seven"]))


# Targets


@pytest.mark.parametrize(
    ("values", "task", "dtype"),
    [
        (["a", "b"] * 3, "classification", "U"),
        (["a", "b", "c", "d"], "classification", "U"),
        ([True, False], "classification", "b"),
        ([1, 0, 0], "classification", "i"),
        ([-1.0, 1.0, 1.0], "classification", "i"),
        ([1, 2, 3], "regression", "f"),
        ([1, 2, 3] * 10, "classification", "i"),
        (list(range(20)) * 10, "classification", "i"),
        (list(range(20)) * 9, "regression", "f"),
        (list(range(21)) * 10, "regression", "f"),
        ([0.5, 1.0] * 20, "regression", "f"),
        (pd.Categorical([1, 2, 3]), "classification", "U"),
    ],
)
def test_the_task_is_guessed_from_the_target(values, task, dtype):
    frame = pd.DataFrame({"y": values, "x": np.arange(len(values)) / 7})
    schema = TableSchema.fit(frame, "y")
    assert schema.target.task == task
    assert schema.target_values(frame).dtype.kind == dtype
    assert [str(v) for v in schema.target_values(frame)] == [
        str(np.array(v).astype(schema.target_values(frame).dtype)) for v in values
    ]


@pytest.mark.parametrize(
    ("values", "task", "expected"),
    [
        ([0, 1, 1], "regression", [0.0, 1.0, 1.0]),
        ([True, False], "regression", [1.0, 0.0]),
        ([1, 2, 3], "classification", [1, 2, 3]),
        ([0.5, 1.0, 0.5], "classification", ["0.5", "1", "0.5"]),
    ],
)
def test_the_task_can_be_chosen(values, task, expected):
    frame = frame_of(y=values, x=values)
    schema = TableSchema.fit(frame, "y", task=task)
    assert schema.target.task == task
    assert schema.target_values(frame).tolist() == expected


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, None, 3.0], {}, "'y' has a missing value in row 2: leave"),
        ([None] * 3, {"missing": "impute"}, "'y' has 3 missing values"),
        (["a", None, "b"], {"missing": "impute"}, "'y' has a missing value in row 2"),
        (["1", "2", "x"], {"task": "regression"}, "'y': expected a number in row 3, got 'x'"),
        ([1.0, np.inf, 3.0], {}, "'y': expected a finite number in row 2"),
        (pd.to_datetime(["2020-01-01"] * 3), {}, "'y' holds dates, expected numbers"),
        ([1.0, -1e151, 3.0], {}, r"at most 1e\+100 in absolute value in row 2, got -1e"),
    ],
)
def test_targets_that_cannot_be_learned(values, options, message):
    with pytest.raises(TableError, match=message):
        TableSchema.fit(frame_of(y=values, x=[1, 2, 3]), "y", **options)


@pytest.mark.parametrize("kind", [str, float])
def test_classes_must_recur(kind):
    def target(distinct, rows):
        values = [kind(i % distinct + 0.5) for i in range(rows)]
        return TableSchema.fit(frame_of(y=values, x=values), "y", task="classification").target

    assert target(20, 20) == target(30, 60)
    with pytest.raises(TableError, match=r"'y' has 31 distinct values in 60 rows, .* '0.5'; "):
        target(31, 60)


def test_a_target_keeps_its_type_in_later_tables():
    schema = TableSchema.fit(frame_of(y=[0, 1, 1], x=[1, 2, 3]), "y")
    assert schema.target_values(frame_of(y=["1", "5"])).tolist() == [1, 5]
    with pytest.raises(TableError, match=r"'y': expected an integer .* in row 1, got 0.5"):
        schema.target_values(frame_of(y=[0.5]))
    with pytest.raises(TableError, match="lacks the column 'y'"):
        schema.target_values(frame_of(x=[0.5]))


# Tables that are none


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1], "y": [1]}), "at least 2 rows, got 1"),
        (pd.DataFrame({"y": [1, 2]}), "no feature column is left"),
        (pd.DataFrame(), "lacks the column 'y'"),
        (pd.DataFrame({0: [1, 2], "y": [1, 2]}), r"text as column names, got '0' \(int\)"),
        (pd.DataFrame([[1, 2, 3]] * 2, columns=["a", "a", "y"]), "more than one column named 'a'"),
    ],
)
def test_tables_that_cannot_be_learned_from(frame, message):
    with pytest.raises(TableError, match=message):
        TableSchema.fit(frame, "y")


# Plain data


FORM = TableFormat(";", ",", ".", "cp1252", ("x",)).to_dict()


def changed(**changes):
    state = TableSchema.fit(FRAME, "label", missing="impute").to_dict()
    for path, value in changes.items():
        *keys, last = (int(key) if key.isdigit() else key for key in path.split("__"))
        place = state
        for key in keys:
            place = place[key]
        place[last] = value
    return state


@pytest.mark.parametrize(
    "state",
    [
        None,
        {"columns": []},
        changed(extra=1),
        changed(columns__0__name="label"),
        changed(columns__0__kind=[]),
        changed(columns__0__origin=float("nan")),
        changed(columns__0__kind="date", columns__0__parts=["eon"]),
        changed(columns__1__categories=["b", "a"]),
        changed(left_out=[{"name": "a", "reason": "taste"}]),
        changed(form={**FORM, "sep": "ab"}),
        changed(form={**FORM, "na_values": 3}),
        changed(form={**FORM, "numbers": {"a": "x"}}),
        changed(target__kind="numeric"),
    ],
)
def test_odd_plain_data_is_refused(state):
    with pytest.raises(TableError, match=r"expected|cannot|more than one"):
        TableSchema.from_dict(state)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)
FIELDS = ("name", "kind", "categories", "parts", "order", "origin")
PLACES = ["columns", "columns__0", *(f"columns__{i}__{key}" for i in range(3) for key in FIELDS)]
PLACES += ["target", "target__name", "target__task", "target__kind", "missing", "left_out"]


@settings(deadline=None)
@given(st.sampled_from([*PLACES, "notes", "form"]), JSON)
def test_any_plain_data_is_a_working_schema_or_refused(place, value):
    state = changed(**{place: value})
    try:
        schema = TableSchema.from_dict(state)
    except TableError:
        return
    assert TableSchema.from_dict(schema.to_dict()) == schema
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        try:
            features = schema.features(FRAME)
        except TableError:
            return
    assert features.shape == (4, len(schema.feature_names))


def test_the_target_is_not_dropped():
    frame = pd.DataFrame({"x": [1.0, 2.5, 4.0], "y": ["1.5", "2.5*", "3.5"]})
    with pytest.raises(TableError, match="'y' is the target, expected others in drop="):
        TableSchema.fit(frame, "y", drop=["y"])
