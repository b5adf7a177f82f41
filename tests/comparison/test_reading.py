"""Samples read from files match a simple reader in pandas, and data frames match files."""

import decimal

import numpy as np
import pandas as pd
import pytest

from pliant import compare, fit
from pliant.exceptions import TableError
from pliant.tables import read_table
from pliant.tables.comparison.comparing import _facts_of
from pliant.tables.comparison.reading import read_sample, sample_of
from pliant.tables.comparison.sample import Sample
from tests.memory import peak_memory

TEXTS = {
    "a": ["1.5", "", "3", "4", "-2e3", "NA"],
    "colour": ["red", "blue", "", "red", "<b>", "blue"],
    "ok": ["true", "false", "TRUE", "", "false", "true"],
    "<script>alert(1)</script>": ["0", "1", "2", "3", "4", "5"],
    "site": ["x", "y", "x", "z", "y", "x"],
    "day": ["2024-01-03", "2023-12-31", "2024-01-03", "2024-01-01", "2022-05-05", "2024-01-02"],
    "y": ["p", "q", "p", "q", "p", "q"],
}


def write(path, texts=TEXTS, **changed):
    """Write columns of strings as CSV."""
    pd.DataFrame({**texts, **changed}).to_csv(path, index=False)
    return path


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "t.csv")


def naive(path, order=None):
    """Return the features by name, with text as codes in alphabetical order."""
    frame = pd.read_csv(path)
    frame = frame if order is None else frame.sort_values(order, kind="stable")
    found = {}
    for name, column in frame.items():
        present = sorted(column.dropna().unique(), key=str)
        if all(isinstance(value, str) for value in present):
            found[name] = [present.index(v) if isinstance(v, str) else np.nan for v in column]
        else:
            found[name] = column.astype(float)
    return pd.DataFrame(found), frame


def check(sample, path, names, order=None):
    numbers, frame = naive(path, order)
    assert sample.feature_names == tuple(names)
    np.testing.assert_array_equal(sample.X, numbers[list(names)].to_numpy(float))
    assert sample.y.tolist() == frame["y"].tolist()


FEATURES = ("a", "colour", "ok", "<script>alert(1)</script>")


def test_features_target_and_categories(table):
    sample = read_sample(table, "y", drop=["site", "day"])
    check(sample, table, FEATURES)
    assert sample.X.dtype == np.float64
    assert sample.X.flags.c_contiguous
    assert sample.categories == {1: ("<b>", "blue", "red")}
    assert (sample.name, sample.target, sample.task) == ("t", "y", "classification")
    assert sample.groups is None
    assert not sample.ordered


def test_rows_are_sorted_by_time(table):
    sample = read_sample(table, "y", drop=["site"], time="day")
    check(sample, table, FEATURES, order="day")  # the sort is stable
    assert sample.ordered


def test_random_table_matches_pandas(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd")).round(3)
    frame["e"] = rng.choice(["u", "v", "w w", "ä"], 300)
    frame = frame.mask(rng.uniform(size=frame.shape) < 0.1)
    frame["when"], frame["y"] = rng.integers(0, 40, 300), rng.normal(size=300).round(9)
    frame.to_csv(tmp_path / "t.csv", index=False)
    sample = read_sample(tmp_path / "t.csv", "y", time="when")
    check(sample, tmp_path / "t.csv", "abcde", order="when")
    assert sample.task == "regression"
    assert sample.fingerprint() == read_sample(tmp_path / "t.csv", "y", time="when").fingerprint()


MOMENTS = {
    "large numbers": [2**62 + 3, 2**62 + 1, 2**62 + 2, 2**62 + 1],
    "decimals": [decimal.Decimal(k) / 8 for k in (3, 1, 2, 1)],
    "times": pd.to_datetime(["2024-01-03", "2024-01-01", "2024-01-02", "2024-01-01"]),
    "offsets": [f"2024-01-01T06:00+0{hours}:00" for hours in (1, 3, 2, 3)],
}


@pytest.mark.parametrize("name", MOMENTS)
def test_time_column_types(tmp_path, name):
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "t": MOMENTS[name], "y": list("pqpq")})
    frame.to_parquet(tmp_path / "t.parquet")
    sample = read_sample(tmp_path / "t.parquet", "y", time="t")
    assert sample.X[:, 0].tolist() == [1, 3, 2, 0]
    assert sample.feature_names == ("a",)


TIMES = {
    "numbers": [9, 10, 8, 8],
    "numbers as objects": np.array([9, 10, 8, 8], dtype=object),
    "texts of numbers": ["9", "10", "8", "8"],
    "dates as texts": ["2024-01-09", "2024-01-10", "2024-01-08", "2024-01-08"],
    "dates": np.array(["2024-01-09", "2024-01-10", "2024-01-08", "2024-01-08"], "datetime64[D]"),
    "timestamps": [pd.Timestamp(2024, 1, day) for day in (9, 10, 8, 8)],
}


