#!/usr/bin/env bash
# polars 2.1.0: a frame of dates and decimals becomes an array of float64, with days since 1970.
#
# Guess before the run: to_numpy() gives an array of objects that holds dates, or raises an error,
#   as it does for times.
# Seen: float64; 2024-01-01 is 19723.0, and a missing date is NaN. A datetime beside integers
#   raises.
# Why it matters: A learner that converts frames with to_numpy() takes a date for a number without
#   a word, with a scale of 20 000 beside features near 1.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import datetime

import numpy as np
import polars as pl

frame = pl.DataFrame({"day": [datetime.date(2024, 1, 1), None], "x": [1.5, 2.0]})
array = frame.to_numpy()
print(array.dtype, array.tolist())
assert array.dtype == np.float64
assert array[0, 0] == 19723.0
assert np.isnan(array[1, 0])
PYTHON
echo "polars_dates_become_numbers: as described"
