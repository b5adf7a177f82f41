"""`TableFeatures` encodes data frames in Python as the command line encodes files."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import pliant
from pliant import LABRBFClassifier, LABRBFRegressor, TableFeatures, load, save
from pliant.exceptions import TableError, UnknownCategoryWarning
from pliant.tables import read_table
from pliant.tables.comparison.reading import read_sample
from tests.memory import peak_memory

N = 120


def frame(n=N, seed=0):
    """Return a frame with numbers, gaps, few and many categories, dates, notes and an id."""
    rng = np.random.default_rng(seed)
    size, city = rng.normal(size=n).round(3), rng.integers(0, 40, n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    words = rng.choice(["old", "new", "large", "quiet", "sunny"], size=(n, 3))
    return pd.DataFrame(
        {
            "key": [f"k{j}" for j in range(n)],
            "size": np.where(rng.uniform(size=n) < 0.1, np.nan, size),
            "city": [f"c{k}" for k in city],
            "heated": rng.choice(["yes", "no", None], n),
            "day": day.strftime("%Y-%m-%d"),
            "note": [" ".join([*three, str(j)]) for j, three in enumerate(words)],
            "price": (np.sin(size) + city / 20).round(3),
        }
    )


FRAME = frame()
X, Y = FRAME.drop(columns="price"), FRAME["price"]


def test_the_words_of_a_text_are_in_memory_only_once(monkeypatch):
    """The features of 600 texts take 2.5 MB, of which the singular vectors read a tenth."""
    monkeypatch.setattr("pliant.tables.reading.columns.BLOCK_SIZE", 30_000)
    monkeypatch.setattr("pliant.core.blocks.BLOCK_ENTRIES", 30_000)
    monkeypatch.setattr("pliant.tables.reading.encoder.TEXT_ROWS", 60)
    table = pd.DataFrame({"note": [f"word{j} of note {j}" for j in range(600)]})
    encoder = TableFeatures().fit(table[:60])  # imports
    with peak_memory() as used:
        encoder.fit(table)
    whole = 8 * 512 * len(table)
    assert whole < used.peak < 1.8 * whole


def small(**options):
    return make_pipeline(
        TableFeatures(**options), LABRBFRegressor(10, n_members=2, max_iter=5, random_state=0)
    )


class Other:
    """A data frame of another library."""

    def __init__(self, X):
        self.X = X

    def to_pandas(self):
        return self.X


def polars_of(X):
    return pytest.importorskip("polars").from_pandas(X)


def arrow_of(X):
    return pytest.importorskip("pyarrow").Table.from_pandas(X)


def test_features_are_those_of_the_command_line(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    sample = read_sample(tmp_path / "t.csv", "price")
    twin = sample.encoder()
    expected = twin.fit_transform(sample.X, sample.y)
    features = TableFeatures()
    for rows in (read_table(tmp_path / "t.csv").drop(columns="price"), X):
        np.testing.assert_array_equal(features.fit_transform(rows, Y), expected)
        np.testing.assert_array_equal(features.transform(rows), twin.transform(sample.X))
    names = features.get_feature_names_out().tolist()
    assert names == twin.get_feature_names_out(sample.feature_names).tolist()
    assert names[:3] == ["size", "day (days)", "day (year)"]
    assert {"size (missing)", "heated=no", "city (mean target)", "note (text 0)"} < set(names)
    assert not any(name.startswith("key") for name in names)
    raw = TableFeatures(encode=False).fit_transform(X)
    np.testing.assert_array_equal(raw, sample.X)


@pytest.mark.parametrize("kind", [Other, arrow_of, polars_of], ids=lambda kind: kind.__name__)
def test_data_frames_of_other_libraries_equal_those_of_pandas(kind):
    features = TableFeatures().fit(X, Y)
    other = clone(features).fit(kind(X), Y)
    np.testing.assert_array_equal(other.transform(kind(X)), features.transform(X))


@pytest.mark.filterwarnings("ignore::pliant.exceptions.UnknownCategoryWarning")
def test_a_pipeline_is_cross_validated_and_searched():
    scores = cross_val_score(small(), X, Y, cv=3, error_score="raise")
    assert scores.mean() > 0.3
    grid = {"tablefeatures__most_one_hot": [5, 50], "labrbfregressor__n_members": [1]}
    search = GridSearchCV(small(), grid, cv=3, error_score="raise").fit(X, Y)
    widths = {len(search.best_estimator_[:-1].get_feature_names_out())}
    other = {5: 50, 50: 5}[search.best_params_["tablefeatures__most_one_hot"]]
    widths.add(len(TableFeatures(most_one_hot=other).fit(X, Y).get_feature_names_out()))
    assert len(widths) == 2


def test_a_loaded_pipeline_predicts_the_same_bits(tmp_path):
    model = small().fit(X, Y)
    save(model, tmp_path / "m.pliant")
    new = frame(30, seed=1)  # with unknown cities
    copies = [load(tmp_path / "m.pliant"), pickle.loads(pickle.dumps(model))]
    with pytest.warns(UnknownCategoryWarning, match="'city'"):
        found = {each.predict(new).tobytes() for each in (model, *copies)}
    assert len(found) == 1
    assert copies[0][0].schema_ == model[0].schema_


def test_a_saved_encoder_of_another_width_is_refused(tmp_path):
    model = TableFeatures().fit(X, Y)
    model.encoder_ = TableFeatures().fit(X[["size"]]).encoder_
    with pytest.raises(pliant.exceptions.ModelFileError, match="expected an encoder of"):
        save(model, tmp_path / "m.pliant")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.rename(columns={"heated": "heating"}), "'heated'; did you mean 'heating'"),
        (lambda X: X.drop(columns=["city", "size"]), "lacks the 2 columns 'size', 'city'"),
        (lambda X: X.assign(size="big"), "column 'size': expected a number in row 1, got 'big'"),
        (lambda X: X.assign(day="soon"), "column 'day': expected a date .* in row 1, got 'soon'"),
        (lambda X: X.to_numpy(), "expected a data frame with the columns 'key', .* got ndarray"),
        (lambda X: X.head(0), "at least one row"),
    ],
)
def test_other_tables_are_refused_with_the_column(change, message):
    features = TableFeatures().fit(X, Y)
    np.testing.assert_array_equal(
        features.transform(X.iloc[:, ::-1].assign(extra=1)), features.transform(X)
    )
    with pytest.raises(TableError, match=message):
        features.transform(change(X))


def test_an_unknown_category_is_reported_and_has_no_indicator():
    features = TableFeatures().fit(X, Y)
    with pytest.warns(UnknownCategoryWarning, match="'heated' .* such as 'partly', in 1 row"):
        row = features.transform(X.head(1).assign(heated="partly"))[0]
    named = dict(zip(features.get_feature_names_out(), row, strict=True))
    assert [named["heated=no"], named["heated=yes"]] == [0, 0]


def test_choices_are_those_of_the_command_line():
    features = TableFeatures(drop=["note"], keep=["key"], categorical=["size"]).fit(X, Y)
    kinds = {column.name: column.kind for column in features.schema_.columns}
    assert kinds["key"] == "text"
    assert kinds["size"] == "categorical"
    assert "note" not in kinds
    with pytest.raises(TableError, match=r"'size' has .* missing values"):
        TableFeatures(missing="error").fit(X, Y)
    with pytest.raises(ValueError, match="expected drop to be a list of column names, got 'note'"):
        TableFeatures(drop="note").fit(X, Y)
    with pytest.raises(TypeError, match="expected schema to be a TableSchema"):
        TableFeatures(schema=X).fit(X, Y)


@pytest.mark.parametrize(
    ("y", "columns"),
    [
        (Y, ["city (mean target)"]),
        (pd.Series(np.arange(N) % 3, dtype="Int64"), [f"city (mean target {k})" for k in range(3)]),
        (np.where(Y > 1, "high", "low"), ["city (mean target)"]),
    ],
)
def test_mean_targets_follow_the_task_of_the_target(y, columns):
    names = TableFeatures().fit(X[["city", "size"]], y).get_feature_names_out().tolist()
    assert names[2:] == columns
    whole = TableFeatures(task="regression").fit(X[["city", "size"]], np.arange(N) % 3)
    assert whole.get_feature_names_out().tolist()[2:] == ["city (mean target)"]


def test_many_categories_need_a_target_or_more_one_hot_columns():
    with pytest.raises(ValueError, match=r"more than 30 categories.*give y, or raise"):
        TableFeatures().fit(X)
    names = TableFeatures(most_one_hot=40).fit(X).get_feature_names_out()
    assert "city=c1" in names


def test_all_columns_of_an_array_of_numbers_are_kept():
    numbers = np.column_stack([np.arange(N), np.zeros(N), np.sin(np.arange(N))])
    features = TableFeatures().fit(numbers)
    np.testing.assert_array_equal(features.transform(numbers), numbers)
    assert features.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert not hasattr(features, "feature_names_in_")
    ids = pd.DataFrame(numbers).drop(columns=1)
    assert TableFeatures().fit(ids).get_feature_names_out().tolist() == ["2"]


def test_the_command_line_predicts_with_a_pipeline_from_python(tmp_path, capsys):
    from pliant.tables.cli import main

    FRAME.to_csv(tmp_path / "t.csv", index=False)
    model = make_pipeline(TableFeatures(), Ridge()).fit(X, Y)
    save(model, tmp_path / "m.pliant", metadata={"trained": "today"})
    out = tmp_path / "p.csv"
    assert main(["predict", f"{tmp_path}/m.pliant", f"{tmp_path}/t.csv", "--out", str(out)]) == 0
    np.testing.assert_allclose(pd.read_csv(out)["prediction"], model.predict(X), rtol=1e-14)
    capsys.readouterr()
    assert main(["info", f"{tmp_path}/m.pliant"]) == 0
    assert "columns" in capsys.readouterr().out


@pytest.mark.parametrize("learner", [LABRBFRegressor, LABRBFClassifier, pliant.DANKRegressor])
def test_an_estimator_that_meets_texts_or_gaps_names_the_features(learner):
    y = np.arange(N) % 2
    dates = X[["size"]].assign(day=pd.to_datetime(X["day"]))
    for rows in (X[["heated"]], X[["size"]], X[["size", "day"]].to_numpy(), dates):
        with pytest.raises(
            ValueError, match=rf"make_pipeline\(TableFeatures\(\), {learner.__name__}"
        ):
            learner().fit(rows, y)
    with pytest.raises(ValueError, match="NaN") as caught:
        learner().fit(np.zeros((N, 2)), np.where(y, np.nan, 1.0))
    assert "TableFeatures" not in str(caught.value)
