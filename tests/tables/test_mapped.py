"""A table read in chunks has the schema and the numbers that it has when it is read at once."""

import tempfile
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant import TableError
from pliant.tables import _mapped, map_table, temporary_map
from pliant.tables._schema import read_with_schema

WORDS = ["", "NA", "1", "1.0", "2", "-0.5", "7e3", "true", "FALSE", "a", "b b", "Ä", "007"]


def whole(path, target, **choices):
    """What a table means when it is read at once."""
    frame, schema = read_with_schema(path, target, **choices)
    return schema, schema.features(frame), schema.target_values(frame)


def same(path, target, chunk_rows, **choices):
    """Read a table in both ways, compare, and return the map."""
    schema, X, y = whole(path, target, **choices)
    found = map_table(path, target, chunk_rows=chunk_rows, **choices)
    assert found.schema.columns == schema.columns
    assert found.schema.remarks() == schema.remarks()
    assert found.schema.target == schema.target
    assert found.y.dtype.kind == y.dtype.kind
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.y, y)
    return found


def outcome(action):
    """The result of an action, or the error's text."""
    try:
        return action()
    except TableError as error:
        return str(error)


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """Numbers, a truth value, a category that comes late; gaps; three targets."""
    r = np.random.default_rng(0)
    n = 150
    frame = pd.DataFrame({"size": r.lognormal(3, 1, n).round(3), "rooms": r.integers(1, 9, n)})
    frame["town"] = np.where(np.arange(n) < 140, r.choice(["A", "B"], n), "C")
    frame["new"] = r.uniform(size=n) < 0.3
    frame["price"] = np.log(frame["size"]) + frame["rooms"]
    frame["sold"] = r.choice(["yes", "no"], n)
    frame["grade"] = frame["rooms"] % 3
    gaps = {name: r.uniform(size=n) < 0.05 for name in ("size", "rooms", "town", "new")}
    frame = frame.astype({"rooms": "Int64", "new": "boolean"})
    frame = frame.assign(**{name: frame[name].mask(gone) for name, gone in gaps.items()})
    folder = tmp_path_factory.mktemp("houses")
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False)
    frame.to_parquet(folder / "t.parquet")
    return folder


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize(
    ("target", "chunk_rows"), [("price", 7), ("sold", 7), ("grade", 7), ("price", 10_000)]
)
def test_chunks_give_what_the_whole_gives(houses, name, target, chunk_rows):
    found = same(houses / name, target, chunk_rows, drop=["sold"][: target != "sold"])
    assert isinstance(found.X, np.memmap)
    assert found.X.shape == (150, len(found.schema.feature_names))


@given(
    cells=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=12, max_size=12), min_size=1, max_size=3
    ),
    target=st.lists(st.sampled_from(WORDS), min_size=12, max_size=12),
    chunk_rows=st.integers(1, 13),
    missing=st.sampled_from(["error", "impute"]),
)
def test_any_cells_mean_the_same_in_any_chunks(
    tmp_path_factory, cells, target, chunk_rows, missing
):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    columns = {f"c{k}": column for k, column in enumerate(cells)} | {"y": target}
    pd.DataFrame(columns).to_csv(path, index=False)
    once = outcome(lambda: whole(path, "y", missing=missing))
    chunks = outcome(lambda: map_table(path, "y", missing=missing, chunk_rows=chunk_rows))
    if isinstance(once, str) or isinstance(chunks, str):
        assert once == chunks
    else:
        assert chunks.schema.columns == once[0].columns
        np.testing.assert_array_equal(chunks.X, once[1])
        np.testing.assert_array_equal(chunks.y, once[2])


def test_all_problems_of_late_chunks_are_one_message(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{'' if k in (31, 57, 98) else k},{k * 1e98},{k / 3:.3f}" for k in range(900)]
    path.write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    with pytest.raises(TableError) as error:
        map_table(path, "y", chunk_rows=10, missing="error")
    text = str(error.value)
    assert text == outcome(lambda: whole(path, "y", missing="error"))
    assert "(1) column 'a' has 3 missing values, the first in row 32:" in text
    assert "(2) column 'b': expected a number of at most 1e+100 in size in row 102" in text
    assert text.endswith("; all at once: --missing impute --drop b")


def test_dates_texts_and_ids_mean_the_same_in_chunks(tmp_path):
    path = tmp_path / "t.csv"
    note = "a note of {} words or {}"
    rows = [
        f"{k + 1};{k % 28 + 1:02}.{k % 12 + 1:02}.2024;{note.format(k % 7, k % 99)};{k},5;Z{k}"
        for k in range(200)
    ]
    path.write_text("\n".join(["id;day;note;y;key", *rows]), encoding="cp1252")
    found = same(path, "y", 7)
    assert [column.kind for column in found.schema.columns] == ["date", "text"]
    assert [column.name for column in found.schema.left_out] == ["id", "key"]


def test_tables_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,y", *(f"{k},{k}" for k in range(90))]), encoding="utf-8")
    with pytest.raises(TableError, match="expected at most 40 rows, got more"):
        map_table(path, "y", chunk_rows=10, most_rows=40)
    path.write_text("\n".join(["a,y", *(f"{k},{k}" for k in range(90)), "7"]), encoding="utf-8")
    with pytest.raises(TableError, match=r"t\.csv', line 92: expected 2 cells"):
        map_table(path, "y", chunk_rows=10)


def test_a_table_that_changes_between_the_passes(houses, monkeypatch):
    frames = [*_mapped.iter_with_texts(houses / "t.parquet", 30)]
    turns = iter([frames, frames[:-1]])
    monkeypatch.setattr(_mapped, "iter_with_texts", lambda *_: iter(next(turns)))
    with pytest.raises(TableError, match="expected the 150 rows that were there at first, got 120"):
        map_table(houses / "t.parquet", "price")


def test_the_file_has_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X = temporary_map(np.full((2, 3), k) for k in range(4))
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X, np.repeat(np.arange(4.0), 2)[:, None] * np.ones(3))
    X[0, 0] = 7.0
    assert X[0, 0] == 7.0
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_the_features_of_all_rows(tmp_path):
    peaks = []
    for n in (4_000, 16_000):
        X = np.random.default_rng(0).normal(size=(n, 30))
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(30)]).assign(y=X[:, 0])
        frame.to_parquet(tmp_path / "t.parquet", row_group_size=1000)
        tracemalloc.start()
        map_table(tmp_path / "t.parquet", "y", chunk_rows=1000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    grown, features = peaks[1] - peaks[0], 12_000 * 30 * 8
    assert grown < features / 4
