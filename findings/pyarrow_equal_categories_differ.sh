#!/usr/bin/env bash
# pyarrow 26.0.1: dictionary arrays with equal values are not equal if their dictionaries have
# another order.
#
# Guess before the run: equals() compares the values, so it is True.
# Seen: equals() is False, although to_pylist(), unique() and value_counts() see the same values;
#   after unify_dictionaries() in one chunked array it is True.
# Why it matters: Two files of the same table, written by two programs, compare as different; so
#   do test data and expectation.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import pyarrow as pa
import pyarrow.compute as pc

one = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", "y"]))
other = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["y", "x"]))
both = pa.chunked_array([one, other])
print(one.equals(other), one.to_pylist(), other.to_pylist(), pc.value_counts(both).to_pylist())
assert one.to_pylist() == other.to_pylist()
assert pc.value_counts(both).to_pylist() == [
    {"values": "x", "counts": 2},
    {"values": "y", "counts": 2},
]
assert not one.equals(other)
first, second = both.unify_dictionaries().chunks
assert first.equals(second)
PYTHON
echo "pyarrow_equal_categories_differ: as described"
