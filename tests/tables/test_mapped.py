"""A table read in chunks has the schema and the numbers that it has when it is read at once."""

import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant import TableError
from pliant.tables import TableSchema, _mapped, map_table, read_table, temporary_map

WORDS = ["", "NA", "1", "1.0", "2", "-0.5", "7e3", "true", "FALSE", "a", "b b", "Ä"]


def whole(path, target, **choices):
    """What a table means when it is read at once."""
    frame = read_table(path)
    schema = TableSchema.fit(frame, target, **choices)
    return schema, schema.features(frame), schema.target_values(frame)


def same(path, target, chunk_rows, **choices):
    """Read a table in both ways, compare, and return the map."""
    schema, X, y = whole(path, target, **choices)
    found = map_table(path, target, chunk_rows=chunk_rows, **choices)
    assert found.schema == schema
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
    ("target", "chunk_rows"),
    [("price", 7), ("sold", 7), ("grade", 7), ("new", 7), ("price", 10_000)],
)
def test_chunks_give_what_the_whole_gives(houses, name, target, chunk_rows):
    if target == "new":  # a target has no gaps
        frame = read_table(houses / name)
        frame["new"] = frame["new"].fillna(False).astype(bool)
        frame.to_parquet(houses / "u.parquet")
        name = "u.parquet"
    found = same(
        houses / name, target, chunk_rows, missing="impute", drop=["sold"][: target != "sold"]
    )
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
        assert isinstance(once, str)
        assert isinstance(chunks, str)
    else:
        assert chunks.schema == once[0]
        np.testing.assert_array_equal(chunks.X, once[1])
        np.testing.assert_array_equal(chunks.y, once[2])


FAULTS = {
    "gap": ("", "column 'a' has a missing value in row 92:"),
    "inf": ("inf", "column 'a': expected a finite number in row 92, got inf"),
    "text": ("x", "column 'a' holds numbers, but 'x' in row 92 is none: correct it, read 'x'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_late_chunk_is_told_with_its_row(tmp_path, fault):
    cell, expected = FAULTS[fault]
    cells = [f"{k / 8}" for k in range(100)]
    cells[91] = cell
    path = tmp_path / "t.csv"
    lines = ["a,b,y", *(f"{a},{k},{k / 3:.3f}" for k, a in enumerate(cells))]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(TableError) as error:
        map_table(path, "y", chunk_rows=10, missing="error")
    assert expected in str(error.value)
    assert str(error.value) == outcome(lambda: whole(path, "y", missing="error"))


def test_all_problems_of_late_chunks_are_one_message(tmp_path):
    path = tmp_path / "t.csv"
    rows = [
        f"{'' if k in (31, 57, 98) else k},{'x' if k == 777 else k},{k / 3:.3f}" for k in range(900)
    ]
    path.write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    with pytest.raises(TableError) as error:
        map_table(path, "y", chunk_rows=10, missing="error")
    text = str(error.value)
    assert text == outcome(lambda: whole(path, "y", missing="error"))
    assert "(1) column 'a' has 3 missing values, the first in row 32:" in text
    assert "(2) column 'b' holds numbers, but 'x' in row 778 is none" in text
    assert text.endswith("; all at once: --missing impute --na-values x")


@pytest.mark.parametrize("chunk_rows", [7, 400])
def test_numbers_that_turn_out_to_be_codes_late_are_counted_again(
    tmp_path, monkeypatch, chunk_rows
):
    monkeypatch.setattr("pliant.tables._profile.MANY_NUMBERS", 20)
    path = tmp_path / "t.csv"
    codes = [k % 90 for k in range(400)] + [f"c{k % 90}" for k in range(100)]
    rows = [f"{code},{k * 1.5}" for k, code in enumerate(codes)]
    path.write_text("\n".join(["a,y", *rows]), encoding="utf-8")
    found = same(path, "y", chunk_rows)
    assert len(found.schema.columns[0].categories) == 180


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


def test_a_ragged_row_in_a_late_chunk(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,y", *(f"{k},{k}" for k in range(90)), "7"]), encoding="utf-8")
    with pytest.raises(TableError, match=r"t\.csv', line 92: expected 2 cells"):
        map_table(path, "y", chunk_rows=10)


def test_too_many_rows_are_refused_before_all_are_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,y", *(f"{k},{k}" for k in range(90)), "7"]), encoding="utf-8")
    with pytest.raises(TableError, match="expected at most 40 rows, got more"):
        map_table(path, "y", chunk_rows=10, most_rows=40)


def test_a_table_that_changes_between_the_passes(houses, monkeypatch):
    frames = [*_mapped.iter_table(houses / "t.csv", 30)]
    turns = iter([frames, frames[:-1], frames[:-1]])
    monkeypatch.setattr(_mapped, "iter_table", lambda *_: iter(next(turns)))
    with pytest.raises(TableError, match="expected the 150 rows that were there at first, got 120"):
        map_table(houses / "t.csv", "price", missing="impute")


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
    assert Path(tmp_path / "t.parquet").exists()


MEAN_THE_SAME = {
    "numbers as categories": (["1", "1.0", "007", "2.50", ""] * 20, {"categorical": ["a"]}),
    "truth values as categories": (["true", "FALSE", "True", ""] * 25, {"categorical": ["a"]}),
    "infinite among texts": (["1", "inf", *["x", "1e999", "2"] * 30], {}),
    "huge among texts": (["1", "1e200", *["x", "y", "2"] * 30], {}),
}


@pytest.mark.parametrize("case", MEAN_THE_SAME)
def test_cells_that_chunks_type_otherwise_mean_the_same(tmp_path, case):
    cells, choices = MEAN_THE_SAME[case]
    path = tmp_path / "t.csv"
    rows = [f"{cell},{k % 7},{k / 3:.3f}" for k, cell in enumerate(cells)]
    path.write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    same(path, "y", 2, **choices)


def test_a_whole_csv_takes_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.tables._read.BLOCK_ROWS", 500)
    X = np.random.default_rng(0).normal(size=(6_000, 10)).round(4)
    path = tmp_path / "t.csv"
    np.savetxt(path, X, fmt="%g", delimiter=",", header=",".join("abcdefghij"), comments="")
    read_table(path)  # what is imported, and compiled, counts once
    tracemalloc.start()
    frame = read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(frame, X)
    assert peak < 4 * path.stat().st_size + 1_500_000  # the first bytes show the format
