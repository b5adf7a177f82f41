#!/usr/bin/env bash
# scikit-learn 1.9.1 and scipy 1.17.1: manhattan_distances refuses sparse rows with 64-bit indices,
# which euclidean_distances and cosine_distances take.
#
# Guess before the run: The distances are those of the same rows with 32-bit indices.
# Seen: ValueError, "Buffer dtype mismatch, expected 'const int' but got 'long'"; the two others
#   return the same numbers for both widths.
# Why it matters: Concatenations and readers of large files return 64-bit indices, also for few
#   rows. A Laplacian kernel of them needs a conversion first.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances, manhattan_distances

values, columns, starts = [1.0, 2.0, 3.0], np.array([0, 2, 1]), np.array([0, 2, 3])
narrow, wide = (
    csr_array((values, columns.astype(kind), starts.astype(kind)), shape=(2, 3))
    for kind in (np.int32, np.int64)
)
assert wide.indices.dtype == wide.indptr.dtype == np.int64
for distances in (euclidean_distances, cosine_distances):
    assert (distances(wide) == distances(narrow)).all()
print(manhattan_distances(narrow))
assert manhattan_distances(narrow)[0, 1] == 6.0
try:
    manhattan_distances(wide)
except ValueError as error:
    print(type(error).__name__, error)
    assert "Buffer dtype mismatch" in str(error)
else:
    raise AssertionError("64-bit indices were taken")
PYTHON
echo "manhattan_distances_of_wide_indices: as described"
