#!/usr/bin/env bash
# Dask 2026.8.0 with zarr 3.1.6: to_zarr() of an array with unequal chunks writes other chunks
# with a warning, and big-endian numbers return in native order.
#
# Guess before the run: to_zarr() raises ValueError for unequal chunks, since zarr's are equal;
#   >f8 returns as >f8.
# Seen: Chunks of 3, 5 and 2 rows return as 5 and 5, after a UserWarning; >f8 returns as <f8 in
#   silence.
# Why it matters: Features that are stored so no longer have the chunks of labels that were not,
#   and functions of pairs of chunks meet other rows or none.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check dask==2026.8.0 zarr==3.1.6 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import tempfile

import dask.array as da
import numpy as np

rows = np.arange(10.0)
with tempfile.TemporaryDirectory() as folder:
    da.from_array(rows, chunks=((3, 5, 2),)).to_zarr(f"{folder}/unequal")
    read = da.from_zarr(f"{folder}/unequal")
    big = da.from_array(rows.astype(">f8"), chunks=5)
    big.to_zarr(f"{folder}/big")
    native = da.from_zarr(f"{folder}/big")
    print(read.chunks, big.dtype.str, native.dtype.str)
    assert np.array_equal(read.compute(), rows)
    assert read.chunks == ((5, 5),)
    assert big.dtype.str == ">f8"
    assert native.dtype.str == np.dtype("f8").newbyteorder("=").str
PYTHON
echo "dask_zarr_changes_chunks: as described"
