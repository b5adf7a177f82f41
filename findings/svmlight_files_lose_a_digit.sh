#!/usr/bin/env bash
# scikit-learn 1.9.1: a table written by dump_svmlight_file and read by load_svmlight_file is not the
# table, in the last bits.
#
# Guess before the run: The values come back bit for bit, labels too, as the text has enough digits.
# Seen: 43 % of normal random features and 44 % of labels differ, by up to 4.4e-16 of their size. The
#   writer prints 16 significant digits; float64 needs 17.
# Why it matters: A model fitted to the file is not the model of the array, and a hash of the data
#   or an exact comparison of two runs fails.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

rng = np.random.default_rng(0)
X, y = rng.normal(size=(1000, 5)), rng.normal(size=1000)
file = io.BytesIO()
dump_svmlight_file(X, y, file, zero_based=False)
file.seek(0)
points, labels = load_svmlight_file(file, zero_based=False)
points = points.toarray()
changed = np.mean(points != X), np.mean(labels != y)
largest = np.abs(points / X - 1.0).max()
print(f"features changed: {changed[0]:.0%}, labels: {changed[1]:.0%}, at most {largest:.1e}")
assert 0.3 < changed[0] < 0.6
assert 0.3 < changed[1] < 0.6
assert 0.0 < largest < 1e-15
PYTHON
echo "svmlight_files_lose_a_digit: as described"