@pytest.mark.parametrize("name", TIMES)
def test_rows_of_arrays_are_sorted_by_time(name):
    X = np.arange(4.0)[:, None]
    sample = sample_of(X, [*"pqpq"], time=TIMES[name])
    assert sample.X[:, 0].tolist() == [2, 3, 0, 1]
    assert sample.y.tolist() == [*"pqpq"]


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (["9.1.2024"] * 4, "expected numbers or ISO dates in time, got '9.1.2024'"),
        ([1.0, 2.0, np.nan, 3.0], "expected finite values in time"),
        (np.array(["2024-01-01", "NaT"] * 2, "datetime64[D]"), "expected finite values in time"),
        ([1.0, 2.0], r"expected time of shape \(4,\), got \(2,\)"),
    ],
)
def test_other_times_of_arrays_are_refused(times, said):
    with pytest.raises(ValueError, match=said):
        sample_of(np.arange(4.0)[:, None], [*"pqpq"], time=times)


@pytest.mark.parametrize("absent", [None, float("nan"), np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("labels", [["a", "b", "a"], [1, 0, 1], [1.5, 0.5, 2.5]])
def test_a_missing_label_or_group_of_an_array_is_no_class(labels, absent):
    X, given = np.arange(4.0)[:, None], [*labels, absent]
    said = r"expected y without missing values, got .* at row 3|finite values in y, got nan"
    with pytest.raises(ValueError, match=said):
        sample_of(X, given)
    with pytest.raises(ValueError, match=said.replace(" y", " groups")):
        sample_of(X, [*"pqpq"], groups=given)


def test_labels_of_an_array_keep_their_type():
    X = np.arange(4.0)[:, None]
    assert sample_of(X, np.array([1, 0, 1, 0], dtype=object)).classes == [0, 1]
    assert sample_of(X, [*"pqpq"]).classes == ["p", "q"]
    assert sample_of(X, np.array([0.5, 2.5, 1.5, 7.25], dtype=object)).task == "regression"
    with pytest.raises(ValueError, match="expected labels of one type, got text and 1"):
        sample_of(X, ["p", 1, "p", 1])


def test_classes_of_an_array_recur_and_targets_of_a_regression_are_numbers():
    X, names = np.arange(50.0)[:, None], [f"class {k}" for k in range(50)]
    assert len(sample_of(X, 2 * names[:25]).classes) == 25
    with pytest.raises(ValueError, match="expected recurring classes, got 26 classes in 50 rows"):
        sample_of(X, names[:26] + names[:24])
    with pytest.raises(ValueError, match="expected numbers in y for regression, got 'class 0'"):
        sample_of(X, 2 * names[:25], task="regression")


REFUSED = {
    "gap in time": (
        {"day": ["2024-01-01", "", "2024", "2024", "2024", "2024"]},
        {"time": "day"},
        "column 'day' has a missing value in row 2: leave these rows out",
    ),
    "no time": (
        {},
        {"time": "site", "drop": ["day"]},
        "column 'site': expected a number or a date such as 2024-01-31 in row 1, got 'x'",
    ),
    "gap in group": (
        {"site": ["x", "y", "x", "z", "y", ""]},
        {"group": "site", "drop": ["day"]},
        "column 'site' has a missing value in row 6: leave these rows out",
    ),
    "both": ({}, {"group": "site", "time": "day"}, "got both"),
    "target": ({}, {"group": "y"}, "column 'y' is the target and cannot be group=... too"),
    "absent": ({}, {"time": "days"}, "the table lacks the column 'days'; did you mean 'day'?"),
    "unsure time": (
        {"day": [f"0{k}/02/2024" for k in range(1, 7)]},
        {"time": "day"},
        "dates in 'day' may have day or month first: set date_order='dmy' or date_order='mdy'",
    ),
    "one class": (
        {"y": ["p"] * 6},
        {"drop": ["day"]},
        "column 'y': expected a non-constant target, got 'p' in all rows",
    ),
    "gap in target": (
        {"y": [*"pqpqp", ""]},
        {"missing": "error", "drop": ["a", "colour", "ok", "day"]},
        "column 'y' has a missing value in row 6",
    ),
    "rows": (
        {},
        {"most_rows": 5},
        "expected at most 5 rows, the table has more: use a random sample",
    ),
    "rows without a target": (
        {"y": ["", *"qpqpq"]},
        {"most_rows": 5},
        "expected at most 5 rows, the table has more: use a random sample",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_tables_are_refused(tmp_path, name):
    changed, options, said = REFUSED[name]
    path = write(tmp_path / "t.csv", **changed)
    with pytest.raises(TableError) as told:
        read_sample(path, "y", **options)
    assert said in str(told.value)


def test_memory_of_reading(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40_000, 20))).add_prefix("x")
    frame.assign(t=np.arange(40_000)[::-1], y=frame.x0 > 0).to_parquet(tmp_path / "t.parquet")
    read_table(tmp_path / "t.parquet")
    with peak_memory() as used:
        sample = read_sample(tmp_path / "t.parquet", "y", time="t")
    assert sample.X.shape == (40_000, 20)
    assert used.peak < 3 * sample.X.nbytes  # the parsed table, its features, and some columns


def frame(n=60, seed=0):
    """Return numbers and text with missing values, booleans, and labels from the first column."""
    r = np.random.default_rng(seed)
    age = r.normal(size=n)
    data = pd.DataFrame(
        {
            "age": np.where(np.arange(n) % 7 == 3, np.nan, age),
            "colour": np.where(np.arange(n) % 11 == 5, None, r.choice(["red", "blue"], n)),
            "ok": r.random(n) < 0.5,
        }
    )
    return data, pd.Series(np.where(age > 0, "yes", "no"), name="sick")


class Polars:
    """Stand-in for a data frame of another library."""

    def __init__(self, data):
        self.data = data

    def to_pandas(self):
        return self.data


@pytest.mark.parametrize("kind", [lambda data: data, Polars], ids=["pandas", "other"])
def test_data_frame_matches_file(tmp_path, kind):
    X, y = frame()
    X.assign(sick=y).to_csv(tmp_path / "t.csv", index=False)
    expected = read_sample(tmp_path / "t.csv", "sick")
    sample = sample_of(kind(X.set_index(np.arange(60) * 3)), kind(y))
    np.testing.assert_array_equal(sample.X, expected.X)
    np.testing.assert_array_equal(sample.y, expected.y)
    assert (sample.task, sample.categories) == (expected.task, expected.categories)
    assert (sample.feature_names, sample.target) == (expected.feature_names, "sick")
    assert [column.name for column in sample.schema.columns] == ["age", "colour", "ok"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": lambda X, y: y[:5]}, r"expected y of shape \(60,\), got \(5,\)"),
        ({"y": lambda X, y: X[["age", "ok"]]}, r"expected y of .* got \(60, 2\)"),
        ({"y": lambda X, y: X["age"]}, "expected X without the target, got y as column 'age' of X"),
        ({"X": lambda X, y: X.assign(d=[object()] * 60)}, "column 'd' holds"),
        ({"X": lambda X, y: X.set_axis(["a", "b", "a"], axis=1)}, "more than one column named 'a'"),
        ({"task": lambda X, y: "regress"}, "expected task .* got 'regress'"),
        ({"groups": lambda X, y: y, "time": lambda X, y: y}, "groups or a time order"),
    ],
)
def test_invalid_data_frames(change, message):
    X, y = frame()
    given = {"X": X, "y": y} | {name: make(X, y) for name, make in change.items()}
    with pytest.raises(ValueError, match=message):
        compare(**given, methods=["dummy"])


def test_labels_beside_a_data_frame_stay_as_they_are():
    """Text columns lose the spaces around their values, but y is compared with predictions."""
    frame = pd.DataFrame({"a": np.arange(40) % 8, "text": ["u ", "v"] * 20})
    y = np.where(frame["a"] < 4, "van ", "bus")
    for given in (y, pd.Series(y, name="kind"), pd.Categorical(y)):
        sample = sample_of(frame, given)
        assert sample.classes == ["bus", "van "]
        np.testing.assert_array_equal(sample.y, y)
    model = fit(frame, y)
    assert set(model.classes_) == {"bus", "van "}
    assert model.score(frame, y) > 0.9


def test_facts_count_columns_and_their_gaps():
    """A text is one column, although its words are hashed into hundreds of features."""
    n = 60
    words = np.array(["red", "green", "blue", "old", "new", "small", "large"])
    drawn = np.random.default_rng(0).integers(0, 7, size=(n, 5))
    notes = [f"{' '.join(words[d])} {k}" for k, d in enumerate(drawn)]
    frame = pd.DataFrame({"size": np.arange(n) % 17 + 0.5, "note": notes})
    frame.loc[:11, "size"] = np.nan
    frame.loc[:2, "note"] = None
    sample = sample_of(frame, np.arange(n) % 3.7)
    facts = _facts_of(sample)
    assert facts["features"] > 500
    assert facts["columns"] == 2
    assert facts["missing"] == {"cells": 15, "columns": 2, "largest": pytest.approx(12 / 60)}
    numbers = _facts_of(Sample.of(np.array([[1.0, np.nan], [2.0, 3.0]] * 9), np.arange(18.0)))
    assert numbers["columns"] == 2
    assert numbers["missing"] == {"cells": 9, "columns": 1, "largest": 0.5}
