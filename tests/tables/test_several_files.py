"""Files of a folder, or of a pattern, are one table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import TableError
from pliant.tables import (
    detect_format,
    iter_table,
    read_table,
)

FRAME = pd.DataFrame(
    {
        "number": [1.5, -2.0, 3e30, 0.25, np.nan, 7.0, 8.5],
        "count": [1, 2, 3, 4, 5, 6, 7],
        "word": ["a", "b", None, "d", "e", "f", "1"],
        "y": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
    }
)


def put(folder, frame, cuts, ending):
    """Write a frame in parts that begin at the cuts."""
    folder.mkdir(exist_ok=True)
    for k, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(frame)], strict=True)):
        part = frame.iloc[start:stop]
        if ending == "parquet":
            part.to_parquet(folder / f"part-{k}.parquet", index=False)
        else:
            part.to_csv(folder / f"part-{k}.{ending}", index=False, compression="infer")
    return folder


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_parts_are_the_table_that_was_cut(tmp_path, ending):
    """Whole and in chunks, by folder and by pattern, whatever stands in which part."""
    whole = tmp_path / f"whole.{ending}"
    (FRAME.to_parquet if ending == "parquet" else FRAME.to_csv)(whole, index=False)
    folder = put(tmp_path / "parts", FRAME, [2, 2, 6], ending)  # one part has no rows
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden").write_text("")
    expected = read_table(whole)
    for name in (folder, f"{folder}/part-*", str(tmp_path / "p*ts" / f"part-?.{ending}")):
        pd.testing.assert_frame_equal(read_table(name), expected)
        pd.testing.assert_frame_equal(read_table(name, 3).iloc[:3], read_table(whole, 3).iloc[:3])
        chunks, plain = pd.concat(iter_table(name, 2)), pd.concat(iter_table(whole, 2))
        pd.testing.assert_frame_equal(chunks, plain, check_index_type=False)


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 7), max_size=5), parquet=st.booleans(), seed=st.integers(0, 99))
def test_order_of_columns_and_cuts_do_not_matter(tmp_path_factory, cuts, parquet, seed):
    folder = tmp_path_factory.mktemp("cut")
    rng = np.random.default_rng(seed)
    cuts = sorted(cuts)
    for k, (start, stop) in enumerate(zip([0, *cuts], [*cuts, 7], strict=True)):
        names = list(FRAME) if k == 0 else list(rng.permutation(list(FRAME)))
        part = FRAME.iloc[start:stop][names]
        if parquet:
            part.to_parquet(folder / f"{k}.parquet", index=False)
        else:
            part.to_csv(folder / f"{k}.csv", index=False)
    pd.testing.assert_frame_equal(
        read_table(folder)[list(FRAME)], FRAME, check_dtype=False, check_column_type=False
    )


def test_types_of_parquet_files_are_joined(tmp_path):
    """Whole numbers and fractions are numbers, an empty part has no say, codes become values."""
    parts = [
        pd.DataFrame({"a": [1, 2], "b": [None, None], "c": pd.Categorical(["x", "y"])}),
        pd.DataFrame({"a": [0.5], "b": ["z"], "c": ["w"]}),
    ]
    for k, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{k}.parquet")
    frame = read_table(tmp_path)
    assert frame["a"].tolist() == [1.0, 2.0, 0.5]
    assert frame["c"].tolist() == ["x", "y", "w"]
    assert frame["b"].isna().tolist() == [True, True, False]
    (chunk,) = iter_table(tmp_path / "1.parquet")
    assert chunk["a"].tolist() == [0.5]

    pd.DataFrame({"a": ["text"], "b": ["z"], "c": ["w"]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(TableError, match=r"same types of columns .*double"):
        read_table(tmp_path)


def test_what_is_no_table_of_several_files_is_named(tmp_path):
    def said(name, match):
        for reader in (read_table, lambda path: list(iter_table(path)), detect_format):
            with pytest.raises(TableError, match=match):
                reader(name)

    folder = tmp_path / "f"
    folder.mkdir()
    said(folder, r"f': expected files of a table, got none")
    said(f"{folder}/*.csv", r"\*\.csv': expected files of a table, got none")
    (folder / "a.csv").write_text("x,y\n1,2\n")
    (folder / "notes.txt").write_text("")
    said(folder, r"notes\.txt': expected the name of a table to end in")
    assert read_table(f"{folder}/*.csv")["x"].tolist() == [1]
    (folder / "notes.txt").unlink()
    pd.DataFrame({"x": [1], "y": [2]}).to_parquet(folder / "b.parquet")
    said(folder, r"expected files of one kind, got '.*a\.csv' and '.*b\.parquet'")
    (folder / "b.parquet").unlink()
    (folder / "b.csv").write_text("x,z\n1,2\n")
    said(folder, r"columns of '.*a\.csv', got '.*b\.csv': 'y', 'z' in one of them only")
    (folder / "b.csv").write_text("x,y\n1\n")
    said(folder, r"b\.csv', line 2: expected 2 cells")
    (folder / "a.csv").write_text("x,y\n")
    (folder / "b.csv").write_text("x,y\n")
    said(folder, r"f' has a header but no rows")
    (tmp_path / "odd[1].csv").write_text("x\n1\n")  # a file of this name is no pattern
    assert read_table(tmp_path / "odd[1].csv")["x"].tolist() == [1]
