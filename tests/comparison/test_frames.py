"""Data frames as input of `compare`, parsed as on the command line, and of fitted models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pliant import TableError, compare
from pliant.comparison.reading import TableEncoder, read_sample, sample_of
from pliant.tables import TableSchema, UnknownCategoryWarning


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


def test_table_encoder():
    X, y = frame()
    sample = sample_of(X, y)
    encoder = TableEncoder.of(sample.schema)
    np.testing.assert_array_equal(encoder.transform(X.iloc[:, ::-1].assign(z=1)), sample.X)
    again = clone(encoder).fit(X)
    assert again.get_feature_names_out().tolist() == ["age", "colour", "ok"]
    with pytest.warns(UnknownCategoryWarning, match="column 'colour' has the value 'pink'"):
        codes = encoder.transform(X.head(2).assign(colour=["pink", None]))[:, 1]
    np.testing.assert_array_equal(codes, [2, np.nan])
    lacking = "the table lacks the column 'ok'"
    for wrong, message in (
        (X.drop(columns="ok"), lacking),
        (X.to_numpy(), "expected a data frame with the columns 'age', 'colour' and 'ok'"),
        (X.assign(age="old"), "column 'age': expected a number in row 1, got 'old'"),
    ):
        with pytest.raises(TableError, match=message):
            encoder.transform(wrong)
    assert TableSchema.from_dict(encoder.schema) == sample.schema
