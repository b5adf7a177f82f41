#!/usr/bin/env bash
# polars 2.1.0: a column of the type Enum becomes an ordered categorical in pandas, one of the
# type Categorical does not.
#
# Guess before the run: Neither is ordered, as an Enum is a list of permitted texts.
# Seen: Enum: ordered=True, in the order of the list; Categorical: ordered=False.
# Why it matters: A tool that codes ordered categories by rank and others by columns treats the
#   same texts in two ways, by how polars was told to store them.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 pandas==2.3.3 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import polars as pl

permitted = pl.Series("k", ["red", "blue"], dtype=pl.Enum(["red", "green", "blue"])).to_pandas()
free = pl.Series("k", ["red", "blue"], dtype=pl.Categorical).to_pandas()
print(permitted.cat.ordered, free.cat.ordered, permitted.cat.categories.tolist())
assert permitted.cat.ordered
assert not free.cat.ordered
assert permitted.cat.categories.tolist() == ["red", "green", "blue"]
PYTHON
echo "polars_enums_are_ordered_in_pandas: as described"
