#!/usr/bin/env bash
# Dask 2026.8.0: to_dask_array(lengths=True) fails for some columns of Parquet files, and works
# for all columns.
#
# Guess before the run: Two columns of twelve files have twelve partitions, as npartitions says,
#   and known lengths.
# Seen: ValueError: the number of items in 'lengths' does not match the number of partitions, 3 !=
#   12. Of twenty columns two are read, so the lengths are counted over joined files.
# Why it matters: Features are often some columns of a data frame. Arrays with known lengths are
#   what fits on a cluster need; compute the lengths of the partitions instead.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dask[dataframe]==2026.8.0 pandas==2.3.3 numpy==2.4.6 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import tempfile

import dask.dataframe as dd
import numpy as np
import pandas as pd

with tempfile.TemporaryDirectory() as folder:
    for k in range(12):
        columns = {f"x{j}": np.arange(100.0) + k for j in range(20)}
        pd.DataFrame(columns).to_parquet(f"{folder}/{k:02}.parquet")
    frame = dd.read_parquet(folder)
    few = frame[["x0", "x1"]]
    print(frame.npartitions, few.npartitions, len(few))
    assert frame.npartitions == few.npartitions == 12
    assert frame.to_dask_array(lengths=True).chunks[0] == (100,) * 12
    try:
        few.to_dask_array(lengths=True)
    except ValueError as error:
        print(error)
        assert "3 != 12" in str(error)
    else:
        raise AssertionError("the lengths were found")
    lengths = few.map_partitions(len).compute().tolist()
    assert sum(lengths) == 1200
PYTHON
echo "dask_lengths_of_few_columns: as described"
