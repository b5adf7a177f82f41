#!/usr/bin/env bash
# DuckDB 2.0.1: the sum of a BIGINT column is exact in DuckDB, Arrow and polars, and rounded to
# float64 in pandas.
#
# Guess before the run: df() gives exact integers, as int64 or as objects.
# Seen: The sum has the type HUGEINT, and df() gives float64: 9007199254740993 becomes
#   9007199254740992.
# Why it matters: Keys and totals beyond 2^53 that pass through a relation change by rounding,
#   only on the way to pandas.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 pandas==2.3.3 polars==2.1.0 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import duckdb

total = duckdb.sql("select sum(x) as s from (values (9007199254740992::bigint), (1)) as t(x)")
exact, frame, polars = total.fetchall()[0][0], total.df(), total.pl()
print(total.types, exact, frame["s"].dtype, int(frame["s"][0]), polars["s"][0])
assert exact == 9007199254740993 == polars["s"][0]
assert frame["s"].dtype == "float64"
assert int(frame["s"][0]) == 9007199254740992
PYTHON
echo "duckdb_sums_lose_digits: as described"
