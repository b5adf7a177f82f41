"""``pliant fit`` for a method that takes a memory map: a table need not fit into memory."""

import shutil
import tempfile
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.comparison import Protocol, Sample
from pliant.comparison import sample as comparison_sample
from pliant.comparison.run.search import search
from pliant.comparison.run.validation import cross_validate
from pliant.methods.lab_rbf import members
from pliant.persistence import load_model
from pliant.registry import METHODS
from pliant.tables import TableSchema, iter_table, read_table, temporary_map

SMALL = {"n_support": 8, "n_members": 2, "max_iter": 4}
WORDS = [word for name, value in SMALL.items() for word in ("--param", f"{name}={value}")]
ROWS = 11_000  # more than one chunk


def houses(n, seed=0):
    """Features on different scales, with a town that comes late; two targets."""
    r = np.random.default_rng(seed)
    frame = pd.DataFrame({"size": r.lognormal(3, 1, n).round(3), "age": r.normal(40, 10, n)})
    frame["town"] = np.where(np.arange(n) < n - 50, r.choice(["A", "B"], n), "C")
    frame["price"] = np.log(frame["size"]) + (frame["town"] == "A") * np.sin(frame["age"] / 9)
    frame["dear"] = np.where(frame["price"] > 3, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with a table as CSV and as Parquet."""
    place = tmp_path_factory.mktemp("houses")
    houses(ROWS).to_csv(place / "t.csv", index=False)
    read_table(place / "t.csv").to_parquet(place / "t.parquet", row_group_size=4000)
    return place


@pytest.fixture
def table(folder, written):
    """The names of a table as CSV and as Parquet."""
    shutil.copytree(written, folder, dirs_exist_ok=True)
    return {"csv": "t.csv", "parquet": "t.parquet"}


@pytest.fixture
def scratch(tmp_path_factory, monkeypatch):
    """The folder of temporary files."""
    place = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("target", ["price", "dear"])
def test_the_model_is_that_of_the_whole_table(pliant, table, kind, target):
    other = "dear" if target == "price" else "price"
    words = ("--target", target, "--drop", other, "--method", "lab-rbf", "--cv", 0, *WORDS)
    done = pliant("fit", table[kind], *words, "--out", "m.pliant", "--seed", 3)
    assert done.code == 0, done.err
    loaded, frame = load_model("m.pliant"), read_table(table[kind])
    schema = TableSchema.fit(frame, target, drop=[other])
    learned = TableSchema.from_dict(loaded.schema)
    assert replace(learned, form=None) == replace(schema, form=None)
    learner = LABRBFRegressor if target == "price" else LABRBFClassifier
    X, y = schema.features(frame), schema.target_values(frame)
    twin = make_pipeline(schema.encoder(), learner(**SMALL, random_state=3)).fit(X, y)
    np.testing.assert_array_equal(loaded.model.predict(X[-99:]), twin.predict(X[-99:]))
    assert [name for name, _ in loaded.model.steps] == ["columns", "machine"]
    assert pliant("predict", "m.pliant", table[kind], "--out", "p.csv").code == 0
    predicted = pd.read_csv("p.csv")["prediction"]
    expected = np.concatenate([twin.predict(schema.features(f)) for f in iter_table(table[kind])])
    if target == "price":
        np.testing.assert_allclose(predicted, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(predicted.astype(str), expected)


FAULTS = {
    "infinite": ("inf,x,A,2.5,yes", "column 'size': expected a finite number in row"),
    "number": ("1e999,1,A,2.5,yes", "column 'size': expected a finite number in row 11001, got"),
    "ragged": ("1,1,A", "'t.csv', line 11002: expected 5 cells as in the header, got 3"),
    "target": ("1,1,A,,yes", "column 'price' has a missing value in row 11001: "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_row_in_a_late_chunk_leaves_nothing(refused, table, scratch, fault):
    line, expected = FAULTS[fault]
    with open("t.csv", "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    words = ("--target", "price", "--drop", "dear", "--method", "lab-rbf", "--out", "m.pliant")
    assert expected in refused("fit", "t.csv", *words)
    assert list(scratch.iterdir()) == []


def test_an_interrupted_fit_leaves_nothing(pliant, folder, table, scratch, monkeypatch):
    def interrupted(self, X, y, sample_weight=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(LABRBFRegressor, "fit", interrupted)
    words = ("--target", "price", "--drop", "dear", "--method", "lab-rbf", "--out", "m.pliant")
    assert pliant("fit", "t.csv", *words).code == 130
    assert {path.name for path in folder.iterdir()} == {"patients.csv", "t.csv", "t.parquet"}
    assert list(scratch.iterdir()) == []


def test_folds_of_a_memory_map_are_memory_maps(scratch):
    r = np.random.default_rng(0)
    X, seen = temporary_map([r.normal(size=(60, 3))]), []

    class Watched(LABRBFRegressor):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y, sample_weight)

    y = np.array(X[:, 0])
    protocol = Protocol(folds=3, repeats=1)
    watched = Watched(**SMALL, random_state=0)

    def make(*_):
        return clone(watched)

    folds = cross_validate(make, Sample(X, y, "regression"), protocol, print)
    assert all(isinstance(each, np.memmap) for each in seen)
    held = Sample(np.array(X), y, "regression")
    for fold, twin in zip(folds, cross_validate(make, held, protocol, print), strict=True):
        np.testing.assert_array_equal(fold.predicted, twin.predicted)


def test_a_search_holds_no_more_than_its_rows(scratch):
    """It reads the rows of a round from the memory map."""
    r = np.random.default_rng(0)
    X, rows = temporary_map([r.normal(size=(4000, 3))]), []

    class Counted(LABRBFRegressor):
        def fit(self, X, y, sample_weight=None):
            rows.append(len(X))
            return super().fit(X, y, sample_weight)

    method = replace(METHODS["lab-rbf"], regressor=Counted, grid={"n_support": (4, 6)})
    method = replace(method, given={"n_members": 1, "max_iter": 2})
    sample, protocol = Sample(X, np.array(X[:, 0]), "regression"), Protocol(search_rows=300)
    search(method, sample, np.arange(4000), protocol, 0)
    assert max(rows) <= 300


class Thrifty(LABRBFRegressor):
    """Learns from its first rows, so that what a command holds besides can be seen."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(np.array(X[:200]), y[:200])


def test_memory_does_not_grow_with_the_features_of_all_rows(pliant, folder, monkeypatch):
    monkeypatch.setitem(METHODS, "lab-rbf", replace(METHODS["lab-rbf"], regressor=Thrifty))
    monkeypatch.setattr(members, "BLOCK_ENTRIES", 20_000)
    monkeypatch.setattr(members, "PREDICTED", 500)
    monkeypatch.setattr(comparison_sample, "COPIED", 20_000)
    monkeypatch.setattr("pliant.tables._encoder.WHOLE_NUMBERS", 20_000)
    monkeypatch.setattr("pliant.tables._encoder.BLOCK_NUMBERS", 20_000)
    peaks = []
    for n in (10_000, 50_000):
        X = np.random.default_rng(0).normal(size=(n, 20))
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(20)]).assign(y=X[:, 0])
        frame.to_parquet("t.parquet", row_group_size=5000)
        words = ("t.parquet", "--target", "y", "--method", "lab-rbf", "--cv", 2, *WORDS)
        tracemalloc.start()
        done = pliant("fit", *words)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert done.code == 0, done.err
    assert peaks[1] - peaks[0] < 40_000 * 20 * 8 / 2
