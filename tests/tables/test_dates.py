"""Dates become calendar features, the same from text, pandas and Python."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.exceptions import TableError
from pliant.tables import TableSchema, detect_format, iter_table, read_table
from pliant.tables.reading.columns import calendar_features, parse_date

MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
    lambda each: each.replace(microsecond=0, second=0)
)


@given(MOMENTS, st.sampled_from(["ymd", "dmy", "mdy"]))
def test_calendar_features_are_those_of_python(when, order):
    patterns = {"ymd": "%Y-%m-%d %H:%M", "dmy": "%d.%m.%Y %H:%M", "mdy": "%m/%d/%Y %I:%M %p"}
    days = parse_date(when.strftime(patterns[order]), order)
    expected = (
        (when - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1),
        when.year,
        when.month,
        when.timetuple().tm_yday,
        when.weekday(),
        when.hour + when.minute / 60,
    )
    np.testing.assert_allclose(calendar_features(np.array([days]))[0], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-03-01", "2024-03-01"),
        ("2024-03", "2024-03-01"),
        ("2024-03-01T12:00:00Z", "2024-03-01 12:00"),
        ("2024-03-01 12:00:00.5+02:00", "2024-03-01 12:00"),
        ("01.03.2024", "2024-03-01"),
        ("1/3/24", None),
        ("01/03/24", "2024-03-01"),
        ("01.03.99", "1999-03-01"),
        ("01.02.65", "1965-02-01"),
        ("March 1, 2024", "2024-03-01"),
        ("1 Foo 2024", None),
        ("31.02.2024", None),
        ("12:30", None),
        ("1.2.3", None),
        ("1/3/2024 13:00 PM", None),
    ],
)
def test_which_texts_are_dates(text, day):
    days = parse_date(text, "dmy")
    if day is None:
        assert np.isnan(days)
    else:
        assert days == (pd.Timestamp(day) - pd.Timestamp("1970")) / pd.Timedelta(days=1)


def schema_of(days, **options):
    return TableSchema.fit(pd.DataFrame({"day": days, "x": np.arange(len(days)) / 7}), **options)


STAMPS = pd.date_range("2024-01-30 06:00", periods=40, freq="7h")
TOKYO = pa.array([*STAMPS.tz_localize("Asia/Tokyo")], pa.timestamp("us", "Asia/Tokyo"))


@pytest.mark.parametrize(
    "days",
    [
        STAMPS,
        STAMPS.tz_localize("Asia/Tokyo"),
        pd.Series(pd.arrays.ArrowExtensionArray(TOKYO)),
        STAMPS.to_pydatetime(),
        STAMPS.strftime("%Y-%m-%d %H:%M"),
        STAMPS.strftime("%d.%m.%Y %H:%M"),
        STAMPS.strftime("%m/%d/%Y %H:%M"),
    ],
    ids=["pandas", "zone", "arrow", "python", "iso", "points", "slashes"],
)
def test_dates_in_every_type_have_the_same_features(days):
    schema = schema_of(pd.Series(days, dtype=object if isinstance(days, np.ndarray) else None))
    column = schema.columns[0]
    assert column.kind == "date"
    assert column.parts == ("days", "month", "day of year", "weekday", "hour")
    assert column.origin == pytest.approx(19752.25)
    frame = pd.DataFrame({"day": [str(days[0]) if column.order else days[0], None], "x": 0.0})
    features = schema.features(frame)
    np.testing.assert_allclose(features[0, :5], [0, 1, 30, 1, 6])
    assert np.isnan(features[1, :5]).all()
    assert TableSchema.from_dict(schema.to_dict()) == schema


def test_only_parts_that_vary_are_features():
    days = [f"2024-03-{k:02}" for k in range(1, 29)]
    assert schema_of(days).columns[0].parts == ("days", "day of year", "weekday")
    assert [each.reason for each in schema_of(["2024-03-01"] * 30).left_out] == ["constant"]


def test_the_values_decide_the_order_of_day_and_month():
    first = [f"{d:02}/{m:02}/2024" for m in range(1, 4) for d in range(1, 29)]
    assert schema_of(first).columns[0].order == "dmy"
    other = [f"{m:02}/{d:02}/2024" for m in range(1, 4) for d in range(1, 29)]
    assert schema_of(other).columns[0].order == "mdy"
    assert schema_of(first).notes == schema_of(other).notes == ()
    with pytest.raises(TableError, match=r"day and month in different orders.*drop="):
        schema_of(first, date_order="mdy")


@pytest.mark.parametrize(("mark", "order"), [("/", "mdy"), (".", "dmy"), ("-", "dmy")])
def test_an_order_that_the_values_do_not_show_is_reported(mark, order):
    days = [mark.join((f"{a:02}", f"{b:02}", "2024")) for a in range(1, 8) for b in range(1, 8)]
    schema = schema_of(days)
    assert schema.columns[0].order == order
    assert "'day' may start with day or month" in schema.notes[0]
    other = {"mdy": "dmy", "dmy": "mdy"}[order]
    assert f"date_order='{other}'" in schema.notes[0]
    assert schema_of(days, date_order=other).columns[0].order == other
    assert schema_of(days, date_order=other).notes == ()


@pytest.mark.parametrize(("mark", "order"), [("/", "mdy"), (".", "dmy")])
def test_an_iso_date_in_row_1_decides_no_order(mark, order):
    days = [mark.join((f"{a:02}", f"{b:02}", "65")) for a in range(1, 8) for b in range(1, 8)]
    schema = schema_of(["1999-12-31", *days])
    assert schema.columns[0].order == order
    assert "may start with day or month" in schema.notes[0]
    assert schema.notes[1] == "two-digit years in 'day' are read as 1950 to 2049"


def test_what_is_no_date_is_quoted_with_its_row():
    days = [f"{d:02}.01.2024" for d in range(1, 32)]
    with pytest.raises(TableError, match=r"dates, but 'soon' in row 32 is not a date: .*'soon'"):
        schema_of([*days, "soon"])
    later = pd.DataFrame({"day": ["01.02.2024", "2.x"], "x": 0.0})
    with pytest.raises(TableError, match=r"a date such as 31.01.2024 in row 2, got '2.x'"):
        schema_of(days).features(later)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_pandas_in_every_unit_are_those_of_text(unit):
    texts = ["1970-01-01", "1969-12-31 18:00:00", "2024-02-29 12:30:00"]
    schema = TableSchema.fit(pd.DataFrame({"t": texts, "x": [1.0, 2.0, 3.0]}))
    times = pd.Series(np.array(texts, dtype=f"datetime64[{unit}]"))
    given = schema.features(pd.DataFrame({"t": times, "x": 0.0}))
    expected = schema.features(pd.DataFrame({"t": texts, "x": 0.0}))
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m%d%H", "%Y%m%d%H%M", "%Y%m%d%H%M%S"])
def test_integers_are_dates_if_the_order_says_so(form, tmp_path):
    days = STAMPS if "H" in form else STAMPS.normalize()
    expected = schema_of(days).features(pd.DataFrame({"day": days, "x": 0.0}))
    texts = days.strftime(form)
    for cells in (texts, texts.astype("int64"), texts.astype("float64")):
        frame = pd.DataFrame({"day": cells, "x": 0.0})
        schema = schema_of(cells, date_order="ymd")
        assert (schema.columns[0].kind, schema.notes) == ("date", ())
        np.testing.assert_array_equal(schema.features(frame), expected)
        np.testing.assert_array_equal(
            schema.features(frame[3:5].astype(str))[:, 0], expected[3:5, 0]
        )
        schema = schema_of(cells)
        assert schema.columns[0].kind == "numeric"
        assert "'day' look like dates but are used as numbers (date_order='ymd'" in schema.notes[0]
    pd.DataFrame({"day": texts, "x": 0.0}).to_csv(tmp_path / "t.csv", index=False)
    schema = TableSchema.fit(read_table(tmp_path / "t.csv"), date_order="ymd", keep=["x"])
    read = detect_format(tmp_path / "t.csv", usual=schema.reading)
    for frame in iter_table(tmp_path / "t.csv", 40, read):
        np.testing.assert_array_equal(schema.features(frame), expected)


def test_a_few_integers_that_are_no_dates_are_one_error():
    cells = [20240101 + k % 28 for k in range(40)]
    cells[7] = 20240231
    with pytest.raises(TableError, match=r"'day': expected a date .* row 8, got 20240231"):
        schema_of(cells, date_order="ymd")
    assert "'day' look like dates but are used as numbers" in schema_of(cells).notes[0]


@pytest.mark.parametrize("integers", [[20240131, 20241331], [20240131, 7], [1, 2]])
def test_integers_that_are_no_dates_stay_numbers(integers):
    schema = schema_of(integers * 20, date_order="ymd")
    assert (schema.columns[0].kind, schema.notes) == ("numeric", ())
